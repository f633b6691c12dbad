"""The fingerprint of a log changes with what the log says, and with nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import chronorule as cr
from worlds import STATIC, random_log

SEEDS = st.integers(0, 2**32 - 1)


def rebuilt(log: cr.EventLog, random: np.random.Generator, **changed: object) -> cr.EventLog:
    """The same log from rows, periods, properties and a vocabulary in another order."""
    owner = np.repeat(np.arange(log.n_entities), np.diff(log.offsets))
    rows = random.permutation(log.n_events)
    everyone = random.permutation(log.n_entities)
    facts = {
        name: [log.predicates[code] for code in log.static_codes[log.static_offsets[c] : log.static_offsets[c + 1]]]
        for c, name in enumerate(log.entities)
    }
    columns = {
        "entity": [log.entities[c] for c in owner[rows]],
        "time": log.times[rows],
        "event": [log.predicates[code] for code in log.codes[rows]],
        "periods": {log.entities[c]: (log.start[c], log.stop[c]) for c in everyone},
        "static": {log.entities[c]: facts[log.entities[c]] for c in everyone},
        "group": {log.entities[c]: log.groups[log.group[c]] for c in everyone} if log.has_groups else None,
        "predicates": [log.predicates[code] for code in random.permutation(log.n_predicates)],
        "unit": log.unit,
        "resolution": log.resolution,
    }
    return cr.EventLog.from_columns(**{**columns, **changed})  # type: ignore[arg-type]


@given(SEEDS)
def test_the_order_of_rows_entities_and_names_does_not_matter(seed: int) -> None:
    random = np.random.default_rng(seed)
    log = random_log(random)
    assert rebuilt(log, random).fingerprint == log.fingerprint
    assert len(log.fingerprint) == 64
    assert set(log.fingerprint) <= set("0123456789abcdef")


@given(SEEDS)
def test_whatever_changes_the_content_changes_the_fingerprint(seed: int) -> None:
    random = np.random.default_rng(seed)
    log = random_log(random)
    moved = log.start.copy()
    moved[0] -= 0.5
    vocabulary = (*log.predicates[:-3], "Z", *log.predicates[-2:])
    others = [
        replace(log, start=moved),
        replace(log, unit="days"),
        replace(log, resolution=0.25),
        replace(log, entities=(*log.entities[:-1], "someone else")),
        replace(log, predicates=vocabulary),
        replace(log, notes=replace(log.notes, origin="2150-01-01T00:00:00")),
        log.select(range(log.n_entities - 1)),
        rebuilt(log, random, group=dict.fromkeys(log.entities, "all")),
        rebuilt(log, random, static={"e0": list(STATIC), "e1": []} if log.static_codes.size != 2 else {}),
    ]
    if log.n_events:
        later = log.times.copy()
        later[-1] = np.nextafter(later[-1], np.inf)
        others.append(replace(log, times=later))
        codes = log.codes.copy()
        codes[-1] = (codes[-1] + 1) % 6
        others.append(replace(log, codes=codes))
    assert log.fingerprint not in [other.fingerprint for other in others]


def test_it_is_stable_over_versions_and_machines() -> None:
    """A golden number: a change of it makes every saved model a stranger to its own data, so VERSION must change."""
    log = cr.EventLog.from_columns(
        ["ann", "bob"], np.array([1.0, 2.5]), ["A", "Ünï, \n"], periods=(0.0, 9.0), unit="hours"
    )
    assert log.fingerprint == "4ddeab1df321215afd8dc99262cb6697176db28e0371681bc2f2ff51ca045d08"


def test_what_is_no_difference_makes_none() -> None:
    one = cr.EventLog.from_columns(["a", "a"], np.array([0.0, 1.0]), ["A", "B"], periods=(0.0, 9.0))
    other = cr.EventLog.from_columns(["a", "a", "a"], np.array([-0.0, 1.0, 1.0]), ["A", "B", "B"], periods=(-0.0, 9.0))
    assert one.fingerprint == other.fingerprint
