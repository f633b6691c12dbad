"""The slow and sure search against the twin that is slower and surer still."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronorule.search import Budget
from chronorule.search.brute import BruteSearch
from reference_search import UNSURE, verdict
from search_worlds import by_hand, random_problem

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("partial_orders", [False, True], ids=["chains", "orders"])
@pytest.mark.parametrize("kind", ["exists", "count"])
@given(SEEDS)
@settings(max_examples=30)
def test_every_rule_is_priced_and_the_best_that_passes_is_found(kind: str, partial_orders: bool, seed: int) -> None:
    posed = random_problem(seed, kind, partial_orders)
    task = posed.problem.task
    outcome = BruteSearch(at_once=7).run(posed.problem)
    true = verdict(posed.slow)
    assert outcome.certificate.optimal
    assert true.confirms(None if outcome.best is None else task.value(outcome.best)), (outcome, true.least)
    for evidence in (*outcome.found, *outcome.runners_up):
        judged = true.judged[evidence.rule]
        assert evidence.gain == pytest.approx(judged.gain, rel=UNSURE, abs=UNSURE)
        assert evidence.reward == pytest.approx(judged.reward, rel=UNSURE, abs=UNSURE)
        assert evidence.description_length == pytest.approx(judged.description_length, rel=UNSURE, abs=UNSURE)


@given(SEEDS, st.integers(0, 40))
@settings(max_examples=20)
def test_stopped_early_it_claims_nothing(seed: int, evaluations: int) -> None:
    posed = random_problem(seed, objective="gain")
    outcome = BruteSearch(at_once=5).run(posed.problem, Budget(evaluations=evaluations))
    rules = len(verdict(posed.slow).judged)
    if evaluations < rules - 5:
        assert not outcome.certificate.optimal
        assert outcome.certificate.bound > 1e300
    assert outcome.certificate.incumbent <= verdict(posed.slow).most * (1 + UNSURE) + UNSURE


def test_gain_decides_what_passes_even_where_the_gradient_is_what_is_sought() -> None:
    """12 heads where 0.2 are expected: the slope is 12, far below what naming the rule costs, but the gain is 40."""
    unused = tuple(f"P{k}" for k in range(40))
    posed = by_hand(
        [(1, "A"), (2, "B"), (4, "Y")],
        {"body": ("A", "B", *unused), "max_length": 2},
        objective="gradient",
        stop="evidence",
        alpha=1e-4,
        base=-6.0,
    )
    outcome = BruteSearch().run(posed.problem)
    assert outcome.certificate.optimal
    assert outcome.best is not None
    # nothing expects less while it is on, and all see the same heads
    assert outcome.best.rule.predicates[-1] == "B"
    assert outcome.best.reward < outcome.best.description_length + math.log(1e4) < outcome.best.gain
