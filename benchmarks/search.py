"""How long a certified round takes, against pricing every rule of the grammar one by one, and how that grows.

python benchmarks/search.py            the figures of docs/search.md
python benchmarks/search.py --short    a small run, for function and not for time

A round is one run of the exact search at the λ of the rules in force. The dearest is the last, at the λ of the true
rules, which proves that nothing is left. Brute search prices every rule of a small grammar on the same log in the same
process; the ratio is what it would take for the whole grammar at that pace over what the exact search took.
"""

from __future__ import annotations

import argparse
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
    ratio = f"{rules / brute / certificate.seconds:>12,.0f}" if certificate.optimal and rules else f"{'':>12}"
    return f"{name:44}{certificate.seconds:>9.2f}{certificate.nodes:>11,}{rules:>14.2g}{proof:>12}{ratio}"


def heading(title: str) -> None:
    print(f"\n{title}\n{'':44}{'seconds':>9}{'nodes':>11}{'rules':>14}{'':>12}{'brute: times':>12}")


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


def last_round(work: Case, name: str, limit: float, least: float) -> None:
    certificate, _ = work.round(work.truth, "exact", limit)
    print(row(name, work, certificate, pace(work, least)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a small run, for function and not for time")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one search")
    options = parser.parse_args()
    short = options.short
    limit, least = (5.0, 0.05) if short else (options.limit, 1.0)
    predicates, sequences, longest = (10, 100, 4) if short else (24, 1000, 8)
    # compile everything once, so that no figure holds it
    for kind, orders in (("exists", False), ("count", False), ("exists", True)):
        case(1, 8, 50, 2, kind, orders).round((), "exact", limit)

    print(f"{available_cores()} cores; {sequences} sequences, {predicates} predicates")
    heading(f"Chains of Before and Equal, length 1..{longest}")
    for group in (1,) if short else (1, 2, 3, 4, 5, 6):
        rounds(case(group, predicates, sequences, longest), f"exists, group {group}", limit, least)
    for group in (1,) if short else (1, 6):
        rounds(case(group, predicates, sequences, longest, "count"), f"count, group {group}", limit, least)
    heading("Partial orders")
    for length in (2,) if short else (2, 3, 4, 5):
        work = case(1, predicates, sequences, length, partial_orders=True)
        rounds(work, f"exists, group 1, length 1..{length}", limit, least)

    heading(f"The last round of group 1 as one thing grows (else 1,000 sequences, 24 predicates, length 1..{longest})")
    for size in (50, 100) if short else (1_000, 3_000, 10_000, 30_000, 100_000):
        last_round(case(1, predicates, size, longest), f"{size:,} sequences", limit, least)
    for size in (8, 10) if short else (8, 16, 24, 50, 100, 200):
        last_round(case(1, size, sequences, longest), f"{size} predicates", limit, least)
    for size in (2, 3) if short else range(2, 11):
        last_round(case(1, predicates, sequences, size), f"length 1..{size}", limit, least)


if __name__ == "__main__":
    main()
