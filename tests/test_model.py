"""Weighing given rules: what a model says, and that what it says follows from the likelihood."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import chronorule as cr
import reference
from chronorule.errors import (
    ChronoruleError,
    DataError,
    DataWarning,
    FitWarning,
    OptionError,
    RuleError,
    UnknownPredicateError,
)
from chronorule.model import Study, weigh
from chronorule.model.weighted_rule import format_table, per_unit
from worlds import random_feature, random_log, random_rule, random_world

SEEDS = st.integers(0, 2**32 - 1)


def large_log(seed: int = 0, entities: int = 200) -> cr.EventLog:
    """Heads at rate 0.1, and at 0.4 after A < B: the truth of the tests below."""
    random = np.random.default_rng(seed)
    owner, times, names = [], [], []
    for c in range(entities):
        happened = {name: np.sort(random.uniform(0, 20, random.poisson(1.5))) for name in "ABC"}
        late = happened["B"][happened["B"] > (happened["A"][0] if len(happened["A"]) else np.inf)]
        change = late[0] if len(late) else 20.0
        heads = np.concatenate(
            [
                random.uniform(0, change, random.poisson(0.1 * change)),
                random.uniform(change, 20, random.poisson(0.4 * (20 - change))),
            ]
        )
        for name, when in {**happened, "Y": heads}.items():
            owner += [f"p{c}"] * len(when)
            times += when.tolist()
            names += [name] * len(when)
    everyone = {f"p{c}": (0.0, 20.0) for c in range(entities)}
    return cr.EventLog.from_columns(owner, np.array(times), names, periods=everyone, unit="hours")


def test_the_true_rule_gets_its_true_weight() -> None:
    model = cr.reweigh("Y <- A < B\nY <- C", large_log(), "Y")
    true, idle = model.rules
    # the standard error is the scale on which the estimate may miss: within 3 of them
    assert abs(true.weight - math.log(4)) < 3 * true.stderr
    assert idle.weight < 3 * max(idle.stderr if idle.stderr == idle.stderr else 0.1, 0.1)
    assert true.ratio == pytest.approx(math.exp(true.weight))
    assert true.interval[0] < true.ratio < true.interval[1]
    assert true.label == "says when"
    assert true.gain > 50
    assert true.worth == true.gain  # a rule named beforehand costs nothing to name
    assert true.objections() == ()
    assert idle.label == "does not pass"
    assert "against it: gain" in str(model)
    assert "says: when = tells when a head comes; – = does not pass" in str(model)


def test_rules_that_were_searched_for_pay_for_their_names() -> None:
    log = large_log()
    study = Study(log, cr.Head("Y"))
    grammar = cr.Grammar(max_length=2).resolve(log.predicates, exclude=["Y"])
    rule = cr.parse_rule("Y <- A < B")
    item = weigh(study, [rule], grammar).rules[0]
    assert item.worth == pytest.approx(item.gain - cr.description_length(rule, grammar))


def test_a_model_is_plain_values_for_json() -> None:
    log = large_log()
    shown = cr.EventLog.from_columns(
        ["p0", "p0", "p1"], np.array([1.0, 2.0, 3.0]), ["A", "Y", "B"], periods=(0.0, 9.0), predicates=log.predicates
    )
    record = json.loads(json.dumps(cr.reweigh("Y <- B", shown).to_dict(), allow_nan=False))
    assert record["rules"][0]["rule"] == "Y <- B"
    assert record["rules"][0]["stderr"] is None
    assert record["head"] == {"name": "Y", "terminal": False, "reset_by": None, "at_risk_from_start": True}
    assert record["grammar"] is None
    searched = weigh(Study(log, cr.Head("Y")), [], cr.Grammar(max_length=2).resolve(log.predicates, exclude=["Y"]))
    assert cr.Grammar.from_dict(searched.to_dict()["grammar"]) == searched.grammar


@given(SEEDS)
@settings(max_examples=20)
def test_gain_is_what_the_likelihood_loses_without_the_rule(seed: int) -> None:
    world = random_world(seed, entities=20, most_events=8)
    if world.exposure.n_heads == 0:
        return
    study = Study(world.log, world.exposure.head, random_feature(world.random))
    rules = list({rule.key: rule for rule in (random_rule(world.random, most=3) for _ in range(3))}.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = weigh(study, rules)
        for place, item in enumerate(model.rules):
            others = [other.rule for k, other in enumerate(model.rules) if k != place]
            without = study.fit(others).solution.log_likelihood
            # both optima are exact to about 1e-8 per head
            assert item.gain == pytest.approx(model.training.log_likelihood - without, abs=1e-5)
            assert item.evidence.gain <= item.gain + 1e-5


@given(SEEDS)
@settings(max_examples=25)
def test_log_likelihood_and_intensity_are_those_written_out(seed: int) -> None:
    world = random_world(seed, entities=3, most_events=7)
    feature = random_feature(world.random)
    rules = list({rule.key: rule for rule in (random_rule(world.random, most=3) for _ in range(2))}.values())
    study = Study(world.log, world.exposure.head, feature, heterogeneity="none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = weigh(study, rules)
    kept = [item.rule for item in model.rules]
    weights = [item.weight for item in model.rules]
    slow = reference.SlowModel(world.log, world.exposure, feature, kept, weights, model.baseline[0])
    # quadrature of decays is good to 1e-12; sums of a few dozen terms
    assert model.log_likelihood(world.log) == pytest.approx(slow.log_likelihood(), rel=1e-8, abs=1e-8)
    assert model.training.log_likelihood == pytest.approx(slow.log_likelihood(), rel=1e-8, abs=1e-8)
    times = np.arange(-1.0, 16.0, 0.5)
    for c in range(3):
        intervals = list(slow.intervals(c))
        expected = [slow.rate(c, float(t)) if any(a < t <= b for a, b in intervals) else 0.0 for t in times]
        np.testing.assert_allclose(model.intensity(world.log, c, times), expected, rtol=1e-9, atol=1e-12)


def test_intensity_learns_the_entity_from_its_own_past_alone() -> None:
    log = large_log()
    model = cr.reweigh("Y <- A < B", log)
    model = cr.RuleModel(**{**model.__dict__, "variance": 0.5})
    times = np.array([3.0, 7.0, 15.0])
    rates = model.intensity(log, "p3", times)
    slow = reference.SlowModel(
        log.select(["p3"]), cr.exposure(log.select(["p3"]), "Y"), cr.Feature(), [model.rules[0].rule],
        [model.rules[0].weight], model.baseline[0],
    )  # fmt: skip
    for t, rate in zip(times.tolist(), rates.tolist(), strict=True):
        heads = sum(head < t for head in slow.heads(0))
        expected = slow.integral(0, lambda s, t=t: float(s < t), [t])
        assert rate == pytest.approx(slow.rate(0, t) * (1 + 0.5 * heads) / (1 + 0.5 * expected), rel=1e-12)


def test_an_entity_baseline_uses_the_whole_record() -> None:
    log = large_log(entities=60)
    model = cr.reweigh("Y <- A < B", log, heterogeneity="entity")
    chosen = log.select(["p1"])
    risk = cr.exposure(chosen, "Y")
    grid = np.linspace(0, 20, 20001)
    mass = np.trapezoid(model.intensity(log, "p1", np.maximum(grid, 1e-9)), grid)
    # λ jumps once, so the trapezium is off by at most one cell of width 1e-3 times the rate
    assert mass == pytest.approx(risk.n_heads, abs=0.02)


def test_a_model_reads_back_its_own_text() -> None:
    log = large_log()
    model = cr.reweigh("Y <- A < B\nY <-| C", log, "Y")
    lines = cr.parse_rules(model.to_text())
    assert [line.weight for line in lines] == [item.weight for item in model.rules]
    again = cr.reweigh(model.to_text(), log)
    assert [item.rule for item in again.rules] == [item.rule for item in model.rules]
    assert [item.weight for item in again.rules] == [item.weight for item in model.rules]


def test_the_printed_model_fits_80_columns() -> None:
    random = np.random.default_rng(4)
    names = [f"A rather long name of a predicate, the {k}th" for k in range(6)]
    owner = [f"e{k % 30}" for k in range(900)]
    happened = [str(name) for name in random.choice([*names, "Y"], 900)]
    log = cr.EventLog.from_columns(owner, random.uniform(0, 9, 900), happened, periods=(0.0, 9.0))
    text = " < ".join(f'"{name}"' for name in names)
    model = cr.reweigh(f"Y <- {text}\nY <-| " + '"' + names[0] + '"', log)
    printed = str(model)
    assert all(len(line) <= 80 for line in printed.splitlines()), printed
    assert "e+06" in format_table([cr.WeightedRule(**{**model.rules[0].__dict__, "gain": 2.5e6})])


def test_numbers_at_a_bound_are_dashes() -> None:
    log = large_log()
    shown = cr.EventLog.from_columns(
        ["p0", "p0", "p1"], np.array([1.0, 2.0, 3.0]), ["A", "Y", "B"], periods=(0.0, 9.0), predicates=log.predicates
    )
    model = cr.reweigh("Y <- B", shown)
    assert any("'Y <- B' was active: weight 0" in note for note in model.notes)
    assert math.isnan(model.rules[0].stderr)
    assert "–" in str(model)


def test_twins_are_told_apart_by_length_and_key() -> None:
    owner = ["a", "a", "a", "b", "b", "b"]
    log = cr.EventLog.from_columns(
        owner, np.array([1.0, 2.0, 3.0, 1.0, 4.0, 5.0]), ["A", "B", "Y", "A", "B", "Y"], periods=(0.0, 9.0)
    )
    model = cr.reweigh("Y <- A < B\nY <- B\nY <- A", log)
    assert "'Y <- A < B' is active exactly when 'Y <- B' is: left out." in model.notes
    assert [item.rule.key for item in model.rules] == ["Y <- B", "Y <- A"]


def test_terminal_heads_have_no_frailty_unless_nested() -> None:
    log = large_log(entities=40)
    model = cr.reweigh("Y <- A", log, cr.Head("Y", terminal=True))
    assert model.heterogeneity == "none"
    assert any("cannot tell a frailty from a falling rate" in note for note in model.notes)
    nested = cr.EventLog.from_columns(
        [log.entities[c] for c in np.repeat(np.arange(40), np.diff(log.offsets))],
        log.times,
        [log.predicates[p] for p in log.codes],
        periods=(0.0, 20.0),
        group={name: f"g{k % 8}" for k, name in enumerate(log.entities)},
    )
    model = cr.reweigh("Y <- A", nested, cr.Head("Y", terminal=True))
    assert model.heterogeneity == "gamma"
    assert model.rules[0].evidence.within_gain is None
    for head in (cr.Head("Y", terminal=True), cr.Head("Y", reset_by="C")):
        for one in (log, nested):
            with pytest.raises(OptionError, match=r"'entity' cannot be used for 'Y': .* ends its own exposure, .* use"):
                cr.reweigh("Y <- A", one, head, heterogeneity="entity")


def test_rules_of_a_head_that_ends_its_own_exposure_are_not_tested_within_entities() -> None:
    log = large_log(entities=200)
    item = cr.reweigh("Y <- A < B", log, cr.Head("Y", reset_by="C")).rules[0]
    assert item.label == "not tested"
    assert item.to_dict()["within_gain"] is None
    assert "n.t. = passes; when or who is not tested where heads end their own" in format_table([item])


@pytest.mark.parametrize("heterogeneity", ["gamma", "none", "entity"])
def test_shifting_time_changes_nothing(heterogeneity: str) -> None:
    log = large_log(entities=60)
    owner = [log.entities[c] for c in np.repeat(np.arange(60), np.diff(log.offsets))]
    names = [log.predicates[p] for p in log.codes]
    shifted = cr.EventLog.from_columns(owner, log.times + 1024.0, names, periods=(1024.0, 1044.0))
    one = cr.reweigh("Y <- A < B", log, heterogeneity=heterogeneity, baseline=[5.0])  # type: ignore[arg-type]
    other = cr.reweigh("Y <- A < B", shifted, heterogeneity=heterogeneity, baseline=[5.0])  # type: ignore[arg-type]
    # times lose 1024/20 of their last bits: about 1e-12 in integrals; the master stops at 1e-8 per head
    assert one.rules[0].weight == pytest.approx(other.rules[0].weight, abs=1e-7)
    assert one.training.log_likelihood == pytest.approx(other.training.log_likelihood, abs=1e-7)


def test_a_doubled_log_has_twice_the_likelihood_and_the_same_weights() -> None:
    log = large_log(entities=50)
    owner = [log.entities[c] for c in np.repeat(np.arange(50), np.diff(log.offsets))]
    names = [log.predicates[p] for p in log.codes]
    twice = cr.EventLog.from_columns(
        owner + [f"copy of {name}" for name in owner],
        np.concatenate([log.times, log.times]),
        names + names,
        periods={name: (0.0, 20.0) for c in log.entities for name in (c, f"copy of {c}")},
    )
    one = cr.reweigh("Y <- A < B\nY <-| C", log, heterogeneity="none")
    two = cr.reweigh("Y <- A < B\nY <-| C", twice, heterogeneity="none")
    assert two.training.log_likelihood == pytest.approx(2 * one.training.log_likelihood, rel=1e-9)
    for a, b in zip(one.rules, two.rules, strict=True):
        assert a.weight == pytest.approx(b.weight, abs=1e-7)


def test_a_head_that_never_happens_is_explained() -> None:
    log = cr.EventLog.from_columns(
        ["a", "a"], np.array([1.0, 2.0]), ["A", "B"], periods=(0.0, 9.0), predicates=["A", "B", "Y"]
    )
    with pytest.warns(FitWarning, match="'Y' never happens within the exposure"):
        model = cr.reweigh("Y <- A < B", log)
    assert model.rules[0].weight == 0.0
    assert math.isfinite(model.training.log_likelihood)
    assert "note: no head happened" in str(model)


def test_heads_outside_the_exposure_are_reported() -> None:
    log = cr.EventLog.from_columns(["a"] * 4, np.array([1.0, 2.0, 3.0, 8.0]), ["A", "Y", "Y", "Y"], periods=(0.0, 5.0))
    model = cr.reweigh("Y <- A", log)
    assert model.training.heads == 2
    assert any("1 of 3 occurrences of 'Y' lie outside the exposure" in note for note in model.notes)
    assert any("1 after it" in note for note in model.notes)
    assert all(len(line) <= 80 for line in str(model).splitlines())


def test_a_model_meets_a_log_that_lacks_its_predicates() -> None:
    model = cr.reweigh("Y <- A < B", large_log(entities=40))
    bare = cr.EventLog.from_columns(["a"], np.array([1.0]), ["A"], periods=(0.0, 9.0))
    with pytest.warns(DataWarning, match="does not know 'Y', 'B'"):
        value = model.log_likelihood(bare)
    # no head and no completion: minus the base rate's integral, with the frailty's variance
    mass = 9.0 * math.exp(model.baseline[0])
    assert value == pytest.approx(-mass if model.variance == 0 else -math.log1p(model.variance * mass) / model.variance)
    with pytest.warns(DataWarning, match="does not know"):
        np.testing.assert_allclose(model.intensity(bare, "a", [5.0, 20.0])[1], 0.0)


def test_bad_calls_are_answered_in_one_sentence() -> None:
    log = random_log(np.random.default_rng(0))
    model = cr.reweigh("Y <- A < B", large_log(entities=40))
    calls = [
        (lambda: cr.reweigh("Y <- Aa", log), UnknownPredicateError, "Aa"),
        (lambda: cr.reweigh("Z <- A", log, "Y"), RuleError, "explains 'Z', but the head is 'Y'"),
        (lambda: cr.reweigh("Y <- A\nReset <- B", log), RuleError, "explain 2 heads"),
        (lambda: cr.reweigh("# nothing", log), RuleError, "no rule in the text"),
        (lambda: cr.reweigh("Y <- A", log, heterogeneity="some"), OptionError, "heterogeneity='some' is unknown"),  # type: ignore[arg-type]
        (lambda: cr.reweigh("Y <- A", log, kernel="gauss"), OptionError, "is none of step"),
        (lambda: cr.reweigh("Y <- A", log, kernel=12), OptionError, "kernel '12' is none of step"),  # type: ignore[arg-type]
        (lambda: cr.reweigh("Y <- A", log, span="6h"), OptionError, "span=6h excludes every match"),  # type: ignore[arg-type]
        (lambda: cr.reweigh("Y <- A", log, baseline=12), OptionError, "is not a list of times"),  # type: ignore[arg-type]
        (lambda: cr.reweigh("Y <- A", log, baseline="12"), OptionError, "'12' is not a list of times"),  # type: ignore[arg-type]
        (lambda: cr.reweigh([3], log), RuleError, "3 is no rule; give rules, or their text"),  # type: ignore[list-item]
        (lambda: cr.reweigh(None, log), RuleError, "None holds no rules; give rules, or their text"),  # type: ignore[arg-type]
        (lambda: cr.reweigh("Y <- A", {"entity": []}), DataError, "log is of type dict, not an EventLog"),  # type: ignore[arg-type]
        (lambda: cr.reweigh("rules.txt", log), RuleError, r"looks like the name of a file; .*read_text"),
        (lambda: Study(log, cr.Head("Y")).fit(["Y <- Aa"]), UnknownPredicateError, "Aa"),
        (lambda: model.intensity(large_log(entities=40), "p1", ["2150-01-01"]), OptionError, "log.notes.origin"),
        (lambda: cr.reweigh("Y <- A", log, threads=0), OptionError, "leaves nothing to work with"),
        (lambda: cr.reweigh("Y <- A", log, baseline=[-1.0]), OptionError, "must be finite, positive and rising"),
        (lambda: cr.reweigh("Y <- A", log, penalty=-1.0), OptionError, "would reward long rules"),
        (lambda: model.intensity(large_log(entities=40), "p1", [float("nan")]), OptionError, "finite numbers"),
    ]
    for call, error, sentence in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(error, match=sentence) as caught:
                call()
        assert isinstance(caught.value, ChronoruleError)
        assert "\n" not in str(caught.value)


def test_no_rules_at_all_is_a_model_too() -> None:
    log = large_log(entities=40)
    model = cr.reweigh("", log, "Y")
    assert model.rules == ()
    assert model.training.log_likelihood == model.training.log_likelihood_without_rules
    assert "0 rules" in str(model)


def test_one_rule_needs_no_list() -> None:
    rule = cr.parse_rule("Y <- A < B")
    log = large_log(entities=40)
    assert cr.reweigh(rule, log).to_text() == cr.reweigh("Y <- A < B", log).to_text()


def test_tiny_weights_are_shown() -> None:
    """φ counts matches, of which there can be thousands, so that the weight of one is tiny without being 0."""
    assert [per_unit(value) for value in (0.0, 7.23e-7, -1.2e-5, 0.0004, 0.0005, 1.25)] == [
        "0.000",
        "7.2e-07",
        "-1.2e-05",
        "4.0e-04",
        "0.001",
        "1.250",
    ]


def test_a_weight_that_the_log_says_nothing_about_has_an_interval_without_end() -> None:
    """Its standard error is in the thousands, and e to that is beyond the numbers of the machine."""
    item = cr.WeightedRule(cr.parse_rule("Y <- A"), 7.0, 1677.0, 0.0, 0, None)
    assert item.interval == (0.0, math.inf)
    assert item.to_dict()["ratio_high"] is None
    assert "0.00 to ∞" in format_table([item])
    lowering = cr.WeightedRule(cr.parse_rule("Y <-| A"), 7.0, 1677.0, 0.0, 0, None)
    assert lowering.interval == (0.0, math.inf)


def test_columns_stay_apart_however_large_the_numbers() -> None:
    item = cr.WeightedRule(cr.parse_rule("Y <- A"), 10.0, math.nan, 1e6, 123_456_789, None)
    numbers = format_table([item]).splitlines()[2]
    assert numbers.split() == ["10.000", "–", "2.2e4", "–", "123,456,789", "–", "1.00e+06"]
    wide = cr.WeightedRule(cr.parse_rule("Y <- A"), 9.0, 0.5, 1.0, 5, None)
    assert "8.1e3" in format_table([wide]) or "8,103.08" in format_table([wide])
    assert all(len(line) <= 80 for line in format_table([item, wide]).splitlines())


def test_matches_and_p_values_of_a_rule() -> None:
    log, truth = cr.simulate("Y <- A < B  w = 1.0", predicates=3, entities=200, rates=0.1, seed=4)
    item = cr.reweigh(truth.rules, log, "Y").rules[0]
    done = cr.completions("Y <- A < B", log)
    assert item.matches == done.multiplicity.sum()
    assert item.entities == len(set(done.entity.tolist()))
    assert item.evidence is not None
    assert item.p_value == pytest.approx(stats.norm.sf(item.evidence.clustered_z), rel=1e-12)
    lowering = replace(item, rule=cr.parse_rule("Y <-| A < B"))
    assert lowering.p_value == pytest.approx(1 - item.p_value, rel=1e-12)


def test_the_table_says_what_speaks_against_a_rule_within_entities() -> None:
    log, truth = cr.simulate("Y <- A < B  w = 1.0", predicates=3, entities=200, rates=0.1, seed=4)
    item = cr.reweigh(truth.rules, log, "Y").rules[0]
    assert item.evidence is not None
    marking = replace(item, evidence=replace(item.evidence, within_gain=0.1))
    assert "against it" not in format_table([marking])
    assert "against it: marks which entities" in format_table([marking], within=True)
