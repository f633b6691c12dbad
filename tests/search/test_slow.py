"""The definitions that certificates are held to: against plainer ones still, and against the oracle of all searches."""

from __future__ import annotations

import ast
import itertools
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chronorule
import reference
from chronorule.errors import GrammarError
from chronorule.events import EventLog, Head, exposure
from chronorule.grounding import Feature, Grounding, window
from chronorule.pricing import Oracle, Rate
from chronorule.rules import Grammar, Rule, parse_rule
from chronorule.search import Subproblem, Task
from chronorule.search.plain import case_of, plain_body, rule_of
from chronorule.search.slow.bodies import bodies
from chronorule.search.slow.features import completions, phi, pieces
from chronorule.search.slow.judge import Judge
from chronorule.search.slow.naming import lists
from chronorule.search.slow.relations import identity, tables
from reference_rules import all_bodies, all_matrices, grammar_options, options_of
from search_worlds import no_weights, random_problem
from worlds import TIMED, random_feature, random_rule, random_world

SEEDS = st.integers(0, 2**32 - 1)
SOURCE = Path(chronorule.__file__).parent / "search"


# ---- independence


def imported(path: Path) -> set[str]:
    """All that a module imports, as `module.name`, at its top and inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", sorted((SOURCE / "slow").glob("*.py")), ids=lambda path: path.stem)
def test_definitions_import_nothing_of_ours_and_no_library(path: Path) -> None:
    strange = {
        name
        for name in imported(path)
        if not name.startswith("chronorule.search.slow.") and name.split(".")[0] not in sys.stdlib_module_names
    }
    assert not strange


@pytest.mark.parametrize("name", ["plain", "verify"])
def test_what_stands_between_a_search_and_the_definitions_only_copies(name: str) -> None:
    """Of what prices, matches, lists or bounds rules nothing is imported but the type of an answer."""
    others = ("kernels", "grounding", "likelihood", "master", "model", "learner", "pricing")
    rules = ("rules.canonical", "rules.description", "rules.enumeration", "rules.enumerate_rules")
    searches = tuple(f"search.{path.stem}" for path in SOURCE.glob("*.py") if path.stem not in ("base", "plain"))
    barred = tuple(f"chronorule.{module}" for module in (*others, *rules, *searches))
    found = {one for one in imported(SOURCE / f"{name}.py") if one.startswith(barred)}
    assert found <= {"chronorule.pricing.Evidence"}


# ---- which rules there are


@settings(max_examples=100)
@given(grammar_options())
def test_bodies_are_those_of_all_matrices(options: dict[str, Any]) -> None:
    try:
        Grammar(**options)
    except GrammarError:
        return
    found = [identity(*body) for body in bodies(options_of(options))]
    assert len(set(found)) == len(found)
    assert set(found) == {identity(*body) for body in all_bodies(options)}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_tables_are_all_closed_matrices(count: int) -> None:
    pairs = list(itertools.combinations(range(count), 2))
    found = [
        tuple(sorted(table.items())) for table in tables(dict.fromkeys(pairs, ("Before", "After", "Equal", "None")))
    ]
    assert len(set(found)) == len(found)
    assert set(found) == {tuple(sorted(matrix.items())) for matrix in all_matrices(count)}


@given(grammar_options(), st.integers(1, 4))
def test_lists_of_predicates_are_all_that_meet_the_demands(options: dict[str, Any], length: int) -> None:
    try:
        Grammar(**options)
    except GrammarError:
        return
    wanted = options_of(options)
    total = 0
    for names in itertools.product(wanted.library, repeat=length):
        twice = {name for name in names if names.count(name) > 1}
        total += (
            names[: len(wanted.prefix)] == wanted.prefix
            and set(wanted.required) <= set(names)
            and (wanted.repeats or not twice)
            and not twice & set(wanted.statics)
        )
    assert lists(wanted, length) == total


# ---- what a rule does


def problem_of(seed: int, *, kernels: tuple[str, ...] = ("step", "window", "decay")) -> tuple[Subproblem, list[Rule]]:
    """A subproblem beside rules in force, at a base rate that changes, and rules of every kind to judge in it."""
    world = random_world(seed, entities=6, most_events=8)
    random = world.random
    feature = random_feature(random, kernels)
    rules = list({random_rule(random, most=2) for _ in range(int(random.integers(0, 3)))})
    cuts = (2.5, 6.0) if random.random() < 0.5 else ()
    grounding = Grounding(world.log, feature)
    rate = Rate.of(
        world.exposure,
        rules,
        tuple(grounding.paths(rules)),
        cuts,
        random.uniform(0.0, 0.4, len(rules)),
        random.uniform(-2.5, -1.0, len(cuts) + 1),
        random.uniform(0.3, 2.0, world.log.n_entities),
    )
    penalty = float(random.choice([0.0, 0.2]))
    oracle = Oracle(grounding, world.exposure, rate, unit=world.log.group, penalty=penalty, largest_weight=2.0)
    task = Task("Y", Grammar(body=TIMED, max_length=1), stop="optimal")
    return Subproblem(task, oracle, no_weights), [random_rule(random, most=4) for _ in range(4)]


@given(SEEDS)
@settings(max_examples=80)
def test_what_a_rule_is_worth_is_what_the_oracle_says(seed: int) -> None:
    problem, rules = problem_of(seed)
    judge = Judge(case_of(problem))
    # both add up a few hundred numbers of size up to e^(2·φ)
    close = {"rel": 1e-8, "abs": 1e-8}
    for rule in rules:
        evidence = problem.oracle.evidence(rule)
        met = judge.meetings(plain_body(rule))
        judged = judge.judge(plain_body(rule), rule.sign, met)
        assert judged.observed == pytest.approx(evidence.observed, **close)
        assert judged.expected == pytest.approx(evidence.expected, **close)
        assert judged.reward == pytest.approx(evidence.reward, **close)
        assert judged.gain == pytest.approx(evidence.gain, **close)
        assert judged.clustered_z == pytest.approx(evidence.clustered_z, **close)
        assert judged.support == evidence.support
        within = judge.within_gain(rule.sign, met)
        assert (within is None) == (evidence.within_gain is None)
        if within is not None:
            assert within[0] == pytest.approx(evidence.within_gain, **close)


@given(SEEDS)
@settings(max_examples=60)
def test_completions_features_and_expected_heads_written_out_otherwise(seed: int) -> None:
    problem, rules = problem_of(seed)
    oracle, case = problem.oracle, case_of(problem)
    feature, log = oracle.grounding.feature, oracle.grounding.log
    for c, entity in enumerate(case.entities):
        assert sum(mass for _, mass in pieces(case, entity)) == pytest.approx(oracle.expected_by_entity[c], rel=1e-9)
        for rule in rules:
            rows = reference.completions(rule, log.select([c]), feature.span)
            found = completions(case, entity, plain_body(rule))
            assert found == [(time, number) for _, time, number in rows]
            for time in (*entity.heads, *(low + 0.25 for low, _ in entity.exposure)):
                assert phi(case, entity, found, time) == reference.phi_of_rows(rows, feature, 0, time)


@pytest.mark.parametrize("feature", [Feature("exists", window(0.3)), Feature("count", window(0.3), span=0.3)], ids=str)
def test_what_falls_on_the_end_of_a_window_or_a_span_counts_whatever_the_ticks(feature: Feature) -> None:
    """Three ticks of 0.1 after s and s + 0.3 differ by a rounding, to either side."""
    ticks = np.arange(20) * 0.1
    log = EventLog.from_columns(
        [f"e{k}" for k in range(12) for _ in range(3)],
        np.array([ticks[k + step] for k in range(12) for step in (0, 3, 6)]),
        ["A", "B", "Y"] * 12,
        periods=(-1.0, 3.0),
    )
    risk = exposure(log, Head("Y"))
    grounding = Grounding(log, feature)
    oracle = Oracle(grounding, risk, Rate.of(risk, (), (), (), [], [-1.0], np.ones(12)), unit=log.group)
    judge = Judge(case_of(Subproblem(Task("Y", Grammar(body=("A", "B"), max_length=2)), oracle, no_weights)))
    body = plain_body(parse_rule("Y <- A < B"))
    judged = judge.judge(body, 1, judge.meetings(body))
    assert judged.observed == 12
    # 12 windows of 0.3 at the rate e^−1, to rounding
    assert judged.expected == pytest.approx(12 * 0.3 * math.exp(-1), rel=1e-12)


def test_a_head_that_ends_its_own_exposure_is_not_compared_within_entities() -> None:
    log = EventLog.from_columns(["a", "a", "b"], np.array([1.0, 2.0, 3.0]), ["A", "Y", "R"], periods=(0.0, 5.0))
    for head in (Head("Y", terminal=True), Head("Y", reset_by="R"), Head("Y")):
        risk = exposure(log, head)
        rate = Rate.of(risk, (), (), (), [], [-1.0], np.ones(2))
        task = Task("Y", Grammar(body=("A",), max_length=1))
        case = case_of(Subproblem(task, Oracle(Grounding(log), risk, rate, unit=log.group), no_weights))
        judge = Judge(case)
        body = plain_body(parse_rule("Y <- A"))
        assert (judge.within_gain(1, judge.meetings(body)) is None) == case.ends_own_exposure == (head != Head("Y"))


@given(SEEDS)
@settings(max_examples=30)
def test_a_subproblem_is_copied_faithfully(seed: int) -> None:
    posed = random_problem(seed)
    assert case_of(posed.problem) == posed.slow.case
    for body in itertools.islice(bodies(posed.slow.case.options), 20):
        rule = rule_of("Y", body, 1)
        assert identity(*plain_body(rule)) == identity(*body)
