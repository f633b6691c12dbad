"""Which bodies a grammar allows, and all of them one by one (design 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations, combinations_with_replacement, pairwise, permutations

from chronorule.search.slow.relations import Body, Table, relation_in, tables


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a grammar allows, as plain values; `Grammar` says what each of them means."""

    body: tuple[str, ...]
    length: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    relations: tuple[str, ...] = ("before", "equal")
    partial_orders: bool = False
    repeats: bool = False
    signs: tuple[int, ...] = (1,)
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    forbidden_pairs: tuple[tuple[str, str], ...] = ()
    prefix: tuple[str, ...] = ()
    statics: tuple[str, ...] = ()

    @classmethod
    def of(cls, grammar: object) -> Options:
        """The options that a grammar has in fields of these names."""
        return cls(**{field.name: getattr(grammar, field.name) for field in fields(cls)})

    @property
    def library(self) -> list[str]:
        """The predicates that may be used, sorted."""
        return sorted(set(self.body) - set(self.forbidden))

    @property
    def lengths(self) -> range:
        """The lengths that are stated, whether or not there are so long bodies."""
        shortest, longest = self.length or self.min_length or 1, self.length or self.max_length
        assert longest is not None
        return range(shortest, longest + 1)


def allows(options: Options, body: Body) -> bool:
    """Whether a grammar allows a body, whatever the sign."""
    names, table = body
    return (
        len(names) in options.lengths
        and _predicates_allowed(options, names)
        and all(table[i, j] in _relations_allowed(options, names[i], names[j]) for i, j in table)
        and _begins(options.prefix, names, table)
    )


def bodies(options: Options) -> Iterator[Body]:
    """Every body that a grammar allows, once: predicates by name, those of one predicate in the order of time."""
    choose = combinations_with_replacement if options.repeats else combinations
    for length in options.lengths:
        for names in choose(options.library, length):
            if _predicates_allowed(options, names):
                for table in tables(_values(options, names)):
                    if _begins(options.prefix, names, table):
                        yield names, table


def _predicates_allowed(options: Options, names: Sequence[str]) -> bool:
    repeated = {name for name in names if names.count(name) > 1}
    return (
        all(name in options.body and name not in options.forbidden for name in names)
        and all(name in names for name in options.required)
        and not any(one in names and other in names for one, other in options.forbidden_pairs)
        and (options.repeats or not repeated)
        and not repeated.intersection(options.statics)
    )


def _relations_allowed(options: Options, one: str, other: str) -> list[str]:
    """How the instants of two variables may compare, by their predicates."""
    if one in options.statics or other in options.statics:
        return ["None"]
    ordered = ["Before", "After"] if "before" in options.relations else []
    if one == other:
        return ordered
    equal = ["Equal"] if "equal" in options.relations else []
    return ordered + equal + (["None"] if options.partial_orders else [])


def _values(options: Options, names: Sequence[str]) -> Mapping[tuple[int, int], Sequence[str]]:
    """For every pair of variables the relations to try; those of one predicate are listed in the order of time."""
    return {
        (i, j): [
            relation
            for relation in _relations_allowed(options, names[i], names[j])
            if names[i] != names[j] or relation == "Before"
        ]
        for i, j in combinations(range(len(names)), 2)
    }


def _begins(prefix: Sequence[str], names: Sequence[str], table: Table) -> bool:
    """Whether some variables are the prefix: one Before the next, nothing else before them or Equal but to the last."""
    return any(
        all(names[i] == name for i, name in zip(chosen, prefix, strict=True)) and _first(chosen, len(names), table)
        for chosen in permutations(range(len(names)), len(prefix))
    )


def _first(chosen: Sequence[int], count: int, table: Table) -> bool:
    others = [i for i in range(count) if i not in chosen]
    return all(relation_in(table, i, j) == "Before" for i, j in pairwise(chosen)) and all(
        relation_in(table, i, j) in ("After", "None", *(("Equal",) if j == chosen[-1] else ()))
        for i in others
        for j in chosen
    )
