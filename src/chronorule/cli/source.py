"""From where the events of a model were read, kept beside the model so that a later command finds them again."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chronorule.cli.options import EventFile
from chronorule.cli.output import write_text
from chronorule.cli.places import SOURCE
from chronorule.errors import DataError

if TYPE_CHECKING:
    from chronorule import EventLog

FORMAT = 1
FILES = ("path", "periods", "static")


def remember(folder: Path, events: EventFile, log: EventLog, entities: bool = True) -> Path:
    """Write into the folder of a model which file its events came from and how it was read; the file written.

    Files are named as seen from the folder, so that both may move together, and no more of the machine is told.
    `entities` says whether reports may show single ones.
    """
    told = asdict(events)
    places = {name: _from(folder, told[name]) for name in FILES if told[name] is not None}
    file = folder / SOURCE
    record = {"format": FORMAT, "fingerprint": log.fingerprint, "entities": entities, **told, **places}
    write_text(file, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return file


def recall(folder: Path) -> EventLog:
    """The log that the model in a folder was made from; refused where it is unknown, gone or no longer the same."""
    advice = _advice(folder)
    record = _record(folder / SOURCE, advice)
    events = _events(folder, record)
    if not Path(events.path).exists():
        raise DataError(f'The events of the model are not at "{events.path}" any more; {advice}')
    log = events.read()
    if log.fingerprint != record["fingerprint"]:
        raise DataError(f'"{events.path}" has changed since the model was made from it; if it is to be shown, {advice}')
    return log


def remembered(folder: Path) -> EventFile:
    """The file that the events of the model in a folder came from, whatever became of it."""
    return _events(folder, _record(folder / SOURCE, _advice(folder)))


def _events(folder: Path, record: dict[str, Any]) -> EventFile:
    told = {field.name: record[field.name] for field in fields(EventFile)}
    places = {name: os.path.normpath(folder / told[name]) for name in FILES if told[name] is not None}
    return EventFile(**{**told, **places})


def _advice(folder: Path) -> str:
    return f"name the events: chronorule report {folder} EVENTS."


def shows_entities(folder: Path) -> bool:
    """Whether reports of the model in a folder may show single entities, unless they are told otherwise."""
    file = folder / SOURCE
    return not file.exists() or bool(_record(file, "say --entities or --no-entities.")["entities"])


def _from(folder: Path, file: str) -> str:
    """The way from a folder to a file; the whole path where there is none, as from one drive to another."""
    try:
        return os.path.relpath(file, folder)
    except ValueError:
        return os.path.abspath(file)


def _record(file: Path, advice: str) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f'There is no "{file}" that would tell where the events of the model are; {advice}') from None
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is no JSON"
        raise DataError(f'"{file}" cannot be read ({reason}); {advice}') from None
    wanted = {"format", "fingerprint", "entities", *(field.name for field in fields(EventFile))}
    if not isinstance(found, dict) or set(found) != wanted or found["format"] != FORMAT or not _is_typed(found):
        raise DataError(
            f'"{file}" does not say how to read the events of the model as this version writes it; {advice}'
        )
    return found


def _is_typed(found: dict[str, Any]) -> bool:
    texts = {name: value for name, value in found.items() if name not in ("format", "resolution", "entities")}
    needed = isinstance(found["path"], str) and isinstance(found["separator"], str)
    number = isinstance(found["resolution"], int | float) and not isinstance(found["resolution"], bool)
    switch = isinstance(found["entities"], bool)
    return needed and number and switch and all(value is None or isinstance(value, str) for value in texts.values())
