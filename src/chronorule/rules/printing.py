"""Rules as text: for rule files, for reading, for papers. All styles but LaTeX are read back without loss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, get_args

from chronorule.errors import OptionError
from chronorule.rules import order as orders
from chronorule.rules.rule import Relation, Rule, occurrence, quote

Style = Literal["ascii", "long", "unicode", "latex"]
_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{special: "\\" + special for special in "#$%&_{}"},
}


def format_rule(rule: Rule, style: Style = "ascii", weight: float | None = None) -> str:
    """The rule as one line of text, with its weight at the end where one is given.

    ascii    Y <- A < B = C                                      (canonical: the key of the rule)
    long     Y <- A & B & C & A Before B & B Equal C             (every predicate, then the transitive reduction)
    unicode  Y ← A ∧ B ∧ C ∧ (A Before B) ∧ (B Equal C)          (as the paper prints)
    latex    the same for amsmath
    """
    if style not in get_args(Style):
        raise OptionError(f"There is no style {style!r}; choose one of {', '.join(get_args(Style))}.")
    if weight is not None and not (math.isfinite(weight) and weight >= 0):
        raise OptionError(f"A weight is a finite number of at least 0, not {weight}; the sign is the rule's.")
    if style == "latex":
        text = _latex(rule)
        return text if weight is None else rf"{text} \quad w = {float(weight)!r}"
    text = rule.key if style == "ascii" else _spelled_out(rule, style)
    return text if weight is None else f"{text}  w = {float(weight)!r}"


def _spelled_out(rule: Rule, style: Style) -> str:
    unicode = style == "unicode"
    arrows = {1: "←", -1: "↤"} if unicode else {1: "<-", -1: "<-|"}
    variables, relations = _parts(rule)
    related = [f"{occurrence(*one)} {relation.value} {occurrence(*other)}" for one, relation, other in relations]
    terms = [occurrence(*variable) for variable in variables]
    terms += [f"({term})" for term in related] if unicode else related
    return f"{quote(rule.head)} {arrows[rule.sign]} {(' ∧ ' if unicode else ' & ').join(terms)}"


def _latex(rule: Rule) -> str:
    arrow = r"\leftarrow" if rule.sign == 1 else r"\mathrel{\leftarrow\!\mid}"
    variables, relations = _parts(rule)
    terms = [_latex_variable(*variable) for variable in variables]
    terms += [
        rf"({_latex_variable(*one)}\ \mathrm{{{relation.value}}}\ {_latex_variable(*other)})"
        for one, relation, other in relations
    ]
    return rf"{_latex_variable(rule.head, 1)} {arrow} " + r" \wedge ".join(terms)


def _latex_variable(name: str, rank: int) -> str:
    shown = "".join(_LATEX.get(character, character if character.isprintable() else " ") for character in name)
    return rf"\text{{{shown}}}" + ("" if rank == 1 else f"_{{{rank}}}")


Variable = tuple[str, int]


def _parts(rule: Rule) -> tuple[list[Variable], list[tuple[Variable, Relation, Variable]]]:
    """All variables (predicate, rank), and the fewest relations that state the rule."""
    classes = [list(zip(members, ranks, strict=True)) for members, ranks in zip(rule.classes, rule.ranks, strict=True)]
    variables = [variable for members in classes for variable in members]
    return variables, list(_relations(classes, rule.covers))


def _relations(classes: list[list[Variable]], covers: tuple[int, ...]) -> Iterator[tuple[Variable, Relation, Variable]]:
    for members, mask in zip(classes, covers, strict=True):
        for below in orders.bits(mask):
            yield classes[below][0], Relation.BEFORE, members[0]
        for one, other in pairwise(members):
            yield one, Relation.EQUAL, other
