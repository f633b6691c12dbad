"""How fast rules are priced, against enumeration of event combinations on a part of the same work.

python benchmarks/rules.py            the figures of docs/performance.md
python benchmarks/rules.py --short    a small run, for function and not for time
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import chronorule as cr
from chronorule.events import EventLog
from chronorule.execution import Threads, available_cores
from chronorule.grounding import Feature, Grounding, chain_bodies, window
from chronorule.model import Study
from chronorule.pricing import Oracle
from chronorule.rules import Rule

LENGTH = 6


def clock(work: Callable[[], object], least: float) -> float:
    """Seconds of one call, the median of as many calls as take `least` seconds in all (three at the least)."""
    spent: list[float] = []
    while len(spent) < 3 or sum(spent) < least:
        begin = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begin)
    return float(np.median(spent))


def random_chains(
    random: np.random.Generator, rules: int, predicates: int, equal: float
) -> tuple[np.ndarray, np.ndarray]:
    codes = random.permuted(np.tile(np.arange(predicates, dtype=np.int32), (rules, 1)), axis=1)[:, :LENGTH]
    joined = random.random((rules, LENGTH)) < equal
    joined[:, 0] = False
    return codes, joined


def as_rule(log: EventLog, codes: np.ndarray, joined: np.ndarray) -> Rule:
    names = [log.predicates[code] for code in codes]
    relations = [(k - 1, cr.Relation.EQUAL if joined[k] else cr.Relation.BEFORE, k) for k in range(1, len(names))]
    return Rule.build("Y", names, relations)


def enumerate_reward(log: EventLog, oracle: Oracle, codes: np.ndarray, joined: np.ndarray, entities: range) -> float:
    """R of a chain by trying every combination of events, as peers do: first completions, or all with multiplicity."""
    total = 0.0
    count = oracle.grounding.feature.kind == "count"
    width = oracle.grounding.feature.kernel.width
    index = oracle.grounding.index
    for c in entities:
        rows = slice(log.offsets[c], log.offsets[c + 1])
        times, held = log.times[rows].tolist(), log.codes[rows].tolist()
        choices = [[t for t, p in zip(times, held, strict=True) if p == code] for code in codes]
        done: list[float] = []
        for match in itertools.product(*choices):
            pairs = zip(match, match[1:], joined[1:], strict=False)
            if all(a == b if together else a < b for a, b, together in pairs):
                done.append(match[-1])
        instants = index.instant_times[index.instant_offsets[c] : index.instant_offsets[c + 1]]
        after = oracle.after[index.instant_offsets[c] : index.instant_offsets[c + 1]]
        for place, s in enumerate(sorted(done) if count else sorted(set(done))):
            j = int(np.searchsorted(instants, s))
            if count or width < np.inf or place == 0:
                total += float(after[j, 0] - after[j, 1])
    return total


def throughput(log: EventLog, feature: Feature, rules: int, equal: float, least: float) -> None:
    random = np.random.default_rng(1)
    study = Study(log, cr.Head("Y"), feature, heterogeneity="none")
    oracle = study.oracle(study.fit([]))
    body = [code for code, name in enumerate(log.predicates) if name != "Y"]
    codes, joined = random_chains(random, rules, len(body), equal)
    codes = np.asarray(body, np.int32)[codes]
    bodies = chain_bodies(codes, joined)
    oracle.gains(bodies)
    gains = clock(lambda: oracle.gains(bodies), least)
    rewards = clock(lambda: oracle.rewards(bodies), least)
    oracle.threads = Threads(1)
    alone = clock(lambda: oracle.gains(bodies), least)
    oracle.threads = Threads()
    few = [as_rule(log, codes[k], joined[k]) for k in range(min(rules, 2000))]
    objects = clock(lambda: oracle.evaluate(few), least)

    part, entities = min(rules, 20), range(min(log.n_entities, 200))
    begin = time.perf_counter()
    for k in range(part):
        enumerate_reward(log, oracle, codes[k], joined[k], entities)
    slow = (time.perf_counter() - begin) / part * log.n_entities / len(entities)
    name = f"{feature.kind}, {feature.kernel}, {'Before and Equal' if equal else 'Before only'}"
    print(
        f"{name:40}{rules / gains:>12,.0f}{rules / rewards:>12,.0f}{rules / alone:>12,.0f}{len(few) / objects:>14,.0f}"
        f"{1 / slow:>12,.1f}{slow * rules / gains:>10,.0f}"
    )


def dense_log(random: np.random.Generator, length: int, each: int, entities: int) -> EventLog:
    """Entities with `each` events of every one of `length` predicates, at random instants."""
    names = [f"P{k}" for k in range(length)] * each
    owner = [f"e{c}" for c in range(entities) for _ in names]
    times = random.uniform(0, 100, len(owner))
    return EventLog.from_columns(
        owner, times, names * entities, periods=(0.0, 101.0), predicates=[*dict.fromkeys(names), "Y"]
    )


def by_length(most: int, entities: int, limit: float, least: float) -> None:
    print("\nOne chain of n predicates, 8 events each, per entity: all matches counted by completion")
    print(f"{'n':>3}{'combinations':>16}{'ours, µs':>12}{'enumeration, s':>17}{'ratio':>14}")
    random = np.random.default_rng(2)
    stopped = False
    for length in range(1, most + 1):
        log = dense_log(random, length, 8, entities)
        rule = cr.parse_rule("Y <- " + " < ".join(f"P{k}" for k in range(length)))
        grounding = Grounding(log, Feature("count"))
        rows = grounding.completions(rule)
        ours = clock(lambda rule=rule, grounding=grounding: grounding.completions(rule), least) / entities
        if stopped:
            print(f"{length:>3}{8**length:>16,}{ours * 1e6:>12.2f}{'stopped':>17}{'':>14}")
            continue
        begin = time.perf_counter()
        own = slice(log.offsets[0], log.offsets[1])
        choices = [log.times[own][log.codes[own] == k].tolist() for k in range(length)]
        matched = sum(all(a < b for a, b in itertools.pairwise(match)) for match in itertools.product(*choices))
        slow = time.perf_counter() - begin
        if matched != rows[rows[:, 0] == 0][:, 2].sum():
            raise SystemExit(f"enumeration found {matched} matches of length {length}, the kernel something else")
        stopped = slow > limit
        print(f"{length:>3}{8**length:>16,}{ours * 1e6:>12.2f}{slow:>17.4f}{slow / ours:>14,.0f}")


def resident(field: str) -> int:
    """Bytes of memory of this process: VmRSS now, VmHWM at its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024


def forget_peak() -> int:
    """Let the peak of memory begin anew at what is held now, which is returned."""
    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


def memory(entities: int) -> None:
    """Memory beyond the log, from the arrays held and from the growth of the process."""
    random = np.random.default_rng(3)
    n = entities * 30
    owner = np.repeat(np.arange(entities), 30)
    log = EventLog.from_columns(
        owner, random.uniform(0, 20, n), random.integers(0, 24, n).astype(str), periods=(0.0, 20.0),
        predicates=[str(k) for k in range(24)] + ["Y"],
    )  # fmt: skip
    codes, joined = random_chains(random, 64, 24, 0.2)
    bodies = chain_bodies(codes, joined)
    for feature in (Feature(), Feature("count", window(5.0))):
        before = forget_peak()
        study = Study(log, cr.Head("Y"), feature, heterogeneity="none")
        oracle = study.oracle(study.fit([]))
        oracle.gains(bodies)
        grown = resident("VmHWM") - before
        held = sum(part.nbytes for part in oracle.grounding.index) + oracle.after.nbytes + oracle.lapsed.nbytes
        print(
            f"memory, {feature.kind} {feature.kernel}, {log.n_events:,} events: {held / log.n_events:.0f} bytes "
            f"an event held beyond the log, peak of the process grew by {grown / log.n_events:.0f} bytes an event"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    short = parser.parse_args().short
    least = 0.01 if short else 3.0
    if Path("/proc/self/clear_refs").exists():
        memory(1_000 if short else 33_334)
    else:
        print("memory: only Linux tells a process its peak")
    suite = cr.paper_suite(group=1, predicates=24, sequences=100 if short else 1000, seed=0)
    log = suite.log
    rules = 2_000 if short else 20_000
    print(f"{available_cores()} cores, {os.cpu_count()} seen; {log}")
    print(f"random chains of {LENGTH} predicates, rules/s; enumeration on 20 of them and 200 sequences, scaled up")
    print(
        f"{'feature':40}{'gain':>12}{'gradient':>12}{'one thread':>12}{'Rule objects':>14}"
        f"{'enumerated':>12}{'ratio':>10}"
    )
    for feature in (Feature(), Feature("exists", window(5.0)), Feature("count"), Feature("count", window(5.0))):
        for equal in (0.0, 0.2):
            throughput(log, feature, rules, equal, least)
    by_length(4 if short else 8, 10 if short else 200, 10.0, least)


if __name__ == "__main__":
    main()
