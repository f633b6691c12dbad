"""What a rule must exceed, by its length, to be of use: the incumbent, and what it takes to pass (design 6 and 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronorule.pricing import closed_form_gain
from chronorule.rules.description import least_description_lengths
from chronorule.search.base import Subproblem, Task

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

ROUNDING = 1e-9  # relative: bounds are sums of a million numbers at the most, each rounded to 1e-16


class Thresholds:
    """For a task: what objectives must exceed, before description, for a rule of so many predicates or more."""

    def __init__(self, task: Task) -> None:
        self.task = task
        longest = task.grammar.lengths.stop - 1
        self.description = np.zeros((longest + 1, longest + 1))  # [length, statics]
        shortest = np.zeros(longest + 1)
        if task.charged is not None:
            self.description = least_description_lengths(task.grammar, task.kernels)
            shortest = self.description.min(axis=1)
        else:
            shortest[[length for length in range(longest + 1) if length not in task.grammar.lengths]] = np.inf
        self.shortest = np.minimum.accumulate(shortest[::-1])[::-1]  # least description of a rule at least as long
        worth = task.objective == "worth"
        self.given_up = self.shortest if worth else np.zeros(longest + 1)  # between the gain and the objective

    def least(self, value: float) -> Float64:
        """What a bound must exceed for a rule of at least so many predicates to win, the incumbent being at `value`."""
        if self.task.objective == "gradient":
            above = 0.0 if self.task.charged is not None else self.task.needed  # evidence asks it of the gain
            least = np.where(np.isinf(self.shortest), np.inf, max(value, above))
        elif self.task.objective == "worth":
            least = self.shortest + max(value, self.task.needed)
        else:
            least = np.maximum(self.shortest + self.task.needed, value)
        least = np.append(least, [np.inf, np.inf, np.inf])
        return np.asarray(least - ROUNDING * np.abs(np.where(np.isinf(least), 0.0, least)))


def simple_values(
    problem: Subproblem, observed: Float64, expected: Float64, size: Int64, sign: int
) -> tuple[Float64, Float64]:
    """(objective before description, gain) of rules of these sizes whose heads observed and expected say all."""
    oracle, task = problem.oracle, problem.task
    charge = oracle.penalty * size.astype(np.float64)
    reward = sign * (observed - expected) - charge
    if task.objective == "gradient" and task.charged is None:
        return reward, reward
    gain = closed_form_gain(observed, expected, charge, sign, oracle.largest_weight)[0]
    return (reward if task.objective == "gradient" else gain), gain
