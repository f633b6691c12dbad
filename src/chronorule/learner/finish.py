"""From the rules that learning ended with to the model that people read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chronorule.learner.state import State
from chronorule.learner.weighing import Weighing
from chronorule.model import RuleModel, Study
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
    model = weigh(
        study,
        state.rules,
        None if honest else task.charged,
        beside=_suggestive(state),
        given=weighing.given,
        alpha=task.alpha,
        min_support=task.min_support,
        kernels=task.kernels,
    )
    notes = list(model.notes)
    if honest:
        notes.append(
            "honest: the rules were found on one half of the groups, and weights, errors, gains and intervals come "
            "from the other half alone."
        )
    return replace(
        model,
        grammar=task.grammar,
        notes=tuple(notes),
        certificate=state.certificate,
        rounds=state.rounds,
        options=dict(options),
        stopped=state.stopped,
    )


def _suggestive(state: State) -> list[Rule]:
    """The best rules that were not admitted: of two of which one implies the other, only the better."""
    shown: list[Rule] = []
    for rule in state.runners_up:
        if rule in state.rules or any(implies(rule, one) or implies(one, rule) for one in shown):
            continue
        shown.append(rule)
    return shown[:MOST_SUGGESTIVE]
