"""What a report says, as records that JSON can hold; the page is drawn from them alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

import chronorule
from chronorule.events import EventLog
from chronorule.events.log import checked_log
from chronorule.model import Learned, RuleModel, WeightedRule, checked_model
from chronorule.model.words import searched_before_the_last_change, stopped_words
from chronorule.report.expectation import Expectation
from chronorule.report.timelines import timelines
from chronorule.report.words import GLOSSARY, SAYS, certificate_words, duration, overview_words, sentence
from chronorule.rules import format_rule

VERSION = 1  # of the form of the records
PICTURED = 12  # rules of the model, from the first on, with pictures of entities
SUGGESTIVE_PICTURED = 3


def report_records(model: RuleModel | Learned, log: EventLog, entities: bool = True) -> dict[str, Any]:
    """All that the report of a model on a log says, as plain values for JSON; what is not known is None.

    Without `entities` nothing in it belongs to a single entity: no names, no pictures of their events.
    """
    model, log = checked_model(model), checked_log(log, "log")
    shown = model.with_vocabulary(log, suggestive=True)
    known = Expectation(model, shown)
    records = {
        "format": VERSION,
        "chronorule": chronorule.__version__,
        "entities_shown": entities,
        "overview": overview_words(model),
        "head": asdict(model.head),
        "unit": log.unit,
        "model": _model(model),
        "rules": [
            _rule(known, item, place, True, entities and place <= PICTURED)
            for place, item in enumerate(model.rules, start=1)
        ],
        "suggestive": [
            _rule(known, item, place, False, entities and place <= SUGGESTIVE_PICTURED)
            for place, item in enumerate(model.suggestive, start=1)
        ],
        "pictured": {"rules": PICTURED, "suggestive": SUGGESTIVE_PICTURED},
        "learning": _learning(model),
        "certificate": _certificate(model),
        "data": log.describe(model.head).to_dict(),
        "edited": math.isnan(model.training.log_likelihood),
        "same_log": log.fingerprint == model.training.fingerprint,
        "options": dict(model.options),
        "notes": list(model.notes),
        "glossary": [{"term": term, "meaning": meaning} for term, meaning in GLOSSARY],
    }
    plain: dict[str, Any] = plain_values(records)
    return plain


def plain_values(value: Any) -> Any:
    """Lists, dictionaries, texts, truth values and finite numbers only; a number that is none of these is None."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain_values(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_values(item) for item in value]
    if isinstance(value, np.generic):
        return plain_values(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _model(model: RuleModel) -> dict[str, Any]:
    told = {**model.to_dict(), "duration": duration(model.feature, model.training.unit)}
    left_out = ("rules", "head", "notes", "suggestive", "certificate", "rounds", "options", "stopped")
    return {name: value for name, value in told.items() if name not in left_out}


def _rule(known: Expectation, item: WeightedRule, place: int, admitted: bool, pictured: bool) -> dict[str, Any]:
    log = known.log
    statics = {name for name, static in zip(log.predicates, log.statics.tolist(), strict=True) if static}
    after = known.aftermath(item)
    says = SAYS[item.label]
    return {
        "number": place,
        "admitted": admitted,
        "given": admitted and item.rule.key in (known.model.options.get("given_rules") or ()),
        "text": format_rule(item.rule, "ascii").replace(" <-| ", " ↤ ", 1).replace(" <- ", " ← ", 1),
        "sentence": sentence(item, known.model.feature, log.unit, statics),
        **item.to_dict(),
        "objections": list(item.objections(within=bool(known.model.options.get("within", False)))),
        "length": item.rule.length,
        "description_length": None if item.evidence is None else item.evidence.description_length,
        "says": says[0],
        "says_meaning": says[1],
        "while_on": after.whole.to_dict(),
        "after": [piece.to_dict() for piece in after.bins],
        "pictured": pictured,
        "timelines": [line.to_dict() for line in timelines(known, item.rule)] if pictured else [],
    }


def _learning(model: RuleModel) -> dict[str, Any]:
    seen = model.training
    return {
        "searched": model.certificate is not None or bool(model.rounds),
        "log_likelihood_without_rules": seen.log_likelihood_without_rules,
        "log_likelihood": seen.log_likelihood,
        "stopped": model.stopped,
        "stopped_words": None if model.stopped is None else stopped_words(model),
        "rounds": [record.to_dict() for record in model.rounds],
    }


def _certificate(model: RuleModel) -> dict[str, Any] | None:
    certificate = model.certificate
    if certificate is None:
        return None
    return {
        **asdict(certificate),
        "gap": certificate.gap,
        "proved": certificate.optimal and not searched_before_the_last_change(model),
        "words": certificate_words(model, certificate),
    }
