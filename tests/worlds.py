"""Small random worlds for property tests: logs with ties, statics, periods and gaps in exposure, and any rule."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from chronorule.events import EventLog, Exposure, Head, exposure
from chronorule.grounding import Feature, Kernel, decay, step, window
from chronorule.rules.rule import Relation, Rule

TIMED = ("A", "B", "C", "D", "E", "F")
STATIC = ("Old", "Smokes")


@dataclass(frozen=True)
class World:
    log: EventLog
    exposure: Exposure
    random: np.random.Generator


def random_log(random: np.random.Generator, entities: int = 4, most_events: int = 9, grid: int = 12) -> EventLog:
    """Integer times on a small grid, so that ties abound; some history before and some events after the period."""
    owner, times, names = [], [], []
    for c in range(entities):
        for _ in range(int(random.integers(0, most_events + 1))):
            owner.append(f"e{c}")
            times.append(float(random.integers(0, grid)))
            names.append(str(random.choice([*TIMED, "Y", "Y", "Reset"])))
    periods = {f"e{c}": (float(random.integers(-2, 4)), float(random.integers(6, grid + 3))) for c in range(entities)}
    static = {f"e{c}": [name for name in STATIC if random.random() < 0.6] for c in range(entities)}
    group = {f"e{c}": f"g{c // 2}" for c in range(entities)} if random.random() < 0.3 else None
    vocabulary = [*TIMED, "Y", "Reset", *STATIC]
    return EventLog.from_columns(
        owner, np.array(times), names, periods=periods, static=static, group=group, predicates=vocabulary
    )


def random_head(random: np.random.Generator) -> Head:
    kind = int(random.integers(0, 4))
    if kind == 0:
        return Head("Y", terminal=True)
    if kind == 1:
        return Head("Y", reset_by="Reset", at_risk_from_start=bool(random.random() < 0.5))
    return Head("Y")


def random_world(seed: int, entities: int = 4, most_events: int = 9) -> World:
    random = np.random.default_rng(seed)
    log = random_log(random, entities, most_events)
    return World(log, exposure(log, random_head(random)), random)


def random_rule(random: np.random.Generator, most: int = 6, statics: bool = True) -> Rule:
    """Any partial order of up to `most` variables with Equal classes and repeats separated by Before."""
    size = int(random.integers(1, most + 1))
    ranks = random.integers(0, size, size)  # variables of one rank are Equal or unrelated, by chance
    variables = [str(random.choice(TIMED)) for _ in range(size)]
    relations = []
    density = random.choice([0.0, 0.3, 0.7, 1.0])
    joined = random.random((size, size)) < 0.5
    for i, j in itertools.combinations(range(size), 2):
        low, high = (i, j) if ranks[i] < ranks[j] else (j, i)
        if ranks[i] == ranks[j]:
            if joined[i, j] and variables[i] != variables[j] and density > 0:
                relations.append((i, Relation.EQUAL, j))
        elif variables[i] == variables[j] or random.random() < density:
            relations.append((low, Relation.BEFORE, high))
    # the same predicate twice at one rank would be two names for one variable: give the second another place
    for i, j in itertools.combinations(range(size), 2):
        if variables[i] == variables[j] and ranks[i] == ranks[j]:
            return random_rule(random, most, statics)
    if statics and random.random() < 0.3:
        variables += [str(random.choice(STATIC))]
    sign = 1 if random.random() < 0.7 else -1
    try:
        return Rule.build("Y", variables, relations, sign)
    except ValueError:  # Equal classes made a cycle or a repeat: draw again
        return random_rule(random, most, statics)


def random_feature(random: np.random.Generator, kernels: tuple[str, ...] = ("step", "window", "decay")) -> Feature:
    name = str(random.choice(kernels))
    made: Kernel = {
        "step": step,
        "window": window(float(random.choice([0.5, 1.0, 2.0, 5.0, 100.0]))),
        "decay": decay(float(random.choice([0.05, 0.5, 2.0]))),
    }[name]
    span = None if random.random() < 0.6 else float(random.choice([0.0, 1.0, 3.0, 6.0]))
    return Feature("exists" if random.random() < 0.5 else "count", made, span)
