"""Description length: the nats it takes to tell one rule of a grammar from all others (design 6).

DL(f) = log(lengths allowed) + log(ways to list that many predicates) + Σ log(relations allowed)
        + log 2 where both signs are allowed + log(kernels tried)

Every rule is spelled by a sequence of free choices, each made evenly among its alternatives, and different rules have
different spellings; therefore Σ_f exp(−DL(f)) ≤ 1 over the grammar, which the union bound behind `worth` needs.

The ways to list c predicates in order are Π (predicates still free) = N!/(N−c)! without repeats and N^c with them;
what is required or a prefix is known beforehand and makes them fewer. Forbidden pairs are not discounted.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from chronorule.errors import GrammarError
from chronorule.rules import order as orders
from chronorule.rules.grammar import Grammar
from chronorule.rules.rule import Rule

PATIENCE = 20_000  # spellings of one partial order looked at before the least so far is taken


def description_length(rule: Rule, grammar: Grammar, kernels: int = 1) -> float:
    """DL(f) of design 6, in nats, for a rule of the grammar and a number of kernels or widths tried."""
    objection = grammar.why_not(rule)
    if objection is not None:
        raise GrammarError(f"{rule} has no description length in this grammar: {objection}")
    common = _common(grammar, rule.length, kernels)
    statics = sum(name in grammar.statics for name in rule.predicates)
    if grammar.partial_orders:
        return common + _partial_order_relations(rule, grammar)
    return common + _chain_relations(grammar, rule.length - statics)


def chain_description_lengths(grammar: Grammar, kernels: int = 1) -> npt.NDArray[np.float64]:
    """DL of every rule of a chain grammar, which depends only on its counts: [length, number of statics in it].

    Shape (longest + 1, longest + 1); infinite where the grammar has no such length or not so many statics.
    """
    if grammar.partial_orders:
        raise GrammarError("In partial orders the description length depends on the order; use description_length.")
    longest = grammar.lengths.stop - 1
    table = np.full((longest + 1, longest + 1), np.inf)
    for length in grammar.lengths:
        common = _common(grammar, length, kernels)
        for statics in range(min(length, len(grammar.static)) + 1):
            table[length, statics] = common + _chain_relations(grammar, length - statics)
    return table


def least_description_lengths(grammar: Grammar, kernels: int = 1) -> npt.NDArray[np.float64]:
    """At most DL of every rule with these counts, for chains exactly: [length, number of statics in it].

    In a partial order without repeats every variable but the first, or those of the prefix, states at least its
    relation to the class listed last, which could be any that the grammar has, or None.
    """
    if not grammar.partial_orders:
        return chain_description_lengths(grammar, kernels)
    longest = grammar.lengths.stop - 1
    step = 0.0 if grammar.repeats else math.log(1 + len(grammar.relations))
    table = np.full((longest + 1, longest + 1), np.inf)
    for length in grammar.lengths:
        for statics in range(min(length, len(grammar.static)) + 1):
            relations = max(0, length - statics - max(1, len(grammar.prefix))) * step
            table[length, statics] = _common(grammar, length, kernels) + relations
    return table


def _common(grammar: Grammar, length: int, kernels: int) -> float:
    if kernels < 1:
        raise GrammarError(f"The number of kernels tried is at least 1, not {kernels}.")
    lists = predicate_lists(grammar, length)
    return math.log(len(grammar.lengths)) + math.log(lists) + math.log(len(grammar.signs)) + math.log(kernels)


def _chain_relations(grammar: Grammar, timed: int) -> float:
    """One relation token per step; the steps inside the prefix are known, and statics take none."""
    return max(0, timed - max(1, len(grammar.prefix))) * math.log(len(grammar.relations))


def predicate_lists(grammar: Grammar, length: int) -> int:
    """Number of sequences of `length` predicates that begin with the prefix and hold all that is required."""
    slots = length - len(grammar.prefix)
    required = [name for name in grammar.required if name not in grammar.prefix]
    required_static = sum(name in grammar.statics for name in required)
    timed, static = len(grammar.timed), len(grammar.static)
    if slots < len(required):
        return 0
    if not grammar.repeats:
        free = timed + static - len(grammar.prefix)
        others = math.perm(free - len(required), slots - len(required))
        return math.perm(slots, len(required)) * others
    required_timed = len(required) - required_static
    total = 0
    for statics in range(required_static, min(static, slots) + 1):
        chosen = math.comb(static - required_static, statics - required_static) * math.perm(slots, statics)
        total += chosen * _covering(timed, slots - statics, required_timed)
    return total


def _covering(alphabet: int, slots: int, required: int) -> int:
    """Sequences over an alphabet in which each of some required letters appears at least once."""
    signed = ((-1) ** left * math.comb(required, left) * (alphabet - left) ** slots for left in range(required + 1))
    return sum(signed)


# --- partial orders ------------------------------------------------------------------------------------------------


def _partial_order_relations(rule: Rule, grammar: Grammar) -> float:
    """Least nats for the relations of a partial order, over the orders in which its variables can be listed in time.

    Each variable in turn states its relation to the classes before it in the list, the latest first: Before, Equal or
    None, as far as the grammar allows and no earlier statement settles it. An Equal variable follows its class at once.
    """
    timed = [element for element, members in enumerate(rule.classes) if members[0] not in grammar.statics]
    classes = tuple(rule.classes[element] for element in timed)
    order = orders.renumber(rule.predecessors, timed)
    names = {name: index for index, name in enumerate(dict.fromkeys(name for members in classes for name in members))}
    repeated = {name for name in names if sum(name in members for members in classes) > 1}
    shape = tuple(tuple(names[name] if name in repeated else -1 for name in members) for members in classes)
    prefix = _prefix_classes(classes, order, grammar.prefix)
    return _relations_of_shape(shape, order, prefix, "before" in grammar.relations, "equal" in grammar.relations)


def _prefix_classes(
    classes: tuple[tuple[str, ...], ...], order: tuple[int, ...], prefix: tuple[str, ...]
) -> tuple[tuple[int, int], ...]:
    """(class, place in the class) of each variable of the prefix: the classes that follow all of it so far."""
    found: list[tuple[int, int]] = []
    earlier = 0
    for name in prefix:
        element = next(one for one, members in enumerate(classes) if order[one] == earlier and name in members)
        found.append((element, classes[element].index(name)))
        earlier |= 1 << element
    return tuple(found)


@lru_cache(maxsize=65536)
def _relations_of_shape(
    shape: tuple[tuple[int, ...], ...],
    order: tuple[int, ...],
    prefix: tuple[tuple[int, int], ...],
    before: bool,
    equal: bool,
) -> float:
    """The same for classes without names: a predicate that occurs once is -1, others are numbered."""
    spelling = _Spelling(shape, order, prefix, before, equal)
    spelling.search([], 0, 0.0)
    return spelling.least


class _Spelling:
    """Depth-first search for the listing of variables whose relations cost least."""

    def __init__(
        self,
        shape: tuple[tuple[int, ...], ...],
        order: tuple[int, ...],
        prefix: tuple[tuple[int, int], ...],
        before: bool,
        equal: bool,
    ) -> None:
        self.shape, self.order, self.prefix = shape, order, prefix
        self.before, self.equal = before, equal
        self.after = orders.successors(order)
        self.least = math.inf
        self.visited = 0

    def search(self, listed: list[int], placed: int, cost: float) -> None:
        if cost >= self.least or (self.visited >= PATIENCE and self.least < math.inf):
            return
        self.visited += 1
        if len(listed) == len(self.shape):
            self.least = cost
            return
        if len(listed) < len(self.prefix):
            element, place = self.prefix[len(listed)]
            joined = self._joins(listed, element, place)
            return self.search([*listed, element], placed | 1 << element, cost + joined)
        twins: set[tuple[tuple[int, ...], int, int]] = set()
        for element, mask in enumerate(self.order):
            if placed >> element & 1 or mask & ~placed:
                continue
            twin = (self.shape[element], mask, self.after[element])
            if twin not in twins:  # classes that nothing tells apart are listed in their own order
                twins.add(twin)
                added = min(
                    self._first(listed, element, place) + self._joins(listed, element, place)
                    for place in self._different(element)
                )
                self.search([*listed, element], placed | 1 << element, cost + added)
        return None

    def _different(self, element: int) -> list[int]:
        """Places of a class that could make a difference when listed first: each repeated predicate, one other."""
        return list({name: place for place, name in enumerate(self.shape[element])}.values())

    def _joins(self, listed: list[int], element: int, first: int) -> float:
        """What the other members of a class say to the first: Equal, where Before and None would be possible too."""
        return (len(self.shape[element]) - 1) * math.log(1 + self.before + self.equal)

    def _first(self, listed: list[int], element: int, place: int) -> float:
        """What the first member of a new class says to the classes listed so far, the latest first."""
        name = self.shape[element][place]
        settled = 0  # classes known to come before
        for earlier in listed:
            if name >= 0 and name in self.shape[earlier]:
                settled |= self.order[earlier] | 1 << earlier
        same_predicate = settled
        open_to_equal = self.equal
        present = sum(1 << one for one in listed)
        cost = 0.0
        for earlier in reversed(listed):
            if settled >> earlier & 1:
                continue
            could_join = (
                open_to_equal and not self.after[earlier] & present and not same_predicate & ~self.order[earlier]
            )
            cost += math.log(1 + self.before + could_join)
            if self.order[element] >> earlier & 1:
                settled |= self.order[earlier] | 1 << earlier
                open_to_equal = False
        return cost
