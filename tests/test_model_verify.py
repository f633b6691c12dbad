"""A model's certificate is checked again on its log: true ones hold, false ones do not, and others are refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import chronorule as cr
from chronorule.errors import DataError, NotFittedError, OptionError

PARTIAL = cr.Grammar(max_length=2, partial_orders=True, repeats=True, signs=(1, -1))


@cache
def simulated() -> cr.EventLog:
    """Two hundred entities with a rule, and predicates that say nothing."""
    return cr.simulate("Y <- A < B  w = 1.5", predicates=4, entities=200, seed=11, rates=0.1)[0]


def learned(**options: Any) -> cr.RuleModel:
    """What a learner makes of it."""
    return cr.RuleLearner("Y", **{"max_length": 2, "threads": 1, **options}).fit(simulated()).model_


@pytest.mark.filterwarnings("ignore:'Y' seems to excite itself")  # heads that no rule explains come in bursts
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"search": "brute"},
        {"stop": "optimal", "objective": "gradient", "penalty": 3.0},
        {"alpha": 0.9},
        {"honest": True, "random_state": 3},
        {"kernel": "window(3)", "heterogeneity": "none"},
        {"feature": "count"},
        {"feature": "count", "kernel": "decay(0.5)", "search": "brute", "baseline": [4.0, 9.0]},
        {"kernel": "window(3)", "span": 5.0, "baseline": [4.0, 9.0], "max_length": None, "grammar": PARTIAL},
        {"given_rules": "Y <- C", "within": True},
        {"max_length": None, "grammar": cr.Grammar(max_length=2, signs=(1, -1), required=["B"])},
        {"max_rules": 0},
    ],
    ids=str,
)
def test_what_learning_proved_is_true(options: dict[str, Any]) -> None:
    model = learned(**options)
    assert model.certificate is not None
    verdict = cr.verify(model, simulated(), threads=1)
    assert verdict.holds, str(verdict)
    assert verdict.certificate is model.certificate
    assert model.grammar is not None
    assert verdict.rules == cr.count_rules(model.grammar)
    assert (verdict.best is None) == (verdict.passing == 0)
    assert (verdict.passing > 0) == ("max_rules" in options)


def test_rules_of_the_model_are_not_held_against_it() -> None:
    model = learned()
    assert [item.rule.key for item in model.rules] == ["Y <- A < B"]
    words = "The certificate holds: all 22 rules of the grammar were looked at, 0 of them pass."
    assert str(cr.verify(model, simulated())) == words


def test_a_model_read_from_its_folder_is_verified_as_well(tmp_path: Path) -> None:
    learned().save(tmp_path / "model")
    model = cr.load(tmp_path / "model")
    verdict = cr.verify(model, simulated())
    assert verdict.holds
    assert verdict.certificate == model.certificate


def test_a_certificate_that_overlooks_a_rule_is_found_out() -> None:
    without = replace(learned(), rules=(), rounds=())
    verdict = cr.verify(without, simulated())
    assert not verdict.holds
    assert verdict.best is not None
    assert verdict.best.rule.key == "Y <- A < B"
    assert "'Y <- A < B' passes with a gain of" in str(verdict)


def test_a_fitted_learner_stands_for_its_model() -> None:
    learner = cr.RuleLearner("Y", max_length=2, threads=1).fit(simulated())
    assert cr.verify(learner, simulated()).certificate is learner.model_.certificate
    with pytest.raises(NotFittedError, match="call fit"):
        cr.verify(cr.RuleLearner("Y"), simulated())
    with pytest.raises(NotFittedError, match="a model for each of"):
        cr.verify(cr.RuleLearner(["Y", "A"], max_length=1).fit(simulated()), simulated())


def test_what_is_no_model_or_no_log_is_refused() -> None:
    with pytest.raises(OptionError, match="of type NoneType, not a RuleModel; give the model_"):
        cr.verify(None, simulated())  # type: ignore[arg-type]
    with pytest.raises(DataError, match="log is of type NoneType, not an EventLog"):
        cr.verify(learned(), None)  # type: ignore[arg-type]


def test_what_proves_nothing_is_refused() -> None:
    log, model = simulated(), learned()
    with pytest.raises(OptionError, match="Nothing was searched for in this model"):
        cr.verify(cr.reweigh("Y <- A < B", log), log)
    with pytest.raises(OptionError, match="learned from another log than this"):
        cr.verify(model, cr.simulate("Y <- A < B  w = 1.5", predicates=4, entities=200, seed=12)[0])
    with pytest.raises(OptionError, match="holds 22 rules, more than the 10"):
        cr.verify(model, log, most=10)
    with pytest.raises(OptionError, match="combinations of events could match in this log, more than the 10 "):
        cr.verify(model, log, most_combinations=10)
    # what the last search says is about the rules with which its round began
    begun = replace(model, rounds=(replace(model.rounds[-1], certificate=model.certificate),))
    with pytest.raises(OptionError, match="ended before it could search once more with these rules"):
        cr.verify(begun, log)
