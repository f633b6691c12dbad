"""`chronorule reweigh`: rules that a person wrote, weighed on a log."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import chronorule
from chronorule.cli.options import (
    FEATURES,
    OUTPUT,
    Command,
    EventFile,
    HeadChoice,
    Number,
    chooses_head,
    kernel_text,
    numbers,
    option,
    reads_events,
)
from chronorule.cli.output import check_writable, names_in, progress, say, say_aside, say_json, write_text, written
from chronorule.cli.places import prepare, refuse_overwriting
from chronorule.errors import DataError, RuleError, RuleSyntaxError

if TYPE_CHECKING:
    from chronorule import Rule, RuleModel

MODEL = "How rules count"
HETEROGENEITIES = ("gamma", "none", "entity")


@click.command(cls=Command)
@click.argument("rules")
@chooses_head("The event that the rules explain.  [default: the one they name]")
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
    help="Base rates of entities: spread by a gamma law, alike, or one for each (not with --terminal or --reset-by).",
)
@option(
    "--baseline",
    callback=numbers,
    metavar="CUTS",
    section=MODEL,
    help="Let the base rate change at these times since the start of the period: 6,12,24.",
)
@option(
    "--penalty",
    type=Number(min=0),
    default=0.0,
    show_default=True,
    metavar="NUMBER",
    section=MODEL,
    help="Charge on the weight of a rule for each of its predicates.",
)
@option("--threads", type=click.IntRange(min=1), metavar="N", section=MODEL, help="Threads.  [default: one a core]")
@reads_events
@option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PATH",
    section=OUTPUT,
    help="Also write the rules with their weights as a rules file; of a model, save the new model in this folder.",
)
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print JSON for programs; null is not known.")
def reweigh(
    rules: str, events: EventFile, choice: HeadChoice, out: Path | None, as_json: bool, **settings: Any
) -> None:
    """Weigh given rules on a log of events by maximum likelihood.

    RULES is a text file with one rule a line; "-" reads standard input. Weights in
    it are not used, and a comment is a line of its own that begins with #. EVENTS
    is a CSV or Parquet file.

    RULES may also be the folder of a model whose rules.toml you have edited: what
    these options leave out is then as in that model.

    \b
      # kidneys after shock
      LowUrine <- LowSysBP < HighBUN
      LowUrine <- HighBUN & LowCVP & LowSysBP Before HighBUN
      LowUrine <-| NormalSysBP

    "<-" raises the rate of LowUrine and "<-|" lowers it; "<" is Before, "=" Equal
    (at the same instant), "&" asks for no order. Shown for each rule: weight w and
    its standard error, rate ratio e^w with 95 % interval, heads while it is on, and
    the gain, which is what the log-likelihood loses without it.

    \b
    Examples:
      chronorule reweigh rules.txt events.parquet
      chronorule reweigh rules.txt icu.csv --periods stays.csv \\
          --reset-by NormalUrine --kernel window:12 --out weighed.txt
      chronorule reweigh lowurine events.parquet --out lowurine
    """
    edited = chronorule.load(rules) if is_model(rules) else None
    if out is not None and edited is not None:
        prepare(out)
    elif out is not None:
        check_writable(out)
        refuse_overwriting(out, [rules, *events.files()], "--out")
    if edited is None:
        text, given = read_rules(rules)
        head = choice.head(otherwise=the_head(given))
    else:
        text = edited.to_text()
        head = edited.head if choice.says_nothing else choice.head(otherwise=edited.head.name)
        settings = {**settings, **as_in(edited)}
    log = events.read()
    with progress("weighing (the first time on a machine, compiling takes some seconds)"):
        model = chronorule.reweigh(text, log, head, **settings)
    files, before = [], names_in(out.parent if edited is None else out) if out is not None else ()
    if out is not None and edited is not None:
        model.save(out)
        files = [out / "rules.toml", out / "manifest.json"]
    elif out is not None:
        write_text(out, model.to_text())
        files = [out]
    if as_json:
        say_json(model.to_dict())
    else:
        say(str(model))
    if files:
        say_aside(written(files, before))


def is_model(name: str) -> bool:
    """Whether this is the folder of a model, and not a file of rules."""
    return os.path.isfile(os.path.join(name, "rules.toml"))


def as_in(model: RuleModel) -> dict[str, Any]:
    """The settings of a model that no option of this command overrules."""
    settings = {
        "feature": model.feature.kind,
        "kernel": model.feature.kernel,
        "span": model.feature.span,
        "heterogeneity": model.heterogeneity,
        "baseline": model.cuts,
        "penalty": model.penalty,
    }
    asked = click.get_current_context().get_parameter_source
    return {name: value for name, value in settings.items() if asked(name) is ParameterSource.DEFAULT}


def read_rules(name: str) -> tuple[str, list[Rule]]:
    """The text of a rules file, or of standard input, and its rules; messages name the file."""
    shown = "standard input" if name == "-" else f'"{name}"'
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(
            f"There is no file {shown} of rules; check the path, or give the rules to - as input."
        ) from None
    except IsADirectoryError:
        raise DataError(
            f"{shown} is a directory, not a file of rules nor a saved model; name one text file in it."
        ) from None
    except UnicodeDecodeError:
        raise DataError(f"{shown} is no UTF-8 text, so it holds no rules; name the right file.") from None
    except OSError as problem:
        raise DataError(f"{shown} cannot be read ({problem.strerror}); check the path and its permissions.") from None
    try:
        rules = [line.rule for line in chronorule.parse_rules(text)]
    except RuleSyntaxError as problem:
        raise RuleSyntaxError(f"In {shown}: {problem.message}", problem.text, problem.column) from None
    except RuleError as problem:
        raise RuleError(f"In {shown}: {problem}") from None
    if not rules:
        raise RuleError(f"There is no rule in {shown}; write one a line, such as: Y <- A < B.")
    return text, rules


def the_head(rules: list[Rule]) -> str | None:
    """The head that all rules name; None where they name several, which weighing refuses."""
    names = {rule.head for rule in rules}
    return names.pop() if len(names) == 1 else None
