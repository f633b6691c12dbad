"""Projected Newton: each step minimises the quadratic model inside the box (design 4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from chronorule.likelihood import unit_terms, variance_slopes
from chronorule.master.problem import LONGEST_STEP, State

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

RIDGE = 1e-11  # of the scaled Hessian, in the step alone: survives rules that cannot be told apart
NEAR = 1e-2  # residual under which joint steps find ν faster than a search over ν alone
SMALLEST = 1e-6  # a variance that no log can tell from 0
GRID = (0.0, *(10.0**power for power in range(-4, 4)))  # of variances


def minimise(state: State, tolerance: float, max_iterations: int) -> tuple[State, int]:
    """Projected Newton to a residual of `tolerance`, or as near as rounding and the iterations allow."""
    best, patience = np.inf, 10
    for iteration in range(max_iterations):
        residual = state.residual
        if residual <= tolerance:
            return state, iteration
        patience = 10 if residual < 0.5 * best else patience - 1
        best = min(best, residual)
        hessian = state.derivatives[1]
        found = _descend(state, hessian) or _descend(state, np.diag(np.diag(hessian)))
        if found is None or (patience < 0 and found.value >= state.value - _noise(state)):
            return state, iteration
        state = found if residual < NEAR else better_variance(found) or found
    return state, max_iterations


def better_variance(state: State) -> State | None:
    """The best variance with everything else held, where it beats the present one.

    A wide grid finds the summit and Newton steps in log ν, kept between the neighbours on the grid, its place to 1 in
    1000; the joint steps do the rest. No rate changes with ν, so this costs a pass over the units only.
    """
    problem, point = state.problem, state.point
    if problem.upper[-1] == 0:
        return None
    data = problem.data
    terms = [unit_terms(data.heads, data.exceeding, point.expected, float(v), "gamma") for v in (state.z[-1], *GRID)]
    summit = int(np.argmax(terms[1:]))
    variance = float(GRID[summit])
    below, above = max(float(GRID[max(summit - 1, 0)]), SMALLEST), float(GRID[min(summit + 1, len(GRID) - 1)])
    logarithm = np.log(variance if variance > 0 else np.sqrt(below * above))
    least, most = np.log(below), np.log(above)
    for _ in range(30):
        here = float(np.exp(logarithm))
        slope, bend = variance_slopes(data.heads, data.exceeding, point.expected, here)
        least, most = (logarithm, most) if slope > 0 else (least, logarithm)
        curvature = here * (here * bend + slope)
        aim = logarithm - here * slope / curvature if curvature < 0 else least
        aim = aim if least < aim < most else (least + most) / 2
        moved = abs(aim - logarithm)
        logarithm = aim
        if moved < 1e-3:
            break
    best, found = terms[summit + 1], float(np.exp(logarithm))
    refined = unit_terms(data.heads, data.exceeding, point.expected, found, "gamma")
    if refined > best:
        best, variance = refined, found
    gained = best - terms[0]
    if gained <= 1e-9 * (1 + abs(terms[0])):
        return None
    there = replace(point, value=point.value + gained, variance=variance)
    return State(problem, np.append(state.z[:-1], variance), state.value - gained, there)


def _noise(state: State) -> float:
    """Rounding of the objective, a sum of many terms that largely cancel."""
    return 1e-13 * (1 + abs(state.value))


def _descend(state: State, hessian: Floats) -> State | None:
    """One step to the minimum of the quadratic model in the box, shortened until the objective falls (Armijo)."""
    problem, z, slope = state.problem, state.z, state.derivatives[0]
    fixed = problem.lower == problem.upper
    model, held = _convex(hessian, fixed), fixed
    if model is None:  # hold what its bound stops anyway: only the rest must bend upwards
        held = fixed | state.stuck
        model = _convex(hessian, held)
    if model is None:
        model = _convex(hessian, held, variance_apart=True)
    if model is None:
        return None
    lower, upper = np.where(held, z, problem.lower), np.where(held, z, problem.upper)
    upper[-1] = min(upper[-1], 4 * z[-1] + 1)  # the model of ν is good nearby only
    step, clamped = _box_step(slope, model, lower - z, upper - z)
    promise = float(slope @ step)
    if not promise < 0:
        return None
    end = np.where(clamped < 0, lower, np.where(clamped > 0, upper, z + step))
    rise = problem.rise(step)
    share = min(1.0, LONGEST_STEP / rise) if rise > 0 else 1.0
    for _ in range(50):
        trial = State.of(problem, end if share == 1.0 else np.clip(z + share * step, lower, upper))
        if trial.value <= state.value + 1e-4 * share * promise + _noise(state):
            return trial
        share /= 2
    return None


def _convex(hessian: Floats, held: Flags, variance_apart: bool = False) -> Floats | None:
    """The Hessian with a tiny ridge, or None where it does not bend upwards.

    The problem is convex in the weights and the baseline, so only ν can be the cause: `variance_apart` leaves out what
    it shares with them and takes its curvature without sign. What is held is cut off: without its free base, a unit's
    level says nothing and its curvature is rounding.
    """
    scale = np.sqrt(np.abs(np.diag(hessian)))
    scale[(scale == 0) | held] = 1.0
    scaled = hessian / np.outer(scale, scale)
    scaled[held, :] = scaled[:, held] = 0.0
    scaled[held, held] = 1.0
    if variance_apart:
        scaled[-1, :-1] = scaled[:-1, -1] = 0.0
        scaled[-1, -1] = 1.0
    scaled[np.diag_indices_from(scaled)] += RIDGE
    try:
        np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(scaled * np.outer(scale, scale))


def _box_step(slope: Floats, hessian: Floats, low: Floats, high: Floats) -> tuple[Floats, NDArray[np.int8]]:
    """argmin slope·d + ½ dᵀ hessian d over low <= d <= high (low <= 0 <= high), and which bound holds each (−1, 0, +1).

    Primal active set: go to the minimum over the free parameters, stopping at the first bound met; there, release the
    held parameter that gains most by moving inwards; until none does.
    """
    step = np.zeros(slope.size)
    clamped = np.where((low == 0) & (slope > 0), -1, np.where((high == 0) & (slope < 0), 1, 0)).astype(np.int8)
    clamped[low == high] = -1
    movable = low < high
    scale = np.sqrt(np.diag(hessian))
    for _ in range(20 * slope.size):
        free = np.flatnonzero(clamped == 0)
        pull = slope + hessian @ step
        move = np.zeros(slope.size)
        if free.size:
            outer = np.outer(scale[free], scale[free])
            move[free] = np.linalg.solve(hessian[np.ix_(free, free)] / outer, -pull[free] / scale[free]) / scale[free]
        room = np.full(slope.size, np.inf)
        down, up = move < 0, move > 0
        room[down] = (low[down] - step[down]) / move[down]
        room[up] = (high[up] - step[up]) / move[up]
        first = int(np.argmin(room))
        if room[first] < 1:
            step += room[first] * move
            clamped[first] = -1 if move[first] < 0 else 1
            step[first] = low[first] if move[first] < 0 else high[first]
            continue
        step += move
        pull = slope + hessian @ step
        inwards = np.where(movable, clamped * pull, 0.0) / scale  # what moving off the bound gains, in comparable units
        worst = int(np.argmax(inwards))
        if inwards[worst] <= 1e-12 * float(np.abs(slope / scale).max()):
            break
        clamped[worst] = 0
    return step, clamped
