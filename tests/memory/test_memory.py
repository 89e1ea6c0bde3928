"""Memory, as its users call it, and what an author of another agent has: one import."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import popkit_retention.memory as package
from popkit_retention.core.io import files
from popkit_retention.memory import InMemoryStore, Lesson, Memory, Observation
from popkit_retention.memory.folder import Folder
from popkit_retention.memory.items import ARCHIVE, COLD, HOT, SUMMARY, WARM, BadItem
from popkit_retention.memory.memory import ItemNotFound, JobRunning
from popkit_retention.memory.stores.protocol import DuplicateId, Store
from tests.kit.crowds import held

from .remembering import DAY, HOUR, NOW, PROJECT, Remembering


def test_what_is_added_is_listed_and_found(remembering: Remembering):
    added = remembering.memory.add("The staging database is reset every Monday at six.")
    remembering.memory.add("Invoices are rounded per line, not per sum.")
    assert len(remembering.memory.list()) == 2
    ((best, relevance), *_) = remembering.memory.search("when is staging reset")
    assert best.id == added.id
    assert relevance > 0


def test_the_same_text_is_kept_once(remembering: Remembering):
    remembering.memory.add("Use tabs.")
    with pytest.raises(DuplicateId):
        remembering.memory.add("Use tabs.")


def test_secrets_are_masked_before_anything_is_kept(remembering: Remembering):
    item = remembering.memory.add("Deploy with API_KEY=sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD in the shell.")
    assert "sk-proj" not in item.text
    assert "****" in item.text


def test_a_search_and_a_look_count_as_accesses_and_a_why_does_not(remembering: Remembering):
    item = remembering.memory.add("The cart service listens on port 8081.")
    remembering.memory.search("cart port")
    remembering.memory.show(item.id)
    remembering.memory.why(item.id)
    remembering.memory.list()
    assert remembering.item(item.id).access_count == 2
    assert remembering.memory.status()["asked"] == 2
    assert remembering.after(8 * DAY).status()["asked"] == 0


def test_what_is_left_as_an_embedding_alone_is_found_by_what_it_said(remembering: Remembering):
    text = "The warehouse export writes customer addresses to the staging bucket."
    embedding, other = remembering.memory.embedder.embed([text, "Paris in spring"])
    name = remembering.memory.embedder.name
    remembering.keep("faded", text="", level="embedding", tier=COLD, embedding=embedding, details={"embedder": name})
    remembering.keep("stranger", text="", level="embedding", tier=COLD, embedding=other, details={"embedder": name})
    remembering.keep("words", text="An export of invoices.")
    assert [item.id for item, _ in remembering.memory.search("warehouse export of customer addresses")] == ["words", "faded"]


def test_an_id_may_be_cut_short_as_long_as_it_is_one_items(remembering: Remembering):
    remembering.keep("mabc1")
    remembering.keep("mabd2")
    assert remembering.memory.show("mabc").id == "mabc1"
    with pytest.raises(ItemNotFound, match="2 memories begin with 'mab': mabc1, mabd2"):
        remembering.memory.show("mab")
    with pytest.raises(ItemNotFound, match=r"list\(\) shows the ids"):
        remembering.memory.show("mx")
    with pytest.raises(ItemNotFound):
        remembering.memory.show("")


def test_one_id_may_be_given_without_a_list_and_is_not_taken_for_its_letters(remembering: Remembering):
    for id in ("apple", "bread", "ab"):
        remembering.keep(id)
    assert [item.id for item in remembering.memory.forget("ab")] == ["ab"]
    assert [item.id for item in remembering.memory.reinforce("apple")] == ["apple"]
    assert {item.id for item in remembering.memory.list()} == {"apple", "bread"}


def test_pinned_it_stays_where_it_is_and_unpinned_it_goes_on(remembering: Remembering):
    remembering.keep("m", tier=WARM)
    remembering.memory.pin(["m"])
    assert remembering.after(60 * DAY).run().moved == {}
    (item,) = remembering.memory.unpin(["m"])
    assert (item.held, item.was_held) == (False, True)
    assert remembering.memory.run(force=True).moved == {"WARM to COLD": 1}


def test_promote_and_demote_go_one_tier_and_end_at_the_ends(remembering: Remembering):
    remembering.keep("m", tier=COLD)
    tiers = [remembering.memory.promote(["m"])[0].tier for _ in range(3)]
    assert tiers == [WARM, HOT, ARCHIVE]
    with pytest.raises(BadItem, match="m is already ARCHIVE"):
        remembering.memory.promote(["m"])
    assert remembering.memory.demote(["m"])[0].tier == HOT
    assert remembering.item("m").previous_tier == ARCHIVE


def test_a_key_decision_is_kept_for_good_until_it_is_demoted(remembering: Remembering):
    remembering.keep("m", tier=COLD)
    remembering.memory.mark_key(["m"])
    assert remembering.after(900 * DAY).run().marked == 0
    assert remembering.item("m").tier == ARCHIVE
    remembering.memory.demote(["m"])
    remembering.after(HOUR).run()
    assert remembering.item("m").tier != ARCHIVE


def test_forgotten_it_is_gone_after_a_day_and_may_be_taken_back_until_then(remembering: Remembering):
    for id in ("a", "b", "c"):
        remembering.keep(id)
    remembering.memory.forget(["a"])
    remembering.after(60).forget(["b", "c"])
    assert [item.id for item in remembering.memory.list(marked=True)] == ["a", "b", "c"]
    assert remembering.memory.search("the text of a") == []
    assert [item.id for item in remembering.memory.undo()] == ["b", "c"]
    remembering.after(DAY).run()
    assert [item.id for item in remembering.memory.list()] == ["b", "c"]
    with pytest.raises(ItemNotFound, match="nothing is marked"):
        remembering.memory.undo()


def test_the_audit_tells_what_memory_md_leaves_out_and_why_something_is_gone(remembering: Remembering):
    for number in range(30):
        remembering.keep(f"m{number:02}", kind="path", profile="code", text=f"src/part_{number:02}/file.ts", writes=40 - number, sessions=2)
    first = remembering.memory.audited_document(120)
    remembering.memory.audited_document(120)  # the same again is no news
    remembering.memory.forget([first.items[0]])
    remembering.memory.audited_document(120)
    later, earlier = [entry for entry in remembering.store.logged() if entry["action"] == "document"]
    assert earlier["items"] == len(first.items)
    assert earlier["left_out"] == {"worth less per token than the entries in it": 30 - len(first.items)}
    assert later["gone"] == {first.items[0]: "marked as forgotten"}


def test_all_of_the_named_items_are_changed_or_none(remembering: Remembering):
    remembering.keep("a")
    with pytest.raises(ItemNotFound):
        remembering.memory.pin(["a", "nobody"])
    assert not remembering.item("a").held


def test_why_tells_signals_tier_and_what_comes_next(remembering: Remembering):
    remembering.keep("m", tier=WARM, uniqueness=0.8, last_accessed=NOW - 2 * DAY, created_at=NOW - 3 * DAY, access_count=1,
                     accesses=[NOW - 2 * DAY])  # fmt: skip
    why = remembering.memory.why("m")
    assert why["signals"] == {
        "retention_value": 0.0452,
        "uniqueness": 0.8,
        "confidence": 1.0,
        "access_recency": 0.8187,
        "composite": 0.5796,
    }
    assert why["decision"] == {
        "tier": WARM,
        "action": "retain",
        "marks": False,
        "reasons": ["last asked for 2.0 days ago", "worth 0.66, at least 0.3"],
    }
    assert why["next"]["tier"] == COLD
    assert why["next"]["at"] == NOW + 5 * DAY


def test_what_is_compressed_comes_back_in_full(remembering: Remembering):
    remembering.keep("m", level=SUMMARY, text="short")
    remembering.store.keep_original("m", "the whole story, told at length")
    (item,) = remembering.memory.restore(["m"])
    assert (item.text, item.level) == ("the whole story, told at length", "full")
    remembering.keep("lost", level=SUMMARY, text="short")
    with pytest.raises(LookupError, match="full text of lost"):
        remembering.memory.restore(["lost"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": ""}, "its text is empty"),
        ({"text": "x" * 1_000_001}, "at most 1,000,000"),
        ({"text": "a\0b"}, "binary"),
        ({"text": "\ud800"}, "lone surrogates"),
        ({"text": 7}, "text must be a string"),
        ({"text": "x", "id": "\x1b[31m"}, "printable"),
        ({"text": "x", "created_at": NOW + 3_600}, "in the future"),
        ({"text": "x", "score": float("nan")}, "score is nan"),
        ({"text": "x", "confidence": 1.2}, "confidence is 1.2"),
        ({"text": "x", "accesses": [float("inf")]}, "not a time"),
        ({"text": "x", "embedding": [0.0] * 383}, "384 numbers"),
        ({"text": "x", "embedding": [float("nan")] * 384}, "finite"),
        ({"text": "x", "writes": -1}, "not a count"),
        ({"text": "x", "writes": True}, "whole number"),
        ({"text": "x", "tier": "LUKEWARM"}, "Known: HOT, WARM, COLD, ARCHIVE"),
        ({"text": "x", "colour": "red"}, "unknown field 'colour'"),
        ({"text": "x", "kind": "k" * 201}, "more than 200"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_changes(remembering: Remembering, fields: dict, message: str):
    with pytest.raises(BadItem, match=message):
        remembering.memory.add(**fields)
    assert remembering.memory.list() == []


def test_status_counts_tiers_levels_and_tokens(remembering: Remembering):
    remembering.keep("a", tier=HOT)
    remembering.keep("b", tier=COLD, level=SUMMARY)
    remembering.keep("gone", tier=COLD, marked_at=NOW, marked_by="user")
    Remembering(remembering.store, "another").keep("c", tier=HOT)
    status = remembering.memory.status()
    assert {tier: counts["items"] for tier, counts in status["tiers"].items()} == {HOT: 1, WARM: 0, COLD: 2, ARCHIVE: 0}
    assert (status["items"], status["marked"], status["project"], status["run"]) == (3, 1, PROJECT, None)
    assert status["tokens"] > 0


def test_two_jobs_at_once_are_one(tmp_path: Path):
    folder = Folder(str(tmp_path))
    memory = Memory(InMemoryStore(), PROJECT, lambda: NOW, folder)
    files.make_private_folder(folder.path)
    with held(folder.lock), pytest.raises(JobRunning, match="another process"):
        memory.run()
    assert memory.run() is not None


def test_the_archive_tier_is_backed_up_weekly_and_four_are_kept(tmp_path: Path, store: Store):
    kept = Remembering(store)
    kept.memory.folder = Folder(str(tmp_path))
    kept.keep("key", tier=ARCHIVE, key=True)
    kept.keep("other", tier=COLD)
    backups = tmp_path / "memory" / "backups"
    kept.memory.run()
    kept.after(6 * DAY).run()
    assert len(list(backups.iterdir())) == 1
    for _ in range(5):
        kept.after(7 * DAY).run()
    names = sorted(backups.iterdir())
    assert len(names) == 4
    assert [name.stat().st_mode & 0o777 for name in names] == [0o600] * 4
    store.remove(["key"])
    assert kept.memory.import_lines(names[-1].read_text().splitlines(keepends=True), missing=True) == 1
    assert kept.item("key").tier == ARCHIVE


def test_what_the_user_forgot_leaves_the_backups_too(tmp_path: Path, store: Store):
    kept = Remembering(store)
    kept.memory.folder = Folder(str(tmp_path))
    for id in ("secret plan", "other"):
        kept.keep(id, tier=ARCHIVE, key=True)
    kept.memory.run()
    kept.after(8 * DAY).forget(["secret plan"])
    kept.memory.run()
    kept.after(2 * DAY).run()
    backups = [path.read_text() for path in (tmp_path / "memory" / "backups").iterdir()]
    assert len(backups) == 2
    assert not any("secret plan" in text for text in backups)
    store.remove(["other"])
    assert [kept.memory.import_lines(text.splitlines(keepends=True), missing=True) for text in backups] == [1, 0], "they are whole"


@pytest.mark.parametrize("between", ["\u2028", "\u2029", "\x85", "\x1c", "\r", "\n"])
def test_a_backup_holds_whatever_separates_lines(tmp_path: Path, store: Store, between: str):
    kept = Remembering(store)
    kept.memory.folder = Folder(str(tmp_path))
    kept.keep("key", tier=ARCHIVE, key=True, text=f"one{between}two")
    kept.memory.run()
    assert len(list((tmp_path / "memory" / "backups").iterdir())) == 1


def test_a_clock_that_leaps_back_stops_no_backup(tmp_path: Path, store: Store):
    kept = Remembering(store)
    kept.memory.folder = Folder(str(tmp_path))
    kept.after(400 * DAY)
    kept.keep("key", tier=ARCHIVE, key=True)
    assert kept.after(-400 * DAY).run() is not None
    assert len(list((tmp_path / "memory" / "backups").iterdir())) == 1


# --- an author of another agent -----------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", package.__all__)
def test_every_name_is_there(name: str):
    value = getattr(package, name)
    assert isinstance(value, Mapping) if name.endswith("_POLICY") else value.__name__ == name


def test_no_other_name_is():
    with pytest.raises(AttributeError, match="has no attribute 'Recollection'"):
        package.Recollection  # noqa: B018


def test_an_agent_keeps_finds_learns_and_tells():
    memory = Memory(InMemoryStore(), "my-agent", now=lambda: 1_800_000_000.0)
    memory.add("The customer prefers e-mail to calls.", speaker="support", episode="call-17", place=3)
    memory.learn(Lesson("run-1", "my-agent", 1_799_999_000.0, 1_800_000_000.0, (Observation("path", "reports/weekly.md", 4),)))
    assert [item.text for item, _ in memory.search("how does the customer want to be reached: e-mail?")] == [
        "The customer prefers e-mail to calls."
    ]
    text = memory.document(500).text
    assert "The customer prefers e-mail to calls." in text
    assert "weekly.md" in text
    memory.run()
    assert memory.status()["items"] == 2


def test_the_example_of_the_documentation_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    example = next(
        block
        for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "agents.md").read_text(encoding="utf-8"), re.DOTALL)
        if "popkit_retention.memory" in block
    )
    exec(example.replace("/home/me", str(tmp_path)), {})  # noqa: S102
    printed = capsys.readouterr().out
    assert printed.startswith("The customer prefers e-mail to calls.\n# Project memory")
    assert printed.count("The customer prefers e-mail to calls.") == 2


def test_nothing_but_the_standard_library_is_needed():
    program = "import sys; sys.path[:0] = sys.argv[1:]; from popkit_retention.memory import Memory, SqliteStore; print(Memory.__name__)"
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", program, str(ROOT), str(ROOT / "power-mode")], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("Memory\n", "")


@pytest.mark.parametrize(("score", "word", "tier"), [(0.95, "demote", "WARM"), (0.05, "promote", "HOT")])
def test_a_run_leaves_an_item_for_a_day_where_the_user_has_moved_it(score: float, word: str, tier: str) -> None:
    shop = Remembering(InMemoryStore())
    first = {"promote": "WARM", "demote": "HOT"}[word]
    shop.keep(
        "m1", tier=first, score=score, confidence=score, uniqueness=score, kind="note", source="user", last_accessed=shop.now - 40 * DAY
    )
    getattr(shop.memory, word)(["m1"])
    shop.after(1.0).run(force=True)
    assert (shop.item("m1").tier, shop.item("m1").by_hand) == (tier, True)
    assert "you moved it less than an hour ago" in str(shop.memory.why("m1"))
    shop.after(22 * HOUR).run(force=True)
    assert shop.item("m1").tier == tier
