"""Sets of rules by their refitted objective: what dropping and polishing compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from chronorule.model.study import Fit, Study
from chronorule.rules import Rule
from chronorule.rules.description import description_length
from chronorule.search.base import Subproblem, Task


@dataclass(frozen=True, eq=False)
class Weighing:
    """Fits of sets of rules. A fit begins cold and in one order of the rules, so it depends on nothing but the set."""

    study: Study
    task: Task
    given: frozenset[Rule]  # named by a person: charged no description, and kept
    _objectives: dict[frozenset[Rule], float] = field(default_factory=dict, repr=False)

    def fit(self, rules: Iterable[Rule]) -> Fit:
        """The rules weighed together."""
        ordered = sorted(rules, key=lambda rule: (rule.length, rule.key))
        fit = self.study.fit(tuple(ordered))
        self._objectives[frozenset(fit.rules)] = fit.solution.objective
        return fit

    def objective(self, rules: Iterable[Rule]) -> float:
        """−ℓ + λ0 Σ c_f w_f of the rules weighed together; found once for each set."""
        chosen = frozenset(rules)
        if chosen not in self._objectives:
            self.fit(chosen)
        return self._objectives[chosen]

    def objectives(self, sets: Sequence[frozenset[Rule]]) -> list[float]:
        """The same for several sets at a time."""
        self.study.threads.over(len(sets), lambda begin, end: [self.objective(x) for x in sets[begin:end]], smallest=1)
        return [self.objective(x) for x in sets]

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
