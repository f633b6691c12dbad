"""The slow verifier finds true certificates true and false ones false, and refuses what would take too long."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronorule.errors import OptionError
from chronorule.search import Budget
from chronorule.search.brute import BruteSearch
from chronorule.search.verify import verify
from reference_search import verdict
from search_worlds import by_hand, random_problem

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("partial_orders", [False, True], ids=["chains", "orders"])
@pytest.mark.parametrize("kind", ["exists", "count"])
@given(SEEDS)
@settings(max_examples=12)
def test_verdict_is_that_of_the_twin(kind: str, partial_orders: bool, seed: int) -> None:
    posed = random_problem(seed, kind, partial_orders)
    true = verdict(posed.slow)
    outcome = BruteSearch().run(posed.problem)
    found = verify(posed.problem, outcome.certificate)
    assert found.holds, str(found)
    assert found.rules == len(true.judged)
    assert true.confirms(None if found.best is None else posed.problem.task.value(found.best))
    assert found.passing <= sum(one.margin > -1e-7 for one in true.judged.values())
    assert found.passing >= sum(one.margin > 1e-7 for one in true.judged.values())


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


def test_certificates_of_another_task_are_refused() -> None:
    posed = by_hand([(1, "A"), (4, "Y")], {"body": ("A",), "max_length": 1})
    certificate = BruteSearch().run(posed.problem).certificate
    with pytest.raises(OptionError, match=r"is about the gain over .*, but the task about the gradient"):
        verify(replace(posed.problem, task=replace(posed.problem.task, objective="gradient")), certificate)
    with pytest.raises(OptionError, match="over chains of nothing"):
        verify(posed.problem, replace(certificate, grammar="chains of nothing"))


def test_the_verifier_shares_no_code_with_the_searches() -> None:
    """What it loads holds neither bounds nor nodes nor any search."""
    program = (
        "import sys, chronorule.search.verify as verify; verify.verify; "
        "print(sorted(name for name in sys.modules if name.startswith('chronorule.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout
    assert "chronorule.search.verify" in loaded
    for name in ("search.exact", "search.nodes", "search.keeper", "search.brute", "search.ask_tell", "pricing.bounds"):
        assert name not in loaded, f"the verifier loads chronorule.{name}"
    assert "kernels.branching" not in loaded
    assert "kernels.growing" not in loaded
