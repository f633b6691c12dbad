"""Where rules complete: an index of a log by predicate, and loops that match bodies on it without enumerating matches.

An *instant* is a distinct (entity, time); instants are numbered in order, and each entity's first one is its *origin*
at minus infinity, where rules of static predicates alone complete. Every list of places is a list of instant numbers,
so that Before is `<` and Equal is `==`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
UInt64 = NDArray[np.uint64]
Float64 = NDArray[np.float64]

ONE = np.uint64(1)
NONE = np.uint64(0)


class Index(NamedTuple):
    """A log by predicate: bit sets of the entities that hold it, and the instants at which they do.

    The places of predicate p in entity c are `positions[pair_offsets[k]:pair_offsets[k + 1]]`, where k is
    `rank[p, c // 64]` plus the number of entities before c in the word `presence[p, c // 64]`.
    """

    instant_offsets: Int64  # [E + 1] instants of an entity; the first is its origin
    instant_times: Float64  # [m]
    presence: UInt64  # [P, ceil(E / 64)]
    rank: Int32  # [P, ceil(E / 64)]
    pair_offsets: Int32  # [pairs + 1]
    positions: Int32  # [n]


class Bodies(NamedTuple):
    """A batch of rule bodies: Equal classes of predicate codes in topological order, and who must come before whom."""

    class_offsets: Int64  # [R + 1] classes of a rule
    member_offsets: Int64  # [C + 1] predicates of a class
    members: Int32  # predicate codes
    predecessors: Int64  # [C] bit mask of all earlier classes of the same rule
    maximal: Int64  # [R] bit mask of the classes that nothing follows
    chain: NDArray[np.bool_]  # [R]
    static_offsets: Int64  # [R + 1]
    statics: Int32  # codes of static predicates
    state_offsets: Int64  # [R + 1] down-sets of a rule that is no chain
    states: Int64  # bit masks, a larger down-set before each one that it contains
    state_maximal: Int64  # bit mask of the maximal classes of each down-set


def _ones(typing_context: Any, word: Any) -> Any:
    """Number of bits set in a 64-bit word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Place of the lowest bit set in a non-zero 64-bit word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


_count_ones = cast("Callable[[np.uint64], int]", intrinsic(_ones))
_lowest_one = cast("Callable[[np.uint64], int]", intrinsic(_trailing_zeros))


@compiled
def build_index(
    offsets: Int64, times: Float64, codes: Int32, n_predicates: int, static_offsets: Int64, static_codes: Int32
) -> Index:
    """Index events sorted by (entity, time): four passes over the events."""
    n_entities = offsets.shape[0] - 1
    n_events = times.shape[0]
    words = (n_entities + 63) >> 6
    instant_offsets = np.empty(n_entities + 1, np.int64)
    instant_of_event = np.empty(n_events, np.int32)
    presence = np.zeros((n_predicates, words), np.uint64)
    instant = 0
    for c in range(n_entities):
        instant_offsets[c] = instant
        word = c >> 6
        bit = ONE << np.uint64(c & 63)
        for j in range(offsets[c], offsets[c + 1]):
            if j == offsets[c] or times[j] != times[j - 1]:
                instant += 1
            instant_of_event[j] = instant
            presence[codes[j], word] |= bit
        instant += 1
    instant_offsets[n_entities] = instant
    instant_times = np.empty(instant, np.float64)
    for c in range(n_entities):
        instant_times[instant_offsets[c]] = -np.inf
    for j in range(n_events):
        instant_times[instant_of_event[j]] = times[j]

    rank = np.empty((n_predicates, words), np.int32)
    pairs = 0
    for p in range(n_predicates):
        for word in range(words):
            rank[p, word] = pairs
            pairs += _count_ones(presence[p, word])
    pair_offsets = np.zeros(pairs + 1, np.int32)
    positions = np.empty(n_events, np.int32)
    for sweep in range(2):
        for c in range(n_entities):
            word = c >> 6
            below = (ONE << np.uint64(c & 63)) - ONE
            for j in range(offsets[c], offsets[c + 1]):
                p = codes[j]
                pair = rank[p, word] + _count_ones(presence[p, word] & below)
                if sweep == 0:
                    pair_offsets[pair] += 1
                else:
                    positions[pair_offsets[pair]] = instant_of_event[j]
                    pair_offsets[pair] += 1
        # Sweep 0 leaves sizes: turn them into starts. Sweep 1 leaves ends: move them back to starts.
        if sweep == 0:
            total = 0
            for pair in range(pairs + 1):
                size = pair_offsets[pair]
                pair_offsets[pair] = total
                total += size
        else:
            for pair in range(pairs, 0, -1):
                pair_offsets[pair] = pair_offsets[pair - 1]
            pair_offsets[0] = 0
    for c in range(n_entities):
        for j in range(static_offsets[c], static_offsets[c + 1]):
            presence[static_codes[j], c >> 6] |= ONE << np.uint64(c & 63)
    return Index(instant_offsets, instant_times, presence, rank, pair_offsets, positions)


@compiled
def _candidates(index: Index, bodies: Bodies, r: int, word: int) -> np.uint64:
    """Bit set of the entities of one word that hold every predicate of rule r."""
    found = ~NONE
    for k in range(bodies.static_offsets[r], bodies.static_offsets[r + 1]):
        found &= index.presence[bodies.statics[k], word]
    for k in range(bodies.member_offsets[bodies.class_offsets[r]], bodies.member_offsets[bodies.class_offsets[r + 1]]):
        found &= index.presence[bodies.members[k], word]
        if found == NONE:
            return found
    last = (index.instant_offsets.shape[0] - 1) - (word << 6)
    if last < 64:
        found &= (ONE << np.uint64(last)) - ONE
    return found


@compiled
def _next_place(index: Index, p: int, c: int, after: int) -> int:
    """The first instant > `after` at which entity c holds predicate p, or -1; the entity must hold it somewhere."""
    word = c >> 6
    pair = index.rank[p, word] + _count_ones(index.presence[p, word] & ((ONE << np.uint64(c & 63)) - ONE))
    low = index.pair_offsets[pair]
    end = index.pair_offsets[pair + 1]
    high = end
    while high - low > 8:
        middle = (low + high) >> 1
        if index.positions[middle] > after:
            high = middle
        else:
            low = middle + 1
    while low < end and index.positions[low] <= after:
        low += 1
    return index.positions[low] if low < end else -1


@compiled
def _last_place(index: Index, p: int, c: int, before: int) -> int:
    """The last instant < `before` at which entity c holds predicate p, or -1; the entity must hold it somewhere."""
    word = c >> 6
    pair = index.rank[p, word] + _count_ones(index.presence[p, word] & ((ONE << np.uint64(c & 63)) - ONE))
    low = index.pair_offsets[pair]
    high = index.pair_offsets[pair + 1]
    while low < high:  # positions[low - 1] < before <= positions[high]
        middle = (low + high) >> 1
        if index.positions[middle] < before:
            low = middle + 1
        else:
            high = middle
    if low == index.pair_offsets[pair]:
        return -1
    return index.positions[low - 1]


@compiled
def _next_class(index: Index, bodies: Bodies, k: int, c: int, after: int) -> int:
    """The first instant > `after` at which entity c holds all predicates of class k, or -1."""
    first = bodies.member_offsets[k]
    size = bodies.member_offsets[k + 1] - first
    place = _next_place(index, bodies.members[first], c, after)
    agreed = 1
    member = 0
    while place >= 0 and agreed < size:
        member = (member + 1) % size
        other = _next_place(index, bodies.members[first + member], c, place - 1)
        if other == place:
            agreed += 1
        else:
            place = other
            agreed = 1
    return place


@compiled
def _last_class(index: Index, bodies: Bodies, k: int, c: int, before: int) -> int:
    """The last instant < `before` at which entity c holds all predicates of class k, or -1."""
    first = bodies.member_offsets[k]
    size = bodies.member_offsets[k + 1] - first
    place = _last_place(index, bodies.members[first], c, before)
    agreed = 1
    member = 0
    while place >= 0 and agreed < size:
        member = (member + 1) % size
        other = _last_place(index, bodies.members[first + member], c, place + 1)
        if other == place:
            agreed += 1
        else:
            place = other
            agreed = 1
    return place


@compiled
def _first_completion(index: Index, bodies: Bodies, r: int, c: int, picks: Int64) -> int:
    """The earliest instant at which rule r completes in entity c, or -1 (design 3: the greedy match is earliest)."""
    first = bodies.class_offsets[r]
    completion = index.instant_offsets[c]
    for k in range(first, bodies.class_offsets[r + 1]):
        earlier = bodies.predecessors[k]
        after = index.instant_offsets[c]
        if earlier == (1 << (k - first)) - 1:
            after = completion
        else:
            for u in range(k - first):
                if earlier >> u & 1:
                    after = max(after, picks[u])
        place = _next_class(index, bodies, k, c, after)
        if place < 0:
            return -1
        picks[k - first] = place
        completion = max(completion, place)
    return completion


@compiled
def _next_completion(index: Index, bodies: Bodies, r: int, c: int, after: int) -> int:
    """The next completion of rule r after one at `after`: the next instant that holds a maximal class, or -1."""
    first = bodies.class_offsets[r]
    found = -1
    for k in range(first, bodies.class_offsets[r + 1]):
        if bodies.maximal[r] >> (k - first) & 1:
            place = _next_class(index, bodies, k, c, after)
            if place >= 0 and (found < 0 or place < found):
                found = place
    return found


@compiled
def _latest_start(index: Index, bodies: Bodies, r: int, c: int, completion: int, picks: Int64) -> int:
    """The latest possible first instant of a match that ends at `completion`, where one is known to end."""
    first = bodies.class_offsets[r]
    size = bodies.class_offsets[r + 1] - first
    start = completion
    for k in range(size - 1, -1, -1):
        before = completion + 1
        for later in range(k + 1, size):
            if bodies.predecessors[first + later] >> k & 1:
                before = min(before, picks[later])
        picks[k] = _last_class(index, bodies, first + k, c, before)
        start = min(start, picks[k])
    return start


@compiled
def _next_within_span(index: Index, bodies: Bodies, r: int, c: int, place: int, span: float, picks: Int64) -> int:
    """The first completion from `place` (a completion) on that has a match no longer than `span`, or -1."""
    while place >= 0:
        if bodies.class_offsets[r] == bodies.class_offsets[r + 1]:
            return place
        start = _latest_start(index, bodies, r, c, place, picks)
        if index.instant_times[place] - index.instant_times[start] <= span:
            return place
        place = _next_completion(index, bodies, r, c, place)
    return -1


@compiled
def _count_matches(
    index: Index, bodies: Bodies, r: int, c: int, until: int, held: Int64, counts: Float64, out: Float64
) -> int:
    """Matches of rule r in entity c up to instant `until`, by the instant at which they complete.

    `held[k]` is the first instant that class k may take, and is used up. Writes (instant, number of matches that
    complete there) to the rows of `out`; returns how many rows. `counts[S]` is the number of ways to have matched
    down-set S so far; at an instant a down-set may gain any antichain of classes held there, taken from the values
    before the instant (design 3), so larger down-sets are updated first.
    """
    first = bodies.class_offsets[r]
    size = bodies.class_offsets[r + 1] - first
    chain = bodies.chain[r]
    for state in range(size + 1 if chain else 1 << size):
        counts[state] = 0.0
    counts[0] = 1.0
    rows = 0
    while True:
        place = until + 1
        for k in range(size):
            if held[k] >= 0 and held[k] < place:
                place = held[k]
        if place > until:
            return rows
        gained = 0.0
        if chain:
            for k in range(size - 1, -1, -1):
                if held[k] == place:
                    counts[k + 1] += counts[k]
                    if k == size - 1:
                        gained = counts[k]
        else:
            here = 0
            for k in range(size):
                if held[k] == place:
                    here |= 1 << k
            full = (1 << size) - 1
            for j in range(bodies.state_offsets[r], bodies.state_offsets[r + 1]):
                state = bodies.states[j]
                last = bodies.state_maximal[j] & here
                added = 0.0
                subset = last
                while subset > 0:
                    added += counts[state ^ subset]
                    subset = (subset - 1) & last
                counts[state] += added
                if state == full:
                    gained = added
        if gained > 0.0:
            out[rows, 0] = place
            out[rows, 1] = gained
            rows += 1
        for k in range(size):
            if held[k] == place:
                held[k] = _next_class(index, bodies, first + k, c, place)


@compiled
def _entity_completions(
    index: Index, bodies: Bodies, r: int, c: int, span: float, scratch: Int64, counts: Float64, out: Float64
) -> int:
    """All completions of rule r in entity c as rows (instant, multiplicity) of `out`; returns how many.

    `scratch` holds the greedy match: no match uses an event of a class from before its place there. Callers find that
    first and come here only where there is one, since most entities have none.
    """
    origin = index.instant_offsets[c]
    first = bodies.class_offsets[r]
    size = bodies.class_offsets[r + 1] - first
    if size == 0:
        out[0, 0] = origin
        out[0, 1] = 1.0
        return 1
    end = index.instant_offsets[c + 1] - 1
    rows = _count_matches(index, bodies, r, c, end, scratch, counts, out)
    if span == np.inf:
        return rows
    kept = 0
    low = origin + 1
    inside = np.empty((end - origin + 1, 2), np.float64)
    for j in range(rows):
        place = int(out[j, 0])
        while index.instant_times[place] - index.instant_times[low] > span:
            low += 1
        for k in range(size):
            scratch[k] = _next_class(index, bodies, first + k, c, low - 1)
        found = _count_matches(index, bodies, r, c, place, scratch, counts, inside)
        if found > 0 and inside[found - 1, 0] == place:
            out[kept, 0] = place
            out[kept, 1] = inside[found - 1, 1]
            kept += 1
    return kept


@compiled
def _longest_entity(index: Index) -> int:
    longest = 1
    for c in range(index.instant_offsets.shape[0] - 1):
        longest = max(longest, index.instant_offsets[c + 1] - index.instant_offsets[c])
    return longest


@compiled
def _count_size(bodies: Bodies) -> int:
    """Room that the numbers of partial matches need."""
    room = 2
    for r in range(bodies.class_offsets.shape[0] - 1):
        size = bodies.class_offsets[r + 1] - bodies.class_offsets[r]
        room = max(room, size + 1 if bodies.chain[r] else 1 << size)
    return room


@compiled
def _widened(table: Float64, rows: int, room: int) -> Float64:
    """A copy of the first rows of a table, with room for more."""
    wider = np.empty((room, table.shape[1]), np.float64)
    for j in range(rows):
        for k in range(table.shape[1]):
            wider[j, k] = table[j, k]
    return wider


@compiled
def find_completions(index: Index, bodies: Bodies, r: int, span: float) -> Float64:
    """Rows (entity, instant, multiplicity) of every completion of rule r, in order."""
    scratch = np.empty(64, np.int64)
    counts = np.empty(_count_size(bodies), np.float64)
    out = np.empty((_longest_entity(index), 2), np.float64)
    table = np.empty((1024, 3), np.float64)
    total = 0
    for word in range(index.presence.shape[1]):
        found = _candidates(index, bodies, r, word)
        while found != NONE:
            c = (word << 6) + _lowest_one(found)
            found &= found - ONE
            if _first_completion(index, bodies, r, c, scratch) < 0:
                continue
            rows = _entity_completions(index, bodies, r, c, span, scratch, counts, out)
            if total + rows > table.shape[0]:
                table = _widened(table, total, 2 * (total + rows))
            for j in range(rows):
                table[total, 0] = c
                table[total, 1] = out[j, 0]
                table[total, 2] = out[j, 1]
                total += 1
    return _widened(table, total, total)


@compiled
def score_exists(
    index: Index, bodies: Bodies, after: Float64, lapsed: Float64, span: float, begin: int, end: int, out: Float64
) -> None:
    """Observed and expected heads while `exists` features are on, for rules begin..end (design 5).

    `after[s]` is (observed, expected) after instant s; `lapsed[s]` the same after s + W, and empty for the step kernel,
    where only the first completion matters. Both fall with time, so what a completion earns ends at the larger of
    the next completion's `after` and its own `lapsed`. Writes (observed, expected) to out[r - begin].
    """
    picks = np.empty(64, np.int64)
    step = lapsed.shape[0] == 0
    spanned = span != np.inf
    for r in range(begin, end):
        observed = 0.0
        expected = 0.0
        for word in range(index.presence.shape[1]):
            found = _candidates(index, bodies, r, word)
            while found != NONE:
                c = (word << 6) + _lowest_one(found)
                found &= found - ONE
                place = _first_completion(index, bodies, r, c, picks)
                if place < 0:
                    continue
                if spanned:
                    place = _next_within_span(index, bodies, r, c, place, span, picks)
                if step:
                    if place >= 0:
                        observed += after[place, 0]
                        expected += after[place, 1]
                    continue
                while place >= 0:
                    following = _next_completion(index, bodies, r, c, place)
                    if spanned:
                        following = _next_within_span(index, bodies, r, c, following, span, picks)
                    until_observed = lapsed[place, 0]
                    until_expected = lapsed[place, 1]
                    if following >= 0:
                        until_observed = max(until_observed, after[following, 0])
                        until_expected = max(until_expected, after[following, 1])
                    observed += after[place, 0] - until_observed
                    expected += after[place, 1] - until_expected
                    place = following
        out[r - begin, 0] = observed
        out[r - begin, 1] = expected


@compiled
def _best_weight(
    levels: Float64, size: int, earned: float, charge: float, sign: int, largest: float
) -> tuple[float, float]:
    """The weight in [0, largest] and the gain of max_w [sign·w·earned − w·charge − Σ mass·(e^(sign·w·φ) − 1)].

    `levels` holds φ in column 0 and the mass in column 2. Newton on log Σ mass·φ·e^(sign·w·φ), which is convex in w:
    from 0 it passes the root at most once.
    """
    target = earned - charge if sign > 0 else earned + charge
    slope = 0.0
    for j in range(size):
        slope += levels[j, 2] * levels[j, 0]
    if largest <= 0.0 or sign * (target - slope) <= 0.0:
        return 0.0, 0.0
    weight = largest
    if slope > 0.0 and target > 0.0:
        weight = 0.0
        goal = np.log(target)
        for _ in range(100):
            top = 0.0
            for j in range(size):
                top = max(top, sign * weight * levels[j, 0])
            total = 0.0
            moment = 0.0
            for j in range(size):
                term = levels[j, 2] * levels[j, 0] * np.exp(sign * weight * levels[j, 0] - top)
                total += term
                moment += term * levels[j, 0]
            moved = weight + (goal - np.log(total) - top) * total / (sign * moment)
            moved = min(max(moved, 0.0), largest)  # a step that passes the root may end at `largest`: go on from there
            settled = abs(moved - weight) <= 1e-12 * (1.0 + weight)
            weight = moved
            if settled:
                break
    gain = weight * sign * target
    for j in range(size):
        gain -= levels[j, 2] * np.expm1(sign * weight * levels[j, 0])
    return weight, max(gain, 0.0)


HISTOGRAM = 64


@compiled
def _add_levels(
    rows: int, out: Float64, times: Float64, after: Float64, lapsed: Float64, width: float, levels: Float64, size: int
) -> tuple[Float64, int]:
    """Add the stretches of constant φ that the completions `out[:rows]` make to `levels` (φ, heads, expected heads).

    The first rows of `levels` are a histogram by φ (row v for φ = v), so that few exponentials are needed later.
    """
    arriving = 0
    leaving = 0
    value = 0.0
    lost = 0.0  # what rounding took from `value`, as in `feature_path`
    observed = 0.0
    expected = 0.0
    while arriving < rows or (lapsed.shape[0] > 0 and leaving < rows):
        arrives = arriving < rows
        if arrives and lapsed.shape[0] > 0 and leaving < arriving:
            arrives = times[int(out[arriving, 0])] <= times[int(out[leaving, 0])] + width
        place = int(out[arriving, 0]) if arrives else int(out[leaving, 0])
        now_observed = after[place, 0] if arrives else lapsed[place, 0]
        now_expected = after[place, 1] if arrives else lapsed[place, 1]
        levels, size = _add_level(levels, size, value + lost, observed - now_observed, expected - now_expected)
        observed = now_observed
        expected = now_expected
        if arrives:
            change = out[arriving, 1]
            arriving += 1
        else:
            change = -out[leaving, 1]
            leaving += 1
        total = value + change
        if lapsed.shape[0] > 0:
            part = total - value
            lost += (value - (total - part)) + (change - part)
        value = total
    return _add_level(levels, size, value + lost, observed, expected)


@compiled
def _add_level(levels: Float64, size: int, value: float, heads: float, mass: float) -> tuple[Float64, int]:
    if value <= 0.0 or (heads == 0.0 and mass == 0.0):
        return levels, size
    row = size
    if value < HISTOGRAM:
        row = int(value)
    else:
        if size == levels.shape[0]:
            levels = _widened(levels, size, 2 * size)
            for j in range(size, 2 * size):
                for k in range(3):
                    levels[j, k] = 0.0
        size += 1
    levels[row, 0] = value
    levels[row, 1] += heads
    levels[row, 2] += mass
    return levels, size


@compiled
def score_count(
    index: Index,
    bodies: Bodies,
    after: Float64,
    lapsed: Float64,
    width: float,
    span: float,
    charges: Float64,
    sign: int,
    largest: float,
    begin: int,
    end: int,
    out: Float64,
) -> None:
    """Σ φ at heads, Σ φ expected, best weight and gain of `count` features, for rules begin..end (design 5).

    `after` and `lapsed` as in `score_exists`; `charges` is λ0 times each rule's length. Writes to out[r - begin].
    """
    scratch = np.empty(64, np.int64)
    counts = np.empty(_count_size(bodies), np.float64)
    rows_of_entity = np.empty((_longest_entity(index), 2), np.float64)
    levels = np.zeros((4 * HISTOGRAM, 3), np.float64)
    for r in range(begin, end):
        size = HISTOGRAM
        for word in range(index.presence.shape[1]):
            found = _candidates(index, bodies, r, word)
            while found != NONE:
                c = (word << 6) + _lowest_one(found)
                found &= found - ONE
                if _first_completion(index, bodies, r, c, scratch) < 0:
                    continue
                rows = _entity_completions(index, bodies, r, c, span, scratch, counts, rows_of_entity)
                levels, size = _add_levels(
                    rows, rows_of_entity, index.instant_times, after, lapsed, width, levels, size
                )
        observed = 0.0
        expected = 0.0
        filled = 0
        for j in range(size):
            observed += levels[j, 0] * levels[j, 1]
            expected += levels[j, 0] * levels[j, 2]
            if levels[j, 2] > 0.0:
                levels[filled, 0] = levels[j, 0]
                levels[filled, 2] = levels[j, 2]
                filled += 1
        weight, gain = _best_weight(levels, filled, observed, charges[r], sign, largest)
        out[r - begin, 0] = observed
        out[r - begin, 1] = expected
        out[r - begin, 2] = weight
        out[r - begin, 3] = gain
        for j in range(size):
            for k in range(3):
                levels[j, k] = 0.0


@compiled
def score_prices(
    index: Index,
    bodies: Bodies,
    prices: Float64,
    decay: float,
    latest_only: bool,
    span: float,
    begin: int,
    end: int,
    out: Float64,
) -> None:
    """What the completions of rules begin..end earn at `prices[s]` = D(s), for the decay kernel (design 5).

    With `latest_only` (`exists`) a completion's price ends where the next one takes over.
    """
    scratch = np.empty(64, np.int64)
    counts = np.empty(_count_size(bodies), np.float64)
    rows_of_entity = np.empty((_longest_entity(index), 2), np.float64)
    for r in range(begin, end):
        earned = 0.0
        for word in range(index.presence.shape[1]):
            found = _candidates(index, bodies, r, word)
            while found != NONE:
                c = (word << 6) + _lowest_one(found)
                found &= found - ONE
                if _first_completion(index, bodies, r, c, scratch) < 0:
                    continue
                rows = _entity_completions(index, bodies, r, c, span, scratch, counts, rows_of_entity)
                for j in range(rows):
                    place = int(rows_of_entity[j, 0])
                    if not latest_only:
                        earned += rows_of_entity[j, 1] * prices[place]
                        continue
                    earned += prices[place]
                    if j + 1 < rows:
                        following = int(rows_of_entity[j + 1, 0])
                        elapsed = index.instant_times[following] - index.instant_times[place]
                        earned -= np.exp(-decay * elapsed) * prices[following]
        out[r - begin] = earned


@compiled
def candidate_room(index: Index, bodies: Bodies, begin: int, end: int) -> int:
    """How many entities hold all predicates of their rule, over rules begin..end."""
    room = 0
    for r in range(begin, end):
        for word in range(index.presence.shape[1]):
            room += _count_ones(_candidates(index, bodies, r, word))
    return room


@compiled
def find_first(
    index: Index, bodies: Bodies, begin: int, end: int, offsets: Int64, entities: Int32, places: Int32
) -> None:
    """First completions of rules begin..end: `offsets` by rule, and for each the entity and the instant, in order."""
    picks = np.empty(64, np.int64)
    total = 0
    offsets[0] = 0
    for r in range(begin, end):
        for word in range(index.presence.shape[1]):
            found = _candidates(index, bodies, r, word)
            while found != NONE:
                c = (word << 6) + _lowest_one(found)
                found &= found - ONE
                place = _first_completion(index, bodies, r, c, picks)
                if place >= 0:
                    entities[total] = c
                    places[total] = place
                    total += 1
        offsets[r - begin + 1] = total
