"""How often is a rule admitted to a log that has none? 200 logs of each kind, 20 predicates, rules of up to 5.

python benchmarks/discoveries.py                        the figures of docs/learning.md
python benchmarks/discoveries.py --kinds shared --logs 50
python benchmarks/discoveries.py --short                a small run, for function and not for time
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import chronorule as cr

Floats = NDArray[np.float64]
ENTITIES, PREDICATES, HORIZON = 500, 20, 20.0
BODY_RATE, HEAD_RATE = 0.05, np.exp(-2.5)
CUTS = [5.0, 10.0, 15.0]


def poisson_times(random: np.random.Generator, rates: Floats) -> tuple[Floats, Floats]:
    """(entity, time) of events at a constant rate for each entity."""
    counts = random.poisson(rates * HORIZON)
    owner = np.repeat(np.arange(len(rates)), counts)
    return owner.astype(np.float64), random.uniform(0, HORIZON, len(owner))


def clustered_times(random: np.random.Generator, branching: float) -> tuple[Floats, Floats]:
    """Heads each of which brings on average `branching` further ones, after exponential times of mean 1."""
    owner, times = poisson_times(random, np.full(ENTITIES, HEAD_RATE * (1 - branching)))
    owners, every = [owner], [times]
    while len(owner):
        children = random.poisson(branching, len(owner))
        owner = np.repeat(owner, children)
        times = np.repeat(times, children) + random.exponential(1.0, int(children.sum()))
        owner, times = owner[times <= HORIZON], times[times <= HORIZON]
        owners.append(owner)
        every.append(times)
    return np.concatenate(owners), np.concatenate(every)


def drifting_times(random: np.random.Generator) -> tuple[Floats, Floats]:
    """Heads whose rate falls to a fifth over the period, by thinning."""
    owner, times = poisson_times(random, np.full(ENTITIES, 2 * HEAD_RATE))
    kept = random.uniform(size=len(times)) < np.exp(-np.log(5) * times / HORIZON)
    return owner[kept], times[kept]


def gamma_times(random: np.random.Generator, shape: float) -> tuple[Floats, Floats]:
    """Heads at a constant rate that differs between entities."""
    return poisson_times(random, HEAD_RATE * random.gamma(shape, 1 / shape, ENTITIES))


@dataclass(frozen=True)
class Kind:
    """A kind of log without rules."""

    heads: Callable[[np.random.Generator], tuple[Floats, Floats]]
    drifts: bool = False  # the learner is given cuts of the baseline
    severity: float | None = None  # shape of the gamma law that body and head rates share


KINDS = {
    "constant": Kind(lambda random: poisson_times(random, np.full(ENTITIES, HEAD_RATE))),
    "gamma 2": Kind(lambda random: gamma_times(random, 2.0)),
    "gamma 1": Kind(lambda random: gamma_times(random, 1.0)),
    "gamma 0.5": Kind(lambda random: gamma_times(random, 0.5)),
    "exciting 0.3": Kind(lambda random: clustered_times(random, 0.3)),
    "exciting 0.5": Kind(lambda random: clustered_times(random, 0.5)),
    "exciting 0.7": Kind(lambda random: clustered_times(random, 0.7)),
    "drifting": Kind(drifting_times, drifts=True),
    "shared": Kind(lambda random: poisson_times(random, np.full(ENTITIES, HEAD_RATE)), severity=2.0),
}


def draw(kind: Kind, seed: int) -> cr.EventLog:
    """One log."""
    random = np.random.default_rng([seed, list(KINDS.values()).index(kind)])
    sick = np.ones(ENTITIES) if kind.severity is None else random.gamma(kind.severity, 1 / kind.severity, ENTITIES)
    parts = [(*poisson_times(random, BODY_RATE * sick), chr(ord("a") + k)) for k in range(PREDICATES)]
    owner, times = kind.heads(random) if kind.severity is None else poisson_times(random, HEAD_RATE * sick)
    parts.append((owner, times, "Y"))
    return cr.EventLog.from_columns(
        entity=np.concatenate([owner for owner, _, _ in parts]).astype(np.int64),
        time=np.concatenate([times for _, times, _ in parts]),
        event=[name for owner, _, name in parts for _ in range(len(owner))],
        periods={str(c): (0.0, HORIZON) for c in range(ENTITIES)},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--threads", type=int, help="by default one a core")
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    asked = parser.parse_args()
    logs = 2 if asked.short else asked.logs
    kinds = ["constant", "drifting"] if asked.short else asked.kinds
    print(f"{ENTITIES} entities, {PREDICATES} predicates, rules of up to 5, {logs} logs of each kind")
    for name in kinds:
        kind = KINDS[name]
        begin = time.perf_counter()
        admitted = when = warned = proved = 0
        for seed in range(logs):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                baseline = CUTS if kind.drifts else None
                learner = cr.RuleLearner("Y", max_length=5, baseline=baseline, threads=asked.threads)
                model = learner.fit(draw(kind, seed)).model_
            admitted += bool(model.rules)
            when += any(item.label == "says when" for item in model.rules)
            warned += any("excite" in str(one.message) for one in told)
            proved += model.certificate is not None and model.certificate.optimal
        print(
            f"  {name:>12}: {admitted:>3} of {logs} admit a rule, {when:>3} one that says when; {warned:>3} warn of "
            f"self-excitation; {proved:>3} certified; {(time.perf_counter() - begin) / logs:.2f} s a fit",
            flush=True,
        )


if __name__ == "__main__":
    main()
