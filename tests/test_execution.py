"""Where work runs: slices, threads and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from chronorule.errors import OptionError
from chronorule.execution import Threads


@pytest.mark.parametrize("count", [1, 2, 5, None])
@pytest.mark.parametrize("items", [0, 1, 63, 64, 1000])
def test_slices_cover_every_item_once_and_in_order(count: int | None, items: int) -> None:
    slices = Threads(count).over(items, lambda begin, end: list(range(begin, end)), smallest=7)
    assert [item for part in slices for item in part] == list(range(items))


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, "threads=0 leaves nothing"),
        (-2, "threads=-2 leaves nothing"),
        (2.5, "no whole"),
        (True, "no whole"),
        ("2", "no whole"),
    ],
)
def test_numbers_of_threads_that_are_none_are_refused(count: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Threads(count)
