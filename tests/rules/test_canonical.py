"""Neighbours and implication, against definitions that work on matrices and on logs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronorule.rules import implies, key, neighbours, parse_rule
from chronorule.search.slow.relations import BACKWARDS, relation_in
from reference_rules import (
    all_bodies,
    built,
    closed_matrix,
    identity,
    identity_of,
    logs,
    matches,
    matrix_of,
    rules,
)

GRAMMARS = [
    {"body": "ABC", "max_length": 4},
    {"body": "ABC", "max_length": 4, "relations": ("before",)},
    {"body": "ABC", "max_length": 4, "partial_orders": True},
    {"body": "ABC", "max_length": 4, "partial_orders": True, "relations": ("before",)},
    {"body": "ABC", "max_length": 4, "partial_orders": True, "relations": ("equal",)},
    {"body": "ABCS", "max_length": 4, "statics": ("S",)},
    {"body": "ABS", "max_length": 4, "statics": ("S",), "partial_orders": True},
]
REPEATING = [
    {"body": "AB", "max_length": 4, "repeats": True},
    {"body": "AB", "max_length": 4, "repeats": True, "partial_orders": True},
    {"body": "AS", "max_length": 4, "repeats": True, "statics": ("S",)},
]


def induced(names, matrix, kept):
    """The body left when only some variables are kept."""
    pairs = combinations(range(len(kept)), 2)
    return [names[i] for i in kept], {(one, other): relation_in(matrix, kept[one], kept[other]) for one, other in pairs}


def is_wider(one, other) -> bool:
    """Whether dropping one variable of `one` leaves `other`."""
    names, matrix = one
    return any(
        identity(*induced(names, matrix, [i for i in range(len(names)) if i != gone])) == identity(*other)
        for gone in range(len(names))
    )


def is_exchanged(one, other, statics) -> bool:
    """Whether giving one variable of `one` another predicate leaves `other`."""
    names, matrix = one
    return any(
        (new in statics) == (names[place] in statics)
        and identity([*names[:place], new, *names[place + 1 :]], matrix) == identity(*other)
        for place in range(len(names))
        for new in set(other[0])
    )


def related_otherwise(body):
    """The bodies made from one by stating another relation between two Equal classes, or inside one of them."""
    names, matrix = body
    count = len(names)
    classes = [[i for i in range(count) if i == j or relation_in(matrix, i, j) == "Equal"] for j in range(count)]
    changes = []
    for one, other in combinations(range(count), 2):
        if matrix[one, other] != "Equal":
            changes += [(classes[one], classes[other])]
    for members in classes:
        for size in range(1, len(members)):
            changes += [(list(part), [i for i in members if i not in part]) for part in combinations(members, size)]
    for left, right in changes:
        for relation in ("Before", "After", "Equal", "None"):
            stated = dict(matrix)
            for i in left:
                for j in right:
                    stated[min(i, j), max(i, j)] = relation if i < j else BACKWARDS[relation]
            closed = closed_matrix(count, stated)
            if closed is not None:
                yield names, closed


def options_of(grammar):
    return {name: grammar[name] for name in ("statics", "relations", "partial_orders", "repeats") if name in grammar}


@pytest.mark.parametrize("grammar", GRAMMARS + REPEATING)
def test_neighbours_are_exactly_the_rules_one_change_away(grammar) -> None:
    bodies = {identity(*body): body for body in all_bodies(grammar)}
    for body in list(bodies.values())[:: max(1, len(bodies) // 12)]:
        if len(body[0]) > 3:
            continue
        own = identity(*body)
        related = {identity(*other) for other in related_otherwise(body)} & set(bodies)
        expected = {
            name
            for name, other in bodies.items()
            if is_wider(body, other)
            or is_wider(other, body)
            or (len(other[0]) == len(body[0]) and is_exchanged(body, other, grammar.get("statics", ())))
            or name in related
        } - {own}
        found = list(neighbours(built(*body), grammar["body"], **options_of(grammar)))
        assert len(set(found)) == len(found)
        assert {identity_of(rule)[0] for rule in found} == expected


@given(rules(names="ABCD", longest=4, repeats=False, chain=True))
def test_chains_are_neighbours_of_their_neighbours(rule) -> None:
    for found in neighbours(rule, "ABCDE"):
        assert found.is_chain
        assert found.sign == rule.sign
        assert rule in set(neighbours(found, "ABCDE"))


def test_neighbours_of_a_chain_read_out() -> None:
    found = neighbours(parse_rule("Y <- A < B"), "ABC")
    dropped_or_exchanged = ["A", "B", "A < C", "C < B"]
    related_otherwise = ["A = B", "B < A"]
    added = ["C < A < B", "A < C < B", "A < B < C", "A = C < B", "A < B = C"]
    assert sorted(rule.key.removeprefix("Y <- ") for rule in found) == sorted(
        [*dropped_or_exchanged, *related_otherwise, *added]
    )


def test_neighbours_keep_to_what_is_allowed() -> None:
    rule = parse_rule("Y <- A < B")
    assert set(neighbours(rule, "ABC", allowed=lambda found: found.length == 1)) == {
        parse_rule("Y <- A"),
        parse_rule("Y <- B"),
    }


def test_neighbours_grow_no_longer_than_told() -> None:
    rule = parse_rule("Y <- A < B")
    every = set(neighbours(rule, "ABC", partial_orders=True))
    assert {found.length for found in every} == {1, 2, 3}
    assert set(neighbours(rule, "ABC", partial_orders=True, max_length=3)) == every
    assert set(neighbours(rule, "ABC", partial_orders=True, max_length=2)) == {one for one in every if one.length < 3}


@given(rules("AB", longest=3), rules("AB", longest=3), st.lists(logs("AB"), min_size=4, max_size=8))
def test_what_is_implied_matches_wherever_the_rule_does(one, other, entities) -> None:
    if implies(one, other):
        for log in entities:
            assert matches(other, log) or not matches(one, log)


@given(rules("ABC", longest=4, chain=True), rules("ABC", longest=3))
def test_a_chain_implies_exactly_what_its_own_instants_match(one, other) -> None:
    log = [(float(element), name) for element, members in enumerate(one.classes) for name in members]
    assert implies(one, other) is matches(other, log)


@given(rules("ABCD", longest=4, repeats=False), rules("ABCD", longest=4, repeats=False))
def test_without_repeats_nothing_else_is_implied(one, other) -> None:
    """If `one` does not imply `other`, some instants that satisfy `one` do not hold a match of `other`."""
    if implies(one, other):
        return
    names, _ = matrix_of(one)
    codes = range(len(names) ** len(names))
    instants = ([code // len(names) ** i % len(names) for i in range(len(names))] for code in codes)
    events = ([(float(time), name) for time, name in zip(times, names, strict=True)] for times in instants)
    assert any(matches(one, log) and not matches(other, log) for log in events)


@given(rules(), rules(), rules())
def test_implication_is_a_preorder(one, other, third) -> None:
    assert implies(one, one)
    if implies(one, other) and implies(other, third):
        assert implies(one, third)


@given(rules(longest=5))
def test_a_rule_implies_what_is_left_when_a_predicate_is_dropped(rule) -> None:
    shorter = [found for found in neighbours(rule, [], partial_orders=True, repeats=True) if found.length < rule.length]
    assert len(shorter) >= (rule.length > 1)
    assert all(implies(rule, found) for found in shorter)


@pytest.mark.parametrize(
    ("one", "other", "implied"),
    [
        ("A < B < C", "A < C", True),
        ("A < B", "A & B", True),
        ("A & B", "A < B", False),
        ("A = B", "A & B", True),
        ("A = B", "A < B", False),
        ("A < B", "A = B", False),
        ("A < B < A#2", "B < A", True),
        ("A < B < A#2", "A < A#2", True),
        ("A < A#2 < B", "A < B < A#2", False),
        ("A < B", "A < A#2", False),
        ("A < A#2 & B < A#2", "A & B", True),
        ("A < A#2 < B = A#3", "A = B & B < A#2", False),
        ("A < A#2 = B < A#3", "A = B & B < A#2", True),
    ],
)  # fmt: skip
def test_examples_of_implication(one: str, other: str, implied: bool) -> None:
    assert implies(parse_rule(f"Y <- {one}"), parse_rule(f"Z <-| {other}")) is implied


def test_key_of_a_spelling_is_the_key_of_the_rule() -> None:
    assert key("Y <- B > A") == key(parse_rule("Y <- A < B")) == "Y <- A < B"
