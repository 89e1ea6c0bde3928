"""Every store says what it keeps in our folder: none is forgotten, and no file is nobody's."""

from __future__ import annotations

import ast
import os
import socket
from pathlib import Path

import pytest

from popkit_retention.bill import digests
from popkit_retention.core import archive
from popkit_retention.core.hosts.opencode.kept_transcripts import OpenCodeTranscript, path_of
from popkit_retention.core.hosts.pi.kept_transcripts import PiTranscript
from popkit_retention.core.io import hook_log
from popkit_retention.core.io.storage import LOGS
from popkit_retention.core.reclaim import auto_compaction
from popkit_retention.core.state import limit_readings, prompt_breakdowns, sockets
from popkit_retention.core.state.site import Site
from popkit_retention.dashboard.instance import Instance
from popkit_retention.operations import stores
from tests.bill.conversations import breakdown
from tests.cli.governed import Governed
from tests.cli.remembered import DAY_S
from tests.hosts.test_opencode import worked as conversation
from tests.hosts.test_pi import RECORDED as PI_RECORDED
from tests.hosts.test_pi import lines as lines_of
from tests.paths import ROOT
from tests.reclaim.shops import SESSION, Shop, worked


def declaring() -> set[str]:
    """The modules that declare a STORAGE."""
    found = set()
    for name, root in (("popkit_retention.core", ROOT / "hooks/utils"), ("popkit_retention", ROOT / "power-mode/popkit_retention")):
        for path in root.rglob("*.py"):
            text = path.read_text()
            names = [node.targets[0] for node in ast.parse(text).body if isinstance(node, ast.Assign)] if "STORAGE" in text else []
            if any(isinstance(name, ast.Name) and name.id == "STORAGE" for name in names):
                found.add(".".join([name, *path.relative_to(root).with_suffix("").parts]).removesuffix(".__init__"))
    return found


PI_SESSION = lines_of(PI_RECORDED[0])


def owners(home: Path) -> dict[str, list[str]]:
    """Every file below a folder of ours -> the titles of the stores that say it is theirs."""
    names = [str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir() or path.is_symlink()]
    return {name: [each.title for each in stores.every() if each.owns(str(home), name)] for name in names}


def busy(house: Governed) -> None:
    """Lets every part of PopKit write something."""
    env = {**os.environ, **house.env}
    house.has_client("2.1.330")
    house.start()
    house.read("a.py", "x = 1\n")
    house.bash("npm test", "PASS 3 tests\n")
    house.run("statusline", "install", "--yes")
    house.run("budget", "set", "month_usd=50", "--yes")
    house.run("budget")
    hook_log.log_failure(env, "post-tool-use", ValueError("a failure"))
    house.run("doctor")
    house.memory("on")
    house.memory("admin", "learn", str(house.session("first")))
    house.add("Run make check before you commit.", "--key")
    (id,) = [id for id, item in house.items().items() if "make check" in item["text"]]
    for _ in range(3):
        house.now += 9 * DAY_S
        house.memory("admin", "run", "--force")
    house.retention("set", "memory.auto_gc=true")
    house.retention("hold", "add", id, "--why", "audit", "--who", "alice")
    house.retention("admin", "archive", id)
    house.retention("gc", "--auto", "--quiet")
    archive.open_archive(str(house.home / "archive.sqlite")).close()
    auto_compaction.choose(Site(env, "5e55", "/shop"), True)
    (house.home / "breaks.json").write_text("{}")  # of an earlier version
    limit_readings.note_limits(str(house.home), [{"kind": "five_hour", "percentUsed": 7}], house.now, fresh=True)
    OpenCodeTranscript(path_of(str(house.home), "/shop", "ses_5e55"), "ses_5e55", "/shop").take(conversation().messages)
    PiTranscript(path_of(str(house.home), "/shop", "pi_5e55"), "pi_5e55", "/shop").take(PI_SESSION)
    prompt_breakdowns.keep_breakdown(str(house.home), "shop", "5e55", breakdown(), house.now)
    (house.home / "trials.json").write_text("{}")  # of an earlier version
    digests.of_user(env, 0.0, house.now, lambda *_: None)
    Instance(env).record("http://127.0.0.1:1/")
    Instance(env).browser_file("http://127.0.0.1:1/")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sockets.free_path(env, "5e55"))
    house.hook("session-end", hook_event_name="SessionEnd", reason="exit")


def test_every_store_that_declares_what_it_keeps_is_listed() -> None:
    assert set(stores.declaring()) == declaring()


@pytest.fixture(scope="module")
def owned_by(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    house = Governed(tmp_path_factory.mktemp("busy"))
    busy(house)
    return owners(house.home)


def test_every_file_that_popkit_writes_belongs_to_exactly_one_store(owned_by: dict[str, list[str]]) -> None:
    assert {name: titles for name, titles in owned_by.items() if len(titles) != 1} == {}
    written = {titles[0] for titles in owned_by.values()}
    never = {"kept originals", "what popkit setup installed"}  # the other test's, and pip's
    assert written == {each.title for each in stores.every()} - never


def test_where_a_store_keeps_things_is_on_the_page_about_privacy(owned_by: dict[str, list[str]]) -> None:
    page = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    small = {LOGS, "what earlier versions kept", "your configuration"}
    places = {"".join(name.partition("/")[:2]) for name, titles in owned_by.items() if not small.intersection(titles)}
    assert {place for place in places if f"`{place}" not in page} == set()


def test_what_a_clear_writes_belongs_to_exactly_one_store(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.write(worked(str(shop.project)))
    shop.clear()
    shop.noted().add(only=["read-lib"])
    (shop.home / "sessions" / SESSION / "original.jsonl").write_text("")  # an earlier version kept it
    owned_by = owners(shop.home)
    assert {name: titles for name, titles in owned_by.items() if len(titles) != 1} == {}
    assert {"archive", "kept originals", "states of sessions"} <= {titles[0] for titles in owned_by.values()}
