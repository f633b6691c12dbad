"""What the feature `count` can earn at most from an event on, whatever its numbers of matches are (design 7).

φ of a rule whose last class holds p changes only at events of p and, with a window, where these lapse. Between two
changes an entity has O heads and expects E, and adds at most max_ψ [ψ·O − (e^ψ − 1)·E] where ψ = w·φ is 0 or, for a
weight of at least `low`, at least `low`, since φ counts. For rules that lower the rate ψ·O − … becomes
(1 − e^−ψ)·E − ψ·O.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


@compiled
def _best_level(observed: float, expected: float, low: float, sign: int) -> float:
    """max over ψ >= low of sign·ψ·O − (e^(sign·ψ) − 1)·E."""
    if expected <= 0.0:
        # heads are expected wherever they happen, but for rounding: then nothing is lost by a large ψ
        return observed * 700.0 if sign > 0 else -low * observed
    level = low
    if sign > 0:
        if observed > 0.0:
            level = max(low, np.log(observed / expected))
        return level * observed - np.expm1(level) * expected
    if observed <= 0.0:
        return expected
    level = max(low, np.log(expected / observed))
    return -level * observed - np.expm1(-level) * expected


@compiled
def best_rising(after: Float64, offsets: Int64, low: Float64, sign: int, out: Float64) -> None:
    """The most that a φ can earn that never falls and rises at rows of a group only: from this or a later row on.

    `after` is (O, E) after each row. The best ψ is an isotonic regression, by pooling neighbours that are out of order
    from the last row to the first; bounded below it is the same one cut off, so that one pooling serves every `low`.
    """
    longest = 0
    for c in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[c + 1] - offsets[c])
    observed = np.empty(longest + 1, np.float64)
    expected = np.empty(longest + 1, np.float64)
    earned = np.zeros((longest + 1, low.shape[0]), np.float64)  # by the pools up to this one, the last in time first
    for c in range(offsets.shape[0] - 1):
        pools = 0
        for s in range(offsets[c + 1] - 1, offsets[c] - 1, -1):
            heads = after[s, 0]
            mass = after[s, 1]
            if s + 1 < offsets[c + 1]:
                heads -= after[s + 1, 0]
                mass = max(mass - after[s + 1, 1], 0.0)
            # the earlier pool must have the lower ψ, that is, the lower (sign +1) or higher (-1) ratio of heads
            while pools > 0 and sign * heads * expected[pools] >= sign * observed[pools] * mass:
                heads += observed[pools]
                mass += expected[pools]
                pools -= 1
            pools += 1
            observed[pools] = heads
            expected[pools] = mass
            for j in range(low.shape[0]):
                earned[pools, j] = earned[pools - 1, j] + _best_level(heads, mass, low[j], sign)
                later = out[s + 1, j] if s + 1 < offsets[c + 1] else 0.0
                out[s, j] = max(later, earned[pools, j], 0.0)


@compiled
def best_pieces(
    after: Float64, lapsed: Float64, times: Float64, width: float, offsets: Int64, low: Float64, sign: int, out: Float64
) -> None:
    """The most that a φ can earn that changes at rows of a group and `width` after them, and is 0 where all lapsed.

    `after` and `lapsed` are (O, E) after each row and after it lapses. Every piece between two changes is on its own.
    """
    for c in range(offsets.shape[0] - 1):
        leaving = offsets[c + 1] - 1  # the last row that lapses before the end of the stretch looked at
        for s in range(offsets[c + 1] - 1, offsets[c] - 1, -1):
            # the stretch of row s ends at the next row, or where s lapses; later ones begin where it ends
            finish_observed = lapsed[s, 0]
            finish_expected = lapsed[s, 1]
            finish = times[s] + width
            if s + 1 < offsets[c + 1] and times[s + 1] < finish:
                finish_observed = after[s + 1, 0]
                finish_expected = after[s + 1, 1]
                finish = times[s + 1]
            while leaving >= offsets[c] and times[leaving] + width >= finish:
                leaving -= 1
            for j in range(low.shape[0]):
                out[s, j] = out[s + 1, j] if s + 1 < offsets[c + 1] else 0.0
            row = leaving
            while True:
                cut = row >= offsets[c] and times[row] + width > times[s]
                begin_observed = lapsed[row, 0] if cut else after[s, 0]
                begin_expected = lapsed[row, 1] if cut else after[s, 1]
                heads = begin_observed - finish_observed
                mass = max(begin_expected - finish_expected, 0.0)
                for j in range(low.shape[0]):
                    out[s, j] += max(_best_level(heads, mass, low[j], sign), 0.0)
                if not cut:
                    break
                finish_observed = begin_observed
                finish_expected = begin_expected
                row -= 1
