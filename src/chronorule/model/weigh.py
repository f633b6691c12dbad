"""Weighing given rules: from rules and a log to a model."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from chronorule.errors import FitWarning, OptionError, RuleError
from chronorule.events import EventLog, Head
from chronorule.events.log import checked_log
from chronorule.execution import Threads
from chronorule.grounding import Feature, Kernel, parse_kernel
from chronorule.likelihood import Heterogeneity
from chronorule.master import Start
from chronorule.model.rule_model import RuleModel, Training
from chronorule.model.study import Fit, Study
from chronorule.model.weighted_rule import WeightedRule
from chronorule.pricing import Oracle
from chronorule.rules import Rule, parse_rules
from chronorule.rules.grammar import Grammar


def reweigh(
    rules_text: str | Rule | Sequence[Rule | str],
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
    if not isinstance(rules_text, Rule | Iterable):
        raise RuleError(f"{rules_text!r} holds no rules; give rules, or their text as in 'Head <- A < B'.")
    checked_log(log, "log")
    rules = given_rules_of(rules_text)
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
        given_cuts(baseline),
        penalty,
        threads=Threads(threads),
    )
    return weigh(study, rules)


def weigh(
    study: Study,
    rules: Sequence[Rule],
    grammar: Grammar | None = None,
    *,
    beside: Sequence[Rule] = (),
    given: Collection[Rule] = (),
    alpha: float = 0.05,
    min_support: int = 5,
    kernels: int = 1,
) -> RuleModel:
    """A model of the given rules: weighed together, and each with its evidence when refitted without it.

    Rules that were searched for among those of a `grammar` are charged their description length; rules that a person
    named beforehand, all without a grammar and else those `given`, are not. The rules `beside` do not belong to the
    model: each is weighed as if it alone were added, and becomes one of the model's suggestive rules.
    """
    kept, twins = study.distinct(rules)
    fit = study.fit(kept)

    def judged(rule: Rule) -> WeightedRule:
        charged = None if rule in given else grammar
        if rule in kept:
            whole, without = fit, _fit_without(study, fit, rule)
        else:
            whole, without = study.fit([*kept, rule]), fit
        oracle = study.oracle(without) if prices is None or without is not fit else prices
        return _weighted(study, whole, rule, without, oracle, charged, alpha, min_support, kernels)

    def some(begin: int, end: int) -> list[WeightedRule]:
        return [judged(rule) for rule in [*kept, *others][begin:end]]

    others = [rule for rule in beside if rule not in kept]
    prices = study.oracle(fit) if others else None  # they all stand beside the same
    parts = study.threads.over(len(kept) + len(others), some, smallest=1)
    weighted = [item for part in parts for item in part]
    return RuleModel(
        head=study.head,
        feature=study.feature,
        heterogeneity=study.frailty,
        cuts=study.cuts,
        penalty=study.penalty,
        rules=tuple(weighted[: len(kept)]),
        suggestive=tuple(weighted[len(kept) :]),
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
            fingerprint=study.log.fingerprint,
            vocabulary=study.log.predicates,
            log_likelihood=fit.solution.log_likelihood,
            log_likelihood_without_rules=study.fit(()).solution.log_likelihood,
            kkt_residual=fit.solution.kkt_residual,
            complementary_slackness=fit.solution.complementary_slackness,
        ),
        notes=tuple(_remarks(study, fit, twins)),
    )


def given_cuts(baseline: Sequence[float] | None) -> tuple[float, ...]:
    refusal = OptionError(
        f"baseline={baseline!r} is not a list of times; give the cut points of the base rate in time since the "
        "period's start, as in baseline=[6, 12, 24]."
    )
    if isinstance(baseline, str):  # "12" would be taken letter by letter, as the cuts 1 and 2
        raise refusal
    try:
        return tuple(float(cut) for cut in ([] if baseline is None else baseline))
    except (TypeError, ValueError):
        raise refusal from None


def given_rules_of(source: str | Rule | Sequence[Rule | str]) -> list[Rule]:
    if isinstance(source, str):
        if "<-" not in source and "\n" not in source.strip() and source.strip().lower().endswith((".txt", ".rules")):
            raise RuleError(
                f"'{source.strip()}' looks like the name of a file; pass the rules themselves, for example "
                f"pathlib.Path('{source.strip()}').read_text()."
            )
        return [line.rule for line in parse_rules(source)]
    items = [source] if isinstance(source, Rule) else list(source)
    wrong = next((item for item in items if not isinstance(item, Rule | str)), None)
    if wrong is not None:
        raise RuleError(f"{wrong!r} is no rule; give rules, or their text as in 'Head <- A < B'.")
    texts = [rule.key if isinstance(rule, Rule) else rule for rule in items]
    return [line.rule for line in parse_rules("\n".join(texts))]


def _weighted(
    study: Study,
    fit: Fit,
    rule: Rule,
    without: Fit,
    oracle: Oracle,
    grammar: Grammar | None,
    alpha: float,
    min_support: int,
    kernels: int,
) -> WeightedRule:
    """A rule of a fit with its evidence beside the fit without it, whose prices the oracle knows."""
    place, solution = fit.rules.index(rule), fit.solution
    evidence = replace(oracle.evidence(rule, grammar, kernels), clustered_z=study.clustered_z(without, rule))
    rows = study.grounding.completions(rule)
    return WeightedRule(
        rule=rule,
        weight=float(solution.weights[place]),
        stderr=float(solution.stderr[place]),
        gain=max(without.solution.objective - solution.objective, 0.0),
        heads=round(float(oracle.effect(rule).heads_on.sum())),
        evidence=evidence,
        entities=len(np.unique(rows[:, 0])),
        matches=float(rows[:, 2].sum()),
        alpha=alpha,
        min_support=min_support,
    )


def _fit_without(study: Study, fit: Fit, rule: Rule) -> Fit:
    """The fit without one of its rules."""
    place, solution = fit.rules.index(rule), fit.solution
    start = Start(np.delete(solution.weights, place), solution.baseline, solution.variance)
    return study.fit([other for other in fit.rules if other != rule], start)


def _remarks(study: Study, fit: Fit, twins: dict[Rule, Rule]) -> list[str]:
    """What a reader of the model should know; what spoils it is also a warning."""
    notes = []
    if study.frailty != study.heterogeneity:
        notes.append(
            f"'{study.head.name}' is terminal, and one event an entity cannot tell a frailty from a falling rate: "
            "base rates are taken as alike."
        )
    notes += [f"'{twin.key}' is active exactly when '{rule.key}' is: left out." for twin, rule in twins.items()]
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
