"""Branch and bound: the best rule of a grammar, with the proof that there is none better (design 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chronorule.search.base import UNLIMITED, Budget, Clock, Outcome, Subproblem, Watcher
from chronorule.search.chains import ChainTree
from chronorule.search.keeper import Keeper
from chronorule.search.nodes import Bodied, Nodes
from chronorule.search.orders import OrderTree
from chronorule.search.pieces import More

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
        clock, keeper, grammar = Clock(problem, budget), Keeper(problem), problem.task.grammar
        if not grammar.lengths:
            return keeper.outcome(clock, optimal=True)
        if grammar.partial_orders:
            return _run(lambda sign: OrderTree(problem, sign), grammar.signs, keeper, clock, watch)
        return _run(lambda sign: ChainTree(problem, sign), grammar.signs, keeper, clock, watch)


class Tree(Protocol[Bodied]):
    """What is walked: nodes, each with a bound on all rules below it."""

    def root(self) -> Nodes[Bodied]:
        """Above every rule."""
        ...

    def room(self, some: Nodes[Bodied]) -> Int64:
        """How many numbers the expansion of each node takes, at most."""
        ...

    def expand(self, some: Nodes[Bodied], keeper: Keeper, more: More) -> tuple[Nodes[Bodied], int]:
        """Offer the children that are rules; the children below which a better one may be.

        Also answered is how many of the nodes this was done for: all, unless `more`, asked now and then, said no.
        """
        ...


def _run(
    plant: Callable[[int], Tree[Bodied]],
    signs: Sequence[int],
    keeper: Keeper,
    clock: Clock,
    watch: Watcher | None,
) -> Outcome:
    """One tree after the other, the first incumbent from all of them."""
    trees: list[Tree[Bodied]] = []
    for sign in signs:
        if trees and clock.spent:  # and so without a bound on the rules of that sign
            return keeper.outcome(clock)
        trees.append(plant(sign))
    left = [tree.root() for tree in trees]
    for place, tree in enumerate(trees):
        _dive(tree, left[place], keeper, clock, watch, left)
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
    stack: list[Nodes[Bodied]] = [root]
    some = root.head(0)

    def more() -> bool:
        if watch is not None:
            keeper.report(clock, max(_greatest(stack + later, keeper.value), float(some.bound.max())), watch)
        return not clock.spent

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
        grown, done = tree.expand(some, keeper, more)
        clock.nodes += done
        some = some.take(np.arange(done, len(some)))
        stack += [nodes for nodes in (some, grown.by_bound()) if len(nodes)]
        if watch is not None:
            keeper.report(clock, _greatest(stack + later, keeper.value), watch)
    return None


def _dive(
    tree: Tree[Bodied],
    root: Nodes[Bodied],
    keeper: Keeper,
    clock: Clock,
    watch: Watcher | None,
    roots: list[Nodes[Bodied]],
) -> None:
    """A beam over the levels, for a first incumbent: the more that is, the less there is to look at."""

    def more() -> bool:
        keeper.report(clock, _greatest(roots, keeper.value), watch)
        return not clock.spent

    level = root
    while len(level) and more():
        grown, done = tree.expand(level, keeper, more)
        clock.nodes += done
        if done < len(level):
            return
        best = np.argsort(-grown.bound, kind="stable")[: min(BEAM, clock.nodes_left)]
        fits = int((np.cumsum(tree.room(grown)[best]) <= NUMBERS_AT_ONCE).sum())
        level = grown.take(np.sort(best[: max(1, fits)]))


def _greatest(blocks: Sequence[Nodes[Bodied]], least: float) -> float:
    """The largest bound of the blocks' nodes."""
    return max((float(block.bound.max()) for block in blocks), default=least)
