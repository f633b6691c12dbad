"""Reading logs from files and data frames."""

from __future__ import annotations

import csv
import gzip
import re
import warnings
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import reference_events as reference
from chronorule.errors import DataError, DataWarning, OptionError
from chronorule.events import EventLog
from chronorule.io import read_events

EXPECTED = {"b": [(2, "X"), (2, "Y"), (3, "Y")], "a": [(1, "X")]}
TEXT = "entity,time,event\nb,3,Y\na,1,X\nb,2,Y\nb,2,X\n"
COLUMNS = {"entity": ["b", "a", "b", "b"], "time": [3, 1, 2, 2], "event": ["Y", "X", "Y", "X"]}
PERIODS = {"entity": ["a", "b"], "start": [0, 0], "stop": [5, 6]}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(text: str | bytes, name: str = "events.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def read(source: Any, **options: Any) -> EventLog:
    """Read with the default periods, whose warning is tested on its own."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No observation periods")
        return read_events(source, **options)


class TestSources:
    @pytest.mark.parametrize("name", ["events.csv", "events.txt", "odd name ü.data"])
    def test_csv_by_path_or_text(self, write: Any, name: str) -> None:
        path = write(TEXT, name)
        for source in (path, str(path)):
            log = read(source)
            assert reference.events_of(log) == EXPECTED
            assert log.unit == "time"
        assert reference.read_csv(path) == {entity: [(t, p) for t, p in pairs] for entity, pairs in EXPECTED.items()}

    def test_gzipped_csv(self, write: Any) -> None:
        assert reference.events_of(read(write(gzip.compress(TEXT.encode()), "events.csv.gz"))) == EXPECTED

    @pytest.mark.parametrize("text", ["﻿" + TEXT, TEXT.replace("\n", "\r\n"), TEXT.replace("\n", "\n\n"), TEXT.rstrip()])
    def test_byte_order_mark_line_ends_and_blank_lines(self, write: Any, text: str) -> None:
        assert reference.events_of(read(write(text))) == EXPECTED

    def test_quoted_names_keep_separators_newlines_and_quotes(self, write: Any) -> None:
        log = read(write('entity,time,event\n"a,\nb",1,"say ""X"""\n"a,\nb",2,Y\n'))
        assert reference.events_of(log) == {"a,\nb": [(1, 'say "X"'), (2, "Y")]}

    def test_names_that_look_like_something_else_stay_names(self, write: Any) -> None:
        log = read(write("entity,time,event\nNA,1,null\n007,2,1.50\ntrue,3,2020-01-01\n"))
        assert log.entities == ("NA", "007", "true")
        assert log.predicates == ("1.50", "2020-01-01", "null")

    @pytest.mark.parametrize("dictionary", [True, False])
    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
    def test_parquet(self, tmp_path: Path, kind: pa.DataType, dictionary: bool) -> None:
        columns = COLUMNS | {name: pa.array(COLUMNS[name], kind) for name in ("entity", "event")}
        parquet.write_table(pa.table(columns), tmp_path / "e.pq", use_dictionary=dictionary, row_group_size=2)
        assert reference.events_of(read(tmp_path / "e.pq")) == EXPECTED

    @pytest.mark.parametrize(
        "table",
        [
            COLUMNS,
            pa.table(COLUMNS),
            pa.RecordBatchReader.from_batches(pa.table(COLUMNS).schema, pa.table(COLUMNS).to_batches()),
            pa.concat_tables([pa.table(COLUMNS).slice(0, 2), pa.table(COLUMNS).slice(2)]),
            pa.table({name: pa.array(v).dictionary_encode() for name, v in COLUMNS.items()}),
            pa.table({name: pa.array(v, pa.string_view() if name != "time" else None) for name, v in COLUMNS.items()}),
        ],
        ids=["columns", "table", "reader", "chunks", "dictionaries", "views"],
    )
    def test_tables_in_memory(self, table: Any) -> None:
        assert reference.events_of(read(table)) == EXPECTED

    def test_pandas(self) -> None:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(COLUMNS)
        assert reference.events_of(read(frame)) == EXPECTED
        frame["entity"] = pandas.Categorical(frame["entity"], categories=["unused", "a", "b"])
        log = read(frame)
        assert log.entities == ("b", "a")
        assert reference.events_of(log) == EXPECTED
        frame["time"] = pandas.to_timedelta([3, 1, 2, 2], unit="h")
        assert reference.events_of(read(frame)) == EXPECTED

    def test_polars_eager_and_lazy(self) -> None:
        polars = pytest.importorskip("polars")
        assert reference.events_of(read(polars.DataFrame(COLUMNS))) == EXPECTED
        assert reference.events_of(read(polars.LazyFrame(COLUMNS))) == EXPECTED
        coded = polars.DataFrame(COLUMNS, schema_overrides={"event": polars.Categorical})
        assert reference.events_of(read(coded)) == EXPECTED

    def test_duckdb_relation(self) -> None:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect() as connection:
            relation = connection.sql(
                "from (values ('b', 3, 'Y'), ('a', 1, 'X'), ('b', 2, 'Y'), ('b', 2, 'X')) t(entity, time, event)"
            )
            assert reference.events_of(read(relation)) == EXPECTED
            hours = connection.sql(
                "select entity, event, time * interval '1 hour' as time from "
                "(values ('b', 3, 'Y'), ('a', 1, 'X'), ('b', 2, 'Y'), ('b', 2, 'X')) t(entity, time, event)"
            )
            assert reference.events_of(read(hours)) == EXPECTED

    @pytest.mark.parametrize(
        "entity", [pa.array([7, 8, 7, 7], pa.uint8()), pa.array([7.0, 8.0, 7.0, 7.0]), pa.array(["7", "8", "7", "7"])]
    )
    def test_whole_numbers_name_entities(self, entity: pa.Array) -> None:
        assert read(COLUMNS | {"entity": entity}).entities == ("7", "8")

    @given(
        st.lists(
            st.tuples(
                st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=4),
                st.floats(-1e6, 1e6),
                st.sampled_from(["A", "B", "C d"]),
            ),
            min_size=1,
            max_size=30,
        )
    )
    def test_parquet_and_columns_agree_with_the_slow_twin(self, rows: list[tuple[str, float, str]]) -> None:
        table = {"entity": [r[0] for r in rows], "time": [r[1] + 0.0 for r in rows], "event": [r[2] for r in rows]}
        log = read(table)
        expected: dict[str, set[tuple[float, str]]] = {}
        for entity, time, event in rows:
            expected.setdefault(entity, set()).add((time + 0.0, event))
        assert reference.events_of(log) == {entity: sorted(pairs) for entity, pairs in expected.items()}

    @given(
        st.lists(
            st.tuples(
                st.text(st.sampled_from("aé中 ,;\"'\n\r\t#\\"), min_size=1, max_size=4),
                st.floats(allow_nan=False, allow_infinity=False),
                st.text(st.sampled_from('AB ,"\n'), min_size=1, max_size=3),
            ),
            min_size=1,
            max_size=30,
        )
    )
    def test_csv_agrees_with_the_csv_module(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float, str]]
    ) -> None:
        assume(not any(re.search("[\r\n].*,", row[k], re.DOTALL) for row in rows for k in (0, 2)))  # is refused
        path = tmp_path_factory.mktemp("csv") / "events.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("entity", "time", "event"), *rows])
        assert reference.events_of(read(path)) == reference.read_csv(path)

    @pytest.mark.parametrize("end", ["", "\n", "\nd,4,X\n", "\r\nd,4,X\r\n\r\n", "\n" + "d,4,X\n" * 30_000])
    @pytest.mark.parametrize("zipped", [False, True])
    def test_a_quotation_mark_never_closed_is_refused_by_its_line(self, write: Any, end: str, zipped: bool) -> None:
        path = write(TEXT + 'c,3,"Y' + end)
        if zipped:
            path.write_bytes(gzip.compress(path.read_bytes()))
        with pytest.raises(
            DataError, match=r"Line 6 of .* has a quotation mark that is never closed, .* close the mark"
        ):
            read_events(path)

    def test_a_quotation_mark_that_takes_in_rows_is_refused_by_its_line(self, write: Any) -> None:
        path = write(TEXT + 'c,3,"Y\nd,1,X\nd,2,Y"\nd,3,X\n')
        with pytest.raises(
            DataError, match=r'Line 6 of .* is closed in line 8 only, .* column "event"; close the mark'
        ):
            read_events(path)

    def test_columns_that_are_not_read_may_hold_several_lines(self, write: Any) -> None:
        text = 'entity,time,event,note\na,1,X,"slept, then\nwoke, well, at 6\n"\n\nb,2,Y,\n'
        assert read(write(text)).n_events == 2
        with pytest.raises(DataError, match=r"Line 7 of .* never closed"):
            read_events(write(text + 'b,3,Y,"slept\nc,4,X,\n'))

    def test_blocks_of_a_large_file_join_without_a_seam(self, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("chronorule.io.source.BLOCK", 64)  # bytes, so that every few rows are a block
        times = [i if i < 100 else i + 0.5 for i in range(200)]  # whole at first, which a block alone would believe
        rows = [(f"e{i % 7},\n{i % 3}", times[i], f'say "{i % 5}"') for i in range(200)]
        path = write("")
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("entity", "time", "event"), *rows])
        log = read(path)
        assert reference.events_of(log) == reference.read_csv(path)
        assert log.entities[:3] == ("e0,\n0", "e1,\n1", "e2,\n2")
        with path.open("a", encoding="utf-8") as file:
            file.write("z,late,X\n")
        with pytest.raises(DataError, match=r'holds "late" in line 402 of .*, as the 200 before it are'):
            read_events(path)


class TestColumns:
    def test_named_by_option(self, write: Any) -> None:
        path = write("who;when;what;ward\nb;3;Y;g\na;1;X;h\nb;2;Y;g\nb;2;X;g\n")
        log = read(path, entity="who", time="when", event="what", group="ward", separator=";")
        assert reference.events_of(log) == EXPECTED
        assert log.groups == ("g", "h")

    def test_a_missing_column_lists_those_found_and_the_option(self, write: Any) -> None:
        with pytest.raises(
            DataError, match=r'no column "entity", "event" for the events \(it has "who", "time", "what"\)'
        ):
            read_events(write("who,time,what\na,1,X\n"))
        with pytest.raises(DataError, match=r'name the columns with entity="...", event="..."'):
            read_events(write("who,time,what\na,1,X\n"))
        with pytest.raises(DataError, match=r'no column "when"'):
            read_events(COLUMNS, time="when")

    @pytest.mark.parametrize(("mark", "shown"), [(";", '";"'), ("\t", r'"\\t"'), ("|", r'"\|"')])
    def test_a_wrong_separator_is_guessed(self, write: Any, mark: str, shown: str) -> None:
        with pytest.raises(DataError, match=f"pass separator={shown}"):
            read_events(write(TEXT.replace(",", mark)))
        assert reference.events_of(read(write(TEXT.replace(",", mark)), separator=mark)) == EXPECTED

    @pytest.mark.parametrize("separator", ["", ",,", '"', "\n", None])
    def test_a_separator_that_is_none_is_refused(self, write: Any, separator: Any) -> None:
        with pytest.raises(OptionError, match="cannot part columns"):
            read_events(write(TEXT), separator=separator)

    def test_a_column_named_twice_is_refused_if_it_is_meant(self, write: Any) -> None:
        with pytest.raises(DataError, match=r'more than one column named "time"'):
            read_events(write("entity,time,event,time\na,1,X,2\n"))
        assert read(write("entity,time,event,x,x\na,1,X,2,3\n")).n_events == 1
        twice = pa.table([["a"], [1], ["X"], [2]], names=["entity", "time", "event", "event"])
        with pytest.raises(DataError, match=r'more than one column named "event"'):
            read_events(twice)

    @pytest.mark.parametrize("role", ["entity", "time", "event", "group"])
    def test_columns_are_named_by_text(self, role: str) -> None:
        with pytest.raises(OptionError, match=f"{role}=3 names no column; give its name as text"):
            read_events(COLUMNS, **{role: 3})  # type: ignore[arg-type]

    def test_one_column_for_two_things_is_refused(self) -> None:
        with pytest.raises(OptionError, match=r'named for two things .*event="entity"'):
            read_events(COLUMNS, event="entity")


class TestBesides:
    def test_periods_statics_and_groups(self, write: Any, tmp_path: Path) -> None:
        events = write("patient;time;event;ward\nb;3;Y;g\na;1;X;h\n")
        periods = write("patient;start;stop;ward\na;0;5;h\nb;0;6;g\nc;1;2;g\n", "p.csv")
        static = write("entity,predicate\na,Old\nc,Old\n", "s.csv")
        log = read_events(events, entity="patient", separator=";", group="ward", periods=periods, static=static)
        assert log.entities == ("a", "b", "c")
        assert log.groups == ("h", "g")
        assert log.group.tolist() == [0, 1, 1]
        assert (log.start.tolist(), log.stop.tolist()) == ([0, 0, 1], [5, 6, 2])
        assert reference.statics_of(log) == {"a": {"Old"}, "b": set(), "c": {"Old"}}
        assert not log.notes.periods_by_default

    def test_tables_in_memory(self) -> None:
        log = read_events(COLUMNS, periods=PERIODS, static=pa.table({"entity": ["a"], "predicate": ["Old"]}))
        assert log.entities == ("a", "b")
        assert log.stop.tolist() == [5, 6]

    def test_an_entity_without_group_asks_for_it_in_the_periods(self) -> None:
        periods = {"entity": ["a", "b", "c"], "start": [0, 0, 0], "stop": [9, 9, 9]}
        with pytest.raises(DataError, match=r'no group \("c"\) .*give the group in the periods too'):
            read_events(COLUMNS | {"ward": list("ghgg")}, group="ward", periods=periods)

    def test_faults_name_the_line_of_their_own_file(self, write: Any) -> None:
        periods = write("entity,start,stop\na,0,5\n\nb,3,1\n", "p.csv")
        with pytest.raises(DataError, match=r'1 period stops before it starts, first in line 4 of ".*p.csv"'):
            read_events(COLUMNS, periods=periods)
        static = write("entity,predicate\na,Old\nb,\n", "s.csv")
        with pytest.raises(DataError, match=r'predicate column has no usable name, first in line 3 of ".*s.csv"'):
            read_events(COLUMNS, periods=PERIODS, static=static)
        with pytest.raises(DataError, match=r'no column "stop" for the periods'):
            read_events(COLUMNS, periods={"entity": ["a"], "start": [0]})
        with pytest.raises(DataError, match=r'no column "predicate" for the static predicates'):
            read_events(COLUMNS, periods=PERIODS, static={"entity": ["a"]})

    def test_times_of_events_and_periods_must_be_alike(self) -> None:
        stamped = COLUMNS | {"time": [datetime(2020, 1, 1, hour) for hour in (3, 1, 2, 2)]}
        with pytest.raises(DataError, match=r'Column "start" holds numbers but column "time" holds timestamps'):
            read_events(stamped, periods=PERIODS)
        aware = {"entity": ["a", "b"], "start": ["2020-01-01T00:00Z"] * 2, "stop": ["2020-01-02T00:00Z"] * 2}
        with pytest.raises(DataError, match=r'Column "start" has time zones and column "time" has none'):
            read_events(stamped, periods=aware)

    def test_an_earlier_period_sets_the_origin(self) -> None:
        stamped = COLUMNS | {"time": [datetime(2020, 1, 2, hour) for hour in (3, 1, 2, 2)]}
        periods = {"entity": ["a", "b"], "start": [date(2020, 1, 1)] * 2, "stop": [date(2020, 1, 3)] * 2}
        log = read_events(stamped, periods=periods)
        assert log.notes.origin == "2020-01-01T00:00:00"
        assert (log.start.tolist(), log.stop.tolist()) == ([0, 0], [48, 48])
        assert reference.events_of(log)["a"] == [(25, "X")]


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (b"", "is empty"),
            (b"\n\n", "no line of column names"),
            (b"entity,time,event\n", "The log is empty"),
            (b"entity,time,event", "The log is empty"),
            (TEXT + "c,4\n", "Line 6 of .* has 2 fields where the header has 3"),
            (TEXT + "\nc,4,X,Y\n", "Line 7 of .* has 4 fields"),
            (TEXT + "c,4,\n", r"1 row of the event column has no usable name, first in line 6 of"),
            (TEXT + ",4,X\nd,5,Y\n,6,X\n", r"2 rows of the entity column have no usable name, first in line 6 of"),
            (TEXT + 'c,4,"X\ny"\nd,,X\n', r'1 row holds no time in column "time" .* first in line 8 of'),
            (TEXT + "c,NA,X\n", "1 row holds no time"),
            (TEXT + "c,inf,X\n", r"1 row has a time that is missing or not finite, first in line 6 of .* \(inf\)"),
            (
                TEXT + "c,four,X\n",
                'Column "time" holds "four" in line 6 of .* is no valid number, as the 4 before it are',
            ),
            ("entity,time,event\na,yes,X\n", 'Column "time" holds "yes" in line 2 .* no number'),
            ("entity,time,event\na,true,X\n", 'Column "time" has type bool, which is no time'),
            (TEXT.encode() + b"caf\xe9,4,X\n", "is not UTF-8 text"),
            ("caf\xe9,time,event\n".encode("latin1"), "is not UTF-8 text"),
            (TEXT.encode("utf-16"), "if it is UTF-16 text save it as UTF-8"),
            (bytes(range(256)) * 8, "neither Parquet nor UTF-8 text"),
            (gzip.compress(TEXT.encode())[:-12], "is damaged|cannot be read"),
            (b"\x1f\x8b\x08\x00garbage and more of it", "is damaged|cannot be read"),
            (b"PAR1 and then nothing of the kind", "cannot be read"),
        ],
    )
    def test_files_that_are_no_log(self, write: Any, text: str | bytes, message: str) -> None:
        path = write(text)
        with pytest.raises(DataError, match=message) as caught:
            read_events(path)
        assert "\n" not in str(caught.value).replace("\\n", "")

    def test_paths_that_are_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r'There is no file ".*nowhere.csv"; check the path'):
            read_events(tmp_path / "nowhere.csv")
        with pytest.raises(DataError, match="is a directory, not a table"):
            read_events(tmp_path)
        with pytest.raises(DataError, match="There is no file"):
            read_events(COLUMNS, periods=tmp_path / "nowhere.csv")

    def test_a_file_that_may_not_be_read(self, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError(13, "Permission denied")

        path = write(TEXT)
        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(DataError, match="may not be read by this user"):
            read_events(path)

    @pytest.mark.parametrize("source", [5, None, [1, 2], np.zeros((2, 3))])
    def test_things_that_are_no_table(self, source: Any) -> None:
        with pytest.raises(DataError, match="is no table; give the path"):
            read_events(source)

    def test_columns_of_unequal_length(self) -> None:
        with pytest.raises(DataError, match="The columns given make no table"):
            read_events({"entity": ["a"], "time": [1, 2], "event": ["X"]})

    def test_nulls_in_a_table(self) -> None:
        with pytest.raises(DataError, match=r"1 row of the event column has no usable name, first row 2 .* null"):
            read_events(COLUMNS | {"event": ["X", "Y", None, "X"]})
        with pytest.raises(DataError, match=r"2 rows hold no time in column \"time\" .* first row 1"):
            read_events(COLUMNS | {"time": [1, None, None, 2]})

    @pytest.mark.parametrize("entity", [[[1], [2], [3], [4]], [{"a": 1}] * 4, [1.5] * 4, [True] * 4])
    def test_columns_that_cannot_name(self, entity: Any) -> None:
        with pytest.raises(DataError, match=r"cannot name anything|no usable name"):
            read_events(COLUMNS | {"entity": entity})

    def test_header_alone_is_enough_where_there_are_periods(self, write: Any) -> None:
        for text in ("entity,time,event", "entity,time,event\n\n"):
            log = read_events(write(text), periods=PERIODS)
            assert (log.n_entities, log.n_events) == (2, 0)

    def test_a_unit_that_does_not_exist(self) -> None:
        spans = COLUMNS | {"time": [timedelta(hours=h) for h in (3, 1, 2, 2)]}
        with pytest.raises(OptionError, match=r'unit="fortnights" is no unit in which'):
            read_events(spans, unit="fortnights")
        with pytest.raises(OptionError, match='unit="5" is no unit'):
            read_events(spans, unit=5)  # type: ignore[arg-type]
        assert read(COLUMNS, unit="fortnights").unit == "fortnights"

    def test_default_periods_warn_at_the_callers_line(self) -> None:
        with pytest.warns(DataWarning, match="informative") as caught:
            read_events(COLUMNS)
        assert caught[0].filename == __file__


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_a_dictionary_that_lists_a_name_twice_makes_one_entity(kind: pa.DataType) -> None:
    twice = pa.DictionaryArray.from_arrays([0, 1, 2], pa.array(["a", "a", "b"], kind))
    log = read_events(
        pa.table({"entity": twice, "time": [1, 2, 3], "event": twice}),
        periods={"entity": ["a", "b"], "start": [0, 0], "stop": [4, 4]},
    )
    assert log.entities == log.predicates == ("a", "b")
    assert log.codes.tolist() == [0, 0, 1]


@pytest.mark.parametrize("separator", ["→", "\0", "\x80", ",,", ""])
def test_separators_that_part_nothing_are_refused(tmp_path: Path, separator: str) -> None:
    (tmp_path / "e.csv").write_text("entity,time,event\na,1,X\n")
    with pytest.raises(OptionError, match="cannot part columns; give one character of ASCII"):
        read_events(tmp_path / "e.csv", separator=separator)


def test_a_path_with_a_zero_byte_is_refused() -> None:
    with pytest.raises(DataError, match="holds a zero byte, which no file has in its name"):
        read_events("e\0.csv")
