"""When the head can happen: the exposure of each entity, and the heads that count (design 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import DataError, OptionError

if TYPE_CHECKING:
    from chronorule.events.log import EventLog


@dataclass(frozen=True)
class Head:
    """The predicate to explain, and what its occurrence does to the chance of the next.

    A plain head recurs freely. A terminal one happens once (death). With `reset_by=P` an entity is not at risk from an
    occurrence until the next P; it is at risk from the start unless `at_risk_from_start=False`.
    """

    name: str
    terminal: bool = False
    reset_by: str | None = None
    at_risk_from_start: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise OptionError(f"Head(name={self.name!r}) names no predicate; give its name as text.")
        if self.terminal and self.reset_by is not None:
            raise OptionError(
                f'Head "{self.name}" is both terminal and reset by "{self.reset_by}"; what ends for good cannot be '
                "reset: choose one."
            )
        if self.reset_by == self.name:
            raise OptionError(f'Head "{self.name}" is reset by itself, which is a plain head; leave reset_by out.')
        if not self.at_risk_from_start and self.reset_by is None:
            raise OptionError(
                f'Head "{self.name}" is not at risk from the start and nothing is named that would change it; '
                "name the predicate in reset_by, or leave at_risk_from_start out."
            )

    @property
    def ends_own_exposure(self) -> bool:
        """Whether an occurrence ends the time at risk, for good or until the reset.

        Where a head stands in that time then says nothing: the time ends with it. So comparing an entity with itself,
        which takes the exposure as given, is not to be had (design 6).
        """
        return self.terminal or self.reset_by is not None


@dataclass(frozen=True, eq=False)
class Exposure:
    """Intervals (start, stop] at risk, ordered, disjoint, non-empty, inside the period; and the heads that count."""

    head: Head
    offsets: NDArray[np.int64]  # [entities + 1]: intervals of entity c
    start: NDArray[np.float64]  # [intervals]
    stop: NDArray[np.float64]  # [intervals]
    head_offsets: NDArray[np.int64]  # [entities + 1]: counted heads of entity c
    head_times: NDArray[np.float64]  # [heads]
    period_start: NDArray[np.float64]  # [entities]
    before_start: int = 0  # heads at or before the period's start
    after_stop: int = 0  # heads after its stop
    not_at_risk: int = 0  # heads inside the period while the head could not happen

    def __post_init__(self) -> None:
        for array in (self.offsets, self.start, self.stop, self.head_offsets, self.head_times, self.period_start):
            array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def outside(self) -> int:
        """Heads outside exposure, which do not count."""
        return self.before_start + self.after_stop + self.not_at_risk

    @property
    def n_heads(self) -> int:
        """Heads that count."""
        return int(self.head_times.size)

    def total(self) -> float:
        """Time at risk of all entities together."""
        return float((self.stop - self.start).sum())


def exposure(log: EventLog, head: Head | str) -> Exposure:
    """Find when the head can happen in each entity, and which of its occurrences count.

    Whether an entity is at risk after an instant depends on that instant alone: not after a head, yes after what
    resets it (also where both happen at once: the head counts, then the reset). So the state before any instant is
    read off the latest such instant before it, that at the period's start off the history, and all entities are done
    at once.
    """
    head = head if isinstance(head, Head) else Head(head)
    head_code = _timed(log, head.name, "head")
    if head.reset_by is not None:
        return _with_reset(log, head, head_code, _timed(log, head.reset_by, "reset"))
    mine = np.flatnonzero(log.codes == head_code)
    entity = _entity_of(log, mine)
    times = log.times[mine]
    stop = log.stop.copy()
    if head.terminal:
        first = np.r_[True, entity[1:] != entity[:-1]] if mine.size else np.zeros(0, np.bool_)
        # a head in the history has ended the exposure before it began
        stop[entity[first]] = np.minimum(stop[entity[first]], np.maximum(times[first], log.start[entity[first]]))
        at_risk = first
    else:
        at_risk = np.ones(mine.size, np.bool_)
    some = log.start < stop
    return _count_heads(log, head, np.flatnonzero(some), log.start[some], stop[some], entity, times, at_risk)


def _with_reset(log: EventLog, head: Head, head_code: int, reset_code: int) -> Exposure:
    mine = np.flatnonzero((log.codes == head_code) | (log.codes == reset_code))
    entity, times = _entity_of(log, mine), log.times[mine]
    # an instant with both has two events there, head and reset, in either order of codes: one row an instant
    new = np.r_[True, (entity[1:] != entity[:-1]) | (times[1:] != times[:-1])] if mine.size else np.zeros(0, np.bool_)
    instant = np.cumsum(new) - 1
    count = int(new.sum())
    is_head, after = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    is_head[instant[log.codes[mine] == head_code]] = True
    after[instant[log.codes[mine] == reset_code]] = True
    entity, times = entity[new], times[new]
    opens_entity = np.r_[True, entity[1:] != entity[:-1]] if count else np.zeros(0, np.bool_)
    before = np.where(opens_entity, head.at_risk_from_start, np.r_[False, after[:-1]])
    # one stretch from minus infinity to the first instant of each entity, one from each instant to the next
    everyone = np.arange(log.n_entities)
    owner = np.concatenate([everyone, entity])
    begins = np.concatenate([np.full(log.n_entities, -np.inf), times])
    risk = np.concatenate([np.full(log.n_entities, head.at_risk_from_start), after])
    order = np.argsort(owner, kind="stable")  # begins ascend inside an entity: -inf, then its instants
    owner, begins, risk = owner[order], begins[order], risk[order]
    last = np.r_[owner[1:] != owner[:-1], True]
    ends = np.where(last, np.inf, np.r_[begins[1:], np.inf])
    # a stretch that continues one at risk is joined to it
    opens = risk & np.r_[True, (owner[1:] != owner[:-1]) | ~risk[:-1]]
    closes = risk & np.r_[(owner[1:] != owner[:-1]) | ~risk[1:], True]
    owner, low, high = owner[opens], begins[opens], ends[closes]
    low, high = np.maximum(low, log.start[owner]), np.minimum(high, log.stop[owner])
    some = low < high
    return _count_heads(log, head, owner[some], low[some], high[some], entity[is_head], times[is_head], before[is_head])


def _count_heads(
    log: EventLog,
    head: Head,
    owner: NDArray[np.int64],
    start: NDArray[np.float64],
    stop: NDArray[np.float64],
    entity: NDArray[np.int64],
    times: NDArray[np.float64],
    at_risk: NDArray[np.bool_],
) -> Exposure:
    early = times <= log.start[entity]
    late = times > log.stop[entity]
    counts = at_risk & ~early & ~late
    return Exposure(
        head=head,
        offsets=_offsets(owner, log.n_entities),
        start=start,
        stop=stop,
        head_offsets=_offsets(entity[counts], log.n_entities),
        head_times=times[counts],
        period_start=log.start,
        before_start=int(early.sum()),
        after_stop=int(late.sum()),
        not_at_risk=int((~at_risk & ~early & ~late).sum()),
    )


def _timed(log: EventLog, name: str, role: str) -> int:
    code = log.code(name)
    if log.is_static(code):
        raise DataError(
            f'The {role} "{name}" is a static predicate, which never happens at an instant; choose another.'
        )
    return code


def _entity_of(log: EventLog, events: NDArray[np.int64]) -> NDArray[np.int64]:
    """Entity of each event, given positions in the log."""
    return np.searchsorted(log.offsets, events, side="right") - 1


def _offsets(owner: NDArray[np.int64], n_entities: int) -> NDArray[np.int64]:
    offsets = np.zeros(n_entities + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=n_entities), out=offsets[1:])
    return offsets
