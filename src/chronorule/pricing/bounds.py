"""Bounds on everything that a chain can grow into: what lets a search leave most of a grammar unseen (design 7).

Adding a predicate never completes earlier, and a chain completes at events of its last class. So a rule that begins
with a chain and ends in predicate p completes, in an entity where the chain completes first at instant s, at events of
p from s on, and earns at most the best that lies there. The sum of that over entities bounds every such rule, for each
*end* p apart. For the gain, w ≥ 0 is cut into intervals, and in each the best is the largest w·O − (e^w − 1)·E that an
event of p reaches for a w of the interval, in closed form: a pair (end, interval) is a *target*, and below a chain only
those targets are pursued that its bound still reaches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import OptionError
from chronorule.events import EventLog
from chronorule.kernels import matching
from chronorule.kernels.branching import Batch, Events, Tables, best_later, best_union, expand_chains
from chronorule.pricing.oracle import Objective, Oracle
from chronorule.rules.grammar import Grammar

Flags = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

INTERVALS = 16  # of the weight; more make the bounds sharper and the sums longer
FIRST_CUT, LAST_CUT = 0.1, 4.0  # the cuts between lie evenly on the log scale here; the last interval ends at w_max
NUMBERS_AT_THE_ROOT = 1 << 24  # children times targets; a large library has fewer intervals


class ChainBounds:
    """What children of chains have, and what rules below them can have, for one sign and one objective.

    Sums over disjoint sets of entities add up, so that a batch of chains can be expanded on parts of a log.
    """

    def __init__(self, oracle: Oracle, grammar: Grammar, sign: int, objective: Objective) -> None:
        grounding = oracle.grounding
        if grounding.feature.kernel.name == "decay":
            raise OptionError(
                "Exact search has no bound for decay kernels yet; use kernel='step' or a window, or another search."
            )
        log = grounding.log
        self.oracle = oracle
        self.timed_codes = np.array([log.code(name) for name in grammar.timed], np.int32)
        self.static_codes = np.array([log.code(name) for name in grammar.static], np.int32)
        self.width, self.n_statics = len(self.timed_codes), len(self.static_codes)
        self.n_children = 2 * self.width + self.n_statics
        self.cuts = self._cuts(objective)
        self.events = _library_events(log, self.timed_codes, self.static_codes)
        self.tables = self._tables(sign, objective)

    @property
    def intervals(self) -> int:
        """Number of intervals of the weight."""
        return len(self.cuts) - 1

    def _cuts(self, objective: Objective) -> Float64:
        if objective == "gradient":
            return np.zeros(2)
        room = NUMBERS_AT_THE_ROOT // max(1, self.n_children * (self.width + 1))
        inner = np.geomspace(FIRST_CUT, min(LAST_CUT, self.oracle.largest_weight / 2), min(max(room, 2), INTERVALS) - 1)
        return np.concatenate([[0.0], inner, [self.oracle.largest_weight]])

    def charges(self, longest: int) -> Float64:
        """λ0 · length · w at the beginning of each interval (1 for the slope): [longest + 1, intervals]."""
        weight = np.ones(1) if self.cuts[-1] == 0 else self.cuts[:-1]
        return self.oracle.penalty * np.multiply.outer(np.arange(longest + 1), weight)

    def everything(self) -> Float64:
        """At most what any rule can earn, before charges: [intervals]."""
        offsets = self.events.offsets
        filled = np.flatnonzero(np.diff(offsets) > 0)
        best = np.zeros((len(offsets) - 1, self.intervals))
        if len(filled):
            best[filled] = np.maximum.reduceat(self.tables.latest, offsets[filled], axis=0)
        if len(self.tables.stay):
            best = np.maximum(best, self.tables.stay[self.oracle.grounding.index.instant_offsets[:-1]])
        return np.asarray(best.sum(axis=0))

    def expand(self, bases: matching.Bodies, batch: Batch) -> Float64:
        """The sums of every row of every chain, laid out as the batch says; see `expand_chains`."""
        index = self.oracle.grounding.index
        sums = np.zeros(int(batch.sum_offsets[-1]))

        def some(begin: int, end: int) -> None:
            first, last = int(batch.base[begin]), int(batch.base[end - 1]) + 1
            room = matching.candidate_room(index, bases, first, last)
            offsets = np.empty(last - first + 1, np.int64)
            entities, places = np.empty(room, np.int32), np.empty(room, np.int32)
            matching.find_first(index, bases, first, last, offsets, entities, places)
            expand_chains(
                self.events,
                self.tables,
                batch,
                self.width,
                self.n_children,
                begin,
                end,
                first,
                offsets,
                entities,
                places,
                sums,
            )

        self.oracle.threads.over(len(batch.base), some, smallest=8)
        return sums

    def _tables(self, sign: int, objective: Objective) -> Tables:
        """What completing at an event, or anywhere, can earn at most."""
        after, lapsed = self.oracle.after, self.oracle.lapsed
        kernel, index, events = self.oracle.grounding.feature.kernel, self.oracle.grounding.index, self.events
        entity = np.repeat(np.arange(len(events.offsets) - 1), np.diff(events.offsets))
        order = np.lexsort((events.instants, events.columns, entity))  # the events of one predicate in one entity
        new = np.ones(len(order), np.bool_)
        new[1:] = (np.diff(entity[order]) != 0) | (np.diff(events.columns[order]) != 0)
        groups = np.append(np.flatnonzero(new), len(order)).astype(np.int64)
        at = events.instants[order]
        latest = np.empty((len(order), self.intervals))
        stay = np.empty((0, self.intervals))
        if kernel.name == "window":
            prices, later = (self._additive(table, sign, objective) for table in (after, lapsed))
            best = np.empty_like(latest)
            best_union(prices[at], later[at], index.instant_times[at], kernel.width, groups, best)
            latest[order] = best
            if self.n_statics:
                stay = np.empty_like(prices)
                best_union(prices, later, index.instant_times, kernel.width, index.instant_offsets, stay)
            return Tables(after, latest, stay)
        values = self._additive(after, sign, objective) if objective == "gradient" else self._best(after, sign)
        best = values[at]
        best_later(best, groups)
        latest[order] = best
        return Tables(after, latest, np.maximum(values, 0.0) if self.n_statics else stay)

    def _best(self, table: Float64, sign: int) -> Float64:
        """max over the weights of an interval of sign·w·O − (e^(sign·w) − 1)·E, for rows (O, E)."""
        observed, expected = table[:, :1], table[:, 1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = sign * (np.log(observed) - np.log(expected))
        weight = np.clip(np.nan_to_num(best, nan=0.0), self.cuts[:-1], self.cuts[1:])
        return np.asarray(sign * weight * observed - np.expm1(sign * weight) * expected)

    def _additive(self, table: Float64, sign: int, objective: Objective) -> Float64:
        """Of (O, E): sign·(O − E), or at most what any weight of an interval [v, w] earns with it."""
        observed, expected = table[:, :1], table[:, 1:]
        if objective == "gradient":
            return np.asarray(sign * (observed - expected))
        low, high = self.cuts[:-1], self.cuts[1:]
        if sign > 0:
            return np.asarray(high * observed - np.expm1(low) * expected)
        return np.asarray(-low * observed - np.expm1(-high) * expected)


def _library_events(log: EventLog, timed_codes: Int32, static_codes: Int32) -> Events:
    """The events of a library, by column."""
    entity = np.repeat(np.arange(log.n_entities), np.diff(log.offsets))
    new = np.ones(log.n_events, np.bool_)
    new[1:] = (entity[1:] != entity[:-1]) | (log.times[1:] != log.times[:-1])
    instants = np.cumsum(new) + entity  # the origins of the entities so far come on top
    column_of = np.full(log.n_predicates, -1, np.int32)
    column_of[timed_codes] = np.arange(len(timed_codes))
    columns = column_of[log.codes]
    kept = np.flatnonzero(columns >= 0)
    entity, instants, columns = entity[kept], instants[kept], columns[kept]
    order = np.lexsort((instants, columns, entity))
    previous = np.full(len(order), -1, np.int32)
    same = (np.diff(entity[order]) == 0) & (np.diff(columns[order]) == 0)
    previous[order[1:][same]] = instants[order[:-1][same]]
    static_of = np.full(log.n_predicates, -1, np.int32)
    static_of[static_codes] = np.arange(len(static_codes))
    return Events(
        np.searchsorted(entity, np.arange(log.n_entities + 1)).astype(np.int64),
        instants.astype(np.int32),
        columns,
        previous,
        log.static_offsets,
        static_of[log.static_codes],
    )
