"""A subproblem as plain values, for the slow verifier: numbers and names are copied, nothing is worked out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from chronorule.events import EventLog, Exposure
from chronorule.rules.rule import Relation, Rule
from chronorule.search.base import Subproblem
from chronorule.search.slow.bodies import Options
from chronorule.search.slow.case import Case, Entity
from chronorule.search.slow.relations import Body, Identity, body_of, identity


def case_of(problem: Subproblem) -> Case:
    """All that a subproblem says."""
    task, oracle = problem.task, problem.oracle
    rate, feature = oracle.rate, oracle.grounding.feature
    return Case(
        entities=tuple(
            entities_of(oracle.grounding.log, oracle.exposure, oracle.unit.tolist(), rate.multiplier.tolist())
        ),
        options=Options.of(task.grammar),
        rules=tuple(
            (plain_body(rule), rule.sign * weight)
            for rule, weight in zip(rate.rules, rate.weights.tolist(), strict=True)
        ),
        baseline=tuple(rate.baseline.tolist()),
        cuts=tuple(rate.cuts.tolist()),
        count=feature.kind == "count",
        width=feature.kernel.width,
        decay=feature.kernel.rate,
        span=feature.longest,
        penalty=oracle.penalty,
        largest=oracle.largest_weight,
        objective=task.objective,
        stop=task.stop,
        settled=task.needed if task.stop == "optimal" else 0.0,
        alpha=task.alpha,
        min_support=task.min_support,
        within=task.within,
        ends_own_exposure=oracle.exposure.head.ends_own_exposure,
        kernels=task.kernels,
        taken=frozenset(map(plain_identity, task.taken)),
    )


def entities_of(
    log: EventLog, exposure: Exposure, groups: Sequence[int], multipliers: Sequence[float]
) -> Iterator[Entity]:
    """The entities of a log, each with its share of the exposure, its group and the multiplier of its rate."""
    for c in range(log.n_entities):
        events: dict[str, list[float]] = {}
        for code in log.static_codes[log.static_offsets[c] : log.static_offsets[c + 1]].tolist():
            events[log.predicates[code]] = [-math.inf]
        rows = slice(log.offsets[c], log.offsets[c + 1])
        for code, time in zip(log.codes[rows].tolist(), log.times[rows].tolist(), strict=True):
            events.setdefault(log.predicates[code], []).append(time)
        at_risk = slice(exposure.offsets[c], exposure.offsets[c + 1])
        heads = slice(exposure.head_offsets[c], exposure.head_offsets[c + 1])
        yield Entity(
            events={name: tuple(times) for name, times in events.items()},
            heads=tuple(exposure.head_times[heads].tolist()),
            exposure=tuple(zip(exposure.start[at_risk].tolist(), exposure.stop[at_risk].tolist(), strict=True)),
            start=float(exposure.period_start[c]),
            group=groups[c],
            multiplier=multipliers[c],
        )


def plain_body(rule: Rule) -> Body:
    """The body of a rule."""
    return body_of(rule.classes, rule.predecessors)


def plain_identity(rule: Rule) -> tuple[Identity, int]:
    """What tells a rule from others."""
    return identity(*plain_body(rule)), rule.sign


def rule_of(head: str, body: Body, sign: int) -> Rule:
    """The rule with a plain body, to call it by its key."""
    names, table = body
    return Rule.build(head, names, [(i, Relation(relation), j) for (i, j), relation in table.items()], sign)
