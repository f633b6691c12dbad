"""When a body completes, what its φ is at any time, and how many heads λ expects piece by piece (design 3 and 4)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from chronorule.search.slow.case import Case, Entity
from chronorule.search.slow.relations import Body, holds

Completions = Sequence[tuple[float, int]]  # (time, matches that complete there), in order

FLAT = 0.25  # of a decay's time constant: over it the rule below errs by less than 1e-12 where w·φ is below 4
# Gauss and Legendre's rule of five points on (−1, 1): (place, share)
POINTS = (
    (0.0, 64 / 225),
    *((sign * math.sqrt(5 - 2 * math.sqrt(10 / 7)) / 3, (322 + 13 * math.sqrt(70)) / 1800) for sign in (-1, 1)),
    *((sign * math.sqrt(5 + 2 * math.sqrt(10 / 7)) / 3, (322 - 13 * math.sqrt(70)) / 1800) for sign in (-1, 1)),
)


def completions(case: Case, entity: Entity, body: Body) -> Completions:
    """Every match, by trying every event for one variable after the other; it completes at its latest event."""
    names, table = body
    matches: list[tuple[float, ...]] = [()]
    for place, name in enumerate(names):
        matches = [
            (*times, time)
            for times in matches
            for time in entity.events.get(name, ())
            if all(holds(times[i], table[i, place], time) for i in range(place))
        ]
    found: dict[float, int] = {}
    for times in matches:
        timed = [time for time in times if time > -math.inf]
        latest = max(timed, default=-math.inf)
        if not timed or latest - min(timed) <= case.span + entity.rounding:
            found[latest] = found.get(latest, 0) + 1
    return sorted(found.items())


def phi(case: Case, entity: Entity, found: Completions, time: float) -> float:
    """φ from what was completed strictly before `time`."""
    done = found[: bisect_left(found, (time,))]
    if not done:
        return 0.0
    if not case.count:
        return kappa(case, entity, time - done[-1][0])
    return sum(matches * kappa(case, entity, time - s) for s, matches in done)


def kappa(case: Case, entity: Entity, elapsed: float) -> float:
    """κ of the time since a completion; what has no time (statics alone) never fades."""
    if elapsed == math.inf:
        return 1.0
    if elapsed > case.width + entity.rounding:
        return 0.0
    return math.exp(-case.decay * elapsed)


def pieces(case: Case, entity: Entity) -> list[tuple[float, float]]:
    """(a time, heads expected around it): over each piece no φ changes, or all change as little as quadrature takes."""
    in_force = [(completions(case, entity, body), weight) for body, weight in case.rules]
    found = []
    for low, high in _constant(case, entity):
        for middle, length in _quadrature(case, low, high):
            level = case.baseline[sum(middle > entity.start + cut for cut in case.cuts)]
            level += sum(weight * phi(case, entity, done, middle) for done, weight in in_force)
            found.append((middle, length * entity.multiplier * math.exp(level)))
    return found


def _constant(case: Case, entity: Entity) -> Iterator[tuple[float, float]]:
    """The exposure, cut wherever some φ may jump or the baseline changes."""
    times = [time for events in entity.events.values() for time in events if time > -math.inf]
    jumps = {*times, *(time + case.width for time in times), *(entity.start + cut for cut in case.cuts)}
    for start, stop in entity.exposure:
        yield from pairwise([start, *sorted(time for time in jumps if start < time < stop), stop])


def _quadrature(case: Case, low: float, high: float) -> Iterator[tuple[float, float]]:
    """(time, length) of the parts of a piece: its middle does where nothing decays."""
    if case.decay == 0:
        yield 0.5 * (low + high), high - low
        return
    parts = math.ceil((high - low) * case.decay / FLAT)
    for part in range(parts):
        begin, end = (low + (high - low) * edge / parts for edge in (part, part + 1))
        for place, share in POINTS:
            yield 0.5 * (begin + end) + 0.5 * (end - begin) * place, (end - begin) * share
