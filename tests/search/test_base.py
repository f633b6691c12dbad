"""Tasks, budgets and certificates: what they say, and what they refuse."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from chronorule.errors import OptionError, UnknownPredicateError
from chronorule.events import Head
from chronorule.model import Study
from chronorule.pricing import Evidence
from chronorule.rules import Grammar, parse_rule
from chronorule.search import Budget, Certificate, Outcome, Subproblem, Task
from chronorule.search.base import Clock
from search_worlds import by_hand

GRAMMAR = Grammar(body=("A", "B", "C"), max_length=2)


def evidence(text: str = "Y <- A < B", **changes: Any) -> Evidence:
    """A rule that passes, with changes."""
    values: dict[str, Any] = {
        "rule": parse_rule(text), "observed": 40.0, "expected": 20.0, "reward": 20.0, "gain": 12.0, "weight": 0.7,
        "within_gain": 11.0, "within_weight": 0.7, "clustered_z": 4.0, "support": 30, "description_length": 4.0,
    }  # fmt: skip
    return Evidence(**{**values, **changes})


def certificate(**changes: Any) -> Certificate:
    """A search that ran to its end, with changes."""
    values: dict[str, Any] = {
        "optimal": True, "objective": "gain", "incumbent": 12.0, "bound": 12.0, "nodes": 1200, "evaluations": 34567,
        "seconds": 1.25, "grammar": "chains",
    }  # fmt: skip
    return Certificate(**{**values, **changes})


# ---- tasks


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 0.0}, r"alpha=0.0 is no chance .* between 0 and 1"),
        ({"alpha": 1.0}, r"alpha=1.0 is no chance"),
        ({"alpha": "5%"}, r"alpha='5%' is no chance"),
        ({"alpha": True}, r"alpha=True is no chance"),
        ({"alpha": -0.1}, r"alpha=-0.1 is no chance"),
        ({"alpha": math.nan}, r"alpha=nan is no chance"),
        ({"min_support": math.inf}, r"min_support=inf is no count; give a whole number, 0 or more"),
        ({"min_support": -1}, r"min_support=-1 is no count"),
        ({"runners_up": 1.5}, r"runners_up=1.5 is no count"),
        ({"kernels": 0}, r"kernels=0 is no count; give a whole number, 1 or more"),
        ({"kernels": True}, r"kernels=True is no count"),
        ({"taken": frozenset(["Y <- A"])}, r"taken holds 'Y <- A', which is no rule; read it with parse_rule"),
        ({"stop": "soon"}, r"stop='soon' is unknown; choose 'evidence' or 'optimal'"),
        ({"objective": "beauty"}, r"objective='beauty' is unknown; choose 'gain', 'gradient' or 'worth'"),
    ],
)
def test_tasks_that_mean_nothing_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Task("Y", GRAMMAR, **options)


def test_value_is_that_of_the_objective() -> None:
    known = evidence()
    assert [Task("Y", GRAMMAR, objective=name).value(known) for name in ("gain", "gradient", "worth")] == [12, 20, 8]


def test_naming_a_rule_is_charged_under_evidence_and_where_worth_is_the_objective() -> None:
    assert Task("Y", GRAMMAR).charged is GRAMMAR
    assert Task("Y", GRAMMAR, objective="gradient").charged is GRAMMAR
    assert Task("Y", GRAMMAR, objective="worth", stop="optimal").charged is GRAMMAR
    assert Task("Y", GRAMMAR, objective="gradient", stop="optimal").charged is None


def test_what_must_be_exceeded() -> None:
    assert Task("Y", GRAMMAR, alpha=0.01).needed == pytest.approx(math.log(100))
    assert Task("Y", GRAMMAR, stop="optimal").needed == 0.0


def test_evidence_admits_what_nothing_speaks_against() -> None:
    task = Task("Y", GRAMMAR)
    assert task.admits(evidence())
    assert not task.admits(evidence(gain=4.0 + math.log(20)))  # exactly what is needed is not more
    assert not task.admits(evidence(support=4))
    assert not task.admits(evidence(clustered_z=2.9))
    assert not task.admits(evidence("Y <-| A < B"))  # z has the wrong sign
    assert task.admits(evidence(within_gain=0.0))
    assert not replace(task, within=True).admits(evidence(within_gain=0.0))
    assert not replace(task, within=True).admits(evidence(within_gain=None))
    assert not replace(task, taken=frozenset([parse_rule("Y <- A < B")])).admits(evidence())


def test_optimal_admits_whatever_is_above_zero() -> None:
    weak = evidence(gain=0.1, reward=-1.0, support=0, clustered_z=0.0, description_length=0.0)
    assert Task("Y", GRAMMAR, stop="optimal").admits(weak)
    assert not Task("Y", GRAMMAR, stop="optimal", objective="gradient").admits(weak)
    assert not Task("Y", GRAMMAR, stop="optimal").admits(replace(weak, gain=0.0))
    assert not Task("Y", GRAMMAR, stop="optimal", taken=frozenset([weak.rule])).admits(weak)


def test_optimal_takes_no_rounding_for_a_value() -> None:
    """λ is settled to a slope of 1e-8 for each head, and so are all values."""
    task = Task("Y", GRAMMAR, stop="optimal", heads=500)
    assert task.needed == pytest.approx(5e-6)
    assert not task.admits(evidence(gain=4.9e-6))
    assert task.admits(evidence(gain=5.1e-6))
    assert replace(task, stop="evidence").needed == pytest.approx(math.log(20))
    with pytest.raises(OptionError, match="heads=-1 is no count"):
        Task("Y", GRAMMAR, heads=-1)


# ---- budgets


def clock(budget: Budget) -> Clock:
    """A clock that starts now."""
    return Clock(by_hand([(1, "A"), (2, "Y")], {"body": ("A",), "max_length": 1}).problem, budget)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"seconds": math.nan}, "seconds=nan is no limit; give a number, or None for no limit"),
        ({"seconds": "10"}, "seconds='10' is no limit"),
        ({"nodes": True}, "nodes=True is no limit"),
        ({"evaluations": [3]}, r"evaluations=\[3\] is no limit"),
        ({"stop": True}, "stop=True cannot be asked; give a function"),
    ],
)
def test_budgets_that_mean_nothing_are_refused(limits: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Budget(**limits)


def test_unlimited_budget_is_never_spent() -> None:
    running = clock(Budget())
    running.nodes = 10**12
    running.problem.oracle.evaluations = 10**12
    assert not running.spent


def test_budget_is_spent_when_one_of_its_limits_is_reached() -> None:
    assert clock(Budget(seconds=0.0)).spent
    assert not clock(Budget(seconds=3600.0)).spent
    assert clock(Budget(nodes=0)).spent
    assert clock(Budget(evaluations=0)).spent
    assert clock(Budget(stop=lambda: True)).spent
    assert not clock(Budget(stop=lambda: False)).spent
    running = clock(Budget(nodes=3, evaluations=5))
    assert not running.spent
    running.nodes = 3
    assert running.spent
    running.nodes = 0
    running.problem.oracle.evaluations = 5
    assert running.spent


def test_clock_counts_from_its_start() -> None:
    problem = clock(Budget()).problem
    problem.oracle.evaluations = 100
    running = Clock(problem, Budget(evaluations=5))
    assert running.evaluations == 0
    assert not running.spent
    problem.oracle.evaluations = 105
    assert running.evaluations == 5
    assert running.spent
    assert running.seconds >= 0


# ---- subproblems


def test_task_and_prices_are_about_one_head() -> None:
    posed = by_hand([(1, "A"), (2, "Y")], {"body": ("A",), "max_length": 1})
    with pytest.raises(OptionError, match="task is about 'Z', but the prices are those of 'Y'"):
        Subproblem(replace(posed.problem.task, head="Z"), posed.problem.oracle, lambda rules: [])


@pytest.mark.parametrize("head", [Head("Y", terminal=True), Head("Y", reset_by="A")], ids=["terminal", "reset"])
def test_within_is_refused_where_heads_end_their_own_exposure(head: Head) -> None:
    log = by_hand([(1, "A"), (2, "Y")], {"body": ("A",), "max_length": 1}).problem.oracle.grounding.log
    study = Study(log, head)
    task = Task("Y", Grammar(body=("A",), max_length=1), within=True)
    with pytest.raises(
        OptionError, match=r"within=True cannot be used for 'Y': .* ends its own exposure.* leave within out"
    ):
        Subproblem(task, study.oracle(study.fit([])), lambda rules: [])


def test_grammar_and_log_agree_on_what_has_a_time() -> None:
    posed = by_hand([(1, "A"), (2, "Y")], {"body": ("A",), "max_length": 1})
    for grammar in (Grammar(body=("A",), statics=("A",)), Grammar(body=("Y", "A"), statics=("Y",))):
        with pytest.raises(OptionError, match=r"do not agree on whether '[AY]' has a time; resolve the grammar"):
            Subproblem(replace(posed.problem.task, grammar=grammar), posed.problem.oracle, lambda rules: [])
    with pytest.raises(UnknownPredicateError, match='no predicate "Z"'):
        Subproblem(replace(posed.problem.task, grammar=Grammar(body=("Z",))), posed.problem.oracle, lambda rules: [])


# ---- certificates


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_length": 63}, r"Rules of up to 63 .* since chains can have 62 instants at most; allow a length of 62"),
        ({"length": 10**6}, "Rules of up to 1,000,000 predicates"),
        ({"length": 15, "partial_orders": True}, r"up to 15 .* since partial orders can have 14 instants at most"),
        ({"max_length": 63, "partial_orders": True}, "up to 63 .* partial orders can have 14"),
    ],
)
def test_lengths_that_cannot_be_matched_are_refused(options: dict[str, Any], words: str) -> None:
    posed = by_hand([(1, name) for name in "ABCY"], {"body": ("A", "B", "C")})
    task = Task("Y", Grammar(body=("A", "B", "C"), repeats=True, **options))
    with pytest.raises(OptionError, match=words):
        replace(posed.problem, task=task)
    few = Grammar(body=("A", "B", "C"), **{**options, "length": None, "max_length": 10**6})
    replace(posed.problem, task=Task("Y", few))  # without repeats a rule has three predicates at most


def test_certificate_says_what_is_proved() -> None:
    work = r"\(1,200 nodes, 34,567 rules priced, 1.25 s\)"
    for made, words in [
        (certificate(), "certified: no rule of the grammar passes and has a higher gain"),
        (certificate(incumbent=0.0, bound=0.0), "certified: no rule of the grammar passes"),
        (certificate(optimal=False, bound=math.inf), "no proof: the best gain found is 12.00"),
        (
            certificate(optimal=False, bound=16.0),
            "stopped early: the best gain is 12.00, none is above 16.00, a gap of 25 %",
        ),
        (certificate(objective="gradient"), "certified: no rule of the grammar passes and has a higher gradient"),
    ]:
        assert str(made) == f"{words} {work}".replace("\\", "")


def test_gap_is_a_share_of_the_bound() -> None:
    assert certificate().gap == 0.0
    assert certificate(optimal=False, bound=16.0).gap == pytest.approx(0.25)
    assert certificate(optimal=False, bound=math.inf).gap == 1.0
    assert certificate(optimal=False, incumbent=0.0, bound=5.0).gap == 1.0
    assert certificate(optimal=False, incumbent=0.0, bound=0.0).gap == 0.0


def test_best_is_the_first_found() -> None:
    first, second = evidence(), evidence("Y <- A")
    assert Outcome((first, second), (), certificate()).best is first
    assert Outcome((), (second,), certificate()).best is None
