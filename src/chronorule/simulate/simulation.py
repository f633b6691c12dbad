"""`simulate`: a log whose heads are drawn exactly from given rules and weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import OptionError
from chronorule.events import EventLog, Head
from chronorule.events.log import checked_log
from chronorule.grounding import Feature, Kernel, parse_kernel
from chronorule.likelihood import log_rate
from chronorule.rules import Rule, RuleLine
from chronorule.simulate import options
from chronorule.simulate.bodies import Recipe, draw_bodies
from chronorule.simulate.heads import draw_heads, without_heads
from chronorule.simulate.instants import Clock, Purpose, Seed, stream
from chronorule.simulate.truth import Law, Simulated, Truth

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def simulate(
    rules: str | Rule | Sequence[str | Rule | RuleLine],
    weights: ArrayLike | None = None,
    *,
    base: float | Sequence[float] = -2.5,
    baseline: Sequence[float] | None = None,
    head: Head | str | None = None,
    predicates: int | Sequence[str] | None = None,
    static: Mapping[str, float] | None = None,
    entities: int = 1000,
    horizon: float = 20.0,
    grid: float = 0.1,
    rates: float | Mapping[str, float] = 0.05,
    planted: float | Sequence[float] = 0.0,
    decoys: float | Sequence[float] = 0.0,
    redraw_above: float | None = None,
    feature: Literal["exists", "count"] = "exists",
    kernel: Kernel | str = "step",
    span: float | None = None,
    heterogeneity: float | None = None,
    body: EventLog | None = None,
    unit: str = "time",
    seed: int | Sequence[int] = 0,
) -> Simulated:
    """Draw a log whose heads follow λ_c(t) = u_c · exp(b(t) + Σ_f sign_f · w_f · φ_f(t)) exactly (design 3 and 11).

    Body events happen on the grid, heads at any instant. The result depends on the options and the seed alone.

    rules: as text (one a line, with or without `w = …`), as `Rule` objects, or a list of these; [] for none.
    weights: one for each rule, at least 0 (a rule written with `<-|` lowers the rate); None where the text has them.
    base, baseline: log-rate without rules; or one for each piece between the cut points `baseline`, which count from
        the start of the period.
    head: a name or a `Head` (terminal ones happen once, those with `reset_by` once until the next reset); by default
        the head of the rules, and "Y" without any.
    predicates: names of the body predicates, or how many (those in use, filled up with letters); by default those in
        use.
    static: for each property without a time, the share of the entities that have it.
    entities, horizon, grid: each entity is watched over (0, horizon]; body events happen at multiples of `grid`, or
        anywhere with grid=0.
    rates: of background events per unit of time; one for all predicates, or {predicate: rate}.
    planted, decoys: chance that an entity gets the body of a rule in order at random instants, and chance that it gets
        a decoy instead, which has its predicates but does not complete it; one for all rules, or one for each.
    redraw_above: draw an entity's body again where the rules would raise the log-rate by more than this.
    feature, kernel, span: how a rule counts, as in `RuleLearner`; planted bodies keep within the span.
    heterogeneity: shape a of multipliers u_c ~ Gamma(a, a), one for each entity (for each group, where `body` has
        groups); None for u = 1.
    body: a log to draw heads on; its own heads after the start of a period are replaced, all else stays.
    """
    if body is not None:
        checked_log(body, "body")
        options.refuse_beside_body(
            predicates=(predicates, None),
            static=(static, None),
            entities=(entities, 1000),
            horizon=(horizon, 20.0),
            grid=(grid, 0.1),
            rates=(rates, 0.05),
            planted=(planted, 0.0),
            decoys=(decoys, 0.0),
            redraw_above=(redraw_above, None),
            unit=(unit, "time"),
        )
    key = options.checked_seed(seed)
    shape = options.checked_shape(heterogeneity)
    parsed, strengths = options.rules_and_weights(rules, weights)
    cuts, levels = options.cuts_and_levels(base, baseline)
    feature_of_all = Feature(feature, parse_kernel(kernel), span)
    law = Law(options.chosen_head(head, parsed), parsed, strengths, levels, cuts, feature_of_all)
    if body is None:
        count = options.checked_count(entities, "entities")
        recipe = _recipe(law, predicates, static, horizon, grid, rates, planted, decoys, unit, key)
        log, was_planted, had_decoy, drawn = draw_bodies(recipe, count, _too_high(law, redraw_above))
        redrawn = drawn - count
    else:
        log, drawn, redrawn = body, 0, 0
        was_planted, had_decoy = np.zeros((2, log.n_entities, len(parsed)), np.bool_)
    multipliers = _multipliers(log, shape, key)
    truth = Truth(
        **vars(law),
        shape=shape,
        multipliers=multipliers,
        planted=was_planted,
        decoys=had_decoy,
        drawn=drawn,
        redrawn=redrawn,
        seed=key,
    )
    return Simulated(draw_heads(log, law, multipliers, stream(key, Purpose.HEADS)), truth)


def _recipe(
    law: Law,
    predicates: int | Sequence[str] | None,
    static: Mapping[str, float] | None,
    horizon: float,
    grid: float,
    rates: float | Mapping[str, float],
    planted: float | Sequence[float],
    decoys: float | Sequence[float],
    unit: str,
    seed: Seed,
) -> Recipe:
    if not (options.is_number(horizon) and np.isfinite(horizon) and horizon > 0):
        raise OptionError(f"horizon={horizon!r} is no length of time to watch; give a positive, finite number.")
    if not (options.is_number(grid) and 0 <= grid <= horizon):
        raise OptionError(f"grid={grid!r} puts no tick into the horizon {horizon:g}; give 0 or a number up to it.")
    if not isinstance(unit, str) or not unit:
        raise OptionError(f"unit={unit!r} names no unit of time; give text such as 'hours'.")
    properties, shares = options.static_shares(static)
    names = options.predicate_names(law.rules, law.head, predicates, properties)
    recipe = Recipe(
        predicates=names,
        rates=options.rate_of_each(rates, names),
        static=properties,
        shares=shares,
        clock=Clock(float(horizon), float(grid)),
        rules=law.rules,
        planted=options.chances(planted, law.rules, "planted"),
        decoys=options.chances(decoys, law.rules, "decoys"),
        span=law.feature.longest,
        unit=unit,
        seed=seed,
    )
    _check_patterns(recipe, law.head)
    return recipe


def _check_patterns(recipe: Recipe, head: Head) -> None:
    """Refuse what cannot be planted: the head itself, nothing at all, or a decoy made of one event."""
    for f, (rule, pattern) in enumerate(zip(recipe.rules, recipe.patterns(), strict=True)):
        if recipe.planted[f] + recipe.decoys[f] > 1:
            raise OptionError(
                f"An entity gets the body of '{rule.key}' or a decoy of it, but the chances {recipe.planted[f]:g} and "
                f"{recipe.decoys[f]:g} add up to more than 1; lower planted or decoys."
            )
        wanted = [name for name, each in (("planted", recipe.planted), ("decoys", recipe.decoys)) if each[f] > 0]
        if not wanted:
            continue
        if head.name in rule.predicates:
            raise OptionError(
                f"The body of '{rule.key}' holds the head, which is drawn and never planted; give this rule the chance "
                "0 in planted and decoys."
            )
        if pattern is None:
            raise OptionError(
                f"'{rule.key}' has no predicate with a time, so nothing can be planted; give this rule the chance 0 in "
                f"{' and '.join(wanted)}."
            )
        if pattern.codes.size < 2 and "decoys" in wanted:
            raise OptionError(
                f"'{rule.key}' has one predicate with a time, too few for a decoy; give this rule the chance 0 "
                "in decoys."
            )
        pattern.check_room(recipe.clock, recipe.span, "decoys" in wanted)


def _too_high(law: Law, above: float | None) -> Callable[[EventLog], Flags] | None:
    """A test for entities whose log-rate the rules would raise by more than `above` at some time at risk."""
    if above is None:
        return None
    if not (options.is_number(above) and above > 0):
        raise OptionError(f"redraw_above={above!r} refuses what no rule has raised; give a positive number, or None.")

    def refused(log: EventLog) -> Flags:
        segments = law.segments(without_heads(log, law.head))
        rate = log_rate(segments, law.weights, np.zeros(segments.pieces), signs=law.signs)
        at_end = rate.constant + rate.decaying * np.exp(-segments.decay * segments.length)
        owner = np.repeat(np.arange(log.n_entities), np.diff(segments.offsets))
        high = np.zeros(log.n_entities, np.bool_)
        high[owner[np.maximum(rate.just_after_start, at_end) > above]] = True
        return high

    return refused


def _multipliers(log: EventLog, shape: float | None, seed: Seed) -> Floats:
    if shape is None:
        return np.ones(log.n_entities)
    of_group = stream(seed, Purpose.MULTIPLIERS).gamma(shape, 1 / shape, log.n_groups)
    return of_group[log.group]
