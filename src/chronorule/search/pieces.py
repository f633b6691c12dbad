"""Long work of a search cut into pieces, so that somebody can ask between them whether to go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from chronorule.execution import Threads
from chronorule.kernels.matching import Bodies
from chronorule.search.base import Subproblem

Part = TypeVar("Part")
More = Callable[[], bool]

ADDITIONS_AT_ONCE = 1 << 32  # at most, most of which are never made: a few tenths of a second
# what other work takes, in the time of additions to the sums of a chain
ADDITIONS_PER_MATCH = 128  # of a rule, for each event of a log
ADDITIONS_TO_AN_ORDER = 4


def in_pieces(
    additions: NDArray[np.int64],
    threads: Threads,
    more: More,
    work: Callable[[int, int], Part],
) -> tuple[list[Part], int]:
    """`work(begin, end)` on runs of items, in order, and on how many items it was done when `more` said no.

    `additions` is what each item takes. A run takes no more than `ADDITIONS_AT_ONCE` but for its last item, and as
    many runs as there are threads go side by side. What fits into one run is done without asking.
    """
    before = np.cumsum(additions) - additions
    begins = np.flatnonzero(np.diff(before // ADDITIONS_AT_ONCE, prepend=-1))
    cuts = np.append(begins, len(additions)).tolist()
    parts: list[Part] = []
    for first in range(0, len(begins), threads.size):
        if first > 0 and not more():
            break

        def side_by_side(begin: int, end: int, first: int = first) -> list[Part]:
            return [work(cuts[first + k], cuts[first + k + 1]) for k in range(begin, end)]

        for some in threads.over(min(threads.size, len(begins) - first), side_by_side, smallest=1):
            parts += some
    return parts, cuts[len(parts)]


def joined(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Arrays one after the other."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])


def matched(
    problem: Subproblem, sign: int, rules: int, bodies: Callable[[int, int], Bodies], more: More
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(objective before description, gain) by matching, of as many rules from the first on as time allows."""
    oracle, task = problem.oracle, problem.task
    before = oracle.evaluations

    def price(begin: int, end: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        some = bodies(begin, end)
        if task.objective != "gradient":
            gain = oracle.gains(some, sign)[0]
            return gain, gain
        value = oracle.rewards(some, sign)
        return value, value if task.charged is None else oracle.gains(some, sign)[0]

    additions = np.full(rules, ADDITIONS_PER_MATCH * oracle.grounding.log.n_events)
    parts, done = in_pieces(additions, oracle.threads, more, price)
    twice = task.objective == "gradient" and task.charged is not None
    oracle.evaluations = before + (2 if twice else 1) * done  # threads that count together lose some
    return joined([value for value, _ in parts]), joined([gain for _, gain in parts])
