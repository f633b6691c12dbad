"""Learning, watched by a person: a live table at a terminal, plain lines elsewhere, and Ctrl-C that loses nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from chronorule import execution
from chronorule.cli.output import aside_between, encodable, is_watched, say_aside

if TYPE_CHECKING:
    from rich.console import RenderableType

    from chronorule.learner import LearningProgress
    from chronorule.search import Progress

Watch = Callable[["LearningProgress"], None]

ABORTED = 130  # as shells count an end by Ctrl-C
EVERY = 10.0  # seconds of one search between two plain lines
MOST_RULES = 12  # that the live table shows
STOPPING = "Stopping with the best so far. Ctrl-C again: end at once, save nothing more."
STAGES = {
    "search": "searching",
    "drop": "dropping what is not needed",
    "polish": "trying neighbours",
    "seek": "looking once more in the place of each rule",
    "done": "done",
}


# ---- Ctrl-C


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """A question whether Ctrl-C was pressed, for learning to ask; the second Ctrl-C ends everything at once."""

    def say_it() -> None:
        if not is_watched():  # the live table says it itself
            say_aside(STOPPING)

    def end_at_once() -> NoReturn:
        raise SystemExit(ABORTED)

    try:
        with execution.interruptible(say_it, end_at_once) as pressed:
            yield pressed
    except SystemExit as end:
        if end.code == ABORTED:
            say_aside("Ended at once, at your request; what was saved before is as it was.")
        raise


# ---- progress


@contextmanager
def watching(quiet: bool, stopping: Callable[[], bool]) -> Iterator[Watch | None]:
    """What learning tells its progress to."""
    if quiet:
        yield None
    elif is_watched():
        with _live(stopping) as watch:
            yield watch
    else:
        yield PlainLines()


class PlainLines:
    """Lines of text: one for each new set of rules, and for a long search one now and then."""

    def __init__(self) -> None:
        self.rules: tuple[Any, ...] | None = None
        self.said = 0.0

    def __call__(self, progress: LearningProgress) -> None:
        rules = tuple(rule for rule, _ in progress.rules)
        lead = f"{progress.head}, round {progress.round}, {progress.seconds:.1f} s: "
        if rules != self.rules or progress.stage == "done":
            self.rules, self.said = rules, progress.seconds
            end = ", done" if progress.stage == "done" else ""
            say_aside(f"{lead}log-likelihood {progress.log_likelihood:,.2f}, {rules_words(progress)}{end}")
        elif progress.search is not None and progress.seconds - self.said >= EVERY:
            self.said = progress.seconds
            best = progress.search.incumbent
            say_aside(f"{lead}search: {search_words(progress.search)}{'' if best is None else f': {best.key}'}")


def rules_words(progress: LearningProgress) -> str:
    """The rules with their weights, in one line."""
    rules = "; ".join(f"{rule.key} ({weight:.3g})" for rule, weight in progress.rules)
    return f"{len(progress.rules)} {'rule' if len(progress.rules) == 1 else 'rules'}{': ' if rules else ''}{rules}"


def search_words(search: Progress) -> str:
    """How far a search has come."""
    best = "none passes yet" if search.incumbent is None else f"best {search.value:.1f}"
    if search.bound == float("inf"):
        bound = "no bound yet"
    else:
        gap = 0.0 if search.bound <= 0 else max(search.bound - search.value, 0.0) / search.bound
        bound = f"none above {search.bound:.1f}, gap {100 * gap:.0f} %"
    return f"{best}, {bound}, {search.nodes:,} nodes, {search.seconds:.1f} s"


@contextmanager
def _live(stopping: Callable[[], bool]) -> Iterator[Watch]:
    """A table that is drawn anew a few times a second and taken away at the end."""
    from rich.console import Console
    from rich.live import Live

    latest: list[LearningProgress] = []

    def draw() -> RenderableType:
        return drawn(latest[-1], stopping()) if latest else ""

    live = Live(
        get_renderable=draw,
        console=Console(stderr=True, highlight=False),
        refresh_per_second=5,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )

    def watch(progress: LearningProgress) -> None:
        latest[:] = [progress]

    with live, aside_between(live.stop, live.start):
        yield watch


def drawn(progress: LearningProgress, stopping: bool = False) -> RenderableType:
    """Round, stage, log-likelihood and seconds; the rules with their weights; how far the search has come."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    def text(words: str) -> Text:
        return Text(encodable(words, sys.stderr), overflow="ellipsis", no_wrap=True)

    table = Table(box=None, padding=(0, 1), show_header=True, header_style="bold")
    table.add_column("weight", justify="right")
    table.add_column("rule", overflow="ellipsis", no_wrap=True)
    for rule, weight in progress.rules[-MOST_RULES:]:
        table.add_row(f"{weight:.3f}", text(rule.key))
    parts: list[RenderableType] = [
        text(
            f"{progress.head}: round {progress.round}, {STAGES.get(progress.stage, progress.stage)}, "
            f"{progress.seconds:.1f} s, log-likelihood {progress.log_likelihood:,.2f}"
        )
    ]
    hidden = len(progress.rules) - MOST_RULES
    if hidden > 0:
        parts.append(text(f"  ({hidden} more rules)"))
    if progress.rules:
        parts.append(table)
    if progress.search is not None:
        parts.append(text(f"search: {search_words(progress.search)}"))
        if progress.search.incumbent is not None:
            parts.append(text(f"        {progress.search.incumbent.key}"))
    if stopping:
        parts.append(text(STOPPING))
    return Group(*parts)
