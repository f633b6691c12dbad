"""Named units of time, for data whose times are timestamps or durations."""

from __future__ import annotations

from chronorule.errors import OptionError
from chronorule.events.tables import shorten

MICROSECONDS = {
    "microseconds": 1,
    "milliseconds": 1_000,
    "seconds": 1_000_000,
    "minutes": 60_000_000,
    "hours": 3_600_000_000,
    "days": 86_400_000_000,
    "weeks": 604_800_000_000,
}


def unit_name(unit: str) -> str:
    """Return the full plural name of a unit given in full ("hour", "hours")."""
    name = str(unit).strip().lower()
    for known in MICROSECONDS:
        if name in (known, known[:-1]):
            return known
    raise OptionError(
        f'unit="{unit}" is no unit in which timestamps and durations can be expressed; choose among '
        f"{shorten(MICROSECONDS, 9)}."
    )
