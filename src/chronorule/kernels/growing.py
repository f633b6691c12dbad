"""Which steps a chain may take next, and which of them still lead somewhere: the arithmetic of nodes (design 7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled

Flags = NDArray[np.bool_]
Int8 = NDArray[np.int8]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


class Laws(NamedTuple):
    """A grammar of chains in numbers; predicates by column, static ones behind those that have a time."""

    width: int  # predicates that have a time
    longest: int
    repeats: bool
    before: bool
    equal: bool
    prefix: Int64  # columns
    required: Flags  # [predicates]
    conflict: Flags  # [predicates, predicates]


class Chains(NamedTuple):
    """Chains and what may still be added to each."""

    columns: Int32  # [N, longest] timed predicates in order
    joined: Flags  # [N, longest] Equal to the one before
    timed: Int64  # [N] how many
    statics: Int32  # [N, longest] static predicates, rising
    static: Int64  # [N] how many
    open_after: Flags  # [N, width] may come after all others
    open_equal: Flags  # [N, width] may join the last class
    open_static: Flags  # [N, static predicates]
    closing: Flags  # [N, width + 1] may be the end of a rule, as the next step at the earliest; see `Batch` for ends


class Sums(NamedTuple):
    """What the children of chains have, as `expand_chains` found it: rows and targets by chain, and the sums."""

    row_offsets: Int64  # [N + 1]
    rows: Int64  # children, as `Batch` numbers them
    target_offsets: Int64  # [N + 1]
    ends: Int32
    intervals: Int32
    offsets: Int64  # [N + 1] where the sums of each chain begin: [rows, 2 + targets]
    sums: Float64
    charges: Float64  # [length, interval]


@compiled
def next_steps(laws: Laws, chains: Chains, rows: Int64, offsets: Int64) -> None:
    """The children of each chain that the grammar allows, growing every rule in one way only: CSR in `rows`.

    An Equal predicate joins the last class in column order; one that the prefix put there stands apart. Static
    predicates come last, in order. On the last level only children that close a rule are looked at.
    """
    width = laws.width
    n_all = laws.required.shape[0]
    held = np.zeros(n_all, np.bool_)
    total = 0
    offsets[0] = 0
    for r in range(chains.timed.shape[0]):
        timed = chains.timed[r]
        static = chains.static[r]
        length = timed + static
        held[:] = False
        for k in range(timed):
            held[chains.columns[r, k]] = True
        for k in range(static):
            held[width + chains.statics[r, k]] = True
        missing = 0
        for p in range(n_all):
            if laws.required[p] and not held[p]:
                missing += 1
        slots = laws.longest - length
        last = chains.columns[r, timed - 1] if timed > 0 else -1
        fixed = timed > 0 and timed <= laws.prefix.shape[0] and not chains.joined[r, timed - 1]
        for kind in range(3):
            if slots < 1 or (kind < 2 and static > 0):
                continue
            if kind == 0 and timed > 0 and not laws.before:
                continue
            if kind == 1 and (timed == 0 or not laws.equal or timed < laws.prefix.shape[0]):
                continue
            if kind == 2 and timed < laws.prefix.shape[0]:
                continue
            newest = chains.statics[r, static - 1] if static > 0 else -1
            for p in range(width if kind < 2 else n_all - width):
                column = p if kind < 2 else width + p
                if kind == 2:
                    still = (chains.open_static[r, p] and slots > 1) or chains.closing[r, width]
                    if not still or p <= newest:
                        continue
                else:
                    still = chains.open_after[r, p] if kind == 0 else chains.open_equal[r, p]
                    if not ((still and slots > 1) or chains.closing[r, p]) or (held[p] and not laws.repeats):
                        continue
                    if kind == 0 and timed < laws.prefix.shape[0] and laws.prefix[timed] != p:
                        continue
                    if kind == 1 and p < last and not fixed:
                        continue
                needed = missing - 1 if laws.required[column] and not held[column] else missing
                barred = needed > slots - 1
                if kind == 1:  # nothing is Equal to itself
                    place = timed - 1
                    while place >= 0:
                        barred = barred or chains.columns[r, place] == p
                        place = place - 1 if chains.joined[r, place] else -1
                for other in range(n_all):
                    barred = barred or (held[other] and laws.conflict[column, other])
                if barred:
                    continue
                rows[total] = kind * width + p
                total += 1
        offsets[r + 1] = total


@compiled
def mark_targets(
    laws: Laws,
    lengths: Int64,
    found: Sums,
    least: Float64,
    further: int,
    marks: Int8,
    counts: Int64,
    own: Float64,
) -> None:
    """Which targets of a chain each of its children can still reach below itself: `marks`, laid out as the sums are.

    1 where the target can be reached by one more step at least, 2 where it can by 1 + `further` or more. A rule of
    `length` predicates is charged charges[length, interval] and must exceed least[length]. `counts` holds the number
    of marks by row, of any kind and of 2, and `own` the most that the child itself can reach.
    """
    row_offsets, rows, target_offsets, ends, intervals, sum_offsets, sums, charges = found
    width = laws.width
    for r in range(lengths.shape[0]):
        target = target_offsets[r]
        n_targets = target_offsets[r + 1] - target
        beyond = lengths[r] + 2
        for k in range(row_offsets[r], row_offsets[r + 1]):
            row = rows[k]
            column = row if row < width else row - width
            o = sum_offsets[r] + (k - row_offsets[r]) * (2 + n_targets) + 2
            reached = 0
            deep = 0
            best = -np.inf
            for t in range(n_targets):
                end = ends[target + t]
                value = sums[o + t]
                if end == column or (end == width and row >= 2 * width):
                    best = max(best, value - charges[lengths[r] + 1, intervals[target + t]])
                if beyond > laws.longest or not value - charges[beyond, intervals[target + t]] > least[beyond]:
                    continue
                if (end < width) == (row >= 2 * width):
                    continue
                again = (
                    row < 2 * width and end == column
                )  # which may be repeated, or stay the end beside static predicates
                ways = 1 if not again else laws.repeats + (laws.required.shape[0] > width)
                if ways == 0 or (end < width and not again and laws.conflict[column, end]):
                    continue
                marks[o + t] = 1
                reached += 1
                if value - charges[beyond + further, intervals[target + t]] > least[beyond + further]:
                    marks[o + t] = 2
                    deep += ways
            counts[k, 0] = reached
            counts[k, 1] = deep
            own[k] = best


@compiled
def _both(marks: Int8, one: int, other: int, n_targets: int) -> bool:
    """Whether some target can be reached by two or more steps below both of two rows."""
    if other >= 0:
        for t in range(n_targets):
            if marks[one + t] == 2 and marks[other + t] == 2:
                return True
    return False


@compiled
def grow(
    laws: Laws,
    parents: Chains,
    found: Sums,
    marks: Int8,
    counts: Int64,
    children: Chains,
    families: Int64,
    child_offsets: Int64,
    child_ends: Int32,
    child_intervals: Int32,
    child_values: Float64,
    bounds: Float64,
) -> None:
    """Fill in the children that have a mark: their chains, what may be added below them, their targets and bounds.

    A predicate u may be added below a child if a rule below closes with it, or if some target can be reached both
    below the child and below the chain with u, since a rule that holds both completes no earlier than either.
    """
    row_offsets, rows, target_offsets, ends, intervals, sum_offsets, sums, charges = found
    width = laws.width
    n_statics = laws.required.shape[0] - width
    row_of = np.full(2 * width + n_statics, -1, np.int64)
    ending = np.zeros(width + 1, np.bool_)
    child = 0
    total = 0
    child_offsets[0] = 0
    for r in range(parents.timed.shape[0]):
        target = target_offsets[r]
        n_targets = target_offsets[r + 1] - target
        timed = parents.timed[r]
        length = timed + parents.static[r]
        examined = timed >= laws.prefix.shape[0]
        for k in range(row_offsets[r], row_offsets[r + 1]):
            row_of[rows[k]] = sum_offsets[r] + (k - row_offsets[r]) * (2 + n_targets) + 2
        for k in range(row_offsets[r], row_offsets[r + 1]):
            if counts[k, 0] == 0:
                continue
            row = rows[k]
            children.columns[child] = parents.columns[r]
            children.joined[child] = parents.joined[r]
            children.statics[child] = parents.statics[r]
            children.timed[child] = timed
            children.static[child] = parents.static[r]
            if row < 2 * width:
                children.columns[child, timed] = row if row < width else row - width
                children.joined[child, timed] = row >= width
                children.timed[child] += 1
            else:
                children.statics[child, parents.static[r]] = row - 2 * width
                children.static[child] += 1
            families[child] = r
            mine = row_of[row]
            best = -np.inf
            ending[:] = False
            column = row if row < width else row - width
            for t in range(n_targets):
                if marks[mine + t]:
                    best = max(best, sums[mine + t] - charges[length + 2, intervals[target + t]])
                    again = row < 2 * width and ends[target + t] == column
                    if not again or laws.repeats:
                        ending[ends[target + t]] = True
                        if marks[mine + t] == 2:
                            child_ends[total] = ends[target + t]
                            child_intervals[total] = intervals[target + t]
                            child_values[total] = sums[mine + t]
                            total += 1
            for t in range(n_targets):
                if marks[mine + t] and row < 2 * width and ends[target + t] == column and n_statics > 0:
                    ending[width] = True
                    if marks[mine + t] == 2:
                        child_ends[total] = width
                        child_intervals[total] = intervals[target + t]
                        child_values[total] = sums[mine + t]
                        total += 1
            bounds[child] = best
            children.closing[child] = ending
            for u in range(width):
                if not examined:
                    children.open_after[child, u] = parents.open_after[r, u]
                    children.open_equal[child, u] = parents.open_equal[r, u]
                    continue
                after = row < 2 * width and _both(marks, mine, row_of[u], n_targets)
                children.open_after[child, u] = after
                if row >= width:
                    after = row < 2 * width and _both(marks, mine, row_of[width + u], n_targets)
                children.open_equal[child, u] = after
            for m in range(n_statics):
                still = parents.open_static[r, m]
                if row >= 2 * width:
                    still = _both(marks, mine, row_of[2 * width + m], n_targets)
                children.open_static[child, m] = still
            child += 1
            child_offsets[child] = total
        for k in range(row_offsets[r], row_offsets[r + 1]):
            row_of[rows[k]] = -1
