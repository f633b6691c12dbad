"""Small parts of the page: lists of facts, tables, legends, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from chronorule.report.words import decimal

Record = Mapping[str, Any]


def facts(pairs: Iterable[tuple[str, str]], kind: str = "facts") -> str:
    """A list of names and values; values are HTML."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in pairs)
    return f'<dl class="{kind}">{rows}</dl>'


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (), kind: str = ""
) -> str:
    """A table that scrolls by itself where it is too wide; cells are HTML, columns `words` hold text."""
    kinds = [' class="words"' if k in words else "" for k in range(len(header))]
    top = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(header, kinds, strict=True))
    lines = []
    for row in rows:
        first, *others = row
        cells = "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(others, kinds[1:], strict=True))
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return (
        f'<section class="scroll" tabindex="0" aria-label="{escape(caption)}"><table class="{kind}">'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table></section>"
    )


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """What the marks of a chart mean: (mark as HTML, words)."""
    return f'<ul class="legend">{"".join(f"<li>{mark}{escape(text)}</li>" for mark, text in entries)}</ul>'


def number(value: float | None, digits: int = 3) -> str:
    """A number for people; what is not known is a dash."""
    return "–" if value is None else decimal(value, digits)


def count(value: int, one: str, many: str) -> str:
    """1 event, 2 events."""
    return f"{value:,} {one if value == 1 else many}"


def unit_of(records: Record) -> str:
    """In what times are counted."""
    return "units of time" if records["unit"] == "time" else str(records["unit"])


def interval(rule: Record) -> str:
    """The 95 % interval of a rule's rate ratio."""
    if rule["stderr"] is None or rule["ratio_low"] is None:
        return "no interval"
    return f"{number(rule['ratio_low'])} to {number(rule['ratio_high'])}"
