"""What must not matter does not: names, the order of rows and entities, when time begins, its unit, a second copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import chronorule as cr
from chronorule.execution import Threads
from chronorule.grounding import Feature, window
from chronorule.likelihood import Heterogeneity
from chronorule.model import Study
from chronorule.rules import Grammar, Relation, Rule
from chronorule.search import SEARCHES, Budget, Outcome, Subproblem, Task, search_of

FEATURES = {"step": Feature(), "window": Feature("exists", window(3.0)), "span": Feature("exists", span=4.0)}
PLENTY = Budget(evaluations=20_000)


@dataclass(frozen=True)
class Rows:
    """A log as columns, which can be changed before it is built."""

    owner: tuple[str, ...]
    time: tuple[float, ...]
    name: tuple[str, ...]
    periods: Mapping[str, tuple[float, float]]
    static: Mapping[str, tuple[str, ...]]
    vocabulary: tuple[str, ...]

    def built(self) -> cr.EventLog:
        return cr.EventLog.from_columns(
            list(self.owner),
            np.array(self.time),
            list(self.name),
            periods=dict(self.periods),
            static={name: list(held) for name, held in self.static.items()},
            predicates=self.vocabulary,
        )


def planted(seed: int) -> Rows:
    """Sixty entities with a rule of two predicates and a static one; the rest of the rows is noise with ties."""
    log, _ = cr.simulate("Y <- A < B & S  w = 2.0", predicates=5, static={"S": 0.5}, entities=60, seed=seed, rates=0.15)
    owner = np.repeat(np.arange(log.n_entities), np.diff(log.offsets))
    facts = np.repeat(np.arange(log.n_entities), np.diff(log.static_offsets))
    held: dict[str, tuple[str, ...]] = dict.fromkeys(log.entities, ())
    for c, code in zip(facts.tolist(), log.static_codes.tolist(), strict=True):
        held[log.entities[c]] = (*held[log.entities[c]], log.predicates[code])
    return Rows(
        tuple(log.entities[c] for c in owner),
        tuple(np.round(log.times, 0 if seed % 2 else 1).tolist()),
        tuple(log.predicates[code] for code in log.codes),
        {name: (float(a), float(b)) for name, a, b in zip(log.entities, log.start, log.stop, strict=True)},
        held,
        log.predicates,
    )


def answer(which: str, rows: Rows, feature: Feature, heterogeneity: Heterogeneity = "gamma") -> Outcome:
    """The search's outcome over all predicates of a log beside no rule."""
    log = rows.built()
    study = Study(log, cr.Head("Y"), feature, heterogeneity, threads=Threads(1))
    statics = [name for name, static in zip(log.predicates, log.statics, strict=True) if static]
    grammar = Grammar(max_length=3, signs=(1, -1)).resolve(log.predicates, statics=statics, exclude={"Y"})
    problem = Subproblem(Task("Y", grammar, stop="optimal"), study.oracle(study.fit([])), lambda rules: [])
    return search_of(which).run(problem, PLENTY)


def renamed(rule: Rule, names: Mapping[str, str]) -> Rule:
    """The same rule under other names."""
    variables = [(element, names[name]) for element, members in enumerate(rule.classes) for name in members]
    relations = [
        (i, Relation.EQUAL if one == other else Relation.BEFORE, j)
        for i, (one, _) in enumerate(variables)
        for j, (other, _) in enumerate(variables)
        if (one == other and i < j) or (one != other and rule.predecessors[other] >> one & 1)
    ]
    return Rule.build(rule.head, [name for _, name in variables], relations, rule.sign)


def shuffled(rows: Rows, seed: int) -> Rows:
    """The same events in another order, and the entities too."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(rows.time))
    entities = random.permutation(list(rows.periods)).tolist()
    return Rows(
        tuple(rows.owner[k] for k in order),
        tuple(rows.time[k] for k in order),
        tuple(rows.name[k] for k in order),
        {name: rows.periods[name] for name in entities},
        rows.static,
        rows.vocabulary,
    )


def agree(one: Outcome, other: Outcome, names: Mapping[str, str] | None = None, times: float = 1.0) -> None:
    """Same rules of the same worth, `times` as much of it; all but what equals the last runner-up is compared."""
    assert one.certificate.optimal == other.certificate.optimal
    assert one.found
    close: dict[str, Any] = {"rel": 1e-6, "abs": 1e-7}  # λ is settled to a slope of 1e-8 per head, in another order
    assert other.certificate.incumbent == pytest.approx(times * one.certificate.incumbent, **close)
    assert len(one.found) == len(other.found)
    gains = [evidence.gain for evidence in (*one.found, *one.runners_up)]
    assert [e.gain for e in (*other.found, *other.runners_up)] == pytest.approx([times * g for g in gains], **close)
    least = min(gains) * (1 + 1e-6)

    def rules(outcome: Outcome, factor: float, names: Mapping[str, str]) -> set[Rule]:
        every = (*outcome.found, *outcome.runners_up)
        return {renamed(item.rule, names) for item in every if item.gain > factor * least}

    same = {name: name for item in (*one.found, *one.runners_up) for name in item.rule.predicates}
    same |= {name: name for item in (*other.found, *other.runners_up) for name in item.rule.predicates}
    assert rules(one, 1.0, names or same) == rules(other, times, same)
    for first, second in zip(one.found, other.found, strict=True):
        assert renamed(first.rule, names or same) == second.rule


CHANGES: dict[str, Callable[[Rows], Rows]] = {
    "rows and entities shuffled": lambda rows: shuffled(rows, 4),
    "time begins later": lambda rows: Rows(
        rows.owner,
        tuple(t + 1024.0 for t in rows.time),
        rows.name,
        {name: (a + 1024.0, b + 1024.0) for name, (a, b) in rows.periods.items()},
        rows.static,
        rows.vocabulary,
    ),
    "time begins earlier than zero": lambda rows: Rows(
        rows.owner,
        tuple(t - 64.0 for t in rows.time),
        rows.name,
        {name: (a - 64.0, b - 64.0) for name, (a, b) in rows.periods.items()},
        rows.static,
        rows.vocabulary,
    ),
    "predicates that never happen are known": lambda rows: Rows(
        rows.owner, rows.time, rows.name, rows.periods, rows.static, (*rows.vocabulary, "Never", "Nowhere")
    ),
    "entities without exposure join": lambda rows: Rows(
        (*rows.owner, "gone", "gone"),
        (*rows.time, 1.0, 2.0),
        (*rows.name, "A", "B"),
        {**rows.periods, "gone": (5.0, 5.0)},
        {**rows.static, "gone": ("S",)},
        rows.vocabulary,
    ),
}


@pytest.mark.parametrize("which", sorted(SEARCHES))
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("change", CHANGES)
def test_what_does_not_matter(which: str, feature: str, change: str) -> None:
    rows = planted(3)
    agree(answer(which, rows, FEATURES[feature]), answer(which, CHANGES[change](rows), FEATURES[feature]))


@pytest.mark.parametrize("which", sorted(SEARCHES))
@pytest.mark.parametrize("seed", [3, 4])
def test_names_do_not_matter(which: str, seed: int) -> None:
    rows = planted(seed)
    others = [name for name in rows.vocabulary if name != "Y"]
    names = {**dict(zip(others, ["zulu", "m m", "#1", "A", "Äb"][: len(others)], strict=False)), "Y": "Y"}
    names = {name: names.get(name, f"other {name}") for name in rows.vocabulary}
    changed = Rows(
        rows.owner,
        rows.time,
        tuple(names[name] for name in rows.name),
        rows.periods,
        {entity: tuple(names[name] for name in held) for entity, held in rows.static.items()},
        tuple(sorted(names.values())),
    )
    agree(answer(which, rows, Feature()), answer(which, shuffled(changed, seed), Feature()), names)


@pytest.mark.parametrize("which", sorted(SEARCHES))
@pytest.mark.parametrize("feature", FEATURES)
def test_a_second_copy_doubles_every_gain(which: str, feature: str) -> None:
    rows = planted(5)
    copy = tuple(f"{name} again" for name in rows.owner)
    doubled = Rows(
        rows.owner + copy,
        rows.time * 2,
        rows.name * 2,
        {**rows.periods, **{f"{name} again": period for name, period in rows.periods.items()}},
        {**rows.static, **{f"{name} again": held for name, held in rows.static.items()}},
        rows.vocabulary,
    )
    once = answer(which, rows, FEATURES[feature], heterogeneity="none")
    twice = answer(which, doubled, FEATURES[feature], heterogeneity="none")
    agree(once, twice, times=2.0)


@pytest.mark.parametrize("which", sorted(SEARCHES))
def test_unit_of_time_does_not_matter(which: str) -> None:
    rows = planted(6)
    slower = Rows(
        rows.owner,
        tuple(4.0 * t for t in rows.time),
        rows.name,
        {name: (4.0 * a, 4.0 * b) for name, (a, b) in rows.periods.items()},
        rows.static,
        rows.vocabulary,
    )
    for kind, longer in (
        (Feature(), Feature()),
        (Feature("exists", window(2.5)), Feature("exists", window(10.0))),
        (Feature("exists", span=1.5), Feature("exists", span=6.0)),
    ):
        agree(answer(which, rows, kind), answer(which, slower, longer))
