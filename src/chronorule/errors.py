"""Exceptions and warnings: each message says what was seen, why it matters and what to do next."""

from __future__ import annotations

import unicodedata


class ChronoruleError(Exception):
    """The data, a rule, an option or a model cannot be used as given; the message is one sentence for a person."""


class DataError(ChronoruleError, ValueError):
    """The events, periods, groups or static properties cannot be used."""


class UnknownPredicateError(ChronoruleError, KeyError):
    """A name stands for no predicate of the log."""

    def __str__(self) -> str:
        return str(self.args[0])


class RuleError(ChronoruleError, ValueError):
    """A rule contradicts itself, or uses a predicate in a way its meaning does not allow."""


class RuleSyntaxError(RuleError):
    """The text of a rule cannot be read, or contradicts itself; `column` (from 1) points at where that shows."""

    def __init__(self, message: str, text: str, column: int) -> None:
        super().__init__(message, text, column)
        self.message = message
        self.text = text
        self.column = column

    def __str__(self) -> str:
        before = " " * _width(self.text[: self.column - 1])
        return f"{self.message} (column {self.column})\n  {self.text}\n  {before}^"


def _width(text: str) -> int:
    """Cells that a terminal gives to a text: two to a wide letter of East Asia, none to a mark on another letter."""
    wide = sum(unicodedata.east_asian_width(letter) in ("W", "F") for letter in text)
    return len(text) + wide - sum(unicodedata.category(letter) in ("Mn", "Me", "Cf") for letter in text)


class GrammarError(ChronoruleError, ValueError):
    """The constraints of a grammar exclude each other or name something that does not exist."""


class OptionError(ChronoruleError, ValueError):
    """An option has a value that it cannot take."""


class ModelError(ChronoruleError, ValueError):
    """A saved model cannot be read as it stands, or a model cannot be saved."""


class NotFittedError(ChronoruleError, AttributeError):
    """A learner was asked for what only a fit leaves behind."""


class ChronoruleWarning(UserWarning):
    """The answer stands, but something about the data limits what it means."""


class DataWarning(ChronoruleWarning):
    """Something about the events limits what an answer means."""


class FitWarning(ChronoruleWarning):
    """A weight, a baseline or a frailty could not be told from the data as given."""
