"""The slow verifier finds true certificates true and false ones false, and refuses what would take too long."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from chronorule.errors import OptionError
from chronorule.grounding import Feature, decay
from chronorule.kernels.prices import after_instants
from chronorule.pricing import oracle
from chronorule.rules import count_rules, enumerate_rules, enumeration
from chronorule.search import Budget, search_of
from chronorule.search.brute import BruteSearch
from chronorule.search.verify import verify
from search_worlds import by_hand, random_problem

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("partial_orders", [False, True], ids=["chains", "orders"])
@pytest.mark.parametrize("kind", ["exists", "count"])
@pytest.mark.parametrize("search", ["exact", "brute"])
@given(SEEDS)
@settings(max_examples=25)
def test_what_a_search_proved_is_true(search: str, kind: str, partial_orders: bool, seed: int) -> None:
    """Both features and signs, all relations, repeats, statics, groups, all heads, penalty, rules in force."""
    posed = random_problem(seed, kind, partial_orders)
    task = posed.problem.task
    outcome = search_of(search).run(posed.problem)
    assert outcome.certificate.optimal
    found = verify(posed.problem, outcome.certificate)
    assert found.holds, str(found)
    assert found.rules == count_rules(task.grammar)
    if outcome.best is None or found.best is None:
        return  # the certificate holds, so that nothing passes by more than a rounding
    # of rules that are worth the same a rounding decides which is named
    assert task.value(found.best) == pytest.approx(task.value(outcome.best), rel=1e-9, abs=1e-9)
    known = asdict(posed.problem.evidence(found.best.rule))
    for name, value in asdict(found.best).items():  # weights are known to the root of what gains are known to
        same = pytest.approx(known[name], rel=1e-6, abs=1e-6) if isinstance(value, float) else known[name]
        assert value == same, name


@given(SEEDS)
@settings(max_examples=15)
def test_what_was_found_at_decaying_rates_is_true(seed: int) -> None:
    random = np.random.default_rng(seed)
    events = [(float(random.integers(0, 9)), str(random.choice(["A", "B", "Y"]))) for _ in range(8)]
    feature = Feature(str(random.choice(["exists", "count"])), decay(float(random.choice([0.1, 1.0]))))  # type: ignore[arg-type]
    posed = by_hand(events, {"body": ("A", "B"), "max_length": 2, "signs": (1, -1)}, feature=feature, base=-1.0)
    certificate = search_of("brute").run(posed.problem).certificate
    assert verify(posed.problem, certificate).holds
    raised = replace(certificate, incumbent=certificate.incumbent + 0.01)
    assert not verify(posed.problem, raised).holds


def test_a_mistake_in_the_prices_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches and oracle see a tenth of the heads and miss the rule; what they are held to has heads of its own."""

    def poor(*arguments: Any) -> NDArray[np.float64]:
        return after_instants(*arguments) * (0.1, 1.0)

    monkeypatch.setattr(oracle, "after_instants", poor)
    posed = by_hand([(1, "A"), (2, "B"), (4, "Y")], {"body": ("A", "B"), "max_length": 2}, stop="evidence")
    outcome = search_of("exact").run(posed.problem)
    assert outcome.best is None
    assert outcome.certificate.optimal
    assert "passes with a gain of" in str(verify(posed.problem, outcome.certificate))


def test_a_rule_that_is_never_listed_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    posed = by_hand([(1, "A"), (2, "B"), (4, "Y")], {"body": ("A", "B"), "max_length": 2})
    grow = enumeration._grow
    monkeypatch.setattr(enumeration, "_grow", lambda *given: (body for body in grow(*given) if "B" not in str(body)))
    assert [rule.key for rule in enumerate_rules(posed.problem.task.grammar, "Y")] == ["Y <- A"]
    certificate = search_of("brute").run(posed.problem).certificate
    assert certificate.optimal
    assert str(verify(posed.problem, certificate)).startswith("The certificate is wrong: 'Y <-")


@given(SEEDS)
@settings(max_examples=20)
def test_false_certificates_are_found_out(seed: int) -> None:
    posed = random_problem(seed)
    true = BruteSearch().run(posed.problem).certificate
    praised = replace(true, incumbent=true.incumbent * 1.001 + 0.01, bound=true.bound * 1.001 + 0.01)
    refused = verify(posed.problem, praised)
    assert not refused.holds
    assert f"it names a {true.objective} of" in str(refused)
    if true.incumbent > 0.01:
        missed = replace(true, incumbent=true.incumbent * 0.99, bound=true.bound * 0.99)
        objection = verify(posed.problem, missed)
        assert not objection.holds
        assert str(objection).startswith("The certificate is wrong: 'Y <-")
        nothing = replace(true, incumbent=0.0, bound=0.0)
        assert "none was to be above 0" in str(verify(posed.problem, nothing))
        early = replace(nothing, optimal=False, bound=true.incumbent * 1.5)
        assert verify(posed.problem, early).holds
        assert not verify(posed.problem, replace(early, bound=true.incumbent * 0.9)).holds


def test_a_search_that_was_stopped_at_once_claims_nothing_wrong() -> None:
    posed = by_hand([(1, "A"), (2, "B"), (4, "Y")], {"body": ("A", "B"), "max_length": 2})
    outcome = BruteSearch().run(posed.problem, Budget(evaluations=0))
    assert outcome.certificate.bound == math.inf
    assert verify(posed.problem, outcome.certificate).holds


def test_verdicts_are_read_by_people() -> None:
    posed = by_hand([(1, "A"), (2, "B"), (4, "Y")], {"body": ("A", "B"), "max_length": 2})
    certificate = BruteSearch().run(posed.problem).certificate
    found = verify(posed.problem, certificate)
    assert str(found) == "The certificate holds: all 5 rules of the grammar were looked at, 3 of them pass."
    assert found.best is not None
    wrong = verify(posed.problem, replace(certificate, incumbent=1.0))
    assert str(wrong) == (
        f"The certificate is wrong: '{found.best.rule.key}' passes with a gain of {found.best.gain:.6g}, and none was "
        "to be above 1 (all 5 rules of the grammar were looked at, 3 of them pass)."
    )


def test_large_grammars_are_refused_with_their_number_of_rules() -> None:
    body = tuple(f"P{k}" for k in range(24))
    posed = by_hand([(1, "P1"), (4, "Y")], {"body": body, "max_length": 3})
    certificate = BruteSearch().run(posed.problem, Budget(evaluations=0)).certificate
    # 24 + (24·23 + 24·23/2) + (24·23·22 + 2·24·23·22/2 + 24·23·22/6)
    with pytest.raises(OptionError, match=r"holds 27,164 rules, more than the 20,000 .* allow more with most=27164"):
        verify(posed.problem, certificate)
    with pytest.raises(OptionError, match="more than the 10 that"):
        verify(posed.problem, certificate, most=10)


def test_logs_with_too_many_combinations_of_events_are_refused_with_their_number() -> None:
    events = [(float(time), name) for time in range(9) for name in "AB"]
    posed = by_hand([*events, (9.5, "Y")], {"body": ("A", "B"), "max_length": 2})
    certificate = search_of("exact").run(posed.problem).certificate
    # in each of 12 entities 9 of A, 9 of B, and 81 of both for each of 3 rules
    words = r"3,132 combinations of events could match in this log, more than the 3,000 .* most_combinations=3132"
    with pytest.raises(OptionError, match=words):
        verify(posed.problem, certificate, most_combinations=3000)
    assert verify(posed.problem, certificate, most_combinations=3132).holds


def test_certificates_of_another_task_are_refused() -> None:
    posed = by_hand([(1, "A"), (4, "Y")], {"body": ("A",), "max_length": 1})
    certificate = BruteSearch().run(posed.problem).certificate
    with pytest.raises(OptionError, match=r"is about the gain over .*, but the task about the gradient"):
        verify(replace(posed.problem, task=replace(posed.problem.task, objective="gradient")), certificate)
    with pytest.raises(OptionError, match="over chains of nothing"):
        verify(posed.problem, replace(certificate, grammar="chains of nothing"))
