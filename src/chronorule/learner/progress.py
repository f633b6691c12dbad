"""What a person who waits may know, and the clock that ends the waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from chronorule.rules import Rule
from chronorule.search.base import Budget, Progress

Stage = Literal["weigh", "search", "drop", "polish", "seek", "done"]


@dataclass(frozen=True)
class LearningProgress:
    """How far learning has come."""

    head: str
    round: int  # from 1
    stage: Stage
    log_likelihood: float  # of the rules below, as last weighed
    rules: tuple[tuple[Rule, float], ...]  # (rule, weight)
    search: Progress | None  # of the search under way
    seconds: float  # since the fit began


LearningWatcher = Callable[[LearningProgress], None]


@dataclass(frozen=True)
class Allowance:
    """How long a fit may take: a time limit, and a question asked now and then whether to end."""

    seconds: float | None = None
    stop: Callable[[], bool] | None = None
    begun: float = field(default_factory=time.perf_counter)

    @property
    def used(self) -> float:
        """Seconds since the fit began."""
        return time.perf_counter() - self.begun

    @property
    def why_spent(self) -> str | None:
        """Why the fit has to end now; None while it may go on."""
        if self.stop is not None and self.stop():
            return "interrupted"
        if self.seconds is not None and self.used >= self.seconds:
            return "time limit"
        return None

    def left(self) -> Budget:
        """What a search may use of it."""
        return Budget(None if self.seconds is None else max(self.seconds - self.used, 0.0), stop=self.stop)
