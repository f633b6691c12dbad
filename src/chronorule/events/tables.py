"""The three tables a log is built from, with names already turned into codes and a way to point at a row."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import DataError, DataWarning

LIKE = 60  # letters of a name that are compared to find those like it
Locate = Callable[[int], str]


def by_row(i: int) -> str:
    """Point at a row of arrays, which have no lines."""
    return f"row {i} (counting from 0)"


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of names: row i holds names[codes[i]]; names differ from each other and each is used or allowed."""

    names: tuple[str, ...]
    codes: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class EventTable:
    """One row for each event, in any order."""

    entity: Coded
    time: NDArray[np.float64]
    event: Coded
    group: Coded | None = None
    locate: Locate = by_row


@dataclass(frozen=True, eq=False)
class PeriodTable:
    """One row for each entity: it was watched over (start, stop]; group may be given for entities without events."""

    entity: Coded
    start: NDArray[np.float64]
    stop: NDArray[np.float64]
    group: Coded | None = None
    locate: Locate = by_row


@dataclass(frozen=True, eq=False)
class StaticTable:
    """One row for each property of an entity that has no time."""

    entity: Coded
    predicate: Coded
    locate: Locate = by_row


def snap(times: NDArray[np.float64], resolution: float) -> NDArray[np.float64]:
    """Move times to the nearest tick, halves up: floor(t / r + 1/2) · r, which never changes an order (design 1)."""
    if resolution == 0.0:
        return times + 0.0  # a copy, in which -0.0 is 0.0
    with np.errstate(over="ignore"):  # what is too large becomes infinite, which is refused with its row
        ticks: NDArray[np.float64] = np.floor(times / resolution + 0.5) * resolution + 0.0
    return ticks


def numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Take a column of numbers; anything else is refused with the way to read it."""
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "iuf":
        values = np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values))
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty((), np.object_)
    if array.size == 0:
        array = array.astype(np.float64)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise DataError(
            f"The {what} column is not a flat column of numbers (type {array.dtype}, {array.ndim} dimensions); "
            "pass numbers in one unit, or give the table to read_events, which reads timestamps and durations."
        )
    return floats(array, f"the {what} column", by_row)


def floats(array: NDArray[Any], what: str, locate: Locate) -> NDArray[np.float64]:
    """Copy numbers as floats; whole numbers that lose digits by it are reported."""
    result = array.astype(np.float64)
    if array.dtype.kind in "iu" and array.size and (array.max() > 2**53 or array.min() < -(2**53)):
        with np.errstate(invalid="ignore"):
            lost = np.flatnonzero(result.astype(array.dtype) != array)
        if lost.size:
            warnings.warn(
                f"{agree(lost.size, 'row', 'holds', 'hold')} a whole number beyond 2^53 in {what}, which loses its "
                f"last digits, first {locate(int(lost[0]))} ({array[lost[0]]}), so that different times may become "
                "equal; give such times as timestamps, or subtract a common origin from them first.",
                DataWarning,
                stacklevel=levels_up(),
            )
    return result


def levels_up() -> int:
    """How many frames to go up for a warning to point at the line outside the package that asked for the log."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("chronorule."):
        frame = frame.f_back
        level += 1
    return level


def encode(values: Iterable[Any], what: str, locate: Locate = by_row) -> Coded:
    """Give each name a code in order of first appearance; whole numbers become their digits, so 7 is "7"."""
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim != 1:
        raise DataError(
            f"The column of {what} names has {array.ndim} dimensions, but one name a row is needed; pass a flat array."
        )
    if array is not None and array.dtype.kind in "iu" and not isinstance(array, np.ma.MaskedArray):
        return _encode_whole_numbers(array)
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        kind = "text" if isinstance(values, str | bytes) else "value"
        raise DataError(f"The column of {what} names is one {kind} ({values!r}); pass a list with a name for each row.")
    items: list[Any] = array.tolist() if array is not None else list(values)
    table: dict[Any, int] = {}
    try:
        raw = np.fromiter((table.setdefault(item, len(table)) for item in items), np.int32, len(items))
    except TypeError:
        bad = [row for row, item in enumerate(items) if item.__hash__ is None]
        raise missing_name(what, repr(items[bad[0]]), len(bad), locate(bad[0])) from None
    names = [as_name(item) for item in table]
    for position, name in enumerate(names):
        if not name:
            nameless = np.flatnonzero(raw == position)
            raise missing_name(what, repr(list(table)[position]), nameless.size, locate(int(nameless[0])))
    return merge_names(names, raw)


def _encode_whole_numbers(array: NDArray[Any]) -> Coded:
    unique, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return Coded(tuple(str(number) for number in unique[order].tolist()), rank[inverse])


def as_name(item: Any) -> str:
    """Turn one value into a name: text as it is, whole numbers as digits; "" stands for what cannot name anything.

    Zero bytes and halves of a letter (lone surrogates) cannot be written to every file, so no name holds them.
    """
    if isinstance(item, str):
        whole = item.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in item)
        return item if whole and "\0" not in item else ""
    if isinstance(item, bool | np.bool_):
        return ""
    if isinstance(item, int | np.integer):
        return str(int(item))
    if isinstance(item, float | np.floating) and np.isfinite(item) and item == int(item):
        return str(int(item))
    return ""


def missing_name(what: str, shown: str, rows: int, where: str) -> DataError:
    """Say that a name is missing, null or of a kind that cannot be a name."""
    return DataError(
        f"{plural(rows, 'row')} of the {what} column {'has' if rows == 1 else 'have'} no usable name, first {where}, "
        f"which holds {shown[:80]}; names are text or whole numbers, without zero bytes: fill these rows in or remove "
        "them."
    )


def merge_names(names: Sequence[str], codes: NDArray[np.int32]) -> Coded:
    """Join spellings that became one name (7 and "7"), keeping the order of first appearance."""
    table: dict[str, int] = {}
    again = np.fromiter((table.setdefault(name, len(table)) for name in names), np.int32, len(names))
    return Coded(tuple(table), codes if len(table) == len(names) else again[codes])


def recode(column: Coded, names: Sequence[str]) -> NDArray[np.int32]:
    """Codes of the column as positions in `names`; a name that is not there gets -1."""
    if column.names == names:
        return column.codes
    table = {name: position for position, name in enumerate(names)}
    to = np.fromiter((table.get(name, -1) for name in column.names), np.int32, len(column.names))
    return to[column.codes] if to.size else np.empty(0, np.int32)


def near(name: str, names: Iterable[str], cutoff: float) -> list[str]:
    """Up to three names that are like this one, judged by their beginnings."""
    begins: dict[str, str] = {}
    for known in names:
        begins.setdefault(known[:LIKE], known)
    return [begins[found] for found in difflib.get_close_matches(name[:LIKE], begins, n=3, cutoff=cutoff)]


def plural(count: int, noun: str) -> str:
    """Write a count with its noun: "1 row", "2,000 rows"."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def agree(count: int, noun: str, one: str, many: str) -> str:
    """Write a count with its noun and the verb that agrees: "1 row has", "2,000 rows have"."""
    return f"{plural(count, noun)} {one if count == 1 else many}"


def shorten(names: Iterable[str], most: int = 5) -> str:
    """List some names for a message: "a", "b" and 7 more."""
    listed = list(names)
    shown = ", ".join(f'"{name if len(name) <= 60 else name[:59] + "…"}"' for name in listed[:most])
    return shown if len(listed) <= most else f"{shown} and {len(listed) - most:,} more"
