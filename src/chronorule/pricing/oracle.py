"""What a rule would be worth: the one oracle that every search asks.

For the λ in force every instant s has a price (design 5)

    D(s) = Σ_{heads t > s} κ(t − s) − ∫_{exposure, t > s} λ(t) κ(t − s) dt          "observed minus expected after s",

and **a rule earns the prices of its completions**: ∂ℓ/∂w_f = Σ_{completions s of f} D(s). For a feature that is 0 or 1
the sums of its two parts, O observed and E expected while it is on, also give the best that its weight alone can do,
gain = max_w [w·(O − λ0 c) − (e^w − 1)·E]. So a search never touches intensities: only completions and a few arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import OptionError
from chronorule.events import Exposure
from chronorule.execution import Threads
from chronorule.grounding import Grounding, compile_bodies
from chronorule.kernels import matching
from chronorule.kernels.prices import after_instants, decayed_prices
from chronorule.pricing.effect import Effect, Rate, decaying_effect, level_effect
from chronorule.pricing.evidence import Evidence, weigh_evidence
from chronorule.rules.description import description_length
from chronorule.rules.grammar import Grammar
from chronorule.rules.rule import Rule

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Float64 = NDArray[np.float64]
Objective = Literal["gain", "gradient", "worth"]

EMPTY = np.zeros((0, 2))


def body_lengths(bodies: matching.Bodies) -> Float64:
    """Number of predicates of every body."""
    timed = bodies.member_offsets[bodies.class_offsets]
    return (np.diff(timed) + np.diff(bodies.static_offsets)).astype(np.float64)


def closed_form_gain(
    observed: Float64, expected: Float64, charge: Float64, sign: int, largest: float
) -> tuple[Float64, Float64]:
    """(gain, weight) of features that are 0 or 1, with everything else held (design 5).

    sign +1: max_w [w·(O − charge) − (e^w − 1)·E], sign −1: max_w [−w·(O + charge) + (1 − e^−w)·E], 0 ≤ w ≤ largest.
    """
    target = observed - sign * charge
    raises = sign * (target - expected) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        best = sign * (np.log(np.maximum(target, 0.0)) - np.log(expected))
    weight = np.where(raises, np.clip(np.nan_to_num(best, nan=largest, posinf=largest), 0.0, largest), 0.0)
    gain = sign * weight * target - np.expm1(sign * weight) * expected
    return np.maximum(gain, 0.0), weight


class Oracle:
    """Prices of one head on one log at the λ in force; asked by every search, in batches, and counted."""

    def __init__(
        self,
        grounding: Grounding,
        exposure: Exposure,
        rate: Rate,
        *,
        unit: Int32,
        penalty: float = 0.0,
        largest_weight: float = 10.0,
        threads: Threads | None = None,
    ) -> None:
        self.grounding = grounding
        self.exposure = exposure
        self.rate = rate
        self.unit = unit
        self.penalty = penalty
        self.largest_weight = largest_weight
        self.threads = threads or Threads()
        self.evaluations = 0
        self.expected_by_entity = rate.expected()
        index = grounding.index
        kernel = grounding.feature.kernel
        if kernel.name == "decay":
            self.prices = self._decayed_prices()
        else:
            self.after = self.after_times(index.instant_offsets, index.instant_times)
            self.lapsed = EMPTY
            if kernel.name == "window":
                self.lapsed = self.after_times(index.instant_offsets, index.instant_times, grounding.width)

    # ---- prices of instants

    def after_times(self, offsets: Int64, times: Float64, delay: float = 0.0) -> Float64:
        """(heads observed, heads expected) strictly after each time plus `delay`; times sorted within each entity."""
        segments, rate = self.rate.segments, np.exp(self.rate.level)
        return after_instants(
            offsets,
            times,
            delay,
            self.exposure.head_offsets,
            self.exposure.head_times,
            segments.offsets,
            segments.start,
            segments.length,
            rate,
            self.rate.multiplier,
        )

    def _decayed_prices(self) -> Float64:
        index, segments = self.grounding.index, self.rate.segments
        prices = decayed_prices(
            index.instant_offsets,
            index.instant_times,
            self.grounding.feature.kernel.rate,
            self.exposure.head_offsets,
            self.exposure.head_times,
            segments.offsets,
            segments.start,
            segments.length,
            self.rate.level,
            self.rate.strength,
            self.rate.multiplier,
        )
        # A rule of statics alone does not decay: from its origin it earns all heads minus all that are expected.
        prices[index.instant_offsets[:-1]] = np.diff(self.exposure.head_offsets) - self.expected_by_entity
        return prices

    # ---- batches of bodies

    def rewards(self, bodies: matching.Bodies, sign: int = 1) -> Float64:
        """R(f) = sign·Σ_{completions} D − λ0 c_f = ∂ℓ/∂w_f − λ0 c_f for every body of the batch (design 5)."""
        self.evaluations += len(bodies.chain)
        feature = self.grounding.feature
        if feature.kernel.name == "decay":
            earned = self._run(bodies, 1, self._score_prices)[:, 0]
        else:
            scored = self._scored(bodies, sign, 0.0)
            earned = scored[:, 0] - scored[:, 1]
        return sign * earned - self.penalty * body_lengths(bodies)

    def gains(self, bodies: matching.Bodies, sign: int = 1) -> tuple[Float64, Float64]:
        """(gain, best weight) of adding each body alone, with baseline, frailties and other weights held (design 5)."""
        feature = self.grounding.feature
        if feature.kernel.name == "decay":
            raise OptionError(
                "Gains of a batch of arrays need a step or window kernel, whose rates are constant between instants; "
                "with a decay kernel ask `evaluate` for rules."
            )
        self.evaluations += len(bodies.chain)
        scored = self._scored(bodies, sign, self.largest_weight)
        if feature.kind == "count":
            return scored[:, 3], scored[:, 2]
        charge = self.penalty * body_lengths(bodies)
        return closed_form_gain(scored[:, 0], scored[:, 1], charge, sign, self.largest_weight)

    def evaluate(self, rules: Sequence[Rule], objective: Literal["gain", "gradient"] = "gain") -> Float64:
        """The objective's value of every rule."""
        if objective not in ("gain", "gradient"):
            raise OptionError(
                f"objective={objective!r} is no value that a rule has by itself; ask for 'gain' or 'gradient', and "
                "subtract the description length in a grammar for the worth."
            )
        values = np.zeros(len(rules))
        if objective == "gain" and self.grounding.feature.kernel.name == "decay":
            self.evaluations += len(rules)

            def some(begin: int, end: int) -> None:
                for place in range(begin, end):
                    values[place] = self.best(self.effect(rules[place]), rules[place])[0]

            self.threads.over(len(rules), some, smallest=1)
            return values
        for sign in (1, -1):
            places = [place for place, rule in enumerate(rules) if rule.sign == sign]
            if places:
                bodies = compile_bodies([rules[place] for place in places], self.grounding.log)
                values[places] = self.gains(bodies, sign)[0] if objective == "gain" else self.rewards(bodies, sign)
        return values

    def _run(self, bodies: matching.Bodies, columns: int, kernel: object) -> Float64:
        out = np.zeros((len(bodies.chain), columns))
        assert callable(kernel)
        self.threads.over(len(out), lambda begin, end: kernel(bodies, begin, end, out[begin:end]))
        return out

    def _scored(self, bodies: matching.Bodies, sign: int, largest: float) -> Float64:
        """Rows (Σ φ at heads, Σ φ expected[, weight, gain])."""
        index, feature = self.grounding.index, self.grounding.feature
        if feature.kind == "exists":

            def exists(batch: matching.Bodies, begin: int, end: int, out: Float64) -> None:
                matching.score_exists(index, batch, self.after, self.lapsed, self.grounding.longest, begin, end, out)

            return self._run(bodies, 2, exists)
        charges = self.penalty * body_lengths(bodies)

        def count(batch: matching.Bodies, begin: int, end: int, out: Float64) -> None:
            matching.score_count(
                index,
                batch,
                self.after,
                self.lapsed,
                self.grounding.width,
                self.grounding.longest,
                charges,
                sign,
                largest,
                begin,
                end,
                out,
            )

        return self._run(bodies, 4, count)

    def _score_prices(self, bodies: matching.Bodies, begin: int, end: int, out: Float64) -> None:
        feature = self.grounding.feature
        matching.score_prices(
            self.grounding.index,
            bodies,
            self.prices,
            feature.kernel.rate,
            feature.kind == "exists",
            self.grounding.longest,
            begin,
            end,
            out[:, 0],
        )

    # ---- one rule

    def effect(self, rule: Rule) -> Effect:
        """What a rule's feature meets: heads, and expected heads as a function of the rule's weight."""
        path = self.grounding.path(rule)
        if self.grounding.feature.kernel.name == "decay":
            return decaying_effect(self.exposure, self.rate, path, self.grounding.feature.kernel.rate, rule.sign)
        return level_effect(path, self.after_times(path.offsets, path.times), rule.sign)

    def best(self, effect: Effect, rule: Rule) -> tuple[float, float]:
        """(gain, weight) of adding a rule alone, its length charged with λ0, everything else held (design 5)."""
        return effect.gain(self.penalty * rule.length, self.largest_weight)

    def evidence(self, rule: Rule, grammar: Grammar | None = None, kernels: int = 1) -> Evidence:
        """All that is known for and against adding a rule; counts as one evaluation.

        A rule that was searched for among those of a `grammar` is charged what it takes to name it there; without a
        grammar the rule counts as named beforehand.
        """
        self.evaluations += 1
        length = 0.0 if grammar is None else description_length(rule, grammar, kernels)
        return weigh_evidence(
            rule,
            self.effect(rule),
            expected_by_entity=self.expected_by_entity,
            heads_by_entity=np.diff(self.exposure.head_offsets).astype(np.float64),
            unit=self.unit,
            charge=self.penalty * rule.length,
            largest_weight=self.largest_weight,
            ends_own_exposure=self.exposure.head.ends_own_exposure,
            description_length=length,
        )
