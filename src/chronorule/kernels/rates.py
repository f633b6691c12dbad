"""Compiled loops of the exact likelihood: cut the exposure where the rate changes, and add up what is expected."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.kernels._compile import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Places = NDArray[np.uint32]  # unsigned, which spares the innermost loops the check for counting from the end


@compiled
def cut_exposure(
    interval_offsets: Integers,
    intervals: Floats,
    head_offsets: Integers,
    head_times: Floats,
    period_start: Floats,
    cuts: Floats,
    path_offsets: Integers,
    path_times: Floats,
    path_values: Floats,
    rates: Floats,
    offsets: Integers,
    out_times: Floats,
    out_tally: Codes,
    out_values: Floats,
) -> None:
    """Cut every entity's exposure wherever a feature path or the baseline changes (design 3 and 4).

    `intervals` is (k, 2); `path_offsets` (F, E+1) points into the joined `path_times` and `path_values`; `rates` (F,)
    is the decay rate of each path, 0 for a constant one. `offsets` (E+1,) holds what an earlier call counted; where
    `out_times` has no column, this call counts and fills `offsets[1:]` with the number of segments of each entity.
    Outputs: `out_times` (2, S) start and length, `out_tally` (2, S) heads and baseline piece, `out_values` (S, F).
    Paths are left-continuous, so the value of a segment is the one just after its start. With a decaying path the
    exposure is also cut at heads, so that every head stands at the end of its segment.
    """
    entities = interval_offsets.size - 1
    paths = path_offsets.shape[0]
    counting = out_times.shape[1] == 0
    at_heads = False
    for f in range(paths):
        if rates[f] > 0.0:
            at_heads = True
    following = np.empty(paths, np.int64)
    upcoming = np.empty(paths)
    since = np.empty(paths)
    value = np.empty(paths)
    for c in range(entities):
        segment = 0 if counting else offsets[c]
        piece = 0
        head = head_offsets[c]
        head_end = head_offsets[c + 1]
        for f in range(paths):
            j = path_offsets[f, c]
            following[f] = j
            upcoming[f] = path_times[j] if j < path_offsets[f, c + 1] else np.inf
            since[f] = 0.0
            value[f] = 0.0
        for i in range(interval_offsets[c], interval_offsets[c + 1]):
            t = intervals[i, 0]
            end = intervals[i, 1]
            while t < end:
                stop = end
                for f in range(paths):
                    if upcoming[f] <= t:
                        j = following[f] + 1
                        last = path_offsets[f, c + 1]
                        while j < last and path_times[j] <= t:
                            j += 1
                        since[f] = path_times[j - 1]
                        value[f] = path_values[j - 1]
                        following[f] = j
                        upcoming[f] = path_times[j] if j < last else np.inf
                    if upcoming[f] < stop:
                        stop = upcoming[f]
                while piece < cuts.size and period_start[c] + cuts[piece] <= t:
                    piece += 1
                if piece < cuts.size and period_start[c] + cuts[piece] < stop:
                    stop = period_start[c] + cuts[piece]
                while head < head_end and head_times[head] <= t:
                    head += 1
                if at_heads and head < head_end and head_times[head] < stop:
                    stop = head_times[head]
                happened = 0
                while head < head_end and head_times[head] <= stop:
                    happened += 1
                    head += 1
                if not counting:
                    out_times[0, segment] = t
                    out_times[1, segment] = stop - t
                    out_tally[0, segment] = happened
                    out_tally[1, segment] = piece
                    for f in range(paths):
                        if rates[f] > 0.0 and value[f] > 0.0:
                            out_values[segment, f] = value[f] * np.exp(-rates[f] * (t - since[f]))
                        else:
                            out_values[segment, f] = value[f]
                segment += 1
                t = stop
        if counting:
            offsets[c + 1] = segment


@compiled
def distinct_rows(bits: NDArray[np.uint64], piece: Codes, index: Integers, row: Codes) -> Integers:
    """Number the different (baseline piece, feature values) of segments `index`: fill `row`, return the first of each.

    `bits` (S, F) are the feature values seen as whole numbers. Segments that share them share their rate, so that it
    is computed once. Open addressing in a table of at least twice as many places as segments.
    """
    n = index.size
    columns = bits.shape[1]
    size = 16
    while size < 2 * n:
        size *= 2
    mask = np.uint64(size - 1)
    table = np.full(size, -1, np.int32)
    first = np.empty(n, np.int64)
    found = 0
    for i in range(n):
        s = index[i]
        mixed = np.uint64(0x9E3779B97F4A7C15) * np.uint64(piece[s] + 1)
        for f in range(columns):
            if bits[s, f] != 0:
                mixed = (mixed ^ (bits[s, f] + np.uint64(f + 1))) * np.uint64(0xFF51AFD7ED558CCD)
                mixed ^= mixed >> np.uint64(32)
        place = mixed & mask
        while True:
            known = table[place]
            if known < 0:
                table[place] = found
                first[found] = s
                row[i] = found
                found += 1
                break
            other = first[known]
            same = piece[other] == piece[s]
            f = 0
            while same and f < columns:
                same = bits[other, f] == bits[s, f]
                f += 1
            if same:
                row[i] = known
                break
            place = (place + np.uint64(1)) & mask
    return first[:found].copy()


@compiled
def compress_rows(values: Floats, rows: Integers) -> tuple[Integers, Places, Floats, Floats]:
    """The chosen rows without their zeros: where each begins, (K + 1,), their columns and values one after another.

    Last, the largest value of each column, (F,).
    """
    largest = np.zeros(values.shape[1])
    begin = np.zeros(rows.size + 1, np.int64)
    for k in range(rows.size):
        count = 0
        for f in range(values.shape[1]):
            count += values[rows[k], f] != 0.0
        begin[k + 1] = begin[k] + count
    column = np.empty(begin[-1] + 1, np.uint32)  # one place to spare: a zero is written too and then written over
    value = np.empty(begin[-1] + 1)
    i = 0
    for k in range(rows.size):
        for f in range(values.shape[1]):
            x = values[rows[k], f]
            column[i] = f
            value[i] = x
            i += x != 0.0
            largest[f] = max(largest[f], x)
    return begin, column[:i], value[:i], largest


@compiled
def linear_rows(
    begin: Integers, column: Places, value: Floats, piece: Codes, coefficients: Floats, baseline: Floats
) -> Floats:
    """log λ of every row as (K, 2): a constant part (baseline included) and a part that decays (design 3).

    `coefficients` is (F, 2): what a column adds to each part.
    """
    out = np.empty((piece.size, 2))
    for k in range(piece.size):
        constant = baseline[piece[k]]
        decaying = 0.0
        for i in range(begin[k], begin[k + 1]):
            constant += coefficients[column[i], 0] * value[i]
            decaying += coefficients[column[i], 1] * value[i]
        out[k, 0] = constant
        out[k, 1] = decaying
    return out


@compiled
def decay_moments(constant: float, decaying: float, length: float, rate: float) -> tuple[float, float, float]:
    """I_k = ∫_0^length exp(constant + decaying·e^{−rate·u}) e^{−k·rate·u} du for k = 0, 1, 2 (design 4), to rounding.

    In y = e^{−rate·u} the integrals are ∫ e^{constant + g y} y^{k−1} dy / rate. Where −4 <= g <= 30 the exponential
    series in g y is summed: its terms are positive for g > 0, and for g >= −4 cancellation costs at most e^8 roundings.
    Otherwise panels on which y falls by a share p with |g y| p <= 1 are summed as series around their beginning.
    """
    span = rate * length
    remaining = span
    y = 1.0
    if decaying >= 0.0 and constant + decaying > 709.0:  # past the largest number there is
        return np.inf, np.inf, np.inf
    if decaying < 0.0 and -decaying * -np.expm1(-span) > 60.0:
        # what lies more than 60 nats under the rate at the end of the segment is below rounding: begin later
        least = np.exp(-span)
        y = least + 60.0 / -decaying
        remaining = np.log1p(60.0 / (-decaying * least)) if least > 1e-300 else span + np.log(y)
    zeroth = 0.0
    first = 0.0
    second = 0.0
    while remaining > 0.0:
        g = decaying * y
        share = -np.expm1(-remaining)
        short = share <= 0.25 and abs(g) * share <= 1.0
        if not short and -4.0 <= g <= 30.0:
            # Σ_j g^j/j! m_{j+k}, m_0 = remaining, m_i = (1 − q^i)/i with 1 − q^{i+1} = (1 − q^i) + q^i (1 − q)
            q = np.exp(-remaining)
            power = q
            m0 = remaining
            m1 = share
            complement = share + power * share
            power *= q
            m2 = 0.5 * complement
            term = 1.0
            s0 = 0.0
            s1 = 0.0
            s2 = 0.0
            j = 0
            while True:
                s0 += term * m0
                s1 += term * m1
                s2 += term * m2
                j += 1
                term *= g / j
                if j > abs(g) and abs(term) < 1e-19:
                    break
                m0 = m1
                m1 = m2
                complement += power * share
                power *= q
                m2 = complement / (j + 2)
            scale = np.exp(constant)
            zeroth += scale * s0
            first += scale * y * s1
            second += scale * y * y * s2
            break
        p = share if short else min(share, 1.0 / abs(g))
        # with c = 1 − y'/y: e^{g(1−c)} = e^g Σ t_j c^j, t_j = (−g)^j/j!, and ∫_0^p c^j/(1−c) dc = Σ_{i>j} p^i/i
        term = 1.0
        partial = 0.0
        size = 0.0
        power = 1.0
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        i = 0
        while True:
            i += 1
            partial += term
            size += abs(term)
            power *= p
            s0 += partial * power / i
            s1 += term * power / i
            s2 += term * (power / i - power * p / (i + 1))
            if power * size <= 1e-18 * p:
                break
            term *= -g / i
        scale = np.exp(constant + g)
        zeroth += scale * s0
        first += scale * y * s1
        second += scale * y * y * s2
        if p >= share:
            break
        remaining += np.log1p(-p)
        y *= 1.0 - p
    return zeroth / rate, first / rate, second / rate


@compiled
def row_moments(linear: Floats, length: Floats, rate: float) -> Floats:
    """(K, 3) moments of every row: λ per unit of time when nothing decays, else `decay_moments` over its length."""
    out = np.empty((linear.shape[0], 3))
    for k in range(linear.shape[0]):
        if rate > 0.0:
            out[k, 0], out[k, 1], out[k, 2] = decay_moments(linear[k, 0], linear[k, 1], length[k], rate)
        else:
            level = np.exp(linear[k, 0])
            out[k, 0] = level
            out[k, 1] = level
            out[k, 2] = level
    return out


@compiled
def unit_totals(unit: Codes, row: Codes, weight: Floats, moments: Floats, units: int) -> Floats:
    """Λ_c, the expected heads of every unit with multiplier 1: (units,)."""
    out = np.zeros(units)
    for s in range(unit.size):
        out[unit[s]] += weight[s] * moments[row[s], 0]
    return out


@compiled
def unit_slopes(
    begin: Integers,
    column: Places,
    value: Floats,
    piece: Codes,
    decays: Flags,
    unit: Codes,
    row: Codes,
    weight: Floats,
    moments: Floats,
    multiplier: Floats,
    fall: Floats,
    pieces: int,
) -> tuple[Floats, Floats]:
    """g_c = ∂Λ_c/∂θ, (units, P), and Σ_c ũ_c ∂²Λ_c/∂θ² − v_c g_c g_cᵀ, (P, P), with v = `fall` (design 6).

    θ = (coefficients, baseline) and P = F + pieces.
    """
    columns = decays.size
    size = columns + pieces
    slopes = np.zeros((multiplier.size, size))
    curvature = np.zeros((size, size))
    mass = np.zeros(piece.size)
    for s in range(unit.size):
        k = row[s]
        c = unit[s]
        mass[k] += multiplier[c] * weight[s]
        still = weight[s] * moments[k, 0]
        moving = weight[s] * moments[k, 1]
        line = slopes[c]
        line[columns + piece[k]] += still
        for i in range(begin[k], begin[k + 1]):
            line[column[i]] += value[i] * (moving if decays[column[i]] else still)
    for k in range(piece.size):
        level = columns + piece[k]
        curvature[level, level] += mass[k] * moments[k, 0]
        for i in range(begin[k], begin[k + 1]):
            order = 1 if decays[column[i]] else 0
            scaled = mass[k] * value[i]
            curvature[level, column[i]] += scaled * moments[k, order]
            if order == 0:
                still = scaled * moments[k, 0]
                moving = scaled * moments[k, 1]
            else:
                still = scaled * moments[k, 1]
                moving = scaled * moments[k, 2]
            for j in range(begin[k], i + 1):
                curvature[column[i], column[j]] += value[j] * (moving if decays[column[j]] else still)
    for c in range(multiplier.size):
        if fall[c] != 0.0:
            for i in range(size):
                scaled = fall[c] * slopes[c, i]
                if scaled != 0.0:
                    for j in range(i + 1):
                        curvature[i, j] -= scaled * slopes[c, j]
    for i in range(size):
        for j in range(i):
            curvature[j, i] = curvature[i, j]
    return slopes, curvature


@compiled
def mixture_slopes(heads: Floats, expected: Floats, variance: float, series_below: float) -> tuple[float, float]:
    """Σ_c of ∂/∂ν and ∂²/∂ν² of −log1p(νΛ)/ν − N log1p(νΛ).

    With x = νΛ and f(x) = log1p(x)/x these are −Λ² f'(x) − NΛ/(1 + x) and −Λ³ f''(x) + NΛ²/(1 + x)². Small x lose
    digits to cancellation, and the power series of f is summed instead.
    """
    slope = 0.0
    bend = 0.0
    for c in range(expected.size):
        mass = expected[c]
        x = variance * mass
        if x < series_below:
            first = 0.0
            second = 0.0
            power = 1.0  # (−x)^k
            for k in range(26):
                first -= power * (k + 1) / (k + 2)
                second += power * (k + 1) * (k + 2) / (k + 3)
                power *= -x
        else:
            value = np.log1p(x) / x
            first = (1.0 / (1.0 + x) - value) / x
            second = (2.0 * value - (3.0 * x + 2.0) / ((1.0 + x) * (1.0 + x))) / (x * x)
        share = mass / (1.0 + x)
        slope -= mass * mass * first + heads[c] * share
        bend += heads[c] * share * share - mass * mass * mass * second
    return slope, bend
