"""What one rule's feature meets at the λ in force: heads, and expected heads as a function of the rule's weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.events import Exposure
from chronorule.grounding import FeaturePath
from chronorule.kernels.rates import row_moments
from chronorule.likelihood import Segments, build_segments, log_rate
from chronorule.rules.rule import Rule

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


def sums(owner: Int64 | Int32, values: NDArray[Any], owners: int) -> Float64:
    """Sum of `values` by owner: [owners]."""
    return np.bincount(owner, values, minlength=owners).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Rate:
    """λ in force: log λ = level + strength·e^(−decay·(t − start)) on every segment, times the entity's multiplier."""

    rules: tuple[Rule, ...]  # in force
    weights: Float64  # [F] of these, without their signs
    baseline: Float64  # [P]
    cuts: Float64  # [P − 1] of the baseline, in time since the period's start
    segments: Segments
    paths: tuple[FeaturePath, ...]  # of the rules, one a column of the segments
    level: Float64  # [S]
    strength: Float64  # [S]
    multiplier: Float64  # [E] posterior mean of the entity's frailty

    @classmethod
    def of(
        cls,
        exposure: Exposure,
        rules: Sequence[Rule],
        paths: tuple[FeaturePath, ...],
        cuts: ArrayLike,
        weights: ArrayLike,
        baseline: ArrayLike,
        multiplier: Float64,
        segments: Segments | None = None,
    ) -> Rate:
        """λ of weighted rules with the given baseline and multipliers by entity."""
        cut = build_segments(exposure, paths, cuts) if segments is None else segments
        level, strength = log_rate(cut, weights, baseline, signs=[rule.sign for rule in rules])
        return cls(
            tuple(rules),
            np.asarray(weights, np.float64),
            np.asarray(baseline, np.float64),
            np.asarray(cuts, np.float64),
            cut,
            paths,
            level,
            strength,
            multiplier,
        )

    def expected(self) -> Float64:
        """Heads expected in each entity over its whole exposure: [E]."""
        segments = self.segments
        log_rates = np.column_stack([self.level, self.strength])
        if segments.decay > 0:
            mass = row_moments(log_rates, segments.length, segments.decay)[:, 0]
        else:
            mass = np.exp(self.level + self.strength) * segments.length
        entity = np.repeat(np.arange(segments.n_entities), np.diff(segments.offsets))
        return self.multiplier * sums(entity, mass, segments.n_entities)


@dataclass(frozen=True, eq=False)
class Effect:
    """A rule's feature as pieces on which φ and λ have a simple form, with what was observed by entity.

    Where φ does not decay a piece has φ and the expected heads `mass`. Where it does, `mass` is the entity's multiplier
    and `fading` holds the piece's level, strength and length, and the rate at which φ and the strength fall.
    """

    sign: int
    observed: Float64  # [E] Σ φ over heads
    heads_on: Float64  # [E] heads with φ > 0
    entity: Int64  # [pieces]
    value: Float64  # [pieces] φ just after the piece's start
    mass: Float64  # [pieces]
    fading: tuple[Float64, Float64, Float64, float] | None = None

    def expected(self, weight: float) -> tuple[Float64, Float64, Float64]:
        """By entity: M(w) − M(0), M'(w) and M''(w), where M(w) = ∫ λ e^(sign·w·φ)."""
        power = self.sign * weight * self.value
        if self.fading is None:
            grown = self.mass * np.exp(power)
            parts = (self.mass * np.expm1(power), grown * self.value, grown * self.value**2)
        else:
            level, strength, length, rate = self.fading
            moments = row_moments(np.column_stack([level, strength + power]), length, rate) * self.mass[:, None]
            before = row_moments(np.column_stack([level, strength]), length, rate)[:, 0] * self.mass
            parts = (moments[:, 0] - before, moments[:, 1] * self.value, moments[:, 2] * self.value**2)
        entities = len(self.observed)
        change, slope, bend = (sums(self.entity, part, entities) for part in parts)
        return change, self.sign * slope, bend

    def surplus_on(self) -> Float64:
        """[E] heads less expected heads while φ > 0, each once however many matches there are; as φ where it fades.

        Counts have a long tail, so that in sums of φ a few entities with many matches would outshout all the others.
        """
        if self.fading is not None:
            return self.observed - self.sign * self.expected(0.0)[1]
        return self.heads_on - sums(self.entity, self.mass, len(self.observed))

    def gain(self, charge: float, largest: float) -> tuple[float, float]:
        """(gain, weight): max_w [w·(sign·O − charge) − Σ_c (M_c(w) − M_c(0))], 0 ≤ w ≤ largest (design 5)."""
        earned = self.sign * float(self.observed.sum()) - charge

        def at(weight: float) -> tuple[float, float, float]:
            change, slope, bend = self.expected(weight)
            return weight * earned - float(change.sum()), earned - float(slope.sum()), -float(bend.sum())

        return maximise(at, largest)

    def within_gain(self, heads: Float64, expected: Float64, unit: Int32, largest: float) -> tuple[float, float]:
        """(gain, weight) with a free base a unit: max_w Σ [w·sign·O − N log(1 + (M(w) − M(0)) / Λ)] (design 6)."""
        units = int(unit.max(initial=-1)) + 1
        observed, happened, total = (sums(unit, x, units) for x in (self.observed, heads, expected))
        busy = (happened > 0) & (total > 0)
        observed, happened, total = observed[busy], happened[busy], total[busy]
        earned = self.sign * float(observed.sum())

        def at(weight: float) -> tuple[float, float, float]:
            change, slope, bend = (sums(unit, x, units)[busy] / total for x in self.expected(weight))
            ratio = 1 + change
            return (
                weight * earned - float((happened * np.log(ratio)).sum()),
                earned - float((happened * slope / ratio).sum()),
                -float((happened * (bend / ratio - (slope / ratio) ** 2)).sum()),
            )

        return maximise(at, largest)


def maximise(at: Callable[[float], tuple[float, float, float]], largest: float) -> tuple[float, float]:
    """(maximum, place) over [0, largest] of a concave function that is 0 at 0, given its value and two derivatives.

    Newton, kept inside the interval where the slope is known to change sign, which is halved where Newton does not.
    """
    low, high = 0.0, largest
    weight = 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        _, slope, bend = at(0.0)
        if not slope > 0:
            return 0.0, 0.0
        value, slope_there, _ = at(largest)
        if np.isfinite(value) and slope_there >= 0:
            return value, largest
        checked = high - low
        for iteration in range(1, 200):
            step = -slope / bend if bend < 0 else np.inf
            weight = weight + step
            slow = False
            if iteration % 3 == 0:
                slow, checked = high - low > 0.5 * checked and abs(step) > 1e-6, high - low
            if slow or not low < weight < high:
                weight = 0.5 * (low + high)
                step = np.inf
            value, slope, bend = at(weight)
            known = np.isfinite(value) and np.isfinite(slope) and np.isfinite(bend)
            if known and slope > 0:
                low = weight
            else:
                high = weight
            if not known:
                bend = 0.0  # where λ overflows there is no slope to follow: the next place is the interval's middle
            elif abs(step) <= 1e-11 * (1 + weight) or high - low <= 1e-13 * (1 + high) or slope == 0:
                break
    return max(value, 0.0), weight


def level_effect(path: FeaturePath, after: Float64, sign: int) -> Effect:
    """Pieces between the changes of a φ that does not decay: what is `after` a change, less what is after the next."""
    sizes = np.diff(path.offsets)
    ends = np.zeros_like(after)
    ends[:-1] = after[1:]
    ends[path.offsets[1:][sizes > 0] - 1] = 0.0
    pieces = after - ends
    entities = len(sizes)
    entity = np.repeat(np.arange(entities), sizes)
    on = path.values > 0
    return Effect(
        sign,
        sums(entity, pieces[:, 0] * path.values, entities),
        sums(entity[on], pieces[on, 0], entities),
        entity[on],
        path.values[on],
        np.maximum(pieces[on, 1], 0.0),
    )


def decaying_effect(exposure: Exposure, rate: Rate, path: FeaturePath, decay: float, sign: int) -> Effect:
    """Pieces are the segments of the λ in force, cut also where the candidate completes."""
    finer = build_segments(exposure, [*rate.paths, path], rate.cuts)
    entities = finer.n_entities
    entity = np.repeat(np.arange(entities), np.diff(finer.offsets))
    value = finer.X[:, -1]
    holder = _holding(rate.segments, finer, entity)
    elapsed = finer.start - rate.segments.start[holder]
    level, strength = rate.level[holder], rate.strength[holder] * np.exp(-decay * elapsed)
    multiplier = rate.multiplier[entity]
    # with a decaying path every head stands at the end of its segment
    kept = 1.0 if path.constant else np.exp(-decay * finer.length)
    observed = sums(entity, value * kept * finer.heads, entities)
    heads_on = sums(entity, finer.heads * (value > 0), entities)
    if path.constant:
        mass = row_moments(np.column_stack([level, strength]), finer.length, decay)[:, 0]
        return Effect(sign, observed, heads_on, entity, value, multiplier * mass)
    return Effect(sign, observed, heads_on, entity, value, multiplier, (level, strength, finer.length, decay))


def _holding(coarse: Segments, finer: Segments, entity: Int64) -> Int64:
    """For each of the finer segments, the coarse one it lies in: both are in order, entity by entity."""
    owner = np.repeat(np.arange(coarse.n_entities), np.diff(coarse.offsets))
    # sort both kinds of starts together by (entity, start), the coarse ones first where they are equal
    kind = np.concatenate([np.zeros(len(owner), np.int64), np.ones(len(entity), np.int64)])
    order = np.lexsort((kind, np.concatenate([coarse.start, finer.start]), np.concatenate([owner, entity])))
    coarse_so_far = np.cumsum(kind[order] == 0) - 1
    holder = np.empty(len(entity), np.int64)
    mine = order >= len(owner)
    holder[order[mine] - len(owner)] = coarse_so_far[mine]
    return holder
