"""Bring events into the order of the log: by entity, then time, then predicate, each of them once; and count them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled

RUN = 24  # entities (or runs inside one) up to this length are sorted by insertion, the rest by merging


@compiled
def sort_events(
    entity: NDArray[np.int32],
    time: NDArray[np.float64],
    code: NDArray[np.int32],
    n_entities: int,
    run: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]:
    """Return offsets [n_entities + 1], times [m] and codes [m] of the m distinct events, ordered as the log needs them.

    A counting sort brings the entities together; inside one entity a merge sort over insertion-sorted runs keeps the
    cost at m log m however the file was ordered, and one pass suffices where it was in order already.
    """
    offsets = np.zeros(n_entities + 1, np.int64)
    for i in range(entity.size):
        offsets[entity[i] + 1] += 1
    longest = 0
    for c in range(n_entities):
        longest = max(longest, offsets[c + 1])
        offsets[c + 1] += offsets[c]
    times = np.empty(entity.size, np.float64)
    codes = np.empty(entity.size, np.int32)
    place = offsets[:n_entities].copy()
    for i in range(entity.size):
        j = place[entity[i]]
        place[entity[i]] = j + 1
        times[j] = time[i]
        codes[j] = code[i]
    spare_times = np.empty(longest, np.float64)
    spare_codes = np.empty(longest, np.int32)
    kept = 0
    for c in range(n_entities):
        low = offsets[c]
        high = offsets[c + 1]
        for i in range(low + 1, high):
            if times[i] < times[i - 1] or (times[i] == times[i - 1] and codes[i] < codes[i - 1]):
                _sort_slice(times, codes, low, high, spare_times, spare_codes, run)
                break
        offsets[c] = kept
        for i in range(low, high):
            if i == low or times[i] != times[i - 1] or codes[i] != codes[i - 1]:
                # writing stays at or behind i − 1, and writes at i − 1 only the event already there
                times[kept], codes[kept], kept = times[i], codes[i], kept + 1
    offsets[n_entities] = kept
    return offsets, times[:kept].copy(), codes[:kept].copy()


@compiled
def _sort_slice(
    times: NDArray[np.float64],
    codes: NDArray[np.int32],
    low: int,
    high: int,
    spare_times: NDArray[np.float64],
    spare_codes: NDArray[np.int32],
    run: int,
) -> None:
    """Sort one entity's slice [low, high) by (time, code) in place."""
    for first in range(low, high, run):
        for i in range(first + 1, min(first + run, high)):
            t = times[i]
            p = codes[i]
            j = i
            while j > first and (times[j - 1] > t or (times[j - 1] == t and codes[j - 1] > p)):
                times[j] = times[j - 1]
                codes[j] = codes[j - 1]
                j -= 1
            times[j] = t
            codes[j] = p
    width = run
    while width < high - low:
        for first in range(low, high - width, 2 * width):
            middle = first + width
            last = min(middle + width, high)
            left = width
            for i in range(left):
                spare_times[i] = times[first + i]
                spare_codes[i] = codes[first + i]
            i = 0
            j = middle
            k = first
            while i < left and j < last:
                if spare_times[i] < times[j] or (spare_times[i] == times[j] and spare_codes[i] <= codes[j]):
                    times[k] = spare_times[i]
                    codes[k] = spare_codes[i]
                    i += 1
                else:
                    times[k] = times[j]
                    codes[k] = codes[j]
                    j += 1
                k += 1
            while i < left:
                times[k] = spare_times[i]
                codes[k] = spare_codes[i]
                i += 1
                k += 1
        width *= 2


@compiled
def tally_events(
    offsets: NDArray[np.int64],
    times: NDArray[np.float64],
    codes: NDArray[np.int32],
    start: NDArray[np.float64],
    stop: NDArray[np.float64],
    n_predicates: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the events of a log in one pass.

    Returns [n_predicates, 2], events of each predicate and entities that hold it; and [4], events up to the start of
    their entity's period, events after its stop, instants that several events share, and the events at them.
    """
    by_predicate = np.zeros((n_predicates, 2), np.int64)
    whole = np.zeros(4, np.int64)
    holder = np.full(n_predicates, -1, np.int64)  # the last entity in which each predicate was met
    for c in range(offsets.size - 1):
        together = 1
        for j in range(offsets[c], offsets[c + 1]):
            p = codes[j]
            by_predicate[p, 0] += 1
            if holder[p] != c:
                holder[p] = c
                by_predicate[p, 1] += 1
            if times[j] <= start[c]:
                whole[0] += 1
            if times[j] > stop[c]:
                whole[1] += 1
            together = together + 1 if j > offsets[c] and times[j] == times[j - 1] else 1
            if together == 2:
                whole[2] += 1
                whole[3] += 1
            if together > 1:
                whole[3] += 1
    return by_predicate, whole
