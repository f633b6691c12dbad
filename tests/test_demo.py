"""`chronorule demo`: what it prints, what it leaves behind, and that README and docs show the same."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import chronorule as cr
from chronorule.cli.demo import in_words, introduction, learner_for
from command_line import done, refused

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
    assert [str(item.rule) for item in model.rules] == ["LowUrine <- FluidBolus"]
    assert [item.label for item in model.rules] == ["says when"]
    assert model.suggestive
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
        "manifest.json",
        "report.html",
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


def test_demo_counts_in_words_what_the_rule_counts(demo: tuple[str, Path]) -> None:
    told, folder = demo
    [item] = cr.load(folder / "demo-output").rules
    words = " ".join(told.split())
    assert f"LowUrine comes at {item.ratio:.1f} times its usual rate." in words
    assert f"It came {item.heads} times then, in {item.support} patients." in words
    assert "no clinical advice" in words


def test_demo_without_a_rule_says_so(demo: tuple[str, Path]) -> None:
    model = cr.load(demo[1] / "demo-output")
    assert in_words(replace(model, rules=())).startswith("No rule passes: 97 patients")


def test_demo_says_what_it_looks_for() -> None:
    log = cr.demo_log()
    body = learner_for(log).get_params()["grammar"].body
    assert not [name for name in body if name.startswith("Normal") or name == "LowUrine"]
    assert f"up to 3 of {len(body)} abnormal states" in " ".join(introduction(log).split())


def test_readme_shows_what_the_demo_prints(demo: tuple[str, Path]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(r"`chronorule demo` -->\n```text\n(.*?)```", readme, flags=re.DOTALL)
    assert block in demo[0]


def test_page_of_the_data_learns_as_the_demo_does() -> None:
    page = (ROOT / "docs" / "demo-data.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```python\n(body = .*?)print\(.*?```", page, flags=re.DOTALL)
    log = cr.demo_log()
    names = {"cr": cr, "log": log, "head": cr.Head("LowUrine", reset_by="NormalUrine")}
    exec(block, names)
    learner = names["learner"]
    assert isinstance(learner, cr.RuleLearner)
    shown, used = learner.get_params(), learner_for(log).get_params()
    assert shown.pop("baseline") == list(used.pop("baseline"))
    assert shown == used


def test_demo_cannot_make_its_folder_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("", encoding="utf-8")
    assert '"taken"' in refused("demo", "--out", "taken")
