"""The tree of all partial orders of a grammar with one sign, as the exact search walks it (design 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.grounding import compile_bodies
from chronorule.kernels.matching import Bodies
from chronorule.kernels.ordering import Orders, Steps, grow_orders, order_steps
from chronorule.pricing.bounds import OrderBounds
from chronorule.rules import Rule
from chronorule.rules.description import description_length
from chronorule.search.base import Subproblem
from chronorule.search.chains import laws_of
from chronorule.search.keeper import Keeper
from chronorule.search.nodes import Nodes, check_room, lengths, take
from chronorule.search.pieces import ADDITIONS_TO_AN_ORDER, More, in_pieces, joined, matched
from chronorule.search.thresholds import Thresholds, simple_values

Flags = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


class OrderTree:
    """Partial orders of one sign: each node an order, its children the orders with one more predicate."""

    def __init__(self, problem: Subproblem, sign: int) -> None:
        task = problem.task
        self.problem, self.sign = problem, sign
        self.timed, self.static = task.grammar.timed, task.grammar.static
        self.longest = task.grammar.lengths.stop - 1
        self.bounds = OrderBounds(problem.oracle, task.grammar, sign, task.objective)
        self.charges = self.bounds.charges(self.longest + 3)
        self.thresholds = Thresholds(task)
        self.laws = laws_of(task.grammar)

    def root(self) -> Nodes[Orders]:
        """The empty order, below which every rule lies."""
        intervals = self.bounds.intervals
        best = self.bounds.everything()
        members = np.repeat(np.arange(len(self.timed) + len(self.static)), intervals)
        everywhere = np.resize(np.arange(intervals), len(members))
        bound = float((best - self.charges[1]).max()) - self.thresholds.given_up[1]
        orders = _room(1, self.longest)
        orders.timed[:] = orders.static[:] = 0
        orders.below[:] = 0
        return Nodes(
            orders,
            np.zeros(1, np.int64),
            np.full(1, bound),
            np.array([0, len(members)], np.int64),
            members.astype(np.int32),
            everywhere.astype(np.int32),
            best[everywhere],
        )

    def room(self, some: Nodes[Orders]) -> Int64:
        """How many numbers the expansion of each node takes, at most."""
        foundations = np.left_shift(1, np.minimum(some.chains.timed, 40)) + 1
        targets = np.where(self._targets_matter(some.chains), np.diff(some.offsets), 0)
        return np.asarray((len(self.timed) * foundations + len(self.static)) * (2 + targets))

    def _targets_matter(self, orders: Orders) -> Flags:
        """Whether sums for targets are needed: on the last level they are not, where the sums of a rule say all."""
        return np.asarray(lengths(orders) + 1 < self.longest) | (not self.bounds.tight)

    def expand(self, some: Nodes[Orders], keeper: Keeper, more: More) -> tuple[Nodes[Orders], int]:
        """Price the children of nodes, offer those that are rules, and return those below which a better may be."""
        every = self._steps(some)
        parts, done = in_pieces(
            np.diff(every.sum_offsets) * (ADDITIONS_TO_AN_ORDER * self.problem.oracle.grounding.log.n_entities),
            self.problem.oracle.threads,
            more,
            lambda begin, end: self._sums(some, every, begin, end),
        )
        some, steps, sums = some.head(done), _steps_of(every, 0, done), joined(parts)
        node = np.repeat(np.arange(done), np.diff(steps.row_offsets))
        place = np.arange(len(node)) - steps.row_offsets[node]
        at = steps.sum_offsets[node] + place * (2 + np.diff(steps.target_offsets)[node])
        own = np.empty(len(node))
        grown = self._grown(some.chains, steps, sums, own, keeper)
        if not self._offer(keeper, some.chains, node, steps, sums[at], sums[at + 1], own, more):
            return some.head(0), 0
        return grown, done

    def _steps(self, some: Nodes[Orders]) -> Steps:
        """The children of all nodes, and the targets that matter."""
        orders = some.chains
        row_offsets = np.empty(len(some) + 1, np.int64)
        room = 64 * len(some)
        while True:
            predicates, foundations = np.empty(room, np.int64), np.empty(room, np.int64)
            rows = order_steps(self.laws, orders, some.offsets, some.ends, predicates, foundations, row_offsets)
            if rows <= room:
                break
            room = rows
        useful = np.where(self._targets_matter(orders), np.diff(some.offsets), 0)
        needed = np.repeat(useful > 0, np.diff(some.offsets))
        target_offsets = np.concatenate([[0], np.cumsum(useful)]).astype(np.int64)
        sum_offsets = np.concatenate([[0], np.cumsum(np.diff(row_offsets) * (2 + useful))]).astype(np.int64)
        check_room(int(sum_offsets[-1]), len(self.timed) + len(self.static))
        return Steps(
            row_offsets,
            predicates[:rows],
            foundations[:rows],
            target_offsets,
            some.ends[needed],
            some.intervals[needed],
            sum_offsets,
        )

    def _sums(self, some: Nodes[Orders], every: Steps, begin: int, end: int) -> Float64:
        """The sums of the children of the nodes begin..end."""
        steps = _steps_of(every, begin, end)
        orders = take(some.chains, np.arange(begin, end)) if end - begin < len(some) else some.chains
        if not self.bounds.multiplies:
            bodies = _bodies(orders, self.bounds.timed_codes, self.bounds.static_codes)
            return self.bounds.expand(bodies, orders, steps)
        node = np.repeat(np.arange(end - begin), np.diff(steps.row_offsets))
        rules = [
            self._rule(orders, *step)
            for step in zip(node.tolist(), steps.predicates.tolist(), steps.foundations.tolist(), strict=True)
        ]
        bodies = compile_bodies(rules, self.problem.oracle.grounding.log)
        rest = self.longest - lengths(orders)[node] - 1
        return self.bounds.multiply(bodies, rest, np.diff(steps.target_offsets)[node])

    def _grown(self, orders: Orders, steps: Steps, sums: Float64, own: Float64, keeper: Keeper) -> Nodes[Orders]:
        rows, room = len(steps.predicates), len(sums)
        children = _room(rows, self.longest)
        families, offsets = np.empty(rows, np.int64), np.zeros(rows + 1, np.int64)
        members, intervals, values = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room)
        bound = np.empty(rows)
        least = self.thresholds.least(keeper.value)
        size = grow_orders(
            self.laws, orders, steps, sums, self.charges, least, own, children, families, offsets, members, intervals,
            values, bound,
        )  # fmt: skip
        total = int(offsets[size])
        children = take(children, np.arange(size))
        bound = bound[:size] - self.thresholds.given_up[np.minimum(lengths(children) + 1, self.longest)]
        return Nodes(
            children,
            families[:size],
            bound,
            offsets[: size + 1],
            members[:total].copy(),
            intervals[:total].copy(),
            values[:total].copy(),
        )

    # ---- the children that are rules

    def _offer(
        self,
        keeper: Keeper,
        orders: Orders,
        node: Int64,
        steps: Steps,
        observed: Float64,
        expected: Float64,
        own: Float64,
        more: More,
    ) -> bool:
        """Price the children that are rules of the grammar and may matter, and hand them to the keeper.

        The answer is whether that was done for all of them.
        """
        task, tight = self.problem.task, self.bounds.tight
        predicates, foundations = steps.predicates, steps.foundations
        size = lengths(orders)[node] + 1
        lasting = np.isin(size, np.asarray(task.grammar.lengths))
        if tight:
            self.problem.oracle.evaluations += len(node)
            some = np.flatnonzero((observed + expected > 0) & lasting)
            value, gain = simple_values(self.problem, observed[some], expected[some], size[some], self.sign)
        else:
            some = np.flatnonzero((own > self.thresholds.least(keeper.value)[size]) & lasting)
            value = gain = own[some]
        static = orders.static[node[some]] + (predicates[some] >= len(self.timed))
        worth = gain - self.thresholds.description[size[some], static]
        matter = np.flatnonzero(keeper.may_matter(worth if task.objective == "worth" else value, worth))
        if len(matter) == 0:
            return True
        chosen = some[matter[np.argsort(-worth[matter], kind="stable")]]
        rules = []
        kept = []
        for row in chosen.tolist():
            rule = self._rule(orders, int(node[row]), int(predicates[row]), int(foundations[row]))
            if set(task.grammar.required) <= set(rule.predicates) and self._has_prefix(orders, node[row]):
                rules.append(rule)
                kept.append(row)
        if not rules:
            return True
        every = len(rules)
        if tight:
            rows = np.array(kept)
            value, gain = simple_values(self.problem, observed[rows], expected[rows], size[rows], self.sign)
        else:
            value, gain = self._matched(rules, more)
            rules = rules[: len(value)]
        worth = gain
        if task.charged is not None:
            worth = gain - np.array([description_length(rule, task.charged, task.kernels) for rule in rules])
        keeper.offer(worth if task.objective == "worth" else value, worth, rules.__getitem__)
        return len(rules) == every

    def _has_prefix(self, orders: Orders, row: int) -> bool:
        """Whether a child of the order can begin with the whole prefix."""
        return int(orders.timed[row]) + 1 >= len(self.laws.prefix)

    def _matched(self, rules: list[Rule], more: More) -> tuple[Float64, Float64]:
        """The same by matching, where first completions do not say all; of the first ones only when time is up."""
        log = self.problem.oracle.grounding.log
        return matched(
            self.problem, self.sign, len(rules), lambda begin, end: compile_bodies(rules[begin:end], log), more
        )

    def _rule(self, orders: Orders, row: int, predicate: int, foundation: int) -> Rule:
        """The rule that a step makes of an order."""
        classes: list[list[str]] = []
        for k in range(int(orders.timed[row])):
            name = self.timed[orders.columns[row, k]]
            if orders.joined[row, k]:
                classes[-1].append(name)
            else:
                classes.append([name])
        below = [int(mask) for mask in orders.below[row, : len(classes)]]
        statics = [self.static[k] for k in orders.statics[row, : int(orders.static[row])]]
        if predicate >= len(self.timed):
            statics.append(self.static[predicate - len(self.timed)])
        elif foundation < 0:
            classes[-1].append(self.timed[predicate])
        else:
            classes.append([self.timed[predicate]])
            below.append(foundation)
        every = [*classes, *([name] for name in statics)]
        return Rule.of_classes(self.problem.task.head, every, (*below, *(0 for _ in statics)), self.sign)


def _steps_of(steps: Steps, begin: int, end: int) -> Steps:
    """The steps of the nodes begin..end."""
    row_offsets, target_offsets, sum_offsets = (
        offsets[begin : end + 1] - offsets[begin]
        for offsets in (steps.row_offsets, steps.target_offsets, steps.sum_offsets)
    )
    rows = slice(steps.row_offsets[begin], steps.row_offsets[end])
    targets = slice(steps.target_offsets[begin], steps.target_offsets[end])
    return Steps(
        row_offsets,
        steps.predicates[rows],
        steps.foundations[rows],
        target_offsets,
        steps.members[targets],
        steps.intervals[targets],
        sum_offsets,
    )


def _room(size: int, longest: int) -> Orders:
    """Room for orders."""
    return Orders(
        np.empty((size, longest), np.int32),
        np.zeros((size, longest), np.bool_),
        np.zeros((size, longest), np.int64),
        np.empty(size, np.int64),
        np.empty((size, longest), np.int32),
        np.empty(size, np.int64),
    )


def _bodies(orders: Orders, timed_codes: Int32, static_codes: Int32) -> Bodies:
    """The orders' bodies as far as the earliest match needs them."""
    places = np.arange(orders.columns.shape[1])
    held = places < orders.timed[:, None]
    opens = held & ~orders.joined
    classes = opens.sum(axis=1)
    members = timed_codes[orders.columns[held]].astype(np.int32)
    none = np.zeros(0, np.int64)
    return Bodies(
        np.concatenate([[0], np.cumsum(classes)]).astype(np.int64),
        np.append(np.flatnonzero(opens[held]), len(members)).astype(np.int64),
        members,
        orders.below[places < classes[:, None]],
        np.zeros(len(classes), np.int64),
        np.zeros(len(classes), np.bool_),
        np.concatenate([[0], np.cumsum(orders.static)]).astype(np.int64),
        static_codes[orders.statics[places < orders.static[:, None]]].astype(np.int32),
        np.zeros(len(classes) + 1, np.int64),
        none,
        none,
    )
