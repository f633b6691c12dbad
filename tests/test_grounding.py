"""Completions and feature paths against plain enumeration of matches."""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chronorule.grounding as grounding_module
import reference
from chronorule.errors import OptionError, RuleError, UnknownPredicateError
from chronorule.events import EventLog
from chronorule.grounding import (
    Feature,
    Grounding,
    chain_bodies,
    compile_bodies,
    completions,
    decay,
    latest_match,
    parse_kernel,
    step,
    window,
)
from chronorule.kernels import matching
from chronorule.kernels.paths import feature_path
from chronorule.rules.language import parse_rule
from worlds import random_feature, random_log, random_rule, random_world

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_completions_are_those_of_enumeration(seed: int) -> None:
    world = random_world(seed)
    for _ in range(4):
        rule = random_rule(world.random)
        span = None if world.random.random() < 0.5 else float(world.random.integers(0, 7))
        found = completions(rule, world.log, span)
        rows = list(zip(found.entity.tolist(), found.time.tolist(), found.multiplicity.tolist(), strict=True))
        assert rows == reference.completions(rule, world.log, span), rule.key


@given(SEEDS)
def test_paths_are_phi_at_every_time(seed: int) -> None:
    world = random_world(seed, entities=3, most_events=8)
    feature = random_feature(world.random)
    grounding = Grounding(world.log, feature)
    for _ in range(3):
        rule = random_rule(world.random, most=4)
        path = grounding.path(rule)
        rows = reference.completions(rule, world.log, feature.span)
        for entity in range(world.log.n_entities):
            changes = np.round(path.times[np.isfinite(path.times)], 9)  # windows end some roundings late
            times = np.unique(np.concatenate([np.arange(-3.0, 20.0, 0.5), changes]))
            slow = [reference.phi_of_rows(rows, feature, entity, float(t)) for t in times]
            # values are sums and products of a few dozen doubles: 1e-12 is thousands of roundings
            np.testing.assert_allclose(path.at(entity, times), slow, rtol=1e-12, atol=1e-12, err_msg=rule.key)
            assert path.at(entity, times[3:4])[0] == pytest.approx(reference.path_at(path, entity, float(times[3])))


@given(SEEDS)
def test_times_of_a_path_rise_within_each_entity(seed: int) -> None:
    world = random_world(seed)
    path = Grounding(world.log, random_feature(world.random)).path(random_rule(world.random))
    for entity in range(world.log.n_entities):
        assert (np.diff(path.times[path.offsets[entity] : path.offsets[entity + 1]]) > 0).all()


def test_a_long_log_of_one_entity_is_searched_by_halving() -> None:
    times = np.arange(2000.0)
    names = ["A" if t % 3 else "B" for t in range(2000)]
    log = EventLog.from_columns(["m"] * 2000, times, names, periods=(0.0, 2000.0))
    found = completions("Y <- A < B < A#2", log)
    a_before = np.cumsum([t % 3 != 0 for t in range(2000)])
    expected = []
    pairs = 0
    for t in range(2000):
        if t % 3:
            expected.append(pairs)
        else:
            pairs += int(a_before[t])
    assert found.multiplicity.tolist() == [n for n in expected if n > 0]


def test_more_entities_than_one_word_of_the_bit_sets() -> None:
    random = np.random.default_rng(5)
    log = random_log(random, entities=150)
    for _ in range(10):
        rule = random_rule(random, most=3)
        found = completions(rule, log)
        rows = list(zip(found.entity.tolist(), found.time.tolist(), found.multiplicity.tolist(), strict=True))
        assert rows == reference.completions(rule, log)


def test_array_chains_are_the_same_bodies_as_rules() -> None:
    log = random_log(np.random.default_rng(0))
    codes = np.array([[0, 1, 2], [3, 0, 1], [2, 4, 5]], np.int32)
    joined = np.array([[False, False, False], [False, True, False], [False, False, True]])
    rules = [parse_rule(text) for text in ("Y <- A < B < C", "Y <- D = A < B", "Y <- C < E = F")]
    from_rules = compile_bodies(rules, log)
    from_arrays = chain_bodies(codes, joined)
    assert from_arrays.class_offsets.tolist() == from_rules.class_offsets.tolist()
    assert from_arrays.member_offsets.tolist() == from_rules.member_offsets.tolist()
    assert from_arrays.predecessors.tolist() == from_rules.predecessors.tolist()
    assert from_arrays.maximal.tolist() == from_rules.maximal.tolist()
    assert from_arrays.chain.tolist() == from_rules.chain.tolist()
    assert sorted(from_arrays.members.tolist()) == sorted(from_rules.members.tolist())


def test_one_body_is_grounded_once_whatever_its_head_and_sign() -> None:
    log = random_log(np.random.default_rng(1))
    grounding = Grounding(log)
    first = grounding.path(parse_rule("Y <- A < B"))
    assert grounding.path(parse_rule("Y <-| B After A")) is first
    assert grounding.path(parse_rule("Y <- B < A")) is not first


def test_old_paths_make_room_for_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounding_module.Grounding, "MOST_PATHS", 2)
    grounding = Grounding(random_log(np.random.default_rng(1)))
    first = grounding.path(parse_rule("Y <- A"))
    grounding.path(parse_rule("Y <- B"))
    grounding.path(parse_rule("Y <- C"))
    again = grounding.path(parse_rule("Y <- A"))
    assert again is not first
    np.testing.assert_array_equal(again.times, first.times)


def test_a_log_without_events_has_no_completions() -> None:
    log = EventLog.from_columns([], np.array([]), [], periods={"a": (0.0, 1.0)}, predicates=["A", "B"])
    assert len(completions("Y <- A < B", log).time) == 0


def test_statics_take_no_relation() -> None:
    log = random_log(np.random.default_rng(2))
    with pytest.raises(RuleError, match=r"'Smokes' is a static property without a time.*without a relation"):
        completions("Y <- Smokes < A", log)
    with pytest.raises(RuleError, match="'Smokes' is a static property"):
        completions("Y <- Smokes = A", log)


def test_unknown_predicates_are_named() -> None:
    with pytest.raises(UnknownPredicateError, match="Smoke"):
        completions("Y <- Smoke", random_log(np.random.default_rng(2)))


def test_too_many_unordered_instants_are_refused() -> None:
    names = [f"P{k}" for k in range(15)]
    log = EventLog.from_columns(["a"] * 15, np.arange(15.0), names, periods=(0.0, 15.0))
    with pytest.raises(RuleError, match="15 instants that are not in one order"):
        completions("Y <- " + " & ".join(names), log)
    assert completions("Y <- " + " < ".join(names), log).multiplicity.tolist() == [1.0]


def test_too_many_instants_are_refused() -> None:
    names = [f"P{k:02}" for k in range(63)]
    log = EventLog.from_columns(["a"] * 63, np.arange(63.0), names, periods=(0.0, 63.0))
    with pytest.raises(RuleError, match="63 instants is more than the 62"):
        completions("Y <- " + " < ".join(names), log)
    assert completions("Y <- " + " < ".join(names[:62]), log).time.tolist() == [61.0]


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_windows_and_rates_are_positive_and_finite(bad: float) -> None:
    with pytest.raises(OptionError, match="never counts; give a positive"):
        window(bad)
    with pytest.raises(OptionError, match="does not fall; give a positive"):
        decay(bad)


def test_kernels_have_a_text_form() -> None:
    for kernel in (step, window(12), decay(0.1)):
        assert parse_kernel(str(kernel)) == kernel
    assert parse_kernel(window(3)) == window(3)
    for text in ("gauss", "window", "window()", "window(x)", "step(3)", "decay(1"):
        with pytest.raises(OptionError, match=r"is none of step, window\(WIDTH\) and decay\(RATE\)"):
            parse_kernel(text)
    with pytest.raises(OptionError, match="never counts"):
        parse_kernel("window(-1)")


def test_features_name_what_they_cannot_be() -> None:
    with pytest.raises(OptionError, match="'some' is neither 'exists' nor 'count'"):
        Feature("some")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="excludes every match"):
        Feature(span=-1.0)
    with pytest.raises(OptionError, match="excludes every match"):
        Feature(span=float("nan"))


@pytest.mark.parametrize("maker", [window, decay])
@pytest.mark.parametrize("value", ["wide", None, True, [1.0]])
def test_sizes_of_kernels_that_are_no_numbers_are_refused(maker: Any, value: object) -> None:
    with pytest.raises(OptionError, match="give a positive, finite"):
        maker(value)


def test_kernels_and_spans_that_are_none_are_refused() -> None:
    assert Feature(span=np.int64(2)).longest == 2
    with pytest.raises(OptionError, match="is none of step, window"):
        parse_kernel(3)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"The kernel 'window\(1\)' is none; give step"):
        Feature(kernel="window(1)")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="excludes every match"):
        Feature(span="long")  # type: ignore[arg-type]


def test_large_counts_that_lapse_leave_small_ones_exact() -> None:
    """A multiplicity of 1e17 + 3 rounds to 1e17; when 1e17 lapses, 3 matches are left, and then 1, and then none."""
    entity, time, many = np.zeros(3, np.int64), np.array([0.0, 1.0, 2.0]), np.array([1e17, 3.0, 1.0])
    offsets, times, values = feature_path(entity, time, many, 1, True, 1.5, 0.0)
    assert offsets.tolist() == [0, 5]
    assert times.tolist() == [0.0, 1.5, 2.0, 2.5, 3.5]  # at 1.0 it does not change
    assert values.tolist() == [1e17, 3.0, 4.0, 1.0, 0.0]


def test_levels_of_large_counts_that_lapse_are_those_of_the_path() -> None:
    """As above, in the scores of batches: places 0 to 2 are completions at times 0 to 2, heads pass one a unit."""
    rows, times = np.array([[0, 1e17], [1, 3.0], [2, 1.0]]), np.array([0.0, 1.0, 2.0])
    after, lapsed = (np.array([[10.0 - t, 10.0 - t] for t in times + shift]) for shift in (0.0, 1.5))
    levels, size = matching._add_levels(3, rows, times, after, lapsed, 1.5, np.zeros((256, 3)), 64)
    found: Counter[float] = Counter()
    for value, heads, _ in levels[:size].tolist():
        found[value] += heads
    assert {value: heads for value, heads in found.items() if heads} == {1e17: 1.5, 3.0: 0.5, 4.0: 0.5, 1.0: 1.0}


def test_threads_that_share_a_grounding_do_not_trip_over_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Grounding, "MOST_PATHS", 4)
    world = random_world(5)
    rules = [parse_rule(f"Y <- {a} < {b}") for a in "ABCDEF" for b in "ABCDEF" if a != b]
    slow = [Grounding(world.log).path(rule).times.tolist() for rule in rules]
    shared = Grounding(world.log)

    def all_paths(shift: int) -> list[list[float]]:
        order = rules[shift:] + rules[:shift]
        for _ in range(20):
            found = [shared.path(rule).times.tolist() for rule in order]
        return found[len(rules) - shift :] + found[: len(rules) - shift]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(all_paths, range(24))) == [slow] * 24
    finally:
        sys.setswitchinterval(interval)


@given(SEEDS)
def test_latest_match_is_the_latest_of_all_matches(seed: int) -> None:
    """No match that ends by then has any event later, and the events of the latest one are a match."""
    world = random_world(seed)
    for _ in range(3):
        rule = random_rule(world.random, most=4)
        for entity in range(world.log.n_entities):
            for until in (2.0, 6.0, 30.0):
                slow = reference.latest_match(rule, world.log, entity, until)
                found = latest_match(rule, world.log, entity, until)
                assert (None if found is None else found.tolist()) == slow, rule.key


@given(SEEDS)
def test_latest_match_completes_where_the_rule_does(seed: int) -> None:
    world = random_world(seed)
    rule = random_rule(world.random, most=4, statics=False)
    for entity, time, _ in zip(*completions(rule, world.log), strict=True):
        match = latest_match(rule, world.log, int(entity), float(time))
        assert match is not None
        assert match.max() == time
