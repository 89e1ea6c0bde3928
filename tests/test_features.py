"""A feature is a folder: without it, everything else works, and what needs it says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention import features
from popkit_retention.cli import commands
from popkit_retention.cli.main import LACKING
from popkit_retention.dashboard.routes import OWN_VIEW
from tests.hooks import payloads
from tests.installations import Without, whole

FEATURES = {feature.name: feature for feature in features.every()}
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
MESSAGES = "".join(
    json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    for message in (
        {"id": 1, "method": "initialize", "params": INITIALIZE},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
)
# What each command does in a home where nothing has happened yet; for the others, their help has to do.
WORK = {
    "memory": ("memory", "--json"),
    "retention": ("retention", "--json"),
    "budget": ("budget", "--json"),
    "bill": ("bill", "--json"),
    "setup": ("setup", "--json"),
    "uninstall": ("uninstall", "--dry-run", "--json"),
    "completion": ("completion", "--words", "help"),
}
HELP = ("help", "--json")
TOOLS = {
    tool.name: (feature.name, *feature.needs)
    for feature in FEATURES.values()
    if feature.tools
    for tool in features.found(f"{feature.tools}:TOOLS")
}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole(tmp_path_factory.mktemp("features") / "whole")


@pytest.fixture(scope="module", params=FEATURES)
def left(request: pytest.FixtureRequest, everything: Path, tmp_path_factory: pytest.TempPathFactory) -> Without:
    return Without(everything, tmp_path_factory.mktemp(request.param), request.param)


def test_without_the_folder_of_a_feature_all_else_works(left: Without) -> None:
    gone = left.gone
    lost = {command.name for command in FEATURES[gone].commands}
    lacking = {name for name, command in commands.every().items() if gone in command.needs} - lost
    working = set(commands.every()) - lost - lacking
    assert "PopKit" in left.alone("help")
    did = left.popkit(*[WORK.get(name, (name, "--help")) for name in sorted(working)], *[(name,) for name in sorted(lacking | lost)], HELP)
    assert {name: did[name] for name in working if did[name][0] or did[name][2]} == {}
    assert set(json.loads(did["help"][1])) == set(commands.names()) - lost
    for name in lacking:
        code, printed, said = did[name]
        assert (code, printed) == (LACKING, "")
        assert f"it needs {gone}, which this installation lacks" in " ".join(said.split())
    for name in lost:
        code, printed, said = did[name]
        assert (code, printed) == (1, "")
        assert f'unknown command "{name}"' in " ".join(said.split())
    if "mcp" in working:
        (listed,) = [line for line in map(json.loads, left.alone("mcp", stdin=MESSAGES).splitlines()) if line["id"] == 2]
        assert {tool["name"] for tool in listed["result"]["tools"]} == {name for name, needs in TOOLS.items() if gone not in needs}


def test_without_the_folder_of_a_feature_hooks_and_doctor_work(left: Without) -> None:
    left.hook(payloads.read("/home/dev/shop/a.py", "x = 1\n"))
    assert list(left.home.rglob("*.state.json")), "a call is observed"
    answer = json.loads(left.hook(payloads.prompt("/popkit:context retention")))
    assert "1 tool call in 1 turn" in answer["reason"]
    code, printed, said = left.popkit(("doctor", "--json"))["doctor"]
    assert (code, said) == (0, "")
    assert [check["text"] for check in json.loads(printed)["checks"] if check["check"] == "hook errors"] == ["none in the log"]


def test_without_the_folder_of_a_feature_the_page_has_the_rest(left: Without) -> None:
    if left.gone == "dashboard":
        return  # there is no page
    tiled = {name for name, feature in FEATURES.items() if feature.tile and left.gone not in (name, *feature.needs)}
    views, folders = left.page()
    assert views == {OWN_VIEW, *(features.found(FEATURES[name].tile).view for name in tiled)} - {""}
    assert folders == tiled


def test_what_a_feature_names_is_there() -> None:
    for feature in FEATURES.values():
        assert set(feature.offers) <= set(features.OFFERS)
        places = [*feature.offers.values(), *(place for each in feature.setups for place in (each.does, each.is_there))]
        places += [command.run for command in feature.commands if command.run]
        assert all(callable(features.found(place)) for place in places)
        assert {*feature.needs, *(need for command in feature.commands for need in command.needs)} <= set(FEATURES) - {feature.name}


def test_each_folder_with_rows_is_a_feature_and_named_for_itself() -> None:
    folder = Path(features.__file__).parent
    assert {path.parent.name for path in folder.glob("*/feature.py")} == set(FEATURES)
    assert len({feature.rank for feature in FEATURES.values()}) == len(FEATURES)
    ranks = [command.rank for command in commands.every().values()]
    assert ranks == sorted(set(ranks))
