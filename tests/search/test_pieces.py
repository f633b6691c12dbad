"""Work in pieces: the same answers, with somebody asked between them whether to go on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronorule.execution import Threads
from chronorule.search import Budget, Outcome, Progress, pieces, search_of
from chronorule.search.pieces import in_pieces
from reference_search import UNSURE, verdict
from search_worlds import by_hand, random_problem

SEEDS = st.integers(0, 2**32 - 1)
KINDS = [(kind, orders) for kind in ("exists", "count") for orders in (False, True)]


def told(outcome: Outcome) -> tuple[Any, ...]:
    """All of an outcome but the time it took."""
    return outcome.found, outcome.runners_up, outcome.contenders, replace(outcome.certificate, seconds=0.0)


@pytest.mark.parametrize("threads", [1, 2, 5])
@given(st.lists(st.integers(0, 100), max_size=30), st.integers(1, 200))
@settings(max_examples=40)
def test_every_item_is_worked_on_once_and_in_order(threads: int, additions: list[int], at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "ADDITIONS_AT_ONCE", at_once)
        asked: list[None] = []

        def more() -> bool:
            asked.append(None)
            return True

        runs: list[tuple[int, int]]
        runs, done = in_pieces(np.array(additions, np.int64), Threads(threads), more, lambda begin, end: (begin, end))
    assert done == len(additions)
    assert [item for begin, end in runs for item in range(begin, end)] == list(range(len(additions)))
    assert all(end > begin and sum(additions[begin : end - 1]) <= at_once for begin, end in runs)
    assert len(asked) == max(0, math.ceil(len(runs) / threads) - 1)


def test_what_was_done_when_time_was_up_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "ADDITIONS_AT_ONCE", 10)
    answers = iter([True, False])
    runs, done = in_pieces(np.full(9, 10), Threads(2), lambda: next(answers), lambda begin, end: (begin, end))
    assert (runs, done) == ([(0, 1), (1, 2), (2, 3), (3, 4)], 4)


@pytest.mark.parametrize(("kind", "partial_orders"), KINDS)
@pytest.mark.parametrize("threads", [1, 3])
@given(SEEDS)
@settings(max_examples=12)
def test_search_in_pieces_answers_the_same(kind: str, partial_orders: bool, threads: int, seed: int) -> None:
    posed = random_problem(seed, kind, partial_orders, threads=threads)
    whole = search_of("exact").run(posed.problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "ADDITIONS_AT_ONCE", 1)
        assert told(search_of("exact").run(posed.problem)) == told(whole)


@pytest.mark.parametrize(("kind", "partial_orders"), KINDS)
@given(SEEDS, st.integers(0, 80))
@settings(max_examples=20)
def test_stopped_in_the_middle_of_an_expansion_the_bound_still_holds(
    kind: str, partial_orders: bool, seed: int, allowed: int
) -> None:
    posed = random_problem(seed, kind, partial_orders, few=4)
    asked = iter(range(10**9))
    seen: list[Progress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "ADDITIONS_AT_ONCE", 1)
        budget = Budget(stop=lambda: next(asked) >= allowed)
        outcome = search_of("exact").run(posed.problem, budget, seen.append)
    true, certificate = verdict(posed.slow), outcome.certificate
    room = UNSURE * (1 + abs(true.least))
    assert certificate.bound >= true.least - room
    assert certificate.incumbent <= true.most + room
    assert all(progress.bound >= true.least - room for progress in seen)
    if certificate.optimal:
        assert true.confirms(certificate.incumbent)
    elif allowed > 1:
        assert seen


def test_progress_is_told_from_the_beginning_on() -> None:
    """The first incumbent comes of a beam, which tells of each of its levels."""
    events = [(1, "A"), (2, "B"), (3, "C"), (4, "Y")]
    posed = by_hand(events, {"body": ("A", "B", "C"), "max_length": 3})
    seen: list[Progress] = []
    outcome = search_of("exact").run(posed.problem, watch=seen.append)
    assert [progress.nodes for progress in seen[:2]] == [0, 1]
    assert seen[0].incumbent is None
    assert seen[1].incumbent is not None
    assert all(outcome.certificate.bound * (1 - 1e-9) <= progress.bound < math.inf for progress in seen)


def test_stopped_before_all_signs_are_begun_there_is_no_bound() -> None:
    seeds = (seed for seed in range(100) if random_problem(seed).problem.task.grammar.signs == (1, -1))
    outcome = search_of("exact").run(random_problem(next(seeds)).problem, Budget(stop=lambda: True))
    assert not outcome.certificate.optimal
    assert math.isinf(outcome.certificate.bound)
