"""`chronorule learn`: the rules that say when an event happens, found in a log, weighed, and proved."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import chronorule
from chronorule.cli.library import SIGNS, Library
from chronorule.cli.options import (
    FEATURES,
    OUTPUT,
    Command,
    EventFile,
    HeadChoice,
    Number,
    chooses_heads,
    kernel_text,
    numbers,
    option,
    reads_events,
)
from chronorule.cli.output import counted, listed, say, say_aside, say_json
from chronorule.cli.places import JOURNAL, RECORDS, REPORT, folders_of, journal_of, prepare
from chronorule.cli.reweigh import HETEROGENEITIES, read_rules
from chronorule.cli.source import remember
from chronorule.cli.watching import interruptible, watching
from chronorule.errors import ChronoruleError, DataError, RuleError

if TYPE_CHECKING:
    from chronorule import EventLog, Head, Rule, RuleModel

GRAMMAR = "Which rules may be found"
MODEL = "How rules count"
EVIDENCE = "When a rule is worth adding"
WORK = "How long and with what"


def relations(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    """before,equal: those allowed, with commas between them."""
    words = tuple(dict.fromkeys(word.strip().lower() for word in value.split(",") if word.strip()))
    wrong = next((word for word in words if word not in ("before", "equal")), None)
    if wrong is not None:
        more = " (None between two predicates is allowed by --partial-orders)" if wrong == "none" else ""
        raise click.BadParameter(f"{wrong!r} is neither before nor equal{more}.")
    return words


def some_names(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Names, of which an empty value has none: to a script whose variable is not set it must not mean all, or none."""
    if not all(value.strip(" ,") for value in values):
        raise click.BadParameter("no predicate is named; name one, or leave the option out.")
    return values


def known_search(_: click.Context, __: click.Parameter, value: str) -> str:
    """The name of a search."""
    from chronorule.search import SEARCHES

    if value not in SEARCHES:
        raise click.BadParameter(f"{value!r} is unknown; choose one of {', '.join(SEARCHES)}.")
    return value


@click.command(cls=Command)
@chooses_heads("The event to explain; give it several times to explain several, each by a model of its own.")
@option(
    "--max-length",
    type=click.IntRange(min=1),
    metavar="N",
    section=GRAMMAR,
    help="Most predicates in a rule.  [default: 4]",
)
@option("--min-length", type=click.IntRange(min=1), metavar="N", section=GRAMMAR, help="Fewest.  [default: 1]")
@option("--length", type=click.IntRange(min=1), metavar="N", section=GRAMMAR, help="Exactly so many.")
@option(
    "--relations",
    callback=relations,
    default="before,equal",
    show_default=True,
    metavar="WORDS",
    section=GRAMMAR,
    help="How predicates of a rule may follow each other: before, equal (at one instant).",
)
@option(
    "--partial-orders",
    is_flag=True,
    section=GRAMMAR,
    help="Two predicates may also stand side by side, in any order. Without it a rule is a chain.",
)
@option("--repeats", is_flag=True, section=GRAMMAR, help="A predicate may occur more than once: A, B, then A again.")
@option(
    "--body",
    multiple=True,
    callback=some_names,
    metavar="NAMES",
    section=GRAMMAR,
    help="Use only these predicates: A,B,C, or the option several times.  [default: all but the head and what "
    "resets it]",
)
@option(
    "--include-head",
    is_flag=True,
    section=GRAMMAR,
    help="Rules may also use the head's own past, where one brings the next.",
)
@option(
    "--must-include",
    multiple=True,
    callback=some_names,
    metavar="NAMES",
    section=GRAMMAR,
    help="Every rule holds these.",
)
@option(
    "--forbid", multiple=True, callback=some_names, metavar="NAMES", section=GRAMMAR, help="No rule holds one of these."
)
@option(
    "--forbid-pair",
    multiple=True,
    nargs=2,
    metavar="NAME NAME",
    section=GRAMMAR,
    help="No rule holds these two together.",
)
@option(
    "--start-with",
    multiple=True,
    callback=some_names,
    metavar="NAMES",
    section=GRAMMAR,
    help="Every rule begins with these, each before the next.",
)
@option(
    "--signs",
    type=click.Choice(list(SIGNS)),
    default="raise",
    show_default=True,
    section=GRAMMAR,
    help="Rules that raise the rate of the head, that inhibit it, or both.",
)
@option(
    "--given-rules",
    metavar="FILE",
    section=GRAMMAR,
    help="Rules that you hold for true, one a line: learning starts from them and keeps them. Weights in it are not "
    "used: all are found again.",
)
@option(
    "--feature",
    type=click.Choice(FEATURES),
    default="exists",
    show_default=True,
    section=MODEL,
    help="A rule counts once it is fulfilled, or as often as it is.",
)
@option(
    "--kernel",
    callback=kernel_text,
    default="step",
    show_default=True,
    metavar="KERNEL",
    section=MODEL,
    help="How long it counts: step (for ever), window:WIDTH (so long), decay:RATE (fading).",
)
@option("--span", type=float, metavar="TIME", section=MODEL, help="Longest time from first to last event of a match.")
@option(
    "--heterogeneity",
    type=click.Choice(HETEROGENEITIES),
    default="gamma",
    show_default=True,
    section=MODEL,
    help="Base rates of entities: spread by a gamma law, alike, or one for each (not with --terminal or --reset-by). "
    "If all were taken as alike, rules would be found that only mark the sick.",
)
@option(
    "--baseline",
    callback=numbers,
    metavar="CUTS",
    section=MODEL,
    help="Let the base rate change at these times since the start of the period: 6,12,24. Without it, rules may only "
    "say that time passes.",
)
@option(
    "--alpha",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    metavar="NUMBER",
    section=EVIDENCE,
    help="Chance that a log without rules gets one. Longer rules, of more predicates, need more evidence for it.",
)
@option(
    "--min-support",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    section=EVIDENCE,
    help="Entities (or groups) in which a head has to come while the rule is on.",
)
@option(
    "--within",
    is_flag=True,
    section=EVIDENCE,
    help="Take only rules that say when a head comes, each entity compared with itself; none that only marks in whom. "
    "Not with --terminal or --reset-by, where a head ends the time that would be compared.",
)
@option(
    "--honest",
    is_flag=True,
    section=EVIDENCE,
    help="Find rules in one half of the entities, and take weights, errors and gains from the other half.",
)
@option(
    "--objective",
    type=click.Choice(["gain", "gradient", "worth"]),
    default="gain",
    show_default=True,
    section=EVIDENCE,
    help="What the next rule is the best in: log-likelihood gained, its slope (the paper's), or gain less length.",
)
@option(
    "--stop",
    type=click.Choice(["evidence", "optimal"]),
    default="evidence",
    show_default=True,
    section=EVIDENCE,
    help="End when no rule has the evidence that --alpha asks for, or (the paper) when none improves the penalised "
    "likelihood.",
)
@option(
    "--penalty",
    type=Number(min=0),
    default=0.0,
    show_default=True,
    metavar="NUMBER",
    section=EVIDENCE,
    help="Charge on the weight of a rule for each of its predicates.",
)
@option("--max-rules", type=click.IntRange(min=0), metavar="N", section=EVIDENCE, help="End with so many rules.")
@option(
    "--search",
    callback=known_search,
    default="exact",
    show_default=True,
    metavar="NAME",
    section=WORK,
    help="How the next rule is looked for: exact (branch and bound, with a proof), or brute (one by one).",
)
@option(
    "--time-limit",
    type=Number(min=0),
    metavar="SECONDS",
    section=WORK,
    help="End with the best so far, and say how far from proved it is.",
)
@option("--threads", type=click.IntRange(min=1), metavar="N", section=WORK, help="Threads.  [default: one a core]")
@option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    section=WORK,
    help="Of what is drawn: the halves of --honest. Same seed, same rules.",
)
@reads_events
@option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    section=OUTPUT,
    help="Save the model there (rules.toml, which you may edit, and manifest.json), its report (report.html), and a "
    "journal: the same command again goes on where a run was cut off.",
)
@option("--fresh", is_flag=True, section=OUTPUT, help="With --out: do not go on from the journal, begin anew.")
@option(
    "--no-entities",
    is_flag=True,
    section=OUTPUT,
    help="Keep all that belongs to a single entity, its name and its events, out of the report. The model has none.",
)
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print JSON for programs; null is not known.")
@option("--quiet", is_flag=True, section=OUTPUT, help="Print the model and nothing else while it is learned.")
def learn(
    events: EventFile,
    choices: tuple[HeadChoice, ...],
    given_rules: str | None,
    out: Path | None,
    fresh: bool,
    no_entities: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the rules that say when an event happens.

    EVENTS is a CSV or Parquet file with one event a row. One rule after another is
    looked for among all that may be written, and added while the data speak for it
    clearly enough; after each, all weights are found again by maximum likelihood, and
    rules that are no longer needed are dropped. At the end a search proves that no
    other rule passes.

    Shown are the rules with their weights, the proof, and the best rules that did not
    pass. Ctrl-C ends with the best model so far, which is saved and printed like any
    other (exit status 0) and says that it was stopped; Ctrl-C again ends at once,
    with nothing saved (exit status 130).

    \b
    Examples:
      chronorule learn events.parquet --head LowUrine --out lowurine
      chronorule learn icu.csv --periods stays.csv --head LowUrine \\
          --reset-by NormalUrine --kernel window:12 --max-length 3
      chronorule learn cases.csv --head Complaint --head Refund \\
          --must-include Delay --signs both --time-limit 60
    """
    refuse_together(choices, options, out, fresh, no_entities)
    heads = [head for head in (choice.head() for choice in choices) if head is not None]
    given = None if given_rules is None else given_by_head(given_rules, [head.name for head in heads])
    folders = folders_of([head.name for head in heads], out)
    log = events.read()
    for head in heads:
        refuse_without_heads(log, head)
    library = Library.taken_from(options, log)
    for folder in folders:  # when all that is given has been understood, and before the work
        prepare(folder, fresh)
    limit, options["random_state"] = options.pop("time_limit"), options.pop("seed")
    begun, learned, files = time.monotonic(), [], []
    with interruptible() as asked:
        for head, folder in zip(heads, folders, strict=True):
            left = None if limit is None else max(limit - (time.monotonic() - begun), 0.0)
            learner = chronorule.RuleLearner(
                head,
                grammar=library.grammar(head),
                given_rules=None if given is None else given[head.name],
                time_limit=left,
                **options,
            )
            with watching(quiet, asked) as watch:
                learner.fit(log, journal=journal_of(folder), watch=watch, stop=asked)
            learned.append(learner.model_)
            try:
                files += keep(learner.model_, log, events, folder, not no_entities)
            except ChronoruleError:
                show(learned, as_json, len(heads) > 1)  # what took long to learn is not lost with the disk
                raise
            if asked():
                break
    show(learned, as_json, len(heads) > 1)
    if files and not quiet:
        say_aside(listed("written:", [str(file) for file in files]))
    missing = [head.name for head in heads[len(learned) :]]
    if missing:
        say_aside(f"stopped before these heads were learned: {', '.join(missing)}")


def refuse_together(
    choices: tuple[HeadChoice, ...], options: dict[str, Any], out: Path | None, fresh: bool, no_entities: bool
) -> None:
    """Options that contradict each other, or would do nothing."""
    names = [choice.name for choice in choices]
    if len(set(names)) < len(names):
        raise click.UsageError("A head is named twice by --head; name each once.")
    first = choices[0]
    if len(names) > 1 and (first.terminal or first.reset_by or not first.at_risk_from_start):
        raise click.UsageError(
            "--terminal, --reset-by and --not-at-risk-from-start speak of one head; learn the heads one by one."
        )
    if options["length"] is not None and (options["max_length"] or options["min_length"]):
        raise click.UsageError("--length fixes the length, so --max-length and --min-length have no say; give either.")
    if out is None and (fresh or no_entities):
        raise click.UsageError("--fresh and --no-entities concern what --out writes; name a folder with --out.")


def given_by_head(file: str, heads: list[str]) -> dict[str, list[Rule]]:
    """The rules of a file for each head; rules of other heads are refused."""
    _, rules = read_rules(file)
    other = next((rule for rule in rules if rule.head not in heads), None)
    if other is not None:
        raise RuleError(
            f"In \"{file}\" the rule '{other.key}' explains '{other.head}', but --head names {' and '.join(heads)}; "
            "leave the rule out, or name its head, too."
        )
    return {head: [rule for rule in rules if rule.head == head] for head in heads}


def refuse_without_heads(log: EventLog, head: Head) -> None:
    """Nothing can be learned about what never happens."""
    risk = chronorule.exposure(log, head)
    if risk.n_heads == 0:
        seen = f", where {counted(risk.outside, 'occurrence lies', 'occurrences lie')} outside" if risk.outside else ""
        raise DataError(
            f'"{head.name}" never happens while it is watched for{seen}, so nothing can be learned about it; check '
            "--periods, and what ends or resets the head."
        )


def keep(model: RuleModel, log: EventLog, events: EventFile, folder: Path | None, entities: bool) -> list[Path]:
    """Save a model, its report, and where its events are; the files written."""
    if folder is None:
        return []
    model.save(folder)
    try:
        report = chronorule.write_report(model, log, folder / REPORT, entities=entities, records=folder / RECORDS)
    except DataError as problem:
        raise DataError(f'The model is saved in "{folder}", but not its report: {problem}') from None
    source = remember(folder, events, log, entities)
    return [folder / "rules.toml", folder / "manifest.json", folder / JOURNAL, *report, source]


def show(models: list[RuleModel], as_json: bool, several: bool) -> None:
    """Print the models; of several heads, JSON by the names of these."""
    if as_json:
        records = {model.head.name: model.to_dict() for model in models}
        say_json(records if several else next(iter(records.values())))
    else:
        say("\n\n\n".join(map(str, models)))
