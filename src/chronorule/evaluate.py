"""Scores of what was learned: how much of a known truth was found (design 11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chronorule.errors import OptionError
from chronorule.rules import Rule, parse_rule


class Recovery(NamedTuple):
    """How near learned rules come to the true ones."""

    jaccard: float  # rules in both sets as a share of the rules in either; 1 where both are empty
    weight_error: float  # mean |weight − true weight| over the true rules, 0 being the weight of one not found
    missed: tuple[Rule, ...]  # true rules that were not learned
    invented: tuple[Rule, ...]  # learned rules that are not true


def recovery(
    rules: Iterable[Rule | str],
    weights: Sequence[float],
    true_rules: Iterable[Rule | str],
    true_weights: Sequence[float],
) -> Recovery:
    """Compare learned rules and weights with the true ones; two spellings of a rule are one rule."""
    found, truth = _weighted(rules, weights, "learned"), _weighted(true_rules, true_weights, "true")
    either = len({*found, *truth})
    errors = [abs(found.get(rule, 0.0) - weight) for rule, weight in truth.items()]
    return Recovery(
        jaccard=len(found.keys() & truth.keys()) / either if either else 1.0,
        weight_error=sum(errors) / len(errors) if errors else 0.0,
        missed=tuple(rule for rule in truth if rule not in found),
        invented=tuple(rule for rule in found if rule not in truth),
    )


def _weighted(rules: Iterable[Rule | str], weights: Sequence[float], kind: str) -> dict[Rule, float]:
    parsed = [parse_rule(rule) if isinstance(rule, str) else rule for rule in rules]
    values = [float(weight) for weight in weights]
    if len(parsed) != len(values):
        raise OptionError(f"There are {len(parsed)} {kind} rules and {len(values)} weights; give one for each rule.")
    return dict(zip(parsed, values, strict=True))
