"""A transcript as requests: what the conversation grew by before each, whatever the file is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.lab import sent_requests
from popkit_retention.lab.recorded import Session
from tests.lab.transcripts import BASE, BEGAN, Transcript, filled

ALPHA, BETA = "src/alpha/handler.ts", "src/beta/handler.tsx"
RED = "iVBORw0KGgo="


def read(transcript: Transcript, folder: Path) -> Session:
    return sent_requests.read(transcript.write(folder / "session.jsonl"))


def steps(session: Session) -> list[str]:
    """The steps in short: ids of results, "." for another block, "#1" for a request."""
    short = {
        "add": lambda block: block.id or ".",
        "request": lambda request: f"#{request.number}",
        "cut": lambda kept, stays: f"cut {kept}",
    }
    return [short.get(kind, lambda event: event.name)(*rest) for kind, *rest in session.steps]


def opened() -> Transcript:
    transcript = Transcript()
    transcript.prompt(filled(100))
    return transcript


def test_a_request_comes_after_what_it_sent_and_before_its_answer(tmp_path) -> None:
    transcript = opened()
    transcript.first("a", visible=100)
    transcript.result("a", filled(50))
    transcript.answer(filled(10), "m2")
    assert steps(read(transcript, tmp_path)) == ["prompted", ".", "#1", ".", "a", "#2", "."]


def test_a_message_of_several_lines_is_one_request(tmp_path) -> None:
    transcript = opened()
    transcript.answer(filled(10), "m1")
    transcript.call("a", message="m1")
    transcript.call("b", message="m1")
    transcript.result("a", filled(10), parent="u3")
    transcript.result("b", filled(10), parent="u4")
    transcript.answer(filled(10), "m2")
    session = read(transcript, tmp_path)
    assert steps(session) == ["prompted", ".", "#1", ".", ".", ".", "a", "b", "#2", "."]
    assert [(request.message_id, request.output) for request in session.requests] == [("m1", 30), ("m2", 10)]


def test_a_message_is_one_request_where_results_stand_between_its_calls(tmp_path) -> None:
    transcript = opened()
    transcript.call("a", message="m1")
    transcript.result("a", filled(10))
    transcript.call("b", message="m1")
    transcript.result("b", filled(10))
    transcript.answer(filled(10), "m2")
    session = read(transcript, tmp_path)
    assert steps(session) == ["prompted", ".", "#1", ".", "a", ".", "b", "#2", "."]
    assert [request.output for request in session.requests] == [20, 10]


def test_a_message_can_not_need_a_result_that_came_while_it_was_written(tmp_path) -> None:
    transcript = opened()
    transcript.call("a", message="m1")
    transcript.result("a", filled(20, ALPHA))
    transcript.use("b", "Read", {"file_path": ALPHA}, message="m1")
    assert read(transcript, tmp_path).requests[0].needs == []


def test_results_of_parallel_calls_stay_whichever_call_the_conversation_leaves_from(tmp_path) -> None:
    """Whichever of them the conversation goes on from."""
    transcript = opened()
    transcript.call("a", message="m1")
    transcript.call("b", message="m1")
    first = transcript.result("a", filled(10), parent="u2")
    transcript.result("b", filled(10), parent="u3")
    transcript.answer(filled(10), "m2", parent=first)
    assert steps(read(transcript, tmp_path)) == ["prompted", ".", "#1", ".", ".", "a", "b", "#2", "."]


def test_a_rewind_leaves_what_stood_before_it(tmp_path) -> None:
    transcript = opened()
    transcript.first("a", visible=100)
    there = transcript.result("a", filled(10))
    transcript.answer(filled(10), "m2")
    transcript.prompt(filled(10))
    transcript.answer(filled(10), "m3")
    transcript.prompt("rather so", parent=there)
    transcript.answer(filled(10), "m4")
    expected = ["prompted", ".", "#1", ".", "a", "#2", ".", "prompted", ".", "#3", ".", "cut 3", "prompted", ".", "#4", "."]
    assert steps(read(transcript, tmp_path)) == expected


def test_a_branch_that_goes_on_after_another_brings_back_what_stood_in_it(tmp_path) -> None:
    transcript = opened()
    transcript.first("a", visible=100)
    there = transcript.result("a", filled(10))
    transcript.call("b", message="m2")
    left = transcript.result("b", filled(10))
    transcript.prompt("<command-name>/context</command-name>", parent=there)
    transcript.prompt("go on", parent=left)
    transcript.answer(filled(10), "m3")
    session = read(transcript, tmp_path)
    first, second = [step for step in session.steps if step[0] == "cut"]
    assert first == ("cut", 3, [])
    assert (second[1], [block.id for block in second[2]]) == (3, ["", "b"]), "the call and its result"
    assert steps(session)[-5:] == ["cut 3", "prompted", ".", "#3", "."]


def test_a_result_that_stays_beside_a_branch_stands_where_that_goes_on(tmp_path) -> None:
    transcript = opened()
    asked = transcript.call("a", message="m1", usage=transcript.sees(100))
    transcript.answer("and another thing", "m1")
    hangs = transcript.result("a", filled(10), parent=asked)
    transcript.prompt("no, rather so", parent=asked)
    transcript.prompt("go on", parent=hangs)
    transcript.answer(filled(10), "m2")
    session = read(transcript, tmp_path)
    cuts = [(length, [block.id for block in behind]) for kind, length, behind in (step for step in session.steps if step[0] == "cut")]
    assert cuts == [(2, ["a"]), (3, [])], "the words beside the result are gone for good"


def test_a_prompt_that_follows_nothing_begins_with_a_clear_context(tmp_path) -> None:
    transcript = opened()
    transcript.first("a", visible=100)
    transcript.result("a", filled(20, ALPHA))
    transcript.prompt(filled(10), parent=None)
    transcript.answer(filled(20, ALPHA), "m2")
    session = read(transcript, tmp_path)
    assert steps(session) == ["prompted", ".", "#1", ".", "a", "cut 0", "prompted", ".", "#2", "."]
    assert session.requests[1].needs == []


def test_an_answer_that_is_given_again_takes_the_place_of_the_first(tmp_path) -> None:
    transcript = opened()
    asked = transcript.prompt(filled(10))
    transcript.answer(filled(10), "m1")
    transcript.answer(filled(10), "m2", parent=asked)
    assert steps(read(transcript, tmp_path)) == ["prompted", ".", "prompted", ".", "#1", ".", "cut 2", "#2", "."]


def test_a_message_that_is_written_again_counts_once(tmp_path) -> None:
    transcript = opened()
    transcript.call("a", message="m1")
    transcript.result("a", filled(10))
    transcript.answer(filled(10), "m2")
    transcript.call("a", message="m1")
    transcript.result("a", filled(10))
    transcript.answer(filled(10), "m2")
    transcript.answer(filled(10), "m3")
    assert steps(read(transcript, tmp_path)) == ["prompted", ".", "#1", ".", "a", "#2", ".", "#3", "."]


def test_the_hosts_own_answers_are_not_requests(tmp_path) -> None:
    transcript = opened()
    body = {"id": "x", "role": "assistant", "content": [{"type": "text", "text": "API Error: overloaded"}], "model": "<synthetic>"}
    transcript.add("assistant", message=body)
    transcript.answer(filled(10), "m1")
    assert steps(read(transcript, tmp_path)) == ["prompted", ".", "#1", "."]


def test_a_compaction_ends_what_there_was_but_not_that_it_is_needed(tmp_path) -> None:
    transcript = opened()
    transcript.first("a", visible=100)
    transcript.result("a", filled(20, ALPHA))
    transcript.fold()
    transcript.answer(filled(20, ALPHA), "m2")
    session = read(transcript, tmp_path)
    assert steps(session) == ["prompted", ".", "#1", ".", "a", "compacted", ".", "#2", "."]
    assert [(string, [block.id for block in held]) for string, held in session.requests[1].needs] == [(ALPHA, ["a"])]


def test_what_an_answer_needed_names_every_result_that_held_it_and_is_still_there(tmp_path) -> None:
    transcript = opened()
    transcript.first("a", visible=100)
    transcript.result("a", filled(20, ALPHA))
    transcript.answer(filled(10), "m2")
    transcript.call("b", message="m2")
    transcript.result("b", filled(20, f"{ALPHA}\n{BETA}"))
    transcript.answer(f"{ALPHA} {BETA}", "m3")
    needs = {string: [block.id for block in held] for string, held in read(transcript, tmp_path).requests[2].needs}
    assert needs == {ALPHA: ["a", "b"], BETA: ["b"]}


def test_side_chains_in_the_file_are_left_out(tmp_path) -> None:
    transcript = opened()
    transcript.call("a", message="m1")
    main = transcript.last
    transcript.prompt("look for it", parent=None, isSidechain=True)
    transcript.answer(filled(10), "s1", isSidechain=True)
    transcript.result("a", filled(10), parent=main)
    transcript.answer(filled(10), "m2")
    assert steps(read(transcript, tmp_path)) == ["prompted", ".", "#1", ".", "a", "#2", "."]


def test_a_subagents_own_file_is_a_session(tmp_path) -> None:
    transcript = Transcript()
    transcript.prompt("look for it", isSidechain=True)
    transcript.call("a", message="s1", isSidechain=True)
    transcript.result("a", filled(10), isSidechain=True)
    transcript.answer(filled(10), "s2", isSidechain=True)
    assert steps(read(transcript, tmp_path)) == ["prompted", ".", "#1", ".", "a", "#2", "."]


def test_images_count_as_tokens(tmp_path) -> None:
    transcript = opened()
    transcript.first("a", visible=100)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": RED}}
    transcript.result("a", [{"type": "text", "text": filled(10)}, image])
    block = next(rest[0] for kind, *rest in read(transcript, tmp_path).steps if kind == "add" and rest[0].id)
    assert block.tokens > 10 + 100
    assert RED not in block.text


def test_the_base_is_the_first_usage_less_what_is_visible(tmp_path) -> None:
    transcript = opened()
    transcript.first("a", visible=100)
    assert read(transcript, tmp_path).base == BASE


@pytest.mark.parametrize("usage", [None, {"input_tokens": 5, "cache_read_input_tokens": 3_000}, {"input_tokens": "many"}])
def test_the_base_is_8000_at_least(tmp_path, usage: object) -> None:
    transcript = opened()
    transcript.call("a", usage=usage)
    assert read(transcript, tmp_path).base == 8_000


def test_a_request_is_sent_when_the_last_line_before_it_was_written(tmp_path) -> None:
    transcript = opened()
    transcript.wait(7)
    transcript.call("a", message="m1")
    transcript.wait(2)
    transcript.call("b", message="m1")
    request = read(transcript, tmp_path).requests[0]
    assert (request.sent_at - BEGAN, request.answered_at - BEGAN) == (0, 9)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[1, 2]", b"null", b"\xff\xfe\x00", b'{"type": "user", "uuid": "x"}', b'{"type": "user", "uuid": "x", "message": 7}',
     b'{"type": "assistant", "uuid": "x"}', b'{"type": "assistant", "uuid": "x", "message": {"content": [null, 7, {"type": "tool_use"}]}}',
     b'{"type": "user", "uuid": "x", "message": {"content": [{"type": "tool_result", "tool_use_id": ["a"]}, {"text": 3}]}}',
     b'{"type": "assistant", "uuid": "x", "message": {"model": "<synthetic>", "content": "no"}}', b'{"role": "user", "content": "hello"}',
     b'{"uuid": {"a": 1}, "type": "user"}', b'{"type": "system", "uuid": "x", "subtype": "compact_boundary", "compactMetadata": 5}',
     b'{"type": "user", "uuid": "x", "parentUuid": "x", "timestamp": 7, "message": {"content": "hi"}}', b"[" * 5_000],
)  # fmt: skip
def test_a_foreign_line_spoils_nothing(tmp_path, line: bytes) -> None:
    transcript = opened()
    transcript.first("a", visible=100)
    transcript.result("a", filled(10))
    transcript.answer(filled(10), "m2")
    path = tmp_path / "session.jsonl"
    whole = Path(transcript.write(path)).read_bytes().splitlines(keepends=True)
    for place in range(len(whole) + 1):
        path.write_bytes(b"".join([*whole[:place], line, b"\n", *whole[place:]]))
        assert {"m-a", "m2"} <= {request.message_id for request in sent_requests.read(str(path)).requests}


def test_a_file_that_was_cut_short_is_read_up_to_there(tmp_path) -> None:
    transcript = opened()
    transcript.first("a", visible=100)
    transcript.result("a", filled(10))
    transcript.answer(filled(10), "m2")
    path = tmp_path / "session.jsonl"
    transcript.write(path)
    path.write_bytes(path.read_bytes()[:-20])
    session = sent_requests.read(str(path))
    assert steps(session) == ["prompted", ".", "#1", ".", "a"]
    assert session.bad == 1


def test_an_empty_file_is_a_session_without_requests(tmp_path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    session = sent_requests.read(str(tmp_path / "empty.jsonl"))
    assert (session.steps, session.requests, session.size) == ([], [], 0)


def test_an_unreadable_file_is_an_error(tmp_path) -> None:
    with pytest.raises(OSError, match="No such file"):
        sent_requests.read(str(tmp_path / "none.jsonl"))
    with pytest.raises(OSError, match="regular"):
        sent_requests.read(str(tmp_path))
