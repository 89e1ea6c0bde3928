"""What stood before a compaction and what stands behind it, as a transcript tells: of the host's own summaries, and of ours."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path

import pytest

from popkit_retention.core.hosts.transcripts import transcript
from popkit_retention.core.operations import compaction_losses
from popkit_retention.core.policy.losses import ADDED, CALLED, ERROR, RESULT, SAID, WROTE, Passage
from popkit_retention.core.reclaim.recorded_compactions import RecordedCompaction, compactions
from popkit_retention.core.state.store import ContextFiles
from popkit_retention.core.views import losses
from tests.hosts.lines import Lines
from tests.hosts.rollouts import Rollout
from tests.hosts.test_rewritten import Rewritten
from tests.lab.test_robust import altered

RULE = "Never touch the folder generated/api."
NAME = "price_of_everything"


def only(lines: Lines, folder: Path) -> RecordedCompaction:
    [compaction] = compactions(lines.write(folder / "t.jsonl"))
    return compaction


def kinds(compaction: RecordedCompaction) -> list[str]:
    return [passage.kind for passage in compaction.before]


def fields(passages: list[Passage]) -> list[tuple[object, ...]]:
    return [tuple(getattr(passage, name) for name in Passage.__slots__) for passage in passages]


def lost(lines: Lines, folder: Path) -> list[tuple[str, list[str]]]:
    """The kind and words of each row that the newest compaction of a transcript has."""
    path = lines.write(folder / "t.jsonl")
    [found] = compaction_losses.of_transcript(path, str(folder / "home"), newest=True)
    return [(row["kind"], row["words"]) for row in found["rows"]]


@pytest.fixture
def worked() -> Rewritten:
    """A rule of the person's, a file that was read, a run that failed."""
    lines = Rewritten()
    lines.prompt(RULE)
    lines.use("t1", "Read", {"file_path": "/shop/a.js"})
    lines.result("t1", f"     1→const {NAME} = 1")
    lines.bash("t2", "npm test", f"FAIL {NAME} expected 3, got 4", error=True)
    lines.say("I see why.")
    return lines


def test_what_was_said_called_shown_and_answered_stood_before(worked: Rewritten, tmp_path: Path) -> None:
    worked.compact()
    worked.say("done")
    compaction = only(worked, tmp_path)
    assert kinds(compaction) == [SAID, CALLED, RESULT, CALLED, RESULT, WROTE]
    assert [passage.place for passage in compaction.before] == [1, 2, 3, 4, 5, 6]
    assert (compaction.line, compaction.asked, compaction.without_model, compaction.after) == (7, False, False, ["summary"])


def test_each_text_is_a_passage_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    lines = Lines()
    command, label = "cd /shop &&  npm  test " + "a.js " * 50, ("Bash npm test" + " a.js" * 50)[:200]
    refused = "The user doesn't want to proceed with this tool use."
    lines.prompt(RULE)
    lines.use("t1", "Read", {"file_path": "/shop/a.js"}, text="I look.")
    lines.use("t2", "Bash", {"command": command, "description": "Run tests"}, message="m-t1")  # of the same request
    lines.result("t1", "const a = 1")
    lines.result("t2", "FAIL a", error=True)
    lines.use("t3", "TodoWrite", {"todos": [{"content": "mend it"}]})
    lines.result("t3", [{"type": "text", "text": "Two"}, {"type": "text", "text": "todos"}])
    lines.use("t4", "", {})
    lines.result("t4", refused, error=True)
    for attached in (
        {"type": "file", "filename": "/shop/b.js", "content": {"file": "const b = 2"}},
        {"type": "hook_additional_context", "content": ["one", "two"], "hookName": "PostToolUse"},
        {"type": "hook_success", "content": "three", "stdout": "four"},
        {"type": "queued_command", "prompt": "It is done.", "commandMode": "task-notification"},
        {"type": "edited_text_file", "filename": ["c.js"], "snippet": "2: c"},
    ):
        lines.add("attachment", attachment=attached)
    for _ in range(2):
        lines.say("Hm.")
        del lines.entries[-1]["message"]["id"]
    lines.say("Done.")
    lines.compact(logical=lines.last)
    assert fields(only(lines, tmp_path).before) == fields([
        Passage(SAID, RULE, 1, 0, entry="u1"),
        Passage(WROTE, "I look.", 2, 1, entry="u2"),
        Passage(CALLED, "/shop/a.js", 2, 1, "/shop/a.js", "/shop/a.js", "t1", False, True, False, "u2"),
        Passage(CALLED, f"{command}\nRun tests", 3, 1, command, label, "t2", entry="u3"),
        Passage(RESULT, "const a = 1", 4, 1, "/shop/a.js", "/shop/a.js", "t1", False, True, False, "u4"),
        Passage(RESULT, "FAIL a", 5, 1, command, label, "t2", True, entry="u5"),
        Passage(CALLED, "content\nmend it", 6, 2, "TodoWrite", "TodoWrite", "t3", is_tasks=True, entry="u6"),
        Passage(RESULT, "Two\ntodos", 7, 2, "TodoWrite", "TodoWrite", "t3", entry="u7"),
        Passage(CALLED, "", 8, 3, id="t4", entry="u8"),
        Passage(RESULT, refused, 9, 3, id="t4", entry="u9"),
        Passage(ADDED, "/shop/b.js\nfile\nconst b = 2", 10, 3, "/shop/b.js", "/shop/b.js", file=True, entry="u10"),
        Passage(ADDED, "one\ntwo", 11, 3, entry="u11"),
        Passage(ADDED, "three", 12, 3, entry="u12"),
        Passage(ADDED, "It is done.", 13, 3, entry="u13"),
        Passage(ADDED, "c.js\n2: c", 14, 3, entry="u14"),
        Passage(WROTE, "Hm.", 15, 4, entry="u15"),
        Passage(WROTE, "Hm.", 16, 5, entry="u16"),
        Passage(WROTE, "Done.", 17, 6, entry="u17"),
    ])  # fmt: skip


def test_a_line_beside_the_chain_is_told_where_its_call_is_of_the_branch(tmp_path: Path) -> None:
    lines = Lines()
    first = lines.prompt("go")
    lines.bash("t0", "ls", "rewound", parent=first)
    called = lines.use("t1", "Bash", {"command": "ls"}, parent=first)
    lines.use("t2", "Bash", {"command": "pwd"}, message="m-t1")
    lines.result("t1", "a.js", parent=called)  # the next line hangs on this one
    back = lines.last
    lines.result("t2", "/shop")
    del lines.entries[-1]["uuid"]
    lines.last = back
    lines.compact(logical=back)
    before = only(lines, tmp_path).before
    assert [(passage.text, passage.entry) for passage in before] == [
        ("go", "u1"), ("ls", "u4"), ("pwd", "u5"), ("a.js", "u6"), ("/shop", ""),
    ]  # fmt: skip


def test_blocks_of_other_types_and_results_of_no_call_say_nothing(tmp_path: Path) -> None:
    lines = Lines()
    said = "The user doesn't want to proceed. To tell you how, the user said:\nNo."
    blocks = [
        {"type": "thinking", "text": "hm"}, {"type": "text"}, {"type": "tool_use", "id": "t1", "name": "Bash", "input": "ls"},
        {"type": "tool_result", "content": said, "is_error": True}, {"type": "hologram", "id": "h", "content": said, "is_error": True},
    ]  # fmt: skip
    for role in ("assistant", "user"):
        lines.add(role, message={"role": role, "content": blocks})
    lines.prompt("go")
    lines.compact(logical=lines.last)
    assert [passage.text for passage in only(lines, tmp_path).before] == ["go"]


@pytest.mark.parametrize("names", ["allUuids", "uuids"])
def test_kept_messages_are_named_by_either_field(worked: Rewritten, tmp_path: Path, names: str) -> None:
    worked.compact()
    worked.entries[-2]["compactMetadata"] = {"preservedMessages": {names: ["u1", 1]}}
    assert only(worked, tmp_path).after == [RULE, "summary"]


@pytest.mark.parametrize(
    ("metadata", "asked", "tokens"),
    [
        ({"trigger": "manual", "preTokens": 900}, True, 900),
        ({"trigger": "auto", "preTokens": "900"}, False, 0),
        ({"trigger": "else"}, None, 0),
        (None, None, 0),
    ],
)
def test_the_boundary_says_when_and_why_it_was_compacted(tmp_path: Path, metadata: object, asked: bool | None, tokens: int) -> None:
    lines = Lines()
    lines.prompt("go")
    lines.add("system", parent=None, subtype="compact_boundary", logicalParentUuid="u1", compactMetadata=metadata)
    found = only(lines, tmp_path)
    assert (found.line, found.at, found.asked, found.tokens) == (2, 1_767_607_201.0, asked, tokens)


@pytest.mark.parametrize(
    ("behind", "is_summary", "without_model", "is_partly_known"),
    [("go", True, False, True), ("so far", True, False, False), ("go", False, True, False)],
)
def test_a_summary_that_only_quotes_what_stood_before_is_partly_known(
    tmp_path: Path, behind: str, is_summary: bool, without_model: bool, is_partly_known: bool
) -> None:
    lines = Lines()
    lines.prompt("go")
    lines.compact(logical="u1")
    lines.entries.pop()
    lines.prompt(behind, isCompactSummary=is_summary)
    found = only(lines, tmp_path)
    assert (found.without_model, found.is_partly_known) == (without_model, is_partly_known)


def test_another_hosts_recording_tells_the_same_with_its_index_and_without(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.say(RULE)
    for _ in range(2):
        rollout.run("cat a.js", f"const {NAME} = 1")
        rollout.answer("I see.")
        rollout.compact("So far.")
        rollout.say("Go on.")
    path = str(rollout.write(tmp_path))
    both = [
        [(found.line, fields(found.before), found.after) for found in compactions(path, index)] for index in (None, transcript.index(path))
    ]
    assert both[0] == both[1]
    assert [passage[Passage.__slots__.index("text")] for passage in both[0][0][1]][-1] == "I see."
    assert len(both[0]) == 2


def test_a_summary_loses_the_persons_words_names_and_open_errors(worked: Rewritten, tmp_path: Path) -> None:
    worked.compact()
    rows = lost(worked, tmp_path)
    assert (SAID, [RULE]) in rows
    assert (ERROR, [f"FAIL {NAME} expected 3, got 4"]) in rows
    assert any(kind == CALLED and NAME in words for kind, words in rows)


def test_what_only_the_first_request_behind_it_was_sent_stands(worked: Rewritten, tmp_path: Path) -> None:
    worked.compact()
    worked.add("attachment", attachment={"type": "file", "filename": "/shop/a.js", "content": f"const {NAME} = 1"})
    worked.say("on with it")
    worked.prompt(RULE)
    rows = lost(worked, tmp_path)
    assert (SAID, [RULE]) in rows
    assert not any(NAME in words for _, words in rows)


def test_messages_that_the_host_kept_still_stand(worked: Rewritten, tmp_path: Path) -> None:
    worked.compact(kept=[worked.entries[0]["uuid"]])
    assert not any(kind == SAID for kind, _ in lost(worked, tmp_path))


def test_a_compaction_without_a_model_keeps_words_and_names_no_sentence_of_them(worked: Rewritten, tmp_path: Path) -> None:
    worked.boundary()
    worked.prompt(RULE)
    worked.call_again("t1", "cat a.js")
    worked.result("t1", "[cleared: an edit; popkit restore abcd2345]")
    worked.say("I see why.", usage=None)
    worked.entries[-1]["message"]["model"] = "<synthetic>"
    worked.prompt("go on")
    worked.say("done")
    rows = lost(worked, tmp_path)
    assert rows
    assert all(kind != SAID for kind, _ in rows)
    assert only(worked, tmp_path).without_model


def test_ours_and_what_the_host_only_writes_down_are_no_loss(worked: Rewritten, tmp_path: Path) -> None:
    notice = "[PopKit cleared Bash node gen.js (a newer one follows). To see it: popkit restore abcdefgh]\nname_beside_it"
    worked.bash("t3", "node gen.js", notice, error=True)
    worked.bash("t4", "cat b.js", "const of_b = 1\n[lines 2–40 as in your Read of b.js above: from «twenty_names» to «forty_names»]")
    worked.prompt("[PopKit left out Read src/listed.js: popkit restore abcdefgh]")
    for kind, content in (("prompt_snapshot", "a_snapshot"), ("tool_offer_record", "an_offer"), ("hook_success", "")):
        worked.add(
            "attachment", attachment={"type": kind, "content": content, "hookName": "SessionStart:startup", "stdout": "their_output"}
        )
    worked.compact()
    before = "|".join(passage.text for passage in only(worked, tmp_path).before)
    assert "|const of_b = 1\n|" in before
    for word in ("PopKit", "name_beside_it", "twenty_names", "listed.js", "a_snapshot", "an_offer", "SessionStart", "their_output"):
        assert word not in before, word


def test_an_undo_is_no_loss_and_a_clear_is_called_one(worked: Rewritten, tmp_path: Path) -> None:
    session, home = "5e551011-0000-4000-8000-0000000000aa", tmp_path / "home"
    worked.compact()
    worked.say("cleared")
    worked.compact()
    worked.say("undone")
    path = worked.write(tmp_path / f"{session}.jsonl")
    clear, undo = (compaction.at for compaction in compactions(path))
    assert len(compaction_losses.of_transcript(path, str(home))) == 2
    paths = ContextFiles(str(home), session)
    Path(paths.folder).mkdir(parents=True)
    entries = [{"event": "compact", "at": clear, "why": "asked", "handles": ["a"]}, {"event": "back", "at": undo, "handles": ["a"]}]
    Path(paths.journal).write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    [found] = compaction_losses.of_transcript(path, str(home))
    assert (found["line"], found["why"]) == (7, "asked")
    assert ", by a clear (" in losses.when(found)
    assert compaction_losses.of_transcript(path, str(home), newest=True) == [found]


def test_what_an_undo_put_back_is_not_lost(worked: Rewritten, tmp_path: Path) -> None:
    session, home = "5e551011-0000-4000-8000-0000000000ab", tmp_path / "home"
    worked.compact()
    worked.say("cleared")
    path = worked.write(tmp_path / f"{session}.jsonl")
    [clear] = compactions(path)
    [before] = compaction_losses.of_transcript(path, str(home))
    assert RULE in [word for row in before["rows"] for word in row["words"]]
    worked.compact()
    worked.prompt(RULE)
    worked.say("undone")
    path = worked.write(tmp_path / f"{session}.jsonl")
    *_, undo = compactions(path)
    paths = ContextFiles(str(home), session)
    Path(paths.folder).mkdir(parents=True)
    entries = [{"event": "compact", "at": clear.at, "handles": ["a"]}, {"event": "back", "at": undo.at, "handles": ["a"]}]
    Path(paths.journal).write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    [found] = compaction_losses.of_transcript(path, str(home))
    assert found["line"] == before["line"]
    assert RULE not in [word for row in found["rows"] for word in row["words"]]


def test_of_two_compactions_each_begins_where_the_one_before_it_ended(worked: Rewritten, tmp_path: Path) -> None:
    worked.compact()
    worked.say("again")
    worked.prompt("Now listen on port 8443.")
    worked.compact()
    first, second = compactions(worked.write(tmp_path / "t.jsonl"))
    assert RULE in [passage.text for passage in first.before]
    assert [passage.text for passage in second.before] == ["summary", "again", "Now listen on port 8443."]
    assert kinds(second) == [ADDED, WROTE, SAID]


def test_what_a_rewind_took_back_was_not_lost(tmp_path: Path) -> None:
    lines = Lines()
    first = lines.prompt("Use pnpm for this.")
    lines.say("yes")
    lines.prompt("Delete all of src/old.ts.")
    lines.add("assistant", parent=first, message={"id": "m9", "role": "assistant", "content": [{"type": "text", "text": "fine"}]})
    lines.compact(logical=lines.last)
    assert [passage.text for passage in only(lines, tmp_path).before] == ["Use pnpm for this.", "fine"]


def test_words_in_place_of_a_permission_are_the_persons(tmp_path: Path) -> None:
    lines = Lines()
    lines.use("t1", "Bash", {"command": "rm -r dist"})
    lines.result("t1", "The user doesn't want to proceed. To tell you how, the user said:\nKeep dist/legacy.", error=True)
    lines.compact()
    assert (SAID, ["Keep dist/legacy."]) in lost(lines, tmp_path)


def test_words_typed_while_the_assistant_worked_are_the_persons(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("go on")
    lines.add("attachment", attachment={"type": "queued_command", "commandMode": "prompt", "prompt": "Skip spec/slow for now."})
    lines.compact()
    assert (SAID, ["Skip spec/slow for now."]) in lost(lines, tmp_path)


def test_words_typed_in_several_parts_stand_below_each_other(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("go on")
    parts = [{"type": "text", "text": "Skip spec/slow."}, {"type": "text", "text": "Run spec/fast."}]
    lines.add("attachment", attachment={"type": "queued_command", "commandMode": "prompt", "prompt": parts})
    lines.compact()
    assert [passage.text for passage in only(lines, tmp_path).before] == ["go on", "Skip spec/slow.\nRun spec/fast."]


def test_a_call_is_named_by_its_file_alone_where_that_is_its_subject(tmp_path: Path) -> None:
    lines = Lines()
    for id, (tool, given) in enumerate(
        {
            "Read": {"file_path": "/shop/a.js"},
            "Grep": {"pattern": "price", "path": "/shop/a.js"},
            "Bash": {"command": "npm test"},
            "mcp__demo__look": {},
        }.items()
    ):
        lines.use(f"t{id}", tool, given)
        lines.result(f"t{id}", "shown")
    lines.compact()
    calls = {passage.label: (passage.subject, passage.file) for passage in only(lines, tmp_path).before if passage.kind == CALLED}
    assert calls == {
        "/shop/a.js": ("/shop/a.js", True),
        "Grep price": ("price", False),
        "Bash npm test": ("npm test", False),
        "mcp__demo__look": ("", False),
    }


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("cd a && cd b; npm test", "npm test"),
        ("cd a\nnpm test", "npm test"),
        ("cd a && ls; pwd", "ls; pwd"),
        ("cd a", "cd a"),
        ("ls && pwd", "ls && pwd"),
    ],
)
def test_a_command_is_named_without_the_folders_it_goes_to_first(tmp_path: Path, line: str, label: str) -> None:
    lines = Lines()
    lines.bash("t1", line, "shown")
    lines.compact(logical=lines.last)
    assert [passage.label for passage in only(lines, tmp_path).before] == [f"Bash {label}"] * 2


def test_what_the_host_says_in_a_persons_name_is_no_sentence_of_theirs(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("<local-command-stdout>Set model to opus-5</local-command-stdout>")
    lines.prompt("[Request interrupted by user for tool use]")
    lines.prompt("Stay in docs/guide, please.", isMeta=True)
    lines.compact()
    assert not any(kind == SAID for kind, _ in lost(lines, tmp_path))


def test_a_transcript_without_a_compaction_has_no_list(worked: Rewritten, tmp_path: Path) -> None:
    assert compaction_losses.of_transcript(worked.write(tmp_path / "t.jsonl"), str(tmp_path / "home")) == []


def test_values_of_the_wrong_type_end_no_reading(tmp_path: Path, count) -> None:
    lines = Rewritten()
    for number in range(4):
        lines.prompt(f"{RULE} {number}")
        lines.use(f"t{number}", "Read", {"file_path": "/shop/a.js"})
        lines.result(f"t{number}", f"const {NAME}_{number} = 1", error=number == 2)
        lines.add("attachment", attachment={"type": "queued_command", "commandMode": "prompt", "prompt": f"also {number}"})
        lines.compact(kept=[lines.entries[-1]["uuid"]])
        lines.say("on")
    whole = list(lines.entries)
    found = 0
    tries = count(30, 500)
    for seed in range(tries):
        chance = random.Random(seed)
        lines.entries = [altered(entry, chance, chance.choice([0.003, 0.01, 0.05, 0.2])) for entry in whole]
        path = lines.write(tmp_path / f"{seed}.jsonl")
        found += len(compaction_losses.of_transcript(path, str(tmp_path / "home")))
        for number in range(1, len(whole) + 1):
            with contextlib.suppress(compaction_losses.NoPassage):
                compaction_losses.text_at(path, number)
    assert found >= tries


def test_a_value_that_is_nested_hundreds_deep_is_passed_over(tmp_path: Path) -> None:
    lines = Rewritten()
    lines.prompt(RULE)
    deep: dict = {}
    for _ in range(450):
        deep = {"in": deep}
    lines.use("t1", "Read", deep)
    lines.result("t1", "const a = 1")
    lines.compact()
    assert (SAID, [RULE]) in lost(lines, tmp_path)
    with pytest.raises(compaction_losses.NoPassage):
        compaction_losses.text_at(str(tmp_path / "t.jsonl"), 2)


def test_an_open_error_that_is_written_before_its_call_is_lost_too(tmp_path: Path) -> None:
    lines = Lines()
    lines.bash("t1", "npm test", f"FAIL {NAME} expected 3, got 4", error=True)
    lines.entries.reverse()  # as Claude Code 2.1.101 writes some
    lines.compact()
    path = lines.write(tmp_path / "t.jsonl")
    [found] = compaction_losses.of_transcript(path, str(tmp_path / "home"))
    assert [(row["kind"], row["ways"][0]["line"]) for row in found["rows"]] == [(ERROR, 1)]
