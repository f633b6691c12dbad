"""A file to which every step of learning is added, so that a run that was cut off goes on where it stood.

One JSON object a line. The first names the log, the options and the version; a run with others is not this run. Each
further line is the whole state after a step. A line that was cut off is left out. Weights are not kept: a fit depends
on nothing but its set of rules, so a resumed run ends in the same model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from chronorule.errors import DataError, OptionError
from chronorule.learner.state import State
from chronorule.model.history import Round
from chronorule.rules import parse_rule
from chronorule.search.base import Certificate

FORMAT = 1


@dataclass(frozen=True)
class Journal:
    """The journal of one head's run in a file."""

    path: Path
    identity: Mapping[str, Any]  # plain values: of what run this is the journal

    def begin(self) -> State | None:
        """The state to go on from; None for a new run, whose first line is then written."""
        try:
            lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"The journal '{self.path}' cannot be read ({error}); name another file.") from None
        records = [record for record in map(_read, lines) if record is not None]
        if lines and (not records or "journal" not in records[0]):
            raise OptionError(f"'{self.path}' is no journal of learning; name another file.")
        if not records:
            self._write({"journal": FORMAT, **self.identity}, "w")
            return None
        self._refuse_another_run(records[0])
        return _going_on(_state(records[-1])) if len(records) > 1 else None

    def keep(self, state: State) -> None:
        """Add a state; it is on the disk when this returns."""
        self._write(_plain(state), "a")

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


def _going_on(state: State) -> State:
    """A state in which the limits of an earlier run no longer stop this one."""
    if state.stopped is None:
        return state
    return replace(state, stopped=None, next="search" if state.next == "done" else state.next)


def _read(line: str) -> dict[str, Any] | None:
    """A line's record; None for a line that was cut off."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


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
    return State(
        rules=rules("rules"),
        next=record["next"],
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
