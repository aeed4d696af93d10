"""A real browser, Chromium by Playwright; tests that need it are skipped where it is not."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Route

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60_000  # milliseconds: generous, since nothing is measured
EXPECTED = "the server responded with a status of 4"  # a refusal that a test asks for


def chromium() -> str | None:
    """Where the browser is; CASEGRAPH_CHROMIUM names another."""
    named = os.environ.get("CASEGRAPH_CHROMIUM")
    found = [named] if named else [shutil.which(name) for name in NAMES]
    return next((path for path in found if path), None)


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """A browser without a window."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed"
    )
    path = chromium()
    if path is None:
        pytest.skip("no Chromium is installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Window:
    """A page of the service in a browser, and everything about it that must not happen."""

    page: Page
    address: str
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        page = self.page
        page.set_default_timeout(PATIENCE)
        page.on("dialog", self._met_dialog)
        page.on("request", lambda request: self._asked(request.url))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("console", self._met_message)

    def _met_dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, url: str) -> None:
        is_own = url.startswith((self.address, "data:", "blob:"))
        if not is_own:
            self.wrong.append(f"request to {urlsplit(url).netloc}")

    def _met_message(self, message: Any) -> None:
        if message.type == "error" and EXPECTED not in message.text:
            self.wrong.append(f"console: {message.text}")

    def go(self, view: str = "", **parameters: str) -> None:
        """Go to a view by its address, and wait until it is there."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        self.page.goto(f"{self.address}/#{view}{query}" if view else f"{self.address}/")
        self.settle()

    def settle(self) -> None:
        """Wait until a view is shown."""
        self.page.wait_for_selector("main[aria-busy=false]")

    def answers(self) -> list[str]:
        """The ranked answers."""
        shown: list[str] = self.page.locator(".answers .name bdi").all_inner_texts()
        return shown

    def wait_for(self, text: str, within: str = "main") -> None:
        """Wait until a text is somewhere."""
        self.page.locator(within).get_by_text(text).first.wait_for()

    def press(self, name: str, *, exact: bool = True) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=name, exact=exact).first.click()

    @contextmanager
    def held_up(self, addresses: str) -> Iterator[None]:
        """Requests to these addresses are not sent before the end of the block."""
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        self.page.route(addresses, hold)
        yield
        self.page.route(addresses, lambda route: route.continue_())
        for route in held:
            route.continue_()


@contextmanager
def window(browser: Browser, address: str, **options: Any) -> Iterator[Window]:
    """A window; at its end, nothing may have gone wrong in it."""
    context = browser.new_context(
        **{"viewport": {"width": 1360, "height": 900}, **options}
    )
    try:
        opened = Window(context.new_page(), address)
        yield opened
        assert opened.wrong == [], "; ".join(opened.wrong)
    finally:
        context.close()
