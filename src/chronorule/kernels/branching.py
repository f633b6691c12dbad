"""What one more predicate would do to a chain, for all predicates in one pass over an entity's events (design 7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled

Flags = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


class Events(NamedTuple):
    """The events of a grammar's predicates, in the order of the log; predicates are known by their column."""

    offsets: Int64  # [E + 1]
    instants: Int32  # [n] number of the event's instant
    columns: Int32  # [n]
    previous: Int32  # [n] instant of the entity's previous event of the same predicate, -1 for none
    static_offsets: Int64  # [E + 1]
    static_columns: Int32


class Tables(NamedTuple):
    """What completing somewhere can earn, by interval of the weight."""

    after: Float64  # [instants, 2] heads observed and expected after each instant
    latest: Float64  # [n, intervals] at most, of a rule whose last class holds the event's predicate, from there on
    stay: Float64  # [instants, intervals] at most, of a rule that completes first at this instant


class Batch(NamedTuple):
    """Chains to be grown: each is a *base*, whose first completions are known, and one more step.

    Steps and children are numbered alike: p for predicate p after all others, width + p for p Equal to the last class,
    2·width + m for static predicate m; -1 for no step. A *target* is a pair (end, interval): rules below the chain
    whose last class holds `end`, at a weight of the interval; end = width stands for the chain itself beside more
    static predicates.
    """

    base: Int64  # [N]
    step: Int64  # [N]
    member_offsets: Int64  # [N + 1]
    members: Int32  # columns of the chain's last class
    row_offsets: Int64  # [N + 1]
    rows: Int64  # children to look at
    target_offsets: Int64  # [N + 1]
    ends: Int32
    intervals: Int32
    sum_offsets: Int64  # [N + 1] where the sums of each chain begin: [rows, 2 + targets]


@compiled
def best_later(values: Float64, offsets: Int64) -> None:
    """Turn each column into its largest value at this or a later row of the same group, and at least 0."""
    for c in range(offsets.shape[0] - 1):
        for j in range(values.shape[1]):
            best = 0.0
            for s in range(offsets[c + 1] - 1, offsets[c] - 1, -1):
                best = max(best, values[s, j])
                values[s, j] = best


@compiled
def best_union(prices: Float64, lapsed: Float64, times: Float64, width: float, offsets: Int64, out: Float64) -> None:
    """The most that completions at this or later rows of a group can earn while each counts for `width`.

    `prices[s]` is what is earned after instant s and `lapsed[s]` after s + width, both additive; a completion earns
    until the next completion or until it lapses, and one at minus infinity never lapses. With G(s) the best that begins
    with a completion at s,
    G(s) = max( max over s < s' <= s + width of prices[s] − prices[s'] + G(s'), prices[s] − lapsed[s] + best later ),
    and out[s] = max(0, G(s'), s' >= s). One backward pass with a queue of the largest G(s') − prices[s'].
    """
    longest = 0
    for c in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[c + 1] - offsets[c])
    queue = np.empty(longest, np.int64)
    surplus = np.empty(longest, np.float64)
    for j in range(prices.shape[1]):
        for c in range(offsets.shape[0] - 1):
            begin = offsets[c]
            end = offsets[c + 1]
            front = 0  # queue[front:back] are later instants, the latest first, of rising surplus
            back = 0
            beyond = end  # the first instant that a completion at s no longer reaches
            for s in range(end - 1, begin - 1, -1):
                reach = times[s] + width
                while beyond - 1 > s and times[beyond - 1] > reach:
                    beyond -= 1
                while front < back and queue[front] >= beyond:
                    front += 1
                best = prices[s, j] - lapsed[s, j]
                if beyond < end and times[s] > -np.inf:
                    best += out[beyond, j]
                if front < back:
                    best = max(best, prices[s, j] + surplus[queue[front] - begin])
                surplus[s - begin] = best - prices[s, j]
                while front < back and surplus[queue[back - 1] - begin] <= surplus[s - begin]:
                    back -= 1
                queue[back] = s
                back += 1
                later = out[s + 1, j] if s + 1 < end else 0.0
                out[s, j] = max(later, best, 0.0)


@compiled
def _holds_all(events: Events, begin: int, end: int, members: Int32, first: int, last: int) -> bool:
    """Whether the events begin..end (of one instant) hold every column members[first:last]."""
    if end - begin < last - first:
        return False
    for m in range(first, last):
        held = False
        for e in range(begin, end):
            held = held or events.columns[e] == members[m]
        if not held:
            return False
    return True


@compiled
def _joined_place(events: Events, c: int, place: int, members: Int32, first: int, last: int) -> int:
    """The first instant of entity c from `place` on that holds all members of a class, or -1."""
    end = events.offsets[c + 1]
    e = events.offsets[c]
    while e < end:
        after = e + 1
        while after < end and events.instants[after] == events.instants[e]:
            after += 1
        if events.instants[e] >= place and _holds_all(events, e, after, members, first, last):
            return events.instants[e]
        e = after
    return -1


@compiled
def _has(events: Events, c: int, static: int) -> bool:
    """Whether entity c has a static predicate."""
    for m in range(events.static_offsets[c], events.static_offsets[c + 1]):
        if events.static_columns[m] == static:
            return True
    return False


@compiled
def _take_steps(
    events: Events,
    batch: Batch,
    width: int,
    r: int,
    until: int,
    begin: int,
    end: int,
    entities: Int32,
    places: Int32,
    step_of: Int64,
    matters: Flags,
    taken: Int32,
    sizes: Int64,
    kept_offsets: Int64,
    kept: Int32,
) -> Int32:
    """First completions of the chains r..until, one step each from one base, whose own are begin..end.

    Writes (which of the base's, instant) to taken[r' - r, :sizes[r' - r]], and to `kept` the events from the base's
    completion on that some chain of the family needs to look at; returns `kept`, made larger where it had to be.
    """
    matters[:] = False
    step_of[:] = -1
    for member in range(until - r):
        sizes[member] = 0
        if 0 <= batch.step[r + member] < width:
            step_of[batch.step[r + member]] = member
        for k in range(batch.row_offsets[r + member], batch.row_offsets[r + member + 1]):
            if batch.rows[k] < 2 * width:
                matters[batch.rows[k] % width] = True
        for k in range(batch.target_offsets[r + member], batch.target_offsets[r + member + 1]):
            matters[batch.ends[k]] = True
    total = 0
    for k in range(begin, end):
        c = entities[k]
        place = places[k]
        kept_offsets[k - begin] = total
        if kept.shape[0] < total + events.offsets[c + 1] - events.offsets[c]:
            wider = np.empty(2 * (total + events.offsets[c + 1] - events.offsets[c]), np.int32)
            for e in range(total):
                wider[e] = kept[e]
            kept = wider
        e = events.offsets[c + 1] - 1
        while e >= events.offsets[c] and events.instants[e] >= place:
            p = events.columns[e]
            kept[total] = e
            total += matters[p]
            member = step_of[p]
            if member >= 0 and events.previous[e] <= place < events.instants[e]:
                taken[member, sizes[member], 0] = k - begin
                taken[member, sizes[member], 1] = events.instants[e]
                sizes[member] += 1
            e -= 1
    kept_offsets[end - begin] = total
    for member in range(until - r):
        step = batch.step[r + member]
        if 0 <= step < width:
            continue
        for k in range(begin, end):
            c = entities[k]
            place = int(places[k])
            if step >= 2 * width:
                place = place if _has(events, c, step - 2 * width) else -1
            elif step >= 0:
                first = batch.member_offsets[r + member]
                place = _joined_place(events, c, place, batch.members, first, batch.member_offsets[r + member + 1])
            if place >= 0:
                taken[member, sizes[member], 0] = k - begin
                taken[member, sizes[member], 1] = place
                sizes[member] += 1
    return kept


@compiled
def _first_joins(
    events: Events,
    c: int,
    place: int,
    members: Int32,
    first: int,
    last: int,
    width: int,
    row_of: Int64,
    stamps: Int64,
    stamp: int,
    at: Int64,
) -> int:
    """For every column with a row: the first instant from `place` on that holds it beside all members of the class.

    Returns how many columns have one; `at` holds it where `stamps` is `stamp`.
    """
    found = 0
    end = events.offsets[c + 1]
    e = events.offsets[c]
    while e < end:
        after = e + 1
        while after < end and events.instants[after] == events.instants[e]:
            after += 1
        if (
            after - e > last - first
            and events.instants[e] >= place
            and _holds_all(events, e, after, members, first, last)
        ):
            for x in range(e, after):
                p = events.columns[x]
                if row_of[width + p] >= 0 and stamps[p] != stamp:
                    stamps[p] = stamp
                    at[p] = events.instants[e]
                    found += 1
        e = after
    return found


@compiled
def _family_end(batch: Batch, r: int, end: int) -> int:
    """The first chain from r on that has another base."""
    until = r
    while until < end and batch.base[until] == batch.base[r]:
        until += 1
    return until


@compiled
def _add(tables: Tables, sums: Float64, o: int, place: int, rich: int, earned: Float64) -> None:
    """A child that completes first at `place`: add what it has and what can be earned from there to its sums at `o`."""
    sums[o] += tables.after[place, 0]
    sums[o + 1] += tables.after[place, 1]
    for t in range(rich):
        sums[o + 2 + t] += earned[t]


@compiled
def expand_chains(
    events: Events,
    tables: Tables,
    batch: Batch,
    width: int,
    n_children: int,
    begin: int,
    end: int,
    first_base: int,
    base_offsets: Int64,
    entities: Int32,
    places: Int32,
    sums: Float64,
) -> None:
    """Sums over entities for chains begin..end of a batch: what each child has after its first completion, and what
    rules below it can earn at most.

    Base b completes first in `entities[k]` at instant `places[k]`, k in base_offsets[b - first_base] and on. For every
    row of a chain: heads observed and expected after its first completion, then for every target of the chain the most
    that a rule below the child can earn there; where the target's end is the child's own, the child itself included.
    One backward pass over an entity's events keeps what each target has from there on; a child that completes first
    at an event takes it as it stands.
    """
    row_of = np.full(n_children, -1, np.int64)
    target_of = np.zeros(width + 2, np.int64)
    most = 0
    for r in range(begin, end):
        most = max(most, batch.target_offsets[r + 1] - batch.target_offsets[r])
    earned = np.zeros(most, np.float64)
    stamps = np.full(width, -1, np.int64)
    at = np.zeros(width, np.int64)
    stamp = 0
    step_of = np.full(width, -1, np.int64)
    siblings, room = 1, 1
    r = begin
    while r < end:
        until = _family_end(batch, r, end)
        base = batch.base[r] - first_base
        siblings = max(siblings, until - r)
        room = max(room, base_offsets[base + 1] - base_offsets[base])
        r = until
    taken = np.empty((siblings, room, 2), np.int32)
    kept_offsets = np.empty(room + 1, np.int64)
    kept = np.empty(1024, np.int32)
    matters = np.zeros(width + 1, np.bool_)
    sizes = np.zeros(siblings, np.int64)
    family = begin
    until = begin
    for r in range(begin, end):
        if r == until:
            family = r
            until = _family_end(batch, r, end)
            base = batch.base[r] - first_base
            low = base_offsets[base]
            high = base_offsets[base + 1]
            kept = _take_steps(
                events,
                batch,
                width,
                r,
                until,
                low,
                high,
                entities,
                places,
                step_of,
                matters,
                taken,
                sizes,
                kept_offsets,
                kept,
            )
        target = batch.target_offsets[r]
        n_targets = batch.target_offsets[r + 1] - target
        joins = False
        for k in range(batch.row_offsets[r], batch.row_offsets[r + 1]):
            row_of[batch.rows[k]] = batch.sum_offsets[r] + (k - batch.row_offsets[r]) * (2 + n_targets)
            joins = joins or width <= batch.rows[k] < 2 * width
        t = 0
        for p in range(width + 1):
            while t < n_targets and batch.ends[target + t] < p:
                t += 1
            target_of[p] = t
        target_of[width + 1] = n_targets
        timed_targets = target_of[width]
        first = batch.member_offsets[r]
        last = batch.member_offsets[r + 1]
        for k in range(sizes[r - family]):
            which = taken[r - family, k, 0]
            c = entities[low + which]
            place = taken[r - family, k, 1]
            for m in range(events.static_offsets[c], events.static_offsets[c + 1]):
                if events.static_columns[m] >= 0 and row_of[2 * width + events.static_columns[m]] >= 0:
                    o = row_of[2 * width + events.static_columns[m]]
                    sums[o] += tables.after[place, 0]
                    sums[o + 1] += tables.after[place, 1]
                    for t in range(timed_targets, n_targets):
                        sums[o + 2 + t] += tables.stay[place, batch.intervals[target + t]]
            here = False
            if joins:
                stamp += 1
                found = _first_joins(events, c, place, batch.members, first, last, width, row_of, stamps, stamp, at)
                here = found > 0
            for t in range(timed_targets):
                earned[t] = 0.0
            rich = 0
            i = kept_offsets[which]
            finish = kept_offsets[which + 1]
            while i < finish:
                e = kept[i]
                s = events.instants[e]
                if s < place or (s == place and not here):
                    break
                if not here and (i + 1 == finish or events.instants[kept[i + 1]] != s):
                    p = events.columns[e]
                    for t in range(target_of[p], target_of[p + 1]):
                        earned[t] = tables.latest[e, batch.intervals[target + t]]
                        rich = timed_targets
                    o = row_of[p]
                    if o >= 0 and events.previous[e] <= place < s:
                        _add(tables, sums, o, s, rich, earned)
                    i += 1
                    continue
                after = i + 1
                while after < finish and events.instants[kept[after]] == s:
                    after += 1
                for y in range(i, after):
                    x = kept[y]
                    p = events.columns[x]
                    for t in range(target_of[p], target_of[p + 1]):
                        earned[t] = tables.latest[x, batch.intervals[target + t]]
                        rich = timed_targets
                for y in range(i, after):
                    x = kept[y]
                    p = events.columns[x]
                    o = row_of[p]
                    if o >= 0 and events.previous[x] <= place < s:
                        _add(tables, sums, o, s, rich, earned)
                    o = row_of[width + p]
                    if here and o >= 0 and stamps[p] == stamp and at[p] == s:
                        _add(tables, sums, o, s, rich, earned)
                i = after
        for k in range(batch.row_offsets[r], batch.row_offsets[r + 1]):
            row_of[batch.rows[k]] = -1
