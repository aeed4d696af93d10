"""
Charts of an experiment, as self-contained SVG.

A chart has one or more panels side by side:

    relations    the MRR of each relation, those with most questions first
    ranks        the share of targets among the first k answers, for every k
    reliability  how often proposed facts are right, against their stated probability
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Floats

SIDE = 400  # of the plotting area of a panel, in pixels
MARGIN = 50
PANEL = SIDE + 2 * MARGIN
LARGEST_DOT = 14  # the radius of a bin that has all pairs
MOST_RELATIONS = 20
FURTHEST_RANK = 1000
NAME_LENGTH = 24  # characters of the name of a relation
MARKED_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # on an axis
COLOUR = "#36c"
GREY = "#888"


class Bin(NamedTuple):
    """Pairs of similar probability: number, mean stated probability, share that is right."""

    pairs: int
    stated: float
    observed: float


class Bar(NamedTuple):
    """A relation: how many questions were asked about it, and their MRR."""

    name: str
    questions: int
    mrr: float


class Panel(NamedTuple):
    """One diagram: its title, the labels of its axes, and its parts in SVG."""

    title: str
    across: str
    upwards: str
    parts: list[str]


def picture(panels: Sequence[Panel]) -> str:
    """Panels side by side, as one SVG document."""
    width = PANEL * len(panels)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {PANEL}" '
        f'font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{PANEL}" fill="white"/>',
    ]
    middle = PANEL / 2
    for place, panel in enumerate(panels):
        lines += [
            f'<g transform="translate({place * PANEL} 0)">',
            *panel.parts,
            _text(middle, PANEL - 10, panel.across),
            f'<g transform="rotate(-90 14 {middle})">{_text(14, middle, panel.upwards)}</g>',
            _text(middle, 24, panel.title),
            "</g>",
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def reliability_panel(bins: Sequence[Bin], error: float) -> Panel:
    """A dot for each bin, larger for more pairs; on the diagonal, as many are right as stated."""
    total = sum(own.pairs for own in bins)
    diagonal = _line([(0, 0), (1, 1)], GREY)
    parts = [_axes(), diagonal, *_shares_across(), *_shares_upwards()]
    for pairs, stated, observed in bins:
        radius = max(2.0, LARGEST_DOT * (pairs / total) ** 0.5)
        title = f"{pairs:,} pairs: stated {stated:.3f}, right {observed:.3f}"
        parts.append(
            f'<circle cx="{_x(stated)}" cy="{_y(observed)}" r="{radius:.1f}" '
            f'fill="{COLOUR}"><title>{title}</title></circle>'
        )
    title = f"{total:,} pairs, expected calibration error {error:.3f}"
    return Panel(title, "stated probability", "share that is right", parts)


def ranks_panel(ranks: Floats) -> Panel:
    """The share of targets among the first k answers, with k on a logarithmic scale."""
    decades = np.log10(FURTHEST_RANK)
    k = np.unique(np.geomspace(1, FURTHEST_RANK, 100).astype(np.int64))
    ranks_up_to_k = np.searchsorted(np.sort(ranks), k, side="right")
    shares = ranks_up_to_k / max(1, len(ranks))
    across = np.log10(k) / decades
    points = list(zip(across.tolist(), shares.tolist(), strict=True))
    parts = [_axes(), *_shares_upwards(), _line(points, COLOUR)]
    for power in range(int(decades) + 1):
        parts.append(_text(_x(power / decades), _y(0) + 18, f"{10**power:,}"))
    title = f"{len(ranks):,} questions, MRR {float(np.mean(1 / ranks)):.4f}"
    return Panel(title, "rank", "share of targets up to this rank", parts)


def relations_panel(bars: Iterable[Bar]) -> Panel:
    """A bar for each relation, those with most questions first."""
    most_asked = sorted(bars, key=lambda bar: (-bar.questions, bar.name))
    shown = most_asked[:MOST_RELATIONS]
    step = SIDE / max(1, len(shown))
    parts = [_axes(), *_shares_across()]
    for place, bar in enumerate(shown):
        top = MARGIN + place * step
        is_long = len(bar.name) > NAME_LENGTH
        name = bar.name[: NAME_LENGTH - 1] + "…" if is_long else bar.name
        baseline = round(top + step / 2 + 4, 1)
        tooltip = escape(f"{bar.name}: MRR {bar.mrr:.4f}, {bar.questions:,} questions")
        parts += [
            f'<rect x="{_x(0)}" y="{top + 0.1 * step:.1f}" width="{SIDE * bar.mrr:.1f}" '
            f'height="{0.8 * step:.1f}" fill="{COLOUR}" opacity="0.5">'
            f"<title>{tooltip}</title></rect>",
            _text(_x(0) + 6, baseline, name, anchor="start"),
        ]
    title = f"{len(shown)} relations"
    hidden = len(most_asked) - len(shown)
    if hidden:
        title += f", and {hidden:,} that were asked less"
    return Panel(title, "MRR", "", parts)


def _axes() -> str:
    return _line([(0, 1), (0, 0), (1, 0)], GREY)


def _shares_across() -> list[str]:
    return [_text(_x(share), _y(0) + 18, f"{share:.1f}") for share in MARKED_SHARES]


def _shares_upwards() -> list[str]:
    return [
        _text(_x(0) - 8, _y(share) + 4, f"{share:.1f}", anchor="end")
        for share in MARKED_SHARES
    ]


def _line(points: Sequence[tuple[float, float]], colour: str) -> str:
    """A line through points, with coordinates from 0 to 1."""
    coordinates = [f"{_x(across)},{_y(upwards)}" for across, upwards in points]
    return f'<polyline points="{" ".join(coordinates)}" fill="none" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _x(share: float) -> float:
    return round(MARGIN + SIDE * share, 1)


def _y(share: float) -> float:
    return round(MARGIN + SIDE * (1 - share), 1)
