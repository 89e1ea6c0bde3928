"""Digests: what requests used by model, read once, and again when a transcript has changed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.bill import costs, digests
from popkit_retention.bill.costs import usd_of
from popkit_retention.bill.digest import FORM, digest_of
from popkit_retention.bill.prompt_rows import calls_of
from popkit_retention.bill.records import Digest
from popkit_retention.core.policy import lost_cache
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.models import Models
from popkit_retention.parallel.sources import Source
from tests.bill.conversations import BASE, Conversation
from tests.kit.disks import read_only

MODELS = Models({"claude-opus-4-6": {"read": 0.1, "write_5m": 1.25, "write_1h": 2.0, "input": 5, "output": 25}})
ENDED = 1_790_000_000.0
QUIET = (lambda *_: None, lambda *_: None)  # neither progress nor what was left out


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The client's folder with one project."""
    project = tmp_path / "claude" / "projects" / "-shop"
    project.mkdir(parents=True)
    return project


def environ(place: Path) -> dict[str, str]:
    return {"CLAUDE_CONFIG_DIR": str(place.parents[1]), "POPKIT_HOME": str(place.parents[2] / "home")}


def asked(place: Path, since: float = 0.0) -> tuple[list[Digest], int]:
    """(the digests, bytes that were read for them)."""
    read: list[int] = [0]
    results = digests.of_user(environ(place), since, ENDED, lambda done, whole: read.append(done))
    return results, read[-1]


def test_a_home_that_cannot_be_written_is_read_all_the_same(place: Path):
    home = place.parents[2] / "home"
    home.mkdir(mode=0o700)
    Conversation().write(place / "gone.jsonl")
    with read_only(home):
        assert len(asked(place)[0]) == 1
    (known,), _ = asked(place)
    (place / "gone.jsonl").unlink()
    Conversation().write(place / "new.jsonl")
    with read_only(home):
        both, _ = asked(place)
    assert known in both, "what is known of a transcript that is gone"
    assert len(both) == 2


def test_a_link_in_place_of_the_store_is_not_opened(place: Path):
    home = place.parents[2] / "home"
    home.mkdir(mode=0o700)
    (home / digests.FILE).symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="regular file"):
        asked(place)


def test_what_requests_used_is_summed_by_model_and_a_message_counts_once(tmp_path: Path):
    conversation = Conversation()
    conversation.use("t1", "Read", {}, message="m-1", usage=conversation.entries[-1]["message"]["usage"])
    conversation.result("t1", "text")
    conversation.request(output=70)
    (used,) = conversation.digest(tmp_path)["used"]
    words = estimate_tokens("begin")
    carried = BASE + 2_000 - words
    by_kind = used.pop("kinds")
    assert by_kind["said"] == [0, words, 0, words]
    assert [sum(column) for column in zip(*by_kind.values())] == [0, words, 0, 2_000 + words]
    assert used == {
        "model": "claude-opus-4-6", "prompt": 0, "requests": 2, "plain": 0, "read": BASE + 2_000, "write_5m": 0,
        "write_1h": BASE + 4_000, "output": 120, "cold": [0, 1, 0], "stands": [0, carried, 0, carried], "pauses": [0, 0, 0],
        "lost": [0, 0, 0],
        "lifetimes": [BASE + 2_000, BASE + 4_000] * 2, "bridged": 0,
    }  # fmt: skip
    paid = usd_of(used, MODELS)
    assert paid is not None
    assert sum(paid.values()) == pytest.approx((22_000 * 0.1 + 24_000 * 2) * 5e-6 + 120 * 25e-6)


def test_an_answer_of_which_the_usage_is_not_known_is_in_no_sum(tmp_path: Path):
    conversation = Conversation()
    for id in ("m-x", "m-x", "m-y"):
        conversation.add("assistant", message={"id": id, "role": "assistant", "model": "claude-opus-4-6", "content": []})
    conversation.add("assistant", message={"id": "m-e", "role": "assistant", "model": "<synthetic>", "content": []})
    digest = conversation.digest(tmp_path)
    assert digest["used"][0]["requests"] == 1


def test_a_transcript_is_read_again_only_when_it_has_changed(place: Path):
    conversation = Conversation()
    path = Path(conversation.write(place / "one.jsonl"))
    results, read = asked(place)
    assert [digest["session"] for digest in results] == ["one"]
    assert read == path.stat().st_size
    assert asked(place) == (results, 0)
    conversation.request()
    conversation.write(place / "one.jsonl")
    again, read = asked(place)
    assert read == path.stat().st_size
    assert again[0]["used"][0]["requests"] == 2


def test_a_transcript_without_requests_or_of_long_ago_is_not_read_again_either(place: Path):
    (place / "none.jsonl").write_text('{"type":"summary","summary":"nothing was asked"}\n')
    old = Conversation()
    old.at -= 2 * digests.KEPT_S
    old.request()
    old.write(place / "old.jsonl")
    results, read = asked(place)
    assert read > 0
    assert asked(place) == (results, 0)
    (place / "old.jsonl").unlink()
    (place / "none.jsonl").unlink()
    asked(place)
    assert asked(place) == ([], 0)


def test_a_session_whose_transcript_is_gone_is_remembered(place: Path):
    path = Path(Conversation().write(place / "one.jsonl"))
    results, _ = asked(place)
    path.unlink()
    assert asked(place) == (results, 0)
    assert asked(place, since=ENDED + 10_000)[0] == []


@pytest.mark.parametrize(("form", "stays"), [(digests.OLDEST, True), (digests.OLDEST - 1, False), (FORM + 1, False)])
def test_an_older_digest_of_a_gone_transcript_lacks_what_the_host_added(form: int, stays: bool, place: Path):
    conversation = Conversation()
    conversation.wait(4_000)
    conversation.request(reads=0)
    path = Path(conversation.write(place / "one.jsonl"))
    ((now,), _) = asked(place)
    older = {key: value for key, value in now.items() if key not in ("added", "holds")}
    older["used"] = [used | {key: used[key][1:] for key in ("pauses", "lost")} for used in now["used"]]
    older["losses"] = [{key: value for key, value in loss.items() if key != "written"} for loss in now["losses"]]
    with closing(sqlite3.connect(place.parents[2] / "home" / digests.FILE)) as db, db:
        db.execute("UPDATE digests SET form = ?, digest = ?", (form, json.dumps(older)))
    text = path.read_text()
    path.unlink()
    results, _ = asked(place)
    assert len(results) == stays
    assert results == [{**now, "added": {}, "holds": {}}] * stays
    path.write_text(text)
    assert asked(place)[0] == [now]


def test_subagents_have_conversations_of_their_own(place: Path):
    Conversation().write(place / "one.jsonl")
    (place / "one" / "subagents").mkdir(parents=True)
    agent = Conversation("claude-opus-5")
    for entry in agent.entries:
        entry["isSidechain"] = True
    agent.write(place / "one" / "subagents" / "agent-a.jsonl")
    assert sorted(digest["session"] for digest in asked(place)[0]) == ["one", "one/agent-a"]


FORKED, WORKED = "2026-11-27T17:16:24.000Z", "2026-11-27T17:16:18.000Z"


def write(path: Path, began: str, entries: list[dict]) -> Path:
    """A transcript as the client writes it: its first line with a time says when it was begun."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"type": "queue-operation", "operation": "enqueue", "timestamp": began}, *entries]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    return path


def forked() -> tuple[list[dict], list[dict]]:
    """(the entries of a session, those of a fork of it, which begins with them and goes on with a request of its own)."""
    conversation = Conversation()
    call(conversation, "t1")
    conversation.command("/review")
    conversation.request()
    parent = list(conversation.entries)
    conversation.request(reads=BASE - 5_000)
    call(conversation, "t2")
    return parent, conversation.entries


def call(conversation: Conversation, id: str) -> None:
    """A call in the newest answer, and its result."""
    answer = conversation.entries[-1]["message"]
    conversation.use(id, "Bash", {"command": "ls"}, message=answer["id"], usage=answer["usage"])
    conversation.result(id, "a.py")


def counted(results: list[Digest]) -> dict[str, int]:
    return {digest["session"]: sum(used["requests"] for used in digest["used"]) for digest in results}


@pytest.mark.parametrize("order", [("parent", "fork"), ("fork", "parent")])
def test_a_forked_session_s_request_counts_once_whichever_file_is_seen_first(order: tuple[str, str], place: Path):
    parent, fork = forked()
    files = {"parent": (WORKED, parent), "fork": (FORKED, fork)}
    for name in order:
        write(place / f"{name}.jsonl", *files[name])
        results, _ = asked(place)
    whole = counted(results)
    assert whole == {"parent": 2, "fork": 1}
    assert asked(place) == (results, 0)
    calls = calls_of(results)
    assert (calls["Bash"][0], calls["skill review"][0]) == (2, 1)
    (loss,) = costs.misses(results, MODELS)["causes"]
    assert loss["times"] == 1, "the fork's own request still has those before it, with which it is compared"


def test_it_counts_once_when_one_of_them_is_gone_or_goes_on(place: Path):
    parent, fork = forked()
    path = write(place / "parent.jsonl", WORKED, parent)
    write(place / "fork.jsonl", FORKED, fork)
    first, _ = asked(place)
    path.unlink()
    assert asked(place) == (first, 0), "what is gone has counted it"
    write(path, WORKED, fork)
    assert sum(counted(asked(place)[0]).values()) == sum(counted(first).values())


def test_copies_in_a_subagents_file_and_files_that_are_copied_whole_count_once(place: Path, tmp_path: Path):
    parent, fork = forked()
    write(place / "one.jsonl", WORKED, parent)
    write(place / "one" / "subagents" / "agent-a.jsonl", FORKED, [{**entry, "isSidechain": True} for entry in fork])
    write(place / "copy of one.jsonl", WORKED, parent)
    results, _ = asked(place)
    assert sum(counted(results).values()) == counted(results)["one/agent-a"] + max(counted(results).values())
    assert counted(results)["one/agent-a"] == 1
    named = digests.of_sources([Source(str(path), path.stat().st_size) for path in sorted(place.rglob("*.jsonl"))], *QUIET)
    assert sum(counted(list(named)).values()) == sum(counted(results).values())


def test_answers_that_share_only_their_id_are_not_copies(place: Path):
    for name in ("one", "two"):
        conversation = Conversation()
        conversation.at += 60 * (name == "two")
        conversation.request()
        write(place / f"{name}.jsonl", WORKED, conversation.entries[-1:])
    assert sum(counted(asked(place)[0]).values()) == 2


def test_a_store_that_is_corrupt_is_made_again_from_the_transcripts(place: Path):
    Conversation().write(place / "one.jsonl")
    results, _ = asked(place)
    store = place.parents[2] / "home" / digests.FILE
    store.write_bytes(b"no database" * 100)
    assert asked(place)[0] == results


def test_lines_that_are_not_json_are_ignored(tmp_path: Path):
    conversation = Conversation()
    path = Path(conversation.write(tmp_path / "one.jsonl"))
    lines = [
        b"\xff\xfe",
        b"[]",
        b'{"type":"assistant","uuid":"u9"}',
        b'{"type":"user","uuid":7,"message":[]}',
        b'{"uuid":"x","type":"user"}',
        b"{",
    ]
    path.write_bytes(b"\n".join(lines) + b"\n" + path.read_bytes() + b"\n".join(lines))
    digest = digest_of(str(path), path.stat().st_size)
    assert digest["used"] == conversation.digest(tmp_path)["used"]


def test_lines_without_blanks_as_the_client_writes_them_tell_the_same(tmp_path: Path):
    conversation = Conversation()
    conversation.bash("t1", "ls", "a.py")
    conversation.prompt("and?", parent=conversation.entries[0]["uuid"])
    conversation.request(reads=BASE - 5_000)
    loose = conversation.digest(tmp_path)
    path = tmp_path / "tight.jsonl"
    path.write_text("".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in conversation.entries))
    tight = digest_of(str(path), path.stat().st_size)
    assert tight["losses"] == loose["losses"]
    assert [loss["cause"] for loss in tight["losses"]] == ["rewind"]


def test_losses_are_summed_by_cause_and_one_without_a_price_says_so(tmp_path: Path):
    priced, unpriced = Conversation(), Conversation("claude-nobody-1")
    for conversation in (priced, unpriced):
        conversation.wait(4_000)
        conversation.request(reads=0)
    lost_caches = costs.misses([priced.digest(tmp_path), unpriced.digest(tmp_path)], MODELS)
    assert lost_cache.usd(MODELS, "claude-opus-4-6", 24_000, 22_000, 22_000, 3_600) == pytest.approx(22_000 * 1.9 * 5e-6)
    (row,) = lost_caches["causes"]
    assert (row["cause"], row["times"], row["tokens"], row["unpriced"]) == ("pause", 2, 44_000, 1)
    assert row["usd"] == lost_caches["lost"]["usd"] == pytest.approx(22_000 * 1.9 * 5e-6)
    assert (lost_caches["sessions"], lost_caches["requests"], lost_caches["unpriced"]) == (2, 4, 2)
