"""How long a certified round takes, against pricing every rule of the grammar one by one, and how that grows.

python benchmarks/search.py                                        the figures of docs/search.md
python benchmarks/search.py --parts growth --limit 600 --plot docs/growth.svg
python benchmarks/search.py --short                                a small run, for function and not for time

A round is one run of the exact search at the λ of the rules in force. The dearest is the last, at the λ of the true
rules, which proves that nothing is left. Brute search prices every rule of a small grammar on the same log in the same
process; the ratio is what it would take for the whole grammar at that pace over what the exact search took.
"""

from __future__ import annotations

import argparse
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from _figure import Panel, Point, write_figure

import chronorule as cr
from chronorule.errors import GrammarError
from chronorule.events import EventLog
from chronorule.execution import available_cores
from chronorule.grounding import Feature
from chronorule.model import Study
from chronorule.rules import Rule
from chronorule.rules.counting import count_rules
from chronorule.search import Budget, Certificate, Subproblem, Task, search_of
from chronorule.simulate.suite import truth_rules

Kind = Literal["exists", "count"]
PARTS = ("chains", "orders", "growth")
TRUTH = 0.2, 0.3  # chances of planted bodies and decoys, as in the suite


@dataclass(frozen=True)
class Case:
    """A log, the rules behind it and a grammar."""

    log: EventLog
    truth: tuple[Rule, ...]
    kind: Kind
    grammar: cr.Grammar

    def round(self, rules: Sequence[Rule], search: str, limit: float) -> tuple[Certificate, Rule | None]:
        """One search at the λ of some rules."""
        study = Study(self.log, cr.Head("Y"), Feature(self.kind))
        task = Task("Y", self.grammar, taken=frozenset(rules))
        problem = Subproblem(task, study.oracle(study.fit(rules)), lambda some: [0.0] * len(some))
        outcome = search_of(search).run(problem, Budget(seconds=limit))
        return outcome.certificate, None if outcome.best is None else outcome.best.rule


def case(
    group: int, predicates: int, sequences: int, longest: int, kind: Kind = "exists", partial_orders: bool = False
) -> Case:
    """A case of the suite, with more predicates where more are asked for."""
    truth = truth_rules(group)
    if predicates <= len(string.ascii_uppercase) - 2:
        log = cr.paper_suite(group, predicates, sequences, seed=0, feature=kind).log
    else:
        names = [*string.ascii_uppercase[:24], *(f"P{k}" for k in range(24, predicates))]
        planted, decoys = TRUTH
        log = cr.simulate(
            truth,
            [1.2, 1.0, 0.8],
            predicates=names,
            entities=sequences,
            grid=0.1,
            planted=planted,
            decoys=decoys,
            seed=1,
        ).log
    grammar = cr.Grammar(max_length=longest, partial_orders=partial_orders)
    return Case(log, truth, kind, grammar.resolve(log.predicates, exclude=["Y"]))


def pace(work: Case, limit: float) -> float:
    """Rules a second of brute search on the same log: as many as it gets through, of the whole grammar."""
    certificate, _ = work.round((), "brute", limit)
    return certificate.evaluations / certificate.seconds


def row(name: str, work: Case, certificate: Certificate, brute: float) -> str:
    try:
        rules = count_rules(work.grammar)
    except GrammarError:  # partial orders that are too many to count
        rules = 0
    proof = "proved" if certificate.optimal else f"gap {100 * certificate.gap:.0f} %"
    ratio = f"{rules / brute / certificate.seconds:>22,.0f}" if certificate.optimal and rules else ""
    return f"{name:50}{certificate.seconds:>9.2f}{certificate.nodes:>11,}{rules:>14.2g}{proof:>12}{ratio}"


def heading(title: str) -> None:
    print(f"\n{title}\n{'':50}{'seconds':>9}{'nodes':>11}{'rules':>14}{'':>12}{'brute: times':>22}")


def rounds(work: Case, name: str, limit: float, least: float) -> None:
    """Rounds from no rules on until none passes, or the proof is not had in time."""
    rules: list[Rule] = []
    brute = pace(work, least)
    for number in range(1, 6):
        certificate, best = work.round(rules, "exact", limit)
        print(row(f"{name}, round {number}{'' if best else ' (none left)'}", work, certificate, brute), flush=True)
        if best is None or not certificate.optimal:
            return
        rules.append(best)


def last_round(work: Case, name: str, limit: float, least: float) -> Certificate:
    certificate, _ = work.round(work.truth, "exact", limit)
    print(row(name, work, certificate, pace(work, least)), flush=True)
    return certificate


def point(x: int, certificate: Certificate) -> Point:
    gap = "no proof" if certificate.incumbent <= 0 else f"gap {100 * certificate.gap:.0f} %"
    return Point(x, certificate.seconds, "" if certificate.optimal else gap)


def chains(short: bool, predicates: int, sequences: int, longest: int, limit: float, least: float) -> None:
    heading(f"Chains of Before and Equal, length 1..{longest}")
    for group in (1,) if short else (1, 2, 3, 4, 5, 6):
        rounds(case(group, predicates, sequences, longest), f"exists, group {group}", limit, least)
    for group in (1,) if short else (1, 6):
        rounds(case(group, predicates, sequences, longest, "count"), f"count, group {group}", limit, least)


def partial_orders(short: bool, predicates: int, sequences: int, limit: float, least: float) -> None:
    heading("Partial orders")
    for length in (2,) if short else (2, 3, 4, 5):
        work = case(1, predicates, sequences, length, partial_orders=True)
        rounds(work, f"exists, group 1, length 1..{length}", limit, least)


def growth(short: bool, predicates: int, sequences: int, longest: int, limit: float, least: float) -> list[Panel]:
    heading(
        f"The last round of group 1 as one thing grows (else {sequences:,} sequences, {predicates} predicates, "
        f"length 1..{longest})"
    )
    by_size, by_library, by_length = [], [], []
    for size in (50, 100) if short else (1_000, 3_000, 10_000, 30_000, 100_000):
        work = case(1, predicates, size, longest)
        by_size.append(point(size, last_round(work, f"{size:,} sequences", limit, least)))
    for size in (8, 10) if short else (8, 16, 24, 50, 100, 200):
        work = case(1, size, sequences, longest)
        by_library.append(point(size, last_round(work, f"{size} predicates", limit, least)))
    for size in (2, 3) if short else range(2, 11):
        work = case(1, predicates, sequences, size)
        by_length.append(point(size, last_round(work, f"length 1..{size}", limit, least)))
    return [
        Panel("Sequences", "sequences", by_size),
        Panel("Predicates", "predicates", by_library),
        Panel("Length", "longest rule", by_length),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one search")
    parser.add_argument("--plot", type=Path, help="where the picture of the growth goes, as SVG")
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    asked = parser.parse_args()
    limit, least = (5.0, 0.05) if asked.short else (asked.limit, 1.0)
    predicates, sequences, longest = (10, 100, 4) if asked.short else (24, 1000, 8)
    # compile everything once, so that no figure holds it
    for kind, orders in (("exists", False), ("count", False), ("exists", True)):
        case(1, 8, 50, 2, kind, orders).round((), "exact", limit)

    print(f"{available_cores()} cores; {sequences} sequences, {predicates} predicates")
    if "chains" in asked.parts:
        chains(asked.short, predicates, sequences, longest, limit, least)
    if "orders" in asked.parts:
        partial_orders(asked.short, predicates, sequences, limit, least)
    if "growth" in asked.parts:
        panels = growth(asked.short, predicates, sequences, longest, limit, least)
        if asked.plot is not None:
            words = "Seconds of the last certified round as sequences, predicates and the length of rules grow."
            write_figure(panels, "seconds", words, asked.plot)


if __name__ == "__main__":
    main()
