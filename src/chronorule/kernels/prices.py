"""What a completion at an instant is worth: heads observed after it minus heads expected after it (design 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


@compiled
def after_instants(
    instant_offsets: Int64,
    instant_times: Float64,
    delay: float,
    head_offsets: Int64,
    head_times: Float64,
    segment_offsets: Int64,
    starts: Float64,
    lengths: Float64,
    rates: Float64,
    multipliers: Float64,
) -> Float64:
    """(heads observed, heads expected) strictly after each instant plus `delay`: one backward pass an entity.

    The rate of segment j is `rates[j]`, constant on (starts[j], starts[j] + lengths[j]], times the entity's
    multiplier. An origin (time −inf) plus any positive delay counts as never: what holds from the origin does not end.
    """
    table = np.empty((instant_times.shape[0], 2), np.float64)
    for c in range(instant_offsets.shape[0] - 1):
        head = head_offsets[c + 1] - 1
        segment = segment_offsets[c + 1] - 1
        observed = 0.0
        expected = 0.0  # over the segments passed whole
        for s in range(instant_offsets[c + 1] - 1, instant_offsets[c] - 1, -1):
            if s == instant_offsets[c] and delay > 0.0:
                table[s, 0] = 0.0
                table[s, 1] = 0.0
                continue
            time = instant_times[s] + delay
            while head >= head_offsets[c] and head_times[head] > time:
                observed += 1.0
                head -= 1
            while segment >= segment_offsets[c] and starts[segment] >= time:
                expected += rates[segment] * lengths[segment]
                segment -= 1
            part = 0.0
            if segment >= segment_offsets[c] and starts[segment] + lengths[segment] > time:
                part = rates[segment] * (starts[segment] + lengths[segment] - time)
            table[s, 0] = observed
            table[s, 1] = multipliers[c] * (expected + part)
    return table


@compiled
def _decayed_mass(level: float, strength: float, decay: float, length: float) -> float:
    """∫_0^length e^(level + strength·e^(−decay·u)) e^(−decay·u) du, in closed form."""
    kept = np.exp(-decay * length)
    change = strength * -np.expm1(-decay * length)
    ratio = 1.0 + 0.5 * change if abs(change) < 1e-8 else np.expm1(change) / change
    return np.exp(level + strength * kept) * ratio * -np.expm1(-decay * length) / decay


@compiled
def decayed_prices(
    instant_offsets: Int64,
    instant_times: Float64,
    decay: float,
    head_offsets: Int64,
    head_times: Float64,
    segment_offsets: Int64,
    starts: Float64,
    lengths: Float64,
    levels: Float64,
    strengths: Float64,
    multipliers: Float64,
) -> Float64:
    """D(s) = Σ_{heads > s} e^(−decay·(t − s)) − ∫_{exposure > s} λ(t) e^(−decay·(t − s)) dt for every instant s.

    On segment j, log λ = levels[j] + strengths[j]·e^(−decay·(t − starts[j])). One backward pass an entity carries the
    price from one breakpoint (instant, head, edge of a segment) to the one before it. Origins have price 0.
    """
    prices = np.zeros(instant_times.shape[0], np.float64)
    for c in range(instant_offsets.shape[0] - 1):
        head = head_offsets[c + 1] - 1
        segment = segment_offsets[c + 1] - 1
        price = 0.0
        now = np.inf
        s = instant_offsets[c + 1] - 1
        while s > instant_offsets[c]:
            # The next breakpoint back in time: instant s, the last head left, or an edge of the segment.
            target = instant_times[s]
            if head >= head_offsets[c]:
                target = max(target, head_times[head])
            inside = False
            if segment >= segment_offsets[c]:
                finish = starts[segment] + lengths[segment]
                inside = now <= finish
                target = max(target, starts[segment] if inside else finish)
            if now < np.inf:
                price *= np.exp(-decay * (now - target))
            if inside and target < now:
                strength = strengths[segment] * np.exp(-decay * (target - starts[segment]))
                price -= multipliers[c] * _decayed_mass(levels[segment], strength, decay, now - target)
            now = target
            # At one time: leave the segment, price the instant (heads at its own time do not count), add heads.
            if inside and starts[segment] >= now:
                segment -= 1
            while s > instant_offsets[c] and instant_times[s] == now:
                prices[s] = price
                s -= 1
            while head >= head_offsets[c] and head_times[head] == now:
                price += 1.0
                head -= 1
    return prices
