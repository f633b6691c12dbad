"""Checking the certificate of a learned model again, on the log that it was learned from."""

from __future__ import annotations

from collections.abc import Sequence

from chronorule.errors import OptionError
from chronorule.events import EventLog
from chronorule.events.log import checked_log
from chronorule.execution import Threads
from chronorule.model.rule_model import Learned, RuleModel, checked_model
from chronorule.model.study import Study
from chronorule.model.words import searched_before_the_last_change
from chronorule.rules import Rule, parse_rule
from chronorule.search import verify as slow
from chronorule.search.base import Subproblem, Task
from chronorule.search.verify import MOST_COMBINATIONS, MOST_RULES, Verdict


def verify(
    model: RuleModel | Learned,
    log: EventLog,
    *,
    most: int = MOST_RULES,
    most_combinations: int = MOST_COMBINATIONS,
    threads: int | None = None,
) -> Verdict:
    """Look at every rule of the grammar and say whether what learning proved about a model is true.

    Rules are listed and judged by code that no search shares; the rates they are judged at are those of the model's
    rules, weighed again. A fitted learner of one head stands for its model, and `log` is the log it was learned from.
    A grammar of more than `most` rules is refused, and so are rules that more than `most_combinations` of events could
    match.
    """
    model, log = checked_model(model), checked_log(log, "log")
    if model.certificate is None or model.grammar is None:
        raise OptionError("Nothing was searched for in this model, so nothing was proved; learn its rules to verify.")
    if searched_before_the_last_change(model):
        raise OptionError(
            "Learning ended before it could search once more with these rules, so nothing was proved about them; "
            "learn without a limit to verify."
        )
    options = model.options
    learned_on = weighed_on = log
    if options.get("honest", False):
        learned_on, weighed_on = log.split(0.5, seed=int(options.get("random_state", 0)))
    if weighed_on.fingerprint != model.training.fingerprint:
        raise OptionError(
            "The model was learned from another log than this, and its certificate speaks of that log only; "
            "give the log that it was learned from."
        )
    study = Study(
        learned_on,
        model.head,
        model.feature,
        model.heterogeneity,
        model.cuts,
        model.penalty,
        threads=Threads(threads),
    )
    # with twins, which the model leaves out: the search stood beside all of these
    keys = model.rounds[-1].rules if model.rounds else tuple(item.rule.key for item in model.rules)
    rules = tuple(parse_rule(key) for key in keys)
    task = Task(
        head=model.head.name,
        grammar=model.grammar,
        objective=model.certificate.objective,
        stop=options.get("stop", "evidence"),
        alpha=options.get("alpha", 0.05),
        min_support=options.get("min_support", 5),
        within=options.get("within", False),
        taken=frozenset(rules),
        heads=study.exposure.n_heads,
    )
    problem = Subproblem(task, study.oracle(study.fit(rules)), _unasked)
    return slow.verify(problem, model.certificate, most, most_combinations)


def _unasked(rules: Sequence[Rule]) -> Sequence[float]:
    """Verifying asks for no weights."""
    raise OptionError("A certificate is verified with the weights of the model alone.")
