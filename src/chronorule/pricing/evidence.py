"""What speaks for and against adding a rule (design 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chronorule.pricing.effect import Effect
from chronorule.rules.rule import Rule

Int32 = NDArray[np.int32]
Float64 = NDArray[np.float64]

Label = Literal["says when", "marks which entities", "does not pass", "not tested"]

LEAST_SHARE = 1e-8  # of a group's expected heads: a window that ends a rounding late, where exposure begins, shows less
LEAST_Z = 3.0  # clustered test of design 6: one odd entity makes no rule


@dataclass(frozen=True)
class Evidence:
    """What a rule would bring at the λ in force, with everything else held."""

    rule: Rule
    observed: float  # O = Σ φ over heads
    expected: float  # E = ∫ λ φ
    reward: float  # sign·(O − E) − λ0 c, the slope of the likelihood
    gain: float  # in nats
    weight: float  # at which the gain is reached
    within_gain: float | None  # gain when every group has a free base rate; None where it cannot be tested
    within_weight: float | None
    clustered_z: float  # of heads less expected heads while the rule is on, see `clustered`
    support: int  # groups with a head while the rule is on; for sign −1, groups that expect one
    description_length: float  # nats to name the rule in its grammar; 0 for a rule that was named beforehand

    @property
    def worth(self) -> float:
        """gain − description length."""
        return self.gain - self.description_length

    def label(self, alpha: float = 0.05, min_support: int = 5) -> Label:
        """Whether the rule says when a head comes, or only marks in whom it comes often, if it passes at all."""
        if self.objections(alpha, min_support):
            return "does not pass"
        return self._of_time(alpha)

    def objections(self, alpha: float = 0.05, min_support: int = 5, within: bool = False) -> tuple[str, ...]:
        """Why the rule does not pass, in plain words; empty if it does."""
        found = []
        needed = self.description_length - math.log(alpha)
        if not self.gain > needed:
            found.append(f"gain {self.gain:.1f}, above {needed:.1f} needed")
        if self.support < min_support:
            found.append(f"seen in {self.support} {'group' if self.support == 1 else 'groups'}, {min_support} needed")
        if not self.rule.sign * self.clustered_z >= LEAST_Z:
            found.append(f"clustered z {self.clustered_z:.1f}, {self.rule.sign * LEAST_Z:.0f} needed")
        if within and self._of_time(alpha) != "says when":
            found.append(self._of_time(alpha))
        return tuple(found)

    def _of_time(self, alpha: float) -> Label:
        if self.within_gain is None:
            return "not tested"
        says_when = self.within_gain - self.description_length > -math.log(alpha)
        return "says when" if says_when else "marks which entities"


def clustered(surplus: Float64) -> float:
    """z = Σ s_c / √Σ s_c² over groups, 0 if nothing differs: one group, however odd, has |z| = 1."""
    scale = math.sqrt(float((surplus**2).sum()))
    return float(surplus.sum()) / scale if scale > 0 else 0.0


def weigh_evidence(
    rule: Rule,
    effect: Effect,
    *,
    expected_by_entity: Float64,
    heads_by_entity: Float64,
    unit: Int32,
    charge: float,
    largest_weight: float,
    ends_own_exposure: bool,
    description_length: float,
) -> Evidence:
    """The evidence for a rule from what its feature meets; `unit` is each entity's group (design 6)."""
    _, slope, _ = effect.expected(0.0)
    expected = effect.sign * slope
    on = np.bincount(unit, effect.heads_on if effect.sign > 0 else expected)
    least = 0.0 if effect.sign > 0 else LEAST_SHARE * np.bincount(unit, expected_by_entity)
    gain, weight = effect.gain(charge, largest_weight)
    # given their number, such heads stand late in their exposure whatever went before
    within = (
        None if ends_own_exposure else effect.within_gain(heads_by_entity, expected_by_entity, unit, largest_weight)
    )
    return Evidence(
        rule=rule,
        observed=float(effect.observed.sum()),
        expected=float(expected.sum()),
        reward=effect.sign * float((effect.observed - expected).sum()) - charge,
        gain=gain,
        weight=weight,
        within_gain=None if within is None else within[0],
        within_weight=None if within is None else within[1],
        clustered_z=clustered(np.bincount(unit, effect.surplus_on()).astype(np.float64)),
        support=int((on > least).sum()),
        description_length=description_length,
    )
