"""The master problem: optimality after every solve, agreement with other solvers, and every case without an inside."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from chronorule.errors import OptionError
from chronorule.likelihood import HETEROGENEITIES, Segments, build_segments, log_likelihood
from chronorule.master import MAX_WEIGHT, MasterSolution, Start, fit_master
from reference_likelihood import Case, make_exposure, make_path, random_case, simulated_case
from reference_likelihood import log_likelihood as slow_log_likelihood

seeds = st.integers(0, 2**32 - 1)
PER_HEAD = 1e-8  # what the fit promises, design 4


def cut(case: Case) -> Segments:
    return build_segments(case.exposure, case.paths, case.cuts)


def check_optimal(
    segments: Segments,
    solution: MasterSolution,
    *,
    signs=None,
    units=None,
    penalty: float = 0.0,
    lengths=None,
    w_max: float = MAX_WEIGHT,
) -> None:
    """KKT conditions from the public likelihood, apart from anything the fit says of itself."""
    at = log_likelihood(
        segments,
        solution.weights,
        solution.baseline,
        signs=signs,
        units=units,
        heterogeneity=solution.heterogeneity,
        variance=solution.variance,
    )
    heads = max(1, int(segments.heads.sum()))
    cost = penalty * (np.ones(segments.n_rules) if lengths is None else np.asarray(lengths))
    reduced = cost - at.gradient[: segments.n_rules]
    tolerance = 1.5 * PER_HEAD * heads  # half as much again for rounding in another order
    assert solution.converged, solution.notes
    assert at.value == pytest.approx(solution.log_likelihood, rel=1e-12)
    assert (solution.weights >= 0).all()
    assert (solution.weights <= w_max).all()
    inside = (solution.weights > 0) & (solution.weights < w_max)
    assert (np.abs(reduced[inside]) <= tolerance).all()
    assert (reduced[solution.weights == 0] >= -tolerance).all() or not heads_happened(segments)
    assert (reduced[solution.weights == w_max] <= tolerance).all()
    slackness = np.where(reduced > 0, solution.weights, w_max - solution.weights) * np.abs(reduced)
    assert (slackness <= w_max * tolerance).all() or not heads_happened(segments)
    assert solution.complementary_slackness <= w_max * PER_HEAD
    level = -at.gradient[segments.n_rules : -1]
    if solution.heterogeneity == "entity":  # a common shift changes nothing: the reference has the others' slopes
        assert abs(level.sum()) <= tolerance
        level[np.flatnonzero(solution.baseline == 0)] = 0.0
    free = ~(solution.baseline_at_lower | solution.baseline_at_upper)
    assert (np.abs(level[free]) <= tolerance).all()
    assert (level[solution.baseline_at_lower] >= -tolerance).all()
    if solution.heterogeneity == "gamma" and solution.variance > 0:
        assert abs(at.gradient[-1]) <= tolerance


def heads_happened(segments: Segments) -> bool:
    return bool(segments.heads.sum() > 0)


@given(
    seeds,
    st.sampled_from([0.0, 0.3]),
    st.sampled_from(HETEROGENEITIES),
    st.sampled_from([0.0, 0.05, 1.0]),
    st.integers(1, 40),
)
@settings(max_examples=300)
def test_every_solve_is_optimal(seed: int, decay: float, heterogeneity: str, penalty: float, entities: int) -> None:
    random = np.random.default_rng(seed)
    case = random_case(random, decay, entities=entities, rules=int(random.integers(0, 6)))
    segments = cut(case)
    lengths = random.integers(1, 5, len(case.paths))
    solution = fit_master(segments, case.signs, lengths, penalty=penalty, heterogeneity=heterogeneity, units=case.units)
    check_optimal(segments, solution, signs=case.signs, units=case.units, penalty=penalty, lengths=lengths)
    assert all(np.isfinite(value).all() for value in (solution.weights, solution.baseline, solution.objective))
    assert np.isnan(solution.stderr[solution.at_lower | solution.at_upper]).all()
    assert all(note.endswith(".") for note in solution.notes)


@given(seeds, st.sampled_from(HETEROGENEITIES), st.booleans())
@settings(max_examples=15)
def test_optimum_agrees_with_another_solver_on_the_slow_twin(seed: int, heterogeneity: str, penalised: bool) -> None:
    random = np.random.default_rng(seed)
    case = random_case(random, entities=8)
    segments = cut(case)
    penalty = 0.3 if penalised else 0.0
    solution = fit_master(segments, case.signs, penalty=penalty, heterogeneity=heterogeneity, units=case.units)
    rules = len(case.paths)

    def objective(z: np.ndarray) -> float:
        # the variance is held: the other solver is to find what is convex
        slow = slow_log_likelihood(case, z[:rules], z[rules:], heterogeneity, solution.variance)
        return penalty * float(z[:rules].sum()) - slow

    level = solution.baseline
    bounds = [(0.0, MAX_WEIGHT)] * rules + [
        (level[p], level[p]) if heterogeneity == "entity" and level[p] == 0 else (-40.0, 40.0)
        for p in range(level.size)
    ]
    begin = np.concatenate([np.zeros(rules), np.clip(level, -3, 3)])
    found = optimize.minimize(objective, begin, method="L-BFGS-B", bounds=bounds, options={"maxfun": 400})
    here = objective(np.concatenate([solution.weights, level]))
    assert here == pytest.approx(solution.objective, rel=1e-9, abs=1e-9)
    # L-BFGS-B stops at a relative change of 2e-9; where no head happens its optimum lies at infinity, ours at a bound.
    assert here <= found.fun + 1e-8 * (1 + abs(found.fun))


@pytest.mark.parametrize("heterogeneity", HETEROGENEITIES)
@pytest.mark.parametrize("changes", [1, 4])
def test_truth_is_recovered_within_its_standard_errors(heterogeneity: str, changes: int) -> None:
    truth = [0.8 / changes, 0.4 / changes, 0.0, 0.5 / changes]
    signs = [1, 1, 1, -1]
    variance = 0.0 if heterogeneity == "none" else 0.5
    case = simulated_case(5, 1200, truth, signs=signs, variance=variance, changes=changes)
    segments = cut(case)
    solution = fit_master(segments, signs, heterogeneity=heterogeneity)
    check_optimal(segments, solution, signs=signs)
    known = np.isfinite(solution.stderr)
    assert known[[0, 1, 3]].all()
    # 4 standard errors: 1 in 16,000 for each estimate, seed fixed
    assert (np.abs(solution.weights - truth)[known] <= 4 * solution.stderr[known]).all()
    assert (solution.stderr[known] < 0.1).all()
    if heterogeneity != "entity":
        assert abs(solution.baseline[0] + 2.0) <= 4 * solution.baseline_stderr[0]
    if heterogeneity == "gamma":
        assert abs(solution.variance - 0.5) <= 4 * solution.variance_stderr
        assert solution.shape == pytest.approx(1 / solution.variance)
        assert solution.multipliers.mean() == pytest.approx(1.0, abs=4 * math.sqrt(0.5 / 1200))


@pytest.mark.parametrize("variance", [0.1, 2.0])
def test_spread_of_base_rates_is_recovered(variance: float) -> None:
    case = simulated_case(11, 800, [0.5], variance=variance)
    solution = fit_master(cut(case))
    assert abs(solution.variance - variance) <= 4 * solution.variance_stderr  # 4 standard errors, seed fixed
    crossed = [fit_master(cut(case), start=Start(np.array([1.0]), np.array([-4.0]), v)).variance for v in (0.0, 50.0)]
    # From far below and far above: optima of slope 1e-8 per head lie within 1e-8 · heads · stderr² of each other.
    np.testing.assert_allclose(crossed, solution.variance, rtol=1e-6)


def test_alike_entities_have_no_spread() -> None:
    alike = [[0.5, 1.5, 2.5]] * 30  # every entity the same count: less spread than chance
    exposure = make_exposure([[(0.0, 3.0)]] * 30, alike, [0.0] * 30)
    solution = fit_master(build_segments(exposure, []))
    assert solution.variance == 0
    assert solution.shape == math.inf
    assert math.isnan(solution.variance_stderr)
    assert any("differ no more than chance allows: variance 0" in note for note in solution.notes)
    np.testing.assert_array_equal(solution.multipliers, 1.0)
    assert solution.baseline[0] == pytest.approx(0.0, abs=1e-8)
    # information of a Poisson mean of 90 heads
    assert solution.baseline_stderr[0] == pytest.approx(1 / math.sqrt(90), rel=1e-7)


def test_standard_errors_are_those_of_the_differenced_likelihood() -> None:
    case = simulated_case(3, 150, [0.7, 0.3], variance=0.4)
    segments = cut(case)
    solution = fit_master(segments)
    z = np.array([*solution.weights, *solution.baseline, solution.variance])
    information = np.empty((4, 4))
    step = 1e-5
    for i in range(4):
        ends = []
        for move in (step, -step):
            there = z.copy()
            there[i] += move
            ends.append(log_likelihood(segments, there[:2], there[2:3], variance=there[3]).gradient)
        information[i] = (ends[1] - ends[0]) / (2 * step)
    covariance = np.linalg.inv(information)
    # differences of the gradient err by 1e-16 · 1e3 / 1e-5 and by step² of third derivatives
    np.testing.assert_allclose(solution.covariance, covariance, rtol=1e-5, atol=1e-8)
    shown = [*solution.stderr, *solution.baseline_stderr, solution.variance_stderr]
    np.testing.assert_allclose(shown, np.sqrt(np.diag(covariance)), rtol=1e-5)


@given(seeds, st.sampled_from(HETEROGENEITIES))
@settings(max_examples=25)
def test_warm_start_finds_the_cold_optimum(seed: int, heterogeneity: str) -> None:
    random = np.random.default_rng(seed)
    case = simulated_case(seed, 40, [0.8, 0.4, 0.2], variance=0.3)
    segments = cut(case)
    cold = fit_master(segments, heterogeneity=heterogeneity)
    start = Start(random.uniform(0, 2, 3), random.normal(-2, 1, 1), float(random.uniform(0, 2)))
    for begin in (start, cold):
        warm = fit_master(segments, heterogeneity=heterogeneity, start=begin)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-10)
        np.testing.assert_allclose(warm.weights, cold.weights, atol=1e-5)  # slope 1e-8 per head over curvature >= 1e-3
    assert fit_master(segments, heterogeneity=heterogeneity, start=cold).iterations == 0


def test_order_does_not_matter() -> None:
    truth = [0.8, 0.4, 0.3]
    case = simulated_case(9, 120, truth, variance=0.5)
    shuffle = np.array([2, 0, 1])
    shuffled = Case(case.exposure, [case.paths[f] for f in shuffle], [], case.units, [1] * 3)
    one, other = fit_master(cut(case)), fit_master(cut(shuffled))
    np.testing.assert_allclose(other.weights, one.weights[shuffle], atol=1e-8)  # both to 1e-8 per head
    np.testing.assert_allclose(other.stderr, one.stderr[shuffle], rtol=1e-6)
    relabelled = fit_master(cut(case), units=np.random.default_rng(0).permutation(120))
    np.testing.assert_allclose(relabelled.weights, one.weights, atol=1e-8)


def test_origin_and_unit_of_time_do_not_matter() -> None:
    case = simulated_case(9, 120, [0.8, 0.4], variance=0.5)

    def moved(shift: float, factor: float) -> Segments:
        names = ("start", "stop", "head_times", "period_start")
        changed = {name: getattr(case.exposure, name) * factor + shift for name in names}
        exposure = SimpleNamespace(offsets=case.exposure.offsets, head_offsets=case.exposure.head_offsets, **changed)
        paths = [
            SimpleNamespace(
                offsets=p.offsets, times=p.times * factor + shift, values=p.values, decay=0.0, constant=False
            )
            for p in case.paths
        ]
        return build_segments(exposure, paths)

    one = fit_master(moved(0.0, 1.0))
    shifted = fit_master(moved(5000.0, 1.0))
    np.testing.assert_allclose(shifted.weights, one.weights, rtol=1e-7)  # times near 5000 keep 12 digits of a gap
    hours = fit_master(moved(0.0, 24.0))
    np.testing.assert_allclose(hours.weights, one.weights, rtol=1e-7)
    assert hours.baseline[0] == pytest.approx(one.baseline[0] - math.log(24), rel=1e-7)
    assert hours.variance == pytest.approx(one.variance, rel=1e-6)


def test_doubled_log_has_doubled_likelihood_and_the_same_weights() -> None:
    case = simulated_case(13, 60, [0.8, 0.4])
    source = case.exposure

    def twice(offsets: np.ndarray) -> np.ndarray:
        return np.concatenate([offsets, offsets[-1] + offsets[1:]])

    exposure = SimpleNamespace(
        offsets=twice(source.offsets),
        head_offsets=twice(source.head_offsets),
        **{name: np.tile(getattr(source, name), 2) for name in ("start", "stop", "head_times", "period_start")},
    )
    paths = [
        SimpleNamespace(
            offsets=twice(p.offsets), times=np.tile(p.times, 2), values=np.tile(p.values, 2), decay=0.0, constant=False
        )
        for p in case.paths
    ]
    one = fit_master(cut(case), heterogeneity="none", penalty=1.0)
    two = fit_master(build_segments(exposure, paths), heterogeneity="none", penalty=2.0)
    np.testing.assert_allclose(two.weights, one.weights, atol=1e-7)  # both to 1e-8 per head
    assert two.log_likelihood == pytest.approx(2 * one.log_likelihood, rel=1e-10)
    np.testing.assert_allclose(two.stderr, one.stderr / math.sqrt(2), rtol=1e-6)


def test_one_rule_alone_has_the_weight_of_design_5() -> None:
    # 2 heads in 6 units before completion, 6 heads in 4 units after: b = log(2/6), w = log(6/4) − b.
    exposure = make_exposure([[(0.0, 10.0)]], [[1.0, 2.0, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5]], [0.0])
    segments = build_segments(exposure, [make_path([[(6.0, 1.0)]])])
    solution = fit_master(segments, heterogeneity="none")
    assert solution.baseline[0] == pytest.approx(math.log(2 / 6), abs=1e-8)
    assert solution.weights[0] == pytest.approx(math.log(6 / 4) - math.log(2 / 6), abs=1e-8)
    assert solution.stderr[0] == pytest.approx(math.sqrt(1 / 2 + 1 / 6), rel=1e-7)  # two Poisson counts
    assert solution.notes == ()


def test_penalty_takes_its_price_and_can_shut_a_rule_out() -> None:
    exposure = make_exposure([[(0.0, 10.0)]], [[1.0, 2.0, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5]], [0.0])
    segments = build_segments(exposure, [make_path([[(6.0, 1.0)]])])
    # 6 − λ0·c expected after completion at the optimum, so the others stay before it.
    solution = fit_master(segments, lengths=[3], penalty=0.5, heterogeneity="none")
    assert math.exp(solution.baseline[0] + solution.weights[0]) * 4 == pytest.approx(6 - 1.5, abs=1e-7)
    shut = fit_master(segments, lengths=[3], penalty=5.0, heterogeneity="none")
    assert shut.at_lower.tolist() == [True]
    assert shut.reduced_costs[0] > 0


def test_counts_in_the_hundreds_do_not_overflow() -> None:
    random = np.random.default_rng(2)
    rows, heads = [], []
    for _ in range(50):
        times = np.sort(random.uniform(0, 10, 300))
        rows.append([(float(t), float(k + 1)) for k, t in enumerate(times)])
        grid = np.linspace(0, 10, 2001)[1:]
        rate = 0.05 * np.exp(0.012 * np.searchsorted(times, grid, side="left"))
        heads.append(grid[random.uniform(size=grid.size) < rate * 0.005].tolist())
    segments = build_segments(make_exposure([[(0.0, 10.0)]] * 50, heads, [0.0] * 50), [make_path(rows)])
    for start in (None, Start(np.array([3.0]), np.array([5.0]))):
        solution = fit_master(segments, start=start)
        check_optimal(segments, solution)
        assert abs(solution.weights[0] - 0.012) <= 4 * solution.stderr[0]  # seed fixed; heads on a grid of 0.005


def test_no_exposure_at_all() -> None:
    for intervals in ([], [[], []]):
        exposure = make_exposure(intervals, intervals, [0.0] * len(intervals))
        segments = build_segments(exposure, [make_path([[] for _ in intervals])], cuts=[1.0])
        for heterogeneity in HETEROGENEITIES:
            solution = fit_master(segments, heterogeneity=heterogeneity)
            assert solution.weights.tolist() == [0.0]
            assert np.isfinite(solution.baseline).all()
            assert solution.log_likelihood == 0.0
            assert "there is no exposure: the baseline stands at its lower bound" in solution.notes[0]


@pytest.mark.parametrize("heterogeneity", HETEROGENEITIES)
def test_no_head(heterogeneity: str) -> None:
    exposure = make_exposure([[(0.0, 10.0)], [(0.0, 5.0)]], [[], []], [0.0, 0.0])
    segments = build_segments(exposure, [make_path([[(6.0, 1.0)], []]), make_path([[], [(1.0, 1.0)]])])
    solution = fit_master(segments, [1, -1], heterogeneity=heterogeneity)
    assert solution.weights.tolist() == [0.0, 0.0]
    assert solution.baseline_at_lower.all()
    assert solution.variance == 0
    assert solution.converged
    assert solution.log_likelihood == pytest.approx(0.0, abs=1e-12)  # a rate of e^-30 per exposure
    assert np.isnan(solution.covariance).all()
    assert "no head happened in the exposure: the baseline stands at its lower bound" in solution.notes[0]


@pytest.mark.parametrize("heterogeneity", HETEROGENEITIES)
def test_rules_that_cannot_be_weighed_say_why(heterogeneity: str) -> None:
    entities = 6
    heads = [[1.0, 2.0, 3.0]] * entities
    exposure = make_exposure([[(0.0, 10.0)]] * entities, heads, [0.0] * entities)
    never = make_path([[] for _ in range(entities)])
    late = make_path([[(5.0, 1.0)] for _ in range(entities)])
    early = make_path([[(0.5, 1.0)] for _ in range(entities)])
    segments = build_segments(exposure, [never, late, late, early])
    solution = fit_master(segments, [1, 1, -1, 1], heterogeneity=heterogeneity, names=["N", "L", "M", "E"])
    check_optimal(segments, solution, signs=[1, 1, -1, 1])
    assert solution.weights.tolist() == [0.0, 0.0, MAX_WEIGHT, MAX_WEIGHT]
    assert solution.at_lower.tolist() == [True, True, False, False]
    assert solution.at_upper.tolist() == [False, False, True, True]
    assert np.isnan(solution.stderr).all()
    text = " ".join(solution.notes)
    assert "N is never active during the exposure" in text
    assert "no head happened while L was active: weight 0." in text
    assert "no head happened while M was active: its weight stands at its upper bound." in text
    assert "E: the likelihood still rises where its weight stands at its upper bound." in text


def test_penalised_inhibition_without_heads_is_finite_inside() -> None:
    exposure = make_exposure([[(0.0, 10.0)]] * 6, [[1.0, 2.0, 3.0]] * 6, [0.0] * 6)
    segments = build_segments(exposure, [make_path([[(5.0, 1.0)]] * 6)])
    solution = fit_master(segments, [-1], penalty=0.5, heterogeneity="none")
    # expected after completion = λ0
    assert 30 * math.exp(solution.baseline[0] - solution.weights[0]) == pytest.approx(0.5, abs=1e-7)
    assert math.isfinite(solution.stderr[0])


def test_pieces_without_heads_or_exposure() -> None:
    exposure = make_exposure([[(0.0, 3.0)]] * 4, [[0.5, 1.0]] * 4, [0.0] * 4)
    segments = build_segments(exposure, [], cuts=[2.0, 9.0])
    solution = fit_master(segments, heterogeneity="none")
    assert solution.baseline[0] == pytest.approx(math.log(1.0), abs=1e-8)
    assert solution.baseline_at_lower.tolist() == [False, True, True]
    assert "piece 2 of the baseline has no head: it stands at its lower bound." in solution.notes
    assert "piece 3 of the baseline has no exposure: it stands at its lower bound." in solution.notes


def test_entity_baseline_is_relative_to_the_first_piece_with_a_head() -> None:
    # Rates by piece 0, 1 and 2 a unit of time; the first has no head, the second is the reference.
    exposure = make_exposure([[(0.0, 6.0)]] * 2, [[2.5, 3.5, 4.2, 4.5, 5.0, 5.5]] * 2, [0.0] * 2)
    solution = fit_master(build_segments(exposure, [], cuts=[2.0, 4.0]), heterogeneity="entity")
    assert solution.baseline[1] == 0
    assert solution.baseline[2] == pytest.approx(math.log(2), abs=1e-7)
    assert solution.baseline_at_lower.tolist() == [True, False, False]
    assert math.isnan(solution.baseline_stderr[1])


def test_entity_cannot_weigh_what_never_changes_inside_an_entity() -> None:
    case = simulated_case(4, 60, [0.6], variance=0.5)
    static = make_path([[(-math.inf, 1.0)] if c % 2 else [] for c in range(60)], constant=True)
    segments = build_segments(case.exposure, [static, *case.paths])
    for start in (None, Start(np.array([2.0, 0.1]), np.zeros(1))):
        solution = fit_master(segments, heterogeneity="entity", start=start)
        check_optimal(segments, solution)
        assert solution.weights[0] == 0
        assert "rule 1 never changes inside an entity with a head, whose own base holds it: weight 0." in solution.notes
    assert fit_master(segments).stderr.shape == (2,)


def test_frailty_needs_units_with_several_heads() -> None:
    exposure = make_exposure([[(0.0, 2.0)], [(0.0, 1.5)], [(0.0, 3.0)]], [[2.0], [], [3.0]], [0.0] * 3)
    solution = fit_master(build_segments(exposure, []))
    assert solution.variance == 0
    assert any("no unit has more than one head" in note for note in solution.notes)
    grouped = fit_master(build_segments(exposure, []), units=[0, 1, 0])
    assert not any("no unit has more than one head" in note for note in grouped.notes)


def test_rules_with_the_same_feature_survive_and_are_named() -> None:
    case = simulated_case(6, 80, [0.8, 0.3])
    segments = build_segments(case.exposure, [case.paths[0], case.paths[1], case.paths[0]])
    solution = fit_master(segments)
    check_optimal(segments, solution)
    alone = fit_master(cut(case))
    assert solution.weights[[0, 2]].sum() == pytest.approx(alone.weights[0], abs=1e-6)
    assert solution.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-10)
    assert np.isnan(solution.stderr[[0, 2]]).all()
    assert solution.stderr[1] == pytest.approx(alone.stderr[1], rel=1e-4)
    assert "rule 1, rule 3 cannot be told apart on this log: no standard errors." in solution.notes


def test_a_rule_active_all_along_cannot_be_told_from_the_baseline() -> None:
    case = simulated_case(6, 80, [0.8])
    always = make_path([[(-math.inf, 1.0)]] * 80, constant=True)
    segments = build_segments(case.exposure, [*case.paths, always])
    solution = fit_master(segments, start=Start(np.array([0.5, 1.0]), np.array([-3.0])))
    check_optimal(segments, solution)
    assert math.isfinite(solution.stderr[0])
    assert solution.weights[1] > 0
    assert np.isnan([solution.stderr[1], solution.baseline_stderr[0]]).all()
    assert "rule 2, the baseline cannot be told apart on this log: no standard errors." in solution.notes


def test_bounds_are_kept_and_told() -> None:
    case = simulated_case(6, 80, [1.5])
    segments = cut(case)
    capped = fit_master(segments, w_max=0.5)
    check_optimal(segments, capped, w_max=0.5)
    assert capped.weights.tolist() == [0.5]
    assert "rule 1: the likelihood still rises where its weight stands at its upper bound." in capped.notes
    low = fit_master(segments, baseline_bounds=(-9.0, -5.0))
    assert low.baseline_at_upper.tolist() == [True]
    assert "piece 1 of the baseline stands at its upper bound." in low.notes
    assert math.isnan(low.baseline_stderr[0])


def test_stopped_early_is_said() -> None:
    case = simulated_case(6, 80, [1.5, 0.4], variance=0.5)
    solution = fit_master(cut(case), max_iterations=1)
    assert not solution.converged
    assert any("not yet the optimum" in note for note in solution.notes)


def test_decaying_features_report_the_error_of_their_integral() -> None:
    random = np.random.default_rng(1)
    case = random_case(random, 0.5, entities=30)
    solution = fit_master(cut(case), case.signs, units=case.units)
    assert 0 < solution.integral_error <= 1e-11 * case.exposure.n_heads
    assert fit_master(cut(simulated_case(1, 5, [0.5]))).integral_error == 0


def test_fits_in_threads_equal_fits_in_turn() -> None:
    segments = [cut(simulated_case(seed, 60, [0.8, 0.2], variance=0.3)) for seed in range(6)]
    in_turn = [fit_master(part) for part in segments]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(fit_master, segments))
    for one, other in zip(in_turn, together, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
        assert one.log_likelihood == other.log_likelihood


def test_errors_say_what_and_what_next() -> None:
    segments = cut(simulated_case(1, 5, [0.5]))
    wrong = [
        ({"lengths": [1, 2]}, "lengths needs one finite number, 0 or more, for each of the 1 rules"),
        ({"penalty": -1.0}, "penalty=-1 would reward long rules"),
        ({"w_max": 0.0}, "w_max=0 leaves no weight to choose"),
        ({"heterogeneity": "lognormal"}, "heterogeneity='lognormal' is unknown; choose one of gamma, none, entity"),
        ({"tolerance": 0.0}, "tolerance and max_iterations must be above 0"),
        ({"names": ["a", "b"]}, "names has 2 names for 1 rules; give one for each"),
        ({"baseline_bounds": (1.0, 0.0)}, "must be two finite log-rates in rising order."),
        ({"baseline_bounds": (1.0, 2.0), "heterogeneity": "entity"}, "with 0 between them"),
        ({"baseline_bounds": (800.0, 801.0)}, "rate at baseline_bounds is beyond the numbers of this machine"),
        ({"start": Start(np.zeros(2), np.zeros(1))}, "starting point has 2 weights and 1 pieces of the baseline"),
        ({"signs": [2]}, "neither \\+1"),
    ]
    for options, message in wrong:
        with pytest.raises(OptionError, match=message):
            fit_master(segments, **options)
