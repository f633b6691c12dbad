"""What one more predicate would do to a partial order, and which it may be: each order grown in one way (design 7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled
from chronorule.kernels.branching import Events
from chronorule.kernels.growing import Laws

Flags = NDArray[np.bool_]
Int8 = NDArray[np.int8]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


class Orders(NamedTuple):
    """Partial orders: variables in the order in which they were added, class by class."""

    columns: Int32  # [N, longest] predicates with a time
    joined: Flags  # [N, longest] Equal to the one before
    below: Int64  # [N, longest] the mask of all classes before each class
    timed: Int64  # [N] number of variables
    statics: Int32  # [N, longest] static predicates, rising
    static: Int64  # [N]


class Steps(NamedTuple):
    """Orders to be grown, the children of each, and the targets: (member, interval) pairs.

    A child is (predicate, foundation): static predicates follow those that have a time; the foundation is the mask of
    the classes that a new class comes after, or -1 for a predicate that joins the class added last. A target stands for
    rules below that hold `member`, at a weight of the interval.
    """

    row_offsets: Int64  # [N + 1]
    predicates: Int64
    foundations: Int64
    target_offsets: Int64  # [N + 1]
    members: Int32
    intervals: Int32
    sum_offsets: Int64  # [N + 1] where the sums of each order begin: [rows, 2 + targets]


class Ceilings(NamedTuple):
    """What completing somewhere can earn, by interval of the weight."""

    after: Float64  # [instants, 2] heads observed and expected after each instant
    here: Float64  # [instants, intervals] at most, of a rule that completes first at the instant
    later: Float64  # [instants, intervals] the same from the instant on
    hop: Float64  # [n, intervals] at most, of a rule that ends with one more predicate, whose event this is


@compiled
def order_steps(
    laws: Laws,
    orders: Orders,
    target_offsets: Int64,
    members: Int32,
    predicates: Int64,
    foundations: Int64,
    offsets: Int64,
) -> int:
    """The children of each order that the grammar allows and in which some target lies; returns how many in all.

    With too little room in `predicates` nothing is lost but the rows beyond it. Every order has one parent: its classes
    are listed so that of those that may come next the one with the least first member does, after the prefix. So a new
    class must come last in that listing: every class listed after the last of its foundation has a lesser first member.
    """
    width = laws.width
    n_all = laws.required.shape[0]
    held = np.zeros(n_all, np.int64)  # mask of the classes that hold a predicate, -1 for a static that is held
    wanted = np.zeros(n_all, np.bool_)
    firsts = np.zeros(orders.columns.shape[1] + 1, np.int64)
    total = 0
    offsets[0] = 0
    for r in range(orders.timed.shape[0]):
        timed = orders.timed[r]
        static = orders.static[r]
        held[:] = 0
        wanted[:] = False
        for t in range(target_offsets[r], target_offsets[r + 1]):
            wanted[members[t]] = True
        classes = 0
        for k in range(timed):
            if not orders.joined[r, k]:
                firsts[classes] = orders.columns[r, k]
                classes += 1
            held[orders.columns[r, k]] |= 1 << (classes - 1)
        for k in range(static):
            held[width + orders.statics[r, k]] = -1
        missing = 0
        for p in range(n_all):
            if laws.required[p] and held[p] == 0:
                missing += 1
        slots = laws.longest - timed - static
        fixed = timed > 0 and timed == laws.prefix.shape[0] and not orders.joined[r, timed - 1]
        inside = timed < laws.prefix.shape[0]
        for p in range(n_all):
            if slots < 1 or not wanted[p]:
                continue
            if missing - (laws.required[p] and held[p] == 0) > slots - 1:
                continue
            barred = False
            for other in range(n_all):
                barred = barred or (held[other] != 0 and laws.conflict[p, other])
            if barred:
                continue
            if p >= width:
                newest = orders.statics[r, static - 1] if static > 0 else -1
                if not inside and p - width > newest:
                    if total < predicates.shape[0]:
                        predicates[total] = p
                        foundations[total] = 0
                    total += 1
                continue
            if static > 0 or (held[p] != 0 and not laws.repeats) or (inside and p != laws.prefix[timed]):
                continue
            last = orders.columns[r, timed - 1] if timed > 0 else -1
            joins = timed > 0 and laws.equal and not inside and (p > last or fixed)
            if joins and held[p] & ~orders.below[r, classes - 1] == 0:
                if total < predicates.shape[0]:
                    predicates[total] = p
                    foundations[total] = -1
                total += 1
            for below in range(1 << classes):
                if below > 0 and not laws.before:
                    break
                if inside and below != (1 << classes) - 1:
                    continue
                if held[p] & ~below != 0:
                    continue
                allowed = True
                newest_class = -1
                for k in range(classes):
                    if below >> k & 1:
                        newest_class = k
                        allowed = allowed and orders.below[r, k] & ~below == 0
                for k in range(max(newest_class + 1, laws.prefix.shape[0]), classes):
                    allowed = allowed and firsts[k] < p
                if allowed:
                    if total < predicates.shape[0]:
                        predicates[total] = p
                        foundations[total] = below
                    total += 1
        offsets[r + 1] = total
    return total


@compiled
def next_places(events: Events, instant_offsets: Int64, width: int) -> Int32:
    """For every instant the next one of its entity that holds each predicate, or -1: [instants, width]."""
    places = np.full((instant_offsets[-1], width), -1, np.int32)
    for c in range(instant_offsets.shape[0] - 1):
        e = events.offsets[c + 1] - 1
        for s in range(instant_offsets[c + 1] - 2, instant_offsets[c] - 1, -1):
            places[s] = places[s + 1]
            while e >= events.offsets[c] and events.instants[e] == s + 1:
                places[s, events.columns[e]] = s + 1
                e -= 1
    return places


@compiled
def _class_place(events: Events, c: int, after: int, columns: Int32, first: int, last: int) -> int:
    """The first instant of entity c later than `after` that holds columns[first:last], or -1."""
    e = events.offsets[c]
    end = events.offsets[c + 1]
    if last - first == 1:
        while e < end and (events.columns[e] != columns[first] or events.instants[e] <= after):
            e += 1
        return events.instants[e] if e < end else -1
    while e < end:
        s = events.instants[e]
        finish = e + 1
        while finish < end and events.instants[finish] == s:
            finish += 1
        if s > after and finish - e >= last - first:
            every = True
            for m in range(first, last):
                here = False
                for x in range(e, finish):
                    here = here or events.columns[x] == columns[m]
                every = every and here
            if every:
                return s
        e = finish
    return -1


@compiled
def expand_orders(
    events: Events,
    upcoming: Int32,
    ceilings: Ceilings,
    orders: Orders,
    steps: Steps,
    instant_offsets: Int64,
    width: int,
    n_all: int,
    tight: bool,
    again: bool,
    begin: int,
    end: int,
    node_offsets: Int64,
    entities: Int32,
    sums: Float64,
) -> None:
    """Sums over entities for orders begin..end, which complete in entities[node_offsets[r - begin]:…].

    For every child: heads observed and expected after its first completion, then for every target the most that a rule
    below that holds its member too can earn; for the child's own predicate, the child itself. Where a child completes
    at s, a rule with one more predicate u completes at s or at the next event of u, which is used where `tight` and
    just one more fits; else anywhere from s and the first event of u on. `again` says that predicates may repeat.
    `upcoming` are the next places of predicates, or nothing where they would take too much memory.
    """
    longest = orders.columns.shape[1]
    n_intervals = ceilings.here.shape[1]
    most = 0
    for r in range(begin, end):
        most = max(most, steps.target_offsets[r + 1] - steps.target_offsets[r])
    vectors = np.empty((width + 1, most), np.float64)  # what targets have from p's next event on, or now
    target_of = np.zeros(n_all + 1, np.int64)
    firsts = np.full(n_all, -1, np.int64)  # of each predicate in the entity; -1 for none
    hops = np.zeros((n_all, n_intervals), np.float64)
    hopping = np.zeros(n_all, np.bool_)
    wanted = np.empty(n_all, np.int64)  # the members of targets
    has_row = np.zeros(n_all, np.bool_)
    picks = np.empty(longest + 2, np.int64)
    following = np.empty((longest + 1, width), np.int64)  # of each class, and last of the origin: the next events
    starts = np.empty(longest + 2, np.int64)
    latest = np.empty(1 << longest, np.int64)
    joined = np.empty(width, np.int64)
    seen = np.empty(longest + 1, np.float64)
    hoped = np.empty(longest + 1, np.float64)
    for r in range(begin, end):
        target = steps.target_offsets[r]
        n_targets = steps.target_offsets[r + 1] - target
        t = 0
        for p in range(n_all + 1):
            while t < n_targets and steps.members[target + t] < p:
                t += 1
            target_of[p] = t
        n_wanted = 0
        for p in range(n_all):
            if target_of[p] < target_of[p + 1]:
                wanted[n_wanted] = p
                n_wanted += 1
        has_row[:] = False
        joining = False
        for k in range(steps.row_offsets[r], steps.row_offsets[r + 1]):
            has_row[steps.predicates[k]] = True
            joining = joining or (steps.foundations[k] < 0 and steps.predicates[k] < width)
        timed = orders.timed[r]
        classes = 0
        for k in range(timed):
            if not orders.joined[r, k]:
                starts[classes] = k
                classes += 1
        starts[classes] = timed
        only_one_more = tight and timed + orders.static[r] + 2 >= longest
        for i in range(node_offsets[r - begin], node_offsets[r - begin + 1]):
            c = entities[i]
            origin = instant_offsets[c]
            completion = origin
            for k in range(classes):
                after = origin
                for u in range(k):
                    if orders.below[r, k] >> u & 1:
                        after = max(after, picks[u])
                if upcoming.shape[0] > 0 and starts[k + 1] - starts[k] == 1:
                    picks[k] = upcoming[after, orders.columns[r, starts[k]]]
                else:
                    picks[k] = _class_place(events, c, after, orders.columns[r], starts[k], starts[k + 1])
                completion = max(completion, picks[k])
            picks[classes] = origin
            for k in range(classes + 1):
                for p in range(width):
                    following[k, p] = upcoming[picks[k], p] if upcoming.shape[0] > 0 else -1
            if upcoming.shape[0] == 0:
                for e in range(events.offsets[c], events.offsets[c + 1]):
                    p = events.columns[e]
                    s = events.instants[e]
                    if following[classes, p] < 0:
                        following[classes, p] = s
                    for k in range(classes):
                        if following[k, p] < 0 and s > picks[k]:
                            following[k, p] = s
            for p in range(n_all):
                firsts[p] = following[classes, p] if p < width else -1
            for m in range(events.static_offsets[c], events.static_offsets[c + 1]):
                if events.static_columns[m] >= 0:
                    firsts[width + events.static_columns[m]] = origin
            # backwards from the entity's last event to the completion, what each target has from there on
            hopping[:] = False
            e = events.offsets[c + 1] - 1
            done = n_targets == 0
            while not done:
                s = completion
                low = e
                if e >= events.offsets[c] and events.instants[e] >= completion:
                    s = events.instants[e]
                    while low >= events.offsets[c] and events.instants[low] == s:
                        low -= 1
                done = s == completion
                for x in range(low + (0 if done else 1), e + 1):
                    # the next event of p after the completion, or (once, at the end) the completion itself
                    if x == low:
                        slot = width
                    else:
                        slot = events.columns[x]
                        if done or events.previous[x] > completion or not has_row[slot]:
                            continue
                    for w in range(n_wanted):
                        u = wanted[w]
                        if firsts[u] < 0:
                            for t in range(target_of[u], target_of[u + 1]):
                                vectors[slot, t] = 0.0
                        elif u == slot:
                            for t in range(target_of[u], target_of[u + 1]):
                                j = steps.intervals[target + t]
                                vectors[slot, t] = ceilings.later[s, j]
                        elif only_one_more:
                            for t in range(target_of[u], target_of[u + 1]):
                                j = steps.intervals[target + t]
                                best = ceilings.here[s, j] if firsts[u] <= s else 0.0
                                vectors[slot, t] = max(best, hops[u, j]) if hopping[u] else best
                        else:
                            for t in range(target_of[u], target_of[u + 1]):
                                vectors[slot, t] = ceilings.later[max(s, firsts[u]), steps.intervals[target + t]]
                for x in range(low + 1, e + 1):
                    p = events.columns[x]
                    hopping[p] = only_one_more
                    for t in range(target_of[p], target_of[p + 1]):
                        hops[p, steps.intervals[target + t]] = ceilings.hop[x, steps.intervals[target + t]]
                e = low
            # the latest of the classes in each foundation; the number of classes stands for none
            latest[0] = classes
            for u in range(classes):
                for below in range(1 << u):
                    other = latest[below]
                    latest[below | 1 << u] = u if other == classes or picks[u] > picks[other] else other
            # where the order completes once each predicate joins its last class, -1 for nowhere
            for p in range(width if joining else 0):
                joined[p] = -1
            x = events.offsets[c]
            finish = events.offsets[c + 1] if joining else x
            while x < finish and events.instants[x] < picks[classes - 1]:  # there even the class alone is not
                x += 1
            while x < finish:
                s = events.instants[x]
                low = x
                while x < finish and events.instants[x] == s:
                    x += 1
                every = x - low > timed - starts[classes - 1]
                for m in range(starts[classes - 1], timed if every else 0):
                    here = False
                    for y in range(low, x):
                        here = here or events.columns[y] == orders.columns[r, m]
                    every = every and here
                if every:
                    for y in range(low, x):
                        p = events.columns[y]
                        if joined[p] < 0:
                            joined[p] = s
                            for u in range(classes - 1):
                                joined[p] = max(joined[p], picks[u])
            if n_targets == 0:
                # nothing follows: heads alone. Children of one predicate stand together, and the latest of the classes
                # before it says where they complete
                k = steps.row_offsets[r]
                last_row = steps.row_offsets[r + 1]
                o = steps.sum_offsets[r]
                while k < last_row:
                    p = steps.predicates[k]
                    if firsts[p] < 0:
                        while k < last_row and steps.predicates[k] == p:
                            k += 1
                            o += 2
                        continue
                    if p >= width:
                        seen[0] = ceilings.after[completion, 0]
                        hoped[0] = ceilings.after[completion, 1]
                        latest[0] = 0
                    else:
                        latest[0] = classes
                        for u in range(classes + 1):
                            pick = following[u, p]
                            place = max(pick, completion)
                            seen[u] = ceilings.after[place, 0] if pick >= 0 else 0.0
                            hoped[u] = ceilings.after[place, 1] if pick >= 0 else 0.0
                    while k < last_row and steps.predicates[k] == p:
                        below = steps.foundations[k]
                        if below >= 0:
                            sums[o] += seen[latest[below]]
                            sums[o + 1] += hoped[latest[below]]
                        elif joined[p] >= 0:
                            sums[o] += ceilings.after[joined[p], 0]
                            sums[o + 1] += ceilings.after[joined[p], 1]
                        k += 1
                        o += 2
                continue
            # the children
            for k in range(steps.row_offsets[r], steps.row_offsets[r + 1]):
                p = steps.predicates[k]
                if firsts[p] < 0:
                    continue
                o = steps.sum_offsets[r] + (k - steps.row_offsets[r]) * (2 + n_targets)
                place = completion
                slot = width
                if p < width:
                    below = steps.foundations[k]
                    if below >= 0:
                        pick = following[latest[below], p]
                        if pick < 0:
                            continue
                        if pick > completion:
                            place = pick
                            slot = p
                    else:
                        place = -1  # found below
                if place < 0:
                    place = joined[p]
                    if place < 0:
                        continue
                    sums[o] += ceilings.after[place, 0]
                    sums[o + 1] += ceilings.after[place, 1]
                    for w in range(n_wanted):
                        u = wanted[w]
                        if firsts[u] < 0:
                            continue
                        for t in range(target_of[u], target_of[u + 1]):
                            j = steps.intervals[target + t]
                            if u == p and tight and not again:
                                sums[o + 2 + t] += ceilings.here[place, j]
                            else:
                                sums[o + 2 + t] += ceilings.later[max(place, firsts[u]), j]
                    continue
                sums[o] += ceilings.after[place, 0]
                sums[o + 1] += ceilings.after[place, 1]
                own = target_of[p]
                own_end = target_of[p + 1]
                for t in range(n_targets):
                    if not own <= t < own_end:
                        sums[o + 2 + t] += vectors[slot, t]
                for t in range(own, own_end):
                    j = steps.intervals[target + t]
                    sums[o + 2 + t] += ceilings.here[place, j] if tight and not again else ceilings.later[place, j]


@compiled
def grow_orders(
    laws: Laws,
    parents: Orders,
    steps: Steps,
    sums: Float64,
    charges: Float64,
    least: Float64,
    own: Float64,
    children: Orders,
    families: Int64,
    child_offsets: Int64,
    child_members: Int32,
    child_intervals: Int32,
    child_values: Float64,
    bounds: Float64,
) -> int:
    """Fill in the children below which some target can still be reached; returns how many.

    `own` gets the most that each child itself can reach. Room for every row and every sum must be there.
    """
    width = laws.width
    child = 0
    total = 0
    child_offsets[0] = 0
    alive = np.zeros(charges.shape[1], np.bool_)
    for r in range(parents.timed.shape[0]):
        target = steps.target_offsets[r]
        n_targets = steps.target_offsets[r + 1] - target
        timed = parents.timed[r]
        length = timed + parents.static[r]
        for k in range(steps.row_offsets[r], steps.row_offsets[r + 1]):
            p = steps.predicates[k]
            o = steps.sum_offsets[r] + (k - steps.row_offsets[r]) * (2 + n_targets) + 2
            own[k] = -np.inf
            alive[:] = False
            for t in range(n_targets):
                if steps.members[target + t] == p:
                    j = steps.intervals[target + t]
                    alive[j] = True
                    own[k] = max(own[k], sums[o + t] - charges[length + 1, j])
            if length + 2 > laws.longest:
                continue
            begun = total
            best = -np.inf
            for t in range(n_targets):
                u = steps.members[target + t]
                j = steps.intervals[target + t]
                value = sums[o + t] - charges[length + 2, j]
                if not (alive[j] and value > least[length + 2]) or laws.conflict[p, u]:
                    continue
                if (u == p and (p >= width or not laws.repeats)) or (p >= width and u < width):
                    continue
                child_members[total] = u
                child_intervals[total] = j
                child_values[total] = sums[o + t]
                best = max(best, value)
                total += 1
            if total == begun:
                continue
            children.columns[child] = parents.columns[r]
            children.joined[child] = parents.joined[r]
            children.below[child] = parents.below[r]
            children.statics[child] = parents.statics[r]
            children.timed[child] = timed
            children.static[child] = parents.static[r]
            if p >= width:
                children.statics[child, parents.static[r]] = p - width
                children.static[child] += 1
            else:
                children.columns[child, timed] = p
                children.joined[child, timed] = steps.foundations[k] < 0
                children.timed[child] += 1
                if steps.foundations[k] >= 0:
                    classes = 0
                    for m in range(timed):
                        classes += not parents.joined[r, m]
                    children.below[child, classes] = steps.foundations[k]
            families[child] = r
            bounds[child] = best
            child += 1
            child_offsets[child] = total
    return child
