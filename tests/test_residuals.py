"""What is expected until a time, and whether heads come in bursts."""

from __future__ import annotations

import numpy as np
import pytest

import chronorule as cr
from chronorule.likelihood import log_rate
from chronorule.model.residuals import Expectation, bursts


def constant(entities: int, seed: int, children: float = 0.0) -> cr.EventLog:
    """Heads at a rate of 0.2 over 20 units of time; each brings further ones within about 0.1 each."""
    random = np.random.default_rng(seed)
    owner = np.repeat(np.arange(entities), random.poisson(4 * (1 - children), entities))
    times = random.uniform(0, 20, len(owner))
    every = [(owner, times)]
    while len(owner):
        born = random.poisson(children, len(owner))
        owner, times = np.repeat(owner, born), np.repeat(times, born) + random.exponential(0.1, int(born.sum()))
        every.append((owner, times))
    owner, times = (np.concatenate(parts) for parts in zip(*every, strict=True))
    inside = times <= 20
    return cr.EventLog.from_columns(
        entity=[*owner[inside].tolist(), *range(entities)],
        time=[*times[inside].tolist(), *[1.0] * entities],
        event=["Y"] * int(inside.sum()) + ["A"] * entities,
        periods={str(c): (0.0, 20.0) for c in range(entities)},
    )


@pytest.mark.parametrize("kernel", [cr.step, cr.window(3.0), cr.decay(0.4)])
def test_expectation_is_the_integral_of_the_rate(kernel: cr.Kernel) -> None:
    log = cr.simulate("Y <- A < B", [1.0], predicates=3, entities=4, rates=0.2, seed=5).log
    study = cr.Study(log, cr.Head("Y"), cr.Feature(kernel=kernel), "none", cuts=(7.0,))
    fit = study.fit(["Y <- A < B"])
    rates = log_rate(fit.segments, [0.7], [-1.0, -0.5])
    asked = np.array([0.0, 0.3, 5.0, 7.0, 11.1, 19.9, 20.0, 25.0])
    for entity in range(log.n_entities):
        got = Expectation.of(fit.segments, rates).until(np.full(len(asked), entity), asked)
        path = fit.paths[0]
        grid = np.linspace(0.0, 20.0, 200_001)
        middle = (grid[1:] + grid[:-1]) / 2
        rate = np.exp(np.where(middle <= 7.0, -1.0, -0.5) + 0.7 * path.at(entity, middle))
        summed = np.concatenate([[0.0], np.cumsum(rate) * (grid[1] - grid[0])])
        # a jump of at most e^0.2 · (e^0.7 − 1) inside a cell of 1e-4 at each of a handful of breakpoints
        assert got == pytest.approx(np.interp(asked, grid, summed), abs=2e-3)


@pytest.mark.parametrize("heterogeneity", ["gamma", "none", "entity"])
def test_steady_heads_do_not_burst(heterogeneity: cr.likelihood.Heterogeneity) -> None:
    log = constant(300, seed=1)
    study = cr.Study(log, cr.Head("Y"), heterogeneity=heterogeneity)
    found = bursts(study, study.fit([]))
    assert found is not None
    assert not found.sure


def test_heads_that_bring_heads_are_noticed() -> None:
    log = constant(300, seed=1, children=0.3)
    study = cr.Study(log, cr.Head("Y"))
    found = bursts(study, study.fit([]))
    assert found is not None
    assert found.sure
    assert found.observed > 2 * found.expected
    with pytest.warns(cr.errors.FitWarning, match="excite itself"):
        model = cr.RuleLearner("Y", max_length=1).fit(log).model_
    assert any("excite itself" in note for note in model.notes)


def test_gaps_of_a_group_go_on_from_entity_to_entity() -> None:
    """By hand: variance ν, two entities of a group with heads at 1 and 3 of (0, 4] and at 2 of (0, 4], base rate r."""
    log = cr.EventLog.from_columns(
        entity=["a", "a", "b", "c"], time=[1.0, 3.0, 2.0, 1.0], event=["Y", "Y", "Y", "A"],
        periods=(0.0, 4.0), group=["g", "g", "g", "h"],
    )  # fmt: skip
    study = cr.Study(log, cr.Head("Y"))
    fit = study.fit([])
    rate, variance = float(np.exp(fit.solution.baseline[0])), fit.solution.variance
    found = bursts(study, fit)
    assert found is not None

    def gap(number: int, here: float, there: float) -> float:
        if variance == 0:
            return rate * (there - here)
        return (1 / variance + number) * float(np.log((1 + variance * rate * there) / (1 + variance * rate * here)))

    gaps = [gap(1, 1, 3), gap(2, 3, 4), gap(3, 6, 8)]
    assert found.expected == pytest.approx(sum(min(one, found.reach) for one in gaps), rel=1e-9)
    assert found.observed == (gaps[0] <= found.reach)


def test_a_head_that_never_follows_another_says_nothing() -> None:
    log = cr.EventLog.from_columns(entity=["a", "b"], time=[1.0, 2.0], event=["Y", "Y"], periods=(0.0, 4.0))
    study = cr.Study(log, cr.Head("Y"))
    assert bursts(study, study.fit([])) is None


@pytest.mark.parametrize("far", [-1e300, 1e300, -1.7e308, 1e61])
def test_times_that_nothing_can_be_reckoned_with_are_refused(far: float) -> None:
    columns = ["a", "a", "b", "b"], [far, 2.0, 3.0, far], ["A", "Y", "Y", "A"]
    log = cr.EventLog.from_columns(*columns, periods=(min(far, 0.0), max(far, 9.0)))
    with pytest.raises(cr.errors.DataError, match=r"'Y' can happen over .* units of time in all, .*; correct times"):
        cr.Study(log, cr.Head("Y"))
    tiny = cr.EventLog.from_columns(["a", "a"], [0.0, 1 / abs(far)], ["A", "Y"], periods=(0.0, 1 / abs(far)))
    with pytest.raises(cr.errors.DataError, match="or count in another unit"):
        cr.Study(tiny, cr.Head("Y"))
    if far < 0:  # before the period
        early = cr.EventLog.from_columns(*columns, periods=(0.0, 9.0))
        assert cr.RuleLearner("Y", max_length=1).fit(early).model_.training.heads == 2


def test_heads_whose_distance_is_lost_in_roundings_burst_for_sure() -> None:
    """Λ is 1e16 times what lies between the heads, beyond the 53 bits of its sum."""
    times = [1.0, 2.0, 3.0, 4.0]
    log = cr.EventLog.from_columns(["a"] * 4, times, ["Y"] * 4, periods=(-1e30, 9.0))
    study = cr.Study(log, cr.Head("Y"), heterogeneity="none")
    found = bursts(study, study.fit([]))
    assert found is not None
    assert (found.observed, found.expected, found.sure) == (3, 0.0, True)
