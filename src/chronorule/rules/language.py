"""The language of rules: text to `Rule` here, `Rule` to text in `printing`; docs/rules.md explains it to users.

file      :=  line ("\\n" line)*          a line is empty, a comment (# ...) or a rule, with or without a weight
line      :=  rule ["w" "=" number]
rule      :=  name arrow term ("&" term)*
arrow     :=  "<-" | "←" | "<-|" | "↤"   the latter two lower the rate
term      :=  chain | "(" term ")"
chain     :=  variable (relation variable)*
relation  :=  "<" | ">" | "=" | "Before" | "After" | "Equal" | "None"
variable  :=  name ["#" number]           bare, or in double quotes with escapes as in JSON
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import NoReturn

from chronorule.errors import RuleError, RuleSyntaxError
from chronorule.rules.printing import Style, format_rule
from chronorule.rules.rule import (
    KEYWORDS,
    Relation,
    Rule,
    Stated,
    contradiction,
    contradicts,
    lack_of_separation,
    occurrence,
    quote,
    unseparated,
)
from chronorule.rules.tokens import Token, Tokens

__all__ = ["Relation", "Rule", "RuleLine", "Style", "format_rule", "parse_rule", "parse_rules"]


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A rule of a rules file, with its weight (None where the file gives none) and the number of its line (from 1)."""

    rule: Rule
    weight: float | None
    line: int


def parse_rule(text: str) -> Rule:
    """The one rule written in `text`."""
    _refuse_other_than_text(text)
    rule, _ = _Parser(text).line(weights=False)
    return rule


def parse_rules(text: str) -> list[RuleLine]:
    """The rules of a rules file: one a line, with or without a weight (`w = 0.18`); `#` starts a line of comment."""
    _refuse_other_than_text(text)
    found: list[RuleLine] = []
    lines: dict[Rule, int] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            rule, weight = _Parser(line.rstrip()).line(weights=True)
        except RuleSyntaxError as error:
            raise RuleSyntaxError(f"Line {number}: {error.message}", error.text, error.column) from None
        if rule in lines:
            raise RuleError(f"Line {number}: this is the rule of line {lines[rule]} again; keep one of the two.")
        lines[rule] = number
        found.append(RuleLine(rule, weight, number))
    return found


def _refuse_other_than_text(text: object) -> None:
    if not isinstance(text, str):
        raise RuleError(f"A {type(text).__name__} is no text of a rule; write it as in 'Head <- A < B'.")


_RELATIONS = {"<": Relation.BEFORE, ">": Relation.AFTER, "=": Relation.EQUAL}
_RELATIONS |= {relation.value: relation for relation in Relation}
_SIGNS = {"<-": 1, "←": 1, "<-|": -1, "↤": -1}


class _Parser:
    """Reads one rule; the body's variables are numbered by first mention, and by occurrence within a predicate."""

    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text)
        self.words = self.tokens.all()
        self.index = 0
        self.mentions: dict[tuple[str, int], Token] = {}  # of each variable, the first
        self.listed: set[tuple[str, int]] = set()  # variables written as a term of their own
        self.relations: list[tuple[tuple[str, int], Relation, tuple[str, int], Token]] = []

    def here(self) -> Token:
        return self.words[self.index]

    def advance(self) -> Token:
        token = self.here()
        self.index += 1
        return token

    def fail(self, message: str, token: Token) -> NoReturn:
        self.tokens.fail(message, token.column)

    def line(self, weights: bool) -> tuple[Rule, float | None]:
        head = self.head()
        if self.here().kind != "arrow":
            self.fail("Between head and body stands <- (or <-| where the rule lowers the rate).", self.here())
        sign = _SIGNS[self.advance().text]
        self.term()
        while self.here().kind == "and":
            self.advance()
            self.term()
        weight = self.weight(weights)
        if weight is not None and self.here().kind != "end":
            self.fail("The weight ends the line; nothing may follow it.", self.here())
        if self.here().kind != "end":
            self.fail(self.unexpected(), self.here())
        return self.build(head, sign), weight

    def head(self) -> str:
        if self.here().kind != "name":
            self.fail("A rule starts with the name of its head, as in Head <- A < B.", self.here())
        token = self.advance()
        if token.rank is not None:
            self.fail("The head has no occurrences; write its name without #.", token)
        return token.text

    def term(self, depth: int = 0) -> None:
        if self.here().kind != "open":
            return self.chain()
        opening = self.advance()
        if depth == 64:
            self.fail("These parentheses are nested too deeply; one pair around a relation is enough.", opening)
        self.term(depth + 1)
        if self.here().kind == "end":
            self.fail("This parenthesis is not closed.", opening)
        if self.here().kind == "and":
            self.fail("Parentheses go around one relation or chain, not around &.", self.here())
        if self.here().kind != "close":
            self.fail(self.unexpected(), self.here())
        self.advance()
        return None

    def chain(self) -> None:
        first_token = self.here()
        left = self.variable()
        if self.here().kind != "relation":
            if left in self.listed:
                self.fail(
                    f"{occurrence(*left)} is listed twice; write {occurrence(left[0], left[1] + 1)} "
                    "for another occurrence.",
                    first_token,
                )
            self.listed.add(left)
        while self.here().kind == "relation":
            operator = self.advance()
            right = self.variable()
            self.relations.append((left, _RELATIONS[operator.text], right, operator))
            left = right

    def variable(self) -> tuple[str, int]:
        token = self.here()
        if token.kind == "relation" and token.text in KEYWORDS:
            self.fail(f'A predicate is missing here; if one is called {token.text}, write "{token.text}".', token)
        if token.kind != "name":
            self.fail("A predicate is missing here.", token)
        self.advance()
        variable = (token.text, token.rank or 1)
        self.mentions.setdefault(variable, token)
        return variable

    def weight(self, weights: bool) -> float | None:
        start = self.here()
        if start.kind != "name" or start.text != "w" or start.quoted or start.rank is not None:
            return None
        if not weights:
            self.fail("A single rule has no weight; weights belong into rules files, which parse_rules reads.", start)
        self.advance()
        if self.here().text != "=" or self.here().kind != "relation":
            self.fail("A weight is written w = 0.18.", start)
        self.advance()
        number = self.advance() if self.here().kind == "name" else self.here()
        try:
            value = float(number.text) if not number.quoted and number.rank is None else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.fail("After w = stands a finite number, as in w = 0.18.", number)
        if value < 0:
            self.fail("A weight is at least 0; a rule that lowers the rate is written with <-|.", number)
        return abs(value)  # of -0.0 too

    def unexpected(self) -> str:
        token = self.here()
        if token.kind == "arrow":
            return (
                f"A rule has one arrow; for Before and a name that starts with -, put a space after < ({token.text})."
            )
        if token.kind == "close":
            return "This parenthesis was not opened."
        if token.kind == "name" and token.text.capitalize() in KEYWORDS and not token.quoted:
            return f"Relations are written Before, After, Equal, None: {token.text.capitalize()}, not {token.text}."
        if token.kind == "relation":
            return "A relation stands between two predicates, not after parentheses."
        return "Between predicates stands & or a relation; a name with spaces goes in double quotes."

    def build(self, head: str, sign: int) -> Rule:
        names = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in self.mentions))}
        variables = sorted(self.mentions, key=lambda variable: (names[variable[0]], variable[1]))
        for name, rank in variables:
            if rank > 1 and (name, rank - 1) not in self.mentions:
                missing = quote(name) if rank == 2 else occurrence(name, rank - 1)
                self.fail(
                    f"{occurrence(name, rank)} needs {missing} in the same body; number occurrences without gaps.",
                    self.mentions[name, rank],
                )
        place = {variable: index for index, variable in enumerate(variables)}
        for left, _, right, operator in self.relations:
            if left == right:
                self.fail(
                    f"{occurrence(*left)} cannot stand in a relation with itself; "
                    f"write {occurrence(left[0], left[1] + 1)} for another occurrence.",
                    operator,
                )
        stated = [(place[left], relation, place[right]) for left, relation, right, _ in self.relations]
        self.refuse_contradictions(variables, stated)
        rule = Rule.build(head, [name for name, _ in variables], stated, sign)
        self.refuse_overruled_none()
        return rule

    def refuse_contradictions(self, variables: list[tuple[str, int]], stated: list[Stated]) -> None:
        """What `Rule.build` would refuse, with its place: the relation that closes a cycle, or an occurrence."""
        names = [name for name, _ in variables]
        if contradicts(names, stated):
            last = bisect_left(range(len(stated)), True, key=lambda last: contradicts(names, stated[: last + 1]))
            self.fail(contradiction(names, stated[: last + 1]), self.relations[last][-1])
        beside = unseparated(names, stated)
        if beside is not None:
            self.fail(lack_of_separation(names[beside]), self.mentions[variables[beside]])

    def refuse_overruled_none(self) -> None:
        """A written None that the other relations overrule would mislead its reader."""
        for left, relation, right, operator in self.relations:
            if relation is Relation.NONE and not self.is_free(left, right):
                self.fail(
                    f"{occurrence(*left)} None {occurrence(*right)} contradicts the other relations, "
                    "which order the two; leave it out.",
                    operator,
                )

    def is_free(self, left: tuple[str, int], right: tuple[str, int]) -> bool:
        """Whether the stated relations leave two variables unrelated, followed from the one to the other."""
        following: dict[tuple[str, int], set[tuple[str, int]]] = {}
        for one, relation, other, _ in self.relations:
            if relation in (Relation.BEFORE, Relation.EQUAL):
                following.setdefault(one, set()).add(other)
            if relation in (Relation.AFTER, Relation.EQUAL):
                following.setdefault(other, set()).add(one)
        for start, goal in ((left, right), (right, left)):
            reached, frontier = {start}, [start]
            while frontier:
                fresh = following.get(frontier.pop(), set()) - reached
                reached |= fresh
                frontier += fresh
            if goal in reached:
                return False
        return True
