"""The master problem as numbers: an objective in a box, and what the data decide before any step (design 4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import OptionError
from chronorule.likelihood import Evaluation, Heterogeneity, Statistics, derivatives, evaluate

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

BASELINE_REACH = 30.0  # nats that a baseline piece may lie from the crude log-rate, far beyond what a log can show
MAX_VARIANCE = 1e4  # of the multiplier; at this spread one unit in thousands has all the heads
LONGEST_STEP = 4.0  # nats that a log-rate may rise in one step: e^{wφ} overflows on careless ones


@dataclass(frozen=True, eq=False)
class Problem:
    """The objective in z = (w, b, ν) inside a box; parameters whose bounds meet are fixed."""

    data: Statistics
    sign: Floats  # [F]
    cost: Floats  # [F] λ0 c_f
    heterogeneity: Heterogeneity
    w_max: float
    least: float  # bounds of the baseline
    most: float
    lower: Floats
    upper: Floats

    @property
    def rules(self) -> int:
        """F"""
        return int(self.sign.size)

    @property
    def heads(self) -> float:
        """Heads that residuals are divided by: at least 1."""
        return max(float(self.data.heads.sum()), 1.0)

    def split(self, z: Floats) -> tuple[Floats, Floats, float]:
        """(signed weights, baseline, variance)."""
        return self.sign * z[: self.rules], z[self.rules : -1].copy(), float(z[-1])

    def at(self, z: Floats) -> tuple[float, Evaluation]:
        """The objective and what its derivatives are made of."""
        point = evaluate(self.data, *self.split(z), self.heterogeneity)
        return float(self.cost @ z[: self.rules]) - point.value, point

    def derivatives(self, point: Evaluation) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the objective in z."""
        gradient, information = derivatives(self.data, point, self.heterogeneity)
        turn = np.concatenate([self.sign, np.ones(gradient.size - self.rules)])
        slope = -turn * gradient
        slope[: self.rules] += self.cost
        return slope, information * np.outer(turn, turn)

    def rise(self, step: Floats) -> float:
        """The most that any log-rate grows along a step, or a bound on it where that is harmless already."""
        coefficients, baseline, _ = self.split(step)
        bound = float(np.maximum(coefficients, 0.0) @ self.data.largest + baseline.max())
        if bound <= LONGEST_STEP:
            return bound
        linear = self.data.linear(coefficients, baseline)
        return float((linear[:, 0] + np.maximum(linear[:, 1], 0.0)).max())


@dataclass(frozen=True, eq=False)
class State:
    """A point of the box with the objective and what its derivatives are made of."""

    problem: Problem
    z: Floats
    value: float
    point: Evaluation

    @classmethod
    def of(cls, problem: Problem, z: Floats) -> State:
        """The state at z."""
        return cls(problem, z, *problem.at(z))

    @cached_property
    def derivatives(self) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the objective."""
        return self.problem.derivatives(self.point)

    @property
    def stuck(self) -> Flags:
        """Which parameters stand at a bound that the slope pushes them against."""
        slope = self.derivatives[0]
        return ((self.z <= self.problem.lower) & (slope > 0)) | ((self.z >= self.problem.upper) & (slope < 0))

    @property
    def residual(self) -> float:
        """The largest slope that the bounds leave to follow, per head."""
        slope = np.where(self.stuck, 0.0, self.derivatives[0])
        return float(np.abs(slope).max(initial=0.0)) / self.problem.heads


def presolve(
    data: Statistics,
    sign: Floats,
    cost: Floats,
    heterogeneity: Heterogeneity,
    w_max: float,
    baseline_bounds: tuple[float, float] | None,
    labels: tuple[str, ...],
) -> tuple[Problem, Floats, list[str]]:
    """The box, with what is decided before any step fixed and explained, and the crude log-rate of each piece."""
    segments, rules = data.segments, sign.size
    notes: list[str] = []
    total = float(data.heads.sum())
    relative = heterogeneity == "entity"
    exposure = float(segments.length.sum())
    level = 0.0 if relative or exposure == 0 else float(np.log(max(total, 1.0) / exposure))
    if baseline_bounds is None:
        least, most = level - BASELINE_REACH, level + BASELINE_REACH
    else:
        least, most = (float(bound) for bound in baseline_bounds)
        if not (np.isfinite(least) and np.isfinite(most) and least < most and (not relative or least < 0 < most)):
            raise OptionError(
                f"baseline_bounds=({least:g}, {most:g}) must be two finite log-rates in rising order"
                + (", with 0 between them for a base relative to each entity's own." if relative else ".")
            )
    spread = MAX_VARIANCE if heterogeneity == "gamma" else 0.0
    lower = np.concatenate([np.zeros(rules), np.full(segments.pieces, least), [0.0]])
    upper = np.concatenate([np.full(rules, w_max), np.full(segments.pieces, most), [spread]])
    exposed = np.bincount(segments.piece, weights=segments.length, minlength=segments.pieces)
    happened = data.head_sum[rules:]
    crude = np.full(segments.pieces, least)
    crude[happened > 0] = np.log(happened[happened > 0] / exposed[happened > 0])
    if total == 0:
        upper = lower.copy()
        what = "no head happened in the exposure" if segments.length.size else "there is no exposure"
        notes.append(f"{what}: the baseline stands at its lower bound and every weight at 0.")
        return Problem(data, sign, cost, heterogeneity, w_max, least, most, lower, upper), crude, notes
    if relative:
        reference = int(np.flatnonzero(happened > 0)[0])
        crude = np.where(happened > 0, crude - crude[reference], least)
        lower[rules + reference] = upper[rules + reference] = 0.0
    for p in np.flatnonzero(happened == 0):
        upper[rules + p] = least
        because = "no exposure" if exposed[p] == 0 else "no head"
        notes.append(f"piece {p + 1} of the baseline has {because}: it stands at its lower bound.")
    for f in range(rules):
        if data.largest[f] == 0:
            upper[f] = 0.0
            where = " in an entity with a head" if relative else ""
            notes.append(f"{labels[f]} is never active during the exposure{where}: weight 0.")
        elif data.head_sum[f] == 0 and sign[f] > 0:
            upper[f] = 0.0
            notes.append(f"no head happened while {labels[f]} was active: weight 0.")
        elif data.head_sum[f] == 0 and cost[f] == 0:
            lower[f] = w_max
            notes.append(f"no head happened while {labels[f]} was active: its weight stands at its upper bound.")
        elif relative and not _changes(data, f):
            upper[f] = 0.0
            notes.append(f"{labels[f]} never changes inside an entity with a head, whose own base holds it: weight 0.")
    if heterogeneity == "gamma" and data.exceeding.size <= 1:
        upper[-1] = 0.0
        notes.append("no unit has more than one head, so a spread of base rates cannot be told from time: variance 0.")
    return Problem(data, sign, cost, heterogeneity, w_max, least, most, lower, upper), crude, notes


def _changes(data: Statistics, f: int) -> bool:
    """Whether a feature takes more than one value inside some unit."""
    if data.segments.decays[f]:
        return True
    values = np.zeros(data.rows.size)
    entries = data.column == f
    values[np.repeat(np.arange(data.rows.size), np.diff(data.begin))[entries]] = data.value[entries]
    values = values[data.row]
    shown = np.empty(data.n_units)
    shown[data.unit] = values  # any one value of the unit
    return bool((values != shown[data.unit]).any())
