"""From completions to feature paths: how φ of one rule runs over every entity's time (design 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


@compiled
def feature_path(
    entity: Int64, time: Float64, multiplicity: Float64, n_entities: int, count: bool, width: float, decay: float
) -> tuple[Int64, Float64, Float64]:
    """Offsets, times and values of φ: `values[j]` holds just after `times[j]`, and falls at rate `decay` from there.

    Completions come sorted by (entity, time). `width` is infinite for the step kernel. With `count` False the latest
    completion alone matters.
    """
    n = time.shape[0]
    room = n if width == np.inf else 2 * n
    offsets = np.zeros(n_entities + 1, np.int64)
    times = np.empty(room, np.float64)
    values = np.empty(room, np.float64)
    rows = 0
    begin = 0
    for c in range(n_entities):
        offsets[c] = rows
        end = begin
        while end < n and entity[end] == c:
            end += 1
        arriving = begin
        leaving = begin
        value = 0.0
        lost = 0.0  # what rounding took from `value`: a large multiplicity that leaves must not take small ones along
        while arriving < end or (width < np.inf and leaving < end):
            arrives = arriving < end
            if arrives and width < np.inf and leaving < arriving:
                arrives = time[arriving] <= time[leaving] + width
            if arrives:
                now = time[arriving]
                if count and decay > 0.0 and arriving > begin:
                    value *= np.exp(-decay * (now - time[arriving - 1]))
                change = multiplicity[arriving] if count else (0.0 if decay > 0.0 and value > 0.0 else 1.0)
                arriving += 1
            else:
                now = time[leaving] + width
                change = -multiplicity[leaving] if count else -1.0
                leaving += 1
            total = value + change
            if width < np.inf:
                part = total - value
                lost += (value - (total - part)) + (change - part)
            value = total
            shown = value + lost if count else min(value, 1.0)
            previous = values[rows - 1] if rows > offsets[c] else 0.0
            if rows > offsets[c] and times[rows - 1] == now:
                values[rows - 1] = shown
                before = values[rows - 2] if rows - 1 > offsets[c] else 0.0
                if decay == 0.0 and shown == before:
                    rows -= 1
            elif decay > 0.0 or shown != previous:
                times[rows] = now
                values[rows] = shown
                rows += 1
        begin = end
    offsets[n_entities] = rows
    return offsets, times[:rows].copy(), values[:rows].copy()
