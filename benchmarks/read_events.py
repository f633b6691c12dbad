"""How long reading a large log takes and how much memory, against a plain reader on a part of the same rows.

python benchmarks/read_events.py            5,000,000 rows of Parquet and of CSV, names and times in no order
python benchmarks/read_events.py --short    20,000 rows, for function and not for time
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

LIMITS = {"parquet": 3.0, "csv": 6.0}  # seconds promised for 5,000,000 rows on 2 cores
MEMORY_LIMIT = 1500.0  # MB promised, all of the process


def write_log(folder: Path, rows: int, entities: int, predicates: int) -> dict[str, Path]:
    """Write the same seeded rows as Parquet and as CSV, in no order at all."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as parquet

    random = np.random.default_rng(0)
    who = np.array([f"patient-{i:06d}" for i in range(entities)])[random.integers(0, entities, rows)]
    what = np.array([f"Predicate{i}" for i in range(predicates)])[random.integers(0, predicates, rows)]
    when = np.round(random.uniform(0.0, 1000.0, rows), 4)
    table = pa.table({"entity": who, "time": when, "event": what})
    files = {suffix: folder / f"events.{suffix}" for suffix in LIMITS}
    parquet.write_table(table, files["parquet"])
    arrow_csv.write_csv(table, files["csv"])
    return files


def peak_memory() -> float:
    """Most memory this process ever held, in MB; on Linux without that of the parent, which getrusage passes on."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024.0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024.0**2 if sys.platform == "darwin" else 1024.0)


def measure(path: Path) -> dict[str, float]:
    """Read a file once in this process, after the kernels have been loaded from their cache."""
    from chronorule.io import read_events

    warnings.filterwarnings("ignore", "No observation periods")
    read_events({"entity": ["a"], "time": [1.0], "event": ["X"]})
    before = peak_memory()
    begin, begin_cpu = time.perf_counter(), time.process_time()
    log = read_events(path)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    return {"seconds": seconds, "cpu": cpu, "before": before, "peak": peak_memory(), "events": log.n_events}


def measure_alone(path: Path) -> dict[str, float]:
    """The same in a process of its own, so that its peak of memory is its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--measure", str(path)], capture_output=True, text=True, check=True
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def plain_reader(path: Path, most: int) -> dict[str, list[tuple[float, str]]]:
    """The slow twin: the csv module, dictionaries and sets; sorted distinct events of each entity."""
    found: dict[str, set[tuple[float, str]]] = defaultdict(set)
    with path.open(encoding="utf-8", newline="") as file:
        for row, record in enumerate(csv.DictReader(file)):
            if row == most:
                break
            found[record["entity"]].add((float(record["time"]), record["event"]))
    return {entity: sorted(pairs) for entity, pairs in found.items()}


def clock(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def compare(path: Path, part: Path, rows: int) -> tuple[float, float]:
    """Seconds of the slow twin and of the reader on the first rows of a file, after checking that they agree."""
    from chronorule.io import read_events

    with path.open("rb") as whole, part.open("wb") as first:
        first.writelines(line for _, line in zip(range(rows + 1), whole, strict=False))
    warnings.filterwarnings("ignore", "No observation periods")
    expected, log = plain_reader(path, rows), read_events(part)
    for c, name in enumerate(log.entities):
        mine = slice(log.offsets[c], log.offsets[c + 1])
        names = [log.predicates[code] for code in log.codes[mine]]
        if sorted(zip(log.times[mine].tolist(), names, strict=True)) != expected[name]:
            raise SystemExit(f"the readers disagree on {name}")
    return clock(lambda: plain_reader(path, rows)), min(clock(lambda: read_events(part)) for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        print(json.dumps(measure(options.measure)))
        return
    rows, entities, part = (20_000, 500, 5_000) if options.short else (5_000_000, 100_000, 500_000)
    with tempfile.TemporaryDirectory() as folder:
        files = write_log(Path(folder), rows, entities, predicates=50)
        print(f"{rows:,} rows, {entities:,} entities, 50 predicates, in no order")
        for suffix, path in files.items():
            runs = [measure_alone(path) for _ in range(1 if options.short else 3)]
            seconds = sorted(run["seconds"] for run in runs)
            peak = max(run["peak"] for run in runs)
            print(f"{suffix} ({path.stat().st_size / 1e6:.0f} MB)")
            cpu = min(run["cpu"] for run in runs)
            print(
                f"  median {seconds[len(seconds) // 2]:.2f} s, slowest {seconds[-1]:.2f} s, processor time {cpu:.2f} s"
            )
            print(f"  memory at its peak {peak:.0f} MB, of it {runs[0]['before']:.0f} MB before reading began")
            if not options.short:
                print(f"  promised {LIMITS[suffix]:g} s and {MEMORY_LIMIT:,.0f} MB")
        slow, fast = compare(files["csv"], Path(folder) / "part.csv", part)
        print(
            f"on the first {part:,} rows of CSV: csv module and dictionaries {slow:.3f} s, read_events {fast:.3f} s, "
            f"{slow / fast:.1f} times faster"
        )


if __name__ == "__main__":
    main()
