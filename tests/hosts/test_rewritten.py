"""A compaction that was answered without a model: the client writes the conversation down anew behind the boundary, with the same calls."""

from __future__ import annotations

import json

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import transcript
from popkit_retention.core.policy.list_text import folded
from popkit_retention.core.policy.messages import NO_RESULT
from popkit_retention.core.policy.placeholder import placeholder
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state import rebuild
from tests.hosts.lines import Lines

GONE = placeholder("Bash npm test", "a newer one follows", "abcd2345")
OTHER = placeholder("Bash npm test", "old", "bcde3456")
SYNTHETIC = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


class Rewritten(Lines):
    """Each of the lines that stand behind a boundary hangs on the one before, and is one of its own."""

    def boundary(self, trigger: str = "manual") -> str:
        metadata = {"trigger": trigger, "preTokens": 12_766, "durationMs": 17, "postTokens": 68}
        return self.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=self.last, compactMetadata=metadata)

    def again(self, id: str, content: str, command: str = "npm test", error: bool = False) -> str:
        """A call with its result as it was handed back."""
        self.call_again(id, command)
        return self.result(id, content, error=error)

    def call_again(self, id: str, command: str = "npm test") -> str:
        self.use(id, "Bash", {"command": command}, message=f"new-{len(self.entries)}", usage=SYNTHETIC)
        self.entries[-1]["message"]["model"] = "<synthetic>"
        return self.last

    def typed_compact(self) -> None:
        """The lines of the command, which follow what was handed back."""
        self.prompt("<local-command-caveat>…</local-command-caveat>", isMeta=True)
        self.prompt("<command-name>/compact</command-name>")
        self.prompt("<local-command-stdout>Compacted </local-command-stdout>")


@pytest.fixture
def lines() -> Rewritten:
    return Rewritten()


@pytest.fixture
def once(lines: Rewritten) -> Rewritten:
    """Three calls, of which a compaction cleared the first."""
    lines.prompt("go")
    lines.bash("t1", "npm test", "1 passing")
    lines.bash("t2", "npm run lint", "clean")
    lines.bash("t3", "git log", "c1")
    lines.say("done")
    lines.boundary()
    lines.prompt("go")
    lines.again("t1", GONE)
    lines.again("t2", "clean", "npm run lint")
    lines.again("t3", "c1", "git log")
    lines.say("done")
    lines.typed_compact()
    return lines


def path_of(lines: Rewritten, tmp_path) -> str:
    return lines.write(tmp_path / "t.jsonl")


def rebuilt(lines: Rewritten, tmp_path, original=None):
    return rebuild.rebuild(path_of(lines, tmp_path), [], lambda profile: Ruleset.from_config({}, TOOLS, profile), original=original)


def live(lines: Rewritten, tmp_path) -> list[str]:
    return list(rebuilt(lines, tmp_path).state.live)


def handles(lines: Rewritten, tmp_path) -> dict[str, str]:
    """id -> handle of what the tracker knows as cleared."""
    return {result.id: result.cleared for result in rebuilt(lines, tmp_path).conversation.results() if result.cleared}


# --- what stands --------------------------------------------------------------------------------------------------------------------------


def test_a_rewritten_result_is_live_and_one_with_a_placeholder_is_cleared(once, tmp_path):
    assert live(once, tmp_path) == ["t2", "t3"]
    assert handles(once, tmp_path) == {"t1": "abcd2345"}


def test_each_call_counts_once(once, tmp_path):
    ids = [event.id for event in transcript.events_of(path_of(once, tmp_path)) if event.name == "call"]
    assert ids == ["t1", "t2", "t3"]
    state = rebuilt(once, tmp_path).state
    assert (state.index, sum(state.counts.results.values())) == (3, 3)
    assert state.epoch == 1


def test_a_result_is_as_large_as_it_was_whatever_replaced_it(once, tmp_path):
    cleared = next(result for result in rebuilt(once, tmp_path).conversation.results() if result.id == "t1")
    assert cleared.tokens == rebuilt(once, tmp_path, {"abcd2345": json.dumps("x" * 9_000)}.get).state.expired["t1"].tokens
    assert cleared.tokens < 20


def test_the_conversation_goes_on_behind_it(once, tmp_path):
    once.prompt("again")
    once.bash("t4", "npm test", "2 passing")
    assert live(once, tmp_path) == ["t2", "t3", "t4"]
    assert handles(once, tmp_path) == {"t1": "abcd2345"}


def test_a_call_that_was_listed_and_not_written_down_is_out_of_the_context(lines, tmp_path):
    lines.prompt("go")
    lines.bash("t1", "npm test", "1 passing")
    lines.bash("t2", "npm run lint", "clean")
    lines.boundary()
    lines.prompt("go")
    lines.prompt(folded(["Bash npm test"], "abcd2345").text)
    lines.again("t2", "clean", "npm run lint")
    assert live(lines, tmp_path) == ["t2"]
    assert list(rebuilt(lines, tmp_path).state.expired) == []


def test_calls_made_at_once_are_written_down_one_after_another(lines, tmp_path):
    lines.prompt("go")
    first = lines.use("t1", "Bash", {"command": "ls"}, message="m")
    second = lines.use("t2", "Bash", {"command": "pwd"}, message="m")
    lines.result("t1", "a", parent=first)
    lines.result("t2", "/", parent=second)
    lines.boundary("auto")
    lines.prompt("go")
    lines.call_again("t1", "ls")
    lines.call_again("t2", "pwd")
    lines.result("t1", GONE)
    lines.result("t2", "/")
    assert live(lines, tmp_path) == ["t2"]
    assert handles(lines, tmp_path) == {"t1": "abcd2345"}


def test_a_call_that_was_interrupted_has_its_result_from_then_on(lines, tmp_path):
    lines.prompt("go")
    lines.bash("t1", "ls", "a")
    lines.use("t2", "Bash", {"command": "sleep 100"})
    lines.boundary()
    lines.prompt("go")
    lines.again("t1", "a", "ls")
    lines.again("t2", NO_RESULT, "sleep 100", error=True)
    state = rebuilt(lines, tmp_path).state
    assert (list(state.live), state.index) == (["t1", "t2"], 2)
    assert state.live["t2"].error


def test_nothing_of_it_is_doubted(once, tmp_path):
    indexed = transcript.index(path_of(once, tmp_path))
    assert (indexed.doubts, indexed.doubled, indexed.abandoned, indexed.compactions) == ([], set(), 0, 1)
    assert indexed.calls == {"t1", "t2", "t3"}


def test_a_result_that_is_there_twice_with_no_compaction_between_is(once, tmp_path):
    once.result("t3", "c2")
    assert transcript.index(path_of(once, tmp_path)).doubled == {"t3"}


def test_requests_are_those_that_were_made(once, tmp_path):
    once.entries[2]["message"]["usage"] = {"input_tokens": 20_000, "output_tokens": 9}
    once.say("more", {"input_tokens": 19_000, "output_tokens": 9})
    conversation = rebuilt(once, tmp_path).conversation
    assert [usage.tokens for usage, _ in conversation.requests] == [0, 19_000]


def test_what_was_measured_before_is_not_blurred_by_what_is_rewritten(lines, tmp_path):
    """The first request behind it has not grown by just what was said since: it holds all of it, and system and tools."""
    lines.prompt("go")
    tokens = 20_000
    for n in range(8):
        tokens += 1_000
        lines.use(f"t{n}", "Bash", {"command": f"cat {n}"}, usage={"input_tokens": tokens, "output_tokens": 9})
        lines.result(f"t{n}", f"{n} word\n" * 430, {"stdout": f"{n} word\n" * 430, "stderr": "", "interrupted": False})
    before = rebuilt(lines, tmp_path).state.calibration
    lines.boundary()
    lines.prompt("word " * 8_000)
    for n in range(8):
        lines.again(f"t{n}", f"{n} word\n" * 430, f"cat {n}")
    lines.say("on", {"input_tokens": 45_000, "output_tokens": 9})
    assert 0.7 < before < 0.9
    assert rebuilt(lines, tmp_path).state.calibration == before


# --- a second, and a third ----------------------------------------------------------------------------------------------------------------


def test_what_a_second_compaction_puts_back_is_live_again(once, tmp_path):
    once.boundary()
    once.prompt("go")
    once.again("t1", "1 passing")
    once.again("t2", "clean", "npm run lint")
    once.again("t3", "c1", "git log")
    assert live(once, tmp_path) == ["t1", "t2", "t3"]
    assert handles(once, tmp_path) == {}
    assert rebuilt(once, tmp_path).state.index == 3


def test_a_second_compaction_clears_more_and_a_third_puts_one_of_them_back(once, tmp_path):
    once.bash("t4", "npm test", "2 passing")
    once.boundary("auto")
    once.again("t1", GONE)
    once.again("t2", OTHER, "npm run lint")
    once.again("t3", "c1", "git log")
    once.again("t4", "2 passing")
    assert live(once, tmp_path) == ["t3", "t4"]
    assert handles(once, tmp_path) == {"t1": "abcd2345", "t2": "bcde3456"}
    once.boundary()
    once.again("t1", GONE)
    once.again("t2", "clean", "npm run lint")
    once.again("t3", "c1", "git log")
    once.again("t4", "2 passing")
    assert live(once, tmp_path) == ["t2", "t3", "t4"]
    assert handles(once, tmp_path) == {"t1": "abcd2345"}
    assert rebuilt(once, tmp_path).state.epoch == 3


def test_a_summary_after_it_leaves_nothing(once, tmp_path):
    once.compact()
    once.bash("t4", "npm test", "2 passing")
    assert live(once, tmp_path) == ["t4"]
    assert handles(once, tmp_path) == {}


def test_what_the_summariser_left_verbatim_after_its_summary_stays(once, tmp_path):
    once.boundary("auto")
    once.prompt("summary", isCompactSummary=True)
    once.again("t3", "c1", "git log")
    assert live(once, tmp_path) == ["t3"]


# --- calls that left with their results, and came back ------------------------------------------------------------------------------------


@pytest.fixture
def listed(lines: Rewritten) -> Rewritten:
    """Three calls, of which a compaction left the newest, and the others as a line that names them."""
    lines.prompt("go")
    lines.bash("t1", "npm test", "1 passing")
    lines.bash("t2", "cat a.js", "let a")
    lines.bash("t3", "git log", "c1")
    lines.say("done")
    lines.boundary()
    lines.prompt("go")
    lines.say("[PopKit left out Bash npm test; Bash cat a.js: popkit restore abcd2345]")
    lines.again("t3", "c1", "git log")
    lines.say("done")
    return lines


def comes_back(lines: Rewritten) -> None:
    """An undo, as it is written down."""
    lines.boundary()
    lines.prompt("go")
    lines.again("t1", "1 passing")
    lines.again("t2", "let a", "cat a.js")
    lines.again("t3", "c1", "git log")
    lines.say("done")


def test_calls_that_left_in_a_list_are_known_again_once_they_are_back(listed, tmp_path):
    assert live(listed, tmp_path) == ["t3"]
    comes_back(listed)
    back = rebuilt(listed, tmp_path)
    assert [(result.id, result.index, result.label) for result in back.state.live.values()] == [
        ("t1", 1, "Bash npm test"), ("t2", 2, "Bash cat a.js"), ("t3", 3, "Bash git log"),
    ]  # fmt: skip
    assert back.state.index == 3, "no call counts twice"
    assert set(back.conversation.places) == {"t1", "t2", "t3"}


def test_what_came_back_goes_on_living(listed, tmp_path):
    comes_back(listed)
    listed.bash("t4", "npm test", "2 passing")
    state = rebuilt(listed, tmp_path).state
    assert (list(state.live), state.expired["t1"].ended[0]) == (["t2", "t3", "t4"], "superseded")


def test_what_ended_while_it_was_out_comes_back_ended(listed, tmp_path):
    listed.bash("t4", "npm test", "2 passing")
    listed.say("done")
    comes_back(listed)
    listed.again("t4", "2 passing")
    state = rebuilt(listed, tmp_path).state
    assert list(state.live) == ["t2", "t3", "t4"]
    assert state.expired["t1"].ended[0] == "superseded"
    assert state.expired["t1"].ended[3] == "t4"


def test_what_comes_back_leaves_again_with_the_next_compaction(listed, tmp_path):
    comes_back(listed)
    listed.boundary()
    listed.prompt("go")
    listed.again("t2", "let a", "cat a.js")
    assert live(listed, tmp_path) == ["t2"]
    comes_back(listed)
    assert live(listed, tmp_path) == ["t1", "t2", "t3"]


# --- forks and rewinds --------------------------------------------------------------------------------------------------------------------


def test_a_rewind_to_before_it_has_everything_as_it_was(once, tmp_path):
    once.prompt("rather that", parent="u8")
    once.bash("t4", "pwd", "/shop")
    state = rebuilt(once, tmp_path).state
    assert list(state.live) == ["t1", "t2", "t3", "t4"]
    assert handles(once, tmp_path) == {}
    assert (state.epoch, state.index) == (0, 4)


def test_a_rewind_to_before_a_call_and_the_compaction_leaves_that_call_too(once, tmp_path):
    once.prompt("rather that", parent="u3")
    once.bash("t4", "pwd", "/shop")
    assert live(once, tmp_path) == ["t1", "t4"]
    assert handles(once, tmp_path) == {}


def test_a_rewind_within_what_was_rewritten_has_what_comes_before_it(once, tmp_path):
    before_t3 = next(entry["uuid"] for entry in reversed(once.entries) if entry["type"] == "user" and "t2" in json.dumps(entry))
    once.prompt("rather that", parent=before_t3)
    once.bash("t4", "pwd", "/shop")
    assert live(once, tmp_path) == ["t2", "t4"]
    assert handles(once, tmp_path) == {"t1": "abcd2345"}


def test_a_compaction_after_a_rewind_to_before_another_one_knows_its_own(once, tmp_path):
    once.prompt("rather that", parent="u8")
    once.boundary()
    once.prompt("go")
    once.again("t1", "1 passing")
    once.again("t2", OTHER, "npm run lint")
    once.again("t3", "c1", "git log")
    assert live(once, tmp_path) == ["t1", "t3"]
    assert handles(once, tmp_path) == {"t2": "bcde3456"}
    assert rebuilt(once, tmp_path).state.epoch == 1


def test_a_rewind_to_before_a_second_compaction_has_what_the_first_one_left(once, tmp_path):
    here = once.prompt("again")
    once.boundary()
    once.again("t1", "1 passing")
    once.again("t2", OTHER, "npm run lint")
    once.prompt("rather that", parent=here)
    once.bash("t4", "pwd", "/shop")
    assert live(once, tmp_path) == ["t2", "t3", "t4"]
    assert handles(once, tmp_path) == {"t1": "abcd2345"}


def test_a_fork_that_begins_at_the_boundary_knows_what_its_placeholders_stand_for(once, tmp_path):
    start = next(at for at, entry in enumerate(once.entries) if entry["type"] == "system")
    fork = Rewritten()
    fork.entries = once.entries[start:]
    assert live(fork, tmp_path) == ["t2", "t3"]
    assert handles(fork, tmp_path) == {"t1": "abcd2345"}
    whole = rebuilt(fork, tmp_path, {"abcd2345": json.dumps("word " * 1_000)}.get).state.expired["t1"]
    assert whole.tokens > 1_000


def test_a_subagents_own_file_is_read_like_any_other(once, tmp_path):
    for entry in once.entries:
        entry["isSidechain"] = True
    assert live(once, tmp_path) == ["t2", "t3"]
    assert handles(once, tmp_path) == {"t1": "abcd2345"}
    assert transcript.index(path_of(once, tmp_path)).doubled == set()
