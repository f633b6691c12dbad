"""Pictures of entities: what they show is what happened, and which are chosen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from chronorule.events import EventLog, Head
from chronorule.grounding import Feature, parse_kernel
from chronorule.report.expectation import FADED, Expectation
from chronorule.report.timelines import MOST_MARKS, Timeline, timelines
from chronorule.rules import Rule, parse_rule
from reports import any_model, simulated
from worlds import random_feature, random_rule, random_world

SEEDS = st.integers(0, 2**32 - 1)


def pictured(log: EventLog, text: str, kernel: str = "step") -> list[Timeline]:
    """Pictures of one rule, on a model of it."""
    model = any_model(log, Head("Y"), Feature(kernel=parse_kernel(kernel)), text)
    return timelines(Expectation(model, log), parse_rule(text))


@pytest.mark.filterwarnings("ignore::chronorule.errors.FitWarning")
@given(SEEDS)
def test_pictures_show_what_happened(seed: int) -> None:
    world = random_world(seed, entities=6)
    feature = random_feature(world.random)
    rules = {random_rule(world.random, 2) for _ in range(4)}
    model = any_model(world.log, world.exposure.head, feature, *sorted(rule.key for rule in rules))
    known = Expectation(model, world.log)
    for rule in rules:
        for line in timelines(known, rule):
            compare(line, rule, known)


def compare(line: Timeline, rule: Rule, known: Expectation) -> None:
    """A picture with the definitions."""
    log, risk, feature = known.log, known.exposure, known.model.feature
    entity = log.entities.index(line.entity)
    origin = float(log.start[entity])
    rows = reference.completions(rule, log, feature.span)
    assert (entity, line.completed + origin) in {(c, s) for c, s, _ in rows}
    events = {(t - origin, name) for t, name in reference.events_of(log, entity)}
    match = [(t, lane.predicate) for lane in line.lanes for t in lane.matched]
    assert set(match) <= events
    assert max(t for t, _ in match) == line.completed
    assert any(
        {(t - origin, name) for t, names in zip(times, rule.classes, strict=True) for name in names if t > -1e9}
        == set(match)
        for times in reference.all_matches(rule, log, entity)
    )
    assert {(t, lane.predicate) for lane in line.lanes for t in lane.others} <= events - set(match)
    counted = risk.head_times[risk.head_offsets[entity] : risk.head_offsets[entity + 1]].tolist()
    for mark in line.heads:
        assert (mark.time, "Y") in events
        assert mark.at_risk == (mark.time + origin in counted)
        on = reference.phi_of_rows(rows, feature, entity, mark.time + origin) > 0
        assert mark.while_on == (on and mark.at_risk)
    for low, high in line.at_risk:
        assert line.start <= low < high <= line.stop
    for stretch in line.counting:
        middle = 0.5 * (stretch.start + stretch.stop) + origin
        assert reference.phi_of_rows(rows, feature, entity, middle) > 0
    assert line.start <= min(t for t, _ in match)
    assert line.stop >= line.completed
    kernel = feature.kernel
    until = line.completed + origin + (FADED / kernel.rate if kernel.name == "decay" else kernel.width)
    after = [t for t in counted if line.completed + origin < t <= until]
    assert line.followed == len(after)
    assert line.first_after == (pytest.approx(after[0] - origin - line.completed) if after else None)
    assert line.as_said == (bool(after) == (rule.sign > 0))


@pytest.mark.parametrize("kernel", ["step", "window(5)"])
def test_three_are_as_the_rule_says_and_one_is_an_exception(kernel: str) -> None:
    log = simulated(kernel=kernel)
    for text, sign in (("Y <- A < B", 1), ("Y <-| C", -1)):
        found = pictured(log, text, kernel)
        assert [line.as_said for line in found] == [True, True, True, False]
        for line in found:
            assert (line.followed > 0) == (line.as_said if sign > 0 else not line.as_said)
            while_on = [mark.time for mark in line.heads if mark.while_on and mark.time > line.completed]
            assert bool(while_on) == (line.followed > 0)
            if while_on:
                assert line.first_after == pytest.approx(while_on[0] - line.completed)
        assert len({line.entity for line in found[:3]}) == 3


def test_the_same_log_gives_the_same_pictures() -> None:
    assert pictured(simulated(), "Y <- A < B") == pictured(simulated(), "Y <- A < B")


def test_clear_pictures_are_preferred() -> None:
    """The first entity has a hundred other events of A, the second one."""
    crowd = [1 + k / 1000 for k in range(100)]
    log = EventLog.from_columns(
        ["a"] * 102 + ["b"] * 3, [*crowd, 3.0, 4.0, 1.0, 3.0, 4.0], ["A"] * 100 + ["B", "Y", "A", "B", "Y"],
        periods=(0.0, 10.0),
    )  # fmt: skip
    first, second = pictured(log, "Y <- A < B")[:2]
    assert (first.entity, second.entity) == ("b", "a")
    lane = second.lanes[0]
    assert (len(lane.matched), len(lane.others), lane.hidden) == (1, MOST_MARKS, 99 - MOST_MARKS)
    assert lane.others == tuple(crowd[-1 - MOST_MARKS : -1])  # those nearest to the completion


def test_a_rule_of_statics_has_no_picture() -> None:
    log = EventLog.from_columns(["a", "b"], [1.0, 2.0], ["Y", "Y"], periods=(0.0, 10.0), static={"a": ["Old"]})
    assert pictured(log, "Y <- Old") == []


def test_a_fading_rule_fades_in_its_picture() -> None:
    log = EventLog.from_columns(["a", "a", "b"], [1.0, 2.0, 2.0], ["A", "Y", "Y"], periods=(0.0, 100.0))
    (line,) = pictured(log, "Y <- A", "decay(0.5)")
    assert [(stretch.start, stretch.stop) for stretch in line.counting] == [(1, 2), (2, 3), (3, 5), (5, 7)]
    assert [round(stretch.value, 3) for stretch in line.counting] == [1.0, 0.607, 0.368, 0.135]
