"""`chronorule demo`: learn from real data when urine output falls; leave model, report and data behind."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

import chronorule
from chronorule.cli.options import Command, EventFile
from chronorule.cli.output import COLUMNS, names_in, progress, say, written
from chronorule.cli.places import make_folder
from chronorule.cli.source import remember
from chronorule.errors import DataError

if TYPE_CHECKING:
    from chronorule import EventLog, RuleLearner, RuleModel, WeightedRule

OUT = Path("demo-output")
HEAD, RESET_BY = "LowUrine", "NormalUrine"
REPORT = "report.html"
LONGEST = 3  # predicates in a rule
WINDOW, CUTS = 6, (6, 24, 72)  # hours that a rule counts, and after which the base rate may change


@click.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    default=OUT,
    show_default=True,
    help="Where the model, its report and the events go.",
)
def demo(out: Path) -> None:
    """Learn from real data when urine output falls.

    Looks through the bundled events of 130 stays in intensive care for rules that say
    when urine falls below 30 ml an hour, weighs those that pass, proves that no other
    does, and writes a report to open in a browser.
    """
    make_folder(out)
    log = chronorule.demo_log()
    say(introduction(log))
    say()
    with progress("learning (the first time on a machine, compiling takes half a minute)"):
        model = learner_for(log).fit(log).model_
        before = names_in(out)
        model.save(out)
        chronorule.write_report(model, log, out / REPORT)
        files = [out / name for name in ("rules.toml", "manifest.json", REPORT)]
        data = copies_of_the_data(out)
        files += [*data, remember(out, EventFile.plain(str(data[0])), log)]
    say(str(model))
    say()
    say(in_words(model))
    say()
    say(written(files, before))
    say()
    say(f"The report, to open in a browser: {out / REPORT}")
    say("For data of your own: chronorule learn --help")


def library(log: EventLog) -> tuple[str, ...]:
    """What rules are made of. A return to normal is in the log, but explains little."""
    return tuple(name for name in log.predicates if name != HEAD and not name.startswith("Normal"))


def learner_for(log: EventLog) -> RuleLearner:
    """How the demo learns: rules that hold within the patients. docs/demo-data.md says why so."""
    return chronorule.RuleLearner(
        chronorule.Head(HEAD, reset_by=RESET_BY),
        grammar=chronorule.Grammar(body=library(log), max_length=LONGEST, signs=(1, -1)),
        kernel=chronorule.window(WINDOW),
        baseline=CUTS,
        within=True,
    )


def introduction(log: EventLog) -> str:
    """What the reader is looking at."""
    told = [
        "When does urine output fall below 30 ml an hour?",
        f"The data are real: {log.n_entities:,} stays of {log.n_groups:,} patients in intensive care, {log.n_events:,} "
        "events by the hour, made from the open MIMIC-III clinical database demo (its licence, the Open Database "
        "License, goes with them: NOTICE.md). A number that was charted is an event when it turns low, normal or high, "
        "a treatment when it starts.",
        f"Looked for are rules of up to {LONGEST} of {len(library(log))} abnormal states, treatments and traits, one "
        f"before the other or at once, that raise or lower the rate of {HEAD} for {WINDOW} hours, in each "
        "patient compared with the rest of that patient's own stays.",
    ]
    return "\n\n".join(textwrap.fill(part, COLUMNS) for part in told)


def in_words(model: RuleModel) -> str:
    """What the admitted rules say, and how far to trust them."""
    told = [sentence(item, model) for item in model.rules]
    if not told:
        told.append(
            f"No rule passes: {model.training.groups} patients are too few for what the rules claim. The suggestive "
            "ones may be looked for in other data, and no more."
        )
    told.append(
        "A rule says what went before, not what caused it: fluid, say, is given to patients whose circulation fails. "
        "The patients are few and the data old, so this is an example and no clinical advice. docs/demo-data.md "
        "explains every predicate and what speaks for and against these rules."
    )
    return "\n\n".join(textwrap.fill(part, COLUMNS) for part in told)


def sentence(item: WeightedRule, model: RuleModel) -> str:
    """One admitted rule, as one would say it."""
    body = str(item.rule).split(maxsplit=2)[2]
    return (
        f"In words: in the {WINDOW} hours after {body}, {model.head.name} comes at {item.ratio:.1f} times its usual "
        f"rate. It came {item.heads} times then, in {item.support} patients."
    )


def copies_of_the_data(folder: Path) -> list[Path]:
    """The events with what belongs to them, and their notice, so that anyone can go on from there."""
    from chronorule.data import FILES

    try:
        return [Path(shutil.copyfile(file, folder / file.name)) for file in FILES]
    except OSError as problem:
        raise DataError(
            f'"{folder}" cannot hold the events ({problem.strerror}); make room or choose another with --out.'
        ) from None
