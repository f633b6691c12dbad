"""Sets of rules by their refitted objective: what dropping and polishing compare."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from chronorule.master import Start
from chronorule.model.study import Fit, Study
from chronorule.rules import Rule
from chronorule.rules.description import description_length
from chronorule.search.base import Subproblem, Task


@dataclass(frozen=True, eq=False)
class Weighing:
    """Fits of sets of rules. The fit of a set begins cold, so it depends on nothing but the set."""

    study: Study
    task: Task
    given: frozenset[Rule]  # named by a person: charged no description, and kept
    contenders: dict[frozenset[Rule], tuple[Rule, ...]] = field(default_factory=dict, repr=False)  # by rules in hand
    _objectives: dict[frozenset[Rule], float] = field(default_factory=dict, repr=False)

    def fit(self, rules: Iterable[Rule]) -> Fit:
        """The rules weighed together."""
        fit = self.study.fit(_in_order(rules))
        self._objectives[frozenset(fit.rules)] = fit.solution.objective
        return fit

    def objective(self, rules: Iterable[Rule]) -> float:
        """−ℓ + λ0 Σ c_f w_f of the rules weighed together; found once for each set."""
        chosen = frozenset(rules)
        if chosen not in self._objectives:
            self.fit(chosen)
        return self._objectives[chosen]

    def standing(self, rules: Iterable[Rule]) -> float:
        """What exchanging rules lowers: the objective, and how unlike in length the rules are."""
        chosen = frozenset(rules)
        return self.objective(chosen) + self.unlikeness(chosen)

    def unlikeness(self, rules: Iterable[Rule]) -> float:
        """How unlike in length rules are: nats of their lengths in the adaptive code of Krichevsky and Trofimov.

        One body with a predicate less often explains the log nearly as well, and then the likelihood cannot tell which
        is true. Lengths are alike within many models: the code learns that from the other rules, and where their
        lengths differ it asks next to nothing.
        """
        allowed = self.task.grammar.lengths
        counts = Counter(rule.length for rule in rules if rule.length in allowed)
        log_chance = math.lgamma(len(allowed) / 2) - math.lgamma(len(allowed) / 2 + counts.total())
        return -log_chance - sum(math.lgamma(0.5 + count) - math.lgamma(0.5) for count in counts.values())

    def objectives_with(self, fit: Fit, rules: Sequence[Rule]) -> list[float]:
        """The same for the rules of a fit and one more, for each of several."""
        return self._near(fit, [frozenset(fit.rules) | {rule} for rule in rules])

    def objectives_without(self, fit: Fit, rules: Sequence[Rule]) -> list[float]:
        """The same for the rules of a fit but one, for each of several."""
        return self._near(fit, [frozenset(fit.rules) - {rule} for rule in rules])

    def _near(self, fit: Fit, sets: Sequence[frozenset[Rule]]) -> list[float]:
        """Objectives of sets that differ little from a fit, from which they begin: it saves half of the steps."""
        weight = dict(zip(fit.rules, fit.solution.weights.tolist(), strict=True))

        def some(begin: int, end: int) -> None:
            for rules in sets[begin:end]:
                if rules not in self._objectives:
                    ordered = _in_order(rules)
                    weights = np.array([weight.get(rule, 0.0) for rule in ordered])
                    start = Start(weights, fit.solution.baseline, fit.solution.variance)
                    self._objectives[rules] = self.study.fit(ordered, start).solution.objective

        self.study.threads.over(len(sets), some, smallest=1)
        return [self._objectives[rules] for rules in sets]

    def needed(self, rule: Rule) -> float:
        """What a rule must gain to pass: its description length and log(1/α); nothing where it was given."""
        charged = self.task.charged
        if rule in self.given or charged is None:
            return 0.0
        return description_length(rule, charged, self.task.kernels) + self.task.needed

    def subproblem(self, fit: Fit, task: Task) -> Subproblem:
        """The search for one more rule at the λ of a fit."""

        def reweigh(rules: Sequence[Rule]) -> Sequence[float]:
            together = self.fit({*fit.rules, *rules})
            weight = dict(zip(together.rules, together.solution.weights.tolist(), strict=True))
            return [weight[rule] for rule in rules]

        return Subproblem(task, self.study.oracle(fit), reweigh)


def _in_order(rules: Iterable[Rule]) -> list[Rule]:
    return sorted(rules, key=lambda rule: (rule.length, rule.key))
