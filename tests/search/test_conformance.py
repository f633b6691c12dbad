"""What every search promises: found through the registry, so that a new search joins by the line that names it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import chronorule as cr
from chronorule.errors import ChronoruleError, OptionError
from chronorule.execution import Threads
from chronorule.grounding import Feature, decay, window
from chronorule.model import Study
from chronorule.rules import Grammar, Rule, parse_rule
from chronorule.rules.enumeration import enumerate_rules
from chronorule.search import SEARCHES, Budget, Outcome, Progress, Search, Subproblem, Task, search_of

LARGEST_BATCH = 8192  # rules priced at most between two looks at the budget; runners-up are looked at once more
COMPLETE = ("exact", "brute")  # searches that end by themselves, with a proof; others need a budget to end
PLENTY = Budget(evaluations=20_000)  # more than the small grammars of this page hold
STUDIES: dict[Any, Study] = {}


@pytest.fixture(params=sorted(SEARCHES))
def search(request: pytest.FixtureRequest) -> Search:
    """Every search with its defaults."""
    return search_of(str(request.param))


def study_of(feature: Feature | None = None, threads: int = 1, penalty: float = 0.0) -> Study:
    """Ninety entities in which A before B raises the rate of Y, two static predicates, friends."""
    wanted = (feature or Feature(), threads, penalty)
    if wanted not in STUDIES:
        log, _ = cr.simulate("Y <- A < B  w = 2.0", predicates=4, entities=90, seed=5, base=-3.0, rates=0.1)
        random = np.random.default_rng(8)
        static = {name: [p for p in ("Old", "Smokes") if random.random() < 0.5] for name in log.entities}
        owner = np.repeat(np.arange(log.n_entities), np.diff(log.offsets))
        log = cr.EventLog.from_columns(
            [log.entities[c] for c in owner],
            np.round(log.times),  # ties
            [log.predicates[code] for code in log.codes],
            periods=dict.fromkeys(log.entities, (0.0, 20.0)),
            static=static,
        )
        pairs = [(log.entities[c], log.entities[c + 1]) for c in range(log.n_entities - 1)]
        STUDIES[wanted] = Study(
            log.relate("friend", pairs), cr.Head("Y"), wanted[0], penalty=penalty, threads=Threads(threads)
        )
    return STUDIES[wanted]


def pose(study: Study, rules: Sequence[Rule | str] = (), resolve: bool = True, **task: Any) -> Subproblem:
    """A subproblem of a study beside rules in force; `grammar` holds options of a Grammar."""
    options = {"body": ("A", "B", "C", "Old"), "max_length": 3, **task.pop("grammar", {})}
    grammar = Grammar(**options)
    if resolve:
        statics = [name for name, static in zip(study.log.predicates, study.log.statics, strict=True) if static]
        grammar = grammar.resolve(study.log.predicates, statics=statics, exclude={study.head.name})
    fit = study.fit(rules)

    def reweigh(candidates: Sequence[Rule]) -> list[float]:
        refitted = study.fit([*fit.rules, *(rule for rule in candidates if rule not in fit.rules)])
        weight = dict(zip(refitted.rules, refitted.solution.weights.tolist(), strict=True))
        return [weight[rule] for rule in candidates]

    settings = {"taken": frozenset(fit.rules), **task}
    return Subproblem(Task(study.head.name, grammar, **settings), study.oracle(fit), reweigh)


def run(search: Search, problem: Subproblem, budget: Budget = PLENTY, watch: Any = None) -> Outcome | None:
    """The outcome; None where the search says in one sentence that it cannot do this."""
    try:
        return search.run(problem, budget, watch)
    except OptionError as refusal:
        text = str(refusal)
        assert text.endswith(".")
        assert "\n" not in text
        assert len(text) < 300
        return None


def is_complete(search: Search) -> bool:
    return any(type(search_of(name)) is type(search) for name in COMPLETE)


def told(outcome: Outcome) -> tuple[Any, ...]:
    """All of an outcome but the time it took."""
    return outcome.found, outcome.runners_up, replace(outcome.certificate, seconds=0.0)


def best_value(problem: Subproblem) -> float:
    """The objective of the best rule that passes, by asking the oracle about every rule on its own."""
    task = problem.task
    known = [problem.evidence(rule) for rule in enumerate_rules(task.grammar, task.head)]
    return max((task.value(evidence) for evidence in known if task.admits(evidence)), default=0.0)


def check(problem: Subproblem, outcome: Outcome, best: float, complete: bool) -> None:
    """What holds of every outcome, whatever found it."""
    task, certificate = problem.task, outcome.certificate
    answered = [*outcome.found, *outcome.runners_up]
    assert len({one.rule for one in answered}) == len(answered), "a rule is answered twice"
    assert len(outcome.runners_up) <= task.runners_up
    for evidence in answered:
        rule = evidence.rule
        assert task.grammar.why_not(rule) is None, rule.key
        assert rule.head == task.head
        assert rule not in task.taken
        assert evidence == problem.evidence(rule)
    for evidence in outcome.found:
        assert task.admits(evidence)
    worths = [evidence.worth for evidence in outcome.runners_up]
    assert worths == sorted(worths, reverse=True) or task.objective == "gradient"
    value = task.value(outcome.best) if outcome.best is not None else 0.0
    exact = {"rel": 1e-9, "abs": 1e-9}  # sums over some hundred instants, in another order
    assert len(set(outcome.contenders)) == len(outcome.contenders) <= task.contenders
    for rule in outcome.contenders:
        assert task.grammar.why_not(rule) is None, rule.key
        assert rule not in task.taken
        assert outcome.best is None or rule != outcome.best.rule
    values = [task.value(problem.evidence(rule)) for rule in outcome.contenders]
    assert values == pytest.approx(sorted(values, reverse=True), **exact)
    assert all(value > 0 for value in values)
    assert certificate.incumbent == pytest.approx(value, **exact)
    assert certificate.objective == task.objective
    assert certificate.grammar == str(task.grammar)
    assert certificate.bound >= certificate.incumbent
    assert value <= best + 1e-9 * (1 + best), "better than the best rule of the grammar"
    assert certificate.bound >= best - 1e-9 * (1 + best), "a better rule lies above the bound"
    if complete:
        assert certificate.optimal
    if certificate.optimal:
        assert value == pytest.approx(best, **exact)
        assert certificate.gap == 0.0


GRAMMARS: dict[str, dict[str, Any]] = {
    "default": {},
    "fixed length": {"length": 2, "max_length": None},
    "least length": {"min_length": 2},
    "before only": {"relations": ("before",)},
    "equal only": {"relations": ("equal",)},
    "repeats": {"repeats": True, "body": ("A", "B")},
    "both signs": {"signs": (1, -1)},
    "lowering": {"signs": (-1,)},
    "required": {"required": ("C",)},
    "required static": {"required": ("Old",)},
    "forbidden": {"forbidden": ("A",)},
    "forbidden pairs": {"forbidden_pairs": (("A", "B"), ("Old", "C"))},
    "prefix": {"prefix": ("B",)},
    "prefix of two": {"prefix": ("B", "A"), "body": ("A", "B", "C", "D")},
    "prefix twice": {"prefix": ("B", "B"), "repeats": True},
    "statics alone": {"body": ("Old", "Smokes"), "max_length": 2},
    "related": {"body": ("A", "B", "friend:A", "friend:Y", "friend:Old")},
    "own past": {"body": ("A", "B", "Y")},
    "one predicate": {"body": ("B",), "max_length": 1},
    "partial orders": {"partial_orders": True, "body": ("A", "B", "C")},
    "partial orders, repeats, prefix": {
        "partial_orders": True,
        "body": ("A", "B", "Old"),
        "repeats": True,
        "prefix": ("A",),
    },
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_grammar_is_obeyed_and_the_best_is_never_beaten(search: Search, name: str) -> None:
    problem = pose(study_of(), grammar=GRAMMARS[name])
    outcome = run(search, problem)
    if outcome is None:
        assert problem.task.grammar.partial_orders, "only partial orders may be refused here"
        assert not is_complete(search)
        return
    check(problem, outcome, best_value(problem), is_complete(search))


@pytest.mark.parametrize("objective", ["gain", "gradient", "worth"])
@pytest.mark.parametrize("stop", ["evidence", "optimal"])
@pytest.mark.parametrize(
    "feature",
    [
        Feature(),
        Feature("exists", window(3.0)),
        Feature("exists", span=2.0),
        Feature("count"),
        Feature("count", window(2.0)),
        Feature("exists", decay(0.5)),
    ],
    ids=str,
)
def test_objective_and_feature_are_those_asked_for(search: Search, objective: str, stop: str, feature: Feature) -> None:
    problem = pose(study_of(feature, penalty=0.2), objective=objective, stop=stop, grammar={"signs": (1, -1)})
    outcome = run(search, problem)
    if outcome is None:
        assert feature.kind == "count" or feature.kernel.name == "decay", "only these may be refused here"
        assert not is_complete(search) or feature.kernel.name == "decay"
        return
    check(problem, outcome, best_value(problem), is_complete(search))


@pytest.mark.parametrize(
    "task", [{"min_support": 60}, {"alpha": 1e-9}, {"within": True}, {"kernels": 50}, {"min_support": 10_000}], ids=str
)
def test_pass_rule_is_that_of_the_task(search: Search, task: dict[str, Any]) -> None:
    problem = pose(study_of(), **task)
    outcome = run(search, problem)
    assert outcome is not None
    check(problem, outcome, best_value(problem), is_complete(search))


def test_planted_rule_is_found(search: Search) -> None:
    outcome = run(search, pose(study_of()))
    assert outcome is not None
    assert outcome.best is not None
    assert outcome.best.rule == parse_rule("Y <- A < B")


def test_rules_already_taken_are_not_found_again(search: Search) -> None:
    study = study_of()
    taken: list[Rule] = []
    for _ in range(3):
        problem = pose(study, stop="optimal", taken=frozenset(taken))
        outcome = run(search, problem)
        assert outcome is not None
        check(problem, outcome, best_value(problem), is_complete(search))
        assert outcome.best is not None
        assert outcome.best.rule not in taken
        taken.append(outcome.best.rule)


def test_second_round_looks_beside_the_rules_in_force(search: Search) -> None:
    problem = pose(study_of(), ["Y <- A < B"])
    outcome = run(search, problem)
    assert outcome is not None
    check(problem, outcome, best_value(problem), is_complete(search))


def test_runners_up_are_as_many_as_asked_for(search: Search) -> None:
    for number in (0, 1, 25):
        outcome = run(search, pose(study_of(), runners_up=number))
        assert outcome is not None
        assert len(outcome.runners_up) <= number
        if is_complete(search) and number == 25:
            assert len(outcome.runners_up) >= 5


@pytest.mark.parametrize("objective", ["gain", "gradient", "worth"])
def test_contenders_are_the_best_by_the_objective(search: Search, objective: str) -> None:
    """All of them where no rule is left unseen; a search that prunes may leave out what cannot win."""
    problem = pose(study_of(), objective=objective, contenders=12)
    outcome = run(search, problem)
    assert outcome is not None
    check(problem, outcome, best_value(problem), is_complete(search))
    task = problem.task
    known = [task.value(problem.evidence(rule)) for rule in enumerate_rules(task.grammar, task.head)]
    positive = sorted((value for value in known if value > 0), reverse=True)[:13]
    shown = sorted([*([outcome.best.rule] if outcome.best else []), *outcome.contenders], key=lambda rule: rule.key)
    values = sorted((task.value(problem.evidence(rule)) for rule in shown), reverse=True)
    assert len(values) <= len(positive)
    for value, most in zip(values, positive, strict=False):
        assert value <= most * (1 + 1e-9)
    if outcome.certificate.evaluations >= len(known):  # none was left unseen
        assert values[:12] == pytest.approx(positive[:12], rel=1e-9)
    assert run(search, pose(study_of(), contenders=0)).contenders == ()  # type: ignore[union-attr]


# ---- budgets


def many(threads: int = 1) -> Subproblem:
    """A grammar of more rules than one batch: some 40,000."""
    study = study_of(threads=threads)
    body = tuple(name for name in study.log.predicates if name != "Y" and not name.endswith("Smokes"))
    return pose(study, grammar={"body": body, "max_length": 4}, stop="optimal")


@cache
def best_of_many() -> float:
    """The objective of its best rule, known by a proof."""
    problem = many()
    whole = search_of("exact").run(problem)
    assert whole.certificate.optimal
    assert whole.best is not None
    return problem.task.value(whole.best)


def test_evaluations_are_counted_truthfully(search: Search) -> None:
    """No rule is priced that is not counted, but for the last look at the runners-up."""
    for problem in (pose(study_of()), pose(study_of(), grammar={"signs": (1, -1)}, stop="optimal")):
        before = problem.oracle.evaluations
        outcome = run(search, problem)
        assert outcome is not None
        uncounted = problem.oracle.evaluations - before - outcome.certificate.evaluations
        assert 0 <= uncounted <= len(outcome.runners_up)
        assert outcome.certificate.evaluations > 0


def test_budget_of_evaluations_is_kept_within_a_batch(search: Search) -> None:
    problem = many()
    for allowed in (0, 1, 10_000):
        outcome = run(search, problem, Budget(evaluations=allowed))
        assert outcome is not None
        again = 2 * problem.task.runners_up + 2
        assert outcome.certificate.evaluations <= allowed + (LARGEST_BATCH if allowed else 0) + again
        if allowed < 2:
            assert not outcome.certificate.optimal


def test_no_time_means_no_work_and_no_claim(search: Search) -> None:
    problem = many()
    outcome = run(search, problem, Budget(seconds=0.0))
    assert outcome is not None
    assert not outcome.certificate.optimal
    assert outcome.certificate.evaluations == 0
    assert outcome.found == ()
    assert outcome.certificate.bound >= best_of_many()
    assert outcome.certificate.gap == 1.0


def test_budget_of_nodes_is_kept_within_a_batch(search: Search) -> None:
    outcome = run(search, many(), Budget(nodes=1, evaluations=PLENTY.evaluations))
    assert outcome is not None
    assert outcome.certificate.nodes <= 1 + 256  # searches without nodes count none


def test_stop_ends_the_search_with_what_it_has(search: Search) -> None:
    problem = many()
    for allowed in (0, 1, 3):
        asked = 0

        def stop(allowed: int = allowed) -> bool:
            nonlocal asked
            asked += 1
            return asked > allowed

        outcome = run(search, problem, Budget(stop=stop, evaluations=PLENTY.evaluations))
        assert asked > 0, "the search never asks whether to stop"
        assert outcome is not None
        if asked <= allowed:
            continue  # done before it was told to stop
        assert not outcome.certificate.optimal
        for evidence in outcome.found:
            assert problem.task.admits(evidence)
            assert outcome.certificate.incumbent == pytest.approx(problem.task.value(evidence), rel=1e-9)


def test_stopped_search_has_a_bound_that_holds(search: Search) -> None:
    problem, best = many(), best_of_many()
    for allowed in (500, 3000, 12_000):
        outcome = run(search, problem, Budget(evaluations=allowed))
        assert outcome is not None
        assert outcome.certificate.bound >= best - 1e-9 * best
        assert outcome.certificate.incumbent <= best + 1e-9 * best
        assert outcome.certificate.optimal == (outcome.certificate.gap == 0.0)


# ---- watched, interrupted, repeated


def test_watcher_sees_how_things_stand(search: Search) -> None:
    problem = many()
    seen: list[Progress] = []
    outcome = run(search, problem, PLENTY, seen.append)
    assert outcome is not None
    assert seen
    for earlier, later in itertools.pairwise(seen):
        assert later.nodes >= earlier.nodes
        assert later.evaluations >= earlier.evaluations
        assert later.seconds >= earlier.seconds
        assert later.value >= earlier.value
    for progress in seen:
        assert progress.bound >= progress.value
        assert progress.bound >= outcome.certificate.incumbent * (1 - 1e-9)
        assert (progress.incumbent is None) == (progress.value == 0.0)


@pytest.mark.parametrize("when", [1, 2])
def test_interrupt_passes_through_and_leaves_nothing_behind(search: Search, when: int) -> None:
    problem = many()
    whole = run(search, problem)
    assert whole is not None
    calls = 0

    def interrupt(progress: Progress) -> None:
        nonlocal calls
        calls += 1
        if calls == when:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.run(problem, PLENTY, interrupt)
    again = run(search, problem)
    assert again is not None
    assert told(again) == told(whole)


def test_same_task_same_answer(search: Search) -> None:
    first, second = run(search, many()), run(search, many())
    assert first is not None
    assert second is not None
    assert told(first) == told(second)
    assert first == replace(second, certificate=replace(second.certificate, seconds=first.certificate.seconds))


def test_number_of_threads_changes_nothing(search: Search) -> None:
    alone, together = run(search, many(threads=1)), run(search, many(threads=4))
    assert alone is not None
    assert together is not None
    assert told(alone) == told(together)


def test_random_state_changes_no_certified_answer(search: Search) -> None:
    answers = [run(search, pose(study_of(), random_state=seed)) for seed in (0, 1)]
    if all(answer is not None and answer.certificate.optimal for answer in answers):
        assert answers[0].best == answers[1].best  # type: ignore[union-attr]


# ---- odd problems


def lone(events: Sequence[tuple[str, float, str]], **columns: Any) -> cr.EventLog:
    """A log of a few events."""
    owner, times, names = zip(*events, strict=True) if events else ((), (), ())
    options = {"periods": (0.0, 10.0), "predicates": ("A", "B", "C", "Old", "Y"), **columns}
    return cr.EventLog.from_columns(owner, np.array(times, np.float64), names, **options)


ODD: dict[str, Callable[[], cr.EventLog]] = {
    "no event": lambda: lone([], periods={"a": (0.0, 5.0), "b": (0.0, 5.0)}, static={"a": ["Old"]}),
    "no head": lambda: lone([("a", 1.0, "A"), ("b", 2.0, "B")], static={"a": ["Old"]}),
    "one entity": lambda: lone([("a", float(t), "AYB"[t % 3]) for t in range(9)], static={"a": ["Old"]}),
    "only heads": lambda: lone([(f"e{c}", 1.0 + c, "Y") for c in range(6)], static={"e0": ["Old"]}),
    "all at one instant": lambda: lone(
        [(f"e{c}", 3.0, name) for c in range(12) for name in "ABCY"], static={"e0": ["Old"]}
    ),
    "all tied, then heads": lambda: lone(
        [(f"e{c}", 3.0, name) for c in range(30) for name in "ABC"]
        + [(f"e{c}", 4.0 + k, "Y") for c in range(30) for k in range(3)],
        static={f"e{c}": ["Old"] for c in range(0, 30, 2)},
    ),
    "heads outside exposure": lambda: lone(
        [(f"e{c}", 1.0, "A") for c in range(9)] + [(f"e{c}", 30.0, "Y") for c in range(9)], static={"e0": ["Old"]}
    ),
    "no exposure": lambda: lone([("a", 1.0, "A"), ("a", 2.0, "Y")], periods=(5.0, 5.0), static={"a": ["Old"]}),
    "predicates that never happen": lambda: lone(
        [(f"e{c}", float(t), n) for c in range(20) for t, n in ((1, "A"), (2, "Y"), (3, "Y"))], static={"e0": ["Old"]}
    ),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("signs", [(1,), (1, -1)], ids=str)
@pytest.mark.filterwarnings("ignore::chronorule.errors.ChronoruleWarning")
def test_odd_logs_have_clean_outcomes(search: Search, name: str, signs: tuple[int, ...]) -> None:
    study = Study(ODD[name](), cr.Head("Y"), heterogeneity="none", threads=Threads(1))
    for stop in ("evidence", "optimal"):
        problem = pose(study, stop=stop, grammar={"signs": signs})
        outcome = run(search, problem)
        assert outcome is not None
        check(problem, outcome, best_value(problem), is_complete(search))


def test_head_that_is_the_only_predicate_leaves_no_grammar_or_itself(search: Search) -> None:
    log = lone([(f"e{c}", float(t), "Y") for c in range(12) for t in (2, 3, 4)], predicates=("Y",))
    study = Study(log, cr.Head("Y"), heterogeneity="none")
    with pytest.raises(ChronoruleError, match="no predicate but the head"):
        Grammar().resolve(log.predicates, exclude={"Y"})
    problem = pose(study, grammar={"body": ("Y",), "max_length": 2, "repeats": True}, stop="optimal")
    outcome = run(search, problem)
    assert outcome is not None
    check(problem, outcome, best_value(problem), is_complete(search))


def test_odd_names_survive(search: Search) -> None:
    names = ('two "words"', "<-", "é中\u200b", "A#2", "Before")
    events = [(f"e{c}", 1.0 + k, name) for c in range(20) for k, name in enumerate(names[: 3 + c % 3])]
    events += [(f"e{c}", 6.0 + k, "Y") for c in range(20) for k in range(2)]
    study = Study(lone(events, predicates=(*names, "Y")), cr.Head("Y"), heterogeneity="none")
    problem = pose(study, grammar={"body": names, "max_length": 2}, stop="optimal")
    outcome = run(search, problem)
    assert outcome is not None
    check(problem, outcome, best_value(problem), is_complete(search))
    for evidence in (*outcome.found, *outcome.runners_up):
        assert parse_rule(evidence.rule.key) == evidence.rule


def test_grammar_without_rules_of_its_lengths_is_refused_when_made() -> None:
    with pytest.raises(ChronoruleError, match="No rule of length 3"):
        pose(study_of(), grammar={"body": ("A", "B"), "length": 3, "max_length": None})


def test_unknown_searches_are_refused() -> None:
    with pytest.raises(OptionError, match="'nowhere' is unknown; choose one of exact, brute"):
        search_of("nowhere")
    with pytest.raises(OptionError, match="is no search"):
        search_of(12)  # type: ignore[arg-type]
    own = search_of("brute")
    assert search_of(own) is own
