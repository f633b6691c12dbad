"""Pairs of related entities, periods and static predicates from every form of table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
import pytest

from chronorule.errors import DataError, OptionError
from chronorule.events import EventLog
from chronorule.io import read_edges, read_events

Columns = dict[str, list[Any]]
Form = Callable[[Columns], Any]
EDGES: Columns = {"neighbour": ["b", "a", "7"], "since": [1, 2, 3], "entity": ["a", "b", "a"]}
EVENTS: Columns = {"entity": ["a", "b", "7"], "time": [1, 2, 3], "event": ["X", "Y", "X"]}
PERIODS: Columns = {"stop": [9, 8, 7], "start": [0, 1, 2], "entity": ["a", "b", "7"]}
STATIC: Columns = {"predicate": ["Old", "Ill"], "entity": ["a", "7"]}


@pytest.fixture(
    params=["columns", "csv", "gzip", "parquet", "pyarrow", "stream", "pandas", "polars", "lazy polars", "duckdb"]
)
def form(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Form]:
    """Turns columns into a table of one form."""
    kind = request.param
    if kind == "columns":
        yield dict
    elif kind in ("csv", "gzip", "parquet"):
        yield lambda columns: _write(columns, tmp_path / f"{len(list(tmp_path.iterdir()))}.{kind}")
    elif kind == "stream":
        yield lambda columns: pa.RecordBatchReader.from_stream(pa.table(columns))
    elif kind == "duckdb":
        with pytest.importorskip("duckdb").connect() as connection:
            yield lambda columns: connection.from_arrow(pa.table(columns))
    else:
        library = pytest.importorskip(kind.removeprefix("lazy "))
        name = {"pyarrow": "table", "lazy polars": "LazyFrame"}.get(kind, "DataFrame")
        yield lambda columns: getattr(library, name)(columns)


def _write(columns: Columns, path: Path) -> str:
    if path.suffix == ".parquet":
        parquet.write_table(pa.table(columns), path)
    else:
        with pa.output_stream(path, compression="gzip" if path.suffix == ".gzip" else None) as stream:
            arrow_csv.write_csv(pa.table(columns), stream)
    return str(path)


def test_edges_are_read_by_name(form: Form) -> None:
    assert read_edges(form(EDGES)) == (["a", "b", "a"], ["b", "a", "7"])
    assert read_edges(form(EDGES), entity="neighbour", neighbour="entity") == (["b", "a", "7"], ["a", "b", "a"])


def test_periods_and_statics_come_in_every_form(form: Form) -> None:
    log = read_events(form(EVENTS), periods=form(PERIODS), static=form(STATIC))
    assert log.equals(
        EventLog.from_columns(
            EVENTS["entity"],
            EVENTS["time"],
            EVENTS["event"],
            periods={"a": (0, 9), "b": (1, 8), "7": (2, 7)},
            static={"a": ["Old"], "7": ["Ill"]},
        )
    )
    assert log.relate("near", read_edges(form(EDGES))).equals(log.relate("near", [("a", "b"), ("b", "a"), ("a", "7")]))


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        ({"from": ["a"], "to": ["b"]}, {}, DataError, r'no column "entity", "neighbour" for the edges .* entity="\.'),
        ({"entity": ["a"], "to": ["b"]}, {}, DataError, r'no column "neighbour" for the edges .* neighbour="\.'),
        ({"entity": ["a"]}, {"neighbour": "entity"}, OptionError, "is named for two things"),
        (
            {"entity": ["a", "b"], "neighbour": ["b", None]},
            {},
            DataError,
            "of the neighbour column has no usable name",
        ),
        ([("a", "b")], {}, DataError, "A list is no table"),
    ],
)
def test_tables_that_hold_no_edges_are_refused(source: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        read_edges(source, **options)


def test_no_edges(form: Form) -> None:
    none: Columns = {"entity": [], "neighbour": []}
    assert read_edges(form(none)) == ([], [])
