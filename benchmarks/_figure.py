"""A figure of panels with logarithmic axes, as one SVG file that follows the reader's light or dark colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 300, 240  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 34, 44  # around what a panel plots
STYLE = """
text{font:12px system-ui,sans-serif;fill:#333}.t{font-weight:600}.a{text-anchor:middle}.y{text-anchor:end}
.g{stroke:#ddd}.l{fill:none;stroke:#2563a8;stroke-width:2}.p{fill:#2563a8}.o{fill:#fff;stroke:#b3402a;stroke-width:2}
.w{fill:#b3402a}.b{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#444}.l{stroke:#7ab3ef}.p{fill:#7ab3ef}.o{fill:#161616;
stroke:#f0907a}.w{fill:#f0907a}.b{fill:#161616}}
"""


@dataclass(frozen=True)
class Point:
    """A measured point; an open one, with a word beside it, where the work was not brought to its end."""

    x: float
    y: float
    open: str = ""


@dataclass(frozen=True)
class Panel:
    """One line of points."""

    title: str
    across: str
    points: Sequence[Point]


def write_figure(panels: Sequence[Panel], up: str, words: str, file: Path) -> None:
    """Panels side by side; `up` names their common axis, `words` tell what is shown to who cannot see it."""
    low = 10.0 ** math.floor(math.log10(min(point.y for panel in panels for point in panel.points)))
    high = 10.0 ** math.ceil(math.log10(max(point.y for panel in panels for point in panel.points) * 1.01))
    width = WIDTH * len(panels)
    drawn = "".join(_panel(panel, place * WIDTH, low, high, up) for place, panel in enumerate(panels))
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" role="img" aria-labelledby="t">\n'
        f'<title id="t">{escape(words)}</title><style>{STYLE}</style>\n'
        f'<rect class="b" width="{width}" height="{HEIGHT}"/>\n{drawn}</svg>\n',
        encoding="utf-8",
    )


def _panel(panel: Panel, offset: float, low: float, high: float, up: str) -> str:
    first, last = panel.points[0].x, panel.points[-1].x
    inner = WIDTH - LEFT - RIGHT - 16

    def across(x: float) -> float:
        share = math.log(x / first) / math.log(last / first) if last > first else 0.5
        return offset + LEFT + 8 + inner * share

    def down(y: float) -> float:
        share = math.log(max(y, low) / low) / math.log(high / low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    parts = [f'<text class="t" x="{offset + LEFT}" y="18">{escape(panel.title)}</text>']
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        y = down(10.0**power)
        parts.append(f'<path class="g" d="M{offset + LEFT} {y:.1f}H{offset + WIDTH - RIGHT}"/>')
        parts.append(f'<text class="y" x="{offset + LEFT - 6}" y="{y + 4:.1f}">{10.0**power:g}</text>')
    taken = -math.inf
    for point in panel.points:
        x = across(point.x)
        if x - taken >= 32:  # room for the figures of the one before
            parts.append(f'<text class="a" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}">{_short(point.x)}</text>')
            taken = x
    parts.append(f'<text class="a" x="{offset + LEFT + 8 + inner / 2}" y="{HEIGHT - 8}">{escape(panel.across)}</text>')
    if offset == 0:
        middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
        turned = f'transform="rotate(-90 12 {middle})"'
        parts.append(f'<text class="a" x="12" y="{middle}" {turned}>{escape(up)}</text>')
    path = "L".join(f"{across(point.x):.1f} {down(point.y):.1f}" for point in panel.points)
    parts.append(f'<path class="l" d="M{path}"/>')
    told = -math.inf
    for point in panel.points:
        x, y = across(point.x), down(point.y)
        parts.append(f'<circle class="{"o" if point.open else "p"}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
        if point.open and x - told >= 70:  # room for the word of the one before
            told = x
            parts.append(f'<text class="y w" x="{x - 7:.1f}" y="{y - 7:.1f}">{escape(point.open)}</text>')
    return "".join(parts) + "\n"


def _short(number: float) -> str:
    return f"{number / 1000:g}k" if number >= 1000 else f"{number:g}"
