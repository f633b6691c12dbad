"""Times of every kind on one axis."""

from __future__ import annotations

import warnings
from datetime import UTC, date, datetime, time, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronorule.errors import DataError, DataWarning, OptionError
from chronorule.events import EventLog
from chronorule.io import clock, read_events
from chronorule.io.clock import Times, place, read_times


def read(times: Any, **options: Any) -> EventLog:
    """One entity, one event for each time, named in order so that none is lost."""
    n = len(times)
    column = times if isinstance(times, pa.Array | pa.ChunkedArray) else pa.array(times)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No observation periods")
        return read_events({"entity": ["a"] * n, "time": column, "event": [f"e{i}" for i in range(n)]}, **options)


def read_csv(path: Path, times: list[str], **options: Any) -> EventLog:
    path.write_text("entity,time,event\n" + "".join(f"a,{t},e{i}\n" for i, t in enumerate(times)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No observation periods")
        return read_events(path, **options)


@pytest.mark.parametrize(
    "times",
    [
        pa.array([datetime(2020, 1, 2, 3), datetime(2020, 1, 2, 4, 30)], pa.timestamp(unit))
        for unit in ("s", "ms", "us", "ns")
    ]
    + [
        pa.array(["2020-01-02T03:00:00", "2020-01-02 04:30"]),
        pa.array([" 2020-01-02T03 ", "2020-01-02T04:30:00.000000000"]),
        pa.array(["20200102T030000", "20200102T043000.000000000"]),
        pa.array(["20200102T03", "20200102T0430"]),
        pa.array(["2020-01-02T03:00:00", "20200102T0430"]),
    ],
)
def test_timestamps_count_from_the_midnight_before_the_first(times: pa.Array) -> None:
    log = read(times)
    assert log.times.tolist() == [3, 4.5]
    assert log.unit == "hours"
    assert log.notes.origin == "2020-01-02T00:00:00"
    assert log.dates(log.times).tolist() == [datetime(2020, 1, 2, 3), datetime(2020, 1, 2, 4, 30)]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("weeks", 1 / 7),
        ("days", 1.0),
        ("hour", 24.0),
        ("Minutes", 1440.0),
        ("seconds", 86400.0),
        ("milliseconds", 86400e3),
        ("microseconds", 86400e6),
    ],
)
@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns")])
def test_units(unit: str, expected: float, kind: pa.DataType) -> None:
    log = read(pa.array([date(1969, 12, 30), date(1969, 12, 31)], pa.date32()).cast(kind), unit=unit)
    assert log.times.tolist() == [0, expected]
    assert log.notes.origin == "1969-12-30T00:00:00"


def test_nanoseconds_survive_because_integers_are_subtracted_first() -> None:
    base = int(np.datetime64("2024-05-05T00:00:01", "ns").astype(np.int64))
    log = read(pa.array([base, base + 1, base + 2], pa.timestamp("ns")), unit="seconds")
    assert np.unique(log.times).size == 3
    np.testing.assert_allclose(np.diff(log.times), 1e-9, rtol=1e-6)  # half an ulp of 1 s is 1.1e-16


def test_zones_become_utc(tmp_path: Path) -> None:
    plus_two = timezone(timedelta(hours=2))
    aware = [datetime(2020, 1, 2, 3, tzinfo=UTC), datetime(2020, 1, 2, 6, tzinfo=plus_two)]
    for log in (
        read(pa.array(aware, pa.timestamp("us", "Europe/Berlin"))),
        read([moment.isoformat() for moment in aware]),
        read(["2020-01-02T03Z", "2020-01-02 06:00:00+0200"]),
        read(["20200102T030000Z", "20200102T060000+0200"]),
        read(["20200102T03Z", "20200102T0600+02:00"]),
        read_csv(tmp_path / "e.csv", ["20200102T030000Z", "20200102T060000+02"]),
        read_csv(tmp_path / "e.csv", ["2020-01-02T03:00:00Z", "2020-01-02T06:00:00+02:00"]),
        read_csv(
            tmp_path / "e.csv", ["2020-01-02 03:00 +0000", "2020-01-02 06:00 +0200"], time_format="%Y-%m-%d %H:%M %z"
        ),
    ):
        assert log.times.tolist() == [3, 4]
        assert log.notes.origin == "2020-01-02T00:00:00+00:00"


def test_zones_here_and_none_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'1 row has no time zone in column "time", first row 1 .* the others have one'):
        read(["2020-01-02T03:00:00Z", "2020-01-02T06:00:00", "2020-01-02T06:00:00Z"])
    with pytest.raises(DataError, match=r"1 row has no time zone .* the others have one"):
        read(["20200102T03Z", "20200102T06", "20200102T060000Z"])
    with pytest.raises(DataError, match=r'1 row has a time zone in column "time", first in line 4'):
        read_csv(tmp_path / "e.csv", ["2020-01-02T03:00:00", "2020-01-02T06:00:00", "2020-01-02T06:00:00Z"])


@pytest.mark.parametrize(
    ("texts", "hours"),
    [
        (["02:30", "26:15:36"], [2.5, 26.26]),
        (["0:00:36.5", "-1:00:00"], [36.5 / 3600, -1]),
        (["1 days 02:30:00", "3 days", "1 day, 0:30:00"], [26.5, 72, 24.5]),
        (["-1 day, 23:00:00", "-1 days +22:30:00"], [-1, -1.5]),
        (["PT2H30M", "P1DT36S", "-PT1H", "P1W", "PT0.5S"], [2.5, 24.01, -1, 168, 0.5 / 3600]),
        (["PT1.5H", "PT1H7,5M", "-P0.5D", "P1.25W", "P1DT0.25H"], [1.5, 1.125, -12, 210, 24.25]),
        (["PT0.3333333333333333H", "PT1.000000001S"], [1 / 3, 1.000000001 / 3600]),
    ],
)
def test_durations_as_text(tmp_path: Path, texts: list[str], hours: list[float]) -> None:
    quoted = [f'"{text}"' for text in texts]
    for log in (read(texts), read_csv(tmp_path / "e.csv", quoted)):
        np.testing.assert_allclose(np.sort(hours), log.times, rtol=1e-15)
        assert log.unit == "hours"
        assert log.notes.origin is None


@pytest.mark.parametrize(
    "times",
    [
        pa.array([timedelta(hours=1), timedelta(minutes=90)], pa.duration("s")),
        pa.array([timedelta(hours=1), timedelta(minutes=90)], pa.duration("ns")),
        pa.array([time(1), time(1, 30)], pa.time32("s")),
        pa.array([time(1), time(1, 30)], pa.time64("us")),
        pa.array([(0, 0, 3600 * 10**9), (0, 0, 5400 * 10**9)], pa.month_day_nano_interval()),
    ],
)
def test_durations_of_every_type(times: pa.Array) -> None:
    assert read(times, unit="minutes").times.tolist() == [60, 90]


def test_months_have_no_length() -> None:
    with pytest.raises(DataError, match=r'"time" counts months row 0 .*, which differ in length'):
        read(pa.array([(1, 0, 0)], pa.month_day_nano_interval()))


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1", "-2.5", "1e3", "+.5"], [1, -2.5, 1000, 0.5]),
        (["10", "9"], [10, 9]),
    ],
)
def test_numbers_as_text(texts: list[str], numbers: list[float]) -> None:
    assert read(texts).times.tolist() == sorted(numbers)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint32(), pa.float32(), pa.decimal128(9, 2)])
def test_numbers_of_every_type(kind: pa.DataType) -> None:
    from decimal import Decimal

    values = [Decimal(3), Decimal(1)] if pa.types.is_decimal(kind) else [3, 1]
    assert read(pa.array(values, kind), unit="steps").times.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["2020-01-02", "2020-02-30"], 'holds "2020-02-30" row 1 .* is no valid timestamp, as the 1 before'),
        (["2020-13-01"], r'holds "2020-13-01" row 0 .*, which is no valid timestamp; correct'),
        (["2020-01-02", "5"], 'holds "5" row 1'),
        (["20200102T0300", "20200230T0300"], 'holds "20200230T0300" row 1 .* is no valid timestamp, as the 1 before'),
        (["20200102T0300", "20200102T03:00"], 'holds "20200102T03:00" row 1 .* is no valid timestamp'),
        (["PT1.5H", "PT1.5H30M"], 'holds "PT1.5H30M" row 1 .* is no valid duration'),
        (["PT1H", "PT0.0000000001S"], "row 1 .* is no valid duration"),
        (["5", "2020-01-02"], 'holds "2020-01-02" row 1 .* no valid number'),
        (["1", ""], 'holds "" row 1'),
        (["", "1"], 'holds "" row 0'),
        (["1,5", "2"], 'holds "1,5" row 0 .* no number, no ISO timestamp'),
        (["2:30", "later"], 'holds "later" row 1 .* no valid duration'),
        (["22.10.2014 11:15", "x"], 'say how to read it: time_format="%d.%m.%Y %H:%M"'),
        (["03/04/2020"], 'time_format="%d/%m/%Y" or time_format="%m/%d/%Y"'),
        (pa.array([True]), "has type bool, which is no time"),
        (pa.array([None], pa.null()), "1 row holds no time"),
        (pa.array([[1]]), "which is no time"),
        (["nan"], "missing or not finite"),
    ],
)
def test_times_that_are_none_are_refused(times: Any, message: str) -> None:
    n = len(times)
    with pytest.raises(DataError, match=message):
        read_events({"entity": ["a"] * n, "time": times, "event": ["X"] * n})


FORMATS = ["%Y/%m/%d %H:%M:%S.%f", "%d.%m.%Y %H:%M", "%m-%d-%Y", "%Y%m%d%H%M%S", "%H:%M %d %b %Y", "(%y) %j [%I %p]"]


@given(
    st.lists(st.datetimes(datetime(1970, 1, 1), datetime(2060, 1, 1)), min_size=1, max_size=8),
    st.sampled_from(FORMATS),
)
def test_formats_agree_with_strptime(moments: list[datetime], form: str) -> None:
    texts = [moment.strftime(form) for moment in moments]
    times = read_times(pa.chunked_array([texts]), "t", str, form)
    expected = [(datetime.strptime(text, form) - datetime(1970, 1, 1)) // timedelta(microseconds=1) for text in texts]
    assert (times.values * (1_000_000 // times.per_second)).tolist() == expected
    assert not times.zoned


def test_formats_take_what_strptime_takes_and_refuse_what_it_refuses() -> None:
    assert read(["2020/1/2"], time_format="%Y/%m/%d").notes.origin == "2020-01-02T00:00:00"
    assert read(pa.array([20200102]), time_format="%Y%m%d").notes.origin == "2020-01-02T00:00:00"
    for bad in ("2020/02/30", "2020-02-03", "20/02/03", "2020/02/03 x"):
        with pytest.raises(DataError, match="does not fit time_format"):
            read(["2020/02/03", bad], time_format="%Y/%m/%d")
    with pytest.raises(OptionError, match=r"already has type timestamp\[us\]; leave time_format out"):
        read([datetime(2020, 1, 1)], time_format="%Y")
    with pytest.raises(OptionError, match="time_format=3 is no format; give text with signs such as"):
        read(["2020/02/03"], time_format=3)


def test_mixed_precision_in_a_csv_file(tmp_path: Path) -> None:
    log = read_csv(tmp_path / "e.csv", ["2514-01-02 03:00", "2514-01-02 04:30:00.5", "2514-01-03"], unit="minutes")
    np.testing.assert_allclose(log.times, [180, 270 + 0.5 / 60, 1440], rtol=1e-15)


def test_ticks_of_an_hour_are_those_of_the_clock() -> None:
    log = read(["2020-01-02T03:20:00", "2020-01-02T03:40:00"], resolution=1.0)
    assert log.times.tolist() == [3, 4]


@pytest.mark.parametrize("unit", ["microseconds", "hours", "weeks"])
def test_one_instant_is_one_number_whatever_the_precision_of_its_column(unit: str) -> None:
    microseconds = np.random.default_rng(7).integers(0, 3 * 10**15, 2_000)  # up to 95 years, 3e18 nanoseconds
    columns = {
        "event": Times("timestamp", np.sort(microseconds) * 1000, 10**9, name="event"),
        "stop": Times("timestamp", np.sort(microseconds), 10**6, name="stop"),
        "later": Times("timestamp", np.sort(microseconds) * 1000 + 1, 10**9, name="later"),
    }
    placed, _, _ = place(columns, unit)
    assert (placed["event"] == placed["stop"]).all()
    assert (placed["later"] >= placed["stop"]).all()
    size = {"microseconds": 1, "hours": 3_600_000_000, "weeks": 604_800_000_000}[unit]
    origin = int(microseconds.min()) // 86_400_000_000 * 86_400_000_000
    exact = [float(Fraction(int(moment) - origin, size)) for moment in np.sort(microseconds)]
    np.testing.assert_allclose(placed["stop"], exact, rtol=3e-16)  # one rounding of the quotient, one of the sum


def test_spans_beyond_what_an_integer_of_nanoseconds_holds() -> None:
    kind = pa.timestamp("ns")
    century = pa.array(np.array(["1700-01-01", "2200-01-01T06:00"], "M8[ns]"), kind)
    table = {"entity": ["a", "a"], "time": century, "event": ["X", "X"]}
    log = read_events(table, periods={"entity": ["a"], "start": [datetime(1, 1, 1)], "stop": [datetime(9999, 12, 31)]})
    days = [(datetime(1700, 1, 1) - datetime(1, 1, 1)).days, (datetime(2200, 1, 1) - datetime(1, 1, 1)).days + 0.25]
    assert log.times.tolist() == [24 * day for day in days]
    assert log.start.tolist() == [0]
    assert log.stop.tolist() == [24 * (datetime(9999, 12, 31) - datetime(1, 1, 1)).days]


def test_the_least_of_all_nanoseconds_is_a_moment() -> None:
    """-2^63 ns: 1677-09-21T00:12:43.145224192, whose midnight has no such number."""
    times = pa.array([-(2**63), -(2**63) + 1, -(2**63) + 10**9], pa.timestamp("ns"))
    log = read(times, unit="seconds")
    np.testing.assert_allclose(log.times, [763.145224192, 763.145224193, 764.145224192], rtol=0, atol=2e-13)
    assert log.notes.origin == "1677-09-21T00:00:00"


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (
            pa.array([0, 2**62]).cast(pa.timestamp("s")),
            r'^1 row lies outside the years 1 to 9999 in column "time", first row 1 \(counting from 0\); correct',
        ),
        (pa.array([-(2**31), -(2**30)], pa.int32()).cast(pa.date32()), "2 rows lie outside the years 1 to 9999"),
        (
            pa.array(["9999-12-31T00:00:00", "2020-01-01T00:00:00.123456789"]),
            "finer than a microsecond beside dates before 1678 or after 2261",
        ),
        (pa.DictionaryArray.from_arrays([0, 1], pa.array([datetime(2020, 1, 1), None])), "1 row holds no time"),
        (pa.DictionaryArray.from_arrays([0, 1], pa.array([1.0, None])), "1 row holds no time"),
    ],
)
def test_dates_that_cannot_be_are_refused(times: pa.Array, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_events({"entity": ["a", "b"], "time": times, "event": ["X", "X"]})


def test_whole_numbers_that_lose_digits_are_reported() -> None:
    moments = [1_700_000_000_000_000_000, 1_700_000_000_000_000_001]
    table = {"entity": ["a", "b"], "time": moments, "event": ["X", "X"]}
    periods = {"entity": ["a", "b"], "start": [0, 0], "stop": [2.0**62, 2.0**62]}
    with pytest.warns(
        DataWarning, match=r'1 row holds a whole number beyond 2\^53 in column "time".* first row 1'
    ) as seen:
        read_events(table, periods=periods)
    assert seen[0].filename == __file__


def test_a_bad_time_far_down_is_found_without_converting_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    numbers = clock._numbers

    def counted(column: pa.ChunkedArray) -> Times:
        nonlocal calls
        calls += 1
        return numbers(column)

    monkeypatch.setattr(clock, "_numbers", counted)
    with pytest.raises(DataError, match=r'"x" row 70003 .* as the 70,003 before it are'):
        read(["1"] * 70_003 + ["x", "y"])
    assert calls < 2 * clock.CHUNK
