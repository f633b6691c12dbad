"""Reports as files that are whole or not there."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

from chronorule.errors import DataError, OptionError
from chronorule.events import EventLog
from chronorule.model import Learned, RuleModel
from chronorule.report.page import report_page
from chronorule.report.records import report_records


def write_report(
    model: RuleModel | Learned,
    log: EventLog,
    path: str | os.PathLike[str],
    entities: bool = True,
    records: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write the report of a model on a log as one HTML file, and its `records` as JSON where a file is named.

    Without `entities` nothing that belongs to a single entity is in either. Returns the files written.
    """
    if records is not None and os.path.realpath(path) == os.path.realpath(records):
        raise OptionError(
            f'"{os.fspath(path)}" is named for the page and for its records; give each a file of its own.'
        )
    told = report_records(model, log, entities)
    texts = {Path(path): report_page(told)}
    if records is not None:
        texts[Path(records)] = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    for file, text in texts.items():
        _write(file, text)
    return list(texts)


def _write(path: Path, text: str) -> None:
    """Under a name of its own first: what stood there stays until the new text is whole."""
    place = Path(os.path.realpath(path)) if os.path.islink(path) else path  # a link stays, and leads to the new text
    part = place.with_name(f".{uuid.uuid4().hex}.part")
    try:
        part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        part.replace(place)
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        raise DataError(
            f'"{path}" cannot be written ({reason}); name a file in a folder that exists and has room. '
            "What was there before is untouched."
        ) from None
    finally:
        if part.parent.is_dir():
            part.unlink(missing_ok=True)
