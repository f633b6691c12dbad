"""A few entities in which a rule completed: what matched, how long that counted, and the heads that followed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronorule.grounding import latest_match
from chronorule.report.expectation import FADED, Expectation
from chronorule.report.starts import Starts, count_until, effect_starts
from chronorule.rules import Rule

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Flags = NDArray[np.bool_]

AS_IT_SAYS, AGAINST_IT = 3, 1  # pictures of a rule
LOOKED_AT = 60  # completions that are looked at for pictures that are not crowded
CROWDED = 24  # marks in a picture
NARROW = 0.1  # share of a picture that lies after the completion
MOST_MARKS = 40  # of one predicate in one picture: those nearest to the completion
MARGIN = 0.15  # share of the picture that is shown before the match


@dataclass(frozen=True)
class Lane:
    """A predicate of the rule in one picture: the events of the match, and its other events."""

    predicate: str
    static: bool
    matched: tuple[float, ...]
    others: tuple[float, ...]
    hidden: int  # others in the picture that are left out, being too many


@dataclass(frozen=True)
class HeadMark:
    """An occurrence of the head: whether it belongs to the exposure, and whether the rule counted then."""

    time: float
    at_risk: bool
    while_on: bool


@dataclass(frozen=True)
class Counting:
    """A stretch in which the rule counted, with φ just after its beginning."""

    start: float
    stop: float
    value: float


@dataclass(frozen=True)
class Timeline:
    """One entity around one completion; all times since the start of its observation period."""

    entity: str
    group: str | None
    period: float  # its length
    start: float  # of the picture
    stop: float
    completed: float
    followed: int  # heads within the time that the completion counts
    first_after: float | None  # time from the completion to the first of them
    as_said: bool  # whether the rule was right here
    lanes: tuple[Lane, ...]
    counting: tuple[Counting, ...]
    at_risk: tuple[tuple[float, float], ...]
    heads: tuple[HeadMark, ...]
    heads_hidden: int

    @property
    def clutter(self) -> int:
        """How hard it is to see anything: marks beyond what a picture bears, and little room after the completion."""
        marks = len(self.heads) + sum(len(lane.matched) + len(lane.others) for lane in self.lanes)
        narrow = self.stop - self.completed < NARROW * (self.stop - self.start)
        return max(marks - CROWDED, 0) + narrow * CROWDED

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)


def timelines(known: Expectation, rule: Rule) -> list[Timeline]:
    """Pictures of a rule: three entities in which it did as it says, and one in which it did not.

    A raising rule does as it says where a head follows within the time that a completion counts, a lowering one where
    none does. Taken are the first such entities of the log whose picture is not crowded, one completion of each.
    """
    if known.grounding.path(rule).constant:
        return []
    starts = effect_starts(known.grounding, rule)
    reach = _reach(known)
    heads = known.exposure
    after = count_until(heads.head_offsets, heads.head_times, starts.entity, starts.time)
    followed = count_until(heads.head_offsets, heads.head_times, starts.entity, starts.time + reach) - after
    could = followed > 0
    could |= _at_risk_soon(known, starts, reach)
    says = (followed > 0) if rule.sign > 0 else (followed == 0)
    found = [
        line
        for wanted, most in ((could & says, AS_IT_SAYS), (could & ~says, AGAINST_IT))
        for line in _least_crowded(_candidates(known, rule, starts, followed, np.flatnonzero(wanted)), most)
    ]
    return found


def _reach(known: Expectation) -> float:
    """How long after a completion a head is taken to follow it."""
    kernel = known.model.feature.kernel
    return FADED / kernel.rate if kernel.name == "decay" else kernel.width


def _at_risk_soon(known: Expectation, starts: Starts, reach: float) -> Flags:
    """Whether a completion begins inside the exposure, and most of what it counts for lies in the same interval."""
    risk = known.exposure
    place = risk.offsets[starts.entity] + count_until(risk.offsets, risk.start, starts.entity, starts.time) - 1
    inside = place >= risk.offsets[starts.entity]
    stop = np.where(inside, risk.stop[np.where(inside, place, 0)] if risk.stop.size else 0.0, -np.inf)
    left = stop - starts.time
    if np.isfinite(reach):
        return np.asarray(inside & (left >= 0.75 * reach))
    return np.asarray(inside & (left >= (np.median(left[left > 0]) if (left > 0).any() else np.inf)))


def _candidates(known: Expectation, rule: Rule, starts: Starts, followed: Int64, places: Int64) -> Iterator[Timeline]:
    """Pictures of these completions in the order of the log, the first of each entity."""
    before = -1
    for place in places.tolist():
        entity = int(starts.entity[place])
        if entity != before:
            before = entity
            yield _timeline(known, rule, starts, place, int(followed[place]))


def _least_crowded(candidates: Iterator[Timeline], most: int) -> list[Timeline]:
    seen = []
    clear = 0
    for place, line in enumerate(candidates):
        seen.append(line)
        clear += line.clutter == 0
        if clear == most or place + 1 == LOOKED_AT:
            break
    return sorted(seen, key=lambda line: line.clutter)[:most]


def _timeline(known: Expectation, rule: Rule, starts: Starts, place: int, followed: int) -> Timeline:
    log, risk = known.log, known.exposure
    entity, completed = int(starts.entity[place]), float(starts.time[place])
    origin = float(log.start[entity])
    match = latest_match(rule, log, entity, completed)
    assert match is not None, f"'{rule.key}' completes in entity {entity} without a match"
    counted = risk.head_times[risk.head_offsets[entity] : risk.head_offsets[entity + 1]]
    start, stop = _view(known, match, completed, entity, counted)
    rows = slice(log.offsets[entity], log.offsets[entity + 1])
    times, codes = log.times[rows], log.codes[rows]
    shown = (times >= start) & (times <= stop)
    times, codes = times[shown], codes[shown]
    lanes = []
    for name in dict.fromkeys(rule.predicates):
        code = log.code(name)
        used = {float(match[k]) for k, members in enumerate(rule.classes) if name in members}
        others = np.array([t for t in times[codes == code].tolist() if t not in used])
        near = _nearest(others, completed)
        matched = () if log.is_static(code) else tuple(sorted(t - origin for t in used))
        lanes.append(Lane(name, log.is_static(code), matched, tuple((near - origin).tolist()), len(others) - len(near)))
    heads = times[codes == log.code(rule.head)]
    near = _nearest(heads, completed)
    on = known.grounding.path(rule).at(entity, near) > 0
    at_risk = np.isin(near, counted)
    later = counted[counted > completed]
    intervals = range(risk.offsets[entity], risk.offsets[entity + 1])
    return Timeline(
        entity=log.entities[entity],
        group=log.groups[log.group[entity]] if log.has_groups else None,
        period=float(log.stop[entity]) - origin,
        start=start - origin,
        stop=stop - origin,
        completed=completed - origin,
        followed=followed,
        first_after=float(later[0]) - completed if followed else None,
        as_said=(followed > 0) == (rule.sign > 0),
        lanes=tuple(lanes),
        counting=tuple(_counting(known, rule, entity, start, stop, origin)),
        at_risk=tuple(
            (max(float(risk.start[k]), start) - origin, min(float(risk.stop[k]), stop) - origin)
            for k in intervals
            if risk.start[k] < stop and risk.stop[k] > start
        ),
        heads=tuple(
            HeadMark(t - origin, bool(r), bool(o and r)) for t, r, o in zip(near.tolist(), at_risk, on, strict=True)
        ),
        heads_hidden=len(heads) - len(near),
    )


def _view(known: Expectation, match: Float64, completed: float, entity: int, counted: Float64) -> tuple[float, float]:
    """From a little before the match to a little after what counts; with no end to that, until a few heads later."""
    first = float(match[np.isfinite(match)].min())
    begin, end = float(known.log.start[entity]), float(known.log.stop[entity])
    reach = _reach(known)
    later = counted[counted > completed]
    if np.isfinite(reach):
        stop = min(completed + 1.25 * reach, end)
    elif later.size and end - completed > 4 * (completed - first):
        few = float(later[min(2, later.size - 1)])
        stop = min(max(completed + 4 * (completed - first), completed + 1.2 * (few - completed)), end)
    else:
        stop = end
    stop = max(stop, completed)
    earlier = first - MARGIN * (stop - first)
    return (max(earlier, begin) if first >= begin else earlier), stop


def _nearest(times: Float64, moment: float) -> Float64:
    """The times nearest to a moment, in order."""
    if len(times) <= MOST_MARKS:
        return times
    return np.sort(times[np.argsort(np.abs(times - moment), kind="stable")[:MOST_MARKS]])


def _counting(
    known: Expectation, rule: Rule, entity: int, start: float, stop: float, origin: float
) -> Iterator[Counting]:
    """Stretches of the picture in which φ is above 0; a fading one falls into parts of equal φ to the eye."""
    path = known.grounding.path(rule)
    rows = slice(path.offsets[entity], path.offsets[entity + 1])
    times = np.append(path.times[rows], np.inf)
    rate = known.model.feature.kernel.rate
    for k, value in enumerate(path.values[rows].tolist()):
        if value <= 0:
            continue
        begin, end = float(times[k]), float(times[k + 1])
        parts = [begin + fade / rate for fade in (0.0, 0.5, 1.0, 2.0, FADED)] if rate > 0 else [begin, end]
        for low, high in pairwise(parts):
            high = min(high, end)
            if low < min(high, stop) and high > start:
                faded = value * float(np.exp(-rate * (low - begin)))
                yield Counting(max(low, start) - origin, min(high, stop) - origin, faded)
