"""`chronorule demo`: learn from real data when urine output falls; leave model, report and data behind."""

from __future__ import annotations

import shlex
import shutil
import textwrap
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

import chronorule
from chronorule.cli.options import Command, EventFile
from chronorule.cli.output import COLUMNS, names_in, progress, say, write_text, written
from chronorule.cli.places import RECORDS, REPORT, prepare
from chronorule.cli.source import remember
from chronorule.errors import ChronoruleError, DataError

if TYPE_CHECKING:
    from chronorule import EventLog, RuleLearner, RuleModel, WeightedRule

OUT = Path("demo-output")
HEAD, RESET_BY = "LowUrine", "NormalUrine"
# What has just recovered often falls again. Left out, it makes other rules look surer than they are.
KNOWN = f"{HEAD} <- {RESET_BY}"
RULES = "known.rules.txt"
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
    prepare(out, fresh=False)
    from chronorule.data import FILES

    log = chronorule.demo_log()
    with suppress(OSError, DataError):  # who cannot read it may still want the model
        say(f"{introduction(log)}\n")
    with progress("learning (the first time on a machine, compiling takes half a minute)"):
        model = learner().fit(log).model_
        before = names_in(out)
        try:
            files = keep(model, log, out)
        except ChronoruleError:
            say(str(model))  # what took long to learn is not lost with the disk
            raise
    say(str(model))
    say()
    say(in_words(model))
    say()
    say(written(files, before))
    say()
    say(f"The report, to open in a browser: {out / REPORT}")
    say()
    say("The same by hand, and for data of your own (see chronorule learn --help):")
    say(by_hand(out / FILES[0].name, out / RULES))


def learner() -> RuleLearner:
    """How the demo learns; docs/demo-data.md says why so."""
    return chronorule.RuleLearner(
        chronorule.Head(HEAD, reset_by=RESET_BY),
        grammar=chronorule.Grammar(max_length=LONGEST, signs=(1, -1)),
        given_rules=KNOWN,
        kernel=chronorule.window(WINDOW),
        baseline=CUTS,
    )


def keep(model: RuleModel, log: EventLog, folder: Path) -> list[Path]:
    """Save the model, its report, and all that it takes to learn it again; the files written."""
    model.save(folder)
    report = chronorule.write_report(model, log, folder / REPORT, records=folder / RECORDS)
    copies = copies_of_the_data(folder)
    source = remember(folder, EventFile.plain(str(copies[0])), log)
    write_text(folder / RULES, f"{KNOWN}\n")
    return [folder / "rules.toml", folder / "manifest.json", *report, *copies, source, folder / RULES]


def introduction(log: EventLog) -> str:
    """What the reader is looking at."""
    told = [
        "When does urine output fall below 30 ml an hour?",
        f"The data are real: {log.n_entities:,} stays of {log.n_groups:,} patients in intensive care, {log.n_events:,} "
        "events by the hour, made from the open MIMIC-III clinical database demo (its licence, the Open Database "
        "License, goes with them: NOTICE.md). A number that was charted is an event when it turns low, normal or high, "
        "a treatment when it starts.",
        f"Given beforehand is a rule that is known: urine that has just recovered often falls again ({KNOWN}). Looked "
        f"for is what else raises or lowers the rate of {HEAD} for {WINDOW} hours: rules of up to {LONGEST} of the "
        f"{log.n_predicates - 2} other predicates (states, treatments, traits of the patient), one before the other or "
        "at once. Patients may differ in their base rate.",
    ]
    return "\n\n".join(textwrap.fill(part, COLUMNS) for part in told)


def in_words(model: RuleModel) -> str:
    """What the rules say, and how far to trust them."""
    known = chronorule.parse_rule(KNOWN)
    learned = [item for item in model.rules if item.rule != known]
    told = ["In words: " + " ".join(sentence(item) for item in model.rules if item.rule == known)]
    told += [f"Learned: {sentence(item)}" for item in learned]
    if not model.proved:
        told.append("Learning was stopped before it had proved that no other rule passes; run the demo again for that.")
    elif not learned:
        told.append(
            f"No other rule passes: {model.training.groups} patients are too few to be sure of one among so many. "
            "The suggestive ones are hints, to be looked for in other data."
        )
    best = "The best of them" if model.proved and not learned else "The best that did not pass"
    told += [f"{best}: {sentence(item)}" for item in model.suggestive[:1]]
    told.append(
        "A rule says what went before, not what caused it: fluid, say, is given to patients whose circulation fails. "
        "The data are an example, and none of this is clinical advice. docs/demo-data.md explains every predicate and "
        "what speaks for and against these rules."
    )
    return "\n\n".join(textwrap.fill(part, COLUMNS) for part in told)


def sentence(item: WeightedRule) -> str:
    """A rule, as one would say it."""
    head, _, body = str(item.rule).split(maxsplit=2)
    return (
        f"in the {WINDOW} hours after {body}, {head} comes at {item.ratio:.1f} times its usual rate; "
        f"{item.heads} times in all, in {item.support} patients."
    )


def by_hand(events: Path, known: Path) -> str:
    """The command that learns the same from the copy of the events."""
    return (
        f"  chronorule learn {shlex.quote(str(events))} \\\n"
        f"    --head {HEAD} --reset-by {RESET_BY} \\\n"
        f"    --given-rules {shlex.quote(str(known))} --max-length {LONGEST} --signs both \\\n"
        f"    --kernel window:{WINDOW} --baseline {','.join(map(str, CUTS))}"
    )


def copies_of_the_data(folder: Path) -> list[Path]:
    """The events with what belongs to them, and their notice, so that anyone can go on from there; the events first.

    They get their names when all are whole.
    """
    from chronorule.data import FILES

    parts = [folder / f".{file.name}.{uuid.uuid4().hex}.part" for file in FILES]
    try:
        for file, part in zip(FILES, parts, strict=True):
            shutil.copyfile(file, part)
        return [part.replace(folder / file.name) for file, part in zip(FILES, parts, strict=True)]
    except OSError as problem:
        raise DataError(
            f'"{folder}" cannot hold the events ({problem.strerror}); make room or choose another with --out.'
        ) from None
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
