"""Bounds of the exact search: each is at least what every rule below it earns, by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from chronorule.kernels.branching import best_later, best_union
from chronorule.pricing import bounds
from chronorule.pricing.bounds import ChainBounds
from chronorule.rules import Rule
from chronorule.search.chains import ChainTree
from chronorule.search.nodes import Nodes
from chronorule.search.orders import OrderTree
from reference_search import verdict
from search_worlds import Posed, random_problem

Floats = NDArray[np.float64]

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


# ---- of chains and orders


class Bystander:
    """Stands for the keeper of a search that never finds anything, so that nothing is left out for being too small."""

    def __init__(self) -> None:
        self.value = 0.0
        self.offered: dict[Rule, float] = {}

    def may_matter(self, values: Floats, worths: Floats) -> NDArray[np.bool_]:
        """Everything."""
        return np.ones(len(values), np.bool_)

    def offer(self, values: Floats, worths: Floats, rule_at: Callable[[int], Rule]) -> None:
        """Only remembered."""
        for place, value in enumerate(values.tolist()):
            self.offered[rule_at(place)] = value


def best_below(tree: ChainTree | OrderTree, node: Nodes[Any], seen: dict[Rule, float]) -> float:
    """The largest value below a node, which its bound must reach; all rules that are offered are remembered."""
    bystander = Bystander()
    children, done = tree.expand(node, bystander, lambda: True)  # type: ignore[arg-type]
    assert done == len(node)
    seen |= bystander.offered
    best = max(bystander.offered.values(), default=-math.inf)
    for row in range(len(children)):
        best = max(best, best_below(tree, children.take(np.array([row])), seen))
    # sums of a few hundred numbers of size up to e^4
    assert best <= node.bound[0] + 1e-6 * max(1.0, best)
    return best


@pytest.mark.parametrize("partial_orders", [False, True], ids=["chains", "orders"])
@pytest.mark.parametrize("kind", ["exists", "count"])
@given(SEEDS)
@settings(max_examples=25)
def test_bound_is_at_least_the_value_of_every_rule_below(kind: str, partial_orders: bool, seed: int) -> None:
    posed = random_problem(seed, kind, partial_orders, stop="optimal", taken=(), entities=16)
    with pytest.MonkeyPatch.context() as patch:
        if seed % 3 == 0:  # as on logs whose next places would take too much memory
            patch.setattr(bounds, "MOST_PLACES", 0)
        look_below(posed, partial_orders)


def look_below(posed: Posed, partial_orders: bool) -> None:
    """Go through everything below the root; every rule of the grammar is offered with its value."""
    problem, grammar = posed.problem, posed.problem.task.grammar
    seen: dict[Rule, float] = {}
    for sign in grammar.signs:
        tree = OrderTree(problem, sign) if partial_orders else ChainTree(problem, sign)
        best_below(tree, tree.root(), seen)
    for rule, judged in verdict(posed.slow).judged.items():
        if judged.value > 1e-6:
            assert seen[rule] == pytest.approx(judged.value, rel=1e-6, abs=1e-6), rule.key


@given(SEEDS)
@settings(max_examples=60)
def test_ceilings_are_at_least_what_any_completions_earn_at_any_weight(seed: int) -> None:
    """By event and interval: completions at this and later events of its predicate, weights across the interval."""
    posed = random_problem(seed, entities=8)
    oracle, grammar = posed.problem.oracle, posed.problem.task.grammar
    random = np.random.default_rng(seed)
    kernel, after, lapsed = oracle.grounding.feature.kernel, oracle.after, oracle.lapsed
    times = oracle.grounding.index.instant_times
    for sign, objective in itertools.product(grammar.signs, ("gain", "gradient")):
        ceilings = ChainBounds(oracle, grammar, sign, objective)  # type: ignore[arg-type]
        events = ceilings.events
        for c in range(len(events.offsets) - 1):
            rows = range(int(events.offsets[c]), int(events.offsets[c + 1]))
            for e in rows:
                same = [f for f in rows if events.columns[f] == events.columns[e] and f >= e]
                chosen = [f for f in same if random.random() < 0.6] or [e]
                places = [int(events.instants[f]) for f in chosen]
                if kernel.name == "step":
                    heads, expected = after[places[0]]
                else:
                    spans = [list(map(float, column)) for column in (after[places, 0], after[places, 1])]
                    ends = [list(map(float, column)) for column in (lapsed[places, 0], lapsed[places, 1])]
                    at = times[places].tolist()
                    order = list(range(len(places)))
                    heads = union_value(spans[0], ends[0], at, kernel.width, order)
                    expected = union_value(spans[1], ends[1], at, kernel.width, order)
                for j in range(ceilings.intervals):
                    ceiling = ceilings.tables.latest[e, j]
                    if objective == "gradient":
                        assert sign * (heads - expected) <= ceiling + 1e-9
                        continue
                    for w in np.linspace(ceilings.cuts[j], ceilings.cuts[j + 1], 7):
                        earned = sign * w * heads - math.expm1(sign * w) * expected
                        assert earned <= ceiling + 1e-9 * (1 + abs(earned)), (e, j, w)
