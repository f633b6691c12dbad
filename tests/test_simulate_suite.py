"""The paper's suite: its rules, its decoys, its redraws, and truth weights that fit the data (design 11)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from chronorule.errors import OptionError
from chronorule.events import exposure
from chronorule.grounding import completions
from chronorule.likelihood import log_likelihood
from chronorule.rules import parse_rule
from chronorule.simulate import LIBRARIES, SEQUENCES, paper_suite, simulate, truth_rules

FEATURES: tuple[Literal["exists", "count"], ...] = ("exists", "count")

# Design 11, as it stands there.
SECTION = """
 1: A<B<C<D<E<F · C<B<F<D<E<G · C<B<G<D<E<H            4: A<B<C<D<E<F · A<B<C<D<E<G · A<B<C<D<E<H
 2: A<B<C<D<E<F=G · C<B<F<D<E<G=H · C<B<A<D<E<H=G        5: A<B<C<D<E<F=G · A<B<C<D<E<F=H · A<B<C<D<E<F<H
 3: A<B<C<D<E<F=G=H · C<B<F<D<E<G=H=A · C<B<A<D<E<H=G=F   6: A<B<C<D<E<F=G=H · A<B<C<D<E<F=G<H · A<B<C<D<E<F=H<G
"""


def test_rules_are_those_of_the_design() -> None:
    cells = [cell.strip() for line in SECTION.strip().splitlines() for cell in line.split("   ") if cell.strip()]
    assert len(cells) == 6
    for cell in cells:
        group, bodies = cell.split(": ")
        assert truth_rules(int(group)) == tuple(parse_rule(f"Y <- {body}") for body in bodies.split(" · "))
    lengths = [{rule.length for rule in truth_rules(group)} for group in range(1, 7)]
    assert lengths == [{6}, {7}, {8}, {6}, {7}, {8}]


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("predicates", LIBRARIES)
def test_case_is_what_section_11_says(predicates: int, feature: Literal["exists", "count"]) -> None:
    log, truth = paper_suite(2, predicates, 500, 1, feature)
    names = "ABCDEFGHIJKLMNOPQRSTUVWX"[:predicates]
    assert log.predicates == (*names, "Y")
    assert log.n_entities == 500
    assert (log.start == 0).all()
    assert (log.stop == 20).all()
    assert truth.head.name == "Y"
    assert truth.base.tolist() == [-2.5]
    assert truth.weights.tolist() == ([1.2, 1.0, 0.8] if feature == "exists" else [0.3, 0.25, 0.2])
    assert truth.feature.kind == feature
    assert str(truth.feature.kernel) == "step"
    assert (truth.redrawn > 0) == (feature == "count")
    body = log.codes < predicates
    ticks = log.times[body] * 10
    assert np.abs(ticks - np.rint(ticks)).max() < 1e-9
    assert exposure(log, "Y").outside == 0
    # predicates that no rule names have the background alone: a tick holds one with chance 1 − e^(−rate/10)
    beside = int((log.codes[body] >= 8).sum())
    chance = 1 - np.exp(-0.1 * (0.05 if feature == "exists" else 0.02))
    trials = 500 * 200 * (predicates - 8)
    assert abs(beside - trials * chance) <= 4 * np.sqrt(trials * chance * (1 - chance))


@pytest.mark.parametrize("group", range(1, 7))
def test_shares_of_planted_bodies_and_decoys(group: int) -> None:
    log, truth = paper_suite(group, 8, 2000)
    for found, share in ((truth.planted, 0.2), (truth.decoys, 0.3)):
        assert (np.abs(found.mean(axis=0) - share) < 4 * np.sqrt(share * (1 - share) / 2000)).all()
    for f, rule in enumerate(truth.rules):
        done = np.unique(completions(rule, log).entity)
        assert set(np.flatnonzero(truth.planted[:, f]).tolist()) <= set(done.tolist())


@pytest.mark.parametrize("group", range(1, 7))
def test_decoys_planted_alone_complete_nothing(group: int) -> None:
    for rule in truth_rules(group):
        log, truth = simulate([rule], [1.0], rates=0.0, decoys=1.0, entities=2000, base=-20.0, seed=group)
        assert truth.decoys.all()
        assert completions(rule, log).entity.size == 0


@pytest.mark.parametrize("group", range(1, 7))
def test_redrawn_share_of_counts(group: int) -> None:
    """Design 11: 12 to 26 % are redrawn, and none that is left passes the base by more than 4."""
    log, truth = paper_suite(group, 8, 4000, 0, "count")
    error = np.sqrt(0.26 * 0.74 / truth.drawn)
    assert 0.12 - 4 * error < truth.redrawn_share < 0.26 + 4 * error
    assert (truth.segments(log).X @ truth.weights).max() <= 4.0


def test_cases_are_reproducible_and_independent() -> None:
    first = paper_suite(1, 8, 500, 0)
    assert paper_suite(1, 8, 500, 0).log.equals(first.log)
    assert paper_suite(group=1, predicates=8, sequences=500, seed=0, feature="exists").log.equals(first.log)
    others = [
        paper_suite(1, 8, 500, 1),
        paper_suite(4, 8, 500, 0),
        paper_suite(1, 12, 500, 0),
        paper_suite(1, 8, 501, 0),
    ]
    for other in others:
        same = first.truth.planted == other.truth.planted[:500]
        # independent choices of chance 0.2 agree with chance 0.68
        assert abs(same.mean() - 0.68) < 4 * np.sqrt(0.68 * 0.32 / same.size)
    assert SEQUENCES == (500, 1000, 2000)


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("group", range(1, 7))
def test_scores_of_the_truth_are_as_small_as_chance(group: int, feature: Literal["exists", "count"]) -> None:
    """sᵀ I⁻¹ s of the score s at the truth, with the information I, is chi-square with 4 degrees of freedom."""
    found = []
    for seed in range(6):
        log, truth = paper_suite(group, 8, 500, seed, feature)
        at = log_likelihood(truth.segments(log), truth.weights, truth.base, heterogeneity="none")
        found.append(at.gradient[:4] @ np.linalg.solve(at.information[:4, :4], at.gradient[:4]))
    # the sum over 6 seeds has 24 degrees of freedom: 99.99 % lie within 7.4 and 58.6
    assert 7.4 < sum(found) < 58.6


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"group": 7}, "The suite has no group 7; choose one of 1, 2, 3, 4, 5, 6"),
        ({"group": True}, "The suite has no group True"),
        ({"predicates": 7}, "predicates=7 is no library of the suite; give 8, which the rules use, to 24"),
        ({"predicates": 25}, "predicates=25 is no library of the suite"),
        ({"predicates": 8.0}, "predicates=8.0 is no library of the suite"),
        ({"sequences": 0}, "sequences=0 is no number of sequences; give a whole number of at least 1"),
        ({"feature": "some"}, "The feature 'some' is neither 'exists' nor 'count'; choose one of the two"),
        ({"seed": -1}, "seed=-1 starts no random numbers; give a whole number of at least 0"),
    ],
)
def test_case_that_does_not_exist_is_refused(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        paper_suite(**arguments)
