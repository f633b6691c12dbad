"""How fast rules are weighed, against L-BFGS-B on the same likelihood in plain numpy on a part of the same work.

python benchmarks/master.py            the figures of docs/performance.md
python benchmarks/master.py --short    a small run, for function and not for time
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from chronorule.events import Exposure, Head
from chronorule.grounding import FeaturePath
from chronorule.likelihood import Segments, build_segments, log_rate
from chronorule.master import MAX_WEIGHT, MasterSolution, fit_master

Floats = NDArray[np.float64]

RULES = 20
HORIZON = 20.0
BASELINE = -2.5
VARIANCE = 0.5


@dataclass(frozen=True)
class Work:
    """What a fit is given."""

    exposure: Exposure
    paths: list[FeaturePath]

    @property
    def events(self) -> int:
        """Changes of features and heads together."""
        return sum(path.times.size for path in self.paths) + self.exposure.n_heads


def clock(work: Callable[[], object], least: float) -> tuple[float, float]:
    """Seconds of one call by the wall and by the processor, which differ where the machine has other work.

    The median of as many calls as take `least` seconds in all, three at the least.
    """
    spent: list[tuple[float, float]] = []
    while len(spent) < 3 or sum(wall for wall, _ in spent) < least:
        wall, processor = time.perf_counter(), time.process_time()
        work()
        spent.append((time.perf_counter() - wall, time.process_time() - processor))
    wall, processor = np.median(spent, axis=0).tolist()
    return wall, processor


def simulated(seed: int, entities: int, most: int, decay: float = 0.0) -> Work:
    """Features that step up at random instants, `most` times at most, in 6 of 10 entities; a third have weight."""
    random = np.random.default_rng(seed)
    paths = []
    for _ in range(RULES):
        number = (random.random(entities) < 0.6) * random.integers(1, most + 1, entities)
        offsets = np.concatenate([[0], np.cumsum(number)]).astype(np.int64)
        owner = np.repeat(np.arange(entities), number)
        times = random.uniform(0, HORIZON, owner.size)
        times = times[np.lexsort((times, owner))]
        rank = np.arange(owner.size) - offsets[owner] + 1.0
        paths.append(FeaturePath(offsets, times, rank if decay == 0 else np.ones(owner.size), decay))
    weights = np.where(np.arange(RULES) % 3 == 0, random.uniform(0.2, 0.8, RULES), 0.0) / most

    def exposed(head_offsets: NDArray[np.int64], head_times: Floats) -> Exposure:
        edges = np.zeros(entities), np.full(entities, HORIZON)
        return Exposure(Head("Y"), np.arange(entities + 1), *edges, head_offsets, head_times, edges[0].copy())

    segments = build_segments(exposed(np.zeros(entities + 1, np.int64), np.empty(0)), paths)
    owner = np.repeat(np.arange(entities), np.diff(segments.offsets))
    rate = np.exp(log_rate(segments, weights, [BASELINE]).just_after_start)  # of decay only the first moment: no matter
    number = random.poisson(random.gamma(1 / VARIANCE, VARIANCE, entities)[owner] * rate * segments.length)
    holder = np.repeat(np.arange(owner.size), number)
    times = segments.start[holder] + random.random(holder.size) * segments.length[holder]
    order = np.lexsort((times, owner[holder]))
    heads = np.concatenate([[0], np.cumsum(np.bincount(owner[holder], minlength=entities))])
    return Work(exposed(heads, times[order]), paths)


def slow_fit(segments: Segments) -> tuple[float, float]:
    """(seconds, objective) of L-BFGS-B on the marginal likelihood in plain numpy."""
    unit = np.repeat(np.arange(segments.n_entities), np.diff(segments.offsets))
    heads = np.bincount(unit, weights=segments.heads, minlength=segments.n_entities)
    total = np.append(segments.heads @ segments.X, segments.heads.sum())

    def objective(z: Floats) -> tuple[float, Floats]:
        mass = np.exp(segments.X @ z[:-2] + z[-2]) * segments.length
        expected = np.bincount(unit, weights=mass, minlength=segments.n_entities)
        a = np.exp(-z[-1])
        terms = special.gammaln(a + heads) - special.gammaln(a) + a * np.log(a) - (a + heads) * np.log(a + expected)
        multiplier = (a + heads) / (a + expected)
        scaled = multiplier[unit] * mass
        slope = total - np.append(scaled @ segments.X, scaled.sum())
        in_a = special.digamma(a + heads) - special.digamma(a) + np.log(a / (a + expected)) + 1 - multiplier
        return -float(total @ z[:-1] + terms.sum()), -np.append(slope, -a * in_a.sum())

    begin = np.append(np.zeros(RULES), [np.log(heads.sum() / segments.length.sum()), 0.0])
    bounds = [(0.0, MAX_WEIGHT)] * RULES + [(-30.0, 30.0), (-9.0, 9.0)]
    start = time.perf_counter()
    found = optimize.minimize(
        objective,
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-4, "maxiter": 2000},
    )
    return time.perf_counter() - start, float(found.fun)


def report(title: str, work: Work, least: float) -> tuple[float, MasterSolution]:
    """Print what cutting and fitting take; return the seconds of the fit."""
    cut, _ = clock(lambda: build_segments(work.exposure, work.paths), least)
    segments = build_segments(work.exposure, work.paths)
    fit, processor = clock(lambda: fit_master(segments), least)
    solution = fit_master(segments)
    print(
        f"{title}: {work.events:,} events, {segments.length.size:,} segments × {RULES} rules; "
        f"cut {cut * 1e3:.1f} ms, fit {fit * 1e3:.1f} ms (processor {processor * 1e3:.1f}); "
        f"{solution.iterations} steps, KKT residual {solution.kkt_residual:.0e} per head"
    )
    return fit, solution


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    short = parser.parse_args().short
    least = 0.0 if short else 2.0

    begin = time.perf_counter()
    for decay in (0.0, 0.1):
        warm = simulated(0, 10, 1, decay)
        fit_master(build_segments(warm.exposure, warm.paths))
    print(f"kernels ready after {time.perf_counter() - begin:.2f} s (compiled, or read where this ran before)")

    small = simulated(1, 100 if short else 1_000, 1)
    fit, solution = report("sequences of one step a rule", small, least)
    slow, objective = slow_fit(build_segments(small.exposure, small.paths))
    print(f"  L-BFGS-B on all of it: {slow * 1e3:.0f} ms, {slow / fit:.0f} times as long; objective {objective:.6f}")
    print(f"  here {solution.objective:.6f}")

    report("the same with features that decay", simulated(1, 100 if short else 1_000, 1, 0.1), least)

    entities = 300 if short else 36_000
    fit, _ = report("a large log", simulated(2, entities, 3), 0.0)
    part = 10
    piece = simulated(2, entities // part, 3)
    slow, _ = slow_fit(build_segments(piece.exposure, piece.paths))
    print(f"  L-BFGS-B on a tenth of it: {slow:.2f} s, so {part * slow / fit:.0f} times as long")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
