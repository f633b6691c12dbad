"""Slow twin of `chronorule.rules`: everything here works on the plain matrix of relations between variables.

A *matrix* of a body with n variables maps each pair (i, j), i < j, to "Before", "After", "Equal" or "None". Nothing of
the package but the public `Rule` (read through its attributes) is used, so that agreement means something.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, pairwise, permutations, product
from typing import Any

from hypothesis import strategies as st

from chronorule.rules import Relation, Rule

Matrix = dict[tuple[int, int], str]
BACKWARDS = {"Before": "After", "After": "Before", "Equal": "Equal", "None": "None"}


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


def compare(one: float, other: float) -> str:
    return "Before" if one < other else "After" if one > other else "Equal"


def holds(one: float, relation: str, other: float) -> bool:
    return relation == "None" or compare(one, other) == relation


def matrix_of(rule: Rule) -> tuple[list[str], Matrix]:
    """Predicates of a rule's variables, and the relation of every pair."""
    names: list[str] = []
    owners: list[int] = []
    for index, members in enumerate(rule.classes):
        names += members
        owners += [index] * len(members)
    matrix = {}
    for i, j in combinations(range(len(names)), 2):
        one, other = owners[i], owners[j]
        if one == other:
            matrix[i, j] = "Equal"
        elif rule.predecessors[other] >> one & 1:
            matrix[i, j] = "Before"
        elif rule.predecessors[one] >> other & 1:
            matrix[i, j] = "After"
        else:
            matrix[i, j] = "None"
    return names, matrix


def relation_in(matrix: Matrix, i: int, j: int) -> str:
    return matrix[i, j] if i < j else BACKWARDS[matrix[j, i]]


def identity(names: Sequence[str], matrix: Matrix) -> frozenset[Any]:
    """A value equal for two closed bodies exactly when they are the same body: variables go by predicate and rank."""
    before = {
        i: [j for j in range(len(names)) if j != i and relation_in(matrix, j, i) == "Before"] for i in range(len(names))
    }
    label = [(name, sum(names[j] == name for j in before[i])) for i, name in enumerate(names)]
    pairs = {
        (label[i], relation_in(matrix, i, j), label[j]) for i in range(len(names)) for j in range(len(names)) if i != j
    }
    return frozenset(pairs | {(one,) for one in label})


def separated(names: Sequence[str], matrix: Matrix) -> bool:
    """Whether repeats of a predicate are strictly ordered."""
    return all(matrix[i, j] in ("Before", "After") for i, j in matrix if names[i] == names[j])


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


def allows(options: Mapping[str, Any], names: Sequence[str], matrix: Matrix, sign: int) -> bool:
    """Whether a closed body meets every constraint in `options` (the keyword arguments of a Grammar)."""
    statics = set(options.get("statics", ()))
    relations = set(options.get("relations", ("before", "equal")))
    count = len(names)
    if options.get("length") is not None:
        if count != options["length"]:
            return False
    elif not options.get("min_length", 1) <= count <= options["max_length"]:
        return False
    if any(name not in options["body"] or name in options.get("forbidden", ()) for name in names):
        return False
    if any(name not in names for name in options.get("required", ())):
        return False
    if any(one in names and other in names for one, other in options.get("forbidden_pairs", ())):
        return False
    if sign not in options.get("signs", (1,)):
        return False
    if not options.get("repeats", False) and len(set(names)) < count:
        return False
    if not separated(names, matrix):
        return False
    for (i, j), relation in matrix.items():
        if names[i] in statics or names[j] in statics:
            if relation != "None":
                return False
        elif relation == "None":
            if not options.get("partial_orders", False):
                return False
        elif ("equal" if relation == "Equal" else "before") not in relations:
            return False
    return starts_with(options.get("prefix", ()), names, matrix)


def starts_with(prefix: Sequence[str], names: Sequence[str], matrix: Matrix) -> bool:
    """Whether some variables are the prefix: one Before the next, nothing else before them or Equal but to the last."""
    for chosen in product(range(len(names)), repeat=len(prefix)):
        if len(set(chosen)) < len(prefix) or any(names[i] != name for i, name in zip(chosen, prefix, strict=True)):
            continue
        ordered = all(relation_in(matrix, i, j) == "Before" for i, j in pairwise(chosen))
        rest = [i for i in range(len(names)) if i not in chosen]
        undisturbed = all(
            relation_in(matrix, i, j) in (("After", "None", "Equal") if j == chosen[-1] else ("After", "None"))
            for i in rest
            for j in chosen
        )
        if ordered and undisturbed:
            return True
    return False


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
    longest = options["length"] if options.get("length") is not None else options["max_length"]
    seen: set[frozenset[Any]] = set()
    for count in range(1, longest + 1):
        for names in product(sorted(options["body"]), repeat=count):
            if list(names) != sorted(names):
                continue  # matrices reach every arrangement of the same predicates
            for matrix in all_matrices(count):
                if any(allows(options, names, matrix, sign) for sign in options.get("signs", (1,))):
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
    return Rule.build(head, names, [(i, Relation(relation), j) for (i, j), relation in matrix.items()], sign)


# --- description length of relations, spelling by spelling ---------------------------------------------------------


def relation_nats(options: Mapping[str, Any], names: Sequence[str], matrix: Matrix) -> float:
    """Least cost of the relations of a partial order over all ways to list its timed variables in time.

    Each variable states its relation to the earlier ones in the list, the latest first; a statement costs the log of
    the number of values that some placement of the variable, consistent with all statements so far, could give it.
    """
    statics = set(options.get("statics", ()))
    timed = [i for i in range(len(names)) if names[i] not in statics]
    least = math.inf
    for listing in permutations(timed):
        cost = 0.0
        for place, variable in enumerate(listing):
            earlier = listing[:place]
            target = {other: relation_in(matrix, other, variable) for other in earlier}
            if "After" in target.values() or not _keeps_prefix_first(options, names, matrix, listing[: place + 1]):
                cost = math.inf
                break
            if place < len(options.get("prefix", ())):
                continue
            possible = list(_placements(options, names, matrix, earlier, variable))
            assert target in possible
            for other in reversed(earlier):
                cost += math.log(len({placement[other] for placement in possible}))
                possible = [placement for placement in possible if placement[other] == target[other]]
        least = min(least, cost)
    return least


def _keeps_prefix_first(
    options: Mapping[str, Any], names: Sequence[str], matrix: Matrix, listing: Sequence[int]
) -> bool:
    prefix = options.get("prefix", ())[: len(listing)]
    start = listing[: len(prefix)]
    return [names[i] for i in start] == list(prefix) and all(
        relation_in(matrix, i, j) == "Before" for i, j in pairwise(start)
    )


def _placements(
    options: Mapping[str, Any], names: Sequence[str], matrix: Matrix, earlier: Sequence[int], variable: int
) -> Iterator[dict[int, str]]:
    values = ["None", *(name.capitalize() for name in options.get("relations", ("before", "equal")))]
    guarded = earlier[: max(0, len(options.get("prefix", ())) - 1)]
    for chosen in product(values, repeat=len(earlier)):
        placement = dict(zip(earlier, chosen, strict=True))
        if any(names[other] == names[variable] and placement[other] != "Before" for other in earlier):
            continue
        if any(placement[other] == "Equal" for other in guarded):
            continue
        if all(
            _follows(relation_in(matrix, i, j), placement[i], placement[j]) for i in earlier for j in earlier if i != j
        ):
            yield placement


def _follows(between: str, one: str, other: str) -> bool:
    """Whether the relations of i and j to a new variable agree with the relation between i and j."""
    if between == "Before" and other in ("Before", "Equal"):
        return one == "Before"
    if between == "Equal":
        return one == other
    if one == "Equal" and between == "Before":
        return False  # the new variable would come before j
    if one == "Equal" and other == "Before":
        return between == "After"
    if one == other == "Equal":
        return between == "Equal"
    return True


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
