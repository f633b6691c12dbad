"""Writing logs, and reading them back to the same log."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_events as reference
from chronorule.errors import DataError, OptionError
from chronorule.events import EventLog
from chronorule.io import read_events, write_events

KILLED = """
import os, signal, sys
import chronorule as cr
import pyarrow.parquet as parquet
write = parquet.write_table
def die_at_the_events(table, *rest, **options):
    write(table, *rest, **options)
    if "event" in table.column_names:
        os.kill(os.getpid(), signal.SIGKILL)
parquet.write_table = die_at_the_events
log = cr.EventLog.from_columns(["z"], [1.0], ["Z"], periods=(0, 2), static={"z": ["S"]})
cr.write_events(log, sys.argv[1])
"""


def full(**changes: Any) -> EventLog:
    """A log with everything a log can have."""
    options: dict[str, Any] = {
        "periods": {"c": (0, 9), "a,": (-1, 5.25), "NA": (0, 1)},
        "static": {"a,": ["Old"]},
        "group": {"c": "g", "a,": 'h "q"', "NA": "g"},
        "unit": "hours",
        "resolution": 0.25,
        "predicates": ["Y", "never", "X\ny", "Old", "é 中"],
    }
    options |= changes
    return EventLog.from_columns(["a,", "a,", "c", "c"], [1, 1, 1, 0.5], ["Y", "X\ny", "é 中", "Y"], **options)


def test_parquet_round_trip_is_the_identity(tmp_path: Path) -> None:
    log = full()
    written = write_events(log, tmp_path / "ward.parquet")
    assert [path.name for path in written] == ["ward.parquet", "ward.periods.parquet", "ward.static.parquet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in written)
    again = read_events(tmp_path / "ward.parquet")
    assert again.equals(log)
    assert again.notes == log.notes


def test_notes_and_origin_travel(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = read_events({"entity": [1, 1], "time": ["2020-01-02T03:00Z"] * 2, "event": ["X", "X"]})
    write_events(log, tmp_path / "e.parquet")
    again = read_events(tmp_path / "e.parquet")
    assert again.equals(log)
    assert again.notes == log.notes
    assert again.notes.periods_by_default
    assert again.notes.origin == "2020-01-02T00:00:00+00:00"
    assert again.notes.duplicates == 1
    given_periods = read_events(tmp_path / "e.parquet", periods={"entity": [1], "start": [0], "stop": [9]})
    assert not given_periods.notes.periods_by_default


def test_a_static_predicate_that_nobody_has_stays_static(tmp_path: Path) -> None:
    log = full().select(["c", "NA"])
    write_events(log, tmp_path / "e.parquet")
    assert not (tmp_path / "e.static.parquet").exists()
    again = read_events(tmp_path / "e.parquet")
    assert again.equals(log)
    assert again.is_static(again.code("Old"))


def test_a_static_file_of_an_older_log_is_not_taken_for_its_own(tmp_path: Path) -> None:
    write_events(full(), tmp_path / "e.parquet")
    plain = full(static=None)
    write_events(plain, tmp_path / "e.parquet")
    assert read_events(tmp_path / "e.parquet").equals(plain)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_csv_holds_the_tables(tmp_path: Path, suffix: str) -> None:
    log = full(predicates=None, static={"c": ["Old"], "a,": ["Old"]})
    written = write_events(log, tmp_path / f"e{suffix}")
    assert [path.name for path in written] == [f"e{suffix}", f"e.periods{suffix}", f"e.static{suffix}"]
    again = read_events(written[0], periods=written[1], static=written[2], group="group", unit="hours", resolution=0.25)
    assert again.equals(log)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["A", "B", " "])
        ),
        max_size=20,
    ),
    st.booleans(),
)
def test_round_trip_of_random_logs(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, float, str]], grouped: bool
) -> None:
    log = EventLog.from_columns(
        [r[0] for r in rows],
        [r[1] for r in rows],
        [r[2] for r in rows],
        periods={str(c): (-1.5, 1 / 3) for c in range(4)},
        group={str(c): str(c // 2) for c in range(4)} if grouped else None,
        predicates=["B", " ", "A"],
    )
    folder = tmp_path_factory.mktemp("logs")
    write_events(log, folder / "e.parquet")
    assert read_events(folder / "e.parquet").equals(log)
    write_events(log, folder / "e.csv")
    text = read_events(folder / "e.csv", periods=folder / "e.periods.csv", group="group" if grouped else None)
    pairs = {entity: sorted(found) for entity, found in reference.events_of(log).items()}
    assert {entity: sorted(found) for entity, found in reference.events_of(text).items()} == pairs
    assert (text.start.tolist(), text.groups) == (log.start.tolist(), log.groups)


def test_options_that_contradict_the_file_are_refused_and_others_win(tmp_path: Path) -> None:
    path = write_events(full(), tmp_path / "e.parquet")[0]
    with pytest.raises(OptionError, match=r'unit="days" contradicts the file, whose times are in hours'):
        read_events(path, unit="days")
    assert read_events(path, unit="hours").unit == "hours"
    assert read_events(path, resolution=0.5).times.tolist() == [0.5, 1, 1, 1]
    other = read_events(path, static={"entity": ["c"], "predicate": ["Young"]})
    assert other.predicates == ("Y", "never", "X\ny", "é 中", "Young")


def test_companions_that_are_gone_are_missed(tmp_path: Path) -> None:
    path = write_events(full(), tmp_path / "e.parquet")[0]
    (tmp_path / "e.periods.parquet").unlink()
    with pytest.raises(DataError, match=r'There is no file ".*e.periods.parquet"'):
        read_events(path)


@pytest.mark.parametrize(
    ("noted", "message"),
    [("{", "notes inside .* are damaged"), ("[1]", "are damaged"), ('{"version": 2}', "have no form known here")],
)
def test_notes_that_cannot_be_read_are_refused(tmp_path: Path, noted: str, message: str) -> None:
    table = pa.table({"entity": ["a"], "time": [1.0], "event": ["X"]}).replace_schema_metadata({"chronorule": noted})
    parquet.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(DataError, match=message):
        read_events(tmp_path / "e.parquet")


def test_metadata_is_plain_json(tmp_path: Path) -> None:
    path = write_events(full(), tmp_path / "e.parquet")[0]
    noted = json.loads(parquet.read_schema(path).metadata[b"chronorule"])
    assert noted["unit"] == "hours"
    assert noted["static"] == ["Old"]
    assert noted["companions"] == ["periods", "static"]


def test_files_of_different_logs_are_not_taken_for_one(tmp_path: Path) -> None:
    path = write_events(full(), tmp_path / "e.parquet")[0]
    (tmp_path / "other").mkdir()
    later = write_events(full(unit="days"), tmp_path / "other" / "e.parquet")
    for part in later[1:]:  # as if the writing of the second log over the first had broken off
        before = (tmp_path / part.name).read_bytes()
        part.replace(tmp_path / part.name)
        with pytest.raises(DataError, match=rf'{part.name}" was written with another log than ".*e.parquet"'):
            read_events(path)
        (tmp_path / part.name).write_bytes(before)
    assert read_events(path).equals(full())


def test_the_same_log_makes_the_same_files(tmp_path: Path) -> None:
    first, second = (write_events(full(), tmp_path / name) for name in ("e.parquet", "f.parquet"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_killed_writer_leaves_the_old_files_whole(tmp_path: Path) -> None:
    write_events(full(), tmp_path / "e.parquet")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "e.parquet")], check=False, capture_output=True, text=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    after = {file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith(".part")}
    assert after == before


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_names_of_files_may_be_as_long_as_can_be(tmp_path: Path, suffix: str) -> None:
    name = "n" * (255 - len(f".periods{suffix}"))
    written = write_events(full(static=None), tmp_path / f"{name}{suffix}")
    assert [path.name for path in written] == [f"{name}{suffix}", f"{name}.periods{suffix}"]


class TestRefusals:
    def test_names_that_no_file_has(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="holds a zero byte, which no file has in its name"):
            write_events(full(), f"{tmp_path}/e\0.csv")
        with pytest.raises(DataError, match=r"cannot be written \(File name too long\)"):
            write_events(full(), tmp_path / f"{'n' * 255}.csv")
        assert list(tmp_path.iterdir()) == []

    def test_what_is_no_log_and_no_path(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="log is of type dict, not an EventLog; read_events makes one of a table"):
            write_events({"entity": []}, tmp_path / "e.csv")  # type: ignore[arg-type]
        for path in (None, 3, b"e.csv"):
            with pytest.raises(DataError, match="is no path of a file; give the path as text"):
                write_events(full(), path)  # type: ignore[arg-type]

    def test_forms_that_are_none(self, tmp_path: Path) -> None:
        for name in ("e.xlsx", "e", "e.gz"):
            with pytest.raises(DataError, match=r"end its name with .parquet, .csv, .csv.gz"):
                write_events(full(), tmp_path / name)

    def test_places_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "d.csv").mkdir()
        with pytest.raises(DataError, match="is a directory; name a file in it"):
            write_events(full(), tmp_path / "d.csv")
        with pytest.raises(DataError, match=r'".*" cannot be written \(.*No such file'):
            write_events(full(), tmp_path / "nowhere" / "e.parquet")

    @pytest.mark.parametrize("suffix", ["parquet", "csv"])
    def test_a_full_disk_leaves_what_was_there(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
    ) -> None:
        path = tmp_path / f"e.{suffix}"
        write_events(full(), path)
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

        def fill(table: pa.Table, where: Any, *_: Any, **__: Any) -> None:
            if hasattr(where, "write"):
                where.write(b"half")
            else:
                Path(where).write_bytes(b"half")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pyarrow.parquet.write_table", fill)
        monkeypatch.setattr("pyarrow.csv.write_csv", fill)
        with pytest.raises(DataError, match=r"cannot be written \(No space left on device\); make room"):
            write_events(full(unit="days"), path)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
