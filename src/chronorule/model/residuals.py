"""What a fit leaves unexplained: heads against what was expected of them, in the order of time (design 10).

The multiplier of an entity is the mean given its own past, (1 + νN(t−)) / (1 + νΛ(t−)), never what comes later. With it
∫λ between heads is exponential of mean 1 if the model holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronorule.events import Exposure
from chronorule.kernels.rates import row_moments
from chronorule.likelihood import LogRate, Segments
from chronorule.model.study import Fit, Study

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

REACHES = (0.03, 0.1, 0.3, 1.0)  # of a head, in expected heads
SURE = math.log(1000 * len(REACHES))  # nats: by chance one log in a thousand shows as much in any reach


@dataclass(frozen=True, eq=False)
class Expectation:
    """Λ(t), heads expected of every entity until any time, with multiplier 1."""

    segments: Segments
    linear: Float64  # [S, 2] log λ: constant, decaying
    before: Float64  # [S + 1] Λ of all segments before each, over all entities

    @classmethod
    def of(cls, segments: Segments, rates: LogRate) -> Expectation:
        """From λ on segments."""
        linear = np.column_stack([rates.constant, rates.decaying])
        whole = _mass(segments, linear, np.arange(len(segments.length)), segments.length)
        return cls(segments, linear, np.concatenate([[0.0], np.cumsum(whole)]))

    def until(self, entity: Int64, times: Float64) -> Float64:
        """Λ of these entities until these times: whole segments before, and part of the one that holds the time."""
        segments = self.segments
        sizes = np.diff(segments.offsets)
        first = segments.offsets[entity]
        if len(segments.length) == 0:
            return np.zeros(len(times))
        owner = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), entity])
        moment = np.concatenate([segments.start, times])
        asked = np.concatenate([np.zeros(len(segments.start), np.bool_), np.ones(len(times), np.bool_)])
        order = np.lexsort((~asked, moment, owner))  # a time is asked of what began strictly before
        began = np.cumsum(~asked[order])
        holder = np.empty(len(times), np.int64)
        holder[order[asked[order]] - len(segments.start)] = began[asked[order]] - 1
        inside = holder >= first
        row = np.where(inside, holder, 0)
        part = _mass(segments, self.linear, row, np.clip(times - segments.start[row], 0.0, segments.length[row]))
        return np.where(inside, self.before[row] - self.before[first] + part, 0.0)


def _mass(segments: Segments, linear: Float64, rows: Int64, length: Float64) -> Float64:
    moments = row_moments(np.ascontiguousarray(linear[rows]), np.ascontiguousarray(length), segments.decay)[:, 0]
    return np.asarray(moments if segments.decay > 0 else moments * length)


@dataclass(frozen=True)
class Bursts:
    """Heads soon after another head of the same entity, against what the model expects there."""

    reach: float  # how soon, in expected heads
    observed: int
    expected: float

    @property
    def evidence(self) -> float:
        """Nats for a higher rate there: by chance e^(−evidence) at most."""
        if self.observed <= self.expected:
            return 0.0
        if self.expected <= 0:  # so soon that the time between is lost in roundings of the times
            return math.inf
        return self.observed * math.log(self.observed / self.expected) - self.observed + self.expected

    @property
    def sure(self) -> bool:
        """Whether chance would show as much in no more than one log in a thousand."""
        return self.evidence > SURE


def bursts(study: Study, fit: Fit) -> Bursts | None:
    """Where heads most exceed what is expected soon after another; None where no head follows another."""
    risk, solution = study.exposure, fit.solution
    expectation = Expectation.of(fit.segments, _rates(study, fit))
    gaps, followed = _gaps(risk, expectation, study.log.group, solution.variance, solution.heterogeneity == "entity")
    if not followed.any():
        return None
    found = [
        Bursts(reach, int((followed & (gaps <= reach)).sum()), float(np.minimum(gaps, reach).sum()))
        for reach in REACHES
    ]
    return max(found, key=lambda one: one.evidence)


def _rates(study: Study, fit: Fit) -> LogRate:
    rate = study.rate(fit)
    return LogRate(rate.level, rate.strength)


def _gaps(
    risk: Exposure, expectation: Expectation, group: NDArray[np.int32], variance: float, free: bool
) -> tuple[Float64, NDArray[np.bool_]]:
    """For every head, ∫λ from it to the next of its entity or to the end; and whether a next one follows."""
    entities = len(risk.head_offsets) - 1
    entity = np.repeat(np.arange(entities), np.diff(risk.head_offsets))
    at = expectation.until(entity, risk.head_times)
    total = expectation.until(np.arange(entities), np.full(entities, np.inf))
    last = np.zeros(len(entity), np.bool_)
    last[risk.head_offsets[1:][np.diff(risk.head_offsets) > 0] - 1] = True
    after = np.where(last, total[entity], np.append(at[1:], 0.0))
    # heads and Λ of the group until each head: those of its earlier entities, then of its own
    order = np.argsort(group, kind="stable")
    begins = np.searchsorted(group[order], group[order])
    heads_before, mass_before = np.empty(entities), np.empty(entities)
    for values, out in ((np.diff(risk.head_offsets).astype(np.float64), heads_before), (total, mass_before)):
        summed = np.concatenate([[0.0], np.cumsum(values[order])])
        out[order] = summed[:-1] - summed[begins]
    number = np.arange(len(entity)) - risk.head_offsets[:-1][entity] + 1 + heads_before[entity]
    here, there = mass_before[entity] + at, mass_before[entity] + after
    if free:
        gaps = number * np.log(np.maximum(there, 1e-300) / np.maximum(here, 1e-300))
    elif variance == 0:
        gaps = there - here
    else:
        gaps = (1 / variance + number) * np.log((1 + variance * there) / (1 + variance * here))
    return gaps, ~last
