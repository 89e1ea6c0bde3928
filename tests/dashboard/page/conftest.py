"""One browser for the tests of the page, and homes that a dashboard serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the dashboard needs its extra")
pytest.importorskip("playwright", reason="the page is tried in a browser, which playwright drives")

from playwright.sync_api import Browser

from tests.dashboard.page.homes import Home
from tests.dashboard.page.served import Served, Visit, chromium


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser for this folder alone: while its driver runs, no other test of the process can run a loop of events."""
    with chromium() as running:
        yield running


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
