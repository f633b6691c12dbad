"""Related entities: what happens to the neighbours becomes predicates of one's own (design 1)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chronorule.errors import DataError
from chronorule.events.build import facts
from chronorule.events.combine import slices
from chronorule.events.tables import as_name, encode, plural, recode, shorten
from chronorule.kernels.sorting import RUN, sort_events

if TYPE_CHECKING:
    from chronorule.events.log import EventLog

Edges: TypeAlias = Any  # pairs, an array [edges, 2], a tuple of two columns, a mapping or data frame of columns


def relate(log: EventLog, name: str, edges: Edges) -> EventLog:
    """Add the neighbours' events and static predicates under "name:predicate"; see `EventLog.relate`."""
    if not isinstance(name, str) or not as_name(name):
        raise DataError(f"The relation is named {name!r}; give it a name, which will stand before its predicates.")
    new = tuple(f"{name}:{predicate}" for predicate in log.predicates)
    clash = sorted(set(new) & set(log.predicates))
    if clash:
        raise DataError(f"The log already has predicates of this name ({shorten(clash)}); name the relation otherwise.")
    entity, neighbour = _pairs(log, name, edges)
    lengths = np.diff(log.offsets)
    owner = np.repeat(np.arange(log.n_entities, dtype=np.int32), lengths)
    _, theirs = slices(log.offsets, neighbour)
    of_edge = np.repeat(entity, lengths[neighbour])
    offsets, times, codes = sort_events(
        np.concatenate([owner, of_edge.astype(np.int32)]),
        np.concatenate([log.times, log.times[theirs]]),
        np.concatenate([log.codes, log.codes[theirs] + np.int32(log.n_predicates)]),
        log.n_entities,
        RUN,
    )
    facts_each = np.diff(log.static_offsets)
    _, their_facts = slices(log.static_offsets, neighbour)
    static_offsets, static_codes = facts(
        np.concatenate([np.repeat(np.arange(log.n_entities), facts_each), np.repeat(entity, facts_each[neighbour])]),
        np.concatenate([log.static_codes, log.static_codes[their_facts] + log.n_predicates]),
        log.n_entities,
        2 * log.n_predicates,
    )
    return replace(
        log,
        predicates=log.predicates + new,
        offsets=offsets,
        times=times,
        codes=codes,
        static_offsets=static_offsets,
        static_codes=static_codes,
        statics=np.concatenate([log.statics, log.statics]),
    )


def _pairs(log: EventLog, name: str, edges: Edges) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of entity and neighbour of each distinct edge."""
    entities, neighbours = _two_columns(name, edges)
    left, right = encode(entities, f"{name} entity"), encode(neighbours, f"{name} neighbour")
    if left.codes.size != right.codes.size:
        raise DataError(f'The two columns of relation "{name}" differ in length; give one pair a row.')
    known = set(log.entities)
    unknown = list(dict.fromkeys(n for column in (left, right) for n in column.names if n not in known))
    if unknown:
        raise DataError(
            f'Relation "{name}" names {plural(len(unknown), "entity")} which the log lacks ({shorten(unknown)}); '
            "leave them out, or give these entities a period so that they belong to the log."
        )
    entity, neighbour = recode(left, log.entities).astype(np.int64), recode(right, log.entities).astype(np.int64)
    selves = np.flatnonzero(entity == neighbour)
    if selves.size:
        raise DataError(
            f'{plural(selves.size, "pair")} of relation "{name}" {"joins" if selves.size == 1 else "join"} an entity '
            f'to itself, first "{log.entities[entity[selves[0]]]}"; its own events are its own predicates: remove them.'
        )
    keys = np.unique(entity * log.n_entities + neighbour)
    return keys // log.n_entities, keys % log.n_entities


def _two_columns(name: str, edges: Edges) -> tuple[Iterable[Any], Iterable[Any]]:
    """Take apart what a person calls a table of pairs."""
    table = _by_name(edges)
    if table is not None:
        chosen = _choose(list(table))
        if chosen is not None:
            return table[chosen[0]], table[chosen[1]]
        raise DataError(
            f'The table of relation "{name}" does not say which of its columns is the entity and which the neighbour '
            f"(it has {shorten(map(str, table)) or 'none'}); name these two entity and neighbour."
        )
    if isinstance(edges, str | os.PathLike) or hasattr(edges, "__arrow_c_stream__"):
        raise DataError(
            f'The edges of relation "{name}" stand in a table that must be read first; pass what '
            "chronorule.read_edges makes of it."
        )
    if isinstance(edges, np.ndarray):
        if edges.size == 0:
            return [], []
        if edges.ndim == 2 and edges.shape[1] == 2:
            return edges[:, 0], edges[:, 1]
    elif isinstance(edges, tuple) and len(edges) == 2 and all(isinstance(c, list | np.ndarray) for c in edges):
        return edges[0], edges[1]
    elif isinstance(edges, Iterable):
        pairs = list(edges)
        if all(isinstance(pair, tuple | list | np.ndarray) and len(pair) == 2 for pair in pairs):
            return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    raise DataError(
        f'The edges of relation "{name}" are no table of two columns (entity, neighbour); pass a list of pairs, '
        "an array of shape [edges, 2], or a data frame with these two columns."
    )


def _by_name(edges: Edges) -> Mapping[str, Any] | None:
    """The columns of a dictionary or data frame, whose library need not be known; None for anything else."""
    if isinstance(edges, Mapping):
        return edges
    if callable(getattr(edges, "collect", None)):  # a lazy frame of polars
        edges = edges.collect()
    for whole in ("to_pydict", "fetchnumpy"):  # pyarrow, duckdb
        if hasattr(edges, whole):
            columns: Mapping[str, Any] = getattr(edges, whole)()
            return columns
    if hasattr(edges, "columns") and hasattr(edges, "to_numpy"):  # pandas, polars
        return {column: edges[column].to_numpy() for column in edges.columns}
    return None


def _choose(names: list[Any]) -> tuple[Any, Any] | None:
    """The columns of entity and neighbour: by these names, of two one of which has its name, or else in this order."""
    if "entity" in names and "neighbour" in names:
        return "entity", "neighbour"
    if len(names) != 2:
        return None
    turned = names[0] == "neighbour" or names[1] == "entity"
    return (names[1], names[0]) if turned else (names[0], names[1])
