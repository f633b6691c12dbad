"""What stands next to a rule: the rules one step away, and the rules that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from chronorule.errors import RuleError
from chronorule.rules import order as orders
from chronorule.rules.language import parse_rule
from chronorule.rules.rule import Rule

Classes = Sequence[Sequence[str]]
Body = tuple[list[list[str]], list[int]]


def key(rule: Rule | str) -> str:
    """The canonical text of a rule, given as an object or in any spelling."""
    return (parse_rule(rule) if isinstance(rule, str) else rule).key


def implies(one: Rule, other: Rule) -> bool:
    """Whether every match of `one` holds a match of `other`, so that `other` has completed wherever `one` has.

    That is, whether the variables of `other` can be sent to variables of `one` with the same predicates so that `one`
    orders or equates all that `other` does. Without repeats, and where `one` is a chain, nothing else is implied; a
    partial order with repeats may imply more, by other variables in other matches, which is not looked for. Only bodies
    are compared, not heads or signs.
    """
    theirs = _variables(other)
    mine = _variables(one)
    chosen: list[int] = []

    def extend() -> bool:
        if len(chosen) == len(theirs):
            return True
        name, owner = theirs[len(chosen)]
        for candidate, (candidate_name, candidate_owner) in enumerate(mine):
            if candidate_name == name and all(
                _keeps(other, theirs[index][1], owner, one, mine[image][1], candidate_owner)
                for index, image in enumerate(chosen)
            ):
                chosen.append(candidate)
                if extend():
                    return True
                chosen.pop()
        return False

    return extend()


def _variables(rule: Rule) -> list[tuple[str, int]]:
    return [(name, element) for element, members in enumerate(rule.classes) for name in members]


def _keeps(other: Rule, earlier: int, later: int, one: Rule, earlier_image: int, later_image: int) -> bool:
    """Whether what `other` asks of two classes (listed in this order) holds of their images in `one`."""
    if earlier == later:
        return earlier_image == later_image
    if other.predecessors[later] >> earlier & 1:
        return bool(one.predecessors[later_image] >> earlier_image & 1)
    return True


def neighbours(
    rule: Rule,
    predicates: Collection[str],
    *,
    statics: Collection[str] = (),
    relations: Collection[str] = ("before", "equal"),
    partial_orders: bool = False,
    repeats: bool = False,
    max_length: int | None = None,
    allowed: Callable[[Rule], bool] | None = None,
) -> Iterator[Rule]:
    """Every rule one step away, each once, never the rule itself: one predicate or one relation changed.

    A predicate is dropped (what it linked stays ordered), put in the place of another, or added anywhere in the order;
    an Equal class is split, two classes that could be adjacent in time are merged or swapped, and with
    `partial_orders` an order between them is dropped or stated. `predicates` is the library, of which `statics` (no
    time) take no relation. No predicate is added beyond `max_length`. `allowed` filters, as a grammar's `allows` does.
    """
    seen = {rule}
    static = frozenset(statics)
    additions = predicates if max_length is None or rule.length < max_length else ()
    steps = _steps(rule, predicates, additions, static, frozenset(relations), partial_orders, repeats)
    for classes, order in steps:
        if not partial_orders and not _is_timed_chain(classes, order, static):
            continue
        try:
            found = Rule.of_classes(rule.head, classes, order, rule.sign)
        except RuleError:  # no body left, or repeats that nothing separates: no rule stands there
            continue
        if found not in seen:
            seen.add(found)
            if allowed is None or allowed(found):
                yield found


def _steps(
    rule: Rule,
    predicates: Collection[str],
    additions: Collection[str],
    static: frozenset[str],
    relations: frozenset[str],
    partial_orders: bool,
    repeats: bool,
) -> Iterator[Body]:
    classes, order = rule.classes, rule.predecessors
    timed = [element for element, members in enumerate(classes) if not static.intersection(members)]
    yield from _drops(classes, order)
    yield from _exchanges(classes, order, predicates, static, repeats)
    yield from _additions(classes, order, timed, additions, static, relations, partial_orders, repeats)
    yield from _splits(classes, order, relations, partial_orders)
    yield from _pair_changes(classes, order, timed, relations, partial_orders)


def _copy(classes: Classes, order: Sequence[int]) -> Body:
    return [list(members) for members in classes], list(order)


def _without(classes: Classes, order: Sequence[int], gone: int) -> Body:
    kept = [element for element in range(len(classes)) if element != gone]
    return [list(classes[element]) for element in kept], list(orders.renumber(order, kept))


def _drops(classes: Classes, order: Sequence[int]) -> Iterator[Body]:
    for element, members in enumerate(classes):
        for name in members:
            if len(members) == 1:
                yield _without(classes, order, element)
            else:
                fewer, same = _copy(classes, order)
                fewer[element].remove(name)
                yield fewer, same


def _exchanges(
    classes: Classes, order: Sequence[int], predicates: Collection[str], static: frozenset[str], repeats: bool
) -> Iterator[Body]:
    for element, members in enumerate(classes):
        for place, name in enumerate(members):
            for other in _free(classes, predicates, static, repeats):
                if (other in static) == (name in static):
                    changed, same = _copy(classes, order)
                    changed[element][place] = other
                    yield changed, same


def _free(classes: Classes, predicates: Collection[str], static: frozenset[str], repeats: bool) -> list[str]:
    used = {name for members in classes for name in members}
    return [name for name in predicates if name not in used or (repeats and name not in static)]


def _additions(
    classes: Classes,
    order: Sequence[int],
    timed: Sequence[int],
    predicates: Collection[str],
    static: frozenset[str],
    relations: frozenset[str],
    partial_orders: bool,
    repeats: bool,
) -> Iterator[Body]:
    places = list(_places(order, timed, relations, partial_orders))
    for name in _free(classes, predicates, static, repeats):
        if name in static:
            wider, same = _copy(classes, order)
            yield [*wider, [name]], [*same, 0]
            continue
        for below, above in places:
            wider, extended = _copy(classes, order)
            for element in orders.bits(above):
                extended[element] |= 1 << len(classes)
            yield [*wider, [name]], [*extended, below]
        if "equal" in relations:
            for element in timed:
                wider, same = _copy(classes, order)
                wider[element].append(name)
                yield wider, same


def _places(
    order: Sequence[int], timed: Sequence[int], relations: frozenset[str], partial_orders: bool
) -> Iterator[tuple[int, int]]:
    """Where a new class may stand: masks of the classes before and after it (all timed ones, in a chain)."""
    inside = sum(1 << element for element in timed)
    after = orders.successors(order)
    if "before" not in relations:
        if partial_orders or not timed:
            yield 0, 0
        return
    down = [held for held in orders.down_sets(order) if held & ~inside == 0]
    up = [inside & ~held for held in down]
    for below in down:
        common = inside & ~below  # all that may follow everything below
        for element in orders.bits(below):
            common &= after[element]
        for above in up:
            if above & ~common == 0 and (partial_orders or below | above == inside):
                yield below, above


def _splits(classes: Classes, order: Sequence[int], relations: frozenset[str], partial_orders: bool) -> Iterator[Body]:
    """An Equal class falls into two, one before the other or unrelated; both keep what the class was related to."""
    fresh = len(classes)
    for element, members in enumerate(classes):
        for chosen in range(1, (1 << len(members)) - 1):
            split, extended = _copy(classes, order)
            split[element] = [name for place, name in enumerate(members) if not chosen >> place & 1]
            split.append([name for place, name in enumerate(members) if chosen >> place & 1])
            extended = [mask | 1 << fresh if mask >> element & 1 else mask for mask in extended]
            if "before" in relations:  # the other half of the choices puts the halves the other way round
                yield split, [*extended, order[element] | 1 << element]
            if partial_orders:
                yield split, [*extended, order[element]]


def _pair_changes(
    classes: Classes, order: Sequence[int], timed: Sequence[int], relations: frozenset[str], partial_orders: bool
) -> Iterator[Body]:
    """Another relation between two timed classes that nothing stands between."""
    covers = orders.reduction(order)
    for later in timed:
        for earlier in timed:
            if covers[later] >> earlier & 1:
                apart = list(order)
                apart[later] &= ~(1 << earlier)
                if partial_orders:
                    yield _copy(classes, apart)
                if "before" in relations:
                    yield _related(classes, apart, later, earlier)
                if "equal" in relations:
                    yield _merged(classes, apart, earlier, later)
            elif earlier != later and not (order[later] >> earlier & 1 or order[earlier] >> later & 1):
                if "before" in relations:
                    yield _related(classes, order, earlier, later)
                if "equal" in relations and earlier < later:
                    yield _merged(classes, order, earlier, later)


def _related(classes: Classes, order: Sequence[int], earlier: int, later: int) -> Body:
    extended = list(order)
    extended[later] |= 1 << earlier
    return _copy(classes, orders.close(extended))


def _merged(classes: Classes, order: Sequence[int], kept: int, gone: int) -> Body:
    """Two unrelated classes become one, which follows and precedes whatever either did."""
    wider, merged = _copy(classes, order)
    wider[kept] += wider[gone]
    merged = [mask | 1 << kept if mask >> gone & 1 else mask for mask in merged]
    merged[kept] |= order[gone]
    return _without(wider, orders.close(merged), gone)


def _is_timed_chain(classes: Classes, order: Sequence[int], static: frozenset[str]) -> bool:
    """Whether the classes that have a time are ordered one after the other."""
    timed = [element for element, members in enumerate(classes) if not static.intersection(members)]
    return sorted(order[element].bit_count() for element in timed) == list(range(len(timed)))
