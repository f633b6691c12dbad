"""The page of a report: one file of HTML drawn from the records alone, without scripts and without anything to load."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files

from chronorule.report.cards import rules_section, suggestive_section
from chronorule.report.parts import Record, count
from chronorule.report.sections import (
    data_section,
    glossary_section,
    learning_section,
    options_section,
    totals_section,
)


def report_page(records: Record) -> str:
    """The whole page."""
    style = files("chronorule.report").joinpath("style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    head = records["head"]["name"]
    sections = [
        ("rules", "Rules", rules_section(records)),
        ("learning", "How the rules were found", learning_section(records)),
        ("suggestive", "Suggestive rules", suggestive_section(records)),
        ("expected", "Observed and expected", totals_section(records)),
        ("data", "Data", data_section(records)),
        ("options", "Options", options_section(records)),
        ("glossary", "Words", glossary_section(records)),
    ]
    sections = [section for section in sections if section[2]]
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in sections)
    body = "".join(f'<section id="{name}" aria-labelledby="{name}-h"><h2 id="{name}-h">{title}</h2>{text}</section>\n'
                   for name, title, text in sections)  # fmt: skip
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(head)}: chronorule report</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the rules</a>\n'
        f'<header>{_title(records)}<nav aria-label="Sections"><ul>{links}</ul></nav></header>\n'
        f'<main id="main">\n{body}</main>\n'
        f"<footer>Made by chronorule {escape(records['chronorule'])}. The page holds all that it shows and loads "
        "nothing.</footer>\n</body>\n</html>\n"
    )


def _title(records: Record) -> str:
    head, data, learning = records["head"]["name"], records["data"], records["learning"]
    counted = data["head"]
    certificate, leads = records["certificate"], len(records["suggestive"])
    final, without = learning["log_likelihood"], learning["log_likelihood_without_rules"]
    gained = "–" if final is None or without is None else f"{final - without:+,.1f}"
    if certificate is None:
        proof = ("none", "edited since it was learned" if learning["searched"] else "rules named, not searched for")
    elif certificate["proved"]:
        proof = ("complete", "no rule of the grammar does better")
    else:
        proof = ("incomplete", "a better rule is not ruled out")
    tiles = [
        (
            "Rules",
            f"{len(records['rules'])}",
            f"{count(leads, 'more is', 'more are')} suggestive" if leads else "",
        ),
        (
            "Occurrences",
            f"{counted['counted']:,}",
            f"of {escape(head)}, in {count(counted['entities'], 'entity', 'entities')}",
        ),
        ("Watched", f"{data['entities']:,}", "entities, " + count(data["events"], "event", "events")),
        ("Log-likelihood", gained, "nats gained by the rules"),
        ("Proof", *proof),
    ]
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}<small>{more}</small></dd></div>" for name, value, more in tiles)
    told = _warnings(records)
    listed = "".join(f"<li>{escape(note)}</li>" for note in told)
    notes = f'<aside class="warning" aria-label="Keep in mind"><ul>{listed}</ul></aside>' if told else ""
    return (
        f'<h1>When does {escape(head)} happen?</h1><p class="lead">{escape(records["overview"])}</p>'
        f'<dl class="tiles">{cells}</dl>{notes}'
    )


def _warnings(records: Record) -> list[str]:
    """What a reader has to know before anything else."""
    found = []
    if records["learning"]["stopped"]:
        found.append(f"Learning {records['learning']['stopped_words']}.")
    if not records["same_log"]:
        seen = records["model"]["training"]
        half = "one half of the groups" if records["options"].get("honest") else "another log"
        found.append(
            f"The model was weighed on {half} ({count(seen['entities'], 'entity', 'entities')}, "
            f"{count(seen['heads'], 'head', 'heads')}): weights, intervals, gains and support come from there; "
            "pictures, and heads observed and expected, from the log described below."
        )
    if records["data"]["periods_by_default"]:
        found.append(
            "No observation periods were given: each entity counts as watched from its first event to its last, which "
            "biases rates."
        )
    return found + [f"{note[:1].upper()}{note[1:]}" for note in records["notes"]]
