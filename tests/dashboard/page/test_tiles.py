"""The views of the page are those of the features that are there: of the folders beside the page, and of nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from popkit_retention import features
from tests.dashboard.page.served import TILES, Visit
from tests.installations import Without, whole
from tests.patience import HANG_S

TITLES = {feature: tile.title for feature, tile in TILES.items()}
RANK = 45  # as FEATURE has it
FEATURE = """
from ..features import Feature

FEATURE = Feature("weather", 45, tile=f"{__package__}.tile:WeatherTile")
"""
TILE = """
from __future__ import annotations

from fastapi import APIRouter

from ..dashboard.shapes import Shape
from ..dashboard.tile import Tile


class Weather(Shape):
    sky: str


class WeatherTile(Tile):
    view = "weather"
    title = "Weather"

    def router(self) -> APIRouter:
        router = APIRouter()

        @router.get("/api/weather", response_model=Weather)
        def weather() -> Weather:
            return Weather(sky="clear")

        return router
"""
SCRIPT = """
import { html } from "/vendor/preact-htm.js";
import { useAnswer } from "/answers.js";
import { Answered } from "/parts/states.js";
import { useTitle } from "/route.js";

export default function Weather({ id }) {
  const answer = useAnswer("/api/weather");
  useTitle("Weather");
  return html`<div class="view">
    <div class="view-head"><h1 tabindex="-1">Weather</h1></div>
    <${Answered} answer=${answer} what="the sky" lines=${2}>${({ sky }) => html`<p class="note">Over ${id || "everything"}: ${sky}</p>`}<//>
  </div>`;
}
"""


FILES = {"feature.py": FEATURE, "tile.py": TILE, "tile.js": SCRIPT}


class Installed:
    """`popkit dashboard` of an installation."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.port = urlsplit(address).port


@contextmanager
def served(root: Path, environ: dict[str, str]) -> Iterator[Installed]:
    asked = {"port": 0, "ipv6": False, "json": True, "version": "9.9.9", "open": False}
    program = root / "power-mode" / "popkit_retention" / "dashboard" / "server.py"
    with subprocess.Popen([sys.executable, program, json.dumps(asked)], env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Installed(json.loads(process.stdout.readline())["address"])
        finally:
            process.terminate()
            process.wait(HANG_S)


@contextmanager
def visited(browser: Browser, root: Path, environ: dict[str, str]) -> Iterator[Visit]:
    """A page of an installation, which is refused nothing and says nothing on the console."""
    with served(root, environ) as installed:
        seen = Visit(browser, installed)
        yield seen
        assert seen.refused == []
        seen.close()


def views(seen: Visit) -> list[str]:
    links = seen.page.get_by_role("navigation", name="Views").get_by_role("link")
    expect(links.first).to_be_visible()
    return links.all_inner_texts()


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole(tmp_path_factory.mktemp("tiles") / "whole")


# Each feature but the page itself. One without a view has nothing that the page names, so it goes with --slow.
GONE = [
    pytest.param(feature.name, marks=[] if feature in TITLES else [pytest.mark.slow])
    for feature in sorted(features.every(), key=lambda feature: feature.name)
    if feature.name != "dashboard"
]


@pytest.mark.parametrize("gone", GONE)
def test_without_the_folder_of_a_feature_the_page_shows_the_other_views(
    gone: str, everything: Path, browser: Browser, tmp_path: Path
) -> None:
    left = Without(everything, tmp_path, gone)
    there = [title for feature, title in TITLES.items() if gone not in (feature.name, *feature.needs)]
    with visited(browser, left.root, left.env) as seen:
        assert views(seen) == ["Sessions", *there]
        for title in there:
            seen.view(title)


def test_a_folder_beside_the_others_is_a_view_without_a_line_elsewhere(everything: Path, browser: Browser, tmp_path: Path) -> None:
    left = Without(everything, tmp_path, "lab")
    folder = left.root / "power-mode" / "popkit_retention" / "weather"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    with visited(browser, left.root, left.env) as seen:
        ranked = sorted([*((feature.rank, title) for feature, title in TITLES.items()), (RANK, "Weather")])
        assert views(seen) == ["Sessions", *(title for _, title in ranked)]
        seen.view("weather")
        expect(seen.page.get_by_role("heading", level=1)).to_be_focused()
        expect(seen.page.locator(".note")).to_have_text("Over everything: clear")
        expect(seen.page).to_have_title("Weather · PopKit")
        seen.page.goto(f"{seen.page.url.split('#')[0]}#/weather/the%20sea")
        expect(seen.page.locator(".note")).to_have_text("Over the sea: clear")
        seen.fits()


@pytest.mark.parametrize("script", ["export default (", "export const nothing = 0;"], ids=["broken", "without a view"])
def test_a_view_that_cannot_be_loaded_leaves_the_others_alone(script: str, everything: Path, browser: Browser, tmp_path: Path) -> None:
    left = Without(everything, tmp_path, "lab")
    path = left.root / "power-mode" / "popkit_retention" / "bill" / "tile.js"
    path.unlink()  # the copies share their files
    path.write_text(script)
    with visited(browser, left.root, left.env) as seen:
        seen.view("bill")
        expect(seen.page.get_by_role("alert").last).to_contain_text("A file of this view is missing or broken.")
        expect(seen.page.get_by_role("button", name="Try again")).to_be_visible()
        seen.view("budgets")
        expect(seen.page.get_by_role("heading", name="Limits")).to_be_visible()


def test_a_browser_fetches_the_modules_of_tiles_with_the_html_and_once(visit: Callable[..., Visit]) -> None:
    page = visit().page
    expect(page.locator(".row")).to_have_count(1)
    fetched = page.evaluate(
        "performance.getEntriesByType('resource').map(({ name, initiatorType }) => [new URL(name).pathname, initiatorType])"
    )
    modules = [path for path, _ in fetched if path.startswith("/tiles/")]
    assert len(modules) == len({*modules}) == len(TITLES)
    by_scripts = [path for path, initiator in fetched if initiator == "script"]
    assert by_scripts == ["/first.js", "/app.js"], "what the HTML preloads has no script as its initiator"
