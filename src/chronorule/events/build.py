"""From tables in any order to the arrays of a log: checks, codes, ticks, sorting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import DataError, OptionError
from chronorule.events.groups import groups_of
from chronorule.events.periods import Periods, for_all, given_periods, periods_by_default, read_periods
from chronorule.events.tables import (
    EventTable,
    Locate,
    PeriodTable,
    StaticTable,
    agree,
    as_name,
    encode,
    numbers,
    plural,
    recode,
    shorten,
    snap,
)
from chronorule.kernels.sorting import RUN, sort_events

if TYPE_CHECKING:
    from chronorule.events.log import EventLog, LogNotes

Statics: TypeAlias = Mapping[str, Iterable[str]] | tuple[Iterable[Any], Iterable[Any]]


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
    return build(
        log,
        table,
        None if periods is None else read_periods(periods),
        None if static is None else _read_statics(static),
        group_of=group if isinstance(group, Mapping) else None,
        unit=unit,
        resolution=resolution,
        predicates=predicates,
        notes=notes,
    )


def _read_statics(static: Statics) -> StaticTable:
    if isinstance(static, Mapping):
        for entity, names in static.items():
            if isinstance(names, str) or not isinstance(names, Iterable):
                raise DataError(f'The static predicates of "{entity}" are {names!r}; a list is needed, even of one.')
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
    periods: tuple[float, float] | PeriodTable | None,
    statics: StaticTable | None,
    *,
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
    table = periods if isinstance(periods, PeriodTable) else None
    entities = _entities(events, table, statics)
    if not entities:
        raise DataError("The log is empty: there is not one event, period or static predicate; check the source.")
    vocabulary, static_names = _vocabulary(events, statics, predicates)
    _check_finite(events.time, "time", events.locate)
    ticks = snap(events.time, resolution)
    _check_finite(ticks, "snapped time", events.locate)
    offsets, times, codes = sort_events(
        recode(events.entity, entities), ticks, recode(events.event, vocabulary), len(entities), RUN
    )
    del ticks
    if periods is None:
        start, stop = periods_by_default(entities, offsets, times)
    else:
        start, stop = given_periods(for_all(entities, periods), entities, offsets, resolution)
    group, groups = groups_of(events, table, group_of, entities)
    static_offsets, static_codes = _static_facts(statics, entities, vocabulary)
    without_time = set(static_names)
    mask = np.array([name in without_time for name in vocabulary], np.bool_)
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
            periods_by_default=periods is None,
        ),
    )


def _entities(events: EventTable, periods: PeriodTable | None, statics: StaticTable | None) -> tuple[str, ...]:
    """Order of the entities: that of the periods, which name each, else of the events, then of the statics."""
    columns = [table.entity.names for table in (periods, events, statics) if table is not None]
    return columns[0] if len(columns) == 1 else tuple(dict.fromkeys(chain(*columns)))


def _vocabulary(
    events: EventTable, statics: StaticTable | None, predicates: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    static_names = () if statics is None else statics.predicate.names
    both = sorted(set(static_names) & set(events.event.names))
    if both:
        rows = recode(events.event, both) >= 0
        raise DataError(
            f"{agree(len(both), 'predicate', 'occurs', 'occur')} both at instants and as static ({shorten(both)}; "
            f"{plural(int(rows.sum()), 'event')}, first {events.locate(int(np.argmax(rows)))}); "
            "a predicate has a time or has none: rename one of the two."
        )
    names = set(static_names) | set(events.event.names)
    if predicates is None:
        return tuple(sorted(names)), static_names
    vocabulary = tuple(predicates) if isinstance(predicates, Iterable) and not isinstance(predicates, str) else ("",)
    if not all(isinstance(name, str) and as_name(name) for name in vocabulary) or len({*vocabulary}) < len(vocabulary):
        raise DataError(
            "The vocabulary given as predicates names one twice or holds what is no name; list each once, as text."
        )
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


def _static_facts(
    statics: StaticTable | None, entities: tuple[str, ...], vocabulary: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """CSR of the static predicates of each entity, sorted, each once."""
    if statics is None:
        return np.zeros(len(entities) + 1, np.int64), np.empty(0, np.int32)
    entity, predicate = recode(statics.entity, entities), recode(statics.predicate, vocabulary)
    return facts(entity, predicate, len(entities), len(vocabulary))


def facts(
    entity: NDArray[np.integer[Any]], predicate: NDArray[np.integer[Any]], n_entities: int, n_predicates: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """CSR (offsets, codes) of pairs in any order, each pair once."""
    keys = np.unique(entity.astype(np.int64) * max(n_predicates, 1) + predicate)
    offsets = np.zeros(n_entities + 1, np.int64)
    np.cumsum(np.bincount(keys // max(n_predicates, 1), minlength=n_entities), out=offsets[1:])
    return offsets, (keys % max(n_predicates, 1)).astype(np.int32)
