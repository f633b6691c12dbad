"""Description length: the formula, its slow twin, and the sum that the union bound needs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from chronorule.errors import GrammarError
from chronorule.rules import (
    Grammar,
    Rule,
    chain_description_lengths,
    description_length,
    enumerate_rules,
    parse_rule,
    predicate_lists,
)
from reference_rules import all_bodies, built, grammar_options, matrix_of, relation_nats, rules

ROUNDING = 1e-9  # sums of at most a few thousand exponentials of double precision
PARTIAL = [
    {"body": "ABCD", "max_length": 4, "partial_orders": True},
    {"body": "ABCD", "max_length": 4, "partial_orders": True, "relations": ("before",)},
    {"body": "ABCD", "max_length": 4, "partial_orders": True, "relations": ("equal",)},
    {"body": "ABCD", "max_length": 4, "partial_orders": True, "relations": ()},
    {"body": "AB", "max_length": 4, "partial_orders": True, "repeats": True},
    {"body": "AB", "max_length": 4, "partial_orders": True, "repeats": True, "prefix": ("B", "A")},
    {"body": "ABCD", "length": 4, "partial_orders": True, "prefix": ("C", "A")},
    {"body": "ABS", "max_length": 4, "partial_orders": True, "repeats": True, "statics": ("S",)},
]


@settings(max_examples=150)
@given(grammar_options())
def test_description_lengths_leave_no_more_than_one(options) -> None:
    try:
        grammar = Grammar(**options)
    except GrammarError:
        return
    total = math.fsum(math.exp(-description_length(rule, grammar)) for rule in enumerate_rules(grammar, "Y"))
    assert total <= 1 + ROUNDING


@pytest.mark.parametrize("options", PARTIAL)
def test_relations_of_partial_orders_cost_what_the_slow_twin_says(options) -> None:
    grammar = Grammar(**{**options, "body": tuple(options["body"])})
    total = 0.0
    for names, matrix in all_bodies(options):
        rule = built(names, matrix)
        cost = description_length(rule, grammar)
        total += math.exp(-cost)
        relations = cost - math.log(len(grammar.lengths)) - math.log(predicate_lists(grammar, len(names)))
        assert relations == pytest.approx(relation_nats(options, names, matrix), abs=ROUNDING)
    assert total <= 1 + ROUNDING


@given(rules("ABCDEF", longest=5, repeats=False))
def test_a_rule_costs_its_predicate_more_than_any_rule_it_grew_from(rule) -> None:
    """The bound of exact search: DL(child) ≥ DL(body) + log(predicates free), a child adding a maximal variable."""
    grammar = Grammar(body=tuple("ABCDEFGH"), max_length=6, partial_orders=True, signs=(1, -1))
    for element, members in enumerate(rule.classes):
        if rule.maximal >> element & 1 and rule.length > 1:
            for name in members:
                names, matrix = matrix_of(rule)
                gone = names.index(name)
                kept = [i for i in range(len(names)) if i != gone]
                body = built(
                    [names[i] for i in kept],
                    {(a, b): matrix[kept[a], kept[b]] for b in range(len(kept)) for a in range(b)},
                    rule.sign,
                )
                least = description_length(body, grammar) + math.log(8 - body.length)
                assert description_length(rule, grammar) >= least - ROUNDING


def test_chains_cost_one_relation_a_step() -> None:
    grammar = Grammar(body=[f"P{i}" for i in range(24)], max_length=8)
    cost = math.log(8) + math.log(24 * 23 * 22) + 2 * math.log(2)
    assert description_length(parse_rule("Y <- P1 < P2 = P3"), grammar) == pytest.approx(cost)
    both = Grammar(body=grammar.body, max_length=8, signs=(1, -1))
    assert description_length(parse_rule("Y <-| P1 < P2 = P3"), both, kernels=3) == pytest.approx(cost + math.log(6))
    single = Grammar(body=grammar.body, length=3, relations=["before"])
    assert description_length(parse_rule("Y <- P1 < P2 < P3"), single) == pytest.approx(math.log(24 * 23 * 22))


def test_what_is_known_beforehand_costs_less() -> None:
    body = [f"P{i}" for i in range(24)]
    rule = parse_rule("Y <- P1 < P2 < P3 < P4 < P5 = P6")
    free = description_length(rule, Grammar(body=body, length=6))
    hinted = description_length(rule, Grammar(body=body, length=6, required=["P1", "P2"]))
    started = description_length(rule, Grammar(body=body, length=6, prefix=["P1", "P2"]))
    assert hinted == pytest.approx(math.log(6 * 5) + math.log(22 * 21 * 20 * 19) + 5 * math.log(2))
    assert started == pytest.approx(math.log(22 * 21 * 20 * 19) + 4 * math.log(2))
    assert started < hinted < free


def test_statics_take_no_relation() -> None:
    grammar = Grammar(body=["A", "B", "S"], statics=["S"], max_length=3)
    assert description_length(parse_rule("Y <- A < B & S"), grammar) == pytest.approx(math.log(3 * 6 * 2))
    assert description_length(parse_rule("Y <- S"), grammar) == pytest.approx(math.log(3 * 3))


def test_partial_orders_cost_one_relation_an_unforced_pair() -> None:
    grammar = Grammar(body=["A", "B", "C"], length=3, partial_orders=True)
    lists = math.log(6)
    for text, relations in [
        ("A < B < C", 2 * math.log(3)),  # C after B is after A
        ("A & B & C", 3 * math.log(3)),
        ("A < C & B < C", 2 * math.log(3) + math.log(2)),  # once C follows B, it is not Equal to A
        ("A = B = C", 2 * math.log(3)),
    ]:
        assert description_length(parse_rule(f"Y <- {text}"), grammar) == pytest.approx(lists + relations)


def test_renaming_does_not_change_the_description_length() -> None:
    grammar = Grammar(body=tuple("ABCDEFGH"), max_length=8, partial_orders=True)
    one = parse_rule("Y <- A < C < E & B < C & B < D & F = G")
    other = parse_rule("Y <- H < F < D & G < F & G < E & C = B")
    assert description_length(one, grammar) == pytest.approx(description_length(other, grammar))


def test_wide_partial_orders_are_priced_within_the_patience() -> None:
    body = tuple(f"P{i:02}" for i in range(12))
    grammar = Grammar(body=body, length=12, partial_orders=True)
    pairs = " & ".join(f"{one} < {other}" for one, other in zip(body[::2], body[1::2], strict=True))
    cost = description_length(parse_rule(f"Y <- {pairs}"), grammar)
    assert math.log(math.factorial(12)) < cost < math.log(math.factorial(12)) + 66 * math.log(3)


@pytest.mark.parametrize(
    "options",
    [
        {"max_length": 5, "signs": (1, -1)},
        {"min_length": 2, "max_length": 4, "required": ["A", "S"]},
        {"length": 4, "prefix": ["B"], "repeats": True, "required": ["T"]},
        {"max_length": 3, "relations": ["before"], "forbidden": ["S"]},
    ],
)
def test_the_table_for_chains_holds_every_description_length(options) -> None:
    grammar = Grammar(body=["A", "B", "C", "S", "T"], statics=["S", "T"], **options)
    table = chain_description_lengths(grammar, kernels=2)
    found: set[tuple[int, int]] = set()
    for rule in enumerate_rules(grammar, "Y"):
        place = rule.length, sum(name in "ST" for name in rule.predicates)
        assert table[place] == pytest.approx(description_length(rule, grammar, kernels=2))
        found.add(place)
    assert found <= {(length, statics) for length, statics in zip(*(table < math.inf).nonzero(), strict=True)}


def test_predicate_lists_are_the_sequences_that_meet_the_demands() -> None:
    assert predicate_lists(Grammar(body=tuple("ABCD"), max_length=4), 3) == 24
    assert predicate_lists(Grammar(body=tuple("ABCD"), max_length=4, repeats=True), 3) == 64
    assert predicate_lists(Grammar(body=tuple("AB"), max_length=4, repeats=True, required=["A"]), 3) == 7
    assert predicate_lists(Grammar(body=tuple("ABS"), max_length=4, repeats=True, statics=["S"]), 2) == 8
    assert predicate_lists(Grammar(body=tuple("ABC"), max_length=4, required=["A", "B"]), 1) == 0


def test_what_has_no_description_length_is_refused() -> None:
    grammar = Grammar(body=["A", "B"], max_length=2)
    with pytest.raises(GrammarError, match="Y <- A & B has no description length in this grammar: Two predicates"):
        description_length(Rule.build("Y", ["A", "B"]), grammar)
    with pytest.raises(GrammarError, match="The number of kernels tried is at least 1, not 0"):
        description_length(parse_rule("Y <- A"), grammar, kernels=0)
    with pytest.raises(GrammarError, match="In partial orders the description length depends on the order"):
        chain_description_lengths(Grammar(body=["A", "B"], partial_orders=True))
