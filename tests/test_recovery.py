"""The paper's suite, weighed with its true rules: weights come back, and intervals cover (design 11)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import chronorule as cr
from chronorule.grounding import Feature
from chronorule.model import Study


@pytest.mark.parametrize("feature", ["exists", "count"])
def test_true_weights_of_all_cases_are_recovered(feature: Literal["exists", "count"]) -> None:
    scores = []
    for group in range(1, 7):
        for predicates in (8, 12, 16, 20, 24):
            suite = cr.paper_suite(group=group, predicates=predicates, sequences=2000, seed=0, feature=feature)
            fit = Study(suite.log, cr.Head("Y"), Feature(feature)).fit(suite.truth.rules)
            assert fit.solution.kkt_residual <= 1e-8
            assert fit.solution.complementary_slackness <= 1e-8
            scores += ((fit.solution.weights - suite.truth.weights) / fit.solution.stderr).tolist()
    score = np.array(scores)
    assert len(score) == 90
    # 0.24 of 90 standard normal scores are expected beyond 3
    assert (np.abs(score) > 3).sum() <= 2
    # coverage 95 % of 90 has a standard deviation of 2.3 %: four of them
    assert (np.abs(score) < 1.96).mean() > 0.858


def test_reweigh_reads_the_truth_as_text() -> None:
    suite = cr.paper_suite(group=5, predicates=12, sequences=1000, seed=3)
    text = "\n".join(rule.key for rule in suite.truth.rules)
    model = cr.reweigh(text, suite.log)
    for item, weight in zip(model.rules, suite.truth.weights, strict=True):
        assert abs(item.weight - weight) < 4 * item.stderr  # seed fixed; 4 of 10^4.2 would lie outside by chance
        assert item.label == "says when"
