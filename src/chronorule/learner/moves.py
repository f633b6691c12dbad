"""What refitting decides: which contender passes after all, which rule is no longer needed, which other is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from chronorule.learner.progress import Allowance
from chronorule.learner.state import Next, State
from chronorule.learner.weighing import Weighing
from chronorule.rules import Rule
from chronorule.search.base import Outcome, Search, Subproblem

Propose = Callable[[Rule, frozenset[Rule]], tuple[Subproblem, list[Rule]]]

CLOSE_LOOKS = 8  # neighbours of a rule that are refitted, the best by gain
FEWER_LOOKS = 24  # contenders for the place of a rule that are refitted
LEAST = 1e-6  # nats by which a polished set must be better: above the rounding of a fit


def add(
    weighing: Weighing, state: State, problem: Subproblem, outcome: Outcome, allowance: Allowance, most: int | None
) -> State:
    """The state with what a search found; without a find, with the contender that passes once all is refitted.

    The gain that a search maximises holds the other weights, so it is a lower bound, and a loose one where the new rule
    overlaps with rules in hand. Of a search that was cut short the best so far is taken, for now.
    """
    repaired = weighing.task.stop == "evidence"  # the paper's problem is convex: its optimum needs no repair
    found = tuple(item.rule for item in outcome.found)
    shown = tuple(item.rule for item in outcome.runners_up)
    if not found and repaired and allowance.why_spent is None:
        closer = _best_refitted(weighing, state, problem, frozenset(state.rules), outcome.contenders, math.inf)
        found = () if closer is None else (closer,)
    weighing.contenders[frozenset(state.rules)] = contenders(outcome)
    full = most is not None and len(state.rules) >= most
    state = replace(state, certificate=outcome.certificate, runners_up=(*found, *shown) if full else shown)
    grown = state.moved((*state.rules, *found), added=found) if found and not full else state
    proved = outcome.certificate.optimal and bool(outcome.found or not repaired)
    if not proved and (why := allowance.why_spent):
        return replace(grown, stopped=why)
    if not found:
        return replace(state, next="seek" if repaired else "done")
    if full:
        return replace(state, next="done", stopped="max_rules")
    return replace(grown, next="drop" if repaired else "search")


def drop(weighing: Weighing, state: State) -> State:
    """Leave out, one by one, rules whose loss costs less than it took to let them in (design 6)."""
    rules = state.rules
    dropped = []
    while True:
        loose = [rule for rule in rules if rule not in weighing.given]
        fit = weighing.fit(rules)
        here = fit.solution.objective
        losses = weighing.objectives_without(fit, loose)
        surplus = [loss - here - weighing.needed(rule) for loss, rule in zip(losses, loose, strict=True)]
        if not surplus or min(surplus) >= 0:
            break
        least = min(range(len(loose)), key=lambda place: (surplus[place], loose[place].key))
        dropped.append(loose[least])
        rules = tuple(rule for rule in rules if rule != loose[least])
    if not dropped:
        return replace(state, next="polish")
    return state.moved(rules, dropped=(*state.dropped, *dropped), next="polish")


def polish(weighing: Weighing, state: State, allowance: Allowance) -> State:
    """One rule replaced by the neighbour with which the rules stand best, once refitted; then the next search."""
    return _exchange(weighing, state, allowance, lambda rule, others: _neighbours(weighing, rule, others), "search")


def seek(weighing: Weighing, state: State, allowance: Allowance, search: Search) -> State:
    """Before the end: one rule replaced by the best that a search finds in its place, however far from it."""
    return _exchange(
        weighing, state, allowance, lambda _, others: _searched(weighing, others, search, allowance), "done"
    )


def contenders(outcome: Outcome) -> tuple[Rule, ...]:
    """What a search found and what came near, the best first."""
    return (*(item.rule for item in outcome.found), *outcome.contenders)


def _exchange(weighing: Weighing, state: State, allowance: Allowance, propose: Propose, otherwise: Next) -> State:
    """The first exchange of a rule for one proposed after which the rules stand better, never a step back.

    Rules that the likelihood misses least are tried first: what stands in for two true rules is among them.
    """
    loose = [rule for rule in state.rules if rule not in weighing.given]
    losses = weighing.objectives_without(weighing.fit(state.rules), loose)
    for _, _, rule in sorted(zip(losses, (rule.key for rule in loose), loose, strict=True), key=lambda item: item[:2]):
        if why := allowance.why_spent:
            return replace(state, stopped=why)
        others = frozenset(state.rules) - {rule}
        problem, candidates = propose(rule, others)
        better = _best_refitted(weighing, state, problem, others, candidates, weighing.standing(state.rules) - LEAST)
        if better is not None:
            rules = tuple(better if one == rule else one for one in state.rules)
            polished = (*state.polished, (rule, better))
            return state.moved(rules, polished=polished, next="drop", stopped=allowance.why_spent)
    if why := allowance.why_spent:  # the last search may have been cut short
        return replace(state, stopped=why)
    return replace(state, next=otherwise)


def _neighbours(weighing: Weighing, rule: Rule, others: frozenset[Rule]) -> tuple[Subproblem, list[Rule]]:
    """The neighbours of a rule that gain most beside the others."""
    problem = weighing.subproblem(weighing.fit(others), weighing.task)
    near = list(weighing.task.grammar.neighbours(rule))
    gains = problem.oracle.evaluate(near, "gain")
    best = np.argsort(-gains, kind="stable")[: CLOSE_LOOKS + len(others)]
    return problem, [near[place] for place in best.tolist() if gains[place] > 0]


def _searched(
    weighing: Weighing, others: frozenset[Rule], search: Search, allowance: Allowance
) -> tuple[Subproblem, list[Rule]]:
    """The contenders of a search beside the others."""
    problem = weighing.subproblem(weighing.fit(others), replace(weighing.task, taken=others))
    known = weighing.contenders.get(others)
    if known is None:
        outcome = search.run(problem, allowance.left())
        known = weighing.contenders[others] = contenders(outcome)
    return problem, list(known[:FEWER_LOOKS])


def _best_refitted(
    weighing: Weighing,
    state: State,
    problem: Subproblem,
    others: frozenset[Rule],
    candidates: Sequence[Rule],
    below: float,
) -> Rule | None:
    """Of the candidates that pass beside the others by refitted gain, the one that stands best, if below a bound."""
    beside = weighing.fit(others)
    before = beside.solution.objective
    new = [rule for rule in candidates if rule not in others and others | {rule} not in state.visited]
    ranked = [
        (value + weighing.unlikeness(others | {rule}), rule.length, rule.key, value, rule)
        for value, rule in zip(weighing.objectives_with(beside, new), new, strict=True)
    ]
    for standing, _, _, value, rule in sorted(ranked, key=lambda item: item[:3]):
        if standing >= below:
            return None
        z = weighing.study.clustered_z(beside, rule)
        if weighing.task.admits(replace(problem.evidence(rule), gain=before - value, clustered_z=z)):
            return rule
    return None
