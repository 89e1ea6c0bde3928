"""An arrow is an arrow: no module imports itself by way of others, whatever an import is for and wherever it stands."""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest

from popkit_retention import features

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = [path for folder in ("hooks", "power-mode/popkit_retention") for path in (ROOT / folder).rglob("*.py")]


def circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Return the modules of each circle, by Tarjan's algorithm for strongly connected components."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        open_.append(module)
        for other in sorted(graph.find_modules_directly_imported_by(module)):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in open_:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            circle = open_[open_.index(module) :]
            del open_[-len(circle) :]
            if len(circle) > 1:
                found.append(sorted(circle))

    for module in sorted(graph.modules):
        if module not in number:
            visit(module)
    return found


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = grimp.build_graph("hooks", "popkit_retention", cache_dir=None)
    assert len(graph.modules) >= len(PRODUCT), "every module is looked at"
    assert circles(graph) == []


def test_hooks_import_nothing_of_the_services() -> None:
    graph = grimp.build_graph("popkit_retention", cache_dir=None)
    core = {"popkit_retention.core", *graph.find_descendants("popkit_retention.core")}
    assert len(core) > 1
    assert {f"{module} -> {other}" for module in core for other in graph.find_modules_directly_imported_by(module) - core} == set()


# Features that all others may stand on, and rooms that stand on features; any other room is below them.
SKINS, CLIENTS = {"dashboard", "mcp"}, {"adapters", "archive", "clients", "conformance", "vector_stores"}


def test_a_feature_imports_no_other_but_what_it_needs_and_nothing_else_imports_it() -> None:
    """What a single command needs is named in its row."""
    needs = {each.name: {*each.needs, *(need for command in each.commands for need in command.needs)} for each in features.every()}
    own = needs.keys() - SKINS
    graph = grimp.build_graph("popkit_retention", cache_dir=None)
    wrong = []
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            room, imported = ([*name.split("."), ""][1] for name in (module, other))
            if room not in CLIENTS and imported in own | CLIENTS and imported not in {room, *needs.get(room, ())}:
                wrong.append(f"{module} -> {other}")
    assert sorted(wrong) == []


@pytest.mark.parametrize(
    "back",
    [
        "from . import a",
        "def f():\n    from . import a",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from .a import A",
        "from roomy.a import A",
    ],
    ids=["at the top", "in a function", "for a type alone", "by its whole name"],
)
def test_a_circle_is_found_however_it_is_closed(back: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "roomy"
    room.mkdir()
    for name, text in (("__init__", ""), ("a", "from . import b"), ("b", "from . import c"), ("c", back), ("d", "from . import a")):
        (room / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert circles(grimp.build_graph("roomy", cache_dir=None)) == [["roomy.a", "roomy.b", "roomy.c"]]


def test_a_package_and_its_module_that_import_each_other_are_a_circle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "housed"
    room.mkdir()
    (room / "__init__.py").write_text("LIMIT = 1\n\n\ndef f():\n    from . import a\n")
    (room / "a.py").write_text("from . import LIMIT\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert circles(grimp.build_graph("housed", cache_dir=None)) == [["housed", "housed.a"]]


def test_imports_for_types_alone_are_written_in_one_way() -> None:
    """`typing` costs a hook more than the rest of its imports, so the name is our own, and everywhere the same."""
    others = [
        path.name for path in PRODUCT if any(word in path.read_text("utf-8") for word in ("import TYPE_CHECKING", "typing.TYPE_CHECKING"))
    ]
    assert others == []
