"""What the options of `simulate` mean, and one clear sentence where they mean nothing."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronorule.errors import OptionError
from chronorule.events import Head
from chronorule.events.tables import shorten
from chronorule.rules import Rule, RuleLine, parse_rules
from chronorule.simulate.instants import Seed

Floats = NDArray[np.float64]


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is one number, finite or not."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def is_whole(value: object, least: int) -> TypeGuard[int]:
    """Whether a value is a whole number of at least `least`."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def row(values: ArrayLike, name: str) -> Floats:
    """A list of numbers as an array."""
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError):
        array = np.zeros((0, 0))
    if array.ndim != 1:
        raise OptionError(f"{name}={values!r} is no list of numbers; give one number for each place.")
    return array


def checked_seed(seed: int | Sequence[int]) -> Seed:
    """One whole number, or several."""
    if is_whole(seed, 0):
        return int(seed)
    if isinstance(seed, Sequence) and not isinstance(seed, str) and seed and all(is_whole(part, 0) for part in seed):
        return tuple(int(part) for part in seed)
    raise OptionError(f"seed={seed!r} starts no random numbers; give a whole number of at least 0, or several.")


def checked_count(value: int, name: str) -> int:
    """A whole number of at least 1."""
    if not is_whole(value, 1):
        raise OptionError(f"{name}={value!r} is no number of {name}; give a whole number of at least 1.")
    return int(value)


def refuse_beside_body(**options: tuple[Any, Any]) -> None:
    """Refuse what only speaks of bodies to be drawn; each option comes as (value, default)."""
    given = [name for name, (value, default) in options.items() if value is not default and value != default]
    if given:
        raise OptionError(
            f"body gives the events and periods, so {', '.join(given)} cannot be given beside it; leave out one or the "
            "other."
        )


def rules_and_weights(
    rules: str | Rule | Sequence[str | Rule | RuleLine], weights: ArrayLike | None
) -> tuple[tuple[Rule, ...], Floats]:
    """Rules from text or objects, and one weight for each, from the text or beside it."""
    if not isinstance(rules, str | Rule | Iterable):
        raise OptionError(f"rules={rules!r} holds no rules; give text such as 'Y <- A < B', or [] for none.")
    lines: list[RuleLine] = []
    for item in [rules] if isinstance(rules, str | Rule) else rules:
        if isinstance(item, str):
            lines += parse_rules(item)
        elif isinstance(item, Rule | RuleLine):
            lines.append(item if isinstance(item, RuleLine) else RuleLine(item, None, 0))
        else:
            raise OptionError(
                f"rules holds {item!r}, which is no rule; give text such as 'Y <- A < B' or Rule objects."
            )
    parsed = tuple(line.rule for line in lines)
    if len(set(parsed)) < len(parsed):
        twice = next(rule for rule in parsed if parsed.count(rule) > 1)
        raise OptionError(f"The rule '{twice.key}' is given twice; give it once, with the sum of its weights.")
    stated = [line.weight for line in lines if line.weight is not None]
    if weights is None:
        if len(stated) < len(lines):
            bare = next(line.rule.key for line in lines if line.weight is None)
            raise OptionError(f"The rule '{bare}' has no weight; write 'w = …' behind each rule or give weights.")
        values = np.array(stated, np.float64)
    elif stated:
        raise OptionError("Weights are given twice, in the text of the rules and as weights; leave out one of the two.")
    else:
        values = row(weights, "weights")
    if values.size != len(parsed):
        raise OptionError(f"The {len(parsed)} rules come with {values.size} weights; give one weight for each rule.")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise OptionError(
            f"weights={values.tolist()} holds what is no weight; give finite numbers of at least 0, and write a rule "
            "that lowers the rate with <-|."
        )
    return parsed, values


def chosen_head(head: Head | str | None, rules: Sequence[Rule]) -> Head:
    """The head asked for, which is that of the rules."""
    names = sorted({rule.head for rule in rules})
    if len(names) > 1:
        raise OptionError(f"The rules have different heads ({shorten(names)}); simulate one head at a time.")
    if head is None:
        return Head(names[0] if names else "Y")
    if not isinstance(head, str | Head):
        raise OptionError(f"head={head!r} is no head; give the name of a predicate, or a Head.")
    chosen = Head(head) if isinstance(head, str) else head
    if names and chosen.name != names[0]:
        raise OptionError(f"head is '{chosen.name}', but the rules are for '{names[0]}'; give both the same name.")
    return chosen


def cuts_and_levels(base: float | Sequence[float], baseline: Sequence[float] | None) -> tuple[Floats, Floats]:
    """Cut points of the baseline and the log-rate of each piece."""
    cuts = row(() if baseline is None else baseline, "baseline")
    if not (np.isfinite(cuts).all() and (np.diff(cuts, prepend=0.0) > 0).all()):
        raise OptionError(
            f"baseline={baseline!r} is no row of cut points; give rising, positive times since the period's start."
        )
    levels = np.full(cuts.size + 1, float(base)) if is_number(base) else row(base, "base")
    if levels.size != cuts.size + 1 or not np.isfinite(levels).all():
        raise OptionError(
            f"base={base!r} does not fit a baseline of {cuts.size + 1} pieces; give one finite log-rate for all, or "
            "one for each piece (cut points: baseline)."
        )
    return cuts, levels


def predicate_names(
    rules: Sequence[Rule], head: Head, predicates: int | Sequence[str] | None, static: tuple[str, ...]
) -> tuple[str, ...]:
    """Names of the timed body predicates: as listed, or those in use, filled up with letters to a number."""
    if head.name in static or head.reset_by in static:
        raise OptionError("static lists the head or what resets it, which happen at instants; leave it out.")
    in_use = {name for rule in rules for name in rule.predicates}
    in_use |= {head.reset_by} if head.reset_by is not None else set()
    elsewhere = {head.name, *static}
    needed = sorted(in_use - elsewhere)
    if predicates is None:
        return tuple(needed)
    if is_whole(predicates, 0):
        if predicates < len(needed):
            raise OptionError(
                f"predicates={predicates} is fewer than the {len(needed)} that rules and head use; give more."
            )
        free = _letters(elsewhere.union(needed))
        return (*needed, *(next(free) for _ in range(predicates - len(needed))))
    if isinstance(predicates, str) or not isinstance(predicates, Sequence):
        raise OptionError(f"predicates={predicates!r} is no list of names and no number of them; give one of the two.")
    names = tuple(predicates)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise OptionError("predicates holds a name twice or what is no name; give different, non-empty names.")
    if elsewhere.intersection(names):
        raise OptionError(
            f"predicates lists {shorten(sorted(elsewhere.intersection(names)))}, the head or a static property, which "
            "are drawn in their own way; leave them out of it."
        )
    missing = sorted(set(needed).difference(names))
    if missing:
        raise OptionError(
            f"The rules or the head use {shorten(missing)}, not listed in predicates; add them there or to static."
        )
    return names


def _letters(taken: set[str]) -> Iterator[str]:
    """A, B, …, Z, A2, B2, …, those taken left out."""
    number = 1
    while True:
        for letter in string.ascii_uppercase:
            name = letter if number == 1 else f"{letter}{number}"
            if name not in taken:
                yield name
        number += 1


def rate_of_each(rates: float | Mapping[str, float], names: tuple[str, ...]) -> Floats:
    """Events per unit of time of each body predicate."""
    if isinstance(rates, Mapping):
        missing, unknown = sorted(set(names).difference(rates)), sorted(set(rates).difference(names))
        if missing or unknown:
            what = f"gives none for {shorten(missing)}" if missing else f"names {shorten(unknown)}, no body predicates"
            raise OptionError(f"rates {what}; give one for each of the body predicates, or one number for all.")
        values = row([rates[name] for name in names], "rates")
    elif is_number(rates):
        values = np.full(len(names), float(rates))
    else:
        raise OptionError(f"rates={rates!r} is neither a number nor {{predicate: number}}; give one of the two.")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise OptionError(f"rates={rates!r} holds what is no rate; give finite numbers of at least 0 per unit of time.")
    return values


def chances(values: float | Sequence[float] | Floats, rules: Sequence[Rule], name: str) -> Floats:
    """One chance for each rule, from one number for all or a list."""
    each = np.full(len(rules), float(values)) if is_number(values) else row(values, name)
    if each.size != len(rules) or not ((each >= 0) & (each <= 1)).all():
        raise OptionError(
            f"{name}={values!r} does not give a chance between 0 and 1 for each of the {len(rules)} rules; give one "
            "number for all, or one for each."
        )
    return each


def static_shares(static: Mapping[str, float] | None) -> tuple[tuple[str, ...], Floats]:
    """Names of the static properties and the share of the entities that have each."""
    given = {} if static is None else static
    if not isinstance(given, Mapping) or not all(isinstance(name, str) and name for name in given):
        raise OptionError(f"static={static!r} is not {{property: share of the entities}}; give it in this form.")
    shares = row(list(given.values()), "static")
    if not ((shares >= 0) & (shares <= 1)).all():
        raise OptionError(f"static={static!r} holds what is no share; give numbers between 0 and 1.")
    return tuple(given), shares


def checked_shape(shape: float | None) -> float | None:
    """Shape of the gamma law of the multipliers."""
    if shape is None:
        return None
    if not is_number(shape) or not (np.isfinite(shape) and shape > 0):
        raise OptionError(
            f"heterogeneity={shape!r} is no shape of a gamma law; give a positive number (1 is strong, 10 is weak), or "
            "None where all entities are alike."
        )
    return float(shape)
