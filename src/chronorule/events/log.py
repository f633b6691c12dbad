"""`EventLog`: what happened to whom and when, over which period each entity was watched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import DataError, UnknownPredicateError
from chronorule.events import build, combine, relation
from chronorule.events.describe import Description, describe
from chronorule.events.fingerprint import fingerprint
from chronorule.events.head import Head
from chronorule.events.periods import Periods, new_periods
from chronorule.events.tables import near, shorten


@dataclass(frozen=True)
class LogNotes:
    """What building the log did to the data, so that nothing happens silently."""

    rows: int = 0  # events read
    duplicates: int = 0  # of them, repeats of an event already there (same entity, time, predicate)
    periods_by_default: bool = False  # no periods were given: first to last event of each entity
    origin: str | None = None  # the instant of time 0 (ISO 8601; with +00:00 where the data had time zones)


@dataclass(frozen=True, eq=False)
class EventLog:
    """An immutable, columnar log of events (design 1).

    The events of entity c are `offsets[c]:offsets[c + 1]`, sorted by time, then code. Body events before `start` are
    history; the likelihood runs over `(start, stop]`. Arrays are write-protected. Build one with `read_events`, or
    from arrays with `EventLog.from_columns`.
    """

    entities: tuple[str, ...]
    predicates: tuple[str, ...]
    offsets: NDArray[np.int64]  # [entities + 1]
    times: NDArray[np.float64]  # [events]
    codes: NDArray[np.int32]  # [events], positions in predicates
    start: NDArray[np.float64]  # [entities]
    stop: NDArray[np.float64]  # [entities]
    static_offsets: NDArray[np.int64]  # [entities + 1]
    static_codes: NDArray[np.int32]  # [static facts]
    statics: NDArray[np.bool_]  # [predicates], True for a property without a time, even where no entity has it
    group: NDArray[np.int32]  # [entities], positions in groups
    groups: tuple[str, ...]
    unit: str = "time"
    resolution: float = 0.0
    notes: LogNotes = LogNotes()

    def __post_init__(self) -> None:
        for array in self._arrays():
            array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in self._arrays():
            array.flags.writeable = False

    def _arrays(self) -> Iterable[NDArray[Any]]:
        values = (getattr(self, field.name) for field in fields(self))
        return (value for value in values if isinstance(value, np.ndarray))

    @classmethod
    def from_columns(
        cls,
        entity: Iterable[Any],
        time: ArrayLike,
        event: Iterable[Any],
        *,
        periods: Periods | None = None,
        static: build.Statics | None = None,
        group: Iterable[Any] | Mapping[str, str] | None = None,
        unit: str = "time",
        resolution: float = 0.0,
        predicates: Sequence[str] | None = None,
    ) -> EventLog:
        """Build a log from columns of equal length, in any order.

        periods: `(start, stop)` for all, `{entity: (start, stop)}`, or columns `(entity, start, stop)`.
        static: `{entity: [predicate, ...]}` or columns `(entity, predicate)`.
        group: a column beside the events, or `{entity: group}`.
        predicates: the vocabulary in the order of its codes; without it, the names that occur, sorted.
        Entities keep the order of the periods where these name them, else of their first event.
        """
        return build.from_columns(
            cls,
            entity,
            time,
            event,
            periods=periods,
            static=static,
            group=group,
            unit=unit,
            resolution=resolution,
            predicates=predicates,
            notes=LogNotes(),
        )

    @property
    def n_entities(self) -> int:
        """Number of entities, those without events included."""
        return len(self.entities)

    @property
    def n_events(self) -> int:
        """Number of distinct events."""
        return int(self.times.size)

    @property
    def n_predicates(self) -> int:
        """Size of the vocabulary, static predicates included."""
        return len(self.predicates)

    @property
    def n_groups(self) -> int:
        """Number of groups; without groups each entity is its own."""
        return len(self.groups)

    @cached_property
    def has_groups(self) -> bool:
        """Whether entities are nested in groups (trials of a participant, stays of a patient)."""
        return self.groups != self.entities or not np.array_equal(self.group, np.arange(self.n_entities))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content in hexadecimal digits, whatever the order of the rows that the log was built from."""
        return fingerprint(self)

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {name: code for code, name in enumerate(self.predicates)}

    @cached_property
    def _index_of(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.entities)}

    def code(self, name: str) -> int:
        """Return the code of a predicate; an unknown name is answered with the names near it."""
        code = self._code_of.get(name)
        if code is None:
            like = near(str(name), self.predicates, cutoff=0.5)
            known = shorten(self.predicates, 8) or "none at all"
            hint = f"did you mean {shorten(like)}?" if like else f"it has {known}."
            raise UnknownPredicateError(f"The log has no predicate {shorten([str(name)])}; {hint}")
        return code

    def is_static(self, code: int) -> bool:
        """Whether the predicate is a property without a time."""
        return bool(self.statics[code])

    def entity(self, name: str) -> int:
        """Return the position of an entity by name."""
        index = self._index_of.get(str(name))
        if index is None:
            like = near(str(name), self.entities[:10_000], cutoff=0.6)
            hint = f"did you mean {shorten(like)}?" if like else f"its entities begin {shorten(self.entities, 3)}."
            raise DataError(f"The log has no entity {shorten([str(name)])}; {hint}")
        return index

    def dates(self, times: ArrayLike) -> NDArray[np.datetime64]:
        """Turn times of this log back into timestamps, to the microsecond (UTC where the data had time zones)."""
        return combine.dates(self, np.asarray(times, np.float64))

    def select(self, entities: ArrayLike | Sequence[str]) -> EventLog:
        """Return the log of some entities, by position, mask or name, in the order given; the vocabulary stays."""
        return combine.select(self, entities)

    def split(self, test: float = 0.25, seed: int = 0) -> tuple[EventLog, EventLog]:
        """Return (train, test): a share of the groups, or of the entities where there are none, drawn by the seed."""
        return combine.split(self, test, seed)

    @staticmethod
    def concat(logs: Iterable[EventLog]) -> EventLog:
        """Join logs of different entities; vocabularies are united, unit and resolution must agree."""
        if not isinstance(logs, Iterable):
            raise DataError(f"concat joins a list of logs, but was given {logs!r}; write concat([one, other]).")
        return combine.concat([checked_log(log, "What concat is to join") for log in logs])

    def relate(self, name: str, edges: relation.Edges) -> EventLog:
        """Give each entity its neighbours' events as predicates "name:predicate".

        edges: pairs (entity, neighbour) as a list, an array [edges, 2], a tuple of two columns, or a dictionary or data
        frame with columns of these names (two of other names count in this order); `read_edges` reads a file. A pair
        says only that the first sees the second; give both directions where it is mutual.
        """
        return relation.relate(self, name, edges)

    def with_periods(self, periods: Periods) -> EventLog:
        """Return the log watched over other periods, given as in `from_columns`; each entity needs one."""
        start, stop = new_periods(self.entities, periods, self.resolution)
        return replace(self, start=start, stop=stop, notes=replace(self.notes, periods_by_default=False))

    def describe(self, head: Head | str | None = None) -> Description:
        """Summarise the log, and what a head makes of it, for a person: print it, or take `.to_dict()`."""
        return describe(self, head)

    def equals(self, other: EventLog) -> bool:
        """Whether both logs hold the same data in the same order (notes on how they were built apart)."""
        plain = ("entities", "predicates", "groups", "unit", "resolution")
        return (
            all(getattr(self, name) == getattr(other, name) for name in plain)
            and self.notes.origin == other.notes.origin
            and all(np.array_equal(a, b) for a, b in zip(self._arrays(), other._arrays(), strict=True))
        )

    def __repr__(self) -> str:
        return (
            f"EventLog({self.n_entities:,} entities, {self.n_events:,} events, "
            f"{self.n_predicates:,} predicates, unit={self.unit!r})"
        )


def checked_log(log: object, what: str) -> EventLog:
    """A log as it is; anything else is refused, and `what` says where it was given."""
    if not isinstance(log, EventLog):
        raise DataError(f"{what} is of type {type(log).__name__}, not an EventLog; read_events makes one of a table.")
    return log
