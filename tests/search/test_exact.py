"""Exact search is exact: its certified optimum is that of every rule of the grammar, one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronorule.errors import OptionError
from chronorule.grounding import Feature, decay, window
from chronorule.rules import parse_rule
from chronorule.search import Budget, Outcome, search_of
from reference_search import UNSURE, verdict
from search_worlds import Posed, by_hand, random_problem

SEEDS = st.integers(0, 2**32 - 1)


OBJECTIVES = ("gain", "gradient", "worth")
KINDS = [(kind, orders) for kind in ("exists", "count") for orders in (False, True)]


def covers(kind: str, partial_orders: bool, objective: str) -> bool:
    """Whether exact search takes such a problem at all."""
    try:
        search_of("exact").run(random_problem(0, kind, partial_orders, objective=objective).problem, Budget(nodes=0))
    except OptionError:
        return False
    return True


COVERED = {(*kind, objective): covers(*kind, objective) for kind in KINDS for objective in OBJECTIVES}


def posed_of(seed: int, kind: str, partial_orders: bool, **fixed: Any) -> Posed:
    """A random problem of those that exact search takes."""
    objectives = [objective for objective in OBJECTIVES if COVERED[kind, partial_orders, objective]]
    return random_problem(seed, kind, partial_orders, **{"objective": objectives[seed // 7 % len(objectives)], **fixed})


def named(parts: tuple[Any, ...]) -> str:
    """How a kind of problem is called in the name of a test."""
    return "-".join({False: "chains", True: "orders"}.get(part, part) for part in parts)


over_all_covered = pytest.mark.parametrize(
    ("kind", "partial_orders"),
    [kind for kind in KINDS if any(COVERED[*kind, objective] for objective in OBJECTIVES)],
    ids=lambda part: named((part,)),
)


def test_exact_search_covers_both_features_chains_and_orders_and_every_objective() -> None:
    assert all(COVERED.values()), [case for case, covered in COVERED.items() if not covered]


def confirm(posed: Posed, outcome: Outcome) -> None:
    """The certificate holds, and the best rule is worth what its slow twin says."""
    task, certificate = posed.problem.task, outcome.certificate
    true = verdict(posed.slow)
    value = None if outcome.best is None else task.value(outcome.best)
    feature = posed.problem.oracle.grounding.feature
    described = f"{task.grammar}, {task.objective}, {task.stop}, {feature}: {outcome}, {true.least}"
    assert certificate.optimal
    assert true.confirms(value), described
    assert true.confirms(certificate.incumbent), described
    assert certificate.bound == certificate.incumbent
    for evidence in (*outcome.found, *outcome.runners_up):
        judged = true.judged[evidence.rule]
        close = {"rel": UNSURE, "abs": UNSURE}
        assert evidence.gain == pytest.approx(judged.gain, **close)
        assert evidence.reward == pytest.approx(judged.reward, **close)
        assert evidence.description_length == pytest.approx(judged.description_length, **close)


@over_all_covered
@given(SEEDS)
@settings(max_examples=50)
def test_certified_optimum_is_that_of_all_rules_one_by_one(kind: str, partial_orders: bool, seed: int) -> None:
    posed = posed_of(seed, kind, partial_orders)
    confirm(posed, search_of("exact").run(posed.problem))


@pytest.mark.parametrize("case", [case for case, covered in COVERED.items() if covered], ids=named)
@pytest.mark.parametrize("stop", ["evidence", "optimal"])
@given(SEEDS)
@settings(max_examples=12)
def test_each_objective_and_each_stop(case: tuple[str, bool, str], stop: str, seed: int) -> None:
    kind, partial_orders, objective = case
    posed = random_problem(seed, kind, partial_orders, objective=objective, stop=stop)
    confirm(posed, search_of("exact").run(posed.problem))


@over_all_covered
@given(SEEDS)
@settings(max_examples=10)
def test_four_predicates(kind: str, partial_orders: bool, seed: int) -> None:
    posed = posed_of(seed, kind, partial_orders, few=4, longest=4 if not partial_orders else 3)
    confirm(posed, search_of("exact").run(posed.problem))


@over_all_covered
@given(SEEDS, st.integers(0, 60))
@settings(max_examples=20)
def test_stopped_early_the_bound_still_holds(kind: str, partial_orders: bool, seed: int, nodes: int) -> None:
    posed = posed_of(seed, kind, partial_orders, few=4)
    outcome = search_of("exact").run(posed.problem, Budget(nodes=nodes))
    true, certificate = verdict(posed.slow), outcome.certificate
    room = UNSURE * (1 + abs(true.least))
    assert certificate.bound >= true.least - room
    assert certificate.incumbent <= true.most + room
    assert certificate.bound >= certificate.incumbent
    if certificate.optimal:
        assert true.confirms(certificate.incumbent)


@over_all_covered
@given(SEEDS)
@settings(max_examples=12)
def test_runners_up_are_the_best_of_the_rest(kind: str, partial_orders: bool, seed: int) -> None:
    """By gain less description length, whether they pass or not; a search need not keep all that it left unseen."""
    posed = posed_of(seed, kind, partial_orders, objective="gain")
    outcome = search_of("exact").run(posed.problem)
    worths = [evidence.worth for evidence in outcome.runners_up]
    assert worths == sorted(worths, reverse=True)
    assert all(evidence.rule not in posed.problem.task.taken for evidence in outcome.runners_up)
    assert all(evidence.gain > 0 for evidence in outcome.runners_up)


# ---- where it went wrong once, or could


@pytest.mark.parametrize(
    ("events", "options"),
    [
        # the third of three Equal predicates never comes after the second
        (
            [(1, "A"), (1, "B"), (1, "C"), (0, "C"), (0, "A"), (0.5, "B"), (2, "Y"), (3, "Y")],
            {"body": ("A", "B", "C"), "max_length": 3},
        ),
        ([(1, "A"), (1, "B"), (1, "C"), (2, "Y")], {"body": ("C", "B", "A"), "length": 3, "relations": ("equal",)}),
        ([(1, "A"), (2, "B"), (3, "C"), (4, "Y")], {"body": ("A", "B", "C"), "length": 3, "prefix": ("A", "B")}),
        ([(1, "A"), (2, "B"), (2, "C"), (4, "Y")], {"body": ("C", "A", "B"), "length": 3, "prefix": ("A", "B")}),
        (
            [(1, "A"), (2, "A"), (3, "A"), (4, "Y")],
            {"body": ("A",), "length": 3, "repeats": True},
        ),
        (
            [(1, "A"), (1, "B"), (2, "A"), (2, "B"), (3, "Y")],
            {"body": ("A", "B"), "length": 4, "repeats": True},
        ),
        # two that come in either order, a fork, a join, and the order that is no series of parallels: A, B < C, B < D
        ([(1, "A"), (2, "B"), (4, "Y")], {"body": ("A", "B"), "length": 2, "partial_orders": True, "relations": ()}),
        ([(2, "A"), (2, "B"), (3, "C"), (4, "Y")], {"body": ("A", "B", "C"), "length": 3, "partial_orders": True}),
        (
            [(0, "C"), (1, "B"), (2, "D"), (3, "A"), (4, "C"), (5, "Y")],
            {"body": ("A", "B", "C", "D"), "length": 4, "partial_orders": True, "relations": ("before",)},
        ),
        (
            [(1, "A"), (2, "B"), (3, "A"), (4, "Y")],
            {"body": ("A", "B"), "length": 3, "partial_orders": True, "repeats": True, "prefix": ("A",)},
        ),
    ],
)
def test_the_only_rule_there_is_gets_found(events: list[tuple[float, str]], options: dict[str, Any]) -> None:
    posed = by_hand(events, options)
    outcome = search_of("exact").run(posed.problem)
    confirm(posed, outcome)
    assert outcome.best is not None


def test_decay_is_refused_in_one_sentence() -> None:
    posed = by_hand([(1, "A"), (2, "Y")], {"body": ("A",), "max_length": 1}, feature=Feature("exists", decay(0.5)))
    with pytest.raises(OptionError, match="no bound for decay kernels yet; use kernel='step' or a window") as refused:
        search_of("exact").run(posed.problem)
    assert str(refused.value).count(".") == 1


def test_heads_at_the_instant_of_a_completion_are_not_explained_by_it() -> None:
    posed = by_hand([(1, "A"), (1, "Y"), (5, "B"), (6, "Y")], {"body": ("A", "B"), "max_length": 1})
    outcome = search_of("exact").run(posed.problem)
    confirm(posed, outcome)
    assert outcome.best is not None
    assert outcome.best.rule == parse_rule("Y <- B")


def test_window_that_has_lapsed_no_longer_counts() -> None:
    events = [(1.0, "A"), (2.0, "B"), (5.0, "Y"), (5.5, "Y")]
    for width, best in ((1.0, None), (3.0, "Y <- B"), (4.0, "Y <- B")):
        posed = by_hand(
            events, {"body": ("A", "B"), "max_length": 1}, feature=Feature("exists", window(width)), base=-3.0
        )
        outcome = search_of("exact").run(posed.problem)
        confirm(posed, outcome)
        assert (outcome.best and outcome.best.rule.key) == best


def test_a_large_library_without_forbidden_pairs_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(6):
        posed = random_problem(seed, "exists", False, objective="gain")
        if not posed.problem.task.grammar.forbidden_pairs:
            with monkeypatch.context() as context:
                context.setattr("chronorule.search.chains.LARGE_LIBRARY", 0)
                confirm(posed, search_of("exact").run(posed.problem))


@pytest.mark.parametrize("partial_orders", [False, True])
def test_steps_that_no_machine_holds_are_refused(monkeypatch: pytest.MonkeyPatch, partial_orders: bool) -> None:
    monkeypatch.setattr("chronorule.search.nodes.MOST_NUMBERS", 20)
    events = [(1.0, "A"), (2.0, "B"), (3.0, "C"), (4.0, "Y")]
    one, two = (
        by_hand(events, {"body": ("A", "B", "C"), "max_length": longest, "partial_orders": partial_orders}).problem
        for longest in (1, 2)
    )
    assert search_of("exact").run(one).certificate.optimal  # sums of each rule alone
    with pytest.raises(OptionError, match=r"over 3 predicates needs .* GiB of memory; name fewer predicates in body"):
        search_of("exact").run(two)
