"""Slow twins of the event log: dictionaries, sets and a state machine, one entity and one event at a time."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from chronorule import events


def events_of(log: events.EventLog) -> dict[str, list[tuple[float, str]]]:
    """Events of each entity as (time, predicate), in the order of the log."""
    found: dict[str, list[tuple[float, str]]] = {}
    for c, name in enumerate(log.entities):
        span = range(int(log.offsets[c]), int(log.offsets[c + 1]))
        found[name] = [(float(log.times[i]), log.predicates[log.codes[i]]) for i in span]
    return found


def statics_of(log: events.EventLog) -> dict[str, set[str]]:
    """Static predicates of each entity."""
    found: dict[str, set[str]] = {}
    for c, name in enumerate(log.entities):
        span = range(int(log.static_offsets[c]), int(log.static_offsets[c + 1]))
        found[name] = {log.predicates[log.static_codes[i]] for i in span}
    return found


def sorted_events(rows: Iterable[tuple[int, float, int]], n_entities: int) -> list[list[tuple[float, int]]]:
    """Distinct (time, code) of each entity, sorted."""
    found: list[set[tuple[float, int]]] = [set() for _ in range(n_entities)]
    for entity, time, code in rows:
        found[entity].add((time, code))
    return [sorted(pairs) for pairs in found]


@dataclass
class EntityExposure:
    """Intervals at risk, heads that count, and heads that do not, by reason."""

    intervals: list[tuple[float, float]]
    heads: list[float]
    before_start: int = 0
    after_stop: int = 0
    not_at_risk: int = 0


def exposure(log: events.EventLog, head: events.Head) -> list[EntityExposure]:
    """Walk through each entity's instants, switching the risk on and off (design 1)."""
    result = []
    for c, happened in enumerate(events_of(log).values()):
        start, stop = float(log.start[c]), float(log.stop[c])
        instants: dict[float, set[str]] = defaultdict(set)
        for time, predicate in happened:
            instants[time].add(predicate)
        at_risk = head.at_risk_from_start
        entity = EntityExposure([], [])
        since = start
        for time in sorted(instants):
            here = instants[time]
            inside = start < time <= stop
            if head.name in here:
                if time <= start:
                    entity.before_start += 1
                elif time > stop:
                    entity.after_stop += 1
                elif at_risk:
                    entity.heads.append(time)
                else:
                    entity.not_at_risk += 1
            was_at_risk = at_risk
            if head.name in here and (head.terminal or head.reset_by is not None):
                at_risk = False
            if head.reset_by in here:
                at_risk = True
            if inside and was_at_risk and not at_risk:
                entity.intervals.append((since, time))
            if at_risk and not was_at_risk:
                since = max(time, start)
        if at_risk and since < stop:
            entity.intervals.append((since, stop))
        result.append(entity)
    return result


def read_csv(path: Path, most: int | None = None) -> dict[str, list[tuple[float, str]]]:
    """Read entity, time, event with the csv module: sorted distinct events of each entity; `most` limits the rows."""
    found: dict[str, set[tuple[float, str]]] = defaultdict(set)
    with path.open(encoding="utf-8", newline="") as file:
        for row, record in enumerate(csv.DictReader(file)):
            if most is not None and row >= most:
                break
            found[record["entity"]].add((float(record["time"]), record["event"]))
    return {entity: sorted(pairs) for entity, pairs in found.items()}
