"""Columns of times, of whatever type, to numbers on one axis."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from numpy.typing import NDArray

from chronorule.errors import DataError, OptionError
from chronorule.events.tables import Locate, agree, floats
from chronorule.events.units import MICROSECONDS, unit_name

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf(inity)?)", re.IGNORECASE)
ZONE = r"((?:Z|[+-]\d\d(?::?\d\d)?)?)"
STAMP = re.compile(
    rf"\d{{4}}-\d\d-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{{1,9}})?)?)?{ZONE})?"
    rf"|\d{{8}}T\d\d(\d\d(\d\d(\.\d{{1,9}})?)?)?{ZONE}"  # what ISO 8601 calls basic; 20200102 is a number
)
BASIC = tuple(  # of hours, minutes and seconds: what is found, and the same with marks between its parts
    (rf"^(\d{{4}})(\d\d)(\d\d)T{clock}{ZONE}$", rf"\1-\2-\3T{marked}")
    for clock, marked in (
        (r"(\d\d)", r"\4\5"),
        (r"(\d\d)(\d\d)", r"\4:\5\6"),
        (r"(\d\d)(\d\d)(\d\d(?:\.\d{1,9})?)", r"\4:\5:\6\7"),
    )
)
CLOCK = re.compile(
    r"(?:(?P<days>[+-]?\d+) days?(?:,? )?(?=[+-]?\d|$))?"
    r"(?:(?P<sign>[+-])?(?P<hours>\d+):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d)(?:\.(?P<seconds_decimals>\d{1,9}))?)?)?"
)


def _count_of(unit: str, most: str = "") -> str:
    """So many of a unit, with at `most` so many decimals where nothing follows it, as ISO 8601 has it."""
    mark = unit[0].upper()
    return rf"(?:(?P<{unit}>\d+)(?:[.,](?P<{unit}_decimals>\d{{1,{most}}})(?={mark}\Z))?{mark})?"


ISO_DURATION = re.compile(
    rf"(?P<sign>[+-])?P(?=\d|T\d){_count_of('weeks')}{_count_of('days')}"
    rf"(?:T{_count_of('hours')}{_count_of('minutes')}{_count_of('seconds', most='9')})?"
)
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
DAY = 86_400
WEEK = 7 * DAY
SECONDS = {"weeks": WEEK, "days": DAY, "hours": 3600, "minutes": 60, "seconds": 1}
CHUNK = 10_000  # rows that are searched one by one for what could not be read
YEARS_1_TO_9999 = (-62_135_596_800, 253_402_300_799)  # in seconds since 1970
FIELDS = {
    "%Y": r"(?P<Y>\d{4})",
    "%m": r"(?P<m>\d{2})",
    "%d": r"(?P<d>\d{2})",
    "%H": r"(?P<H>\d{2})",
    "%M": r"(?P<M>\d{2})",
    "%S": r"(?P<S>\d{2})",
    "%f": r"(?P<f>\d{1,6})",
}
GUESSES = (
    "%Y/%m/%d %H:%M:%S.%f",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y",
    "%d-%b-%Y %H:%M:%S",
    "%d %b %Y %H:%M",
    "%a %b %d %H:%M:%S %Y",
    "%m/%d/%Y %I:%M:%S %p",
)


@dataclass(frozen=True, eq=False)
class Times:
    """A column of times before it is placed on an axis: plain numbers, or whole ticks of a part of a second."""

    kind: str  # "number", "timestamp" or "duration"
    values: NDArray[Any]  # float64 of numbers, int64 ticks otherwise
    per_second: int = 1
    zoned: bool = False
    name: str = ""  # of the column, for messages


def read_times(column: pa.ChunkedArray, name: str, locate: Locate, time_format: str | None = None) -> Times:
    """Recognise what kind of times a column holds; `name` is the column, for messages."""
    if time_format is not None and not isinstance(time_format, str):
        raise OptionError(f"time_format={time_format!r} is no format; give text with signs such as '%d.%m.%Y %H:%M'.")
    times = replace(_recognise(column, name, locate, time_format), name=name)
    if times.kind == "timestamp" and times.values.size:
        first, last = (bound * times.per_second for bound in YEARS_1_TO_9999)
        if int(times.values.min()) < first or int(times.values.max()) >= last + times.per_second:
            seconds = times.values // times.per_second
            bad = np.flatnonzero((seconds < YEARS_1_TO_9999[0]) | (seconds > YEARS_1_TO_9999[1]))
            raise DataError(
                f'{agree(bad.size, "row", "lies", "lie")} outside the years 1 to 9999 in column "{name}", first '
                f"{locate(int(bad[0]))}; correct these rows, or the unit in which the column was written."
            )
    return times


def _recognise(column: pa.ChunkedArray, name: str, locate: Locate, time_format: str | None) -> Times:
    if pa.types.is_dictionary(column.type) and any(chunk.dictionary.null_count for chunk in column.chunks):
        column = column.cast(column.type.value_type)  # a missing value hides behind a code that is there
    if column.null_count:
        first = int(np.argmax(compute.is_null(column).to_numpy(zero_copy_only=False)))
        rows = agree(column.null_count, "row", "holds no time", "hold no time")
        raise DataError(
            f'{rows} in column "{name}" (missing, NA or not a number), first {locate(first)}; every event happens at a '
            "time: fill these rows in or remove them, or list what has no time as static predicates."
        )
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if _is_text(kind):
        return _from_text(column, name, locate, time_format)
    if time_format is not None:
        if pa.types.is_integer(kind):
            return _from_text(column.cast(pa.string()), name, locate, time_format)
        raise OptionError(
            f'time_format="{time_format}" says how to read text, but column "{name}" already has type {kind}; '
            "leave time_format out."
        )
    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if len(column) == 0:
        return Times("number", np.empty(0))
    if pa.types.is_integer(kind):
        return Times("number", floats(column.to_numpy(), f'column "{name}"', locate))
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Times("number", column.cast(pa.float64(), safe=False).to_numpy())
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s" if pa.types.is_date32(kind) else "ms"))
        kind = column.type
    if pa.types.is_timestamp(kind):
        return Times("timestamp", _ticks(column), PER_SECOND[kind.unit], kind.tz is not None)
    if pa.types.is_duration(kind):
        return Times("duration", _ticks(column), PER_SECOND[kind.unit])
    if pa.types.is_time(kind):  # "02:30:00" without a date is so long after the beginning
        ticks = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()).cast(pa.int64())
        return Times("duration", ticks.to_numpy(), PER_SECOND[kind.unit])
    if kind == pa.month_day_nano_interval():
        return _from_intervals(column, name, locate)
    raise DataError(
        f'Column "{name}" has type {kind}, which is no time; times are numbers, timestamps, dates or durations.'
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _ticks(column: pa.ChunkedArray) -> NDArray[np.int64]:
    ticks: NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return ticks


def _from_intervals(column: pa.ChunkedArray, name: str, locate: Locate) -> Times:
    """Calendar intervals, as SQL has them; a month has no length, so none may be there."""
    parts = column.to_pylist()
    for row, part in enumerate(parts):
        if part.months:
            raise DataError(
                f'Column "{name}" counts months {locate(row)}, which differ in length; give days or a smaller unit.'
            )
    return Times("duration", np.array([p.days * DAY * 10**9 + p.nanoseconds for p in parts], np.int64), 10**9)


def _from_text(column: pa.ChunkedArray, name: str, locate: Locate, time_format: str | None) -> Times:
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    column = compute.utf8_trim_whitespace(column.cast(pa.large_string()))
    if len(column) == 0:
        return Times("number", np.empty(0))
    if time_format is not None:
        return _by_format(column, name, locate, time_format)
    first = column[0].as_py()
    if NUMBER.fullmatch(first):
        return _converted(column, name, locate, "number", NUMBER, _numbers)
    if STAMP.fullmatch(first):
        return _converted(column, name, locate, "timestamp", STAMP, partial(_stamps, name=name, locate=locate))
    for pattern in (CLOCK, ISO_DURATION):
        if first and pattern.fullmatch(first):
            convert = partial(_durations, name=name, locate=locate, pattern=pattern)
            return _converted(column, name, locate, "duration", pattern, convert)
    raise _unreadable(first, name, locate(0))


def _unreadable(text: str, name: str, where: str) -> DataError:
    found = [form for form in GUESSES if _fits(text, form)]
    if found:
        either = " or ".join(f'time_format="{form}"' for form in found[:2])
        return DataError(
            f'Column "{name}" holds "{text[:60]}" {where}, a date not written the ISO way; '
            f"say how to read it: {either}."
        )
    return DataError(
        f'Column "{name}" holds "{text[:60]}" {where}, no number, no ISO timestamp (2014-10-22T11:15:41) and no '
        "duration (1 days 02:30:00); correct the row, name another column, or pass time_format."
    )


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _converted(
    column: pa.ChunkedArray,
    name: str,
    locate: Locate,
    kind: str,
    pattern: re.Pattern[str],
    convert: Callable[[pa.ChunkedArray], Times],
) -> Times:
    """Convert at once; where that fails look for the row at fault."""
    try:
        return convert(column)
    except DataError:
        raise
    except (pa.ArrowException, ValueError, OverflowError):
        begin = _first_unfit(column, convert)
        for row, text in enumerate(column.slice(begin, CHUNK).to_pylist(), begin):
            try:
                fits = pattern.fullmatch(text) is not None and bool(text)
                if fits:
                    convert(pa.chunked_array([[text]], pa.large_string()))
            except (pa.ArrowException, ValueError, OverflowError):
                fits = False
            if not fits:
                raise _not_valid(text, name, locate, row, kind) from None
        # Each row is good alone, so no one type holds them all: nanoseconds reach from 1677 to 2262.
        raise DataError(
            f'Column "{name}" holds times finer than a microsecond beside dates before 1678 or after 2261, which have '
            "none so fine; round the former to six decimals, or correct the latter."
        ) from None


def _not_valid(text: str, name: str, locate: Locate, row: int, kind: str) -> DataError:
    others = f", as the {row:,} before it are" if row else ""
    return DataError(
        f'Column "{name}" holds "{text[:60]}" {locate(row)}, which is no valid {kind}{others}; '
        "correct the row or remove it."
    )


def _first_unfit(column: pa.ChunkedArray, convert: Callable[[pa.ChunkedArray], Times]) -> int:
    """Where the first chunk begins that cannot be converted; 0 if each can."""
    for begin in range(0, len(column), CHUNK):
        try:
            convert(column.slice(begin, CHUNK))
        except (pa.ArrowException, ValueError, OverflowError):
            return begin
    return 0


def _numbers(column: pa.ChunkedArray) -> Times:
    return Times("number", column.cast(pa.float64()).to_numpy())


def _stamps(column: pa.ChunkedArray, name: str, locate: Locate) -> Times:
    try:
        return _with_marks(column, name, locate)
    except pa.ArrowInvalid:
        for found, marked in BASIC:
            column = compute.replace_substring_regex(column, found, marked)
        return _with_marks(column, name, locate)


def _with_marks(column: pa.ChunkedArray, name: str, locate: Locate) -> Times:
    """Timestamps whose date and clock are parted by marks, which the reader of Arrow asks for."""
    zoned = compute.match_substring_regex(column, r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$").to_numpy(zero_copy_only=False)
    count = int(zoned.sum())
    if 0 < count < zoned.size:
        few = count * 2 <= zoned.size
        rows = count if few else zoned.size - count
        has, lack = ("a time zone", "none") if few else ("no time zone", "one")
        first = int(np.argmax(zoned == few))
        raise DataError(
            f'{agree(rows, "row", "has", "have")} {has} in column "{name}", first {locate(first)} '
            f'("{column[first].as_py()}"), and the others have {lack}, so their order cannot be told; '
            "give all of them a zone, or none."
        )
    zone = "UTC" if count else None
    try:
        return Times("timestamp", _ticks(column.cast(pa.timestamp("us", zone))), PER_SECOND["us"], count > 0)
    except pa.ArrowInvalid:  # more than six decimals
        return Times("timestamp", _ticks(column.cast(pa.timestamp("ns", zone))), PER_SECOND["ns"], count > 0)


def _by_unique(column: pa.ChunkedArray, convert: Callable[[str], int]) -> NDArray[np.int64]:
    """Convert each distinct text once."""
    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().combine_chunks().chunk(0)
    values = np.array([convert(text) for text in coded.dictionary.to_pylist()], np.int64)
    result: NDArray[np.int64] = values[coded.indices.to_numpy()]
    return result


def _durations(column: pa.ChunkedArray, name: str, locate: Locate, pattern: re.Pattern[str]) -> Times:
    unfit = np.iinfo(np.int64).min

    def nanoseconds(text: str) -> int:
        match = pattern.fullmatch(text)
        if match is None or not text:
            return unfit
        part = {key: value for key, value in match.groupdict().items() if value is not None}
        sign = -1 if part.get("sign") == "-" else 1
        clock = sum(_nanoseconds(part, unit) for unit in ("hours", "minutes", "seconds"))
        days = sum(_nanoseconds(part, unit) for unit in ("weeks", "days"))
        return sign * (days + clock) if pattern is ISO_DURATION else days + sign * clock

    ticks = _by_unique(column, nanoseconds)
    if (ticks == unfit).any():
        row = int(np.argmax(ticks == unfit))
        raise _not_valid(column[row].as_py(), name, locate, row, "duration")
    return Times("duration", ticks, PER_SECOND["ns"])


def _nanoseconds(part: Mapping[str, str], unit: str) -> int:
    """What a duration has of one unit, decimals included, to the nearest nanosecond."""
    decimals = part.get(f"{unit}_decimals", "")
    scale: int = 10 ** len(decimals)
    count = int(part.get(unit, "0") + decimals)
    return (2 * count * SECONDS[unit] * 10**9 + scale) // (2 * scale)


def _by_format(column: pa.ChunkedArray, name: str, locate: Locate, time_format: str) -> Times:
    quick = _rewritten(column, name, locate, time_format)
    if quick is not None:
        return quick
    zones: set[bool] = set()

    def microseconds(text: str) -> int:
        moment = datetime.strptime(text, time_format)
        zones.add(moment.tzinfo is not None)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)

    try:
        ticks = _by_unique(column, microseconds)
    except (ValueError, re.error):
        for text in column.unique().to_pylist():
            if not _fits(text, time_format):
                row = compute.index(column, pa.scalar(text, column.type)).as_py()
                raise DataError(
                    f'Column "{name}" holds "{text[:60]}" {locate(row)}, which does not fit '
                    f'time_format="{time_format}"; '
                    "correct the format or the row."
                ) from None
        raise
    return Times("timestamp", ticks, PER_SECOND["us"], zones == {True})


def _rewritten(column: pa.ChunkedArray, name: str, locate: Locate, time_format: str) -> Times | None:
    """Where a format only orders the usual fields, rewrite the texts the ISO way and let the fast reader check them."""
    pieces = re.findall(r"%.|[^%]+", time_format)
    fields = [piece for piece in pieces if piece.startswith("%")]
    dated = {"%Y", "%m", "%d"} <= set(fields)
    timed = [f for f in ("%H", "%M", "%S", "%f") if f in fields]
    usual = ["%H", "%M", "%S", "%f"][: len(timed)]
    if not dated or timed != usual or len(set(fields)) < len(fields) or not set(fields) <= set(FIELDS):
        return None
    pattern = "^" + "".join(FIELDS.get(piece) or re.escape(piece) for piece in pieces) + "$"
    if not compute.all(compute.match_substring_regex(column, pattern)).as_py():
        return None
    place = {field: position + 1 for position, field in enumerate(fields)}
    iso = f"\\{place['%Y']}-\\{place['%m']}-\\{place['%d']}"
    for field, mark in zip(timed, "T::.", strict=False):
        iso += f"{mark}\\{place[field]}"
    try:
        return _stamps(compute.replace_substring_regex(column, pattern, iso), name, locate)
    except pa.ArrowInvalid:
        return None


def place(columns: Mapping[str, Times], unit: str | None) -> tuple[dict[str, NDArray[np.float64]], str, str | None]:
    """Place columns of one kind on one axis: their numbers, the unit, and the origin of timestamps.

    Timestamps count from the midnight (UTC where they have zones) before the earliest of them, so that ticks of an
    hour or a day are those of the clock. They are subtracted as integers, then divided: a float of the time since
    1970 would keep no nanoseconds.
    """
    filled = [times for times in columns.values() if times.values.size]
    named = {times.kind: times.name for times in reversed(filled)}
    if len(named) > 1:
        shown = " but ".join(f'column "{name}" holds {kind}s' for kind, name in named.items())
        raise DataError(f"{shown[0].upper()}{shown[1:]}, which have no common axis; give events and periods alike.")
    kind = next(iter(named), "number")
    if kind == "number":
        numbers = {role: times.values.astype(np.float64) for role, times in columns.items()}
        return numbers, "time" if unit is None else unit, None
    zones = {times.zoned: times.name for times in reversed(filled)}
    if len(zones) > 1:
        raise DataError(
            f'Column "{zones[True]}" has time zones and column "{zones[False]}" has none, so their order cannot '
            "be told; give both zones, or neither."
        )
    unit = unit_name("hours" if unit is None else unit)
    day = 0
    origin = None
    if kind == "timestamp":
        day = min(int(times.values.min()) // (DAY * times.per_second) for times in filled)
        zone = "+00:00" if True in zones else ""
        origin = f"{np.datetime64(day * DAY, 's')}{zone}"
    ends = [(int(end(times.values)), times.per_second) for times in filled for end in (np.min, np.max)]
    least = np.iinfo(np.int64).min  # of nanoseconds a moment in 1677, whose midnight is less
    wide = any(abs(end - day * DAY * n) > 2**53 or day * DAY * n < least for end, n in ends)
    return {role: _in_unit(times, day, unit, wide) for role, times in columns.items()}, unit, origin


def _in_unit(times: Times, day: int, unit: str, wide: bool) -> NDArray[np.float64]:
    """Ticks since the midnight of `day`, in the unit.

    With `wide`, some column has more ticks than a float keeps, or than an integer holds. Then whole weeks and the rest
    are turned apart in all columns, so that one instant is one number whatever its column's precision, and of two the
    later never gets the smaller number.
    """
    if not times.values.size:
        return np.empty(0)
    if not wide:
        return _divided(times.values - np.int64(day * DAY * times.per_second), times.per_second, unit)
    days, ticks = np.divmod(times.values, DAY * times.per_second)
    weeks, days = np.divmod(days - day, 7)
    rest = _divided(ticks + days * (DAY * times.per_second), times.per_second, unit)
    return weeks * np.float64(WEEK * 1_000_000 // MICROSECONDS[unit]) + rest


def _divided(ticks: NDArray[np.int64], per_second: int, unit: str) -> NDArray[np.float64]:
    size = MICROSECONDS[unit] * per_second  # ticks in a unit, times a million
    if size < 1_000_000:
        return ticks * np.float64(1_000_000 // size)
    return ticks / np.float64(size / 1e6)
