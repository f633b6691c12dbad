"""Slow twin of the likelihood: φ is looked up instant by instant and λ is integrated piece by piece with scipy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special

from chronorule.events import Exposure, Head
from chronorule.grounding import FeaturePath

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A log reduced to what the likelihood sees."""

    exposure: Exposure
    paths: list[FeaturePath]
    cuts: list[float]
    units: NDArray[np.int32]
    signs: list[int]

    @property
    def entities(self) -> int:
        return self.exposure.offsets.size - 1


def phi(path: FeaturePath, entity: int, t: float) -> float:
    """φ(t): the last row strictly before t counts."""
    value = 0.0
    for j in range(path.offsets[entity], path.offsets[entity + 1]):
        if path.times[j] < t:
            fades = path.decay > 0 and not path.constant
            value = path.values[j] * (math.exp(-path.decay * (t - path.times[j])) if fades else 1.0)
    return float(value)


def log_rate(case: Case, entity: int, t: float, weights: Sequence[float], baseline: Sequence[float]) -> float:
    """log λ(t) with multiplier 1."""
    elapsed = t - case.exposure.period_start[entity]
    level = baseline[sum(cut < elapsed for cut in case.cuts)]
    return level + sum(s * w * phi(path, entity, t) for s, w, path in zip(case.signs, weights, case.paths, strict=True))


def expected(case: Case, entity: int, weights: Sequence[float], baseline: Sequence[float]) -> float:
    """∫ λ over the entity's exposure, between every two instants at which anything may change."""
    exposure = case.exposure
    changes = {exposure.period_start[entity] + cut for cut in case.cuts}
    for path in case.paths:
        changes |= set(path.times[path.offsets[entity] : path.offsets[entity + 1]].tolist())
    total = 0.0
    for i in range(exposure.offsets[entity], exposure.offsets[entity + 1]):
        a, b = exposure.start[i], exposure.stop[i]
        edges = [a, *sorted(t for t in changes if a < t < b), b]
        for left, right in itertools.pairwise(edges):
            # The quadrature never evaluates the ends, so the jumps at `left` and `right` do not matter.
            area, _ = integrate.quad(
                lambda t: math.exp(log_rate(case, entity, t, weights, baseline)), left, right, epsrel=1e-12, epsabs=0
            )
            total += area
    return total


def log_likelihood(
    case: Case, weights: Sequence[float], baseline: Sequence[float], heterogeneity: str, variance: float
) -> float:
    """ℓ in the words of design 6: log Γ for the gamma law, a free base at its maximum for "entity"."""
    total = 0.0
    heads = np.zeros(int(case.units.max()) + 1)
    mass = np.zeros_like(heads)
    for c in range(case.entities):
        mass[case.units[c]] += expected(case, c, weights, baseline)
        for i in range(case.exposure.head_offsets[c], case.exposure.head_offsets[c + 1]):
            heads[case.units[c]] += 1
            total += log_rate(case, c, float(case.exposure.head_times[i]), weights, baseline)
    for n, m in zip(heads.tolist(), mass.tolist(), strict=True):
        if heterogeneity == "none" or (heterogeneity == "gamma" and variance == 0):
            total -= m
        elif heterogeneity == "gamma":
            a = 1 / variance
            total += special.gammaln(a + n) - special.gammaln(a) + a * math.log(a) - (a + n) * math.log(a + m)
        elif n > 0:
            total += n * math.log(n / m) - n
    return float(total)


def make_exposure(
    intervals: Sequence[Sequence[tuple[float, float]]], heads: Sequence[Sequence[float]], start: Sequence[float]
) -> Exposure:
    """Exposure of entities from lists of intervals (a, b], head times and starts of their periods."""
    flat = [interval for of_entity in intervals for interval in of_entity]
    return Exposure(
        head=Head("Y"),
        offsets=np.cumsum([0, *map(len, intervals)], dtype=np.int64),
        start=np.array([a for a, _ in flat], np.float64),
        stop=np.array([b for _, b in flat], np.float64),
        head_offsets=np.cumsum([0, *map(len, heads)], dtype=np.int64),
        head_times=np.array([t for of_entity in heads for t in of_entity], np.float64),
        period_start=np.array(start, np.float64),
    )


def make_path(rows: Sequence[Sequence[tuple[float, float]]], decay: float = 0.0, constant: bool = False) -> FeaturePath:
    """A feature path from lists of (time, value) by entity."""
    flat = [row for of_entity in rows for row in of_entity]
    return FeaturePath(
        offsets=np.cumsum([0, *map(len, rows)], dtype=np.int64),
        times=np.array([t for t, _ in flat], np.float64),
        values=np.array([v for _, v in flat], np.float64),
        decay=decay,
        constant=constant,
    )


def random_case(random: np.random.Generator, decay: float = 0.0, entities: int = 4, rules: int = 3) -> Case:
    """Whole-numbered times, so that heads, changes, cuts and edges of exposure often coincide."""
    intervals, heads, starts = [], [], []
    for _ in range(entities):
        start = int(random.integers(-2, 3))
        edges = np.sort(random.choice(np.arange(start, start + 12), 2 * int(random.integers(0, 3)), replace=False))
        spans = [(float(a), float(b)) for a, b in edges.reshape(-1, 2)]
        inside = [t for a, b in spans for t in np.arange(a + 0.5, b + 0.25, 0.5).tolist()]
        count = int(random.integers(0, min(5, len(inside)) + 1))
        intervals.append(spans)
        heads.append(sorted(random.choice(inside, count, replace=False).tolist()) if count else [])
        starts.append(float(start))
    paths = []
    for _ in range(rules):
        kind = random.choice(["exists", "count", "window", "static"])
        if kind == "static":
            rows = [[(-math.inf, 1.0)] if random.random() < 0.5 else [] for _ in range(entities)]
            paths.append(make_path(rows, decay, constant=True))
            continue
        rows = []
        for _ in range(entities):
            times = np.sort(random.choice(np.arange(-4, 12), int(random.integers(0, 5)), replace=False)).astype(float)
            values = {
                "exists": np.ones(times.size),
                "count": np.cumsum(random.integers(1, 4, times.size)),
                "window": (np.arange(times.size) + 1) % 2,
            }[kind]
            rows.append(list(zip(times.tolist(), values.astype(float).tolist(), strict=True)))
        paths.append(make_path(rows, decay))
    cuts = sorted(random.choice(np.arange(1, 9), int(random.integers(0, 3)), replace=False).astype(float).tolist())
    units = random.integers(0, entities, entities).astype(np.int32)
    return Case(make_exposure(intervals, heads, starts), paths, cuts, units, random.choice([-1, 1], rules).tolist())


def simulated_case(
    seed: int,
    entities: int,
    weights: Sequence[float],
    *,
    signs: Sequence[int] | None = None,
    baseline: float = -2.0,
    variance: float = 0.0,
    horizon: float = 20.0,
    changes: int = 1,
) -> Case:
    """Heads drawn exactly from the model on random piecewise-constant features that rise `changes` times at most."""
    random = np.random.default_rng(seed)
    signs = [1] * len(weights) if signs is None else list(signs)
    rows: list[list[list[tuple[float, float]]]] = [[] for _ in weights]
    intervals, heads = [], []
    for _ in range(entities):
        edges, steps = {0.0, horizon}, []
        for f in range(len(weights)):
            count = int(random.integers(1, changes + 1)) if random.random() < 0.6 else 0
            times = np.sort(random.uniform(0, horizon, count)).tolist()
            rows[f].append([(t, float(k + 1)) for k, t in enumerate(times)])
            edges |= set(times)
            steps.append(times)
        multiplier = random.gamma(1 / variance, variance) if variance > 0 else 1.0
        drawn: list[float] = []
        ordered = sorted(edges)
        for a, b in itertools.pairwise(ordered):
            total = sum(s * w * sum(t <= a for t in times) for s, w, times in zip(signs, weights, steps, strict=True))
            number = random.poisson(multiplier * math.exp(baseline + total) * (b - a))
            drawn += random.uniform(a, b, number).tolist()
        intervals.append([(0.0, horizon)])
        heads.append(sorted(drawn))
    return Case(
        make_exposure(intervals, heads, [0.0] * entities),
        [make_path(of_rule) for of_rule in rows],
        [],
        np.arange(entities, dtype=np.int32),
        signs,
    )
