"""A model as a folder: `rules.toml`, which defines the rate and which people edit, and `manifest.json`, all else.

The manifest holds the whole model as it was saved, so that what a person changed in `rules.toml` is found by comparing
the two: the numbers that a fit proved do not outlive an edit of the model that they are about.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from chronorule.errors import ChronoruleError, ModelError
from chronorule.model.definition import (
    Base,
    Definition,
    WrittenRule,
    check_format,
    definition_text,
    kernel_text,
    merged_text,
    parse_definition,
)
from chronorule.model.records import Reader, shown, to_plain
from chronorule.model.rule_model import RuleModel
from chronorule.model.weighted_rule import WeightedRule
from chronorule.rules import Rule

FORMAT = 2  # of the manifest; 1 had no entities and matches of a rule
RULES, MANIFEST = "rules.toml", "manifest.json"
COPY = "rules.edited.toml"
MOST_DIGITS = 400  # of a whole number; no count comes near it, and none of more than 4,300 can be read
# what is written here and by a report beside it is called so until it is whole
PART = re.compile(r"\.((rules(\.edited(-\d+)?)?\.toml|manifest\.json)\.)?[0-9a-f]{32}\.part")
EDITED = "edited by hand since it was fitted: "
ADVICE = f"save the model again, or restore {MANIFEST} from a copy"


# ---- saved


def save(model: RuleModel, folder: str | os.PathLike[str]) -> None:
    """Write the model into the folder, which is made where it does not exist.

    Both files are written under other names and put in place when both are whole, so that a model that stood there
    stays whatever goes wrong. Comments in `rules.toml` stay. A `rules.toml` that a person changed and that this model
    contradicts is kept as `rules.edited.toml`; files that chronorule did not write are not overwritten.
    """
    place = Path(folder)
    definition = definition_of(model)
    before, copy = _standing(place, definition)
    rules = merged_text(definition, before, place / RULES) if before is not None else definition_text(definition)
    manifest = {
        "format": FORMAT,
        "written_by": {
            "chronorule": version("chronorule"),
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "rules_sha256": hashlib.sha256(_encoded(rules)).hexdigest(),
        **to_plain(model),
    }
    texts = {MANIFEST: json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n", RULES: rules}
    _check_that_it_reads_back(model, texts, place)
    files = {name: _encoded(text) for name, text in texts.items()}
    if copy is not None:
        files = {_free_name(place): copy, **files}
    _put(place, files)
    _sweep(place)


def definition_of(model: RuleModel) -> Definition:
    """What `rules.toml` holds of a model."""
    base = Base(model.training.unit, model.baseline, model.cuts, model.heterogeneity, model.variance)
    return Definition(
        model.head, model.feature, base, tuple(WrittenRule(item.rule, item.weight) for item in model.rules)
    )


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder in which saving would overwrite what is not of a model."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise ModelError(f'"{folder}" is a file, but a model is saved as a folder; choose another name.')
    if _manifest_if_ours(folder / MANIFEST) is None and os.path.exists(folder / RULES):
        try:
            parse_definition(_text_of(folder / RULES), folder / RULES)
        except ChronoruleError as problem:
            raise ModelError(
                f'"{folder / RULES}" is not of a chronorule model, and saving would overwrite it; choose another '
                "folder."
            ) from problem


def _standing(folder: Path, definition: Definition) -> tuple[str | None, bytes | None]:
    """The `rules.toml` that stands in the folder, and its bytes where they are to be kept; refuses what is not ours."""
    refuse_foreign(folder)
    rules = folder / RULES
    if not os.path.exists(rules):
        return None, None
    try:
        text = _text_of(rules)
        standing = parse_definition(text, rules)
    except ChronoruleError:
        return None, rules.read_bytes()
    written = _manifest_if_ours(folder / MANIFEST)
    touched = written is None or written.get("rules_sha256") != hashlib.sha256(_encoded(text)).hexdigest()
    return text, rules.read_bytes() if touched and standing != definition else None


def _manifest_if_ours(manifest: Path) -> Mapping[str, Any] | None:
    """What stands there, None where nothing does; refuses what another program wrote."""
    if not os.path.exists(manifest):
        return None
    try:
        found = json.loads(_text_of(manifest))
    except (ModelError, ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and isinstance(found.get("written_by"), dict) and "chronorule" in found["written_by"]:
        return found
    raise ModelError(
        f'"{manifest}" is not of a chronorule model, and saving would overwrite it; choose another folder.'
    )


def _check_that_it_reads_back(model: RuleModel, texts: Mapping[str, str], folder: Path) -> None:
    """Nothing is put in place that would load as another model."""
    saved = parse_manifest(texts[MANIFEST], folder / MANIFEST)
    again = combine(saved, parse_definition(texts[RULES], folder / RULES))
    if again != model:
        raise ModelError(f'The model cannot be saved in "{folder}", since it holds what its files cannot say.')


def _free_name(folder: Path) -> str:
    """A name for the copy of an edited `rules.toml` that no file has yet."""
    name, number = COPY, 1
    while (folder / name).exists():
        number += 1
        name = f"rules.edited-{number}.toml"
    return name


def _put(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files under temporary names, then rename them in this order."""
    mark = uuid.uuid4().hex
    parts = {name: folder / f".{name}.{mark}.part" for name in files}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, part in parts.items():
            with part.open("xb") as file:
                file.write(files[name])
                file.flush()
                os.fsync(file.fileno())
        for name, part in parts.items():
            part.replace(folder / name)
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        reason = getattr(problem, "strerror", None) or str(problem)
        raise ModelError(
            f'The model cannot be saved in "{folder}" ({reason}); make room or choose another '
            "folder; what was there before is untouched."
        ) from None
    finally:
        for part in parts.values():
            if os.path.exists(part):
                part.unlink()


def _sweep(folder: Path) -> None:
    """Remove what a save that was killed left under temporary names; what cannot be removed harms nobody."""
    for path in folder.iterdir() if os.access(folder, os.R_OK) else ():
        if PART.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise ModelError(
            f"The model cannot be saved, since a name in it holds {problem.object[problem.start]!r}, which is no "
            "character of Unicode; rename that predicate in the data."
        ) from None


# ---- loaded


def load(folder: str | os.PathLike[str]) -> RuleModel:
    """The model saved in the folder, with the edits that a person made in its `rules.toml`, which a note tells."""
    if not isinstance(folder, str | os.PathLike):
        raise ModelError(f"A model is loaded from a folder, not from {type(folder).__name__}; give the name of one.")
    place = Path(folder)
    if not os.path.isdir(place):
        _refuse_no_folder(place)
    definition = parse_definition(_text_of(place / RULES), place / RULES)
    return combine(parse_manifest(_text_of(place / MANIFEST), place / MANIFEST), definition)


def parse_manifest(text: str, file: Path) -> RuleModel:
    """The model as it was saved."""
    reader = Reader(file, ADVICE)

    def no_number(word: str) -> NoReturn:
        reader.refuse(f"{word} stands for a number, which JSON does not know")

    def number(digits: str) -> float:
        if math.isinf(float(digits)):
            reader.refuse(f"the number {shown(digits)} is too large")
        return float(digits)

    def whole(digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            reader.refuse(f"the number {shown(digits)} is too large")
        return int(digits)

    try:
        document = json.loads(text, parse_constant=no_number, parse_float=number, parse_int=whole)
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, ModelError):
            raise
        what = "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise ModelError(f'"{file}" is no JSON ({what}); {ADVICE}.') from None
    if not isinstance(document, dict):
        reader.refuse("there is no object of names and values")
    check_format(document, reader, FORMAT)
    about = {"format", "written_by", "rules_sha256"}
    model: RuleModel = reader.fields(RuleModel, {k: v for k, v in document.items() if k not in about}, "the model")
    return model


def combine(saved: RuleModel, now: Definition) -> RuleModel:
    """The model of `now`: as it was saved where that is the same, else without the numbers that hold no longer."""
    before = definition_of(saved)
    if replace(before, rules=()) == replace(now, rules=()) and before.weights == now.weights:
        known = {item.rule: item for item in saved.rules}
        return replace(saved, rules=tuple(known[item.rule] for item in now.rules))
    same_frame = replace(before, rules=()) == replace(now, rules=())
    unknown = (math.nan,) * len(now.base.log_rate)
    return replace(
        saved,
        head=now.head,
        feature=now.feature,
        heterogeneity=now.base.heterogeneity,
        cuts=now.base.cuts,
        baseline=now.base.log_rate,
        baseline_stderr=unknown,
        variance=now.base.variance,
        variance_stderr=math.nan,
        rules=tuple(WeightedRule.unfitted(item.rule, item.weight) for item in now.rules),
        suggestive=(),
        certificate=None,
        notes=(*(note for note in saved.notes if note.startswith(EDITED)), _edit_note(before, now)),
        training=replace(
            saved.training,
            unit=now.base.unit,
            log_likelihood=math.nan,
            log_likelihood_without_rules=saved.training.log_likelihood_without_rules if same_frame else math.nan,
            kkt_residual=math.nan,
            complementary_slackness=math.nan,
        ),
    )


def _edit_note(before: Definition, now: Definition) -> str:
    return (
        f"{EDITED}{'; '.join(edits(before, now))}. Standard errors, gains, evidence, likelihood, suggestive rules and "
        "certificate were about the model before, so they are left out; weigh the rules on data to have them again."
    )


def edits(before: Definition, now: Definition) -> list[str]:
    """What differs, in words."""
    found = [
        f"{name} {was} became {is_}"
        for name, was, is_ in zip(_FRAME, _frame(before), _frame(now), strict=True)
        if was != is_
    ]
    old, new = before.weights, now.weights
    flipped = {rule: _other_sign(rule) for rule in old if rule not in new and _other_sign(rule) in new}
    for rule, opposite in flipped.items():
        weight = "" if old[rule] == new[opposite] else f", its weight {_change(old[rule], new[opposite])}"
        found.append(f"'{rule.key}' became '{opposite.key}'{weight}")
    for rule in [rule for rule in new if rule in old and old[rule] != new[rule]]:
        found.append(f"weight of '{rule.key}' {_change(old[rule], new[rule])}")
    found += [f"'{rule.key}' added" for rule in new if rule not in old and rule not in flipped.values()]
    found += [f"'{rule.key}' removed" for rule in old if rule not in new and rule not in flipped]
    return found


_FRAME = ("head", "feature", "kernel", "span", "unit", "base log-rate", "cuts", "heterogeneity", "variance")


def _frame(definition: Definition) -> tuple[object, ...]:
    """All but the rules, in the words and the order of `_FRAME`."""
    feature, base = definition.feature, definition.base
    kernel = kernel_text(feature.kernel)
    head = definition.head
    manner = ", terminal" if head.terminal else f", reset by {head.reset_by}" if head.reset_by else ""
    manner += "" if head.at_risk_from_start else ", not at risk from start"
    levels = ", ".join(map(repr, base.log_rate))
    cuts = ", ".join(map(repr, base.cuts)) or "none"
    shape = (base.unit, levels, cuts, base.heterogeneity, base.variance)
    return (f"{head.name}{manner}", feature.kind, kernel, "none" if feature.span is None else feature.span, *shape)


def _change(was: float, now: float) -> str:
    """Two numbers, in as many digits as tell them apart."""
    short = f"{was:.6g}", f"{now:.6g}"
    before, after = short if short[0] != short[1] else (repr(was), repr(now))
    return f"{before} became {after}"


def _other_sign(rule: Rule) -> Rule:
    return replace(rule, sign=-rule.sign)


def _text_of(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8").removeprefix("\ufeff")  # some editors put a mark there
    except FileNotFoundError:
        raise ModelError(
            f'There is no "{file}", so "{file.parent}" holds no whole model; name the folder that model.save or '
            "chronorule learn --out wrote."
        ) from None
    except UnicodeDecodeError:
        raise ModelError(f'"{file}" is no UTF-8 text; save it as UTF-8 again.') from None
    except OSError as problem:
        raise ModelError(f'"{file}" cannot be read ({problem.strerror}); check its permissions.') from None


def _refuse_no_folder(place: Path) -> NoReturn:
    if place.name in (RULES, MANIFEST) and os.path.isfile(place):
        raise ModelError(f'"{place}" is one file of a model; name the folder, "{place.parent}".')
    if os.path.exists(place):
        raise ModelError(f'"{place}" is a file, but a model is a folder with {RULES} and {MANIFEST}; name that folder.')
    raise ModelError(f'There is no folder "{place}"; check the path.')
