"""Strict partial orders over a few elements, as bit masks: i precedes j where bit i of `order[j]` is set.

An order is *closed* when it holds every pair that follows from others; all functions but `close` expect a closed one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def bits(mask: int) -> Iterator[int]:
    """The positions of the set bits of a mask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def close(relation: Sequence[int]) -> tuple[int, ...]:
    """Transitive closure of any relation; element i is in `closed[i]` exactly when i lies on a cycle."""
    closed = list(relation)
    for middle in range(len(closed)):
        bit, reached = 1 << middle, closed[middle]
        for element, mask in enumerate(closed):
            if mask & bit:
                closed[element] = mask | reached
    return tuple(closed)


def is_cyclic(closed: Sequence[int]) -> bool:
    """Whether a closed relation contradicts itself, that is, puts some element before itself."""
    return any(mask >> element & 1 for element, mask in enumerate(closed))


def reduction(order: Sequence[int]) -> tuple[int, ...]:
    """Transitive reduction: the fewest pairs with the same closure (for each element, what it directly follows)."""
    covers = []
    for mask in order:
        implied = 0
        for below in bits(mask):
            implied |= order[below]
        covers.append(mask & ~implied)
    return tuple(covers)


def successors(order: Sequence[int]) -> tuple[int, ...]:
    """The order read backwards: for each element, the mask of all that follow it."""
    after = [0] * len(order)
    for element, mask in enumerate(order):
        for below in bits(mask):
            after[below] |= 1 << element
    return tuple(after)


def maximal(order: Sequence[int]) -> int:
    """Mask of the elements that nothing follows."""
    followed = 0
    for mask in order:
        followed |= mask
    return (1 << len(order)) - 1 & ~followed


def down_sets(order: Sequence[int]) -> list[int]:
    """Every set that holds, with an element, all that precede it (the empty set first, then ascending masks)."""
    found = {0}
    frontier = [0]
    while frontier:
        wider = []
        for held in frontier:
            for element, mask in enumerate(order):
                extended = held | 1 << element
                if mask & ~held == 0 and extended not in found:
                    found.add(extended)
                    wider.append(extended)
        frontier = wider
    return sorted(found)


def topological(order: Sequence[int], names: Sequence[Any]) -> list[int]:
    """The elements with none before its predecessors, the least name first among those that may come next."""
    remaining = set(range(len(order)))
    placed = 0
    sequence = []
    while remaining:
        following = min((element for element in remaining if order[element] & ~placed == 0), key=names.__getitem__)
        remaining.discard(following)
        placed |= 1 << following
        sequence.append(following)
    return sequence


def renumber(order: Sequence[int], sequence: Sequence[int]) -> tuple[int, ...]:
    """The same order when element `sequence[i]` is called i; elements left out of `sequence` are dropped."""
    place = {element: position for position, element in enumerate(sequence)}
    return tuple(sum(1 << place[below] for below in bits(order[element]) if below in place) for element in sequence)
