"""Running the command line in tests: in this process, or as a person's shell does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from chronorule.cli import main

COMMAND = Path(sys.executable).with_name("chronorule")

ENTITIES = 24
PERIODS = "entity,start,stop\n" + "".join(f"p{k},0,12\n" for k in range(ENTITIES))
RULES = "# two rules\nY <- A < B  w = 0.5\n\nY <- C\n"


def events(separator: str = ",", header: str = "entity,time,event") -> str:
    """A CSV file of a few entities; where A is followed by B, Y happens more often."""
    rows = [header.replace(",", separator)]
    for k in range(ENTITIES):
        happened = [(1.0 + k % 3, "A"), (4.5 - k % 5 / 10, "B" if k % 2 else "C"), (5.0 + k % 4, "Y")]
        if k % 2 and k % 3:
            happened += [(6.5, "Y"), (8.0 + k / 10, "Y")]
        rows += [separator.join((f"p{k}", f"{time:g}", name)) for time, name in happened]
    return "\n".join(rows) + "\n"


def write_files(folder: Path) -> None:
    """`events.csv`, `periods.csv` and `rules.txt`."""
    (folder / "events.csv").write_text(events(), encoding="utf-8")
    (folder / "periods.csv").write_text(PERIODS, encoding="utf-8")
    (folder / "rules.txt").write_text(RULES, encoding="utf-8")


def run(*words: str, input: str | None = None) -> Result:
    """One command in this process; an exception that no command should let through fails the test."""
    return CliRunner(catch_exceptions=False).invoke(main, list(words), input=input)


def done(*words: str, input: str | None = None) -> str:
    """What a command printed that is to end well, with nothing on standard error."""
    result = run(*words, input=input)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def refused(*words: str, input: str | None = None) -> str:
    """The message of a command that is to end with status 1: one sentence on standard error and nothing else."""
    result = run(*words, input=input)
    assert (result.exit_code, result.stdout) == (1, "")
    lines = result.stderr.splitlines()
    message = [line for line in lines if not line.startswith("warning: ")]
    assert message[0].startswith("error: ")
    assert len(message) == 1 or (len(message) == 3 and message[2].strip() == "^"), result.stderr
    assert len(message) == 3 or message[0].endswith((".", "?")), result.stderr
    return message[0]


def shell(
    *words: str, environment: dict[str, str] | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own."""
    return subprocess.run(
        [str(COMMAND), *words],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
