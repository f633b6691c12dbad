"""Checking a certificate again: every rule of the grammar, one by one, without bounds, batches or pruning (design 7).

Nothing of a search is used here: rules come from the enumeration of the grammar, and each is judged by all the evidence
there is, from its feature over time. That is slow, and therefore for small grammars only; what it is for is trust.
"""

from __future__ import annotations

from dataclasses import dataclass

from chronorule.errors import OptionError
from chronorule.pricing import Evidence
from chronorule.rules.counting import count_rules
from chronorule.rules.enumeration import enumerate_rules
from chronorule.search.base import Certificate, Subproblem

MOST_RULES = 20_000
# λ is settled to a slope of 1e-8 per head (design 4), and with it all values; sums in another order agree far better
SETTLED = 1e-8


@dataclass(frozen=True)
class Verdict:
    """What going through all rules of a grammar says about a certificate."""

    certificate: Certificate
    rules: int  # of the grammar: each was looked at
    passing: int  # how many of them pass
    best: Evidence | None  # of these, the one of highest objective
    objections: tuple[str, ...]  # what the certificate says wrongly; empty where it holds

    @property
    def holds(self) -> bool:
        """Whether the certificate says nothing wrong."""
        return not self.objections

    def __str__(self) -> str:
        looked = f"all {self.rules:,} rules of the grammar were looked at, {self.passing:,} of them pass"
        if self.holds:
            return f"The certificate holds: {looked}."
        return f"The certificate is wrong: {'; '.join(self.objections)} ({looked})."


def verify(problem: Subproblem, certificate: Certificate, most: int = MOST_RULES) -> Verdict:
    """Go through every rule of the task's grammar and say whether the certificate of a search for that task holds.

    Grammars of more than `most` rules are refused.
    """
    task = problem.task
    if (certificate.objective, certificate.grammar) != (task.objective, str(task.grammar)):
        raise OptionError(
            f"The certificate is about the {certificate.objective} over {certificate.grammar}, but the task about the "
            f"{task.objective} over {task.grammar}; give the task that was searched."
        )
    number = count_rules(task.grammar)
    if number > most:
        raise OptionError(
            f"The grammar holds {number:,} rules, more than the {most:,} that are looked at one by one; verify with "
            f"a smaller grammar, or allow more with most={number}."
        )
    best: Evidence | None = None
    looked = passing = 0
    for rule in enumerate_rules(task.grammar, task.head):
        looked += 1
        evidence = problem.evidence(rule)
        if task.admits(evidence):
            passing += 1
            if best is None or task.value(evidence) > task.value(best):
                best = evidence
    return Verdict(certificate, looked, passing, best, _objections(problem, certificate, best))


def _objections(problem: Subproblem, certificate: Certificate, best: Evidence | None) -> tuple[str, ...]:
    """What is wrong with a certificate, given the best rule that passes."""
    objective = certificate.objective
    value = 0.0 if best is None else problem.task.value(best)
    room = SETTLED * max(1, problem.oracle.exposure.n_heads, abs(value))
    found = []
    limit = certificate.incumbent if certificate.optimal else certificate.bound
    if best is not None and value > limit + room:
        found.append(
            f"'{best.rule.key}' passes with a {objective} of {value:.6g}, and none was to be above {limit:.6g}"
        )
    if certificate.incumbent > value + room:
        most = "no rule passes" if best is None else f"the highest there is is {value:.6g}"
        found.append(f"it names a {objective} of {certificate.incumbent:.6g}, but {most}")
    return tuple(found)
