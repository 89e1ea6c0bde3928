"""What the page is made of: few bytes, nothing from elsewhere, and vendored code as its packages have it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from popkit_retention import features

FILES = Path(__file__).resolve().parents[3] / "power-mode" / "popkit_retention" / "dashboard" / "page"
VENDOR = FILES / "vendor"
SHOWN = [tile for feature in features.whole() if feature.tile and (tile := features.found(feature.tile)).view]
TILES = {Path(tile.module()) for tile in SHOWN}
MOST_BYTES = 300_000
MOST_LINES, MOST_COLUMNS = 250, 140
# Of the files in the packages that vendor/README.md names: `npm pack htm@3.1.1 preact@11.2.0`.
HASHES = {
    "preact-htm.js": "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7",
    "LICENSE-htm.txt": "740725f7252e750af735d0028cc534970772f513331e9f68150fede8fb3ce00f",
    "LICENSE-preact.txt": "1fe6958409c8c257a70c587a18b6f7f412b179b456630790d30b2ec9a8e4b7d4",
}
_IMPORT = re.compile(r"""(?:^import .*?from |^import |^export .*? from |new URL\()["']([./].+?)["']""", re.MULTILINE)


def ours(ending: str) -> list[Path]:
    """Our own files, with the modules of tiles."""
    paths = [path for path in FILES.rglob("*" + ending) if VENDOR not in path.parents]
    return sorted([*paths, *(path for path in TILES if path.suffix == ending)])


def imports(path: Path) -> set[Path]:
    """What a module imports: that of a tile from the root of the page, the page's own from where they are."""
    names = _IMPORT.findall(re.sub(r"\{[^}]*\}", "{}", path.read_text()))
    return {FILES / name[1:] if name.startswith("/") else (path.parent / name).resolve() for name in names}


def test_the_page_has_at_most_300_kb() -> None:
    assert sum(path.stat().st_size for path in [*FILES.rglob("*"), *TILES] if path.is_file()) <= MOST_BYTES


def test_what_is_vendored_is_what_the_packages_hold_and_nothing_else() -> None:
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir() if path.name != "README.md"}
    assert hashes == HASHES
    readme = (VENDOR / "README.md").read_text()
    assert all(name in readme for name in HASHES)
    assert "htm@3.1.1" in readme


@pytest.mark.parametrize("path", ours(".js"), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_modules_are_small(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= MOST_COLUMNS


def test_nothing_comes_from_another_host() -> None:
    allowed = {"http://www.w3.org/2000/svg"}
    for path in [*ours(".js"), *ours(".css"), *ours(".html"), *ours(".svg")]:
        assert set(re.findall(r"(?:https?:)?//[\w.-]+\.\w[\w./]*", re.sub(r"//\s.*", "", path.read_text()))) <= allowed, path.name


def test_the_html_has_neither_scripts_nor_styles_in_it() -> None:
    text = (FILES / "index.html").read_text()
    assert re.findall(r"<script[^>]*>", text) == ['<script src="first.js">', '<script type="module" src="app.js">']
    assert "<style" not in text
    for path in [FILES / "index.html", *ours(".js")]:
        assert not re.search(r"\bstyle=|\bon[a-z]+=\"|innerHTML|dangerouslySet|\beval\(", path.read_text()), path.name


def test_every_module_is_fetched_at_once_and_every_import_is_there() -> None:
    preloaded = set(re.findall(r'modulepreload" href="(.+?)"', (FILES / "index.html").read_text()))
    modules = {path.relative_to(FILES).as_posix() for path in FILES.rglob("*.js")}
    assert preloaded == modules - {"app.js", "first.js"}
    for path in ours(".js"):
        assert all(named.is_file() for named in imports(path)), path.name


def test_every_file_is_used() -> None:
    named = {path for each in ours(".js") for path in imports(each)}
    named |= {FILES / name for name in re.findall(r'(?:src|href)="(.+?)"', (FILES / "index.html").read_text())}
    assert {*ours(".js"), *ours(".css"), *ours(".svg")} - TILES <= named


def test_the_page_names_no_tile_and_imports_nothing_of_one() -> None:
    names = {tile.view for tile in SHOWN}
    for path in (FILES / name for name in ("index.html", "first.js", "app.js", "route.js", "palette.js")):
        assert names.isdisjoint(re.findall(r"\w+", re.sub(r"//.*", "", path.read_text()))), path.name
    for path in ours(".js"):
        assert imports(path).isdisjoint(TILES), path.name
