"""Parts, unions and relations of logs, and what describes them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_events as reference
from chronorule.errors import DataError, OptionError
from chronorule.events import EventLog, Head
from chronorule.events.describe import fit, number, width
from chronorule.events.log import LogNotes


@pytest.fixture
def ward() -> EventLog:
    return EventLog.from_columns(
        ["a", "a", "b", "c", "c", "c", "d"],
        [1, 2, 1, 1, 1, 3, 0],
        ["X", "Y", "X", "X", "Y", "Y", "X"],
        periods={"a": (0, 4), "b": (0, 5), "c": (0, 6), "d": (0, 7), "e": (0, 8)},
        static={"a": ["Old"], "c": ["Old", "Ill"]},
        group={"a": "g", "b": "h", "c": "g", "d": "h", "e": "i"},
        unit="hours",
    )


class TestSelect:
    @pytest.mark.parametrize(
        "chosen", [["c", "a"], [2, 0], np.array([2, 0]), np.array(["c", "a"]), np.array(["c", "a"], object)]
    )
    def test_by_name_or_position_in_the_order_given(self, ward: EventLog, chosen: Any) -> None:
        part = ward.select(chosen)
        assert part.entities == ("c", "a")
        assert part.predicates == ward.predicates
        assert reference.events_of(part) == {"c": [(1, "X"), (1, "Y"), (3, "Y")], "a": [(1, "X"), (2, "Y")]}
        assert reference.statics_of(part) == {"c": {"Old", "Ill"}, "a": {"Old"}}
        assert part.stop.tolist() == [6, 4]
        assert part.groups == ("g",)

    def test_by_mask(self, ward: EventLog) -> None:
        part = ward.select(ward.stop > 6)
        assert part.entities == ("d", "e")
        assert part.groups == ("h", "i")
        assert part.group.tolist() == [0, 1]

    def test_all_is_the_log_itself(self, ward: EventLog) -> None:
        assert ward.select(np.arange(5)).equals(ward)

    @pytest.mark.parametrize(
        ("chosen", "message"),
        [
            (["a", "a"], r'selected more than once \("a"\)'),
            ([], "No entity is selected"),
            ([7], "Position 7 is selected, but the log has positions 0 to 4"),
            ([-1], "Position -1"),
            (["q"], 'no entity "q"'),
            ("ab", "One name"),
            ([0.5], "give positions, names, or a mask over the 5 entities"),
            ([True, False], "type bool and shape"),
        ],
    )
    def test_what_cannot_be_selected_is_refused(self, ward: EventLog, chosen: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            ward.select(chosen)


class TestSplit:
    def test_groups_stay_together_and_nothing_is_lost(self, ward: EventLog) -> None:
        train, test = ward.split(test=0.4, seed=3)
        assert set(train.groups) | set(test.groups) == {"g", "h", "i"}
        assert not set(train.groups) & set(test.groups)
        assert len(test.groups) == 1
        again = EventLog.concat([train, test]).select(ward.entities)
        assert reference.events_of(again) == reference.events_of(ward)

    def test_by_entity_without_groups_and_by_seed(self) -> None:
        log = EventLog.from_columns(range(100), range(100), ["X"] * 100, periods=(0, 100))
        parts = [log.split(test=0.3, seed=seed) for seed in (0, 0, 1)]
        assert [test.n_entities for _, test in parts] == [30, 30, 30]
        assert parts[0][1].entities == parts[1][1].entities != parts[2][1].entities
        assert not parts[0][0].has_groups

    @pytest.mark.parametrize("test", [0.0, 1.0, -0.5, float("nan"), "a quarter"])
    def test_shares_that_are_none_are_refused(self, ward: EventLog, test: Any) -> None:
        with pytest.raises(OptionError, match="is no share of the log"):
            ward.split(test=test)

    @pytest.mark.parametrize("seed", [-1, 0.5, "first"])
    def test_seeds_that_are_none_are_refused(self, ward: EventLog, seed: Any) -> None:
        with pytest.raises(OptionError, match="cannot start the drawing; give a whole number of 0 or more"):
            ward.split(seed=seed)

    def test_one_group_cannot_be_split(self, ward: EventLog) -> None:
        with pytest.raises(DataError, match=r'one group \("g"\), which cannot be split'):
            ward.select(["a", "c"]).split()

    def test_both_sides_get_something(self) -> None:
        log = EventLog.from_columns(["a", "b"], [1, 1], ["X", "X"], periods=(0, 1))
        assert [part.n_entities for part in log.split(test=0.01)] == [1, 1]
        assert [part.n_entities for part in log.split(test=0.99)] == [1, 1]


class TestConcat:
    def test_vocabularies_are_united_and_events_sorted_again(self) -> None:
        one = EventLog.from_columns(["a", "a"], [1, 1], ["Y", "Z"], periods=(0, 2), static={"a": ["S"]})
        two = EventLog.from_columns(["b", "b"], [1, 1], ["A", "Z"], periods=(0, 3), static={"b": ["S", "R"]})
        both = EventLog.concat([one, two])
        assert both.predicates == ("S", "Y", "Z", "A", "R")
        assert reference.events_of(both) == {"a": [(1, "Y"), (1, "Z")], "b": [(1, "Z"), (1, "A")]}
        assert reference.statics_of(both) == {"a": {"S"}, "b": {"S", "R"}}
        assert both.statics.tolist() == [True, False, False, False, True]
        assert both.stop.tolist() == [2, 3]

    def test_groups_of_one_name_are_one(self, ward: EventLog) -> None:
        both = EventLog.concat([ward.select(["a", "b"]), ward.select(["c", "e"])])
        assert both.groups == ("g", "h", "i")
        assert both.group.tolist() == [0, 1, 0, 2]

    def test_later_origin_moves_onto_the_earlier(self) -> None:
        def log(name: str, origin: str | None) -> EventLog:
            plain = EventLog.from_columns([name], [5], ["X"], periods=(0, 9), unit="hours", resolution=1.0)
            return replace(plain, notes=LogNotes(origin=origin))

        both = EventLog.concat([log("a", "2020-01-03T00:00:00"), log("b", "2020-01-01T00:00:00")])
        assert both.notes.origin == "2020-01-01T00:00:00"
        assert both.times.tolist() == [53, 5]
        assert both.stop.tolist() == [57, 9]
        assert both.dates([5.0])[0] == np.datetime64("2020-01-01T05:00:00")
        with pytest.raises(DataError, match="counts time from a date and another does not"):
            EventLog.concat([log("a", "2020-01-03T00:00:00"), log("b", None)])
        with pytest.raises(DataError, match="has time zones and another does not"):
            EventLog.concat([log("a", "2020-01-03T00:00:00"), log("b", "2020-01-03T00:00:00+00:00")])

    def test_what_cannot_be_joined_is_refused(self, ward: EventLog) -> None:
        def log(name: str = "z", event: str = "X", **options: Any) -> EventLog:
            return EventLog.from_columns([name], [1], [event], periods=(0, 2), **options)

        for alone in (ward, 3):
            with pytest.raises(DataError, match=r"concat joins a list of logs, but .*; write concat\(\[one, other\]\)"):
                EventLog.concat(alone)  # type: ignore[arg-type]
        with pytest.raises(DataError, match="What concat is to join is of type NoneType, not an EventLog; read_events"):
            EventLog.concat([ward, None])  # type: ignore[list-item]
        with pytest.raises(DataError, match="no log to join"):
            EventLog.concat([])
        with pytest.raises(DataError, match=r"unit or resolution \(time, 0 and hours, 0\)"):
            EventLog.concat([log(), ward])
        with pytest.raises(DataError, match="differ in unit or resolution"):
            EventLog.concat([log(), log("y", resolution=1.0)])
        with pytest.raises(DataError, match=r'1 entity is in more than one log \("z"\)'):
            EventLog.concat([log(), log()])
        with pytest.raises(DataError, match="has groups and another has none"):
            EventLog.concat([log(unit="hours"), ward])
        with pytest.raises(DataError, match='"S" is static in one log'):
            EventLog.concat([log(static={"z": ["S"]}), log("y", "S")])


class TestRelate:
    def test_neighbours_events_and_statics_become_predicates(self, ward: EventLog) -> None:
        log = ward.relate("friend", [("b", "a"), ("b", "c"), ("a", "c"), ("b", "a")])
        assert log.predicates == (*ward.predicates, *(f"friend:{name}" for name in ward.predicates))
        events = reference.events_of(log)
        assert events["b"] == [(1, "X"), (1, "friend:X"), (1, "friend:Y"), (2, "friend:Y"), (3, "friend:Y")]
        assert events["c"] == reference.events_of(ward)["c"]
        assert reference.statics_of(log) == {
            "a": {"Old", "friend:Old", "friend:Ill"},
            "b": {"friend:Old", "friend:Ill"},
            "c": {"Old", "Ill"},
            "d": set(),
            "e": set(),
        }
        assert log.is_static(log.code("friend:Ill"))
        np.testing.assert_array_equal(log.stop, ward.stop)

    @pytest.mark.parametrize(
        "edges",
        [
            [("a", "b"), ("c", "d")],
            (("a", "b"), ("c", "d")),
            np.array([["a", "b"], ["c", "d"]]),
            (["a", "c"], ["b", "d"]),
            (np.array(["a", "c"]), np.array(["b", "d"])),
            {"entity": ["a", "c"], "neighbour": ["b", "d"]},
            pa.table({"entity": ["a", "c"], "neighbour": ["b", "d"]}),
            iter([("a", "b"), ("c", "d")]),
        ],
    )
    def test_edges_come_in_many_forms(self, ward: EventLog, edges: Any) -> None:
        assert ward.relate("near", edges).equals(ward.relate("near", [["a", "b"], ["c", "d"]]))

    @pytest.mark.parametrize("form", ["pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame", "duckdb"])
    @pytest.mark.parametrize(
        "columns",
        [
            {"from": ["a", "c"], "to": ["b", "d"]},
            {"neighbour": ["b", "d"], "entity": ["a", "c"]},
            {"neighbour": ["b", "d"], "patient": ["a", "c"]},
            {"friend": ["b", "d"], "entity": ["a", "c"]},
            {"since": [1, 2], "neighbour": ["b", "d"], "entity": ["a", "c"]},
        ],
    )
    def test_columns_of_a_table_go_by_their_names(self, ward: EventLog, form: str, columns: dict[str, Any]) -> None:
        library, _, kind = form.partition(".")
        module = pytest.importorskip(library)
        expected = ward.relate("near", [("a", "b"), ("c", "d")])
        assert ward.relate("near", columns).equals(expected)
        if kind:
            assert ward.relate("near", getattr(module, kind)(columns)).equals(expected)
            return
        with module.connect() as connection:
            assert ward.relate("near", connection.from_arrow(pa.table(columns))).equals(expected)

    def test_no_edges_add_empty_predicates(self, ward: EventLog) -> None:
        log = ward.relate("friend", [])
        assert log.n_predicates == 2 * ward.n_predicates
        assert log.n_events == ward.n_events
        assert ward.relate("friend", np.empty((0, 2))).equals(log)

    @given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] != pair[1])))
    def test_each_entity_gets_just_its_neighbours(self, edges: set[tuple[int, int]]) -> None:
        log = EventLog.from_columns(
            [0, 1, 1, 2, 4], [1, 1, 2, 1, 5], list("XYXXY"), periods={str(c): (0, 9) for c in range(5)}
        )
        own = reference.events_of(log)
        related = reference.events_of(log.relate("n", sorted(edges)))
        for c in range(5):
            expected = set(own[str(c)]) | {(t, f"n:{p}") for a, b in edges if a == c for t, p in own[str(b)]}
            assert set(related[str(c)]) == expected
            assert len(related[str(c)]) == len(expected)

    @pytest.mark.parametrize(
        ("edges", "message"),
        [
            ([("a", "q"), ("r", "a")], r'"friend" names 2 entities which the log lacks \("r", "q"\)'),
            ([("a", "a")], 'joins an entity to itself, first "a"'),
            ([("a", "b", "c")], "no table of two columns"),
            (3, "no table of two columns"),
            ("ab.csv", r'"friend" stand in a table that must be read first; pass what chronorule.read_edges makes'),
            (Path("ab.csv"), "read_edges"),
            (pa.RecordBatchReader.from_batches(pa.schema([]), []), "read_edges"),
            (
                {"entity": ["a"]},
                r'which of its columns is the entity .* \(it has "entity"\); name these two entity and',
            ),
            ({}, "it has none"),
            ({"entity": ["a"], "b": ["b"], 3: ["c"]}, 'it has "entity", "b", "3"'),
            ({"entity": ["a"], "neighbour": [None]}, "1 row of the friend neighbour column has no usable name"),
            ((["a"], ["b", "c"]), "differ in length"),
        ],
    )
    def test_edges_that_cannot_be_are_refused(self, ward: EventLog, edges: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            ward.relate("friend", edges)

    def test_names_that_cannot_be_are_refused(self, ward: EventLog) -> None:
        with pytest.raises(DataError, match="give it a name"):
            ward.relate("", [])
        clash = EventLog.from_columns(["a", "a"], [1, 2], ["X", "f:X"], periods=(0, 3))
        with pytest.raises(DataError, match=r'already has predicates of this name \("f:X"\)'):
            clash.relate("f", [])


class TestDescribe:
    def test_data_first(self, ward: EventLog) -> None:
        described = ward.describe(Head("Y", terminal=True))
        assert described.entities == 5
        assert described.entities_without_events == 1
        assert described.groups == 3
        assert (described.events, described.rows, described.duplicates) == (7, 7, 0)
        assert (described.tied_instants, described.tied_events) == (1, 2)
        assert (described.events_up_to_start, described.events_after_stop) == (1, 0)
        assert described.period_length["median"] == 6
        assert described.events_per_entity["max"] == 3
        assert [(p.name, p.static, p.events, p.entities) for p in described.predicates] == [
            ("X", False, 4, 4),
            ("Y", False, 3, 2),
            ("Old", True, 0, 2),
            ("Ill", True, 0, 1),
        ]
        assert described.predicates[0].share == 0.8
        assert described.head is not None
        assert (described.head.counted, described.head.not_at_risk, described.head.time_at_risk) == (2, 1, 23)
        assert json.loads(json.dumps(described.to_dict()))["head"]["name"] == "Y"

    def test_text_for_a_person(self, ward: EventLog) -> None:
        text = str(ward.describe("Y"))
        assert text.splitlines()[0] == "5 entities in 3 groups, 7 events, 4 predicates (2 of them static)"
        assert "ties: 2 events at 1 shared instant" in text
        assert "3 that count, in 2 entities" in text
        assert max(map(width, text.splitlines())) <= 80

    def test_what_was_done_to_the_data_is_said(self) -> None:
        with pytest.warns(UserWarning, match="No observation periods"):
            log = EventLog.from_columns(["a"] * 3, [1, 1, 2], ["X"] * 3)
        text = str(log.describe())
        assert "duplicates: 1 row of 3 dropped" in text
        assert "periods: none given" in text
        outside = str(log.with_periods((1.5, 1.75)).describe("X"))
        assert "history: 1 event at or before" in outside
        assert "after the period: 1 event" in outside
        assert "outside exposure, not counted: 1 before the period, 1 after it" in outside

    @pytest.mark.parametrize("count", [3, 500])
    def test_fits_eighty_columns(self, count: int) -> None:
        names = [f"{'very long predicate name 中文 ' * 4}{i}\n" for i in range(count)]
        log = EventLog.from_columns(
            ["a"] * count, np.arange(count) * 1e7, names, periods=(0, 1e12), unit="nanoseconds of a slow clock" * 3
        )
        lines = str(log.describe(names[0])).splitlines()
        assert max(map(width, lines)) <= 80
        assert len(lines) < 45
        assert any(line == "… and 480 more" for line in lines) == (count == 500)

    def test_a_log_without_events_can_be_described(self) -> None:
        log = EventLog.from_columns([], [], [], periods={"a": (0, 1)})
        assert "1 entity, 0 events, 0 predicates" in str(log.describe())

    @pytest.mark.parametrize(
        ("value", "text"),
        [(0, "0"), (12, "12"), (1234.56, "1,235"), (0.03389, "0.03389"), (2e-5, "2.000e-05"), (5e12, "5.000e+12")],
    )
    def test_numbers_are_short(self, value: float, text: str) -> None:
        assert number(value) == text

    def test_cut_texts_say_so(self) -> None:
        assert fit("abcdef", 4) == "abc…"
        assert fit("中文中文", 5) == "中文…"
        assert fit("a\nb", 4) == "a b"
        assert fit("e\u0301" * 3, 3) == "e\u0301" * 3
        assert fit("e\u0301" * 4, 3) == "e\u0301" * 2 + "…"

    def test_a_name_without_end_is_cut_without_reading_it_again_for_each_letter(self) -> None:
        assert fit("x" * 2_000_000, 4) == "xxx…"

    @given(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2)), max_size=60),
        st.integers(0, 3),
        st.integers(3, 6),
    )
    def test_counts_equal_those_of_plain_sets(self, rows: list[tuple[int, int, int]], start: int, stop: int) -> None:
        events = {(f"e{entity}", float(time), "XYZ"[name]) for entity, time, name in rows}
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        log = EventLog.from_columns(
            [f"e{entity}" for entity in columns[0]],
            columns[1],
            ["XYZ"[name] for name in columns[2]],
            periods={f"e{entity}": (start, stop) for entity in range(4)},
            predicates=["Z", "Y", "X"],
        )
        described = log.describe()
        together = Counter((entity, time) for entity, time, _ in events)
        assert described.tied_instants == sum(count > 1 for count in together.values())
        assert described.tied_events == sum(count for count in together.values() if count > 1)
        assert described.events_up_to_start == sum(time <= start for _, time, _ in events)
        assert described.events_after_stop == sum(time > stop for _, time, _ in events)
        for predicate in described.predicates:
            having = [entity for entity, _, name in events if name == predicate.name]
            assert (predicate.events, predicate.entities) == (len(having), len(set(having)))
