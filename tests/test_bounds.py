"""Bounds of the exact search: each is at least what every rule below it earns, by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chronorule.kernels.branching import best_later, best_union

SEEDS = st.integers(0, 2**32 - 1)


def union_value(prices: list[float], lapsed: list[float], times: list[float], width: float, chosen: list[int]) -> float:
    """What successive completions earn: each from its instant until the next one, or until it lapses."""
    total = 0.0
    for place, s in enumerate(chosen):
        following = chosen[place + 1] if place + 1 < len(chosen) else None
        if following is not None and times[following] <= times[s] + width:
            total += prices[s] - prices[following]
        else:
            total += prices[s] - lapsed[s]
    return total


@given(SEEDS)
@settings(max_examples=150)
def test_best_union_is_the_best_of_all_sets_of_completions(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 8, int(random.integers(1, 4)))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns = int(random.integers(1, 4))
    width = float(random.choice([0.5, 1.0, 2.0, 5.0, 100.0]))
    # an entity's first row is its origin, at minus infinity; whole times make ends of windows meet instants
    times = np.concatenate(
        [[-math.inf, *np.sort(random.choice(12, size - 1, replace=False)).astype(float)] for size in sizes]
    )
    prices, lapsed = random.normal(size=(len(times), columns)), random.normal(size=(len(times), columns))
    out = np.empty_like(prices)
    best_union(prices, lapsed, times, width, offsets, out)
    for (begin, end), j in itertools.product(itertools.pairwise(offsets.tolist()), range(columns)):
        earned = (prices[:, j].tolist(), lapsed[:, j].tolist(), times.tolist(), width)
        for s in range(begin, end):
            # what completes at the origin, a rule of statics alone, completes nowhere else and never lapses
            rows = range(max(s, begin + 1), end)
            every = [list(some) for n in range(len(rows) + 1) for some in itertools.combinations(rows, n)]
            every += [[begin]] if s == begin else []
            best = max(union_value(*earned, chosen) for chosen in every)
            assert abs(out[s, j] - best) <= 1e-12 * (1 + abs(best))  # sums of at most 7 differences


@given(SEEDS)
def test_best_later_is_the_largest_from_here_on(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 6, int(random.integers(1, 5)))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = random.normal(size=(int(offsets[-1]), int(random.integers(1, 4))))
    found = values.copy()
    best_later(found, offsets)
    for begin, end in itertools.pairwise(offsets.tolist()):
        for s, j in itertools.product(range(begin, end), range(values.shape[1])):
            assert found[s, j] == max(0.0, *values[s:end, j].tolist())
