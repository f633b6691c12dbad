"""Checking a certificate again: every rule of the grammar, one by one, by the definitions alone (design 7).

Nothing that a search stands on is used: `slow` lists the rules and judges each of them by the times of events, in
plain Python that imports nothing of ours. It is given the log, the time at risk and the λ in force, that is weights,
base rate and multipliers. That is slow, and therefore for small grammars on small logs only; what it is for is trust.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from chronorule.errors import OptionError
from chronorule.pricing import Evidence
from chronorule.rules.counting import count_rules
from chronorule.search.base import Certificate, Subproblem
from chronorule.search.plain import case_of, rule_of
from chronorule.search.slow.bodies import bodies
from chronorule.search.slow.case import Case
from chronorule.search.slow.judge import Judge, Judged

MOST_RULES = 20_000
MOST_COMBINATIONS = 50_000_000
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


def verify(
    problem: Subproblem,
    certificate: Certificate,
    most: int = MOST_RULES,
    most_combinations: int = MOST_COMBINATIONS,
) -> Verdict:
    """Go through every rule of the task's grammar and say whether the certificate of a search for that task holds.

    Grammars of more than `most` rules are refused, and rules that meet more than `most_combinations` of events.
    """
    task = problem.task
    if (certificate.objective, certificate.grammar) != (task.objective, str(task.grammar)):
        raise OptionError(
            f"The certificate is about the {certificate.objective} over {certificate.grammar}, but the task about the "
            f"{task.objective} over {task.grammar}; give the task that was searched."
        )
    _refuse_many_rules(count_rules(task.grammar), most)
    case = case_of(problem)
    _refuse_many_combinations(case, most_combinations)
    judge = Judge(case)
    judged = list(judge.judged())
    passing = [one for one in judged if one.margin > 0]
    best = max(passing, key=lambda one: one.value, default=None)
    return Verdict(
        certificate,
        len(judged),
        len(passing),
        None if best is None else _evidence(judge, best, task.head),
        _objections(certificate, judged, sum(len(entity.heads) for entity in case.entities), task.head),
    )


def _refuse_many_rules(rules: int, most: int) -> None:
    if rules > most:
        raise OptionError(
            f"The grammar holds {rules:,} rules, more than the {most:,} that are looked at one by one; verify with "
            f"a smaller grammar, or allow more with most={rules}."
        )


def _refuse_many_combinations(case: Case, most: int) -> None:
    found: dict[tuple[str, ...], int] = {}
    total = 0
    for names, _ in bodies(case.options):
        if names not in found:
            found[names] = sum(
                math.prod(len(entity.events.get(name, ())) for name in names) for entity in case.entities
            )
        total += found[names]
    if total > most:
        raise OptionError(
            f"For the rules of the grammar, {total:,} combinations of events could match in this log, more than the "
            f"{most:,} that are tried one by one; verify with a smaller grammar or fewer entities, or "
            f"allow more with most_combinations={total}."
        )


def _evidence(judge: Judge, one: Judged, head: str) -> Evidence:
    """What was found of a rule, in the words of searches."""
    within = judge.within_gain(one.sign, judge.meetings(one.body))
    return Evidence(
        rule=rule_of(head, one.body, one.sign),
        observed=one.observed,
        expected=one.expected,
        reward=one.reward,
        gain=one.gain,
        weight=one.weight,
        within_gain=None if within is None else within[0],
        within_weight=None if within is None else within[1],
        clustered_z=one.clustered_z,
        support=one.support,
        description_length=one.description_length,
    )


def _objections(certificate: Certificate, judged: Sequence[Judged], heads: int, head: str) -> tuple[str, ...]:
    """What is wrong with a certificate. A rule that passes or not by a rounding alone is held against nothing."""
    objective = certificate.objective

    def room(value: float) -> float:
        return SETTLED * max(1, heads, abs(value))

    sure = max((one for one in judged if one.margin > room(one.gain)), key=lambda one: one.value, default=None)
    possible = max((one.value for one in judged if one.margin > -room(one.gain)), default=0.0)
    found = []
    limit = certificate.incumbent if certificate.optimal else certificate.bound
    if sure is not None and sure.value > limit + room(sure.value):
        key = rule_of(head, sure.body, sure.sign).key
        found.append(f"'{key}' passes with a {objective} of {sure.value:.6g}, and none was to be above {limit:.6g}")
    if certificate.incumbent > max(possible, 0.0) + room(possible):
        most = "no rule passes" if possible <= 0 else f"the highest there is is {possible:.6g}"
        found.append(f"it names a {objective} of {certificate.incumbent:.6g}, but {most}")
    return tuple(found)
