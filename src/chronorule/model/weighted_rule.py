"""One rule of a model, with what the data say about it, and the table that people read."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from chronorule.model.records import Alike
from chronorule.pricing import Evidence
from chronorule.pricing.evidence import Label
from chronorule.rules import Rule, format_rule

RuleLabel = Label | Literal["not fitted"]
Z_95 = 1.959963984540054  # the standard normal's 97.5 % point


@dataclass(frozen=True, eq=False)
class WeightedRule(Alike):
    """A rule, its weight, and its evidence with the other rules refitted without it (leave-one-out).

    Of a rule in a model that a person edited since it was fitted, only rule and weight are known.
    """

    rule: Rule
    weight: float
    stderr: float  # NaN where the weight stands at a bound or cannot be told from the others
    gain: float  # nats that the whole model loses without the rule
    heads: int | None  # heads while the rule is on
    evidence: Evidence | None  # at the λ of the model without the rule, everything else held
    entities: int | None = None  # in which the body matched,
    matches: float | None = None  # and how many matches there are in all
    alpha: float = 0.05  # chance of a false discovery that is taken, and
    min_support: int = 5  # groups that are asked for: what the rule is held to

    @classmethod
    def unfitted(cls, rule: Rule, weight: float) -> WeightedRule:
        """A rule with a weight that no fit gave it."""
        return cls(rule, weight, stderr=math.nan, gain=math.nan, heads=None, evidence=None)

    @property
    def sign(self) -> int:
        """+1 if the rule raises the head's rate, −1 if it lowers it."""
        return self.rule.sign

    @property
    def worth(self) -> float:
        """The gain less what it takes to name the rule among those searched (0 for a rule named beforehand)."""
        return self.gain if self.evidence is None else self.gain - self.evidence.description_length

    @property
    def support(self) -> int | None:
        """Groups with a head while the rule is on; for a rule that lowers the rate, groups that expect one."""
        return None if self.evidence is None else self.evidence.support

    @property
    def p_value(self) -> float:
        """Chance that groups without the rule agree so well that it holds: one-sided, from the clustered z.

        It means what it says only of a rule that was not chosen on these data: one given beforehand, or learned with
        `honest=True`.
        """
        return (
            math.nan if self.evidence is None else math.erfc(self.sign * self.evidence.clustered_z / math.sqrt(2)) / 2
        )

    @property
    def label(self) -> RuleLabel:
        """Whether the rule "says when", "marks which entities", "does not pass" or is "not tested", or "not fitted"."""
        if self.evidence is None:
            return "not fitted"
        return replace(self.evidence, gain=self.gain).label(self.alpha, self.min_support)

    def objections(self, within: bool = False) -> tuple[str, ...]:
        """Why the rule does not pass, in plain words; empty if it does or is not fitted."""
        if self.evidence is None:
            return ()
        return replace(self.evidence, gain=self.gain).objections(self.alpha, self.min_support, within)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON: what is not known is None."""
        seen = self.evidence
        numbers: dict[str, float] = {
            "weight": self.weight,
            "stderr": self.stderr,
            "ratio": self.ratio,
            "ratio_low": self.interval[0],
            "ratio_high": self.interval[1],
            "gain": self.gain,
            "worth": self.worth,
            "observed": math.nan if seen is None else seen.observed,
            "expected": math.nan if seen is None else seen.expected,
            "clustered_z": math.nan if seen is None else seen.clustered_z,
            "p_value": self.p_value,
        }
        return {
            "rule": self.rule.key,
            "sign": self.sign,
            **{name: known(value) for name, value in numbers.items()},
            "within_gain": None if seen is None or seen.within_gain is None else known(seen.within_gain),
            "heads": self.heads,
            "support": self.support,
            "entities": self.entities,
            "matches": self.matches,
            "label": self.label,
            "objections": list(self.objections()),
        }

    @property
    def ratio(self) -> float:
        """e^(sign·w): by how much the rate is multiplied for each unit of φ."""
        return _exp(self.sign * self.weight)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate ratio, from the standard error of the weight."""
        low, high = (self.sign * (self.weight + z * self.stderr) for z in (-Z_95, Z_95))
        low, high = sorted((low, high)) if math.isfinite(self.stderr) else (low, high)
        return _exp(low), _exp(high)


def _exp(power: float) -> float:
    """e^power; infinite beyond the numbers of this machine, where a weight's standard error is in the hundreds."""
    return math.exp(power) if power < 709 else math.inf


def known(value: float) -> float | None:
    """A number as JSON can hold it."""
    return value if math.isfinite(value) else None


def finite(value: Any) -> Any:
    """Plain values of any depth as JSON can hold them: what is not known or without bound is None."""
    if isinstance(value, Mapping):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return known(value) if isinstance(value, float) else value


def number(value: float, decimals: int = 2) -> str:
    """A number as the table shows it; what is not known is a dash."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 10**6:
        return f"{value:.2e}"
    return f"{value:,.{decimals}f}"


def per_unit(value: float) -> str:
    """A weight or its standard error, which are tiny where φ counts matches by the thousand."""
    return f"{value:.1e}" if 0 < abs(value) < 0.0005 else number(value, 3)


def short(value: float) -> str:
    """A rate ratio, whose interval must fit its column: in two digits where it is in the thousands."""
    return f"{value:.1e}".replace("e+0", "e").replace("e+", "e") if 9_999.5 <= value < math.inf else number(value)


def count(value: int | None) -> str:
    """A count as the table shows it."""
    return "–" if value is None else f"{value:,}"


SAYS: dict[RuleLabel, tuple[str, str]] = {
    "says when": ("when", "tells when a head comes"),
    "marks which entities": ("who", "tells only in whom heads are frequent"),
    "not tested": ("n.t.", "passes; when or who is not tested where heads end their own exposure"),
    "does not pass": ("–", "does not pass"),
    "not fitted": ("", ""),
}
NAMES = ("weight", "s.e.", "rate ×", "95 % interval", "heads", "groups", "gain", "says")
WIDTHS = (10, 8, 9, 17, 9, 8, 10, 6)
HEADER = "".join(f"{name:>{width}}" for name, width in zip(NAMES, WIDTHS, strict=True))


def _numbers(item: WeightedRule) -> str:
    """A rule's numbers under the header, kept apart where they are too wide for their columns."""
    low, high = item.interval
    span = "–" if math.isnan(item.stderr) else f"{short(low)} to {short(high)}"
    cells = [per_unit(item.weight), per_unit(item.stderr), short(item.ratio), span]
    cells += [count(item.heads), count(item.support), number(item.gain, 1), SAYS[item.label][0]]
    return "".join(f" {cell:>{width - 1}}" for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def format_table(rules: Sequence[WeightedRule], unicode: bool = True, within: bool = False) -> str:
    """The rules with their numbers in at most 80 columns: a rule's text, then its numbers under the header.

    `gain` is in nats. What the words under `says` mean, and what speaks against a rule, is printed where they occur;
    `within` says that rules were asked to hold within entities.
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
        lines.append(_numbers(item))
        if objections := item.objections(within):
            against = f"against it: {'; '.join(objections)}"
            lines += textwrap.wrap(against, 80, initial_indent=" " * 5, subsequent_indent=" " * 7)
    labels = {item.label for item in rules} - {"not fitted"}
    words = [f"{word} = {meaning}" for label, (word, meaning) in SAYS.items() if label in labels]
    if words:
        lines.append("")
        lines += textwrap.wrap(f"says: {'; '.join(words)}", 80, subsequent_indent="  ")
    return "\n".join(lines)
