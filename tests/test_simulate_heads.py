"""Heads are drawn from λ exactly: counts, gaps and scores agree with the law, for every kind of head and feature.

Under the law N − ∫λ has mean 0 and variance E[N] (a martingale), stopped or not, and time rescaled by λ has gaps of law
Exp(1). Bounds of 4 standard errors are passed by chance in 1 of 16,000 tests; seeds are fixed.
"""

from __future__ import annotations

import dataclasses
import itertools
from importlib import import_module

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from chronorule.errors import OptionError, UnknownPredicateError
from chronorule.events import EventLog, Head, exposure
from chronorule.grounding import decay, window
from chronorule.likelihood import log_likelihood
from chronorule.simulate import Simulated, simulate
from reference import SlowModel

Floats = NDArray[np.float64]

LEVEL = 1e-3  # of the tests of Kolmogorov and Smirnov
TERMINAL = Head("Y", terminal=True)
RESET = Head("Y", reset_by="R")
LATER = Head("Y", reset_by="R", at_risk_from_start=False)
RULES = ["Y <- A < B", "Y <- C = D", "Y <-| B & C"]


def rates_of(made: Simulated) -> tuple[NDArray[np.int64], Floats, Floats, Floats, Floats]:
    """Owner, start and length of every segment, and the constant and decaying part of log λ with the multiplier."""
    log, truth = made
    segments = truth.segments(log)
    owner = np.repeat(np.arange(log.n_entities), np.diff(segments.offsets))
    signed = segments.X * truth.weights * truth.signs
    constant = truth.base[segments.piece] + np.where(segments.decays, 0.0, signed).sum(axis=1)
    constant += np.log(truth.multipliers[owner])
    return owner, segments.start, segments.length, constant, np.where(segments.decays, signed, 0.0).sum(axis=1)


def rescaled_gaps(made: Simulated) -> Floats:
    """Gaps of ∫λ between heads, the exposure of all entities joined end to end; each integral by plain quadrature."""
    owner, start, length, constant, decaying = rates_of(made)
    fall = made.truth.feature.kernel.rate
    at_risk = exposure(made.log, made.truth.head)
    heads = [set(at_risk.head_times[a:b].tolist()) for a, b in itertools.pairwise(at_risk.head_offsets)]

    def mass(j: int, until: float) -> float:
        if decaying[j] == 0:
            return float(np.exp(constant[j]) * until)
        return float(integrate.quad(lambda u: np.exp(constant[j] + decaying[j] * np.exp(-fall * u)), 0, until)[0])

    gaps, passed = [], 0.0
    for j in range(owner.size):
        before = 0.0
        for t in sorted(t for t in heads[owner[j]] if start[j] < t <= start[j] + length[j]):
            now = mass(j, t - start[j])
            gaps.append(passed + now - before)
            passed, before = 0.0, now
        passed += mass(j, length[j]) - before
    return np.array(gaps)


def surplus(made: Simulated) -> float:
    """(heads − expected heads) / √heads, about a standard normal number."""
    heads = exposure(made.log, made.truth.head).n_heads
    assert heads > 200
    return float((heads - made.expected().sum()) / np.sqrt(heads))


@pytest.mark.parametrize("head", [Head("Y"), TERMINAL, RESET, LATER], ids=["plain", "terminal", "reset", "later"])
@pytest.mark.parametrize("kernel", ["step", window(3.0), decay(0.4)], ids=str)
@pytest.mark.parametrize("feature", ["exists", "count"])
def test_heads_are_as_many_as_expected(head: Head, kernel: object, feature: str) -> None:
    weights = [1.0, 0.7, 0.5] if feature == "exists" else [0.1, 0.2, 0.3]
    made = simulate(
        RULES, weights, head=head, predicates=["A", "B", "C", "D", "R"], rates=0.1, base=-2.0, entities=600,
        feature=feature, kernel=kernel, planted=[0.3, 0.3, 0.0], heterogeneity=3.0, seed=1,
    )  # fmt: skip
    assert abs(surplus(made)) < 4
    assert exposure(made.log, head).outside == 0


@pytest.mark.parametrize(
    ("head", "kernel", "feature"),
    [
        (Head("Y"), "step", "exists"),
        (Head("Y"), window(2.0), "count"),
        (Head("Y"), decay(0.5), "exists"),
        (Head("Y"), decay(0.5), "count"),
        (TERMINAL, decay(0.5), "exists"),
        (RESET, "step", "count"),
        (RESET, decay(0.5), "exists"),
        (LATER, window(2.0), "exists"),
    ],
)
def test_rescaled_gaps_are_exponential(head: Head, kernel: object, feature: str) -> None:
    weights = [1.5, 1.0, 1.0] if feature == "exists" else [0.2, 0.5, 0.5]
    made = simulate(
        RULES, weights, head=head, predicates=["A", "B", "C", "D", "R"], rates=0.15, base=[-2.0, -1.5],
        baseline=[8.0], entities=250, feature=feature, kernel=kernel, planted=[0.3, 0.3, 0.0], seed=2,
    )  # fmt: skip
    gaps = rescaled_gaps(made)
    assert gaps.size > 100
    assert stats.kstest(gaps, "expon").pvalue > LEVEL


@pytest.mark.parametrize("head", [Head("Y"), RESET], ids=["plain", "reset"])
@pytest.mark.parametrize(
    ("rule", "base", "fall"),
    [
        ("Y <- A  w = 7", -5.0, 0.3),
        ("Y <- A  w = 7", -1.0, 300.0),
        ("Y <-| A  w = 9", 1.0, 0.3),
        ("Y <-| A  w = 200", 1.0, 0.5),
        ("Y <-| A  w = 9", 0.0, 300.0),
    ],
)
def test_thinning_holds_for_steep_rates(rule: str, base: float, fall: float, head: Head) -> None:
    """λ that changes by many e-folds in one segment, which is cut into pieces, and a decay that ends at once."""
    made = simulate(
        rule, head=head, predicates=["A", "R"], base=base, rates=0.3, entities=150, kernel=decay(fall), seed=3
    )
    assert abs(surplus(made)) < 4
    assert stats.kstest(rescaled_gaps(made), "expon").pvalue > LEVEL


@pytest.mark.parametrize("head", [Head("Y"), TERMINAL, RESET], ids=["plain", "terminal", "reset"])
@pytest.mark.parametrize("rule", ["Y <- A  w = 1.0", "Y <-| A  w = 3.0"])
def test_thinning_keeps_the_right_share(rule: str, head: Head) -> None:
    """So many heads, most of them on falling or rising rates, that 3 % more or less are 4 standard errors."""
    made = simulate(
        rule, head=head, predicates=["A", "R"], rates=0.4, base=-0.7, entities=30_000, horizon=8.0,
        kernel=decay(0.5), seed=16,
    )  # fmt: skip
    assert exposure(made.log, head).n_heads > 18_000
    assert abs(surplus(made)) < 4


@pytest.mark.parametrize("head", [Head("Y"), TERMINAL, RESET], ids=["plain", "terminal", "reset"])
@pytest.mark.parametrize("kernel", ["step", decay(0.4)], ids=str)
def test_scores_of_the_truth_vanish_on_average(head: Head, kernel: object) -> None:
    """∂ℓ/∂(weights, baseline) at the truth: its mean over replicates lies within 4 of its standard errors."""
    scores = []
    for seed in range(40):
        log, truth = simulate(
            RULES, [1.0, 0.7, 0.5], head=head, predicates=["A", "B", "C", "D", "R"], rates=0.1, base=[-2.0, -1.7],
            baseline=[10.0], entities=120, kernel=kernel, planted=[0.3, 0.3, 0.0], seed=seed,
        )  # fmt: skip
        found = log_likelihood(truth.segments(log), truth.weights, truth.base, signs=truth.signs, heterogeneity="none")
        scores.append(found.gradient[:-1])
    scores = np.array(scores)
    assert scores.shape == (40, 5)
    assert (np.abs(scores.mean(axis=0)) < 4 * scores.std(axis=0, ddof=1) / np.sqrt(40)).all()


@pytest.mark.parametrize("kernel", ["step", window(3.0), decay(0.5)], ids=str)
def test_expected_heads_are_those_of_the_slow_twin(kernel: object) -> None:
    made = simulate(
        RULES, [0.2, 0.3, 0.1], rates=0.2, entities=8, horizon=12.0, feature="count", kernel=kernel, heterogeneity=2.0,
        span=6.0, planted=[0.5, 0.5, 0.0], seed=4,
    )  # fmt: skip
    log, truth = made
    slow = SlowModel(
        log, exposure(log, "Y"), truth.feature, list(truth.rules), truth.weights.tolist(), float(truth.base[0]),
        truth.multipliers.tolist(),
    )  # fmt: skip
    # both are exact up to quadrature, whose relative error is asked to be 1e-12
    np.testing.assert_allclose(made.expected(), [slow.integral(c) for c in range(8)], rtol=1e-9)


def test_terminal_head_happens_once() -> None:
    log, _ = simulate("Y <- A", [1.0], head=TERMINAL, rates=0.2, base=-3.5, entities=300, seed=5)
    heads = np.bincount(np.repeat(np.arange(300), np.diff(log.offsets))[log.codes == log.code("Y")], minlength=300)
    assert heads.max() == 1
    assert 0 < heads.sum() < 300


def test_rates_after_a_terminal_head_do_not_matter() -> None:
    """What would be 10^100 heads by the end of the period is one head soon after the rate rises."""
    made = simulate(
        "Y <- A", [30.0], head=TERMINAL, feature="count", rates=1.0, base=-3.0, entities=400, horizon=10.0, seed=5
    )
    assert exposure(made.log, TERMINAL).n_heads > 390
    assert abs(surplus(made)) < 4


def test_no_two_heads_without_a_reset_between_them() -> None:
    made = simulate([], [], head=RESET, rates=0.3, base=1.0, entities=200, seed=6)
    log = made.log
    head = log.code("Y")
    for c in range(log.n_entities):
        codes = log.codes[log.offsets[c] : log.offsets[c + 1]].tolist()
        assert not any(one == other == head for one, other in itertools.pairwise(codes))
    assert exposure(log, RESET).outside == 0
    assert abs(surplus(made)) < 4


@pytest.mark.parametrize("from_start", [True, False])
def test_reset_at_the_instant_of_a_head_makes_the_next_possible(from_start: bool) -> None:
    """Design 1: the head counts, then the reset. At this rate a head follows the beginning of a stretch at once."""
    instants = [2.0, np.nextafter(2.0, 3.0), 5.0]
    body = EventLog.from_columns(["a"] * 3, instants, ["R"] * 3, periods=(1.0, 9.0))
    head = Head("Y", reset_by="R", at_risk_from_start=from_start)
    log, _ = simulate([], [], head=head, body=body, base=200.0)
    heads = exposure(log, head)
    # a head just after each beginning; the second is at the instant of the second reset
    expected = [np.nextafter(t, 10.0) for t in ([1.0] if from_start else []) + instants]
    assert heads.head_times.tolist() == expected
    assert heads.outside == 0


def test_baseline_levels_hold_in_their_pieces() -> None:
    log, truth = simulate([], [], base=[-1.0, -4.0, -2.0], baseline=[5.0, 12.0], entities=800, seed=7)
    assert truth.base.tolist() == [-1.0, -4.0, -2.0]
    counts = np.histogram(log.times, [0.0, 5.0, 12.0, 20.0])[0]
    expected = 800 * np.exp(truth.base) * [5.0, 7.0, 8.0]
    assert (np.abs(counts - expected) < 4 * np.sqrt(expected)).all()


def test_multipliers_have_the_moments_of_their_law() -> None:
    shape, entities = 2.0, 20_000
    _, truth = simulate([], [], heterogeneity=shape, entities=entities, seed=8)
    u = truth.multipliers
    assert truth.shape == shape
    assert abs(u.mean() - 1) < 4 * np.sqrt(1 / shape / entities)
    # Var(s²) = (μ₄ − σ⁴)/n and the gamma law has μ₄ = σ⁴(3 + 6/a)
    assert abs(u.var() - 1 / shape) < 4 * np.sqrt((2 + 6 / shape) / entities) / shape


def test_counts_of_heads_spread_as_their_multipliers_do() -> None:
    """N_c given u_c is Poisson: Σ (N_c − u_c Λ)² / (u_c Λ) is near its number of terms, and heads follow u."""
    made = simulate([], [], base=-1.0, heterogeneity=1.5, entities=1500, seed=9)
    expected = made.expected()
    heads = np.diff(exposure(made.log, "Y").head_offsets)
    assert abs((heads - expected).sum()) < 4 * np.sqrt(expected.sum())
    some = expected > 1
    spread = (heads - expected)[some] ** 2 / expected[some]
    # the variance of one term is 2 + 1/mean
    assert abs(spread.mean() - 1) < 4 * np.sqrt((2 + 1 / expected[some]).mean() / some.sum())


def test_groups_share_their_multiplier() -> None:
    body = EventLog.from_columns(list("abcd"), [1.0, 2.0, 3.0, 4.0], ["A"] * 4, periods=(0.0, 9.0), group=list("xxyy"))
    u = simulate([], [], body=body, heterogeneity=2.0).truth.multipliers
    assert u[0] == u[1] != u[2] == u[3]


# Heads that change the rate of the next


@pytest.mark.parametrize(
    ("rules", "weights", "kernel", "feature"),
    [
        (["Y <- Y", "Y <- A < Y"], [0.7, 0.5], window(2.0), "exists"),
        (["Y <- Y", "Y <- A < Y"], [0.1, 0.02], decay(1.0), "count"),
        (["Y <-| Y"], [1.5], decay(0.5), "exists"),
        (["Y <-| Y", "Y <- A"], [0.5, 1.0], "step", "count"),
    ],
)
@pytest.mark.parametrize("head", [Head("Y"), RESET], ids=["plain", "reset"])
def test_heads_may_depend_on_earlier_heads(
    rules: list[str], weights: list[float], kernel: object, feature: str, head: Head
) -> None:
    made = simulate(
        rules, weights, head=head, predicates=["A", "R"], kernel=kernel, feature=feature, base=-1.5, rates=0.2,
        entities=200, seed=10,
    )  # fmt: skip
    assert abs(surplus(made)) < 4
    assert exposure(made.log, head).outside == 0
    assert stats.kstest(rescaled_gaps(made), "expon").pvalue > LEVEL


def test_head_that_forbids_the_next_for_a_while() -> None:
    log, _ = simulate("Y <-| Y", [60.0], kernel=window(2.0), base=0.0, entities=50, seed=11)
    for c in range(log.n_entities):
        times = log.times[log.offsets[c] : log.offsets[c + 1]]
        assert times.size > 2
        assert (np.diff(times) > 2.0).all()


def test_terminal_head_has_no_past() -> None:
    options = {"head": TERMINAL, "base": -1.0, "entities": 100, "seed": 12}
    alone, with_itself = simulate([], [], **options), simulate("Y <- Y", [2.0], **options)
    assert with_itself.log.equals(alone.log)


def test_heads_that_breed_heads_without_end_are_refused() -> None:
    with pytest.raises(OptionError, match="follow each other faster than times can tell apart, since each raises"):
        simulate("Y <- Y", [2.0], feature="count", entities=3)


def test_long_row_of_heads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("chronorule.simulate.heads"), "MOST_STEPS", 5)
    with pytest.raises(OptionError, match="Some entity has more than 5 heads, of which each may change the rate"):
        simulate("Y <- Y", [0.1], base=0.0, entities=3)


def test_more_heads_than_anybody_wants_are_refused() -> None:
    with pytest.raises(OptionError, match=r"make about .*e\+\d+ heads, more than the 20,000,000 that are drawn; lower"):
        simulate("Y <- A", [25.0], rates=0.5)


def test_rate_beyond_numbers_is_refused() -> None:
    with pytest.raises(OptionError, match="make about inf heads"):
        simulate("Y <- A", [900.0], rates=0.5)


# Heads drawn on a given body


def ward() -> EventLog:
    """Two entities with history, own heads before and inside the period, a static property, and ticks of 1."""
    return EventLog.from_columns(
        ["p", "p", "p", "p", "q", "q"],
        [-2.0, -1.0, 3.0, 4.0, 2.0, 6.0],
        ["A", "Y", "Y", "R", "A", "Y"],
        periods={"p": (0.0, 50.0), "q": (1.0, 60.0)},
        static={"q": ["Old"]},
        unit="hours",
        resolution=1.0,
    )


def test_body_stays_and_heads_of_the_period_are_new() -> None:
    body = ward()
    log, truth = simulate("Y <- A\nY <- Old", [0.5, 0.5], body=body, base=-1.0, seed=13)
    owner = np.repeat(np.arange(2), np.diff(log.offsets))
    rest = log.codes != log.code("Y")
    old = body.codes != body.code("Y")
    assert log.times[rest].tolist() == body.times[old].tolist()
    assert (log.start.tolist(), log.stop.tolist(), log.unit) == ([0.0, 1.0], [50.0, 60.0], "hours")
    heads = log.times[~rest]
    assert heads[heads <= 0].tolist() == [-1.0]  # history stays
    assert not {3.0, 6.0} & set(heads.tolist())
    assert heads.size > 10
    assert (heads[1:] > log.start[owner[~rest]][1:]).all()
    assert log.resolution == 0.0  # heads are on no tick
    assert (truth.drawn, truth.redrawn, truth.redrawn_share) == (0, 0, 0.0)
    assert body.equals(ward())


def test_state_at_the_start_comes_from_the_history() -> None:
    """The head of p at -1 ends its risk until R at 4; a terminal one ends it for good."""
    log, _ = simulate([], [], body=ward(), head=RESET, base=0.0, seed=14)
    p = log.times[(log.codes == log.code("Y"))][: -1 if log.n_entities > 1 else None]
    assert p[0] == -1.0
    assert (p[1:] > 4.0).all()
    ended, _ = simulate([], [], body=ward(), head=TERMINAL, base=0.0, seed=14)
    assert np.diff(exposure(ended, TERMINAL).offsets).tolist() == [0, 1]


def test_head_unknown_to_the_body_joins_its_vocabulary() -> None:
    log, _ = simulate("Z <- A", [1.0], body=ward(), base=-1.0)
    assert log.predicates == (*ward().predicates, "Z")
    assert exposure(log, "Z").n_heads > 5
    assert np.array_equal(log.statics, np.append(ward().statics, False))


def test_rule_unknown_to_the_body_is_refused() -> None:
    with pytest.raises(UnknownPredicateError, match='The log has no predicate "B"'):
        simulate("Y <- B", [1.0], body=ward())


@pytest.mark.parametrize("name", ["predicates", "entities", "horizon", "grid", "rates", "planted", "decoys", "unit"])
def test_options_of_bodies_are_refused_beside_one(name: str) -> None:
    value = {"predicates": 3, "entities": 7, "unit": "days"}.get(name, 0.25)
    with pytest.raises(OptionError, match=f"body gives the events and periods, so {name} cannot be given beside it"):
        simulate("Y <- A", [1.0], body=ward(), **{name: value})


def test_heads_fall_inside_the_period_of_large_times() -> None:
    """At times of 1e9 a stretch of 1e-6 has few numbers; heads still lie after its start and not past its stop."""
    body = EventLog.from_columns(["a", "a"], [1e9, 1e9 + 2e-7], ["A", "B"], periods=(1e9 - 1.0, 1e9 + 1e-6))
    for seed in range(30):
        log, _ = simulate("Y <- A", [16.0], body=body, base=0.0, seed=seed)
        found = exposure(log, "Y")
        assert found.outside == 0
        assert (found.head_times > log.start[0]).all()


def test_decay_faster_than_times_can_tell_apart() -> None:
    """The pieces of such a segment lie between two neighbouring numbers; the head comes at the first after A."""
    body = EventLog.from_columns(["a"], [1e9], ["A"], periods=(1e9 - 1.0, 1e9 + 1.0))
    log, _ = simulate("Y <- A", [2000.0], body=body, head=TERMINAL, kernel=decay(1e6), base=-20.0)
    assert exposure(log, TERMINAL).head_times.tolist() == [np.nextafter(1e9, np.inf)]


def test_truth_is_write_protected() -> None:
    truth = simulate("Y <- A", [1.0], entities=3).truth
    arrays = [value for value in (getattr(truth, f.name) for f in dataclasses.fields(truth)) if hasattr(value, "flags")]
    assert len(arrays) == 6
    assert not any(array.flags.writeable for array in arrays)
