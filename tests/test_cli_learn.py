"""`chronorule learn`: what it finds and says, what it leaves behind, how it is stopped, and what it cannot use."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

import chronorule as cr
from chronorule.cli import watching
from chronorule.cli.places import folders_of
from chronorule.errors import ModelError
from chronorule.learner import LearningProgress
from chronorule.search import Progress
from command_line import COMMAND, done, refused, run, write_files

LEARN = ("learn", "suite.csv", "--periods", "suite.periods.csv", "--head", "Y")
SHORT = (*LEARN, "--max-length", "2", "--quiet")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred sequences in which Y follows A < B, on disk."""
    folder = tmp_path_factory.mktemp("world")
    log = cr.simulate("Y <- A < B\nY <-| C", weights=[1.4, 0.9], predicates=5, entities=250, seed=2).log
    cr.write_events(replace(log, entities=tuple(f"patient{k}" for k in range(250))), folder / "suite.csv")
    return folder


@pytest.fixture(autouse=True)
def files(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for path in world.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    write_files(tmp_path)
    return tmp_path


# What it finds and says


def test_true_rule_is_found_and_proved() -> None:
    text = done(*SHORT)
    assert "Y ← A < B" in text
    words = " ".join(text.split())
    assert "certified: no other rule passes, of all rules of the grammar: chains of Before/Equal over 5" in words
    assert "length 1..2, sign +1" in words
    assert all(len(line) <= 80 for line in text.splitlines())


def test_what_is_printed_is_what_python_learns() -> None:
    log = cr.read_events("suite.csv", periods="suite.periods.csv")
    learner = cr.RuleLearner("Y", grammar=cr.Grammar(max_length=2)).fit(log)
    record = json.loads(done(*SHORT, "--json"))
    assert [item["rule"] for item in record["rules"]] == [item.rule.key for item in learner.model_.rules]
    assert record["rules"][0]["weight"] == learner.model_.rules[0].weight
    assert record["certificate"]["optimal"]
    assert record["stopped"] is None


def options_of(*words: str) -> dict[str, Any]:
    """The options of the learner that a command made, from the record that it printed."""
    record: dict[str, Any] = json.loads(done(*SHORT[:-3], "--quiet", "--json", *words))
    return {**record["options"], "record": record}


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("--max-length 1", "max_length", 1),
        ("--min-length 2 --max-length 2", "min_length", 2),
        ("--length 2", "length", 2),
        ("--relations before", "relations", ["before"]),
        ("--partial-orders --max-length 2 --search brute", "partial_orders", True),
        ("--repeats --max-length 2", "repeats", True),
        ("--body A,B --max-length 2", "body", ["A", "B"]),
        ("--body A --body B --max-length 2", "body", ["A", "B"]),
        ("--include-head --max-length 1", "body", ["A", "B", "C", "D", "E", "Y"]),
        ("--include-head --reset-by D --max-length 1", "body", ["A", "B", "C", "E", "Y"]),
        ("--include-head --body B,Y,A --max-length 1", "body", ["B", "A", "Y"]),
        ("--must-include B --max-length 2", "required", ["B"]),
        ("--forbid A,C --max-length 2", "forbidden", ["A", "C"]),
        ("--forbid-pair B A --max-length 2", "forbidden_pairs", [["A", "B"]]),
        ("--start-with A --max-length 2", "prefix", ["A"]),
        ("--signs inhibit --max-length 1", "signs", [-1]),
        ("--signs both --max-length 1", "signs", [1, -1]),
    ],
)
def test_option_of_the_grammar_arrives(words: str, name: str, value: object) -> None:
    options = options_of(*words.split())
    assert options["grammar"][name] == value
    grammar = cr.Grammar.from_dict(options["record"]["grammar"])
    for item in options["record"]["rules"]:
        assert grammar.why_not(cr.parse_rule(item["rule"])) is None


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("--feature count --search brute", "feature", "count"),
        ("--kernel window:4", "kernel", "window(4)"),
        ("--span 5", "span", 5.0),
        ("--alpha 0.01", "alpha", 0.01),
        ("--min-support 3", "min_support", 3),
        ("--objective gradient", "objective", "gradient"),
        ("--stop optimal --penalty 20 --objective gradient", "stop", "optimal"),
        ("--penalty 0.5", "penalty", 0.5),
        ("--within", "within", True),
        ("--honest --seed 3", "honest", True),
        ("--honest --seed 3", "random_state", 3),
        ("--heterogeneity none", "heterogeneity", "none"),
        ("--baseline 5,10", "baseline", [5.0, 10.0]),
        ("--max-rules 0", "max_rules", 0),
        ("--threads 1", "threads", 1),
        ("--search brute", "search", "brute"),
        ("--given-rules rules.txt", "given_rules", ["Y <- A < B", "Y <- C"]),
    ],
)
def test_option_of_the_learner_arrives(words: str, name: str, value: object) -> None:
    assert options_of("--max-length", "1", *words.split())[name] == value


def test_inhibiting_rule_is_found_where_it_is_asked_for() -> None:
    assert "Y ↤ C" in done(*SHORT, "--signs", "both")


def test_given_rules_stay() -> None:
    assert "Y ← C" in done(*SHORT, "--given-rules", "rules.txt")
    assert "Weights in it are not used: all are found again" in " ".join(done("learn", "--help").split())


def test_time_that_is_up_is_said() -> None:
    words = " ".join(done(*SHORT, "--time-limit", "0").split())
    assert "stopped early, at the time limit" in words
    assert "certified: no" not in words.replace("not certified: no", "")


def test_several_heads_are_learned_each_by_itself(files: Path) -> None:
    text = done(*SHORT, "--head", "A", "--out", "both")
    assert text.startswith("Y: ")
    assert "\n\n\nA: " in text
    assert sorted(os.listdir("both")) == ["A", "Y"]
    assert cr.load(files / "both" / "A").head.name == "A"
    record = json.loads(done(*SHORT, "--head", "A", "--json"))
    assert list(record) == ["Y", "A"]


def test_given_rules_go_to_their_heads(files: Path) -> None:
    (files / "mixed.txt").write_text("Y <- A < B\nA <- B\n", encoding="utf-8")
    record = json.loads(done(*SHORT, "--head", "A", "--json", "--given-rules", "mixed.txt"))
    assert record["A"]["options"]["given_rules"] == ["A <- B"]
    assert record["Y"]["options"]["given_rules"] == ["Y <- A < B"]


def test_own_past_of_the_head_is_used_on_request(files: Path) -> None:
    """A head that brings the next one is told so, in the words of the command line."""
    rows = [f"p{k},{first + lag:g},Y\n" for k in range(120) for first in (2.0 + k % 7, 60.0) for lag in (0, 1, 1.5)]
    (files / "own.csv").write_text("entity,time,event\np0,1,A\n" + "".join(rows), encoding="utf-8")
    (files / "own.periods.csv").write_text(
        "entity,start,stop\n" + "".join(f"p{k},0,100\n" for k in range(120)), encoding="utf-8"
    )
    words = ("learn", "own.csv", "--periods", "own.periods.csv", "--head", "Y", "--kernel", "window:2", "--quiet")
    assert "give --include-head" in run(*words, "--max-length", "1").stderr
    result = run(*words, "--include-head", "--max-length", "1")
    assert result.exit_code == 0
    assert "1  Y ← Y\n" in result.stdout


def test_names_with_commas_are_names(files: Path) -> None:
    rows = "".join(f'p{k},{k % 5},"A, or B"\np{k},{6 + k % 3},Y\n' for k in range(30))
    (files / "comma.csv").write_text(f"entity,time,event\n{rows}p0,3,B\n", encoding="utf-8")
    (files / "watched.csv").write_text(
        "entity,start,stop\n" + "".join(f"p{k},0,12\n" for k in range(30)), encoding="utf-8"
    )
    words = ("learn", "comma.csv", "--periods", "watched.csv", "--head", "Y", "--quiet", "--json")
    record = json.loads(done(*words, "--must-include", "A, or B"))
    assert record["grammar"]["required"] == ["A, or B"]
    assert 'has no predicate "or B"' in refused(*words, "--must-include", "B,or B")


# What it leaves behind


def test_out_holds_a_model_a_journal_and_a_report(files: Path) -> None:
    text = done(*SHORT, "--out", "model")
    model = cr.load(files / "model")
    assert str(model) + "\n" == text
    assert sorted(os.listdir("model")) == [
        "events.json", "journal.jsonl", "manifest.json", "report.html", "report.json", "rules.toml"
    ]  # fmt: skip
    log = cr.read_events("suite.csv", periods="suite.periods.csv")
    assert model.training.fingerprint == log.fingerprint


def test_written_files_are_named_unless_quiet() -> None:
    result = run(*SHORT[:-1], "--out", "model")
    assert result.exit_code == 0
    assert "written: model/rules.toml, model/manifest.json, model/journal.jsonl" in " ".join(result.stderr.split())


def test_same_command_again_goes_on_from_the_journal(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = done(*SHORT, "--out", "whole")
    journal = (files / "whole" / "journal.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(journal) > 3
    (files / "cut").mkdir()
    (files / "cut" / "journal.jsonl").write_text("".join(journal[:3]) + journal[3][:20], encoding="utf-8")
    assert steady(done(*SHORT, "--out", "cut")) == steady(whole)
    again = (files / "cut" / "journal.jsonl").read_text(encoding="utf-8")
    assert again.startswith("".join(journal[:3]))


def steady(text: str) -> str:
    """A model's text without the seconds that a search took."""
    return re.sub(r"[\d.]+\s+s\)", "s)", text)


def test_run_that_a_time_limit_ended_is_gone_on_with(files: Path) -> None:
    done(*SHORT, "--out", "model", "--time-limit", "0")
    assert cr.load(files / "model").stopped == "time limit"
    assert steady(done(*SHORT, "--out", "model")) == steady(done(*SHORT))


def test_model_is_printed_even_where_it_cannot_be_saved(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise ModelError("The model cannot be saved.")

    monkeypatch.setattr(cr.RuleModel, "save", full)
    result = run(*SHORT, "--out", "model")
    assert result.exit_code == 1
    assert "Y ← A < B" in result.stdout
    assert result.stderr == "error: The model cannot be saved.\n"


def test_report_that_cannot_be_written_leaves_a_saved_model(files: Path) -> None:
    (files / "model" / "report.html").mkdir(parents=True)
    result = run(*SHORT, "--out", "model")
    assert result.exit_code == 1
    assert "Y ← A < B" in result.stdout
    assert result.stderr.startswith('error: The model is saved in "model", but not its report: "model/report.html"')
    assert cr.load(files / "model").rules


def test_what_cannot_be_read_leaves_the_journal_alone(files: Path) -> None:
    done(*SHORT, "--out", "model")
    before = (files / "model" / "journal.jsonl").read_bytes()
    refused("learn", "missing.csv", "--head", "Y", "--out", "model", "--fresh")
    refused(*SHORT, "--must-include", "Q", "--out", "model", "--fresh")
    refused(*SHORT, "--must-include", "Q", "--out", "new")
    assert (files / "model" / "journal.jsonl").read_bytes() == before
    assert not (files / "new").exists()


def test_journal_of_another_run_is_not_gone_on_from() -> None:
    done(*SHORT, "--out", "model")
    other = (*SHORT, "--alpha", "0.01", "--out", "model")
    assert "begin anew with --fresh" in refused(*other)
    before = cr.load("model")
    assert "certified" in done(*other, "--fresh")
    assert cr.load("model").options["alpha"] == 0.01
    assert before.options["alpha"] == 0.05


def test_comments_in_a_model_survive_learning_again(files: Path) -> None:
    done(*SHORT, "--out", "model")
    rules = files / "model" / "rules.toml"
    rules.write_text(
        rules.read_text(encoding="utf-8").replace("[[rules]]\nrule", "[[rules]]\n# mine\nrule", 1), "utf-8"
    )
    done(*SHORT, "--out", "model", "--fresh")
    assert "# mine" in rules.read_text(encoding="utf-8")


def test_entities_stay_out_of_the_report_on_request(files: Path) -> None:
    done(*SHORT, "--out", "open")
    done(*SHORT, "--out", "closed", "--no-entities")
    log = cr.read_events("suite.csv", periods="suite.periods.csv")
    assert log.entities[0].startswith("patient")
    with_names = {
        str(path.relative_to(files))
        for folder in ("open", "closed")
        for path in (files / folder).iterdir()
        if re.search(r"patient\d", path.read_text(encoding="utf-8"))
    }
    assert with_names == {os.path.join("open", "report.html"), os.path.join("open", "report.json")}


def test_a_report_drawn_again_shows_no_more_than_learning_did(files: Path) -> None:
    done(*SHORT, "--out", "closed", "--no-entities")
    page = files / "closed" / "report.html"
    done("report", "closed")
    assert not re.search(r"patient\d", page.read_text(encoding="utf-8"))
    done("report", "closed", "suite.csv", "--periods", "suite.periods.csv")
    assert not re.search(r"patient\d", page.read_text(encoding="utf-8"))
    done("report", "closed", "--entities", "--out", "open.html")
    assert re.search(r"patient\d", (files / "open.html").read_text(encoding="utf-8"))


def test_folders_of_several_heads_are_safe_names() -> None:
    assert folders_of(["Y"], Path("out")) == [Path("out")]
    assert folders_of(["Y", "Z"], None) == [None, None]
    names = [folder.name for folder in folders_of(["a/b", "a b", "..", "né", "../x"], Path("out")) if folder]
    assert names == ["a-b", "a-b-2", "head", "né", "x"]


# Corrected by a person


def test_edited_model_is_weighed_again_as_it_was_learned(files: Path) -> None:
    done(*SHORT, "--out", "model", "--kernel", "window:6", "--baseline", "10", "--given-rules", "rules.txt")
    rules = files / "model" / "rules.toml"
    rules.write_text(re.sub(r"weight = .*", "weight = 0.5  # too much?", rules.read_text("utf-8"), count=1), "utf-8")
    edited = cr.load(files / "model")
    assert math.isnan(edited.rules[0].gain)
    result = run("reweigh", "model", *LEARN[1:4], "--out", "model")
    assert result.exit_code == 0
    assert "replaced: model/rules.toml, model/manifest.json" in result.stderr
    again = cr.load(files / "model")
    assert str(again) + "\n" == result.stdout
    assert (again.feature, again.cuts, again.head) == (edited.feature, (10.0,), edited.head)
    assert again.rules[0].gain > 0
    assert again.certificate is None
    assert "# too much?" in rules.read_text(encoding="utf-8")
    log = cr.read_events("suite.csv", periods="suite.periods.csv")
    texts = [item.rule.key for item in edited.rules]
    assert again.rules == cr.reweigh(texts, log, kernel=cr.window(6), baseline=[10]).rules


def test_options_overrule_the_model_that_is_weighed_again(files: Path) -> None:
    done(*SHORT, "--out", "model", "--kernel", "window:6")
    words = ("reweigh", "model", *LEARN[1:4], "--json")
    record = json.loads(done(*words, "--kernel", "step", "--reset-by", "D"))
    assert (record["kernel"], record["head"]["reset_by"]) == ("step", "D")
    assert json.loads(done(*words))["kernel"] == "window(6)"
    assert "is a file, but a model is saved as a folder" in refused(*words, "--out", "rules.txt")


# Progress


def told(
    stage: str, number: int, rules: tuple[tuple[cr.Rule, float], ...], seconds: float, search: Progress | None = None
) -> Any:
    return LearningProgress("Y", number, stage, -12.345, rules, search, seconds)  # type: ignore[arg-type]


A_THEN_B = cr.parse_rule("Y <- A < B")


def test_plain_lines_where_nobody_sits_at_a_terminal() -> None:
    result = run(*SHORT[:-1])
    lines = result.stderr.splitlines()
    assert re.fullmatch(r"Y, round 1, [\d.]+ s: log-likelihood -[\d,.]+, 0 rules", lines[0])
    assert re.fullmatch(r"Y, round \d, [\d.]+ s: log-likelihood .*, \d rules?: Y <- .*, done", lines[-1])
    assert "\x1b" not in result.output


def test_long_search_says_now_and_then_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    lines = watching.PlainLines()
    lines(told("drop", 1, (), 0.0))
    for seconds in (5.0, 11.0, 12.0, 22.5):
        lines(told("search", 1, (), seconds, Progress(1234, 3, seconds, A_THEN_B, 15.0, 20.0)))
    lines(told("search", 1, (), 40.0, Progress(5, 3, 1.0, None, 0.0, float("inf"))))
    lines(told("done", 2, ((A_THEN_B, 1.25),), 41.0))
    assert capsys.readouterr().err.splitlines() == [
        "Y, round 1, 0.0 s: log-likelihood -12.35, 0 rules",
        "Y, round 1, 11.0 s: search: best 15.0, none above 20.0, gap 25 %, 1,234 nodes, 11.0 s: Y <- A < B",
        "Y, round 1, 22.5 s: search: best 15.0, none above 20.0, gap 25 %, 1,234 nodes, 22.5 s: Y <- A < B",
        "Y, round 1, 40.0 s: search: none passes yet, no bound yet, 5 nodes, 1.0 s",
        "Y, round 2, 41.0 s: log-likelihood -12.35, 1 rule: Y <- A < B (1.25), done",
    ]


def drawn(progress: LearningProgress, **more: bool) -> list[str]:
    """The live table as 80 columns show it."""
    from rich.console import Console

    console = Console(width=80, color_system=None)
    with console.capture() as shown:
        console.print(watching.drawn(progress, **more))
    return [line.rstrip() for line in shown.get().splitlines()]


def test_live_table_shows_round_rules_and_search() -> None:
    progress = told("search", 2, ((A_THEN_B, 1.25),), 3.21, Progress(99, 3, 2.0, cr.parse_rule("Y <- C"), 0.0, 0.0))
    assert drawn(progress) == [
        "Y: round 2, searching, 3.2 s, log-likelihood -12.35",
        " weight  rule",
        "  1.250  Y <- A < B",
        "search: best 0.0, none above 0.0, gap 0 %, 99 nodes, 2.0 s",
        "        Y <- C",
    ]
    assert drawn(progress, stopping=True)[-1] == watching.STOPPING


def test_live_table_fits_the_screen_with_many_long_rules() -> None:
    long = cr.Rule.build("Y", [f"a rather long name {k}" for k in range(9)])
    lines = drawn(told("polish", 30, tuple((replace(long, sign=1), float(k)) for k in range(30)), 3.0))
    assert lines[1] == "  (18 more rules)"
    assert len(lines) == 15
    assert all(len(line) <= 80 for line in lines)


def test_live_table_appears_at_a_terminal() -> None:
    """A pseudo-terminal stands for a person's."""
    status, shown = at_a_terminal(*SHORT[:-1])
    assert status == 0
    assert "log-likelihood" in shown
    assert "\x1b[?25h" in shown  # the cursor is given back
    status, shown = at_a_terminal(*SHORT)
    assert status == 0
    assert "log-likelihood" not in shown


def at_a_terminal(*words: str) -> tuple[int, str]:
    """Exit status, and what a command wrote to standard error, which was a terminal."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    with subprocess.Popen([str(COMMAND), *words], stdout=subprocess.DEVNULL, stderr=follower) as command:
        os.close(follower)
        shown = b"".join(pieces(leader))
        return command.wait(), shown.decode()


def test_work_goes_on_where_nobody_hears_of_it(files: Path) -> None:
    """As in `chronorule learn … 2>&1 | head -1`: the progress has no reader, but the model is asked for."""
    reader, writer = os.pipe()
    os.close(reader)
    for name, out in (("heard", subprocess.PIPE), ("unheard", writer)):
        command = subprocess.run([str(COMMAND), *SHORT[:-1], "--out", name], stdout=out, stderr=writer, text=True)
        assert command.returncode == 0
        assert command.stdout is None or "certified" in command.stdout
        assert cr.load(files / name).proved
        assert (files / name / "report.html").exists()
    os.close(writer)


def test_closed_standard_error_is_no_failure(files: Path) -> None:
    command = subprocess.run(
        ["sh", "-c", '"$@" 2>&-', "sh", str(COMMAND), *SHORT[:-1], "--out", "model"], stdout=subprocess.PIPE, text=True
    )
    assert command.returncode == 0
    assert "certified" in command.stdout
    assert cr.load(files / "model").proved


def test_progress_on_a_full_disk_ends_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    echo = click.echo

    def full(text: str = "", err: bool = False) -> None:
        if err:
            raise OSError(errno.ENOSPC, "No space left on device")
        echo(text)

    monkeypatch.setattr(click, "echo", full)
    assert "certified" in done(*SHORT[:-1], "--out", "model")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_model_that_cannot_be_printed_is_saved_and_nothing_else_is_said(files: Path) -> None:
    with open("/dev/full", "w") as full:
        command = subprocess.run(
            [str(COMMAND), *SHORT, "--out", "model"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert command.returncode == 1
    assert command.stderr.startswith("error: Standard output cannot be written (No space left on device)")
    assert command.stderr.endswith("Files that were saved before are whole.\n")
    assert cr.load(files / "model").proved


def pieces(leader: int) -> Iterator[bytes]:
    """All that is written to a pseudo-terminal until its other end is closed."""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            piece = b""
        if not piece:
            os.close(leader)
            return
        yield piece


# Ctrl-C


def pressing(times: int, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C be pressed when learning comes to a stage."""
    fit = cr.RuleLearner.fit

    def pressed(self: cr.RuleLearner, log: cr.EventLog, *, watch: Callable[..., None] | None, **more: Any) -> Any:
        left = [times]

        def press(progress: LearningProgress) -> None:
            while progress.stage == at and left[0] > 0:
                left[0] -= 1
                signal.raise_signal(signal.SIGINT)

        return fit(self, log, watch=press, **more)

    monkeypatch.setattr(cr.RuleLearner, "fit", pressed)


def test_first_ctrl_c_ends_with_the_best_so_far(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pressing(1, "drop", monkeypatch)
    result = run(*SHORT, "--out", "model")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [watching.STOPPING]
    model = cr.load(files / "model")
    assert model.stopped == "interrupted"
    assert [item.rule.key for item in model.rules] == ["Y <- A < B"]
    words = " ".join(result.stdout.split())
    assert "stopped early, at your request" in words
    assert "not certified: learning ended before it could search once more" in words
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.undo()
    monkeypatch.chdir(files)
    assert "certified: no other rule passes" in " ".join(done(*SHORT, "--out", "model").split())  # it goes on


def test_ctrl_c_leaves_further_heads_unlearned(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pressing(1, "drop", monkeypatch)
    result = run(*SHORT, "--head", "A", "--out", "both")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == "stopped before these heads were learned: A"
    assert "A: " not in result.stdout.split("\n\n\n")[-1][:3]
    assert cr.load(files / "both" / "Y").stopped == "interrupted"
    assert list(json.loads(run(*SHORT, "--head", "A", "--json").stdout)) == ["Y"]


def test_second_ctrl_c_ends_at_once_and_saves_nothing(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done(*SHORT, "--out", "model")
    before = cr.load(files / "model")
    pressing(2, "search", monkeypatch)
    result = run(*SHORT, "--out", "model", "--fresh")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.splitlines()[-1].startswith("Ended at once, at your request")
    assert cr.load(files / "model") == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# What cannot be used


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("missing.csv --head Y", 'There is no file "missing.csv"'),
        ("folder --head Y", '"folder" is a directory'),
        ("empty.csv --head Y", '"empty.csv" is empty'),
        ("nan.csv --head Y", '1 row holds no time in column "time"'),
        ("infinite.csv --head Y", "has a time that is missing or not finite"),
        ("alone.csv --head Y", "The log has no predicate but the head"),
        ("one.csv --head Y --honest", "which cannot be split"),
        ("ties.csv --head Y", '"Y" never happens while it is watched for, where 20 occurrences lie outside'),
        ("late.csv --periods late.periods.csv --head Y", "never happens while it is watched for"),
        ("events.csv --head Q", 'The log has no predicate "Q"'),
        ("events.csv --head Y --reset-by Q", 'The log has no predicate "Q"'),
        ("suite.csv --head Y --must-include LowUrin", 'In --must-include: The log has no predicate "LowUrin"'),
        ("ward.csv --head Y --must-include LowSysPB", 'did you mean "LowSysBP"?'),
        ("events.csv --head Y --must-include Y", "--must-include names Y, which is not among the predicates that"),
        ("events.csv --head Y --body A --must-include B", "--must-include names B, which is not among the predicates"),
        ("events.csv --head Y --forbid A,B,C", "No rule of length 1..4 exists: 0 predicates may be used"),
        ("events.csv --head Y --forbid-pair A A", "--forbid-pair holds pairs of two different names"),
        ("events.csv --head Y --forbid-pair A B --must-include A,B", "both required, but forbidden as a pair"),
        ("events.csv --head Y --body A,A", "--body names A twice"),
        ("events.csv --head Y --start-with A,A", "--start-with holds a predicate twice; give --repeats"),
        ("events.csv --head Y --start-with A,B --relations equal", "allow it in --relations"),
        ("events.csv --head Y --relations ,", "or give --partial-orders"),
        ("events.csv --head Y --min-length 5 --max-length 3", "--min-length 5 exceeds --max-length 3"),
        ("events.csv --head Y --length 9", "No rule of length 9 exists"),
        ("events.csv --head Y --kernel decay:0.1", "no bound for decay kernels yet"),
        ("events.csv --head Y --span -1", "--span -1.0 excludes every match"),
        ("events.csv --head Y --baseline 6,3", "must be finite, positive and rising"),
        ("events.csv --head Y --terminal --heterogeneity entity", "use --heterogeneity 'gamma', or 'none'"),
        ("events.csv --head Y --reset-by A --heterogeneity entity", "--heterogeneity 'entity' cannot be used for 'Y'"),
        ("events.csv --head Y --terminal --within", "leave --within out"),
        ("events.csv --head Y --reset-by A --within", "--within cannot be used for 'Y'"),
        ("events.csv --head Y --given-rules other.txt", "explains 'B', but --head names Y"),
        ("events.csv --head Y --given-rules missing.txt", 'There is no file "missing.txt" of rules'),
        ("events.csv --head Y --given-rules twice.txt", "this is the rule of line 1 again"),
        ("events.csv --head Y --given-rules unknown.txt", 'The log has no predicate "Q"'),
        ("events.csv --head Y --out events.csv", '"events.csv" is a file, but a model is saved as a folder'),
        ("events.csv --head Y --out events.csv/model", "cannot be a folder"),
        ("events.csv --head Y --out foreign", 'rules.toml" is not of a chronorule model, and saving would overwrite'),
        ("events.csv --head Y --out strange", "where the journal should be"),
        ("events.csv --head Y --out torn", "journal"),
    ],
)
def test_what_cannot_be_learned_ends_in_one_sentence(files: Path, words: str, sentence: str) -> None:
    twenty = [f"p{k}" for k in range(20)]
    texts = {
        "empty.csv": "",
        "nan.csv": "entity,time,event\np,nan,A\np,2,Y\n",
        "infinite.csv": "entity,time,event\np,inf,A\np,2,Y\n",
        "alone.csv": "entity,time,event\np,1,Y\np,2,Y\n",
        "one.csv": "entity,time,event\np,1,A\np,2,Y\np,3,Y\n",
        "ties.csv": "entity,time,event\n" + "".join(f"{p},1,{name}\n" for p in twenty for name in "ABY"),
        "late.csv": "entity,time,event\n" + "".join(f"{p},1,A\n{p},30,Y\n" for p in twenty),
        "late.periods.csv": "entity,start,stop\n" + "".join(f"{p},0,12\n" for p in twenty),
        "ward.csv": "entity,time,event\np,1,LowSysBP\np,2,Y\np,3,HighBUN\np,4,Y\n",
        "other.txt": "B <- A\n",
        "twice.txt": "Y <- A\nY <- A\n",
        "unknown.txt": "Y <- Q\n",
        "foreign/rules.toml": "[tool]\nx = 1\n",
        "strange/journal.jsonl/x": "",
        "torn/journal.jsonl": '{"journal": 99}\n',
        "folder/x": "",
    }
    for name, text in texts.items():
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_text(text, encoding="utf-8")
    assert sentence in refused("learn", *words.split(), "--quiet")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "Missing option '--head'"),
        ("--head Y --head Y", "named twice by --head"),
        ("--head Y --head A --terminal", "speak of one head"),
        ("--head Y --max-length 0", "0 is not in the range"),
        ("--head Y --length 2 --max-length 3", "--length fixes the length"),
        ("--head Y --alpha 2", "2.0 is not in the range"),
        ("--head Y --alpha 0", "0.0 is not in the range"),
        ("--head Y --kernel nonsense", "'nonsense' is none of step, window:WIDTH and decay:RATE"),
        ("--head Y --relations none", "allowed by --partial-orders"),
        ("--head Y --relations after", "'after' is neither before nor equal"),
        ("--head Y --signs minus", "'minus' is not one of 'raise', 'inhibit', 'both'"),
        ("--head Y --objective luck", "'luck' is not one of"),
        ("--head Y --stop never", "'never' is not one of"),
        ("--head Y --time-limit -1", "-1.0 is not in the range"),
        ("--head Y --min-support -1", "-1 is not in the range"),
        ("--head Y --forbid-pair A", "requires 2 arguments"),
        ("--head Y --fresh", "name a folder with --out"),
        ("--head Y --no-entities", "name a folder with --out"),
        ("--head Y --baseline six", "no list of numbers"),
        ("--head Y --alpha nan", "'nan' is no number that could be in the range 0<x<1"),
        ("--head Y --time-limit nan", "'nan' is no number"),
        ("--head Y --kernel window:0", "'window:0' never counts"),
        ("--head Y --search magic", "'magic' is unknown; choose one of exact, brute"),
        ("--head Y --must-include A --forbid A", "A is in both --forbid and --must-include; remove it"),
        ("--head Y --start-with A --forbid A", "A is in both --forbid and --start-with; remove it"),
        ("--head Y --body=", "no predicate is named; name one, or leave the option out"),
        ("--head Y --must-include=", "no predicate is named"),
        ("--head Y --forbid=,", "no predicate is named"),
        ("--head Y --start-with=", "no predicate is named"),
    ],
)
def test_usage_that_is_not_understood(words: str, sentence: str) -> None:
    result = run("learn", "events.csv", *words.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_folder_that_may_not_be_written_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "this user may not write in it; choose another with --out" in refused(*SHORT, "--out", "model")


def test_full_disk_ends_in_one_sentence_and_keeps_the_old_model(files: Path) -> None:
    """A limit on the size of files, in a process of its own, stands for a full disk."""
    done(*SHORT, "--out", "model")
    before = (files / "model" / "manifest.json").read_bytes()
    program = (
        "import resource, sys\nfrom chronorule.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))\nmain(sys.argv[1:])\n"
    )
    command = subprocess.run(
        [sys.executable, "-c", program, *SHORT, "--out", "model", "--fresh"], capture_output=True, text=True
    )
    assert (command.returncode, command.stdout) == (1, "")
    assert command.stderr.startswith("error: ")
    assert len(command.stderr.splitlines()) == 1
    assert (files / "model" / "manifest.json").read_bytes() == before
    assert not [name for name in os.listdir(files / "model") if name.endswith(".part")]
