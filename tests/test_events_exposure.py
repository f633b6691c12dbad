"""When a head can happen: against a state machine, and by hand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_events as reference
from chronorule.errors import DataError, OptionError, UnknownPredicateError
from chronorule.events import EventLog, Exposure, Head, exposure

HEADS = [
    Head("Y"),
    Head("Y", terminal=True),
    Head("Y", reset_by="P"),
    Head("Y", reset_by="P", at_risk_from_start=False),
    Head("P", reset_by="Y"),
]


def log_of(*instants: tuple[float, str], period: tuple[float, float] = (0.0, 10.0)) -> EventLog:
    entity, time, event = ["a"] * len(instants), [t for t, _ in instants], [p for _, p in instants]
    return EventLog.from_columns(entity, time, event, periods={"a": period}, predicates=["A", "P", "Y"])


def intervals(result: Exposure) -> list[tuple[float, float]]:
    return list(zip(result.start.tolist(), result.stop.tolist(), strict=True))


def test_recurrent_head_is_at_risk_over_the_period_and_counts_at_its_end() -> None:
    result = exposure(log_of((0, "Y"), (3, "Y"), (10, "Y"), (11, "Y")), "Y")
    assert intervals(result) == [(0, 10)]
    assert result.head_times.tolist() == [3, 10]
    assert (result.before_start, result.after_stop, result.not_at_risk, result.outside) == (1, 1, 0, 2)
    assert result.total() == 10
    assert result.period_start.tolist() == [0]


def test_terminal_head_ends_exposure_at_its_first_occurrence() -> None:
    result = exposure(log_of((3, "Y"), (5, "Y")), Head("Y", terminal=True))
    assert intervals(result) == [(0, 3)]
    assert result.head_times.tolist() == [3]
    assert result.not_at_risk == 1


@pytest.mark.parametrize("when", [-1.0, 0.0])
def test_terminal_head_in_the_history_leaves_no_exposure(when: float) -> None:
    result = exposure(log_of((when, "Y"), (5, "Y")), Head("Y", terminal=True))
    assert intervals(result) == []
    assert result.n_heads == 0
    assert (result.before_start, result.not_at_risk) == (1, 1)


def test_terminal_head_after_the_period_changes_nothing() -> None:
    result = exposure(log_of((12, "Y")), Head("Y", terminal=True))
    assert intervals(result) == [(0, 10)]
    assert (result.n_heads, result.after_stop) == (0, 1)


def test_reset_head_is_off_from_an_occurrence_until_the_next_reset() -> None:
    result = exposure(log_of((1, "P"), (2, "Y"), (3, "Y"), (4, "P"), (5, "P"), (6, "Y")), Head("Y", reset_by="P"))
    assert intervals(result) == [(0, 2), (4, 6)]
    assert result.head_times.tolist() == [2, 6]
    assert result.not_at_risk == 1


def test_head_and_reset_at_one_instant_count_the_head_then_reset() -> None:
    result = exposure(log_of((2, "Y"), (2, "P"), (4, "Y")), Head("Y", reset_by="P"))
    assert intervals(result) == [(0, 4)]
    assert result.head_times.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("history", "expected"),
    [([], [(5, 10)]), ([(-1, "P")], [(0, 10)]), ([(0, "P")], [(0, 10)]), ([(-2, "P"), (-1, "Y")], [(5, 10)])],
)
def test_history_decides_the_state_at_the_start(
    history: list[tuple[float, str]], expected: list[tuple[float, float]]
) -> None:
    head = Head("Y", reset_by="P", at_risk_from_start=False)
    assert intervals(exposure(log_of(*history, (5, "P")), head)) == expected


def test_entities_without_events_are_exposed_unless_not_at_risk_from_the_start() -> None:
    log = EventLog.from_columns(["a"], [1], ["Y"], periods={"z": (0, 4), "a": (0, 2)}, predicates=["Y", "P"])
    assert intervals(exposure(log, "Y")) == [(0, 4), (0, 2)]
    assert intervals(exposure(log, Head("Y", reset_by="P"))) == [(0, 4), (0, 1)]
    assert exposure(log, Head("Y", reset_by="P", at_risk_from_start=False)).total() == 0


def test_default_period_takes_the_first_event_as_history() -> None:
    with pytest.warns(UserWarning, match="first event"):
        log = EventLog.from_columns(["a", "a", "b"], [1, 3, 2], ["Y", "Y", "Y"])
    result = exposure(log, "Y")
    assert result.before_start == 2
    assert intervals(result) == [(1, 3)]
    assert result.offsets.tolist() == [0, 1, 1]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 9), st.sampled_from("AYP")), max_size=40),
    st.lists(st.tuples(st.integers(-3, 8), st.integers(0, 6)), min_size=4, max_size=4),
    st.sampled_from(HEADS),
)
def test_exposure_equals_the_state_machine(
    rows: list[tuple[int, int, str]], spans: list[tuple[int, int]], head: Head
) -> None:
    periods = {str(c): (float(start), float(start + length)) for c, (start, length) in enumerate(spans)}
    log = EventLog.from_columns(
        [c for c, _, _ in rows],
        [t for _, t, _ in rows],
        [p for _, _, p in rows],
        periods=periods,
        predicates=list("PYA"),
    )
    result = exposure(log, head)
    expected = reference.exposure(log, head)
    for c, twin in enumerate(expected):
        mine = slice(result.offsets[c], result.offsets[c + 1])
        heads = slice(result.head_offsets[c], result.head_offsets[c + 1])
        assert list(zip(result.start[mine].tolist(), result.stop[mine].tolist(), strict=True)) == twin.intervals
        assert result.head_times[heads].tolist() == twin.heads
    for reason in ("before_start", "after_stop", "not_at_risk"):
        assert getattr(result, reason) == sum(getattr(twin, reason) for twin in expected)
    assert result.outside + result.n_heads == int((log.codes == log.code(head.name)).sum())
    assert (result.start < result.stop).all()


def test_exposure_arrays_are_read_only() -> None:
    result = exposure(log_of((1, "Y")), "Y")
    for risk in (result, pickle.loads(pickle.dumps(result))):
        with pytest.raises(ValueError, match="read-only"):
            risk.start[0] = 5


def test_unknown_head_is_answered_with_the_names_near_it() -> None:
    log = EventLog.from_columns(["a"], [1], ["LowUrine"], periods=(0, 2))
    with pytest.raises(UnknownPredicateError, match='no predicate "LowUrin"; did you mean "LowUrine"'):
        exposure(log, "LowUrin")
    with pytest.raises(UnknownPredicateError, match='"Xyz"; it has "LowUrine"'):
        exposure(log, "Xyz")


def test_static_head_or_reset_is_refused() -> None:
    log = EventLog.from_columns(["a"], [1], ["Y"], periods=(0, 2), static={"a": ["Old"]})
    with pytest.raises(DataError, match='head "Old" is a static predicate, which never happens'):
        exposure(log, "Old")
    with pytest.raises(DataError, match='reset "Old" is a static predicate'):
        exposure(log, Head("Y", reset_by="Old"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, "names no predicate"),
        ({"name": "Y", "terminal": True, "reset_by": "P"}, "both terminal and reset"),
        ({"name": "Y", "reset_by": "Y"}, "reset by itself"),
        ({"name": "Y", "at_risk_from_start": False}, "not at risk from the start and nothing is named"),
    ],
)
def test_heads_that_contradict_themselves_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Head(**options)  # type: ignore[arg-type]


def test_heads_that_happen_once_or_until_a_reset_end_their_own_exposure() -> None:
    assert [head.ends_own_exposure for head in (Head("Y"), Head("Y", terminal=True), Head("Y", reset_by="P"))] == [
        False,
        True,
        True,
    ]


def test_shifting_time_shifts_the_exposure() -> None:
    instants = [(1.0, "P"), (2.0, "Y"), (3.0, "P"), (4.0, "Y")]
    head = Head("Y", reset_by="P")
    here = exposure(log_of(*instants), head)
    there = exposure(log_of(*[(t + 64, p) for t, p in instants], period=(64, 74)), head)
    np.testing.assert_array_equal(here.start + 64, there.start)
    np.testing.assert_array_equal(here.head_times + 64, there.head_times)
