"""What every search is given and what it answers (design 7 to 9).

A search answers a `Subproblem`: the best rule of a grammar at the λ in force. It never sees the log: it asks the oracle
for the values of rules, or of bounds, and of a set of rules for the weights that they would get together.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Literal, Protocol

from chronorule.errors import OptionError
from chronorule.events import Head
from chronorule.grounding import MOST_CLASSES, MOST_UNORDERED_CLASSES
from chronorule.master import SETTLED
from chronorule.pricing import Evidence, Objective, Oracle
from chronorule.rules import Rule
from chronorule.rules.grammar import Grammar

Stop = Literal["evidence", "optimal"]


@dataclass(frozen=True)
class Task:
    """Which rule is looked for: the best of a grammar under an objective, among those that pass.

    With stop "evidence" a rule passes while its gain exceeds its description length by log(1/α), in enough groups and
    not by one of them alone (design 6). With "optimal", the paper's stopping, every rule of objective above 0 passes,
    by more than the slope to which λ is settled, `SETTLED` for each of the `heads`: below that, values are rounding.
    """

    head: str
    grammar: Grammar  # resolved for the log
    objective: Objective = "gain"
    stop: Stop = "evidence"
    alpha: float = 0.05
    min_support: int = 5
    within: bool = False
    kernels: int = 1  # tried in all: each costs description
    taken: frozenset[Rule] = frozenset()  # rules already in the model: not to be found again
    runners_up: int = 10  # how many of the best rules by worth that do not win are answered too,
    contenders: int = 64  # and how many of the best by the objective, whether they pass or not
    random_state: int = 0
    heads: int = 0  # within the exposure

    def __post_init__(self) -> None:
        if not (_is_number(self.alpha) and 0 < self.alpha < 1):
            raise OptionError(f"alpha={self.alpha!r} is no chance of a false discovery; give a number between 0 and 1.")
        if self.stop not in ("evidence", "optimal"):
            raise OptionError(f"stop={self.stop!r} is unknown; choose 'evidence' or 'optimal'.")
        if self.objective not in ("gain", "gradient", "worth"):
            raise OptionError(f"objective={self.objective!r} is unknown; choose 'gain', 'gradient' or 'worth'.")
        for name, least in (("min_support", 0), ("kernels", 1), ("runners_up", 0), ("heads", 0)):
            value = getattr(self, name)
            if not (_is_number(value) and value >= least and value % 1 == 0):
                raise OptionError(f"{name}={value!r} is no count; give a whole number, {least} or more.")
        wrong = next((rule for rule in self.taken if not isinstance(rule, Rule)), None)
        if wrong is not None:
            raise OptionError(f"taken holds {wrong!r}, which is no rule; read it with parse_rule.")

    @property
    def needed(self) -> float:
        """What gain less description length must exceed ("evidence"), or the objective ("optimal")."""
        return math.log(1 / self.alpha) if self.stop == "evidence" else SETTLED * self.heads

    @property
    def charged(self) -> Grammar | None:
        """The grammar in which naming a rule is charged; None where nothing is."""
        return self.grammar if self.stop == "evidence" or self.objective == "worth" else None

    def value(self, evidence: Evidence) -> float:
        """The objective of a rule."""
        return {"gain": evidence.gain, "gradient": evidence.reward, "worth": evidence.worth}[self.objective]

    def admits(self, evidence: Evidence) -> bool:
        """Whether a rule passes."""
        if evidence.rule in self.taken:
            return False
        if self.stop == "optimal":
            return self.value(evidence) > self.needed
        return not evidence.objections(self.alpha, self.min_support, self.within)


@dataclass(frozen=True)
class Budget:
    """When to stop early; None for no limit. `stop` is asked now and then: True ends the search with what it has."""

    seconds: float | None = None
    evaluations: int | None = None
    nodes: int | None = None
    stop: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "evaluations", "nodes"):
            limit = getattr(self, name)
            if limit is not None and (not _is_number(limit) or math.isnan(limit)):
                raise OptionError(f"{name}={limit!r} is no limit; give a number, or None for no limit.")
        if self.stop is not None and not callable(self.stop):
            raise OptionError(f"stop={self.stop!r} cannot be asked; give a function that says whether to stop.")


UNLIMITED = Budget()


@dataclass(frozen=True)
class Progress:
    """What a search knows on its way."""

    nodes: int
    evaluations: int
    seconds: float
    incumbent: Rule | None
    value: float  # of the objective at the incumbent
    bound: float  # no rule of the grammar has more; infinite where the search has no bound


Watcher = Callable[[Progress], None]


@dataclass(frozen=True)
class Certificate:
    """How much is proved: no rule of the grammar passes and has an objective above `bound`."""

    optimal: bool
    objective: Objective
    incumbent: float  # objective of the best rule that passes; 0 without one
    bound: float
    nodes: int
    evaluations: int
    seconds: float
    grammar: str

    @property
    def gap(self) -> float:
        """How far the best rule may be from the best there is, as a share of the bound."""
        if self.optimal or self.bound <= 0:
            return 0.0
        return 1.0 if math.isinf(self.bound) else (self.bound - self.incumbent) / self.bound

    def __str__(self) -> str:
        work = f"{self.nodes:,} nodes, {self.evaluations:,} rules priced, {self.seconds:.2f} s"
        if self.optimal and self.incumbent <= 0:
            return f"certified: no rule of the grammar passes ({work})"
        if self.optimal:
            return f"certified: no rule of the grammar passes and has a higher {self.objective} ({work})"
        if math.isinf(self.bound):
            return f"no proof: the best {self.objective} found is {self.incumbent:.2f} ({work})"
        return (
            f"stopped early: the best {self.objective} is {self.incumbent:.2f}, none is above {self.bound:.2f}, "
            f"a gap of {100 * self.gap:.0f} % ({work})"
        )


@dataclass(frozen=True)
class Outcome:
    """The rules found that pass (most searches look for one), the best that do not win, and what is proved."""

    found: tuple[Evidence, ...]
    runners_up: tuple[Evidence, ...]  # by gain less description length, whether they pass or not
    certificate: Certificate
    contenders: tuple[Rule, ...] = ()  # the best by the objective of those that were priced, whether they pass or not

    @property
    def best(self) -> Evidence | None:
        """The best rule that passes."""
        return self.found[0] if self.found else None


def refuse_within(head: Head) -> None:
    """Refuse heads that cannot be compared within an entity, since they end their own exposure (design 6)."""
    if head.ends_own_exposure:
        raise OptionError(
            f"within=True cannot be used for '{head.name}': a head that is terminal or reset ends its own exposure, so "
            "that compared within an entity rules seem to say when it comes even where none does; leave within out."
        )


@dataclass(frozen=True)
class Subproblem:
    """A task at the λ in force. `reweigh` tells the weights that rules would get beside those of the model."""

    task: Task
    oracle: Oracle
    reweigh: Callable[[Sequence[Rule]], Sequence[float]]

    def __post_init__(self) -> None:
        log, head = self.oracle.grounding.log, self.oracle.exposure.head
        if self.task.head != head.name:
            raise OptionError(f"The task is about '{self.task.head}', but the prices are those of '{head.name}'.")
        if self.task.within:
            refuse_within(head)
        for name in self.task.grammar.library:
            if log.is_static(log.code(name)) != (name in self.task.grammar.statics):
                raise OptionError(
                    f"The grammar and the log do not agree on whether '{name}' has a time; resolve the grammar for "
                    "the log, with the statics of the log."
                )
        _refuse_long(self.task.grammar)

    def evidence(self, rule: Rule) -> Evidence:
        """All that is known for and against a rule."""
        return self.oracle.evidence(rule, self.task.charged, self.task.kernels)


def _refuse_long(grammar: Grammar) -> None:
    """Refuse grammars whose longest rules cannot be matched: by the number of instants that they can have."""
    longest = grammar.lengths.stop - 1
    instants = min(longest, 1 if "before" not in grammar.relations and not grammar.partial_orders else longest)
    if not grammar.repeats:
        instants = min(instants, len(grammar.timed))
    most = MOST_UNORDERED_CLASSES if grammar.partial_orders else MOST_CLASSES
    if instants > most:
        kind = "partial orders" if grammar.partial_orders else "chains"
        raise OptionError(
            f"Rules of up to {instants:,} predicates with a time cannot be searched, since {kind} can have {most} "
            f"instants at most; allow a length of {most} at most."
        )


class Search(Protocol):
    """A way to look for the next rule: frozen options, no state between runs."""

    def run(self, problem: Subproblem, budget: Budget = UNLIMITED, watch: Watcher | None = None) -> Outcome:
        """The best rule that passes, as far as the budget allows."""
        ...


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@dataclass
class Clock:
    """What a run has used, and whether that is all its budget allows."""

    problem: Subproblem
    budget: Budget
    nodes: int = 0
    begun: float = field(default_factory=time.perf_counter)
    evaluations_before: int = field(init=False)

    def __post_init__(self) -> None:
        self.evaluations_before = self.problem.oracle.evaluations

    @property
    def seconds(self) -> float:
        """Time since the run began."""
        return time.perf_counter() - self.begun

    @property
    def evaluations(self) -> int:
        """Rules priced since the run began."""
        return self.problem.oracle.evaluations - self.evaluations_before

    @property
    def nodes_left(self) -> int:
        """How many more nodes the budget allows, as far as it says."""
        return sys.maxsize if self.budget.nodes is None else max(0, self.budget.nodes - self.nodes)

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        budget = self.budget
        return (
            (budget.seconds is not None and self.seconds >= budget.seconds)
            or (budget.evaluations is not None and self.evaluations >= budget.evaluations)
            or (budget.nodes is not None and self.nodes >= budget.nodes)
            or (budget.stop is not None and budget.stop())
        )
