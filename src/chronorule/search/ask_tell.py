"""Searches that propose rules and are told what these are worth: one loop drives them all (design 9)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chronorule.rules import Rule
from chronorule.rules.description import description_length
from chronorule.search.base import UNLIMITED, Budget, Clock, Outcome, Subproblem, Watcher
from chronorule.search.keeper import Keeper

Float64 = NDArray[np.float64]


@dataclass(frozen=True)
class Proposal:
    """Candidate rules; with `jointly` also the weights are told that they would get together beside the model."""

    rules: Sequence[Rule]
    jointly: bool = False


class Proposer(Protocol):
    """The state of one run: what to try next, in the light of what was told."""

    complete: bool  # whether every rule of the grammar has been proposed once `ask` answers None

    def ask(self) -> Proposal | None:
        """The next candidates, rules of the grammar; None ends the run."""
        ...

    def tell(self, proposal: Proposal, values: Float64, weights: Float64 | None) -> None:
        """The objective of each candidate, and its weight where the proposal asked for that."""
        ...


class AskTellSearch(ABC):
    """A search made of a proposer: priced by the same oracle and counted by the same counter as all others."""

    @abstractmethod
    def begin(self, problem: Subproblem) -> Proposer:
        """The state in which a run begins."""

    def run(self, problem: Subproblem, budget: Budget = UNLIMITED, watch: Watcher | None = None) -> Outcome:
        """Ask, price, tell, until the proposer has nothing more or the budget is spent."""
        clock, keeper, proposer = Clock(problem, budget), Keeper(problem), self.begin(problem)
        while not clock.spent:
            proposal = proposer.ask()
            if proposal is None:
                return keeper.outcome(clock, optimal=proposer.complete)
            values, worths = price(problem, proposal.rules)
            keeper.offer(values, worths, proposal.rules.__getitem__)
            weights = np.asarray(problem.reweigh(proposal.rules)) if proposal.jointly else None
            proposer.tell(proposal, values, weights)
            keeper.report(clock, np.inf, watch)
        return keeper.outcome(clock)


def price(problem: Subproblem, rules: Sequence[Rule]) -> tuple[Float64, Float64]:
    """Objective of every rule, and what says whether it may pass: gain less description length, where that is charged.

    A rule passes by its gain whatever the objective (design 6), so with stop "evidence" and objective "gradient" each
    rule is priced twice, and counted twice.
    """
    task = problem.task
    values = problem.oracle.evaluate(rules, "gradient" if task.objective == "gradient" else "gain")
    charged = task.charged
    if charged is None:
        return values, values
    gains = problem.oracle.evaluate(rules, "gain") if task.objective == "gradient" else values
    worths = gains - np.array([description_length(rule, charged, task.kernels) for rule in rules])
    return (worths if task.objective == "worth" else values), worths
