"""Records are JSON and say what the model says; the page says what the records say, is whole, safe and alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chronorule as cr
from chronorule.errors import DataError, DataWarning, OptionError
from chronorule.events import EventLog, Head
from chronorule.grounding import Feature, window
from chronorule.model import RuleModel
from chronorule.report import report_page, report_records, write_report
from chronorule.report.charts import LONGEST_NAME, shortened, ticks
from chronorule.report.records import PICTURED, plain_values
from reports import Page, any_model, learned, simulated

Y = Head("Y")


@pytest.fixture(scope="module")
def log() -> EventLog:
    names = {f"{k}": f"patient-{k:04}" for k in range(1, 121)}
    plain = simulated(kernel="window(6)")
    return replace(plain, entities=tuple(names[name] for name in plain.entities))


@pytest.fixture(scope="module")
def model(log: EventLog) -> RuleModel:
    feature = Feature(kernel=window(6))
    found = any_model(log, Y, feature, "Y <- A < B", "Y <-| C")
    return learned(found, any_model(log, Y, feature, "Y <- D", "Y <- E < D"))


@pytest.fixture(scope="module")
def records(model: RuleModel, log: EventLog) -> dict[str, Any]:
    return report_records(model, log)


@pytest.fixture(scope="module")
def page(records: dict[str, Any]) -> str:
    return report_page(records)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def test_records_are_json(records: dict[str, Any]) -> None:
    assert {type(leaf) for leaf in leaves(records)} <= {str, int, float, bool, type(None)}
    assert json.loads(json.dumps(records, allow_nan=False)) == records


def test_records_say_what_the_model_says(records: dict[str, Any], model: RuleModel, log: EventLog) -> None:
    for kind, items in (("rules", model.rules), ("suggestive", model.suggestive)):
        assert len(records[kind]) == len(items)
        for record, item in zip(records[kind], items, strict=True):
            told = json.loads(json.dumps(item.to_dict()))
            assert {name: record[name] for name in told} == told  # objections too: not learned with `within`
            assert record["admitted"] == (kind == "rules")
            assert record["while_on"]["observed"] == item.heads
            assert 0 < len(record["timelines"]) <= 4
    assert records["data"] == json.loads(json.dumps(log.describe("Y").to_dict()))
    assert records["learning"]["rounds"] == json.loads(json.dumps([item.to_dict() for item in model.rounds]))
    assert records["options"]["max_length"] == 3
    assert records["certificate"]["optimal"] is True
    assert records["same_log"] is True


def test_what_is_not_known_is_none() -> None:
    assert plain_values({"a": np.float64("nan"), "b": (np.int64(2), np.array([1.0, np.inf]))}) == {
        "a": None,
        "b": [2, [1.0, None]],
    }


def test_page_is_well_formed_and_says_it_all(page: str, records: dict[str, Any]) -> None:
    read = Page(page)
    for rule in [*records["rules"], *records["suggestive"]]:
        assert rule["text"] in read.text
        assert " ".join(rule["sentence"].split()) in read.text
        assert all(objection in read.text for objection in rule["objections"])
        assert all(line["entity"] in read.text for line in rule["timelines"])
    assert all(words in read.text for words in records["certificate"]["words"])
    assert all(entry["meaning"] in read.text for entry in records["glossary"])
    assert "not admitted, not certified" in read.text
    assert all(p["name"] in read.text for p in records["data"]["predicates"])


def test_page_is_drawn_from_the_records_alone(page: str, records: dict[str, Any]) -> None:
    assert report_page(json.loads(json.dumps(records))) == page


def test_page_loads_nothing_and_runs_nothing(page: str) -> None:
    read = Page(page)
    tags = {tag for tag, _ in read.tags}
    assert tags.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "form", "base", "image", "use"})
    assert all(target.startswith("#") for target in read.attributes("href"))
    names = {name for _, attributes in read.tags for name in attributes}
    assert names.isdisjoint({"src", "srcset", "style", "action", "background", "xlink:href"})
    assert not any(name.startswith("on") for name in names)
    assert not re.search(r"https?:|//\w|url\(|@import|javascript:", page)


def test_style_is_allowed_by_its_hash_alone(page: str) -> None:
    import base64
    import hashlib

    style = re.search(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert style
    assert policy
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy[1] == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_links_lead_to_what_is_there_once(page: str) -> None:
    read = Page(page)
    identifiers = read.attributes("id")
    assert len(identifiers) == len(set(identifiers))
    wanted = [target.removeprefix("#") for target in read.attributes("href")]
    wanted += [name for labels in read.attributes("aria-labelledby") for name in labels.split()]
    assert set(wanted) <= set(identifiers)


def test_page_can_be_read_without_eyes(page: str) -> None:
    """Headings go down one level at a time; every picture has a title and a description, or is hidden as ornament."""
    read = Page(page)
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert ("html", {"lang": "en"}) in read.tags
    for tag, attributes in read.tags:
        if tag == "svg" and attributes.get("class") != "at":
            named = attributes.get("role") == "img" and attributes.get("aria-labelledby")
            assert named or attributes.get("aria-hidden") == "true"
    assert all("tabindex" in attributes for _, attributes in read.tags if attributes.get("class") == "scroll")


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_letters_and_marks_stand_out_in_both_palettes(page: str) -> None:
    """WCAG 2.2: 4.5:1 for letters, 3:1 for marks that carry meaning, on every ground that they stand on."""
    palettes = re.findall(r":root \{(.*?)\}", page, flags=re.DOTALL)
    assert len(palettes) == 2
    for palette in palettes:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", palette))

        def contrast(one: str, other: str, colours: dict[str, str] = colours) -> float:
            low, high = sorted((luminance(colours[one]), luminance(colours[other])))
            return (high + 0.05) / (low + 0.05)

        letters = [(text, ground) for text in ("text", "soft", "link") for ground in ("page", "card")]
        letters += [("text", "good-soft"), ("text", "care-soft"), ("good", "good-soft"), ("care", "care-soft"),
                    ("text", "grid"), ("head", "card"), ("head", "mark-soft"), ("text", "mark-soft")]  # fmt: skip
        assert {pair: contrast(*pair) for pair in letters if contrast(*pair) < 4.5} == {}
        marks = [(mark, ground) for mark in ("mark", "head", "other", "axis") for ground in ("card", "mark-soft")]
        marks += [("bar", "card"), ("text", "bar")]
        assert {pair: contrast(*pair) for pair in marks if contrast(*pair) < 3} == {}


EVIL = ['<script>alert("x")</script>', "a&b'c\"", "</style><b>", "<svg/onload=x>", "ünïcödé ☃", "two\nlines"]


def page_of_names(names: list[str], mark: str) -> str:
    """A page on which these predicates, and the mark in every other text that a person may choose, occur."""
    rows = [(k, t + k % 3, names[n]) for k in range(30) for n, t in enumerate((1.0, 3.0, 5.0, 7.0, 8.0, 9.0))]
    log = EventLog.from_columns(
        [f"{mark}{k}" for k, _, _ in rows], [t for _, t, _ in rows], [name for _, _, name in rows],
        periods=(0.0, 12.0), group={f"{mark}{k}": f"{mark}{k // 2}" for k in range(30)}, unit=mark,
    )  # fmt: skip
    rules = [cr.Rule.build(names[2], names[:2], [(0, cr.Relation.BEFORE, 1)]), cr.Rule.build(names[2], [names[3]])]
    model = learned(any_model(log, Head(names[2]), Feature(), *(rule.key for rule in rules)))
    model = replace(model, notes=(mark,), options={mark: mark}, stopped=mark)
    return report_page(report_records(model, log))


def test_names_are_text_wherever_they_stand() -> None:
    text = page_of_names(EVIL, "<i onclick='x'>")
    read, harmless = Page(text), Page(page_of_names(["a", "b", "c", "d", "e", "f"], "i"))
    assert [(tag, set(values)) for tag, values in read.tags] == [(tag, set(values)) for tag, values in harmless.tags]
    for name in [*EVIL[:5], "two lines", "<i onclick='x'>0"]:
        assert name in read.text
    assert text.count("</style>") == 1


def test_without_entities_none_is_named_or_pictured(model: RuleModel, log: EventLog) -> None:
    told = report_records(model, log, entities=False)
    for text in (json.dumps(told), report_page(told)):
        assert "patient-" not in text
    assert all(rule["timelines"] == [] for rule in told["rules"] + told["suggestive"])
    whole = json.dumps(report_records(model, log))
    assert "patient-" in whole  # so that the search above can fail


def test_files_are_whole_or_not_there(model: RuleModel, log: EventLog, tmp_path: Path) -> None:
    written = write_report(model, log, tmp_path / "r.html", records=tmp_path / "r.json")
    assert written == [tmp_path / "r.html", tmp_path / "r.json"]
    assert sorted(tmp_path.iterdir()) == written
    assert report_page(json.loads(written[1].read_text(encoding="utf-8"))) == written[0].read_text(encoding="utf-8")
    assert len(written[0].read_bytes()) < 150_000
    write_report(model, log, tmp_path / "bare.html", entities=False)
    assert "patient-" not in (tmp_path / "bare.html").read_text(encoding="utf-8")
    with pytest.raises(DataError, match=r"cannot be written \(.*\); name a file in a folder that exists"):
        write_report(model, log, tmp_path / "nowhere" / "r.html")
    with pytest.raises(DataError, match="cannot be written"):
        write_report(model, log, tmp_path)


def test_what_no_report_can_be_made_of_is_refused(model: RuleModel, log: EventLog, tmp_path: Path) -> None:
    (tmp_path / "link.html").symlink_to(tmp_path / "r.html")
    for records in (str(tmp_path / "r.html"), tmp_path / "link.html"):
        with pytest.raises(OptionError, match="named for the page and for its records; give each a file of its own"):
            write_report(model, log, tmp_path / "r.html", records=records)
    with pytest.raises(DataError, match="log is of type NoneType, not an EventLog"):
        write_report(model, None, tmp_path / "r.html")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="of type NoneType, not a RuleModel"):
        write_report(None, log, tmp_path / "r.html")  # type: ignore[arg-type]
    assert not (tmp_path / "r.html").exists()


# Odd models and logs


def whole_page(model: RuleModel, log: EventLog) -> Page:
    told = report_records(model, log)
    json.dumps(told, allow_nan=False)
    return Page(report_page(told))


def test_no_rules(log: EventLog) -> None:
    bare = any_model(log, Y, Feature())
    assert "The model holds no rule" in whole_page(bare, log).text
    searched = whole_page(learned(bare), log).text
    assert "No rule of the grammar passed the tests" in searched
    assert "Suggestive rules" not in searched


@pytest.mark.filterwarnings("ignore::chronorule.errors.FitWarning")
def test_no_heads_and_rules_that_never_complete() -> None:
    log = EventLog.from_columns(
        ["a", "a", "b"], [1.0, 2.0, 3.0], ["A", "B", "A"], periods=(0.0, 9.0), predicates=["A", "B", "C", "Y"]
    )
    text = whole_page(any_model(log, Y, Feature(), "Y <- A < B", "Y <- C", "Y <-| A"), log).text
    assert "never completes while the head can happen" in text
    assert "0 occurrences count" in text


@pytest.mark.filterwarnings("ignore::chronorule.errors.FitWarning")
def test_one_entity_and_one_event() -> None:
    log = EventLog.from_columns(["a"], [1.0], ["Y"], periods=(0.0, 2.0), predicates=["A", "Y"])
    assert "When does Y happen?" in whole_page(any_model(log, Y, Feature(), "Y <- A"), log).text
    log = EventLog.from_columns(["a", "a"], [1.0, 2.0], ["A", "Y"], periods=(0.0, 2.0))
    assert "Seen in one entity" in whole_page(any_model(log, Y, Feature(), "Y <- A"), log).text


@pytest.mark.filterwarnings("ignore::chronorule.errors.FitWarning")
def test_a_log_without_exposure() -> None:
    log = EventLog.from_columns(["a", "a"], [1.0, 2.0], ["A", "Y"], periods=(5.0, 5.0))
    assert "When does Y happen?" in whole_page(any_model(log, Y, Feature(), "Y <- A"), log).text


@pytest.mark.parametrize("kernel", ["step", "window(3)", "decay(0.5)"])
@pytest.mark.parametrize("kind", ["exists", "count"])
@pytest.mark.parametrize("heterogeneity", ["gamma", "none", "entity"])
def test_every_kind_of_model(kernel: str, kind: Any, heterogeneity: Any) -> None:
    log = simulated(entities=60, static={"Old": 0.4})
    head = Head("Y", reset_by="D") if kind == "count" and heterogeneity != "entity" else Y
    model = cr.reweigh(
        ["Y <- A < B", "Y <-| C", "Y <- A & Old", "Y <- Old"], log, head, kernel=kernel, feature=kind,
        heterogeneity=heterogeneity, baseline=[5.0, 10.0],
    )  # fmt: skip
    text = whole_page(model, log).text
    assert "speaks of properties that hold all along" in text
    assert "changes at 5, 10 after the start" in text


def test_terminal_heads() -> None:
    log = simulated(entities=60)
    text = whole_page(cr.reweigh("Y <- A < B", log, Head("Y", terminal=True)), log).text
    assert "happens once" in text


def test_heads_that_end_their_own_exposure_leave_open_when_or_who() -> None:
    log = simulated()
    model = cr.reweigh("Y <- A < B", log, Head("Y", reset_by="D"))
    [told] = report_records(model, log)["rules"]
    assert (told["label"], told["says"], told["within_gain"]) == ("not tested", "when or who: not tested", None)
    text = whole_page(model, log).text
    assert "A head that ends its own time at risk" in text
    assert "Gain within" not in text


def test_a_hundred_rules_with_long_names() -> None:
    names = [f"A rather long name of a predicate, the {k}th of its kind" for k in range(15)]
    random = np.random.default_rng(0)
    rows = [(f"e{c}", float(t), names[k]) for c in range(40) for k, t in enumerate(random.uniform(0, 20, 15))]
    rows += [(f"e{c}", 19.0 + c / 100, "Y") for c in range(40)]
    log = EventLog.from_columns([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows], periods=(0.0, 21.0))
    first = any_model(log, Y, Feature(), cr.Rule.build("Y", names[:2], [(0, cr.Relation.BEFORE, 1)]).key)
    many = tuple(
        replace(first.rules[0], rule=cr.Rule.build("Y", [one, other], [(0, cr.Relation.BEFORE, 1)]), weight=0.01)
        for one in names[:10]
        for other in names[5:]
        if one != other
    )
    assert len(many) >= 90
    told = report_records(replace(first, rules=many), log)
    assert [bool(rule["timelines"]) for rule in told["rules"]] == [place < PICTURED for place in range(len(many))]
    page = report_page(told)
    assert f"pictured for the first {PICTURED} rules" in Page(page).text
    assert len(page) < 1_500_000


def test_another_log_than_the_one_that_was_learned_from(model: RuleModel) -> None:
    other = simulated(seed=9, entities=50)
    told = report_records(model, other)
    assert told["same_log"] is False
    assert "The model was weighed on another log (120 entities" in Page(report_page(told)).text


def test_a_log_that_lacks_predicates_of_the_model(model: RuleModel) -> None:
    log = EventLog.from_columns(["a", "a"], [1.0, 2.0], ["A", "Y"], periods=(0.0, 9.0), unit="hours")
    with pytest.warns(DataWarning, match="does not know 'B', 'C', 'D', 'E'"):
        told = report_records(model, log)
    assert len(told["suggestive"]) == 2


def test_default_periods_and_an_early_end_are_said_first(model: RuleModel, log: EventLog) -> None:
    with pytest.warns(DataWarning, match="period"):
        other = EventLog.from_columns(["a", "a", "b", "b"], [1.0, 2.0, 1.0, 3.0], ["A", "Y", "B", "Y"])
    text = whole_page(any_model(other, Y, Feature(), "Y <- A"), other).text
    assert "No observation periods were given" in text
    assert "Learning stopped early, at the time limit" in whole_page(replace(model, stopped="time limit"), log).text


def test_a_model_that_was_edited_since(model: RuleModel, log: EventLog, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    again = cr.load(tmp_path / "model")
    assert report_records(again, log) == report_records(model, log)
    rules = tmp_path / "model" / "rules.toml"
    text = rules.read_text(encoding="utf-8")
    rules.write_text(text.replace("A < B", "A"), encoding="utf-8")
    told = report_records(cr.load(tmp_path / "model"), log)
    assert told["edited"] is True
    assert [rule["label"] for rule in told["rules"]] == ["not fitted", "not fitted"]
    read = Page(report_page(told))
    assert "Edited by hand since it was fitted: " in read.text
    assert "edited since it was learned" in read.text


def test_a_model_learned_within_entities_holds_that_against_others(log: EventLog) -> None:
    """A rule of a property that half of the entities have, all of whose heads it explains, says who and never when."""
    rows = [(f"e{k}", 1.0 + t, "Y") for k in range(40) for t in range(9) if k % 2 or t == 0]
    who = EventLog.from_columns(
        [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows], periods=(0.0, 10.0),
        static={f"e{k}": ["Old"] for k in range(1, 40, 2)},
    )  # fmt: skip
    model = cr.reweigh("Y <- Old", who, heterogeneity="none")
    assert report_records(model, who)["rules"][0]["objections"] == []
    told = report_records(replace(model, options={"within": True}), who)["rules"][0]
    assert told["objections"] == ["marks which entities"]


def test_long_names_are_cut_in_the_middle() -> None:
    assert shortened("HighBUN") == "HighBUN"
    first, second = (shortened(f"a name that is longer than a phone is wide, number {k}") for k in (1, 2))
    assert first != second
    assert len(first) <= LONGEST_NAME
    assert "…" in first


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.0, 10.0, 5) == [0, 2, 4, 6, 8, 10]
    assert ticks(-0.3, 0.31, 6) == pytest.approx([-0.2, 0.0, 0.2])
    assert ticks(3.0, 3.0) == [3.0]


def test_docs_name_every_record(records: dict[str, Any]) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    tables = text.split("| record | what it holds |")[1]
    known = set(cr.reweigh("Y <- A", simulated(entities=20)).rules[0].to_dict())
    added = [name for name in records["rules"][0] if name not in known]
    assert [name for name in [*records, *added] if f"`{name}`" not in tables] == []


def test_rules_that_were_given_to_the_learner_are_marked(model: RuleModel, log: EventLog) -> None:
    given = replace(model, options={"given_rules": [model.rules[1].rule.key, model.suggestive[0].rule.key]})
    told = report_records(given, log)
    assert [rule["given"] for rule in told["rules"] + told["suggestive"]] == [False, True, False, False]
    assert Page(report_page(told)).text.count("given beforehand, not searched for") == 1
