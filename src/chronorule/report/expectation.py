"""Observed heads beside expected ones, by the time since a rule completed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronorule.events import EventLog, Exposure, exposure
from chronorule.grounding import FeaturePath, Grounding
from chronorule.kernels.rates import row_moments
from chronorule.likelihood import Segments, build_segments, expected_by_unit, log_rate, multipliers
from chronorule.model import RuleModel, WeightedRule
from chronorule.report.starts import Starts, effect_starts

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

BINS = 8  # over the time that a rule counts, or over most of the time that is left
OTHER_BINS = (6, 10, 12, 5, 7, 9, 4, 3, 2)  # tried in turn where times stand on ticks
BEYOND = 0.5  # share of a window that is shown after it, to see whether the effect ends with it
FADED = 3.0  # a decaying rule is followed over so many times 1/rate, when 5 % of its effect is left
Z_95 = 1.959963984540054  # the standard normal's 97.5 % point


@dataclass(frozen=True)
class Bin:
    """Heads observed and expected while the time since completion is above `start` and at most `stop`."""

    start: float
    stop: float  # infinite for the rest
    counts: bool  # whether the rule counts there
    at_risk: float  # time at risk of all entities together
    observed: int
    expected_without: float  # at the rates of the model, the rule's own factor left out
    expected_with: float

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, with a 95 % interval of the mean that so many heads speak for."""
        low, high = poisson_interval(self.observed)
        return {
            "start": self.start,
            "stop": self.stop if math.isfinite(self.stop) else None,
            "counts": self.counts,
            "at_risk": self.at_risk,
            "observed": self.observed,
            "observed_low": low,
            "observed_high": high,
            "expected_without": self.expected_without,
            "expected_with": self.expected_with,
        }


@dataclass(frozen=True)
class Aftermath:
    """What followed the completions of a rule: all of it while the rule counts, and piece by piece."""

    whole: Bin
    bins: tuple[Bin, ...]  # empty for a rule of static predicates, which has no completion in time


def poisson_interval(count: int) -> tuple[float, float]:
    """95 % interval of a Poisson mean by Byar's cubes, within 3 % of the exact one from 1 event on."""
    low = 0.0 if count == 0 else count * (1 - 1 / (9 * count) - Z_95 / (3 * math.sqrt(count))) ** 3
    more = count + 1
    return max(low, 0.0), more * (1 - 1 / (9 * more) + Z_95 / (3 * math.sqrt(more))) ** 3


@dataclass(frozen=True, eq=False)
class Expectation:
    """A model and a log, ready to tell what the model expects of the log; the weights stay as they are."""

    model: RuleModel
    log: EventLog
    exposure: Exposure = field(init=False, repr=False)
    grounding: Grounding = field(init=False, repr=False)
    multiplier: Float64 = field(init=False, repr=False)  # [E] mean of each entity's frailty given the log

    def __post_init__(self) -> None:
        object.__setattr__(self, "exposure", exposure(self.log, self.model.head))
        object.__setattr__(self, "grounding", Grounding(self.log, self.model.feature))
        model, rules = self.model, self.model.rules
        segments = build_segments(self.exposure, self.grounding.paths([item.rule for item in rules]), model.cuts)
        expected = expected_by_unit(
            segments,
            [item.weight for item in rules],
            model.baseline,
            signs=[item.sign for item in rules],
            units=self.log.group,
        )
        by_entity = np.diff(self.exposure.head_offsets).astype(np.float64)
        heads = np.bincount(self.log.group, by_entity, minlength=expected.size).astype(np.float64)
        mean, _ = multipliers(heads, expected, model.variance, model.heterogeneity)
        object.__setattr__(self, "multiplier", mean[self.log.group] if self.log.n_entities else np.ones(0))

    def aftermath(self, item: WeightedRule) -> Aftermath:
        """Observed and expected heads after completion, for a rule of the model or one beside it.

        "Without" are the model's rates with the factor of this rule left out, "with" has it in, at the rule's weight.
        """
        path = self.grounding.path(item.rule)
        starts = effect_starts(self.grounding, item.rule)
        edges = np.zeros(0) if path.constant else self._edges(starts)
        in_force = [other for other in self.model.rules if other.rule != item.rule]
        paths = [*(self.grounding.path(other.rule) for other in in_force), path, _bin_path(starts, edges)]
        segments = build_segments(self.exposure, paths, self.model.cuts)
        signs = [*(other.sign for other in in_force), item.sign, 1]
        weights = [other.weight for other in in_force]
        without = self._mass(segments, [*weights, 0.0, 0.0], signs)
        with_rule = self._mass(segments, [*weights, item.weight, 0.0], signs)
        on = segments.X[:, -2] > 0
        number = segments.X[:, -1].astype(np.int64)  # 0 outside the bins
        table = np.column_stack([segments.length, segments.heads, without, with_rule])
        bins = []
        width = self.model.feature.kernel.width
        for k in range(len(edges)):
            stop = float(edges[k + 1]) if k + 1 < len(edges) else math.inf
            inside = number == k + 1
            if inside.any() and (math.isfinite(stop) or edges[k] < width):
                bins.append(_bin(float(edges[k]), stop, bool(edges[k] < width), table[inside]))
        return Aftermath(_bin(0.0, width, True, table[on]), tuple(bins))

    def _mass(self, segments: Segments, weights: list[float], signs: list[int]) -> Float64:
        """Heads expected in every segment, each entity's frailty included."""
        rates = log_rate(segments, weights, self.model.baseline, signs=signs)
        linear = np.column_stack([rates.constant, rates.decaying])
        moments = row_moments(linear, segments.length.copy(), segments.decay)[:, 0]
        mass = moments if segments.decay > 0 else moments * segments.length
        return np.asarray(np.repeat(self.multiplier, np.diff(segments.offsets)) * mass)

    def _edges(self, starts: Starts) -> Float64:
        """Where the bins begin; the last has no end, unless the rule's window ended before it."""
        kernel = self.model.feature.kernel
        grain = self._grain()
        if kernel.name == "window":
            counts = _window_bins(kernel.width, grain)
            inside = np.linspace(0.0, kernel.width, counts + 1)
            beyond = kernel.width * (1 + np.arange(1, int(BEYOND * counts) + 1) / counts)
            return np.concatenate([inside, beyond])
        if kernel.name == "decay":
            reach = FADED / kernel.rate
        else:
            last = np.full(self.log.n_entities, -np.inf)
            some = np.diff(self.exposure.offsets) > 0
            last[some] = self.exposure.stop[self.exposure.offsets[1:][some] - 1]
            left = last[starts.entity] - starts.time
            left = left[left > 0]
            reach = float(np.quantile(left, 0.75)) if left.size else 0.0
        if not reach > 0:
            return np.zeros(1)
        step = nice(reach / BINS)
        if grain > 0:
            step = max(grain, round(step / grain) * grain)
        return np.arange(max(1, round(reach / step)) + 1) * np.float64(step)

    def _grain(self) -> float:
        """Size of the ticks that times stand on; 0 where they stand on none."""
        if self.log.resolution > 0:
            return self.log.resolution
        return 1.0 if bool((self.log.times == np.round(self.log.times)).all()) else 0.0


def nice(value: float) -> float:
    """The nearest of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return min((1.0, 2.0, 5.0, 10.0), key=lambda digit: abs(math.log(value / (digit * power)))) * power


def _window_bins(width: float, grain: float) -> int:
    """Into how many bins a window falls: such that each is a whole number of ticks, where that can be."""
    for bins in (BINS, *OTHER_BINS):
        ticks = width / grain / bins if grain > 0 else 1.0
        if ticks >= 1 and abs(ticks - round(ticks)) < 1e-9:
            return bins
    return BINS if grain == 0 or width >= BINS * grain else 1


def _bin(start: float, stop: float, counts: bool, rows: Float64) -> Bin:
    at_risk, observed, without, with_rule = rows.sum(axis=0).tolist() if len(rows) else [0.0] * 4
    return Bin(start, stop, counts, at_risk, round(observed), without, with_rule)


def _bin_path(starts: Starts, edges: Float64) -> FeaturePath:
    """The number of the bin (from 1) as a feature, 0 before the first completion; each completion begins again."""
    times = starts.time[:, None] + edges[None, :]
    kept = times < starts.until[:, None]
    values = np.broadcast_to(np.arange(1.0, len(edges) + 1), times.shape)
    owner = np.broadcast_to(starts.entity[:, None], times.shape)[kept]
    offsets = np.zeros(starts.entities + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=starts.entities), out=offsets[1:])
    return FeaturePath(offsets, times[kept], values[kept])
