"""Where learning leaves what it learned: a folder for each head, and what may not be in the way there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from chronorule.errors import DataError

JOURNAL, REPORT, RECORDS, SOURCE = "journal.jsonl", "report.html", "report.json", "events.json"


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
    if journal.exists() and not journal.is_file():
        raise DataError(f'"{journal}" is no plain file, where the journal should be; choose another folder with --out.')
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


def refuse_overwriting(file: Path, inputs: Iterable[str], option: str) -> None:
    """Refuse a file for output, named by an option or implied, that the command reads or a saved model is made of."""
    if any(_same(file, name) for name in inputs):
        raise DataError(
            f'"{file}" is read by this command, and writing there would destroy it; name another file with {option}.'
        )
    if any(_same(file, part) for part in _parts_of_model(Path(os.path.realpath(file)).parent)):
        raise DataError(
            f'"{file}" is a part of a saved model, and writing there would destroy it; name another file with {option}.'
        )


def _parts_of_model(folder: Path) -> list[Path]:
    """What a model in the folder is made of, there or not; nothing where no model is."""
    from chronorule.model.store import MANIFEST, RULES

    always = [folder / name for name in (RULES, MANIFEST, JOURNAL, SOURCE)]
    return [*always, *folder.glob("rules.edited*.toml")] if any(map(os.path.exists, always[:3])) else []


def _same(one: str | Path, other: str | Path) -> bool:
    """Whether two names lead to one file, which need not exist."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
