"""Branch and bound over chains: the best rule of a grammar, with the proof that there is none better (design 7)."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import OptionError
from chronorule.pricing import Evidence, Oracle, closed_form_gain
from chronorule.pricing.bounds import ChainBounds, Expansion
from chronorule.rules import Rule
from chronorule.rules.description import chain_description_lengths
from chronorule.search.base import UNLIMITED, Budget, Certificate, Outcome, Progress, Subproblem, Task, Watcher
from chronorule.search.nodes import Nodes

Flags = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

NODES_AT_ONCE = 256
NUMBERS_AT_ONCE = 1 << 22  # of the sums of one batch, 32 MiB
BEAM = 32  # nodes kept a level while looking for a first incumbent
RUNNERS_UP = 10


@dataclass(frozen=True)
class ExactSearch:
    """Depth-first branch and bound from the incumbent of a beam; stopped by its budget, it still has a bound."""

    def run(self, problem: Subproblem, budget: Budget = UNLIMITED, watch: Watcher | None = None) -> Outcome:
        """The best rule of the task's grammar that passes."""
        oracle, task = problem.oracle, problem.task
        feature = oracle.grounding.feature
        if task.grammar.partial_orders:
            raise OptionError(
                "Exact search covers chains, not partial orders; leave partial_orders out of the grammar."
            )
        if feature.kind != "exists":
            raise OptionError("Exact search covers feature='exists', not 'count'; choose feature='exists'.")
        run = _Run(oracle, task, budget, watch)
        for sign in task.grammar.signs:
            run.search(_Tree(oracle, task, sign))
        return run.outcome()


class _Tree:
    """The chains of one sign: which children the grammar opens, and what rules of a length must exceed."""

    def __init__(self, oracle: Oracle, task: Task, sign: int) -> None:
        grammar = task.grammar
        self.sign = sign
        self.grammar = grammar
        self.timed, self.static = grammar.timed, grammar.static
        self.bounds = ChainBounds(oracle, grammar, sign, task.objective)
        self.timed_codes = np.array(self.bounds.timed, np.int32)
        self.static_codes = np.array(self.bounds.static, np.int32)
        self.longest = grammar.lengths.stop - 1 if grammar.lengths else 0
        self.prefix = np.array([self.timed.index(name) for name in grammar.prefix], np.int64)
        names = [*self.timed, *self.static]
        self.required = np.zeros(len(names), np.bool_)
        for name in grammar.required:
            self.required[names.index(name)] = True
        self.conflict = np.zeros((len(names), len(names)), np.bool_)
        for one, other in grammar.forbidden_pairs:
            if one in names and other in names:
                a, b = names.index(one), names.index(other)
                self.conflict[a, b] = self.conflict[b, a] = True
        self.description = np.zeros((self.longest + 1, self.longest + 1))
        self.needed = np.zeros(self.longest + 2)  # by length, what a rule at least as long must exceed to pass
        if task.stop == "evidence":
            self.description = chain_description_lengths(grammar, task.kernels)
            least = np.minimum.accumulate(self.description.min(axis=1)[::-1])[::-1]
            self.needed = np.append(least, np.inf) + task.needed
        self.needed[-1] = np.inf

    def root(self) -> Nodes:
        return Nodes.root(max(self.longest, 1), len(self.timed), len(self.static), self.bounds.intervals)

    def open_children(self, nodes: Nodes) -> Flags:
        """Which children of each node belong to the grammar, growing each chain in one way only: [N, children]."""
        n, width = len(nodes), len(self.timed)
        every = np.arange(n)
        held = np.zeros((n, width + len(self.static)), np.bool_)
        places = np.arange(nodes.columns.shape[1])
        for row, place in zip(*np.nonzero(places < nodes.timed[:, None]), strict=True):
            held[row, nodes.columns[row, place]] = True
        for row, place in zip(*np.nonzero(places < nodes.static[:, None]), strict=True):
            held[row, width + nodes.statics[row, place]] = True
        free = ~(held.astype(np.int64) @ self.conflict > 0)
        after = nodes.open_timed & free[:, :width]
        joins = after.copy()
        if not self.grammar.repeats:
            after &= ~held[:, :width]
            joins &= ~held[:, :width]
        begun = nodes.timed > 0
        # An Equal predicate joins the last class in column order; one that the prefix put there stands apart.
        last = np.where(begun, nodes.columns[every, np.maximum(nodes.timed - 1, 0)], -1)
        alone = ~nodes.joined[every, np.maximum(nodes.timed - 1, 0)]
        fixed = begun & alone & (nodes.timed <= len(self.prefix))
        joins &= np.arange(width) > np.where(fixed, -1, last)[:, None]
        joins[fixed, last[fixed]] = False
        joins &= begun[:, None]
        for k, column in enumerate(self.prefix):
            at = nodes.timed == k
            after[at] &= np.arange(width) == column
            if k < len(self.prefix):
                joins[at] = False
        if "equal" not in self.grammar.relations:
            joins[:] = False
        if "before" not in self.grammar.relations:
            after[begun] = False
        with_statics = nodes.static > 0
        after[with_statics] = False
        joins[with_statics] = False
        newest = np.where(with_statics, nodes.statics[every, np.maximum(nodes.static - 1, 0)], -1)
        statics = nodes.open_static & free[:, width:] & (np.arange(len(self.static)) > newest[:, None])
        statics[nodes.timed < len(self.prefix)] = False
        return np.concatenate([after, joins, statics], axis=1)

    def are_rules(self, nodes: Nodes) -> Flags:
        """Which nodes are rules of the grammar themselves: long enough, and with all that is required."""
        enough = np.isin(nodes.length, np.asarray(self.grammar.lengths)) & (nodes.timed >= len(self.prefix))
        if self.required.any():
            width, places = len(self.timed), np.arange(nodes.columns.shape[1])
            for column in np.flatnonzero(self.required):
                if column < width:
                    enough &= ((nodes.columns == column) & (places < nodes.timed[:, None])).any(axis=1)
                else:
                    enough &= ((nodes.statics == column - width) & (places < nodes.static[:, None])).any(axis=1)
        return enough

    def rule(self, nodes: Nodes, row: int, head: str) -> Rule:
        return nodes.rule(row, head, self.timed, self.static, self.sign)


@dataclass
class _Run:
    """The state of one search."""

    oracle: Oracle
    task: Task
    budget: Budget
    watch: Watcher | None
    best: Evidence | None = None
    value: float = 0.0  # of the objective at `best`
    nodes: int = 0
    left: float = -np.inf  # the largest bound of what was not looked at
    begun: float = field(default_factory=time.perf_counter)
    stopped: bool = False
    near: list[tuple[float, str, Rule]] = field(default_factory=list)  # a heap of the best rules by worth

    def __post_init__(self) -> None:
        self.priced = self.oracle.evaluations

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begun

    def search(self, tree: _Tree) -> None:
        """Look at everything below the root that can pass and beat the incumbent."""
        if not self.task.grammar.lengths:
            return
        self._dive(tree)
        room = 2 + tree.bounds.intervals
        batch = int(np.clip(NUMBERS_AT_ONCE // (tree.bounds.children * room), 1, NODES_AT_ONCE))
        stack = [tree.root()]
        while stack:
            if self._spent():
                self.stopped = True
                self.left = max(self.left, *(float(block.bound.max()) for block in stack))
                return
            block = stack.pop()
            keep = np.flatnonzero(block.bound > self.value)
            if len(keep) == 0:
                continue
            if len(keep) > batch:  # the best bounds stand at the end
                stack.append(block.take(keep[:-batch]))
                keep = keep[-batch:]
            grown = self._expand(tree, block.take(keep))
            if len(grown):
                stack.append(grown.take(np.argsort(grown.bound, kind="stable")))
            if self.watch is not None:
                bound = max((float(block.bound.max()) for block in stack), default=self.value)
                self.watch(
                    Progress(
                        self.nodes,
                        self.oracle.evaluations - self.priced,
                        self.seconds,
                        self._incumbent(),
                        self.value,
                        max(bound, self.value),
                    )
                )

    def outcome(self) -> Outcome:
        """What was found and what is proved."""
        bound = max(self.value, self.left) if self.stopped else self.value
        certificate = Certificate(
            optimal=not self.stopped,
            objective=self.task.objective,
            incumbent=self.value,
            bound=bound,
            nodes=self.nodes,
            evaluations=self.oracle.evaluations - self.priced,
            seconds=self.seconds,
            grammar=str(self.task.grammar),
        )
        ranked = sorted(self.near, key=lambda item: (-item[0], item[2].length, item[1]))
        best = self._incumbent()
        runners_up = tuple(self._evidence(rule) for _, _, rule in ranked if rule != best)
        return Outcome(() if self.best is None else (self.best,), runners_up, certificate)

    def _incumbent(self) -> Rule | None:
        return None if self.best is None else self.best.rule

    def _spent(self) -> bool:
        seconds, nodes = self.budget.seconds, self.budget.nodes
        return (seconds is not None and self.seconds >= seconds) or (nodes is not None and self.nodes >= nodes)

    def _evidence(self, rule: Rule) -> Evidence:
        grammar = self.task.grammar if self.task.stop == "evidence" else None
        return self.oracle.evidence(rule, grammar, self.task.kernels)

    def _dive(self, tree: _Tree) -> None:
        """A beam over the levels, for a first incumbent: the more that is, the less there is to look at."""
        level = tree.root()
        for _ in range(tree.longest):
            if len(level) == 0 or self._spent():
                return
            grown = self._expand(tree, level)
            level = grown.take(np.argsort(-grown.bound, kind="stable")[:BEAM]) if len(grown) else grown

    def _expand(self, tree: _Tree, nodes: Nodes) -> Nodes:
        """Price the children of nodes, keep the best rule, and return the children below which a better one may be."""
        open_children = tree.open_children(nodes)
        offsets, last = nodes.last_class()
        bodies = nodes.bodies(tree.timed_codes, tree.static_codes)
        expansion = tree.bounds.expand(bodies, offsets, last, open_children, nodes.alive)
        self.nodes += len(nodes)
        length = nodes.length
        ceilings = self._ceilings(tree, nodes, expansion)  # of a child and all that is below it, by interval
        bound = ceilings.max(axis=2)
        seen = open_children & (expansion.expected > 0) | open_children & (expansion.observed > 0)
        may_pass = seen & (bound > np.maximum(tree.needed[length + 1], self.value)[:, None])
        rows, child = np.nonzero(may_pass)
        self.oracle.evaluations += int(seen.sum())
        if len(rows) == 0:
            return nodes.take(rows)
        children = nodes.children(rows, child)
        self._judge(tree, children, expansion.observed[rows, child], expansion.expected[rows, child])
        # What can be added below a child is what could be added here and still pass.
        width = len(tree.timed)
        least_below = np.maximum(tree.needed[np.minimum(length + 2, tree.longest + 1)], self.value)
        still = bound > least_below[:, None]
        needed = np.maximum(tree.needed[np.minimum(children.length + 1, tree.longest + 1)], self.value)
        below = ceilings[rows, child] > needed[:, None]
        alive = (below.astype(np.int64) << np.arange(below.shape[1])).sum(axis=1)
        open_timed, open_static = still[:, :width], still[:, 2 * width :]
        grows = (alive > 0) & (children.length < tree.longest)
        children = replace(
            children,
            open_timed=children.open_timed & self._after_statics(open_timed, nodes)[rows],
            open_static=children.open_static & open_static[rows],
            alive=alive,
            bound=bound[rows, child],
        )
        return children.take(np.flatnonzero(grows))

    @staticmethod
    def _after_statics(open_timed: Flags, nodes: Nodes) -> Flags:
        """Nothing with a time follows a static predicate."""
        return np.asarray(open_timed & (nodes.static == 0)[:, None])

    def _ceilings(self, tree: _Tree, nodes: Nodes, expansion: Expansion) -> Float64:
        charges = tree.bounds.charges(nodes.length + 1)
        intervals = np.arange(tree.bounds.intervals)
        alive = (nodes.alive[:, None] >> intervals & 1).astype(np.bool_)
        return np.where(alive[:, None, :], expansion.ceilings - charges[:, None, :], -np.inf)

    def _judge(self, tree: _Tree, children: Nodes, observed: Float64, expected: Float64) -> None:
        """Price the children that are rules; keep the best that passes, and the best by worth."""
        rules = np.flatnonzero(tree.are_rules(children))
        if len(rules) == 0:
            return
        some = children.take(rules)
        value = self._values(tree, some, observed[rules], expected[rules])
        worth = value - tree.description[some.length, some.static]
        for row in np.argsort(-worth, kind="stable")[:RUNNERS_UP].tolist():
            least = self.near[0][0] if len(self.near) == RUNNERS_UP else -np.inf
            if worth[row] <= max(least, -np.inf) or value[row] <= 0:
                break
            rule = tree.rule(some, row, self.task.head)
            item = (float(worth[row]), rule.key, rule)
            if any(rule == other for _, _, other in self.near) or rule in self.task.taken:
                continue
            (heapq.heappushpop if len(self.near) == RUNNERS_UP else heapq.heappush)(self.near, item)
        passing = (value > self.value) & (worth > self.task.needed)
        for row in sorted(np.flatnonzero(passing).tolist(), key=lambda row: -value[row]):
            if value[row] <= self.value:
                break
            rule = tree.rule(some, row, self.task.head)
            evidence = self._evidence(rule)
            if self.task.admits(evidence):
                self.best, self.value = evidence, float(value[row])
                break

    def _values(self, tree: _Tree, nodes: Nodes, observed: Float64, expected: Float64) -> Float64:
        """The objective of every node: from the sums after first completions where those say all, else by matching."""
        feature = self.oracle.grounding.feature
        if feature.kernel.name == "step" and feature.span is None:
            charge = (self.oracle.penalty * nodes.length).astype(np.float64)
            if self.task.objective == "gradient":
                return np.asarray(tree.sign * (observed - expected) - charge)
            return closed_form_gain(observed, expected, charge, tree.sign, self.oracle.largest_weight)[0]
        bodies = nodes.bodies(tree.timed_codes, tree.static_codes)
        if self.task.objective == "gradient":
            return self.oracle.rewards(bodies, tree.sign)
        return self.oracle.gains(bodies, tree.sign)[0]
