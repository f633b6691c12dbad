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
from chronorule.kernels.ceilings import best_pieces, best_rising
from chronorule.kernels.multiplying import best_continuations, multiply_chains
from chronorule.kernels.ordering import Ceilings, Orders, Steps, expand_orders, next_places
from chronorule.pricing.oracle import Objective, Oracle
from chronorule.rules.grammar import Grammar

Flags = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

INTERVALS = 12  # of the weight; more make the bounds sharper and the sums longer
FIRST_CUT, LAST_CUT = 0.1, 4.0  # the cuts between lie evenly on the log scale here; the last interval ends at w_max
MOST_PLACES = 1 << 26  # next places of predicates that are kept for partial orders, 256 MiB; else they are looked up
NUMBERS_AT_THE_ROOT = 1 << 24  # children times targets; a large library has fewer intervals


class ChainBounds:
    """What children of chains have, and what rules below them can have, for one sign and one objective.

    Sums over disjoint sets of entities add up, so that a batch of chains can be expanded on parts of a log.
    """

    def __init__(
        self, oracle: Oracle, grammar: Grammar, sign: int, objective: Objective, evidence: bool = True
    ) -> None:
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
        self.multiplies = grounding.feature.kind == "count" and objective == "gradient"
        self.unordered = grammar.partial_orders
        # whether the value of a child (with `evidence` its gain, too) follows from its sums, without matching
        simple = not evidence if self.multiplies else grounding.feature.kind == "exists"
        self.exact = (
            simple and grounding.feature.span is None and (self.multiplies or grounding.feature.kernel.name == "step")
        )
        if self.multiplies:
            self._price_matches(sign, grammar.lengths.stop - 1)
        else:
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
        if self.multiplies:
            origins = self.oracle.grounding.index.instant_offsets[:-1]
            return np.asarray(self.values[origins, -1:].sum(axis=0))
        offsets = self.events.offsets
        filled = np.flatnonzero(np.diff(offsets) > 0)
        best = np.zeros((len(offsets) - 1, self.intervals))
        if len(filled):
            best[filled] = np.maximum.reduceat(self.tables.latest, offsets[filled], axis=0)
        if len(self.tables.stay):
            best = np.maximum(best, self.tables.stay[self.oracle.grounding.index.instant_offsets[:-1]])
        return np.asarray(best.sum(axis=0))

    def multiply(self, chains: matching.Bodies, by_column: matching.Bodies, batch: Batch) -> Float64:
        """The same where matches count, from the chains themselves by code and by column; see `multiply_chains`."""
        index = self.oracle.grounding.index
        sums = np.zeros(int(batch.sum_offsets[-1]))

        def some(begin: int, end: int) -> None:
            room = matching.candidate_room(index, chains, begin, end)
            offsets = np.empty(end - begin + 1, np.int64)
            entities, places = np.empty(room, np.int32), np.empty(room, np.int32)
            matching.find_first(index, chains, begin, end, offsets, entities, places)
            multiply_chains(
                self.events,
                index.instant_offsets,
                self.prices,
                self.values,
                batch,
                by_column,
                self.width,
                self.n_children,
                begin,
                end,
                offsets,
                entities,
                sums,
            )

        self.oracle.threads.over(len(batch.base), some, smallest=8)
        return sums

    def _price_matches(self, sign: int, longest: int) -> None:
        """Prices of matches by instant, and what these can become."""
        feature, index = self.oracle.grounding.feature, self.oracle.grounding.index
        self.prices = self.oracle.after
        if feature.kernel.name == "window":
            self.prices = self.oracle.after - self.oracle.lapsed
        each = np.zeros((len(self.prices), longest + 1))
        each[:, 0] = sign * (self.prices[:, 0] - self.prices[:, 1])
        least = -np.inf if feature.span is None else 0.0  # a match too long earns nothing, so that others may go alone
        statics = self.n_statics > 0
        self.values = best_continuations(
            self.events, index.instant_offsets, each, self.width, statics, self.unordered, not self.exact, least
        )

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
        after, events = self.oracle.after, self.events
        order, groups = self.by_predicate()
        at = events.instants[order]
        latest = np.empty((len(order), self.intervals))
        latest[order] = self._from_events(at, groups, sign, objective)
        stay = np.empty((0, self.intervals))
        if self.n_statics:
            stay = np.maximum(self.here(sign, objective), 0.0)
        return Tables(after, latest, stay)

    def by_predicate(self) -> tuple[Int64, Int64]:
        """The events of one predicate in one entity together, in order of time: (events, where each group begins)."""
        events = self.events
        entity = np.repeat(np.arange(len(events.offsets) - 1), np.diff(events.offsets))
        order = np.lexsort((events.instants, events.columns, entity))
        new = np.ones(len(order), np.bool_)
        new[1:] = (np.diff(entity[order]) != 0) | (np.diff(events.columns[order]) != 0)
        return order, np.append(np.flatnonzero(new), len(order)).astype(np.int64)

    def _from_events(self, at: Int32, groups: Int64, sign: int, objective: Objective) -> Float64:
        """What rules that complete at rows of one group only can earn from each row on; `at` are the rows' instants."""
        feature, times = self.oracle.grounding.feature, self.oracle.grounding.index.instant_times[at]
        after = self.oracle.after[at]
        best = np.empty((len(at), self.intervals))
        if feature.kernel.name == "window":
            lapsed = self.oracle.lapsed[at]
            if feature.kind == "count":
                best_pieces(after, lapsed, times, self.oracle.grounding.width, groups, self.cuts[:-1], sign, best)
                return best
            prices, later = (self._additive(table, sign, objective) for table in (after, lapsed))
            best_union(prices, later, times, self.oracle.grounding.width, groups, best)
            return best
        if feature.kind == "count":
            best_rising(after, groups, self.cuts[:-1], sign, best)
            return best
        best = self._additive(after, sign, objective) if objective == "gradient" else self._best(after, sign)
        best_later(best, groups)
        return best

    def here(self, sign: int, objective: Objective) -> Float64:
        """What rules that complete first at an instant can earn at most."""
        feature, index = self.oracle.grounding.feature, self.oracle.grounding.index
        after, lapsed = self.oracle.after, self.oracle.lapsed
        if feature.kind == "exists" and feature.kernel.name == "step":
            return self._additive(after, sign, objective) if objective == "gradient" else self._best(after, sign)
        groups, width = index.instant_offsets, self.oracle.grounding.width
        best = np.empty((len(after), self.intervals))
        if feature.kind == "exists":
            prices, later = (self._additive(table, sign, objective) for table in (after, lapsed))
            best_union(prices, later, index.instant_times, width, groups, best)
        elif feature.kernel.name == "step":
            best_rising(after, groups, self.cuts[:-1], sign, best)
        else:
            best_pieces(after, lapsed, index.instant_times, width, groups, self.cuts[:-1], sign, best)
            origins = groups[
                :-1
            ]  # what completes at the origin, a rule of statics alone, is one match that never lapses
            best[origins] = np.maximum(best[origins], self._best(after[origins], sign))
        return best

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


class OrderBounds:
    """The same for partial orders, whose rules complete at events of any of their predicates.

    So a target is not an end but a *member*: rules below that hold u too complete no earlier than u happens first.
    """

    def __init__(self, oracle: Oracle, grammar: Grammar, sign: int, objective: Objective) -> None:
        feature = oracle.grounding.feature
        chains = ChainBounds(oracle, grammar, sign, objective)
        self.oracle, self.cuts, self.charges = oracle, chains.cuts, chains.charges
        self.timed_codes, self.static_codes = chains.timed_codes, chains.static_codes
        self.events = chains.events
        # whether the value of a child follows from its sums, and rules end at the next event of what is added
        self.tight = feature.kind == "exists" and feature.kernel.name == "step" and feature.span is None
        self.again = grammar.repeats
        self.multiplies, self.chains = chains.multiplies, chains
        if not self.multiplies:
            self.ceilings = self._ceilings(chains, sign, objective)
            offsets, width = oracle.grounding.index.instant_offsets, len(self.timed_codes)
            self.upcoming = np.empty((0, width), np.int32)
            if int(offsets[-1]) * width <= MOST_PLACES:
                self.upcoming = next_places(self.events, offsets, width)

    @property
    def intervals(self) -> int:
        """Number of intervals of the weight."""
        return len(self.cuts) - 1

    def everything(self) -> Float64:
        """At most what any rule can earn, before charges: [intervals]."""
        if self.multiplies:
            return self.chains.everything()
        origins = self.oracle.grounding.index.instant_offsets[:-1]
        return np.asarray(self.ceilings.later[origins].sum(axis=0))

    def multiply(self, children: matching.Bodies, rest: Int64, targets: Int64) -> Float64:
        """The sums of children where matches count, from all their completions: what each match can still become.

        `rest` is how many predicates may come after each child, and `targets` how many targets it has, all alike.
        """
        chains, begins = self.chains, np.concatenate([[0], np.cumsum(2 + targets)])
        sums = np.zeros(int(begins[-1]))

        def some(begin: int, end: int) -> None:
            for r in range(begin, end):
                found = matching.find_completions(self.oracle.grounding.index, children, r, np.inf)
                instants, matches = found[:, 1].astype(np.int64), found[:, 2]
                sums[begins[r] : begins[r] + 2] = matches @ chains.prices[instants]
                sums[begins[r] + 2 : begins[r + 1]] = matches @ chains.values[instants, rest[r]]

        self.oracle.threads.over(len(rest), some)
        return sums

    def _ceilings(self, chains: ChainBounds, sign: int, objective: Objective) -> Ceilings:
        events, offsets = self.events, self.oracle.grounding.index.instant_offsets
        here = np.maximum(chains.here(sign, objective), 0.0)
        completing = np.bincount(events.instants, minlength=len(here))
        completing[offsets[:-1]] = 1  # of static predicates
        later = np.where(completing[:, None] > 0, here, 0.0)
        best_later(later, offsets)
        order, groups = chains.by_predicate()
        hop = here[events.instants]
        together = np.where(completing[events.instants][:, None] > 1, hop, 0.0)[order]
        best_later(together, groups)
        hop[order] = np.maximum(hop[order], together)
        return Ceilings(self.oracle.after, here, later, hop)

    def expand(self, bodies: matching.Bodies, orders: Orders, steps: Steps) -> Float64:
        """The sums of every child of every order, laid out as the steps say; see `expand_orders`."""
        index = self.oracle.grounding.index
        sums = np.zeros(int(steps.sum_offsets[-1]))

        def some(begin: int, end: int) -> None:
            room = matching.candidate_room(index, bodies, begin, end)
            offsets = np.empty(end - begin + 1, np.int64)
            entities, places = np.empty(room, np.int32), np.empty(room, np.int32)
            matching.find_first(index, bodies, begin, end, offsets, entities, places)
            expand_orders(
                self.events,
                self.upcoming,
                self.ceilings,
                orders,
                steps,
                index.instant_offsets,
                len(self.timed_codes),
                len(self.timed_codes) + len(self.static_codes),
                self.tight,
                self.again,
                begin,
                end,
                offsets,
                entities,
                sums,
            )

        self.oracle.threads.over(len(orders.timed), some, smallest=8)
        return sums


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
