"""Slow twin of `chronorule.rules`: everything here works on the plain matrix of relations between variables.

A *matrix* of a body with n variables maps each pair (i, j), i < j, to "Before", "After", "Equal" or "None". What a
grammar allows and what a rule costs to name comes from `chronorule.search.slow`, which imports nothing of the package.
How relations follow from others, and which bodies there are, is worked out here in a still plainer way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

from hypothesis import strategies as st

from chronorule.rules import Relation, Rule
from chronorule.search.plain import plain_body, rule_of
from chronorule.search.slow import bodies, naming
from chronorule.search.slow.relations import compare, holds, identity

Matrix = dict[tuple[int, int], str]


# --- closure and meaning, by brute force ---------------------------------------------------------------------------


def closed_matrix(count: int, stated: Mapping[tuple[int, int], str]) -> Matrix | None:
    """Relation of every pair once all consequences are drawn; None where the statements contradict each other.

    Works by trying every assignment of ranks 0..count-1 to the variables: a pair is Before when it is so in all
    assignments that satisfy the statements, and likewise Equal.
    """
    seen: dict[tuple[int, int], set[str]] = {pair: set() for pair in combinations(range(count), 2)}
    possible = False
    for instants in product(range(count), repeat=count):
        if all(holds(instants[i], relation, instants[j]) for (i, j), relation in stated.items()):
            possible = True
            for i, j in seen:
                seen[i, j].add(compare(instants[i], instants[j]))
    if not possible:
        return None
    return {pair: next(iter(found)) if len(found) == 1 else "None" for pair, found in seen.items()}


def matrix_of(rule: Rule) -> tuple[list[str], Matrix]:
    """Predicates of a rule's variables, and the relation of every pair."""
    names, matrix = plain_body(rule)
    return list(names), dict(matrix)


def matches(rule: Rule, log: Sequence[tuple[float, str]], statics: Sequence[str] = ()) -> bool:
    """Whether the events of one entity hold a match of the rule, by trying every combination of events."""
    names, matrix = matrix_of(rule)
    choices: list[list[float | None]] = [
        [None] if name in statics else [time for time, event in log if event == name] for name in names
    ]
    for instants in product(*choices):
        if all(
            relation == "None"
            or (instants[i] is not None and instants[j] is not None and holds(instants[i], relation, instants[j]))
            for (i, j), relation in matrix.items()
        ):
            return True
    return False


# --- grammars, by brute force --------------------------------------------------------------------------------------


def options_of(options: Mapping[str, Any]) -> bodies.Options:
    """The options that are the keyword arguments of a Grammar."""
    return bodies.Options(
        **{name: tuple(value) if isinstance(value, str | list) else value for name, value in options.items()}
    )


def allows(options: Mapping[str, Any], names: Sequence[str], matrix: Matrix, sign: int) -> bool:
    """Whether a rule meets every constraint in `options` (the keyword arguments of a Grammar)."""
    return sign in options.get("signs", (1,)) and bodies.allows(options_of(options), (tuple(names), matrix))


@cache
def all_matrices(count: int) -> tuple[Matrix, ...]:
    """Every closed matrix on some variables once, found by closing every matrix."""
    pairs = list(combinations(range(count), 2))
    found: dict[tuple[tuple[tuple[int, int], str], ...], Matrix] = {}
    for values in product(("Before", "After", "Equal", "None"), repeat=len(pairs)):
        matrix = closed_matrix(count, dict(zip(pairs, values, strict=True)))
        if matrix is not None:
            found[tuple(sorted(matrix.items()))] = matrix
    return tuple(found.values())


def all_bodies(options: Mapping[str, Any]) -> Iterator[tuple[list[str], Matrix]]:
    """Every body of the grammar once, from all predicate sequences and all matrices of relations."""
    wanted = options_of(options)
    seen: set[frozenset[Any]] = set()
    for count in range(1, max(wanted.lengths) + 1):
        for names in product(sorted(wanted.body), repeat=count):
            if list(names) != sorted(names):
                continue  # matrices reach every arrangement of the same predicates
            for matrix in all_matrices(count):
                if bodies.allows(wanted, (names, matrix)):
                    body = identity(names, matrix)
                    if body not in seen:
                        seen.add(body)
                        yield list(names), matrix


def all_rules(options: Mapping[str, Any]) -> set[tuple[frozenset[Any], int]]:
    """Every rule of the grammar as (identity of its body, sign)."""
    return {
        (identity(names, matrix), sign) for names, matrix in all_bodies(options) for sign in options.get("signs", (1,))
    }


def identity_of(rule: Rule) -> tuple[frozenset[Any], int]:
    return identity(*matrix_of(rule)), rule.sign


def built(names: Sequence[str], matrix: Matrix, sign: int = 1, head: str = "Y") -> Rule:
    """The package's rule for a body given as a matrix."""
    return rule_of(head, (tuple(names), matrix), sign)


def relation_nats(options: Mapping[str, Any], names: Sequence[str], matrix: Matrix) -> float:
    """What the relations of a partial order cost."""
    return naming.relation_nats(options_of(options), (tuple(names), matrix))


# --- random rules for property tests -------------------------------------------------------------------------------

ODD_NAMES = st.one_of(
    st.text(max_size=6),
    st.text(alphabet='AB w"\\#<>=-&|()←↤∧\n\t\u200b\u2028é中', max_size=5),
    st.sampled_from(
        ["Before", "After", "Equal", "None", "w", "0.5", "", " ", "-x", "<-", "A#2", "#", '"', "\ud800", "# x"]
    ),
)


@st.composite
def spellings(
    draw: st.DrawFn, names: Sequence[str] = "ABCDEF", longest: int = 6, repeats: bool = True, chain: bool = False
) -> tuple[list[str], list[tuple[int, Relation, int]]]:
    """A consistent body as `Rule.build` takes it: predicates, and stated relations that may be redundant."""
    count = draw(st.integers(1, longest))
    unique = not repeats
    body = draw(
        st.lists(
            st.sampled_from(sorted(names)),
            min_size=1,
            max_size=min(count, len(names)) if unique else count,
            unique=unique,
        )
    )
    instants = [draw(st.integers(0, len(body))) for _ in body]
    for index, name in enumerate(body):  # repeats need instants of their own
        taken = {instants[other] for other in range(index) if body[other] == name}
        while instants[index] in taken:
            instants[index] += 1
    relations = []
    for i, j in combinations(range(len(body)), 2):
        if chain or body[i] == body[j] or draw(st.booleans()):
            one, other = (i, j) if draw(st.booleans()) else (j, i)
            relations.append((one, Relation(compare(instants[one], instants[other])), other))
    return body, draw(st.permutations(relations))


@st.composite
def rules(
    draw: st.DrawFn, names: Sequence[str] = "ABCDEF", longest: int = 6, repeats: bool = True, chain: bool = False
) -> Rule:
    """A random rule for head Y."""
    body, relations = draw(spellings(names, longest, repeats, chain))
    return Rule.build("Y", body, relations, draw(st.sampled_from([1, -1])))


@st.composite
def logs(draw: st.DrawFn, names: Sequence[str] = "ABC", longest: int = 7) -> list[tuple[float, str]]:
    """The events of one entity, with ties, repeats and exact duplicates collapsed."""
    events = draw(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(sorted(names))), max_size=longest))
    return sorted({(float(time), name) for time, name in events})


# --- random grammars for property tests ----------------------------------------------------------------------------


@st.composite
def grammar_options(draw: st.DrawFn, longest: int = 3) -> dict[str, Any]:
    """Keyword arguments of a Grammar over few predicates; some exclude each other."""
    body = draw(st.sampled_from([("A",), ("A", "B"), ("C", "A", "B"), ("A", "B", "C", "D")]))
    statics = draw(st.sampled_from([(), (), body[:1], body[-2:]]))
    timed = [name for name in body if name not in statics]
    names = st.lists(st.sampled_from(body), max_size=1, unique=True).map(tuple)
    pairs = st.tuples(st.sampled_from(body), st.sampled_from(body)).filter(lambda pair: pair[0] != pair[1])
    options: dict[str, Any] = {
        "body": body,
        "statics": statics,
        "partial_orders": draw(st.booleans()),
        "repeats": draw(st.booleans()),
        "relations": draw(st.sampled_from([("before", "equal"), ("equal", "before"), ("before",), ("equal",)])),
        "signs": draw(st.sampled_from([(1,), (-1,), (1, -1)])),
        "required": draw(names),
        "forbidden": draw(st.one_of(st.just(()), names)),
        "forbidden_pairs": tuple(draw(st.lists(pairs, max_size=2))) if len(body) > 1 else (),
        "prefix": tuple(draw(st.lists(st.sampled_from(timed), max_size=2))) if timed else (),
    }
    if draw(st.booleans()):
        options["length"] = draw(st.integers(1, longest))
    else:
        options |= {"min_length": draw(st.integers(1, 2)), "max_length": draw(st.integers(1, longest))}
    return options
