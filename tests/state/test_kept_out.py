"""What did not enter, as a whole session tells of it: what its requests saved, and what was fetched or printed again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import transcript
from popkit_retention.core.policy.placeholder import placeholder
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.reclaim.outlook import read
from popkit_retention.core.state import journal, reconciling, store
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.core.views import report
from tests.hosts.lines import Lines
from tests.views.written import STEP_S, Written

READ = {"file_path": "/home/dev/shop/a.py"}
SHORT, LEFT_OUT = "a line of a.py\n" * 60, 4_200  # characters that entered, and that did not
TOKENS = 409  # of 900 characters of code, at 2.2
KEPT = round((TOKENS - 0.5) / 900 * LEFT_OUT)


class Door(Written):
    """A session of which some results enter shorter."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.journal: list[dict] = []

    def enters_short(self, tool_input: dict | None = None) -> str:
        id = self.call("Read", tool_input or READ, SHORT)
        self.journal.append(journal.entered(id, [], "abcd2345", 900 + LEFT_OUT, 900, TOKENS, ["noise"], self.now - STEP_S / 4))
        return id

    def ledger(self) -> dict:
        """What is known of the session once it has ended."""
        self.ends()
        site = self.site(self.path.parent / "home")
        for entry in self.journal:
            store.journal(site.paths(), entry)
        return reconciling.reconcile(site, str(self.path)).state.counts.ledger


@pytest.fixture
def door(tmp_path: Path) -> Door:
    session = Door(tmp_path / "p")
    session.say("go")
    return session


def test_six_requests_by_hand(door: Door) -> None:
    door.grep("one")  # the first request
    door.enters_short()  # the second calls for it
    for word in ("two", "three", "four"):
        door.grep(word)  # the third would have written it, the others read it
    figures = door.ledger()
    kept = KEPT
    assert (figures["kept_out"], figures["kept_out_tokens"]) == (1, kept)
    assert figures["saved_kept_out"] == pytest.approx(kept * (1.25 + 3 * 0.1), abs=0.1)
    assert figures["usd_kept_out"] == pytest.approx(kept * (1.25 + 3 * 0.1) * 5 / 1e6, abs=1e-6)
    assert (figures["net"], figures["unpriced"], figures["refetched"]) == (figures["saved_kept_out"], 0, 0)


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-opus-4-6"])
def test_what_was_kept_out_never_shrinks_whatever_usage_shows_later(door: Door, model: str) -> None:
    site, door.model = door.site(door.path.parent / "home"), model
    door.grep("one")
    id = door.enters_short()
    store.journal(site.paths(), door.journal[0])
    told, calibrations = [], set()
    for number in range(12):
        door.call("Read", {"file_path": f"/home/dev/shop/{number}.py"}, SHORT * 10)  # grows by less than is estimated
        outlook = read(site, str(door.path), door.now)
        [row] = [row for row in report.build(outlook)["results"] if row["id"] == id]
        told.append((outlook.ledger["kept_out_tokens"], row["entered"]["kept_out_tokens"]))
        calibrations.add(outlook.state.calibration)
    assert len(calibrations) > 2
    assert set(told) == {told[0]}
    assert told[0][0] == told[0][1] > 0


def test_what_was_kept_out_on_a_branch_of_another_model_never_shrinks(door: Door) -> None:
    site = door.site(door.path.parent / "home")
    door.model = "claude-opus-4-6"
    door.grep("one")
    fork = door.last
    door.model = "claude-opus-5"
    door.enters_short()
    store.journal(site.paths(), door.journal[0])
    door.grep("two")
    before = read(site, str(door.path), door.now).ledger["kept_out_tokens"]
    door.last, door.model = fork, "claude-opus-4-6"
    door.say("rather this")
    door.grep("three")
    assert read(site, str(door.path), door.now).ledger["kept_out_tokens"] == before == KEPT


def test_an_answer_of_the_door_that_came_too_late_saved_nothing(door: Door) -> None:
    door.journal.append(journal.entered_whole(door.enters_short(), door.now))
    assert door.ledger() == {}


def test_what_was_printed_again_is_charged(door: Door) -> None:
    door.enters_short()
    door.bash("popkit restore abcd2345", SHORT * 6)
    figures = door.ledger()
    assert figures["restored"] == 1
    assert figures["charged_restores"] > figures["saved_kept_out"], "all of it was written, at once"


@pytest.mark.parametrize(
    ("again", "count"),
    [
        ({}, 1),
        ({"offset": 40, "limit": 30}, 1),
        ({"offset": 900, "limit": 30}, 1),  # nobody knows how long the first was
    ],
)
def test_what_is_read_again_and_enters_whole_is_charged(door: Door, again: dict, count: int) -> None:
    door.enters_short()
    door.call("Read", {**READ, **again}, SHORT * 2)
    door.call("Read", {**READ, **again}, SHORT * 2)
    figures = door.ledger()
    assert figures["refetched"] == count, "once"
    assert figures["charged_refetches"] > 0


def test_other_lines_or_files_are_not_what_was_left_out(door: Door) -> None:
    door.enters_short({**READ, "offset": 10, "limit": 60})
    door.call("Read", {**READ, "offset": 300, "limit": 5}, "others\n" * 5)
    door.call("Read", {"file_path": "/home/dev/shop/b.py"}, "b\n" * 5)
    assert door.ledger()["refetched"] == 0


def test_a_file_that_was_edited_since_has_to_be_read_again_anyway(door: Door) -> None:
    door.enters_short()
    door.edit("a.py")
    door.call("Read", READ, "changed\n" * 60)
    assert door.ledger()["refetched"] == 0


def test_what_is_fetched_after_a_compaction_was_gone_anyway(door: Door) -> None:
    door.enters_short()
    door.grep("more")
    door.compact()
    door.say("go on")
    door.call("Read", READ, SHORT * 2)
    figures = door.ledger()
    assert (figures["refetched"], figures["kept_out"]) == (0, 1)
    assert figures["saved_kept_out"] == pytest.approx(KEPT * 1.25, abs=0.1), "the one request before it"


def test_what_enters_shorter_again_is_not_fetched_again(door: Door) -> None:
    door.enters_short()
    door.enters_short()
    figures = door.ledger()
    assert (figures["kept_out"], figures["refetched"]) == (2, 0)


# --- what was cleared and comes again is charged --------------------------------------------------------------------------------------

HANDLE = "abcd2345"
TEXT = "src/auth.ts:3: the same text\n" * 40
UNCHANGED_READ = {"type": "text", "file": {"filePath": "/shop/a.py", "content": TEXT, "numLines": 40, "startLine": 1, "totalLines": 40}}
USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 2_000, "cache_read_input_tokens": 20_000, "output_tokens": 5}


def call(lines: Lines, id: str, tool: str, tool_input: dict, content: str, **more) -> None:
    lines.use(id, tool, tool_input, usage=USAGE)
    structure = UNCHANGED_READ if tool == "Read" else {"stdout": content, "stderr": "", "interrupted": False} if tool == "Bash" else None
    lines.result(id, content, None if content.startswith("[PopKit") else structure, **more)


def refetched(tmp_path, tool: str, tool_input: dict, *, placeholders: bool = True, failed: bool = False, entry=journal.cleared) -> int:
    """How often what was cleared was fetched again, where the same call with the same output stands before and behind the clear."""
    lines, content = Lines(), placeholder(tool, "old", HANDLE) if placeholders else TEXT
    lines.prompt()
    call(lines, "T1", tool, tool_input, content)
    lines.say("so", usage=USAGE)
    call(lines, "T2", tool, tool_input, "Exit code 1\n" + TEXT if failed else TEXT, error=failed)
    lines.say("again", usage=USAGE)
    path = lines.write(tmp_path / "session.jsonl")
    known = [entry(["T1"], 300, {} if entry is journal.cleared else "by the provider", at=between(path))]
    rebuilt = rebuild(path, known, lambda profile: Ruleset.from_config({}, TOOLS, profile), original=lambda handle: json.dumps(TEXT))
    return rebuilt.state.counts.ledger["refetched"]


def between(path: str) -> float:
    """The time after the first result of a session."""
    return next(event.at for event in transcript.events_of(path) if event.name == "call") + 1.0


def test_what_is_read_or_searched_again_is_fetched_again(tmp_path):
    assert refetched(tmp_path, "Read", {"file_path": "/shop/a.py"}) == 1
    assert refetched(tmp_path, "Grep", {"pattern": "the same"}) == 1
    assert refetched(tmp_path, "Bash", {"command": "cat a.py"}) == 1


@pytest.mark.parametrize("line", ["npm test", "pytest -q", "npm run build", "npx tsc --noEmit", "ruff check ."])
@pytest.mark.parametrize("failed", [False, True])
def test_what_is_run_again_with_the_same_outcome_is_no_content_that_was_missed(tmp_path, line, failed):
    assert refetched(tmp_path, "Bash", {"command": line}, failed=failed) == 0


def test_a_result_that_the_provider_cleared_and_that_is_read_again_is_fetched_again(tmp_path):
    assert refetched(tmp_path, "Read", {"file_path": "/shop/a.py"}, placeholders=False, entry=journal.cleared_outside) == 1
    assert refetched(tmp_path, "Bash", {"command": "npm test"}, placeholders=False, entry=journal.cleared_outside) == 0
