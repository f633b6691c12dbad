"""Every rule of the grammar, shorter ones first: slow and sure, for small grammars."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from chronorule.rules.enumeration import enumerate_rules
from chronorule.search.ask_tell import AskTellSearch, Float64, Proposal, Proposer
from chronorule.search.base import Subproblem
from chronorule.search.pieces import ADDITIONS_AT_ONCE, ADDITIONS_PER_MATCH

FEWEST_AT_ONCE = 64  # rules, for one thread to price


@dataclass(frozen=True)
class BruteSearch(AskTellSearch):
    """All rules of length 1, then 2, and so on; complete, it proves what it found."""

    at_once: int = 4096

    def begin(self, problem: Subproblem) -> Proposer:
        """From the shortest rule on."""
        events = max(1, problem.oracle.grounding.log.n_events)
        in_time = ADDITIONS_AT_ONCE // (ADDITIONS_PER_MATCH * events)
        return _Enumeration(problem, min(self.at_once, max(FEWEST_AT_ONCE, in_time)))


class _Enumeration:
    complete = True

    def __init__(self, problem: Subproblem, at_once: int) -> None:
        self._rules = enumerate_rules(problem.task.grammar, problem.task.head)
        self._at_once = at_once

    def ask(self) -> Proposal | None:
        some = list(islice(self._rules, self._at_once))
        return Proposal(some) if some else None

    def tell(self, proposal: Proposal, values: Float64, weights: Float64 | None) -> None:
        """What was found does not change what comes next."""
