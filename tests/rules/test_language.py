"""The language of rules: what is read, what is printed, what is refused and where the message points."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronorule.errors import OptionError, RuleError, RuleSyntaxError
from chronorule.rules import Relation, Rule, RuleLine, format_rule, parse_rule, parse_rules
from reference_rules import ODD_NAMES, closed_matrix, compare, identity, identity_of, matrix_of, rules, spellings

READABLE = ("ascii", "long", "unicode")


@given(spellings(longest=5), st.randoms())
def test_build_draws_the_consequences_that_brute_force_draws(spelling, random) -> None:
    names, relations = spelling
    stated = {}
    for one, relation, other in relations:
        stated[min(one, other), max(one, other)] = (relation if one < other else relation.inverse).value
    matrix = closed_matrix(len(names), stated)
    assert matrix is not None
    assert identity_of(Rule.build("Y", names, relations))[0] == identity(names, matrix)


@given(spellings(), st.randoms())
def test_two_spellings_are_one_rule(spelling, random) -> None:
    names, relations = spelling
    places = list(range(len(names)))
    random.shuffle(places)
    shuffled = [""] * len(names)
    for index, place in enumerate(places):
        shuffled[place] = names[index]
    respelled = [
        (places[j], relation.inverse, places[i]) if random.random() < 0.5 else (places[i], relation, places[j])
        for i, relation, j in relations
    ]
    random.shuffle(respelled)
    one, other = Rule.build("Y", names, relations), Rule.build("Y", shuffled, respelled)
    assert one == other
    assert hash(one) == hash(other)
    assert one.key == other.key


@given(rules(), rules())
def test_keys_are_equal_exactly_for_equal_rules(one, other) -> None:
    assert (one.key == other.key) is (one == other) is (identity_of(one) == identity_of(other))


@given(rules(), st.sampled_from(READABLE))
def test_printed_rules_are_read_back(rule, style) -> None:
    assert parse_rule(format_rule(rule, style)) == rule


@given(st.lists(ODD_NAMES, min_size=1, max_size=4, unique=True), ODD_NAMES, st.data(), st.sampled_from(READABLE))
def test_any_name_is_printed_and_read_back(names, head, data, style) -> None:
    body, relations = data.draw(spellings(names, longest=4))
    rule = Rule.build(head, body, relations, -1)
    text = format_rule(rule, style)
    assert parse_rule(text) == rule
    assert "\n" not in text
    assert parse_rules(format_rule(rule, style, weight=0.1)) == [RuleLine(rule, 0.1, 1)]
    text.encode()  # printable to any file: surrogates and controls are escaped


@given(rules(), st.floats(0, 1e300), st.sampled_from(READABLE))
def test_weights_are_read_back_exactly(rule, weight, style) -> None:
    assert parse_rules(format_rule(rule, style, weight)) == [RuleLine(rule, weight, 1)]


@given(rules())
def test_a_rule_states_itself_through_its_attributes(rule) -> None:
    names, matrix = matrix_of(rule)
    assert rule.length == len(names) == len(rule.predicates)
    assert rule.predicates == tuple(names)
    assert rule.is_chain is ("None" not in matrix.values())
    assert Rule(rule.head, rule.classes, rule.predecessors, rule.sign) == rule
    assert eval(repr(rule), {"parse_rule": parse_rule}) == rule
    assert pickle.loads(pickle.dumps(rule)) == rule == copy.deepcopy(rule)
    assert str(rule) == rule.key == format_rule(rule)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Y <- A", "Y <- A"),
        ("Y<-A<B=C", "Y <- A < B = C"),
        ("Y <- C = B > A", "Y <- A < B = C"),
        ("Y ← A ∧ B ∧ (B After A)", "Y <- A < B"),
        ("Y ↤ A", "Y <-| A"),
        ("Y <-| A Before B", "Y <-| A < B"),
        ("Y <- ((A < B))", "Y <- A < B"),
        ("Y <- B & A", "Y <- A & B"),
        ("Y <- B None A", "Y <- A & B"),
        ("Y <- A & B < C & Smokes", "Y <- A & B < C & Smokes"),
        ("Y <- A < C & B < C & C < D", "Y <- A < C < D & B < C"),
        ("Y <- A < C = D & B < D", "Y <- A < C = D & B < C"),
        ("Y <- A < B & B < C & A < C", "Y <- A < B < C"),
        ("Y <- A#2 < B < A", "Y <- A < B < A#2"),
        ("Y <- A#1 < A#2 < A#3", "Y <- A < A#2 < A#3"),
        ('Y <- "A" < "B C"#2 & "B C" < "B C"#2', 'Y <- A < "B C"#2 & "B C" < "B C"#2'),
        ('"Y" <- "\\u0041\\U00000042" < "a\\tb\\/"', 'Y <- AB < "a\\tb/"'),
        ("Y <- Age≥65 & friend:Smokes & Low/Normal-X", "Y <- Age≥65 & Low/Normal-X & friend:Smokes"),
        ("  Y\t<-\tA  ", "Y <- A"),
        ("Y <- w < B", "Y <- w < B"),
        (
            "LowUrine <- LowSysBP & HighBUN & LowCVP & LowSysBP Before HighBUN & HighBUN Equal LowCVP",
            "LowUrine <- LowSysBP < HighBUN = LowCVP",
        ),
    ],
)
def test_texts_and_their_keys(text: str, key: str) -> None:
    assert parse_rule(text).key == key


def test_styles_of_printing() -> None:
    rule = parse_rule("LowUrine <-| LowSysBP < HighBUN = LowCVP & LowSysBP < LowSysBP#2")
    assert format_rule(rule) == "LowUrine <-| LowSysBP < HighBUN = LowCVP & LowSysBP < LowSysBP#2"
    assert format_rule(rule, "long") == (
        "LowUrine <-| LowSysBP & HighBUN & LowCVP & LowSysBP#2 "
        "& LowSysBP Before HighBUN & HighBUN Equal LowCVP & LowSysBP Before LowSysBP#2"
    )
    assert format_rule(parse_rule("Y <- A < B = C"), "unicode", weight=0.18) == (
        "Y ← A ∧ B ∧ C ∧ (A Before B) ∧ (B Equal C)  w = 0.18"
    )
    assert format_rule(parse_rule('Y_1 <-| "50% \\\\ x\\n" < A < A#2'), "latex", weight=1) == (
        r"\text{Y\_1} \mathrel{\leftarrow\!\mid} \text{50\% \textbackslash{} x } \wedge \text{A} \wedge \text{A}_{2} "
        r"\wedge (\text{50\% \textbackslash{} x }\ \mathrm{Before}\ \text{A}) "
        r"\wedge (\text{A}\ \mathrm{Before}\ \text{A}_{2}) \quad w = 1.0"
    )


def test_format_refuses_unknown_styles_and_weights_that_are_none() -> None:
    rule = parse_rule("Y <- A")
    with pytest.raises(OptionError, match="There is no style 'html'; choose one of ascii, long, unicode, latex"):
        format_rule(rule, "html")  # type: ignore[arg-type]
    for weight in (-0.5, float("nan"), float("inf")):
        with pytest.raises(OptionError, match="A weight is a finite number of at least 0"):
            format_rule(rule, weight=weight)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "starts with the name of its head", 1),
        ("<- A", "starts with the name of its head", 1),
        ("Y", "Between head and body stands <-", 2),
        ("Y < A", "Between head and body stands <-", 3),
        ("Y#2 <- A", "The head has no occurrences", 1),
        ("Y <-", "A predicate is missing here", 5),
        ("Y <- A &", "A predicate is missing here", 9),
        ("Y <- A < ", "A predicate is missing here", 10),
        ("Y <- < A", "A predicate is missing here", 6),
        ("Y <- A < Before", 'if one is called Before, write "Before"', 10),
        ("Y <- A B", "Between predicates stands & or a relation", 8),
        ("Y <- A before B", "Relations are written Before, After, Equal, None: Before, not before", 8),
        ("Y <- A <- B", "A rule has one arrow", 8),
        ("Y <- A & A", "A is listed twice; write A#2", 10),
        ("Y <- A#2", "A#2 needs A in the same body", 6),
        ("Y <- A < A#3", "A#3 needs A#2 in the same body", 10),
        ("Y <- A < A", "A cannot stand in a relation with itself; write A#2", 8),
        ("Y <- A#0", "After # stands the number", 7),
        ("Y <- A#", "After # stands the number", 7),
        ("Y <- A #2", "must follow a name at once", 8),
        ("Y <- A  # why", "a comment stands on a line of its own", 9),
        ("Y <- A <= B", "There is no relation <=", 8),
        ("Y <- A == B", "There is no relation ==", 8),
        ("Y <- A | B", "| has no meaning here", 8),
        ("Y <- (A & B)", "not around &", 9),
        ("Y <- (A < B", "This parenthesis is not closed", 6),
        ("Y <- A < B)", "This parenthesis was not opened", 11),
        ("Y <- (A < B C)", "Between predicates stands & or a relation", 13),
        ("Y <- (A < B) < C", "not after parentheses", 14),
        ("Y <- " + "(" * 70 + "A", "nested too deeply", 70),
        ('Y <- "A', "no closing double quote", 6),
        ('Y <- "A\\q"', "An escape is", 8),
        ('Y <- "\\U00110000"', "An escape is", 7),
        ("Y <- A\u200bB", "The character U\\+200B cannot be seen", 7),
        ("Y <- A None B & A < B", "A None B contradicts the other relations", 8),
        ("Y <- C None A & A < B < C", "C None A contradicts the other relations", 8),
        ("Y <- A None B & A = B", "A None B contradicts the other relations", 8),
        ("Y <- A < B  w = 0.5", "A single rule has no weight", 13),
    ],
)
def test_syntax_errors_point_at_the_column(text: str, message: str, column: int) -> None:
    with pytest.raises(RuleSyntaxError, match=message.replace("|", "\\|")) as caught:
        parse_rule(text)
    assert caught.value.column == column
    assert str(caught.value).splitlines()[-1] == " " * (column + 1) + "^"


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("Y <- A < B < A", "These relations contradict each other: A Before B, B Before A; drop one", 12),
        ("Y <- A < B & B = C & C < D & D < A & E < A", "A Before B, B Equal C, C Before D, D Before A; drop one", 32),
        ("Y <- A < B = A", "A Before B, B Equal A; drop one", 12),
        ("Y <- A = B & A < B", "A Before B, B Equal A; drop one", 16),
        ("Y <- A < B & B < C < D < B & B < A", "B Before C, C Before D, D Before B; drop one", 24),
        ("Y <- A & A#2", "Two occurrences of A in one body must be separated by Before", 10),
        ("Y <- A = A#2", "Two occurrences of A in one body must be separated by Before", 10),
        ("Y <- A#2 < B & A", "Two occurrences of A in one body must be separated by Before", 6),
        ("Y <- A < B & A#2", "Two occurrences of A in one body must be separated by Before", 14),
        ("Y <- B & B#2 & A < A#2", "Two occurrences of B in one body must be separated by Before", 10),
        ("Y <- A < A#2 & A < A#3", "Two occurrences of A in one body must be separated by Before", 20),
        ("Y <- A < B & B < A#2 & A#2 < B", "contradict each other: B Before A#2, A#2 Before B", 28),
    ],
)
def test_contradictions_name_the_predicates_and_point_at_what_closes_them(text: str, message: str, column: int) -> None:
    with pytest.raises(RuleSyntaxError, match=message) as caught:
        parse_rule(text)
    assert caught.value.column == column


TWICE = ["A", "A#2", "A#3", "B", "B#2", "C"]
STATED = st.tuples(st.integers(0, 5), st.sampled_from("<>="), st.integers(0, 5))


@given(st.lists(STATED.filter(lambda stated: stated[0] != stated[2]), max_size=8))
def test_text_is_refused_with_a_place_exactly_where_its_relations_build_no_rule(relations) -> None:
    kinds = {"<": Relation.BEFORE, ">": Relation.AFTER, "=": Relation.EQUAL}
    text = "Y <- " + " & ".join([*TWICE, *(f"{TWICE[i]} {sign} {TWICE[j]}" for i, sign, j in relations)])
    names = [name.partition("#")[0] for name in TWICE]
    try:
        built = Rule.build("Y", names, [(i, kinds[sign], j) for i, sign, j in relations])
    except RuleError as error:
        kind = str(error)[:15]  # of what is refused; the relations or the predicate named may be others
        with pytest.raises(RuleSyntaxError, match=kind):
            parse_rule(text)
    else:
        assert parse_rule(text) == built


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("Y <- A B", 7),
        ("Y <- 日本 B", 10),  # two wide letters
        ("Y <- ｱ B", 7),  # a narrow one of the same script
        ("Y <- cafe\u0301 B", 10),  # an accent of its own code on the letter before
    ],
)
def test_the_caret_stands_below_the_place_whatever_the_letters(text: str, cells: int) -> None:
    with pytest.raises(RuleSyntaxError, match="Between predicates stands &") as caught:
        parse_rule(text)
    assert caught.value.column == text.index(" B") + 2
    assert str(caught.value).splitlines()[-1] == " " * (cells + 2) + "^"


def test_a_contradiction_through_equals_is_found_by_brute_force_too() -> None:
    assert closed_matrix(3, {(0, 1): "Before", (1, 2): "Equal", (0, 2): "After"}) is None
    with pytest.raises(RuleError, match="A Before B, B Equal C, C Before A; drop one"):
        parse_rule("Y <- A < B = C & C < A")


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(list(Relation)), st.integers(0, 3)), max_size=6))
def test_build_contradicts_exactly_where_brute_force_does(relations) -> None:
    relations = [(i, relation, j) for i, relation, j in relations if i != j]
    possible = False
    for code in range(4**4):
        instants = [code >> 2 * index & 3 for index in range(4)]
        possible |= all(
            relation is Relation.NONE or compare(instants[i], instants[j]) == relation.value
            for i, relation, j in relations
        )
    if possible:
        Rule.build("Y", "ABCD", relations)
    else:
        with pytest.raises(RuleError, match="contradict each other"):
            Rule.build("Y", "ABCD", relations)


def test_build_refuses_what_is_no_rule() -> None:
    with pytest.raises(RuleError, match="needs at least one predicate"):
        Rule.build("Y", [])
    with pytest.raises(RuleError, match=r"The sign of a rule is \+1 .* not 0"):
        Rule.build("Y", ["A"], sign=0)
    with pytest.raises(RuleError, match="names variables 0 and 2, but the body has 2"):
        Rule.build("Y", ["A", "B"], [(0, Relation.BEFORE, 2)])
    with pytest.raises(RuleError, match="A cannot stand in a relation with itself; write A#2"):
        Rule.build("Y", ["A"], [(0, Relation.EQUAL, 0)])
    with pytest.raises(RuleError, match=r"'Before' is no relation; give one of Relation.BEFORE, Relation.AFTER"):
        Rule.build("Y", ["A", "B"], [(0, "Before", 1)])  # type: ignore[list-item]
    with pytest.raises(RuleError, match="3 is no name of a predicate; names are text"):
        Rule.build("Y", ["A", 3])  # type: ignore[list-item]


@pytest.mark.parametrize("text", [None, 3, b"Y <- A", ["Y <- A"]])
def test_what_is_no_text_is_refused(text) -> None:
    for parse in (parse_rule, parse_rules):
        with pytest.raises(RuleError, match="is no text of a rule; write it as in 'Head <- A < B'"):
            parse(text)


def test_a_long_contradiction_is_named_briefly() -> None:
    with pytest.raises(RuleSyntaxError, match=r"A0 Before A1, .*A11 Before A12 and 488 more; drop one") as caught:
        parse_rule("Y <- " + " < ".join(f"A{i}" for i in range(500)) + " < A0")
    assert len(caught.value.message) < 500


def test_a_weight_of_minus_zero_is_zero() -> None:
    assert str(parse_rules("Y <- A w = -0")[0].weight) == "0.0"


def test_the_constructor_refuses_what_is_not_canonical() -> None:
    with pytest.raises(RuleError, match="not in canonical order"):
        Rule("Y", (("B",), ("A",)), (0, 0))
    with pytest.raises(RuleError, match="not in canonical order"):
        Rule("Y", (("B", "A"),), (0,))
    with pytest.raises(RuleError, match="not in canonical order"):
        Rule("Y", (("A",), ("B",)), (2, 0))
    for predecessors in ((0, 1, 2), (0, 0), (0, -1, 0), (0, 0, 8)):
        with pytest.raises(RuleError, match="no closed order of 3 classes"):
            Rule("Y", (("A",), ("B",), ("C",)), predecessors)
    with pytest.raises(RuleError, match="put a class before itself"):
        Rule.of_classes("Y", [["A"], ["B"]], [3, 3])


@given(st.text(alphabet='AB w"\\u0041#2<>=-|&()←↤∧\n\u200b', max_size=20), st.sampled_from(["", "Y <- A < ", "Y <- "]))
def test_any_text_is_a_rule_or_refused_in_a_sentence(text, beginning) -> None:
    try:
        rule = parse_rule(beginning + text)
    except RuleSyntaxError as error:
        refused = error
    else:
        assert parse_rule(rule.key) == rule
        return
    assert 1 <= refused.column <= len(beginning + text) + 1
    assert refused.message.endswith(".")


def test_rules_files() -> None:
    text = "\ufeff# heads and weights\r\n\r\nY <- A < B  w = 0.5\r\n  # more\nY <-| w = A w=1e-3\nZ <- A < B\n"
    assert parse_rules(text) == [
        RuleLine(parse_rule("Y <- A < B"), 0.5, 3),
        RuleLine(parse_rule("Y <-| A = w"), 0.001, 5),
        RuleLine(parse_rule("Z <- A < B"), None, 6),
    ]
    assert parse_rules("") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Y <- A\nY <- B <", r"Line 2: A predicate is missing here. \(column 9\)"),
        ("\nY <- A < B < A", "Line 2: These relations contradict each other"),
        ("Y <- A < B\n\nY <- B > A  w = 2", "Line 3: this is the rule of line 1 again"),
        ("Y <- A w", r"A weight is written w = 0.18. \(column 8\)"),
        ("Y <- A w = ", "After w = stands a finite number"),
        ("Y <- A w = B", "After w = stands a finite number"),
        ('Y <- A w = "1"', "After w = stands a finite number"),
        ("Y <- A w = inf", "After w = stands a finite number"),
        ("Y <- A w = -1", "A weight is at least 0; a rule that lowers the rate is written with <-|"),
        ('Y <- A "w" = 1', "Between predicates stands & or a relation"),
        ("Y <- A w#1 = 1", "Between predicates stands & or a relation"),
        ("Y <- A w = 1 & B", "The weight ends the line"),
        ("Y <- A w = 1 w = 2", "The weight ends the line"),
    ],
)
def test_errors_in_rules_files_name_the_line(text: str, message: str) -> None:
    with pytest.raises(RuleError, match=message.replace("|", "\\|")):
        parse_rules(text)


def test_relations_have_inverses() -> None:
    assert [relation.inverse for relation in Relation] == [
        Relation.AFTER,
        Relation.BEFORE,
        Relation.EQUAL,
        Relation.NONE,
    ]
