"""The log of intensive care that `chronorule demo` learns from. Its licence is not that of the code: see NOTICE.md."""

from __future__ import annotations

from pathlib import Path

from chronorule.events import EventLog
from chronorule.io.table import read_events

FOLDER = Path(__file__).resolve().parent
FILES = tuple(  # the log first; the notice goes wherever they go
    FOLDER / name for name in ("icu_demo.parquet", "icu_demo.periods.parquet", "icu_demo.static.parquet", "NOTICE.md")
)


def demo_log() -> EventLog:
    """130 stays of 97 patients in intensive care, hour by hour, made from the open MIMIC-III clinical database demo.

    Numbers that were charted are events where they turn Low, Normal or High (`LowUrine`, `HighCreatinine`), treatments
    where they start (`FluidBolus`); docs/demo-data.md explains them. What is derived from it stands under the Open
    Database License too.
    """
    return read_events(FILES[0])
