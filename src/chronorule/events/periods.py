"""Over which time each entity was watched."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import DataError, DataWarning
from chronorule.events.tables import (
    Coded,
    PeriodTable,
    agree,
    encode,
    levels_up,
    numbers,
    plural,
    recode,
    shorten,
    snap,
)

Periods: TypeAlias = (
    tuple[float, float] | Mapping[str, tuple[float, float]] | tuple[Iterable[Any], ArrayLike, ArrayLike]
)


def read_periods(periods: Periods) -> tuple[float, float] | PeriodTable:
    """Take apart what a person calls periods: one for all, or a table."""
    if isinstance(periods, Mapping):
        pairs = list(periods.values())
        for name, pair in periods.items():
            if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
                raise DataError(f'The period of "{name}" is {pair!r}, which is not (start, stop); give two numbers.')
        start, stop = (numbers([pair[end] for pair in pairs], what) for end, what in enumerate(("start", "stop")))
        return PeriodTable(encode(periods, "entity"), start, stop)
    if isinstance(periods, tuple) and len(periods) == 2:
        for_everyone = numbers(periods, "start and stop")
        return float(for_everyone[0]), float(for_everyone[1])
    if not isinstance(periods, tuple) or len(periods) != 3:
        raise DataError(
            "The periods are none of (start, stop) for all entities, {entity: (start, stop)}, or three columns "
            "(entity, start, stop); pass one of these."
        )
    table = PeriodTable(encode(periods[0], "entity"), numbers(periods[1], "start"), numbers(periods[2], "stop"))
    if not table.entity.codes.size == table.start.size == table.stop.size:
        raise DataError("The columns entity, start and stop of the periods differ in length; pass one row an entity.")
    return table


def for_all(entities: tuple[str, ...], periods: tuple[float, float] | PeriodTable) -> PeriodTable:
    """Give one period to every entity; a table stays as it is."""
    if isinstance(periods, PeriodTable):
        return periods
    start, stop = (np.full(len(entities), bound) for bound in periods)
    return PeriodTable(Coded(entities, np.arange(len(entities), dtype=np.int32)), start, stop)


def new_periods(
    entities: tuple[str, ...], periods: Periods, resolution: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Start and stop of each entity from periods given by a person."""
    table = for_all(entities, read_periods(periods))
    known = set(entities)
    unknown = [name for name in table.entity.names if name not in known]
    if unknown:
        raise DataError(
            f"The periods name {plural(len(unknown), 'entity')} that the log does not hold ({shorten(unknown)}); "
            "leave them out, or build the log again with these periods."
        )
    return given_periods(table, entities, None, resolution)


def given_periods(
    periods: PeriodTable, names: tuple[str, ...], offsets: NDArray[np.int64] | None, resolution: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Start and stop of each entity, each named once; with `offsets` a refusal counts the events concerned."""
    entity = recode(periods.entity, names)
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
    refuse_endless(start, stop, names)
    return start, stop


def refuse_endless(start: NDArray[np.float64], stop: NDArray[np.float64], names: tuple[str, ...]) -> None:
    """Refuse periods whose ends, once on ticks, or whose length is beyond the numbers of the machine."""
    with np.errstate(over="ignore", invalid="ignore"):
        endless = np.flatnonzero(~np.isfinite(stop - start))
    if endless.size:
        first = int(endless[0])
        raise DataError(
            f"{agree(endless.size, 'period', 'has', 'have')} a length beyond the largest number there is, first that "
            f'of "{names[first]}" ({start[first]:g} to {stop[first]:g}); correct its ends, or give a larger resolution.'
        )


def periods_by_default(
    entities: tuple[str, ...], offsets: NDArray[np.int64], times: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """First to last event of each entity; (0, 0] where there is none, which exposes it to nothing."""
    start, stop = np.zeros(len(entities)), np.zeros(len(entities))
    some = np.diff(offsets) > 0
    start[some] = times[offsets[:-1][some]]
    stop[some] = times[offsets[1:][some] - 1]
    refuse_endless(start, stop, entities)
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
        stacklevel=levels_up(),
    )
    return start, stop
