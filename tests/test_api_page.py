"""docs/api.md tells the truth: every public name with its signature, every attribute of the classes, and no others."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from pathlib import Path
from typing import Any

import pytest

import chronorule as cr

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
HEADINGS = dict(re.findall(r"^### `(\w+)(.*)`$", PAGE, flags=re.MULTILINE))
TABLED = (
    "EventLog",
    "Exposure",
    "Rule",
    "Grammar",
    "RuleModel",
    "WeightedRule",
    "Study",
    "Oracle",
    "Evidence",
    "Verdict",
    *("LearningProgress", "Recovery"),
)


def section(name: str) -> str:
    """The text below a name's heading, until the next."""
    after = re.split(rf"^### `{name}\b.*`$", PAGE, flags=re.MULTILINE)[1]
    return re.split(r"^##", after, flags=re.MULTILINE)[0]


def attributes(thing: type) -> set[str]:
    """What a person may use of a class."""
    fields = {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    return {name for name in {*vars(thing), *fields} if not name.startswith("_") and not name.isupper()}


def shown(value: Any) -> str:
    """A default as the page writes it."""
    if isinstance(value, cr.Kernel):
        return value.name
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(shown, value)) + ("," if len(value) == 1 else "") + ")"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def signature(thing: Any) -> str:
    """Names and defaults of a function's arguments, without types."""
    words, star = [], False
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            words.append("*")
            star = True
        default = "" if parameter.default is inspect.Parameter.empty else f"={shown(parameter.default)}"
        words.append(parameter.name + default)
    return f"({', '.join(words)})"


def test_page_has_every_public_name_and_no_other() -> None:
    assert set(HEADINGS) == set(cr.__all__)
    contents = PAGE.split("## Logs")[0]
    assert all(f"`{name}`" in contents for name in cr.__all__)


@pytest.mark.parametrize("name", [name for name, arguments in HEADINGS.items() if arguments])
def test_signature_is_that_of_the_code(name: str) -> None:
    assert HEADINGS[name] == signature(getattr(cr, name))


def test_what_is_called_has_a_signature() -> None:
    without = {name for name, arguments in HEADINGS.items() if not arguments}
    assert without == {*TABLED, "Relation", "Simulated", "step", "__version__"} - {"Grammar"}


@pytest.mark.parametrize("name", [name for name, arguments in HEADINGS.items() if arguments])
def test_every_option_of_a_call_is_explained(name: str) -> None:
    """The arguments without a default are what the sentence is about."""
    code = " ".join(re.findall(r"`[^`\n]+`", section(name)))
    parameters = inspect.signature(getattr(cr, name)).parameters.values()
    options = [parameter.name for parameter in parameters if parameter.default is not inspect.Parameter.empty]
    assert [option for option in options if not re.search(rf"\b{option}\b", code)] == []


@pytest.mark.parametrize("name", TABLED)
def test_table_of_a_class_is_complete_and_true(name: str) -> None:
    cells = re.findall(r"^\| (`.*?) \|", section(name), flags=re.MULTILINE)
    told = {word for cell in cells for word in re.findall(r"`(\w+)", cell)}
    assert told == attributes(getattr(cr, name))


def test_other_classes_name_their_attributes() -> None:
    for name in ("Feature", "Relation", "Simulated", "Kernel", "Head"):
        for attribute in attributes(getattr(cr, name)):
            assert attribute in HEADINGS[name] + section(name), f"{name}.{attribute}"


def test_errors_are_all_named() -> None:
    for name, thing in vars(cr.errors).items():
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert f"`{name}`" in PAGE
