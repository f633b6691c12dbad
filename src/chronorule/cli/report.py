"""`chronorule report`: a saved model and its events on one page of HTML."""

from __future__ import annotations

import os
from pathlib import Path

import click

import chronorule
from chronorule.cli.options import OUTPUT, Command, EventFile, option, reads_events_if_named
from chronorule.cli.output import check_writable, names_in, progress, say, written
from chronorule.cli.places import REPORT, refuse_overwriting
from chronorule.cli.source import recall, remembered, shows_entities


@click.command(cls=Command)
@click.argument("model", type=click.Path(path_type=Path))
@reads_events_if_named
@option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    section=OUTPUT,
    help="Where the page goes.  [default: report.html beside the model]",
)
@option(
    "--json",
    "records",
    type=click.Path(path_type=Path),
    metavar="FILE",
    section=OUTPUT,
    help="Where the same goes as JSON, for programs.  [default: beside the page]",
)
@option(
    "--entities/--no-entities",
    "entities",
    default=None,
    section=OUTPUT,
    help="Show single entities, or keep their names and events out of both.  [default: as it was learned]",
)
def report(
    model: Path, events: EventFile | None, out: Path | None, records: Path | None, entities: bool | None
) -> None:
    """Show a saved model on one page of HTML.

    MODEL is the folder that learning wrote, EVENTS the log to show it on. Without
    EVENTS the file is read again that the model was learned from, if it is still
    there and the same.

    The page holds the rules in words and numbers, what is proved about them, how
    many heads came after they completed and how many were expected, and a few
    entities to see them in. It is one file that loads nothing: mail it, print it.

    \b
    Examples:
      chronorule report lowurine
      chronorule report lowurine new-stays.parquet --out new.html
      chronorule report lowurine --no-entities --out public.html
    """
    page = model / REPORT if out is None else out
    told = page.with_suffix(".json") if records is None else records
    if os.path.realpath(page) == os.path.realpath(told):
        raise click.UsageError("--out and --json name the same file; give each its own.")
    learned = chronorule.load(model)
    inputs = (remembered(model) if events is None else events).files()
    for file, named in ((page, "--out"), (told, "--json")):
        check_writable(file)
        refuse_overwriting(file, inputs, named)
    shown = shows_entities(model) if entities is None else entities
    log = recall(model) if events is None else events.read()
    before = {file: names_in(file.parent) for file in (page, told)}
    with progress("drawing (the first time on a machine, compiling takes some seconds)"):
        files = chronorule.write_report(learned, log, page, entities=shown, records=told)
    say(written(files, {file.name for file in files if file.name in before[file]}))
