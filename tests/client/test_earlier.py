"""A session that an earlier version cleared: there are placeholders in its transcript, and the archive has what they stand for. Nothing of
it is lost, whatever the client.

The files in `earlier` are as that version left them, but for the names of folders and for lines that no conversation has.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from popkit_retention.core.hosts.transcripts.projects import folder_name

from .client import ClientHome
from .compacted import Compacted, good, toasts
from .ends import both_ends
from .plugin_copy import linked
from .reclaimed import placeholders, plain
from .scripted_api import ScriptedApi
from .terminal import ClientTerminal

SESSION = "19fdc465-e705-4e5b-a5be-0180a2f1f1ea"
KEPT = Path(__file__).with_name("earlier")
# The first Read, the first run, the long Read: what was cleared, and how what it stands for begins.
GONE = {"toolu_work_0_0": "3\tNote 3: ", "toolu_work_1_0": "> shop@1.0.0 test", "toolu_work_2_0": "1\texports.item0001"}


@pytest.fixture
def world(home: ClientHome, api: ScriptedApi) -> Compacted:
    """A home as that version left it."""
    world = Compacted(home, api)
    path = home.config / "projects" / folder_name(str(home.work)) / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    text = gzip.decompress((KEPT / "session.jsonl.gz").read_bytes()).decode()
    for name, value in {"{work}": str(home.work), "{slug}": folder_name(str(home.work)), "{root}": str(home.root)}.items():
        text = text.replace(name, value)
    path.write_text(text)
    folder = world.popkit_home / "sessions" / SESSION
    folder.mkdir(parents=True, mode=0o700)
    for name in ("main.journal.jsonl", "main.receipts.jsonl"):
        (folder / name).write_bytes((KEPT / name).read_bytes())
    (folder / "original.jsonl").write_text(text)
    archive = world.popkit_home / "archive.sqlite"
    archive.write_bytes(gzip.decompress((KEPT / "archive.sqlite.gz").read_bytes()))
    archive.chmod(0o600)
    return world


def standing(world: Compacted) -> dict[str, str]:
    return placeholders(world.contents(SESSION))


@both_ends
def test_each_placeholder_is_sent_and_its_handle_prints_the_content(world: Compacted):
    done = world.home.run_headless("now [[SCRIPT:talk]]", plugin_dir=linked(), resume=SESSION)
    assert done.returncode == 0, done.stderr
    handles = placeholders(world.api.turns()[0].tool_results())
    assert set(handles) == set(GONE)
    for id, handle in handles.items():
        assert world.popkit("restore", handle).stdout.startswith(GONE[id])
    assert {row["id"] for row in world.asked("retention", "--session", SESSION)["results"] if row["state"] == "cleared"}
    assert world.errors() == ""


def test_once_resumed_an_undo_puts_everything_back_and_a_restore_one_of_them(world: Compacted):
    path = world.home.transcript_path(SESSION)
    original, handles = path.read_bytes(), standing(world)
    assert set(world.asked("restore", handles["toolu_work_1_0"], "--in-place", "--session", SESSION)["restored"]) == {
        handles["toolu_work_1_0"]
    }
    done = world.play("now [[SCRIPT:talk]]", SESSION)
    (request,) = world.api.turns()
    assert set(placeholders(request.tool_results())) == set(GONE) - {"toolu_work_1_0"}
    assert [toast.partition(":")[0] for toast in toasts(done)] == ["Put back in place"]

    world.api.clear()
    asked = world.asked("undo", "--session", SESSION)
    assert (asked["later"], set(asked["restored"])) == (True, {handles[id] for id in set(GONE) - {"toolu_work_1_0"}})
    world.play("now [[SCRIPT:talk]]", SESSION)
    (request,) = world.api.turns()
    assert good(request) == []
    results = {plain(id): text for id, text in request.tool_results().items()}
    assert placeholders(request.tool_results()) == {}
    assert all(results[id].startswith(begins) for id, begins in GONE.items())
    assert path.read_bytes().startswith(original), "the client alone has written, and only behind"
    assert world.agrees(SESSION)
    assert world.errors() == ""


@both_ends
def test_a_client_without_our_code_says_in_a_sentence_what_a_newer_one_adds(world: Compacted, hooks_alone: Path):
    before = world.home.transcript_path(SESSION).read_bytes()
    with ClientTerminal(world.home, plugin_dir=hooks_alone, resume=SESSION, rows=120) as terminal:
        terminal.wait("rested")
        terminal.wait_idle()
        for words in ("undo", "restore T1 --in-place"):
            told = terminal.text().count("2.1.326")
            terminal.ask(f"/popkit:context {words}", lambda shown, told=told: shown.count("2.1.326") > told)
            terminal.wait_idle(0.3)
        assert "nothing was changed" in terminal.text()
    assert world.api.requests == []
    assert world.home.transcript_path(SESSION).read_bytes().startswith(before)
    folder = world.popkit_home / "sessions" / SESSION
    assert not (folder / "noted.json").exists()
