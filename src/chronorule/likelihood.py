"""The exact log-likelihood of a head under weighted rules: no grid, no resolution parameter (design 4 and 6).

λ_c(t) = u_c · exp( b(t) + Σ_f sign_f · w_f · φ_f(t) ). The exposure is cut into segments on which λ is known in closed
form, so the integral is a finite sum. The parameters are always ordered (weights, baseline, variance of u).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import DataError, OptionError
from chronorule.kernels import rates

if TYPE_CHECKING:
    from chronorule.events import Exposure
    from chronorule.grounding import FeaturePath

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Heterogeneity = Literal["gamma", "none", "entity"]

HETEROGENEITIES: tuple[Heterogeneity, ...] = ("gamma", "none", "entity")
DECAY_ERROR = 1e-12  # relative error of one decaying integral: e^8 roundings of cancellation, a few dozen terms
SERIES_BELOW = 0.2  # under this νΛ the log1p(νΛ)/(νΛ) terms lose digits to cancellation and a power series is summed


@dataclass(frozen=True, eq=False)
class Segments:
    """The exposure of every entity, cut wherever a rule's feature or the baseline changes; in the order of time.

    With a decaying feature it is also cut at heads, so that every head stands at the end of its segment.
    """

    offsets: Integers  # [E + 1]: segments of entity c
    start: Floats  # [S]
    length: Floats  # [S]; segment (start, start + length]
    heads: Codes  # [S] heads in the segment
    piece: Codes  # [S] baseline piece
    X: Floats  # [S, F] φ of each rule just after `start`, without sign or weight
    pieces: int  # number of baseline pieces, P
    decay: float  # rate at which the decaying columns fall inside a segment; 0 without any
    decays: Flags  # [F] which columns do

    @property
    def n_entities(self) -> int:
        """Entities, with or without exposure."""
        return int(self.offsets.size) - 1

    @property
    def n_rules(self) -> int:
        """Columns of X."""
        return int(self.X.shape[1])


class LogRate(NamedTuple):
    """log λ of every segment with multiplier 1: constant + decaying · e^{−decay·(t − start)}; each [S]."""

    constant: Floats
    decaying: Floats

    @property
    def just_after_start(self) -> Floats:
        """Its value just after the start of each segment, which without decay is its value throughout."""
        return self.constant + self.decaying


class LogLikelihood(NamedTuple):
    """ℓ with its derivatives in (weights, baseline, variance); what is expected and how units differ."""

    value: float
    gradient: Floats  # [F + P + 1]
    information: Floats  # [F + P + 1, F + P + 1], −∂²ℓ; the row of the variance is 0 without gamma frailty
    expected: Floats  # [U] Λ_c with multiplier 1
    multiplier: Floats  # [U] posterior mean of u_c


def build_segments(exposure: Exposure, paths: Sequence[FeaturePath], cuts: ArrayLike = ()) -> Segments:
    """Cut the exposure wherever a path, or the baseline at `cuts` after the period's start, changes (design 3)."""
    entities = exposure.offsets.size - 1
    cut_points = np.array(cuts, np.float64)
    rising = cut_points.ndim == 1 and (np.diff(cut_points, prepend=0.0) > 0).all()
    if not (rising and np.isfinite(cut_points).all()):
        raise OptionError(
            "The cut points of the baseline must be finite, positive and rising, counted from each period's start; "
            f"got {np.array2string(cut_points, threshold=6)}."
        )
    for position, path in enumerate(paths, start=1):
        if path.offsets.size != entities + 1:
            raise DataError(
                f"The feature path of rule {position} covers {path.offsets.size - 1} entities and the exposure "
                f"{entities}; ground the rule on the log that the exposure was taken from."
            )
    fall = np.array([0.0 if path.constant else float(path.decay) for path in paths])
    falling = np.unique(fall[fall > 0])
    if falling.size > 1:
        raise OptionError(
            f"The rules decay at different rates ({', '.join(f'{rate:g}' for rate in falling)}); "
            "give all of them one rate."
        )
    shift = np.cumsum([0, *(path.times.size for path in paths)])
    path_offsets = np.empty((len(paths), entities + 1), np.int64)
    for f, path in enumerate(paths):
        path_offsets[f] = path.offsets + shift[f]
    path_times = np.concatenate([np.empty(0), *(path.times for path in paths)])
    path_values = np.concatenate([np.empty(0), *(path.values for path in paths)])
    # Copies are writable, so that the compiler sees one kind of array wherever the exposure came from.
    intervals = np.array([exposure.start, exposure.stop], np.float64).T.copy()
    interval_offsets = np.array(exposure.offsets, np.int64)
    head_offsets = np.array(exposure.head_offsets, np.int64)
    head_times = np.array(exposure.head_times, np.float64)
    period_start = np.array(exposure.period_start, np.float64)
    offsets = np.zeros(entities + 1, np.int64)

    def cut(size: int) -> tuple[Floats, Codes, Floats]:
        times, tally, values = np.empty((2, size)), np.empty((2, size), np.int32), np.empty((size, len(paths)))
        rates.cut_exposure(
            interval_offsets,
            intervals,
            head_offsets,
            head_times,
            period_start,
            cut_points,
            path_offsets,
            path_times,
            path_values,
            fall,
            offsets,
            times,
            tally,
            values,
        )
        return times, tally, values

    times, tally, values = cut(0)
    np.cumsum(offsets, out=offsets)
    if offsets[-1]:
        times, tally, values = cut(int(offsets[-1]))
    missed = head_times.size - int(tally[0].sum())
    if missed:
        raise DataError(
            f"{missed} of {head_times.size} heads lie outside the exposure they are counted with; "
            "take both from one call of exposure(log, head)."
        )
    for array in (offsets, times, tally, values):
        array.flags.writeable = False
    return Segments(
        offsets=offsets,
        start=times[0],
        length=times[1],
        heads=tally[0],
        piece=tally[1],
        X=values,
        pieces=cut_points.size + 1,
        decay=float(fall.max(initial=0.0)),
        decays=fall > 0,
    )


def identical_columns(segments: Segments) -> Integers:
    """For each rule the first one with the same feature on the whole exposure; itself if unlike those before it."""
    # A weighted sum tells columns apart fast; equal sums are then compared value by value.
    probe = np.einsum("s,sf->f", np.cos(np.arange(segments.length.size, dtype=np.float64)), segments.X)
    size = np.abs(segments.X).sum(axis=0)
    same = np.arange(segments.n_rules)
    for f in range(segments.n_rules):
        for earlier in range(f):
            close = abs(probe[f] - probe[earlier]) <= 1e-9 * max(size[f], size[earlier])  # far above its rounding
            alike = same[earlier] == earlier and (segments.decays[f] == segments.decays[earlier] or size[f] == 0)
            if close and alike and np.array_equal(segments.X[:, f], segments.X[:, earlier]):
                same[f] = earlier
                break
    return same


@dataclass(frozen=True, eq=False)
class Statistics:
    """What the likelihood needs of the segments: different rows once, the rest as (unit, row, weight)."""

    segments: Segments
    rows: Integers  # [K] a segment that shows each row
    begin: Integers  # [K + 1] where each row begins in `column` and `value`, which leave out zeros
    column: NDArray[np.uint32]
    value: Floats
    largest: Floats  # [F] largest value of each column
    row_piece: Codes  # [K]
    row_length: Floats  # [K] used where something decays
    unit: Codes  # [S'] unit of each segment
    row: Codes  # [S'] row of each segment
    weight: Floats  # [S'] its length, or 1 where the row already holds it
    heads: Floats  # [U] N_c
    exceeding: Floats  # [max N] number of units with N_c > k
    head_sum: Floats  # [F + P] Σ over heads of ∂ log λ/∂(coefficients, baseline)

    @property
    def n_units(self) -> int:
        """Groups that share a multiplier."""
        return int(self.heads.size)

    def linear(self, coefficients: Floats, baseline: Floats) -> Floats:
        """(K, 2) constant and decaying part of log λ."""
        parts = _parts(coefficients, self.segments.decays)
        return rates.linear_rows(self.begin, self.column, self.value, self.row_piece, parts, baseline)


def _parts(coefficients: Floats, decays: Flags) -> Floats:
    """(F, 2): the coefficients of the columns that stay and of those that decay."""
    return np.stack([np.where(decays, 0.0, coefficients), np.where(decays, coefficients, 0.0)], axis=1)


def statistics(segments: Segments, units: ArrayLike | None = None, *, with_heads_only: bool = False) -> Statistics:
    """Collapse the segments; `units` [E] is the group of each entity (None: each its own).

    `with_heads_only` leaves out units without heads, which a free base for each unit makes vanish from the likelihood.
    """
    entities = segments.n_entities
    group = np.arange(entities, dtype=np.int32) if units is None else np.asarray(units)
    if group.shape != (entities,) or (entities and (not np.issubdtype(group.dtype, np.integer) or group.min() < 0)):
        raise OptionError(
            f"units needs a whole number from 0 for each of the {entities} entities, the group it belongs to; "
            f"got an array of {group.dtype} of shape {group.shape}."
        )
    unit = np.repeat(group.astype(np.int32), np.diff(segments.offsets))
    happened = segments.heads.astype(np.float64)
    n_units = int(group.max(initial=-1)) + 1
    heads = np.asarray(np.bincount(unit, weights=happened, minlength=n_units), np.float64)
    index = np.flatnonzero(heads[unit] > 0) if with_heads_only else np.arange(unit.size)
    at_end = happened * np.exp(-segments.decay * segments.length)
    # einsum adds in one thread and one order, so that a fit in a busy process gives the same numbers
    sums = np.where(
        segments.decays, np.einsum("s,sf->f", at_end, segments.X), np.einsum("s,sf->f", happened, segments.X)
    )
    by_piece = np.bincount(segments.piece, weights=happened, minlength=segments.pieces)
    row = np.arange(index.size, dtype=np.int32)
    rows, weight = index, np.ones(index.size)
    if segments.decay == 0:
        rows = rates.distinct_rows(np.ascontiguousarray(segments.X).view(np.uint64), segments.piece, index, row)
        weight = segments.length[index]
    exceeding = np.bincount(heads.astype(np.int64))[::-1].cumsum()[::-1][1:]
    begin, column, value, largest = rates.compress_rows(segments.X, rows)
    return Statistics(
        segments=segments,
        rows=rows,
        begin=begin,
        column=column,
        value=value,
        largest=largest,
        row_piece=segments.piece[rows],
        row_length=segments.length[rows],
        unit=unit[index],
        row=row,
        weight=weight,
        heads=heads,
        exceeding=exceeding.astype(np.float64),
        head_sum=np.concatenate([sums, by_piece]),
    )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """ℓ at one point, and what its derivatives are made of."""

    value: float
    coefficients: Floats
    variance: float
    moments: Floats  # (K, 3)
    expected: Floats  # [U]


def evaluate(
    data: Statistics, coefficients: Floats, baseline: Floats, variance: float, heterogeneity: Heterogeneity
) -> Evaluation:
    """ℓ at signed weights, baseline and variance; −∞ where a rate overflows."""
    segments = data.segments
    moments = rates.row_moments(data.linear(coefficients, baseline), data.row_length, segments.decay)
    expected = rates.unit_totals(data.unit, data.row, data.weight, moments, data.n_units)
    happened = float(data.head_sum @ np.concatenate([coefficients, baseline]))
    value = -np.inf
    if np.isfinite(expected).all():
        value = happened + unit_terms(data.heads, data.exceeding, expected, variance, heterogeneity)
    return Evaluation(value, coefficients, variance, moments, expected)


def unit_terms(
    heads: Floats, exceeding: Floats, expected: Floats, variance: float, heterogeneity: Heterogeneity
) -> float:
    """What the units' totals add to ℓ (design 6): −Λ, its gamma mixture, or its maximum over a free base.

    gamma: Σ_c [ Σ_{k<N} log(1 + kν) − log1p(νΛ)/ν − N log1p(νΛ) ], whose limit at ν = 0 is −Σ_c Λ.
    entity: Σ_c [ N log N − N − N log Λ ].
    """
    if heterogeneity == "entity":
        busy = heads > 0
        counts = heads[busy]
        with np.errstate(divide="ignore"):  # a rate of 0 at a head: log 0 is −∞ and the value with it is refused
            return -float((counts * np.log(expected[busy] / counts)).sum() + counts.sum())
    if variance == 0:
        return -float(expected.sum())
    ranks = np.arange(exceeding.size, dtype=np.float64)
    return float(exceeding @ np.log1p(ranks * variance) - (1 / variance + heads) @ np.log1p(variance * expected))


def multipliers(
    heads: Floats, expected: Floats, variance: float, heterogeneity: Heterogeneity
) -> tuple[Floats, Floats]:
    """Posterior mean ũ of every unit's multiplier, and how fast it falls with its expected heads (−∂ũ/∂Λ)."""
    if heterogeneity == "entity":
        busy = heads > 0
        base = np.divide(heads, expected, out=np.zeros_like(heads), where=busy)
        return base, np.divide(base, expected, out=np.zeros_like(heads), where=busy)
    mean = (1 + variance * heads) / (1 + variance * expected)
    return mean, variance * mean / (1 + variance * expected)


def variance_slopes(heads: Floats, exceeding: Floats, expected: Floats, variance: float) -> tuple[float, float]:
    """∂ℓ/∂ν and ∂²ℓ/∂ν² of the gamma marginal likelihood with everything else held."""
    slope, bend = rates.mixture_slopes(heads, expected, variance, SERIES_BELOW)
    ranks = np.arange(exceeding.size, dtype=np.float64)
    ranked = ranks / (1 + ranks * variance)
    return slope + float((exceeding * ranked).sum()), bend - float((exceeding * ranked**2).sum())


def derivatives(data: Statistics, at: Evaluation, heterogeneity: Heterogeneity) -> tuple[Floats, Floats]:
    """Gradient and information (−Hessian) of ℓ in (coefficients, baseline, variance)."""
    mean, fall = multipliers(data.heads, at.expected, at.variance, heterogeneity)
    slopes, curvature = _slopes(data, at, mean, fall)
    size = data.head_sum.size
    gradient, information = np.zeros(size + 1), np.zeros((size + 1, size + 1))
    gradient[:size] = data.head_sum - np.einsum("u,up->p", mean, slopes)
    information[:size, :size] = curvature
    if heterogeneity == "gamma":
        gradient[size], bend = variance_slopes(data.heads, data.exceeding, at.expected, at.variance)
        slack = (data.heads - at.expected) / (1 + at.variance * at.expected) ** 2
        cross = np.einsum("u,up->p", slack, slopes)
        information[:size, size] = information[size, :size] = cross
        information[size, size] = -bend
    return gradient, information


def _slopes(data: Statistics, at: Evaluation, mean: Floats, fall: Floats) -> tuple[Floats, Floats]:
    """∂Λ_c/∂θ of every unit, [U, F + P], and the information of θ = (coefficients, baseline)."""
    slopes, curvature = rates.unit_slopes(
        data.begin,
        data.column,
        data.value,
        data.row_piece,
        data.segments.decays,
        data.unit,
        data.row,
        data.weight,
        at.moments,
        mean,
        fall,
        data.segments.pieces,
    )
    return slopes, curvature


def unit_scores(
    segments: Segments,
    weights: ArrayLike,
    baseline: ArrayLike,
    *,
    signs: ArrayLike | None = None,
    units: ArrayLike | None = None,
    heterogeneity: Heterogeneity = "gamma",
    variance: float = 0.0,
) -> tuple[Floats, Floats]:
    """What each unit adds to the gradient in (signed weights, baseline), [U, F + P], and the information of these."""
    _, data, at = _checked_point(segments, weights, baseline, signs, units, heterogeneity, variance)
    mean, fall = multipliers(data.heads, at.expected, at.variance, heterogeneity)
    slopes, information = _slopes(data, at, mean, fall)
    group = np.arange(segments.n_entities) if units is None else np.asarray(units)
    unit = np.repeat(group, np.diff(segments.offsets))
    at_end = np.where(segments.decays, np.exp(-segments.decay * segments.length)[:, None], 1.0) * segments.X
    columns = [*at_end.T, *(segments.piece == piece for piece in range(segments.pieces))]
    happened = [np.bincount(unit, segments.heads * column, minlength=data.n_units) for column in columns]
    return np.column_stack(happened) - mean[:, None] * slopes, information


def log_likelihood(
    segments: Segments,
    weights: ArrayLike,
    baseline: ArrayLike,
    *,
    signs: ArrayLike | None = None,
    units: ArrayLike | None = None,
    heterogeneity: Heterogeneity = "gamma",
    variance: float = 0.0,
) -> LogLikelihood:
    """ℓ, gradient and information at given weights (with signs ±1), baseline pieces and variance of the multiplier.

    heterogeneity "gamma" is the marginal likelihood over u_c ~ Gamma(1/ν, 1/ν), Poisson at ν = 0 (design 6); "none" is
    Poisson; "entity" maximises over one free base for each unit, so that the baseline only counts relative to it.
    """
    sign, data, at = _checked_point(segments, weights, baseline, signs, units, heterogeneity, variance)
    gradient, information = derivatives(data, at, heterogeneity)
    turn = np.concatenate([sign, np.ones(segments.pieces + 1)])
    mean, _ = multipliers(data.heads, at.expected, at.variance, heterogeneity)
    return LogLikelihood(at.value, turn * gradient, information * np.outer(turn, turn), at.expected, mean)


def _checked_point(
    segments: Segments,
    weights: ArrayLike,
    baseline: ArrayLike,
    signs: ArrayLike | None,
    units: ArrayLike | None,
    heterogeneity: Heterogeneity,
    variance: float,
) -> tuple[Floats, Statistics, Evaluation]:
    """Signs, statistics and ℓ at a point that a caller gave; refused where it means nothing."""
    _check_heterogeneity(heterogeneity)
    if not (np.isfinite(variance) and variance >= 0) or (variance > 0 and heterogeneity != "gamma"):
        raise OptionError(
            f"variance={variance:g} with heterogeneity '{heterogeneity}': give a finite variance of 0 or more, "
            "and 0 unless the heterogeneity is 'gamma'."
        )
    sign = checked_signs(signs, segments.n_rules)
    data = statistics(segments, units, with_heads_only=heterogeneity == "entity")
    at = evaluate(
        data,
        sign * _vector(weights, segments.n_rules, "weights", "rules"),
        _vector(baseline, segments.pieces, "baseline", "pieces of the baseline"),
        float(variance),
        heterogeneity,
    )
    if not np.isfinite(at.value):
        raise OptionError("A rate at these weights is beyond the numbers of this machine; give smaller weights.")
    return sign, data, at


def log_rate(segments: Segments, weights: ArrayLike, baseline: ArrayLike, *, signs: ArrayLike | None = None) -> LogRate:
    """log λ on every segment, with the multiplier u_c left out."""
    coefficients = checked_signs(signs, segments.n_rules) * _vector(weights, segments.n_rules, "weights", "rules")
    level = _vector(baseline, segments.pieces, "baseline", "pieces of the baseline")
    begin, column, value, _ = rates.compress_rows(segments.X, np.arange(segments.length.size))
    parts = _parts(coefficients, segments.decays)
    linear = rates.linear_rows(begin, column, value, segments.piece.copy(), parts, level)
    return LogRate(linear[:, 0].copy(), linear[:, 1].copy())


def expected_by_unit(
    segments: Segments,
    weights: ArrayLike,
    baseline: ArrayLike,
    *,
    signs: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> Floats:
    """Λ_c = ∫ over the unit's exposure of λ with multiplier 1: [U]."""
    data = statistics(segments, units)
    coefficients = checked_signs(signs, segments.n_rules) * _vector(weights, segments.n_rules, "weights", "rules")
    level = _vector(baseline, segments.pieces, "baseline", "pieces of the baseline")
    return evaluate(data, coefficients, level, 0.0, "none").expected


def checked_signs(signs: ArrayLike | None, rules: int) -> Floats:
    """Signs as numbers, all +1 when not given."""
    sign = np.ones(rules) if signs is None else _vector(signs, rules, "signs", "rules")
    if not np.isin(sign, (-1.0, 1.0)).all():
        raise OptionError("A sign is neither +1 (raises the rate) nor -1 (lowers it); correct the list of signs.")
    return sign


def _check_heterogeneity(heterogeneity: str) -> None:
    if heterogeneity not in HETEROGENEITIES:
        raise OptionError(f"heterogeneity='{heterogeneity}' is unknown; choose one of {', '.join(HETEROGENEITIES)}.")


def _vector(values: ArrayLike, size: int, name: str, of: str) -> Floats:
    vector = np.ascontiguousarray(values, dtype=np.float64)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise OptionError(
            f"{name} needs one finite number for each of the {size} {of}; got an array of shape {vector.shape} "
            "or a number that is not finite."
        )
    return vector
