"""What stood before a compaction and what stands behind it, as a transcript tells: of the host's own summaries, and of ours."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path

import pytest

from popkit_retention.core.operations import compaction_losses
from popkit_retention.core.policy.losses import ADDED, CALLED, ERROR, RESULT, SAID, WROTE
from popkit_retention.core.reclaim.recorded_compactions import RecordedCompaction, compactions
from popkit_retention.core.state.store import ContextFiles
from popkit_retention.core.views import losses
from tests.hosts.lines import Lines
from tests.hosts.test_rewritten import Rewritten
from tests.lab.test_robust import altered

RULE = "Never touch the folder generated/api."
NAME = "price_of_everything"


def only(lines: Lines, folder: Path) -> RecordedCompaction:
    [compaction] = compactions(lines.write(folder / "t.jsonl"))
    return compaction


def kinds(compaction: RecordedCompaction) -> list[str]:
    return [passage.kind for passage in compaction.before]


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


def test_a_file_that_was_added_is_named_by_its_path_a_hook_s_text_by_nothing(worked: Rewritten, tmp_path: Path) -> None:
    worked.add("attachment", attachment={"type": "file", "filename": "/shop/a.js", "content": "const added = 1"})
    worked.add("attachment", attachment={"type": "hook_additional_context", "content": ["mind the gap"], "filename": 7})
    worked.compact()
    added = [passage for passage in only(worked, tmp_path).before if passage.kind == ADDED]
    assert [(passage.subject, passage.label, passage.file) for passage in added] == [("/shop/a.js", "/shop/a.js", True), ("", "", False)]


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
    before = "\n".join(passage.text for passage in only(worked, tmp_path).before)
    assert "const of_b = 1" in before
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
