"""Options that several commands share: how to read the events, what the head is, in which sections help shows them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

import chronorule
from chronorule.cli.output import progress

if TYPE_CHECKING:
    from chronorule import EventLog, Head

Action = Callable[..., None]

READING = "How to read EVENTS"
HEAD = "What to explain"
OUTPUT = "What comes out"
FEATURES = ("exists", "count")
COLUMNS = ("entity", "time", "event", "group")
BESIDES = ("periods", "static", "separator", "unit", "time_format", "resolution")


class Option(click.Option):
    """An option that help shows in a section with others of its kind."""

    def __init__(self, *arguments: Any, section: str = "Options", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section


class Command(click.Command):
    """A command whose help shows its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def option(*names: str, section: str, **settings: Any) -> Callable[[Action], Action]:
    """An option in a section of the help."""
    decorate: Callable[[Action], Action] = click.option(*names, cls=Option, section=section, **settings)
    return decorate


class Number(click.FloatRange):
    """A number in a range; "nan" compares with no bound, and is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is no number that could be in the range {self._describe_range()}.", param, ctx)
        return number


def numbers(_: click.Context, __: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """Numbers with commas between them: 6,12,24."""
    try:
        return None if value is None else tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is no list of numbers with commas between them, such as 6,12,24."
        ) from None


def kernel_text(_: click.Context, __: click.Parameter, value: str) -> str:
    """step, window(12) or decay(0.1); a colon spares the quotes that a shell wants around parentheses."""
    text = value.strip()
    found = re.fullmatch(r"(window|decay)(?:\(([^()]+)\)|:([^()]+))", text)
    if text == "step":
        return text
    try:
        number = float(found[2] or found[3]) if found else _no_kernel(value)
    except ValueError:
        return _no_kernel(value)
    if found is None or not 0 < number < math.inf:
        raise click.BadParameter(f"{value!r} never counts or never fades; give a positive, finite number.")
    return f"{found[1]}({number!r})"


def _no_kernel(value: str) -> NoReturn:
    raise click.BadParameter(f"{value!r} is none of step, window:WIDTH and decay:RATE, such as window:12.")


def one_character(_: click.Context, __: click.Parameter, value: str) -> str:
    """The separator; a tab may be written as a word, since few shells let one type it."""
    return "\t" if value in ("tab", "\\t") else value


@dataclass(frozen=True)
class EventFile:
    """A file of events with all that says how to read it."""

    path: str
    entity: str | None
    time: str | None
    event: str | None
    group: str | None
    periods: str | None
    static: str | None
    separator: str
    unit: str | None
    time_format: str | None
    resolution: float

    @classmethod
    def plain(cls, path: str) -> EventFile:
        """A file that is read without options."""
        roles = dict.fromkeys((*COLUMNS, "periods", "static", "unit", "time_format"))
        return cls(path=path, separator=",", resolution=0.0, **roles)

    def files(self) -> list[str]:
        """All files that are read: those named, and those that stand beside a Parquet file."""
        named = [name for name in (self.path, self.periods, self.static) if name is not None]
        stem = self.path.removesuffix(".parquet")
        beside = [] if stem == self.path else [f"{stem}.{part}.parquet" for part in ("periods", "static")]
        return [*named, *beside]

    def read(self) -> EventLog:
        """The log in the file."""
        with progress(f"reading {self.path}"):
            return chronorule.read_events(
                self.path,
                entity=self.entity,
                time=self.time,
                event=self.event,
                resolution=self.resolution,
                unit=self.unit,
                separator=self.separator,
                time_format=self.time_format,
                periods=self.periods,
                group=self.group,
                static=self.static,
            )


def _column(role: str, text: str) -> Callable[[Action], Action]:
    return option(f"--{role}-column", metavar="NAME", section=READING, help=text)


EVENT_OPTIONS = [
    _column("entity", 'Column that says whom an event belongs to: patient, case, machine.  [default: "entity"]'),
    _column("time", 'Column of times: numbers, timestamps, dates or durations.  [default: "time"]'),
    _column("event", 'Column that says what happened.  [default: "event"]'),
    _column("group", "Column of groups that entities are nested in: stays of one patient."),
    option(
        "--periods",
        metavar="FILE",
        section=READING,
        help="Table with entity, start, stop: when each entity was watched. Without it, from its first event to its "
        "last, which biases rates.",
    ),
    option(
        "--static",
        metavar="FILE",
        section=READING,
        help="Table with entity, predicate: properties without a time.",
    ),
    option(
        "--separator",
        callback=one_character,
        default=",",
        show_default=True,
        metavar="CHARACTER",
        section=READING,
        help='What parts the columns of a CSV file: ";", "|", tab.',
    ),
    option(
        "--unit",
        section=READING,
        metavar="UNIT",
        help="Unit in which timestamps and durations are counted (hours without this); of plain numbers, its name "
        "only.",
    ),
    option(
        "--time-format",
        metavar="FORMAT",
        section=READING,
        help='How timestamps that are not ISO are written: "%d.%m.%Y %H:%M".',
    ),
    option(
        "--resolution",
        type=float,
        default=0.0,
        metavar="SIZE",
        section=READING,
        help="Size of the ticks that times are snapped to; 0 takes them as they are.",
    ),
]


def reads_events(action: Action) -> Action:
    """Give a command the argument EVENTS and the options to read it, as one `events: EventFile`."""
    return _reading(action, click.argument("events"))


def reads_events_if_named(action: Action) -> Action:
    """The same with an argument that may be left out: then `events` is None, and options to read it are refused."""
    return _reading(action, click.argument("events", required=False))


def _reading(action: Action, argument: Callable[[Action], Action]) -> Action:
    @wraps(action)
    def gathered(**given: Any) -> None:
        roles = {role: given.pop(f"{role}_column") for role in COLUMNS}
        others = {name: given.pop(name) for name in BESIDES}
        path = given.pop("events")
        if path is None:
            _refuse_reading_options()
        action(events=None if path is None else EventFile(path=path, **roles, **others), **given)

    decorated: Action = gathered
    for decorate in reversed(EVENT_OPTIONS):
        decorated = decorate(decorated)
    return argument(decorated)


def _refuse_reading_options() -> None:
    """Options that say how to read EVENTS would be of no effect without EVENTS."""
    context = click.get_current_context()
    for parameter in context.command.params:
        stated = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if stated and isinstance(parameter, Option) and parameter.section == READING:
            raise click.UsageError(f"{parameter.opts[0]} says how to read EVENTS, but no EVENTS are named; name them.")


@dataclass(frozen=True)
class HeadChoice:
    """The head as options say it; the name may be left to the rules."""

    name: str | None
    terminal: bool
    reset_by: str | None
    at_risk_from_start: bool

    @property
    def says_nothing(self) -> bool:
        """Whether no option speaks of the head."""
        return self == HeadChoice(None, terminal=False, reset_by=None, at_risk_from_start=True)

    def head(self, otherwise: str | None = None) -> Head | None:
        """The head of that name, else of the name given here; None without either."""
        name = otherwise if self.name is None else self.name
        return None if name is None else chronorule.Head(name, self.terminal, self.reset_by, self.at_risk_from_start)


HEAD_OPTIONS = [
    option(
        "--terminal", is_flag=True, section=HEAD, help="It happens once and ends all: death, failure, final choice."
    ),
    option(
        "--reset-by",
        metavar="NAME",
        section=HEAD,
        help="After it happened it cannot happen again until NAME does: LowUrine until NormalUrine.",
    ),
    option(
        "--not-at-risk-from-start",
        is_flag=True,
        section=HEAD,
        help="With --reset-by: it cannot happen before the first NAME.",
    ),
]


def chooses_head(text: str) -> Callable[[Action], Action]:
    """Give a command the options of a head, as one `choice: HeadChoice`; `text` is the help of --head."""

    def decorate(action: Action) -> Action:
        @wraps(action)
        def gathered(head: str | None, **given: Any) -> None:
            manner = _manner_of_head(given)
            action(choice=HeadChoice(head, **manner), **given)

        return option("--head", metavar="NAME", section=HEAD, help=text)(_with_manner(gathered))

    return decorate


def chooses_heads(text: str) -> Callable[[Action], Action]:
    """Give a command the options of one head or several, as `choices`: a `HeadChoice` for each."""

    def decorate(action: Action) -> Action:
        @wraps(action)
        def gathered(head: tuple[str, ...], **given: Any) -> None:
            manner = _manner_of_head(given)
            action(choices=tuple(HeadChoice(name, **manner) for name in head), **given)

        named = option("--head", metavar="NAME", multiple=True, required=True, section=HEAD, help=text)
        return named(_with_manner(gathered))

    return decorate


def _manner_of_head(given: dict[str, Any]) -> dict[str, Any]:
    """What an occurrence of the head does to the next, taken out of all options."""
    manner = {name: given.pop(name) for name in ("terminal", "reset_by")}
    return {**manner, "at_risk_from_start": not given.pop("not_at_risk_from_start")}


def _with_manner(action: Action) -> Action:
    for add in reversed(HEAD_OPTIONS):
        action = add(action)
    return action
