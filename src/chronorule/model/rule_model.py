"""`RuleModel`: weighted rules with the baseline and the frailty that go with them."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import DataWarning, OptionError
from chronorule.events import EventLog, Exposure, Head, exposure
from chronorule.grounding import Feature, FeaturePath, Grounding
from chronorule.likelihood import Heterogeneity, build_segments, log_likelihood, log_rate
from chronorule.model.history import Round
from chronorule.model.records import Alike
from chronorule.model.residuals import Expectation
from chronorule.model.weighted_rule import WeightedRule, finite, format_table, known, number
from chronorule.model.words import (
    honest_words,
    learning_words,
    paragraph,
    searched_before_the_last_change,
    suggestive_table,
)
from chronorule.rules import format_rule
from chronorule.rules.grammar import Grammar
from chronorule.search.base import Certificate

Float64 = NDArray[np.float64]


@dataclass(frozen=True)
class Training:
    """What the model was weighed on, and how well that went."""

    entities: int
    groups: int
    grouped: bool
    events: int
    heads: int
    heads_outside: int
    exposure: float
    unit: str
    fingerprint: str  # of the log
    vocabulary: tuple[str, ...]  # its predicates
    log_likelihood: float  # this and the last two are NaN where a person edited the model since
    log_likelihood_without_rules: float
    kkt_residual: float
    complementary_slackness: float


@dataclass(frozen=True, eq=False)
class RuleModel(Alike):
    """λ(t) = u·exp(b(t) + Σ sign·w·φ(t)): rules, weights, baseline and the spread of the entities' base rates."""

    head: Head
    feature: Feature
    heterogeneity: Heterogeneity
    cuts: tuple[float, ...]
    penalty: float
    rules: tuple[WeightedRule, ...]
    baseline: tuple[float, ...]  # log-rate of each piece
    baseline_stderr: tuple[float, ...]
    variance: float  # of the frailty u; 0 when entities are alike
    variance_stderr: float
    grammar: Grammar | None  # that the rules were searched in; None where a person named them
    training: Training
    notes: tuple[str, ...] = ()
    suggestive: tuple[WeightedRule, ...] = ()  # the best rules that were not admitted, each beside the admitted ones
    certificate: Certificate | None = None  # of the last search; None where nothing was searched for
    rounds: tuple[Round, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)  # of the learner, as plain values
    stopped: str | None = None  # why learning ended before it was done: "time limit", "interrupted", "max_rules"

    # ---- asked about a log

    def log_likelihood(self, log: EventLog) -> float:
        """ℓ of a log under this model: marginal over the frailty, whose spread is the one learned (design 4 and 6).

        With heterogeneity "entity" every entity's own base is set to its best on the log asked about.
        """
        shown = self.with_vocabulary(log)
        segments = build_segments(exposure(shown, self.head), self._paths(shown), self.cuts)
        return log_likelihood(
            segments,
            [item.weight for item in self.rules],
            self.baseline,
            signs=[item.sign for item in self.rules],
            units=shown.group,
            heterogeneity=self.heterogeneity,
            variance=self.variance,
        ).value

    def intensity(self, log: EventLog, entity: str | int, times: ArrayLike) -> Float64:
        """λ of the head in one entity at the given times, from what happened strictly before each; 0 outside exposure.

        The entity's frailty enters by its mean given the entity's own past, (1 + νN(t−)) / (1 + νΛ(t−)), never by what
        comes later. A model with a free base for every entity has no law for the base of an entity not yet seen, and
        uses the base that fits the entity's whole record.
        """
        try:
            asked = np.asarray(times, np.float64)
        except (TypeError, ValueError):
            asked = np.array(np.nan)
        if asked.ndim > 1 or not np.isfinite(asked).all():
            raise OptionError(
                f"The times of an intensity must be finite numbers in one row, in the unit of the log ({log.unit}); "
                "dates become times by what has passed since log.notes.origin."
            )
        flat = np.atleast_1d(asked)
        shown = self.with_vocabulary(log.select([entity]))
        risk = exposure(shown, self.head)
        paths = self._paths(shown)
        score = np.asarray(self.baseline)[np.searchsorted(np.asarray(self.cuts), flat - shown.start[0], side="left")]
        for item, path in zip(self.rules, paths, strict=True):
            score = score + item.sign * item.weight * path.at(0, flat)
        heads = np.searchsorted(risk.head_times, flat, side="left")
        expected = self._expected_until(risk, paths, flat)
        if self.heterogeneity == "entity":
            whole = self._expected_until(risk, paths, np.array([np.inf]))[0]
            multiplier = np.full(len(flat), risk.n_heads / whole if whole > 0 else 0.0)
        else:
            multiplier = (1 + self.variance * heads) / (1 + self.variance * expected)
        inside = np.searchsorted(risk.start, flat, side="left") > np.searchsorted(risk.stop, flat, side="left")
        rate = np.where(inside, multiplier * np.exp(score), 0.0)
        return rate.reshape(asked.shape)

    def _expected_until(self, risk: Exposure, paths: list[FeaturePath], times: Float64) -> Float64:
        """Λ(t) of a log of one entity with multiplier 1."""
        segments = build_segments(risk, paths, self.cuts)
        rates = log_rate(
            segments, [item.weight for item in self.rules], self.baseline, signs=[item.sign for item in self.rules]
        )
        return Expectation.of(segments, rates).until(np.zeros(len(times), np.int64), times)

    def _paths(self, log: EventLog) -> list[FeaturePath]:
        return Grounding(log, self.feature).paths([item.rule for item in self.rules])

    def with_vocabulary(self, log: EventLog, suggestive: bool = False) -> EventLog:
        """The log with every predicate of the model in its vocabulary; one that never happens there is reported.

        With `suggestive`, those of the suggestive rules belong to it too.
        """
        rules = self.rules + self.suggestive if suggestive else self.rules
        wanted = dict.fromkeys([self.head.name, *(name for item in rules for name in item.rule.predicates)])
        if self.head.reset_by is not None:
            wanted[self.head.reset_by] = None
        missing = tuple(name for name in wanted if name not in log.predicates)
        if not missing:
            return log
        warnings.warn(
            f"The log does not know {', '.join(repr(name) for name in missing)}, which the model uses; "
            "it is taken as never happening. Check the spelling if you expected it.",
            DataWarning,
            stacklevel=3,
        )
        statics = np.concatenate([log.statics, np.zeros(len(missing), np.bool_)])
        return replace(log, predicates=log.predicates + missing, statics=statics)

    @property
    def proved(self) -> bool:
        """Whether no other rule of the grammar passes: the last search saw all of them, at these very rules."""
        proof = self.certificate
        return (
            proof is not None and proof.optimal and proof.incumbent <= 0 and not searched_before_the_last_change(self)
        )

    # ---- kept in a folder

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `rules.toml`, which people edit, and `manifest.json` into the folder; `chronorule.load` reads them.

        What stood there stays until both files are whole; comments in its `rules.toml` stay in any case.
        """
        from chronorule.model import store  # it reads models, so it needs this module first

        store.save(self, folder)

    # ---- read by people and programs

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON: what is not known is None."""
        kernel = self.feature.kernel
        return {
            "head": asdict(self.head),
            "feature": self.feature.kind,
            "kernel": str(kernel),
            "span": self.feature.span,
            "heterogeneity": self.heterogeneity,
            "penalty": self.penalty,
            "cuts": list(self.cuts),
            "baseline": [known(value) for value in self.baseline],
            "baseline_stderr": [known(value) for value in self.baseline_stderr],
            "variance": self.variance,
            "variance_stderr": known(self.variance_stderr),
            "grammar": None if self.grammar is None else self.grammar.to_dict(),
            "training": finite(asdict(self.training)),
            "rules": [item.to_dict() for item in self.rules],
            "notes": list(self.notes),
            "suggestive": [item.to_dict() for item in self.suggestive],
            "certificate": None
            if self.certificate is None
            else finite({**asdict(self.certificate), "gap": self.certificate.gap}),
            "rounds": [finite(item.to_dict()) for item in self.rounds],
            "options": finite(self.options),
            "stopped": self.stopped,
        }

    def to_text(self) -> str:
        """The rules with their weights as a rules file, which `reweigh` reads back."""
        lines = [f"# {line}" for line in self.summary().splitlines()]
        for item in self.rules:
            lines.append(f"{format_rule(item.rule, 'ascii')}  w = {item.weight:.17g}")
        return "\n".join(lines) + "\n"

    def summary(self) -> str:
        """Two or three lines: what was explained, on what data, how well."""
        seen, fitted = self.training, self.training.log_likelihood
        entities = f"{seen.entities:,} {'entity' if seen.entities == 1 else 'entities'}"
        if seen.grouped:
            entities += f" in {seen.groups:,} groups"
        unit = "units of time" if seen.unit == "time" else seen.unit
        rules = f"{len(self.rules)} {'rule' if len(self.rules) == 1 else 'rules'}"
        heads = f"{seen.heads:,} {'head' if seen.heads == 1 else 'heads'}"
        lines = [
            f"{self.head.name}: {rules}, feature {self.feature.kind}, kernel {self.feature.kernel}"
            + (f", span {self.feature.span:g}" if self.feature.span is not None else ""),
            f"{entities}, {seen.events:,} {'event' if seen.events == 1 else 'events'}, {heads} in "
            f"{number(seen.exposure, 0 if seen.exposure >= 100 else 1)} {unit}",
            f"log-likelihood {'not known' if math.isnan(fitted) else number(fitted)} "
            f"(without rules {number(seen.log_likelihood_without_rules)})",
            self._base_line(),
        ]
        return "\n".join(lines)

    def _base_line(self) -> str:
        if self.heterogeneity == "entity":
            return "every group has a base rate of its own"
        rates = ", ".join(f"{math.exp(level):.4g}" for level in self.baseline)
        cuts = "" if not self.cuts else f" (cut at {', '.join(f'{cut:g}' for cut in self.cuts)})"
        spread = "base rates alike" if self.variance == 0 else f"base rates vary with variance {self.variance:.3g}"
        unit = "unit of time" if self.training.unit == "time" else self.training.unit.removesuffix("s")
        text = f"base rate {rates} per {unit}{cuts}; {spread}"
        return paragraph(text)

    def __str__(self) -> str:
        parts = [self.summary()]
        if self.rules:
            parts.append(format_table(self.rules, within=bool(self.options.get("within"))))
        elif self.grammar is not None:
            parts.append("no rule is in the model: the base rate is all that it says.")
        if self.rules and self.options.get("honest"):
            parts.append(paragraph(honest_words(self)))
        learned = "\n".join(map(paragraph, learning_words(self)))
        if learned:
            parts.append(learned)
        if self.suggestive:
            parts.append(suggestive_table(self))
        if self.notes:
            parts.append("\n".join(paragraph(f"note: {note}") for note in self.notes))
        return "\n\n".join(parts)


class Learned(Protocol):
    """What a fitted learner is to those who take a model."""

    def model_of_one_head(self) -> RuleModel:
        """The model that it learned; refused where there is none, or several."""


def checked_model(model: object) -> RuleModel:
    """A model as it is, of a fitted learner the one that it learned; anything else is refused."""
    found = model.model_of_one_head() if hasattr(model, "model_of_one_head") else model
    if not isinstance(found, RuleModel):
        raise OptionError(
            f"The model is of type {type(model).__name__}, not a RuleModel; give the model_ of a fitted RuleLearner, "
            "or what reweigh or load returns."
        )
    return found
