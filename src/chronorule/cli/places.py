"""Where learning leaves what it learned: a folder for each head, and what may not be in the way there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from chronorule.errors import DataError

JOURNAL, REPORT, RECORDS = "journal.jsonl", "report.html", "report.json"


def folders_of(heads: Sequence[str], out: Path | None) -> list[Path | None]:
    """A folder for each head: the one named, and for several heads one in it for each."""
    if out is None or len(heads) == 1:
        return [out] * len(heads)
    from chronorule.learner.journal import file_names

    return [out / name for name in file_names(heads)]


def prepare(folder: Path | None, fresh: bool = False) -> None:
    """Make the folder, refuse what could not be saved there before the work begins, and forget an old journal."""
    if folder is None:
        return
    from chronorule.model.store import refuse_foreign

    refuse_foreign(folder)
    make_folder(folder)
    if not os.access(folder, os.W_OK):
        raise DataError(
            f'"{folder}" cannot be written, since this user may not write in it; choose another with --out.'
        )
    journal = folder / JOURNAL
    if journal.is_dir():
        raise DataError(f'"{journal}" is a directory, where the journal should be; choose another folder with --out.')
    if fresh:
        journal.unlink(missing_ok=True)


def journal_of(folder: Path | None) -> Path | None:
    """The journal of a folder."""
    return None if folder is None else folder / JOURNAL


def make_folder(folder: Path) -> None:
    """Create the folder where it does not exist yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DataError(f'"{folder}" cannot be a folder ({problem.strerror}); choose another with --out.') from None
