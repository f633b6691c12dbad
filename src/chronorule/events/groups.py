"""To which group each entity belongs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import DataError
from chronorule.events.tables import (
    Coded,
    EventTable,
    Locate,
    PeriodTable,
    agree,
    by_row,
    encode,
    recode,
    shorten,
)


def groups_of(
    events: EventTable,
    periods: PeriodTable | None,
    group_of: Mapping[str, str] | None,
    entities: tuple[str, ...],
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Group of each entity: its own where none are given."""
    tables: list[tuple[Coded, Coded, Locate]] = []
    if periods is not None and periods.group is not None:
        tables.append((periods.entity, periods.group, periods.locate))
    if events.group is not None:
        tables.append((events.entity, events.group, events.locate))
    if group_of is not None:
        known = set(entities)
        unknown = [name for name in map(str, group_of) if name not in known]
        if unknown:
            raise DataError(
                f"Groups are given for entities that the log does not hold ({shorten(unknown)}); check them."
            )
        tables.append((encode(group_of, "entity"), encode(group_of.values(), "group"), by_row))
    if not tables:
        return np.arange(len(entities), dtype=np.int32), entities
    found = tuple(dict.fromkeys(name for _, groups, _ in tables for name in groups.names))
    group = np.full(len(entities), -1, np.int32)
    for owners, groups, locate in tables:
        entity, code = recode(owners, entities), recode(groups, found)
        claimed = group.copy()
        claimed[entity[::-1]] = code[::-1]  # of several writes the last stays, which is the first row of each
        claimed = np.where(group >= 0, group, claimed)
        conflict = np.flatnonzero(claimed[entity] != code)
        if conflict.size:
            first = int(conflict[0])
            concerned = np.unique(entity[conflict]).size
            other = found[claimed[entity[first]]]
            raise DataError(
                f"{agree(concerned, 'entity', 'is', 'are')} in more than one group, first "
                f'"{entities[entity[first]]}" {locate(first)} (in "{found[code[first]]}" and in "{other}"); '
                "an entity belongs to one group: correct the column, or make its parts entities of their own."
            )
        group[entity] = code
    if (group < 0).any():
        lacking = [entities[i] for i in np.flatnonzero(group < 0)]
        raise DataError(
            f"{agree(len(lacking), 'entity', 'has', 'have')} no group ({shorten(lacking)}) "
            "for lack of events that would tell it; give the group in the periods too, or as {entity: group}."
        )
    return renumber(group, found)


def renumber(group: NDArray[np.int32], groups: tuple[str, ...]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Number groups in the order in which the entities name them, without those that no entity names."""
    used, first = np.unique(group, return_index=True)
    used = used[np.argsort(first)]
    to = np.full(len(groups), -1, np.int32)
    to[used] = np.arange(used.size)
    return to[group], tuple(groups[code] for code in used)
