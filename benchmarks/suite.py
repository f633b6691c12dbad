"""Are the true rules found, and how fast? All 30 cases of the paper's suite, learned with and without its hints.

python benchmarks/suite.py                                 the figures of docs/learning.md: exists, 1,000 sequences
python benchmarks/suite.py --feature count --sequences 500
python benchmarks/suite.py --base-shape 1                  the same bodies, but base rates differ by a gamma law
python benchmarks/suite.py --short                         a small run, for function and not for time
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import chronorule as cr
from chronorule.evaluate import recovery

GROUPS = (1, 2, 3, 4, 5, 6)
LIBRARIES = (8, 12, 16, 20, 24)


def grammar_of(hints: bool, truth: tuple[cr.Rule, ...]) -> cr.Grammar:
    """The paper's hints: the length of rules, and two predicates that are in every one."""
    return cr.Grammar(length=truth[0].length, required=("B", "C")) if hints else cr.Grammar(max_length=8)


def draw(group: int, predicates: int, sequences: int, seed: int, feature: str, shape: float | None) -> cr.Simulated:
    """A case of the suite; with a shape, its heads are drawn again at base rates that differ between entities."""
    suite = cr.paper_suite(group=group, predicates=predicates, sequences=sequences, seed=seed, feature=feature)
    if shape is None:
        return suite
    law = suite.truth
    return cr.simulate(
        law.rules,
        law.weights,
        base=law.base.tolist(),
        head=law.head,
        body=suite.log,
        feature=feature,
        heterogeneity=shape,
        seed=law.seed,
    )


def learn(suite: cr.Simulated, hints: bool, feature: str, heterogeneity: str, threads: int | None) -> dict[str, float]:
    """One case: scores, seconds, and whether what was found is likelier than the truth."""
    log, truth = suite
    learner = cr.RuleLearner(
        "Y",
        grammar=grammar_of(hints, truth.rules),
        feature=feature,
        heterogeneity=heterogeneity,
        time_limit=300.0,
        threads=threads,
    )
    begin = time.perf_counter()
    model = learner.fit(log).model_
    seconds = time.perf_counter() - begin
    score = recovery(
        [item.rule for item in model.rules], [item.weight for item in model.rules], truth.rules, truth.weights.tolist()
    )
    true_model = cr.reweigh(truth.rules, log, head="Y", feature=feature, heterogeneity=heterogeneity)
    certificates = [item.certificate for item in model.rounds]
    if model.certificate is not None:
        certificates.append(model.certificate)
    for rule in score.missed:
        print(f"      missed {rule.key}")
    for rule in score.invented:
        print(f"    invented {rule.key}")
    return {
        "jaccard": score.jaccard,
        "weight_error": score.weight_error,
        "seconds": seconds,
        "rounds": len(certificates),
        "certified": float(model.stopped is None and all(item.optimal for item in certificates)),
        "slowest": max(item.seconds for item in certificates),
        "last": certificates[-1].seconds,
        "surplus": model.training.log_likelihood - true_model.training.log_likelihood,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feature", choices=("exists", "count"), default="exists")
    parser.add_argument("--sequences", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hints", choices=("with", "without", "both"), default="both")
    parser.add_argument("--heterogeneity", choices=("gamma", "none"), default="gamma")
    parser.add_argument("--base-shape", type=float, help="base rates differ between entities: 1 is strong, 10 weak")
    parser.add_argument("--groups", type=int, nargs="+", default=GROUPS)
    parser.add_argument("--predicates", type=int, nargs="+", default=LIBRARIES)
    parser.add_argument("--threads", type=int, help="by default one a core")
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    asked = parser.parse_args()
    groups, libraries, sequences = asked.groups, asked.predicates, asked.sequences
    if asked.short:
        groups, libraries, sequences = (1, 4), (8,), 200
    for hints in {"with": (True,), "without": (False,), "both": (True, False)}[asked.hints]:
        print(f"{asked.feature}, {sequences:,} sequences, {'with' if hints else 'without'} hints, seed {asked.seed}")
        rows = []
        for group in groups:
            for predicates in libraries:
                suite = draw(group, predicates, sequences, asked.seed, asked.feature, asked.base_shape)
                row = learn(suite, hints, asked.feature, asked.heterogeneity, asked.threads)
                rows.append(row)
                print(
                    f"  group {group}, {predicates:>2} predicates: Jaccard {row['jaccard']:.2f}, weight error "
                    f"{row['weight_error']:.3f}, {row['rounds']:.0f} rounds, slowest {row['slowest']:.2f} s, last "
                    f"{row['last']:.2f} s, whole {row['seconds']:.2f} s, certified {row['certified']:.0f}, "
                    f"log-likelihood less the truth's {row['surplus']:+.1f}",
                    flush=True,
                )
        table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        print(
            f"  {len(rows)} cases: mean Jaccard {table['jaccard'].mean():.3f} "
            f"(1.0 in {(table['jaccard'] == 1).sum()}), mean weight error {table['weight_error'].mean():.3f}, "
            f"certified {table['certified'].sum():.0f}, {table['seconds'].sum():.0f} s in all, "
            f"slowest case {table['seconds'].max():.1f} s, slowest round {table['slowest'].max():.1f} s"
        )


if __name__ == "__main__":
    main()
