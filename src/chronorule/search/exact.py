"""Branch and bound: the best rule of a grammar, with the proof that there is none better (design 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chronorule.search.base import UNLIMITED, Budget, Clock, Outcome, Subproblem, Watcher
from chronorule.search.chains import ChainTree
from chronorule.search.keeper import Keeper
from chronorule.search.nodes import Bodied, Nodes
from chronorule.search.orders import OrderTree

Int64 = NDArray[np.int64]

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
        if not grammar.lengths:
            return Keeper(problem).outcome(Clock(problem, budget), optimal=True)
        if grammar.partial_orders:
            return _run([OrderTree(problem, sign) for sign in grammar.signs], problem, budget, watch)
        return _run([ChainTree(problem, sign) for sign in grammar.signs], problem, budget, watch)


class Tree(Protocol[Bodied]):
    """What is walked: nodes, each with a bound on all rules below it."""

    def root(self) -> Nodes[Bodied]:
        """Above every rule."""
        ...

    def room(self, some: Nodes[Bodied]) -> Int64:
        """How many numbers the expansion of each node takes, at most."""
        ...

    def expand(self, some: Nodes[Bodied], keeper: Keeper) -> Nodes[Bodied]:
        """Offer the children that are rules; the children below which a better one may be."""
        ...


def _run(trees: Sequence[Tree[Bodied]], problem: Subproblem, budget: Budget, watch: Watcher | None) -> Outcome:
    """One tree after the other, the first incumbent from all of them."""
    clock, keeper = Clock(problem, budget), Keeper(problem)
    left = [tree.root() for tree in trees]
    for place, tree in enumerate(trees):
        _dive(tree, left[place], keeper, clock)
    for place, tree in enumerate(trees):
        unseen = _search(tree, left[place], keeper, clock, watch, left[place + 1 :])
        if unseen is not None:
            return keeper.outcome(clock, _greatest(unseen + left[place + 1 :], keeper.value))
    return keeper.outcome(clock, optimal=True)


def _search(
    tree: Tree[Bodied],
    root: Nodes[Bodied],
    keeper: Keeper,
    clock: Clock,
    watch: Watcher | None,
    later: list[Nodes[Bodied]],
) -> list[Nodes[Bodied]] | None:
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
        if watch is not None:
            keeper.report(clock, _greatest(stack + later, keeper.value), watch)
    return None


def _dive(tree: Tree[Bodied], root: Nodes[Bodied], keeper: Keeper, clock: Clock) -> None:
    """A beam over the levels, for a first incumbent: the more that is, the less there is to look at."""
    level = root
    while len(level) and not clock.spent:
        clock.nodes += len(level)
        grown = tree.expand(level, keeper)
        best = np.argsort(-grown.bound, kind="stable")[: min(BEAM, clock.nodes_left)]
        fits = int((np.cumsum(tree.room(grown)[best]) <= NUMBERS_AT_ONCE).sum())
        level = grown.take(np.sort(best[: max(1, fits)]))


def _greatest(blocks: Sequence[Nodes[Bodied]], least: float) -> float:
    """The largest bound of the blocks' nodes."""
    return max((float(block.bound.max()) for block in blocks), default=least)
