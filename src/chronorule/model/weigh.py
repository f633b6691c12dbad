"""Weighing given rules: from rules and a log to a model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np

from chronorule.errors import FitWarning, RuleError
from chronorule.events import EventLog, Head
from chronorule.execution import Threads
from chronorule.grounding import Feature, Kernel, parse_kernel
from chronorule.likelihood import Heterogeneity
from chronorule.model.rule_model import RuleModel, Training
from chronorule.model.study import Fit, Study
from chronorule.model.weighted_rule import WeightedRule
from chronorule.rules import Rule, parse_rules
from chronorule.rules.description import description_length
from chronorule.rules.grammar import Grammar


def reweigh(
    rules_text: str | Sequence[Rule | str],
    log: EventLog,
    head: Head | str | None = None,
    *,
    feature: Literal["exists", "count"] = "exists",
    kernel: str | Kernel = "step",
    span: float | None = None,
    heterogeneity: Heterogeneity = "gamma",
    baseline: Sequence[float] | None = None,
    penalty: float = 0.0,
    threads: int | None = None,
) -> RuleModel:
    """Weigh the given rules on a log by maximum likelihood.

    `rules_text` is the text of a rules file (weights in it are not used) or a sequence of rules. `head` is the head's
    name, or a `Head` where it is terminal or reset; without it the rules' own head is taken.
    """
    rules = _rules(rules_text)
    heads = sorted({rule.head for rule in rules})
    if head is None:
        if len(heads) != 1:
            raise RuleError(
                f"The rules explain {len(heads)} heads ({', '.join(heads)}); name one head and give its rules alone."
                if heads
                else "There is no rule in the text, so the head is not known; name it with head=."
            )
        head = heads[0]
    study = Study(
        log,
        Head(head) if isinstance(head, str) else head,
        Feature(feature, parse_kernel(kernel), span),
        heterogeneity,
        tuple(float(cut) for cut in baseline or ()),
        penalty,
        threads=Threads(threads),
    )
    return weigh(study, rules)


def weigh(study: Study, rules: Sequence[Rule], grammar: Grammar | None = None) -> RuleModel:
    """A model of the given rules: weighed together, and each with its evidence when refitted without it."""
    kept, twins = study.distinct(rules)
    fit = study.fit(kept)
    grammar = grammar or smallest_grammar(study, rules)

    def some(begin: int, end: int) -> list[WeightedRule]:
        return [_weighted(study, fit, place, grammar) for place in range(begin, end)]

    weighted = [item for part in study.threads.over(len(kept), some, smallest=1) for item in part]
    return RuleModel(
        head=study.head,
        feature=study.feature,
        heterogeneity=study.frailty,
        cuts=study.cuts,
        penalty=study.penalty,
        rules=tuple(weighted),
        baseline=tuple(fit.solution.baseline.tolist()),
        baseline_stderr=tuple(fit.solution.baseline_stderr.tolist()),
        variance=fit.solution.variance,
        variance_stderr=fit.solution.variance_stderr,
        grammar=grammar,
        training=Training(
            entities=study.log.n_entities,
            groups=study.log.n_groups,
            grouped=study.log.has_groups,
            events=study.log.n_events,
            heads=study.exposure.n_heads,
            heads_outside=study.exposure.outside,
            exposure=study.exposure.total(),
            unit=study.log.unit,
            log_likelihood=fit.solution.log_likelihood,
            log_likelihood_without_rules=study.fit(()).solution.log_likelihood,
            kkt_residual=fit.solution.kkt_residual,
            complementary_slackness=fit.solution.complementary_slackness,
        ),
        notes=tuple(_remarks(study, fit, twins)),
    )


def _rules(source: str | Sequence[Rule | str]) -> list[Rule]:
    if isinstance(source, str):
        return [line.rule for line in parse_rules(source)]
    texts = [rule.key if isinstance(rule, Rule) else rule for rule in source]
    return [line.rule for line in parse_rules("\n".join(texts))]


def smallest_grammar(study: Study, rules: Sequence[Rule]) -> Grammar:
    """The default grammar over the log's predicates, opened just as far as the given rules need."""
    wanted = {name for rule in rules for name in rule.predicates}
    exclude = {study.head.name, study.head.reset_by} - wanted - {None}
    statics = {name for name in study.log.predicates if study.log.is_static(study.log.code(name))}
    longest = max([4, *(rule.length for rule in rules)])
    timed = [[m for m in rule.classes if m[0] not in statics] for rule in rules]
    chains = all(
        sum(mask.bit_count() for mask in rule.predecessors) == len(classes) * (len(classes) - 1) // 2
        for rule, classes in zip(rules, timed, strict=True)
    )
    return Grammar(
        max_length=longest,
        partial_orders=not chains,
        repeats=any(len(set(rule.predicates)) < rule.length for rule in rules),
        signs=(1, -1) if any(rule.sign < 0 for rule in rules) else (1,),
    ).resolve(study.log.predicates, statics=statics, exclude={name for name in exclude if name})


def _weighted(study: Study, fit: Fit, place: int, grammar: Grammar) -> WeightedRule:
    """A rule with its evidence at the model refitted without it."""
    rule, solution = fit.rules[place], fit.solution
    others = [other for other in fit.rules if other is not rule]
    start = _Without(np.delete(solution.weights, place), solution.baseline, solution.variance)
    without = study.fit(others, start)
    oracle = study.oracle(without)
    evidence = oracle.evidence(rule, grammar)
    gain = max(without.solution.objective - solution.objective, 0.0)
    length = description_length(rule, grammar)
    return WeightedRule(
        rule=rule,
        weight=float(solution.weights[place]),
        stderr=float(solution.stderr[place]),
        gain=gain,
        worth=gain - length,
        heads=round(float(oracle.effect(rule).heads_on.sum())),
        support=evidence.support,
        label=evidence.label(),
        evidence=evidence,
    )


class _Without:
    """Where a refit without one rule begins."""

    def __init__(self, weights: np.ndarray, baseline: np.ndarray, variance: float) -> None:
        self.weights, self.baseline, self.variance = weights, baseline, variance


def _remarks(study: Study, fit: Fit, twins: dict[Rule, Rule]) -> list[str]:
    """What a reader of the model should know; what spoils it is also a warning."""
    notes = [f"'{twin.key}' is active exactly when '{rule.key}' is: left out." for twin, rule in twins.items()]
    risk = study.exposure
    if risk.outside:
        notes.append(
            f"{risk.outside:,} of {risk.outside + risk.n_heads:,} occurrences of '{study.head.name}' lie outside the "
            f"exposure and do not count ({risk.before_start:,} before the period, {risk.after_stop:,} after it, "
            f"{risk.not_at_risk:,} while not at risk)."
        )
    if risk.n_heads == 0:
        warnings.warn(
            f"'{study.head.name}' never happens within the exposure, so nothing can be said about its rate; check the "
            "head, the periods and what resets it.",
            FitWarning,
            stacklevel=4,
        )
    if not fit.solution.converged:
        warnings.warn(
            f"The weights are not settled: a slope of {fit.solution.kkt_residual:.1e} per head is left; rules that "
            "cannot be told apart are the usual cause, so leave some out.",
            FitWarning,
            stacklevel=4,
        )
    return [*fit.solution.notes, *notes]
