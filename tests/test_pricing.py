"""Prices, rewards, gains and evidence against derivatives and maxima of the likelihood written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import reference
from chronorule.errors import OptionError
from chronorule.events import EventLog, Head, exposure
from chronorule.execution import Threads
from chronorule.grounding import Feature, Grounding, chain_bodies, compile_bodies, decay, window
from chronorule.kernels import matching
from chronorule.likelihood import build_segments, log_likelihood
from chronorule.model import Study
from chronorule.pricing import Evidence, Oracle, Rate, closed_form_gain
from chronorule.pricing.effect import maximise
from chronorule.rules.description import description_length
from chronorule.rules.grammar import Grammar
from chronorule.rules.language import parse_rule
from chronorule.rules.rule import Rule
from chronorule.simulate import simulate
from worlds import World, random_feature, random_rule, random_world

SEEDS = st.integers(0, 2**32 - 1)
# Weights below are at most 0.5 and φ at most a few dozen, so values reach 1e3 and their sums keep 1e-9 of that.
EXACT = {"rtol": 1e-9, "atol": 1e-9}


def random_oracle(
    world: World, feature: Feature, penalty: float = 0.0, rules_in_force: int = 2
) -> tuple[Oracle, reference.SlowModel]:
    """An oracle at a random λ, and the same model written out."""
    random = world.random
    rules = [random_rule(random, most=3) for _ in range(int(random.integers(0, rules_in_force + 1)))]
    weights = random.uniform(0.0, 0.5, len(rules))
    base = float(random.uniform(-2.5, -1.0))
    multiplier = random.uniform(0.3, 2.0, world.log.n_entities)
    grounding = Grounding(world.log, feature)
    paths = tuple(grounding.paths(rules))
    rate = Rate.of(world.exposure, rules, paths, (), weights, [base], multiplier)
    oracle = Oracle(grounding, world.exposure, rate, unit=world.log.group, penalty=penalty, largest_weight=4.0)
    slow = reference.SlowModel(world.log, world.exposure, feature, rules, weights.tolist(), base, multiplier.tolist())
    return oracle, slow


@given(SEEDS)
def test_reward_is_observed_minus_expected_written_out(seed: int) -> None:
    world = random_world(seed, entities=3, most_events=7)
    feature = random_feature(world.random, ("step", "window"))
    penalty = float(world.random.choice([0.0, 0.3]))
    oracle, slow = random_oracle(world, feature, penalty)
    rules = [random_rule(world.random, most=4) for _ in range(3)]
    rewards = oracle.evaluate(rules, "gradient")
    for rule, reward in zip(rules, rewards, strict=True):
        rows = reference.completions(rule, world.log, feature.span)
        total = 0.0
        for c in range(world.log.n_entities):
            jumps = reference.breakpoints(rows, feature, c)
            total += sum(reference.phi_of_rows(rows, feature, c, t) for t in slow.heads(c))
            total -= slow.integral(c, lambda t, c=c, rows=rows: reference.phi_of_rows(rows, feature, c, t), jumps)
        assert reward == pytest.approx(rule.sign * total - penalty * rule.length, rel=1e-9, abs=1e-9), rule.key


@given(SEEDS)
@settings(max_examples=30)
def test_prices_of_instants_written_out(seed: int) -> None:
    world = random_world(seed, entities=2, most_events=6)
    feature = random_feature(world.random)
    oracle, slow = random_oracle(world, feature, rules_in_force=1)
    kernel, index = feature.kernel, oracle.grounding.index
    for c in range(2):
        instants = range(index.instant_offsets[c], index.instant_offsets[c + 1])
        for j in instants:
            s = float(index.instant_times[j])
            for delay, table in ((0.0, oracle.after), (kernel.width, oracle.lapsed)) if kernel.name != "decay" else ():
                if len(table) == 0:
                    continue
                begin = s + delay if j != instants[0] or delay == 0 else math.inf  # what holds from an origin stays
                expected = slow.integral(c, lambda t, begin=begin: float(t > begin), [begin])
                np.testing.assert_allclose(table[j], [sum(t > begin for t in slow.heads(c)), expected], **EXACT)
            if kernel.name == "decay":
                fade = 0.0 if j == instants[0] else kernel.rate
                place = 0.0 if j == instants[0] else s

                def kappa(t: float, s: float = s, fade: float = fade, place: float = place) -> float:
                    return math.exp(-fade * (t - place)) if t > s else 0.0

                price = sum(map(kappa, slow.heads(c))) - slow.integral(c, kappa, [s])
                # quadrature to 1e-12 of a smooth function between jumps
                assert oracle.prices[j] == pytest.approx(price, rel=1e-9, abs=1e-9)


@given(SEEDS)
@settings(max_examples=30)
def test_reward_is_the_derivative_of_the_likelihood(seed: int) -> None:
    world = random_world(seed, entities=3, most_events=6)
    feature = random_feature(world.random)
    oracle, slow = random_oracle(world, feature, rules_in_force=1)
    for rule in [random_rule(world.random, most=3) for _ in range(2)]:
        path = oracle.grounding.path(rule)
        paths = (*oracle.rate.paths, path)

        def likelihood(weight: float, rule: Rule = rule, paths: tuple = paths) -> float:
            weights = [*slow.weights, weight]
            rate = Rate.of(world.exposure, [*slow.rules, rule], paths, (), weights, [slow.base], oracle.rate.multiplier)
            effect = [slow.with_rule(rule, weight).rate(c, t) for c in range(3) for t in slow.heads(c)]
            return float(np.log(effect).sum() - rate.expected().sum())

        # ℓ is smooth: the error of a central difference is h²ℓ'''/6 plus rounding/h, both near 1e-7 for ℓ''' ~ 1e3
        h = 1e-5
        slope = (likelihood(h) - likelihood(-h)) / (2 * h)
        reward = oracle.evaluate([rule], "gradient")[0]
        assert reward == pytest.approx(slope, rel=1e-5, abs=1e-5), rule.key


@given(SEEDS)
@settings(max_examples=30)
def test_gain_is_the_best_rise_of_the_likelihood_with_the_rest_held(seed: int) -> None:
    world = random_world(seed, entities=3, most_events=6)
    feature = random_feature(world.random, ("step", "window"))
    penalty = float(world.random.choice([0.0, 0.2]))
    oracle, slow = random_oracle(world, feature, penalty, rules_in_force=1)
    rules = [random_rule(world.random, most=3) for _ in range(2)]
    gains = oracle.evaluate(rules, "gain")
    for rule, gain in zip(rules, gains, strict=True):
        _, expected = slow.gain(rule, penalty * rule.length, largest=4.0)
        # the scalar search stops within 1e-10 of the best weight, where the slope is 0
        assert gain == pytest.approx(expected, rel=1e-7, abs=1e-7), rule.key


@given(SEEDS)
@settings(max_examples=10)
def test_gain_with_decay_is_the_best_rise_of_the_likelihood(seed: int) -> None:
    world = random_world(seed, entities=2, most_events=5)
    feature = random_feature(world.random, ("decay",))
    oracle, slow = random_oracle(world, feature, rules_in_force=1)
    rule = random_rule(world.random, most=2)
    _, expected = slow.gain(rule, largest=4.0)
    # quadrature to 1e-12 of λ and a weight within 1e-10 of the best
    assert oracle.evaluate([rule], "gain")[0] == pytest.approx(expected, rel=1e-6, abs=1e-6), rule.key


@given(SEEDS)
def test_batches_agree_with_one_rule_at_a_time(seed: int) -> None:
    world = random_world(seed, entities=5)
    feature = random_feature(world.random)
    oracle, _ = random_oracle(world, feature, float(world.random.choice([0.0, 0.3])))
    rules = [random_rule(world.random, most=5) for _ in range(6)]
    gains, rewards = oracle.evaluate(rules, "gain"), oracle.evaluate(rules, "gradient")
    for rule, gain, reward in zip(rules, gains, rewards, strict=True):
        evidence = oracle.evidence(rule)
        np.testing.assert_allclose([gain, reward], [evidence.gain, evidence.reward], **EXACT, err_msg=rule.key)


def test_batches_in_threads_agree_with_one_thread() -> None:
    world = random_world(7, entities=70, most_events=12)
    rules = [random_rule(world.random, most=4) for _ in range(400)]
    for feature in (Feature(), Feature("count"), Feature("exists", window(2.0)), Feature("count", decay(0.5))):
        oracle, _ = random_oracle(world, feature)
        oracle.threads = Threads(1)
        alone = oracle.evaluate(rules, "gradient")
        oracle.threads = Threads(4)
        np.testing.assert_array_equal(oracle.evaluate(rules, "gradient"), alone)


def test_array_chains_and_rules_are_worth_the_same() -> None:
    world = random_world(11, entities=40, most_events=12)
    oracle, _ = random_oracle(world, Feature("count", window(3.0)))
    codes = np.array([[0, 1, 2], [3, 0, 1], [2, 4, 5]], np.int32)
    joined = np.array([[False, False, False], [False, True, False], [False, False, True]])
    rules = [parse_rule(text) for text in ("Y <- A < B < C", "Y <- D = A < B", "Y <- C < E = F")]
    gains, _ = oracle.gains(chain_bodies(codes, joined))
    np.testing.assert_array_equal(gains, oracle.evaluate(rules, "gain"))


def test_every_rule_asked_about_is_counted() -> None:
    world = random_world(3)
    oracle, _ = random_oracle(world, Feature())
    rules = [random_rule(world.random) for _ in range(7)]
    oracle.evaluate(rules, "gain")
    oracle.evaluate(rules, "gradient")
    oracle.evidence(rules[0])
    oracle.gains(compile_bodies(rules, world.log))
    assert oracle.evaluations == 22


@given(st.floats(0, 50), st.floats(0, 50), st.floats(0, 5), st.sampled_from([1, -1]), st.floats(0.1, 8))
def test_closed_form_gain_is_the_maximum(o: float, e: float, charge: float, sign: int, largest: float) -> None:
    gain, weight = closed_form_gain(np.array([o]), np.array([e]), np.array([charge]), sign, largest)

    def value(w: float) -> float:
        return sign * w * o - w * charge - math.expm1(sign * w) * e

    assert 0.0 <= weight[0] <= largest
    assert gain[0] == pytest.approx(value(float(weight[0])), rel=1e-12, abs=1e-12)
    found = optimize.minimize_scalar(
        lambda w: -value(w), bounds=(0, largest), method="bounded", options={"xatol": 1e-12}
    )
    # no place that the search tried is better, up to rounding of values up to 50·8 + e^8·50
    assert gain[0] >= max(0.0, -found.fun, value(largest)) - 1e-9 * (1 + abs(found.fun))


def test_gain_without_penalty_is_the_poisson_divergence() -> None:
    gain, weight = closed_form_gain(np.array([30.0]), np.array([12.0]), np.zeros(1), 1, 10.0)
    assert weight[0] == pytest.approx(math.log(30 / 12), rel=1e-14)
    assert gain[0] == pytest.approx(30 * math.log(30 / 12) - 18, rel=1e-14)


def test_maximise_stays_inside_and_survives_overflow() -> None:
    # w·5 − (e^{400 w} − 1)·1e-9: the whole step of Newton from 0 overflows; best at log(5/4e-7)/400
    def at(w: float) -> tuple[float, float, float]:
        grown = float(np.exp(400 * w)) * 1e-9
        return 5 * w - grown + 1e-9, 5 - 400 * grown, -160000 * grown

    value, weight = maximise(at, 10.0)
    assert weight == pytest.approx(math.log(5 / 4e-7) / 400, rel=1e-9)
    assert value == pytest.approx(at(weight)[0])
    assert maximise(lambda w: (-w, -1.0, 0.0), 3.0) == (0.0, 0.0)
    assert maximise(lambda w: (2 * w, 2.0, 0.0), 3.0) == (6.0, 3.0)


@given(
    st.lists(st.tuples(st.integers(1, 40), st.floats(1e-6, 30.0)), min_size=1, max_size=5),
    st.floats(0.0, 300.0),
    st.floats(0.0, 3.0),
    st.sampled_from([1, -1]),
    st.floats(0.1, 10.0),
)
@settings(max_examples=300)
def test_best_weight_of_counts_is_where_the_slope_ends(
    masses: list[tuple[int, float]], earned: float, charge: float, sign: int, largest: float
) -> None:
    levels = np.array([[float(value), 0.0, mass] for value, mass in masses])
    weight, gain = matching._best_weight(levels, len(levels), earned, charge, sign, largest)

    def slope(w: float) -> float:
        """The slope divided by its largest term, so that nothing overflows."""
        top = max(max(math.log(m * v) + sign * w * v for v, m in masses), 0.0)
        expected = sum(math.exp(math.log(m * v) + sign * w * v - top) for v, m in masses)
        return sign * ((earned - sign * charge) * math.exp(-top) - expected)

    assert 0.0 <= weight <= largest
    # the weight is settled to 1e-12 of itself: a little before it the slope rises, a little after it falls
    near = 1e-9 * (1 + weight)
    assert weight <= near or slope(weight - near) >= 0
    assert weight >= largest - near or slope(weight + near) <= 0
    assert gain >= 0.0


def test_a_step_of_newton_that_passes_the_largest_weight_comes_back() -> None:
    """The first step from 0 ends at 4.14: the best of 13 w − 0.15 (e^w − 1) − 0.005 (e^2w − 1) was taken to be at 4."""
    levels = np.array([[1.0, 0.0, 0.15], [2.0, 0.0, 0.005]])
    weight, gain = matching._best_weight(levels, 2, 13.0, 0.0, 1, 4.0)
    found = optimize.minimize_scalar(
        lambda w: 0.15 * math.expm1(w) + 0.005 * math.expm1(2 * w) - 13 * w, bounds=(0, 4), method="bounded",
        options={"xatol": 1e-12},
    )  # fmt: skip
    assert weight == pytest.approx(found.x, abs=1e-6)  # the value is flat to 1e-12 within 1e-6 of the best
    assert gain == pytest.approx(-found.fun, rel=1e-12)


@given(SEEDS)
@settings(max_examples=40)
def test_within_gain_z_and_support_written_out(seed: int) -> None:
    world = random_world(seed, entities=4, most_events=8)
    feature = random_feature(world.random, ("step", "window"))
    oracle, slow = random_oracle(world, feature)
    rule = random_rule(world.random, most=3)
    rows = reference.completions(rule, world.log, feature.span)
    units = [world.log.group[c] for c in range(4)]
    surplus: dict[int, float] = {}
    on: dict[int, float] = {}
    for c, unit in enumerate(units):
        jumps = reference.breakpoints(rows, feature, c)
        phis = [reference.phi_of_rows(rows, feature, c, t) for t in slow.heads(c)]
        mass = slow.integral(c, lambda t, c=c: float(reference.phi_of_rows(rows, feature, c, t) > 0), jumps)
        surplus[unit] = surplus.get(unit, 0.0) + sum(p > 0 for p in phis) - mass
        on[unit] = on.get(unit, 0.0) + (sum(p > 0 for p in phis) if rule.sign > 0 else mass)
    evidence = oracle.evidence(rule)
    scale = math.sqrt(sum(s * s for s in surplus.values()))
    assert evidence.clustered_z * scale == pytest.approx(sum(surplus.values()), rel=1e-9, abs=1e-9)
    assert evidence.support == sum(n > 0 for n in on.values())
    head = world.exposure.head
    if head.terminal or head.reset_by is not None:
        assert evidence.within_gain is None
        assert evidence.within_weight is None
        return

    def conditional(w: float) -> float:
        """Σ over units of the likelihood of where its heads fall, given how many there are."""
        total = 0.0
        for unit in set(units):
            mine = [c for c in range(4) if units[c] == unit]
            heads = [(c, t) for c in mine for t in slow.heads(c)]
            if not heads:
                continue
            new = slow.with_rule(rule, w)
            scores = sum(math.log(new.rate(c, t)) for c, t in heads)
            total += scores - len(heads) * math.log(sum(new.integral(c) for c in mine))
        return total

    assert evidence.within_gain is not None
    assert evidence.within_weight is not None
    rise = conditional(evidence.within_weight) - conditional(0.0)
    assert evidence.within_gain == pytest.approx(rise, rel=1e-8, abs=1e-8)
    for w in (0.0, 0.5, 1.0, 2.0, 4.0):
        assert conditional(w) - conditional(0.0) <= evidence.within_gain + 1e-8


def test_a_window_that_ends_where_the_exposure_begins_is_no_support() -> None:
    """It ends a few roundings late, so that whoever falls on its end counts; but nobody was at risk while it was on."""
    log = EventLog.from_columns(
        ["a", "a", "b", "b"], np.array([0.0, 7.0, 1.0, 7.0]), ["A", "Y", "A", "Y"], periods=(5.0, 10.0)
    )
    risk = exposure(log, Head("Y"))
    rate = Rate.of(risk, (), (), (), [], [-1.0], np.ones(2))
    oracle = Oracle(Grounding(log, Feature("exists", window(5.0))), risk, rate, unit=log.group)
    assert oracle.evidence(parse_rule("Y <-| A")).support == 1


@pytest.mark.parametrize("head", [Head("Y"), Head("Y", reset_by="R"), Head("Y", terminal=True)], ids=str)
def test_gain_within_entities_is_left_out_where_it_would_deceive(head: Head) -> None:
    """On logs without rules, an exposure that ends at heads makes rules look within an entity as if they said when.

    A gain of chance exceeds g in e^−g of logs at most (design 6), so that five of them exceed 20 in 2 of 100,000 cases.
    """
    told, apparent = 0.0, 0.0
    rule = parse_rule("Y <- A")
    for seed in range(5):
        log = simulate([], head=head, base=-2.0, predicates=["A", "B", "R"], entities=400, seed=seed).log
        study = Study(log, head)
        oracle = study.oracle(study.fit([]))
        evidence = oracle.evidence(rule)
        heads = np.diff(study.exposure.head_offsets).astype(np.float64)
        within, _ = oracle.effect(rule).within_gain(heads, oracle.expected_by_entity, log.group, 10.0)
        assert evidence.within_gain == (None if head.ends_own_exposure else within)
        told += evidence.gain
        apparent += within
    assert told < 20
    assert (apparent > 20) == head.ends_own_exposure


@pytest.mark.parametrize("text", ["Y <- A", "Y <- A < B", "Y <-| A", "Y <- Smokes"])
def test_reward_is_the_slope_of_the_marginal_likelihood_of_frailty(text: str) -> None:
    world = random_world(21, entities=30, most_events=9)
    world = World(world.log, exposure(world.log, Head("Y")), world.random)
    rule = parse_rule(text)
    grounding = Grounding(world.log)
    variance, base = 0.4, -2.0
    before = build_segments(world.exposure, ())
    found = log_likelihood(before, [], [base], variance=variance, heterogeneity="gamma", units=world.log.group)
    multiplier = found.multiplier[world.log.group]
    rate = Rate.of(world.exposure, (), (), (), [], [base], multiplier)
    oracle = Oracle(grounding, world.exposure, rate, unit=world.log.group)
    segments = build_segments(world.exposure, [grounding.path(rule)])
    slope = log_likelihood(
        segments, [0.0], [base], signs=[rule.sign], variance=variance, heterogeneity="gamma", units=world.log.group
    ).gradient[0]
    assert oracle.evaluate([rule], "gradient")[0] == pytest.approx(slope, rel=1e-9)


def test_evidence_says_what_is_missing() -> None:
    rule = parse_rule("Y <- A < B")
    grammar = Grammar(body=("A", "B", "C"), max_length=2)
    length = description_length(rule, grammar)

    def evidence(**changes: float | None) -> Evidence:
        fields: dict[str, Any] = {
            "rule": rule, "observed": 40.0, "expected": 20.0, "reward": 20.0, "gain": 30.0, "weight": 0.7,
            "within_gain": 25.0, "within_weight": 0.6, "clustered_z": 4.0, "support": 12, "description_length": length,
        }  # fmt: skip
        return Evidence(**{**fields, **changes})

    assert evidence().objections() == ()
    assert evidence().worth == pytest.approx(30.0 - length)
    assert evidence().label() == "says when"
    assert evidence(within_gain=1.0).label() == "marks which entities"
    assert evidence(within_gain=None).label() == "not tested"
    assert evidence(gain=1.0).label() == "does not pass"
    assert evidence(within_gain=1.0).objections() == ()
    assert evidence(within_gain=1.0).objections(within=True) == ("marks which entities",)
    assert evidence(gain=1.0).objections() == (f"gain 1.0, above {length + math.log(20):.1f} needed",)
    assert evidence(gain=4.0, description_length=0.0).objections() == ()  # a rule named beforehand
    assert evidence(gain=2.0, description_length=0.0).objections() == ("gain 2.0, above 3.0 needed",)
    assert evidence(support=3).objections() == ("seen in 3 groups, 5 needed",)
    assert "clustered z 1.0" in evidence(clustered_z=1.0).objections()[0]


def test_batches_of_arrays_have_no_gain_with_decay() -> None:
    world = random_world(3)
    oracle, _ = random_oracle(world, Feature("exists", decay(1.0)))
    with pytest.raises(OptionError, match="ask `evaluate` for rules"):
        oracle.gains(compile_bodies([parse_rule("Y <- A")], world.log))


def test_a_log_without_heads_or_exposure_earns_nothing() -> None:
    log = EventLog.from_columns(
        ["a", "a"], np.array([1.0, 2.0]), ["A", "B"], periods=(5.0, 5.0), predicates=["A", "B", "Y"]
    )
    for feature in (Feature(), Feature("count"), Feature("exists", window(1.0)), Feature("count", decay(1.0))):
        grounding = Grounding(log, feature)
        gone = exposure(log, "Y")
        oracle = Oracle(grounding, gone, Rate.of(gone, (), (), (), [], [0.0], np.ones(1)), unit=log.group)
        assert oracle.evaluate([parse_rule("Y <- A < B")], "gradient").tolist() == [0.0]
        assert oracle.evaluate([parse_rule("Y <- A < B")], "gain").tolist() == [0.0]
        assert oracle.evidence(parse_rule("Y <- A < B")).objections()
