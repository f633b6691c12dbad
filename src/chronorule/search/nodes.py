"""Chains under construction, many at a time, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels.matching import Bodies
from chronorule.rules import Relation, Rule

Flags = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Chains of timed predicates, by column, with static predicates beside them; what may still be added to each."""

    columns: Int32  # [N, longest] timed predicates in order
    joined: Flags  # [N, longest] Equal to the one before
    timed: Int64  # [N] how many
    statics: Int32  # [N, longest] static predicates, rising
    static: Int64  # [N] how many
    open_timed: Flags  # [N, timed columns] may still be added
    open_static: Flags  # [N, static columns]
    alive: Int64  # [N] mask of the intervals of the weight in which something can still pass
    bound: Float64  # [N] on the objective of everything below

    def __len__(self) -> int:
        return len(self.timed)

    @classmethod
    def root(cls, longest: int, timed: int, statics: int, intervals: int) -> Nodes:
        """The empty body, to which everything may be added."""
        return cls(
            np.full((1, longest), -1, np.int32),
            np.zeros((1, longest), np.bool_),
            np.zeros(1, np.int64),
            np.full((1, longest), -1, np.int32),
            np.zeros(1, np.int64),
            np.ones((1, timed), np.bool_),
            np.ones((1, statics), np.bool_),
            np.full(1, (1 << intervals) - 1, np.int64),
            np.full(1, np.inf),
        )

    def take(self, rows: Int64 | slice) -> Nodes:
        """Some of the nodes."""
        return Nodes(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def length(self) -> Int64:
        """Predicates of each body: [N]."""
        return self.timed + self.static

    def children(self, rows: Int64, child: Int64) -> Nodes:
        """For each (row, child) the node with one more predicate; see `expand_chains` for how children are numbered."""
        grown = self.take(rows)
        width = self.open_timed.shape[1]
        is_static = child >= 2 * width
        some = np.flatnonzero(~is_static)
        grown.columns[some, grown.timed[some]] = child[some] % max(width, 1)
        grown.joined[some, grown.timed[some]] = child[some] >= width
        grown.timed[some] += 1
        others = np.flatnonzero(is_static)
        grown.statics[others, grown.static[others]] = child[others] - 2 * width
        grown.static[others] += 1
        return grown

    def last_class(self) -> tuple[Int64, Int32]:
        """Offsets and columns of the predicates of each node's last Equal class."""
        places = np.arange(self.columns.shape[1])
        opens = ~self.joined & (places < self.timed[:, None])
        start = np.where(opens, places, -1).max(axis=1, initial=-1)
        inside = (places >= np.maximum(start, 0)[:, None]) & (places < self.timed[:, None])
        offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))]).astype(np.int64)
        return offsets, self.columns[inside]

    def bodies(self, timed_codes: Int32, static_codes: Int32) -> Bodies:
        """The nodes' bodies for the matcher."""
        places = np.arange(self.columns.shape[1])
        held = places < self.timed[:, None]
        opens = (held & ~self.joined)[held]
        rank = np.cumsum(~self.joined & held, axis=1) - 1
        classes = (~self.joined & held).sum(axis=1)
        starts = np.flatnonzero(opens)
        class_offsets = np.concatenate([[0], np.cumsum(classes)]).astype(np.int64)
        members = timed_codes[self.columns[held]].astype(np.int32)
        static_held = places < self.static[:, None]
        none = np.zeros(0, np.int64)
        return Bodies(
            class_offsets,
            np.append(starts, len(members)).astype(np.int64),
            members,
            (np.int64(1) << rank[held][starts].astype(np.int64)) - 1,
            np.where(classes > 0, np.int64(1) << np.maximum(classes - 1, 0).astype(np.int64), 0),
            np.ones(len(self), np.bool_),
            np.concatenate([[0], np.cumsum(self.static)]).astype(np.int64),
            static_codes[self.statics[static_held]].astype(np.int32),
            np.zeros(len(self) + 1, np.int64),
            none,
            none,
        )

    def rule(self, row: int, head: str, timed: Sequence[str], static: Sequence[str], sign: int) -> Rule:
        """One node's rule."""
        size = int(self.timed[row])
        names = [timed[k] for k in self.columns[row, :size]]
        relations = [(k - 1, Relation.EQUAL if self.joined[row, k] else Relation.BEFORE, k) for k in range(1, size)]
        names += [static[k] for k in self.statics[row, : int(self.static[row])]]
        return Rule.build(head, names, relations, sign)


def joined_together(parts: Sequence[Nodes]) -> Nodes:
    """All nodes of several batches."""
    return Nodes(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Nodes)))
