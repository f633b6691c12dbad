"""The paper's Algorithm 3, with repairs and a proof at the end (design 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chronorule.learner.moves import add, drop, polish, seek
from chronorule.learner.progress import Allowance, LearningProgress, LearningWatcher, Stage
from chronorule.learner.state import State
from chronorule.learner.weighing import Weighing
from chronorule.model import Fit
from chronorule.search.base import Progress, Search


def learn(
    weighing: Weighing,
    search: Search,
    state: State,
    allowance: Allowance,
    most: int | None,
    keep: Callable[[State], None],
    watch: LearningWatcher | None,
) -> State:
    """Column generation: weigh the rules in hand, search for the best to add, repair, until none passes.

    Every step takes a state and returns one, which `keep` writes down, but for a step that was cut short: whoever goes
    on takes it anew, and so comes to the same rules. No rule has changed since the last search, so its certificate
    holds for the rules that are returned.
    """

    def show(stage: Stage, state: State, fit: Fit, searching: Progress | None = None) -> None:
        if watch is not None:
            rules = tuple(zip(fit.rules, fit.solution.weights.tolist(), strict=True))
            level = fit.solution.log_likelihood
            watch(LearningProgress(weighing.task.head, state.round, stage, level, rules, searching, allowance.used))

    fit = weighing.fit(state.rules)
    while state.next != "done":
        if why := allowance.why_spent:
            return replace(state, stopped=why)
        show(state.next, state, fit)
        match state.next:
            case "search":
                problem = weighing.subproblem(fit, replace(weighing.task, taken=frozenset(state.rules)))
                here = state
                outcome = search.run(problem, allowance.left(), lambda now: show("search", here, fit, now))  # noqa: B023
                state = add(weighing, state, problem, outcome, allowance, most)
            case "drop":
                state = drop(weighing, state)
            case "polish":
                state = polish(weighing, state, allowance)
            case "seek":
                state = seek(weighing, state, allowance, search)
        if state.cut_short:
            return state
        fit = weighing.fit(state.rules) if frozenset(fit.rules) != frozenset(state.rules) else fit
        if state.ends_round:
            state = state.closed(fit.solution.log_likelihood, allowance.used)
        keep(state)
    show("done", state, fit)
    return state
