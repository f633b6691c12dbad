"""Models to report on: weighed on random worlds, and dressed up as if they had been learned."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np

import chronorule as cr
from chronorule.events import EventLog, Head
from chronorule.grounding import Feature
from chronorule.model import RuleModel, Study
from chronorule.model.history import Round
from chronorule.model.weigh import weigh
from chronorule.rules import parse_rule
from chronorule.search.base import Certificate

PROOF = Certificate(
    True, "gain", 0.0, 7.0, 12345, 23456, 0.8, "chains of Before/Equal over 5 predicates, length 1 to 3"
)

RULES = ("Y <- A < B", "Y <-| C", "Y <- A & C")
VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})


def simulated(seed: int = 1, entities: int = 120, kernel: str = "step", **options: object) -> EventLog:
    """A log in which the first two rules are true."""
    log, _ = cr.simulate(
        list(RULES[:2]), [1.2, 0.8], predicates=["A", "B", "C", "D", "E"], entities=entities, rates=0.1,
        kernel=kernel, seed=seed, unit="hours", **options,  # type: ignore[arg-type]
    )  # fmt: skip
    return log


def learned(model: RuleModel, suggestive: RuleModel | None = None) -> RuleModel:
    """A model as a learner would leave it."""
    seen, keys = model.training, tuple(item.rule.key for item in model.rules)
    levels = np.linspace(seen.log_likelihood_without_rules, seen.log_likelihood, len(keys) + 1)[1:]
    rounds = tuple(
        Round(k + 1, (keys[k],), keys[:1] if k == 2 else (), ((keys[0], keys[k]),) if k else (), keys[: k + 1],
              float(levels[k]), replace(PROOF, incumbent=9.0), 0.5)
        for k in range(len(keys))
    )  # fmt: skip
    return replace(
        model,
        certificate=PROOF,
        rounds=rounds,
        suggestive=() if suggestive is None else suggestive.rules,
        options={"max_length": 3, "alpha": 0.05, "within": False, "time_limit": None, "given_rules": ["Y <- A"]},
    )


def any_model(log: EventLog, head: Head, feature: Feature, *rules: str) -> RuleModel:
    """Weights of any rules on any log."""
    return weigh(Study(log, head, feature), [parse_rule(text) for text in rules])


class Page(HTMLParser):
    """An HTML page read strictly: every element closed by its own end tag; what it holds, for tests to ask."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All that is written on the page."""
        return " ".join("".join(self.words).split())

    def attributes(self, name: str) -> list[str]:
        """All values of an attribute."""
        return [values[name] or "" for _, values in self.tags if name in values]
