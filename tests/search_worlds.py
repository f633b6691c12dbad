"""Random subproblems for the tests of searches, each with its slow twin: a log, λ in force, a grammar and a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chronorule.errors import GrammarError
from chronorule.events import EventLog, Head, exposure
from chronorule.execution import Threads
from chronorule.grounding import Feature, Grounding, step, window
from chronorule.pricing import Oracle, Rate
from chronorule.rules import Grammar, Relation, Rule
from chronorule.search import Subproblem, Task
from chronorule.search.slow.judge import Judge
from reference_search import slow_search
from worlds import random_head

LARGEST = 4.0  # weight; e^4 keeps sums within the tolerances of the twins
NAMES = ("A", "B", "C", "D", "Two words")
STATIC = ("Old", "Smokes")
VOCABULARY = (*NAMES, "Y", "Reset", *STATIC)


@dataclass(frozen=True)
class Posed:
    """A subproblem and its slow twin."""

    problem: Subproblem
    slow: Judge


def search_log(random: np.random.Generator, entities: int, most_events: int, few: int, grid: int = 10) -> EventLog:
    """Whole-numbered times with ties and repeats; history before the period, events after it, statics, groups.

    Only the first `few` predicates occur, and in most entities heads follow one of their orders, so that even a small
    log has rules that pass.
    """
    owner, times, names = [], [], []
    happening = [*NAMES[:few], "Y", "Reset"]
    pattern = random.permutation(NAMES[:few])[: int(random.integers(1, 3))].tolist()
    for c in range(entities):
        events = [
            (float(random.integers(0, grid)), str(random.choice(happening)))
            for _ in range(int(random.integers(0, most_events + 1)))
        ]
        if random.random() < 0.7:
            moments = sorted(random.integers(0, grid, len(pattern)).tolist())
            events += zip(map(float, moments), pattern, strict=True)
            events += [(float(moments[-1] + k), "Y") for k in range(1, int(random.integers(1, 4)))]
        owner += [f"e{c}"] * len(events)
        times += [time for time, _ in events]
        names += [name for _, name in events]
    periods = {f"e{c}": (float(random.integers(-2, 3)), float(random.integers(7, grid + 4))) for c in range(entities)}
    static = {f"e{c}": [name for name in STATIC if random.random() < 0.6] for c in range(entities)}
    group = {f"e{c}": f"g{c // 2}" for c in range(entities)} if random.random() < 0.2 else None
    return EventLog.from_columns(
        owner, np.array(times), names, periods=periods, static=static, group=group, predicates=VOCABULARY
    )


def random_options(random: np.random.Generator, few: int, longest: int, partial_orders: bool) -> dict[str, Any]:
    """Keyword arguments of a grammar that holds a rule, over predicates of `search_log`."""
    while True:
        timed = random.permutation(NAMES[:few]).tolist()
        body = (*timed, *random.permutation(STATIC).tolist()[: int(random.integers(0, 3))])
        if random.random() < 0.2:
            body = (*body, "Y")
        statics = tuple(name for name in body if name in STATIC)
        options: dict[str, Any] = {
            "body": body,
            "statics": statics,
            "partial_orders": partial_orders,
            "repeats": bool(random.random() < 0.3),
            "relations": [("before", "equal"), ("before",), ("equal",)][random.choice(3, p=[0.7, 0.15, 0.15])],
            "signs": [(1,), (-1,), (1, -1)][random.choice(3, p=[0.4, 0.2, 0.4])],
        }
        if random.random() < 0.25:
            options["length"] = int(random.integers(1, longest + 1))
        else:
            options |= {"min_length": int(random.integers(1, 3)), "max_length": longest}
        some = [str(name) for name in random.permutation(body)]
        if random.random() < 0.2:
            options["required"] = tuple(some[:1])
        if random.random() < 0.2:
            options["forbidden"] = tuple(some[1:2])
        if random.random() < 0.2 and len(some) > 1:
            options["forbidden_pairs"] = (tuple(sorted((some[0], some[-1]))),)
        if random.random() < 0.2:
            options["prefix"] = tuple(timed[: int(random.integers(1, 3))])
        try:
            Grammar(**options)
        except GrammarError:
            continue
        return options


def random_rules(random: np.random.Generator, names: Sequence[str], most: int) -> list[Rule]:
    """A few short chains to be in force already."""
    found: list[Rule] = []
    for _ in range(int(random.integers(0, most + 1))):
        body = random.permutation(names)[: int(random.integers(1, 3))].tolist()
        rule = Rule.build("Y", body, [(k, relation(random), k + 1) for k in range(len(body) - 1)], sign(random))
        if rule not in found:
            found.append(rule)
    return found


def relation(random: np.random.Generator) -> Relation:
    """Before, or now and then Equal."""
    return Relation.BEFORE if random.random() < 0.8 else Relation.EQUAL


def sign(random: np.random.Generator) -> int:
    """Mostly raising."""
    return 1 if random.random() < 0.7 else -1


def random_problem(
    seed: int,
    kind: str = "exists",
    partial_orders: bool = False,
    *,
    entities: int = 40,
    most_events: int = 8,
    few: int = 3,
    longest: int = 3,
    threads: int = 1,
    **fixed: Any,
) -> Posed:
    """A subproblem at a random λ; `fixed` settles options of the task."""
    random = np.random.default_rng(seed)
    log = search_log(random, entities, most_events, few)
    risk = exposure(log, random_head(random))
    span = None if random.random() < 0.7 else float(random.choice([0.0, 1.0, 3.0, 6.0]))
    kernel = step if random.random() < 0.5 else window(float(random.choice([0.5, 1.0, 2.0, 5.0, 100.0])))
    feature = Feature("exists" if kind == "exists" else "count", kernel, span)
    options = random_options(random, few, longest, partial_orders)
    penalty = float(random.choice([0.0, 0.0, 0.3]))
    rules = random_rules(random, NAMES[:few], 2)
    weights = random.uniform(0.0, 0.5, len(rules))
    # a low base makes all that rises before heads pass, a high one all that lowers the rate
    base = float(random.choice([-5.0, -2.0, 0.5]))
    multiplier = random.uniform(0.3, 2.0, log.n_entities)
    settings: dict[str, Any] = {
        "objective": str(random.choice(["gain", "gradient", "worth"])),
        "stop": str(random.choice(["evidence", "optimal"])),
        "alpha": float(random.choice([0.05, 0.9])),
        "min_support": int(random.choice([1, 5])),
        "within": bool(random.random() < 0.15) and not risk.head.ends_own_exposure,  # such heads are refused
        "kernels": int(random.choice([1, 3])),
        "taken": tuple(rules),
        **fixed,
    }
    grammar = Grammar(**options)
    task = Task("Y", grammar, **{**settings, "taken": frozenset(settings["taken"])})
    grounding = Grounding(log, feature)
    rate = Rate.of(risk, rules, tuple(grounding.paths(rules)), (), weights, [base], multiplier)
    oracle = Oracle(
        grounding, risk, rate, unit=log.group, penalty=penalty, largest_weight=LARGEST, threads=Threads(threads)
    )
    slow = slow_search(
        log,
        risk,
        feature,
        options,
        rules=rules,
        weights=weights.tolist(),
        base=base,
        multipliers=multiplier.tolist(),
        penalty=penalty,
        largest=LARGEST,
        **settings,
    )
    return Posed(Subproblem(task, oracle, no_weights), slow)


def no_weights(rules: Sequence[Rule]) -> list[float]:
    """What `reweigh` answers where nothing depends on it: a small weight for every rule."""
    return [0.1] * len(rules)


def by_hand(events: list[tuple[float, str]], options: dict[str, Any], entities: int = 12, **task: Any) -> Posed:
    """The same events in every entity of a log, at a low rate, with the twin."""
    feature = task.pop("feature", Feature())
    base = task.pop("base", -5.0)
    rows = [(f"e{c}", time, name) for c in range(entities) for time, name in events]
    names = sorted({*(name for _, name in events), *options["body"], "Y"})
    log = EventLog.from_columns(
        [row[0] for row in rows],
        np.array([row[1] for row in rows]),
        [row[2] for row in rows],
        periods=(0.0, 10.0),
        predicates=names,
    )
    risk = exposure(log, Head("Y"))
    grounding = Grounding(log, feature)
    oracle = Oracle(
        grounding,
        risk,
        Rate.of(risk, (), (), (), [], [base], np.ones(entities)),
        unit=log.group,
        largest_weight=LARGEST,
    )
    settings = {"stop": "optimal", "objective": "gain", **task}
    slow = slow_search(log, risk, feature, options, base=base, largest=LARGEST, **settings)
    problem = Subproblem(Task("Y", Grammar(**options), **settings), oracle, no_weights)
    return Posed(problem, slow)
