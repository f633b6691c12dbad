"""The likelihood against its slow twin, and the theory it must obey."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize

from chronorule.errors import DataError, OptionError
from chronorule.events import Exposure
from chronorule.kernels.rates import decay_moments
from chronorule.likelihood import (
    DECAY_ERROR,
    HETEROGENEITIES,
    build_segments,
    expected_by_unit,
    identical_columns,
    log_likelihood,
    log_rate,
    unit_scores,
)
from reference_likelihood import Case, make_exposure, make_path, phi, random_case
from reference_likelihood import expected as slow_expected
from reference_likelihood import log_likelihood as slow_log_likelihood
from reference_likelihood import log_rate as slow_log_rate

seeds = st.integers(0, 2**32 - 1)
decays = st.sampled_from([0.0, 0.05, 0.7, 6.0])
heterogeneities = st.sampled_from(HETEROGENEITIES)


def point(random: np.random.Generator, case: Case, scale: float = 1.0) -> tuple[list[float], list[float]]:
    weights = (scale * random.exponential(1.0, len(case.paths))).tolist()
    return weights, random.normal(-1.0, 1.0, len(case.cuts) + 1).tolist()


def exposure_of(case: Case, entities: np.ndarray) -> Exposure:
    """The exposure of these entities, and of the others none."""
    whole = case.exposure
    spans = [slice(*whole.offsets[c : c + 2]) if c in entities else slice(0) for c in range(case.entities)]
    heads = [slice(*whole.head_offsets[c : c + 2]) if c in entities else slice(0) for c in range(case.entities)]
    return make_exposure(
        [list(zip(whole.start[span], whole.stop[span], strict=True)) for span in spans],
        [whole.head_times[span].tolist() for span in heads],
        whole.period_start.tolist(),
    )


def variance_of(random: np.random.Generator, heterogeneity: str) -> float:
    return float(random.choice([0.0, 1e-7, 0.3, 4.0])) if heterogeneity == "gamma" else 0.0


@given(seeds, decays, heterogeneities)
def test_value_equals_slow_twin(seed: int, decay: float, heterogeneity: str) -> None:
    random = np.random.default_rng(seed)
    case = random_case(random, decay)
    weights, baseline = point(random, case)
    variance = variance_of(random, heterogeneity)
    segments = build_segments(case.exposure, case.paths, case.cuts)
    fast = log_likelihood(
        segments,
        weights,
        baseline,
        signs=case.signs,
        units=case.units,
        heterogeneity=heterogeneity,
        variance=variance,
    )
    slow = slow_log_likelihood(case, weights, baseline, heterogeneity, variance)
    # The twin's log Γ(1/ν + n) − log Γ(1/ν) loses (1/ν) log(1/ν) roundings: 1e-16 · 1e7 · 16 at ν = 1e-7, four units.
    rounding = 1e-6 if 0 < variance < 1e-3 else 0.0
    assert fast.value == pytest.approx(slow, rel=1e-10, abs=1e-10 + rounding)  # quadrature to 1e-12 of each piece


@given(seeds, decays)
def test_segments_show_the_features_and_the_rate_everywhere(seed: int, decay: float) -> None:
    random = np.random.default_rng(seed)
    case = random_case(random, decay)
    weights, baseline = point(random, case)
    segments = build_segments(case.exposure, case.paths, case.cuts)
    rate = log_rate(segments, weights, baseline, signs=case.signs)
    assert segments.length.sum() == pytest.approx(case.exposure.total())  # sums of whole numbers
    assert segments.heads.sum() == case.exposure.n_heads
    assert (segments.length > 0).all()
    for c in range(case.entities):
        for s in range(segments.offsets[c], segments.offsets[c + 1]):
            for share in (0.3, 1.0):
                t = segments.start[s] + share * segments.length[s]
                fall = math.exp(-segments.decay * (t - segments.start[s]))
                for f, path in enumerate(case.paths):
                    factor = fall if segments.decays[f] else 1.0
                    assert segments.X[s, f] * factor == pytest.approx(phi(path, c, t), rel=1e-12)
                shown = rate.constant[s] + rate.decaying[s] * fall
                assert shown == pytest.approx(slow_log_rate(case, c, t, weights, baseline), rel=1e-11, abs=1e-11)
            if decay > 0 and segments.decays.any() and segments.heads[s]:
                assert segments.start[s] + segments.length[s] in case.exposure.head_times


@given(seeds, decays, heterogeneities)
def test_gradient_and_information_are_derivatives(seed: int, decay: float, heterogeneity: str) -> None:
    random = np.random.default_rng(seed)
    case = random_case(random, decay)
    weights, baseline = point(random, case, 0.3)
    variance = float(random.choice([0.0, 0.3, 4.0])) if heterogeneity == "gamma" else 0.0
    segments = build_segments(case.exposure, case.paths, case.cuts)
    options = {"signs": case.signs, "units": case.units, "heterogeneity": heterogeneity}
    z = np.array([*weights, *baseline, variance])
    rules = len(weights)

    def at(z: np.ndarray):
        return log_likelihood(segments, z[:rules], z[rules:-1], variance=z[-1], **options)

    here = at(z)
    step = 1e-5
    for i in range(z.size - (heterogeneity != "gamma")):
        move = np.zeros(z.size)
        move[i] = step
        if i == z.size - 1 and variance < step:  # no variance under 0: second-order difference to one side
            first, second = at(z + move), at(z + 2 * move)
            slope = (4 * first.value - second.value - 3 * here.value) / (2 * step)
            bend = (4 * first.gradient - second.gradient - 3 * here.gradient) / (2 * step)
        else:
            slope = (at(z + move).value - at(z - move).value) / (2 * step)
            bend = (at(z + move).gradient - at(z - move).gradient) / (2 * step)
        # Differences err by step² · third derivative and by 1e-16 · size / step.
        size = 1 + abs(here.value) + np.abs(here.information).max()
        tolerance = 1e-6 * size * (1 + here.expected.max()) ** 2
        assert here.gradient[i] == pytest.approx(slope, abs=tolerance)
        np.testing.assert_allclose(-here.information[i], bend, atol=tolerance)


@given(seeds, decays, heterogeneities)
def test_what_units_add_to_the_gradient(seed: int, decay: float, heterogeneity: str) -> None:
    random = np.random.default_rng(seed)
    case = random_case(random, decay)
    weights, baseline = point(random, case, 0.3)
    variance = float(random.choice([0.0, 0.3, 4.0])) if heterogeneity == "gamma" else 0.0
    options = {"signs": case.signs, "heterogeneity": heterogeneity, "variance": variance}
    segments = build_segments(case.exposure, case.paths, case.cuts)
    scores, information = unit_scores(segments, weights, baseline, units=case.units, **options)
    whole = log_likelihood(segments, weights, baseline, units=case.units, **options)
    turn = np.array([*case.signs, *np.ones(segments.pieces)])
    size = 1 + np.abs(whole.information).max() + np.abs(scores).max()  # what the sums are made of
    np.testing.assert_allclose(turn * scores.sum(axis=0), whole.gradient[:-1], atol=1e-12 * size)
    np.testing.assert_allclose(np.outer(turn, turn) * information, whole.information[:-1, :-1], atol=1e-12 * size)
    for unit in range(int(case.units.max()) + 1):  # the likelihood of a log that has but this unit
        part = build_segments(exposure_of(case, np.flatnonzero(case.units == unit)), case.paths, case.cuts)
        slope = log_likelihood(part, weights, baseline, units=case.units, **options).gradient[:-1]
        np.testing.assert_allclose(turn * scores[unit], slope, atol=1e-12 * size)


@pytest.mark.parametrize("exponent", [0, 0.3, -0.3, 3.9, -3.9, -4.1, 12, -12, 45, -45, 200, -200, -3000])
@pytest.mark.parametrize("span", [1e-9, 1e-3, 0.2, 0.3, 1.0, 4.0, 60.0, 900.0])
@pytest.mark.parametrize("rate", [0.01, 3.0])
def test_decay_moments_equal_high_order_quadrature(exponent: float, span: float, rate: float) -> None:
    # In y = e^{−rate·u}: Gauss–Legendre with 40 nodes on panels on which the exponent changes by less than 2 and y by
    # less than half is exact to rounding.
    nodes, node_weights = np.polynomial.legendre.leggauss(40)
    times = np.linspace(0, span, 2 + int(4 * span))
    edges = [0.0]
    for a, b in itertools.pairwise(times):
        panels = 1 + int(abs(exponent) * (math.exp(-a) - math.exp(-b)))
        edges += (a - np.log1p(np.linspace(0, 1, panels + 1)[1:] * np.expm1(-(b - a)))).tolist()
    left, right = np.array(edges[:-1]), np.array(edges[1:])
    u = (left + right)[:, None] / 2 + (right - left)[:, None] / 2 * nodes
    largest = max(float(exponent), exponent * math.exp(-span))
    area = (right - left)[:, None] / 2 * node_weights * np.exp(exponent * np.exp(-u) - largest) / rate
    expected = [float((area * np.exp(-k * u)).sum()) for k in range(3)]
    moments = decay_moments(-largest, float(exponent), span / rate, rate)
    # DECAY_ERROR is what users are told; beyond |exponent| = 250 its own rounding, 20 times 2e-16 of it, is larger.
    assert moments == pytest.approx(expected, rel=max(DECAY_ERROR, 4e-15 * abs(exponent)), abs=1e-300)


def test_decay_moments_overflow_to_infinity() -> None:
    assert decay_moments(0.0, 800.0, 1.0, 1.0) == (math.inf,) * 3
    assert decay_moments(0.0, -800.0, 1.0, 1.0)[0] == pytest.approx(
        integrate.quad(lambda u: math.exp(-800 * math.exp(-u)), 0, 1, epsrel=1e-12, epsabs=0)[0], rel=1e-10
    )


def test_head_at_a_completion_does_not_see_it_and_head_at_the_end_counts() -> None:
    exposure = make_exposure([[(0.0, 4.0)]], [[1.0, 4.0]], [0.0])
    segments = build_segments(exposure, [make_path([[(1.0, 1.0)]])])
    assert segments.start.tolist() == [0.0, 1.0]
    assert segments.heads.tolist() == [1, 1]
    assert segments.X[:, 0].tolist() == [0.0, 1.0]
    value = log_likelihood(segments, [2.0], [-1.0], heterogeneity="none").value
    assert value == pytest.approx(-1 + (-1 + 2) - math.exp(-1) - 3 * math.exp(1), rel=1e-14)


def test_history_and_statics_count_from_the_start() -> None:
    exposure = make_exposure([[(0.0, 2.0), (5.0, 6.0)]], [[6.0]], [0.0])
    paths = [make_path([[(-3.0, 2.0)]]), make_path([[(-math.inf, 1.0)]], 0.0, True), make_path([[(3.0, 1.0)]])]
    segments = build_segments(exposure, paths)
    assert segments.X.tolist() == [[2.0, 1.0, 0.0], [2.0, 1.0, 1.0]]


def test_cuts_count_from_the_start_of_the_period_even_where_nothing_is_exposed() -> None:
    exposure = make_exposure([[(3.0, 5.0), (8.0, 9.0)], [(10.0, 13.0)]], [[], []], [1.0, 10.0])
    segments = build_segments(exposure, [], cuts=[2.0, 3.0, 7.0])
    assert segments.piece.tolist() == [1, 2, 3, 0, 1]
    assert segments.start.tolist() == [3.0, 4.0, 8.0, 10.0, 12.0]
    assert segments.pieces == 4


@given(seeds, decays, heterogeneities)
def test_doubled_log_has_doubled_likelihood(seed: int, decay: float, heterogeneity: str) -> None:
    random = np.random.default_rng(seed)
    case = random_case(random, decay)
    weights, baseline = point(random, case)
    variance = variance_of(random, heterogeneity)
    twice = np.tile(np.arange(case.entities), 2)
    double = reorder(case, twice)
    units = np.concatenate([case.units, case.units + case.entities])
    once, both = (
        log_likelihood(
            build_segments(of.exposure, of.paths, of.cuts),
            weights,
            baseline,
            signs=case.signs,
            units=groups,
            heterogeneity=heterogeneity,
            variance=variance,
        )
        for of, groups in ((case, case.units), (double, units))
    )
    assert both.value == pytest.approx(2 * once.value, rel=1e-12, abs=1e-12)  # the same terms in another order
    np.testing.assert_allclose(both.gradient, 2 * once.gradient, rtol=1e-9, atol=1e-9)


def reorder(case: Case, order: np.ndarray) -> Case:
    """The entities in another order, or several times."""
    source = case.exposure

    def rows(offsets: np.ndarray, *columns: np.ndarray) -> list[list[tuple[float, ...]]]:
        return [
            list(zip(*(column[offsets[c] : offsets[c + 1]].tolist() for column in columns), strict=True)) for c in order
        ]

    heads = [[t for (t,) in of_entity] for of_entity in rows(source.head_offsets, source.head_times)]
    exposure = make_exposure(
        rows(source.offsets, source.start, source.stop), heads, source.period_start[order].tolist()
    )
    paths = [make_path(rows(p.offsets, p.times, p.values), p.decay, p.constant) for p in case.paths]
    return Case(exposure, paths, case.cuts, case.units[order], case.signs)


@given(seeds, decays, heterogeneities)
def test_order_of_entities_and_rules_and_origin_of_time_do_not_matter(
    seed: int, decay: float, heterogeneity: str
) -> None:
    random = np.random.default_rng(seed)
    case = random_case(random, decay)
    weights, baseline = point(random, case)
    variance = variance_of(random, heterogeneity)
    order, shuffle = random.permutation(case.entities), random.permutation(len(case.paths))
    other = reorder(case, order)
    moved = SimpleNamespace(
        offsets=other.exposure.offsets,
        start=other.exposure.start + 1024.0,  # whole numbers stay exact
        stop=other.exposure.stop + 1024.0,
        head_offsets=other.exposure.head_offsets,
        head_times=other.exposure.head_times + 1024.0,
        period_start=other.exposure.period_start + 1024.0,
    )
    paths = [
        SimpleNamespace(offsets=p.offsets, times=p.times + 1024.0, values=p.values, decay=p.decay, constant=p.constant)
        for p in (other.paths[f] for f in shuffle)
    ]
    options = {"heterogeneity": heterogeneity, "variance": variance}
    here = log_likelihood(
        build_segments(case.exposure, case.paths, case.cuts),
        weights,
        baseline,
        signs=case.signs,
        units=case.units,
        **options,
    )
    there = log_likelihood(
        build_segments(moved, paths, case.cuts),
        np.array(weights)[shuffle],
        baseline,
        signs=np.array(case.signs)[shuffle],
        units=case.units[order],
        **options,
    )
    assert there.value == pytest.approx(here.value, rel=1e-12, abs=1e-12)  # the same terms in another order
    rules = len(weights)
    np.testing.assert_allclose(there.gradient[:rules], here.gradient[:rules][shuffle], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(there.gradient[rules:], here.gradient[rules:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("variance", [1e-6, 0.05, 1.0, 20.0])
def test_gamma_is_the_likelihood_averaged_over_the_multiplier(variance: float) -> None:
    exposure = make_exposure([[(0.0, 4.0)], [(0.0, 2.0)]], [[1.0, 2.5, 3.0], []], [0.0, 0.0])
    segments = build_segments(exposure, [])
    marginal = log_likelihood(segments, [], [-0.5], variance=variance).value
    shape = 1 / variance
    poisson = 0.0
    for heads, mass in ((3, 4 * math.exp(-0.5)), (0, 2 * math.exp(-0.5))):
        # u = e^v makes the density bounded; its summit is near log((shape + heads) / (shape + mass))
        summit = math.log((shape + heads) / (shape + mass))
        top = (shape + heads) * summit - (shape + mass) * math.exp(summit)
        area = integrate.quad(
            lambda v, h=heads, m=mass, top=top: math.exp((shape + h) * v - (shape + m) * math.exp(v) - top),
            summit - 60 * max(math.sqrt(variance), variance),
            summit + 10 * max(math.sqrt(variance), 1e-2 * variance),
            points=[summit],
            limit=500,
            epsrel=1e-11,
        )[0]
        poisson += math.log(area) + top + shape * math.log(shape) - math.lgamma(shape) - heads * 0.5
    # log Γ(1e6) is 1.3e7, of which 1e-16 is lost, and terms of that size cancel: a few 1e-9.
    assert marginal == pytest.approx(poisson, abs=1e-8)


def test_small_variance_goes_over_into_poisson() -> None:
    case = random_case(np.random.default_rng(3), entities=6)
    segments = build_segments(case.exposure, case.paths, case.cuts)
    weights, baseline = point(np.random.default_rng(4), case)
    options = {"signs": case.signs, "units": case.units}
    poisson = log_likelihood(segments, weights, baseline, heterogeneity="none", **options)
    gamma = log_likelihood(segments, weights, baseline, variance=0.0, **options)
    assert gamma.value == poisson.value
    np.testing.assert_array_equal(gamma.gradient[:-1], poisson.gradient[:-1])
    excess = ((gamma.expected - segments_heads(case)) ** 2 - segments_heads(case)).sum() / 2
    assert gamma.gradient[-1] == pytest.approx(excess, rel=1e-12)  # ½ Σ (N − Λ)² − N, by hand


def segments_heads(case: Case) -> np.ndarray:
    heads = np.zeros(int(case.units.max()) + 1)
    np.add.at(heads, case.units, np.diff(case.exposure.head_offsets))
    return heads


def test_entity_is_the_likelihood_with_the_best_base_of_each_unit() -> None:
    case = random_case(np.random.default_rng(8), entities=5)
    segments = build_segments(case.exposure, case.paths, case.cuts)
    weights, baseline = point(np.random.default_rng(9), case)
    mass = expected_by_unit(segments, weights, baseline, signs=case.signs, units=case.units)
    heads = segments_heads(case)
    conditional = log_likelihood(
        segments, weights, baseline, signs=case.signs, units=case.units, heterogeneity="entity"
    ).value
    poisson = log_likelihood(
        segments, weights, baseline, signs=case.signs, units=case.units, heterogeneity="none"
    ).value
    best = poisson + mass.sum()
    for n, m in zip(heads, mass, strict=True):
        if n > 0:
            best -= optimize.minimize_scalar(lambda b, n=n, m=m: math.exp(b) * m - b * n, bracket=(-5, 5)).fun
    assert conditional == pytest.approx(best, abs=1e-8)  # Brent's default leaves 1e-8 of the square root of rounding


def test_expected_by_unit_is_the_integral() -> None:
    case = random_case(np.random.default_rng(11), decay=0.4, entities=5)
    weights, baseline = point(np.random.default_rng(12), case)
    segments = build_segments(case.exposure, case.paths, case.cuts)
    by_entity = expected_by_unit(segments, weights, baseline, signs=case.signs)
    slow = [slow_expected(case, c, weights, baseline) for c in range(case.entities)]
    np.testing.assert_allclose(by_entity, slow, rtol=1e-10)  # quadrature to 1e-12 of each piece


def test_identical_columns_name_the_first() -> None:
    exposure = make_exposure([[(0.0, 4.0)], [(2.0, 5.0)]], [[1.0], []], [0.0, 2.0])
    one = make_path([[(1.0, 1.0)], []])
    late = make_path([[(1.0, 1.0), (4.0, 2.0)], [(7.0, 1.0)]])  # unlike `one`, but not while exposed
    other = make_path([[(2.0, 1.0)], []])
    segments = build_segments(exposure, [one, other, late, other, make_path([[], []])])
    assert identical_columns(segments).tolist() == [0, 1, 0, 1, 4]


def test_columns_that_decay_differ_from_columns_that_stay() -> None:
    exposure = make_exposure([[(0.0, 4.0)]], [[1.0]], [0.0])
    falling = make_path([[(0.0, 1.0)]], 0.5)
    staying = make_path([[(-math.inf, 1.0)]], 0.5, constant=True)
    segments = build_segments(make_exposure([[(0.0, 1.0)]], [[1.0]], [0.0]), [falling, staying])
    assert segments.X.tolist() == [[1.0, 1.0]]
    assert identical_columns(segments).tolist() == [0, 1]
    assert build_segments(exposure, [falling, staying]).decays.tolist() == [True, False]


def test_no_entities_and_no_rules() -> None:
    segments = build_segments(make_exposure([], [], []), [])
    result = log_likelihood(segments, [], [0.0])
    assert (result.value, result.expected.size) == (0.0, 0)
    segments = build_segments(make_exposure([[]], [[]], [0.0]), [make_path([[(0.0, 1.0)]])])
    assert log_likelihood(segments, [1.0], [0.0]).value == 0.0


def test_segments_cannot_be_changed() -> None:
    segments = build_segments(make_exposure([[(0.0, 1.0)]], [[]], [0.0]), [make_path([[(0.5, 1.0)]])])
    with pytest.raises(ValueError, match="read-only"):
        segments.X[0, 0] = 1.0


def test_errors_say_what_and_what_next() -> None:
    exposure = make_exposure([[(0.0, 1.0)]], [[]], [0.0])
    with pytest.raises(OptionError, match="cut points of the baseline must be finite, positive and rising"):
        build_segments(exposure, [], cuts=[2.0, 1.0])
    with pytest.raises(DataError, match="feature path of rule 2 covers 2 entities and the exposure 1"):
        build_segments(exposure, [make_path([[]]), make_path([[], []])])
    with pytest.raises(OptionError, match=r"decay at different rates \(0.1, 0.2\)"):
        build_segments(exposure, [make_path([[]], 0.1), make_path([[]], 0.2)])
    with pytest.raises(DataError, match="1 of 2 heads lie outside the exposure"):
        build_segments(make_exposure([[(0.0, 1.0)]], [[0.5, 2.0]], [0.0]), [])
    segments = build_segments(exposure, [make_path([[(0.5, 1.0)]])])
    with pytest.raises(OptionError, match="weights needs one finite number for each of the 1 rules"):
        log_likelihood(segments, [1.0, 2.0], [0.0])
    with pytest.raises(OptionError, match="baseline needs one finite number"):
        log_likelihood(segments, [1.0], [math.nan])
    with pytest.raises(OptionError, match="neither \\+1"):
        log_likelihood(segments, [1.0], [0.0], signs=[0])
    with pytest.raises(OptionError, match="units needs a whole number from 0 for each of the 1 entities"):
        log_likelihood(segments, [1.0], [0.0], units=[0, 1])
    with pytest.raises(OptionError, match="heterogeneity='normal' is unknown"):
        log_likelihood(segments, [1.0], [0.0], heterogeneity="normal")
    with pytest.raises(OptionError, match="variance=1 with heterogeneity 'none'"):
        log_likelihood(segments, [1.0], [0.0], heterogeneity="none", variance=1.0)
    with pytest.raises(OptionError, match="beyond the numbers of this machine"):
        log_likelihood(segments, [2000.0], [0.0])
