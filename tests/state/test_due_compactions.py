"""A compaction that was due is compared with the host's own: what ours saves counts, and what both drop is charged to neither."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.policy.placeholder import placeholder
from popkit_retention.core.state import journal, shipped
from popkit_retention.core.state.rebuild import rebuild
from tests.bill.conversations import Conversation

HANDLE = "abcd2345"
TEXT = "".join(f"line {number} of a file that is read again behind the compaction\n" for number in range(600))


def ledger(tmp_path: Path, why: str = "auto", **more: bool) -> dict[str, float]:
    """Of a session that reads a file, is compacted by us, and reads it again."""
    conversation = Conversation()
    read(conversation, "t1", placeholder("Read a.py", "old", HANDLE))
    conversation.request(total=60_000)
    conversation.wait(5)
    conversation.compact()
    at = seconds_of(conversation.entries[-1]["timestamp"])
    conversation.request(total=25_000, reads=20_000)
    read(conversation, "t2", TEXT)
    conversation.request(total=40_000)
    entries = [journal.compacted(why, 60_000, 25_000, [HANDLE], at, **more), journal.cleared(["t1"], 35_000, {}, at)]
    path = conversation.written(tmp_path / "session.jsonl")
    return rebuild(str(path), entries, lambda _: shipped.rules(), original=lambda _: json.dumps(TEXT)).state.counts.ledger


def read(conversation: Conversation, id: str, text: str) -> None:
    conversation.wait(1)
    conversation.use(id, "Read", {"file_path": "/shop/a.py"}, message=f"m-{conversation.count}")
    conversation.result(id, text)


def test_our_due_compaction_is_credited_with_the_host_s_and_its_removals_are_free(tmp_path: Path):
    counted = ledger(tmp_path)
    assert counted["spared_compactions"] == 1
    assert counted["usd_compaction_request"] == pytest.approx(60_000 * 0.1 * 5 / 1e6, rel=0.01)
    assert counted["usd_compaction_summary"] == pytest.approx(4_000 * 25 / 1e6)
    assert (counted["refetched"], counted["charged_refetches"]) == (1, 0)
    assert counted["charged_compactions"] > 0, "ours is written again"


def test_where_the_summariser_was_asked_all_the_same_nothing_is_spared(tmp_path: Path):
    counted = ledger(tmp_path, summarised=True)
    assert counted["spared_compactions"] == counted["usd_compaction_summary"] == counted["charged_refetches"] == 0


def test_a_refetch_of_what_only_our_clear_removed_is_charged(tmp_path: Path):
    counted = ledger(tmp_path, "asked")
    assert counted["spared_compactions"] == counted["saved_compactions"] == 0
    assert counted["charged_refetches"] > 0
