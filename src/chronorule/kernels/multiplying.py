"""What one more predicate would do to the number of matches of a chain, and what they can still earn (design 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled
from chronorule.kernels.branching import Batch, Events
from chronorule.kernels.matching import Bodies

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


@compiled
def best_continuations(
    events: Events,
    instant_offsets: Int64,
    prices: Float64,
    width: int,
    statics: bool,
    unordered: bool,
    itself: bool,
    least: float,
) -> Float64:
    """What one match that ends at an instant can become at most with up to r more predicates: [instants, r].

    V_0 = 0 and V_r(s) = max(0, max_p Σ_{s' > s, p at s'} max(D(s'), V_{r−1}(s')), and where other predicates happen at
    s, max(D(s), V_{r−1}(s)); with static predicates D(s)), D the price. Where predicates may be `unordered` (None),
    each of the n_p(s) events of p up to s may be the new one, so that n_p(s)·max(0, D(s), V_{r−1}(s)) comes on top of
    the sum. With `itself` the match may also earn D(s) as it is. Prices count as `least` where they are lower.
    `prices` is [instants, longest + 1], the price in column 0.
    """
    longest = prices.shape[1] - 1
    out = np.zeros_like(prices)
    sums = np.zeros((width, longest + 1), np.float64)
    best = np.zeros(longest + 1, np.float64)
    earlier = np.zeros(width, np.int64)  # events of each predicate up to the instant
    for c in range(events.offsets.shape[0] - 1):
        sums[:] = 0.0
        best[:] = 0.0
        earlier[:] = 0
        for x in range(events.offsets[c], events.offsets[c + 1]):
            earlier[events.columns[x]] += 1
        e = events.offsets[c + 1] - 1
        for s in range(instant_offsets[c + 1] - 1, instant_offsets[c] - 1, -1):
            low = e
            while low >= events.offsets[c] and events.instants[low] == s:
                low -= 1
            price = max(prices[s, 0], least)
            for r in range(1, longest + 1):
                out[s, r] = max(0.0, best[r])
                if statics:
                    out[s, r] = max(out[s, r], price)
                if unordered:
                    here = max(0.0, price) if r == 1 else max(0.0, price, out[s, r - 1])
                    for p in range(width):
                        if earlier[p] > 0:
                            out[s, r] = max(out[s, r], earlier[p] * here + sums[p, r])
                elif e - low > 1:
                    out[s, r] = max(out[s, r], max(price, out[s, r - 1]))
            for x in range(low + 1, e + 1):
                p = events.columns[x]
                earlier[p] -= 1
                for r in range(1, longest + 1):
                    sums[p, r] += price if r == 1 else max(price, out[s, r - 1])
            if e > low:
                for r in range(1, longest + 1):
                    best[r] = 0.0
                    for p in range(width):
                        best[r] = max(best[r], sums[p, r])
            e = low
    if itself:
        for s in range(out.shape[0]):
            for r in range(longest + 1):
                out[s, r] = max(out[s, r], max(prices[s, 0], least))
    return out


@compiled
def _earn(sums: Float64, o: int, n_targets: int, matches: float, after: Float64, value: float, place: int) -> None:
    """Add so many matches that end at `place` to the sums of a child."""
    sums[o] += matches * after[place, 0]
    sums[o + 1] += matches * after[place, 1]
    for t in range(n_targets):
        sums[o + 2 + t] += matches * value


@compiled
def multiply_chains(
    events: Events,
    instant_offsets: Int64,
    prices: Float64,
    values: Float64,
    batch: Batch,
    bodies: Bodies,
    width: int,
    n_children: int,
    begin: int,
    end: int,
    node_offsets: Int64,
    entities: Int32,
    sums: Float64,
) -> None:
    """As `expand_chains`, for the number of matches: every completion counts, as often as it has matches.

    `bodies` are the chains by column; chain r completes in entities[k], k in node_offsets[r - begin] and on. `prices`
    are heads observed and expected while a match counts that ends at an instant, and values[s, r] what it can earn at
    most with up to r more predicates, whatever the target.
    """
    row_of = np.full(n_children, -1, np.int64)
    ways = np.zeros(values.shape[1] + 1, np.float64)
    for r in range(begin, end):
        n_targets = batch.target_offsets[r + 1] - batch.target_offsets[r]
        for k in range(batch.row_offsets[r], batch.row_offsets[r + 1]):
            row_of[batch.rows[k]] = batch.sum_offsets[r] + (k - batch.row_offsets[r]) * (2 + n_targets)
        first = bodies.class_offsets[r]
        classes = bodies.class_offsets[r + 1] - first
        size = bodies.member_offsets[first + classes] - bodies.member_offsets[first]
        size += bodies.static_offsets[r + 1] - bodies.static_offsets[r]
        rest = values.shape[1] - 1 - size - 1  # predicates that may come after the child
        for k in range(node_offsets[r - begin], node_offsets[r - begin + 1]):
            c = entities[k]
            ways[:] = 0.0
            ways[0] = 1.0
            e = events.offsets[c]
            for s in range(instant_offsets[c], instant_offsets[c + 1]):
                after = e
                while after < events.offsets[c + 1] and events.instants[after] == s:
                    after += 1
                gained = 1.0 if classes == 0 and s == instant_offsets[c] else 0.0
                for x in range(e, after):
                    o = row_of[events.columns[x]]
                    if o >= 0 and ways[classes] > 0.0:
                        _earn(sums, o, n_targets, ways[classes], prices, values[s, rest], s)
                for q in range(classes - 1, -1, -1):
                    if after > e and ways[q] > 0.0:
                        held = True
                        for m in range(bodies.member_offsets[first + q], bodies.member_offsets[first + q + 1]):
                            here = False
                            for x in range(e, after):
                                here = here or events.columns[x] == bodies.members[m]
                            held = held and here
                        if held:
                            ways[q + 1] += ways[q]
                            if q == classes - 1:
                                gained = ways[q]
                if gained > 0.0:
                    for x in range(e, after):
                        o = row_of[width + events.columns[x]]
                        if o >= 0:
                            _earn(sums, o, n_targets, gained, prices, values[s, rest], s)
                    for m in range(events.static_offsets[c], events.static_offsets[c + 1]):
                        if events.static_columns[m] >= 0:
                            o = row_of[2 * width + events.static_columns[m]]
                            if o >= 0:
                                _earn(sums, o, n_targets, gained, prices, values[s, rest], s)
                e = after
        for k in range(batch.row_offsets[r], batch.row_offsets[r + 1]):
            row_of[batch.rows[k]] = -1
