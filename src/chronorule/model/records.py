"""Frozen dataclasses as plain records of a file, without loss, and back with one sentence for each defect.

A number that JSON has no word for is written as the text "NaN", "Infinity" or "-Infinity"; a rule as its key.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

import numpy as np

from chronorule.errors import ChronoruleError, ModelError, RuleError, RuleSyntaxError
from chronorule.rules import Rule, parse_rule

_UNWRITABLE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_LONGEST_SHOWN = 40


def to_plain(value: Any) -> Any:
    """A value as texts, numbers, truth values, lists and mappings; two values are alike where their records are."""
    if isinstance(value, Rule):
        return value.key
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value) if field.init}
    if isinstance(value, Mapping):
        return {str(name): to_plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return next(word for word, number in _UNWRITABLE.items() if str(number) == str(value))
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ModelError(f"A model cannot hold {shown(value)}, which is no number, text, truth value, list or mapping.")


def shown(value: Any) -> str:
    """A value as a message names it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


class Alike:
    """Equal where all numbers are, those not known (NaN) included."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and to_plain(self) == to_plain(other)

    def __hash__(self) -> int:
        return hash(json.dumps(to_plain(self), sort_keys=True))


@dataclass(frozen=True)
class Reader:
    """Reads records of one file; `lenient` lets a field that has a default be left out, as people do."""

    file: Path
    advice: str  # what to do about a defect, as the end of a sentence
    lenient: bool = False

    def refuse(self, what: str) -> NoReturn:
        """End with a sentence about this file."""
        raise ModelError(f'In "{self.file}" {what}; {self.advice}.')

    def read(self, kind: Any, value: Any, where: str) -> Any:
        """The value of type `kind` that was written by `to_plain`; `where` names its place."""
        origin, arguments = get_origin(kind), get_args(kind)
        if kind is Any:
            return value
        if origin in (Union, types.UnionType):
            others = [one for one in arguments if one is not type(None)]
            return None if value is None and len(others) < len(arguments) else self.read(others[0], value, where)
        if origin is Literal:
            if not isinstance(value, str) or value not in arguments:
                self.refuse(f"{where} is {shown(value)}, but must be one of {', '.join(map(repr, arguments))}")
            return value
        if origin is tuple:
            return self._sequence(arguments, value, where)
        if kind is Rule:
            return self._rule(value, where)
        if is_dataclass(kind):
            return self.fields(kind, value, where)
        if kind is float:
            return self._number(value, where)
        if kind is int and isinstance(value, bool):
            self.refuse(f"{where} is {shown(value)}, but must be a whole number")
        simple = origin or kind
        if not isinstance(value, simple):
            self.refuse(f"{where} is {shown(value)}, but must be {_NAMES.get(simple, simple.__name__)}")
        return value

    def fields(self, kind: Any, value: Any, where: str) -> Any:
        """The dataclass of a record with exactly its fields."""
        hints = get_type_hints(kind)
        wanted = {field.name: field for field in fields(kind) if field.init}
        optional = {
            name
            for name, field in wanted.items()
            if self.lenient and (field.default is not MISSING or field.default_factory is not MISSING)
        }
        self.check_names(value, set(wanted), optional, where)
        given = {name: self.read(hints[name], item, f"{where}.{name}") for name, item in value.items()}
        try:
            return kind(**given)
        except ModelError:
            raise
        except ChronoruleError as problem:
            raise ModelError(f'In "{self.file}" {where} cannot be used: {problem}') from None

    def check_names(self, value: Any, wanted: set[str], optional: set[str], where: str) -> None:
        """Refuse what is no record, lacks a field, or has one that is not known."""
        if not isinstance(value, Mapping):
            self.refuse(f"{where} is {shown(value)}, but must be a table of names and values")
        for name in value:
            if name not in wanted:
                near = get_close_matches(str(name), sorted(wanted), n=1)
                meant = f" (did you mean {near[0]!r}?)" if near else ""
                self.refuse(f"{where} has a field {shown(name)}, which is not known{meant}")
        for name in sorted(wanted - optional):
            if name not in value:
                self.refuse(f"{where} lacks the field {name!r}")

    def _sequence(self, arguments: Sequence[Any], value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            self.refuse(f"{where} is {shown(value)}, but must be a list")
        if arguments[-1] is ...:
            return tuple(self.read(arguments[0], item, f"{where}[{place}]") for place, item in enumerate(value, 1))
        if len(value) != len(arguments):
            self.refuse(f"{where} has {len(value)} items, but must have {len(arguments)}")
        both = zip(arguments, value, strict=True)
        return tuple(self.read(kind, item, f"{where}[{place}]") for place, (kind, item) in enumerate(both, 1))

    def _number(self, value: Any, where: str) -> float:
        if isinstance(value, str) and value in _UNWRITABLE:
            return _UNWRITABLE[value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(f"{where} is {shown(value)}, but must be a number")
        try:
            return float(value)
        except OverflowError:
            self.refuse(f"{where} is {shown(value)}, which is too large for a number")

    def _rule(self, value: Any, where: str) -> Rule:
        if not isinstance(value, str):
            self.refuse(f"{where} is {shown(value)}, but must be the text of a rule")
        try:
            return parse_rule(value)
        except RuleSyntaxError as problem:
            raise RuleSyntaxError(
                f'In "{self.file}" {where}: {problem.message}', problem.text, problem.column
            ) from None
        except RuleError as problem:
            raise RuleError(f'In "{self.file}" {where}: {problem}') from None


_NAMES = {int: "a whole number", str: "text", bool: "true or false", Mapping: "a table of names and values"}
