"""What a fit reports: the optimum, how sure it is, the proof that it is one, and sentences about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronorule.likelihood import DECAY_ERROR, Heterogeneity, multipliers
from chronorule.master.problem import State

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SINGULAR = 1e-9  # eigenvalues of the scaled information under this share of the largest are rounding


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """The optimum, what it is worth, how sure it is, and proof that it is one.

    Standard errors come from the observed information of the parameters that are not at a bound; at a bound, and where
    parameters cannot be told apart, they are NaN and a note says so.
    """

    weights: Floats  # [F] >= 0
    baseline: Floats  # [P] log-rate of each piece; relative to the first piece with a head for heterogeneity "entity"
    variance: float  # ν of the multiplier, 0 when units are alike
    heterogeneity: Heterogeneity
    multipliers: Floats  # [U] posterior mean of u_c; the free base itself for "entity"
    expected: Floats  # [U] Λ_c with multiplier 1
    heads: Floats  # [U] N_c
    log_likelihood: float  # marginal over u
    objective: float  # −ℓ + λ0 Σ c_f w_f
    stderr: Floats  # [F]
    baseline_stderr: Floats  # [P]
    variance_stderr: float
    covariance: Floats  # [F + P + 1, F + P + 1] in the order (weights, baseline, variance)
    reduced_costs: Floats  # [F] ∂objective/∂w_f, >= 0 for every rule left out
    kkt_residual: float  # largest slope that could still be followed, per head
    complementary_slackness: float  # largest product of a distance to a bound and the slope towards it, per head
    iterations: int
    converged: bool
    at_lower: Flags  # [F]
    at_upper: Flags  # [F]
    baseline_at_lower: Flags  # [P]
    baseline_at_upper: Flags  # [P]
    integral_error: float  # bound on the error of ∫λ, in expected heads; 0 where λ is constant between instants
    notes: tuple[str, ...]

    @property
    def shape(self) -> float:
        """a = 1/ν of the gamma law of the multiplier; infinite when units are alike."""
        return np.inf if self.variance == 0 else 1 / self.variance


def report(
    state: State,
    iterations: int,
    tolerance: float,
    labels: tuple[str, ...],
    notes: list[str],
) -> MasterSolution:
    """Everything that is reported about the point reached."""
    problem, z = state.problem, state.z
    data, rules = problem.data, problem.rules
    slope, hessian = state.derivatives
    residual = state.residual
    covariance, confused = _covariance(hessian, (z > problem.lower) & (z < problem.upper))
    stderr = np.sqrt(np.diag(covariance))
    notes = notes + _remarks(state, tolerance, labels, stderr, confused)
    distance = np.where(slope[:rules] > 0, z[:rules], problem.w_max - z[:rules])
    mean, _ = multipliers(data.heads, state.point.expected, float(z[-1]), problem.heterogeneity)
    return MasterSolution(
        weights=z[:rules].copy(),
        baseline=z[rules:-1].copy(),
        variance=float(z[-1]),
        heterogeneity=problem.heterogeneity,
        multipliers=mean,
        expected=state.point.expected,
        heads=data.heads,
        log_likelihood=state.point.value,
        objective=state.value,
        stderr=stderr[:rules],
        baseline_stderr=stderr[rules:-1],
        variance_stderr=float(stderr[-1]),
        covariance=covariance,
        reduced_costs=slope[:rules].copy(),
        kkt_residual=residual,
        complementary_slackness=float(np.abs(distance * slope[:rules]).max(initial=0.0)) / problem.heads,
        iterations=iterations,
        converged=residual <= tolerance,
        at_lower=z[:rules] == 0,
        at_upper=z[:rules] == problem.w_max,
        baseline_at_lower=z[rules:-1] == problem.least,
        baseline_at_upper=z[rules:-1] == problem.most,
        integral_error=DECAY_ERROR * float(mean @ state.point.expected) if data.segments.decay > 0 else 0.0,
        notes=tuple(notes),
    )


def _covariance(information: Floats, free: Flags) -> tuple[Floats, Flags]:
    """Inverse of the information of the free parameters, NaN elsewhere; and which of them cannot be told apart."""
    size = information.shape[0]
    covariance = np.full((size, size), np.nan)
    confused = np.zeros(size, np.bool_)
    index = np.flatnonzero(free)
    if index.size == 0:
        return covariance, confused
    block = information[np.ix_(index, index)]
    scale = np.sqrt(np.maximum(np.diag(block), 0.0))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh(block / np.outer(scale, scale))
    known = values > SINGULAR * max(float(values[-1]), 0.0)
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T / np.outer(scale, scale)
    confused[index] = (vectors[:, ~known] ** 2).sum(axis=1) > 1e-6
    covariance[np.ix_(index, index)] = inverse
    covariance[confused, :] = covariance[:, confused] = np.nan
    return covariance, confused


def _remarks(
    state: State,
    tolerance: float,
    labels: tuple[str, ...],
    stderr: Floats,
    confused: Flags,
) -> list[str]:
    """Sentences about where the optimum lies that a reader of the numbers should know."""
    problem, z, residual = state.problem, state.z, state.residual
    rules = problem.rules
    remarks = []
    movable = problem.lower < problem.upper
    for f in np.flatnonzero(movable[:rules] & (z[:rules] >= problem.upper[:rules])):
        remarks.append(f"{labels[f]}: the likelihood still rises where its weight stands at its upper bound.")
    for p in np.flatnonzero(movable[rules:-1]) + rules:
        for side, bound in (("lower", problem.lower[p]), ("upper", problem.upper[p])):
            if z[p] == bound:
                remarks.append(f"piece {p - rules + 1} of the baseline stands at its {side} bound.")
    if movable[-1] and z[-1] == 0:
        remarks.append("the units' counts differ no more than chance allows: variance 0, as without frailty.")
    if movable[-1] and z[-1] >= problem.upper[-1]:
        remarks.append("the variance of base rates stands at its upper bound: a few units have nearly all heads.")
    together = [labels[f] for f in np.flatnonzero(confused[:rules])]
    if confused[rules:].any():
        together += ["the baseline"] if confused[rules:-1].any() else ["the variance"]
    if together:
        remarks.append(f"{', '.join(together)} cannot be told apart on this log: no standard errors.")
    for f in np.flatnonzero(stderr[:rules] > problem.upper[:rules]):
        remarks.append(f"{labels[f]}: the log says next to nothing about its weight (standard error {stderr[f]:.3g}).")
    if residual > tolerance:
        remarks.append(f"stopped at a residual of {residual:.2g} per head, above {tolerance:.2g}: not yet the optimum.")
    return remarks
