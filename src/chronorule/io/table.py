"""`read_events`: a log from a table of events, and tables of periods, static predicates and edges beside it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from chronorule.errors import DataError, OptionError
from chronorule.events.build import build
from chronorule.events.log import EventLog, LogNotes
from chronorule.events.tables import (
    Coded,
    EventTable,
    Locate,
    PeriodTable,
    StaticTable,
    as_name,
    merge_names,
    missing_name,
)
from chronorule.io.clock import Times, place, read_times
from chronorule.io.source import ParquetSource, Source, choose_columns, companion, open_source
from chronorule.io.write import write_events

__all__ = ["read_edges", "read_events", "write_events"]


def read_events(
    source: Any,
    entity: str | None = None,
    time: str | None = None,
    event: str | None = None,
    resolution: float = 0.0,
    unit: str | None = None,
    separator: str = ",",
    time_format: str | None = None,
    periods: Any = None,
    group: str | None = None,
    static: Any = None,
) -> EventLog:
    """Read a log from a CSV file (.gz too), a Parquet file, a data frame or anything else with an Arrow stream.

    entity, time, event: the columns, by default of these names. Names stay as written; whole numbers become text.
    time: numbers, ISO timestamps, dates or durations; `time_format` (as of strptime) reads other timestamps.
    unit: in which to count timestamps and durations (hours by default); of numbers, the name only.
    resolution: size of a tick to which times are snapped, 0 for none.
    periods: a table with entity, start, stop; static: one with entity, predicate; either a path or a data frame.
    group: the column of the events that says to which group an entity belongs; it may stand in the periods too.
    A Parquet file by `write_events` brings its periods, static predicates, groups, unit and resolution along.
    """
    events = open_source(source, separator)
    noted = Noted.of(events)
    own_periods = periods is None
    periods = noted.companion("periods") if own_periods else periods
    if group is None and noted.groups:
        group = "group"
    roles = choose_columns(events, {"entity": entity, "time": time, "event": event} | _role("group", group), "events")
    names, clocks = _read(events, roles, ("time",), time_format)
    clock = {"time": clocks["time"]}
    period_source: Source | None = None
    period_names: dict[str, Coded] = {}
    if periods is not None:
        period_source, period_names, clocks = _read_periods(periods, separator, roles["entity"], group, time_format)
        if own_periods:
            noted.check_belongs(period_source)
        clock |= clocks
    places, unit, origin = place(clock, noted.agreed_unit(unit))
    event_table = EventTable(names["entity"], places["time"], names["event"], names.get("group"), events.locate)
    period_table = None
    if period_source is not None:
        period_table = PeriodTable(
            period_names["entity"], places["start"], places["stop"], period_names.get("group"), period_source.locate
        )
    if static is None:
        static_table = _read_statics(noted.companion("static"), separator, roles["entity"], noted)
    else:
        noted = noted.without_statics()
        static_table = _read_statics(static, separator, roles["entity"], None)
    log = build(
        EventLog,
        event_table,
        period_table,
        static_table,
        unit=unit,
        resolution=resolution or noted.resolution,
        predicates=noted.vocabulary(static_table),
        notes=LogNotes(origin=noted.notes.origin or origin),
    )
    return noted.restore(log, own_periods)


def read_edges(
    source: Any, entity: str | None = None, neighbour: str | None = None, separator: str = ","
) -> tuple[list[str], list[str]]:
    """Read the pairs (entity, neighbour) that `EventLog.relate` takes from any table that `read_events` reads.

    entity, neighbour: the columns, by default of these names. The result has one list for each.
    """
    table = open_source(source, separator)
    names, _ = _read(table, choose_columns(table, {"entity": entity, "neighbour": neighbour}, "edges"), (), None)
    left, right = ([column.names[code] for code in column.codes.tolist()] for column in names.values())
    return left, right


def _role(role: str, column: str | None) -> dict[str, str | None]:
    return {} if column is None else {role: column}


@dataclass(frozen=True)
class Noted:
    """What `write_events` noted in a file; empty for any other source."""

    path: Path | None = None
    unit: str | None = None
    resolution: float = 0.0
    groups: bool = False
    predicates: tuple[str, ...] | None = None
    static: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    notes: LogNotes = field(default_factory=LogNotes)
    log: str | None = None  # what tells this log from others; in the files beside it too

    @classmethod
    def of(cls, source: Source) -> Noted:
        """Take the notes out of a source, if it is a file that has them."""
        if not isinstance(source, ParquetSource) or not source.metadata:
            return cls()
        try:
            noted = dict(source.metadata)
            return cls(
                path=source.path,
                unit=noted["unit"],
                resolution=float(noted["resolution"]),
                groups=bool(noted["groups"]),
                predicates=tuple(noted["predicates"]),
                static=tuple(noted["static"]),
                companions=tuple(noted["companions"]),
                notes=LogNotes(**noted["notes"]),
                log=noted.get("log"),
            )
        except (KeyError, TypeError, ValueError) as problem:
            raise DataError(
                f"The notes inside {source.label} have no form known here ({problem!r}); write it again with "
                "this version, or read it with the version that wrote it."
            ) from None

    def companion(self, part: str) -> Path | None:
        """The file beside this one, if one was written."""
        return companion(self.path, part) if self.path is not None and part in self.companions else None

    def check_belongs(self, beside: Source) -> None:
        """Refuse a file of periods or static predicates that was written for another log than this file."""
        theirs = beside.metadata.get("log")
        if None not in (self.log, theirs) and theirs != self.log:
            raise DataError(
                f'{beside.label} was written with another log than "{self.path}", as happens where the writing of one '
                "over the other broke off; write the log again, or name the file in periods or static if it is right."
            )

    def agreed_unit(self, unit: str | None) -> str | None:
        """The unit of the file; another one cannot be put in its place."""
        if self.unit is not None and unit is not None and unit != self.unit:
            raise OptionError(f'unit="{unit}" contradicts the file, whose times are in {self.unit}; leave unit out.')
        return self.unit or unit

    def without_statics(self) -> Noted:
        """The notes for a log that gets other static predicates."""
        if self.predicates is None:
            return self
        return replace(self, predicates=tuple(p for p in self.predicates if p not in self.static), static=())

    def vocabulary(self, static: StaticTable | None) -> tuple[str, ...] | None:
        """The predicates in the order of the file, then static ones that it did not have."""
        if self.predicates is None or static is None:
            return self.predicates
        return tuple(dict.fromkeys((*self.predicates, *sorted(static.predicate.names))))

    def restore(self, log: EventLog, own_periods: bool) -> EventLog:
        """Give the log the notes of the log that was written."""
        if self.path is None:
            return log
        by_default = self.notes.periods_by_default if own_periods else log.notes.periods_by_default
        duplicates = self.notes.duplicates + log.notes.duplicates
        return replace(log, notes=replace(self.notes, duplicates=duplicates, periods_by_default=by_default))


def _read(
    source: Source, roles: dict[str, str], time_roles: tuple[str, ...], time_format: str | None
) -> tuple[dict[str, Coded], dict[str, Times]]:
    """Read columns by role: names as codes, times as what they are."""
    if len(set(roles.values())) < len(roles):
        shown = ", ".join(f'{role}="{column}"' for role, column in roles.items())
        raise OptionError(f"One column of {source.label} is named for two things ({shown}); give each its own.")
    texts = [column for role, column in roles.items() if role not in time_roles or time_format is not None]
    columns = source.read(list(roles.values()), texts)
    names: dict[str, Coded] = {}
    times: dict[str, Times] = {}
    for role, column in roles.items():  # each column is let go once read: they are large
        if role in time_roles:
            times[role] = read_times(columns.pop(column), column, source.locate, time_format)
        else:
            names[role] = coded(columns.pop(column), f'{role} ("{column}")' if role != column else role, source.locate)
    return names, times


def coded(column: pa.ChunkedArray, what: str, locate: Locate) -> Coded:
    """Turn a column of text or whole numbers into codes, in order of first appearance."""
    if column.null_count:
        first = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise missing_name(what, "null", column.null_count, locate(first))
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if not pa.types.is_dictionary(column.type):
        try:
            column = column.dictionary_encode()
        except pa.ArrowException:
            raise DataError(
                f"The {what} column has type {column.type}, which cannot name anything; give text."
            ) from None
    column = column.unify_dictionaries()
    if not len(column):
        return Coded((), np.empty(0, np.int32))
    raw = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in column.chunks], dtype=np.int32)
    values = column.chunk(0).dictionary.to_pylist()
    first_row = np.full(len(values), raw.size)
    first_row[raw[::-1]] = np.arange(raw.size)[::-1]  # of several writes the last stays
    order = np.argsort(first_row, kind="stable")
    order = order[first_row[order] < raw.size]  # categories that no row uses are no names
    names = [as_name(values[position]) for position in order.tolist()]
    if "" in names:
        position = order[names.index("")]
        rows = int((raw == position).sum())
        raise missing_name(what, repr(values[position]), rows, locate(int(first_row[position])))
    rank = np.full(len(values), -1, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return merge_names(names, rank[raw])


def _open_beside(table: Any, separator: str, needed: str) -> Source:
    """Open a table of periods or static predicates, which may use commas where the events use something else."""
    source = open_source(table, separator)
    if needed not in source.names and separator != ",":
        with_commas = open_source(table, ",")
        if needed in with_commas.names:
            return with_commas
    return source


def _beside_roles(source: Source, entity: str) -> str:
    """The column of entities may be called as in the events, or plainly "entity"."""
    return entity if entity in source.names else "entity"


def _read_periods(
    periods: Any, separator: str, entity: str, group: str | None, time_format: str | None
) -> tuple[Source, dict[str, Coded], dict[str, Times]]:
    source = _open_beside(periods, separator, "start")
    wanted: dict[str, str | None] = {"entity": _beside_roles(source, entity), "start": None, "stop": None}
    if group is not None and group in source.names:
        wanted["group"] = group
    names, clocks = _read(source, choose_columns(source, wanted, "periods"), ("start", "stop"), time_format)
    return source, names, clocks


def _read_statics(static: Any, separator: str, entity: str, noted: Noted | None) -> StaticTable | None:
    """The table of static predicates; with `noted`, the one that the file of events names, if any."""
    known = () if noted is None else noted.static
    if static is None:
        none = np.empty(0, np.int32)
        return StaticTable(Coded((), none), Coded(known, none)) if known else None
    source = _open_beside(static, separator, "predicate")
    if noted is not None:
        noted.check_belongs(source)
    wanted = {"entity": _beside_roles(source, entity), "predicate": None}
    names, _ = _read(source, choose_columns(source, wanted, "static predicates"), (), None)
    predicate = names["predicate"]
    unused = tuple(name for name in known if name not in set(predicate.names))
    return StaticTable(names["entity"], Coded(predicate.names + unused, predicate.codes), source.locate)
