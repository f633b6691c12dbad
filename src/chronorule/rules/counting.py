"""How many different rules a grammar holds, exactly and without listing them.

A rule is a choice of predicates, times a structure on them: the number of rules is the sum, over the numbers u of
different timed and s of static predicates, of (ways to choose them) · (structures in which exactly these appear).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import comb

from chronorule.errors import GrammarError
from chronorule.rules import order as orders
from chronorule.rules.grammar import Grammar

# Partial orders on m labelled elements, m = 0, 1, 2, … (https://oeis.org/A001035; the tests count the first again).
PARTIAL_ORDERS = (
    1,
    1,
    3,
    19,
    219,
    4231,
    130023,
    6129859,
    431723379,
    44511042511,
    6611065248783,
    1396281677105899,
    414864951055853499,
)
LONGEST_INSERTED = 8  # partial orders with repeats or a prefix, counted by insertion in seconds; beyond, in minutes


def count_rules(grammar: Grammar) -> int:
    """Number of different rules in the grammar."""
    total = 0
    choices = _choices(grammar)
    for (timed, statics), ways in choices.items():
        for length in grammar.lengths:
            if length - statics >= timed and (grammar.repeats or length - statics == timed):
                total += ways * _structures(grammar, timed, length - statics)
    return total * len(grammar.signs)


# --- choices of predicates -------------------------------------------------------------------------------------------


Ways = dict[tuple[int, int], int]  # (timed, static) -> number of sets with so many of each


def _choices(grammar: Grammar) -> Ways:
    """Sets of (timed, static) predicates of each size that hold what is required and no forbidden pair."""
    demanded = {*grammar.required, *grammar.prefix}
    conflicts: dict[str, set[str]] = {name: set() for name in grammar.library}
    for one, other in grammar.forbidden_pairs:
        if one in conflicts and other in conflicts:
            conflicts[one].add(other)
            conflicts[other].add(one)
    excluded = demanded.union(*(conflicts[name] for name in demanded))
    open_to_choice = frozenset(name for name in grammar.library if name not in excluded)
    longest = grammar.lengths.stop - 1
    static = sum(name in grammar.statics for name in demanded)
    start: Ways = {(len(demanded) - static, static): 1}
    return _product(start, _independent(open_to_choice, conflicts, frozenset(grammar.statics), longest), longest)


def _independent(names: frozenset[str], conflicts: dict[str, set[str]], statics: frozenset[str], longest: int) -> Ways:
    """Sets of at most `longest` names without conflict: branch on the name with most, multiply what is unconnected."""
    free = [name for name in names if not conflicts[name] & names]
    timed = sum(name not in statics for name in free)
    ways: Ways = {
        (one, other): comb(timed, one) * comb(len(free) - timed, other)
        for one in range(min(timed, longest) + 1)
        for other in range(min(len(free) - timed, longest - one) + 1)
    }
    for connected in _components(names.difference(free), conflicts):
        name = max(sorted(connected), key=lambda one: len(conflicts[one] & connected))
        without = _independent(connected - {name}, conflicts, statics, longest)
        beside = _independent(connected - {name} - conflicts[name], conflicts, statics, longest)
        single: Ways = {(0, 1) if name in statics else (1, 0): 1}
        branches = dict(without)
        for size, number in _product(single, beside, longest).items():
            branches[size] = branches.get(size, 0) + number
        ways = _product(ways, branches, longest)
    return ways


def _components(names: frozenset[str], conflicts: dict[str, set[str]]) -> Iterator[frozenset[str]]:
    """The names in groups that no conflict connects."""
    left = set(names)
    while left:
        reached = {left.pop()}
        frontier = list(reached)
        while frontier:
            fresh = conflicts[frontier.pop()] & left
            left -= fresh
            reached |= fresh
            frontier += fresh
        yield frozenset(reached)


def _product(one: Ways, other: Ways, longest: int) -> Ways:
    """Unions of a set of the one and a set of the other kind, of at most `longest` names."""
    found: Ways = {}
    for (timed, static), ways in one.items():
        for (more_timed, more_static), more_ways in other.items():
            size = timed + more_timed, static + more_static
            if sum(size) <= longest:
                found[size] = found.get(size, 0) + ways * more_ways
    return found


# --- structures on chosen predicates ---------------------------------------------------------------------------------


def _structures(grammar: Grammar, different: int, length: int) -> int:
    """Bodies of `length` variables in which exactly `different` given timed predicates appear."""
    before, equal = "before" in grammar.relations, "equal" in grammar.relations
    if not grammar.partial_orders:
        return _chains_covering(grammar, different, length)
    if different == length and not grammar.prefix:
        return _orders_of_different(length, before, equal)
    if length > LONGEST_INSERTED:
        raise GrammarError(
            f"Partial orders of {length} predicates with repeats or a prefix would take minutes to count; "
            f"count lengths up to {LONGEST_INSERTED}, or leave out repeats and prefix."
        )
    ranks = {name: grammar.prefix.count(name) for name in grammar.prefix}
    least = tuple(ranks.values()) + (1,) * (different - len(ranks))
    total = 0
    for extra in _compositions(length - sum(least), different):
        times = [one + more for one, more in zip(least, extra, strict=True)]
        others = sorted(times[len(ranks) :], reverse=True)  # which of them repeat is all the same
        multiplicities = (*times[: len(ranks)], *others)
        numbers = {name: number for number, name in enumerate(ranks)}
        total += _orders_with_repeats(multiplicities, tuple(numbers[name] for name in grammar.prefix), before, equal)
    return total


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to write `total` as an ordered sum of `parts` numbers of at least 0."""
    if parts == 0:
        if total == 0:
            yield ()
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def _chains_covering(grammar: Grammar, different: int, length: int) -> int:
    """Chains over `different` predicates, less those that miss some of them (inclusion and exclusion)."""
    fixed = len(set(grammar.prefix))
    spare = different - fixed
    total = 0
    for missed in range(spare + 1):
        total += (-1) ** missed * comb(spare, missed) * _chains_over(grammar, different - missed, length)
    return total


def _chains_over(grammar: Grammar, alphabet: int, length: int) -> int:
    """Chains of Equal classes over an alphabet whose class sizes sum to `length`, after the prefix if there is one.

    Repeats are allowed; the rules without are those in which `length` different predicates appear.
    """
    before, equal = "before" in grammar.relations, "equal" in grammar.relations
    open_slots = length - len(grammar.prefix)
    if open_slots < 0:
        return 0
    if not grammar.prefix:
        return _sequences(alphabet, length, before, equal)
    joining = range(open_slots + 1 if equal else 1)  # how many join the last of the prefix
    return sum(
        comb(alphabet - 1, joined)
        * (_sequences(alphabet, open_slots - joined, before, equal) if before else joined == open_slots)
        for joined in joining
    )


def _sequences(alphabet: int, length: int, before: bool, equal: bool) -> int:
    """Sequences of non-empty classes over an alphabet whose sizes sum to `length`."""
    if not before:
        return comb(alphabet, length)
    counts = [1]
    for total in range(1, length + 1):
        largest = total if equal else 1
        counts.append(sum(comb(alphabet, size) * counts[total - size] for size in range(1, largest + 1)))
    return counts[length]


def _orders_of_different(length: int, before: bool, equal: bool) -> int:
    """Partial orders on Equal classes of `length` different predicates: Σ_m S(length, m) · (orders on m classes)."""
    if before and length >= len(PARTIAL_ORDERS):
        raise GrammarError(
            f"Partial orders of {length} predicates are not counted; count lengths up to {len(PARTIAL_ORDERS) - 1}."
        )
    classes = range(length + 1) if equal else [length]
    return sum(_partitions(length, count) * (PARTIAL_ORDERS[count] if before else 1) for count in classes)


def _partitions(elements: int, parts: int) -> int:
    """Stirling numbers of the second kind."""
    row = [1]
    for _ in range(elements):
        row = [
            (part * row[part] if part < len(row) else 0) + (row[part - 1] if part else 0)
            for part in range(len(row) + 1)
        ]
    return row[parts] if parts < len(row) else 0


# --- partial orders with repeats or a prefix -------------------------------------------------------------------------


Marked = tuple[tuple[int, ...], int]  # an order of classes, and which holds the latest of the predicate in hand
NONE_YET = -1


@lru_cache(maxsize=4096)
def _orders_with_repeats(multiplicities: tuple[int, ...], prefix: tuple[int, ...], before: bool, equal: bool) -> int:
    """Bodies in which predicate p appears `multiplicities[p]` times and which start with the prefix.

    Variables are inserted one by one, those of a predicate in their order of time. Where one may stand depends on the
    order of the classes and on where the latest of its predicate is, but not on the names of the others: bodies alike
    in this are grown together. The last insertion is counted, not made.
    """
    variables = [p for p, times in enumerate(multiplicities) for _ in range(times - prefix.count(p))]
    bodies: Counter[Marked] = Counter({(tuple((1 << place) - 1 for place in range(len(prefix))), NONE_YET): 1})
    for place, predicate in enumerate(variables):
        if place == 0 or predicate != variables[place - 1]:
            latest = max((here for here, name in enumerate(prefix) if name == predicate), default=NONE_YET)
            bodies = _together((_alike((order, latest), len(prefix)), ways) for (order, _), ways in bodies.items())
        if place == len(variables) - 1:
            return sum(ways * _growth(body, len(prefix), before, equal) for body, ways in bodies.items())
        bodies = _together(
            (wider, ways * more)
            for body, ways in bodies.items()
            for wider, more in _grown(body, len(prefix), before, equal).items()
        )
    return 1


def _together(bodies: Iterable[tuple[Marked, int]]) -> Counter[Marked]:
    found: Counter[Marked] = Counter()
    for body, ways in bodies:
        found[body] += ways
    return found


@lru_cache(maxsize=4096)
def _grown(body: Marked, prefix: int, before: bool, equal: bool) -> Mapping[Marked, int]:
    """The bodies with one more variable of the predicate in hand, and how often each arises."""
    order = body[0]
    fresh = len(order)
    joined = [(order, element) for element in range(fresh) if equal and _joins(body, element, prefix)]
    added = [
        ((*(mask | (above >> element & 1) << fresh for element, mask in enumerate(order)), below), fresh)
        for below, above in _places(body, prefix, before)
    ]
    return _together((_alike(wider, prefix), 1) for wider in (*joined, *added))


@lru_cache(maxsize=4096)
def _growth(body: Marked, prefix: int, before: bool, equal: bool) -> int:
    """In how many ways a body takes one more variable of the predicate in hand."""
    joined = sum(_joins(body, element, prefix) for element in range(len(body[0]))) if equal else 0
    return joined + sum(1 for _ in _places(body, prefix, before))


def _joins(body: Marked, element: int, prefix: int) -> bool:
    """Whether a class may take the variable: it is later than the latest, and of the prefix at most the last class."""
    order, latest = body
    return element >= prefix - 1 and (latest == NONE_YET or bool(order[element] >> latest & 1))


def _places(body: Marked, prefix: int, before: bool) -> Iterator[tuple[int, int]]:
    """Where a class of the variable alone may stand: after the latest, not before the prefix (masks below, above)."""
    order, latest = body
    if not before:
        if latest == NONE_YET:
            yield 0, 0
        return
    after = orders.successors(order)
    down = orders.down_sets(order)
    up = [(1 << len(order)) - 1 & ~held for held in down]
    for below in down:
        if latest == NONE_YET or below >> latest & 1:
            common = up[0] & ~below & ~((1 << prefix) - 1)
            for element in orders.bits(below):
                common &= after[element]
            yield from ((below, above) for above in up if not above & ~common)


def _alike(body: Marked, prefix: int) -> Marked:
    """The body with its classes after the prefix renumbered, so that most bodies that differ in names alone coincide.

    They are sorted by what stands before and after them; to leave a tie open costs time, not the truth of the count.
    """
    order, latest = body
    after = orders.successors(order)
    kinds: list[tuple[int, ...]] = [
        (min(element, prefix), element == latest, mask.bit_count(), after[element].bit_count())
        for element, mask in enumerate(order)
    ]
    number = {kind: place for place, kind in enumerate(sorted(set(kinds)))}
    first = [number[kind] for kind in kinds]
    finer = [
        (
            first[element],
            *sorted(first[one] for one in orders.bits(mask)),
            *sorted(first[one] for one in orders.bits(above)),
        )
        for element, (mask, above) in enumerate(zip(order, after, strict=True))
    ]
    sequence = sorted(range(len(order)), key=finer.__getitem__)
    return orders.renumber(order, sequence), latest if latest == NONE_YET else sequence.index(latest)
