"""
Pictures of an experiment, as SVG that needs nothing but itself.

A picture is one panel or several beside each other:

    relations    the MRR of each relation, those with most questions first
    ranks        how many targets are among the first k, for every k
    reliability  how often the first answer is right, by the probability that it was given
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Floats

SIDE = 400  # of what is drawn in a panel, in pixels
MARGIN = 50
PANEL = SIDE + 2 * MARGIN
LARGEST_DOT = 14  # the radius of a bin that has all answers
MOST_RELATIONS = 20
FURTHEST_RANK = 1000
NAME_LENGTH = 24  # signs of the name of a relation
COLOUR = "#36c"
GREY = "#888"


class Bin(NamedTuple):
    """Answers of similar probability: how many, what was said, and how often they were right."""

    answers: int
    said: float
    happened: float


class Bar(NamedTuple):
    """A relation: how many questions were asked about it, and their MRR."""

    name: str
    questions: int
    mrr: float


class Panel(NamedTuple):
    """One diagram: its title, what is along its two sides, and its parts in SVG."""

    title: str
    across: str
    upwards: str
    parts: list[str]


def picture(panels: Sequence[Panel]) -> str:
    """Panels beside each other, as one file of SVG."""
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
    """Dots beside the diagonal, where said and happened are equal; larger for more answers."""
    total = sum(one.answers for one in bins)
    parts = [_axes(), _line([(0, 0), (1, 1)], GREY), *_shares_across(), *_shares_upwards()]
    for one in bins:
        radius = max(2.0, LARGEST_DOT * (one.answers / total) ** 0.5)
        said = f"{one.answers:,} answers: said {one.said:.3f}, right {one.happened:.3f}"
        parts.append(
            f'<circle cx="{_x(one.said)}" cy="{_y(one.happened)}" r="{radius:.1f}" '
            f'fill="{COLOUR}"><title>{said}</title></circle>'
        )
    title = f"{total:,} answers, expected calibration error {error:.3f}"
    return Panel(title, "probability of the first answer", "how often it is right", parts)


def ranks_panel(ranks: Floats) -> Panel:
    """The part of the targets that are among the first k, where k grows by factors of ten."""
    decades = np.log10(FURTHEST_RANK)
    places = np.unique(np.geomspace(1, FURTHEST_RANK, 100).astype(np.int64))
    among = np.searchsorted(np.sort(ranks), places, side="right") / max(1, len(ranks))
    points = [
        (float(np.log10(place) / decades), float(share))
        for place, share in zip(places.tolist(), among.tolist(), strict=True)
    ]
    parts = [_axes(), *_shares_upwards(), _line(points, COLOUR)]
    for power in range(int(decades) + 1):
        parts.append(_text(_x(power / decades), _y(0) + 18, f"{10**power:,}"))
    title = f"{len(ranks):,} questions, MRR {float(np.mean(1 / ranks)):.4f}"
    return Panel(title, "rank", "part of the targets up to it", parts)


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
        said = f"{bar.name}: MRR {bar.mrr:.4f}, {bar.questions:,} questions"
        parts += [
            f'<rect x="{_x(0)}" y="{top + 0.1 * step:.1f}" width="{SIDE * bar.mrr:.1f}" '
            f'height="{0.8 * step:.1f}" fill="{COLOUR}" opacity="0.5">'
            f"<title>{escape(said)}</title></rect>",
            _text(_x(0) + 6, round(top + step / 2 + 4, 1), name, anchor="start"),
        ]
    hidden = len(most_asked) - len(shown)
    title = f"{len(shown)} relations" + (f", and {hidden:,} that were asked less" if hidden else "")
    return Panel(title, "MRR", "", parts)


def _axes() -> str:
    return _line([(0, 1), (0, 0), (1, 0)], GREY)


def _shares_across() -> list[str]:
    values = [tenth / 10 for tenth in range(0, 11, 2)]
    return [_text(_x(value), _y(0) + 18, f"{value:.1f}") for value in values]


def _shares_upwards() -> list[str]:
    values = [tenth / 10 for tenth in range(0, 11, 2)]
    return [_text(_x(0) - 8, _y(value) + 4, f"{value:.1f}", anchor="end") for value in values]


def _line(points: Sequence[tuple[float, float]], colour: str) -> str:
    """A line through points, each given as two shares of the sides."""
    drawn = " ".join(f"{_x(across)},{_y(upwards)}" for across, upwards in points)
    return f'<polyline points="{drawn}" fill="none" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _x(share: float) -> float:
    return round(MARGIN + SIDE * share, 1)


def _y(share: float) -> float:
    return round(MARGIN + SIDE * (1 - share), 1)
