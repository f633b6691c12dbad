"""How every command behaves: results on standard output, one sentence for what goes wrong, and the exit status."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from chronorule.cli.output import lead_nowhere, say_aside
from chronorule.errors import ChronoruleError, ChronoruleWarning

# Messages of the library name Python's arguments; here they are called as a person at a terminal writes them.
OPTION_OF = {
    "entity": "--entity-column",
    "time": "--time-column",
    "event": "--event-column",
    "group": "--group-column",
    "separator": "--separator",
    "unit": "--unit",
    "time_format": "--time-format",
    "resolution": "--resolution",
    "periods": "--periods",
    "static": "--static",
    "head": "--head",
    "reset_by": "--reset-by",
    "feature": "--feature",
    "kernel": "--kernel",
    "span": "--span",
    "heterogeneity": "--heterogeneity",
    "baseline": "--baseline",
    "penalty": "--penalty",
    "threads": "--threads",
    "predicates": "--predicates",
    "sequences": "--sequences",
    "seed": "--seed",
    "search": "--search",
    "objective": "--objective",
    "stop": "--stop",
    "alpha": "--alpha",
    "min_support": "--min-support",
    "max_rules": "--max-rules",
    "time_limit": "--time-limit",
    "given_rules": "--given-rules",
}
ASSIGNMENT = re.compile(rf"(?<![\w\"'.-])({'|'.join(OPTION_OF)})=(?=\S)")
UNDERSCORED = re.compile(r"(?<![\w\"'.-])(time_format|reset_by)(?![\w\"'])")

# Of a grammar and a journal they speak in words that are options here.
GRAMMAR = {
    "required": "--must-include",
    "prefix": "--start-with",
    "forbidden": "--forbid",
    "forbidden_pairs": "--forbid-pair",
    "body": "--body",
}
PHRASES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"\b(required|prefix|forbidden|forbidden_pairs|body) (names|holds)\b",
        lambda found: f"{GRAMMAR[found[1]]} {found[2]}",
    ),
    (r"\bput '.*' into the body of the grammar", "give --include-head"),
    (r"\bnot in body\b", "not among the predicates that rules may use"),
    (r"\bis both forbidden and in (required|prefix)\b", lambda found: f"is in both --forbid and {GRAMMAR[found[1]]}"),
    (r"\b(min|max)_length\b", r"--\1-length"),
    (r"\bThe prefix (holds|orders)\b", r"--start-with \1"),
    (r"\bA prefix of\b", "--start-with with"),
    (r"\bset (repeats|partial_orders)=True", lambda found: f"give --{found[1].replace('_', '-')}"),
    (r"\bwithin=True\b", "--within"),
    (r"\bleave within out\b", "leave --within out"),
    (r"\bin relations\b", "in --relations"),
    (r"\binto required\b", "into --must-include"),
    (r"\bname another journal, or remove this one to begin anew\b", "choose another --out, or begin anew with --fresh"),
)


def in_options(message: str) -> str:
    """A message of the library in the words of the command line: `separator=";"` becomes `--separator ";"`."""
    message = re.sub(r"\bat_risk_from_start(=False)?", "--not-at-risk-from-start", message)
    message = re.sub(r"\bpass periods\b", "pass --periods", message)
    message = message.replace('pass separator=","', 'leave --separator out, whose default is ","')
    for pattern, words in PHRASES:
        message = re.sub(pattern, words, message)
    message = ASSIGNMENT.sub(lambda found: f"{OPTION_OF[found[1]]} ", message)
    return UNDERSCORED.sub(lambda found: OPTION_OF[found[1]], message)


def complain(kind: str, message: str) -> None:
    """Write one message to standard error."""
    say_aside(f"{kind}: {message}")


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings of ours as one line each, without a file, a line and a piece of source; others as Python does."""
    shown: set[str] = set()
    with warnings.catch_warnings():
        pythons = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, ChronoruleWarning):
                pythons(message, category, *where, **more)
                return
            line = in_options(" ".join(str(message).split()))
            if line not in shown:
                shown.add(line)
                complain("warning", line)

        warnings.simplefilter("always", ChronoruleWarning)
        warnings.showwarning = show
        yield


def fail(message: str) -> NoReturn:
    """End with exit status 1 and a sentence."""
    complain("error", message)
    try:
        sys.stdout.flush()
    except (OSError, AttributeError):
        lead_nowhere(sys.stdout)
    raise SystemExit(1)


class Commands(click.Group):
    """The group of all commands; the one place where what goes wrong becomes a sentence and an exit status."""

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        with sentences():  # of --help and --version, which print
            return super().make_context(*arguments, **settings)
        raise SystemExit(0)

    def invoke(self, ctx: click.Context) -> Any:
        with plain_warnings(), sentences():
            super().invoke(ctx)


@contextmanager
def sentences() -> Iterator[None]:
    """End what goes wrong with a sentence and an exit status."""
    try:
        yield
    except ChronoruleError as problem:
        fail(in_options(str(problem)))
    except BrokenPipeError:  # the reader of the output has seen enough (`| head`), which is no failure
        lead_nowhere(sys.stdout)
    except OSError as problem:
        about = f'"{problem.filename}"' if problem.filename else "A file or a device"
        reason = problem.strerror or str(problem)
        fail(f"{about} cannot be used ({reason}); nothing was finished: make it usable and run again.")
    except MemoryError:
        fail("The memory of this machine is not enough for this log; take fewer entities, or a larger machine.")
    except KeyboardInterrupt:
        fail("Stopped before the end, at your request; a file named by --out is as it was before.")
