"""A study: one head on one log, with everything that fixes the likelihood of a set of rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import DataError, OptionError, RuleError
from chronorule.events import EventLog, Exposure, Head, exposure
from chronorule.execution import Threads
from chronorule.grounding import Feature, FeaturePath, Grounding
from chronorule.likelihood import (
    HETEROGENEITIES,
    Heterogeneity,
    Segments,
    build_segments,
    identical_columns,
    unit_scores,
)
from chronorule.master import MAX_WEIGHT, MasterSolution, StartingPoint, fit_master
from chronorule.pricing import Oracle, Rate
from chronorule.pricing.evidence import clustered
from chronorule.rules import Rule, parse_rule

LONGEST_TIME = 1e60  # at risk in all; one over it is the shortest


@dataclass(frozen=True, eq=False)
class Fit:
    """A set of rules weighed on a study's log."""

    rules: tuple[Rule, ...]
    paths: tuple[FeaturePath, ...]
    segments: Segments
    solution: MasterSolution


@dataclass(frozen=True, eq=False)
class Study:
    """One head on one log: features, frailty and baseline are settled, the rules are not."""

    log: EventLog
    head: Head
    feature: Feature = field(default_factory=Feature)
    heterogeneity: Heterogeneity = "gamma"
    cuts: tuple[float, ...] = ()  # of the baseline, in time since each period's start
    penalty: float = 0.0  # λ0
    largest_weight: float = MAX_WEIGHT
    threads: Threads = field(default_factory=Threads)
    exposure: Exposure = field(init=False, repr=False)
    grounding: Grounding = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.head, str):  # a name alone means a head that recurs freely
            object.__setattr__(self, "head", Head(self.head))
        if not isinstance(self.feature, Feature):
            raise OptionError(f"feature={self.feature!r} is no Feature; write for example cr.Feature('count').")
        if self.heterogeneity not in HETEROGENEITIES:
            raise OptionError(
                f"heterogeneity='{self.heterogeneity}' is unknown; choose one of {', '.join(HETEROGENEITIES)}."
            )
        if self.heterogeneity == "entity" and self.head.ends_own_exposure:
            raise OptionError(
                f"heterogeneity='entity' cannot be used for '{self.head.name}': a head that is terminal or reset ends "
                "its own exposure, so that beside free base rates rules seem to say when it comes even where none "
                "does; use heterogeneity='gamma', or 'none'."
            )
        object.__setattr__(self, "exposure", exposure(self.log, self.head))
        _refuse_unheard_of_spans(self.exposure)
        object.__setattr__(self, "grounding", Grounding(self.log, self.feature))

    @property
    def frailty(self) -> Heterogeneity:
        """The heterogeneity in use: one event an entity cannot tell a frailty from a falling hazard (design 6)."""
        return (
            "none" if self.head.terminal and not self._nested and self.heterogeneity == "gamma" else self.heterogeneity
        )

    @property
    def _nested(self) -> bool:
        """Whether some group holds several entities."""
        return self.log.n_groups < self.log.n_entities

    def fit(self, rules: Sequence[Rule | str], start: StartingPoint | None = None) -> Fit:
        """Weigh the rules, `Rule` objects or texts, by maximum likelihood."""
        parsed = [parse_rule(rule) if isinstance(rule, str) else rule for rule in rules]
        self.check(parsed)
        paths = tuple(self.grounding.paths(parsed))
        segments = build_segments(self.exposure, paths, self.cuts)
        solution = fit_master(
            segments,
            [rule.sign for rule in parsed],
            [rule.length for rule in parsed],
            penalty=self.penalty,
            heterogeneity=self.frailty,
            units=self.log.group,
            start=start,
            w_max=self.largest_weight,
            names=[f"'{rule.key}'" for rule in parsed],
        )
        return Fit(tuple(parsed), paths, segments, solution)

    def check(self, rules: Sequence[Rule]) -> None:
        """Refuse rules that explain another head."""
        for rule in rules:
            if rule.head != self.head.name:
                raise RuleError(
                    f"The rule '{rule.key}' explains '{rule.head}', but the head is '{self.head.name}'; "
                    "weigh the rules of one head at a time."
                )

    def distinct(self, rules: Sequence[Rule]) -> tuple[list[Rule], dict[Rule, Rule]]:
        """The rules without twins, whose feature on this log is another's: the shortest, then smallest stays."""
        self.check(rules)
        order = sorted(rules, key=lambda rule: (rule.length, rule.key))
        first = identical_columns(build_segments(self.exposure, self.grounding.paths(order), self.cuts))
        twins = {order[f]: order[k] for f, k in enumerate(first.tolist()) if order[f].sign == order[k].sign and f != k}
        return [rule for rule in rules if rule not in twins], twins

    def rate(self, fit: Fit) -> Rate:
        """λ of a fit."""
        solution = fit.solution
        return Rate.of(
            self.exposure,
            fit.rules,
            fit.paths,
            self.cuts,
            solution.weights,
            solution.baseline,
            multipliers_by_entity(solution, self.log.group),
            fit.segments,
        )

    def oracle(self, fit: Fit) -> Oracle:
        """The prices of further rules at the λ of a fit."""
        return Oracle(
            self.grounding,
            self.exposure,
            self.rate(fit),
            unit=self.log.group,
            penalty=self.penalty,
            largest_weight=self.largest_weight,
            threads=self.threads,
        )

    def clustered_z(self, fit: Fit, rule: Rule) -> float:
        """z of a rule beside a fit, over groups, with what fitting the others again would undo taken out (design 6).

        The surplus of heads while a rule is on stands beside what rules that overlap with it have wrong. To first
        order what is left of group c's surplus s_c when these have followed is s_c − S_c I⁻¹ I_s: S_c is what the group
        adds to the slopes of the free weights and the baseline, I their information. The frailty's variance is held.
        """
        path = self.grounding.path(rule)
        if path.constant or path.decay == 0:
            path = replace(path, values=(path.values > 0).astype(np.float64))
        solution = fit.solution
        scores, information = unit_scores(
            build_segments(self.exposure, [*fit.paths, path], self.cuts),
            np.append(solution.weights, 0.0),
            solution.baseline,
            signs=[*(one.sign for one in fit.rules), rule.sign],
            units=self.log.group,
            heterogeneity=solution.heterogeneity,
            variance=solution.variance,
        )
        place = len(fit.rules)
        fixed = [
            *(solution.at_lower | solution.at_upper),
            True,
            *(solution.baseline_at_lower | solution.baseline_at_upper),
        ]
        free = np.flatnonzero(np.logical_not(fixed))
        undone = np.linalg.lstsq(information[np.ix_(free, free)], information[free, place], rcond=1e-9)[0]
        return clustered(scores[:, place] - scores[:, free] @ undone)


def multipliers_by_entity(solution: MasterSolution, group: NDArray[np.int32]) -> NDArray[np.float64]:
    """Posterior mean of every entity's frailty: that of its group."""
    return solution.multipliers[group] if len(group) else np.ones(0)


def _refuse_unheard_of_spans(risk: Exposure) -> None:
    """Refuse times at risk whose products with rates and times are no numbers of the machine."""
    with np.errstate(over="ignore"):
        total = risk.total()
    if total > 0 and not 1 / LONGEST_TIME < total < LONGEST_TIME:
        raise DataError(
            f"'{risk.head.name}' can happen over {total:g} units of time in all, outside of {1 / LONGEST_TIME:g} to "
            f"{LONGEST_TIME:g}, where times and rates are too far from 1 to be reckoned with; correct times that stand "
            "for something else, or count in another unit."
        )
