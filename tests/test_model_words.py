"""What a learned model says of its proof, of how learning went and of the rules that were not admitted."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

import chronorule as cr
from chronorule.model import Study, weigh
from chronorule.model.history import Round
from chronorule.search import Certificate

GRAMMAR = "chains of Before/Equal over 3 predicates, length 1..4, sign +1"
EMPTY = Certificate(True, "gain", 0.0, 0.0, 1234, 99, 0.25, GRAMMAR)


def found(gain: float) -> Certificate:
    """Of a search that found a rule."""
    return replace(EMPTY, incumbent=gain, bound=gain, nodes=5)


@pytest.fixture(scope="module")
def model() -> cr.RuleModel:
    log = cr.simulate("Y <- A < B", weights=[1.2], predicates=4, entities=150, seed=3).log
    grammar = cr.Grammar().resolve(log.predicates, exclude=["Y"])
    rules = [cr.parse_rule("Y <- A < B")]
    learned = weigh(Study(log, cr.Head("Y")), rules, grammar)
    others = cr.reweigh("Y <- C\nY <- D\nY <- A\nY <- B\nY <- C < D\nY <- D < C", log).rules
    rounds = (Round(1, ("Y <- A < B",), (), (), ("Y <- A < B",), -12.5, found(46.0), 0.5),)
    return replace(learned, suggestive=others, certificate=EMPTY, rounds=rounds, options={"stop": "evidence"})


def test_model_that_is_certified_says_so(model: cr.RuleModel) -> None:
    text = " ".join(str(model).split())
    assert "learned in 1 round: 1 rule added. certified: no other rule passes, of all rules of the grammar:" in text
    assert f"of all rules of the grammar: {GRAMMAR} (1,234 nodes searched in 0.25 s)." in text
    assert "stopped" not in text


@pytest.mark.parametrize(
    ("certificate", "stopped", "words"),
    [
        (
            found(7.25),
            "max_rules",
            "certified: no other rule passes and has a gain above the 7.2 of the best rule left",
        ),
        (found(7.25), "max_rules", "stopped at the number of rules asked for (max_rules): more rules may pass."),
        (replace(EMPTY, optimal=False, bound=20.0), "time limit", "stopped early, at the time limit: more rules may"),
        (
            replace(EMPTY, optimal=False, incumbent=15.0, bound=20.0),
            "interrupted",
            "not certified: the search ended early. No other rule that passes has a gain above 20.0; the best found "
            "has 15.0, a gap of 25 %",
        ),
        (replace(EMPTY, optimal=False, bound=20.0), "interrupted", "above 20.0; none was found, a gap of 100 %"),
        (replace(EMPTY, optimal=False, bound=math.inf), None, "may pass; none was found (1,234 nodes"),
        (found(46.0), "interrupted", "not certified: learning ended before it could search once more"),
        (found(46.0), "a storm", "stopped early (a storm)."),
    ],
)
def test_proof_that_is_not_whole_is_told_as_it_is(
    model: cr.RuleModel, certificate: Certificate, stopped: str | None, words: str
) -> None:
    text = " ".join(str(replace(model, certificate=certificate, stopped=stopped)).split())
    assert words in text
    assert ("certified: no other" in text) == (certificate.optimal and stopped == "max_rules")


def test_proof_that_stands_is_not_taken_back_where_refits_were_cut_short(model: cr.RuleModel) -> None:
    text = " ".join(str(replace(model, stopped="interrupted")).split())
    assert (
        "stopped early, at your request: rules that stand better once all weights are found again were not looked for "
        "to the end. certified: no other rule passes"
    ) in text


def test_proof_of_the_papers_stopping_names_the_slope(model: cr.RuleModel) -> None:
    certificate = replace(EMPTY, objective="gradient")
    paper = replace(model, certificate=certificate, options={"stop": "optimal"})
    text = " ".join(str(paper).split())
    settled = "above 0 by more than the 1e-8 per head to which weights are settled"
    assert f"certified: no other rule has a gradient {settled}, of all rules" in text
    early = replace(paper, certificate=replace(certificate, optimal=False, bound=3.0))
    assert "No other rule has a gradient above 3.0" in " ".join(str(early).split())


def test_suggestive_rules_stand_apart_and_are_not_certified(model: cr.RuleModel) -> None:
    text = str(model)
    table, rest = text.split("suggestive rules: ")
    assert "Y ← A < B" in table
    assert "Y ← C" not in table
    assert "Nothing is certified about" in rest
    assert "against it: " in rest
    assert rest.count("rate ×") == 1
    assert "and 1 more, in the model's suggestive rules" in rest
    assert "more, in" not in str(replace(model, suggestive=model.suggestive[:5])).split("suggestive rules: ")[1]


def test_model_without_rules_says_so(model: cr.RuleModel) -> None:
    text = " ".join(str(replace(model, rules=(), rounds=())).split())
    assert "no rule is in the model: the base rate is all that it says." in text
    assert "each weighed as if it were the only rule" in text
    assert "learned in" not in text


def test_every_change_of_the_rounds_is_counted(model: cr.RuleModel) -> None:
    first = model.rounds[0]
    more = replace(first, number=2, added=(), dropped=("a", "b"), polished=(("c", "d"),))
    text = " ".join(str(replace(model, rounds=(first, more))).split())
    assert "learned in 2 rounds: 1 rule added, 2 rules dropped, 1 rule exchanged for a neighbour." in text


def test_text_fits_80_columns(model: cr.RuleModel) -> None:
    for certificate in (EMPTY, found(7.0), replace(EMPTY, optimal=False, bound=20.0)):
        for line in str(replace(model, certificate=certificate, stopped="time limit")).splitlines():
            assert len(line) <= 80


def test_record_has_all_that_learning_left(model: cr.RuleModel) -> None:
    unbounded = replace(model, certificate=replace(EMPTY, optimal=False, bound=math.inf), options={"limit": math.inf})
    record = json.loads(json.dumps(unbounded.to_dict(), allow_nan=False))
    assert record["certificate"]["bound"] is None
    assert record["certificate"]["gap"] == 1.0
    assert record["certificate"]["grammar"] == GRAMMAR
    assert record["options"] == {"limit": None}
    assert record["rounds"][0]["added"] == ["Y <- A < B"]
    assert record["rounds"][0]["certificate"]["incumbent"] == 46.0
    assert [item["rule"] for item in record["suggestive"]][:2] == ["Y <- C", "Y <- D"]
    assert record["stopped"] is None
    assert set(record["training"]) >= {"fingerprint", "vocabulary"}


def test_given_rules_have_no_words_of_learning(model: cr.RuleModel) -> None:
    given = replace(model, grammar=None, certificate=None, rounds=(), suggestive=())
    assert "certified" not in str(given)
    assert "learned" not in str(given)
