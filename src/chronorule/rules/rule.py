"""What a rule is: a head, Equal classes of predicates, and a partial order between the classes (design 2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from chronorule.errors import RuleError
from chronorule.rules import order as orders


class Relation(Enum):
    """How the instants of two variables of a body compare; NONE asks for nothing."""

    BEFORE = "Before"
    AFTER = "After"
    EQUAL = "Equal"
    NONE = "None"

    @property
    def inverse(self) -> Relation:
        """The same relation with its two variables exchanged."""
        return _INVERSE.get(self, self)


_INVERSE = {Relation.BEFORE: Relation.AFTER, Relation.AFTER: Relation.BEFORE}

Stated: TypeAlias = tuple[int, Relation, int]  # how two variables, known by their places, are related

KEYWORDS = frozenset(relation.value for relation in Relation)
RESERVED = frozenset('"#&∧<>=()|←↤')
MOST_STATED = 12  # relations of a contradiction that its message lists
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quote(name: str) -> str:
    """A name as the text of rules writes it: bare where that is clear, else in quotes with escapes."""
    if name and name[0] != "-" and name not in KEYWORDS and not any(map(_needs_quotes, name)):
        return name
    return '"' + "".join(map(_escape, name)) + '"'


def _needs_quotes(character: str) -> bool:
    return character in RESERVED or character == " " or not character.isprintable()


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def occurrence(name: str, rank: int) -> str:
    """A variable as the text of rules writes it: `Name`, and from the second occurrence in time on `Name#2`."""
    return quote(name) if rank == 1 else f"{quote(name)}#{rank}"


@dataclass(frozen=True, slots=True, repr=False)
class Rule:
    """One temporal logic rule in its canonical form, so that two spellings of one rule are equal objects.

    `classes` holds the predicates of each Equal class, sorted; `predecessors[i]` is the mask of *all* classes before
    class i and has only bits below i. A variable is known by its predicate and its rank among that predicate's
    variables, which Before must separate; classes are listed so that each follows its predecessors, the least names
    first. `sign` is +1 where the rule raises the head's rate, -1 where it lowers it.

    Build rules with `Rule.build` or `parse_rule`; the constructor refuses anything that is not canonical.
    """

    head: str
    classes: tuple[tuple[str, ...], ...]
    predecessors: tuple[int, ...]
    sign: int = 1

    def __post_init__(self) -> None:
        if _canonical(self.head, self.classes, self.predecessors, self.sign) != (self.classes, self.predecessors):
            raise RuleError(
                f"The classes {self.classes} with predecessors {self.predecessors} are not in canonical order; "
                "build rules with Rule.build or parse_rule."
            )

    @classmethod
    def build(
        cls,
        head: str,
        variables: Sequence[str],
        relations: Iterable[Stated] = (),
        sign: int = 1,
    ) -> Rule:
        """The rule whose body has one variable per predicate in `variables`, related as (index, relation, index).

        Equal classes are merged, Before is closed transitively, contradictions are refused. `Relation.NONE` asks for
        nothing, so it may be left out.
        """
        _refuse_names([head, *variables])
        stated = list(relations)
        before, equal = _oriented(variables, stated)
        owner = list(range(len(variables)))  # the least variable of each Equal class
        for one, other in equal:
            kept, gone = sorted((owner[one], owner[other]))
            owner = [kept if class_ == gone else class_ for class_ in owner]
        roots = sorted(set(owner))
        position = {root: index for index, root in enumerate(roots)}
        relation = [0] * len(roots)
        for earlier, later in before:
            relation[position[owner[later]]] |= 1 << position[owner[earlier]]
        closed = orders.close(relation)
        if orders.is_cyclic(closed):
            raise RuleError(contradiction(variables, stated))
        members: list[list[str]] = [[] for _ in roots]
        for name, root in zip(variables, owner, strict=True):
            members[position[root]].append(name)
        return cls.of_classes(head, members, closed, sign)

    @classmethod
    def of_classes(cls, head: str, classes: Sequence[Sequence[str]], order: Sequence[int], sign: int = 1) -> Rule:
        """The rule with these Equal classes under a closed order (bit i of `order[j]`: class i Before class j)."""
        canonical_classes, predecessors = _canonical(head, classes, order, sign)
        rule = object.__new__(cls)  # canonical by construction: spare it the check of the constructor
        object.__setattr__(rule, "head", head)
        object.__setattr__(rule, "classes", canonical_classes)
        object.__setattr__(rule, "predecessors", predecessors)
        object.__setattr__(rule, "sign", sign)
        return rule

    @property
    def length(self) -> int:
        """Number of variables of the body (c_f of the design)."""
        return sum(map(len, self.classes))

    @property
    def predicates(self) -> tuple[str, ...]:
        """The predicate of every variable, class by class; a repeated predicate appears as often as it is used."""
        return tuple(name for members in self.classes for name in members)

    @property
    def ranks(self) -> tuple[tuple[int, ...], ...]:
        """For every variable, class by class, its place in time among the variables of its predicate (from 1)."""
        return tuple(_ranks(self.classes, self.predecessors))

    @property
    def covers(self) -> tuple[int, ...]:
        """The transitive reduction: for each class, the mask of the classes it directly follows."""
        return orders.reduction(self.predecessors)

    @property
    def maximal(self) -> int:
        """Mask of the classes that no other class follows: a match completes at one of them."""
        return orders.maximal(self.predecessors)

    @property
    def is_chain(self) -> bool:
        """Whether every two classes are ordered."""
        return all(mask == (1 << element) - 1 for element, mask in enumerate(self.predecessors))

    @property
    def key(self) -> str:
        """The canonical text with ASCII operators: equal exactly for equal rules, and read back by `parse_rule`."""
        arrow = "<-" if self.sign == 1 else "<-|"
        return f"{quote(self.head)} {arrow} {_body(self)}"

    def __str__(self) -> str:
        return self.key

    def __repr__(self) -> str:
        return f"parse_rule({self.key!r})"


def _refuse_names(names: Sequence[object]) -> None:
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise RuleError(f"{wrong!r} is no name of a predicate; names are text.")


def _oriented(
    variables: Sequence[str], relations: Iterable[Stated]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The stated relations as pairs (earlier, later) and pairs of equals."""
    before: list[tuple[int, int]] = []
    equal: list[tuple[int, int]] = []
    for one, relation, other in relations:
        if not (0 <= one < len(variables) and 0 <= other < len(variables)):
            raise RuleError(
                f"A relation names variables {one} and {other}, but the body has {len(variables)}, numbered from 0."
            )
        if one == other:
            raise RuleError(
                f"{quote(variables[one])} cannot stand in a relation with itself; "
                f"write {occurrence(variables[one], 2)} for its second occurrence."
            )
        if relation is Relation.BEFORE:
            before.append((one, other))
        elif relation is Relation.AFTER:
            before.append((other, one))
        elif relation is Relation.EQUAL:
            equal.append((one, other))
        elif relation is not Relation.NONE:
            raise RuleError(f"{relation!r} is no relation; give one of {', '.join(map(str, Relation))}.")
    return before, equal


def _ranks(classes: Sequence[Sequence[str]], order: Sequence[int]) -> Iterable[tuple[int, ...]]:
    for members, mask in zip(classes, order, strict=True):
        below = [name for earlier in orders.bits(mask) for name in classes[earlier]]
        yield tuple(1 + below.count(name) for name in members)


def _canonical(
    head: str, classes: Sequence[Sequence[str]], order: Sequence[int], sign: int
) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    """Classes sorted inside and listed in canonical order, with their order renumbered; refuses what is no rule."""
    everything = (1 << len(classes)) - 1
    if len(order) != len(classes) or any(mask & ~everything for mask in order) or orders.close(order) != tuple(order):
        raise RuleError(f"The predecessors {tuple(order)} are no closed order of {len(classes)} classes.")
    if orders.is_cyclic(order):
        raise RuleError(f"The predecessors {tuple(order)} put a class before itself; remove the cycle.")
    if not classes or not all(classes):
        raise RuleError(f"The body of a rule for {quote(head)} needs at least one predicate.")
    if sign not in (1, -1):
        raise RuleError(f"The sign of a rule is +1 (raises the rate) or -1 (lowers it), not {sign!r}.")
    _refuse_unseparated(classes, order)
    sorted_classes = [tuple(sorted(members)) for members in classes]
    # Classes that share a predicate are ordered, so of those that may come next no two have the same names.
    sequence = orders.topological(order, sorted_classes)
    return tuple(sorted_classes[element] for element in sequence), orders.renumber(order, sequence)


def _refuse_unseparated(classes: Sequence[Sequence[str]], order: Sequence[int]) -> None:
    seen: dict[str, int] = {}
    for element, members in enumerate(classes):
        for name in members:
            held = seen.get(name, 0)
            for other in orders.bits(held):
                if other == element or not (order[element] >> other & 1 or order[other] >> element & 1):
                    raise RuleError(lack_of_separation(name))
            seen[name] = held | 1 << element


def contradicts(variables: Sequence[str], relations: Sequence[Stated]) -> bool:
    """Whether relations put a variable before itself."""
    before, _ = _oriented(variables, relations)
    held = _not_after(variables, relations)
    return any(held[earlier] >> later & 1 for earlier, later in before)


def unseparated(variables: Sequence[str], relations: Sequence[Stated]) -> int | None:
    """The first variable that relations, which do not contradict each other, leave beside one of its predicate."""
    held = _not_after(variables, relations)
    for later, name in enumerate(variables):
        for earlier in range(later):
            if variables[earlier] == name and (held[later] >> earlier & 1) == (held[earlier] >> later & 1):
                return later
    return None


def _not_after(variables: Sequence[str], relations: Sequence[Stated]) -> tuple[int, ...]:
    """For each variable the mask of those that relations put before it or equate with it."""
    before, equal = _oriented(variables, relations)
    held = [0] * len(variables)
    for earlier, later in before + equal + [(other, one) for one, other in equal]:
        held[later] |= 1 << earlier
    return orders.close(held)


def lack_of_separation(name: str) -> str:
    """The sentence about two variables of one predicate that may be one event."""
    return (
        f"Two occurrences of {quote(name)} in one body must be separated by Before, "
        "since one event could serve for both; state which comes first."
    )


def contradiction(variables: Sequence[str], relations: Sequence[Stated]) -> str:
    """The sentence that names a shortest cycle of stated relations."""
    before, equal = _oriented(variables, relations)
    steps: dict[int, list[tuple[int, Relation]]] = {}
    for earlier, later in before:
        steps.setdefault(earlier, []).append((later, Relation.BEFORE))
    for one, other in equal:
        steps.setdefault(one, []).append((other, Relation.EQUAL))
        steps.setdefault(other, []).append((one, Relation.EQUAL))
    ways = [(earlier, later, _way(steps, later, earlier)) for earlier, later in before]
    cycles = [[(earlier, Relation.BEFORE, later), *way] for earlier, later, way in ways if way is not None]
    labels = [occurrence(name, 1 + list(variables[:index]).count(name)) for index, name in enumerate(variables)]
    shortest = [f"{labels[one]} {relation.value} {labels[other]}" for one, relation, other in min(cycles, key=len)]
    more = f" and {len(shortest) - MOST_STATED:,} more" if len(shortest) > MOST_STATED else ""
    return (
        f"These relations contradict each other: {', '.join(shortest[:MOST_STATED])}{more}; "
        "drop one (a second occurrence is written Name#2)."
    )


def _way(steps: dict[int, list[tuple[int, Relation]]], start: int, goal: int) -> list[tuple[int, Relation, int]] | None:
    """A shortest way from start to goal along stated relations, if there is one (a cycle needs one back)."""
    arrived: dict[int, tuple[int, Relation]] = {}  # from where each variable was reached first
    queue = deque([start])
    while queue and goal not in arrived:
        here = queue.popleft()
        for there, relation in steps.get(here, ()):
            if there != start and there not in arrived:
                arrived[there] = (here, relation)
                queue.append(there)
    if goal not in arrived:
        return None
    way = []
    while goal != start:
        here, relation = arrived[goal]
        way.append((here, relation, goal))
        goal = here
    return way[::-1]


def _body(rule: Rule) -> str:
    """The body as `&`-joined chains that together walk every pair of the transitive reduction once."""
    ranks = rule.ranks
    full = [
        " = ".join(occurrence(name, rank) for name, rank in zip(members, class_ranks, strict=True))
        for members, class_ranks in zip(rule.classes, ranks, strict=True)
    ]
    short = [occurrence(members[0], class_ranks[0]) for members, class_ranks in zip(rule.classes, ranks, strict=True)]
    unwalked = list(orders.successors(rule.covers))
    written = 0
    terms = []
    for first in range(len(rule.classes)):
        while unwalked[first] or not written >> first & 1:
            here = first
            term = [short[here] if written >> here & 1 else full[here]]
            written |= 1 << here
            while unwalked[here]:
                there = next(orders.bits(unwalked[here]))
                unwalked[here] &= ~(1 << there)
                here = there
                term.append(short[here] if written >> here & 1 else full[here])
                written |= 1 << here
            terms.append(" < ".join(term))
    return " & ".join(terms)
