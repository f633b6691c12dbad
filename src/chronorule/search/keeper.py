"""The best rules of a run so far: the incumbent, which passes, and others, which need not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from chronorule.pricing import Evidence
from chronorule.rules import Rule
from chronorule.search.base import Certificate, Clock, Outcome, Progress, Subproblem, Watcher

Float64 = NDArray[np.float64]
RuleAt = Callable[[int], Rule]


class Best:
    """The best rules by some number, at most so many of them; ties go to the shorter, then to the smaller key."""

    def __init__(self, most: int, barred: frozenset[Rule]) -> None:
        self.most = most
        self.barred = barred
        self._ranked: list[tuple[float, int, str, Rule]] = []  # (−rank, length, key, rule), the best first

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, best first."""
        return tuple(rule for *_, rule in self._ranked)

    @property
    def least(self) -> float:
        """What a rule must exceed to be taken in."""
        return -self._ranked[-1][0] if len(self._ranked) >= self.most > 0 else -math.inf

    def offer(self, ranks: Float64, rule_at: RuleAt) -> None:
        """Rules by rank; `rule_at` writes one of them down."""
        if self.most == 0:
            return
        held = set(self.rules)
        hopeful = np.flatnonzero(ranks > self.least)
        for place in hopeful[np.argsort(-ranks[hopeful], kind="stable")][: self.most + len(self.barred)].tolist():
            if ranks[place] <= self.least:
                break
            rule = rule_at(place)
            if rule in self.barred or rule in held:
                continue
            held.add(rule)
            self._ranked.append((-float(ranks[place]), rule.length, rule.key, rule))
            self._ranked = sorted(self._ranked, key=lambda item: item[:3])[: self.most]


class Keeper:
    """Takes priced rules in; only those that could matter are written down and looked at closely."""

    def __init__(self, problem: Subproblem) -> None:
        task = problem.task
        self.problem = problem
        self.best: Evidence | None = None
        self.value = 0.0  # of the objective at `best`
        self._runners_up = Best(task.runners_up, task.taken)
        self._contenders = Best(task.contenders, task.taken)
        self._refused: set[Rule] = set()

    def may_matter(self, values: Float64, worths: Float64) -> NDArray[np.bool_]:
        """Which rules, priced so or at most so, could win or be among the best that do not."""
        winning = (values > self.value) & (worths > self.problem.task.needed)
        others = (worths > self._runners_up.least) | (values > self._contenders.least)
        return np.asarray(winning | ((values > 0) & others))

    def offer(self, values: Float64, worths: Float64, rule_at: RuleAt) -> None:
        """Rules by their objective and their gain less description length; `rule_at` writes one of them down."""
        task = self.problem.task
        promising = values > 0
        self._runners_up.offer(np.where(promising, worths, -np.inf), rule_at)
        self._contenders.offer(np.where(promising, values, -np.inf), rule_at)
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
        others = tuple(self.problem.evidence(rule) for rule in self._runners_up.rules if rule != best)
        contenders = tuple(rule for rule in self._contenders.rules if rule != best)
        return Outcome(() if self.best is None else (self.best,), others, certificate, contenders)
