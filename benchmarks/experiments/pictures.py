"""
Pictures of streams, by Matplotlib: figures 3 and 4 of the paper, time.

They are drawn from the records that streams write. Several seeds become a line through their means
and a band from the smallest to the largest value. The same records give the same file.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from math import ceil
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple, TypeAlias

from casegraph.disk import atomic_write
from casegraph.experiments.journal import Record, mrr_of

Theirs: TypeAlias = Any  # an object of Matplotlib, which need not be installed
# What to draw for a record, if anything.
Value: TypeAlias = Callable[[Record], float | None]

STYLE = {
    "svg.hashsalt": "casegraph",
    "svg.fonttype": "none",
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "axes.edgecolor": "#888888",
    "axes.titlesize": 10,
    "axes.ymargin": 0.1,
    "legend.frameon": False,
    "figure.facecolor": "white",
}


class Look(NamedTuple):
    """How the line of a system is drawn."""

    label: str
    colour: str
    line: str = "-"
    marker: str = "o"


LOOKS = {
    "default": Look("casegraph", "#1f5fa8"),
    "paper-grinch": Look("paper's settings, online", "#2a9d6f"),
    "paper-grinch oracle": Look("paper's settings, oracle", "#2a9d6f", ":", "x"),
    "published-grinch": Look("published prior, online", "#7a6fc2"),
    "RotatE": Look("RotatE", "#c8553d", "-", "s"),
    "RotatE+": Look("RotatE+", "#e09f3e", "-", "^"),
    "RotatE-Freeze": Look("RotatE-Freeze", "#8d8d8d", "-", "v"),
    "RotatE-0%": Look("RotatE, nothing replayed", "#e3a99c", "-", ""),
}
OFFLINE_BY_PAPER = Look("RotatE offline, in the paper", "#c8553d", "--", "")
OFFLINE_HERE = Look("RotatE offline, trained here", "#c8553d", ":", "")


class Panel(NamedTuple):
    """One of the small diagrams of figure 3.

    split    the facts that are asked for
    group    "all" of them, or those that are "new" with the batch
    title    the text above the diagram
    offline  the MRR of the best offline system, according to the paper
    """

    benchmark: str
    split: str
    group: str
    title: str
    offline: float


PANELS = (
    Panel("FB122", "testI", "all", "FB122 test-I, all facts so far", 0.471),
    Panel("FB122", "testI", "new", "FB122 test-I, new facts", 0.471),
    Panel("WN18RR", "test", "all", "WN18RR, all facts so far", 0.48),
    Panel("WN18RR", "test", "new", "WN18RR, new facts", 0.48),
)
REPLAYS = ("10%", "30%")
BATCHES_MARKED = 2  # every second batch has a number
INCHES_OF_LABEL = 3  # the width of an entry of a legend


def mrr_over_batches(
    records: Sequence[Record], path: Path, offline: Sequence[Record] = ()
) -> None:
    """Figure 3: MRR after each batch, on all test facts so far and on those that are new.

    The rows differ in how many older facts the embeddings were trained on again.

    offline  records of embeddings that were trained on everything at once
    """
    pyplot = _pyplot()
    benchmarks = {record["benchmark"] for record in records}
    panels = [panel for panel in PANELS if panel.benchmark in benchmarks] or PANELS
    systems = {record["system"] for record in records}
    used = [
        replay
        for replay in REPLAYS
        if any(name.endswith(f"-{replay}") for name in systems)
    ]
    replays = used or REPLAYS[:1]
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(
            len(replays),
            len(panels),
            figsize=(3 * len(panels), 1 + 2.6 * len(replays)),
            sharex=True,
            sharey=True,
            squeeze=False,
        )
        for row, replay in enumerate(replays):
            for axis, panel in zip(axes[row], panels, strict=True):
                _mrr_panel(axis, records, panel, replay)
                _offline_lines(axis, panel, offline)
                axis.set_title(panel.title if row == 0 else "")
            axes[row][0].set_ylabel(f"MRR, RotatE with {replay} replay")
        axes[0][0].set_ylim(bottom=0)  # of all diagrams, because they share it
        _finish(pyplot, figure, axes, path)


def work_over_batches(
    records: Sequence[Record], benchmarks: Sequence[str], path: Path
) -> None:
    """Figure 4: how many entities arrive with each batch, and how many others it changes."""
    pyplot = _pyplot()
    lines: dict[Look, Value] = {
        Look("all entities so far", "#8d8d8d", "--", ""): lambda record: record[
            "entities"
        ],
        Look("new entities", "#1f5fa8"): lambda record: record["newcomers"],
        Look("older ones with new relations", "#e09f3e", "-", "s"): reshaped,
        Look("older ones in another cluster", "#c8553d", "-", "^"): moved,
    }
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(
            1, len(benchmarks), figsize=(9, 3.6), squeeze=False
        )
        for axis, benchmark in zip(axes[0], benchmarks, strict=True):
            some = _of(records, benchmark, "paper-grinch") or _of(
                records, benchmark, "default"
            )
            _logarithmic_panel(axis, some, lines)
            axis.set_title(benchmark)
            axis.yaxis.set_major_formatter("{x:,.0f}")
        axes[0][0].set_ylabel("entities (logarithmic)")
        _finish(pyplot, figure, axes, path)


def seconds_over_batches(
    records: Sequence[Record], benchmarks: Sequence[str], path: Path
) -> None:
    """The time of an update beside that of a rebuild: of a whole batch, and of one newcomer."""
    pyplot = _pyplot()
    lines: dict[Look, Value] = {
        Look("rebuild", "#c8553d", "-", "s"): lambda record: record["rebuild"][
            "seconds"
        ],
        Look("update by the whole batch", "#e09f3e", "-", "^"): batch_seconds,
        Look("one newcomer and its first answer", "#1f5fa8"): newcomer_seconds,
        Look("one newcomer, the update alone", "#2a9d6f", "-", "x"): _newcomer_update,
    }
    drawn = {record["system"] for record in records}
    systems = [system for system in ("default", "paper-grinch") if system in drawn] or [
        "default"
    ]
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(
            len(systems),
            len(benchmarks),
            figsize=(9, 1 + 2.6 * len(systems)),
            sharex=True,
            squeeze=False,
        )
        for row, system in enumerate(systems):
            for axis, benchmark in zip(axes[row], benchmarks, strict=True):
                _logarithmic_panel(axis, _of(records, benchmark, system), lines)
                axis.yaxis.set_major_formatter(lambda value, _: _spoken(value))
                axis.set_title(f"{benchmark}, {LOOKS[system].label}")
            axes[row][0].set_ylabel("processor time")
        _finish(pyplot, figure, axes, path)


def batch_seconds(record: Record) -> float:
    """The seconds to update by a batch and to bring all counts up to date."""
    update = record["update"]
    return float(update["seconds"] + update["counting_seconds"])


def seconds_to_answer(step: Record) -> float:
    """The seconds to add a newcomer and to answer a question about it."""
    return float(step["seconds"] + step["answer_seconds"])


def newcomer_seconds(record: Record) -> float | None:
    """The median `seconds_to_answer` of newcomers that arrive alone; None if none does."""
    each = [seconds_to_answer(step) for step in record["alone"]]
    return median(each) if each else None


def reshaped(record: Record) -> float:
    """How many older entities have new relations."""
    older = [step["reshaped"] - step["new_entities"] for step in _steps(record)]
    return float(sum(older))


def moved(record: Record) -> float | None:
    """How many older entities moved to another cluster; None without clusters."""
    if "clusters" not in record:
        return None
    older = [step["moved"] - step["new_entities"] for step in _steps(record)]
    return float(sum(older))


def _newcomer_update(record: Record) -> float | None:
    each = [float(step["seconds"]) for step in record["alone"]]
    return median(each) if each else None


def _steps(record: Record) -> list[Record]:
    return [record["update"], *record["alone"]]


def _mrr_panel(
    axis: Theirs, records: Sequence[Record], panel: Panel, replay: str
) -> None:
    def mrr(record: Record) -> float | None:
        return mrr_of(record, panel.split, panel.group)

    def oracle_mrr(record: Record) -> float | None:
        return mrr_of(record, panel.split, panel.group, "oracle")

    first = 1 if panel.group == "new" else 0  # with the seed graph, all facts are new
    of_benchmark = [
        record
        for record in records
        if record["benchmark"] == panel.benchmark and record["batch"] >= first
    ]
    for system in sorted({record["system"] for record in of_benchmark}, key=_place):
        name = system.removesuffix(f"-{replay}")
        if name not in LOOKS:
            continue
        some = _of(of_benchmark, panel.benchmark, system)
        _line(axis, some, LOOKS[name], mrr)
        oracle = f"{name} oracle"
        if oracle in LOOKS:
            _line(axis, some, LOOKS[oracle], oracle_mrr)


def _logarithmic_panel(
    axis: Theirs, records: Iterable[Record], lines: dict[Look, Value]
) -> None:
    """A diagram of the batches after the seed graph, with a logarithmic scale."""
    after_seed_graph = [record for record in records if record["batch"] > 0]
    for look, value in lines.items():
        _line(axis, after_seed_graph, look, value)
    axis.set_yscale("log")
    axis.minorticks_off()


def _offline_lines(axis: Theirs, panel: Panel, offline: Sequence[Record]) -> None:
    """The MRR of RotatE if it is trained on everything at once."""
    _level(axis, panel.offline, OFFLINE_BY_PAPER)
    if panel.group == "all":
        for record in _of(offline, panel.benchmark, "RotatE, offline"):
            _level(axis, mrr_of(record, panel.split, panel.group), OFFLINE_HERE)


def _level(axis: Theirs, value: float | None, look: Look) -> None:
    if value is not None:
        axis.axhline(
            value,
            color=look.colour,
            linewidth=1,
            linestyle=look.line,
            label=look.label,
            zorder=1,
        )


def _place(system: str) -> int:
    """The place of a system in the legend."""
    name = system.rpartition("-")[0] if system.endswith(REPLAYS) else system
    return list(LOOKS).index(name) if name in LOOKS else len(LOOKS)


def _of(records: Iterable[Record], benchmark: str, system: str) -> list[Record]:
    return [
        record
        for record in records
        if record["benchmark"] == benchmark and record["system"] == system
    ]


def _line(axis: Theirs, records: Iterable[Record], look: Look, value: Value) -> None:
    """A line through the means of all seeds, and a band from the smallest to the largest value."""
    values: dict[int, list[float]] = defaultdict(list)  # by batch, one for each seed
    for record in records:
        found = value(record)
        if found is not None:
            values[record["batch"]].append(found)
    if not values:
        return
    batches = sorted(values)
    means = [fmean(values[batch]) for batch in batches]
    axis.plot(
        batches,
        means,
        color=look.colour,
        linestyle=look.line,
        marker=look.marker or None,
        markersize=3.5,
        linewidth=1.6,
        label=look.label,
    )
    smallest = [min(values[batch]) for batch in batches]
    largest = [max(values[batch]) for batch in batches]
    axis.fill_between(
        batches, smallest, largest, color=look.colour, alpha=0.15, linewidth=0
    )


def _spoken(seconds: float) -> str:
    """A time as people say it: "10 ms", "1 s"."""
    return f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms"


def _finish(pyplot: Theirs, figure: Theirs, axes: Theirs, path: Path) -> None:
    """Label the batches, add a legend, and write the figure to a file."""
    _label_batches(pyplot, axes)
    _legend_below(figure, axes.ravel())
    with atomic_write(path) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})
    pyplot.close(figure)


def _label_batches(pyplot: Theirs, axes: Theirs) -> None:
    """Number the batches below the lowest diagrams."""
    for axis in axes.ravel():
        axis.xaxis.set_major_locator(pyplot.MultipleLocator(BATCHES_MARKED))
    for lowest in axes[-1]:
        lowest.set_xlabel("batch")


def _legend_below(figure: Theirs, axes: Iterable[Theirs]) -> None:
    """One legend for all diagrams."""
    lines: dict[str, Theirs] = {}
    for axis in axes:
        for line, label in zip(*axis.get_legend_handles_labels(), strict=True):
            lines.setdefault(label, line)
    at_most = int(figure.get_figwidth() // INCHES_OF_LABEL)
    rows = max(ceil(len(lines) / at_most), 1)
    columns = max(ceil(len(lines) / rows), 1)
    figure.legend(
        lines.values(), lines.keys(), loc="lower center", ncols=columns, fontsize=9
    )
    # Of the height of the figure.
    legend_height = 0.02 + 0.2 * rows / figure.get_figheight()
    figure.tight_layout(rect=(0, legend_height, 1, 1))


def _pyplot() -> Theirs:
    """Matplotlib, drawing to files only."""
    import_module("matplotlib").use("svg")
    return import_module("matplotlib.pyplot")
