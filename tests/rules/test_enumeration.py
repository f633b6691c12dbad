"""Enumeration and counting, against all matrices of relations on few predicates."""

from __future__ import annotations

from itertools import combinations
from math import comb, factorial, perm

import pytest
from hypothesis import given, settings

from chronorule.errors import GrammarError
from chronorule.rules import Grammar, count_rules, enumerate_rules
from chronorule.rules.counting import PARTIAL_ORDERS, _orders_with_repeats, _partitions
from reference_rules import all_matrices, all_rules, grammar_options, identity_of

FOUR = [
    {"body": "ABCD", "length": 4, "partial_orders": True},
    {"body": "ABC", "length": 4, "partial_orders": True, "repeats": True},
    {"body": "ABC", "length": 4, "repeats": True, "required": ("B",)},
    {"body": "ABCD", "length": 4, "partial_orders": True, "prefix": ("C", "A")},
    {"body": "ABCD", "length": 4, "partial_orders": True, "relations": ("before",), "prefix": ("B",)},
    {"body": "AB", "length": 4, "partial_orders": True, "repeats": True, "prefix": ("B", "A", "B")},
    {"body": "ABCS", "length": 4, "partial_orders": True, "statics": ("S",), "repeats": True, "required": ("S",)},
    {"body": "ABCDST", "length": 4, "statics": ("S", "T"), "forbidden_pairs": (("S", "A"), ("S", "T"), ("B", "C"))},
]


def checked(options) -> None:
    grammar = Grammar(**{**options, "body": tuple(options["body"])})
    found = list(enumerate_rules(grammar, "Y"))
    assert len(set(found)) == len(found) == count_rules(grammar)
    assert {identity_of(rule) for rule in found} == all_rules(options)
    assert all(grammar.allows(rule) for rule in found)
    assert [rule.length for rule in found] == sorted(rule.length for rule in found)


@settings(max_examples=150)
@given(grammar_options())
def test_enumeration_and_count_agree_with_brute_force(options) -> None:
    try:
        Grammar(**options)
    except GrammarError:
        return
    checked(options)


@pytest.mark.parametrize("options", FOUR)
def test_enumeration_and_count_agree_with_brute_force_at_length_four(options) -> None:
    checked(options)


@pytest.mark.parametrize(
    "options",
    [
        {"length": 5, "repeats": True, "required": ["A"], "prefix": ["B"]},
        {"length": 2, "forbidden_pairs": [("A", "B"), ("B", "C"), ("C", "D")], "statics": ["A", "C"]},
        {"length": 2, "forbidden_pairs": [("A", "B"), ("B", "C"), ("A", "C")], "required": ["C"]},
        {"length": 5, "repeats": True, "statics": ["D"], "forbidden_pairs": [("A", "C")]},
        {"length": 5, "repeats": True, "partial_orders": True, "forbidden": ["D"], "required": ["B", "C"]},
        {"length": 5, "partial_orders": True, "prefix": ["A"], "repeats": True, "forbidden": ["B", "C"]},
        {"min_length": 2, "max_length": 4, "partial_orders": True, "relations": ["equal"], "signs": (1, -1)},
    ],
)
def test_count_is_the_number_enumerated(options) -> None:
    grammar = Grammar(body=["A", "B", "C", "D"], **options)
    rules = list(enumerate_rules(grammar, "Y"))
    assert len(set(rules)) == len(rules) == count_rules(grammar) > 0


def test_chains_are_ordered_set_partitions() -> None:
    body = [f"P{i}" for i in range(24)]
    orderings = (1, 1, 3, 13, 75, 541, 4683, 47293, 545835)  # Fubini numbers, https://oeis.org/A000670
    assert count_rules(Grammar(body=body, max_length=8)) == sum(comb(24, c) * orderings[c] for c in range(1, 9))
    assert count_rules(Grammar(body=body, length=6, relations=["before"])) == perm(24, 6)
    assert count_rules(Grammar(body=body, length=6, relations=["equal"])) == comb(24, 6)
    assert count_rules(Grammar(body=body, length=6, relations=["before"], repeats=True)) == 24**6
    assert count_rules(Grammar(body=body, length=6, relations=["before"], required=["P0", "P1"])) == (
        comb(22, 4) * factorial(6)
    )


def test_forbidden_pairs_are_counted_without_trying_all_sets() -> None:
    items = [[f"{level}{item}" for level in ("Low", "Normal", "High")] for item in range(12)]
    levels = [name for names in items for name in names]
    pairs = [pair for names in items for pair in combinations(names, 2)]
    grammar = Grammar(body=levels, length=5, relations=["before"], forbidden_pairs=pairs)
    assert count_rules(grammar) == comb(12, 5) * 3**5 * factorial(5)
    star = Grammar(body=levels, length=5, relations=["before"], forbidden_pairs=[("Low0", one) for one in levels[1:]])
    assert count_rules(star) == perm(35, 5)


def test_counts_of_partial_orders_are_those_known() -> None:
    # Σ_m S(n, m) · (partial orders on m) is the number of preorders, https://oeis.org/A000798
    preorders = (1, 1, 4, 29, 355, 6942, 209527, 9535241, 642779354, 63260289423, 8977053873043, 1816846038736192)
    for length, known in enumerate(preorders):
        assert sum(_partitions(length, m) * PARTIAL_ORDERS[m] for m in range(length + 1)) == known
    assert [len(all_matrices(count)) for count in range(1, 5)] == list(preorders[1:5])
    assert _orders_with_repeats((1,) * 8, (), before=True, equal=True) == preorders[8]
    assert _orders_with_repeats((1,) * 7, (), before=True, equal=False) == PARTIAL_ORDERS[7]
    body = [f"P{i}" for i in range(100)]
    assert count_rules(Grammar(body=body, length=6, partial_orders=True)) == comb(100, 6) * preorders[6]


@pytest.mark.parametrize(
    "options",
    [
        {"body": "ABCDEF", "length": 6, "prefix": "AB"},
        {"body": "AB", "length": 7, "repeats": True},
        {"body": "ABC", "length": 6, "repeats": True, "prefix": "ABA"},
        {"body": "ABCDEFG", "length": 7, "prefix": "ABCD", "relations": ("before",)},
    ],
)
def test_long_partial_orders_are_counted_as_enumerated(options) -> None:
    lists = {name: list(value) for name, value in options.items() if isinstance(value, str)}
    grammar = Grammar(**{**options, **lists}, partial_orders=True)
    assert count_rules(grammar) == sum(1 for _ in enumerate_rules(grammar, "Y"))


def test_counts_out_of_reach_say_so() -> None:
    body = [f"P{i}" for i in range(20)]
    with pytest.raises(GrammarError, match="Partial orders of 13 predicates are not counted; count lengths up to 12"):
        count_rules(Grammar(body=body, length=13, partial_orders=True))
    with pytest.raises(
        GrammarError, match="Partial orders of 9 predicates with repeats or a prefix would take minutes"
    ):
        count_rules(Grammar(body=body, length=9, partial_orders=True, prefix=["P1"]))
