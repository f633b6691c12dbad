"""`chronorule describe`: what is in a file of events, before anybody draws conclusions from it."""

from __future__ import annotations

import click

from chronorule.cli.options import OUTPUT, Command, EventFile, HeadChoice, chooses_head, option, reads_events
from chronorule.cli.output import say, say_json


@click.command(cls=Command)
@chooses_head("Also say what this head makes of the log: how many count, time at risk.")
@reads_events
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print JSON for programs.")
def describe(events: EventFile, choice: HeadChoice, as_json: bool) -> None:
    """Say what is in a file of events.

    EVENTS is a CSV or Parquet file with one event a row. Shown are entities,
    events, predicates with their counts, lengths of the observation periods, ties,
    and rows that were dropped. A Parquet file written by chronorule brings its
    periods, groups and unit along.

    \b
    Examples:
      chronorule describe events.parquet
      chronorule describe icu.csv --entity-column stay --time-column hours \\
          --periods stays.csv --head LowUrine --reset-by NormalUrine
    """
    if choice.name is None and (choice.terminal or choice.reset_by or not choice.at_risk_from_start):
        raise click.UsageError("--terminal, --reset-by and --not-at-risk-from-start speak of a head; name it: --head.")
    head = choice.head()
    description = events.read().describe(head)
    if as_json:
        say_json(description.to_dict())
    else:
        say(str(description))
