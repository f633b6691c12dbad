"""Heads drawn exactly from λ, a rate known in closed form on every segment of the exposure (design 4 and 11)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import OptionError
from chronorule.events import EventLog, Head
from chronorule.kernels.sorting import RUN, sort_events
from chronorule.likelihood import LogRate, log_rate
from chronorule.simulate.truth import Law

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Points = tuple[Integers, Floats]  # entity and time of each

MOST_HEADS = 20_000_000  # more would rather be a slip in a weight than what somebody wants
MOST_PIECES = 1000  # of one segment with a decaying rate
MOST_STEPS = 10_000  # heads of one entity, where each changes the rate of the next
ENOUGH = 64.0  # no exponential number of the generator, whose tail ends before 45, is as large


def draw_heads(log: EventLog, law: Law, multipliers: Floats, random: np.random.Generator) -> EventLog:
    """The log with its heads drawn at the rates u_c·λ; heads of the history (at or before the start) are kept."""
    log = without_heads(log, law.head)
    if law.head.terminal:
        hazard = Hazard.of(log, law, multipliers)
        everyone = np.arange(log.n_entities)
        time = hazard.first_points(everyone, np.full(everyone.size, -np.inf), random)
        entity, time = everyone[time < np.inf], time[time < np.inf]
    elif any(law.head.name in rule.predicates for rule in law.rules):
        entity, time = _joined(_one_by_one(log, law, multipliers, random))
    elif law.head.reset_by is not None:
        entity, time = _joined(_one_a_stretch(log, law.head.reset_by, Hazard.of(log, law, multipliers), random))
    else:
        entity, time = Hazard.of(log, law, multipliers).points(random)
    return with_heads(log, law.head, entity, time)


def without_heads(log: EventLog, head: Head) -> EventLog:
    """The log with the head in its vocabulary, and with no head after the start of any period."""
    if head.name not in log.predicates:
        return replace(log, predicates=(*log.predicates, head.name), statics=np.append(log.statics, False))
    owner = np.repeat(np.arange(log.n_entities), np.diff(log.offsets))
    kept = (log.codes != log.code(head.name)) | (log.times <= log.start[owner])
    offsets = np.zeros(log.n_entities + 1, np.int64)
    np.cumsum(np.bincount(owner[kept], minlength=log.n_entities), out=offsets[1:])
    notes = replace(log.notes, rows=int(kept.sum()), duplicates=0)
    return replace(log, offsets=offsets, times=log.times[kept], codes=log.codes[kept], notes=notes)


def with_heads(log: EventLog, head: Head, entity: Integers, time: Floats) -> EventLog:
    """The log with heads added; their times lie between ticks, so it has no resolution any more."""
    owner = np.repeat(np.arange(log.n_entities), np.diff(log.offsets))
    offsets, times, codes = sort_events(
        np.concatenate([owner, entity]).astype(np.int32),
        np.concatenate([log.times, time]),
        np.concatenate([log.codes, np.full(entity.size, log.code(head.name), np.int32)]),
        log.n_entities,
        RUN,
    )
    notes = replace(log.notes, rows=log.notes.rows + entity.size)
    return replace(log, offsets=offsets, times=times, codes=codes, resolution=0.0, notes=notes)


@dataclass(frozen=True, eq=False)
class Hazard:
    """u_c·λ on pieces of the exposure, in the order of entity and time, with a bound that is constant on each."""

    owner: Integers  # [K] entity of each piece
    start: Floats  # [K]
    stop: Floats  # [K]
    rate: LogRate  # [K] log λ: constant + decaying · e^{−fall·(t − start)}
    fall: float
    highest: Floats  # [K] log λ is nowhere higher on the piece
    bound: Floats  # [K] u_c · e^highest, infinite where that overflows

    @classmethod
    def of(cls, log: EventLog, law: Law, multipliers: Floats) -> Hazard:
        """The hazard of the head in a log."""
        segments = law.segments(log)
        rate = log_rate(segments, law.weights, law.base, signs=law.signs)
        owner = np.repeat(np.arange(log.n_entities), np.diff(segments.offsets))
        start, stop = segments.start, segments.start + segments.length
        if segments.decay > 0:
            owner, start, stop, rate = _pieces(segments.decay, owner, start, stop, rate)
        # log λ is monotone on a piece, so that the bound is its value at one of the ends
        at_stop = rate.constant + rate.decaying * np.exp(-segments.decay * (stop - start))
        highest = np.maximum(rate.just_after_start, at_stop)
        with np.errstate(over="ignore"):
            bound = multipliers[owner] * np.exp(highest)
        return cls(owner, start, stop, rate, segments.decay, highest, bound)

    def points(self, random: np.random.Generator) -> Points:
        """Points of the Poisson process, sorted: a Poisson number of uniform points on each piece, then thinned."""
        with np.errstate(over="ignore"):
            expected = self.bound * (self.stop - self.start)
            total = float(expected.sum())
        if not total <= MOST_HEADS:
            raise OptionError(
                f"These weights and base make about {total:.3g} heads, more than the {MOST_HEADS:,} that are drawn; "
                "lower them, or the rates of the body where matches are counted, or take a shorter horizon."
            )
        piece = np.repeat(np.arange(self.owner.size), random.poisson(expected))
        start, stop = self.start[piece], self.stop[piece]
        elapsed = (stop - start) * random.random(piece.size)
        accepted = self._accepts(piece, elapsed, random)
        entity, time = self.owner[piece[accepted]], _inside(start + elapsed, start, stop)[accepted]
        order = np.lexsort((time, entity))
        return entity[order], time[order]

    def first_points(self, entity: Integers, since: Floats, random: np.random.Generator) -> Floats:
        """The first point of the process of each entity after its `since`, infinite where there is none: [n].

        By inversion: where the bound, integrated from `since`, reaches an exponential number. A point that thinning
        rejects is where the search goes on.
        """
        mass = np.minimum(self.bound * (self.stop - self.start), ENOUGH)
        before = np.concatenate([[0.0], np.cumsum(mass)])  # [K + 1]
        ends = np.searchsorted(self.owner, entity, side="right")
        stops = _by_entity(self.owner, self.stop)
        found = np.full(entity.size, np.inf)
        rows, position = np.arange(entity.size), since
        while rows.size:
            piece = np.searchsorted(stops, _by_entity(entity[rows], position), side="right")
            some = piece < ends[rows]
            rows, position, piece = rows[some], position[some], piece[some]
            rest = random.standard_exponential(rows.size)
            begin = np.maximum(self.start[piece], position)
            here = self.bound[piece] * (self.stop[piece] - begin)
            later = rest >= here
            target = before[piece[later] + 1] + (rest[later] - here[later])
            piece[later] = np.searchsorted(before, target, side="right") - 1
            some = piece < ends[rows]
            rest[later] = target - before[piece[later]]
            rows, piece, rest, begin, later = rows[some], piece[some], rest[some], begin[some], later[some]
            begin[later] = self.start[piece[later]]
            wait = rest / self.bound[piece]
            accepted = self._accepts(piece, begin - self.start[piece] + wait, random)
            time = _inside(begin + wait, begin, self.stop[piece])
            found[rows[accepted]] = time[accepted]
            rows, position = rows[~accepted], time[~accepted]
        return found

    def _accepts(self, piece: Integers, elapsed: Floats, random: np.random.Generator) -> Flags:
        """Keep a point of the process at the bound, so long after its piece's start, with chance λ/bound."""
        if self.fall == 0:
            return np.ones(piece.size, np.bool_)
        faded = np.exp(-self.fall * elapsed)
        log_lambda = self.rate.constant[piece] + self.rate.decaying[piece] * faded
        return random.standard_exponential(piece.size) >= self.highest[piece] - log_lambda


def _pieces(
    fall: float, owner: Integers, start: Floats, stop: Floats, rate: LogRate
) -> tuple[Integers, Floats, Floats, LogRate]:
    """Segments cut so that log λ changes by at most 1 on a piece (by more where that would make too many of them).

    Log λ is linear in y = e^{−βu}, so the cuts are equally spaced in y. At a change of 1 thinning keeps a third.
    """
    whole = -np.expm1(-fall * (stop - start))  # 1 − y at the segment's end
    count = np.clip(np.ceil(np.abs(rate.decaying) * whole), 1, MOST_PIECES).astype(np.int64)
    segment = np.repeat(np.arange(owner.size), count)
    place = np.arange(segment.size) - np.repeat(np.cumsum(count) - count, count)

    def cut(position: Integers) -> Floats:
        last = position == count[segment]
        share = np.where(last, 0.0, position / count[segment] * whole[segment])
        inside = np.minimum(start[segment] - np.log1p(-share) / fall, stop[segment])
        return np.where(last, stop[segment], inside)

    begins, ends = cut(place), cut(place + 1)
    some = begins < ends  # rounding can make a piece empty
    segment, begins, ends = segment[some], begins[some], ends[some]
    faded = rate.decaying[segment] * np.exp(-fall * (begins - start[segment]))
    return owner[segment], begins, ends, LogRate(rate.constant[segment], faded)


def _inside(time: Floats, start: Floats, stop: Floats) -> Floats:
    """Times in (start, stop]: rounding may neither move a point to the start, which is another's, nor past the stop."""
    inside: Floats = np.clip(time, np.nextafter(start, np.inf), stop)
    return inside


def _by_entity(entity: Integers, time: Floats) -> NDArray[np.complex128]:
    """Keys that sort by entity, then time."""
    key = np.empty(entity.size, np.complex128)
    key.real, key.imag = entity, time
    return key


def _joined(parts: Iterator[Points]) -> Points:
    """All points of several steps."""
    steps = [(np.zeros(0, np.int64), np.zeros(0)), *parts]
    return np.concatenate([entity for entity, _ in steps]), np.concatenate([time for _, time in steps])


def _one_a_stretch(log: EventLog, reset_by: str, hazard: Hazard, random: np.random.Generator) -> Iterator[Points]:
    """The first point, then the first after the next reset, …; a reset at the instant of a point counts after it."""
    resets = np.flatnonzero(log.codes == log.code(reset_by))
    reset_entity = np.searchsorted(log.offsets, resets, side="right") - 1
    reset_time = np.append(log.times[resets], np.inf)
    keys, reset_entity = _by_entity(reset_entity, reset_time[:-1]), np.append(reset_entity, -1)
    entity, since = np.arange(log.n_entities), np.full(log.n_entities, -np.inf)
    while entity.size:
        time = hazard.first_points(entity, since, random)
        entity, time = entity[time < np.inf], time[time < np.inf]
        yield entity, time
        following = np.searchsorted(keys, _by_entity(entity, time), side="left")
        again = reset_entity[following] == entity
        entity, since = entity[again], reset_time[following[again]]


def _one_by_one(log: EventLog, law: Law, multipliers: Floats, random: np.random.Generator) -> Iterator[Points]:
    """Heads where a head is part of a body: in each step the first point after the last head, at the rate it left."""
    active, since = np.arange(log.n_entities), np.full(log.n_entities, -np.inf)
    part = log
    for _ in range(MOST_STEPS):
        time = Hazard.of(part, law, multipliers[active]).first_points(np.arange(active.size), since, random)
        some = np.flatnonzero(time < np.inf)
        if not some.size:
            return
        crowded = int((time[some] <= np.nextafter(np.nextafter(since[some], np.inf), np.inf)).sum())
        if crowded:
            raise OptionError(
                f"The heads of {crowded:,} of {log.n_entities:,} entities follow each other faster than times can tell "
                "apart, since each raises the rate of the next without end; lower the weights of the rules whose body "
                "holds the head, or let them count as 'exists' or with a window."
            )
        active, since = active[some], time[some]
        yield active, since
        part = with_heads(part, law.head, some, since).select(some)
    raise OptionError(
        f"Some entity has more than {MOST_STEPS:,} heads, of which each may change the rate of the next; lower base "
        "and the weights of the rules whose body holds the head, or take a shorter horizon."
    )
