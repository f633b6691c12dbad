"""When the effect of a rule begins in each entity, and which heads come then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronorule.grounding import Grounding
from chronorule.rules import Rule

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Starts:
    """Completions from which the time is counted, by entity and time; each lasts until the entity's next."""

    entity: Int64
    time: Float64
    until: Float64  # infinite for an entity's last
    entities: int  # of the log


def effect_starts(grounding: Grounding, rule: Rule) -> Starts:
    """All completions of a rule, or the first of each entity where no later one changes anything."""
    rows = grounding.completions(rule)
    entity = rows[:, 0].astype(np.int64)
    time = grounding.index.instant_times[rows[:, 1].astype(np.int64)]
    last = np.ones(len(entity), np.bool_)
    last[:-1] = entity[1:] != entity[:-1]
    if grounding.feature.kind == "exists" and grounding.feature.kernel.name == "step":
        first = np.ones(len(entity), np.bool_)
        first[1:] = last[:-1]
        entity, time = entity[first], time[first]
        last = np.ones(len(entity), np.bool_)
    until = np.full(len(entity), np.inf)
    until[:-1] = np.where(last[:-1], np.inf, time[1:])
    return Starts(entity, time, until, grounding.log.n_entities)


def count_until(offsets: Int64, times: Float64, owner: Int64, moments: Float64) -> Int64:
    """How many of an owner's times are at or before each moment: `times` rise between `offsets`."""
    low, high = offsets[owner].copy(), offsets[owner + 1].copy()
    begin = low.copy()
    while (low < high).any():
        middle = (low + high) // 2
        searching = low < high
        passed = searching & (times[np.where(searching, middle, 0)] <= moments)
        low = np.where(passed, middle + 1, low)
        high = np.where(searching & ~passed, middle, high)
    return low - begin
