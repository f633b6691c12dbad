"""From tables in any order to the arrays of a log: checks, codes, ticks, sorting."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import DataError, DataWarning, OptionError
from chronorule.events.tables import (
    Coded,
    EventTable,
    Locate,
    PeriodTable,
    StaticTable,
    agree,
    by_row,
    encode,
    plural,
    recode,
    shorten,
)
from chronorule.kernels.sorting import RUN, sort_events

if TYPE_CHECKING:
    from chronorule.events.log import EventLog, LogNotes

Periods: TypeAlias = (
    tuple[float, float] | Mapping[str, tuple[float, float]] | tuple[Iterable[Any], ArrayLike, ArrayLike]
)
Statics: TypeAlias = Mapping[str, Iterable[str]] | tuple[Iterable[Any], Iterable[Any]]


def snap(times: NDArray[np.float64], resolution: float) -> NDArray[np.float64]:
    """Move times to the nearest tick, halves up: floor(t / r + 1/2) · r, which never changes an order (design 1)."""
    if resolution == 0.0:
        return times + 0.0  # a copy, in which -0.0 is 0.0
    with np.errstate(over="ignore"):  # what is too large becomes infinite, which is refused with its row
        ticks: NDArray[np.float64] = np.floor(times / resolution + 0.5) * resolution + 0.0
    return ticks


def from_columns(
    log: type[EventLog],
    entity: Iterable[Any],
    time: ArrayLike,
    event: Iterable[Any],
    *,
    periods: Periods | None,
    static: Statics | None,
    group: Iterable[Any] | Mapping[str, str] | None,
    unit: str,
    resolution: float,
    predicates: Sequence[str] | None,
    notes: LogNotes,
) -> EventLog:
    """Build a log from plain columns; see `EventLog.from_columns`."""
    groups = None if group is None or isinstance(group, Mapping) else encode(group, "group")
    table = EventTable(encode(entity, "entity"), numbers(time, "time"), encode(event, "event"), groups)
    sizes = {"entity": table.entity.codes.size, "time": table.time.size, "event": table.event.codes.size}
    if groups is not None:
        sizes["group"] = groups.codes.size
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        raise DataError(f"The columns differ in length ({shown}); pass one value of each for every event.")
    shared, period_table = None, None
    if periods is not None:
        shared, period_table = _read_periods(periods)
    return build(
        log,
        table,
        period_table,
        None if static is None else _read_statics(static),
        shared_period=shared,
        group_of=group if isinstance(group, Mapping) else None,
        unit=unit,
        resolution=resolution,
        predicates=predicates,
        notes=notes,
    )


def numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Take a column of numbers; anything else is refused with the way to read it."""
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.float64)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise DataError(
            f"The {what} column is not a flat column of numbers (type {array.dtype}, {array.ndim} dimensions); "
            "pass numbers in one unit, or give the table to read_events, which reads timestamps and durations."
        )
    return array.astype(np.float64)


def _read_periods(periods: Periods) -> tuple[tuple[float, float] | None, PeriodTable | None]:
    if isinstance(periods, Mapping):
        bounds = [tuple(pair) for pair in periods.values()]
        if any(len(pair) != 2 for pair in bounds):
            raise DataError("The periods need (start, stop) for each entity; some have more or fewer numbers.")
        columns = np.asarray(bounds, np.float64).reshape(-1, 2)
        return None, PeriodTable(encode(periods, "entity"), columns[:, 0].copy(), columns[:, 1].copy())
    if isinstance(periods, tuple) and len(periods) == 2 and all(np.isscalar(bound) for bound in periods):
        return (float(periods[0]), float(periods[1])), None
    if not isinstance(periods, tuple) or len(periods) != 3:
        raise DataError(
            "The periods are none of (start, stop) for all entities, {entity: (start, stop)}, or three columns "
            "(entity, start, stop); pass one of these."
        )
    entity, start, stop = periods
    table = PeriodTable(encode(entity, "entity"), numbers(start, "start"), numbers(stop, "stop"))
    if not table.entity.codes.size == table.start.size == table.stop.size:
        raise DataError("The columns entity, start and stop of the periods differ in length; pass one row an entity.")
    return None, table


def _read_statics(static: Statics) -> StaticTable:
    if isinstance(static, Mapping):
        if any(isinstance(names, str) for names in static.values()):
            raise DataError("A static predicate stands alone where a list is needed; write {entity: [predicate]}.")
        pairs = [(entity, name) for entity, names in static.items() for name in names]
        return StaticTable(encode([e for e, _ in pairs], "entity"), encode([p for _, p in pairs], "predicate"))
    if not isinstance(static, tuple) or len(static) != 2:
        raise DataError(
            "The static predicates are neither {entity: [predicate, ...]} nor two columns (entity, predicate); "
            "pass one of these."
        )
    table = StaticTable(encode(static[0], "entity"), encode(static[1], "predicate"))
    if table.entity.codes.size != table.predicate.codes.size:
        raise DataError("The two columns of the static predicates differ in length; pass one row a fact.")
    return table


def build(
    log: type[EventLog],
    events: EventTable,
    periods: PeriodTable | None,
    statics: StaticTable | None,
    *,
    shared_period: tuple[float, float] | None = None,
    group_of: Mapping[str, str] | None = None,
    unit: str,
    resolution: float,
    predicates: Sequence[str] | None = None,
    notes: LogNotes,
) -> EventLog:
    """Check the tables and arrange them as a log; every refusal names how many rows are concerned and the first."""
    if not isinstance(resolution, int | float | np.number) or not 0 <= resolution < np.inf:
        raise OptionError(
            f"resolution={resolution!r} is no size of a tick; give 0 (times as they are) or a number > 0."
        )
    if not isinstance(unit, str) or not unit:
        raise OptionError(f"unit={unit!r} names no unit of time; give text such as 'hours'.")
    entities = _entities(events, periods, statics)
    if not entities:
        raise DataError("The log is empty: there is not one event, period or static predicate; check the source.")
    index = {name: position for position, name in enumerate(entities)}
    vocabulary, static_names = _vocabulary(events, statics, predicates)
    code = {name: position for position, name in enumerate(vocabulary)}
    _check_finite(events.time, "time", events.locate)
    ticks = snap(events.time, resolution)
    _check_finite(ticks, "snapped time", events.locate)
    offsets, times, codes = sort_events(
        recode(events.entity, index), ticks, recode(events.event, code), len(entities), RUN
    )
    del ticks
    if shared_period is not None:
        start, stop = new_periods(entities, shared_period, resolution)
    elif periods is not None:
        start, stop = _given_periods(periods, index, offsets, resolution)
    else:
        start, stop = _periods_by_default(entities, offsets, times)
    group, groups = _groups(events, periods, group_of, entities, index)
    static_offsets, static_codes = _static_facts(statics, index, code)
    mask = np.zeros(len(vocabulary), np.bool_)
    mask[[code[name] for name in static_names]] = True
    return log(
        entities=entities,
        predicates=vocabulary,
        offsets=offsets,
        times=times,
        codes=codes,
        start=start,
        stop=stop,
        static_offsets=static_offsets,
        static_codes=static_codes,
        statics=mask,
        group=group,
        groups=groups,
        unit=unit,
        resolution=float(resolution),
        notes=replace(
            notes,
            rows=events.time.size,
            duplicates=events.time.size - times.size,
            periods_by_default=periods is None and shared_period is None,
        ),
    )


def _entities(events: EventTable, periods: PeriodTable | None, statics: StaticTable | None) -> tuple[str, ...]:
    """Order of the entities: that of the periods, which name each, else of the events, then of the statics."""
    names: dict[str, None] = {}
    for table in (periods, events, statics):
        if table is not None:
            names.update(dict.fromkeys(table.entity.names))
    return tuple(names)


def _vocabulary(
    events: EventTable, statics: StaticTable | None, predicates: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    static_names = () if statics is None else statics.predicate.names
    both = sorted(set(static_names) & set(events.event.names))
    if both:
        rows = np.isin(recode(events.event, dict.fromkeys(both, 1)), 1)
        raise DataError(
            f"{agree(len(both), 'predicate', 'occurs', 'occur')} both at instants and as static ({shorten(both)}; "
            f"{plural(int(rows.sum()), 'event')}, first {events.locate(int(np.argmax(rows)))}); "
            "a predicate has a time or has none: rename one of the two."
        )
    names = set(static_names) | set(events.event.names)
    if predicates is None:
        return tuple(sorted(names)), static_names
    vocabulary = tuple(predicates)
    if len(set(vocabulary)) < len(vocabulary) or not all(isinstance(name, str) and name for name in vocabulary):
        raise DataError("The vocabulary given as predicates names one twice or holds an empty name; list each once.")
    unknown = sorted(names - set(vocabulary))
    if unknown:
        raise DataError(
            f"{plural(len(unknown), 'predicate')} of the data ({shorten(unknown)}) "
            f"{'is' if len(unknown) == 1 else 'are'} missing from the vocabulary given as predicates; "
            "add them, or leave these events out."
        )
    return vocabulary, static_names


def _check_finite(times: NDArray[np.float64], what: str, locate: Locate) -> None:
    bad = np.flatnonzero(~np.isfinite(times))
    if bad.size:
        first = int(bad[0])
        raise DataError(
            f"{agree(bad.size, 'row', 'has', 'have')} a {what} that is missing or not finite, "
            f"first {locate(first)} ({times[first]}); every event happens at a finite time: "
            "correct these rows or remove them, or list what has no time as static predicates."
        )


def new_periods(
    entities: tuple[str, ...], periods: Periods, resolution: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Start and stop of each entity from periods given by a person."""
    shared, table = _read_periods(periods)
    index = {name: position for position, name in enumerate(entities)}
    if table is None:
        assert shared is not None
        bounds = (np.full(len(entities), shared[0]), np.full(len(entities), shared[1]))
        table = PeriodTable(Coded(entities, np.arange(len(entities), dtype=np.int32)), *bounds)
    unknown = [name for name in table.entity.names if name not in index]
    if unknown:
        raise DataError(
            f"The periods name {plural(len(unknown), 'entity')} that the log does not hold ({shorten(unknown)}); "
            "leave them out, or build the log again with these periods."
        )
    return _given_periods(table, index, None, resolution)


def _given_periods(
    periods: PeriodTable, index: Mapping[str, int], offsets: NDArray[np.int64] | None, resolution: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    entity = recode(periods.entity, dict(index))
    for values, what in ((periods.start, "start"), (periods.stop, "stop")):
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            first = int(bad[0])
            raise DataError(
                f"{agree(bad.size, 'period', 'has', 'have')} a {what} that is missing or not "
                f"finite, first {periods.locate(first)} ({values[first]}); a rate needs a period with both ends: "
                "correct these rows."
            )
    backward = np.flatnonzero(periods.stop < periods.start)
    if backward.size:
        first = int(backward[0])
        raise DataError(
            f"{agree(backward.size, 'period', 'stops before it starts', 'stop before they start')}, "
            f"first {periods.locate(first)} (start {periods.start[first]:g}, stop {periods.stop[first]:g}); "
            "swap or correct the two columns."
        )
    names = tuple(index)
    seen = np.bincount(entity, minlength=len(names))
    if (seen > 1).any():
        first_entity = int(np.argmax(seen > 1))
        second_row = int(np.flatnonzero(entity == first_entity)[1])
        raise DataError(
            f"{agree(int((seen > 1).sum()), 'entity', 'has', 'have')} more than one "
            f'period, first "{names[first_entity]}" again {periods.locate(second_row)}; give one period an entity, and '
            "name stretches watched apart as entities of their own, joined by a group."
        )
    if (seen == 0).any():
        lacking = [names[position] for position in np.flatnonzero(seen == 0)]
        missing = int((seen == 0).sum())
        counts = np.diff(offsets)[seen == 0].sum() if offsets is not None else 0
        about = f" with {plural(int(counts), 'event')}" if offsets is not None else ""
        raise DataError(
            f"{plural(missing, 'entity')}{about} {'has' if missing == 1 else 'have'} no period ({shorten(lacking)}); "
            "when periods are given each entity needs one: add them, or remove these entities."
        )
    start, stop = np.empty(len(names)), np.empty(len(names))
    start[entity] = snap(periods.start, resolution)
    stop[entity] = snap(periods.stop, resolution)
    return start, stop


def _periods_by_default(
    entities: tuple[str, ...], offsets: NDArray[np.int64], times: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """First to last event of each entity; (0, 0] where there is none, which exposes it to nothing."""
    start, stop = np.zeros(len(entities)), np.zeros(len(entities))
    some = np.diff(offsets) > 0
    start[some] = times[offsets[:-1][some]]
    stop[some] = times[offsets[1:][some] - 1]
    without = int((~some).sum())
    also = (
        f" {plural(without, 'entity')} without events {'has' if without == 1 else 'have'} an empty one."
        if without
        else ""
    )
    warnings.warn(
        "No observation periods were given, so each entity counts as watched from its first event (then history) to "
        "its last; ending at an event is informative and biases every rate upward: pass periods with entity, start "
        f"and stop if you know them.{also}",
        DataWarning,
        stacklevel=_levels_up(),
    )
    return start, stop


def _levels_up() -> int:
    """How many frames to go up for a warning to point at the line outside the package that asked for the log."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("chronorule."):
        frame = frame.f_back
        level += 1
    return level


def _groups(
    events: EventTable,
    periods: PeriodTable | None,
    group_of: Mapping[str, str] | None,
    entities: tuple[str, ...],
    index: dict[str, int],
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Group of each entity: its own where none are given."""
    tables: list[tuple[Coded, Coded, Locate]] = []
    if periods is not None and periods.group is not None:
        tables.append((periods.entity, periods.group, periods.locate))
    if events.group is not None:
        tables.append((events.entity, events.group, events.locate))
    if group_of is not None:
        unknown = [name for name in map(str, group_of) if name not in index]
        if unknown:
            raise DataError(
                f"Groups are given for entities that the log does not hold ({shorten(unknown)}); check them."
            )
        tables.append((encode(group_of, "entity"), encode(group_of.values(), "group"), by_row))
    if not tables:
        return np.arange(len(entities), dtype=np.int32), entities
    found: dict[str, None] = {}
    for _, groups, _ in tables:
        found.update(dict.fromkeys(groups.names))
    position = {name: code for code, name in enumerate(found)}
    group = np.full(len(entities), -1, np.int32)
    for owners, groups, locate in tables:
        entity, code = recode(owners, index), recode(groups, position)
        unset = np.full(len(entities), len(found), np.int32)
        np.minimum.at(unset, entity, code)
        unset = np.where(group >= 0, group, unset)
        conflict = np.flatnonzero(unset[entity] != code)
        if conflict.size:
            first = int(conflict[0])
            concerned = np.unique(entity[conflict]).size
            other = tuple(found)[unset[entity[first]]]
            raise DataError(
                f"{agree(concerned, 'entity', 'is', 'are')} in more than one group, first "
                f'"{entities[entity[first]]}" {locate(first)} (in "{tuple(found)[code[first]]}" and in "{other}"); '
                "an entity belongs to one group: correct the column, or make its parts entities of their own."
            )
        group[entity] = code
    if (group < 0).any():
        lacking = [entities[i] for i in np.flatnonzero(group < 0)]
        raise DataError(
            f"{agree(len(lacking), 'entity', 'has', 'have')} no group ({shorten(lacking)}) "
            "for lack of events that would tell it; give the group in the periods too, or as {entity: group}."
        )
    return renumber(group, tuple(found))


def renumber(group: NDArray[np.int32], groups: tuple[str, ...]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Number groups in the order in which the entities name them, without those that no entity names."""
    used, first = np.unique(group, return_index=True)
    used = used[np.argsort(first)]
    to = np.full(len(groups), -1, np.int32)
    to[used] = np.arange(used.size)
    return to[group], tuple(groups[code] for code in used)


def _static_facts(
    statics: StaticTable | None, index: dict[str, int], code: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """CSR of the static predicates of each entity, sorted, each once."""
    if statics is None:
        return np.zeros(len(index) + 1, np.int64), np.empty(0, np.int32)
    entity, predicate = recode(statics.entity, index), recode(statics.predicate, code)
    return facts(entity, predicate, len(index), len(code))


def facts(
    entity: NDArray[np.integer[Any]], predicate: NDArray[np.integer[Any]], n_entities: int, n_predicates: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """CSR (offsets, codes) of pairs in any order, each pair once."""
    keys = np.unique(entity.astype(np.int64) * max(n_predicates, 1) + predicate)
    offsets = np.zeros(n_entities + 1, np.int64)
    np.cumsum(np.bincount(keys // max(n_predicates, 1), minlength=n_entities), out=offsets[1:])
    return offsets, (keys % max(n_predicates, 1)).astype(np.int32)
