"""Where work runs and how it ends early: threads, over kernels that release the interpreter's lock; Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn, TypeVar

from chronorule.errors import OptionError

Result = TypeVar("Result")


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Threads:
    """Runs a batch of work items in slices, on up to `count` threads (None: one per core)."""

    count: int | None = None

    def __post_init__(self) -> None:
        if self.count is None:
            return
        if isinstance(self.count, bool) or not hasattr(self.count, "__index__"):
            raise OptionError(f"threads={self.count!r} is no whole number; give 1 or more, or None for all cores.")
        if self.count < 1:
            raise OptionError(
                f"threads={self.count} leaves nothing to work with; give 1 or more, or None for all cores."
            )

    @property
    def size(self) -> int:
        return self.count or available_cores()

    def over(self, items: int, work: Callable[[int, int], Result], smallest: int = 64) -> list[Result]:
        """Call `work(begin, end)` on slices of range(items), at least `smallest` items each; results in order.

        There are four slices a thread, so that one slow slice does not keep the others waiting.
        """
        slices = max(1, min(4 * self.size, items // smallest))
        if self.size == 1 or slices == 1:
            return [work(0, items)]
        cuts = [items * k // slices for k in range(slices + 1)]
        with ThreadPoolExecutor(self.size) as pool:
            return list(pool.map(work, cuts[:-1], cuts[1:]))


@contextmanager
def interruptible(first: Callable[[], None], again: Callable[[], NoReturn]) -> Iterator[Callable[[], bool]]:
    """A question whether Ctrl-C was pressed, for long work to ask now and then.

    `first` is called when it is pressed, and `again`, which raises, when it is pressed once more. Where somebody else
    handles the signal, and outside the main thread, which alone hears of it, all stays as it is and the answer is no.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    pressed = threading.Event()

    def press(_: int, __: FrameType | None) -> None:
        if pressed.is_set():
            again()
        pressed.set()
        first()

    signal.signal(signal.SIGINT, press)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def lasting(question: Callable[[], bool]) -> Callable[[], bool]:
    """The question, whose first yes is its last word."""
    answered = threading.Event()

    def asked() -> bool:
        if not answered.is_set() and question():
            answered.set()
        return answered.is_set()

    return asked
