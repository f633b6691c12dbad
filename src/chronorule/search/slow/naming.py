"""Description length, spelling by spelling (design 6).

A rule is named by its length, its predicates in a list, its relations, its sign and its kernel, each choice made evenly
among what a grammar leaves open; of several spellings the cheapest counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, pairwise, permutations, product

from chronorule.search.slow.bodies import Options
from chronorule.search.slow.relations import Body, Table, consistent, relation_in


def description_length(options: Options, body: Body, kernels: int = 1) -> float:
    """Nats to name a rule with this body, a number of kernels or widths having been tried."""
    names, _ = body
    lengths = sum(lists(options, length) > 0 for length in options.lengths)
    common = math.log(lengths) + math.log(lists(options, len(names))) + math.log(len(options.signs) * kernels)
    timed = [i for i, name in enumerate(names) if name not in options.statics]
    if options.partial_orders:
        return common + relation_nats(options, body)
    return common + max(0, len(timed) - max(1, len(options.prefix))) * math.log(len(options.relations))


@lru_cache(maxsize=4096)
def lists(options: Options, length: int) -> int:
    """Lists of so many predicates that begin with the prefix, hold what is required, and repeat what may be."""
    required = {name for name in options.required if name not in options.prefix}
    others = set(options.library) - required
    if not options.repeats:
        others -= set(options.prefix)
    static = set(options.statics)
    return _lists(
        length - len(options.prefix),
        (len(required - static), len(required & static)),
        (len(others - static), len(others & static)),
        options.repeats,
    )


@lru_cache(maxsize=4096)
def _lists(slots: int, required: tuple[int, int], others: tuple[int, int], repeats: bool) -> int:
    """Ways to fill the slots in order; (timed, static) predicates still required, and others that may be listed."""
    if slots < sum(required):
        return 0
    if slots == 0:
        return 1
    (timed, static), (free, beside) = required, others
    total = 0
    if timed:  # once it is there, it may come again
        total += timed * _lists(slots - 1, (timed - 1, static), (free + repeats, beside), repeats)
    if static:
        total += static * _lists(slots - 1, (timed, static - 1), others, repeats)
    if free:
        total += free * _lists(slots - 1, required, (free if repeats else free - 1, beside), repeats)
    if beside:
        total += beside * _lists(slots - 1, required, (free, beside - 1), repeats)
    return total


# ---- relations of a partial order


def relation_nats(options: Options, body: Body) -> float:
    """Least cost of the relations of a partial order over all ways to list its timed variables in time.

    Each variable states its relation to the earlier ones in the list, the latest first; a statement costs the log of
    the number of values that some placement of the variable, consistent with all statements so far, could give it.
    """
    names, table = body
    timed = [i for i, name in enumerate(names) if name not in options.statics]
    return min(
        sum(
            _statement_nats(options, body, listing[:place], listing[place])
            for place in range(len(options.prefix), len(listing))  # those of the prefix are known
        )
        for listing in permutations(timed)
        if _in_time(table, listing) and _starts(options.prefix, body, listing)
    )


def _in_time(table: Table, listing: Sequence[int]) -> bool:
    return all(relation_in(table, i, j) != "After" for i, j in combinations(listing, 2))


def _starts(prefix: Sequence[str], body: Body, listing: Sequence[int]) -> bool:
    names, table = body
    start = listing[: len(prefix)]
    return [names[i] for i in start] == list(prefix) and all(
        relation_in(table, i, j) == "Before" for i, j in pairwise(start)
    )


def _statement_nats(options: Options, body: Body, earlier: Sequence[int], variable: int) -> float:
    """What one variable's relations to the earlier ones cost."""
    names, table = body
    possible = _placements(
        options.relations,
        max(0, len(options.prefix) - 1),
        tuple(relation_in(table, i, j) for i, j in combinations(earlier, 2)),
        tuple(names[i] == names[variable] for i in earlier),
    )
    cost = 0.0
    for place, other in reversed(list(enumerate(earlier))):
        cost += math.log(len({placement[place] for placement in possible}))
        stated = relation_in(table, other, variable)
        possible = [placement for placement in possible if placement[place] == stated]
    return cost


@lru_cache(maxsize=4096)
def _placements(
    relations: tuple[str, ...], guarded: int, between: tuple[str, ...], same: tuple[bool, ...]
) -> Sequence[tuple[str, ...]]:
    """Where a variable could be placed at or after those listed earlier, as their relations to it.

    `between` are the relations of the earlier ones in the order of pairs, `same` tells which have its predicate, and to
    the first `guarded` of them, the prefix without its last, nothing is Equal.
    """
    count = len(same)
    found = []
    for placement in product(["None", *(name.capitalize() for name in relations)], repeat=count):
        table = dict(zip(combinations(range(count), 2), between, strict=True))
        table |= {(i, count): relation for i, relation in enumerate(placement)}
        if (
            all(relation == "Before" for relation, alike in zip(placement, same, strict=True) if alike)
            and "Equal" not in placement[:guarded]
            and all(consistent(table, (i, j, count)) for i, j in combinations(range(count), 2))
        ):
            found.append(placement)
    return found
