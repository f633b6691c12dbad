"""What rules, certificates and models say in plain words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from chronorule.events import Head
from chronorule.grounding import Feature, decay, step, window
from chronorule.model import WeightedRule
from chronorule.model.history import Round
from chronorule.pricing import Evidence
from chronorule.report.words import (
    SAYS,
    amount,
    certificate_words,
    condition,
    decimal,
    listed,
    overview_words,
    quoted,
    sentence,
)
from chronorule.rules import parse_rule
from reports import PROOF, any_model, learned, simulated

MODEL = any_model(simulated(entities=20), Head("Y"), Feature())


def weighted(text: str, weight: float = 0.7, stderr: float = 0.1) -> WeightedRule:
    rule = parse_rule(text)
    evidence = Evidence(rule, 20.0, 10.0, 10.0, 5.0, weight, 4.0, weight, 4.0, 9, 2.0)
    return WeightedRule(rule, weight, stderr, 5.0, 20, evidence)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Y <- A", "After A"),
        ("Y <- A = B", "After A and B at the same instant"),
        ("Y <- A < B", "After A, then B"),
        ("Y <- A < B = C < A#2", "After A, then B and C at the same instant, then A again"),
        ("Y <- A & B", "After A and B in any order"),
        ("Y <- A & B & C", "After A, B and C, each in any order"),
        ("Y <- A < C & B < C & D", "After A, B, C and D (A before C and B before C)"),
        ("Y <- Old & A < B", "In entities with Old, after A, then B"),
        ("Y <- Old & Smokes", "In entities with Old and Smokes"),
        ('Y <- "ER Triage" < "x<y"', "After “ER Triage”, then “x<y”"),
        ("Y <- A < A#2 < A#3 < A#4", "After A, then A again, then A a third time, then A for the 4th time"),
    ],
)
def test_conditions(text: str, words: str) -> None:
    assert condition(parse_rule(text), {"Old", "Smokes"}) == words


@pytest.mark.parametrize(
    ("text", "feature", "words"),
    [
        ("Y <- A", Feature(), "After A, Y comes at 2.01 times its usual rate from then on"),
        ("Y <-| A", Feature(kernel=window(12)), "After A, Y comes at 0.497 times its usual rate for 12 hours"),
        (
            "Y <- A < B",
            Feature(span=1),
            "After A, then B, all within 1 hour, Y comes at 2.01 times its usual rate from then on",
        ),
        (
            "Y <- A",
            Feature("count", decay(0.1)),
            "After A, the rate of Y is multiplied by 2.01 for each such match at first, an effect that halves every "
            "6.93 hours",
        ),
        ("Y <- Old", Feature("count", window(3), 2), "In entities with Old, Y comes at 2.01 times its usual rate"),
    ],
)
def test_sentences(text: str, feature: Feature, words: str) -> None:
    interval = "0.408 to 0.604" if "<-|" in text else "1.66 to 2.45"
    told = sentence(weighted(text), feature, "hours", {"Old"})
    assert told == f"{words} (95 % interval {interval})."


def test_sentences_of_weights_that_say_little() -> None:
    assert sentence(weighted("Y <- A", 0.0), Feature(), "hours") == (
        "After A, Y comes at its usual rate: the weight of the rule is 0."
    )
    assert "without an interval: the weight stands at a bound" in sentence(
        weighted("Y <- A", 10.0, math.nan), Feature(), "hours"
    )


def test_certificates_say_what_is_proved() -> None:
    assert certificate_words(MODEL, PROOF)[0] == "Proved: no further rule passes."
    best = certificate_words(MODEL, replace(PROOF, incumbent=12.3))
    assert best[0] == "Proved: no better rule was left out."
    assert "no rule of it passes and has a higher gain than the 12.30" in best[1]
    early = certificate_words(MODEL, replace(PROOF, optimal=False, incumbent=5.0, bound=10.0))
    assert early[0].startswith("Not proved to the end")
    assert "more than 10.00: a gap of 50 %" in early[1]
    blind = certificate_words(MODEL, replace(PROOF, optimal=False, incumbent=5.0, bound=math.inf))
    assert blind[0] == "Not proved."
    assert "better rules may exist" in blind[1]
    found = replace(MODEL, options={"stop": "optimal"})
    settled = "above 0 by more than the 1e-8 per head to which weights are settled"
    assert certificate_words(found, PROOF)[0] == f"Proved: no further rule has a gain {settled}."
    last = replace(MODEL, certificate=PROOF, rounds=(Round(1, (), (), (), (), -1.0, PROOF, 0.1),))
    assert certificate_words(last, PROOF)[0] == "Not proved: learning ended before it could search once more."
    for words in (best, early, blind):
        assert "The grammar: chains of Before/Equal over 5 predicates, length 1 to 3." in words
        assert "The search looked at 12,345 partial rules and priced 23,456 rules in 0.8 seconds." in words


def test_overviews() -> None:
    log = simulated()
    model = any_model(log, Head("Y"), Feature(kernel=step), "Y <- A < B", "Y <-| C")
    none = any_model(log, Head("Y"), Feature())
    one = any_model(log, Head("Y"), Feature(), "Y <- D")
    assert overview_words(model) == "2 rules explain when Y happens."
    assert overview_words(one) == "One rule explains when Y happens."
    assert overview_words(learned(none)) == "No rule was admitted that explains when Y happens."
    assert overview_words(learned(model, one)).endswith("One more is suggestive: not admitted, and not certified.")


def test_small_words() -> None:
    assert (quoted("Low_BP-2"), quoted("a b")) == ("Low_BP-2", "“a b”")
    assert (listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])) == ("a", "a and b", "a, b and c")
    assert [amount(1, "hours"), amount(1, "time"), amount(2.5, "time")] == [
        "1 hour",
        "1 unit of time",
        "2.5 units of time",
    ]
    assert [decimal(value) for value in (0, 1.0, 0.12345, 12.345, 1234.5, 1e-7, -2.5)] == [
        "0", "1", "0.123", "12.3", "1,234", "1.0e-07", "-2.5"
    ]  # fmt: skip
    assert set(SAYS) == {"says when", "marks which entities", "not tested", "does not pass", "not fitted"}
