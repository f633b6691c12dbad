"""`chronorule report`: the page of a saved model, from events that are named or found again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import chronorule as cr
from chronorule.cli.options import EventFile
from chronorule.cli.source import SOURCE, recall, remember
from chronorule.errors import DataError
from chronorule.report import report_page, report_records
from command_line import done, events, refused, run, write_files
from reports import Page

READING = ("--periods", "periods.csv")


def event_file() -> EventFile:
    """The file that `write_files` wrote, as the command line reads it."""
    return replace(EventFile.plain("events.csv"), periods="periods.csv")


@pytest.fixture(autouse=True)
def model_in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cr.RuleModel:
    """A model in `model`, made from `events.csv`."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    log = event_file().read()
    model = cr.reweigh(Path("rules.txt").read_text(encoding="utf-8"), log)
    model.save("model")
    remember(Path("model"), event_file(), log)
    return model


def test_page_and_records_are_written_beside_the_model(model_in_folder: cr.RuleModel) -> None:
    told = done("report", "model", "events.csv", *READING)
    assert told == "written: model/report.html, model/report.json\n"
    records = json.loads(Path("model/report.json").read_text(encoding="utf-8"))
    assert records == report_records(model_in_folder, event_file().read())
    assert Path("model/report.html").read_text(encoding="utf-8") == report_page(records)
    assert done("report", "model", "events.csv", *READING).startswith("replaced: model/report.html")


def test_files_may_be_named() -> None:
    done("report", "model", "events.csv", *READING, "--out", "page.html")
    assert Path("page.json").exists()
    done("report", "model", "events.csv", *READING, "--out", "page.html", "--json", "other.json")
    assert Path("other.json").read_bytes() == Path("page.json").read_bytes()
    assert not Path("model/report.html").exists()


def test_events_are_found_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done("report", "model", "events.csv", *READING, "--out", "named.html")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    done("report", "../model", "--out", "found.html")
    assert Path("found.html").read_bytes() == Path("../named.html").read_bytes()


def test_model_and_events_may_move_together(tmp_path: Path) -> None:
    done("report", "model", "--out", "before.html")
    (tmp_path / "moved").mkdir()
    for name in ("model", "events.csv", "periods.csv"):
        shutil.move(name, "moved")
    done("report", "moved/model", "--out", "after.html")
    assert Path("after.html").read_bytes() == Path("before.html").read_bytes()
    assert str(tmp_path) not in Path("moved/model", SOURCE).read_text(encoding="utf-8")


def test_learning_remembers_its_events() -> None:
    done("learn", "events.csv", *READING, "--head", "Y", "--max-length", "1", "--out", "learned", "--quiet")
    before = Path("learned/report.html").read_bytes()
    done("report", "learned")
    assert Path("learned/report.html").read_bytes() == before


def test_events_that_are_gone_or_changed_are_asked_for() -> None:
    original = Path("events.csv").read_text(encoding="utf-8")
    Path("events.csv").write_text(original + "p0,3.5,B\n", encoding="utf-8")
    assert '"events.csv" has changed since the model was made from it' in refused("report", "model")
    Path("events.csv").unlink()
    message = refused("report", "model")
    assert "are not at" in message
    assert message.endswith("any more; name the events: chronorule report model EVENTS.")
    Path("model", SOURCE).unlink()
    assert "that would tell where the events of the model are; name the events" in refused("report", "model")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "it is no JSON"),
        ("[]", "does not say how to read"),
        ('{"format": 2}', "does not say how to read"),
        (None, "does not say how to read"),
    ],
)
def test_a_source_that_another_hand_wrote_is_refused(text: str | None, words: str) -> None:
    file = Path("model", SOURCE)
    if text is None:
        record = json.loads(file.read_text(encoding="utf-8"))
        text = json.dumps({**record, "resolution": "fine"})
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=words):
        recall(Path("model"))


def test_how_to_read_without_what_to_read_is_refused() -> None:
    result = run("report", "model", *READING)
    assert result.exit_code == 2
    assert "--periods says how to read EVENTS, but no EVENTS are named" in result.stderr


def test_page_and_records_need_two_names() -> None:
    result = run("report", "model", "--out", "a.html", "--json", "a.html")
    assert result.exit_code == 2
    assert "name the same file" in result.stderr


def test_without_entities_none_is_named() -> None:
    told = Path("events.csv").read_text(encoding="utf-8").replace("p", "patient-")
    Path("many.csv").write_text(told, encoding="utf-8")
    periods = Path("periods.csv").read_text(encoding="utf-8").replace("p", "patient-").replace("stopatient-", "stop")
    Path("spans.csv").write_text(periods.replace("stpatient-", "stp"), encoding="utf-8")
    words = ("report", "model", "many.csv", "--periods", "spans.csv")
    done(*words, "--out", "whole.html")
    done(*words, "--out", "bare.html", "--no-entities")
    assert "patient-" in Path("whole.html").read_text(encoding="utf-8")
    for name in ("bare.html", "bare.json"):
        assert "patient-" not in Path(name).read_text(encoding="utf-8")


def test_another_log_is_shown_and_said() -> None:
    Path("more.csv").write_text(events() + "p0,3.5,B\n", encoding="utf-8")
    done("report", "model", "more.csv", *READING)
    page = Page(Path("model/report.html").read_text(encoding="utf-8"))
    assert "The model was weighed on another log" in page.text


def test_what_is_no_model_or_no_place_is_refused() -> None:
    assert "There is no folder" in refused("report", "nowhere", "events.csv")
    assert "there is no folder" in refused("report", "model", "events.csv", *READING, "--out", "nowhere/r.html")


@pytest.mark.parametrize(
    ("words", "file", "option"),
    [
        ("--out model/manifest.html", "model/manifest.json", "--json"),
        ("--out model/events.html", "model/events.json", "--json"),
        ("--out model/rules.toml", "model/rules.toml", "--out"),
        ("--out model/journal.jsonl", "model/journal.jsonl", "--out"),
        ("--json model/rules.edited.toml", "model/rules.edited.toml", "--json"),
    ],
)
def test_parts_of_a_model_are_not_overwritten(words: str, file: str, option: str) -> None:
    Path("model/rules.edited.toml").write_text("mine", encoding="utf-8")
    before = {path: path.read_bytes() for path in Path("model").iterdir()}
    message = refused("report", "model", *words.split())
    assert f'"{file}" is a part of a saved model' in message
    assert message.endswith(f"name another file with {option}.")
    assert {path: path.read_bytes() for path in Path("model").iterdir()} == before


@pytest.mark.parametrize("named", [(), ("events.csv", *READING)])
@pytest.mark.parametrize("words", ["--out events.csv", "--json periods.csv", "--out model/../link.csv"])
def test_what_is_read_is_not_overwritten(words: str, named: tuple[str, ...]) -> None:
    Path("link.csv").symlink_to("events.csv")
    before = Path("events.csv").read_bytes(), Path("periods.csv").read_bytes()
    assert "is read by this command, and writing there would destroy it" in refused(
        "report", "model", *named, *words.split()
    )
    assert (Path("events.csv").read_bytes(), Path("periods.csv").read_bytes()) == before


def test_page_and_records_follow_links() -> None:
    Path("site").mkdir()
    Path("page.html").symlink_to("site/index.html")
    Path("page.json").symlink_to("site/index.json")
    done("report", "model", "--out", "page.html")
    assert Path("page.html").is_symlink()
    assert Path("site/index.html").read_text(encoding="utf-8").startswith("<!")
    assert json.loads(Path("site/index.json").read_text(encoding="utf-8"))
