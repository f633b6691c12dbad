"""`chronorule demo`: what it prints, what it leaves behind, and that README and docs show the same."""

from __future__ import annotations

import errno
import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import chronorule as cr
from chronorule.cli.demo import KNOWN, in_words, introduction, learner
from command_line import done, refused, run

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the command printed, and the folder in which it was run."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return done("demo"), folder


def test_demo_prints_the_model_that_it_saves(demo: tuple[str, Path]) -> None:
    told, folder = demo
    model = cr.load(folder / "demo-output")
    assert str(model) in told
    assert [str(item.rule) for item in model.rules] == [KNOWN]
    assert [item.label for item in model.rules] == ["not tested"]
    assert str(model.suggestive[0].rule) == "LowUrine <- FluidBolus"
    assert model.notes == ()
    assert model.certificate is not None
    assert model.certificate.optimal
    assert "certified: no other rule passes" in told
    assert max(map(len, told.splitlines())) <= 80


def test_demo_tells_where_everything_is(demo: tuple[str, Path]) -> None:
    told, folder = demo
    out = folder / "demo-output"
    names = {path.name for path in out.iterdir()}
    assert names == {
        "NOTICE.md",
        "events.json",
        "icu_demo.parquet",
        "icu_demo.periods.parquet",
        "icu_demo.static.parquet",
        "known.rules.txt",
        "manifest.json",
        "report.html",
        "report.json",
        "rules.toml",
    }
    listed = told.split("written: ")[1].split("\n\n")[0]
    assert {Path(path.strip()).name for path in listed.split(",")} == names
    assert f"in a browser: {Path('demo-output/report.html')}" in told
    assert "LowUrine" in (out / "report.html").read_text(encoding="utf-8")
    assert cr.read_events(out / "icu_demo.parquet").equals(cr.demo_log())


def test_report_of_the_demo_can_be_drawn_again(demo: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo[1])
    done("report", "demo-output", "--out", "again.html")
    assert Path("again.html").read_bytes() == Path("demo-output/report.html").read_bytes()


def test_demo_says_of_files_of_before_that_it_replaced_them(
    demo: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo[1])
    told = done("demo", "--out", "demo-output")
    assert "written: " not in told
    assert "replaced: " in told


def test_demo_counts_in_words_what_the_table_counts(demo: tuple[str, Path]) -> None:
    told, folder = demo
    model = cr.load(folder / "demo-output")
    words = " ".join(told.split())
    for item in (model.rules[0], model.suggestive[0]):
        body = str(item.rule).removeprefix("LowUrine <- ")
        assert f"after {body}, LowUrine comes at {item.ratio:.1f} times its usual rate; {item.heads} times" in words
        assert f"in all, in {item.support} patients." in words
    assert "No other rule passes: 97 patients are too few" in words
    assert "clinical advice" in words


def test_demo_would_tell_of_a_rule_that_it_learned(demo: tuple[str, Path]) -> None:
    model = cr.load(demo[1] / "demo-output")
    words = in_words(replace(model, rules=model.rules + model.suggestive[:1], suggestive=()))
    assert "Learned: in the 6 hours after FluidBolus" in words
    assert "No other rule" not in words


def test_demo_that_was_stopped_claims_no_proof(demo: tuple[str, Path]) -> None:
    model = cr.load(demo[1] / "demo-output")
    words = in_words(replace(model, certificate=None, stopped="interrupted"))
    assert "Learning was stopped before it had proved that no other rule passes" in " ".join(words.split())
    assert "too few" not in words
    assert "The best that did not pass: in the 6 hours after FluidBolus" in " ".join(words.split())


def test_demo_says_what_it_looks_for(demo: tuple[str, Path]) -> None:
    model = cr.load(demo[1] / "demo-output")
    assert model.grammar is not None
    library = model.grammar.library
    assert f"up to 3 of the {len(library)} other predicates" in " ".join(introduction(cr.demo_log()).split())


def test_demo_shows_a_command_that_learns_the_same(demo: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    told, folder = demo
    monkeypatch.chdir(folder)
    words = shlex.split(told.split("learn --help):\n")[1].replace("\\\n", " "))
    assert words[0] == "chronorule"
    records = json.loads(done(*words[1:], "--json", "--quiet"))
    model = cr.load("demo-output").to_dict()
    assert [item["rule"] for item in records["rules"]] == [KNOWN]
    for name in ("rules", "suggestive", "options", "head", "grammar", "training"):
        assert records[name] == model[name]


def test_readme_shows_what_the_demo_prints(demo: tuple[str, Path]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"`chronorule demo` -->\n```text\n(.*?)```", readme, flags=re.DOTALL)
    assert len(blocks) == 2
    assert all(block in demo[0] for block in blocks)


def test_page_of_the_data_learns_as_the_demo_does() -> None:
    page = (ROOT / "docs" / "demo-data.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```python\n(learner = .*?)print\(.*?```", page, flags=re.DOTALL)
    names: dict[str, Any] = {"cr": cr, "head": cr.Head("LowUrine", reset_by="NormalUrine")}
    exec(block, names)
    shown, used = names["learner"].get_params(), learner().get_params()
    assert tuple(shown.pop("baseline")) == used.pop("baseline")
    assert shown == used


def test_full_disk_leaves_no_half_of_the_data_and_prints_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copyfile

    def full(source: Path, target: Path) -> None:
        copy(source, target)
        if "static" in target.name:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    result = run("demo", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "cannot hold the events (No space left on device)" in result.stderr
    assert str(cr.load(tmp_path)) in result.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", "report.html", "report.json", "rules.toml"}


def test_demo_cannot_make_its_folder_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("", encoding="utf-8")
    assert '"taken"' in refused("demo", "--out", "taken")
