"""Weigh rules by maximum likelihood: where the fit begins, its two levels, and its answer (design 4 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import OptionError
from chronorule.likelihood import HETEROGENEITIES, Heterogeneity, Segments, checked_signs, statistics
from chronorule.master.newton import better_variance, minimise
from chronorule.master.problem import Problem, State, presolve
from chronorule.master.solution import MasterSolution, report

Floats = NDArray[np.float64]

MAX_WEIGHT = 10.0  # a rate ratio of e^10, 22,026
SETTLED = 1e-8  # nats per head: the largest slope that the answer of a fit leaves to follow


class StartingPoint(Protocol):
    """Anything with weights, a baseline and a variance, such as an earlier solution."""

    @property
    def weights(self) -> Floats:
        """[F]"""

    @property
    def baseline(self) -> Floats:
        """[P]"""

    @property
    def variance(self) -> float:
        """ν"""


@dataclass(frozen=True, eq=False)
class Start:
    """Where a fit begins; a rule that is new begins at weight 0."""

    weights: Floats
    baseline: Floats
    variance: float = 0.0


def fit_master(
    segments: Segments,
    signs: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    *,
    penalty: float = 0.0,
    heterogeneity: Heterogeneity = "gamma",
    units: ArrayLike | None = None,
    start: StartingPoint | None = None,
    w_max: float = MAX_WEIGHT,
    baseline_bounds: tuple[float, float] | None = None,
    names: Sequence[str] | None = None,
    tolerance: float = SETTLED,
    max_iterations: int = 200,
) -> MasterSolution:
    """Weigh the rules whose features `segments` holds.

    `signs` (±1, default +1) and `lengths` (c_f, default 1) are by rule, `units` gives each entity's group, `penalty` is
    λ0, `start` an earlier solution, `names` what the notes call the rules. `baseline_bounds` default to 30 nats around
    the crude log-rate. The answer is optimal to `tolerance` per head, or `converged` is False and a note says so.
    """
    sign = checked_signs(signs, segments.n_rules)
    cost = _checked_cost(lengths, penalty, segments.n_rules)
    _check_options(heterogeneity, w_max, tolerance, max_iterations, names, segments.n_rules)
    data = statistics(segments, units, with_heads_only=heterogeneity == "entity")
    labels = tuple(names) if names is not None else tuple(f"rule {f + 1}" for f in range(sign.size))
    problem, crude, notes = presolve(data, sign, cost, heterogeneity, w_max, baseline_bounds, labels)
    state = _begin(problem, crude, start)
    state, iterations = minimise(state, tolerance, max_iterations)
    while True:  # ℓ may have more than one summit in ν: look for a higher one with the rest held
        trial = better_variance(state)
        if trial is None:
            break
        state, more = minimise(trial, tolerance, max_iterations)
        iterations += more
    return report(state, iterations, tolerance, labels, notes)


def _checked_cost(lengths: ArrayLike | None, penalty: float, rules: int) -> Floats:
    length = np.ones(rules) if lengths is None else np.array(lengths, np.float64)
    if length.shape != (rules,) or not np.isfinite(length).all() or (length < 0).any():
        raise OptionError(f"lengths needs one finite number, 0 or more, for each of the {rules} rules.")
    if not isinstance(penalty, Real):
        raise OptionError(f"penalty={penalty!r} is no number; give a finite number of 0 or more.")
    if not (np.isfinite(penalty) and penalty >= 0):
        raise OptionError(f"penalty={penalty:g} would reward long rules; give a finite number of 0 or more.")
    return penalty * length


def _check_options(
    heterogeneity: str, w_max: float, tolerance: float, max_iterations: int, names: Sequence[str] | None, rules: int
) -> None:
    if heterogeneity not in HETEROGENEITIES:
        raise OptionError(f"heterogeneity='{heterogeneity}' is unknown; choose one of {', '.join(HETEROGENEITIES)}.")
    if not (np.isfinite(w_max) and w_max > 0):
        raise OptionError(f"w_max={w_max:g} leaves no weight to choose; give a finite number above 0.")
    if not (tolerance > 0 and max_iterations > 0):
        raise OptionError("tolerance and max_iterations must be above 0.")
    if names is not None and len(names) != rules:
        raise OptionError(f"names has {len(names)} names for {rules} rules; give one for each.")


def _begin(problem: Problem, crude: Floats, start: StartingPoint | None) -> State:
    """The better of no rules at all with the crude rates, and the earlier solution where there is one."""
    size = problem.lower.size
    cold = np.clip(np.concatenate([np.zeros(problem.rules), crude, [0.0]]), problem.lower, problem.upper)
    state = State.of(problem, cold)
    if not np.isfinite(state.value):
        raise OptionError("The rate at baseline_bounds is beyond the numbers of this machine; give lower bounds.")
    state = better_variance(state) or state
    if start is None:
        return state
    z = np.concatenate([start.weights, start.baseline, [start.variance]]).astype(np.float64)
    if z.size != size or start.weights.size != problem.rules or not np.isfinite(z).all():
        raise OptionError(
            f"The starting point has {start.weights.size} weights and {start.baseline.size} pieces of the baseline, "
            f"where {problem.rules} and {size - problem.rules - 1} finite ones are needed; give new rules weight 0."
        )
    warm = State.of(problem, np.clip(z, problem.lower, problem.upper))
    return warm if warm.value < state.value else state
