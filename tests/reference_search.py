"""What searches must say, by the definitions of `chronorule.search.slow`, from a log and numbers told one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chronorule.events import EventLog, Exposure
from chronorule.grounding import Feature
from chronorule.rules import Rule
from chronorule.search.plain import entities_of, plain_body, plain_identity, rule_of
from chronorule.search.slow.case import Case
from chronorule.search.slow.judge import Judge, Judged
from reference_rules import options_of

UNSURE = 1e-7  # sums of a few hundred terms of double precision agree far better than this


def slow_search(
    log: EventLog,
    exposure: Exposure,
    feature: Feature,
    options: Mapping[str, Any],
    *,
    rules: Sequence[Rule] = (),
    weights: Sequence[float] = (),
    base: float = 0.0,
    multipliers: Sequence[float] | None = None,
    taken: Sequence[Rule] = (),
    **settings: Any,
) -> Judge:
    """The judge of all rules of a grammar, beside rules in force at a rate without frailty or cuts unless told so."""
    case = Case(
        entities=tuple(entities_of(log, exposure, log.group.tolist(), multipliers or [1.0] * log.n_entities)),
        options=options_of(options),
        rules=tuple((plain_body(rule), rule.sign * weight) for rule, weight in zip(rules, weights, strict=True)),
        count=feature.kind == "count",
        width=feature.kernel.width,
        decay=feature.kernel.rate,
        span=math.inf if feature.span is None else feature.span,
        ends_own_exposure=exposure.head.ends_own_exposure,
        taken=frozenset(map(plain_identity, taken)),
        **{"baseline": (base,), **settings},
    )
    return Judge(case)


@dataclass(frozen=True)
class Verdict:
    """The best value of rules that surely pass, and of those that pass or nearly do (by rounding, one could)."""

    least: float
    most: float
    judged: Mapping[Rule, Judged]

    def confirms(self, value: float | None) -> bool:
        """Whether a search may say that the best rule has this value (None: that no rule passes)."""
        claimed = 0.0 if value is None else value
        room = UNSURE * (1 + abs(claimed))
        return self.least - room <= claimed <= self.most + room


def verdict(judge: Judge) -> Verdict:
    """Which value the best rule that passes has, over the whole grammar; 0 where none passes."""
    judged = list(judge.judged())
    sure = [one.value for one in judged if one.margin > UNSURE and one.value > 0]
    possible = [one.value for one in judged if one.margin > -UNSURE and one.value > 0]
    by_rule = {rule_of("Y", one.body, one.sign): one for one in judged}
    assert len(by_rule) == len(judged)
    return Verdict(max(sure, default=0.0), max(possible, default=0.0), by_rule)
