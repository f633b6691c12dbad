"""From the rules that learning ended with to the model that people read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chronorule.errors import FitWarning
from chronorule.learner.state import State
from chronorule.learner.weighing import Weighing
from chronorule.model import RuleModel, Study
from chronorule.model.residuals import Bursts, bursts
from chronorule.model.weigh import weigh
from chronorule.rules import Rule
from chronorule.rules.canonical import implies

MOST_SUGGESTIVE = 10


def finished(weighing: Weighing, study: Study, state: State, options: Mapping[str, Any]) -> RuleModel:
    """The model of a state: its rules and the suggestive ones weighed on `study`, with how they were found."""
    task = weighing.task
    if state.added or state.dropped or state.polished:  # a round that was cut off
        level = weighing.fit(state.rules).solution.log_likelihood
        state = state.closed(level, state.rounds[-1].seconds if state.rounds else 0.0)
    honest = study is not weighing.study
    rules = _of_weight(weighing, state.rules) if task.stop == "optimal" else state.rules
    model = weigh(
        study,
        rules,
        None if honest else task.charged,
        beside=_suggestive(state),
        given=weighing.given,
        alpha=task.alpha,
        min_support=task.min_support,
        kernels=task.kernels,
    )
    notes = list(model.notes)
    if idle := len(state.rules) - len(rules):
        notes.append(
            f"{idle} {'rule that was' if idle == 1 else 'rules that were'} added on the way came to weight 0: left "
            "out, since the rate is the same without."
        )
    if honest:
        notes.append(
            "honest: the rules were found on one half of the groups, and weights, errors, gains and intervals come "
            "from the other half alone."
        )
    burst = bursts(study, study.fit([item.rule for item in model.rules]))
    if burst is not None and burst.sure:
        notes.append(_warned_of_bursts(burst, study))
    return replace(
        model,
        grammar=task.grammar,
        notes=tuple(notes),
        certificate=state.certificate,
        rounds=state.rounds,
        options=dict(options),
        stopped=state.stopped,
    )


def _of_weight(weighing: Weighing, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Rules that are given or have a weight: the paper's method keeps others only as long as it goes on."""
    fit = weighing.fit(rules)
    weight = dict(zip(fit.rules, fit.solution.weights.tolist(), strict=True))
    return tuple(rule for rule in rules if weight[rule] > 0 or rule in weighing.given)


def _warned_of_bursts(burst: Bursts, study: Study) -> str:
    """The sentence on heads that bring heads; it is also a warning."""
    name = study.head.name
    told = (
        f"'{name}' seems to excite itself: {burst.observed:,} came soon after another where {burst.expected:.0f} are "
        "expected. Then gains are overstated, and more than one log in 1/alpha shows a rule by chance: let rules use "
        f"its own past (put '{name}' into the body of the grammar), or ask for a smaller alpha."
    )
    warnings.warn(told, FitWarning, stacklevel=5)
    return told


def _suggestive(state: State) -> list[Rule]:
    """The best rules that were not admitted: of two of which one implies the other, only the better."""
    shown: list[Rule] = []
    for rule in state.runners_up:
        if rule in state.rules or any(implies(rule, one) or implies(one, rule) for one in shown):
            continue
        shown.append(rule)
    return shown[:MOST_SUGGESTIVE]
