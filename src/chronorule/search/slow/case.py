"""One search written out: entities as lists of times, the λ in force, the grammar, and what a rule must do to pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from chronorule.search.slow.bodies import Options
from chronorule.search.slow.relations import Body, Identity

ROUNDINGS = 1e-14  # of the largest time: what falls on the end of a window or a span counts (design 3)


@dataclass(frozen=True)
class Entity:
    """What happened to one entity, and when its head could happen."""

    events: Mapping[str, tuple[float, ...]]  # times of each predicate; what has no time stands at minus infinity
    heads: tuple[float, ...]  # that count
    exposure: tuple[tuple[float, float], ...]  # (start, stop]
    start: float  # of the period
    group: int
    multiplier: float = 1.0  # posterior mean of its frailty

    @cached_property
    def rounding(self) -> float:
        """How far a difference of two times may be from what is meant: ticks of 0.1 are no binary numbers."""
        times = [abs(time) for some in self.events.values() for time in some if time > -math.inf]
        return ROUNDINGS * max(times, default=0.0)


@dataclass(frozen=True, kw_only=True)
class Case:
    """λ = multiplier · exp(baseline + Σ signed weight · φ) of the rules in force, and which rule is looked for."""

    entities: tuple[Entity, ...]
    options: Options
    rules: tuple[tuple[Body, float], ...] = ()  # in force, with their signed weights
    baseline: tuple[float, ...] = (0.0,)  # log-rate from each cut to the next
    cuts: tuple[float, ...] = ()  # in time since the period's start
    count: bool = False  # φ counts matches; else it tells whether there is one
    width: float = math.inf  # of a window
    decay: float = 0.0  # rate
    span: float = math.inf  # of the longest match
    penalty: float = 0.0  # λ0, on a weight for each predicate
    largest: float = 10.0  # weight
    objective: str = "gain"
    stop: str = "evidence"
    settled: float = 0.0  # with "optimal", what is no more than the slope that λ may have left
    alpha: float = 0.05
    min_support: int = 5
    within: bool = False
    ends_own_exposure: bool = False  # the head does, so that it cannot be compared within an entity
    kernels: int = 1  # tried
    taken: frozenset[tuple[Identity, int]] = frozenset()  # bodies with their signs that are not to be found again
