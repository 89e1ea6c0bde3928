"""A clear on a model that binds its thinking: what was thought behind the first change leaves with it, as one run to the end, and comes
back with it."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hooks.utils import archive
from hooks.utils.hosts.claude_code import entries, transcript
from hooks.utils.policy.messages import thinking_tokens
from hooks.utils.reclaim import places
from hooks.utils.reclaim.access import Opened, Refused
from hooks.utils.text import laid_out
from hooks.utils.views.receipt import undo_lines
from tests.examples import examples
from tests.reclaim import generated
from tests.reclaim.shops import EXPIRED, LATELY, Shop, Talk, Thinker, assert_only_contents_changed, contents_of, thought, worked

KINDS = ("thinking", "redacted_thinking")


@pytest.fixture
def thoughtful(shop: Shop) -> Shop:
    """A session that thought before everything that it did."""
    shop.write(worked(str(shop.project), Thinker))
    return shop


def blocks(line: bytes) -> list[dict]:
    return entries.blocks_of(json.loads(line))


def thinking_of(line: bytes) -> list[dict]:
    return [block for block in blocks(line) if block["type"] in KINDS]


def spoken(data: bytes) -> list[bytes]:
    """The lines of a transcript whose thinking the host sends: those of messages that hold something else too."""
    lines = data.splitlines()
    messages = [json.loads(line).get("message", {}).get("id") for line in lines]
    ids = {id for id, line in zip(messages, lines) if len(thinking_of(line)) < len(blocks(line))}
    return [line for id, line in zip(messages, lines) if id in ids]


def assert_thinking_left(before: bytes, after: bytes, ids: set[str]) -> int:
    """Line by line: behind the first of these results no thinking that is sent, before it all; the results and the thinking apart every
    byte as it was. How many lines lost some."""
    sent = set(spoken(before))
    behind, taken, restored = False, 0, []
    for old, new in zip(before.splitlines(keepends=True), after.splitlines(keepends=True)):
        line = old.rstrip(b"\n")
        if behind and line in sent and thinking_of(line):
            assert blocks(new) == [block for block in blocks(line) if block["type"] not in KINDS]
            start, end = transcript_span(old)
            new_start, new_end = transcript_span(new)
            assert (old[:start], old[end:]) == (new[:new_start], new[new_end:])
            taken += 1
            new = old
        behind = behind or bool(ids & contents_of(line).keys())
        restored.append(new)
    assert_only_contents_changed(before, b"".join(restored), ids)
    return taken


def transcript_span(line: bytes) -> tuple:
    """Where the message's content stands in a line, read another way: from the value's first byte to the one that closes it."""
    text = line.decode()
    start = text.index("[", text.index('"content"', text.index('"message"')))
    end = json.JSONDecoder().raw_decode(text, start)[1]
    return len(text[:start].encode()), len(text[:end].encode())


def later(shop: Shop, talk: Talk, *texts: str) -> bytes:
    """The talk goes on after what the file holds."""
    there = len(talk.entries)
    for text in texts:
        talk.prompt(text)
        talk.bash(f"later-{len(talk.entries)}", "npm test", "ok\n" * 200)
        talk.say("That.")
    return shop.goes_on(talk, there)


def test_what_was_thought_behind_the_first_change_leaves_and_all_comes_back(thoughtful: Shop):
    before = thoughtful.transcript.read_bytes()
    _, done = thoughtful.clear(with_thinking=True)
    after = thoughtful.transcript.read_bytes()
    assert set(done.handles) == EXPIRED
    taken = assert_thinking_left(before, after, EXPIRED)
    assert taken > 30
    assert thinking_of(after.splitlines()[1]), "what was thought before the first change stays"
    assert done.thinking > 10 * taken
    records, clears = thoughtful.archive_report()
    assert (records, clears) == (len(EXPIRED) + taken, 1)
    thoughtful.assert_state_follows()
    back = thoughtful.undo()
    assert thoughtful.transcript.read_bytes() == before
    assert {record.tool_use_id for record in back.records} == EXPIRED, "an undo tells of results, and sums up the thinking"
    assert (back.thinking, back.left, back.lost) == (done.thinking, 0, [])
    thoughtful.assert_state_follows()


def test_what_a_clear_would_take_is_announced(thoughtful: Shop):
    index = transcript.index(str(thoughtful.transcript))
    first, _ = next(places.contents(str(thoughtful.transcript), index, EXPIRED.__contains__, index.since))
    behind = places.thinking_behind(str(thoughtful.transcript), index, first.start)
    assert not behind.running
    _, done = thoughtful.clear(with_thinking=True)
    assert behind.tokens == done.thinking > 0


def test_unless_it_is_asked_to_a_clear_leaves_the_thinking(thoughtful: Shop):
    before = thoughtful.transcript.read_bytes()
    _, done = thoughtful.clear()
    assert_only_contents_changed(before, thoughtful.transcript.read_bytes(), EXPIRED)
    assert done.thinking == 0


def test_where_nothing_was_thought_it_is_a_clear_like_any_other(shop: Shop):
    before = shop.write(worked(str(shop.project)))
    _, done = shop.clear(with_thinking=True)
    assert_only_contents_changed(before, shop.transcript.read_bytes(), EXPIRED)
    assert done.thinking == 0
    shop.undo()
    assert shop.transcript.read_bytes() == before


def test_cleared_and_undone_again_and_again_the_same_is_archived_once(thoughtful: Shop):
    before = thoughtful.transcript.read_bytes()
    reports = []
    for _ in range(3):
        thoughtful.clear(with_thinking=True)
        thoughtful.undo()
        assert thoughtful.transcript.read_bytes() == before
        reports.append(thoughtful.archive_report())
    assert len(set(reports)) == 1


def test_other_branches_subagents_and_messages_of_thinking_alone_keep_theirs(shop: Shop):
    talk = worked(str(shop.project), Thinker)
    fork = talk.last
    rewound = [talk.prompt("not this"), talk.think("m-rewound"), talk.use("rewound", "Bash", {"command": "ls"}, "m-rewound")]
    talk.last = fork
    talk.prompt("go on")
    alone = talk.think("m-alone")
    talk.prompt("no, like this")
    side = [talk.add("user", None, uuid="side-1", isSidechain=True, message={"role": "user", "content": "look"})]
    side.append(talk.think("m-side", parent=side[0], isSidechain=True))
    side.append(talk.add("assistant", isSidechain=True, message={"id": "m-side", "content": [{"type": "text", "text": "seen"}]}))
    talk.last = alone
    talk.prompt("and now")
    last = talk.think("m-last")
    talk.add("assistant", message={"id": "m-last", "role": "assistant", "content": [{"type": "text", "text": "done"}]})
    before = shop.write(talk)
    assert shop.clear(with_thinking=True)[1]
    after = {json.loads(line)["uuid"]: line for line in shop.transcript.read_bytes().splitlines()}
    for line in before.splitlines():
        uuid = json.loads(line)["uuid"]
        if uuid in (*rewound, *side, alone):
            assert after[uuid] == line
    assert json.loads(after[last])["message"]["content"] == []
    shop.undo()
    assert shop.transcript.read_bytes() == before


# --- what comes in between --------------------------------------------------------------------------------------------------------


def test_what_was_thought_since_is_bound_to_the_placeholders_and_leaves_at_the_undo(shop: Shop):
    talk = worked(str(shop.project), Thinker)
    before = shop.write(talk)
    _, done = shop.clear(with_thinking=True)
    more = later(shop, talk, "and now?", "then?")
    back = shop.undo()
    data = shop.transcript.read_bytes()
    assert data.startswith(before)
    for old, new in zip(more.splitlines(), data[len(before) :].splitlines()):
        assert not thinking_of(new)
        assert new == old or blocks(new) == [block for block in blocks(old) if block["type"] not in KINDS]
    assert back.thinking == done.thinking
    assert back.left > 0
    with Opened(str(shop.home)) as db:
        kept = {record.tool_use_id: record for record in archive.find_records(db) if record.type == "thinking"}
    for line in more.splitlines():
        if thinking_of(line):
            assert shop.archived(kept[json.loads(line)["uuid"]].id) == json.loads(line)["message"]["content"]
    shop.assert_state_follows()


def test_two_clears_are_undone_one_after_the_other_each_with_its_thinking(shop: Shop):
    talk = worked(str(shop.project), Thinker)
    original = shop.write(talk)
    shop.clear(with_thinking=True)
    more = later(shop, talk, "and now?")
    once = shop.transcript.read_bytes()
    assert once.endswith(more)
    shop.at += 1
    _, done = shop.clear(with_thinking=True, now=True)
    assert done.handles.keys() >= LATELY
    twice = shop.transcript.read_bytes()
    assert not any(map(thinking_of, twice[len(once) - len(more) :].splitlines()))
    shop.at += 1
    shop.undo()
    assert shop.transcript.read_bytes() == once
    shop.at += 1
    shop.undo()
    data = shop.transcript.read_bytes()
    assert data.startswith(original)
    assert not any(map(thinking_of, data[len(original) :].splitlines()))


def test_a_result_that_is_put_back_alone_is_a_change_like_a_clear(thoughtful: Shop):
    before = thoughtful.transcript.read_bytes()
    done = thoughtful.clear()[1]
    back = thoughtful.restore_in_place("old-test", with_thinking=True)
    data = thoughtful.transcript.read_bytes()
    assert contents_of(data)["old-test"] == contents_of(before)["old-test"]
    lines = data.splitlines()
    there = next(number for number, line in enumerate(lines) if "old-test" in contents_of(line))
    assert not any(thinking_of(line) for line in spoken(b"\n".join(lines))[there:])
    assert lines[:there] == [
        old if not contents_of(old).keys() & done.handles.keys() else new for old, new in zip(before.splitlines(), lines[:there])
    ]
    assert (back.thinking, back.left > 0) == (0, True)


def test_thinking_that_was_lost_keeps_later_thinking_away(thoughtful: Shop):
    """Never a gap: what is behind it would be refused."""
    before = thoughtful.transcript.read_bytes()
    thoughtful.clear(with_thinking=True)
    db = sqlite3.connect(thoughtful.home / "archive.sqlite")
    ids = [row[0] for row in db.execute("SELECT id FROM thought_records WHERE type = 'thinking' ORDER BY seq")]
    db.execute("UPDATE thought_records SET zone = 'cold', content = NULL WHERE id = ?", (ids[4],))
    db.commit()
    db.close()
    back = thoughtful.undo()
    assert (back.thinking > 0, back.unthought > 0) == (True, True)
    assert "stays out, because something before it is lost" in " ".join(laid_out(undo_lines(back, "s")))
    old, new = before.splitlines(), thoughtful.transcript.read_bytes().splitlines()
    differing = [number for number, (one, other) in enumerate(zip(old, new)) if one != other]
    assert len(differing) == len(ids) - 4
    assert new[: differing[0]] == old[: differing[0]]
    assert not any(map(thinking_of, new[differing[0] :]))


def test_what_was_lost_of_the_results_keeps_the_thinking_away(thoughtful: Shop):
    """It is bound to what is not there."""
    handles = thoughtful.clear(with_thinking=True)[1].handles
    db = sqlite3.connect(thoughtful.home / "archive.sqlite")
    db.execute("UPDATE thought_records SET zone = 'cold', content = NULL WHERE id = ?", (handles["found"],))
    db.commit()
    db.close()
    cleared = thoughtful.transcript.read_bytes()
    back = thoughtful.undo()
    assert (len(back.lost), back.thinking) == (1, 0)
    assert back.unthought > 0
    assert list(map(thinking_of, thoughtful.transcript.read_bytes().splitlines())) == list(map(thinking_of, cleared.splitlines()))


def test_what_was_thought_after_a_compaction_is_not_bound_to_what_was_before(shop: Shop):
    talk = worked(str(shop.project), Thinker)
    shop.write(talk)
    shop.clear(with_thinking=True)
    there = len(talk.entries)
    talk.compact(logical=talk.last)
    talk.bash("after", "npm test", "ok")
    talk.say("done")
    more = shop.goes_on(talk, there)
    back = shop.undo()
    assert shop.transcript.read_bytes().endswith(more)
    assert (back.left, back.thinking > 0) == (0, True)


def test_thinking_is_restored_by_its_handle_only_and_counts_as_no_mistake(thoughtful: Shop):
    handles = thoughtful.clear(with_thinking=True)[1].handles
    since = thoughtful.context("restore", "--since", "1h", "--json").json["records"]
    assert {record["handle"] for record in since} == set(handles.values())
    with Opened(str(thoughtful.home)) as db:
        thoughts = [record for record in archive.find_records(db) if record.type == "thinking"]
    before = thoughtful.ledger()
    shown = [thoughtful.popkit("restore", record.id) for record in thoughts]
    assert any("What to do" in done.out for done in shown)
    assert {done.code for done in shown} == {0}
    assert "signature" not in "".join(done.out for done in shown)
    assert thoughtful.ledger() == before


# --- any transcript ---------------------------------------------------------------------------------------------------------------


@given(recording=st.builds(generated.with_thinking, generated.transcripts), now=st.booleans())
@settings(max_examples=examples(40, 1_000), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_transcript_comes_back_as_it_was(recording: generated.Generated, now: bool):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:  # noqa: S108  in no need of a disk
        shop = Shop(Path(folder))
        before = recording.write(shop.transcript)
        shop.at = recording.talk.now + 4_000
        try:
            _, done = shop.clear(with_thinking=True, now=now)
        except Refused:
            done = None
        if done is None:
            assert shop.transcript.read_bytes() == before
            return
        shop.archive_report()
        shop.undo()
        assert shop.transcript.read_bytes() == before
        shop.assert_state_follows()


def test_real_sessions_come_back_as_they_were(transcripts: Path, memory: Path, count):
    paths = sorted(transcripts.rglob("*.jsonl"))[:: count(12, 1)]
    taken = cleared = 0
    for path in paths:
        shop = Shop(memory / path.stem, session_id=path.stem, profile="auto")
        shutil.copy(path, shop.transcript)
        before = path.read_bytes()
        shop.at = 4_000_000_000.0
        try:
            _, done = shop.clear(with_thinking=True, now=True)
        except Refused:
            done = None
        if done is not None:
            cleared += 1
            taken += assert_thinking_left(before, shop.transcript.read_bytes(), set(done.handles))
            shop.archive_report()
            shop.undo()
        assert shop.transcript.read_bytes() == before
        shutil.rmtree(shop.folder)
    assert cleared > len(paths) // 3
    assert taken > cleared


# --- the estimate -----------------------------------------------------------------------------------------------------------------


def test_a_signature_tells_how_much_was_thought_whatever_text_is_shown():
    signature = "x" * (235 + 3_600)
    assert thinking_tokens({"type": "thinking", "thinking": "", "signature": signature}) == 1_000
    assert thinking_tokens({"type": "thinking", "thinking": "A summary.", "signature": signature}) == 1_000
    assert thinking_tokens({"type": "redacted_thinking", "data": signature}) == 1_000


def test_where_the_signature_implies_less_than_the_text_the_text_counts():
    assert thinking_tokens(thought("so much " * 500)) > 1_000
    assert thinking_tokens({"type": "thinking", "thinking": "so " * 100, "signature": None}) > 50
    assert thinking_tokens({"type": "redacted_thinking"}) == 0
