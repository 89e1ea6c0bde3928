"""One browser for the tests of a module, and homes that a dashboard serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the dashboard needs its extra")
pytest.importorskip("playwright", reason="the page is tried in a browser, which playwright drives")

from playwright.sync_api import Browser, sync_playwright

from tests import debian
from tests.dashboard.page.homes import Home
from tests.dashboard.page.served import ARGS, Served, Visit


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, with a fresh profile."""
    program = debian.chromium()
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=str(program), args=list(ARGS))
        yield running
        running.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with one session in it: what a clear takes, what it leaves, and a cold cache."""
    return Home(tmp_path).with_session()


@pytest.fixture
def served(home: Home) -> Iterator[Served]:
    with Served(home.environ()) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Callable[..., Visit]]:
    """`visit(hash)` opens a page; each is checked at the end."""
    opened: list[Visit] = []

    def open_page(hash: str = "", **how: object) -> Visit:
        opened.append(Visit(browser, served, hash, **how))
        return opened[-1]

    yield open_page
    for each in opened:
        each.close()
