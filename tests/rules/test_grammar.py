"""Grammars: membership against the independent checker, messages, text and dictionaries."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronorule.errors import GrammarError
from chronorule.rules import Grammar, count_rules, parse_rule
from reference_rules import all_bodies, all_rules, allows, built, grammar_options, matrix_of, rules


@given(grammar_options(), st.lists(rules("ABCD", longest=4), min_size=1, max_size=5), st.integers(0, 50))
def test_allows_agrees_with_the_independent_checker(options, samples, offset) -> None:
    try:
        grammar = Grammar(**options)
    except GrammarError:
        return
    widest = {"body": options["body"], "max_length": 3, "repeats": True, "partial_orders": True}
    bodies = list(all_bodies(widest))[offset % 7 :: 7]
    samples += [built(*body, sign) for body in bodies for sign in (1, -1)]
    for rule in samples:
        expected = allows(options, *matrix_of(rule), rule.sign)
        assert grammar.allows(rule) is expected, rule
        why = grammar.why_not(rule)
        assert (why is None) is expected
        assert why is None or re.fullmatch(r"\S.*\.", why)


@given(grammar_options())
def test_refused_grammars_hold_no_rule(options) -> None:
    try:
        Grammar(**options)
    except GrammarError:
        assert not all_rules(options)


@given(grammar_options())
def test_dictionaries_and_texts(options) -> None:
    try:
        grammar = Grammar(**options)
    except GrammarError:
        return
    assert Grammar.from_dict(json.loads(json.dumps(grammar.to_dict()))) == grammar
    assert f"over {len(grammar.library)} predicate" in str(grammar)
    assert hash(grammar) == hash(Grammar(**options))


@given(grammar_options(), rules("ABCD", longest=3))
def test_neighbours_are_rules_of_the_grammar(options, rule) -> None:
    try:
        grammar = Grammar(**options)
    except GrammarError:
        return
    for found in grammar.neighbours(rule):
        assert allows(options, *matrix_of(found), found.sign)


def test_default_is_chains_that_raise_the_rate_without_repeats() -> None:
    grammar = Grammar(max_length=8)
    assert str(grammar) == "chains of Before/Equal over all predicates of the log, length 1..8, sign +1"
    assert grammar.allows(parse_rule("Y <- A < B = C"))
    assert str(grammar.resolve([f"P{i}" for i in range(24)])) == (
        "chains of Before/Equal over 24 predicates, length 1..8, sign +1"
    )
    assert Grammar().lengths_stated == range(1, 5)


def test_text_names_every_constraint() -> None:
    grammar = Grammar(
        body=["A", "B", "C", "D", "E F", "S"],
        length=5,
        relations=["before"],
        partial_orders=True,
        repeats=True,
        signs=(-1, 1),
        required=["A", "E F"],
        forbidden=["D"],
        forbidden_pairs=[("C", "A")],
        prefix=["A", "B", "A"],
        statics=["S"],
    )
    assert str(grammar) == (
        "partial orders of Before/None over 5 predicates, length 5, sign +1 and -1, 1 of them static, with repeats, "
        'with A and "E F", starting A < B < A#2, not A with C'
    )
    assert str(Grammar(relations=(), partial_orders=True, forbidden=["D"], max_length=1)) == (
        "unrelated predicates over all predicates of the log, length 1, sign +1, without D"
    )


@pytest.mark.parametrize(
    ("options", "text", "why"),
    [
        ({"max_length": 2}, "A < B < C", "The rule has 3 predicates, but the grammar allows 1..2."),
        ({"length": 2}, "A", "The rule has 1 predicates, but the grammar allows 2."),
        ({"signs": (-1,)}, "A", "The rule has sign +1, but the grammar allows -1."),
        ({"body": ["Age", "B"]}, "Aged", "Aged is not in the grammar's library (did you mean Age?)."),
        ({"forbidden": ["B"]}, "A < B", "B is forbidden."),
        ({"required": ["B"]}, "A < C", "B is required, but missing."),
        ({"forbidden_pairs": [("B", "A")]}, "A < B", "A and B are forbidden as a pair."),
        ({}, "A < B < A#2", "The rule repeats A, but the grammar allows no repeats."),
        ({}, "A & B", "Two predicates of the rule are unrelated, but the grammar allows only chains."),
        ({"relations": ["before"]}, "A = B", "A and B are Equal, which is not allowed."),
        ({"relations": ["equal"]}, "A < B", "B comes after others, but Before is not allowed."),
        ({"statics": ["S"]}, "A < S", "S is static, so it can be Before or Equal to nothing."),
        ({"statics": ["S"]}, "S < A", "S is static, so it can be Before or Equal to nothing."),
        ({"statics": ["S"]}, "A = S", "S is static, so it can be Before or Equal to nothing."),
        ({"prefix": ["A", "B"]}, "A < C < B", "The rule does not start with A < B."),
        ({"prefix": ["A", "B"]}, "A = C < B", "The rule does not start with A < B."),
        ({"prefix": ["A"]}, "B < A", "The rule does not start with A."),
        ({"prefix": ["A"]}, "S", "The rule does not start with A."),
    ],
)
def test_why_not_names_the_constraint(options, text: str, why: str) -> None:
    assert Grammar(**options).why_not(parse_rule(f"Y <- {text}")) == why


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"statics": ["S", "T"]}, "A < B = C & S & T"),
        ({"statics": ["S"], "relations": ["equal"]}, "A & S"),
        ({"statics": ["S"]}, "S"),
        ({"prefix": ["A", "B"]}, "A < B = C < D"),
        ({"prefix": ["A"], "partial_orders": True}, "A & B < C"),
        ({"prefix": ["A", "B"], "statics": ["S"]}, "A < B & S"),
        ({"partial_orders": True}, "A < B & C = D"),
        ({"repeats": True}, "A < B = A#2 < A#3"),
        ({"partial_orders": True, "relations": ()}, "A & B"),
    ],
)
def test_allowed_rules(options, text: str) -> None:
    assert Grammar(**{"max_length": 5, **options}).why_not(parse_rule(f"Y <- {text}")) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"body": "AB"}, r"body is a list of names, not 'AB'; write \['AB'\]"),
        ({"body": []}, "The body library is empty"),
        ({"body": ["A", 3]}, "body holds 3, which is not the name"),
        ({"body": ["A", "A"]}, "body names A twice"),
        ({"length": 0}, "length is a number of predicates, at least 1, not 0"),
        (
            {"max_length": 10**23},
            "max_length of more than 1,000,000 predicates is longer than any rule; give a smaller",
        ),
        ({"max_length": 2.5}, "max_length is a number of predicates, at least 1, not 2.5"),
        ({"min_length": True}, "min_length is a number of predicates"),
        ({"length": 3, "max_length": 4}, "Give either a fixed length, or min_length and max_length"),
        ({"min_length": 3, "max_length": 2}, "min_length 3 exceeds max_length 2"),
        (
            {"length": 2, "required": ["A", "B"], "prefix": ["C"]},
            "cannot hold the required C, A and B",
        ),
        ({"required": ["A"], "forbidden": ["A"]}, "A is both forbidden and in required"),
        ({"prefix": ["A"], "forbidden": ["A"]}, "A is both forbidden and in prefix"),
        ({"prefix": ["S"], "statics": ["S"]}, "S is static; put it into required"),
        ({"prefix": ["A", "A"]}, "The prefix holds a predicate twice; set repeats=True"),
        ({"prefix": ["A", "B"], "relations": ["equal"]}, "orders them by Before; allow it in relations"),
        (
            {"required": ["A"], "prefix": ["B"], "forbidden_pairs": [("A", "B")]},
            "both required, but forbidden",
        ),
        ({"body": ["Abc"], "required": ["Abd"]}, r"required names Abd, which is not in body \(did you mean Abc\?\)"),
        ({"body": ["A"], "forbidden": ["B"]}, "forbidden names B, which is not in body"),
        ({"body": ["A"], "forbidden_pairs": [("A", "B")]}, "forbidden_pairs names B, which is not in body"),
        ({"body": ["A", "B"], "length": 3}, "No rule of length 3 exists: 2 predicates may be used, 0 must be"),
        ({"relations": ["after"]}, '"after" is "before" read backwards'),
        ({"relations": ["none"]}, "allowed by partial_orders=True"),
        ({"relations": ["during"]}, 'relations may hold "before" and "equal", not \'during\''),
        ({"relations": []}, "A chain needs a relation"),
        ({"signs": ()}, r"signs is \(1,\), \(-1,\) or \(1, -1\), not \(\)"),
        ({"signs": (1, 1)}, "signs is"),
        ({"signs": 1}, "signs is .* not 1"),
        ({"signs": [[1]]}, r"signs is .* not \[\[1\]\]"),
        ({"forbidden_pairs": 3}, r"forbidden_pairs is a list of pairs of names, not 3; write \[\(one, other\)\]"),
        ({"forbidden_pairs": [3]}, "holds pairs of two different names, not 3"),
        ({"forbidden_pairs": ["AB"]}, "holds pairs of two different names, not 'AB'"),
        ({"forbidden_pairs": [("A", "A")]}, "holds pairs of two different names"),
        ({"repeats": "yes"}, "repeats is True or False, not 'yes'"),
    ],
)
def test_options_that_exclude_each_other_are_refused(options, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        Grammar(**options)


def test_resolve_takes_library_and_statics_from_the_log() -> None:
    vocabulary = ["A", "B", "S", "Y"]
    grammar = Grammar(forbidden=["B"], max_length=3).resolve(vocabulary, statics=["S"], exclude=["Y"])
    assert (grammar.body, grammar.library, grammar.timed, grammar.static) == (
        ("A", "B", "S"),
        ("A", "S"),
        ("A",),
        ("S",),
    )
    assert list(grammar.lengths) == [1, 2]
    chosen = Grammar(body=["S", "A"]).resolve(vocabulary, statics=["S", "T"])
    assert (chosen.body, chosen.statics) == (("S", "A"), ("S",))
    assert chosen.resolve(vocabulary, statics=["S"]) == chosen
    with pytest.raises(GrammarError, match=r"body names Aa, which is not in the log \(did you mean A\?\)"):
        Grammar(body=["Aa"]).resolve(vocabulary)
    with pytest.raises(GrammarError, match="statics names A, which is not static in the log"):
        Grammar(statics=["A"]).resolve(vocabulary, statics=["S"])
    with pytest.raises(GrammarError, match="The log has no predicate but the head"):
        Grammar().resolve(["Y"], exclude=["Y"])
    with pytest.raises(GrammarError, match="required names Z, which is not in body"):
        Grammar(required=["Z"]).resolve(vocabulary)


def test_a_grammar_without_library_cannot_be_counted() -> None:
    with pytest.raises(GrammarError, match="This grammar has no library yet; give body"):
        count_rules(Grammar())


def test_unknown_options_in_a_dictionary_are_refused() -> None:
    with pytest.raises(GrammarError, match=r"A grammar has no option 'max_lenght' \(did you mean max_length\?\)"):
        Grammar.from_dict({"max_lenght": 3})
