"""The page in a real browser: how soon it is there, how large it is, how soon an answer is seen.

Run: scripts/bench page [GRAPH …]   (WN18RR and FB15k-237 if none is named)
Prints tables in Markdown. It needs Chromium (see `scripts/chromium`).

An answer is measured from the moment when the question is in the address, as by a click on a link,
until the first frame after the answers are on the page. Nothing is cached: each time the page is
loaded anew; the first answer also fetches what the page keeps, such as the list of relations.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

import numpy as np

from benchmarks.serving import built, serving
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from casegraph.graph.facts import Fact

GRAPHS = ["WN18RR", "FB15k-237"]
LOADS = 5
QUESTIONS = 20

PAINTED = """() => new Promise((resolve) => {
  new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime))
    .observe({ type: "paint", buffered: true });
})"""
BYTES = """() => [...performance.getEntriesByType("navigation"),
               ...performance.getEntriesByType("resource")]
  .reduce((sum, entry) => sum + entry.transferSize, 0)"""
ANSWERED = """(address) => new Promise((resolve) => {
  const start = performance.now();
  location.hash = address;
  const look = () => {
    const columns = document.querySelector(".columns"); // hidden until the question is answered
    const isThere = columns !== null && columns.offsetParent !== null;
    if (isThere) requestAnimationFrame(() => resolve(performance.now() - start));
    else if (performance.now() - start > 30000) resolve(Infinity);
    else requestAnimationFrame(look);
  };
  look();
})"""


class Seen(NamedTuple):
    """What somebody saw who loads the page and asks one question; milliseconds, and bytes."""

    painted: float
    size: int
    answered: list[float]


def main(given: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    graphs = parser.parse_args(given).graphs
    try:
        from playwright.sync_api import sync_playwright
        from tests.browsing import chromium
    except ImportError:
        print("the page is left out: run scripts/setup dev first")
        return
    path = chromium()
    if path is None:
        print("the page is left out: no Chromium is installed")
        return
    print("| graph | first paint, ms | kB | answer p50, ms | p95 | first answer p50 |")
    print("|---|---|---|---|---|---|", flush=True)
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        for graph in graphs:
            with serving(built(graph, Path(folder))) as (port, _):
                print(row(graph, measured(browser, port, graph)), flush=True)
        browser.close()


def measured(browser: Browser, port: int, graph: str) -> list[Seen]:
    """Load the page some times, and ask some questions each time."""
    benchmark = Benchmark.open(located(graph))
    heads = {fact.head for fact in benchmark.facts("train")}
    questions_there = [fact for fact in benchmark.facts("test") if fact.head in heads]
    chosen = random.Random(0).sample(questions_there, LOADS * QUESTIONS)
    seen = []
    for load in range(LOADS):
        context = browser.new_context(viewport={"width": 1360, "height": 900})
        questions = chosen[load * QUESTIONS : (load + 1) * QUESTIONS]
        seen.append(
            seen_by_one(context.new_page(), f"http://localhost:{port}/", questions)
        )
        context.close()
    return seen


def seen_by_one(page: Page, address: str, questions: list[Fact]) -> Seen:
    """Load the page, then ask questions one after the other, each from the start."""
    page.goto(address)
    page.wait_for_selector("main[aria-busy=false]")
    painted: float = page.evaluate(PAINTED)
    size: int = page.evaluate(BYTES)
    answered = []
    for head, relation, _ in questions:
        asked = urlencode({"entity": head, "relation": relation})
        answered.append(page.evaluate(ANSWERED, f"ask?{asked}"))
        page.wait_for_selector("main[aria-busy=false]")
        page.evaluate("() => { location.hash = 'ask'; }")
        page.wait_for_selector(".columns", state="hidden")
    return Seen(painted, size, answered)


def row(graph: str, seen: list[Seen]) -> str:
    """A row of the table: medians over the loads, and percentiles over all questions."""
    painted = np.median([one.painted for one in seen])
    kilobytes = np.median([one.size for one in seen]) / 1000
    first = np.median([one.answered[0] for one in seen])
    half, most = np.percentile(
        [took for one in seen for took in one.answered], [50, 95]
    )
    cells = [
        f"{painted:.0f}",
        f"{kilobytes:.0f}",
        f"{half:.0f}",
        f"{most:.0f}",
        f"{first:.0f}",
    ]
    return f"| {graph} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
