"""`chronorule simulate`: a log of the paper's synthetic suite, with its true rules beside it."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

import chronorule
from chronorule.cli.options import FEATURES, Command
from chronorule.cli.output import COLUMNS, check_writable, counted, names_in, progress, say, write_text, written

if TYPE_CHECKING:
    from chronorule.simulate import Simulated


@click.command(cls=Command)
@click.option(
    "--group",
    metavar="N",
    type=click.IntRange(1, 6),
    default=1,
    show_default=True,
    help="Which group of three rules is true.",
)
@click.option(
    "--predicates",
    metavar="N",
    type=click.IntRange(8, 24),
    default=20,
    show_default=True,
    help="Size of the library: A, B, C and so on.",
)
@click.option(
    "--sequences", metavar="N", type=click.IntRange(min=1), default=1000, show_default=True, help="Number of entities."
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same log."
)
@click.option(
    "--feature",
    type=click.Choice(FEATURES),
    default="exists",
    show_default=True,
    help="A rule counts once it is fulfilled, or as often as it is.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Where the events go: .parquet, .csv or .csv.gz.",
)
def simulate(
    group: int, predicates: int, sequences: int, seed: int, feature: Literal["exists", "count"], out: Path
) -> None:
    """Simulate a log with known rules: a case of the paper's suite.

    Each of its six groups has three rules with the head Y. Their bodies are planted
    in some sequences, decoys that only look like them in others, and Y is drawn
    exactly from the rate that the rules give it.

    Beside STEM.parquet stand STEM.periods.parquet, which tells when each sequence
    was watched, and STEM.rules.txt, the true rules with their weights.

    \b
    Example:
      chronorule simulate --group 2 --out suite.parquet
      chronorule reweigh suite.rules.txt suite.parquet --head Y
    """
    check_writable(out)
    with progress("simulating (the first time on a machine, compiling takes some seconds)"):
        simulated = chronorule.paper_suite(group, predicates, sequences, seed, feature)
    case = f"group {group}, {predicates} predicates, {sequences} sequences, seed {seed}, feature {feature}"
    before = names_in(out.parent)
    files = write_simulated(simulated, out, case)
    say(summary(simulated))
    say(written(files, before))
    say("try:     " + next_command(files, simulated))


def write_simulated(simulated: Simulated, out: Path, case: str) -> list[Path]:
    """Write events, their companions and the true rules, which say of which case they are; the files written."""
    files = chronorule.write_events(simulated.log, out)
    rules = out.with_name(f"{Path(out.name.removesuffix('.gz')).stem}.rules.txt")
    write_text(rules, f"# true rules of the paper's suite: {case}\n{simulated.truth.to_text()}")
    return [*files, rules]


def summary(simulated: Simulated) -> str:
    """How much was simulated, and from which rules."""
    log, truth = simulated
    seen = chronorule.exposure(log, truth.head)
    return "\n".join(
        [
            f"{counted(log.n_entities, 'sequence', 'sequences')}, {counted(log.n_events, 'event', 'events')}, "
            f"{log.n_predicates} predicates with the head {truth.head.name}; {counted(seen.n_heads, 'head', 'heads')}",
            f"base rate {math.exp(truth.base[0]):.4g} per unit of time; true rules (feature {truth.feature.kind}):",
            *(f"  {line}" for line in truth.to_text().splitlines()),
        ]
    )


def next_command(files: list[Path], simulated: Simulated) -> str:
    """The command that weighs the true rules on what was written, over several lines where it is long.

    CSV does not know its periods.
    """
    parts = [["chronorule", "reweigh", str(files[-1])], [str(files[0])], ["--head", simulated.truth.head.name]]
    if simulated.truth.feature.kind != "exists":
        parts.append(["--feature", simulated.truth.feature.kind])
    if files[0].suffix != ".parquet":
        parts.append(["--periods", str(files[1])])
    first, *more = map(shlex.join, parts)
    lines, room = [first], COLUMNS - len("try:     ") - len(" \\")
    for part in more:
        if len(lines[-1]) + 1 + len(part) > room:
            lines[-1] += " \\"
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return f"\n{' ' * len('try:     ')}".join(lines)
