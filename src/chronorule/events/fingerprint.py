"""A fingerprint of a log: by it a model tells whether it meets the data that it was made from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from chronorule.events.log import EventLog

Int64 = NDArray[np.int64]
VERSION = b"chronorule log 1"  # another way of hashing is another version


def fingerprint(log: EventLog) -> str:
    """SHA-256 of what the log says, whatever the order of rows, entities or vocabulary that it was built from.

    Entities, predicates and groups are taken in the order of their names, events of an entity by time and name.
    """
    entities, _ = _by_name(log.entities)
    predicates, predicate_rank = _by_name(log.predicates)
    groups, group_rank = _by_name(log.groups)
    rows, sizes = _rows(log.offsets, entities)
    times, codes = log.times[rows] + 0.0, predicate_rank[log.codes[rows]]  # + 0.0 turns -0.0 into 0.0
    if not _rises(predicate_rank):
        owner = np.repeat(np.arange(log.n_entities), sizes)
        order = np.lexsort((codes, times, owner))
        times, codes = times[order], codes[order]
    fact_rows, fact_sizes = _rows(log.static_offsets, entities)
    facts = predicate_rank[log.static_codes[fact_rows]]
    order = np.lexsort((facts, np.repeat(np.arange(log.n_entities), fact_sizes)))
    found = hashlib.sha256(VERSION)
    for names, ranked in ((log.entities, entities), (log.predicates, predicates), (log.groups, groups)):
        _add_names(found, [names[place] for place in ranked.tolist()])
    _add_names(found, [log.unit, repr(float(log.resolution)), str(log.notes.origin)])
    for whole in (sizes, codes, fact_sizes, facts[order], log.statics[predicates], group_rank[log.group[entities]]):
        _add(found, whole.astype("<i8"))
    for real in (times, log.start[entities] + 0.0, log.stop[entities] + 0.0):
        _add(found, real.astype("<f8"))
    return found.hexdigest()


def _by_name(names: Sequence[str]) -> tuple[Int64, Int64]:
    """Positions in the order of the names, and the place in that order of each position."""
    order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return order, rank


def _rises(ranks: Int64) -> bool:
    return bool((ranks[1:] > ranks[:-1]).all())


def _rows(offsets: Int64, entities: Int64) -> tuple[Int64, Int64]:
    """The rows of all entities, one entity after the other in the order given, and how many each has."""
    sizes = np.diff(offsets)[entities]
    before = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) + np.repeat(offsets[:-1][entities] - before, sizes), sizes


def _add_names(found: Any, names: Sequence[str]) -> None:
    written = [name.encode("utf-8", "surrogatepass") for name in names]
    _add(found, np.array([len(written), *map(len, written)], "<i8"))  # lengths keep neighbours apart
    found.update(b"".join(written))


def _add(found: Any, array: NDArray[Any]) -> None:
    found.update(np.int64(array.size).astype("<i8").tobytes())
    found.update(np.ascontiguousarray(array).data)
