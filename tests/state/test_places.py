"""Where results stand in the prompt of a transcript: measured by the requests that called them, and moved by what was cleared since."""

from __future__ import annotations

import json

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.policy.estimate import RESULT_TOKENS, estimate_tokens
from popkit_retention.core.policy.messages import call_tokens
from popkit_retention.core.policy.placeholder import gain, placeholder
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state import rebuild
from tests.hosts.lines import START, Lines

AT = seconds_of(START + "00.000Z")


class Measured(Lines):
    """A transcript whose every call is a request with a prompt of so many tokens, 2,000 more each time. One line a second."""

    def __init__(self, tokens: int = 30_000):
        super().__init__()
        self.tokens = tokens

    @property
    def now(self) -> float:
        """The time of the last line."""
        return AT + len(self.entries) - 1

    def call(self, *ids: str) -> None:
        for id in ids:
            self.request(id)
            self.result(id, text_of(id))

    def request(self, id: str, message: str = "") -> None:
        usage = {"input_tokens": 10, "cache_read_input_tokens": self.tokens - 10, "cache_creation_input_tokens": 0}
        self.use(id, "mcp__demo__find", {"what": id}, message, usage)
        self.tokens += 0 if message else 2_000

    def clear(self, *ids: str) -> dict:
        """Placeholders take the place of these results; the journal entry of it, right after the last line."""
        for entry in self.entries:
            for block in entry["message"]["content"] if isinstance(entry["message"]["content"], list) else []:
                if block.get("tool_use_id") in ids:
                    block["content"] = placeholder("demo", "old", handle_of(block["tool_use_id"]))
        return {"event": "clear", "at": self.now + 0.5, "ids": list(ids), "tokens": 1_000 * len(ids)}


def text_of(id: str) -> str:
    return f"what was found on a line of {id}\n" * 100


def handle_of(id: str) -> str:
    return (id + "a" * 8)[:8]


def rebuilt(lines: Lines, tmp_path, *journal: dict) -> rebuild.Rebuild:
    texts = {handle_of(name): json.dumps(text_of(name)) for name in "abcdefgh"}
    return rebuild.rebuild(
        lines.write(tmp_path / "s.jsonl"), list(journal), lambda profile: Ruleset.from_config({}, TOOLS, profile), original=texts.get
    )


def prefixes(replayed: rebuild.Rebuild) -> dict[str, int]:
    """id -> tokens of the prompt before each result."""
    return {id: place.prefix for id, place in replayed.conversation.places.items()}


@pytest.fixture
def lines() -> Measured:
    lines = Measured()
    lines.prompt()
    return lines


def left(replayed: rebuild.Rebuild, *ids: str) -> int:
    """Tokens that left the context with these results."""
    results = {**replayed.state.live, **replayed.state.expired}
    return sum(gain(results[id], replayed.state.calibration, Ruleset.from_config({}, TOOLS)) for id in ids)


def test_a_result_comes_after_the_prompt_of_the_request_that_called_it(lines, tmp_path):
    lines.call(*"abc")
    assert prefixes(rebuilt(lines, tmp_path)) == {"a": 30_000, "b": 32_000, "c": 34_000}


def test_results_that_one_request_called_stand_at_the_same_place(lines, tmp_path):
    lines.call("a")
    for id in "bc":
        lines.request(id, "both")
    for id in "bc":
        lines.result(id, text_of(id))
    assert prefixes(rebuilt(lines, tmp_path)) == {"a": 30_000, "b": 32_000, "c": 32_000}


def test_where_no_request_shows_their_place_they_are_at_the_beginning(tmp_path):
    lines = Lines()
    lines.prompt()
    lines.bash("a", "ls", text_of("a"))
    assert prefixes(rebuilt(lines, tmp_path)) == {"a": 0}


def test_what_follows_a_cleared_result_moves_forward_by_what_left_with_it(lines, tmp_path):
    lines.call(*"abcd")
    before = prefixes(rebuilt(lines, tmp_path))
    replayed = rebuilt(lines, tmp_path, lines.clear("b"))
    gone = left(replayed, "b")
    assert gone > 500
    assert prefixes(replayed) == {**before, "c": before["c"] - gone, "d": before["d"] - gone}


def test_a_clear_of_several_moves_each_by_those_before_it(lines, tmp_path):
    lines.call(*"abcde")
    before = prefixes(rebuilt(lines, tmp_path))
    replayed = rebuilt(lines, tmp_path, lines.clear("a", "c"))
    one, both = left(replayed, "a"), left(replayed, "a", "c")
    assert [before[id] - prefixes(replayed)[id] for id in "abcde"] == [0, one, one, both, both]


def test_what_came_after_the_clear_was_measured_without_what_left(lines, tmp_path):
    lines.call(*"abc")
    entry = lines.clear("a")
    lines.tokens = 33_000
    lines.call("d")
    replayed = rebuilt(lines, tmp_path, entry)
    assert prefixes(replayed)["d"] == 33_000
    assert prefixes(replayed)["c"] == 34_000 - left(replayed, "a")


def test_a_second_clear_moves_what_came_between_by_its_own_results_alone(lines, tmp_path):
    lines.call(*"abc")
    first = lines.clear("a")
    lines.tokens = 33_000
    lines.call(*"de")
    second = lines.clear("b", "d")
    replayed = rebuilt(lines, tmp_path, first, second)
    assert prefixes(replayed) == {
        "a": 30_000,
        "b": 32_000 - left(replayed, "a"),
        "c": 34_000 - left(replayed, "a", "b"),
        "d": 33_000 - left(replayed, "b"),
        "e": 35_000 - left(replayed, "b", "d"),
    }


@pytest.mark.parametrize("came_back", ["an undo", "nothing that the journal tells"])
def test_what_came_back_is_where_it_was(lines, tmp_path, came_back):
    lines.call(*"abc")
    before = prefixes(rebuilt(lines, tmp_path))
    entry = {"event": "clear", "at": lines.now + 0.5, "ids": ["a"], "tokens": 900}
    undone = [{"event": "undo", "at": lines.now + 0.7, "ids": ["a"], "tokens": 900}] if came_back == "an undo" else []
    assert prefixes(rebuilt(lines, tmp_path, entry, *undone)) == before, "no placeholder stands in the file"


def test_of_a_clear_that_the_journal_does_not_tell_nothing_moves(lines, tmp_path):
    """A kill came between the transcript and the journal: since when it has been gone, nobody knows."""
    lines.call(*"abc")
    lines.clear("a")
    assert prefixes(rebuilt(lines, tmp_path)) == {"a": 30_000, "b": 32_000, "c": 34_000}


def test_no_result_is_placed_before_the_beginning(tmp_path):
    lines = Measured(tokens=200)
    lines.prompt()
    lines.call("a")
    lines.tokens = 300
    lines.call("b")
    assert prefixes(rebuilt(lines, tmp_path, lines.clear("a"))) == {"a": 200, "b": 0}


def test_after_a_compaction_nothing_that_it_took_has_a_place(lines, tmp_path):
    lines.call("a")
    lines.compact()
    lines.tokens = 9_000
    lines.call("b")
    assert prefixes(rebuilt(lines, tmp_path)) == {"b": 9_000}


# --- what no request has sent -----------------------------------------------------------------------------------------------------


def test_what_came_since_the_last_request_has_not_been_sent(lines, tmp_path):
    lines.call("a")
    asked = rebuilt(lines, tmp_path)
    assert asked.conversation.unsent == RESULT_TOKENS + asked.state.live["a"].tokens + call_tokens({"what": "a"})
    lines.say("That is it.", {"input_tokens": 32_000})
    assert rebuilt(lines, tmp_path).conversation.unsent == estimate_tokens("That is it.")


def test_what_two_calls_of_one_request_gave_has_not_been_sent(lines, tmp_path):
    lines.call("a")
    for id in "bc":
        lines.request(id, "both")
    lines.result("b", text_of("b"))
    one = rebuilt(lines, tmp_path).conversation.unsent
    lines.result("c", text_of("c"))
    replayed = rebuilt(lines, tmp_path)
    assert replayed.conversation.unsent - one == RESULT_TOKENS + replayed.state.live["c"].tokens
    assert "a" in replayed.state.live
    assert replayed.conversation.unsent < replayed.state.live["b"].tokens + replayed.state.live["c"].tokens + 200


def test_before_the_first_request_everything_that_was_said_is_unsent(tmp_path):
    lines = Lines()
    lines.prompt("go")
    assert rebuilt(lines, tmp_path).conversation.unsent == estimate_tokens("go")
    lines.bash("a", "ls", text_of("a"))
    replayed = rebuilt(lines, tmp_path)
    assert replayed.conversation.unsent == estimate_tokens("go") + RESULT_TOKENS + replayed.state.live["a"].tokens


def test_what_no_request_has_sent_the_model_has_not_seen(lines, tmp_path):
    lines.call("a")
    for id in "bc":
        lines.request(id, "both")
        lines.result(id, text_of(id))
    replayed = rebuilt(lines, tmp_path)
    assert replayed.conversation.unseen == {"b", "c"}
    assert set(prefixes(replayed)) == {"a", "b", "c"}
    lines.say("[interrupted]")
    assert rebuilt(lines, tmp_path).conversation.unseen == {"b", "c"}, "the client wrote that, no request answered"
    lines.say("Both are there.", {"input_tokens": 34_000})
    assert rebuilt(lines, tmp_path).conversation.unseen == set()
