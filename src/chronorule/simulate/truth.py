"""What a simulated log was drawn from, kept beside it so that what is learned can be compared with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronorule.events import EventLog, Head, exposure
from chronorule.grounding import Feature, Grounding
from chronorule.likelihood import Segments, build_segments, expected_by_unit
from chronorule.rules import Rule, format_rule
from chronorule.simulate.instants import Seed

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Law:
    """What fixes λ(t) = exp(b(t) + Σ_f sign_f · w_f · φ_f(t)) on any log (design 3)."""

    head: Head
    rules: tuple[Rule, ...]
    weights: Floats  # [F], at least 0; the sign is the rule's
    base: Floats  # [P] log-rate of each piece of the baseline
    cuts: Floats  # [P - 1] where a piece ends, counted from the period's start
    feature: Feature

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def signs(self) -> Floats:
        """+1 for rules that raise the rate, -1 for those that lower it: [F]."""
        return np.array([rule.sign for rule in self.rules], np.float64)

    def to_text(self) -> str:
        """The rules with their weights as a rules file, which `parse_rules`, `reweigh` and `simulate` read."""
        pairs = zip(self.rules, self.weights.tolist(), strict=True)
        return "".join(f"{format_rule(rule, weight=weight)}\n" for rule, weight in pairs)

    def segments(self, log: EventLog) -> Segments:
        """The exposure of a log cut wherever λ changes, with the features of the rules."""
        paths = Grounding(log, self.feature).paths(self.rules)
        return build_segments(exposure(log, self.head), paths, self.cuts)


@dataclass(frozen=True, eq=False, repr=False)
class Truth(Law):
    """What a log was drawn from: the law of its heads with multipliers u_c, and what was planted where."""

    shape: float | None  # of the gamma law of the multipliers; None where all are 1
    multipliers: Floats  # [E] u_c
    planted: Flags  # [E, F] where the body of a rule was planted
    decoys: Flags  # [E, F] where a decoy of it was
    drawn: int  # entities drawn until enough were kept; 0 for a body that was given
    redrawn: int  # of them, those refused because their rate would have been too high
    seed: Seed

    @property
    def redrawn_share(self) -> float:
        """Share of the drawn entities that were refused and drawn again."""
        return self.redrawn / self.drawn if self.drawn else 0.0

    def __repr__(self) -> str:
        base = ", ".join(f"{level:g}" for level in self.base)
        return f"Truth({len(self.rules)} rules for {self.head.name!r}, base {base}, seed {self.seed})"


class Simulated(NamedTuple):
    """A simulated log and the truth it was drawn from: `log, truth = simulate(...)`."""

    log: EventLog
    truth: Truth

    def expected(self) -> Floats:
        """Λ_c = ∫ over the exposure of λ_c, the heads expected of each entity under the truth: [E]."""
        truth = self.truth
        once = expected_by_unit(truth.segments(self.log), truth.weights, truth.base, signs=truth.signs)
        return once * truth.multipliers
