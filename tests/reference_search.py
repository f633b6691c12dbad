"""Slow twin of every search: all rules of a small grammar, each worth what the definitions of design 3 to 6 say.

Rules are bodies given as names and a matrix of relations, from the enumeration of `reference_rules`; matches are all
combinations of events; λ is integrated over the pieces between all times at which anything could change; the best
weight is found by halving. No code is shared with `chronorule.search` or `chronorule.pricing`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import reference
import reference_rules
from chronorule.events import EventLog, Exposure
from chronorule.grounding import Feature
from chronorule.rules import Rule

Body = tuple[list[str], reference_rules.Matrix]
Identity = tuple[frozenset[Any], int]

UNSURE = 1e-7  # sums of a few hundred terms of double precision agree far better than this


@dataclass(frozen=True)
class Judged:
    """One rule with all that the pass rule asks about; `margin` is the least distance from failing, negative if so."""

    identity: Identity
    names: tuple[str, ...]
    matrix: reference_rules.Matrix
    sign: int
    reward: float
    gain: float
    description_length: float
    value: float
    margin: float

    @property
    def worth(self) -> float:
        """Gain less description length."""
        return self.gain - self.description_length

    def rule(self, head: str = "Y") -> Rule:
        """The package's object."""
        return reference_rules.built(self.names, self.matrix, self.sign, head)


@dataclass
class Meeting:
    """What one body's feature meets in one entity: φ at heads, and the expected heads at each value of φ > 0."""

    at_heads: list[float] = field(default_factory=list)
    mass: dict[float, float] = field(default_factory=dict)


class SlowSearch:
    """Everything that a search must get right, worked out for each rule of the grammar in turn."""

    def __init__(
        self,
        log: EventLog,
        exposure: Exposure,
        feature: Feature,
        options: Mapping[str, Any],
        *,
        rules: Sequence[Rule] = (),
        weights: Sequence[float] = (),
        base: float = 0.0,
        multipliers: Sequence[float] | None = None,
        penalty: float = 0.0,
        largest: float = 10.0,
        objective: str = "gain",
        stop: str = "evidence",
        alpha: float = 0.05,
        min_support: int = 5,
        within: bool = False,
        kernels: int = 1,
        taken: Sequence[Rule] = (),
    ) -> None:
        self.log, self.exposure, self.feature, self.options = log, exposure, feature, dict(options)
        self.penalty, self.largest = penalty, largest
        self.objective, self.stop, self.alpha = objective, stop, alpha
        self.min_support, self.within, self.kernels = min_support, within, kernels
        self.taken = {reference_rules.identity_of(rule) for rule in taken}
        self.model = reference.SlowModel(
            log, exposure, feature, list(rules), list(weights), base, None if multipliers is None else list(multipliers)
        )
        self.units = log.group.tolist()
        self.entities = range(log.n_entities)
        self.held = [reference.events_of(log, c) for c in self.entities]
        self.heads = [self.model.heads(c) for c in self.entities]
        self.pieces = [list(self._pieces(c)) for c in self.entities]

    def _pieces(self, entity: int) -> Iterator[tuple[float, float]]:
        """(middle, expected heads) between all times at which λ or the φ of any rule could change."""
        times = [t for t, _ in self.held[entity] if t > -math.inf]
        lapsed = [t + self.feature.kernel.width for t in times] if self.feature.kernel.name == "window" else []
        for low, high in self.model.intervals(entity, times + lapsed):
            middle = 0.5 * (low + high)
            yield middle, (high - low) * self.model.rate(entity, middle)

    # ---- features

    def completions(self, names: Sequence[str], matrix: reference_rules.Matrix, entity: int) -> dict[float, int]:
        """How many matches complete at each time, by trying every combination of events."""
        found: dict[float, int] = {}
        choices = [[t for t, name in self.held[entity] if name == wanted] for wanted in names]
        for times in itertools.product(*choices):
            if all(reference_rules.holds(times[i], relation, times[j]) for (i, j), relation in matrix.items()):
                timed = [t for t in times if t > -math.inf]
                latest = max(timed, default=-math.inf)
                if self.feature.span is None or not timed or latest - min(timed) <= self.feature.span:
                    found[latest] = found.get(latest, 0) + 1
        return found

    def phi(self, completions: Mapping[float, int], time: float) -> float:
        """φ from the completions strictly before `time`."""
        done = [s for s in completions if s < time]
        if not done:
            return 0.0
        if self.feature.kind == "exists":
            return reference.kappa(self.feature, time - max(done))
        return sum(completions[s] * reference.kappa(self.feature, time - s) for s in done)

    def meetings(self, names: Sequence[str], matrix: reference_rules.Matrix) -> list[Meeting]:
        """What the body meets in each entity."""
        found = []
        for c in self.entities:
            done = self.completions(names, matrix, c)
            meeting = Meeting([self.phi(done, t) for t in self.heads[c]] if done else [0.0] * len(self.heads[c]))
            for middle, mass in self.pieces[c] if done else ():
                value = self.phi(done, middle)
                if value > 0:
                    meeting.mass[value] = meeting.mass.get(value, 0.0) + mass
            found.append(meeting)
        return found

    # ---- what a rule is worth

    def judge(self, names: Sequence[str], matrix: reference_rules.Matrix, sign: int) -> Judged:
        """One rule by every definition."""
        met = self.meetings(names, matrix)
        observed = [sum(meeting.at_heads) for meeting in met]
        expected = [sum(value * mass for value, mass in meeting.mass.items()) for meeting in met]
        charge = self.penalty * len(names)
        reward = sign * (sum(observed) - sum(expected)) - charge
        gain = self._gain(sum(observed), [pair for m in met for pair in m.mass.items()], sign, charge)
        length = description_length(self.options, names, matrix, self.kernels)
        if self.stop == "optimal" and self.objective != "worth":
            length = 0.0
        value = {"gain": gain, "gradient": reward, "worth": gain - length}[self.objective]
        identity = reference_rules.identity(names, matrix), sign
        if identity in self.taken:
            margin = -math.inf
        elif self.stop == "optimal":
            margin = value
        else:
            margin = self._margin(met, observed, expected, sign, gain, length)
        return Judged(identity, tuple(names), matrix, sign, reward, gain, length, value, margin)

    def _gain(self, observed: float, masses: Sequence[tuple[float, float]], sign: int, charge: float) -> float:
        """max over 0 ≤ w ≤ largest of w·(sign·O − charge) − Σ mass (e^{sign·w·φ} − 1), by halving on its slope."""
        by_value: dict[float, float] = {}
        for value, mass in masses:
            by_value[value] = by_value.get(value, 0.0) + mass

        def slope(w: float) -> float:
            grown = sum(m * v * _exp(sign * w * v) for v, m in by_value.items())
            return sign * (observed - grown) - charge

        w = _where_it_falls_to_zero(slope, self.largest)
        return w * (sign * observed - charge) - sum(m * math.expm1(sign * w * v) for v, m in by_value.items())

    def _margin(
        self,
        met: Sequence[Meeting],
        observed: Sequence[float],
        expected: Sequence[float],
        sign: int,
        gain: float,
        length: float,
    ) -> float:
        """The least of: gain beyond what is needed, support beyond the least, clustered z beyond 3, and within."""
        units = sorted(set(self.units))
        mine = {unit: [c for c in self.entities if self.units[c] == unit] for unit in units}
        on = [sum(value > 0 for value in meeting.at_heads) - sum(meeting.mass.values()) for meeting in met]
        surplus = [sum(on[c] for c in mine[unit]) for unit in units]
        scale = math.sqrt(sum(x * x for x in surplus))
        z = sum(surplus) / scale if scale > 0 else 0.0
        if sign > 0:
            support = sum(any(value > 0 for c in mine[unit] for value in met[c].at_heads) for unit in units)
        else:
            support = sum(any(expected[c] > 0 for c in mine[unit]) for unit in units)
        needed = length + math.log(1 / self.alpha)
        margins = [gain - needed, support - self.min_support + 0.5, sign * z - 3]
        if self.within and min(margins) > -UNSURE:
            margins.append(self._within(met, observed, mine, sign) - needed)
        return min(margins)

    def _within(
        self, met: Sequence[Meeting], observed: Sequence[float], mine: Mapping[int, Sequence[int]], sign: int
    ) -> float:
        """The gain when each group has a free base: max_w Σ [w·sign·O − N log(1 + Σ mass (e^{sign·w·φ} − 1) / Λ)].

        Of heads that recur freely: one that ends its own exposure is refused.
        """
        parts = []
        for members in mine.values():
            number = sum(len(self.heads[c]) for c in members)
            total = sum(mass for c in members for _, mass in self.pieces[c])
            if number and total > 0:
                masses = [pair for c in members for pair in met[c].mass.items()]
                parts.append((number, total, masses, sum(observed[c] for c in members)))

        def value(w: float) -> float:
            return sum(
                w * sign * o - n * math.log1p(sum(m * (_exp(sign * w * v) - 1) for v, m in masses) / total)
                for n, total, masses, o in parts
            )

        def slope(w: float) -> float:
            return sum(
                sign * o
                - n
                * sum(m * sign * v * _exp(sign * w * v) for v, m in masses)
                / (total + sum(m * (_exp(sign * w * v) - 1) for v, m in masses))
                for n, total, masses, o in parts
            )

        return value(_where_it_falls_to_zero(slope, self.largest))

    # ---- all rules

    def judged(self) -> list[Judged]:
        """Every rule of the grammar."""
        signs = self.options.get("signs", (1,))
        return [self.judge(names, matrix, sign) for names, matrix in bodies(self.options) for sign in signs]


@dataclass(frozen=True)
class Verdict:
    """The best value of rules that surely pass, and of those that pass or nearly do (by rounding, one could)."""

    least: float
    most: float
    judged: Mapping[Identity, Judged]

    def confirms(self, value: float | None) -> bool:
        """Whether a search may say that the best rule has this value (None: that no rule passes)."""
        claimed = 0.0 if value is None else value
        room = UNSURE * (1 + abs(claimed))
        return self.least - room <= claimed <= self.most + room


def verdict(search: SlowSearch) -> Verdict:
    """Which value the best rule that passes has, over the whole grammar; 0 where none passes."""
    judged = search.judged()
    sure = [one.value for one in judged if one.margin > UNSURE and one.value > 0]
    possible = [one.value for one in judged if one.margin > -UNSURE and one.value > 0]
    return Verdict(max(sure, default=0.0), max(possible, default=0.0), {one.identity: one for one in judged})


def bodies(options: Mapping[str, Any]) -> tuple[Body, ...]:
    """Every body of the grammar with these keyword arguments."""
    return _bodies(tuple(sorted(options.items())))


@lru_cache(maxsize=256)
def _bodies(options: tuple[tuple[str, Any], ...]) -> tuple[Body, ...]:
    return tuple(reference_rules.all_bodies(dict(options)))


# ---- description length, spelling by spelling


def description_length(
    options: Mapping[str, Any], names: Sequence[str], matrix: reference_rules.Matrix, kernels: int = 1
) -> float:
    """Nats to name a rule: its length, its predicates in a list, its relations, its sign, its kernel (design 6)."""
    signs = len(options.get("signs", (1,)))
    lengths = len(_lengths(tuple(sorted(options.items()))))
    lists = _lists(tuple(sorted(options.items())), len(names))
    common = math.log(lengths) + math.log(lists) + math.log(signs) + math.log(kernels)
    if options.get("partial_orders", False):
        return common + reference_rules.relation_nats(options, names, matrix)
    timed = sum(name not in options.get("statics", ()) for name in names)
    steps = max(0, timed - max(1, len(options.get("prefix", ()))))
    return common + steps * math.log(len(options.get("relations", ("before", "equal"))))


@lru_cache(maxsize=4096)
def _lists(options: tuple[tuple[str, Any], ...], length: int) -> int:
    """Lists of `length` predicates that begin with the prefix, hold what is required, and repeat nothing static."""
    given = dict(options)
    prefix, statics = given.get("prefix", ()), given.get("statics", ())
    library = [name for name in given["body"] if name not in given.get("forbidden", ())]
    total = 0
    for names in itertools.product(library, repeat=length):
        twice = [name for name in names if names.count(name) > 1]
        total += (
            names[: len(prefix)] == tuple(prefix)
            and all(name in names for name in given.get("required", ()))
            and (not twice or (given.get("repeats", False) and not any(name in statics for name in twice)))
        )
    return total


@lru_cache(maxsize=4096)
def _lengths(options: tuple[tuple[str, Any], ...]) -> list[int]:
    """Lengths for which there is a list of predicates at all."""
    given = dict(options)
    lengths = [given["length"]] if given.get("length") is not None else None
    stated = lengths or list(range(given.get("min_length", 1), given["max_length"] + 1))
    return [length for length in stated if _lists(options, length) > 0]


# ---- small numerics


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _where_it_falls_to_zero(slope: Any, largest: float) -> float:
    """The place in [0, largest] where a falling function changes sign, by halving; an end where it does not."""
    if not slope(0.0) > 0:
        return 0.0
    if slope(largest) >= 0:
        return largest
    low, high = 0.0, largest
    for _ in range(60):  # 10 / 2^60 is below the spacing of doubles near the result
        middle = 0.5 * (low + high)
        if slope(middle) > 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
