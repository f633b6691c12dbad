"""Are true weights recovered, and do intervals cover them? All 30 cases of the paper's suite, weighed with true rules.

python benchmarks/recovery.py            the figures of docs/performance.md
python benchmarks/recovery.py --short    a small run, for function and not for time
"""

from __future__ import annotations

import argparse
import time
from typing import Literal

import numpy as np

import chronorule as cr
from chronorule.grounding import Feature
from chronorule.model import Study
from chronorule.model.weighted_rule import Z_95
from chronorule.simulate import Truth

GROUPS = (1, 2, 3, 4, 5, 6)
LIBRARIES = (8, 12, 16, 20, 24)


def scores(feature: Literal["exists", "count"], sequences: int, seed: int) -> np.ndarray:
    """(estimate − truth) / standard error of every weight: [groups × libraries × rules]."""
    found = []
    for group in GROUPS:
        for predicates in LIBRARIES:
            suite = cr.paper_suite(group=group, predicates=predicates, sequences=sequences, seed=seed, feature=feature)
            fit = Study(suite.log, cr.Head("Y"), Feature(feature)).fit(suite.truth.rules)
            found += ((fit.solution.weights - suite.truth.weights) / fit.solution.stderr).tolist()
    return np.array(found)


def comparison(truth: Truth, model: cr.RuleModel) -> str:
    """True weights beside their estimates, and the base rate; `inside` says whether the interval holds the truth."""
    found = {item.rule: item for item in model.rules}
    rows = [
        (str(rule), weight, found[rule].weight, found[rule].stderr)
        for rule, weight in zip(truth.rules, truth.weights.tolist(), strict=True)
    ]
    rows.append(("log base rate", float(truth.base[0]), model.baseline[0], model.baseline_stderr[0]))
    lines = [f"{'':<27}{'truth':>6}{'estimate':>9}{'s.e.':>7}{'95 % interval':>15}{'inside':>7}"]
    for name, true, estimate, stderr in rows:
        low, high = estimate - Z_95 * stderr, estimate + Z_95 * stderr
        inside = "yes" if low <= true <= high else "no"
        interval = f"{low:.2f} to {high:.2f}"
        lines.append(f"{name:<27}{true:>6.2f}{estimate:>9.3f}{stderr:>7.3f}{interval:>15}{inside:>7}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    short = parser.parse_args().short
    sequences, seeds = (200, 2) if short else (2000, 100)
    suite = cr.paper_suite(group=1, predicates=20, sequences=sequences, seed=0)
    print(f"group 1, 20 predicates, {sequences:,} sequences, seed 0, given the rules and not their weights:")
    print(comparison(suite.truth, cr.reweigh(suite.truth.rules, suite.log, suite.truth.head)))
    for feature in ("exists", "count"):
        begin = time.perf_counter()
        every = np.array([scores(feature, sequences, seed) for seed in range(seeds)])
        outside = (np.abs(every) > 3).sum(axis=1)
        inside = np.abs(every) <= Z_95
        coverage = inside.mean()
        error = np.sqrt(coverage * (1 - coverage) / inside.size)
        print(
            f"{feature}, {sequences:,} sequences: of {every.shape[1]} weights {outside[0]} lie more than 3 standard "
            f"errors from the truth at seed 0 (mean over {seeds} seeds {outside.mean():.2f}, most {outside.max()})"
        )
        print(
            f"{feature}, {seeds} seeds: the 95 % interval covers the truth in {100 * coverage:.2f} % of "
            f"{inside.size:,} weights (± {100 * error:.2f}); mean score {every.mean():+.3f}, "
            f"its spread {every.std():.3f}; {time.perf_counter() - begin:.0f} s"
        )


if __name__ == "__main__":
    main()
