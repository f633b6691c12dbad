"""Building a log from columns: order, codes, ticks, periods, groups, static predicates, refusals."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_events as reference
from chronorule.errors import DataError, DataWarning, OptionError, UnknownPredicateError
from chronorule.events import EventLog, LogNotes
from chronorule.events.tables import snap
from chronorule.kernels.sorting import sort_events


def build(**changes: Any) -> EventLog:
    columns: dict[str, Any] = {
        "entity": ["b", "a", "b", "b"],
        "time": [3.0, 1.0, 2.0, 2.0],
        "event": ["Y", "X", "Y", "X"],
        "periods": (0.0, 5.0),
    }
    columns |= changes
    return EventLog.from_columns(columns.pop("entity"), columns.pop("time"), columns.pop("event"), **columns)


def test_columns_in_any_order_become_a_sorted_log() -> None:
    log = build()
    assert log.entities == ("b", "a")
    assert log.predicates == ("X", "Y")
    assert reference.events_of(log) == {"b": [(2, "X"), (2, "Y"), (3, "Y")], "a": [(1, "X")]}
    assert (log.n_entities, log.n_events, log.n_predicates, log.n_groups) == (2, 4, 2, 2)
    assert (log.start.tolist(), log.stop.tolist()) == ([0, 0], [5, 5])
    assert (log.offsets.dtype, log.times.dtype, log.codes.dtype) == (np.int64, np.float64, np.int32)
    assert not log.has_groups
    assert log.groups == log.entities
    assert "2 entities, 4 events, 2 predicates" in repr(log)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(0, 3)), max_size=200),
    st.integers(1, 5),
)
def test_sorting_equals_sets(rows: list[tuple[int, int, int]], run: int) -> None:
    columns = np.array(rows, np.float64).reshape(-1, 3).T
    entity, time, code = columns[0].astype(np.int32), columns[1].copy(), columns[2].astype(np.int32)
    offsets, times, codes = sort_events(entity, time, code, 5, run)
    expected = reference.sorted_events(zip(entity.tolist(), time.tolist(), code.tolist(), strict=True), 5)
    assert offsets.tolist() == [0, *np.cumsum([len(pairs) for pairs in expected]).tolist()]
    pairs = [pair for pairs in expected for pair in pairs]
    assert list(zip(times.tolist(), codes.tolist(), strict=True)) == pairs


def test_one_long_entity_in_reverse_is_sorted() -> None:
    n = 5_000
    log = EventLog.from_columns(["a"] * n, np.arange(n)[::-1], ["X", "Y"] * (n // 2), periods=(0, n))
    assert log.times.tolist() == list(range(n))


def test_duplicates_collapse_and_are_counted() -> None:
    log = build(entity=["a"] * 4, time=[1, 1, 1, 2], event=["X", "Y", "X", "X"])
    assert log.n_events == 3
    assert (log.notes.rows, log.notes.duplicates) == (4, 1)


def test_arrays_are_read_only_also_after_pickling() -> None:
    log = build(static={"a": ["Old"]})
    again = pickle.loads(pickle.dumps(log))
    assert again.equals(log)
    for one in (log, again):
        for name in ("offsets", "times", "codes", "start", "stop", "static_codes", "statics", "group"):
            assert not getattr(one, name).flags.writeable


def test_the_callers_arrays_stay_the_callers() -> None:
    time = np.array([1.0, 2.0])
    log = EventLog.from_columns(["a", "a"], time, ["X", "Y"], periods=(0, 3))
    time[0] = 9.0
    assert log.times.tolist() == [1, 2]


def test_names_may_be_text_or_whole_numbers_and_mix() -> None:
    log = EventLog.from_columns([7, "7", 8.0, "NA", "null", "é à 中"], range(6), ["a b"] * 6, periods=(0, 9))
    assert log.entities == ("7", "8", "NA", "null", "é à 中")
    assert EventLog.from_columns(np.array([20, 3, 20]), [1, 2, 3], ["X"] * 3, periods=(0, 9)).entities == ("20", "3")


def test_code_entity_and_statics_are_found_by_name() -> None:
    log = build(static={"a": ["Old"]})
    assert [log.predicates[log.code(name)] for name in ("Old", "X")] == ["Old", "X"]
    assert log.is_static(log.code("Old"))
    assert not log.is_static(log.code("X"))
    assert log.entity("a") == 1
    with pytest.raises(UnknownPredicateError, match='no predicate "x"'):
        log.code("x")
    with pytest.raises(DataError, match='no entity "zz"; its entities begin "b", "a"'):
        log.entity("zz")
    with pytest.raises(DataError, match="did you mean"):
        EventLog.from_columns(["patient-1"], [1], ["X"], periods=(0, 2)).entity("patient-2")


def test_vocabulary_may_be_given_in_its_order() -> None:
    log = build(predicates=["Z", "Y", "X"])
    assert log.predicates == ("Z", "Y", "X")
    assert reference.events_of(log)["b"] == [(2, "Y"), (2, "X"), (3, "Y")]
    with pytest.raises(DataError, match='1 predicate of the data \\("X"\\) is missing from the vocabulary'):
        build(predicates=["Y"])
    with pytest.raises(DataError, match="names one twice or holds what is no name"):
        build(predicates=["X", "Y", "X"])
    for none in (3, "XYZ", [["X"], ["Y"]]):
        with pytest.raises(DataError, match="or holds what is no name; list each once, as text"):
            build(predicates=none)


class TestResolution:
    def test_times_and_periods_snap_to_ticks(self) -> None:
        log = build(time=[3.26, 0.9, 2.0, 1.99], resolution=0.5, periods=(0.2, 5.3))
        assert reference.events_of(log) == {"b": [(2, "X"), (2, "Y"), (3.5, "Y")], "a": [(1, "X")]}
        assert (log.start.tolist(), log.stop.tolist()) == ([0, 0], [5.5, 5.5])
        assert log.resolution == 0.5

    def test_events_that_meet_on_a_tick_collapse(self) -> None:
        log = build(entity=["a"] * 4, time=[1.1, 0.9, 1.2, 3], event=["X", "X", "Y", "X"], resolution=1.0)
        assert reference.events_of(log)["a"] == [(1, "X"), (1, "Y"), (3, "X")]
        assert log.notes.duplicates == 1

    @given(
        st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20),
        st.floats(1e-3, 1e6),
    )
    def test_rounding_is_monotone_idempotent_and_near(self, times: list[float], resolution: float) -> None:
        values = np.sort(np.array(times))
        ticks = snap(values, resolution)
        assert (np.diff(ticks) >= 0).all()
        np.testing.assert_array_equal(snap(ticks, resolution), ticks)
        rounding = 4 * np.finfo(float).eps * np.abs(values)  # a quotient, a product and a sum, each half an ulp
        assert (np.abs(ticks - values) <= resolution / 2 + rounding).all()

    @pytest.mark.parametrize("resolution", [-1.0, float("nan"), float("inf"), "1", None])
    def test_sizes_that_are_none_are_refused(self, resolution: Any) -> None:
        with pytest.raises(OptionError, match="is no size of a tick"):
            build(resolution=resolution)


class TestPeriods:
    def test_default_is_first_to_last_event_with_a_warning_at_the_callers_line(self) -> None:
        with pytest.warns(DataWarning, match="informative and biases every rate upward") as caught:
            log = build(periods=None, static={"z": ["Old"]})
        assert caught[0].filename == __file__
        assert "1 entity without events has an empty one" in str(caught[0].message)
        assert list(zip(log.entities, log.start.tolist(), log.stop.tolist(), strict=True)) == [
            ("b", 2, 3),
            ("a", 1, 1),
            ("z", 0, 0),
        ]
        assert log.notes.periods_by_default

    @pytest.mark.parametrize(
        "periods",
        [
            {"a": (0, 4), "b": (-1, 6), "c": (2, 2)},
            (["a", "b", "c"], [0, -1, 2], np.array([4, 6, 2])),
        ],
    )
    def test_periods_order_the_entities_and_may_name_some_without_events(self, periods: Any) -> None:
        log = build(periods=periods)
        assert log.entities == ("a", "b", "c")
        assert (log.start.tolist(), log.stop.tolist()) == ([0, -1, 2], [4, 6, 2])
        assert np.diff(log.offsets).tolist() == [1, 3, 0]
        assert not log.notes.periods_by_default

    def test_negative_times_and_events_outside_the_period_stay(self) -> None:
        log = build(time=[-3, 1, 99, 2])
        assert reference.events_of(log)["b"] == [(-3, "Y"), (2, "X"), (99, "Y")]

    @pytest.mark.parametrize(
        ("periods", "message"),
        [
            ({"a": (0, 5)}, r'1 entity with 3 events has no period \("b"\)'),
            ({"a": (0, 5), "b": (3, 1)}, r"1 period stops before it starts, first row 1 .*start 3, stop 1"),
            ({"a": (0, 5), "b": (float("nan"), 1)}, r"1 period has a start that is missing or not finite, first row 1"),
            ({"a": (0, 5), "b": (1, float("inf"))}, r"1 period has a stop that is missing or not finite"),
            ((["a", "b", "a"], [0, 0, 0], [1, 1, 1]), r'1 entity has more than one period, first "a" again row 2'),
            ((["a", "b"], [0], [1, 1]), "entity, start and stop of the periods differ in length"),
            ({"a": (0, 5, 6), "b": (1, 2, 3)}, r'period of "a" is .0, 5, 6., which is not'),
            ({"a": 5}, r'period of "a" is 5, which is not'),
            ({"a": ("x", 1), "b": (1, 2)}, "start column is not a flat column of numbers"),
            (("a", "b"), "start and stop column is not a flat column of numbers"),
            ([1, 2, 3], "none of .start, stop. for all"),
            ((["a", "b"], ["x", "y"], [1, 1]), "start column is not a flat column of numbers"),
        ],
    )
    def test_periods_that_cannot_be_are_refused(self, periods: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            build(periods=periods)

    def test_many_faults_are_counted(self) -> None:
        with pytest.raises(DataError, match="2 periods stop before they start, first row 0"):
            build(periods={"a": (2, 1), "b": (3, 1)})

    def test_other_periods_may_be_put_in_place(self) -> None:
        log = build(resolution=1.0)
        other = log.with_periods({"b": (0.6, 3), "a": (1, 2)})
        assert (other.start.tolist(), other.stop.tolist()) == ([1, 1], [3, 2])
        assert log.with_periods((0, 9)).stop.tolist() == [9, 9]
        with pytest.raises(DataError, match=r'1 entity that the log does not hold \("q"\)'):
            log.with_periods({"b": (0, 1), "a": (0, 1), "q": (0, 1)})
        with pytest.raises(DataError, match=r'1 entity has no period \("b"\)'):
            log.with_periods({"a": (0, 1)})


class TestGroups:
    def test_group_by_a_column_or_a_mapping(self) -> None:
        for group in (["g", "h", "g", "g"], {"a": "h", "b": "g"}):
            log = build(group=group)
            assert log.has_groups
            assert log.groups == ("g", "h")
            assert log.group.tolist() == [0, 1]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"group": ["g", "h", "i", "g"]}, r'1 entity is in more than one group, first "b" row 2 .*"i" and in "g"'),
            ({"group": {"a": "g"}}, r'1 entity has no group \("b"\)'),
            ({"group": {"a": "g", "b": "g", "q": "g"}}, r'does not hold \("q"\)'),
            ({"group": ["g", "h"]}, r"differ in length \(entity 4, time 4, event 4, group 2\)"),
            ({"group": list("ghgg"), "periods": {"a": (0, 1), "b": (0, 1), "c": (0, 1)}}, r'no group \("c"\)'),
            ({"group": ["g", None, "g", "g"]}, "1 row of the group column has no usable name, first row 1"),
        ],
    )
    def test_groups_that_cannot_be_are_refused(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(DataError, match=message):
            build(**changes)


class TestStatics:
    def test_facts_by_mapping_or_columns(self) -> None:
        for static in ({"a": ["Old", "Ill"], "b": []}, (["a", "a", "a"], ["Old", "Ill", "Old"])):
            log = build(static=static)
            assert reference.statics_of(log) == {"b": set(), "a": {"Old", "Ill"}}
            assert log.predicates == ("Ill", "Old", "X", "Y")
            assert log.statics.tolist() == [True, True, False, False]

    def test_a_static_predicate_of_nobody_selected_stays_static(self) -> None:
        log = build(static={"a": ["Old"]}).select(["b"])
        assert log.is_static(log.code("Old"))

    @pytest.mark.parametrize(
        ("static", "message"),
        [
            ({"a": ["X"]}, r'both at instants and as static \("X"; 2 events, first row 1'),
            ({"a": "Old"}, r'static predicates of "a" are .Old.; a list is needed'),
            ({"a": 5}, "a list is needed"),
            ([("a", "Old")], "neither .* nor two columns"),
            ((["a"], []), "two columns of the static predicates differ in length"),
            ({"a": [""]}, "1 row of the predicate column has no usable name, first row 0"),
            ({"q": ["Old"]}, r'1 entity .* no period \("q"\)'),
        ],
    )
    def test_facts_that_cannot_be_are_refused(self, static: Any, message: str) -> None:
        periods = {"a": (0, 5), "b": (0, 5)} if "q" in static else (0, 5)
        with pytest.raises(DataError, match=message):
            build(static=static, periods=periods)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": [1, float("nan"), 2, float("inf")]}, r"2 rows have a time .* not finite, first row 1 .*\(nan\)"),
        ({"time": [1, 2, 3, float("-inf")]}, r"1 row has a time .* first row 3 .*\(-inf\)"),
        ({"time": [1, 2]}, r"differ in length \(entity 4, time 2, event 4\)"),
        ({"time": ["1", "2", "3", "4"]}, "time column is not a flat column of numbers"),
        ({"time": [[1], [2], [3], [4]]}, "2 dimensions"),
        ({"entity": ["a", None, "b", ""]}, "1 row of the entity column has no usable name, first row 1"),
        ({"entity": ["a", 1.5, "b", "b"]}, "holds 1.5; names are text or whole numbers"),
        ({"entity": ["a", True, "b", "b"]}, "holds True"),
        ({"entity": [["a"], ["b"]]}, "2 rows of the entity column have no usable name"),
        ({"entity": np.array([["a"], ["b"]])}, "entity names has 2 dimensions"),
        ({"event": "XYXY"}, "is one text"),
        ({"entity": 3}, r"The column of entity names is one value \(3\); pass a list with a name for each row"),
        ({"event": ["X", "", "Y", ""]}, "2 rows of the event column have no usable name, first row 1"),
        ({"entity": [], "time": [], "event": []}, "The log is empty"),
        ({"time": [1e308, 1, 2, 3], "resolution": 1e-5}, "snapped time"),
        ({"time": [1, [2, 3], 4, 5]}, "time column is not a flat column of numbers"),
        (
            {"event": ["X", "a\0b", "Y", "Y"]},
            r"1 row of the event column .* holds 'a\\x00b'; .* without zero bytes",
        ),
        ({"entity": ["a", "b", "\ud800", "b"]}, r"first row 2 .* holds '\\ud800'; names are text"),
    ],
)
def test_columns_that_cannot_be_a_log_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        build(**changes)


def test_unit_must_be_a_name() -> None:
    with pytest.raises(OptionError, match="names no unit"):
        build(unit="")


def test_equals_looks_at_all_that_is_data() -> None:
    log = build()
    assert log.equals(build())
    for changes in (
        {"time": [3.0, 1.0, 2.0, 2.5]},
        {"periods": (0.0, 6.0)},
        {"group": ["g", "h", "g", "g"]},
        {"static": {"a": ["Old"]}},
        {"unit": "hours"},
        {"resolution": 1.0},
        {"predicates": ["Y", "X"]},
        {"entity": ["b", "c", "b", "b"]},
    ):
        assert not log.equals(build(**changes))


def test_numbers_have_no_dates() -> None:
    with pytest.raises(DataError, match="built from numbers"):
        build().dates([1.0])


def test_whole_numbers_that_lose_digits_are_reported() -> None:
    with pytest.warns(
        DataWarning, match=r"1 row holds a whole number beyond 2\^53 in the time column, .*first row 1"
    ) as seen:
        log = EventLog.from_columns(["a", "a"], [2**60, 2**60 + 1], ["X", "X"], periods=(0, 2.0**61))
    assert seen[0].filename == __file__
    assert log.notes.duplicates == 1
    exact = EventLog.from_columns(["a", "a"], [2**60, 2**60 + 256], ["X", "X"], periods=(0, 2.0**61))
    assert exact.times.tolist() == [2.0**60, 2.0**60 + 256]


@pytest.mark.parametrize(
    "changes",
    [
        {"periods": (-1e308, 1.7e308)},
        {"periods": (0.0, 1e300), "resolution": 1e-10},
        {"time": [-1e308, 1.0, 1.7e308, 2.0], "periods": None},
    ],
)
def test_periods_without_end_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r'has a length beyond the largest number there is, first that of "b" \('):
        build(**{"event": ["X"] * 4, "entity": ["b"] * 4} | changes)


def test_masked_values_are_missing() -> None:
    with pytest.raises(DataError, match=r"1 row has a time that is missing or not finite, first row 2"):
        build(time=np.ma.array([3, 1, 2, 2], mask=[0, 0, 1, 0]))
    with pytest.raises(DataError, match=r"1 row of the entity column has no usable name, first row 2.* holds None"):
        build(entity=np.ma.array([3, 1, 2, 2], mask=[0, 0, 1, 0]))


def test_a_long_name_that_is_unknown_is_answered_briefly() -> None:
    names = [f"{i:04}{'x' * 1000}" for i in range(500)]
    log = EventLog.from_columns(names, np.arange(500), names, periods=(0, 500))
    asked = "0007" + "x" * 999 + "y"
    with pytest.raises(UnknownPredicateError, match="did you mean") as unknown:
        log.code(asked)
    assert len(str(unknown.value)) < 400
    with pytest.raises(DataError, match="did you mean") as missing:
        log.entity(asked)
    assert len(str(missing.value)) < 400


def test_a_log_without_predicates_says_so() -> None:
    with pytest.raises(UnknownPredicateError, match=r'no predicate "Y"; it has none at all\.'):
        EventLog.from_columns([], [], [], periods={"a": (0, 1)}).code("Y")


@pytest.mark.parametrize("time", [np.nan, np.inf, 1e300])
def test_times_without_a_date_are_refused(time: float) -> None:
    log = replace(build(unit="hours"), notes=LogNotes(origin="2020-01-01T00:00:00"))
    assert log.dates([1.5]) == np.datetime64("2020-01-01T01:30")
    with pytest.raises(DataError, match=r"^1 time lies beyond all dates, first (nan|inf|1e\+300) \(hours from 2020"):
        log.dates([1.0, time])
