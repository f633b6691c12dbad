"""What one more predicate would do to a chain, for all predicates in one pass over an entity's events (design 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled

Flags = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


@compiled
def best_later(values: Float64, instant_offsets: Int64) -> None:
    """Turn each column into its largest value at this or a later instant of the same entity, and at least 0."""
    for c in range(instant_offsets.shape[0] - 1):
        last = instant_offsets[c + 1] - 1
        for j in range(values.shape[1]):
            best = 0.0
            for s in range(last, instant_offsets[c] - 1, -1):
                best = max(best, values[s, j])
                values[s, j] = best


@compiled
def best_union(
    prices: Float64, lapsed: Float64, times: Float64, width: float, instant_offsets: Int64, out: Float64
) -> None:
    """The most that completions at this or later instants of an entity can earn while each counts for `width`.

    `prices[s]` is what is earned after instant s and `lapsed[s]` after s + width, both additive; a completion earns
    until the next completion or until it lapses. With G(s) the best that begins with a completion at s,
    G(s) = max( max over s < s' <= s + width of prices[s] − prices[s'] + G(s'), prices[s] − lapsed[s] + best later ),
    and out[s] = max(0, G(s'), s' >= s). One backward pass with a queue of the largest G(s') − prices[s'].
    """
    longest = 0
    for c in range(instant_offsets.shape[0] - 1):
        longest = max(longest, instant_offsets[c + 1] - instant_offsets[c])
    queue = np.empty(longest, np.int64)
    surplus = np.empty(longest, np.float64)
    for j in range(prices.shape[1]):
        for c in range(instant_offsets.shape[0] - 1):
            begin = instant_offsets[c]
            end = instant_offsets[c + 1]
            front = 0  # queue[front:back] are later instants, the latest first, of rising surplus
            back = 0
            beyond = end  # the first instant that a completion at s no longer reaches
            for s in range(end - 1, begin - 1, -1):
                reach = times[s] + width
                while beyond - 1 > s and times[beyond - 1] > reach:
                    beyond -= 1
                while front < back and queue[front] >= beyond:
                    front += 1
                best = prices[s, j] - lapsed[s, j]
                if beyond < end and s > begin:  # what holds from the origin never lapses
                    best += out[beyond, j]
                if front < back:
                    best = max(best, prices[s, j] + surplus[queue[front] - begin])
                surplus[s - begin] = best - prices[s, j]
                while front < back and surplus[queue[back - 1] - begin] <= surplus[s - begin]:
                    back -= 1
                queue[back] = s
                back += 1
                later = out[s + 1, j] if s + 1 < end else 0.0
                out[s, j] = max(later, best, 0.0)


@compiled
def expand_chains(
    node_offsets: Int64,
    entities: Int32,
    places: Int32,
    last_offsets: Int64,
    last_columns: Int32,
    open_columns: Flags,
    timed: int,
    alive: Int64,
    instant_offsets: Int64,
    first_event: Int64,
    column: Int32,
    static_offsets: Int64,
    static_column: Int32,
    after: Float64,
    ceilings: Float64,
    out: Float64,
) -> None:
    """Sums over entities of what each child of each node has after its first completion, and of its ceilings.

    Node r completes first in `entities[k]` at instant `places[k]`, k in node_offsets[r]:node_offsets[r + 1]; the
    columns of the predicates of its last Equal class are last_columns[last_offsets[r]:last_offsets[r + 1]].
    `open_columns[r]` says which children to look at: a column for each of the `timed` predicates that comes after, one
    for each that joins the last class, then one for each static predicate. `column` is the timed column of every event,
    −1 for none.
    Adds (observed, expected, ceilings of the intervals alive) to out[r, child].
    """
    intervals = ceilings.shape[1]
    seen = np.full(2 * timed, -1, np.int64)
    living = np.empty(intervals, np.int64)
    stamp = 0
    for r in range(node_offsets.shape[0] - 1):
        alive_here = 0
        for j in range(intervals):
            if alive[r] >> j & 1:
                living[alive_here] = j
                alive_here += 1
        first_member = last_offsets[r]
        members = last_offsets[r + 1] - first_member
        joins = False
        for k in range(timed, 2 * timed):
            joins = joins or open_columns[r, k]
        for k in range(node_offsets[r], node_offsets[r + 1]):
            c = entities[k]
            place = places[k]
            end = instant_offsets[c + 1]
            stamp += 1
            for s in range(place + 1, end):
                for e in range(first_event[s], first_event[s + 1]):
                    p = column[e]
                    if p >= 0 and open_columns[r, p] and seen[p] != stamp:
                        seen[p] = stamp
                        out[r, p, 0] += after[s, 0]
                        out[r, p, 1] += after[s, 1]
                        for y in range(alive_here):
                            out[r, p, 2 + living[y]] += ceilings[s, living[y]]
            if joins:
                for s in range(place, end):
                    begin = first_event[s]
                    finish = first_event[s + 1]
                    if finish - begin <= members:
                        continue
                    held = 0
                    for e in range(begin, finish):
                        for m in range(first_member, first_member + members):
                            if column[e] == last_columns[m]:
                                held += 1
                    if held < members:
                        continue
                    for e in range(begin, finish):
                        p = column[e] + timed
                        if column[e] >= 0 and open_columns[r, p] and seen[p] != stamp:
                            seen[p] = stamp
                            out[r, p, 0] += after[s, 0]
                            out[r, p, 1] += after[s, 1]
                            for y in range(alive_here):
                                out[r, p, 2 + living[y]] += ceilings[s, living[y]]
            for m in range(static_offsets[c], static_offsets[c + 1]):
                p = 2 * timed + static_column[m]
                if static_column[m] >= 0 and open_columns[r, p]:
                    out[r, p, 0] += after[place, 0]
                    out[r, p, 1] += after[place, 1]
                    for y in range(alive_here):
                        out[r, p, 2 + living[y]] += ceilings[place, living[y]]
