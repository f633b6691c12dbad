"""The paper's synthetic suite: six groups of three rules, five sizes of library (design 11)."""

from __future__ import annotations

import string
from typing import Literal

from chronorule.errors import OptionError
from chronorule.rules import Rule, parse_rule
from chronorule.simulate.options import checked_count, is_whole
from chronorule.simulate.simulation import simulate
from chronorule.simulate.truth import Simulated

GROUPS: dict[int, tuple[str, str, str]] = {
    1: ("A<B<C<D<E<F", "C<B<F<D<E<G", "C<B<G<D<E<H"),
    2: ("A<B<C<D<E<F=G", "C<B<F<D<E<G=H", "C<B<A<D<E<H=G"),
    3: ("A<B<C<D<E<F=G=H", "C<B<F<D<E<G=H=A", "C<B<A<D<E<H=G=F"),
    4: ("A<B<C<D<E<F", "A<B<C<D<E<G", "A<B<C<D<E<H"),
    5: ("A<B<C<D<E<F=G", "A<B<C<D<E<F=H", "A<B<C<D<E<F<H"),
    6: ("A<B<C<D<E<F=G=H", "A<B<C<D<E<F=G<H", "A<B<C<D<E<F=H<G"),
}
LIBRARIES = (8, 12, 16, 20, 24)
SEQUENCES = (500, 1000, 2000)
WEIGHTS = {"exists": (1.2, 1.0, 0.8), "count": (0.3, 0.25, 0.2)}
RATES = {"exists": 0.05, "count": 0.02}
MOST_RISE = 4.0  # of the log-rate over its base, where matches are counted


def truth_rules(group: int) -> tuple[Rule, Rule, Rule]:
    """The three rules of a group of the suite, with head Y."""
    if not is_whole(group, 1) or group not in GROUPS:
        raise OptionError(f"The suite has no group {group!r}; choose one of {', '.join(map(str, GROUPS))}.")
    one, two, three = (parse_rule(f"Y <- {body}") for body in GROUPS[group])
    return one, two, three


def paper_suite(
    group: int = 1,
    predicates: int = 20,
    sequences: int = 1000,
    seed: int = 0,
    feature: Literal["exists", "count"] = "exists",
) -> Simulated:
    """One case of the suite: predicates A, B, … on a grid of 0.1 over (0, 20], head Y drawn exactly.

    An entity gets each rule's body with chance 0.2, and a decoy of it with chance 0.3. The paper's libraries have 8,
    12, 16, 20 and 24 predicates; any size from 8 to 24 can be had. Cases are drawn independently of each other: change
    any argument and all is new.
    """
    rules = truth_rules(group)
    least, most = LIBRARIES[0], LIBRARIES[-1]
    if not is_whole(predicates, least) or predicates > most:
        raise OptionError(
            f"predicates={predicates!r} is no library of the suite; give {least}, which the rules use, to {most}."
        )
    if feature not in WEIGHTS:
        raise OptionError(f"The feature {feature!r} is neither 'exists' nor 'count'; choose one of the two.")
    if not is_whole(seed, 0):
        raise OptionError(f"seed={seed!r} starts no random numbers; give a whole number of at least 0.")
    count = checked_count(sequences, "sequences")
    return simulate(
        rules,
        WEIGHTS[feature],
        base=-2.5,
        predicates=tuple(string.ascii_uppercase[:predicates]),
        entities=count,
        horizon=20.0,
        grid=0.1,
        rates=RATES[feature],
        planted=0.2,
        decoys=0.3,
        redraw_above=MOST_RISE if feature == "count" else None,
        feature=feature,
        seed=(seed, group, predicates, count, list(WEIGHTS).index(feature)),
    )
