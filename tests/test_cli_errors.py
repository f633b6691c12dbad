"""What cannot be used ends with one sentence and status 1, what is not understood with 2; never with a traceback."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

import chronorule as cr
from command_line import events, refused, run, shell, write_files

WATCHED = ("--periods", "periods.csv")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with good files and bad ones."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    (tmp_path / "folder").mkdir()
    bad = {
        "zeros.csv": b"\0\1\2\xff" * 300,
        "latin.csv": "entity,time,event\np1,1,Fièvre\n".encode("latin-1"),
        "torn.parquet": b"PAR1" + bytes(range(256)) * 4,
        "empty.csv": b"",
        "header.csv": b"entity,time,event\n",
        "blank.csv": b"\n\n",
        "words.csv": b"entity,time,event\np1,1,A\np1,noon,B\n",
        "semicolons.csv": events(";").encode(),
        "ragged.csv": b"entity,time,event\np1,1,A\np1,2\n",
        "german.csv": b"entity,time,event\np1,24.12.2020,A\n",
        "few.csv": b"who,what\np1,A\n",
        "pairs.csv": b"entity,time,event\np1,1,A\np1,2,Y\n",
        "other.csv": b"entity,start,stop\nnobody,0,1\n",
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


# Events


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("missing.csv", 'There is no file "missing.csv"'),
        ("folder", '"folder" is a directory'),
        ("zeros.csv", '"zeros.csv" is neither Parquet nor UTF-8 text'),
        ("latin.csv", '"latin.csv" is not UTF-8 text'),
        ("torn.parquet", '"torn.parquet" cannot be read'),
        ("empty.csv", '"empty.csv" is empty'),
        ("header.csv", "The log is empty"),
        ("blank.csv", '"blank.csv" has no line of column names'),
        ("words.csv", '"noon" in line 3 of "words.csv"'),
        ("semicolons.csv", '--separator ";"'),
        ("events.csv --separator ;", 'leave --separator out, whose default is ",".'),
        ("ragged.csv", 'Line 3 of "ragged.csv" has 2 fields'),
        ("german.csv", '--time-format "%d.%m.%Y"'),
        ("german.csv --time-format %Y", 'does not fit --time-format "%Y"'),
        (
            "events.csv --entity-column patient",
            r'no column "patient".*it has "entity", "time", "event".*--entity-column',
        ),
        ("events.csv --group-column ward", 'no column "ward"'),
        ("events.csv --time-column event", 'column "event"'),
        ("events.csv --separator ;;", "separator"),
        ("events.csv --resolution -1", "--resolution -1.0 is no size of a tick"),
        ("events.csv --periods missing.csv", 'There is no file "missing.csv"'),
        (
            "events.csv --periods events.csv",
            r'"events.csv" has .*; call what is meant "start", "stop" in the table itself.$',
        ),
        ("events.csv --periods other.csv", "no period"),
        ("events.csv --static missing.csv", 'There is no file "missing.csv"'),
        ("events.csv --static events.csv", r'call what is meant "predicate" in the table itself.$'),
        (
            "pairs.csv --static few.csv",
            r'name the column with --entity-column "...", and call what is meant "predicate" in the table itself.$',
        ),
    ],
)
@pytest.mark.parametrize("command", ["describe", "reweigh rules.txt"])
def test_events_that_cannot_be_read(command: str, words: str, sentence: str) -> None:
    assert re.search(sentence, refused(*command.split(), *words.split()))


# Heads


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--head y", 'The log has no predicate "y"'),
        ("--head Y --reset-by Z", 'The log has no predicate "Z"'),
        ("--head Y --terminal --reset-by A", "both terminal and reset"),
        ("--head Y --not-at-risk-from-start", "name the predicate in --reset-by, or leave --not-at-risk-from-start"),
        ("--head Y --reset-by Y", "leave --reset-by out"),
    ],
)
@pytest.mark.parametrize("command", ["describe", "reweigh rules.txt"])
def test_head_that_cannot_be_explained(command: str, words: str, sentence: str) -> None:
    assert sentence in refused(*command.split(), "events.csv", *WATCHED, *words.split())


def test_unknown_head_is_answered_with_near_names(files: Path) -> None:
    text = events().replace(",Y\n", ",LowUrine\n").replace(",A\n", ",HighBUN\n")
    (files / "ward.csv").write_text(text, encoding="utf-8")
    message = refused("describe", "ward.csv", *WATCHED, "--head", "LowUrin")
    assert message == 'error: The log has no predicate "LowUrin"; did you mean "LowUrine"?'


def test_options_of_no_head() -> None:
    for word in ("--terminal", "--not-at-risk-from-start"):
        result = run("describe", "events.csv", word)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "name it: --head" in result.stderr


# Rules


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "There is no rule in"),
        ("# nothing\n\n", "There is no rule in"),
        ("Y <- A\nY <- A <\n", r"In .*: Line 2: A predicate is missing here. \(column 9\)"),
        ("Y <- A < B < A\n", "Line 1:"),
        ("Y <- A\nY <- A\n", "Line 2: this is the rule of line 1 again"),
        ("Y <- Q\n", 'The log has no predicate "Q"'),
        ("Y <- A\nB <- A\n", "The rules explain 2 heads"),
        ("B <- A\nwhat is this\n", "Line 2"),
    ],
)
def test_rules_that_cannot_be_used(files: Path, text: str, sentence: str) -> None:
    (files / "bad.txt").write_text(text, encoding="utf-8")
    assert re.search(sentence, refused("reweigh", "bad.txt", "events.csv", *WATCHED))
    assert re.search(sentence, refused("reweigh", "-", "events.csv", *WATCHED, input=text))


def test_error_in_a_rule_is_pointed_at(files: Path) -> None:
    (files / "bad.txt").write_text("Y <- A\nY <- A before B\n", encoding="utf-8")
    lines = run("reweigh", "bad.txt", "events.csv").stderr.splitlines()
    assert lines[0].startswith('error: In "bad.txt": Line 2: Relations are written Before')
    assert lines[1][lines[2].index("^") :] == "before B"


def test_rules_of_another_head() -> None:
    assert "explains 'Y', but the head is 'B'" in refused("reweigh", "rules.txt", "events.csv", *WATCHED, "--head", "B")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing.txt", 'There is no file "missing.txt" of rules'),
        ("folder", '"folder" is a directory, not a file of rules'),
        ("latin.csv", '"latin.csv" is no UTF-8 text'),
        ("zeros.csv", '"zeros.csv" is no UTF-8 text'),
        ("x" * 300, "cannot be read"),
    ],
)
def test_file_of_rules_that_cannot_be_read(name: str, sentence: str) -> None:
    assert sentence in refused("reweigh", name, "events.csv", *WATCHED)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--span -2", "--span -2.0 excludes every match"),
        ("--baseline 6,3", "cut"),
    ],
)
def test_settings_that_no_fit_can_take(words: str, sentence: str) -> None:
    assert re.search(sentence, refused("reweigh", "rules.txt", "events.csv", *WATCHED, *words.split()))


# Output


@pytest.mark.parametrize("command", ["reweigh rules.txt events.csv --periods periods.csv", "simulate --sequences 9"])
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("folder", '"folder" is a directory; name a file in it'),
        (os.path.join("nowhere", "x.csv"), 'there is no folder "nowhere"; create it first'),
        (os.path.join("rules.txt", "x.csv"), 'there is no folder "rules.txt"'),
    ],
)
def test_output_that_cannot_be_written_is_refused_before_the_work(command: str, name: str, sentence: str) -> None:
    assert sentence in refused(*command.split(), "--out", name)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("events.csv", '"events.csv" is read by this command'),
        ("./periods.csv", '"periods.csv" is read by this command'),
        ("rules.txt", '"rules.txt" is read by this command'),
        ("link.txt", '"link.txt" is read by this command'),
        ("saved/manifest.json", '"saved/manifest.json" is a part of a saved model'),
    ],
)
def test_what_is_read_or_of_a_model_is_not_overwritten(files: Path, name: str, sentence: str) -> None:
    (files / "link.txt").symlink_to("events.csv")
    (files / "saved").mkdir()
    (files / "saved" / "manifest.json").write_text("{}", encoding="utf-8")
    before = {path: path.read_bytes() for path in files.glob("*.*")}
    assert sentence in refused("reweigh", "rules.txt", "events.csv", *WATCHED, "--out", name)
    assert {path: path.read_bytes() for path in files.glob("*.*")} == before


def test_files_beside_a_parquet_file_are_not_overwritten(files: Path) -> None:
    run("simulate", "--sequences", "9", "--out", "suite.parquet")
    before = (files / "suite.periods.parquet").read_bytes()
    message = refused("reweigh", "suite.rules.txt", "suite.parquet", "--out", "suite.periods.parquet")
    assert '"suite.periods.parquet" is read by this command' in message
    assert (files / "suite.periods.parquet").read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
@pytest.mark.parametrize("command", ["reweigh rules.txt events.csv --periods periods.csv", "simulate --sequences 9"])
def test_a_pipe_is_not_replaced_by_a_file(files: Path, command: str) -> None:
    os.mkfifo(files / "pipe.csv")
    assert '"pipe.csv" is a device or a pipe' in refused(*command.split(), "--out", "pipe.csv")
    assert (files / "pipe.csv").is_fifo()


@pytest.mark.parametrize("command", ["reweigh rules.txt events.csv --periods periods.csv", "simulate --sequences 9"])
def test_a_link_is_followed(files: Path, command: str) -> None:
    (files / "folder" / "real.csv").write_text("before", encoding="utf-8")
    (files / "link.csv").symlink_to(os.path.join("folder", "real.csv"))
    run(*command.split(), "--out", "link.csv")
    assert (files / "link.csv").is_symlink()
    assert (files / "folder" / "real.csv").read_text(encoding="utf-8") != "before"


def test_a_link_to_nowhere_is_refused(files: Path) -> None:
    (files / "link.csv").symlink_to(os.path.join("nowhere", "real.csv"))
    assert "there is no folder" in refused("reweigh", "rules.txt", "events.csv", *WATCHED, "--out", "link.csv")


def test_folder_without_permission_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    message = refused("reweigh", "rules.txt", "events.csv", "--out", "x.txt")
    assert 'this user may not write in "."' in message


def test_full_disk_leaves_what_was_there(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "weighed.txt").write_text("what stood there before", encoding="utf-8")

    def full(self: Path, *_: object, **__: object) -> int:
        self.write_bytes(b"half of")
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(files.iterdir())
    monkeypatch.setattr(Path, "write_text", full)
    message = refused("reweigh", "rules.txt", "events.csv", *WATCHED, "--out", "weighed.txt")
    assert '"weighed.txt" cannot be written (No space left on device)' in message
    assert sorted(files.iterdir()) == before
    assert (files / "weighed.txt").read_text(encoding="utf-8") == "what stood there before"


def test_suffix_that_names_no_form() -> None:
    assert "end its name with .parquet, .csv" in refused("simulate", "--sequences", "9", "--out", "suite.xlsx")


# Whatever else happens


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (KeyboardInterrupt(), "error: Stopped before the end"),
        (MemoryError(), "error: The memory of this machine is not enough"),
        (OSError(errno.EIO, "Input/output error", "/dev/disk"), '"/dev/disk" cannot be used (Input/output error)'),
        (OSError("strange"), "A file or a device cannot be used (strange)"),
        (cr.errors.GrammarError("This is a sentence."), "error: This is a sentence."),
    ],
)
def test_every_end_is_a_sentence(problem: BaseException, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_events(*_: object, **__: object) -> cr.EventLog:
        raise problem

    monkeypatch.setattr(cr, "read_events", read_events)
    assert sentence in refused("describe", "events.csv")


def test_error_of_the_program_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cr, "read_events", None)
    with pytest.raises(TypeError, match="not callable"):
        run("describe", "events.csv")


def test_shell_sees_the_same() -> None:
    result = shell("reweigh", "rules.txt", "missing.csv")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith('error: There is no file "missing.csv"')
    assert len(result.stderr.splitlines()) == 1


# Usage


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "Usage: chronorule [OPTIONS] COMMAND"),
        ("learned", "No such command 'learned'"),
        ("describe", "Missing argument 'EVENTS'"),
        ("describe events.csv --haed Y", "No such option"),
        ("describe events.csv --group ward", "No such option '--group'"),  # simulate has it, for a number
        ("describe events.csv --resolution fine", "'fine' is not a valid float"),
        ("reweigh rules.txt", "Missing argument 'EVENTS'"),
        ("reweigh rules.txt events.csv --feature often", "'often' is not one of"),
        ("reweigh rules.txt events.csv --heterogeneity some", "'some' is not one of"),
        ("reweigh rules.txt events.csv --kernel hat", "'hat' is none of step, window:WIDTH and decay:RATE"),
        ("reweigh rules.txt events.csv --kernel window:wide", "'window:wide' is none of step"),
        ("reweigh rules.txt events.csv --kernel step:1", "'step:1' is none of step"),
        ("reweigh rules.txt events.csv --kernel window:0", "'window:0' never counts or never fades"),
        ("reweigh rules.txt events.csv --kernel decay:-1", "give a positive, finite number"),
        ("reweigh rules.txt events.csv --kernel window(nan)", "give a positive, finite number"),
        ("reweigh rules.txt events.csv --penalty nan", "'nan' is no number that could be in the range x>=0"),
        ("reweigh rules.txt events.csv --baseline 6;12", "is no list of numbers"),
        ("reweigh rules.txt events.csv --penalty -1", "-1.0 is not in the range"),
        ("reweigh rules.txt events.csv --threads 0", "0 is not in the range"),
        ("simulate", "Missing option '--out'"),
        ("simulate --out x.csv --group 7", "7 is not in the range"),
        ("simulate --out x.csv --predicates 7", "7 is not in the range"),
        ("simulate --out x.csv --sequences 0", "0 is not in the range"),
        ("simulate --out x.csv --seed -1", "-1 is not in the range"),
    ],
)
def test_usage_that_is_not_understood(words: str, sentence: str, files: Path) -> None:
    before = sorted(files.iterdir())
    result = run(*words.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert sorted(files.iterdir()) == before
