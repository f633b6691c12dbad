"""Rules as cards: what a rule says, its numbers, what followed its completions, and entities to see it in."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from chronorule.report.charts import (
    DIAMOND,
    aftermath_chart,
    followed_words,
    ratio_axis,
    ratio_chart,
    ratio_scale,
    timeline_chart,
)
from chronorule.report.parts import Record, facts, interval, legend, number, unit_of

POINT = '<svg width="14" height="14" aria-hidden="true"><circle class="{}" cx="7" cy="7" r="{}"/></svg>'
STROKE = '<svg width="22" height="14" aria-hidden="true"><line class="{}" x1="0" y1="7" x2="22" y2="7"/></svg>'
SQUARE = '<svg width="14" height="14" aria-hidden="true"><rect class="{}" width="14" height="14"/></svg>'
JEWEL = f'<svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true"><path class="{{}}" d="{DIAMOND}"/></svg>'


def rules_section(records: Record) -> str:
    """The rules of the model: their rate ratios on one scale, then a card for each."""
    rules = records["rules"]
    if not rules:
        why = (
            "No rule of the grammar passed the tests on this log."
            if records["learning"]["searched"]
            else "The model holds no rule: the base rate alone says when the head happens."
        )
        return f"<p>{why}</p>"
    left_out = len(rules) > records["pictured"]["rules"] and records["entities_shown"]
    more = (
        f'<p class="soft">Entities are pictured for the first {records["pictured"]["rules"]} rules.</p>'
        if left_out
        else ""
    )
    reading = (
        '<p class="soft">Rate ratio of each rule with its 95 % interval: by how much the rate is multiplied while the '
        "rule counts. The line stands at 1, no effect.</p>"
    )
    return reading + _ratios(rules, "rule") + more + "".join(_card(records, rule, "rule") for rule in rules)


def _ratios(rules: Sequence[Record], prefix: str) -> str:
    scale = ratio_scale(rules)
    rows = []
    for rule in rules:
        name = f"{prefix}-{rule['number']}"
        value = f'<strong>×{number(rule["ratio"])}</strong> <span class="soft">{interval(rule)}</span>'
        rows.append(
            f'<li><a class="rule" href="#{name}">{escape(rule["text"])}</a><div>'
            f'{ratio_chart(f"{name}-ratio", rule, scale)}</div><span class="value">{value}</span></li>'
        )
    return f'<ul class="ratios">{"".join(rows)}<li><span class="none"></span><div>{ratio_axis(scale)}</div></li></ul>'


def _card(records: Record, rule: Record, prefix: str) -> str:
    name = f"{prefix}-{rule['number']}"
    kind = "card lead-only" if not rule["admitted"] else "card" if rule["sign"] > 0 else "card lowers"
    badges = [("good" if rule["label"] == "says when" else "care", rule["says"])]
    badges.insert(0, ("", "raises the rate" if rule["sign"] > 0 else "lowers the rate"))
    if rule["given"]:
        badges.append(("", "given beforehand, not searched for"))
    if not rule["admitted"]:
        badges.insert(0, ("care", "not admitted, not certified"))
    told = "".join(f'<span class="badge {colour}">{escape(text)}</span>' for colour, text in badges)
    against = ""
    if rule["objections"]:
        against = f'<p class="against"><strong>Against it:</strong> {escape("; ".join(rule["objections"]))}.</p>'
    title = f'<span class="number">{rule["number"]}</span> <span class="rule">{escape(rule["text"])}</span>'
    words = escape(rule["sentence"]).replace("95 %", "95&nbsp;%")
    brief = not rule["admitted"] and rule["number"] > records["pictured"]["suggestive"]
    halves = f'<div class="halves"><div>{_numbers(records, rule)}</div>{_aftermath(records, rule, name)}</div>'
    return (
        f'<article class="{kind}" id="{name}" aria-labelledby="{name}-h"><h3 id="{name}-h">{title}</h3>'
        f'<div class="badges">{told}</div><p>{words}</p>{against}{_in_brief(rule) if brief else halves}'
        f"{_timelines(records, rule, name)}</article>\n"
    )


def _in_brief(rule: Record) -> str:
    on = rule["while_on"]
    return (
        f'<p class="legend">Gain {_tenths(rule["gain"])} nats. {on["observed"]:,} heads observed while it counts, '
        f"{number(on['expected_without'])} expected without it.</p>"
    )


def _numbers(records: Record, rule: Record) -> str:
    grouped = records["model"]["training"]["grouped"]
    stderr = "" if rule["stderr"] is None else f' <span class="soft">± {number(rule["stderr"])}</span>'
    on = rule["while_on"]
    pairs = [
        ("Weight", f"{number(rule['weight'])}{stderr}"),
        ("Rate ratio", f'×{number(rule["ratio"])} <span class="soft">({interval(rule)})</span>'),
        ("Heads while it counts", _whole(rule["heads"])),
        ("In groups" if grouped else "In entities", _whole(rule["support"])),
        ("Matches", _matches(rule)),
        ("Gain", _tenths(rule["gain"]) + " nats" + _charge(rule)),
        ("Without the rule", f"{number(on['expected_without'])} heads expected, {on['observed']:,} observed"),
        ("Clustered z", _tenths(rule["clustered_z"])),
    ]
    if records["options"].get("honest") or rule["given"]:
        pairs.append(("p-value, one-sided", "–" if rule["p_value"] is None else f"{rule['p_value']:.2g}"))
    if rule["within_gain"] is not None:
        pairs.append(("Gain within", _tenths(rule["within_gain"]) + " nats"))
    return facts(pairs) + f'<p class="soft">{escape(rule["says_meaning"])}</p>'


def _matches(rule: Record) -> str:
    if rule["matches"] is None:
        return "–"
    entities = rule["entities"]
    where = f'<span class="soft">in {entities:,} {"entity" if entities == 1 else "entities"}</span>'
    return f"{rule['matches']:,.0f} {where}" if rule["matches"] < 1e12 else f"{rule['matches']:.2g} {where}"


def _whole(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _tenths(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}".replace("-0.0", "0.0")


def _charge(rule: Record) -> str:
    if not rule["description_length"]:
        return ""
    return f' <span class="soft">(description length {_tenths(rule["description_length"])})</span>'


def _aftermath(records: Record, rule: Record, name: str) -> str:
    if not rule["after"]:
        why = (
            "The rule has no completion in time: it speaks of properties that hold all along."
            if rule["while_on"]["at_risk"]
            else "The rule never completes while the head can happen."
        )
        return f'<p class="soft">{why}</p>'
    head, unit = records["head"]["name"], unit_of(records)
    entries = [
        (SQUARE.format("bar"), "observed, with 95 % interval"),
        (STROKE.format("with"), "expected with the rule"),
        (STROKE.format("without"), "expected without the rule"),
    ]
    if not all(piece["counts"] for piece in rule["after"]):
        entries.insert(1, (SQUARE.format("bar off"), "when it no longer counts"))
    return (
        f"<figure><figcaption><strong>{escape(head)} after completion</strong>, all entities together</figcaption>"
        f"{aftermath_chart(f'{name}-after', rule, head, unit)}{legend(entries)}</figure>"
    )


def _timelines(records: Record, rule: Record, name: str) -> str:
    found = rule["timelines"]
    if not found:
        return ""
    head, unit = records["head"]["name"], unit_of(records)
    figures = []
    for k, line in enumerate(found, start=1):
        group = f" of {escape(line['group'])}" if line["group"] else ""
        exception = "" if line["as_said"] else ' <span class="badge care">an exception</span>'
        told = escape(followed_words(line, head, unit))
        caption = f"Entity <strong>{escape(line['entity'])}</strong>{group}:{exception} {told}"
        picture = timeline_chart(f"{name}-{k}", line, rule, head, unit)
        figures.append(f"<figure><figcaption>{caption}</figcaption>{picture}</figure>")
    entries = [
        (POINT.format("matched", 5), "event of the match"),
        (POINT.format("other", 3.5), "another event of the predicate"),
        (SQUARE.format("on"), "the rule counts"),
        (JEWEL.format("follows"), f"{head} meanwhile"),
        (JEWEL.format("calm"), f"{head} at other times"),
    ]
    marks = [mark for line in found for mark in line["heads"]]
    if any(not mark["at_risk"] for mark in marks):
        entries.append((JEWEL.format("outside"), f"{head} while not at risk, not counted"))
    return (
        f"<h4>Seen in {'one entity' if len(found) == 1 else f'{len(found)} entities'}</h4>"
        '<p class="legend">Examples, not a sample: the first of the log whose picture is clear, and an exception '
        f"where there is one. Across: {escape(unit)} since the start of the period.</p>"
        f'<div class="pictures">{"".join(figures)}</div>{legend(entries)}'
    )


def suggestive_section(records: Record) -> str:
    """The rules that were not admitted, and that this is what they are; nothing where there are none."""
    rules = records["suggestive"]
    if not rules:
        return ""
    full = records["pictured"]["suggestive"]
    more = f" All but the first {full} are shown in brief." if len(rules) > full else ""
    return (
        '<p class="warning">Not admitted, and not certified. These rules come nearest to passing, each weighed as if '
        "it alone were added to the rules above. On data without any rule, some rules would stand here too: take "
        f"them as leads to follow with more data, not as findings.{more}</p>"
        + _ratios(rules, "suggestive")
        + "".join(_card(records, rule, "suggestive") for rule in rules)
    )
