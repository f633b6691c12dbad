"""A whole fit on a large log: 100,000 sequences of some 30 events, 50 predicates, rules of up to 3.

python benchmarks/large.py            the figures of docs/performance.md
python benchmarks/large.py --short    a small run, for function and not for time

Beside it, in the same process: what it would take to price every rule of the grammar once, one by one.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import chronorule as cr
from chronorule.evaluate import recovery
from chronorule.execution import available_cores
from chronorule.grounding import Feature
from chronorule.model import Study
from chronorule.rules.counting import count_rules
from chronorule.search import Budget, Subproblem, Task, search_of

RULES = ["Y <- P0 < P1 < P2", "Y <- P3 = P4", "Y <- P5 < P6"]
WEIGHTS = [1.2, 1.0, 0.8]
PREDICATES, HORIZON = 50, 20.0


def peak_megabytes() -> float:
    unit = 1 if sys.platform == "darwin" else 1024  # macOS tells bytes, Linux kilobytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def draw(entities: int) -> cr.Simulated:
    names = [f"P{k}" for k in range(PREDICATES)]
    rate = 30 / HORIZON / PREDICATES
    return cr.simulate(RULES, WEIGHTS, predicates=names, entities=entities, rates=rate, planted=0.02, decoys=0.02)


def brute_pace(log: cr.EventLog, grammar: cr.Grammar, seconds: float) -> float:
    """Rules a second when each is priced on its own."""
    study = Study(log, cr.Head("Y"), Feature())
    problem = Subproblem(Task("Y", grammar), study.oracle(study.fit([])), lambda some: [0.0] * len(some))
    certificate = search_of("brute").run(problem, Budget(seconds=seconds)).certificate
    return certificate.evaluations / certificate.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=100_000)
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    asked = parser.parse_args()
    entities, seconds = (300, 0.05) if asked.short else (asked.entities, 20.0)
    cr.RuleLearner("Y", max_length=2).fit(draw(50).log)  # compile everything once, so that no figure holds it

    begin = time.perf_counter()
    log, truth = draw(entities)
    print(f"{available_cores()} cores; {log.n_entities:,} sequences, {log.n_events:,} events, {PREDICATES} predicates")
    print(f"  drawn in {time.perf_counter() - begin:.1f} s; peak memory so far {peak_megabytes():,.0f} MB")

    begin = time.perf_counter()
    model = cr.RuleLearner("Y", max_length=3).fit(log).model_
    took = time.perf_counter() - begin
    score = recovery(
        [item.rule for item in model.rules], [item.weight for item in model.rules], truth.rules, truth.weights.tolist()
    )
    assert model.certificate is not None
    assert model.grammar is not None
    print(
        f"  fit: {took:.1f} s, peak memory {peak_megabytes():,.0f} MB; {len(model.rounds)} rounds, last proof "
        f"{model.certificate.seconds:.1f} s ({'proved' if model.certificate.optimal else 'not proved'})"
    )
    print(f"  Jaccard {score.jaccard:.2f}, weight error {score.weight_error:.3f}")

    rules, pace = count_rules(model.grammar), brute_pace(log, model.grammar, seconds)
    once = rules / pace
    print(f"  {rules:,} rules at {pace:,.0f} a second, one by one: {once:,.0f} s for one round, {once / took:.1f} fits")


if __name__ == "__main__":
    main()
