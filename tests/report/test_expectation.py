"""Observed and expected heads after completion against the definitions, evaluated point by point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import reference
from chronorule.events import EventLog, Head
from chronorule.grounding import Feature, parse_kernel
from chronorule.model import RuleModel, WeightedRule
from chronorule.report.expectation import Bin, Expectation, nice, poisson_interval
from chronorule.report.starts import count_until
from chronorule.rules import Rule
from reports import any_model, simulated
from worlds import random_feature, random_rule, random_world

SEEDS = st.integers(0, 2**32 - 1)


def slow_bins(model: RuleModel, log: EventLog, item: WeightedRule, bins: list[Bin]) -> np.ndarray:
    """(time at risk, observed, without, with) of every bin, by the rate at points between all jumps."""
    rules = [other for other in model.rules if other.rule != item.rule]
    without = reference.SlowModel(
        log,
        Expectation(model, log).exposure,
        model.feature,
        [other.rule for other in rules],
        [other.weight for other in rules],
        model.baseline[0],
        slow_multipliers(model, log),
    )
    with_rule = without.with_rule(item.rule, item.weight)
    rows = reference.completions(item.rule, log, model.feature.span)
    first_only = model.feature.kind == "exists" and model.feature.kernel.name == "step"
    table = np.zeros((len(bins), 4))
    for entity in range(log.n_entities):
        times = [s for c, s, _ in rows if c == entity]
        times = times[:1] if first_only else times

        def elapsed(time: float, times: list[float] = times) -> float:
            done = [s for s in times if s < time]
            return time - max(done) if done else -1.0

        edges = [s + piece.start for s in times for piece in bins] + [s + piece.stop for s in times for piece in bins]
        jumps = sorted({*edges, *reference.breakpoints(rows, model.feature, entity)})
        for k, piece in enumerate(bins):

            def inside(time: float, piece: Bin = piece) -> float:
                return float(piece.start < elapsed(time) <= piece.stop)

            table[k, 0] += sum(
                (high - low) * inside(0.5 * (low + high)) for low, high in without.intervals(entity, jumps)
            )
            table[k, 1] += sum(inside(t) for t in without.heads(entity))
            table[k, 2] += without.integral(entity, inside, jumps)
            table[k, 3] += with_rule.integral(entity, inside, jumps)
    return table


def slow_multipliers(model: RuleModel, log: EventLog) -> list[float]:
    """(1 + νN)/(1 + νΛ) of every entity's group."""
    known = Expectation(model, log)
    whole = reference.SlowModel(
        log,
        known.exposure,
        model.feature,
        [item.rule for item in model.rules],
        [item.weight for item in model.rules],
        model.baseline[0],
    )
    entities = range(log.n_entities)
    expected, heads = [whole.integral(c) for c in entities], [len(whole.heads(c)) for c in entities]
    groups = [[other for other in entities if log.group[other] == log.group[c]] for c in entities]
    return [
        (1 + model.variance * sum(heads[o] for o in group)) / (1 + model.variance * sum(expected[o] for o in group))
        for group in groups
    ]


@pytest.mark.filterwarnings("ignore::chronorule.errors.FitWarning")
@given(SEEDS)
def test_bins_are_the_sums_they_say(seed: int) -> None:
    world = random_world(seed, entities=3, most_events=7)
    feature = random_feature(world.random)
    rules: list[Rule] = list(dict.fromkeys(random_rule(world.random, 2) for _ in range(2)))
    model = any_model(world.log, world.exposure.head, feature, *(rule.key for rule in rules))
    known = Expectation(model, world.log)
    for item in model.rules:
        after = known.aftermath(item)
        rows = [[b.at_risk, b.observed, b.expected_without, b.expected_with] for b in after.bins]
        slow = slow_bins(model, world.log, item, list(after.bins))
        # sums of a few dozen pieces, times and edges of bins rounded to doubles: 1e-8 is thousands of roundings, and
        # far above the error of the twin's quadrature of decaying rates
        np.testing.assert_allclose(np.array(rows).reshape(-1, 4), slow, rtol=1e-8, atol=1e-8, err_msg=item.rule.key)


def test_weights_at_their_best_make_observed_and_expected_agree() -> None:
    """∂ℓ/∂w = O − E = 0 at an inner optimum without a penalty (design 5), and O/E without the rule is its ratio."""
    log = simulated()
    for kernel in ("step", "window(5)"):
        model = any_model(log, Head("Y"), Feature("exists", parse_kernel(kernel)),
                          "Y <- A < B", "Y <-| C")  # fmt: skip
        for item in model.rules:
            whole = Expectation(model, log).aftermath(item).whole
            assert whole.observed == item.heads
            # the fit ends at a slope of 1e-8 for each head
            assert whole.expected_with == pytest.approx(whole.observed, rel=1e-7)
            assert whole.observed / whole.expected_without == pytest.approx(item.ratio, rel=1e-7)


@pytest.mark.parametrize("kernel", ["step", "window(5)", "decay(0.3)"])
@pytest.mark.parametrize("kind", ["exists", "count"])
def test_bins_add_up_to_the_whole(kernel: str, kind: str) -> None:
    log = simulated()
    feature = Feature(kind, parse_kernel(kernel))  # type: ignore[arg-type]
    model = any_model(log, Head("Y"), feature, "Y <- A < B")
    after = Expectation(model, log).aftermath(model.rules[0])
    counting = [piece for piece in after.bins if piece.counts]
    assert sum(piece.observed for piece in counting) == after.whole.observed
    for name in ("at_risk", "expected_without", "expected_with"):
        total = sum(getattr(piece, name) for piece in counting)
        assert total == pytest.approx(getattr(after.whole, name), rel=1e-9)  # sums of 1e3 doubles in another order
    beyond = [piece for piece in after.bins if not piece.counts]
    assert bool(beyond) == (kernel == "window(5)")
    for piece in beyond:
        if kind == "exists":  # a count may go on after its latest completion's window began
            assert piece.expected_with == pytest.approx(piece.expected_without, rel=1e-12)


def test_a_rule_of_statics_has_a_whole_and_no_bins() -> None:
    log = EventLog.from_columns(
        ["a", "a", "b"], [1.0, 2.0, 3.0], ["Y", "Y", "Y"], periods=(0.0, 10.0), static={"a": ["Old"]}
    )
    model = any_model(log, Head("Y"), Feature(), "Y <- Old")
    after = Expectation(model, log).aftermath(model.rules[0])
    assert (after.whole.observed, after.whole.at_risk, after.bins) == (2, 10.0, ())


@given(SEEDS)
def test_counts_until_a_moment(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 6, 5)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    times = np.concatenate([np.zeros(0), *(np.sort(random.integers(0, 8, size)) for size in sizes)]).astype(float)
    owner, moments = random.integers(0, 5, 12), random.integers(-1, 9, 12).astype(float)
    slow = [int((times[offsets[c] : offsets[c + 1]] <= t).sum()) for c, t in zip(owner, moments, strict=True)]
    assert count_until(offsets, times, owner, moments).tolist() == slow


def test_intervals_of_counts_are_close_to_exact_ones() -> None:
    """Byar's approximation is within 3 % of Garwood's exact interval (Breslow and Day 1987, section 2.3)."""
    assert poisson_interval(0)[0] == 0.0
    for count in (1, 2, 5, 20, 100, 5000):
        low, high = poisson_interval(count)
        exact = stats.chi2.ppf(0.025, 2 * count) / 2, stats.chi2.ppf(0.975, 2 * count + 2) / 2
        assert high == pytest.approx(exact[1], rel=0.03)
        assert low == pytest.approx(exact[0], rel=0.03, abs=0.12)


def test_nice_numbers() -> None:
    assert [nice(value) for value in (1.0, 0.13, 34.0, 7.6, 1500.0)] == [1.0, 0.1, 50.0, 10.0, 2000.0]
    assert math.isclose(nice(3.0), 2.0) or math.isclose(nice(3.0), 5.0)
