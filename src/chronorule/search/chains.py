"""The tree of all chains of a grammar with one sign, as the exact search walks it (design 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels.branching import Batch
from chronorule.kernels.growing import Chains, Laws, Sums, grow, mark_targets, next_steps
from chronorule.kernels.matching import Bodies
from chronorule.pricing.bounds import ChainBounds
from chronorule.rules import Rule
from chronorule.rules.grammar import Grammar
from chronorule.search import nodes
from chronorule.search.base import Subproblem
from chronorule.search.keeper import Keeper
from chronorule.search.nodes import Nodes, check_room
from chronorule.search.pieces import More, in_pieces, joined, matched
from chronorule.search.thresholds import Thresholds, simple_values

Flags = NDArray[np.bool_]
Int8 = NDArray[np.int8]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

LARGE_LIBRARY = 4096  # predicates, whose pairs take 16 MiB


class ChainTree:
    """Chains of one sign: each node a chain, its children the chains with one more predicate."""

    def __init__(self, problem: Subproblem, sign: int) -> None:
        task = problem.task
        grammar = task.grammar
        self.problem, self.sign = problem, sign
        self.timed, self.static = grammar.timed, grammar.static
        self.longest = grammar.lengths.stop - 1
        self.bounds = ChainBounds(problem.oracle, grammar, sign, task.objective, task.stop == "evidence")
        self.charges = self.bounds.charges(self.longest + 3)
        self.thresholds = Thresholds(task)
        self.laws = laws_of(grammar)

    def root(self) -> Nodes[Chains]:
        """The empty chain, below which every rule lies."""
        width, intervals = self.bounds.width, self.bounds.intervals
        best = self.bounds.everything()
        ends = np.repeat(np.arange(width + (1 if self.static else 0)), intervals)
        everywhere = np.resize(np.arange(intervals), len(ends))
        bound = float((best - self.charges[1]).max()) - self.thresholds.given_up[1]
        return Nodes(
            nodes.root(self.longest, width, len(self.static)),
            np.zeros(1, np.int64),
            np.full(1, bound),
            np.array([0, len(ends)], np.int64),
            ends.astype(np.int32),
            everywhere.astype(np.int32),
            best[everywhere],
        )

    def room(self, some: Nodes[Chains]) -> Int64:
        """How many numbers the expansion of each node takes, at most."""
        chains = some.chains
        children = chains.open_after.sum(axis=1) + chains.open_equal.sum(axis=1) + chains.open_static.sum(axis=1)
        targets = np.where(self._targets_matter(chains), np.diff(some.offsets), 0)
        return np.asarray((children + chains.closing.sum(axis=1)) * (2 + targets))

    def _targets_matter(self, chains: Chains) -> Flags:
        """Whether sums for targets are needed: on the last level they are not, where the sums of a rule say all."""
        return np.asarray(nodes.lengths(chains) + 1 < self.longest) | (not self.bounds.exact)

    def expand(self, some: Nodes[Chains], keeper: Keeper, more: More) -> tuple[Nodes[Chains], int]:
        """Price the children of nodes, offer those that are rules, and return those below which a better may be."""
        some = some.with_targets(self._targets_matter(some.chains))
        laws = self.laws
        rows = np.empty(len(some) * self.bounds.n_children, np.int64)
        row_offsets = np.empty(len(some) + 1, np.int64)
        next_steps(laws, some.chains, rows, row_offsets)
        numbers = np.diff(row_offsets) * (2 + np.diff(some.offsets))
        check_room(int(numbers.sum()), len(self.timed) + len(self.static))
        parts, done = in_pieces(
            numbers * self.problem.oracle.grounding.log.n_entities,
            self.problem.oracle.threads,
            more,
            lambda begin, end: self._expanded(some, row_offsets, rows, begin, end),
        )
        some, row_offsets = some.head(done), row_offsets[: done + 1]
        rows, sums = rows[: row_offsets[-1]], joined(parts)
        sum_offsets = np.concatenate([[0], np.cumsum(numbers[:done])]).astype(np.int64)

        chains, targets = some.chains, np.diff(some.offsets)
        size = nodes.lengths(chains)
        node = np.repeat(np.arange(done), np.diff(row_offsets))
        place = np.arange(len(rows)) - row_offsets[node]
        at = sum_offsets[node] + place * (2 + targets[node])
        marks = np.zeros(len(sums), np.int8)
        counts = np.zeros((len(rows), 2), np.int64)
        own = np.empty(len(rows))
        least = self.thresholds.least(keeper.value)
        found = Sums(row_offsets, rows, some.offsets, some.ends, some.intervals, sum_offsets, sums, self.charges)
        mark_targets(laws, size, found, least, 1 if self.bounds.exact else 0, marks, counts, own)
        if not self._offer(keeper, chains, node, rows, sums[at], sums[at + 1], own, more):
            return some.head(0), 0
        return self._grown(chains, found, marks, counts), done

    def _expanded(self, some: Nodes[Chains], row_offsets: Int64, rows: Int64, begin: int, end: int) -> Float64:
        """The sums of all rows of the nodes begin..end."""
        some = some.take(np.arange(begin, end)) if end - begin < len(some) else some
        rows = rows[row_offsets[begin] : row_offsets[end]]
        row_offsets = row_offsets[begin : end + 1] - row_offsets[begin]
        numbers = np.diff(row_offsets) * (2 + np.diff(some.offsets))
        sum_offsets = np.concatenate([[0], np.cumsum(numbers)]).astype(np.int64)
        first = np.ones(len(some), np.bool_)
        first[1:] = some.family[1:] != some.family[:-1]
        bases = nodes.without_last_step(nodes.take(some.chains, np.flatnonzero(first)))
        offsets, members = nodes.last_class(some.chains)
        batch = Batch(
            np.cumsum(first) - 1,
            nodes.last_steps(some.chains, self.bounds.width),
            offsets,
            members,
            row_offsets,
            rows,
            some.offsets,
            some.ends,
            some.intervals,
            sum_offsets,
        )
        if self.bounds.multiplies:
            columns, statics = np.arange(self.bounds.width), np.arange(self.bounds.n_statics)
            by_code = nodes.bodies(some.chains, self.bounds.timed_codes, self.bounds.static_codes)
            by_column = nodes.bodies(some.chains, columns.astype(np.int32), statics.astype(np.int32))
            return self.bounds.multiply(by_code, by_column, batch)
        return self.bounds.expand(nodes.bodies(bases, self.bounds.timed_codes, self.bounds.static_codes), batch)

    def _grown(self, parents: Chains, found: Sums, marks: Int8, counts: Int64) -> Nodes[Chains]:
        size, total = int((counts[:, 0] > 0).sum()), int(counts[:, 1].sum())
        children = nodes.empty(size, self.longest, len(self.timed), len(self.static))
        family = np.empty(size, np.int64)
        offsets = np.zeros(size + 1, np.int64)
        ends, intervals, values = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total)
        bound = np.empty(size)
        grow(self.laws, parents, found, marks, counts, children, family, offsets, ends, intervals, values, bound)
        bound -= self.thresholds.given_up[np.minimum(nodes.lengths(children) + 1, self.longest)]
        return Nodes(children, family, bound, offsets, ends, intervals, values)

    # ---- the children that are rules

    def _offer(
        self,
        keeper: Keeper,
        chains: Chains,
        node: Int64,
        rows: Int64,
        observed: Float64,
        expected: Float64,
        own: Float64,
        more: More,
    ) -> bool:
        """Price the children that are rules of the grammar and may matter, and hand them to the keeper.

        The answer is whether that was done for all of them.
        """
        size = nodes.lengths(chains)[node] + 1
        self.problem.oracle.evaluations += len(rows) if self.bounds.exact else 0
        lengths = np.asarray(self.problem.task.grammar.lengths)
        if self.bounds.exact:
            some = np.flatnonzero((observed + expected > 0) & np.isin(size, lengths))
            value, gain = simple_values(self.problem, observed[some], expected[some], size[some], self.sign)
        else:
            some = np.flatnonzero((own > self.thresholds.least(keeper.value)[size]) & np.isin(size, lengths))
            value = gain = own[some]
        children = nodes.with_step(nodes.take(nodes.bare(chains), node[some]), rows[some], self.bounds.width)
        worth = gain - self.thresholds.description[nodes.lengths(children), children.static]
        matter = np.flatnonzero(keeper.may_matter(self._objective(value, worth), worth))
        children = nodes.take(children, matter)
        fit = np.flatnonzero(self._are_rules(children))
        if len(fit) == 0:
            return True
        children, value, worth = nodes.take(children, fit), value[matter[fit]], worth[matter[fit]]
        every = len(fit)
        if not self.bounds.exact:
            value, gain = self._matched(children, more)
            children = nodes.take(children, np.arange(len(value)))
            worth = gain - self.thresholds.description[nodes.lengths(children), children.static]

        def rule_at(row: int) -> Rule:
            return nodes.as_rule(children, row, self.problem.task.head, self.timed, self.static, self.sign)

        keeper.offer(self._objective(value, worth), worth, rule_at)
        return len(value) == every

    def _objective(self, value: Float64, worth: Float64) -> Float64:
        return worth if self.problem.task.objective == "worth" else value

    def _matched(self, chains: Chains, more: More) -> tuple[Float64, Float64]:
        """The same by matching, where first completions do not say all; of the first ones only when time is up."""

        def bodies(begin: int, end: int) -> Bodies:
            some = nodes.take(chains, np.arange(begin, end))
            return nodes.bodies(some, self.bounds.timed_codes, self.bounds.static_codes)

        return matched(self.problem, self.sign, len(chains.timed), bodies, more)

    def _are_rules(self, chains: Chains) -> Flags:
        """Which chains hold all that the grammar requires."""
        enough = chains.timed >= len(self.laws.prefix)
        width, places = len(self.timed), np.arange(chains.columns.shape[1])
        for column in np.flatnonzero(self.laws.required).tolist():
            if column < width:
                enough &= ((chains.columns == column) & (places < chains.timed[:, None])).any(axis=1)
            else:
                enough &= ((chains.statics == column - width) & (places < chains.static[:, None])).any(axis=1)
        return np.asarray(enough)


def laws_of(grammar: Grammar) -> Laws:
    """A grammar in numbers."""
    timed = grammar.timed
    names = [*timed, *grammar.static]
    return Laws(
        len(timed),
        grammar.lengths.stop - 1,
        grammar.repeats,
        "before" in grammar.relations,
        "equal" in grammar.relations,
        np.array([timed.index(name) for name in grammar.prefix], np.int64),
        np.array([name in grammar.required for name in names], np.bool_),
        _conflicts(grammar, names),
    )


def _conflicts(grammar: Grammar, names: list[str]) -> Flags:
    """Which predicates may not stand together; where none are named, of a large library one False for all pairs."""
    place = {name: column for column, name in enumerate(names)}
    pairs = [(place[a], place[b]) for a, b in grammar.forbidden_pairs if a in place and b in place]
    if not pairs and len(names) > LARGE_LIBRARY:
        return np.broadcast_to(np.zeros(1, np.bool_), (len(names), len(names)))
    check_room(len(names) ** 2 // 8, len(names))
    conflict = np.zeros((len(names), len(names)), np.bool_)
    for a, b in pairs:
        conflict[a, b] = conflict[b, a] = True
    return conflict
