"""`simulate`: bodies, planted rules, decoys, redraws, seeds and options."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import chronorule
from chronorule.errors import DataError, OptionError, RuleSyntaxError, UnknownPredicateError
from chronorule.events import EventLog, Head, exposure
from chronorule.grounding import Feature, Grounding, completions, window
from chronorule.likelihood import log_rate
from chronorule.rules import Rule, parse_rule, parse_rules
from chronorule.simulate import Simulated, simulate
from chronorule.simulate.instants import Clock
from chronorule.simulate.patterns import Pattern
from reference import matches
from worlds import random_rule

LEVEL = 1e-3  # of the tests of Kolmogorov, Smirnov and Pearson
CHAIN = "Y <- A < B < C = D"


def body_only(log: EventLog, head: str = "Y") -> tuple[list[int], list[float], list[int]]:
    """Entity, time and code of the events other than heads."""
    owner = np.repeat(np.arange(log.n_entities), np.diff(log.offsets))
    rest = log.codes != (log.code(head) if head in log.predicates else -1)
    return owner[rest].tolist(), log.times[rest].tolist(), log.codes[rest].tolist()


def completing(rule: str | Rule, log: EventLog) -> NDArray[np.int64]:
    """Entities in which the rule completes."""
    return np.unique(completions(rule, log).entity)


# What comes out


def test_log_and_truth_unpack() -> None:
    made = simulate(CHAIN, [1.0], entities=5, unit="days", seed=3)
    log, truth = made
    assert isinstance(made, Simulated)
    assert made.log is log
    assert made.truth is truth
    assert log.entities == ("1", "2", "3", "4", "5")
    assert log.predicates == ("A", "B", "C", "D", "Y")
    assert (log.unit, log.resolution, log.has_groups) == ("days", 0.0, False)
    assert (log.start.tolist(), log.stop.tolist()) == ([0.0] * 5, [20.0] * 5)
    assert not log.notes.periods_by_default
    assert log.notes.rows - log.notes.duplicates == log.n_events
    assert truth.rules == (parse_rule(CHAIN),)
    assert truth.weights.tolist() == [1.0]
    assert truth.base.tolist() == [-2.5]
    assert truth.head == Head("Y")
    assert truth.feature == Feature()
    assert truth.multipliers.tolist() == [1.0] * 5
    assert (truth.shape, truth.seed, truth.drawn, truth.redrawn) == (None, 3, 5, 0)
    assert repr(truth) == "Truth(1 rules for 'Y', base -2.5, seed 3)"


def test_log_is_what_the_reader_would_build() -> None:
    log, _ = simulate(CHAIN, [1.0], predicates=8, static={"Old": 0.5}, entities=40, planted=0.5, seed=4)
    owner = np.repeat(log.entities, np.diff(log.offsets))
    static = {
        name: [log.predicates[code] for code in log.static_codes[a:b]]
        for name, a, b in zip(log.entities, log.static_offsets[:-1], log.static_offsets[1:], strict=True)
    }
    again = EventLog.from_columns(
        owner.tolist(),
        log.times,
        [log.predicates[code] for code in log.codes],
        periods=dict.fromkeys(log.entities, (0.0, 20.0)),
        static=static,
        predicates=log.predicates,
    )
    assert again.equals(log)


def test_rules_may_be_text_objects_or_lines_of_a_file() -> None:
    text = "Y <- A < B  w = 0.5\n# a comment\nY <-| C  w = 0.25\n"
    first = simulate(text, entities=20)
    lines = parse_rules(text)
    rules = [line.rule for line in lines]
    for rules_given, weights in (
        (lines, None),
        (rules, [0.5, 0.25]),
        (["Y <- A < B", rules[1]], np.array([0.5, 0.25])),
        (first.truth.to_text(), None),
    ):
        again = simulate(rules_given, weights, entities=20)
        assert again.log.equals(first.log)
        assert again.truth.rules == first.truth.rules
    assert first.truth.signs.tolist() == [1.0, -1.0]
    assert simulate(rules[0], [0.5], entities=20).truth.rules == (rules[0],)


def test_package_and_function_of_one_name_are_both_callable() -> None:
    """`import chronorule.simulate` binds the package to the name by which users call the function."""
    program = "import chronorule.simulate; print(chronorule.simulate('Y <- A', [1.0], entities=7).log.n_entities)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "7\n"
    assert inspect.signature(sys.modules["chronorule.simulate"]) == inspect.signature(simulate)
    assert chronorule.__doc__


# Seeds


def test_same_seed_same_log_and_another_seed_another() -> None:
    options: dict[str, Any] = {"predicates": 10, "entities": 60, "planted": 0.3, "decoys": 0.3, "heterogeneity": 2.0}
    one, same, other = (simulate(CHAIN, [1.0], seed=seed, **options) for seed in (5, 5, 6))
    assert one.log.equals(same.log)
    assert np.array_equal(one.truth.multipliers, same.truth.multipliers)
    assert np.array_equal(one.truth.decoys, same.truth.decoys)
    assert not one.log.equals(other.log)
    assert simulate(CHAIN, [1.0], seed=(5, 1), **options).truth.seed == (5, 1)
    assert not simulate(CHAIN, [1.0], seed=(5, 1), **options).log.equals(one.log)


def test_seed_does_not_depend_on_threads() -> None:
    def draw(seed: int) -> EventLog:
        return simulate(CHAIN, [1.0], predicates=10, entities=100, planted=0.3, decoys=0.3, seed=seed).log

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(draw, range(8)))
    assert all(log.equals(draw(seed)) for seed, log in enumerate(together))


def test_options_change_only_what_they_speak_of() -> None:
    def bodies(**options: Any) -> tuple[list[int], list[float], list[int]]:
        return body_only(simulate([CHAIN, "Y <- A < D"], predicates=9, entities=80, seed=7, **options).log)

    plain = bodies(weights=[1.0, 1.0], planted=[0.4, 0.0])
    assert bodies(weights=[0.1, 0.2], planted=[0.4, 0.0], base=-1.0, feature="count", heterogeneity=1.0) == plain
    more = bodies(weights=[1.0, 1.0], planted=[0.4, 0.5], decoys=[0.0, 0.2])
    assert set(zip(*plain, strict=True)) < set(zip(*more, strict=True))


# Background


def test_background_is_poisson_on_the_grid() -> None:
    """A tick holds a predicate with chance 1 − e^(−rate·grid), all independent."""
    entities, rates = 3000, {"A": 0.05, "B": 0.5, "C": 0.0}
    log, _ = simulate([], [], predicates=["A", "B", "C"], rates=rates, entities=entities, base=-20.0, seed=8)
    ticks = np.rint(log.times * 10)
    assert (log.times == ticks / 10).all()  # 0.3, not 0.30000000000000004
    assert ticks.min() == 1
    assert ticks.max() == 200
    assert log.n_events == log.notes.rows - log.notes.duplicates
    counts = np.bincount(log.codes, minlength=3)[:3]
    chance = 1 - np.exp(-0.1 * np.array([rates[name] for name in "ABC"]))
    error = np.sqrt(entities * 200 * chance * (1 - chance))
    assert (np.abs(counts - entities * 200 * chance) <= 4 * error).all()
    assert stats.chisquare(np.bincount(ticks.astype(int))[1:]).pvalue > LEVEL


def test_background_without_grid_is_uniform() -> None:
    log, _ = simulate([], [], predicates=3, rates=0.5, grid=0, horizon=7.0, entities=500, base=-20.0, seed=9)
    assert log.times.min() > 0
    assert log.times.max() <= 7.0
    assert stats.kstest(log.times, "uniform", (0, 7.0)).pvalue > LEVEL
    assert abs(log.n_events - 3 * 0.5 * 7.0 * 500) < 4 * np.sqrt(3 * 0.5 * 7.0 * 500)
    assert np.unique(log.times).size == log.n_events


@pytest.mark.parametrize(("grid", "horizon", "last"), [(0.3, 1.0, 0.9), (1.0, 7.0, 7.0), (0.25, 1.0, 1.0), (3, 8, 6)])
def test_grid_that_does_not_fill_the_horizon(grid: float, horizon: float, last: float) -> None:
    log, _ = simulate([], [], predicates=1, rates=3.0, grid=grid, horizon=horizon, entities=50, base=-20.0)
    assert np.unique(log.times).tolist() == [pytest.approx(grid * k) for k in range(1, round(last / grid) + 1)]


def test_static_properties_hold_for_their_share_and_raise_rates() -> None:
    log, truth = simulate("Y <- Old  w = 1.5", static={"Old": 0.3, "Smokes": 1.0}, entities=2000, seed=10)
    has = np.diff(log.static_offsets) == 2
    assert log.is_static(log.code("Old"))
    assert abs(has.sum() - 600) < 4 * np.sqrt(2000 * 0.3 * 0.7)
    heads = np.diff(exposure(log, "Y").head_offsets)
    expected = 20 * np.exp(-2.5 + 1.5 * has)
    np.testing.assert_allclose(Simulated(log, truth).expected(), expected, rtol=1e-12)  # sums of few segments
    for part in (has, ~has):
        assert abs(heads[part].sum() - expected[part].sum()) < 4 * np.sqrt(expected[part].sum())


def test_letters_fill_up_to_a_number_of_predicates() -> None:
    def names(rules: list[str], number: int, **options: Any) -> tuple[str, ...]:
        return simulate(rules, [1.0] * len(rules), predicates=number, entities=1, **options).log.predicates

    assert names(["Y <- B < A"], 4) == ("A", "B", "C", "D", "Y")
    assert names(["A <- Fever"], 3) == ("Fever", "B", "C", "A")
    assert names([], 2, head=Head("Y", reset_by="R"), static={"A": 0.5}) == ("R", "B", "A", "Y")
    assert names([], 28)[23:] == ("X", "Z", "A2", "B2", "C2", "Y")
    assert names([], 0) == ("Y",)


# Planted rules and decoys


@pytest.mark.parametrize("grid", [0.1, 0])
@pytest.mark.parametrize("span", [None, 3.0])
@pytest.mark.parametrize(
    "rule", [CHAIN, "Y <- A & B & C = D", "Y <- A < B & C < B & A < D", "Y <- A < A#2 = B < A#3", "Y <- Old & A < B"]
)
def test_planted_bodies_complete_the_rule(rule: str, span: float | None, grid: float) -> None:
    log, truth = simulate(
        rule, [1.0], rates=0.0, planted=0.4, span=span, grid=grid, static={"Old": 1.0}, entities=400, base=-9.0
    )
    planted = np.flatnonzero(truth.planted[:, 0])
    assert abs(planted.size - 160) < 4 * np.sqrt(400 * 0.4 * 0.6)
    found = completions(rule, log, span)
    assert found.entity.tolist() == planted.tolist()
    assert (found.multiplicity == 1).all()
    assert not truth.decoys.any()


def test_planted_instants_are_uniform() -> None:
    """The instants of a planted chain are the order statistics of a uniform choice of different ticks."""
    log, _ = simulate("Y <- A < B < C", [0.0], rates=0.0, planted=1.0, entities=4000, base=-20.0, seed=11)
    times = log.times.reshape(4000, 3)
    assert (np.diff(times, axis=1) > 0).all()
    assert stats.chisquare(np.bincount(np.rint(log.times * 10).astype(int))[1:]).pvalue > LEVEL
    # k-th of 3 of 200 ticks without replacement: mean k·201/4, variance k(4 − k)·201·197/(16·5)
    k = np.array([1, 2, 3])
    error = np.sqrt(k * (4 - k) * 201 * 197 / 80 / 4000) / 10
    assert (np.abs(times.mean(axis=0) - k * 201 / 40) < 4 * error).all()


def test_planted_order_is_open_where_the_rule_leaves_it_open() -> None:
    log, _ = simulate("Y <- A & B & C < D", [0.0], rates=0.0, planted=1.0, entities=3000, base=-20.0, seed=12)
    order = log.codes.reshape(3000, 4)  # sorted by time
    place = np.argsort(order, axis=1)
    assert (place[:, 2] < place[:, 3]).all()
    first = np.bincount(order[:, 0], minlength=4)[:3]
    assert (np.abs(first - 1000) < 4 * np.sqrt(3000 / 3 * 2 / 3)).all()


RANDOM = st.integers(0, 10**6).map(lambda seed: random_rule(np.random.default_rng(seed), 5, statics=False))


@given(RANDOM, st.sampled_from([0.1, 0.0]), st.integers(0, 1000))
def test_decoys_alone_never_complete_the_rule(rule: Rule, grid: float, seed: int) -> None:
    """Any partial order with Equal classes and repeats; checked by enumeration."""
    if rule.length < 2:
        return
    log, truth = simulate(
        [rule], [1.0], rates=0.0, decoys=1.0, grid=grid, horizon=2.0, entities=12, base=-20.0, seed=seed
    )
    assert truth.decoys.all()
    assert not truth.planted.any()
    sizes = np.diff(log.offsets)
    assert set(sizes.tolist()) <= {rule.length - 1, rule.length}
    assert not any(list(matches(rule, log, c)) for c in range(12))


def test_decoys_come_in_all_kinds() -> None:
    """A < B = C: shuffled or pulled apart keep 3 events, one missing or left out keep 2."""
    log, _ = simulate("Y <- A < B = C", [1.0], rates=0.0, decoys=1.0, entities=3000, base=-20.0, seed=13)
    kinds = {"shuffled": 0, "apart": 0, "missing A": 0, "missing B or C": 0}
    for c in range(log.n_entities):
        rows = slice(log.offsets[c], log.offsets[c + 1])
        at = dict(zip([log.predicates[code] for code in log.codes[rows]], log.times[rows].tolist(), strict=True))
        if len(at) == 3:
            kinds["shuffled" if at["B"] == at["C"] else "apart"] += 1
        else:
            kinds["missing B or C" if "A" in at else "missing A"] += 1
    # a third is shuffled, half of them back in order and drawn again with the same kind; a third is broken, half by
    # moving and half by leaving out; a third lacks one of the three
    chances = np.array([1 / 3, 1 / 6, 1 / 9, 1 / 6 + 2 / 9])
    error = np.sqrt(3000 * chances * (1 - chances))
    assert (np.abs(np.array(list(kinds.values())) - 3000 * chances) < 4 * error).all()


def test_chain_without_equal_is_broken_by_an_exchange_of_neighbours() -> None:
    log, _ = simulate("Y <- A < B < C", [1.0], rates=0.0, decoys=1.0, entities=3000, base=-20.0, seed=14)
    full = np.flatnonzero(np.diff(log.offsets) == 3)
    orders = [tuple(log.codes[log.offsets[c] : log.offsets[c + 1]].tolist()) for c in full]
    neighbours = sum(order in {(1, 0, 2), (0, 2, 1)} for order in orders)
    # a third exchanged, and two of the five wrong orders of the third that is shuffled
    chance = 1 / 3 + 1 / 3 * 2 / 5
    assert abs(neighbours - 3000 * chance) < 4 * np.sqrt(3000 * chance * (1 - chance))


def test_nobody_gets_the_body_and_a_decoy_of_one_rule() -> None:
    _, truth = simulate([CHAIN, "Y <- A < C"], [1.0, 1.0], planted=[0.5, 0.2], decoys=[0.5, 0.3], entities=2000)
    assert (truth.planted[:, 0] ^ truth.decoys[:, 0]).all()
    assert not (truth.planted & truth.decoys).any()
    shares = np.array([0.5, 0.2, 0.5, 0.3])
    found = np.concatenate([truth.planted.mean(axis=0), truth.decoys.mean(axis=0)])
    assert (np.abs(found - shares) < 4 * np.sqrt(shares * (1 - shares) / 2000)).all()
    both = (truth.planted[:, 0] & truth.planted[:, 1]).mean()
    assert abs(both - 0.1) < 4 * np.sqrt(0.09 / 2000)


# Instants


@pytest.mark.parametrize(("span", "grid"), [(0.3, 0.1), (1.0, 1.0), (0.7, 0.1), (2.5, 0.5), (19.9, 0.1), (0.25, 0.0)])
def test_planted_instants_keep_within_the_span_as_it_is_measured(span: float, grid: float) -> None:
    clock = Clock(20.0, grid)
    instants = clock.rising(np.random.default_rng(0), 5000, 2, span)
    assert ((instants[:, 1] - instants[:, 0]) <= span).all()
    assert (np.diff(instants, axis=1) > 0).all()
    assert instants.min() > 0
    assert instants.max() <= 20.0


def test_every_choice_of_ticks_is_equally_likely() -> None:
    clock = Clock(5.0, 1.0)
    chosen = clock.rising(np.random.default_rng(1), 10_000, 3, np.inf)
    _, counts = np.unique(chosen, axis=0, return_counts=True)
    assert counts.size == 10
    assert stats.chisquare(counts).pvalue > LEVEL


def test_crowded_pattern_uses_every_tick() -> None:
    assert Clock(3.0, 1.0).rising(np.random.default_rng(2), 4, 3, np.inf).tolist() == [[1.0, 2.0, 3.0]] * 4


def test_rule_of_statics_alone_has_no_pattern() -> None:
    assert Pattern.of(parse_rule("Y <- Old"), {"A": 0}) is None


# Redraws


@pytest.mark.parametrize("kernel", ["step", window(2.0), "decay(0.3)"], ids=str)
def test_no_entity_passes_what_is_redrawn(kernel: Any) -> None:
    rules, weights = ["Y <- A < B", "Y <-| C"], [0.8, 0.5]
    options: dict[str, Any] = {"rates": 0.15, "feature": "count", "kernel": kernel, "entities": 400, "planted": 0.2}

    def highest(made: Simulated) -> NDArray[np.float64]:
        segments = made.truth.segments(made.log)
        rate = log_rate(segments, made.truth.weights, made.truth.base, signs=made.truth.signs)
        owner = np.repeat(np.arange(400), np.diff(segments.offsets))
        top = np.full(400, -np.inf)
        np.maximum.at(top, owner, rate.just_after_start - made.truth.base[0])
        return top

    free = simulate(rules, weights, **options, base=-12.0)
    kept = simulate(rules, weights, **options, base=-12.0, redraw_above=1.0)
    refused = int((highest(free) > 1.0).sum())
    assert refused > 20
    assert highest(kept).max() <= 1.0
    assert kept.truth.drawn == 400 + kept.truth.redrawn
    # the first round draws the same bodies as without redrawing, and each later one refuses as large a share
    share = refused / 400
    error = np.sqrt(share * (1 - share) / 400)
    assert abs(kept.truth.redrawn_share - share) < 4 * error
    assert abs(kept.truth.planted.mean() - 0.2) < 0.2  # what was refused had more of them
    found = set(np.flatnonzero(kept.truth.planted[:, 0]).tolist())
    assert found <= set(completing("Y <- A < B", kept.log).tolist())


def test_hopeless_redraw_is_refused() -> None:
    with pytest.raises(OptionError, match=r"redraw_above refused [\d,]+ of [\d,]+ drawn entities, so that their log"):
        simulate("Y <- A", [1.0], rates=2.0, redraw_above=0.5, entities=4)


# Options that mean nothing


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rules": ["Y <- A", "Z <- B"]}, 'different heads ("Y", "Z"); simulate one head at a time'),
        ({"head": "Z"}, "head is 'Z', but the rules are for 'Y'; give both the same name"),
        ({"weights": [1.0]}, "The 2 rules come with 1 weights; give one weight for each rule"),
        ({"weights": [1.0, -0.5]}, "weights=[1.0, -0.5] holds what is no weight; give finite numbers of at least 0"),
        ({"weights": [1.0, np.inf]}, "holds what is no weight"),
        ({"weights": [[1.0, 2.0]]}, "weights=[[1.0, 2.0]] is no list of numbers"),
        ({"weights": "heavy"}, "weights='heavy' is no list of numbers"),
        ({"weights": None}, "The rule 'Y <- A' has no weight; write 'w = …' behind each rule or give weights"),
        ({"rules": "Y <- A  w = 1\nY <- B  w = 1"}, "Weights are given twice, in the text of the rules and as weights"),
        ({"rules": ["Y <- A < B", "Y <- B > A"]}, "The rule 'Y <- A < B' is given twice; give it once"),
        ({"rules": 3}, "rules=3 holds no rules; give text such as 'Y <- A < B', or [] for none"),
        ({"head": 4}, "head=4 is no head; give the name of a predicate, or a Head"),
        ({"rules": ["Y <- A", 3]}, "rules holds 3, which is no rule; give text such as 'Y <- A < B'"),
        ({"base": np.inf}, "base=inf does not fit a baseline of 1 pieces"),
        ({"base": [-1.0, -2.0]}, "base=[-1.0, -2.0] does not fit a baseline of 1 pieces; give one finite log-rate"),
        ({"base": "low"}, "base='low' is no list of numbers"),
        ({"baseline": [5.0, 5.0]}, "baseline=[5.0, 5.0] is no row of cut points; give rising, positive times"),
        ({"baseline": [-1.0]}, "baseline=[-1.0] is no row of cut points"),
        ({"entities": 0}, "entities=0 is no number of entities; give a whole number of at least 1"),
        ({"entities": 2.5}, "entities=2.5 is no number of entities"),
        ({"entities": True}, "entities=True is no number of entities"),
        ({"horizon": 0.0}, "horizon=0.0 is no length of time to watch; give a positive, finite number"),
        ({"horizon": np.inf}, "horizon=inf is no length of time to watch"),
        ({"grid": 30.0}, "grid=30.0 puts no tick into the horizon 20; give 0 or a number up to it"),
        ({"grid": -0.1}, "grid=-0.1 puts no tick into the horizon 20"),
        ({"unit": ""}, "unit='' names no unit of time; give text such as 'hours'"),
        ({"rates": -0.1}, "rates=-0.1 holds what is no rate; give finite numbers of at least 0 per unit of time"),
        ({"rates": {"A": 0.1}}, 'rates gives none for "B"; give one for each of the body predicates'),
        ({"rates": {"A": 0.1, "B": 0.1, "Q": 1.0}}, 'rates names "Q", no body predicates; give one for each'),
        ({"rates": [0.1, 0.2]}, "rates=[0.1, 0.2] is neither a number nor {predicate: number}"),
        ({"predicates": 1}, "predicates=1 is fewer than the 2 that rules and head use; give more"),
        ({"predicates": "AB"}, "predicates='AB' is no list of names and no number of them; give one of the two"),
        ({"predicates": ["A", "A", "B"]}, "predicates holds a name twice or what is no name"),
        ({"predicates": ["A", "B", "Y"]}, 'predicates lists "Y", the head or a static property, which are drawn'),
        ({"predicates": ["A", "C"]}, 'The rules or the head use "B", not listed in predicates; add them there'),
        ({"static": {"Y": 0.5}}, "static lists the head or what resets it, which happen at instants; leave it out"),
        ({"static": {"Old": 1.5}}, "static={'Old': 1.5} holds what is no share; give numbers between 0 and 1"),
        ({"static": ["Old"]}, "static=['Old'] is not {property: share of the entities}; give it in this form"),
        ({"planted": 1.5}, "planted=1.5 does not give a chance between 0 and 1 for each of the 2 rules"),
        ({"planted": [0.5]}, "planted=[0.5] does not give a chance between 0 and 1 for each of the 2 rules"),
        ({"decoys": [0.5, np.nan]}, "decoys=[0.5, nan] does not give a chance between 0 and 1"),
        ({"planted": 0.7, "decoys": [0.0, 0.4]}, "'Y <- A < B' or a decoy of it, but the chances 0.7 and 0.4 add up"),
        ({"decoys": 0.1}, "'Y <- A' has one predicate with a time, too few for a decoy; give"),
        (
            {"rules": ["Y <- Old", "Y <- B"], "static": {"Old": 0.5}, "planted": 0.5},
            "'Y <- Old' has no predicate with a time, so nothing can be planted; give this rule the chance 0 in plan",
        ),
        ({"rules": ["Y <- A", "Y <- Y < B"], "planted": 0.1}, "'Y <- Y < B' holds the head, which is drawn and never"),
        ({"horizon": 0.2, "decoys": [0, 0.1]}, "Planting a decoy of 'Y <- A < B' needs 3 different instants, but"),
        ({"horizon": 0.1, "planted": 0.1}, "Planting the body of 'Y <- A < B' needs 2 different instants, but horizon"),
        ({"span": 0.0, "planted": 0.1}, "needs 2 different instants, but horizon, grid and span leave 1; take a finer"),
        ({"redraw_above": 0.0}, "redraw_above=0.0 refuses what no rule has raised; give a positive number, or None"),
        ({"redraw_above": "4"}, "redraw_above='4' refuses what no rule has raised"),
        ({"feature": "some"}, "The feature 'some' is neither 'exists' nor 'count'"),
        ({"kernel": "fade"}, "The kernel 'fade' is none of step, window(WIDTH) and decay(RATE)"),
        ({"span": -1.0}, "span=-1.0 excludes every match"),
        ({"heterogeneity": 0.0}, "heterogeneity=0.0 is no shape of a gamma law; give a positive number"),
        ({"heterogeneity": "gamma"}, "heterogeneity='gamma' is no shape of a gamma law"),
        ({"seed": -1}, "seed=-1 starts no random numbers; give a whole number of at least 0, or several"),
        ({"seed": 1.0}, "seed=1.0 starts no random numbers"),
        ({"seed": [1, -2]}, "seed=[1, -2] starts no random numbers"),
        ({"seed": "1"}, "seed='1' starts no random numbers"),
    ],
    ids=lambda value: ", ".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_option_without_meaning_is_refused_in_one_sentence(options: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"rules": ["Y <- A", "Y <- A < B"], "weights": [1.0, 1.0], "entities": 3, **options}
    with pytest.raises(OptionError, match=re.escape(sentence)) as caught:
        simulate(**given)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_body_that_is_no_log_is_refused() -> None:
    with pytest.raises(DataError, match="body is of type int, not an EventLog; read_events makes one of a table"):
        simulate("Y <- A", [1.0], body=3)  # type: ignore[arg-type]


def test_rule_that_cannot_be_read_is_refused_at_its_column() -> None:
    with pytest.raises(RuleSyntaxError, match="column"):
        simulate("Y <- A <", [1.0])


def test_reset_that_the_body_does_not_know_is_refused() -> None:
    body = EventLog.from_columns(["a"], [1.0], ["A"], periods=(0.0, 2.0))
    with pytest.raises(UnknownPredicateError, match='The log has no predicate "R"'):
        simulate([], [], body=body, head=Head("Y", reset_by="R"))


def test_paths_of_the_truth_are_those_of_its_rules() -> None:
    log, truth = simulate(CHAIN, [1.0], planted=0.5, entities=50, seed=15)
    path = Grounding(log).path(truth.rules[0])
    assert truth.segments(log).X.max() == 1.0
    assert path.times.size == completing(CHAIN, log).size
