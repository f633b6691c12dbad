"""The command line: parse, delegate, print. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

try:
    import click

    from chronorule import __version__
    from chronorule.cli.demo import demo
    from chronorule.cli.describe import describe
    from chronorule.cli.learn import learn
    from chronorule.cli.manners import Commands
    from chronorule.cli.report import report
    from chronorule.cli.reweigh import reweigh
    from chronorule.cli.simulate import simulate
except KeyboardInterrupt:  # Ctrl-C before there is a command that could say so
    raise SystemExit(130) from None

__all__ = ["main"]


@click.group("chronorule", cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="chronorule", message="%(prog)s %(version)s")
def main() -> None:
    """Temporal logic rules that explain when an event happens.

    A rule such as "LowUrine <- LowSysBP < HighBUN" says: after a LowSysBP and then
    a HighBUN, LowUrine happens at e^w times its usual rate. Rules are found in a
    log of events and weighed by maximum likelihood; a proof says that none better
    was missed.

    \b
    Try:
      chronorule demo
      chronorule simulate --out suite.parquet
      chronorule describe suite.parquet --head Y
      chronorule learn suite.parquet --head Y --max-length 6 --out suite
      chronorule report suite --no-entities --out public.html
      chronorule reweigh suite.rules.txt suite.parquet --head Y

    Results go to standard output, everything else to standard error. The exit
    status is 0 when done, 1 when the data or the rules cannot be used, 2 when the
    command was not understood, 130 when learning was ended at once by Ctrl-C.
    """


for command in (demo, describe, learn, report, reweigh, simulate):
    main.add_command(command)
