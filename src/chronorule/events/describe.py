"""A summary of a log that a person wants to read: data first, text after."""

from __future__ import annotations

import unicodedata
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chronorule.events.head import Head, exposure
from chronorule.events.tables import plural
from chronorule.kernels.sorting import tally_events

if TYPE_CHECKING:
    from chronorule.events.log import EventLog

WIDTH = 80
SHOWN = 20
QUANTILES = {"min": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "max": 1.0}


@dataclass(frozen=True)
class PredicateSummary:
    """How often a predicate occurs: events (0 for a static one), entities that have it, and their share of all."""

    name: str
    static: bool
    events: int
    entities: int
    share: float


@dataclass(frozen=True)
class HeadSummary:
    """What a head makes of the log: heads that count, those outside exposure by reason, and time at risk."""

    name: str
    counted: int
    entities: int
    before_start: int
    after_stop: int
    not_at_risk: int
    time_at_risk: float


@dataclass(frozen=True)
class Description:
    """A summary of a log; predicates come most frequent first."""

    unit: str
    resolution: float
    origin: str | None
    entities: int
    entities_without_events: int
    groups: int | None
    events: int
    rows: int
    duplicates: int
    periods_by_default: bool
    empty_periods: int
    events_up_to_start: int
    events_after_stop: int
    tied_instants: int
    tied_events: int
    period_length: dict[str, float]
    events_per_entity: dict[str, float]
    predicates: tuple[PredicateSummary, ...]
    head: HeadSummary | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return asdict(self) | {"predicates": [asdict(predicate) for predicate in self.predicates]}

    def __str__(self) -> str:
        return "\n".join([*_overview(self), "", *_quantiles(self), "", *_predicates(self), *_head(self)])


def describe(log: EventLog, head: Head | str | None = None) -> Description:
    """Summarise a log; see `EventLog.describe`."""
    by_predicate, whole = tally_events(log.offsets, log.times, log.codes, log.start, log.stop, log.n_predicates)
    up_to_start, after_stop, tied_instants, tied_events = whole.tolist()
    each = np.diff(log.offsets)
    length = log.stop - log.start
    return Description(
        unit=log.unit,
        resolution=log.resolution,
        origin=log.notes.origin,
        entities=log.n_entities,
        entities_without_events=int((each == 0).sum()),
        groups=log.n_groups if log.has_groups else None,
        events=log.n_events,
        rows=log.notes.rows,
        duplicates=log.notes.duplicates,
        periods_by_default=log.notes.periods_by_default,
        empty_periods=int((length == 0).sum()),
        events_up_to_start=up_to_start,
        events_after_stop=after_stop,
        tied_instants=tied_instants,
        tied_events=tied_events,
        period_length=_spread(length),
        events_per_entity=_spread(each),
        predicates=_summaries(log, by_predicate),
        head=None if head is None else _head_summary(log, head),
    )


def _spread(values: NDArray[Any]) -> dict[str, float]:
    quantiles = np.quantile(values, list(QUANTILES.values()))
    return dict(zip(QUANTILES, quantiles.tolist(), strict=True)) | {"total": float(values.sum())}


def _summaries(log: EventLog, by_predicate: NDArray[np.int64]) -> tuple[PredicateSummary, ...]:
    events = by_predicate[:, 0]
    entities = by_predicate[:, 1] + np.bincount(log.static_codes, minlength=log.n_predicates)
    order = np.lexsort((np.arange(log.n_predicates), -entities, -events, log.statics))
    return tuple(
        PredicateSummary(
            log.predicates[p],
            bool(log.statics[p]),
            int(events[p]),
            int(entities[p]),
            float(entities[p] / log.n_entities),
        )
        for p in order
    )


def _head_summary(log: EventLog, head: Head | str) -> HeadSummary:
    at_risk = exposure(log, head)
    return HeadSummary(
        name=at_risk.head.name,
        counted=at_risk.n_heads,
        entities=int((np.diff(at_risk.head_offsets) > 0).sum()),
        before_start=at_risk.before_start,
        after_stop=at_risk.after_stop,
        not_at_risk=at_risk.not_at_risk,
        time_at_risk=at_risk.total(),
    )


def _overview(d: Description) -> list[str]:
    static = sum(predicate.static for predicate in d.predicates)
    grouped = "" if d.groups is None else f" in {plural(d.groups, 'group')}"
    first = f"{_entities(d.entities)}{grouped}, {plural(d.events, 'event')}, {plural(len(d.predicates), 'predicate')}"
    lines = [first + (f" ({static:,} of them static)" if static else "")]
    origin = "" if d.origin is None else f", counted from {d.origin}"
    ticks = "as given" if d.resolution == 0 else f"on ticks of {d.resolution:g}"
    lines.append(f"times ({fit(d.unit, 20)}) {ticks}{origin}")
    if d.tied_events:
        lines.append(f"ties: {plural(d.tied_events, 'event')} at {plural(d.tied_instants, 'shared instant')}")
    if d.duplicates:
        lines.append(f"duplicates: {plural(d.duplicates, 'row')} of {d.rows:,} dropped")
    if d.entities_without_events:
        lines.append(f"without events: {_entities(d.entities_without_events)}")
    if d.events_up_to_start:
        lines.append(f"history: {plural(d.events_up_to_start, 'event')} at or before the start of the period")
    if d.events_after_stop:
        lines.append(f"after the period: {plural(d.events_after_stop, 'event')}")
    if d.periods_by_default:
        lines.append("periods: none given, so first to last event of each entity (biases rates)")
    if d.empty_periods:
        lines.append(f"periods without length: {_entities(d.empty_periods)}")
    return lines


def _entities(count: int) -> str:
    return plural(count, "entity")


def _quantiles(d: Description) -> list[str]:
    rows = {"period length": d.period_length, "events per entity": d.events_per_entity}
    lines = [f"{'':<18}" + "".join(f"{name:>12}" for name in QUANTILES)]
    lines += [f"{label:<18}" + "".join(f"{number(row[name]):>12}" for name in QUANTILES) for label, row in rows.items()]
    return lines


def _predicates(d: Description) -> list[str]:
    shown = d.predicates[:SHOWN]
    wide = max([len("predicate"), *(width(fit(p.name, WIDTH - 36)) for p in shown)])
    lines = [f"{'predicate':<{wide}}{'events':>13}{'entities':>13}{'share':>10}"]
    for p in shown:
        name = fit(p.name, wide)
        events = "static" if p.static else f"{p.events:,}"
        padding = " " * (wide - width(name))
        lines.append(f"{name}{padding}{events:>13}{p.entities:>13,}{p.share:>9.1%}")
    if len(d.predicates) > SHOWN:
        lines.append(f"… and {len(d.predicates) - SHOWN:,} more")
    return lines


def _head(d: Description) -> list[str]:
    if d.head is None:
        return []
    h = d.head
    lines = [
        "",
        f"head {fit(h.name, 50)}",
        f"  {h.counted:,} that count, in {_entities(h.entities)}",
        f"  time at risk {number(h.time_at_risk)} ({fit(d.unit, 20)})",
    ]
    reasons = {"before the period": h.before_start, "after it": h.after_stop, "while not at risk": h.not_at_risk}
    outside = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)
    if outside:
        lines.append(f"  outside exposure, not counted: {outside}")
    return lines


def number(value: float) -> str:
    """Write a number with four figures that count, thousands apart."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e9 or abs(value) < 1e-3:
        return f"{value:.3e}"
    decimals = max(0, 3 - int(np.floor(np.log10(abs(value)))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def width(text: str) -> int:
    """Columns a text takes on a screen, where some letters take two."""
    return sum(map(_columns, text))


def _columns(letter: str) -> int:
    return 0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def fit(text: str, columns: int) -> str:
    """Cut a text that is too wide for its place; line breaks and other controls become spaces."""
    shown: list[str] = []
    used = kept = 0
    for letter in text:
        shown.append(letter if letter.isprintable() else " ")
        used += _columns(shown[-1])
        if used > columns:
            return "".join(shown[:kept]) + "…"
        if used < columns:  # room is left for the mark of a cut
            kept = len(shown)
    return "".join(shown)
