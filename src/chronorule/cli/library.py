"""Which rules may be found, in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

import chronorule
from chronorule.errors import UnknownPredicateError

if TYPE_CHECKING:
    from chronorule import EventLog, Grammar, Head

SIGNS = {"raise": (1,), "inhibit": (-1,), "both": (1, -1)}
PLAIN = ("length", "min_length", "max_length", "relations", "partial_orders", "repeats")


@dataclass(frozen=True)
class Library:
    """The options of a grammar, with names that the log knows."""

    options: dict[str, Any]
    predicates: tuple[str, ...]  # of the log
    include_head: bool  # whether rules may use the head's own past

    @classmethod
    def taken_from(cls, given: dict[str, Any], log: EventLog) -> Library:
        """Take the options of a grammar out of those given."""
        options = {name: given.pop(name) for name in PLAIN}
        options["signs"] = SIGNS[given.pop("signs")]
        body = names(log, "--body", given.pop("body"))
        options["body"] = body or None
        options["required"] = names(log, "--must-include", given.pop("must_include"))
        options["forbidden"] = names(log, "--forbid", given.pop("forbid"))
        options["prefix"] = names(log, "--start-with", given.pop("start_with"))
        for name, option in (("required", "--must-include"), ("prefix", "--start-with")):
            for both in sorted(set(options[name]) & set(options["forbidden"])):
                raise click.UsageError(f"{both} is in both --forbid and {option}; remove it from one of them.")
        pairs = given.pop("forbid_pair")
        options["forbidden_pairs"] = tuple(
            (one(log, "--forbid-pair", a), one(log, "--forbid-pair", b)) for a, b in pairs
        )
        return cls(options, log.predicates, given.pop("include_head"))

    def grammar(self, head: Head) -> Grammar:
        """As the library calls it: without a body, all but the head and what resets it."""
        if not self.include_head:
            return chronorule.Grammar(**self.options)
        others = self.options["body"] or [name for name in self.predicates if name != head.reset_by]
        body = (*(name for name in others if name != head.name), head.name)
        return chronorule.Grammar(**{**self.options, "body": body})


def names(log: EventLog, option: str, given: Iterable[str]) -> tuple[str, ...]:
    """Predicates, each value a name or several with commas between them; the log knows whether a name has one."""
    found: list[str] = []
    for value in given:
        parts = [value] if value in log.predicates else [part.strip() for part in value.split(",")]
        found += [one(log, option, part) for part in parts if part]
    return tuple(found)


def one(log: EventLog, option: str, name: str) -> str:
    """A predicate that the log knows."""
    try:
        log.code(name)
    except UnknownPredicateError as problem:
        raise UnknownPredicateError(f"In {option}: {problem}") from None
    return name
