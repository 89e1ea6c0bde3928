"""The transcripts that are kept of OpenCode's sessions: what comes is appended, private, once; what was taken back is followed no more."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.hosts.opencode import translation
from popkit_retention.core.hosts.opencode.kept_transcripts import OpenCodeTranscript, path_of
from popkit_retention.core.hosts.transcripts import entries, projects, transcript
from popkit_retention.core.policy.events import Call, Compacted
from tests.hosts.test_opencode import PROJECT, SESSION, worked
from tests.lab.test_robust import altered

MESSAGES = worked().messages
CALLS = ["c1", "c2", "c3", "c4"]


def path_in(folder: Path) -> Path:
    return Path(path_of(str(folder), PROJECT, SESSION))


def opened(folder: Path) -> OpenCodeTranscript:
    return OpenCodeTranscript(str(path_in(folder)), SESSION, PROJECT)


def calls(path: Path) -> list[str]:
    return [event.id for event in transcript.events_of(str(path)) if isinstance(event, Call)]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def compacted() -> list[dict[str, Any]]:
    """A conversation that was compacted and went on."""
    export = worked()
    export._message("user", [{"type": "compaction", "auto": True}])
    export.answer({"type": "text", "text": "Prices are done."}, summary=True)
    export.say("Go on.")
    return export.messages


def test_it_holds_what_an_export_holds_and_says_whose_it_is(tmp_path: Path) -> None:
    opened(tmp_path).take(MESSAGES)
    found = lines(path_in(tmp_path))
    assert {entry.pop("host") for entry in found} == {"OpenCode"}
    assert found == list(translation.of_session(worked().data()["info"], MESSAGES))
    assert calls(path_in(tmp_path)) == CALLS


def test_others_can_read_neither_it_nor_its_folders(tmp_path: Path) -> None:
    opened(tmp_path).take(MESSAGES)
    path = path_in(tmp_path)
    assert [one.stat().st_mode & 0o777 for one in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]


def test_it_is_one_of_the_transcripts_of_the_host(tmp_path: Path) -> None:
    opened(tmp_path).take(MESSAGES)
    assert projects.every({"POPKIT_HOME": str(tmp_path)}) == [str(path_in(tmp_path))]


moves = st.lists(st.tuples(st.sampled_from(["some", "all", "back", "again"]), st.integers(1, len(MESSAGES))), max_size=8)


@given(moves)
def test_it_only_grows_and_follows_the_conversation(moves: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recording, path, written = opened(Path(folder)), path_in(Path(folder)), b""
        kept = 0
        for move, count in moves:
            if move == "some":
                recording.take(MESSAGES[:count])
                kept = max(kept, count)
            elif move == "all":
                recording.take(MESSAGES[:count], is_all=True)
                kept = count
            elif move == "back":
                recording.take_back([message["info"]["id"] for message in MESSAGES[count:]])
                kept = min(kept, count)
            else:
                recording = opened(Path(folder))
                recording.take(MESSAGES[:kept], is_all=True)
            now = path.read_bytes() if path.exists() else b""
            assert now.startswith(written), "what was written stays as it was"
            written = now
            expected = [one for message in MESSAGES[:kept] for part in message["parts"] for one in [part.get("callID")] if one]
            assert recording.ids() == expected
        recording.take([*MESSAGES[:kept], *worked().messages[kept:]])
        if path.exists():
            assert calls(path) == CALLS


def test_what_was_taken_back_stays_in_the_file_and_is_followed_no_more(tmp_path: Path) -> None:
    recording = opened(tmp_path)
    recording.take(MESSAGES)
    recording.take_back([message["info"]["id"] for message in MESSAGES[2:]])
    other = worked()
    other.say("Something else.")
    recording.take(other.messages[-1:])
    assert calls(path_in(tmp_path)) == CALLS[:1]
    assert "2 passing" in path_in(tmp_path).read_text()
    assert opened(tmp_path).ids() == CALLS[:1], "a later process follows what this one did"


def test_a_compaction_is_kept_and_what_was_before_it_is_not_written_again(tmp_path: Path) -> None:
    assert opened(tmp_path).take(compacted())
    assert opened(tmp_path).take(compacted(), is_all=True) == 0
    assert sum(isinstance(event, Compacted) for event in transcript.events_of(str(path_in(tmp_path)))) == 1


def test_an_unfinished_answer_waits_until_it_is_done_or_something_follows_it(tmp_path: Path) -> None:
    recording, open_answer = opened(tmp_path), worked().messages[:2]
    del open_answer[1]["info"]["time"]["completed"]
    recording.take(open_answer, is_all=True)
    assert recording.ids() == []
    recording.take([*open_answer, MESSAGES[2]], is_all=True)
    assert recording.ids() == CALLS[:2]


def test_two_processes_write_nothing_twice(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    one.take(MESSAGES[:3])
    other.take(MESSAGES[:4])
    one.take(MESSAGES)
    ids = [entry["uuid"] for entry in lines(path_in(tmp_path))]
    assert len(ids) == len(set(ids))
    assert calls(path_in(tmp_path)) == CALLS


def test_behind_a_line_that_a_kill_cut_short_it_goes_on(tmp_path: Path) -> None:
    opened(tmp_path).take(MESSAGES)
    path = path_in(tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    opened(tmp_path).take(MESSAGES, is_all=True)
    assert [entry["uuid"] for entry in entries.read(str(path), path.stat().st_size)][-1] == "prt_0005_0"
    assert calls(path) == CALLS


def test_whatever_comes_it_can_be_read(tmp_path: Path, count) -> None:
    for seed in range(count(40, 1_000)):
        chance = random.Random(seed)
        recording = opened(tmp_path / str(seed))
        for _ in range(3):
            messages = altered(compacted(), chance, chance.choice([0.003, 0.01, 0.05, 0.2]))
            recording.take(messages if isinstance(messages, list) else [messages], is_all=chance.random() < 0.5)
        path = path_in(tmp_path / str(seed))
        if path.exists():
            transcript.index(str(path))
            calls(path)
            opened(tmp_path / str(seed))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["info", "id", "role", "parts", "time"]), inner),
    )
)
def test_what_is_no_message_is_nothing(value: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert opened(Path(folder)).take([value, [value], {"info": value, "parts": value}]) >= 0
