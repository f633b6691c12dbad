"""The command line does what the library does, prints results and nothing else, and fits its surroundings."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import chronorule as cr
from chronorule.cli.manners import in_options
from chronorule.cli.options import FEATURES
from chronorule.cli.output import counted, encodable, listed, names_in, written
from chronorule.cli.reweigh import HETEROGENEITIES
from chronorule.likelihood import HETEROGENEITIES as KNOWN_HETEROGENEITIES
from command_line import COMMAND, ENTITIES, PERIODS, RULES, done, events, run, shell, write_files

WATCHED = ("--periods", "periods.csv")
HEAVY = ("numba", "numpy", "scipy", "pyarrow", "rich")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a few small files, which commands name as a person does; help as at 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_files(tmp_path)
    return tmp_path


def read(**options: Any) -> cr.EventLog:
    return cr.read_events("events.csv", periods="periods.csv", **options)


# Help


def test_help_loads_no_heavy_library() -> None:
    """So that it is there at once."""
    program = (
        "import sys; from chronorule.cli import main\n"
        "for command in ([], ['reweigh']):\n"
        "    try: main([*command, '--help'])\n"
        "    except SystemExit as end: assert end.code == 0\n"
        f"sys.exit(str([name for name in {HEAVY} if name in sys.modules]))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stderr.strip() == "[]"


def test_help_teaches() -> None:
    assert "chronorule reweigh suite.rules.txt suite.parquet --head Y" in done("--help")
    for command in ("demo", "describe", "reweigh", "simulate"):
        assert command in done("--help")
        assert done(command, "-h") == done(command, "--help")
    for command in ("describe", "reweigh"):
        assert "Examples:\n    chronorule" in done(command, "--help")
        sections = [line for line in done(command, "--help").splitlines() if line.endswith(":") and line[0] != " "]
        assert sections[-1] == "Options:"
        assert {"What to explain:", "How to read EVENTS:", "What comes out:"} <= set(sections)


@pytest.mark.parametrize("command", ["", "demo", "describe", "reweigh", "simulate"])
def test_help_fits_80_columns_and_any_encoding(command: str) -> None:
    text = done(*command.split(), "--help")
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.replace("[ARGS]...", "")  # a summary that click had to cut


def test_version() -> None:
    assert done("--version") == f"chronorule {cr.__version__}\n"


def test_choices_are_those_of_the_library() -> None:
    """The command line names them itself, so that help need not import the library."""
    assert tuple(KNOWN_HETEROGENEITIES) == HETEROGENEITIES
    for feature in FEATURES:
        assert cr.Feature(feature).kind == feature


# describe


def test_describe_prints_the_description() -> None:
    assert done("describe", "events.csv", *WATCHED) == f"{read().describe()}\n"
    assert done("describe", "events.csv", *WATCHED, "--head", "Y") == f"{read().describe('Y')}\n"
    head = cr.Head("Y", reset_by="A", at_risk_from_start=False)
    told = done("describe", "events.csv", *WATCHED, "--head", "Y", "--reset-by", "A", "--not-at-risk-from-start")
    assert told == f"{read().describe(head)}\n"
    assert "while not at risk" in told


def test_describe_as_json() -> None:
    told = json.loads(done("describe", "events.csv", *WATCHED, "--head", "Y", "--terminal", "--json"))
    assert told == json.loads(json.dumps(read().describe(cr.Head("Y", terminal=True)).to_dict()))
    assert told["entities"] == ENTITIES


def test_events_are_read_as_the_options_say(files: Path) -> None:
    (files / "ward.csv").write_text(events(";", "patient,hour,what"), encoding="utf-8")
    (files / "static.csv").write_text("entity,predicate\np1,Smokes\np2,Smokes\n", encoding="utf-8")
    told = done(
        *("describe", "ward.csv", "--entity-column", "patient", "--time-column", "hour", "--event-column", "what"),
        *("--separator", ";", "--unit", "shifts", "--resolution", "0.5", "--static", "static.csv", *WATCHED),
    )
    log = cr.read_events(
        *("ward.csv", "patient", "hour", "what", 0.5, "shifts", ";"), periods="periods.csv", static="static.csv"
    )
    assert told == f"{log.describe()}\n"
    assert "on ticks of 0.5" in told
    assert "times (shifts)" in told
    assert "Smokes" in told


def test_events_in_groups_with_a_format_of_time_and_tabs(files: Path) -> None:
    rows = ["entity\ttime\tevent\tward"]
    rows += [f"p{k}\t0{day}.02.2020\t{name}\tw{k // 2}" for k in range(6) for day, name in ((1, "A"), (3, "Y"))]
    (files / "ward.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for separator in ("tab", "\\t", "\t"):
        result = run(
            *("describe", "ward.tsv", "--separator", separator, "--time-format", "%d.%m.%Y", "--unit", "days"),
            *("--group-column", "ward"),
        )
        assert result.exit_code == 0
        assert "6 entities in 3 groups, 12 events" in result.stdout
        assert "times (days)" in result.stdout


# reweigh


def test_reweigh_prints_the_model() -> None:
    model = cr.reweigh(RULES, read(), "Y")
    assert done("reweigh", "rules.txt", "events.csv", *WATCHED, "--head", "Y") == f"{model}\n"
    assert done("reweigh", "rules.txt", "events.csv", *WATCHED) == f"{model}\n"
    assert done("reweigh", "-", "events.csv", *WATCHED, input=RULES) == f"{model}\n"


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("--feature count", {"feature": "count"}),
        ("--kernel window:3", {"kernel": cr.window(3)}),
        ("--kernel 'window(3)'", {"kernel": cr.window(3)}),
        ("--kernel decay:0.5", {"kernel": cr.decay(0.5)}),
        ("--span 2", {"span": 2.0}),
        ("--heterogeneity none", {"heterogeneity": "none"}),
        ("--heterogeneity entity", {"heterogeneity": "entity"}),
        ("--baseline 3,6.5", {"baseline": (3, 6.5)}),
        ("--penalty 0.25", {"penalty": 0.25}),
        ("--terminal", {"head": cr.Head("Y", terminal=True)}),
        ("--terminal --head Y", {"head": cr.Head("Y", terminal=True)}),
        ("--reset-by A", {"head": cr.Head("Y", reset_by="A")}),
        ("--reset-by A --not-at-risk-from-start", {"head": cr.Head("Y", reset_by="A", at_risk_from_start=False)}),
    ],
)
def test_every_option_reaches_the_fit(options: str, settings: dict[str, Any]) -> None:
    told = run("reweigh", "rules.txt", "events.csv", *WATCHED, *shlex.split(options))
    assert (told.exit_code, told.stdout) == (0, f"{cr.reweigh(RULES, read(), **settings)}\n")
    assert told.stdout != f"{cr.reweigh(RULES, read())}\n"


def test_number_of_threads_reaches_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """It changes no result, so it is looked for in the call."""
    asked: list[Any] = []
    reweigh = cr.reweigh
    monkeypatch.setattr(cr, "reweigh", lambda *given, **more: asked.append(more["threads"]) or reweigh(*given, **more))
    done("reweigh", "rules.txt", "events.csv", *WATCHED, "--threads", "3")
    done("reweigh", "rules.txt", "events.csv", *WATCHED)
    assert asked == [3, None]


def test_reweigh_as_json() -> None:
    told = json.loads(done("reweigh", "rules.txt", "events.csv", *WATCHED, "--baseline", "6", "--json"))
    model = cr.reweigh(RULES, read(), baseline=(6,))
    assert told == json.loads(json.dumps(model.to_dict()))
    assert [rule["weight"] for rule in told["rules"]] == [item.weight for item in model.rules]
    assert told["cuts"] == [6.0]
    assert told["head"] == {"name": "Y", "terminal": False, "reset_by": None, "at_risk_from_start": True}


def test_what_is_not_known_is_null_in_json() -> None:
    """JSON has no NaN: a weight at its bound has no standard error."""
    told = done("reweigh", "-", "events.csv", *WATCHED, "--json", input="Y <- B < A\n")
    assert "NaN" not in told
    assert "Infinity" not in told
    assert json.loads(told)["rules"][0]["stderr"] is None


def test_reweigh_writes_a_rules_file(files: Path) -> None:
    model = cr.reweigh(RULES, read())
    for said in ("written: weighed.txt\n", "replaced: weighed.txt\n"):
        result = run("reweigh", "rules.txt", "events.csv", *WATCHED, "--out", "weighed.txt")
        assert (result.exit_code, result.stdout, result.stderr) == (0, f"{model}\n", said)
    assert (files / "weighed.txt").read_text(encoding="utf-8") == model.to_text()
    weights = [line.weight for line in cr.parse_rules(model.to_text())]
    assert weights == [item.weight for item in model.rules]
    assert done("reweigh", "weighed.txt", "events.csv", *WATCHED) == f"{model}\n"
    assert {path.name for path in files.iterdir()} == {"events.csv", "periods.csv", "rules.txt", "weighed.txt"}


# simulate


@pytest.mark.parametrize(
    ("name", "feature"), [("suite.parquet", "exists"), ("suite.csv", "exists"), ("suite.csv.gz", "count")]
)
def test_what_simulate_suggests_works_at_once(files: Path, name: str, feature: str) -> None:
    told = done(*f"simulate --group 3 --predicates 8 --sequences 60 --seed 7 --feature {feature} --out {name}".split())
    log, truth = cr.paper_suite(3, 8, 60, 7, feature)
    for line in truth.to_text().splitlines():
        assert f"  {line}\n" in told
    rules = (files / "suite.rules.txt").read_text(encoding="utf-8")
    assert [(line.rule, line.weight) for line in cr.parse_rules(rules)] == list(
        zip(truth.rules, truth.weights.tolist(), strict=True)
    )
    told_files = told.split("written: ")[1].split("try: ")[0].split(",")
    assert all((files / path.strip()).is_file() for path in told_files)
    assert len(told_files) == 3
    assert max(map(len, told.splitlines())) <= 80
    suggested = shlex.split(told.split("try: ")[1].replace("\\\n", " "))
    assert suggested[0] == "chronorule"
    model = cr.reweigh(truth.rules, log, truth.head, feature=feature)
    assert done(*suggested[1:]) == f"{model}\n"


def test_reader_of_a_terminal_fit_is_told_that_base_rates_are_alike() -> None:
    told = done("reweigh", "rules.txt", "events.csv", *WATCHED, "--terminal", "--heterogeneity", "gamma")
    assert "note: 'Y' is terminal" in told


def test_simulate_counts_in_plain_words() -> None:
    told = done("simulate", "--sequences", "1", "--out", "one.csv")
    assert told.startswith("1 sequence, ")
    assert (counted(1, "head", "heads"), counted(2000, "head", "heads")) == ("1 head", "2,000 heads")


def test_simulate_says_which_files_it_replaced(files: Path) -> None:
    (files / "suite.rules.txt").write_text("Y <- A\n", encoding="utf-8")
    told = done("simulate", "--sequences", "9", "--out", "suite.csv")
    assert "written: suite.csv, suite.periods.csv\nreplaced: suite.rules.txt\n" in told
    told = done("simulate", "--sequences", "9", "--out", "suite.csv")
    assert "written" not in told
    assert "replaced: suite.csv, suite.periods.csv, suite.rules.txt\n" in told


def test_list_of_files_is_broken_at_80_columns_and_never_inside_a_name(files: Path) -> None:
    paths = [files / ("x" * 30 + f"{k}.csv") for k in range(4)] + [files / ("y" * 100)]
    lines = written(paths, names_in(files)).splitlines()
    assert [line[:9] for line in lines] == ["written: "] + [" " * 9] * (len(lines) - 1)
    assert " ".join(line[9:] for line in lines) == ", ".join(map(str, paths))
    assert listed("written:", ["a" * 33, "b" * 36]) == f"written: {'a' * 33}, {'b' * 36}"
    assert listed("written:", ["a" * 33, "b" * 37]) == f"written: {'a' * 33},\n         {'b' * 37}"


def test_simulation_without_a_seed_is_repeatable(files: Path) -> None:
    for name in ("one.parquet", "two.parquet"):
        done("simulate", "--sequences", "20", "--out", name)
    assert cr.read_events("one.parquet").equals(cr.read_events("two.parquet"))


# Surroundings


def test_ctrl_c_while_python_imports_ends_in_silence(files: Path) -> None:
    (files / "modules").mkdir()
    (files / "modules" / "click.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    paths = [str(files / "modules"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    result = shell("--version", environment={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))})
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_warning_is_one_line_on_standard_error() -> None:
    result = run("describe", "events.csv")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{ENTITIES} entities")
    assert result.stderr.startswith("warning: No observation periods were given")
    assert len(result.stderr.splitlines()) == 1
    assert json.loads(run("describe", "events.csv", "--json").stdout)["periods_by_default"]


def test_warning_is_said_once_and_those_of_others_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_events(*_: object, **__: object) -> cr.EventLog:
        for _ in range(2):
            warnings.warn("twice", cr.errors.DataWarning, stacklevel=1)
        with warnings.catch_warnings(record=True) as others:
            warnings.simplefilter("always")
            warnings.warn("of another library", RuntimeWarning, stacklevel=1)
        return cr.EventLog.from_columns(["p"], [float(len(others))], ["A"], periods=(0, 2))

    monkeypatch.setattr(cr, "read_events", read_events)
    result = run("describe", "events.csv")
    assert result.stderr == "warning: twice\n"


def test_warning_filters_of_the_caller_come_back() -> None:
    before = (warnings.showwarning, list(warnings.filters))
    run("describe", "events.csv")
    assert (warnings.showwarning, list(warnings.filters)) == before


def test_output_is_ascii_where_the_terminal_knows_nothing_else(files: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    plain = shell("reweigh", "rules.txt", "events.csv", *WATCHED, environment=environment)
    assert (plain.returncode, plain.stderr) == (0, "")
    assert plain.stdout.isascii()
    assert "Y <- A < B\n" in plain.stdout
    assert "rate x" in plain.stdout
    full = done("reweigh", "rules.txt", "events.csv", *WATCHED)
    assert "Y ← A < B\n" in full
    assert plain.stdout == full.replace("←", "<-").replace("×", "x").replace("–", "-")


def test_name_that_cannot_be_shown_is_escaped() -> None:
    class Terminal:
        encoding = "ascii"

    assert encodable("Fièvre ← ≥65", Terminal()) == "Fi\\xe8vre <- >=65"  # type: ignore[arg-type]
    Terminal.encoding = "latin-1"
    assert encodable("Fièvre", Terminal()) == "Fièvre"  # type: ignore[arg-type]


def test_reader_that_has_seen_enough_is_no_failure() -> None:
    """As in `chronorule describe … | head`; the output waits in a buffer, as it does outside of test runners."""
    process = subprocess.Popen(
        [str(COMMAND), "describe", "events.csv", *WATCHED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0
    process.stderr.close()


def test_reader_of_the_version_that_has_seen_enough_is_no_failure() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([str(COMMAND), "--version"], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [("--version",), ("describe", "--help"), ("describe", "events.csv", *WATCHED)])
def test_output_that_cannot_be_written_is_one_sentence(words: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run([str(COMMAND), *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert "No space left on device" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_terminal_is_told_what_is_waited_for() -> None:
    """On standard error, and taken away again; the result is the same."""
    terminal, inside = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(
        [str(COMMAND), "describe", "events.csv", *WATCHED], stdout=subprocess.PIPE, stderr=inside, env=environment
    )
    os.close(inside)
    told = os.read(terminal, 100_000).decode()
    os.close(terminal)
    assert result.returncode == 0
    assert result.stdout.decode().startswith(f"{ENTITIES} entities")
    assert "reading events.csv ..." in told
    assert "\x1b[3" not in told  # no colour


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_warning_on_a_terminal_begins_at_the_margin_and_fits_it() -> None:
    import termios

    terminal, inside = os.openpty()
    termios.tcsetwinsize(inside, (24, 50))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    result = subprocess.run(
        [str(COMMAND), "describe", "events.csv"],
        stdout=subprocess.PIPE,
        stderr=inside,
        env={**environment, "TERM": "xterm", "NO_COLOR": "1", "PYTHONIOENCODING": "ascii"},
    )
    os.close(inside)
    told = os.read(terminal, 100_000).decode()
    os.close(terminal)
    assert result.returncode == 0
    before, _, after = told.partition("warning: ")
    assert re.sub(r"\x1b\[\??[0-9]*[a-zA-Z]", "", before.rsplit("\n", 1)[1]).strip("\r") == ""
    assert before.endswith("\x1b[2K")  # the line of the spinner was wiped
    lines = ("warning: " + after.split("\x1b")[0]).replace("\r", "").splitlines()
    assert max(map(len, lines)) <= 50
    piped = run("describe", "events.csv").stderr
    assert " ".join(line.strip() for line in lines).strip() == piped.strip()


def test_colours_and_spinners_stay_out_of_pipes() -> None:
    environment = {**os.environ, "FORCE_COLOR": "1"}
    result = shell("describe", "events.csv", *WATCHED, environment=environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('pass separator=";".', 'pass --separator ";".'),
        (
            'name the columns with entity="...", time="...".',
            'name the columns with --entity-column "...", --time-column "...".',
        ),
        ("pass periods with entity, start and stop", "pass --periods with entity, start and stop"),
        ("leave time_format out.", "leave --time-format out."),
        ("or leave at_risk_from_start out", "or leave --not-at-risk-from-start out"),
        ('column "unit=3" stays', 'column "unit=3" stays'),
        ("my_unit=3 stays", "my_unit=3 stays"),
    ],
)
def test_messages_speak_of_options(said: str, shown: str) -> None:
    assert in_options(said) == shown


def test_periods_are_those_of_the_file() -> None:
    assert PERIODS.count("\n") == ENTITIES + 1
    assert json.loads(done("describe", "events.csv", *WATCHED, "--json"))["period_length"]["max"] == 12
