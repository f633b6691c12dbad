"""`RuleLearner`: the options of learning in the manners of scikit-learn, and the models that a fit leaves behind."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NoReturn, Self

import numpy as np

from chronorule.errors import GrammarError, NotFittedError, OptionError, RuleError
from chronorule.events import EventLog, Head
from chronorule.execution import Threads, interruptible, lasting
from chronorule.grounding import Feature, Kernel, parse_kernel
from chronorule.learner.finish import finished
from chronorule.learner.journal import Journal, journals_of
from chronorule.learner.loop import learn
from chronorule.learner.progress import Allowance, LearningWatcher
from chronorule.learner.state import State
from chronorule.learner.weighing import Weighing
from chronorule.likelihood import Heterogeneity
from chronorule.model import RuleModel, Study
from chronorule.model.weigh import given_cuts, given_rules_of
from chronorule.pricing import Objective
from chronorule.rules import Rule
from chronorule.rules.grammar import Grammar
from chronorule.search import Search, search_of
from chronorule.search.base import Stop, Task, refuse_within

Heads = str | Head | Sequence[str | Head]


class RuleLearner:
    """Learns the rules that say when a head happens, weighs them, and proves how good they are.

    `fit` leaves `model_` (`models_` by head's name where several heads are given), whose attributes can also be asked
    of the learner itself.
    """

    def __init__(
        self,
        head: Heads,
        *,
        length: int | None = None,
        max_length: int | None = None,
        grammar: Grammar | None = None,
        search: str | Search = "exact",
        objective: Objective = "gain",
        stop: Stop = "evidence",
        feature: Literal["exists", "count"] = "exists",
        kernel: str | Kernel = "step",
        span: float | None = None,
        alpha: float = 0.05,
        penalty: float = 0.0,
        min_support: int = 5,
        within: bool = False,
        honest: bool = False,
        heterogeneity: Heterogeneity = "gamma",
        baseline: Sequence[float] | None = None,
        given_rules: str | Rule | Sequence[Rule | str] | None = None,
        max_rules: int | None = None,
        time_limit: float | None = None,
        threads: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.head = head
        self.length = length
        self.max_length = max_length
        self.grammar = grammar
        self.search = search
        self.objective = objective
        self.stop = stop
        self.feature = feature
        self.kernel = kernel
        self.span = span
        self.alpha = alpha
        self.penalty = penalty
        self.min_support = min_support
        self.within = within
        self.honest = honest
        self.heterogeneity = heterogeneity
        self.baseline = baseline
        self.given_rules = given_rules
        self.max_rules = max_rules
        self.time_limit = time_limit
        self.threads = threads
        self.random_state = random_state

    # ---- scikit-learn's manners

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options as they were given."""
        return {name: getattr(self, name) for name in _OPTIONS}

    def set_params(self, **options: Any) -> Self:
        """Change options; the learner itself is returned."""
        for name, value in options.items():
            if name not in _OPTIONS:
                raise OptionError(f"A RuleLearner has no option '{name}'; it has {', '.join(_OPTIONS)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: option.default for name, option in _OPTIONS.items()}
        told = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]]
        return f"RuleLearner({', '.join(told)})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name.endswith("_") or name not in _READ_THROUGH:
            object.__getattribute__(self, name)  # raises what Python raises
        return getattr(self.model_of_one_head(), name)

    def model_of_one_head(self) -> RuleModel:
        """The model that `fit` left, where there is one."""
        models: dict[str, RuleModel] | None = self.__dict__.get("models_")
        if models is None:
            raise NotFittedError("This RuleLearner has learned nothing yet; call fit(log) first.")
        if len(models) != 1:
            raise NotFittedError(f"There is a model for each of {', '.join(models)}; take one from models_.")
        return next(iter(models.values()))

    # ---- learning

    def fit(
        self,
        log: EventLog,
        *,
        journal: str | Path | None = None,
        watch: LearningWatcher | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Self:
        """Learn from a log.

        With a `journal`, a file (for several heads a folder of files), every step is written down; a run that was cut
        off goes on from there when the same is asked of the same log. `watch` is told how far learning has come.

        Where `stop` answers True, and on Ctrl-C, the best so far is what is learned, and the model says so in
        `stopped`; heads whose turn has not come get no model. A second Ctrl-C interrupts at once.
        """
        if not isinstance(log, EventLog):
            raise OptionError(f"A RuleLearner learns from an EventLog, not from {type(log).__name__}; use read_events.")
        if stop is not None and not callable(stop):
            raise OptionError(f"stop={stop!r} cannot be asked; give a function that says whether to stop.")
        heads = _heads(self.head)
        self._check()
        for head in heads if self.within else ():
            refuse_within(head)
        given = self._given(heads)
        names = [head.name for head in heads]
        books = [None] * len(heads) if journal is None else journals_of(Path(journal), names)
        models: dict[str, RuleModel] = {}
        with interruptible(_say_that_it_stops, _interrupt) as pressed:
            asked = lasting(lambda: pressed() or (stop is not None and stop()))
            allowance = Allowance(self.time_limit, asked)
            for head, book in zip(heads, books, strict=True):
                models[head.name] = model = self._learn(head, log, given[head.name], book, watch, allowance)
                if model.stopped == "interrupted" or asked():
                    break
        self.models_ = models
        vars(self).pop("model_", None)  # of an earlier fit
        if len(heads) == 1:
            self.model_ = models[heads[0].name]
        return self

    def _check(self) -> None:
        for name in ("max_rules", "min_support", "random_state"):
            value = getattr(self, name)
            if value is None and name == "max_rules":
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
                raise OptionError(f"{name}={value!r} is no count; give a whole number, 0 or more.")
        for name in ("within", "honest"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise OptionError(f"{name}={getattr(self, name)!r} is neither True nor False; give one of the two.")
        limit = self.time_limit
        number = isinstance(limit, Real) and not isinstance(limit, bool)
        if limit is not None and not (number and limit >= 0):
            raise OptionError(f"time_limit={limit!r} is no number of seconds; give 0 or more, or None for no limit.")
        if self.grammar is not None and (self.length is not None or self.max_length is not None):
            raise GrammarError("The grammar says how long rules may be; give no length or max_length beside it.")
        if self.grammar is not None and not isinstance(self.grammar, Grammar):
            raise OptionError(f"grammar={self.grammar!r} is no Grammar; write cr.Grammar(max_length=3).")

    def _learn(
        self,
        head: Head,
        log: EventLog,
        given: tuple[Rule, ...],
        book: Path | None,
        watch: LearningWatcher | None,
        allowance: Allowance,
    ) -> RuleModel:
        learned_on, weighed_on = log, log
        if self.honest:
            learned_on, weighed_on = log.split(0.5, seed=self.random_state)
        study = self._study(head, learned_on)
        study.check(given)
        task = self._task(study)
        search = search_of(self.search)
        weighing = Weighing(study, task, frozenset(given))
        options = self._plain_options(head, given)
        state, keep = None, None
        if book is not None:
            state, keep = Journal(book, _identity(head, log, options)).begin(self.max_rules)
        reached = [state or State(given)]

        def remember(state: State) -> None:
            if keep is not None:
                keep(state)
            reached[0] = state

        try:
            state = learn(weighing, search, reached[0], allowance, self.max_rules, remember, watch)
        except KeyboardInterrupt:  # where Ctrl-C is not turned into a question, or it was pressed once more
            if allowance.why_spent == "interrupted":
                raise
            state = replace(reached[0], stopped="interrupted")
        weigher = study if not self.honest else self._study(head, weighed_on)
        return finished(weighing, weigher, state, options)

    def _study(self, head: Head, log: EventLog) -> Study:
        return Study(
            log,
            head,
            Feature(self.feature, parse_kernel(self.kernel), self.span),
            self.heterogeneity,
            given_cuts(self.baseline),
            self.penalty,
            threads=Threads(self.threads),
        )

    def _task(self, study: Study) -> Task:
        head = study.head
        grammar = self.grammar or Grammar(length=self.length, max_length=self.max_length)
        own = {head.name, head.reset_by} - {None}
        statics = [
            name for name, static in zip(study.log.predicates, study.log.statics.tolist(), strict=True) if static
        ]
        return Task(
            head=head.name,
            grammar=grammar.resolve(study.log.predicates, statics=statics, exclude={str(name) for name in own}),
            objective=self.objective,
            stop=self.stop,
            alpha=self.alpha,
            min_support=self.min_support,
            within=self.within,
            random_state=self.random_state,
            heads=study.exposure.n_heads,
        )

    def _given(self, heads: Sequence[Head]) -> dict[str, tuple[Rule, ...]]:
        """The given rules of each head."""
        rules = () if self.given_rules is None else tuple(dict.fromkeys(given_rules_of(self.given_rules)))
        names = [head.name for head in heads]
        other = next((rule for rule in rules if rule.head not in names), None)
        if other is not None:
            raise RuleError(
                f"The given rule '{other.key}' explains '{other.head}', but to be learned is what explains "
                f"{' and '.join(map(repr, names))}; leave the rule out, or name its head, too."
            )
        return {name: tuple(rule for rule in rules if rule.head == name) for name in names}

    def _plain_options(self, head: Head, given: Sequence[Rule]) -> dict[str, Any]:
        """The options for one head as numbers, texts and lists, for files."""
        options = {
            name: value.item() if isinstance(value, np.generic) else value for name, value in self.get_params().items()
        }
        options["head"] = [asdict(head)]
        options["grammar"] = None if self.grammar is None else self.grammar.to_dict()
        options["kernel"] = str(parse_kernel(self.kernel))
        options["search"] = self.search if isinstance(self.search, str) else repr(self.search)
        options["baseline"] = None if self.baseline is None else list(given_cuts(self.baseline))
        options["given_rules"] = None if self.given_rules is None else [rule.key for rule in given]
        return options


def _identity(head: Head, log: EventLog, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a resumed run must share with the one that was cut off; how long and on what it ran does not matter."""
    kept = {name: value for name, value in options.items() if name not in ("time_limit", "threads", "max_rules")}
    return {"log": log.fingerprint, "explains": asdict(head), "options": kept}


def _say_that_it_stops() -> None:
    """Whoever pressed Ctrl-C is told that it was heard; a stream that cannot take it just now is left alone."""
    with suppress(AttributeError, OSError, RuntimeError, ValueError):
        sys.stderr.write("\nStopping with the best so far. Ctrl-C again: interrupt at once, without a model.\n")


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt


def _heads(head: Heads) -> list[Head]:
    several = list(head) if isinstance(head, Iterable) and not isinstance(head, str) else [head]
    for one in several:
        if not isinstance(one, str | Head):
            raise OptionError(f"head={one!r} names no predicate; give its name as text, or a Head.")
    heads = [one if isinstance(one, Head) else Head(one) for one in several]
    if not heads:
        raise OptionError("No head is named; give the predicate to explain.")
    if len({one.name for one in heads}) < len(heads):
        raise OptionError("A head is named twice; name each once.")
    return heads


_OPTIONS = {
    name: option for name, option in inspect.signature(RuleLearner.__init__).parameters.items() if name != "self"
}
_READ_THROUGH = frozenset(name for name in dir(RuleModel) if not name.startswith("_")) | set(
    RuleModel.__dataclass_fields__
)
