"""A model's certificate is checked again on its log: true ones hold, false ones do not, and others are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import chronorule as cr
from chronorule.errors import OptionError
from chronorule.execution import Threads
from chronorule.model import Study, weigh
from chronorule.rules import Rule
from chronorule.search import Subproblem, Task
from chronorule.search.brute import BruteSearch

GRAMMAR = cr.Grammar(max_length=2)


def simulated() -> cr.EventLog:
    """Two hundred entities with a rule and a predicate that marks nothing."""
    return cr.simulate("Y <- A < B  w = 1.5", predicates=4, entities=200, seed=11, rates=0.1)[0]


def learned(log: cr.EventLog, rounds: int = 9, **task: Any) -> cr.RuleModel:
    """The model that adding the best rule that passes ends with, and the certificate of the last search."""
    study = Study(log, cr.Head("Y"), threads=Threads(1))
    grammar = GRAMMAR.resolve(log.predicates, exclude={"Y"})
    rules: tuple[Rule, ...] = ()
    while True:
        asked = Task("Y", grammar, taken=frozenset(rules), **task)
        outcome = BruteSearch().run(Subproblem(asked, study.oracle(study.fit(rules)), lambda rules: []))
        if outcome.best is None or len(rules) >= rounds:
            break
        rules = (*rules, outcome.best.rule)
    model = weigh(study, rules, grammar)
    return replace(model, certificate=outcome.certificate, grammar=grammar, options=task)


@pytest.mark.parametrize("task", [{}, {"stop": "optimal", "objective": "gradient"}, {"alpha": 0.5}], ids=str)
def test_what_learning_proved_is_true(task: dict[str, Any]) -> None:
    log = simulated()
    model = learned(log, rounds=3, **task)
    verdict = cr.verify(model, log, threads=1)
    assert verdict.holds, str(verdict)
    assert verdict.rules == cr.count_rules(model.grammar)  # type: ignore[arg-type]
    assert (verdict.best is None) == (verdict.passing == 0)


def test_rules_of_the_model_are_not_held_against_it() -> None:
    log = simulated()
    model = learned(log)
    assert [item.rule.key for item in model.rules] == ["Y <- A < B"]
    verdict = cr.verify(model, log)
    assert verdict.passing == 0
    assert str(verdict) == ("The certificate holds: all 22 rules of the grammar were looked at, 0 of them pass.")


def test_a_certificate_that_overlooks_a_rule_is_found_out() -> None:
    log = simulated()
    model = learned(log)
    without = replace(model, rules=())
    verdict = cr.verify(without, log)
    assert not verdict.holds
    assert verdict.best is not None
    assert verdict.best.rule.key == "Y <- A < B"
    assert "'Y <- A < B' passes with a gain of" in str(verdict)
    early = learned(log, rounds=0)
    assert cr.verify(early, log).holds  # it says that a rule is left out, and how much it would bring
    assert early.certificate is not None
    assert early.certificate.incumbent == pytest.approx(cr.verify(early, log).best.gain, rel=1e-9)  # type: ignore[union-attr]


def test_what_proves_nothing_is_refused() -> None:
    log = simulated()
    model = learned(log)
    with pytest.raises(OptionError, match="Nothing was searched for in this model"):
        cr.verify(cr.reweigh("Y <- A < B", log), log)
    with pytest.raises(OptionError, match="learned from another log than this"):
        cr.verify(model, cr.simulate("Y <- A < B  w = 1.5", predicates=4, entities=200, seed=12)[0])
    with pytest.raises(OptionError, match="holds 22 rules, more than the 10"):
        cr.verify(model, log, most=10)
