"""Projected Newton: each step minimises the quadratic model inside the box (design 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.master.problem import LONGEST_STEP, State

Floats = NDArray[np.float64]

RIDGE = 1e-11  # of the scaled Hessian, in the step alone: survives rules that cannot be told apart


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
        state = found
    return state, max_iterations


def _noise(state: State) -> float:
    """Rounding of the objective, a sum of many terms that largely cancel."""
    return 1e-13 * (1 + abs(state.value))


def _descend(state: State, hessian: Floats) -> State | None:
    """One step to the minimum of the quadratic model in the box, shortened until the objective falls (Armijo)."""
    problem, z, slope = state.problem, state.z, state.derivatives[0]
    upper = problem.upper.copy()
    upper[-1] = min(upper[-1], 4 * z[-1] + 1)  # the model of ν is good nearby only
    step, clamped = _box_step(slope, _convex(hessian), problem.lower - z, upper - z)
    promise = float(slope @ step)
    if not promise < 0:
        return None
    end = np.where(clamped < 0, problem.lower, np.where(clamped > 0, upper, z + step))
    rise = problem.rise(step)
    share = min(1.0, LONGEST_STEP / rise) if rise > 0 else 1.0
    for _ in range(50):
        trial = State.of(problem, end if share == 1.0 else np.clip(z + share * step, problem.lower, upper))
        if trial.value <= state.value + 1e-4 * share * promise + _noise(state):
            return trial
        share /= 2
    return None


def _convex(hessian: Floats) -> Floats:
    """The Hessian with a ridge that makes it positive definite: tiny, and more only where ν bends the wrong way."""
    scale = np.sqrt(np.abs(np.diag(hessian)))
    scale[scale == 0] = 1.0
    scaled = hessian / np.outer(scale, scale)
    identity = np.eye(scale.size)
    if not _positive(scaled + RIDGE * identity):  # convex in the weights and the baseline, so it is ν that bends
        scaled[-1, :-1] = scaled[:-1, -1] = 0.0
        scaled[-1, -1] = 1.0
    ridge = RIDGE
    while not _positive(scaled + ridge * identity):
        ridge *= 100
    return np.asarray((scaled + ridge * identity) * np.outer(scale, scale))


def _positive(matrix: Floats) -> bool:
    """Whether a symmetric matrix is positive definite."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


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
