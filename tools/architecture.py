"""
Draws the packages of `src/casegraph` as layers, from what they import: docs/architecture.svg.

A package stands below every package that imports it. An arrow from A to B says that A imports B;
where A also gets to B through others, the arrow is left out (a *transitive reduction*), so what is
drawn is what is needed. What nearly everything imports stands at the foot, without arrows.
The same run writes the table in docs/modules.md, from the docstrings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from graphlib import TopologicalSorter
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

from tools.tree import ROOT, modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tools.tree import Module

PICTURE = ROOT / "docs" / "architecture.svg"
TABLE_PAGE = ROOT / "docs" / "modules.md"
TABLE_BEGIN = "<!-- modules: written by scripts/architecture -->"
TABLE_END = "<!-- end -->"

# Imported nearly everywhere, and drawn without arrows.
FOOT = ("settings", "errors", "frames", "running", "kernels")
DATA = "world"  # a graph that comes with the package, not a layer of it
APART = ("storage.store",)  # packages inside packages that have a box of their own

WIDTH = 940
MARGIN = 28
WIDEST = 600  # of a box that is alone in its row
GAP = 44  # between rows: room for arrows
BESIDE = 36  # between boxes of a row
PAD = 16
TITLE_LINE = 22
TEXT_LINE = 17
CHIP_HEIGHT = 22
CHIP_GAP = 6
CHARACTER = 7.25  # width of a monospaced character at 12 pixels
LETTER = 6.9  # mean width of a letter of the text, generously

SANS = 'ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif'
MONOSPACE = (
    'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'
)
STYLE = """
  .paper { fill: #ffffff; }
  .box { fill: #f4f7fb; stroke: #b7c6d9; stroke-width: 1.2; }
  .foot { fill: #f7f7f5; stroke: #cfcdc4; }
  .chip { fill: #e2eaf5; }
  .foot-chip { fill: #ecebe4; }
  .title { fill: #16324f; font: 600 15px SANS; }
  .text { fill: #4a5a6c; font: 12.5px SANS; }
  .name { fill: #1f3d5c; font: 12px MONOSPACE; }
  .arrow { fill: none; stroke: #6f8aa8; stroke-width: 1.6; }
  .head { fill: #6f8aa8; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #12171e; }
    .box { fill: #1b2430; stroke: #3a4d63; }
    .foot { fill: #1d1f20; stroke: #45453f; }
    .chip { fill: #28384c; }
    .foot-chip { fill: #303230; }
    .title { fill: #dbe8f6; }
    .text { fill: #a9b8c8; }
    .name { fill: #cfe0f2; }
    .arrow { stroke: #7f9cbd; }
    .head { fill: #7f9cbd; }
  }
""".replace("SANS", SANS).replace("MONOSPACE", MONOSPACE)


@dataclass(frozen=True, slots=True)
class Box:
    """A package as it is drawn."""

    title: str
    text: tuple[str, ...]
    chips: tuple[tuple[str, ...], ...]  # names of modules, line by line
    style: str
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """Where arrows begin and end."""
        return self.x + self.width / 2

    @property
    def foot(self) -> float:
        """Where it ends."""
        return self.y + self.height


def main() -> None:
    """Write the picture and the table."""
    found = modules()
    PICTURE.write_text(drawing(found), encoding="utf-8")
    page = TABLE_PAGE.read_text(encoding="utf-8")
    TABLE_PAGE.write_text(with_table(page, found), encoding="utf-8")


def package_of(module: str) -> str:
    """The package whose box a module is drawn in."""
    for package in APART:
        if f"{module}.".startswith(f"{package}."):
            return package
    return module.partition(".")[0]


def package_imports(found: Mapping[str, Module]) -> dict[str, set[str]]:
    """For each package that is drawn as a layer, those that it imports."""
    left_out = {"", DATA, *FOOT}
    imports: dict[str, set[str]] = {}
    for module in found.values():
        package = package_of(module.name)
        if package not in left_out:
            wanted = {package_of(name) for name in module.imports}
            imports.setdefault(package, set()).update(wanted - left_out - {package})
    return imports


def needed(imports: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The imports that do not follow from others: the transitive reduction."""
    reachable: dict[str, set[str]] = {}
    for package in TopologicalSorter(imports).static_order():
        reachable[package] = set(imports[package])
        for below in imports[package]:
            reachable[package] |= reachable[below]
    reduced = {}
    for package, direct in imports.items():
        through_others = set[str]()
        for below in direct:
            through_others |= reachable[below]
        reduced[package] = direct - through_others
    return reduced


def rows(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Packages in rows, each as high as those that import it allow; in a row, by name."""
    row_of: dict[str, int] = {}
    bottom_up = list(TopologicalSorter(imports).static_order())
    for package in reversed(bottom_up):
        importers = [other for other, below in imports.items() if package in below]
        row_of[package] = 1 + max((row_of[other] for other in importers), default=-1)
    lines: list[list[str]] = [[] for _ in range(1 + max(row_of.values()))]
    for package in sorted(row_of):
        lines[row_of[package]].append(package)
    return lines


def drawing(found: Mapping[str, Module]) -> str:
    """The picture, as SVG."""
    arrows = needed(package_imports(found))
    boxes: dict[str, Box] = {}
    y: float = MARGIN
    for line in rows(arrows):
        row = _row(found, line, y, "box")
        boxes.update(zip(line, row, strict=True))
        y = row[0].foot + GAP
    foot = _row(found, FOOT, y, "foot")
    height = foot[0].foot + MARGIN

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
        f'height="{height:g}" role="img" aria-labelledby="title">',
        '<title id="title">'
        "The packages of casegraph: each imports only what stands below it</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" '
        'markerWidth="8" markerHeight="8" '
        'orient="auto"><path class="head" d="M0,1 L9,5 L0,9 z"/></marker></defs>',
        f'<rect class="paper" width="{WIDTH}" height="{height:g}" rx="10"/>',
    ]
    for package, below in sorted(arrows.items()):
        parts += [
            _arrow(boxes[package], boxes[other], boxes.values())
            for other in sorted(below)
        ]
    parts += [_drawn(box) for box in [*boxes.values(), *foot]]
    parts.append(
        f'<text class="text" x="{MARGIN}" y="{y - 10:g}">'
        "Imported by nearly all of the above:</text>"
    )
    return "\n".join([*parts, "</svg>", ""])


def _row(
    found: Mapping[str, Module], packages: Sequence[str], y: float, style: str
) -> list[Box]:
    """The boxes of packages beside each other, in the middle of the page and equally tall."""
    gaps = BESIDE * (len(packages) - 1)
    width = min(WIDEST, (WIDTH - 2 * MARGIN - gaps) / len(packages))
    left = (WIDTH - width * len(packages) - gaps) / 2
    contents = [
        (_text(found[package], width), _chips(found, package, width))
        for package in packages
    ]
    height = max(_height(text, chips) for text, chips in contents)
    boxes = []
    for place, (package, (text, chips)) in enumerate(
        zip(packages, contents, strict=True)
    ):
        x = left + place * (width + BESIDE)
        boxes.append(Box(package, text, chips, style, x, y, width, height))
    return boxes


def _text(module: Module, width: float) -> tuple[str, ...]:
    """What a package says about itself, in lines; its own name is not said twice."""
    said = module.docstring.replace("`", "").removesuffix(".")
    said = re.sub(f"^{module.name}: ", "", said, flags=re.IGNORECASE)
    return tuple(wrap(said[0].upper() + said[1:], int((width - 2 * PAD) / LETTER)))


def _chips(
    found: Mapping[str, Module], package: str, width: float
) -> tuple[tuple[str, ...], ...]:
    """The names of the modules and folders of a package, in lines."""
    lines: list[tuple[str, ...]] = []
    line: list[str] = []
    used = 0.0
    for name in _names_in(found, package):
        chip = _chip_width(name) + CHIP_GAP
        if line and used + chip > width - 2 * PAD:
            lines.append(tuple(line))
            line = []
            used = 0.0
        line.append(name)
        used += chip
    if line:
        lines.append(tuple(line))
    return tuple(lines)


def _names_in(found: Mapping[str, Module], package: str) -> list[str]:
    """What a package contains: its modules by name, and its folders with a slash."""
    names = []
    for module in found.values():
        if package_of(module.name) == package and module.name != package:
            name, _, inside_folder = module.name.removeprefix(f"{package}.").partition(
                "."
            )
            if not inside_folder:
                names.append(f"{name}/" if module.is_package else name)
    return names


def _chip_width(name: str) -> float:
    return CHARACTER * len(name) + 14


def _height(text: tuple[str, ...], chips: tuple[tuple[str, ...], ...]) -> float:
    return (
        PAD
        + TITLE_LINE
        + TEXT_LINE * len(text)
        + (CHIP_HEIGHT + CHIP_GAP) * len(chips)
        + PAD / 2
    )


def _arrow(upper: Box, lower: Box, boxes: Iterable[Box]) -> str:
    """A curve from the foot of one box to the top of another; around those that stand between."""
    start_y = upper.foot
    end_y = lower.y - 2
    between = [box for box in boxes if start_y < box.y < lower.y]
    toward = max(-80.0, min(80.0, (lower.middle - upper.middle) * 0.3))
    start_x = upper.middle + toward
    end_x = lower.middle - toward
    if not between:
        bend = (end_y - start_y) / 2
        return (
            f'<path class="arrow" marker-end="url(#tip)" d="M{start_x:g},{start_y:g} '
            f'C{start_x:g},{start_y + bend:g} {end_x:g},{end_y - bend:g} {end_x:g},{end_y:g}"/>'
        )
    last = max(box.foot for box in between)
    lane = _lane(between, start_x)
    top = min(box.y for box in between)
    return (
        f'<path class="arrow" marker-end="url(#tip)" d="M{start_x:g},{start_y:g} '
        f"C{start_x:g},{(start_y + top) / 2:g} {lane:g},{(start_y + top) / 2:g} {lane:g},{top:g} "
        f"L{lane:g},{last:g} "
        f'C{lane:g},{(last + end_y) / 2:g} {end_x:g},{(last + end_y) / 2:g} {end_x:g},{end_y:g}"/>'
    )


def _lane(between: list[Box], wanted: float) -> float:
    """Where a vertical line passes all of these boxes,
    as near as possible to where it is wanted.
    """
    lanes = [MARGIN / 2, WIDTH / 2, WIDTH - MARGIN / 2]
    for box in between:
        lanes += [box.x - BESIDE / 2, box.x + box.width + BESIDE / 2]
    lanes.append(wanted)
    free = [
        x
        for x in lanes
        if all(not box.x - 8 < x < box.x + box.width + 8 for box in between)
    ]
    return min(free, key=lambda x: (abs(x - wanted), x), default=wanted)


def _drawn(box: Box) -> str:
    left = box.x + PAD
    y = box.y + PAD + 10
    parts = [
        f'<rect class="{box.style}" x="{box.x:g}" y="{box.y:g}" '
        f'width="{box.width:g}" height="{box.height:g}" rx="9"/>',
        f'<text class="title" x="{left:g}" y="{y:g}">{escape(box.title)}</text>',
    ]
    y += TITLE_LINE
    for line in box.text:
        parts.append(
            f'<text class="text" x="{left:g}" y="{y - 2:g}">{escape(line)}</text>'
        )
        y += TEXT_LINE
    y -= 10
    for names in box.chips:
        x = left
        for name in names:
            width = _chip_width(name)
            chip = "foot-chip" if box.style == "foot" else "chip"
            parts.append(
                f'<rect class="{chip}" x="{x:g}" y="{y:g}" '
                f'width="{width:g}" height="{CHIP_HEIGHT}" rx="5"/>'
            )
            parts.append(
                f'<text class="name" x="{x + 7:g}" y="{y + 15:g}">{escape(name)}</text>'
            )
            x += width + CHIP_GAP
        y += CHIP_HEIGHT + CHIP_GAP
    return "\n".join(parts)


def module_table(found: Mapping[str, Module]) -> str:
    """Every module with the first sentence of its docstring, as a table in Markdown."""
    lines = ["| module of `src/casegraph` | holds |", "|---|---|"]
    for module in found.values():
        if module.name:
            name = f"**`{module.name}/`**" if module.is_package else f"`{module.name}`"
            holds = module.docstring.replace("|", "\\|")
            lines.append(f"| {name} | {holds} |")
    return "\n".join(lines)


def with_table(page: str, found: Mapping[str, Module]) -> str:
    """The page with the table between its markers brought up to date."""
    between = re.compile(
        f"{re.escape(TABLE_BEGIN)}.*?{re.escape(TABLE_END)}", re.DOTALL
    )
    table = f"{TABLE_BEGIN}\n{module_table(found)}\n{TABLE_END}"
    return between.sub(lambda _: table, page)


if __name__ == "__main__":
    main()
