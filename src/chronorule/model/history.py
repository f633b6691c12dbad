"""How a model came about: one record for each round of learning."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from chronorule.search.base import Certificate


@dataclass(frozen=True)
class Round:
    """One round: what was added, dropped and exchanged, what stands after it, and what the search proved."""

    number: int  # from 1
    added: tuple[str, ...]  # keys of rules
    dropped: tuple[str, ...]
    polished: tuple[tuple[str, str], ...]  # (rule that stood, neighbour that took its place)
    rules: tuple[str, ...]  # all rules after the round
    log_likelihood: float
    certificate: Certificate  # of the search with which the round began
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)
