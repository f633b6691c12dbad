"""`write_events`: a log to files that `read_events` reads back to the same log."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from chronorule.errors import DataError
from chronorule.events.log import EventLog, checked_log
from chronorule.io.source import METADATA, as_path, companion, one_line, quoted, stem_and_suffix

SUFFIXES = (".parquet", ".csv", ".csv.gz")


def write_events(log: EventLog, path: str | os.PathLike[str]) -> list[Path]:
    """Write a log as Parquet or, by its suffix, CSV, with its periods and static predicates in files beside it.

    Beside "ward.parquet" stand "ward.periods.parquet" and, where there are any, "ward.static.parquet"; unit,
    resolution, vocabulary, groups and origin travel inside the Parquet file, and `read_events` finds all of them.
    CSV holds the tables alone: name the files beside it, unit and resolution when reading. Returns the files written.
    """
    checked_log(log, "log")
    path = as_path(path)
    _, suffix = stem_and_suffix(path)
    if suffix not in SUFFIXES:
        raise DataError(f"{quoted(path)} does not say in which form to write; end its name with {', '.join(SUFFIXES)}.")
    if os.path.isdir(path):
        raise DataError(f"{quoted(path)} is a directory; name a file in it.")
    tables = {companion(path, "periods"): _periods(log)}
    if log.static_codes.size:
        tables[companion(path, "static")] = _statics(log)
    tables[path] = _events(log)  # last: where it is, all that belongs to it is
    belongs = {"log": log.fingerprint}  # by it files know each other, if the writing of another log broke off
    _write_all({path: _with_notes(table, belongs) for path, table in tables.items()}, suffix)
    return [path, *(other for other in tables if other != path)]


def _names(names: tuple[str, ...], codes: NDArray[Any]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names, pa.string()))


def _events(log: EventLog) -> pa.Table:
    owner = np.repeat(np.arange(log.n_entities, dtype=np.int32), np.diff(log.offsets))
    columns = {"entity": _names(log.entities, owner), "time": log.times, "event": _names(log.predicates, log.codes)}
    if log.has_groups:
        columns["group"] = _names(log.groups, log.group[owner])
    noted = {
        "version": 1,
        "unit": log.unit,
        "resolution": log.resolution,
        "groups": log.has_groups,
        "predicates": log.predicates,
        "static": [name for name, static in zip(log.predicates, log.statics.tolist(), strict=True) if static],
        "companions": ["periods", "static"] if log.static_codes.size else ["periods"],
        "notes": asdict(log.notes),
    }
    return _with_notes(pa.table(columns), noted)


def _with_notes(table: pa.Table, notes: Mapping[str, Any]) -> pa.Table:
    """The table with these notes added to those that it has."""
    noted = json.loads((table.schema.metadata or {}).get(METADATA, "{}")) | dict(notes)
    return table.replace_schema_metadata({METADATA: json.dumps(noted)})


def _periods(log: EventLog) -> pa.Table:
    everyone = np.arange(log.n_entities, dtype=np.int32)
    columns = {"entity": _names(log.entities, everyone), "start": log.start, "stop": log.stop}
    if log.has_groups:
        columns["group"] = _names(log.groups, log.group)
    return pa.table(columns)


def _statics(log: EventLog) -> pa.Table:
    owner = np.repeat(np.arange(log.n_entities, dtype=np.int32), np.diff(log.static_offsets))
    return pa.table({"entity": _names(log.entities, owner), "predicate": _names(log.predicates, log.static_codes)})


def _write_all(tables: Mapping[Path, pa.Table], suffix: str) -> None:
    """Write each table under a name of its own, then rename: what stood there before stays until all is written."""
    written: dict[Path, Path] = {}
    try:
        for path, table in tables.items():
            place = Path(os.path.realpath(path)) if path.is_symlink() else path  # a link stays, and leads to the new
            written[place] = place.with_name(f".{uuid.uuid4().hex}.part")  # short: names may be as long as can be
            _write(table, written[place], suffix)
        for place, part in written.items():
            part.replace(place)
    except (OSError, pa.ArrowException) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else one_line(problem)
        raise DataError(
            f"{quoted(path)} cannot be written ({reason}); make room or choose another folder; "
            "no half-written file was left."
        ) from None
    finally:
        for part in written.values():
            part.unlink(missing_ok=True)


def _write(table: pa.Table, path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        parquet.write_table(table, path)
        return
    plain = pa.table({name: _plain(table.column(name)) for name in table.column_names})
    with pa.output_stream(str(path), compression="gzip" if suffix == ".csv.gz" else None) as stream:
        arrow_csv.write_csv(plain, stream, arrow_csv.WriteOptions(quoting_style="needed"))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
