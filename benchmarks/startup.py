"""How long a user waits before anything happens: import, first use of the kernels, and every use after it.

python benchmarks/startup.py            the figures of docs/performance.md
python benchmarks/startup.py --short    one run of each, for function and not for time
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORT = "import chronorule"
LIBRARIES = "import numpy, scipy.optimize, numba, pyarrow"
KERNELS = """
import time, warnings
import chronorule as cr
import numpy, numba, pyarrow.csv, pyarrow.parquet  # not ours to speed up: kept out of the clock
begin, busy = time.perf_counter(), time.process_time()
warnings.simplefilter("ignore")
suite = cr.paper_suite(group=1, predicates=8, sequences=20, seed=0)
cr.write_events(suite.log, "log.parquet")
log = cr.read_events("log.parquet")
text = "Y <- A < B = C\\nY <-| D & E"
for feature in ("exists", "count"):
    for kernel in ("step", cr.window(5), cr.decay(0.5)):
        model = cr.reweigh(text, log, feature=feature, kernel=kernel, span=15.0)
        cr.simulate(text, [0.5, 0.5], entities=5, feature=feature, kernel=kernel)
model = cr.reweigh(text, log, heterogeneity="entity")
model.intensity(log, log.entities[0], [1.0, 2.0])
cr.completions("Y <- A < B", log)
print(time.perf_counter() - begin, time.process_time() - busy)
"""

FITS = """
import time, warnings
import chronorule as cr
import numpy, numba, pyarrow.csv, pyarrow.parquet
warnings.simplefilter("ignore")
log = cr.paper_suite(group=1, predicates=8, sequences=60, seed=0).log
cr.reweigh("Y <- A < B", log)
begin, busy = time.perf_counter(), time.process_time()
cr.RuleLearner("Y", max_length=3, threads=1).fit(log)
first, first_busy = time.perf_counter() - begin, time.process_time() - busy
for orders in (False, True):
    for feature in ("exists", "count"):
        for kernel in ("step", "window(5)"):
            for objective, stop, penalty in (("gain", "evidence", 0.0), ("gradient", "optimal", 1.0)):
                cr.RuleLearner(
                    "Y", grammar=cr.Grammar(max_length=2, partial_orders=orders, signs=(1, -1)), feature=feature,
                    kernel=kernel, objective=objective, stop=stop, penalty=penalty, threads=1, max_rules=2,
                ).fit(log)
print(first, first_busy, time.perf_counter() - begin, time.process_time() - busy)
"""


def run(code: str, folder: str, cache: str) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout


def seconds(code: str, folder: str, cache: str, times: int) -> float:
    """Of a fresh interpreter, the least of a few runs, without what the interpreter itself takes."""
    clock = f"import time; begin = time.perf_counter()\n{code}\nprint(time.perf_counter() - begin)"
    return min(float(run(clock, folder, cache)) for _ in range(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="one run of each, for function and not for time")
    times = 1 if parser.parse_args().short else 7
    with tempfile.TemporaryDirectory() as folder:
        cache = str(Path(folder) / "cache")
        ours, theirs = seconds(IMPORT, folder, cache, times), seconds(LIBRARIES, folder, cache, times)
        print(f"import chronorule: {ours:.3f} s; importing numpy, scipy, numba and pyarrow: {theirs:.3f} s", end="")
        print(f", {theirs / ours:.0f} times as long")
        fresh, fresh_cpu = map(float, run(KERNELS, folder, cache).split())
        cached, cached_cpu = min(tuple(map(float, run(KERNELS, folder, cache).split())) for _ in range(times))
        print(f"first use of all but searches: {fresh:.1f} s on a fresh machine ({fresh_cpu:.1f} s of processor)")
        print(
            f"the same once compiled: {cached:.2f} s ({cached_cpu:.2f} s of processor), a {fresh / cached:.0f}th of it"
        )
        for when in ("on a fresh machine", "once compiled"):
            one, one_cpu, every, every_cpu = map(float, run(FITS, folder, cache).split())
            print(
                f"first fit {when}: {one:.1f} s ({one_cpu:.1f} s of processor); with fits of all other kinds, 17 in "
                f"all: {every:.1f} s ({every_cpu:.1f} s)"
            )


if __name__ == "__main__":
    main()
