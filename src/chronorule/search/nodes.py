"""Chains under construction, many at a time, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import OptionError
from chronorule.kernels.growing import Chains
from chronorule.kernels.matching import Bodies
from chronorule.kernels.ordering import Orders
from chronorule.rules import Relation, Rule

Flags = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


MOST_NUMBERS = 1 << 31  # of one step, 16 GiB
Bodied = TypeVar("Bodied", Chains, Orders)


@dataclass(frozen=True, eq=False)
class Nodes(Generic[Bodied]):
    """Chains or orders and the targets below each: the (end or member, interval) pairs that a rule below may reach.

    Nodes of one family differ in their last step only, and stand together.
    """

    chains: Bodied
    family: Int64  # [N]
    bound: Float64  # [N] on the objective of every rule below
    offsets: Int64  # [N + 1] of the targets
    ends: Int32
    intervals: Int32
    values: Float64  # what a target can reach, before charges

    def __len__(self) -> int:
        return len(self.family)

    def take(self, rows: Int64) -> Nodes[Bodied]:
        """Some of the nodes."""
        sizes = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        targets = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], sizes)
        return Nodes(
            take(self.chains, rows),
            self.family[rows],
            self.bound[rows],
            offsets,
            self.ends[targets],
            self.intervals[targets],
            self.values[targets],
        )

    def head(self, size: int) -> Nodes[Bodied]:
        """The first nodes."""
        return self if size == len(self) else self.take(np.arange(size))

    def with_targets(self, kept: Flags) -> Nodes[Bodied]:
        """The same nodes, some of them without their targets."""
        if kept.all():
            return self
        sizes = np.diff(self.offsets)
        targets = np.repeat(kept, sizes)
        return replace(
            self,
            offsets=np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))]).astype(np.int64),
            ends=self.ends[targets],
            intervals=self.intervals[targets],
            values=self.values[targets],
        )

    def by_bound(self) -> Nodes[Bodied]:
        """Families in rising order of their best bound, and within each the nodes in rising order of theirs."""
        best = np.full(int(self.family.max(initial=-1)) + 1, -np.inf)
        np.maximum.at(best, self.family, self.bound)
        return self.take(np.lexsort((self.bound, self.family, best[self.family])))


def check_room(numbers: int, predicates: int) -> None:
    """Refuse a step whose sums no usual machine holds."""
    if numbers > MOST_NUMBERS:
        raise OptionError(
            f"One step of the search over {predicates:,} predicates needs {numbers / 2**27:,.0f} GiB of memory; name "
            "fewer predicates in body, or allow shorter rules only."
        )


def root(longest: int, timed: int, statics: int) -> Chains:
    """The empty body, to which everything may be added."""
    return Chains(
        np.full((1, longest), -1, np.int32),
        np.zeros((1, longest), np.bool_),
        np.zeros(1, np.int64),
        np.full((1, longest), -1, np.int32),
        np.zeros(1, np.int64),
        np.ones((1, timed), np.bool_),
        np.ones((1, timed), np.bool_),
        np.ones((1, statics), np.bool_),
        np.ones((1, timed + 1), np.bool_),
    )


def empty(size: int, longest: int, timed: int, statics: int) -> Chains:
    """Room for chains."""
    return Chains(
        np.empty((size, longest), np.int32),
        np.empty((size, longest), np.bool_),
        np.empty(size, np.int64),
        np.empty((size, longest), np.int32),
        np.empty(size, np.int64),
        np.empty((size, timed), np.bool_),
        np.empty((size, timed), np.bool_),
        np.empty((size, statics), np.bool_),
        np.empty((size, timed + 1), np.bool_),
    )


def take(chains: Bodied, rows: Int64) -> Bodied:
    """Some of the chains."""
    return type(chains)._make(part[rows] for part in chains)


def bare(chains: Chains) -> Chains:
    """The chains without what may still be added to each, a flag for every predicate."""
    return chains._replace(
        open_after=chains.open_after[:, :0],
        open_equal=chains.open_equal[:, :0],
        open_static=chains.open_static[:, :0],
        closing=chains.closing[:, :0],
    )


def lengths(chains: Chains | Orders) -> Int64:
    """Predicates of each chain."""
    return chains.timed + chains.static


def last_steps(chains: Chains, width: int) -> Int64:
    """The step that made each chain of the one before it, as children are numbered; -1 for the empty chain."""
    rows = np.arange(len(chains.timed))
    places = np.maximum(chains.timed - 1, 0)
    timed = chains.columns[rows, places] + np.where(chains.joined[rows, places], width, 0)
    static = chains.statics[rows, np.maximum(chains.static - 1, 0)] + 2 * width
    return np.where(chains.static > 0, static, np.where(chains.timed > 0, timed, -1)).astype(np.int64)


def without_last_step(chains: Chains) -> Chains:
    """Each chain as it was before its last step."""
    static = np.maximum(chains.static - 1, 0)
    timed = np.where(chains.static > 0, chains.timed, np.maximum(chains.timed - 1, 0))
    return chains._replace(timed=timed, static=static)


def with_step(chains: Chains, steps: Int64, width: int) -> Chains:
    """Each chain with one more step."""
    grown = Chains._make(part.copy() for part in chains)
    timed = np.flatnonzero(steps < 2 * width)
    grown.columns[timed, grown.timed[timed]] = steps[timed] % max(width, 1)
    grown.joined[timed, grown.timed[timed]] = steps[timed] >= width
    grown.timed[timed] += 1
    others = np.flatnonzero(steps >= 2 * width)
    grown.statics[others, grown.static[others]] = steps[others] - 2 * width
    grown.static[others] += 1
    return grown


def last_class(chains: Chains) -> tuple[Int64, Int32]:
    """Offsets and columns of the predicates of each chain's last Equal class."""
    places = np.arange(chains.columns.shape[1])
    held = places < chains.timed[:, None]
    start = np.where(~chains.joined & held, places, -1).max(axis=1, initial=-1)
    inside = (places >= np.maximum(start, 0)[:, None]) & held
    offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))]).astype(np.int64)
    return offsets, chains.columns[inside]


def bodies(chains: Chains, timed_codes: Int32, static_codes: Int32) -> Bodies:
    """The chains' bodies for the matcher."""
    places = np.arange(chains.columns.shape[1])
    held = places < chains.timed[:, None]
    opens = held & ~chains.joined
    rank = np.cumsum(opens, axis=1) - 1
    classes = opens.sum(axis=1)
    starts = np.flatnonzero(opens[held])
    members = timed_codes[chains.columns[held]].astype(np.int32)
    none = np.zeros(0, np.int64)
    return Bodies(
        np.concatenate([[0], np.cumsum(classes)]).astype(np.int64),
        np.append(starts, len(members)).astype(np.int64),
        members,
        (np.int64(1) << rank[held][starts].astype(np.int64)) - 1,
        np.where(classes > 0, np.int64(1) << np.maximum(classes - 1, 0).astype(np.int64), 0),
        np.ones(len(classes), np.bool_),
        np.concatenate([[0], np.cumsum(chains.static)]).astype(np.int64),
        static_codes[chains.statics[places < chains.static[:, None]]].astype(np.int32),
        np.zeros(len(classes) + 1, np.int64),
        none,
        none,
    )


def as_rule(chains: Chains, row: int, head: str, timed: Sequence[str], static: Sequence[str], sign: int) -> Rule:
    """One chain's rule."""
    size = int(chains.timed[row])
    names = [timed[k] for k in chains.columns[row, :size]]
    relations = [(k - 1, Relation.EQUAL if chains.joined[row, k] else Relation.BEFORE, k) for k in range(1, size)]
    names += [static[k] for k in chains.statics[row, : int(chains.static[row])]]
    return Rule.build(head, names, relations, sign)
