"""`rules.toml`: what defines the rate of the head, in a file that people edit and whose comments stay.

[head], [feature], [base] and one [[rules]] table a rule; docs/model.md explains it to users.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import String

from chronorule.errors import ChronoruleError, ModelError, RuleSyntaxError
from chronorule.events import Head
from chronorule.grounding import Feature, Kernel, parse_kernel
from chronorule.likelihood import Heterogeneity
from chronorule.model.records import Reader, shown
from chronorule.rules import Rule

FORMAT = 1
LARGEST_LOG_RATE = 300.0  # rates within e^300 can be multiplied with each other and stay numbers
LARGEST_VARIANCE = 1e100
ADVICE = "correct it, or take back the last edit"
_RULES_HEADER = re.compile(r"\s*\[\[\s*rules\s*\]\]")
_RULE_LINE = re.compile(r"\s*rule\s*=")
PREFACE = """\
# The rules that explain a head, with all that defines its rate
#     λ(t) = u · exp(base + Σ ± weight · φ(t)).
# Edit it as you like: change a weight, remove or add a [[rules]] table, write comments.
# In a rule, <- raises the rate and <-| lowers it; < is Before, = is Equal (at one instant), & asks for no order.
# chronorule notices on loading what was changed, and then shows no standard error, gain or proof of before.
"""


@dataclass(frozen=True)
class WrittenRule:
    """One [[rules]] table."""

    rule: Rule
    weight: float


@dataclass(frozen=True)
class Base:
    """The table [base]: the rate without rules, and how entities differ in it."""

    unit: str
    log_rate: tuple[float, ...]  # of each piece
    cuts: tuple[float, ...] = ()
    heterogeneity: Heterogeneity = "gamma"
    variance: float = 0.0


@dataclass(frozen=True)
class Definition:
    """Everything that defines λ: head, feature, base and weighted rules."""

    head: Head
    feature: Feature
    base: Base
    rules: tuple[WrittenRule, ...]

    @property
    def weights(self) -> dict[Rule, float]:
        """Rules and weights, in the order of the file."""
        return {item.rule: item.weight for item in self.rules}


# ---- read


def parse_definition(text: str, file: Path) -> Definition:
    """The definition in the text of a `rules.toml`; `file` is named by what is said of defects."""
    reader = Reader(file, ADVICE, lenient=True)
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        what = "tables nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        if not isinstance(problem, tomllib.TOMLDecodeError | RecursionError):
            what = "a number has more digits than can be read"
        raise ModelError(f'"{file}" is no TOML ({what}); {ADVICE}.') from None
    check_format(document, reader, FORMAT)
    reader.check_names(document, {"format", "head", "feature", "base", "rules"}, {"rules"}, "the file")
    head: Head = reader.fields(Head, document["head"], "[head]")
    rules = _rules(document.get("rules", []), head, reader, text)
    definition = Definition(head, _feature(document["feature"], reader), _base(document["base"], reader), rules)
    _refuse_unheard_of_rates(definition, reader)
    return definition


def _refuse_unheard_of_rates(definition: Definition, reader: Reader) -> None:
    """Refuse rates whose products with times and counts no machine holds; no fit comes near them."""
    highest = max(definition.base.log_rate) + sum(item.weight for item in definition.rules if item.rule.sign > 0)
    if highest > LARGEST_LOG_RATE:
        reader.refuse(
            f"log_rate and the weights reach {highest:.6g} together, a rate of e^{highest:.6g} that no machine can "
            f"reckon with (it may be e^{LARGEST_LOG_RATE:g})"
        )


def check_format(document: Mapping[str, Any], reader: Reader, known: int) -> None:
    """Refuse a file of another version than the one known before its fields are looked at."""
    version = document.get("format")
    if version is None:
        reader.refuse(f"the line format = {known} is missing, so it may be no file of a chronorule model")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        reader.refuse(f"format is {shown(version)}, but must be the number of a version, {known}")
    if version < known:
        raise ModelError(
            f'"{reader.file}" has format {version}, in which an older chronorule noted less of a model than format '
            f"{known} does; learn the model again, or write its rules into a text file and weigh them with "
            "chronorule reweigh."
        )
    if version > known:
        raise ModelError(
            f'"{reader.file}" has format {shown(version)}, but this chronorule reads up to format {known}; '
            "update chronorule to load the model."
        )


def _feature(table: Any, reader: Reader) -> Feature:
    reader.check_names(table, {"kind", "kernel", "span"}, {"kind", "kernel", "span"}, "[feature]")
    kernel = table.get("kernel", "step")
    if not isinstance(kernel, str):
        reader.refuse(f'[feature].kernel is {shown(kernel)}, but must be text such as "window(12)"')
    try:
        span: float | None = reader.read(float | None, table.get("span"), "[feature].span")
        return Feature(table.get("kind", "exists"), parse_kernel(kernel), span)
    except ChronoruleError as problem:
        raise ModelError(f'In "{reader.file}" [feature] cannot be used: {problem}') from None


def _base(table: Any, reader: Reader) -> Base:
    base: Base = reader.fields(Base, table, "[base]")
    if not base.log_rate or not all(map(math.isfinite, base.log_rate)):
        reader.refuse("[base].log_rate must hold finite numbers, one for each piece of the base rate")
    if not all(map(math.isfinite, base.cuts)) or list(base.cuts) != sorted(set(base.cuts)):
        reader.refuse("[base].cuts must be finite times that rise")
    if len(base.log_rate) != len(base.cuts) + 1:
        reader.refuse(
            f"[base] has {len(base.cuts)} cuts, so log_rate must hold {len(base.cuts) + 1} numbers, "
            f"not {len(base.log_rate)}"
        )
    if not (math.isfinite(base.variance) and base.variance >= 0):
        reader.refuse(f"[base].variance is {base.variance}, but must be a finite number of at least 0")
    if base.variance > LARGEST_VARIANCE:
        reader.refuse(f"[base].variance is {base.variance}, but must be at most {LARGEST_VARIANCE:g}")
    return base


def _rules(tables: Any, head: Head, reader: Reader, text: str) -> tuple[WrittenRule, ...]:
    if not isinstance(tables, list):
        reader.refuse("rules must be tables, each below a line [[rules]]")
    lines = _rule_lines(text)
    found: list[WrittenRule] = []
    for place, table in enumerate(tables, start=1):
        where = f"rule {place}" if len(lines) != len(tables) else f"line {lines[place - 1]} (rule {place})"
        try:
            item: WrittenRule = reader.fields(WrittenRule, table, where)
        except RuleSyntaxError as problem:
            message = problem.message.replace(f"{where}.rule:", f"{where}:", 1)
            raise RuleSyntaxError(message, problem.text, problem.column) from None
        if not math.isfinite(item.weight):
            reader.refuse(f"{where} has the weight {item.weight}, but a weight is a finite number")
        if item.weight > LARGEST_LOG_RATE:
            reader.refuse(f"{where} has the weight {item.weight}, but a weight is at most {LARGEST_LOG_RATE:g}")
        if item.weight < 0:
            reader.refuse(
                f"{where} has the weight {item.weight}, but a weight is at least 0, and a rule that lowers the rate "
                "is written with <-|"
            )
        if item.rule.head != head.name:
            reader.refuse(f"{where} explains {shown(item.rule.head)}, but the head is {shown(head.name)}")
        if any(item.rule == other.rule for other in found):
            reader.refuse(f"{where} is the rule {item.rule.key} again")
        found.append(item)
    return tuple(found)


def _rule_lines(text: str) -> list[int]:
    """The line (from 1) of each table's rule, as far as plain layout allows to tell."""
    found, inside = [], False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith("["):
            inside = _RULES_HEADER.match(line) is not None
        elif inside and _RULE_LINE.match(line):
            found.append(number)
            inside = False
    return found


# ---- written


def definition_text(definition: Definition) -> str:
    """A fresh `rules.toml`."""
    return "\n".join([_preamble(definition), *map(_block, definition.rules)])


def merged_text(definition: Definition, before: str, file: Path) -> str:
    """The text of `before` with the values of `definition` in it, so that the comments of people stay.

    Where the layout of `before` does not allow that, a fresh text.
    """
    try:
        start, blocks = _split(before)
        text = _merge_preamble(definition, start)
        kept = {_rule_of(block, file): block for block in blocks}
        for item in definition.rules:
            block = kept.get(item.rule)
            text += "" if text.endswith("\n\n") else "\n"
            text += _block(item) if block is None else _with_weight(block, item.weight)
        if parse_definition(text, file) == definition:
            return text
    except (ChronoruleError, TOMLKitError, LookupError, TypeError):
        pass  # laid out as nothing here expects: the caller keeps a copy of it
    return definition_text(definition)


def kernel_text(kernel: Kernel) -> str:
    """The kernel without loss; its `str` rounds for people."""
    return {"step": "step", "window": f"window({kernel.width!r})", "decay": f"decay({kernel.rate!r})"}[kernel.name]


def _tables(definition: Definition) -> dict[str, dict[str, Any]]:
    """The tables before the rules; what is None is left out."""
    feature = definition.feature
    tables = {
        "head": asdict(definition.head),
        "feature": {"kind": feature.kind, "kernel": kernel_text(feature.kernel), "span": feature.span},
        "base": {**asdict(definition.base), "log_rate": list(definition.base.log_rate)},
    }
    tables["base"]["cuts"] = list(definition.base.cuts)
    return {name: {key: item for key, item in table.items() if item is not None} for name, table in tables.items()}


def _preamble(definition: Definition) -> str:
    lines = [PREFACE, f"format = {FORMAT}"]
    for name, table in _tables(definition).items():
        lines += ["", f"[{name}]", *(f"{key} = {_value(item)}" for key, item in table.items())]
    return "\n".join(lines) + "\n"


def _block(item: WrittenRule) -> str:
    return f"[[rules]]\nrule = {_value(item.rule.key)}\nweight = {_value(item.weight)}\n"


def _value(value: Any) -> str:
    """A value as TOML writes it; text with double quotes in single ones, which need no escapes."""
    if isinstance(value, str):
        plain = '"' in value and "'" not in value and value.isprintable()
        text: String = tomlkit.string(value, literal=plain)
        return text.as_string()
    written: str = tomlkit.item(value).as_string()
    return written


def _split(text: str) -> tuple[str, list[str]]:
    """What stands before the rules, and the tables of the rules, each with the comment right above it."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    starts = []
    for place, line in enumerate(lines):
        if _RULES_HEADER.match(line):
            while place > 0 and lines[place - 1].lstrip().startswith("#"):
                place -= 1
            starts.append(place)
    bounds = [*starts, len(lines)]
    return "".join(lines[: bounds[0]]), ["".join(lines[begin:end]) for begin, end in pairwise(bounds)]


def _rule_of(block: str, file: Path) -> Rule:
    table = tomllib.loads(block)["rules"][0]
    item: WrittenRule = Reader(file, ADVICE).fields(WrittenRule, table, "a rule")
    return item.rule


def _with_weight(block: str, weight: float) -> str:
    document: Any = tomlkit.parse(block)
    table = document["rules"][0]
    if float(table["weight"]) != weight:
        table["weight"] = weight
    text: str = document.as_string()
    return text if text.endswith("\n") else text + "\n"


def _merge_preamble(definition: Definition, before: str) -> str:
    document: Any = tomlkit.parse(before)
    document["format"] = FORMAT
    for name, table in _tables(definition).items():
        for key in [key for key in document[name] if key not in table]:
            del document[name][key]
        for key, item in table.items():
            if document[name].get(key) != item:
                document[name][key] = item
    text: str = document.as_string()
    return text if text.endswith("\n") else text + "\n"
