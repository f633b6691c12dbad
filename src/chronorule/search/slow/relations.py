"""Bodies as plain tables: the predicates of the variables, and how the instants of every two of them compare.

A *table* of n variables maps each pair (i, j), i < j, to "Before", "After", "Equal" or "None", all consequences drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations

Table = Mapping[tuple[int, int], str]
Body = tuple[tuple[str, ...], Table]
Variable = tuple[str, int]  # a predicate, and how many variables of that predicate come before this one
Identity = frozenset[tuple[Variable, str, Variable]]

BACKWARDS = {"Before": "After", "After": "Before", "Equal": "Equal", "None": "None"}
FOLLOWS = {  # from the relations of i to j and of j to k, that of i to k
    ("Before", "Before"): "Before",
    ("Before", "Equal"): "Before",
    ("Equal", "Before"): "Before",
    ("Equal", "Equal"): "Equal",
    ("Equal", "After"): "After",
    ("After", "Equal"): "After",
    ("After", "After"): "After",
}


def compare(one: float, other: float) -> str:
    """How two instants compare."""
    return "Before" if one < other else "After" if one > other else "Equal"


def holds(one: float, relation: str, other: float) -> bool:
    """Whether two instants are in a relation."""
    return relation == "None" or compare(one, other) == relation


def relation_in(table: Table, i: int, j: int) -> str:
    """The relation of variable i to variable j."""
    return table[i, j] if i < j else BACKWARDS[table[j, i]]


def consistent(table: Table, three: tuple[int, int, int]) -> bool:
    """Whether the relations of three variables follow from no other relations between them than those in the table."""
    for i, j, k in permutations(three):
        follows = FOLLOWS.get((relation_in(table, i, j), relation_in(table, j, k)))
        if follows is not None and relation_in(table, i, k) != follows:
            return False
    return True


def tables(values: Mapping[tuple[int, int], Sequence[str]]) -> Iterator[Table]:
    """Every table without contradiction that takes each pair's relation from its `values`, keys in the order of j."""

    def settle(table: dict[tuple[int, int], str], left: list[tuple[int, int]]) -> Iterator[Table]:
        if not left:
            yield dict(table)
            return
        (i, j), *others = left
        for value in values[i, j]:
            table[i, j] = value
            if all(consistent(table, (k, i, j)) for k in range(i)):
                yield from settle(table, others)

    yield from settle({}, sorted(values, key=lambda pair: pair[::-1]))


def body_of(classes: Sequence[Sequence[str]], predecessors: Sequence[int]) -> Body:
    """The body with these Equal classes, where bit k of `predecessors[m]` says that class k is Before class m."""
    variables = [(k, name) for k, members in enumerate(classes) for name in members]
    table = {}
    for (i, (k, _)), (j, (m, _)) in combinations(enumerate(variables), 2):
        if k == m:
            table[i, j] = "Equal"
        elif predecessors[m] >> k & 1:
            table[i, j] = "Before"
        else:
            table[i, j] = "After" if predecessors[k] >> m & 1 else "None"
    return tuple(name for _, name in variables), table


def identity(names: Sequence[str], table: Table) -> Identity:
    """Equal for two bodies exactly when they are one: what holds between variables, however they are listed.

    Variables of one predicate are ordered by Before, so a variable is known by its predicate and its rank.
    """
    places = range(len(names))
    ranks = [
        sum(names[j] == names[i] and relation_in(table, j, i) == "Before" for j in places if j != i) for i in places
    ]
    known = list(zip(names, ranks, strict=True))
    return frozenset(
        (known[i], "Equal" if i == j else relation_in(table, i, j), known[j]) for i in places for j in places
    )
