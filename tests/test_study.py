"""A rule is judged beside others as they would be after another fit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chronorule as cr
from chronorule.errors import OptionError
from chronorule.grounding import Feature
from chronorule.likelihood import build_segments, unit_scores
from chronorule.model import Study
from worlds import random_feature, random_rule, random_world

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
@settings(max_examples=30)
def test_z_beside_a_fit_takes_out_what_another_fit_would_undo(seed: int) -> None:
    world = random_world(seed, entities=6, most_events=9)
    feature = random_feature(world.random)
    study = Study(world.log, world.exposure.head, feature, cuts=(4.0,) if seed % 2 else ())
    rules = list(dict.fromkeys(random_rule(world.random, most=2) for _ in range(2)))
    fit = study.fit(rules)
    rule = random_rule(world.random, most=3)
    found = study.clustered_z(fit, rule)

    path = study.grounding.path(rule)
    if feature.kernel.name != "decay" or path.constant:
        path = type(path)(path.offsets, path.times, np.minimum(path.values, 1.0), path.decay, path.constant)
    segments = build_segments(study.exposure, [*fit.paths, path], study.cuts)
    solution = fit.solution
    middle = np.array([*solution.weights, 0.0, *solution.baseline])
    place = len(rules)

    def scores(z: np.ndarray) -> np.ndarray:
        return unit_scores(
            segments, z[: place + 1], z[place + 1 :], signs=[*(one.sign for one in rules), rule.sign],
            units=study.log.group, heterogeneity=solution.heterogeneity, variance=solution.variance,
        )[0]  # fmt: skip

    fixed = [*(solution.at_lower | solution.at_upper), True]
    fixed += (solution.baseline_at_lower | solution.baseline_at_upper).tolist()
    free = np.flatnonzero(np.logical_not(fixed))
    turn = np.array([*(one.sign for one in rules), rule.sign, *np.ones(len(solution.baseline))])
    step = 1e-5
    slopes = np.zeros((len(middle), len(middle)))  # of the sums of scores, by differences
    for i in free.tolist():
        move = np.zeros(len(middle))
        move[i] = step * turn[i]
        slopes[i] = (scores(middle + move) - scores(middle - move)).sum(axis=0) / (2 * step)
    here = scores(middle)
    undone = np.linalg.lstsq(slopes[np.ix_(free, free)], slopes[free, place], rcond=1e-6)[0]
    left = here[:, place] - here[:, free] @ undone
    scale = math.sqrt(float((left**2).sum()))
    size = 1e-7 * (1 + np.abs(here).sum())  # of differences and of their solution
    if scale > 1e3 * size:
        assert found == pytest.approx(left.sum() / scale, rel=1e-4, abs=1e-4)


def test_true_rules_pass_beside_one_that_stands_in_for_them() -> None:
    """Two rules, and one of what they share: its surplus is all that they lack while its weight is held."""
    rules = cr.parse_rules("Y <- A < B < C  w = 1.5\nY <- A < B < D  w = 1.5")
    log = cr.simulate(
        [line.rule for line in rules], [1.5, 1.5], predicates=6, entities=400, rates=0.06, planted=0.2, seed=1
    ).log
    study = Study(log, cr.Head("Y"))
    fit = study.fit(["Y <- A < B"])
    for line in rules:
        held = study.oracle(fit).evidence(line.rule).clustered_z
        assert study.clustered_z(fit, line.rule) > held > 0


@given(SEEDS, st.sampled_from([0.1, 0.05, 1 / 60, 1 / 3, 1e-3]), st.integers(0, 10**6))
@settings(max_examples=80)
def test_ends_of_windows_and_spans_fall_on_ticks(seed: int, tick: float, since: int) -> None:
    """A log in ticks that are no binary numbers, and the same with whole numbers of ticks, tell the same."""
    world = random_world(seed, entities=6, most_events=9)
    whole, head = world.log, world.exposure.head
    width, span = (int(world.random.integers(1, 5)) for _ in range(2))
    kind = "exists" if seed % 2 else "count"
    rules = [random_rule(world.random, most=3) for _ in range(4)]

    def gains(tick: float, since: int) -> np.ndarray:
        log = cr.EventLog.from_columns(
            entity=np.repeat(np.array(whole.entities), np.diff(whole.offsets)).tolist(),
            time=(whole.times + since) * tick,
            event=[whole.predicates[code] for code in whole.codes.tolist()],
            periods={
                name: ((start + since) * tick, (stop + since) * tick)
                for name, start, stop in zip(whole.entities, whole.start.tolist(), whole.stop.tolist(), strict=True)
            },
            predicates=whole.predicates,
            resolution=tick,
        )
        found = []
        ends = [float(f"{ticks * tick:.15g}") for ticks in (width, span)]  # 0.3 for three ticks of 0.1, as one writes
        for feature in (Feature(kind, cr.window(ends[0])), Feature(kind, cr.step, ends[1])):
            study = Study(log, head, feature)
            oracle = study.oracle(study.fit([]))
            found += [oracle.evidence(rule).gain for rule in rules]
            found += oracle.evaluate(rules).tolist()
        return np.array(found)

    # times up to 1e6 ticks are known to 1e-10 of a tick, and with them what is expected
    np.testing.assert_allclose(gains(tick, since), gains(1.0, 0), rtol=1e-7, atol=1e-7)


def test_a_study_takes_a_name_for_a_head_and_refuses_what_is_no_feature() -> None:
    log = cr.simulate([], predicates=2, entities=5, seed=1).log
    assert Study(log, "Y").fit(["Y <- A"]).rules[0].head == "Y"  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="feature='count' is no Feature; write for example"):
        Study(log, cr.Head("Y"), "count")  # type: ignore[arg-type]


def test_an_oracle_refuses_objectives_that_a_rule_does_not_have_by_itself() -> None:
    study = Study(cr.simulate([], predicates=2, entities=5, seed=1).log, cr.Head("Y"))
    oracle = study.oracle(study.fit([]))
    for name in ("worth", "Gain"):
        with pytest.raises(OptionError, match=f"objective='{name}' is no value .* ask for 'gain' or 'gradient'"):
            oracle.evaluate([cr.parse_rule("Y <- A")], name)  # type: ignore[arg-type]
