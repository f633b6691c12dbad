"""One rule of a model, with what the data say about it, and the table that people read."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from chronorule.pricing import Evidence
from chronorule.rules import Rule, format_rule

Z_95 = 1.959963984540054  # the standard normal's 97.5 % point


@dataclass(frozen=True)
class WeightedRule:
    """A rule, its weight, and its evidence with the other rules refitted without it (leave-one-out)."""

    rule: Rule
    weight: float
    stderr: float  # NaN where the weight stands at a bound or cannot be told from the others
    gain: float  # nats that the whole model loses without the rule
    worth: float  # gain less the rule's description length
    heads: int  # heads while the rule is on
    support: int  # groups with such a head
    label: str  # "says when", "marks which entities", "does not pass" or "not tested"
    evidence: Evidence  # at the λ of the model without the rule

    @property
    def sign(self) -> int:
        """+1 if the rule raises the head's rate, −1 if it lowers it."""
        return self.rule.sign

    @property
    def ratio(self) -> float:
        """e^(sign·w): by how much the rate is multiplied for each unit of φ."""
        return math.exp(self.sign * self.weight)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate ratio, from the standard error of the weight."""
        low, high = (self.sign * (self.weight + z * self.stderr) for z in (-Z_95, Z_95))
        low, high = sorted((low, high)) if math.isfinite(self.stderr) else (low, high)
        return math.exp(low), math.exp(high)


def number(value: float, decimals: int = 2) -> str:
    """A number as the table shows it; what is not known is a dash."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 10**6:
        return f"{value:.2e}"
    return f"{value:,.{decimals}f}"


SAYS = {"says when": "when", "marks which entities": "who", "not tested": "–", "does not pass": "–"}
HEADER = f"{'weight':>10}{'s.e.':>8}{'rate ×':>9}{'95 % interval':>17}{'heads':>9}{'groups':>8}{'gain':>10}{'says':>6}"


def format_table(rules: Sequence[WeightedRule], unicode: bool = True) -> str:
    """The rules with their numbers in at most 80 columns: a rule's text, then its numbers under the header.

    `gain` is in nats. `says` tells whether a rule that passes says when a head comes, or only in whom it comes
    often ("who").
    """
    lines = [HEADER]
    for place, item in enumerate(rules, start=1):
        text = format_rule(item.rule, "ascii")
        if unicode:
            text = text.replace(" <-| ", " ↤ ", 1).replace(" <- ", " ← ", 1)
        lead = f"{place:>3}  "
        lines += textwrap.wrap(
            text, 80, initial_indent=lead, subsequent_indent=" " * 9, break_long_words=True, break_on_hyphens=False
        )
        low, high = item.interval
        span = "–" if math.isnan(item.stderr) else f"{number(low)} to {number(high)}"
        lines.append(
            f"{number(item.weight, 3):>10}{number(item.stderr, 3):>8}{number(item.ratio):>9}{span:>17}"
            f"{item.heads:>9,}{item.support:>8,}{number(item.gain, 1):>10}{SAYS[item.label]:>6}"
        )
    return "\n".join(lines)
