"""The sections that follow the rules: heads observed and expected, how rules were found, data, options, words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from chronorule.report.charts import likelihood_chart
from chronorule.report.parts import Record, count, facts, number, table, unit_of
from chronorule.report.words import amount, decimal

MOST_PREDICATES = 20  # rows of the table; the records hold all


def totals_section(records: Record) -> str:
    """Heads observed and expected while each rule counts, all rules in one table."""
    rules = [*(("rule", rule) for rule in records["rules"]), *(("suggestive", rule) for rule in records["suggestive"])]
    if not rules:
        return ""
    rows = []
    for prefix, rule in rules:
        on = rule["while_on"]
        ratio = on["observed"] / on["expected_without"] if on["expected_without"] > 0 else None
        marked = "" if rule["admitted"] else ' <span class="badge care">suggestive</span>'
        rows.append(
            [
                f'<a class="rule" href="#{prefix}-{rule["number"]}">{escape(rule["text"])}</a>{marked}',
                number(on["at_risk"]),
                f"{on['observed']:,}",
                f"{number(on['observed_low'])} to {number(on['observed_high'])}",
                number(on["expected_without"]),
                "–" if ratio is None else f"×{number(ratio)}",
                number(on["expected_with"]),
            ]
        )
    header = ["While the rule counts", f"At risk, {unit_of(records)}", "Observed", "95 % interval", "Expected without",
              "Observed : expected", "Expected with it"]  # fmt: skip
    return (
        "<p>Heads that came while a rule counted, and how many the model expects then: with the factor of the rule "
        "left out, and with it. Weights by maximum likelihood make observed and expected with the rule agree; what "
        "the charts of the cards add is whether they agree at every time since completion.</p>"
        + table("Heads observed and expected while each rule counts", header, rows)
    )


def learning_section(records: Record) -> str:
    """What was proved, and the rounds of learning."""
    learning = records["learning"]
    without, final = learning["log_likelihood_without_rules"], learning["log_likelihood"]
    parts = [_proof(records)]
    rounds = learning["rounds"]
    if not learning["searched"]:
        told = (
            "" if final is None or without is None else f" Log-likelihood {final:,.1f}, without rules {without:,.1f}."
        )
        parts.append(
            "<p>The rules were named by a person and weighed on the log; nothing was searched for." + told + "</p>"
        )
    elif records["edited"]:
        parts.append("<p>Below is how the rules were learned, before a person edited them.</p>")
    if rounds:
        levels = [*([] if without is None else [without]), *(record["log_likelihood"] for record in rounds)]
        names = [*([] if without is None else ["no rules"]), *(f"round {record['number']}" for record in rounds)]
        parts.append(
            "<figure><figcaption><strong>Log-likelihood by round</strong>: each round adds a rule, then drops and "
            "exchanges where that is better</figcaption>"
            f"{likelihood_chart('likelihood', levels, names)}</figure>"
        )
        rows = [
            [
                str(record["number"]),
                _texts(record["added"]),
                _texts(record["dropped"]),
                "<br>".join(f"{_text(old)} became {_text(new)}" for old, new in record["polished"]) or "–",
                f"{record['log_likelihood']:,.1f}",
                str(len(record["rules"])),
                f"{record['certificate']['nodes']:,}",
                "yes" if record["certificate"]["optimal"] else "no",
                number(record["seconds"], 2),
            ]
            for record in rounds
        ]
        header = [
            "Round",
            "Added",
            "Dropped",
            "Exchanged",
            "Log-likelihood",
            "Rules",
            "Nodes searched",
            "Proved",
            "Seconds",
        ]
        parts.append(table("Rounds of learning", header, rows, words=(1, 2, 3), kind="short"))
    return "".join(parts)


def _proof(records: Record) -> str:
    certificate = records["certificate"]
    if certificate is None:
        return ""
    kind = "proof" if certificate["proved"] else "proof open"
    return f'<div class="{kind}">{"".join(f"<p>{escape(text)}</p>" for text in certificate["words"])}</div>'


def _text(key: str) -> str:
    arrowed = key.replace(" <-| ", " ↤ ", 1).replace(" <- ", " ← ", 1)
    return f'<span class="rule">{escape(arrowed)}</span>'


def _texts(keys: Sequence[str]) -> str:
    return "<br>".join(map(_text, keys)) or "–"


def data_section(records: Record) -> str:
    """What is in the log."""
    data = records["data"]
    head, unit = data["head"], unit_of(records)
    outside = head["before_start"] + head["after_stop"] + head["not_at_risk"]
    groups = "" if data["groups"] is None else f" in {count(data['groups'], 'group', 'groups')}"
    ticks = "as given" if data["resolution"] == 0 else f"on ticks of {number(data['resolution'])}"
    origin = "" if data["origin"] is None else f", counted from {escape(data['origin'])}"
    pairs = [
        ("Entities", f"{data['entities']:,}{groups}"),
        ("Events", f"{data['events']:,} of {count(len(data['predicates']), 'predicate', 'predicates')}"),
        ("Times", f"in {escape(unit)}, {ticks}{origin}"),
        (f"{records['head']['name']}", f"{count(head['counted'], 'occurrence counts', 'occurrences count')}, in "
         f"{count(head['entities'], 'entity', 'entities')}"),
        ("Not counted", f"{outside:,} ({head['before_start']:,} before the period, {head['after_stop']:,} after it, "
         f"{head['not_at_risk']:,} while not at risk)" if outside else "none"),
        ("Time at risk", f"{number(head['time_at_risk'])} {escape(unit)}"),
        ("Instants shared", f"{data['tied_events']:,} events at {data['tied_instants']:,} instants"),
    ]  # fmt: skip
    if data["duplicates"]:
        pairs.append(("Duplicates", f"{data['duplicates']:,} of {data['rows']:,} rows dropped"))
    spread = ["min", "5 %", "median", "95 %", "max"]
    spreads = table(
        "Length of the periods and events of an entity",
        ["Of all entities", *spread],
        [
            [f"period length, {escape(unit)}", *(number(data["period_length"][name]) for name in spread)],
            ["events of an entity", *(number(data["events_per_entity"][name]) for name in spread)],
        ],
    )
    shown = data["predicates"][:MOST_PREDICATES]
    rows = [
        [
            escape(p["name"]),
            "static" if p["static"] else f"{p['events']:,}",
            f"{p['entities']:,}",
            f"{100 * p['share']:.1f} %",
        ]
        for p in shown
    ]
    more = len(data["predicates"]) - len(shown)
    rest = f'<p class="soft">and {count(more, "predicate", "predicates")} more, in the records.</p>' if more else ""
    often = table("How often each predicate occurs", ["Predicate", "Events", "Entities", "Share"], rows)
    return facts(pairs, "options") + spreads + often + rest


def options_section(records: Record) -> str:
    """How rules count, how they were learned, and what the fit has to say."""
    model, head = records["model"], records["head"]
    if head["terminal"]:
        recurs = "happens once"
    elif head["reset_by"]:
        recurs = f"cannot happen again until {head['reset_by']}"
        recurs += "" if head["at_risk_from_start"] else ", nor before the first of these"
    else:
        recurs = "may recur at any time"
    cuts = ", ".join(map(decimal, model["cuts"]))
    base = ", ".join("–" if level is None else decimal(math.exp(level)) for level in model["baseline"])
    unit = unit_of(records)
    pairs = [
        ("Head", f"{head['name']}: {recurs}"),
        ("A rule counts", {"exists": "once it has completed", "count": "as often as it has matched"}[model["feature"]]),
        ("How long it counts", f"{model['duration']} ({model['kernel']})"),
        ("Span of a match", "any" if model["span"] is None else f"at most {amount(model['span'], unit)}"),
        ("Base rates of entities", {"gamma": f"spread by a gamma law, variance {decimal(model['variance'])}",
                                    "none": "alike", "entity": "one for each"}[model["heterogeneity"]]),
        ("Base rate by time", f"changes at {cuts} after the start" if cuts else "constant"),
        ("Base rate", f"{base} heads per {unit.removesuffix('s') if unit != 'units of time' else 'unit of time'}"),
        ("Penalty", decimal(model["penalty"])),
    ]  # fmt: skip
    parts = [facts([(name, escape(value)) for name, value in pairs], "options")]
    if records["options"]:
        learner = [(name.replace("_", " "), escape(_option(value))) for name, value in records["options"].items()]
        parts.append(f"<h3>Options of the learner</h3>{facts(learner, 'options')}")
    return "".join(parts)


def _option(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {_option(item)}" for name, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_option, value)) or "none"
    return str(value)


def glossary_section(records: Record) -> str:
    """What the words of the page mean."""
    entries = "".join(
        f"<div><dt>{escape(entry['term'])}</dt><dd>{escape(entry['meaning'])}</dd></div>"
        for entry in records["glossary"]
    )
    return f'<dl class="glossary">{entries}</dl>'
