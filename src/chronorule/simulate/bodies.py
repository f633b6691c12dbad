"""The body of a simulated log: background events, static properties, planted bodies and decoys, redrawn where asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import OptionError
from chronorule.events import EventLog
from chronorule.rules import Rule
from chronorule.simulate.instants import Clock, Purpose, Seed, stream
from chronorule.simulate.patterns import Events, Pattern, join, make_log, plant, plant_decoys

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_DRAWS = 200  # entities drawn for one that is kept


@dataclass(frozen=True, eq=False)
class Recipe:
    """How the body events of an entity are drawn."""

    predicates: tuple[str, ...]  # those with a time
    rates: Floats  # [P] of each, per unit of time
    static: tuple[str, ...]
    shares: Floats  # [S] of the entities that have each static property
    clock: Clock
    rules: tuple[Rule, ...]
    planted: Floats  # [F] chance that the rule's body is planted in an entity
    decoys: Floats  # [F] chance of a decoy of it instead
    span: float  # longest planted body
    unit: str
    seed: Seed

    def patterns(self) -> list[Pattern | None]:
        """What is planted of each rule, where something is."""
        code = {name: position for position, name in enumerate(self.predicates)}
        wanted = (self.planted > 0) | (self.decoys > 0)
        return [Pattern.of(rule, code) if some else None for rule, some in zip(self.rules, wanted, strict=True)]

    def draw(self, entities: int, round_: int) -> Bodies:
        """Bodies of so many entities; each round has random numbers of its own."""
        random = stream(self.seed, Purpose.BACKGROUND, round_)
        count = random.poisson(self.rates * self.clock.horizon, (entities, self.rates.size)).ravel()
        owner = np.repeat(np.arange(count.size), count)
        width = max(self.rates.size, 1)
        parts = [Events(owner // width, self.clock.instants(random, owner.size), owner % width)]
        planted, decoys = np.zeros((2, entities, len(self.rules)), np.bool_)
        for f, pattern in enumerate(self.patterns()):
            if pattern is None:
                continue
            # One number decides, so that nobody gets both: beside the body itself a decoy would be none.
            choice = stream(self.seed, Purpose.CHOICE, f, round_).random(entities)
            planted[:, f] = choice < self.planted[f]
            decoys[:, f] = ~planted[:, f] & (choice < self.planted[f] + self.decoys[f])
            for purpose, mask, write in ((Purpose.PLANTED, planted, plant), (Purpose.DECOYS, decoys, plant_decoys)):
                random = stream(self.seed, purpose, f, round_)
                parts.append(write(pattern, self.clock, self.span, np.flatnonzero(mask[:, f]), random))
        static = stream(self.seed, Purpose.STATIC, round_).random((entities, self.shares.size)) < self.shares
        return Bodies(join(parts), static, planted, decoys)

    def log(self, bodies: Bodies) -> EventLog:
        """The bodies as a log."""
        entities, timed = bodies.static.shape[0], len(self.predicates)
        offsets = np.zeros(entities + 1, np.int64)
        np.cumsum(bodies.static.sum(axis=1), out=offsets[1:])
        codes = (np.nonzero(bodies.static)[1] + timed).astype(np.int32)
        mask = np.arange(timed + len(self.static)) >= timed
        names = (*self.predicates, *self.static)
        return make_log(entities, names, bodies.events, self.clock.horizon, (offsets, codes, mask), self.unit)


@dataclass(frozen=True, eq=False)
class Bodies:
    """What was drawn: events, who has which static property, and where bodies and decoys were planted."""

    events: Events
    static: Flags  # [E, S]
    planted: Flags  # [E, F]
    decoys: Flags  # [E, F]

    def kept(self, rows: Integers) -> Bodies:
        """Those of some entities, numbered anew in the order of the rows."""
        place = np.full(self.static.shape[0], -1)
        place[rows] = np.arange(rows.size)
        of_event = place[self.events.entity]
        some = of_event >= 0
        events = Events(of_event[some], self.events.time[some], self.events.code[some])
        return Bodies(events, self.static[rows], self.planted[rows], self.decoys[rows])


def draw_bodies(
    recipe: Recipe, entities: int, refused: Callable[[EventLog], Flags] | None
) -> tuple[EventLog, Flags, Flags, int]:
    """A log of bodies, where rules were planted and decoys were, and how many entities were drawn to get there.

    Entities that `refused` marks are drawn again until none is; the accepted keep the order in which they were drawn.
    """
    accepted: list[Bodies] = []
    found, drawn, round_ = 0, 0, 0
    while found < entities:
        if drawn > MOST_DRAWS * entities:
            raise OptionError(
                f"redraw_above refused {drawn - found:,} of {drawn:,} drawn entities, so that their log would tell "
                "little about these rules; raise it, or lower the weights, the rates or the share of planted bodies."
            )
        bodies = recipe.draw(entities - found, round_)
        drawn += entities - found
        round_ += 1
        if refused is not None:
            bodies = bodies.kept(np.flatnonzero(~refused(recipe.log(bodies))))
        found += bodies.static.shape[0]
        accepted.append(bodies)
    bodies = _end_to_end(accepted)
    return recipe.log(bodies), bodies.planted, bodies.decoys, drawn


def _end_to_end(parts: list[Bodies]) -> Bodies:
    sizes = [part.static.shape[0] for part in parts]
    shifts = np.cumsum([0, *sizes[:-1]])
    events = [
        Events(part.events.entity + shift, part.events.time, part.events.code)
        for part, shift in zip(parts, shifts, strict=True)
    ]
    return Bodies(
        join(events),
        np.concatenate([part.static for part in parts]),
        np.concatenate([part.planted for part in parts]),
        np.concatenate([part.decoys for part in parts]),
    )
