"""Memory and the hooks: who is given MEMORY.md, and how often; who learns, and that nobody waits for it; what is broken fails no hook."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from popkit_retention.core.hosts.transcripts.projects import folder_name
from popkit_retention.core.io.codec import loads
from popkit_retention.core.io.repository import blob_of
from popkit_retention.core.state import data_rules, memory, memory_alerts, memory_json
from popkit_retention.core.state.memory_records import Entry, Fact
from popkit_retention.core.state.memory_text import render
from tests.hooks import payloads
from tests.hooks.processes import listing, run
from tests.hooks.remembering import MEMORY, Blocking, Remembering, context_of
from tests.kit.forks import Forks, Hook

OTHER = "3ffaa4db-e088-49ec-9796-000000000002"
HOSTILE = {
    "huge": "x" * (memory.MOST_BYTES + 1),
    "of too many lines": "line\n" * (memory.MOST_LINES + 1),
    "of too many tokens": "word " * 2_000,
}


@pytest.fixture
def remembered(shop: Remembering) -> Remembering:
    """Whose memory is on, with something to say."""
    shop.remember()
    return shop


# --- on and off ----------------------------------------------------------------------------------------------------------------------


def test_memory_is_off_until_somebody_switches_it_on(shop: Remembering):
    shop.project.write_document(MEMORY)
    assert not shop.project.is_on()
    assert shop.begin() == ""
    assert shop.project.turn_on(5.0) is True
    assert shop.project.is_on()
    assert shop.project.turn_on(6.0) is False
    assert shop.project.turn_off(7.0) is True
    assert not shop.project.is_on()
    assert shop.project.document() == MEMORY


def test_every_folder_of_a_repository_has_one_memory(remembered: Remembering):
    assert remembered.begin(cwd=str(remembered.work / "src")) == MEMORY


def rendered(shop: Remembering) -> str:
    """Remember a command, two files and a note; return the text."""
    (shop.work / "src" / "cart.ts").write_text("")
    entries = [
        Entry("command", "pnpm test", "test"), Entry("path", "cart.ts", "src", [Fact("src/cart.ts")]),
        Entry("path", "gone.ts", "src", [Fact("src/gone.ts")]), Entry("note", "Always use pnpm."),
    ]  # fmt: skip
    shop.project.turn_on(1.0)
    shop.project.write_document(render(entries), entries)
    return render(entries)


def test_a_session_is_not_told_of_files_that_are_gone(shop: Remembering):
    assert "{cart,gone}.ts" in rendered(shop)
    context = shop.begin()
    assert "src/: cart.ts" in context
    assert "gone.ts" not in context
    assert shop.booked()[0]["said"] == context


def test_a_text_that_somebody_has_edited_is_given_as_it_is(shop: Remembering):
    Path(shop.project.document_path).write_text(rendered(shop) + "\nMine.\n")
    assert "{cart,gone}.ts" in shop.begin()


def test_a_text_that_an_earlier_version_rendered_otherwise_is_checked_too(shop: Remembering):
    rendered(shop)
    entries = memory_json.from_json(shop.project.entries_of(shop.project.document())[0])
    shop.project.write_document("# Memory\n\nsrc/cart.ts\nsrc/gone.ts\n", entries)
    context = shop.begin()
    assert "src/: cart.ts" in context
    assert "gone.ts" not in context


def test_what_a_file_was_when_the_text_was_written_says_nothing_of_what_it_is(shop: Remembering):
    cart = shop.work / "src" / "cart.ts"
    cart.write_text("export const total = 1\n")
    entries = [
        Entry("path", "cart.ts", "src", [Fact("src/cart.ts", "", "", blob_of(cart.read_bytes()))]),
        Entry("name", "total", "src/cart.ts", [Fact("src/cart.ts", "total")]),
    ]
    shop.project.turn_on(1.0)
    shop.project.write_document(render(entries), entries)
    assert shop.begin() == render(entries).strip()
    cart.write_text("export const price = 1\n")
    context = shop.begin(session_id=OTHER)
    assert "cart.ts*" in context
    assert "total" not in context


def test_claude_code_s_own_memory_is_neither_repeated_nor_written(shop: Remembering):
    rendered(shop)
    theirs = shop.home.parent / "claude" / "projects" / folder_name(str(shop.work)) / "memory"
    theirs.mkdir(parents=True)
    (theirs / "MEMORY.md").write_text("- always use pnpm\n")
    before = listing(theirs)
    context = shop.begin()
    assert "## Notes" not in context
    assert "pnpm test" in context
    assert listing(theirs) == before


def test_another_repository_is_given_nothing(remembered: Remembering, tmp_path: Path):
    (tmp_path / "other" / ".git").mkdir(parents=True)
    assert remembered.begin(cwd=str(tmp_path / "other")) == ""


def test_without_memory_a_session_writes_nothing_of_it(shop: Remembering):
    shop.begin()
    shop.tell(payloads.pre_compact)
    shop.tell(payloads.session_end)
    assert not (shop.home.path / memory.FOLDER).exists()


def test_what_memory_keeps_is_private(remembered: Remembering):
    remembered.project.note_ended("s", str(remembered.transcript), 3.0)
    memory_alerts.set_alerts(remembered.project, {"m1": 5.0})
    folder = Path(remembered.project.folder)
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (folder, folder.parent)} == {0o700}


# --- delivery ------------------------------------------------------------------------------------------------------------------------


def test_a_context_is_given_memory_once(remembered: Remembering):
    assert remembered.begin() == MEMORY
    assert remembered.begin() == ""
    assert remembered.begin("resume") == ""
    assert remembered.begin(session_id=OTHER) == MEMORY
    assert [entry["said"] for entry in remembered.booked()] == [MEMORY]


def test_a_resumed_session_is_given_nothing(remembered: Remembering):
    assert remembered.begin("resume") == ""
    assert remembered.booked() == []


def test_hooks_that_are_registered_twice_deliver_once(forks: Forks, remembered: Remembering):
    payload = payloads.session_start(cwd=str(remembered.work), transcript_path=str(remembered.transcript))
    ran = forks.run_together([Hook("session-start", payload)] * 4, remembered.env())
    assert sorted(context_of(each.stdout) for each in ran) == ["", "", "", MEMORY]
    assert len(remembered.booked()) == 1


def test_a_compaction_empties_the_context_so_memory_is_given_again(remembered: Remembering):
    assert remembered.begin() == MEMORY
    for _ in range(2):
        remembered.tell(payloads.pre_compact)
        assert remembered.begin("compact") == MEMORY
        assert remembered.begin("compact") == ""
    assert len(remembered.booked()) == 3


def test_after_a_clear_memory_is_given_again_whatever_the_session_is_called_then(remembered: Remembering):
    assert remembered.begin() == MEMORY
    remembered.tell(payloads.session_end, "clear")
    assert remembered.begin("clear") == MEMORY
    assert remembered.begin("clear", session_id=OTHER) == MEMORY


def test_what_is_switched_off_is_not_given(remembered: Remembering):
    remembered.project.turn_off(2.0)
    assert remembered.begin() == ""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_memory_that_the_host_would_cut_is_not_given(shop: Remembering, name: str):
    shop.remember(HOSTILE[name])
    assert shop.begin() == ""
    assert [line.split()[1:3] for line in shop.home.failures()] == [["memory", "MemoryTooLarge"]]


@pytest.mark.parametrize("place", ["document", "settings"])
@pytest.mark.parametrize("what", ["fifo", "folder", "link", "nonsense"])
def test_anything_in_the_place_of_a_file_of_ours_fails_no_hook(remembered: Remembering, tmp_path: Path, place: str, what: str):
    path = Path(remembered.project.document_path if place == "document" else remembered.project.folder + "/" + memory.SETTINGS)
    path.unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("the user's own" if place == "document" else '{"on": true, "note": "the user\'s own"}')
    {
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to(elsewhere),
        "nonsense": lambda: path.write_bytes(b"\xff\xfe{" if place == "settings" else b""),
    }[what]()
    assert remembered.begin() == ""
    for maker in (payloads.pre_compact, payloads.session_end):
        remembered.tell(maker)
    assert "the user's own" in elsewhere.read_text()
    assert (remembered.home.failures() != []) == ((place, what) != ("document", "nonsense"))


def test_a_memory_folder_that_is_no_folder_fails_no_hook(shop: Remembering):
    shop.home.path.mkdir()
    (shop.home.path / memory.FOLDER).write_text("")
    assert shop.begin() == ""
    shop.tell(payloads.session_end)
    assert [line.split()[1] for line in shop.home.failures()] == ["memory"] * 2


# --- learning ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def blocking(shop: Remembering, tmp_path: Path, blocking_hooks: Path) -> Blocking:
    shop.remember()
    assert shop.begin() == MEMORY
    return Blocking(shop, tmp_path, blocking_hooks)


@pytest.mark.parametrize(("script", "payload"), [("session-end", payloads.session_end()), ("pre-compact", payloads.pre_compact())])
def test_a_child_learns_and_nobody_waits_for_it(blocking: Blocking, script: str, payload: dict):
    assert blocking.run(script, payload).in_words  # it has ended, and its output is closed, while the child still waits
    pid, group, session, *words = blocking.child()
    os.kill(int(pid), 0)
    assert group == session == pid != str(os.getpgid(0))
    assert words == ["memory", "admin", "learn", str(blocking.shop.transcript), "--if-on", "--quiet"]
    blocking.let_go()
    assert blocking.report.with_name("report.done").read_text() == str(blocking.shop.home.path)


def test_no_child_is_started_where_memory_is_off(blocking: Blocking):
    blocking.shop.project.turn_off(2.0)
    blocking.run("session-end", payloads.session_end())
    assert blocking.shop.project.to_learn() == []
    blocking.shop.project.turn_on(3.0)
    blocking.run("session-end", payloads.session_end())
    blocking.child()
    blocking.let_go()
    assert not blocking.report.with_name("report.tmp").exists()


def test_a_session_without_a_transcript_has_nothing_to_teach(blocking: Blocking):
    blocking.shop.transcript.unlink()
    assert blocking.run("session-end", payloads.session_end()).silent
    assert blocking.shop.project.to_learn() == []
    assert blocking.shop.home.failures() == []


def test_a_session_is_noted_until_it_is_learnt(remembered: Remembering):
    project, folder = remembered.project, Path(remembered.project.folder)
    project.note_ended("b", "/there/b.jsonl", 2.0)
    project.note_ended("a", "/there/a.jsonl", 3.0)
    project.note_ended("b", "/there/b.jsonl", 4.0)
    (folder / "ended-x.json").write_text("[")
    (folder / "ended-y.json").write_text(json.dumps({"transcript": "/there/y.jsonl", "at": -1.0}))
    assert project.to_learn() == ["/there/a.jsonl", "/there/b.jsonl"]
    project.remove_note("/there/a.jsonl")
    assert project.to_learn() == ["/there/b.jsonl"]
    project.remove_note("/there/b.jsonl")
    assert [path for path in folder.iterdir() if path.name.startswith("ended-")] == []


def test_an_ended_session_is_noted(blocking: Blocking):
    blocking.run("session-end", payloads.session_end())
    blocking.child()
    assert blocking.shop.project.to_learn() == [str(blocking.shop.transcript)]
    blocking.let_go()


def test_tool_calls_and_prompts_touch_no_memory(remembered: Remembering):
    before = listing(Path(remembered.project.folder))
    remembered.tell(payloads.bash, "npm test", "PASS")
    ran = run("context-monitor", payloads.prompt("go on", cwd=str(remembered.work)), remembered.env())
    assert ran.silent
    assert listing(Path(remembered.project.folder)) == before
    assert loads(Path(remembered.home.paths(payloads.SESSION).state).read_text())


# --- before the client has said which data rules apply ---------------------------------------------------------------------------------


class Asking(Remembering):
    """In a client that asks its provider which data rules apply, and has not said so yet."""

    def env(self) -> dict[str, str]:
        return {**super().env(), "AI_AGENT": "claude-code_2-1-332_harness"}


@pytest.mark.parametrize("rules", [(), ("hipaa",)], ids=["no rule", "a rule"])
def test_a_session_gets_its_memory_before_the_client_reports_its_data_rules(tmp_path: Path, rules: tuple[str, ...]):
    shop = Asking(tmp_path)
    shop.remember()
    assert [shop.begin(), shop.begin("resume")] == [MEMORY, ""]
    folder = shop.home.path / "sessions" / payloads.SESSION
    assert len(shop.booked()) == 1
    assert {path.name for path in folder.iterdir()} <= {"session.json", "session.json.lock", "main.journal.jsonl"}
    data_rules.say(str(shop.home.path), payloads.SESSION, rules)
    assert shop.begin("compact") == ""
    assert len(shop.booked()) == 1


def test_under_a_data_rule_a_session_is_given_no_memory(tmp_path: Path):
    shop = Asking(tmp_path)
    shop.remember()
    (shop.home.path / "retention-config.json").write_text('{"data_rules": ["hipaa"]}')
    assert shop.begin() == ""
    assert shop.booked() == []
