"""Charts of a report as inline SVG.

Written by hand, so that they are as wide as the screen (places across are shares of the width, sizes of letters and
marks are not), take their colours from the page's style in light and dark, and need no library: the classes are those
of `style.css`. Every chart has a title and a description for who cannot see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from chronorule.report.words import amount, decimal

Record = Mapping[str, Any]

LEFT, RIGHT = 9.0, 99.0  # per cent of the width between which a chart with an axis is drawn
LANE = 27  # height of a lane of a timeline
DIAMOND = "M0-6L6 0L0 6L-6 0z"
MOST_LABELS = 7
LONGEST_NAME = 36  # letters of a lane's name


def place(value: float) -> str:
    """A coordinate: as few letters as it takes."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from `low` to `high`."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def chart(identifier: str, height: float, title: str, description: str, parts: Iterable[str], kind: str = "") -> str:
    """An SVG as wide as its place, with words for who cannot see it."""
    return (
        f'<svg class="chart {kind}" role="img" aria-labelledby="{identifier}-t {identifier}-d" '
        f'width="100%" height="{place(height)}">'
        f'<title id="{identifier}-t">{escape(title)}</title><desc id="{identifier}-d">{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line; across in per cent, down in pixels."""
    return f'<line class="{kind}" x1="{place(x1)}%" y1="{place(y1)}" x2="{place(x2)}%" y2="{place(y2)}"/>'


def box(kind: str, x: float, y: float, width: float, height: float, extra: str = "") -> str:
    """A rectangle; across in per cent, down in pixels."""
    return (
        f'<rect class="{kind}" x="{place(x)}%" y="{place(y)}" width="{place(max(width, 0))}%" '
        f'height="{place(max(height, 0))}"{extra}/>'
    )


def label(kind: str, x: float, y: float, text: str, words: str = "") -> str:
    """A piece of text; the class says how it is anchored. With words for a pointer that rests on it."""
    told = f"<title>{escape(words)}</title>" if words else ""
    return f'<text class="{kind}" x="{place(x)}%" y="{place(y)}">{escape(text)}{told}</text>'


def shortened(name: str) -> str:
    """A name that fits the width of a phone: without its middle where it is long, since names often end unlike."""
    room = LONGEST_NAME - 1
    return name if len(name) <= LONGEST_NAME else f"{name[: room - room // 3].rstrip()}…{name[-(room // 3) :].lstrip()}"


def name_label(kind: str, y: float, name: str, more: str) -> str:
    """The name of a lane, at its left; a long one is told in full to a pointer."""
    short = shortened(name)
    return label(kind, 0, y, short + more, name if short != name else "")


def dot(kind: str, x: float, y: float, radius: float, words: str = "") -> str:
    """A circle, with words for a pointer that rests on it."""
    told = f"<title>{escape(words)}</title>" if words else ""
    return f'<circle class="{kind}" cx="{place(x)}%" cy="{place(y)}" r="{place(radius)}">{told}</circle>'


def diamond(kind: str, x: float, y: float, words: str = "") -> str:
    """A diamond, which stands for a head."""
    told = f"<title>{escape(words)}</title>" if words else ""
    return f'<svg class="at" x="{place(x)}%" y="{place(y)}"><path class="{kind}" d="{DIAMOND}">{told}</path></svg>'


# ---- rate ratios of all rules on one scale


def ratio_scale(rules: Sequence[Record]) -> tuple[float, float]:
    """Ends of the scale of rate ratios, in logarithms: 1 and all that is known belong to it, up to a thousand."""
    known = [rule[name] for rule in rules for name in ("ratio", "ratio_low", "ratio_high") if rule[name]]
    logs = [min(max(math.log(value), math.log(1e-3)), math.log(1e3)) for value in known]
    low, high = min([-0.5, *logs]), max([0.5, *logs])  # half to double at the least, so that small effects look small
    spare = max(0.05 * (high - low), 0.1)
    return low - spare, high + spare


def ratio_chart(identifier: str, rule: Record, scale: tuple[float, float]) -> str:
    """The rate ratio of one rule with its interval; a vertical line stands at 1."""
    low, high = scale

    def across(ratio: float) -> float:
        return 100 * (min(max(math.log(ratio), low), high) - low) / (high - low)

    ratio = rule["ratio"] or math.exp(low)
    words = f"Rate ratio {decimal(ratio)}"
    parts = [line("axis", across(1.0), 0, across(1.0), 26)]
    if rule["ratio_low"] is not None and rule["ratio_high"] is not None and rule["stderr"] is not None:
        words += f", 95 % interval {decimal(rule['ratio_low'])} to {decimal(rule['ratio_high'])}"
        begin, end = across(max(rule["ratio_low"], 1e-300)), across(rule["ratio_high"])
        parts.append(line("interval", begin, 13, end, 13))
    else:
        words += ", no interval"
    parts.append(dot("point", across(ratio), 13, 5))
    return chart(identifier, 26, f"Rate ratio of rule {rule['number']}", f"{words}. 1 is no effect.", parts)


def ratio_axis(scale: tuple[float, float]) -> str:
    """The scale below rate ratios; said in words by every chart, so hidden from who listens."""
    low, high = scale
    marks = [
        digit * 10.0**power
        for power in range(-3, 4)
        for digit in ((1, 2, 5) if high - low < 4.6 else (1,))
        if low <= math.log(digit * 10.0**power) <= high
    ]
    parts = [
        label("tick middle", 100 * (math.log(mark) - low) / (high - low), 12, f"×{decimal(mark)}") for mark in marks
    ]
    return f'<svg class="chart" aria-hidden="true" width="100%" height="16">{"".join(parts)}</svg>'


# ---- observed and expected heads by the time since completion


def aftermath_chart(identifier: str, rule: Record, head: str, unit: str) -> str:
    """Bars of observed heads with intervals, the model's expectation, and that without the rule."""
    bins = rule["after"]
    height, top, bottom = 190.0, 12.0, 158.0
    most: float = max(
        [1.0, *(b["observed_high"] for b in bins), *(max(b["expected_with"], b["expected_without"]) for b in bins)]
    )
    grid = ticks(0.0, most, 4)

    def down(value: float) -> float:
        return bottom - (bottom - top) * value / most

    open_ended = bins[-1]["stop"] is None
    column = (RIGHT - LEFT) / (len(bins) + (0.4 if open_ended else 0.0))
    parts = []
    for value in grid:
        parts += [
            line("grid", LEFT, down(value), RIGHT, down(value)),
            label("tick end", LEFT - 1, down(value) + 4, decimal(value)),
        ]
    every = math.ceil(len(bins) / MOST_LABELS)
    told = []
    for k, piece in enumerate(bins):
        x = LEFT + column * (k + (0.4 if piece["stop"] is None else 0.0))
        middle = x + column / 2
        kind = "bar" if piece["counts"] else "bar off"
        parts.append(
            box(kind, x + 0.12 * column, down(piece["observed"]), 0.76 * column, bottom - down(piece["observed"]))
        )
        parts.append(line("whisker", middle, down(piece["observed_low"]), middle, down(piece["observed_high"])))
        if piece["counts"]:
            parts.append(line("with", x, down(piece["expected_with"]), x + column, down(piece["expected_with"])))
        parts.append(line("without", x, down(piece["expected_without"]), x + column, down(piece["expected_without"])))
        if piece["stop"] is None:
            parts.append(label("tick middle", middle, bottom + 15, "later"))
        elif k % every == 0:
            parts.append(label("tick middle", x, bottom + 15, decimal(piece["start"])))
        if piece["stop"] is not None and k + 1 == len(bins) - open_ended and (k + 1) % every == 0:
            parts.append(
                label("tick middle" if open_ended else "tick end", x + column, bottom + 15, decimal(piece["stop"]))
            )
        until = "later" if piece["stop"] is None else f"to {decimal(piece['stop'])}"
        told.append(
            f"{decimal(piece['start'])} {until}: {piece['observed']} observed, {decimal(piece['expected_with'])} "
            f"expected, {decimal(piece['expected_without'])} without the rule"
        )
    parts += [
        line("axis", LEFT, bottom, RIGHT, bottom),
        label("tick middle", 54, bottom + 30, f"{unit} since completion"),
    ]
    title = f"{head} after completion of rule {rule['number']}, observed and expected"
    return chart(identifier, height, title, f"By {unit} since completion. {'; '.join(told)}.", parts)


# ---- the log-likelihood by round


def likelihood_chart(identifier: str, levels: Sequence[float], names: Sequence[str]) -> str:
    """The log-likelihood without rules and after each round, from left to right."""
    height, top, bottom = 170.0, 26.0, 130.0
    low, high = min(levels), max(levels)
    room = (high - low) or 1.0
    step = (RIGHT - LEFT) / max(len(levels) - 1, 1) * 0.88

    def at(k: int) -> tuple[float, float]:
        return LEFT + step * k, bottom - (bottom - top) * (levels[k] - low) / room

    parts = [line("axis", LEFT - 4, bottom + 14, RIGHT, bottom + 14)]
    every = math.ceil(len(levels) / MOST_LABELS)
    for k in range(1, len(levels)):
        parts.append(line("path", *at(k - 1), *at(k)))
    for k, value in enumerate(levels):
        x, y = at(k)
        parts.append(dot("point", x, y, 4, f"{names[k]}: {value:,.1f}"))
        if k % every == 0 or k == len(levels) - 1:
            parts.append(label("tick middle", x, bottom + 30, names[k]))
        if k in (0, len(levels) - 1):
            parts.append(label("tick middle", x, y - 10, f"{value:,.1f}"))
    told = "; ".join(f"{name}: {value:,.1f}" for name, value in zip(names, levels, strict=True))
    return chart(identifier, height, "Log-likelihood by round", f"{told}.", parts)


# ---- what happened in one entity


def timeline_chart(identifier: str, found: Record, rule: Record, head: str, unit: str) -> str:
    """One entity: a lane for each predicate of the rule and one for the head; shaded while the rule counts."""
    begin, end = float(found["start"]), float(found["stop"])
    room = (end - begin) or 1.0

    def across(time: float) -> float:
        return 1 + 98 * (time - begin) / room

    lanes = found["lanes"]
    top = 2.0
    bottom = top + LANE * (len(lanes) + 1)
    parts = [
        box("on", across(s["start"]), top, across(s["stop"]) - across(s["start"]), bottom - top,
            f' fill-opacity="{place(min(1.0, max(0.15, s["value"])))}"' if s["value"] < 1 else "")
        for s in found["counting"]
    ]  # fmt: skip
    parts.append(line("done", across(found["completed"]), top, across(found["completed"]), bottom))
    matched: list[tuple[float, float]] = []
    marks: list[str] = []
    for k, lane in enumerate(lanes):
        y = top + LANE * k + 19
        parts.append(line("lane", 0, y, 100, y))
        more = " – holds all along" if lane["static"] else f" – {lane['hidden']} more" if lane["hidden"] else ""
        parts.append(name_label("name", y - 9, lane["predicate"], more))
        marks += [dot("other", across(t), y, 3.5, f"{lane['predicate']} at {decimal(t)}") for t in lane["others"]]
        for t in lane["matched"]:
            matched.append((t, y))
            marks.append(dot("matched", across(t), y, 5, f"{lane['predicate']} at {decimal(t)}, in the match"))
    matched.sort()
    parts += [line("match", across(one), y1, across(other), y2) for (one, y1), (other, y2) in pairwise(matched)]
    y = top + LANE * len(lanes) + 19
    more = f" – {found['heads_hidden']} more" if found["heads_hidden"] else ""
    parts.append(name_label("name head", y - 9, head, more))
    parts.append(line("never", 0, y, 100, y))
    parts += [line("risk", across(low), y, across(high), y) for low, high in found["at_risk"]]
    for mark in found["heads"]:
        kind = "follows" if mark["while_on"] else "calm" if mark["at_risk"] else "outside"
        meaning = {"follows": "while the rule counts", "calm": "while it does not count", "outside": "not at risk"}[
            kind
        ]
        marks.append(diamond(kind, across(mark["time"]), y, f"{head} at {decimal(mark['time'])}, {meaning}"))
    parts += marks
    parts.append(line("axis", 0, bottom, 100, bottom))
    for value in ticks(begin, end, 5):
        x = across(value)
        parts += [line("axis", x, bottom, x, bottom + 4), label(f"tick {_anchor(x)}", x, bottom + 16, decimal(value))]
    events = ", ".join(
        f"{lane['predicate']} at {' and '.join(map(decimal, lane['matched']))}" for lane in lanes if lane["matched"]
    )
    description = (
        f"Times in {unit} since the start of the period. The match: {events}. The rule completes at "
        f"{decimal(found['completed'])}. {followed_words(found, head, unit)}"
    )
    title = f"{found['entity']}: rule {rule['number']} and {head}"
    return chart(identifier, bottom + 20, title, description, parts, "timeline")


def _anchor(x: float) -> str:
    return "start" if x < 4 else "end" if x > 96 else "middle"


def followed_words(found: Record, head: str, unit: str) -> str:
    """What came of a completion."""
    if not found["followed"]:
        return f"No {head} followed while it counted."
    count = f"{found['followed']} {head}"
    first = amount(found["first_after"], unit)
    return f"{count} followed, {'the first ' if found['followed'] > 1 else ''}{first} later."
