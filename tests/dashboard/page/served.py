"""A dashboard that serves a home, as `popkit dashboard` does, and a page of it in a real browser."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from types import TracebackType
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, Route, expect, sync_playwright

from popkit_retention import features
from popkit_retention.dashboard.routes import OWN_VIEW
from tests import debian
from tests.dashboard.page import forked
from tests.patience import HANG_S

# The features with a view -> its tile, in the order of the page.
TILES = {feature: tile for feature in features.every() if feature.tile and (tile := features.found(feature.tile)).view}
VIEWS = (OWN_VIEW, *(tile.view for tile in TILES.values()))
WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 400, "height": 850}
# A browser that asks nobody but us, and draws without playing a graphics card.
_ARGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
)  # fmt: skip
# What the browser itself says of an answer that is an error; the page shows it in words.
_OF_THE_BROWSER = re.compile(r"^Failed to load resource: (?:the server responded with a status of (?:4\d\d|5\d\d)|net::ERR_)")
# A busy machine makes a test slow, not red; but what is wrong is not waited for as long as what hangs.
PATIENCE_S = 120.0
expect.set_options(timeout=PATIENCE_S * 1000)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, with a fresh profile; without one the test is skipped."""
    program = debian.chromium()
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium-headless-shell")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=str(program), args=list(_ARGS))
        yield running
        running.close()


class Served:
    """`popkit dashboard` over a home, at a port that stays its own when it is started again."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ = environ
        self._process: BaseProcess | None = None
        self.port = 0
        self.address = ""

    def start(self) -> Served:
        asked = {"port": self.port, "ipv6": False, "json": True, "version": "9.9.9", "open": False}
        self._process, line = forked.start(asked, self._environ)
        self.address = json.loads(line)["address"]
        self.port = urlsplit(self.address).port
        return self

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        assert self._process.pid is not None
        return self._process.pid

    def stop(self) -> None:
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGINT)
            self._process.join(HANG_S)
            self._process = None

    def __enter__(self) -> Served:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


class Visit:
    """A page that somebody has opened, in a profile of its own. Whatever it says on the console, whomever it asks, and what it is
    refused, is noted. `clock`: the time of day there, which goes on; else it is the machine's."""

    def __init__(self, browser: Browser, served: Served, hash: str = "", clock: float | None = None, **how: object) -> None:
        self.served = served
        self.context = browser.new_context(**{"viewport": WIDE, "locale": "en-GB", "timezone_id": "UTC", **how})
        self.context.set_default_timeout(PATIENCE_S * 1000)
        self.console: list[str] = []
        self.asked: set[str] = set()
        self.refused: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("request", self._requested)
        self.page.on("response", self._answered)
        if clock is not None:
            self.page.clock.install(time=clock)
        self.page.goto(served.address + hash)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not _OF_THE_BROWSER.match(message.text):
            self.console.append(message.text)

    def _requested(self, request: Request) -> None:
        self.asked.add(urlsplit(request.url).netloc)

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.refused.append(f"{response.status} {urlsplit(response.url).path}")

    def close(self) -> None:
        """Nothing was wrong with it: no error, nothing that the content policy forbids, no other host."""
        self.context.close()
        assert self.console == []
        assert self.asked == {f"127.0.0.1:{self.served.port}"}

    def view(self, name: str) -> None:
        """Goes there by its link, and waits for what it shows."""
        self.page.get_by_role("navigation", name="Views").get_by_role("link", name=name.capitalize()).click()
        expect(self.page.get_by_role("heading", level=1, name=name.capitalize())).to_be_visible()
        expect(self.page.locator(".skeleton")).to_have_count(0)

    def confirm(self, button: str) -> str:
        """Presses a button, reads the sum in the dialog, agrees; the sum."""
        self.page.locator("main").get_by_role("button", name=button, exact=True).click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        words = dialog.locator(".sum").inner_text()
        dialog.get_by_role("button", name=button, exact=True).click()
        expect(dialog).not_to_be_visible()
        return words

    def status(self) -> str:
        """What came of an operation."""
        notice = self.page.locator(".notice-told")
        expect(notice).to_be_visible()
        return notice.inner_text()

    def fetch(self, path: str) -> dict:
        """What the API says to this visitor's page."""
        asked = self.context.request.get(f"http://127.0.0.1:{self.served.port}{path}", headers={"Sec-Fetch-Site": "same-origin"})
        return asked.json()

    def fits(self) -> None:
        """Assert that nothing is wider than the page, be it wide or narrow."""
        for size in (NARROW, WIDE):
            self.page.set_viewport_size(size)
            assert not self.scrolls_sideways(), size

    def scrolls_sideways(self) -> bool:
        return self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


class Held:
    """Requests of a page that wait until the test lets them go on: all to an address, or so many `times`. A request is seen before it is
    held, so each is waited for."""

    def __init__(self, page: Page, address: str | re.Pattern[str], times: int | None = None) -> None:
        self._page, self._address = page, address
        self._routes: list[Route] = []
        page.route(address, lambda route, _request: self._routes.append(route), times=times)

    def __len__(self) -> int:
        return len(self._routes)

    def __getitem__(self, number: int) -> Route:
        began = time.monotonic()
        while len(self) <= number:
            assert time.monotonic() - began < PATIENCE_S, f"no request {number} after {PATIENCE_S:.0f} s"
            self._page.wait_for_timeout(10)
        return self._routes[number]

    def let_go(self) -> None:
        """They all go on, and later ones are not held."""
        for route in self._routes:
            route.continue_()
        self._page.unroute(self._address)
