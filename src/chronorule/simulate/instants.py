"""The random numbers of a simulation, one stream for each purpose, and the instants at which body events happen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROUNDING = 1e-9  # of a quotient such as 20 / 0.1, far above its rounding error and far below a tick


class Purpose(IntEnum):
    """What a stream of random numbers is for."""

    BACKGROUND = 0
    STATIC = 1
    CHOICE = 2  # who gets the body of a rule, who a decoy of it
    PLANTED = 3
    DECOYS = 4
    MULTIPLIERS = 5
    HEADS = 6


Seed = int | tuple[int, ...]


def stream(seed: Seed, purpose: Purpose, *key: int) -> np.random.Generator:
    """The random numbers of one purpose (and rule, and round), independent of all others.

    So an option changes what it speaks of and nothing else: another rule planted leaves the background as it was.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, *key)))


@dataclass(frozen=True)
class Clock:
    """The instants at which body events happen: multiples of `grid` in (0, horizon], or any where grid is 0."""

    horizon: float
    grid: float

    @property
    def ticks(self) -> int:
        """Number of instants of the grid."""
        return int(np.floor(self.horizon / self.grid * (1 + ROUNDING)))

    def room(self, span: float) -> int | None:
        """How many instants a match of that span can choose from; None where they are without number."""
        if self.grid == 0:
            return None
        if span >= self.horizon:
            return self.ticks
        room = min(self.ticks, int(np.floor(span / self.grid * (1 + ROUNDING))) + 1)
        # 0.4 − 0.1 is more than 0.3 in this arithmetic, which is the one that matches are measured with.
        first = np.arange(1, self.ticks - room + 2)
        return room - int((self.times(first + room - 1) - self.times(first) > span).any())

    def times(self, ticks: Integers) -> Floats:
        """Time of each tick; 3 ticks of 0.1 are 0.3 and not 0.30000000000000004."""
        per_unit = 1 / self.grid
        whole = per_unit > 1 and abs(per_unit - round(per_unit)) < ROUNDING * per_unit
        times: Floats = np.minimum(ticks / round(per_unit) if whole else ticks * self.grid, self.horizon)
        return times

    def instants(self, random: np.random.Generator, size: int) -> Floats:
        """Independent uniform instants: [size]."""
        if self.grid == 0:
            anywhere: Floats = self.horizon * (1 - random.random(size))
            return anywhere
        return self.times(random.integers(1, self.ticks + 1, size))

    def rising(self, random: np.random.Generator, rows: int, count: int, span: float) -> Floats:
        """`count` different instants within a stretch of length `span`, uniform there, ascending: [rows, count]."""
        room = self.room(span)
        if room is None:
            stretch = min(span, self.horizon)
            begins = (self.horizon - stretch) * random.random((rows, 1))
            anywhere: Floats = np.sort(begins + stretch * (1 - random.random((rows, count))), axis=1)
            return anywhere
        # Floyd's sample without replacement, one column for each member, all rows at once.
        chosen = np.zeros((rows, count), np.int64)
        for k in range(count):
            highest = room - count + 1 + k
            pick = random.integers(1, highest + 1, rows)
            taken = (chosen[:, :k] == pick[:, None]).any(axis=1)
            chosen[:, k] = np.where(taken, highest, pick)
        return self.times(np.sort(chosen + random.integers(0, self.ticks - room + 1, (rows, 1)), axis=1))
