"""Every rule of a grammar, by the growth of design 7: misses none, and repeats are left out by key."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from chronorule.rules import order as orders
from chronorule.rules.grammar import Grammar
from chronorule.rules.rule import Rule

Body = tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]


def enumerate_rules(grammar: Grammar, head: str) -> Iterator[Rule]:
    """Each rule of the grammar for this head once, shorter rules first."""
    for length in grammar.lengths:
        for count in range(min(length, len(grammar.static)) + 1):
            for statics in combinations(grammar.static, count):
                for classes, order in _timed_bodies(grammar, length - count, statics):
                    every = (*classes, *((name,) for name in statics))
                    for sign in grammar.signs:
                        yield Rule.of_classes(head, every, (*order, *(0 for _ in statics)), sign)


def _timed_bodies(grammar: Grammar, size: int, statics: tuple[str, ...]) -> Iterator[Body]:
    """Each body of `size` timed predicates once, such that together with these statics it obeys the grammar."""
    conflicts = _conflicts(grammar)
    required = {name for name in grammar.required if name not in statics}
    if any(conflicts.get(one, set()).intersection(statics) for one in (*statics, *grammar.prefix)):
        return
    if required.intersection(grammar.static) or size < len(grammar.prefix):
        return
    barred = {other for name in (*statics, *grammar.prefix) for other in conflicts.get(name, ())}
    seen: set[Rule] = set()
    start = tuple((name,) for name in grammar.prefix), tuple((1 << place) - 1 for place in range(len(grammar.prefix)))
    for classes, order in _grow(grammar, start, -1, size, barred, conflicts):
        if not required.issubset({name for members in classes for name in members}):
            continue
        if not grammar.partial_orders or not classes:  # only partial orders can be grown in several ways
            yield classes, order
            continue
        body = Rule.of_classes("", classes, order)
        if body not in seen:
            seen.add(body)
            yield classes, order


def _conflicts(grammar: Grammar) -> dict[str, set[str]]:
    conflicts: dict[str, set[str]] = {}
    for one, other in grammar.forbidden_pairs:
        conflicts.setdefault(one, set()).add(other)
        conflicts.setdefault(other, set()).add(one)
    return conflicts


def _grow(
    grammar: Grammar, body: Body, last: int, size: int, barred: set[str], conflicts: dict[str, set[str]]
) -> Iterator[Body]:
    """Bodies grown from `body`: a new class as a maximal element, or a predicate of code above `last` that joins
    the class added last (behind a prefix, any code)."""
    classes, order = body
    length = sum(map(len, classes))
    if length == size:
        yield body
        return
    for code, name in enumerate(grammar.timed):
        holders = sum(1 << element for element, members in enumerate(classes) if name in members)
        if name in barred or (holders and not grammar.repeats):
            continue
        more = barred | conflicts.get(name, set())
        if classes and code > last and "equal" in grammar.relations and holders & ~order[-1] == 0:
            joined = ((*classes[:-1], (*classes[-1], name)), order)
            yield from _grow(grammar, joined, code, size, more, conflicts)
        for below in _foundations(grammar, order):
            if holders & ~below == 0:
                founded = ((*classes, (name,)), (*order, below))
                yield from _grow(grammar, founded, code, size, more, conflicts)


def _foundations(grammar: Grammar, order: tuple[int, ...]) -> list[int]:
    """What may come before a new maximal class."""
    if "before" not in grammar.relations:
        return [0] if grammar.partial_orders or not order else []
    return orders.down_sets(order) if grammar.partial_orders else [(1 << len(order)) - 1]
