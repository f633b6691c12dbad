"""Slow twins of the compiled kernels: the definitions of design 3 to 6 written out, with every match enumerated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy import integrate, optimize

from chronorule.events import EventLog, Exposure
from chronorule.grounding import Feature, FeaturePath
from chronorule.rules.rule import Rule


def events_of(log: EventLog, entity: int) -> list[tuple[float, str]]:
    """(time, predicate) of one entity, statics first, at minus infinity."""
    statics = log.static_codes[log.static_offsets[entity] : log.static_offsets[entity + 1]]
    rows = slice(log.offsets[entity], log.offsets[entity + 1])
    timed = zip(log.times[rows].tolist(), log.codes[rows].tolist(), strict=True)
    return [(-math.inf, log.predicates[p]) for p in statics] + [(t, log.predicates[p]) for t, p in timed]


def matches(rule: Rule, log: EventLog, entity: int) -> Iterator[tuple[float, float]]:
    """(earliest, latest) timed event of every match: every combination of events is tried."""
    variables = [(k, name) for k, members in enumerate(rule.classes) for name in members]
    held = events_of(log, entity)
    choices = [[t for t, name in held if name == predicate] for _, predicate in variables]
    for times in itertools.product(*choices):
        if all(
            (times[i] == times[j] if k == m else True)
            and (times[i] < times[j] if rule.predecessors[m] >> k & 1 else True)
            and (times[j] < times[i] if rule.predecessors[k] >> m & 1 else True)
            for (i, (k, _)), (j, (m, _)) in itertools.combinations(enumerate(variables), 2)
        ):
            timed = [t for t in times if t > -math.inf]
            yield (min(timed), max(timed)) if timed else (-math.inf, -math.inf)


def all_matches(rule: Rule, log: EventLog, entity: int) -> Iterator[list[float]]:
    """The instant of every class in every match: each combination of instants is tried."""
    held = events_of(log, entity)
    choices = [
        [t for t in sorted({time for time, _ in held}) if all((t, name) in held for name in members)]
        for members in rule.classes
    ]
    for times in itertools.product(*choices):
        if all(
            times[k] < times[m] for m in range(len(times)) for k in range(len(times)) if rule.predecessors[m] >> k & 1
        ):
            yield list(times)


def latest_match(rule: Rule, log: EventLog, entity: int, until: float) -> list[float] | None:
    """Of all matches that end by a time the one that has every event as late as any has it."""
    found = [times for times in all_matches(rule, log, entity) if max(times) <= until]
    if not found:
        return None
    latest = [max(column) for column in zip(*found, strict=True)]
    assert latest in found
    return latest


def completions(rule: Rule, log: EventLog, span: float | None = None) -> list[tuple[int, float, int]]:
    """(entity, time, number of matches that complete there), in order."""
    found: dict[tuple[int, float], int] = {}
    for entity in range(log.n_entities):
        for earliest, latest in matches(rule, log, entity):
            if span is None or latest == -math.inf or latest - earliest <= span:
                found[entity, latest] = found.get((entity, latest), 0) + 1
    return [(entity, time, number) for (entity, time), number in sorted(found.items())]


def kappa(feature: Feature, elapsed: float) -> float:
    """κ of the time since a completion; what has no time (statics alone) never fades."""
    if elapsed <= 0:
        return 0.0
    if elapsed == math.inf or feature.kernel.name == "step":
        return 1.0
    if feature.kernel.name == "window":
        return float(elapsed <= feature.kernel.width)
    return math.exp(-feature.kernel.rate * elapsed)


def phi(rule: Rule, log: EventLog, feature: Feature, entity: int, time: float) -> float:
    """φ at one time, from all matches completed strictly before it."""
    done = [(s, n) for c, s, n in completions(rule, log.select([entity]), feature.span) if s < time]
    if not done:
        return 0.0
    if feature.kind == "exists":
        return kappa(feature, time - max(s for s, _ in done))
    return sum(n * kappa(feature, time - s) for s, n in done)


def phi_of_rows(rows: list[tuple[int, float, int]], feature: Feature, entity: int, time: float) -> float:
    """φ at one time from completions already enumerated."""
    done = [(s, n) for c, s, n in rows if c == entity and s < time]
    if not done:
        return 0.0
    if feature.kind == "exists":
        return kappa(feature, time - max(s for s, _ in done))
    return sum(n * kappa(feature, time - s) for s, n in done)


def breakpoints(rows: list[tuple[int, float, int]], feature: Feature, entity: int) -> list[float]:
    """Times at which φ of one rule jumps."""
    times = [s for c, s, _ in rows if c == entity and s > -math.inf]
    return times + [s + feature.kernel.width for s in times if feature.kernel.name == "window"]


class SlowModel:
    """λ of a few rules on one log, evaluated pointwise; integrals split at every jump, decays by quadrature."""

    def __init__(
        self,
        log: EventLog,
        exposure: Exposure,
        feature: Feature,
        rules: list[Rule],
        weights: list[float],
        base: float,
        multipliers: list[float] | None = None,
    ) -> None:
        self.log, self.exposure, self.feature = log, exposure, feature
        self.rules, self.weights, self.base = rules, weights, base
        self.rows = [completions(rule, log, feature.span) for rule in rules]
        self.multipliers = multipliers or [1.0] * log.n_entities

    def rate(self, entity: int, time: float) -> float:
        score = self.base
        for rule, weight, rows in zip(self.rules, self.weights, self.rows, strict=True):
            score += rule.sign * weight * phi_of_rows(rows, self.feature, entity, time)
        return self.multipliers[entity] * math.exp(score)

    def intervals(self, entity: int, more: list[float] = []) -> Iterator[tuple[float, float]]:  # noqa: B006
        """The exposure of an entity, cut at every jump of λ and at `more` times."""
        jumps = sorted({t for rows in self.rows for t in breakpoints(rows, self.feature, entity)} | set(more))
        for k in range(self.exposure.offsets[entity], self.exposure.offsets[entity + 1]):
            start, stop = float(self.exposure.start[k]), float(self.exposure.stop[k])
            cuts = [start, *[t for t in jumps if start < t < stop], stop]
            yield from itertools.pairwise(cuts)

    def heads(self, entity: int) -> list[float]:
        rows = slice(self.exposure.head_offsets[entity], self.exposure.head_offsets[entity + 1])
        return self.exposure.head_times[rows].tolist()

    def integral(self, entity: int, weight_of_time: object = None, more: list[float] = []) -> float:  # noqa: B006
        """∫ over exposure of λ(t)·weight_of_time(t)."""
        total = 0.0
        for low, high in self.intervals(entity, more):
            if self.feature.kernel.name == "decay":
                nudge = 0.0
                total += integrate.quad(
                    lambda t: self.rate(entity, t) * (weight_of_time(t) if weight_of_time else 1.0),
                    low + nudge,
                    high,
                    epsabs=1e-13,
                    epsrel=1e-12,
                )[0]
            else:
                middle = 0.5 * (low + high)
                total += (high - low) * self.rate(entity, middle) * (weight_of_time(middle) if weight_of_time else 1.0)
        return total

    def log_likelihood(self) -> float:
        """ℓ with the multipliers held: Σ log λ at heads − ∫ λ (design 4)."""
        total = 0.0
        for entity in range(self.log.n_entities):
            total += sum(math.log(self.rate(entity, t)) for t in self.heads(entity)) - self.integral(entity)
        return total

    def with_rule(self, rule: Rule, weight: float) -> SlowModel:
        return SlowModel(
            self.log,
            self.exposure,
            self.feature,
            [*self.rules, rule],
            [*self.weights, weight],
            self.base,
            self.multipliers,
        )

    def gain(self, rule: Rule, charge: float = 0.0, largest: float = 10.0) -> tuple[float, float]:
        """(weight, gain) of adding one rule with everything else held, by bounded scalar maximisation."""
        before = self.log_likelihood()
        found = optimize.minimize_scalar(
            lambda w: before - self.with_rule(rule, w).log_likelihood() + charge * w,
            bounds=(0.0, largest),
            method="bounded",
            options={"xatol": 1e-10},
        )
        candidates = [(0.0, 0.0), (float(found.x), -float(found.fun))]
        candidates.append((largest, self.with_rule(rule, largest).log_likelihood() - before - charge * largest))
        return max(candidates, key=lambda pair: pair[1])


def path_at(path: FeaturePath, entity: int, time: float) -> float:
    """φ read from a path, row by row."""
    value = 0.0
    for j in range(path.offsets[entity], path.offsets[entity + 1]):
        if path.times[j] < time:
            fade = 1.0 if path.constant or path.decay == 0 else math.exp(-path.decay * (time - path.times[j]))
            value = float(path.values[j]) * fade
    return value


def enumeration_count(log: EventLog, rule: Rule) -> int:
    """Combinations of events that enumeration would look at."""
    total = 0
    for entity in range(log.n_entities):
        rows = slice(log.offsets[entity], log.offsets[entity + 1])
        held = np.bincount(log.codes[rows], minlength=log.n_predicates)
        total += math.prod(int(held[log.code(name)]) for name in rule.predicates)
    return total
