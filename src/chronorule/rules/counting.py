"""How many different rules a grammar holds, exactly and without listing them.

A rule is a choice of predicates, times a structure on them: the number of rules is the sum, over the numbers u of
different timed and s of static predicates, of (ways to choose them) · (structures in which exactly these appear).
"""

from __future__ import annotations

from collections.abc import Iterator
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
LONGEST_INSERTED = 6  # partial orders with repeats or a prefix are counted by insertion, which takes minutes beyond


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
            f"Partial orders of {length} predicates with repeats or a prefix take too long to count; "
            f"count lengths up to {LONGEST_INSERTED}, or leave out repeats and prefix."
        )
    ranks = {name: grammar.prefix.count(name) for name in grammar.prefix}
    least = tuple(ranks.values()) + (1,) * (different - len(ranks))
    total = 0
    for extra in _compositions(length - sum(least), different):
        times = [one + more for one, more in zip(least, extra, strict=True)]
        multiplicities = (*times[: len(ranks)], *sorted(times[len(ranks) :]))  # which others repeat is all the same
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


Shape = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]


@lru_cache(maxsize=4096)
def _orders_with_repeats(multiplicities: tuple[int, ...], prefix: tuple[int, ...], before: bool, equal: bool) -> int:
    """Bodies in which predicate p appears `multiplicities[p]` times and which start with the prefix.

    Variables are inserted one by one: where the last may stand, below and above what is there, is counted, not listed.
    """
    variables = [*prefix]
    for predicate, times in enumerate(multiplicities):
        variables += [predicate] * (times - prefix.count(predicate))
    beginning = tuple((predicate,) for predicate in prefix)
    bodies: list[Shape] = [(beginning, tuple((1 << place) - 1 for place in range(len(prefix))))]
    for place in range(len(prefix), len(variables)):
        places = (_insertions(body, variables[place], len(prefix), before, equal) for body in bodies)
        if place == len(variables) - 1:
            return sum(1 for found in places for _ in found)
        bodies = [body for found in places for body in found]
    return len(bodies)


def _insertions(body: Shape, predicate: int, prefix: int, before: bool, equal: bool) -> Iterator[Shape]:
    """Each body with one more variable of a predicate, later than those it has, and not before the prefix."""
    classes, order = body
    after = orders.successors(order)
    same = sum(1 << element for element, members in enumerate(classes) if predicate in members)
    everything = (1 << len(classes)) - 1
    beginning = (1 << prefix) - 1
    if equal:
        for element, members in enumerate(classes):
            if element >= prefix - 1 and same & ~order[element] == 0:
                yield (*classes[:element], (*members, predicate), *classes[element + 1 :]), order
    if not before:
        if not same:
            yield (*classes, (predicate,)), (*order, 0)
        return
    down = orders.down_sets(order)
    for below in down:
        if same & ~below:
            continue
        common = everything & ~below & ~beginning
        for element in orders.bits(below):
            common &= after[element]
        for held in down:
            above = everything & ~held
            if above & ~common == 0:
                extended = [
                    mask | (1 << len(classes) if above >> element & 1 else 0) for element, mask in enumerate(order)
                ]
                yield (*classes, (predicate,)), (*extended, below)
