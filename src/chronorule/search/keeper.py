"""The best rules of a run so far: the incumbent, which passes, and the runners-up, which need not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from chronorule.pricing import Evidence
from chronorule.rules import Rule
from chronorule.search.base import Certificate, Clock, Outcome, Progress, Subproblem, Watcher

Float64 = NDArray[np.float64]


class Keeper:
    """Takes priced rules in; only those that could win or be runners-up are written down and looked at closely."""

    def __init__(self, problem: Subproblem) -> None:
        self.problem = problem
        self.best: Evidence | None = None
        self.value = 0.0  # of the objective at `best`
        self._runners_up: list[tuple[float, int, str, Rule]] = []  # (−worth, length, key, rule), the best first
        self._refused: set[Rule] = set()

    def may_matter(self, values: Float64, worths: Float64) -> NDArray[np.bool_]:
        """Which rules, priced so or at most so, could win or be runners-up."""
        least = self._runners_up[-1][0] if len(self._runners_up) >= self.problem.task.runners_up else math.inf
        winning = (values > self.value) & (worths > self.problem.task.needed)
        return np.asarray(winning | ((values > 0) & (-worths < least)))

    def offer(self, values: Float64, worths: Float64, rule_at: Callable[[int], Rule]) -> None:
        """Rules by their objective and their gain less description length; `rule_at` writes one of them down."""
        task = self.problem.task
        for place in np.argsort(-worths, kind="stable")[: task.runners_up + len(task.taken)].tolist():
            full = len(self._runners_up) >= task.runners_up
            if values[place] <= 0 or (full and -worths[place] >= self._runners_up[-1][0]):
                break
            rule = rule_at(place)
            if rule in task.taken or any(rule == other for *_, other in self._runners_up):
                continue
            self._runners_up.append((-float(worths[place]), rule.length, rule.key, rule))
            self._runners_up = sorted(self._runners_up, key=lambda item: item[:3])[: task.runners_up]
        passing = np.flatnonzero((values > self.value) & (worths > task.needed))
        for place in passing[np.argsort(-values[passing], kind="stable")].tolist():
            if values[place] <= self.value:
                break
            rule = rule_at(place)
            if rule in self._refused or rule in task.taken:
                continue
            evidence = self.problem.evidence(rule)
            if task.admits(evidence):
                self.best, self.value = evidence, float(values[place])
            else:
                self._refused.add(rule)

    def report(self, clock: Clock, bound: float, watch: Watcher | None) -> None:
        """Tell a watcher how things stand."""
        if watch is not None:
            rule = None if self.best is None else self.best.rule
            watch(Progress(clock.nodes, clock.evaluations, clock.seconds, rule, self.value, max(bound, self.value)))

    def outcome(self, clock: Clock, bound: float = math.inf, optimal: bool = False) -> Outcome:
        """What was found; `bound` on everything that was not looked at, and `optimal` where nothing was left out."""
        certificate = Certificate(
            optimal=optimal,
            objective=self.problem.task.objective,
            incumbent=self.value,
            bound=self.value if optimal else max(bound, self.value),
            nodes=clock.nodes,
            evaluations=clock.evaluations,
            seconds=clock.seconds,
            grammar=str(self.problem.task.grammar),
        )
        best = None if self.best is None else self.best.rule
        others = tuple(self.problem.evidence(rule) for *_, rule in self._runners_up if rule != best)
        return Outcome(() if self.best is None else (self.best,), others, certificate)
