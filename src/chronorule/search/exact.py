"""Branch and bound: the best rule of a grammar, with the proof that there is none better (design 7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chronorule.errors import OptionError
from chronorule.search.base import UNLIMITED, Budget, Clock, Outcome, Subproblem, Watcher
from chronorule.search.chains import ChainTree
from chronorule.search.keeper import Keeper
from chronorule.search.nodes import Nodes

NODES_AT_ONCE = 256
NUMBERS_AT_ONCE = 1 << 21  # of the sums of one batch, 16 MiB
BEAM = 32  # nodes kept a level while looking for a first incumbent


@dataclass(frozen=True)
class ExactSearch:
    """Depth-first branch and bound from the incumbent of a beam; stopped by its budget, it still has a bound.

    Memory stays bounded: one block of open nodes for each level, each grown from `NUMBERS_AT_ONCE` numbers.
    """

    def run(self, problem: Subproblem, budget: Budget = UNLIMITED, watch: Watcher | None = None) -> Outcome:
        """The best rule of the task's grammar that passes."""
        grammar = problem.task.grammar
        if grammar.partial_orders:
            raise OptionError(
                "Exact search covers chains, not partial orders; leave partial_orders out of the grammar."
            )
        clock, keeper = Clock(problem, budget), Keeper(problem)
        trees = [ChainTree(problem, sign) for sign in grammar.signs] if grammar.lengths else []
        left = [tree.root() for tree in trees]
        for place, tree in enumerate(trees):
            _dive(tree, left[place], keeper, clock)
        for place, tree in enumerate(trees):
            unseen = _search(tree, left[place], keeper, clock, watch, left[place + 1 :])
            if unseen is not None:
                bounds = [float(block.bound.max()) for block in (*unseen, *left[place + 1 :])]
                return keeper.outcome(clock, max(bounds))
        return keeper.outcome(clock, optimal=True)


def _search(
    tree: ChainTree, root: Nodes, keeper: Keeper, clock: Clock, watch: Watcher | None, later: list[Nodes]
) -> list[Nodes] | None:
    """Look at everything below the root that can pass and beat the incumbent; what was not looked at, if any."""
    stack = [root]
    while stack:
        if clock.spent:
            return stack
        block = stack.pop()
        keep = np.flatnonzero(block.bound > keeper.value)
        if len(keep) == 0:
            continue
        fits = np.cumsum(tree.room(block)[keep[::-1]]) <= NUMBERS_AT_ONCE
        size = max(1, min(int(fits.sum()), NODES_AT_ONCE, clock.nodes_left))
        if len(keep) > size:  # the best bounds stand at the end
            stack.append(block.take(keep[:-size]))
        some = block.take(keep[-size:])
        clock.nodes += len(some)
        grown = tree.expand(some, keeper)
        if len(grown):
            stack.append(grown.by_bound())
        keeper.report(clock, max((float(block.bound.max()) for block in (*stack, *later)), default=keeper.value), watch)
    return None


def _dive(tree: ChainTree, root: Nodes, keeper: Keeper, clock: Clock) -> None:
    """A beam over the levels, for a first incumbent: the more that is, the less there is to look at."""
    level = root
    while len(level) and not clock.spent:
        clock.nodes += len(level)
        grown = tree.expand(level, keeper)
        level = grown.take(np.sort(np.argsort(-grown.bound, kind="stable")[:BEAM]))
