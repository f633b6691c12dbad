"""Partial orders as bit masks, against brute force over assignments of instants."""

from __future__ import annotations

from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from chronorule.rules import order as orders
from reference_rules import rules


@st.composite
def relations(draw: st.DrawFn) -> list[int]:
    count = draw(st.integers(1, 5))
    return [draw(st.integers(0, (1 << count) - 1)) for _ in range(count)]


@given(relations())
def test_close_adds_exactly_what_paths_reach(relation: list[int]) -> None:
    closed = orders.close(relation)
    for target in range(len(relation)):
        reached, frontier = 0, list(orders.bits(relation[target]))
        while frontier:
            here = frontier.pop()
            if not reached >> here & 1:
                reached |= 1 << here
                frontier += orders.bits(relation[here])
        assert closed[target] == reached


@given(relations())
def test_is_cyclic_exactly_when_no_instants_satisfy_the_relation(relation: list[int]) -> None:
    count = len(relation)
    satisfiable = any(
        all(instants[below] < instants[element] for element in range(count) for below in orders.bits(relation[element]))
        for instants in product(range(count), repeat=count)
    )
    assert orders.is_cyclic(orders.close(relation)) is not satisfiable


@given(rules())
def test_reduction_is_the_least_relation_with_the_same_closure(rule) -> None:
    covers = orders.reduction(rule.predecessors)
    assert orders.close(covers) == rule.predecessors
    for element, mask in enumerate(covers):
        for below in orders.bits(mask):
            fewer = [*covers[:element], mask & ~(1 << below), *covers[element + 1 :]]
            assert orders.close(fewer) != rule.predecessors


@given(rules())
def test_successors_read_the_order_backwards(rule) -> None:
    after = orders.successors(rule.predecessors)
    for one, other in combinations(range(len(after)), 2):
        assert after[one] >> other & 1 == rule.predecessors[other] >> one & 1
    assert orders.successors(after) == rule.predecessors


@given(rules())
def test_maximal_elements_have_no_successor(rule) -> None:
    after = orders.successors(rule.predecessors)
    assert orders.maximal(rule.predecessors) == sum(1 << element for element, mask in enumerate(after) if mask == 0)


@given(rules())
def test_down_sets_hold_with_an_element_all_that_precede_it(rule) -> None:
    order = rule.predecessors
    expected = [
        held for held in range(1 << len(order)) if all(order[element] & ~held == 0 for element in orders.bits(held))
    ]
    assert orders.down_sets(order) == expected


def test_topological_takes_the_least_name_that_may_come_next() -> None:
    assert orders.topological((0, 1, 0), ["b", "a", "c"]) == [0, 1, 2]
    assert orders.topological((0, 1, 0), ["c", "a", "b"]) == [2, 0, 1]


def test_renumber_keeps_the_order_under_new_numbers_and_drops_what_is_left_out() -> None:
    assert orders.renumber((0, 1, 3), [0, 1, 2]) == (0, 1, 3)
    assert orders.renumber((0, 1, 3), [0, 2]) == (0, 1)
    assert orders.renumber((2, 0, 0), [2, 1, 0]) == (0, 0, 2)
