"""Bodies of rules written into entities, and decoys that look like them but complete nothing (design 11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import OptionError
from chronorule.events import EventLog, LogNotes
from chronorule.grounding import completions
from chronorule.kernels.sorting import RUN, sort_events
from chronorule.rules import Rule
from chronorule.rules import order as orders
from chronorule.simulate.instants import Clock

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

PROPOSALS = 12  # tries at a decoy of the drawn kind; then one predicate is left out, which never fails
SHUFFLED, BROKEN, LEFT_OUT = range(3)


class Events(NamedTuple):
    """Events in any order: entity, time and code of each."""

    entity: Integers
    time: Floats
    code: Integers


def join(parts: list[Events]) -> Events:
    """All events of several tables."""
    nothing = Events(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
    return Events(*(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)))


def make_log(
    entities: int,
    predicates: tuple[str, ...],
    events: Events,
    horizon: float,
    static: tuple[Integers, NDArray[np.int32], Flags] | None = None,
    unit: str = "time",
) -> EventLog:
    """A log of entities "1", "2", … watched over (0, horizon]; `static` holds offsets, codes and mask."""
    offsets, times, codes = sort_events(
        events.entity.astype(np.int32), events.time, events.code.astype(np.int32), entities, RUN
    )
    names = tuple(map(str, range(1, entities + 1)))
    nothing = (np.zeros(entities + 1, np.int64), np.zeros(0, np.int32), np.zeros(len(predicates), np.bool_))
    static_offsets, static_codes, mask = nothing if static is None else static
    return EventLog(
        entities=names,
        predicates=predicates,
        offsets=offsets,
        times=times,
        codes=codes,
        start=np.zeros(entities),
        stop=np.full(entities, horizon),
        static_offsets=static_offsets,
        static_codes=static_codes,
        statics=mask,
        group=np.arange(entities, dtype=np.int32),
        groups=names,
        unit=unit,
        notes=LogNotes(rows=events.time.size, duplicates=events.time.size - times.size),
    )


@dataclass(frozen=True)
class Pattern:
    """The timed part of a rule's body, as it is written into entities."""

    body: Rule
    codes: Integers  # [L] predicate of each variable
    owner: Integers  # [L] class of each variable

    @classmethod
    def of(cls, rule: Rule, code: Mapping[str, int]) -> Pattern | None:
        """The variables whose predicates have a code, which are the timed ones; None where there is none."""
        timed = [k for k, members in enumerate(rule.classes) if members[0] in code]
        if not timed:
            return None
        masks = [sum(1 << j for j, u in enumerate(timed) if rule.predecessors[k] >> u & 1) for k in timed]
        body = Rule.of_classes(rule.head, [rule.classes[k] for k in timed], masks)
        owner = [k for k, members in enumerate(body.classes) for _ in members]
        return cls(body, np.array([code[name] for name in body.predicates]), np.array(owner))

    @property
    def n_classes(self) -> int:
        """Number of instants of a match."""
        return len(self.body.classes)

    def check_room(self, clock: Clock, span: float, decoys: bool) -> None:
        """Refuse a pattern that needs more instants than there are."""
        room, needed = clock.room(span), self.n_classes + decoys
        if room is not None and room < needed:
            what = "a decoy of" if decoys else "the body of"
            raise OptionError(
                f"Planting {what} '{self.body.key}' needs {needed} different instants, but horizon, grid and span "
                f"leave {room}; take a finer grid, a longer horizon or a longer span."
            )

    def in_order(self, random: np.random.Generator, instants: Floats) -> Floats:
        """Give ascending instants [n, classes] to the classes in an order that the rule allows: [n, classes].

        Where the rule leaves the order open, any of the classes whose predecessors are placed may be next.
        """
        rows, classes = instants.shape
        everyone, bits = np.arange(rows), np.int64(1) << np.arange(classes)
        masks = np.array(self.body.predecessors, np.int64)
        urge = random.random((rows, classes))
        placed = np.zeros(rows, np.int64)
        given = np.empty_like(instants)
        for position in range(classes):
            ready = ((placed[:, None] & bits) == 0) & ((masks & ~placed[:, None]) == 0)
            following = np.argmax(np.where(ready, urge, -1.0), axis=1)
            given[everyone, following] = instants[:, position]
            placed |= bits[following]
        return given

    def events(self, entities: Integers, times: Floats, kept: Flags) -> Events:
        """The kept variables of each row as events; times and kept are [n, L]."""
        row, variable = np.nonzero(kept)
        return Events(entities[row], times[row, variable], self.codes[variable])

    def completes(self, times: Floats, kept: Flags) -> Flags:
        """Which rows, each alone in an entity, complete the rule: [n]."""
        rows = times.shape[0]
        names = tuple(dict.fromkeys(self.body.predicates))
        local = Pattern(self.body, np.array([names.index(name) for name in self.body.predicates]), self.owner)
        done = np.zeros(rows, np.bool_)
        if rows:
            latest = float(times.max())
            alone = make_log(rows, names, local.events(np.arange(rows), times, kept), latest)
            done[completions(self.body, alone).entity] = True
        return done


def plant(pattern: Pattern, clock: Clock, span: float, entities: Integers, random: np.random.Generator) -> Events:
    """The body of the rule, in order, at random instants of each entity."""
    instants = clock.rising(random, entities.size, pattern.n_classes, span)
    times = pattern.in_order(random, instants)[:, pattern.owner]
    return pattern.events(entities, times, np.ones(times.shape, np.bool_))


def plant_decoys(
    pattern: Pattern, clock: Clock, span: float, entities: Integers, random: np.random.Generator
) -> Events:
    """Events of the rule's predicates that do not complete it: one decoy for each entity.

    Of three kinds with equal chances: the instants of the classes shuffled; one relation broken (a member of an Equal
    class at another instant, or missing; without Equal, two neighbours in the order exchanged); one predicate left
    out. What completes the rule all the same is drawn again, and in the end has one predicate left out.
    """
    kind = random.integers(0, 3, entities.size)
    times = np.empty((entities.size, pattern.codes.size))
    kept = np.empty(times.shape, np.bool_)
    rows = np.arange(entities.size)
    for proposal in range(PROPOSALS + 1):
        if proposal == PROPOSALS:
            kind[rows] = LEFT_OUT
        times[rows], kept[rows] = _propose(pattern, clock, span, kind[rows], random)
        rows = rows[pattern.completes(times[rows], kept[rows])]
        if not rows.size:
            break
    return pattern.events(entities, times, kept)


def _propose(
    pattern: Pattern, clock: Clock, span: float, kind: Integers, random: np.random.Generator
) -> tuple[Floats, Flags]:
    """Times and presence of the variables of one decoy a row, of the kind given: each [n, L]."""
    rows, classes = kind.size, pattern.n_classes
    everyone = np.arange(rows)
    # One instant more than classes: the place of a variable that is pulled away from its class.
    instants = clock.rising(random, rows, classes + 1, span)
    spare_place = random.integers(0, classes + 1, rows)
    spare = instants[everyone, spare_place]
    instants = instants[np.arange(classes + 1) != spare_place[:, None]].reshape(rows, classes)
    class_times = pattern.in_order(random, instants)
    anyhow = np.take_along_axis(instants, np.argsort(random.random((rows, classes)), axis=1), axis=1)
    class_times = np.where((kind == SHUFFLED)[:, None], anyhow, class_times)
    kept = np.ones((rows, pattern.codes.size), np.bool_)
    moved = np.zeros(kept.shape, np.bool_)
    broken = kind == BROKEN
    shared = np.flatnonzero(np.bincount(pattern.owner)[pattern.owner] > 1)
    if shared.size:
        variable, missing = shared[random.integers(0, shared.size, rows)], random.random(rows) < 0.5
        kept[everyone, variable] = ~(broken & missing)
        moved[everyone, variable] = broken & ~missing
    else:
        class_times = np.where(broken[:, None], _exchanged(pattern, class_times, random), class_times)
    kept[everyone, random.integers(0, pattern.codes.size, rows)] &= kind != LEFT_OUT
    return np.where(moved, spare[:, None], class_times[:, pattern.owner]), kept


def _exchanged(pattern: Pattern, class_times: Floats, random: np.random.Generator) -> Floats:
    """Class times with those of one pair of neighbours in the rule's order exchanged, where the rule orders any."""
    covers = orders.reduction(pattern.body.predecessors)
    pairs = np.array([(j, k) for k, mask in enumerate(covers) for j in orders.bits(mask)], np.int64).reshape(-1, 2)
    if not len(pairs):
        return class_times
    everyone = np.arange(class_times.shape[0])
    earlier, later = pairs[random.integers(0, len(pairs), everyone.size)].T
    exchanged = class_times.copy()
    exchanged[everyone, earlier] = class_times[everyone, later]
    exchanged[everyone, later] = class_times[everyone, earlier]
    return exchanged
