"""Judging every rule of a grammar: what it would bring at the λ in force, and whether it passes (design 5 and 6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from chronorule.search.slow.bodies import bodies
from chronorule.search.slow.case import Case, Entity
from chronorule.search.slow.features import completions, phi, pieces
from chronorule.search.slow.naming import description_length
from chronorule.search.slow.relations import Body, Identity, identity

LEAST_SHARE = 1e-8  # of a group's expected heads: less can be the rounding of a time
LEAST_Z = 3.0  # of the clustered test


@dataclass(frozen=True)
class Meeting:
    """What a body's φ meets in one entity."""

    at_heads: tuple[float, ...]  # φ
    masses: tuple[tuple[float, float], ...]  # (φ, heads expected there) where it is above 0

    @property
    def observed(self) -> float:
        """O = Σ φ over heads."""
        return sum(self.at_heads)

    @property
    def expected(self) -> float:
        """E = ∫ λ φ."""
        return sum(value * mass for value, mass in self.masses)


@dataclass(frozen=True)
class Judged:
    """One rule and all that is asked of it; `margin` is its least distance from not passing, negative if it fails."""

    body: Body
    sign: int
    observed: float
    expected: float
    reward: float
    gain: float
    weight: float
    clustered_z: float
    support: int
    description_length: float
    value: float  # of the objective
    margin: float

    @property
    def worth(self) -> float:
        """Gain less description length."""
        return self.gain - self.description_length

    @property
    def identity(self) -> tuple[Identity, int]:
        """Equal for two rules exactly when they are one."""
        return identity(*self.body), self.sign


@dataclass(frozen=True)
class Judge:
    """Everything that a search must get right, worked out for one rule after the other."""

    case: Case
    expected: tuple[tuple[tuple[float, float], ...], ...] = field(init=False, repr=False)  # pieces of each entity

    def __post_init__(self) -> None:
        found = tuple(tuple(pieces(self.case, entity)) for entity in self.case.entities)
        object.__setattr__(self, "expected", found)

    @cached_property
    def groups(self) -> list[list[int]]:
        """The entities of each group."""
        members: dict[int, list[int]] = {}
        for place, entity in enumerate(self.case.entities):
            members.setdefault(entity.group, []).append(place)
        return list(members.values())

    def judged(self) -> Iterator[Judged]:
        """Every rule of the grammar."""
        for body in bodies(self.case.options):
            met = self.meetings(body)
            for sign in self.case.options.signs:
                yield self.judge(body, sign, met)

    def meetings(self, body: Body) -> list[Meeting]:
        """What a body's φ meets in each entity."""
        return [self._meeting(body, entity, of) for entity, of in zip(self.case.entities, self.expected, strict=True)]

    def _meeting(self, body: Body, entity: Entity, expected: Sequence[tuple[float, float]]) -> Meeting:
        done = completions(self.case, entity, body)
        if not done:
            return Meeting((0.0,) * len(entity.heads), ())
        masses: dict[float, float] = {}
        for time, mass in expected:
            value = phi(self.case, entity, done, time)
            if value > 0 and mass > 0:
                masses[value] = masses.get(value, 0.0) + mass
        return Meeting(tuple(phi(self.case, entity, done, time) for time in entity.heads), tuple(masses.items()))

    # ---- one rule

    def judge(self, body: Body, sign: int, met: Sequence[Meeting]) -> Judged:
        """A rule by every definition, from what its φ meets."""
        case = self.case
        observed, expected = (sum(m.observed for m in met), sum(m.expected for m in met))
        charge = case.penalty * len(body[0])
        gain, weight = self._gain(observed, met, sign, charge)
        length = 0.0
        if case.stop == "evidence" or case.objective == "worth":
            length = description_length(case.options, body, case.kernels)
        reward = sign * (observed - expected) - charge
        value = {"gain": gain, "gradient": reward, "worth": gain - length}[case.objective]
        z, support = self._clustered_z(met), self._support(met, sign)
        if (identity(*body), sign) in case.taken:
            margin = -math.inf
        elif case.stop == "optimal":
            margin = value - case.settled
        else:
            needed = length + math.log(1 / case.alpha)
            margin = min(gain - needed, support - case.min_support + 0.5, sign * z - LEAST_Z)
            if case.within and margin > -1:  # it takes long
                within = self.within_gain(sign, met)
                margin = -math.inf if within is None else min(margin, within[0] - needed)
        return Judged(body, sign, observed, expected, reward, gain, weight, z, support, length, value, margin)

    def _gain(self, observed: float, met: Sequence[Meeting], sign: int, charge: float) -> tuple[float, float]:
        """(gain, weight): max over 0 ≤ w ≤ largest of w·(sign·O − charge) − Σ mass (e^{sign·w·φ} − 1)."""
        masses: dict[float, float] = {}
        for value, mass in (pair for m in met for pair in m.masses):
            masses[value] = masses.get(value, 0.0) + mass

        def slope(w: float) -> float:
            return sign * observed - charge - sum(m * sign * v * _exp(sign * w * v) for v, m in masses.items())

        w = where_it_falls_to_zero(slope, self.case.largest)
        return w * (sign * observed - charge) - sum(m * math.expm1(sign * w * v) for v, m in masses.items()), w

    def _clustered_z(self, met: Sequence[Meeting]) -> float:
        """z = Σ s / √Σ s² over groups; s = heads less expected heads while φ > 0, or O − E where φ decays."""
        if self.case.decay > 0:
            surplus = [m.observed - m.expected for m in met]
        else:
            surplus = [sum(value > 0 for value in m.at_heads) - sum(mass for _, mass in m.masses) for m in met]
        of_group = [sum(surplus[c] for c in members) for members in self.groups]
        scale = math.sqrt(sum(s * s for s in of_group))
        return sum(of_group) / scale if scale > 0 else 0.0

    def _support(self, met: Sequence[Meeting], sign: int) -> int:
        """Groups with a head while φ > 0; for sign −1, groups that expect some of theirs there."""
        if sign > 0:
            return sum(any(value > 0 for c in members for value in met[c].at_heads) for members in self.groups)
        return sum(
            sum(met[c].expected for c in members) > LEAST_SHARE * sum(m for c in members for _, m in self.expected[c])
            for members in self.groups
        )

    def within_gain(self, sign: int, met: Sequence[Meeting]) -> tuple[float, float] | None:
        """(gain, weight) when each group has a free base; None where the head ends its own exposure.

        max over 0 ≤ w ≤ largest of Σ_groups [w·sign·O − N log(1 + Σ mass (e^{sign·w·φ} − 1) / Λ)].
        """
        if self.case.ends_own_exposure:
            return None
        parts = []
        for members in self.groups:
            heads = sum(len(met[c].at_heads) for c in members)
            total = sum(mass for c in members for _, mass in self.expected[c])
            if heads and total > 0:
                masses = [pair for c in members for pair in met[c].masses]
                off = total - sum(mass for _, mass in masses)
                masses += [(0.0, off)] if off > 0 else []
                parts.append((heads, math.log(total), masses, sum(met[c].observed for c in members)))

        def slope(w: float) -> float:
            return sum(sign * o - n * sign * _grown(masses, sign * w)[1] for n, _, masses, o in parts)

        w = where_it_falls_to_zero(slope, self.case.largest)
        return sum(w * sign * o - n * (_grown(masses, sign * w)[0] - before) for n, before, masses, o in parts), w


def _grown(masses: Sequence[tuple[float, float]], w: float) -> tuple[float, float]:
    """log Σ mass e^{w·φ} and its slope in w, the mean of φ there."""
    most = max(w * value for value, _ in masses)
    shares = [mass * math.exp(w * value - most) for value, mass in masses]
    mean = sum(value * share for (value, _), share in zip(masses, shares, strict=True)) / sum(shares)
    return most + math.log(sum(shares)), mean


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def where_it_falls_to_zero(slope: Callable[[float], float], largest: float) -> float:
    """The place in [0, largest] where a falling function changes sign, by halving; an end where it does not."""
    if not slope(0.0) > 0:
        return 0.0
    if slope(largest) >= 0:
        return largest
    low, high = 0.0, largest
    for _ in range(60):  # 10 / 2^60 is below the spacing of doubles near the result
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return 0.5 * (low + high)
