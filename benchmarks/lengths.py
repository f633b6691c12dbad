"""Does it harm to prefer rules as long as the others? Sets of rules of different lengths, learned with and without.

python benchmarks/lengths.py            the figures of docs/learning.md
python benchmarks/lengths.py --short    a small run, for function and not for time
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from unittest import mock

import numpy as np

import chronorule as cr
from chronorule.evaluate import recovery
from chronorule.learner.weighing import Weighing

SETS = {
    "3, 5 and 7 predicates": ["Y <- A < B < C", "Y <- A < B < C < D < E", "Y <- C < B < F < D < E < G = H"],
    "4, 6 and 7, nested": ["Y <- A < B < C < D", "Y <- A < B < C < D < E < F", "Y <- A < B < C < D < E < G = H"],
    "2, 3 and 4": ["Y <- A < B", "Y <- C < D < E", "Y <- B < F < D < G"],
}
WEIGHTS = [1.2, 1.0, 0.8]


def indifferent(_: Weighing, rules: Iterable[cr.Rule]) -> float:
    """Lengths do not matter."""
    return 0.0


def jaccard(texts: list[str], sequences: int, seed: int, longest: int) -> float:
    rules = [cr.parse_rule(text) for text in texts]
    log = cr.simulate(
        rules, WEIGHTS, predicates=[*"ABCDEFGHIJKL"], entities=sequences, grid=0.1, planted=0.2, decoys=0.3, seed=seed
    ).log
    model = cr.RuleLearner("Y", max_length=longest).fit(log).model_
    found = [item.rule for item in model.rules]
    return recovery(found, [item.weight for item in model.rules], rules, WEIGHTS).jaccard


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=8)
    parser.add_argument("--sequences", type=int, default=1000)
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    asked = parser.parse_args()
    logs, sequences, longest = (1, 150, 3) if asked.short else (asked.logs, asked.sequences, 8)
    sets = dict(list(SETS.items())[-1:]) if asked.short else SETS
    print(f"{logs} logs of {sequences:,} sequences, 12 predicates: mean Jaccard")
    for name, texts in sets.items():
        alike = [jaccard(texts, sequences, seed, longest) for seed in range(logs)]
        with mock.patch.object(Weighing, "unlikeness", indifferent):
            free = [jaccard(texts, sequences, seed, longest) for seed in range(logs)]
        print(f"  {name:>22}: lengths alike preferred {np.mean(alike):.3f}, not {np.mean(free):.3f}", flush=True)


if __name__ == "__main__":
    main()
