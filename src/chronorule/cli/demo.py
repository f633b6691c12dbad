"""`chronorule demo`: are the weights of known rules found again from events alone?"""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

import chronorule
from chronorule.cli.options import Command
from chronorule.cli.output import names_in, progress, say, write_text, written
from chronorule.cli.simulate import write_simulated
from chronorule.errors import DataError

if TYPE_CHECKING:
    from chronorule import RuleModel
    from chronorule.simulate import Simulated, Truth

GROUP, PREDICATES, SEQUENCES = 1, 20, 1000
Z_95 = 1.959963984540054  # the standard normal's 97.5 % point


@click.command(cls=Command)
@click.option(
    "--seed", metavar="N", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed, another log."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Keep the events, the true rules and the model there; without it nothing is written.",
)
def demo(seed: int, out: Path | None) -> None:
    """Find the weights of known rules again, on simulated data.

    Simulates group 1 of the paper's synthetic suite (1,000 sequences, 20
    predicates), weighs its three true rules on the events, and prints truth beside
    estimate, then the model.
    """
    if out is not None:
        make_folder(out)
    with progress("simulating and weighing (the first time on a machine, compiling takes some seconds)"):
        simulated = chronorule.paper_suite(GROUP, PREDICATES, SEQUENCES, seed)
        model = chronorule.reweigh(simulated.truth.rules, simulated.log, simulated.truth.head)
    say(introduction(simulated, seed))
    say()
    say(comparison(simulated.truth, model))
    say()
    say("The same as a model, as `chronorule reweigh` prints it:")
    say()
    say(str(model))
    say()
    if out is None:
        say("Nothing was written; chronorule demo --out FOLDER keeps events, rules and model.")
    else:
        case = f"group {GROUP}, {PREDICATES} predicates, {SEQUENCES} sequences, seed {seed}, feature exists"
        before = names_in(out)
        files = [*write_simulated(simulated, out / "demo.parquet", case), out / "demo.model.txt"]
        write_text(files[-1], model.to_text())
        say(written(files, before))
    say("For data of your own: chronorule describe --help, chronorule reweigh --help.")


def make_folder(folder: Path) -> None:
    """Create the folder where it does not exist yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DataError(f'"{folder}" cannot be a folder ({problem.strerror}); choose another with --out.') from None


def introduction(simulated: Simulated, seed: int) -> str:
    """What the reader is looking at."""
    log, truth = simulated
    told = [
        "Can the weights of known rules be found again from events alone?",
        f"Simulated: {log.n_entities:,} sequences of {PREDICATES} predicates and a head {truth.head.name} (group "
        f"{GROUP} of the paper's suite, seed {seed}), {log.n_events:,} events in all. Three rules are "
        "true: once a rule's predicates have happened in its order, the rate of "
        f"{truth.head.name} is e^w times higher. Decoys, which hold the same predicates in another order or all but "
        "one of them, change nothing.",
        "Given to the fit: the events and the rules, but not the weights. All numbers below are estimates of it, save "
        "the truth.",
    ]
    return "\n\n".join(textwrap.fill(part, 80) for part in told)


def comparison(truth: Truth, model: RuleModel) -> str:
    """True weights beside their estimates, and the base rate; `inside` says whether the interval holds the truth."""
    found = {item.rule: item for item in model.rules}
    rows: list[tuple[str, float, float, float, float | None]] = [
        (str(rule).replace("<-", "←", 1), float(weight), found[rule].weight, found[rule].stderr, found[rule].ratio)
        for rule, weight in zip(truth.rules, truth.weights, strict=True)
    ]
    base = float(truth.base[0])
    rows.append(("log base rate", base, model.baseline[0], model.baseline_stderr[0], None))
    lines = [f"{'':<26}{'truth':>6}{'estimate':>9}{'s.e.':>7}{'95 % interval':>15}{'inside':>7}{'rate ×':>8}"]
    for name, true, estimate, stderr, ratio in rows:
        low, high = estimate - Z_95 * stderr, estimate + Z_95 * stderr
        sure = [f"{stderr:.3f}", f"{low:.2f} to {high:.2f}", "yes" if low <= true <= high else "no"]
        error, interval, inside = ["–"] * 3 if math.isnan(stderr) else sure
        times = "" if ratio is None else f"{ratio:>8.2f}"
        lines.append(f"{name:<26}{true:>6.2f}{estimate:>9.3f}{error:>7}{interval:>15}{inside:>7}{times}")
    return "\n".join(lines)
