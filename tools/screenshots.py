"""
Pictures of the page for docs/page.md: light and dark, wide and narrow, of the bundled graph.

They show what a person sees who asks the first question: why, what if, and an entity.
"""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.browsing import opened_browser, window
from tests.serving import live

from tools.tree import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from tests.browsing import Window

DOCS = ROOT / "docs"
QUALITY = 82  # of 100
WIDE = {"width": 1280, "height": 860}
NARROW = {"width": 390, "height": 780}
EINSTEIN = {"entity": "Albert Einstein", "relation": "citizen of"}
MIND = [["Albert Einstein", "born in", "Ulm"], ["Germany", "capital", "Berlin"]]


def main() -> None:
    """Write all pictures."""
    with TemporaryDirectory() as folder, live(Path(folder) / "world") as running:
        running.service.store.tune()
        with opened_browser() as browser:
            for scheme in ("light", "dark"):
                _wide(browser, running.address, scheme)
            _narrow(browser, running.address)


def _wide(browser: Browser, address: str, scheme: str) -> None:
    still = {"color_scheme": scheme, "reduced_motion": "reduce", "viewport": WIDE}
    with window(browser, address, **still) as opened:
        opened.go("ask", **EINSTEIN)
        opened.wait_for("Why Germany", ".why")
        _take(opened, f"page-ask-{scheme}")
        if scheme == "dark":
            opened.go("ask", **EINSTEIN, without=json.dumps(MIND))
            opened.page.locator(".verdict").wait_for()
            _take(opened, "page-what-if-dark")
        else:
            opened.go("entity", entity="Marie Curie")
            _take(opened, "page-entity-light")


def _narrow(browser: Browser, address: str) -> None:
    still = {"color_scheme": "light", "reduced_motion": "reduce", "viewport": NARROW}
    with window(browser, address, **still) as opened:
        opened.go("ask", **EINSTEIN)
        opened.wait_for("Why Germany", ".why")
        _take(opened, "page-narrow-light")
    still["color_scheme"] = "dark"
    with window(browser, address, **still) as opened:
        opened.go("ask", **EINSTEIN)
        opened.wait_for("Why Germany", ".why")
        opened.page.locator(".why").evaluate("node => node.scrollIntoView()")
        _take(opened, "page-narrow-dark")


def _take(opened: Window, name: str) -> None:
    opened.page.locator(".light.on").wait_for()
    session = opened.page.context.new_cdp_session(opened.page)
    taken = session.send(
        "Page.captureScreenshot", {"format": "webp", "quality": QUALITY}
    )
    (DOCS / f"{name}.webp").write_bytes(b64decode(taken["data"]))


if __name__ == "__main__":
    main()
