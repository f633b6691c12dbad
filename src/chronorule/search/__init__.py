"""Searches for the next rule: each asks the oracle of prices, none looks at the log."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType

from chronorule.errors import OptionError
from chronorule.search.base import Budget, Certificate, Outcome, Progress, Search, Subproblem, Task, Watcher

# One line makes a search known by name; the conformance suite finds it here. Modules load at first use.
SEARCHES = MappingProxyType(
    {
        "exact": "exact:ExactSearch",
        "brute": "brute:BruteSearch",
    }
)


def search_of(name: str | Search) -> Search:
    """The search of a name, with its defaults; an object with options of its own is one already."""
    if not isinstance(name, str):
        if callable(getattr(name, "run", None)):
            return name
        raise OptionError(f"search={name!r} is no search; give one of {', '.join(SEARCHES)}, or an object with run().")
    if name not in SEARCHES:
        raise OptionError(f"search={name!r} is unknown; choose one of {', '.join(SEARCHES)}.")
    module, kind = SEARCHES[name].split(":")
    search: Search = getattr(import_module(f"chronorule.search.{module}"), kind)()
    return search


__all__ = [
    "SEARCHES",
    "Budget",
    "Certificate",
    "Outcome",
    "Progress",
    "Search",
    "Subproblem",
    "Task",
    "Watcher",
    "search_of",
]
