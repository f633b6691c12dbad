"""A file to which every step of learning is added, so that a run that was cut off goes on where it stood.

One JSON object a line. The first names the log, the options and the version; a run with others is not this run. Each
further line is the whole state after a step. A line that was cut off is left out. Weights are not kept: a fit depends
on nothing but its set of rules, so a resumed run ends in the same model. How many rules a model may hold is no part of
what names a run, since it only says how far to follow one and the same path.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn, get_args

from chronorule.errors import DataError, OptionError
from chronorule.learner.state import Next, State
from chronorule.model.history import Round
from chronorule.rules import parse_rule
from chronorule.search.base import Certificate

FORMAT = 1
BEGINNING = b'{"journal": '  # of every first line


def journals_of(place: Path, heads: Sequence[str]) -> list[Path]:
    """The journal of each head: for one the file itself, for several a file for each in a folder, which is made."""
    if len(heads) == 1:
        return [place]
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"The journals of {len(heads)} heads need a folder, and '{place}' cannot be one ({error.strerror}); name "
            "another, or learn the heads one by one."
        ) from None
    return [place / f"{name}.jsonl" for name in file_names(heads)]


def file_names(heads: Sequence[str]) -> list[str]:
    """A name for each head that any file system takes, and that no other head has, whatever it makes of capitals."""
    found: list[str] = []
    for head in heads:
        name = re.sub(r"[^\w.-]+", "-", head).strip("-.") or "head"
        number, free = 1, name
        while free.casefold() in {one.casefold() for one in found}:
            number += 1
            free = f"{name}-{number}"
        found.append(free)
    return found


@dataclass(frozen=True)
class Journal:
    """The journal of one head's run in a file."""

    path: Path
    identity: Mapping[str, Any]  # plain values: of what run this is the journal

    def begin(self, most: int | None = None) -> tuple[State | None, Callable[[State], None]]:
        """The state to go on from, None for a new run, whose first line is then written; and what keeps further ones.

        A run that may hold at most so many rules leaves the path where that would first be exceeded. Where the journal
        already goes further, nothing is added to it.
        """
        lines = self._lines()
        if not lines or (len(lines) == 1 and _is_torn_header(lines[0])):
            self._write({"journal": FORMAT, **self.identity}, "w")
            return None, self.keep
        header = _read(lines[0])
        if not isinstance(header, dict) or "journal" not in header:
            raise OptionError(f"'{self.path}' is no journal of learning; name another file.")
        self._refuse_another_run(header)
        path = [(number, record) for number, record in enumerate(map(_read, lines), start=1) if record is not None][1:]
        for number, record in path:
            whole = isinstance(record, dict) and set(record) == set(State.__dataclass_fields__)
            if not whole or not isinstance(record["rules"], list):
                self._refuse_no_state(number)
        allowed = path if most is None else list(takewhile(lambda item: len(item[1]["rules"]) <= most, path))
        state = self._state(*allowed[-1]) if allowed else None
        return state and _going_on(state, most), self.keep if len(allowed) == len(path) else _forget

    def keep(self, state: State) -> None:
        """Add a state; it is on the disk when this returns."""
        self._write(_plain(state), "a")

    def _lines(self) -> list[bytes]:
        """What is in the file, line by line, since one that was cut off may end inside a letter."""
        try:
            return [line for line in self.path.read_bytes().split(b"\n") if line.strip()] if self.path.exists() else []
        except OSError as error:
            raise DataError(f"The journal '{self.path}' cannot be read ({error}); name another file.") from None

    def _state(self, number: int, record: Mapping[str, Any]) -> State:
        try:
            return _state(record)
        except (AttributeError, KeyError, TypeError, ValueError):
            self._refuse_no_state(number)

    def _refuse_no_state(self, number: int) -> NoReturn:
        raise DataError(
            f"Line {number} of the journal '{self.path}' holds no state of learning, so a run cannot go on from it; "
            "name another journal, or remove this one to begin anew."
        )

    def _refuse_another_run(self, header: Mapping[str, Any]) -> None:
        wanted = json.loads(json.dumps({"journal": FORMAT, **self.identity}))
        if header == wanted:
            return
        different = sorted(name for name in {*header, *wanted} if header.get(name) != wanted.get(name))
        raise OptionError(
            f"The journal '{self.path}' is of another run (it differs in {', '.join(different)}); "
            "name another journal, or remove this one to begin anew."
        )

    def _write(self, record: Mapping[str, Any], mode: str) -> None:
        line = json.dumps(record, ensure_ascii=False, allow_nan=True) + "\n"
        try:
            if mode == "a":
                line = self._after_a_torn_line() + line
            with self.path.open(mode, encoding="utf-8", newline="\n") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DataError(
                f"The journal '{self.path}' cannot be written ({error.strerror}); make room or name another file, then "
                "run the same again to go on from the last step."
            ) from None

    def _after_a_torn_line(self) -> str:
        """A line end where the last line was cut off, so that it spoils no other."""
        with self.path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            if file.tell() == 0:
                return ""
            file.seek(-1, os.SEEK_END)
            return "" if file.read(1) == b"\n" else "\n"


def _going_on(state: State, most: int | None) -> State:
    """A state in which the limits of an earlier run no longer stop this one, unless they are its own."""
    if state.stopped is None or (state.stopped == "max_rules" and most is not None and len(state.rules) >= most):
        return state
    return replace(state, stopped=None, next="search" if state.next == "done" else state.next)


def _forget(state: State) -> None:
    """Nothing is written down."""


def _is_torn_header(line: bytes) -> bool:
    """Whether a line is the beginning of a first line that was cut off while it was written."""
    return _read(line) is None and (line.startswith(BEGINNING) or BEGINNING.startswith(line))


def _read(line: bytes) -> Any:
    """What a line says; None for a line that was cut off."""
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _plain(state: State) -> dict[str, Any]:
    return {
        "rules": [rule.key for rule in state.rules],
        "next": state.next,
        "visited": sorted(sorted(rule.key for rule in rules) for rules in state.visited),
        "rounds": [record.to_dict() for record in state.rounds],
        "added": [rule.key for rule in state.added],
        "dropped": [rule.key for rule in state.dropped],
        "polished": [[old.key, new.key] for old, new in state.polished],
        "certificate": None if state.certificate is None else asdict(state.certificate),
        "runners_up": [rule.key for rule in state.runners_up],
        "stopped": state.stopped,
    }


def _state(record: Mapping[str, Any]) -> State:
    def rules(name: str) -> tuple[Any, ...]:
        return tuple(parse_rule(text) for text in record[name])

    certificate = record["certificate"]
    steps = get_args(Next)
    return State(
        rules=rules("rules"),
        next=steps[steps.index(record["next"])],
        visited=frozenset(frozenset(parse_rule(text) for text in texts) for texts in record["visited"]),
        rounds=tuple(_round(item) for item in record["rounds"]),
        added=rules("added"),
        dropped=rules("dropped"),
        polished=tuple((parse_rule(old), parse_rule(new)) for old, new in record["polished"]),
        certificate=None if certificate is None else Certificate(**certificate),
        runners_up=rules("runners_up"),
        stopped=record["stopped"],
    )


def _round(record: Mapping[str, Any]) -> Round:
    return Round(
        number=record["number"],
        added=tuple(record["added"]),
        dropped=tuple(record["dropped"]),
        polished=tuple((old, new) for old, new in record["polished"]),
        rules=tuple(record["rules"]),
        log_likelihood=record["log_likelihood"],
        certificate=Certificate(**record["certificate"]),
        seconds=record["seconds"],
    )
