"""Parts and unions of logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import DataError, OptionError
from chronorule.events.groups import renumber
from chronorule.events.tables import agree, plural, shorten, snap
from chronorule.events.units import MICROSECONDS
from chronorule.kernels.sorting import RUN, sort_events

if TYPE_CHECKING:
    from chronorule.events.log import EventLog


def slices(offsets: NDArray[np.int64], chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets of the chosen slices when laid end to end, and the positions of their items in the old array."""
    lengths = offsets[chosen + 1] - offsets[chosen]
    ends = np.zeros(chosen.size + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    positions = np.arange(ends[-1]) + np.repeat(offsets[chosen] - ends[:-1], lengths)
    return ends, positions


def select(log: EventLog, entities: ArrayLike | Sequence[str]) -> EventLog:
    """Return the log of the chosen entities; see `EventLog.select`."""
    chosen = _positions(log, entities)
    if np.unique(chosen).size < chosen.size:
        values, counts = np.unique(chosen, return_counts=True)
        twice = [log.entities[i] for i in values[counts > 1]]
        raise DataError(f"Entities are selected more than once ({shorten(twice)}); name each once.")
    if not chosen.size:
        raise DataError("No entity is selected, which would leave an empty log; select at least one.")
    offsets, events = slices(log.offsets, chosen)
    static_offsets, statics = slices(log.static_offsets, chosen)
    names = tuple(log.entities[i] for i in chosen)
    if log.has_groups:
        group, groups = renumber(log.group[chosen], log.groups)
    else:
        group, groups = np.arange(chosen.size, dtype=np.int32), names
    return replace(
        log,
        entities=names,
        offsets=offsets,
        times=log.times[events],
        codes=log.codes[events],
        start=log.start[chosen],
        stop=log.stop[chosen],
        static_offsets=static_offsets,
        static_codes=log.static_codes[statics],
        group=group,
        groups=groups,
        notes=replace(log.notes, rows=int(offsets[-1]), duplicates=0),
    )


def _positions(log: EventLog, entities: ArrayLike | Sequence[str]) -> NDArray[np.int64]:
    if isinstance(entities, str):
        raise DataError(f'One name ("{entities}") stands where several are expected; write ["{entities}"].')
    if isinstance(entities, Sequence) and entities and all(isinstance(name, str) for name in entities):
        return np.array([log.entity(str(name)) for name in entities], np.int64)
    try:
        chosen = np.asarray(entities)
    except ValueError:  # rows of different lengths
        chosen = np.empty((), np.object_)
    if chosen.size == 0:
        return np.empty(0, np.int64)
    if chosen.dtype.kind in "UO" and chosen.ndim == 1:
        return np.array([log.entity(name) for name in chosen.tolist()], np.int64)
    if chosen.dtype.kind == "b" and chosen.shape == (log.n_entities,):
        return np.flatnonzero(chosen)
    if chosen.dtype.kind not in "iu" or chosen.ndim != 1:
        raise DataError(
            f"The selection is an array of type {chosen.dtype} and shape {chosen.shape}; give positions, names, or a "
            f"mask over the {plural(log.n_entities, 'entity')}."
        )
    outside = chosen[(chosen < 0) | (chosen >= log.n_entities)]
    if outside.size:
        raise DataError(
            f"Position {int(outside[0])} is selected, but the log has positions 0 to {log.n_entities - 1}; correct it."
        )
    return chosen.astype(np.int64)


def split(log: EventLog, test: float, seed: int) -> tuple[EventLog, EventLog]:
    """Return (train, test) by group; see `EventLog.split`."""
    if not isinstance(test, float | int | np.number) or not 0.0 < test < 1.0:
        raise OptionError(f"test={test!r} is no share of the log; give a number between 0 and 1, such as 0.25.")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise OptionError(f"seed={seed!r} cannot start the drawing; give a whole number of 0 or more.")
    if log.n_groups < 2:
        raise DataError(
            f'The log has one {"group" if log.has_groups else "entity"} ("{log.groups[0]}"), which cannot be split; '
            "a test needs at least two."
        )
    held_out = min(max(round(test * log.n_groups), 1), log.n_groups - 1)
    # by name: the order in which rows or a table of periods bring the groups does not matter
    by_name = np.array(sorted(range(log.n_groups), key=lambda group: log.groups[group]))
    drawn = by_name[np.random.default_rng(seed).permutation(log.n_groups)[:held_out]]
    in_test = np.zeros(log.n_groups, np.bool_)
    in_test[drawn] = True
    mask = in_test[log.group]
    return select(log, ~mask), select(log, mask)


def concat(logs: Sequence[EventLog]) -> EventLog:
    """Join logs of different entities; see `EventLog.concat`."""
    if not logs:
        raise DataError("There is no log to join; pass at least one.")
    first = logs[0]
    for log in logs[1:]:
        if (log.unit, log.resolution) != (first.unit, first.resolution):
            raise DataError(
                f"The logs differ in unit or resolution ({first.unit}, {first.resolution:g} and {log.unit}, "
                f"{log.resolution:g}), so their times cannot be compared; build them alike first."
            )
        if (log.notes.origin is None) != (first.notes.origin is None):
            raise DataError(
                "One log counts time from a date and another does not; build them from the same kind of times."
            )
        if log.has_groups != first.has_groups:
            raise DataError("One log has groups and another has none; give all of them groups, or none.")
    entities = tuple(name for log in logs for name in log.entities)
    if len(set(entities)) < len(entities):
        seen: set[str] = set()
        twice = [name for name in entities if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        raise DataError(
            f"{agree(len(set(twice)), 'entity', 'is', 'are')} in more than one log "
            f"({shorten(dict.fromkeys(twice))}); rename them, or build one log from all the events."
        )
    predicates, codes_of, mask = _united_vocabulary(logs)
    origin, shifts = _common_origin(logs)
    groups = tuple(dict.fromkeys(name for log in logs for name in log.groups)) if first.has_groups else entities
    number = {name: i for i, name in enumerate(groups)}
    moved = [_moved(log, shift) for log, shift in zip(logs, shifts, strict=True)]
    codes = np.concatenate([to[log.codes] for log, to in zip(logs, codes_of, strict=True)])
    times = np.concatenate([times for times, _, _ in moved])
    owner = np.repeat(np.arange(len(entities), dtype=np.int32), np.concatenate([np.diff(log.offsets) for log in logs]))
    offsets, times, codes = sort_events(owner, times, codes, len(entities), RUN)  # codes may have changed their order
    static_owner = np.repeat(np.arange(len(entities)), np.concatenate([np.diff(log.static_offsets) for log in logs]))
    static_codes = np.concatenate([to[log.static_codes] for log, to in zip(logs, codes_of, strict=True)])
    order = np.lexsort((static_codes, static_owner))
    static_offsets = np.zeros(len(entities) + 1, np.int64)
    np.cumsum(np.bincount(static_owner, minlength=len(entities)), out=static_offsets[1:])
    return replace(
        first,
        entities=entities,
        predicates=predicates,
        offsets=offsets,
        times=times,
        codes=codes,
        start=np.concatenate([start for _, start, _ in moved]),
        stop=np.concatenate([stop for _, _, stop in moved]),
        static_offsets=static_offsets,
        static_codes=static_codes[order],
        statics=mask,
        group=np.array([number[log.groups[g]] for log in logs for g in log.group.tolist()], np.int32)
        if first.has_groups
        else np.arange(len(entities), dtype=np.int32),
        groups=groups,
        notes=replace(
            first.notes,
            rows=sum(log.notes.rows for log in logs),
            duplicates=sum(log.notes.duplicates for log in logs),
            periods_by_default=any(log.notes.periods_by_default for log in logs),
            origin=origin,
        ),
    )


def _united_vocabulary(
    logs: Sequence[EventLog],
) -> tuple[tuple[str, ...], list[NDArray[np.int32]], NDArray[np.bool_]]:
    """All predicates, those of the first log first, the code of each in each log, and which are static."""
    kinds: dict[str, bool] = {}
    for log in logs:
        for name, static in zip(log.predicates, log.statics.tolist(), strict=True):
            if kinds.setdefault(name, static) != static:
                raise DataError(
                    f'"{name}" is static in one log and happens at instants in another; rename one of the two.'
                )
    code = {name: i for i, name in enumerate(kinds)}
    codes_of = [np.array([code[name] for name in log.predicates], np.int32) for log in logs]
    return tuple(kinds), codes_of, np.array(list(kinds.values()), np.bool_)


def _common_origin(logs: Sequence[EventLog]) -> tuple[str | None, list[float]]:
    """The earliest origin, and how far each log's times move to count from it, in the logs' unit."""
    origins = [log.notes.origin for log in logs]
    known = [origin for origin in origins if origin is not None]
    if not known:
        return None, [0.0] * len(logs)
    if len({origin.endswith("+00:00") for origin in known}) > 1:
        raise DataError(
            "One log has time zones and another does not, so their times cannot be compared; give both zones."
        )
    earliest = min(known, key=_instant)
    size = MICROSECONDS[logs[0].unit]
    return earliest, [int((_instant(origin) - _instant(earliest)).astype(np.int64)) / size for origin in known]


def _moved(log: EventLog, shift: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Times, starts and stops counted from an earlier origin, on ticks where there are ticks."""
    if shift == 0.0:
        return log.times, log.start, log.stop
    by = shift if log.resolution == 0.0 else float(snap(np.array([shift]), log.resolution)[0])
    times, start, stop = (snap(values + by, log.resolution) for values in (log.times, log.start, log.stop))
    return times, start, stop


def _instant(origin: str) -> np.datetime64:
    return np.datetime64(origin.removesuffix("+00:00"), "us")


def dates(log: EventLog, times: NDArray[np.float64]) -> NDArray[np.datetime64]:
    """Timestamps of times; see `EventLog.dates`."""
    if log.notes.origin is None:
        raise DataError(
            "The log was built from numbers, not timestamps, so its times have no dates; show them as they are."
        )
    with np.errstate(over="ignore"):
        microseconds = np.rint(times * MICROSECONDS[log.unit])
    beyond = ~(np.abs(microseconds) < 2**62)
    if beyond.any():
        raise DataError(
            f"{agree(int(beyond.sum()), 'time', 'lies', 'lie')} beyond all dates, first {times[beyond][0]:g} "
            f"({log.unit} from {log.notes.origin}); show these as numbers."
        )
    steps = microseconds.astype("timedelta64[us]")
    result: NDArray[Any] = _instant(log.notes.origin) + steps
    return result
