"""The context is the active branch: which results belong to it, in which order."""

from __future__ import annotations

import tracemalloc

import pytest

from hooks.utils.host import transcript
from hooks.utils.policy.ruleset import Ruleset
from hooks.utils.state import rebuild

from .lines import Lines


@pytest.fixture
def lines() -> Lines:
    return Lines()


def ids(lines: Lines, tmp_path) -> list[str]:
    return [event.id for event in transcript.events_of(lines.write(tmp_path / "t.jsonl")) if event.name == "call"]


def rebuilt(lines: Lines, tmp_path, journal=()):
    config = {"tiers": {"session": {"expiry_events": ["supersede", "session_end"]}}}
    return rebuild.rebuild(lines.write(tmp_path / "t.jsonl"), list(journal), lambda profile: Ruleset.from_config(config, profile)).state


def test_results_of_a_plain_session_come_in_the_order_of_their_lines(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "ls")
    lines.bash("t2", "npm test")
    assert ids(lines, tmp_path) == ["t1", "t2"]


def test_parallel_results_hang_off_the_branch_and_count_in_completion_order(lines, tmp_path):
    lines.prompt()
    first = lines.use("t1", "Read", {"file_path": "/shop/a"}, message="m")
    second = lines.use("t2", "Read", {"file_path": "/shop/b"}, message="m")
    third = lines.use("t3", "Read", {"file_path": "/shop/c"}, message="m")
    lines.result("t3", "1\tc", parent=third)
    lines.result("t1", "1\ta", parent=first)
    end = lines.result("t2", "1\tb", parent=second)
    lines.say("done", parent=end)
    assert ids(lines, tmp_path) == ["t3", "t1", "t2"]


def test_a_rewound_branch_belongs_to_nothing(lines, tmp_path):
    before = lines.prompt()
    lines.bash("t1", "ls")
    fork = lines.say("listed")
    lines.prompt("try this")
    lines.bash("dead", "npm test")
    lines.prompt("rather that", parent=fork)
    lines.bash("t2", "git status")
    assert before
    assert ids(lines, tmp_path) == ["t1", "t2"]


def test_a_rewind_to_the_first_prompt_leaves_nothing_of_it(lines, tmp_path):
    lines.prompt()
    lines.bash("dead", "ls")
    lines.prompt("anew", parent=None)
    lines.bash("t1", "pwd")
    assert ids(lines, tmp_path) == ["t1"]


def test_a_compaction_ends_everything_before_it_and_the_count_goes_on(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "npm test")
    lines.bash("t2", "npm run lint")
    lines.compact()
    lines.bash("t3", "npm run build")
    state = rebuilt(lines, tmp_path)
    assert list(state.live) == ["t3"]
    assert (state.index, state.epoch, state.counts.compacted) == (3, 1, 2)


@pytest.mark.parametrize("logical", ["u3", "a uuid that is not in the file", None])
def test_what_stood_before_a_compaction_is_found_whatever_the_boundary_names(lines, tmp_path, logical):
    lines.prompt()
    lines.bash("t1", "ls")
    lines.compact(logical=logical)
    lines.bash("t2", "ls -la")
    assert ids(lines, tmp_path) == ["t1", "t2"]


def test_what_the_host_carries_over_a_compaction_stays_live(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "npm test")
    use = lines.use("t2", "Bash", {"command": "npm run lint"})
    kept = lines.result("t2", "ok", {"stdout": "ok", "stderr": ""})
    lines.compact(kept=[use, kept])
    lines.bash("t3", "npm run build")
    assert list(rebuilt(lines, tmp_path).live) == ["t2", "t3"]


def test_lines_of_subagents_in_the_main_file_are_not_of_the_main_thread(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "ls")
    side = lines.use("s1", "Bash", {"command": "ls"}, isSidechain=True)
    lines.result("s1", "x", {"stdout": "x", "stderr": ""}, isSidechain=True, parent=side)
    lines.last = "u3"
    lines.bash("t2", "pwd")
    assert ids(lines, tmp_path) == ["t1", "t2"]


def test_a_subagents_own_file_is_read_whole(lines, tmp_path):
    lines.prompt(isSidechain=True)
    lines.use("s1", "Read", {"file_path": "/shop/a.py"}, isSidechain=True)
    lines.result("s1", "1\ta = 1\n2\tb = 2", isSidechain=True)
    assert ids(lines, tmp_path) == ["s1"]


def test_a_lost_line_does_not_hide_what_stood_before_it(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "ls")
    lines.say("lost")
    lines.bash("t2", "pwd")
    del lines.entries[3]
    assert ids(lines, tmp_path) == ["t1", "t2"]


def test_truncated_foreign_and_broken_lines_are_passed_over_and_counted(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "ls")
    path = tmp_path / "t.jsonl"
    lines.write(path)
    with path.open("ab") as file:
        file.write(
            b'[1]\n"text"\n\xff\xfe\n{"type":"unheard of"}\n{"type":"assistant","message":7}\n'
            b'{"type":"user","message":{"content":[3]}}\n{"ty'
        )
    assert [event.id for event in transcript.events_of(str(path)) if event.name == "call"] == ["t1"]
    assert transcript.index(str(path)).bad == 4


def test_a_repeated_result_counts_once(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "ls")
    lines.result("t1", "again", {"stdout": "again", "stderr": ""})
    assert ids(lines, tmp_path) == ["t1"]


def test_a_circle_of_parents_ends(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "ls")
    lines.entries[0]["parentUuid"] = "u3"
    assert ids(lines, tmp_path) == ["t1"]


def test_a_rejected_call_is_an_error_of_the_context(lines, tmp_path):
    lines.prompt()
    lines.use("t1", "Edit", {"file_path": "/shop/a.js", "old_string": "x"})
    lines.result(
        "t1",
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
        "Error: String to replace not found in file.",
        error=True,
    )
    result = rebuilt(lines, tmp_path).live["t1"]
    assert (result.tier, result.error, result.verdict) == ("preserved", True, "String to replace not found in file.")


def test_the_folder_of_a_call_is_the_one_that_the_call_before_left(lines, tmp_path):
    lines.prompt()
    lines.use("t1", "Bash", {"command": "cd src && cat a.js"})
    lines.result("t1", "x", {"stdout": "x", "stderr": ""}, cwd="/shop/src")
    lines.use("t2", "Bash", {"command": "cat b.js"}, cwd="/shop/src")
    lines.result("t2", "y", {"stdout": "y", "stderr": ""}, cwd="/shop/src")
    state = rebuilt(lines, tmp_path)
    assert [result.parts for result in state.live.values()] == [[["read:/shop/src/a.js", [1, 0]]], [["read:/shop/src/b.js", [1, 0]]]]


def test_journal_entries_stand_where_they_belong(lines, tmp_path):
    lines.prompt()
    lines.use("t1", "Read", {"file_path": "/shop/a.py"})
    lines.result(
        "t1", "1\ta", {"type": "text", "file": {"filePath": "/shop/a.py", "content": "a\n", "numLines": 2, "startLine": 1, "totalLines": 2}}
    )
    lines.bash("t2", "npm test", "ok")
    lines.bash("t3", "git commit -m x", "[main 1234abc] x")
    changed = {"event": "changed", "call": "t2", "at": 0, "changes": {"/shop/a.py": "modified"}}
    ended = rebuilt(lines, tmp_path, [changed]).expired["t1"].ended
    assert (ended[0], ended[1]) == ("changed_on_disk", 1)
    commit = {"event": "commit", "call": "t3", "at": 0, "files": ["/shop/b.py"]}
    assert "t1" in rebuilt(lines, tmp_path, [commit]).live
    unknown = {"event": "commit", "call": "t3", "at": 0, "files": None}
    assert rebuilt(lines, tmp_path, [unknown]).expired["t1"].ended[0] == "committed"
    assert "t1" in rebuilt(lines, tmp_path).live, "the transcript tells of no change of it"
    pin = {"event": "pin", "target": "a.py", "at": 1.0}
    assert "t1" in rebuilt(lines, tmp_path, [pin, changed]).live
    later = transcript.seconds_of("2026-01-05T10:00:04.500Z")
    assert "t2" in rebuilt(lines, tmp_path, [{"event": "end", "at": later + 60, "why": "other"}]).expired
    assert "t2" not in rebuilt(lines, tmp_path, [{"event": "end", "at": 1.0, "why": "other"}]).expired
    assert rebuilt(lines, tmp_path, [7, {"event": "unheard of"}, {"event": "pin"}, {}]).index == 3


# --- what a rewrite must know -----------------------------------------------------------------------------------------------------


def index(lines: Lines, tmp_path) -> transcript.Index:
    return transcript.index(lines.write(tmp_path / "t.jsonl"))


def doubts(path, *more: bytes) -> list[str]:
    with path.open("ab") as file:
        file.write(b"".join(more))
    return transcript.index(str(path)).doubts


def test_a_transcript_of_the_host_leaves_no_doubt(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "ls")
    lines.compact(logical="u3")
    lines.add("attachment", attachment={"type": "file"})
    lines.add("progress", data={})
    lines.bash("t2", "pwd", "é 漢字 👩‍👩‍👧")
    path = tmp_path / "t.jsonl"
    lines.write(path)
    assert doubts(path) == []
    foreign = b'{"type":"queue-operation","operation":"enqueue"}\n{"type":"of tomorrow"}\n{"type":"mode","mode":"default"}\n\n'
    assert doubts(path, foreign) == [], "lines that no entry follows are none of our business"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (b'{"type":"user"', "line 4, the last one, is incomplete"),
        (b'{"level":"info"}', "line 4, the last one, is incomplete"),
        (b"nonsense", "line 4, the last one, is incomplete"),
        (b'{"type":"user"}\r\n', "line 4 ends in CR LF"),
        (b"nonsense\n", "line 4 is no JSON object"),
        (b"[1]\n", "line 4 is no JSON object"),
        (b'{"type":"user","text":"\xff"}\n', "line 4 is no UTF-8"),
        (b'{"type":"system","uuid":"u2","parentUuid":"u3"}\n', "line 4: an entry stands in it twice"),
        (b'{"type":"of tomorrow","uuid":"u4","parentUuid":"u3"}\n', "an entry of a type that is not known: of tomorrow"),
        (b'{"type":"user","uuid":"u4","parentUuid":"lost"}\n', "the entry that it follows is not in the file"),
    ],
)
def test_what_is_not_understood_is_said(lines, tmp_path, more, said):
    lines.prompt()
    lines.bash("t1", "ls")
    path = tmp_path / "t.jsonl"
    lines.write(path)
    assert said in doubts(path, more)


@pytest.mark.parametrize("line", [b'{"type":"user","uuid":"u4","parentUuid":"u3"}', b'{"type":"file-history-snapshot","snapshot":{}}'])
def test_a_last_line_that_is_whole_but_for_its_newline_is_no_doubt(lines, tmp_path, line):
    lines.prompt()
    lines.bash("t1", "ls")
    path = tmp_path / "t.jsonl"
    lines.write(path)
    assert doubts(path, line) == []
    found = transcript.index(str(path))
    assert (found.torn, found.bad, found.size) == (False, 0, path.stat().st_size)


def test_what_was_written_behind_it_on_the_same_line_is(lines, tmp_path):
    path = tmp_path / "t.jsonl"
    lines.prompt()
    lines.write(path)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert doubts(path, b'{"type":"user"}\n') == ["line 1 is no JSON object"]


def test_what_is_odd_on_a_rewound_branch_or_before_a_compaction_is_no_doubt(lines, tmp_path):
    lines.prompt()
    fork = lines.say("here")
    lines.add("of tomorrow")
    lines.bash("dead", "ls")
    lines.prompt("rather that", parent=fork)
    assert index(lines, tmp_path).doubts == []
    lines.add("of tomorrow")
    assert index(lines, tmp_path).doubts != []
    lines.compact(logical=lines.last)
    lines.bash("t1", "pwd")
    assert index(lines, tmp_path).doubts == []


def test_a_broken_file_does_not_fill_the_memory_with_doubts(lines, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"nonsense\n" * 1_000)
    assert 1 <= len(transcript.index(str(path)).doubts) <= 10
    path.write_bytes(b'{"type":"user","uuid":"u1","parentUuid":null}\n' * 1_000)
    assert 1 <= len(transcript.index(str(path)).doubts) <= 10


def test_ids_of_results_in_several_lines_are_doubled(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "ls")
    lines.bash("t2", "pwd")
    assert index(lines, tmp_path).doubled == set()
    lines.result("t1", "again")
    assert index(lines, tmp_path).doubled == {"t1"}


def test_a_subagents_result_of_the_same_id_doubles_nothing(lines, tmp_path):
    lines.prompt()
    end = lines.bash("t1", "ls")
    side = lines.use("t1", "Bash", {"command": "ls"}, isSidechain=True)
    lines.result("t1", "x", isSidechain=True, parent=side)
    lines.say("done", parent=end)
    assert index(lines, tmp_path).doubled == set()


def test_the_context_begins_behind_the_last_compaction_of_the_branch(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "ls")
    assert index(lines, tmp_path).since == 0
    lines.compact(logical="u3")
    lines.bash("t2", "ls -la")
    lines.compact(logical=lines.last)
    lines.bash("t3", "pwd")
    found = index(lines, tmp_path)
    data = (tmp_path / "t.jsonl").read_bytes()
    assert data[: found.since].count(b"compact_boundary") == 2
    assert data[found.since :].startswith(b'{"type": "user"')
    assert b'"summary"' in data[found.since :]
    assert (found.size, found.compactions) == (len(data), 2)


def test_a_compaction_that_was_rewound_is_none(lines, tmp_path):
    lines.prompt()
    fork = lines.bash("t1", "ls")
    lines.compact(logical="u3")
    lines.prompt("back", parent=fork)
    assert index(lines, tmp_path).since == 0


def test_results_on_rewound_branches_are_counted_as_abandoned(lines, tmp_path):
    lines.prompt()
    fork = lines.bash("t1", "ls")
    lines.bash("dead1", "pwd")
    lines.bash("dead2", "pwd")
    side = lines.use("s1", "Bash", {"command": "ls"}, isSidechain=True)
    lines.result("s1", "x", isSidechain=True, parent=side)
    lines.prompt("rather that", parent=fork)
    assert index(lines, tmp_path).abandoned == 2


@pytest.mark.parametrize(
    ("versions", "version"),
    [
        (["2.1.100"], (2, 1, 100)),
        (["2.1.100", "2.1.330"], (2, 1, 330)),
        (["2.1.330", None], (2, 1, 330)),
        (["2.2.0-beta.1"], (2, 2, 1)),
        ([7], (0,)),
        (["x"], (0,)),
        ([], (0,)),
    ],
)
def test_the_version_is_that_of_the_host_that_wrote_last(lines, tmp_path, versions, version):
    lines.prompt()
    for said in versions:
        lines.say("x", version=said)
    assert index(lines, tmp_path).version == version


def test_a_placeholder_counts_as_what_it_stands_for(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "npm test", "a result of several words\n" * 20)
    lines.bash("t2", "npm test", "ok")
    whole = rebuilt(lines, tmp_path)
    lines.entries[2]["message"]["content"][0]["content"] = "[PopKit cleared Bash npm test (old). To see it: popkit restore abcd2345]"
    original = {"abcd2345": '"' + "a result of several words\\n" * 20 + '"'}.get
    state = rebuild.rebuild(
        lines.write(tmp_path / "t.jsonl"), [], lambda profile: Ruleset.from_config({}, profile), original=original
    ).state
    assert state.expired["t1"].cleared == "abcd2345"
    assert state.expired["t1"].tokens == whole.expired["t1"].tokens
    assert state.expired["t1"].ended[0] == "superseded"


def test_a_placeholder_of_a_live_result_ends_it(lines, tmp_path):
    lines.prompt()
    lines.bash("t1", "npm test", "ok")
    lines.entries[2]["message"]["content"][0]["content"] = "[PopKit cleared Bash npm test (old). To see it: popkit restore abcd2345]"
    state = rebuilt(lines, tmp_path)
    assert state.live == {}
    assert (state.expired["t1"].ended[0], state.expired["t1"].cleared) == ("manual", "abcd2345")


def test_memory_follows_the_longest_line_and_not_the_file(lines, tmp_path):
    lines.prompt()
    for number in range(60):
        lines.bash(f"t{number}", f"cat {number}", f"{number} some words of a file\n" * 4_000)
    path = lines.write(tmp_path / "t.jsonl")
    size, longest = (tmp_path / "t.jsonl").stat().st_size, max(map(len, (tmp_path / "t.jsonl").read_bytes().split(b"\n")))
    tracemalloc.start()
    try:
        found = transcript.index(path)
        for _ in transcript.entries(path, found.size):
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size > 40 * longest
    assert peak < 6 * longest + 2_000_000
