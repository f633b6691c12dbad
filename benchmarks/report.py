"""What a report costs: seconds and bytes beside the weighing of the rules that it shows.

python benchmarks/report.py            the figures of docs/performance.md
python benchmarks/report.py --short    a small run, for function and not for time
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from collections.abc import Callable

import chronorule as cr
from chronorule.report import report_page

RULES = "Y <- A < B  w = 1.0\nY <-| C < D  w = 0.6\nY <- A < C < E  w = 0.5"
PREDICATES = 50


def clock(work: Callable[[], object], times: int) -> float:
    """Seconds of one call, the least of a few."""
    spent = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begin)
    return min(spent)


def row(entities: int, kernel: str, times: int) -> str:
    """One line of the table: three rules on a log of 30 events an entity."""
    log, truth = cr.simulate(RULES, predicates=PREDICATES, entities=entities, rates=0.03, seed=1)
    weighing = clock(lambda: cr.reweigh(truth.rules, log, kernel=kernel), times)
    model = cr.reweigh(truth.rules, log, kernel=kernel)
    records = cr.report_records(model, log)
    gathering = clock(lambda: cr.report_records(model, log), times)
    drawing = clock(lambda: report_page(records), times)
    sizes = [len(text.encode()) / 1000 for text in (report_page(records), json.dumps(records))]
    return (
        f"| {log.n_events:,} | {kernel} | {gathering:.2f} s | {1000 * drawing:.1f} ms | {sizes[0]:.0f} KB | "
        f"{sizes[1]:.0f} KB | {weighing / gathering:.1f} times as long |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    short = parser.parse_args().short
    warnings.simplefilter("ignore")
    print("| events | kernel | records | page | HTML | JSON | weighing its three rules |")
    print("|---|---|---|---|---|---|---|")
    for entities in [100] if short else [1_000, 10_000, 100_000]:
        for kernel in ("step", "window(4)"):
            print(row(entities, kernel, 1 if short else 3))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f} MB")


if __name__ == "__main__":
    main()
