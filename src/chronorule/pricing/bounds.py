"""Bounds on everything that a chain can grow into: what lets a search leave most of a grammar unseen (design 7).

Adding a predicate never completes earlier. So an entity whose chain completes first at instant s can add at most the
best of what lies at s or later, its *ceiling*, and the sum over entities bounds every rule that begins with the chain.
For the gain, w ≥ 0 is cut into intervals: in each the ceiling is the largest w·O − (e^w − 1)·E that a later instant
reaches for a w of the interval, in closed form, and the largest of the sums is the bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import OptionError
from chronorule.kernels import matching
from chronorule.kernels.branching import best_later, best_union, expand_chains
from chronorule.pricing.oracle import Objective, Oracle
from chronorule.rules.grammar import Grammar

Flags = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

INTERVALS = 16  # of the weight; more make the bounds sharper and the sums longer
FIRST_CUT, LAST_CUT = 0.1, 4.0  # the cuts between lie evenly on the log scale here; the last interval ends at w_max


@dataclass(frozen=True, eq=False)
class Expansion:
    """Sums of what the children of nodes have after their first completions: [nodes, children, 2 + intervals].

    Sums over disjoint sets of entities add up, so that a batch of nodes can be expanded on parts of a log.
    """

    sums: Float64

    @property
    def observed(self) -> Float64:
        """O after first completions: [nodes, children]."""
        return self.sums[:, :, 0]

    @property
    def expected(self) -> Float64:
        """E after first completions: [nodes, children]."""
        return self.sums[:, :, 1]

    @property
    def ceilings(self) -> Float64:
        """Upper bounds by interval of the weight, before charges: [nodes, children, intervals]."""
        return self.sums[:, :, 2:]


class ChainBounds:
    """The children of chains of one sign under one objective, at the λ of an oracle."""

    def __init__(self, oracle: Oracle, grammar: Grammar, sign: int, objective: Objective) -> None:
        grounding = oracle.grounding
        kernel = grounding.feature.kernel
        if kernel.name == "decay":
            raise OptionError(
                "Exact search has no bound for decay kernels yet; use kernel='step' or a window, or another search."
            )
        log, index = grounding.log, grounding.index
        self.oracle = oracle
        self.timed = [log.code(name) for name in grammar.timed]
        self.static = [log.code(name) for name in grammar.static]
        self.index = index
        largest = oracle.largest_weight
        if objective == "gradient":
            self.cuts = np.zeros(2)
        else:
            inner = np.geomspace(FIRST_CUT, min(LAST_CUT, largest / 2), INTERVALS - 1)
            self.cuts = np.concatenate([[0.0], inner, [largest]])
        self.ceilings = self._ceilings(sign, objective)
        column_of = np.full(log.n_predicates, -1, np.int32)
        column_of[self.timed] = np.arange(len(self.timed))
        self.column = column_of[log.codes]
        static_of = np.full(log.n_predicates, -1, np.int32)
        static_of[self.static] = np.arange(len(self.static))
        self.static_column = static_of[log.static_codes]
        self.static_offsets = log.static_offsets
        self.first_event = _first_events(log.offsets, log.times, index.instant_offsets)

    @property
    def intervals(self) -> int:
        """Number of intervals of the weight."""
        return int(self.ceilings.shape[1])

    @property
    def children(self) -> int:
        """Children of a node: each timed predicate after it, each Equal to its last class, each static predicate."""
        return 2 * len(self.timed) + len(self.static)

    def charges(self, length: Int64) -> Float64:
        """λ0 · length · w at the beginning of each interval (1 for the slope): [lengths, intervals]."""
        weight = np.ones(1) if len(self.cuts) == 2 and self.cuts[1] == 0 else self.cuts[:-1]
        return self.oracle.penalty * np.multiply.outer(length, weight)

    def expand(
        self, bodies: matching.Bodies, last_offsets: Int64, last_columns: Int32, open_columns: Flags, alive: Int64
    ) -> Expansion:
        """The sums for every open child of every node; closed children and dead intervals stay 0."""
        out = np.zeros((len(alive), self.children, 2 + self.intervals))

        def some(begin: int, end: int) -> None:
            room = matching.candidate_room(self.index, bodies, begin, end)
            offsets = np.empty(end - begin + 1, np.int64)
            entities, places = np.empty(room, np.int32), np.empty(room, np.int32)
            matching.find_first(self.index, bodies, begin, end, offsets, entities, places)
            expand_chains(
                offsets,
                entities,
                places,
                last_offsets[begin : end + 1],
                last_columns,
                open_columns[begin:end],
                len(self.timed),
                alive[begin:end],
                self.index.instant_offsets,
                self.first_event,
                self.column,
                self.static_offsets,
                self.static_column,
                self.oracle.after,
                self.ceilings,
                out[begin:end],
            )

        self.oracle.threads.over(len(alive), some, smallest=8)
        return Expansion(out)

    def _ceilings(self, sign: int, objective: Objective) -> Float64:
        """What completing at an instant or later can add at most, by interval of the weight: [instants, intervals]."""
        after, lapsed = self.oracle.after, self.oracle.lapsed
        kernel, index = self.oracle.grounding.feature.kernel, self.index
        if kernel.name == "window":
            prices, later = (self._additive(table, sign, objective) for table in (after, lapsed))
            out = np.empty_like(prices)
            best_union(prices, later, index.instant_times, kernel.width, index.instant_offsets, out)
            return out
        if objective == "gradient":
            values = self._additive(after, sign, objective)
        else:
            observed, expected = after[:, :1], after[:, 1:]
            with np.errstate(divide="ignore", invalid="ignore"):
                best = sign * (np.log(observed) - np.log(expected))
            weight = np.clip(np.nan_to_num(best, nan=0.0), self.cuts[:-1], self.cuts[1:])
            values = sign * weight * observed - np.expm1(sign * weight) * expected
        best_later(values, index.instant_offsets)
        return values

    def _additive(self, table: Float64, sign: int, objective: Objective) -> Float64:
        """Of (O, E): sign·(O − E), or at most what any weight of an interval [v, w] earns with it."""
        observed, expected = table[:, :1], table[:, 1:]
        if objective == "gradient":
            return np.asarray(sign * (observed - expected))
        low, high = self.cuts[:-1], self.cuts[1:]
        if sign > 0:
            return np.asarray(high * observed - np.expm1(low) * expected)
        return np.asarray(-low * observed - np.expm1(-high) * expected)


def _first_events(offsets: Int64, times: Float64, instant_offsets: Int64) -> Int64:
    """The first event of every instant, and the number of events at the end: [instants + 1]."""
    entity = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    new = np.ones(len(times), np.bool_)
    new[1:] = (entity[1:] != entity[:-1]) | (times[1:] != times[:-1])
    instant = np.cumsum(new) + entity  # the origins of the entities so far come on top
    return np.searchsorted(instant, np.arange(instant_offsets[-1] + 1)).astype(np.int64)
