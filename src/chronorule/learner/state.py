"""Where learning stands: a value that each step takes and returns, and that the journal keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from chronorule.model.history import Round
from chronorule.rules import Rule
from chronorule.search.base import Certificate

Next = Literal["search", "drop", "polish", "seek", "done"]
RuleSet = frozenset[Rule]


@dataclass(frozen=True)
class State:
    """The rules in hand and how they came there; the next step is a function of it, of the log and of the options."""

    rules: tuple[Rule, ...]
    next: Next = "search"
    visited: frozenset[RuleSet] = frozenset()  # sets that stood before: polishing never returns to one
    rounds: tuple[Round, ...] = ()
    added: tuple[Rule, ...] = ()  # in the round under way, like the next two
    dropped: tuple[Rule, ...] = ()
    polished: tuple[tuple[Rule, Rule], ...] = ()
    certificate: Certificate | None = None  # of the latest search
    runners_up: tuple[Rule, ...] = ()  # of the latest search
    stopped: str | None = None  # why learning ended, or has to end with this step

    @property
    def cut_short(self) -> bool:
        """Whether time ran out during the latest step: what it came to serves for now, but is no step to go on from."""
        return self.stopped is not None and self.next != "done"

    @property
    def round(self) -> int:
        """Number of the round under way, from 1."""
        return len(self.rounds) + 1

    @property
    def ends_round(self) -> bool:
        """Whether the rules have changed since the last search and another search comes next."""
        return self.next == "search" and bool(self.added or self.dropped or self.polished)

    def moved(self, rules: tuple[Rule, ...], **changes: object) -> State:
        """The state with other rules; those it had are remembered."""
        return replace(self, rules=rules, visited=self.visited | {frozenset(self.rules)}, **changes)  # type: ignore[arg-type]

    def closed(self, log_likelihood: float, seconds: float) -> State:
        """The state at the end of a round, which is written down."""
        assert self.certificate is not None
        record = Round(
            number=self.round,
            added=tuple(rule.key for rule in self.added),
            dropped=tuple(rule.key for rule in self.dropped),
            polished=tuple((old.key, new.key) for old, new in self.polished),
            rules=tuple(rule.key for rule in self.rules),
            log_likelihood=log_likelihood,
            certificate=self.certificate,
            seconds=seconds,
        )
        return replace(self, rounds=(*self.rounds, record), added=(), dropped=(), polished=())
