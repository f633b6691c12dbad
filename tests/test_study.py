"""A rule is judged beside others as they would be after another fit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chronorule as cr
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
