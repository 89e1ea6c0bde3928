"""Whatever stands on stdin: the hook exits with 0, says nothing or one whole answer, counts what failed, and writes to no other place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention.core.io import hook_log
from tests.hooks import mutations, payloads, processes
from tests.kit.forks import Forks, Hook
from tests.patience import HANG_S

SESSION = payloads.SESSION
SCRIPTS = sorted(set(processes.SCRIPTS.values()))
NO_OBJECTS = {
    "nothing": b"",
    "a blank line": b"\n",
    "no JSON": b"Traceback (most recent call last):\n",
    "half of an object": b'{"session_id":"a","tool_name":"Read","tool_in',
    "two objects": b'{"session_id":"a"}{"session_id":"b"}',
    "a list": b"[]",
    "a number": b"42",
    "null": b"null",
    "a text": b'"session"',
    "100,000 brackets": b"[" * 100_000,
    "100,000 nested objects": b'{"a":' * 100_000,
    "a nested object in full": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "a number of 5,000 digits": b'{"session_id":"a","n":' + b"9" * 5_000 + b"}",
    "UTF-16": json.dumps({"session_id": "a"}).encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"session_id":"a"}',
    "zeros": b"\0" * 4096,
}


def _lines_of_log(home: processes.Home) -> str:
    log = Path(hook_log.log_path(str(home.path)))
    return log.read_text(encoding="utf-8") if log.exists() else ""


@pytest.mark.parametrize("data", NO_OBJECTS.values(), ids=NO_OBJECTS)
def test_what_is_no_object_is_counted_logged_and_harms_nobody(home: processes.Home, data: bytes):
    ran = processes.run("post-tool-use", data, home.env())
    assert ran.silent, ran
    assert len(home.failures()) == 1
    assert home.failures()[0].split()[1] == "post-tool-use"
    assert " in _payload" in _lines_of_log(home), "the log tells where"


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_hook_survives_broken_input(home: processes.Home, script: str):
    for data in (b"", b"{", b"null", b'{"session_id":7}', b"{}", b'{"session_id":""}'):
        ran = processes.run(script, data, home.env())
        assert ran.silent, (data, ran)
    assert len(home.failures()) == 3, "the last three say nothing, which is no failure"


@pytest.mark.parametrize("event", sorted(processes.SCRIPTS))
def test_an_event_with_nothing_but_its_name_and_session_is_no_failure(home: processes.Home, event: str):
    ran = processes.run_event({"hook_event_name": event, "session_id": "s"}, home.env())
    assert ran.silent, ran
    assert home.failures() == []


def test_a_payload_of_100_mb_is_read_to_its_end_refused_and_counted(home: processes.Home):
    big = payloads.bash("cat big", "x" * (100 * 1024 * 1024))
    ran = processes.run("post-tool-use", big, home.env())
    assert ran.silent, ran
    assert [line.split()[2] for line in home.failures()] == ["OversizedPayload"]
    assert processes.run("post-tool-use", payloads.bash("mkdir a"), home.env()).silent
    assert home.state(SESSION).index == 1


def test_a_payload_of_20_mb_is_recorded(home: processes.Home):
    assert processes.run("post-tool-use", payloads.bash("cat big", "line\n" * (4 * 1024 * 1024)), home.env()).silent
    assert home.failures() == []
    (result,) = home.state(SESSION).live.values()
    assert result.tokens > 5_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
def test_a_hook_works_in_little_memory(home: processes.Home):
    limited = 'ulimit -v 400000 && exec "$@"'
    argv = ["sh", "-c", limited, "sh", *processes.argv("post-tool-use")]
    for call in (payloads.bash("mkdir a"), payloads.read("/home/dev/shop/a.py", "x = 1\n")):
        done = subprocess.run(argv, input=processes.data_of(call), capture_output=True, env=home.env(), timeout=HANG_S, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert home.failures() == []
    assert home.state(SESSION).index == 2


def test_invalid_utf_8_is_read_as_far_as_it_makes_sense(home: processes.Home):
    data = processes.data_of(payloads.bash("echo XXXX", "YYYY")).replace(b"XXXX", b"\xff\xfe\xc3\x28").replace(b"YYYY", b"\xed\xa0\x80\x80")
    assert processes.run("post-tool-use", data, home.env()).silent
    assert home.failures() == []
    assert home.state(SESSION).index == 1


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 4_000])
def test_numbers_that_json_does_not_know_are_passed_over_or_counted(forks: Forks, home: processes.Home, number: str):
    image = {"type": "image", "file": {"base64": "eA==", "dimensions": {"displayWidth": 77, "displayHeight": 77}}}
    given = [
        payloads.read("/home/dev/shop/a.py", "x\n"),
        payloads.call("Read", {"file_path": "/a.png"}, image),
        payloads.bash("ls", "a\nb", duration_ms=77),
        payloads.mcp({"limit": 77}, "text"),
    ]
    for call in given:
        for at in ('"startLine": 1', '"displayWidth": 77', '"duration_ms": 77', '"limit": 77'):
            data = json.dumps(call).replace(at, at.rpartition(" ")[0] + " " + number)
            assert forks.run(Hook("post-tool-use", data.encode()), home.env()).silent
            call["tool_use_id"] += "+"
    assert home.state(SESSION).index + len(home.failures()) == 16, "each is recorded or counted"
    assert home.state(SESSION).index >= 15


def test_deeply_nested_inputs_and_responses_are_recorded(home: processes.Home):
    deep: object = "x"
    for _ in range(400):
        deep = {"a": [deep]}
    for call in (
        payloads.mcp({"deep": deep}, "x"),
        payloads.call("mcp__demo__deep", {}, deep),
        payloads.call("Read", {"file_path": deep}, deep),
    ):
        assert processes.run("post-tool-use", call, home.env()).silent
    assert home.failures() == []
    assert home.state(SESSION).index == 3


# --- mutated payloads ----------------------------------------------------------------------------------------------------------


def _hook_of(data: bytes) -> str:
    try:
        return processes.SCRIPTS[json.loads(data)["hook_event_name"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return "post-tool-use"


def _assert_all_failed_open(home: processes.Home, given: list[bytes], ran: list[processes.Done]) -> None:
    bad = [(data[:2000], one) for data, one in zip(given, ran) if not one.failed_open]
    assert bad == []
    wrong = sum(not mutations.is_object(data) for data in given)
    failures = home.failures()
    unexpected = [line for line in failures if line.split()[2] not in ("ValueError", "JSONDecodeError")]
    assert unexpected == [], _lines_of_log(home)[-3000:]
    assert len(failures) == wrong, "what is no object is counted, and nothing else fails"


@pytest.mark.parametrize("half", [0, 1])
def test_mutated_payloads_fail_open_and_are_counted(forks: Forks, tmp_path: Path, count, half: int):
    originals = payloads.one_of_each()
    for batch in range(count(1, 40)):
        given = mutations.payloads(originals, 125, seed=2 * batch + half)
        here = processes.Home(tmp_path / f"home{batch}")
        before = processes.listing(tmp_path)
        ran = [forks.run(Hook(_hook_of(data), data), here.env()) for data in given]
        _assert_all_failed_open(here, given, ran)
        _assert_nothing_else(before, tmp_path, {f"home{batch}"})


def test_mutated_payloads_through_real_processes_fail_open(home: processes.Home, count):
    given = mutations.payloads(payloads.one_of_each(), count(20, 60), seed=77)
    ran = [processes.run(_hook_of(data), data, home.env()) for data in given]
    _assert_all_failed_open(home, given, ran)


# --- names from outside --------------------------------------------------------------------------------------------------------

TEMPTING = Path("/tmp/popkit-escaped")  # noqa: S108  nothing may appear there
NAMES = {
    "parents": "../../x",
    "many parents": "../" * 40 + "tmp/popkit-escaped",
    "absolute": str(TEMPTING),
    "10 KB": "x" * 10_240,
    "10 KB of parents": "../" * 3_413,
    "NUL": "a\0b",
    "only NUL": "\0",
    "lone surrogate": "a\ud800b",
    "lone low surrogate": "\udcff",
    "dot": ".",
    "two dots": "..",
    "blank": " ",
    "newline": "a\nb",
    "backslashes": "..\\..\\x",
    "ours": "main.state.json",
    "hidden": ".state",
    "tilde": "~",
    "shell": "$(touch x)`touch x`;touch x",
    "not ASCII": "é日本🙂",
    "81 characters": "a" * 81,
}


def _assert_nothing_else(before: dict, parent: Path, ours: set[str]) -> None:
    """Nothing below the parent has changed but what is in our own folders."""
    after = processes.listing(parent)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert {name for name in changed if name.split("/")[0] not in ours} == set()


@pytest.fixture
def escapes(tmp_path: Path):
    """Fails when something appears where a hostile name points to."""
    yield
    assert not TEMPTING.exists()
    assert {path.name for path in tmp_path.iterdir()} <= {"cwd", "popkit"}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.usefixtures("escapes")
def test_a_hostile_session_id_writes_only_into_one_folder_of_ours(forks: Forks, home: processes.Home, tmp_path: Path, name: str):
    (tmp_path / "cwd").mkdir()
    read = payloads.read("/home/dev/a.py", "x\n")
    for payload in (payloads.session_start(), payloads.prompt("go"), read, payloads.stop(), payloads.session_end()):
        work = Hook(processes.SCRIPTS[payload["hook_event_name"]], {**payload, "session_id": name})
        assert forks.run(work, home.env(), cwd=str(tmp_path / "cwd")).silent
    assert home.failures() == []
    (folder,) = (home.path / "sessions").iterdir()
    assert folder.is_dir()
    files = "main.state.json main.lock main.journal.jsonl main.expired.jsonl session.json session.json.lock"
    assert {path.name for path in folder.iterdir()} <= {*files.split()}
    assert home.state(name).index == 1
    assert list((tmp_path / "cwd").iterdir()) == []


@pytest.mark.parametrize("field", ["agent_id", "transcript_path", "cwd", "tool_use_id", "tool_name", "prompt_id"])
@pytest.mark.usefixtures("escapes")
def test_hostile_names_write_nothing_outside(forks: Forks, home: processes.Home, tmp_path: Path, field: str):
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    calls = (payloads.read("/home/dev/a.py", "x\n"), payloads.bash("git commit -qm x && cat a.py", "[main 1a2b3c4] x"))
    given = [processes.data_of({**payload, field: name}) for name in NAMES.values() for payload in calls]
    ran = [forks.run(Hook("post-tool-use", data), home.env(), cwd=str(cwd)) for data in given]
    assert [data[:2000] for data, one in zip(given, ran) if not one.silent] == []
    assert home.failures() == []
    assert list(cwd.iterdir()) == []
    assert len(list((home.path / "sessions").iterdir())) == 1


@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "Bash", "Grep", "Glob"])
@pytest.mark.usefixtures("escapes")
def test_hostile_paths_in_inputs_write_nothing_outside(forks: Forks, home: processes.Home, tmp_path: Path, tool: str):
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    given = []
    for name in NAMES.values():
        tool_input = {"file_path": name, "path": name, "pattern": name, "command": f"cat {name}", "notebook_path": name}
        given.append(processes.data_of(payloads.call(tool, tool_input, payloads.text_file(name, "x\n"))))
    ran = [forks.run(Hook("post-tool-use", data), home.env(), cwd=str(cwd)) for data in given]
    assert [data[:2000] for data, one in zip(given, ran) if not one.silent] == []
    assert home.failures() == []
    assert home.state(SESSION).index == len(NAMES)
    assert list(cwd.iterdir()) == []


def test_different_hostile_names_do_not_share_a_context(forks: Forks, home: processes.Home):
    for name in NAMES.values():
        assert forks.run(Hook("post-tool-use", payloads.read("/a.py", "x\n", session_id=name)), home.env()).silent
    assert len(list((home.path / "sessions").iterdir())) == len(NAMES)
    assert [home.state(name).index for name in NAMES.values()] == [1] * len(NAMES)


def test_empty_session_ids_are_passed_over_and_empty_agent_ids_mean_the_main_thread(home: processes.Home):
    assert processes.run_event(payloads.read("/a.py", "x\n", session_id=""), home.env()).silent
    assert not (home.path / "sessions").exists()
    assert processes.run_event(payloads.read("/a.py", "x\n", agent_id=""), home.env()).silent
    assert home.state(SESSION).index == 1


@pytest.mark.parametrize("path", ["/dev/null", "/", "/proc/self/mem", "/proc/self/environ", "/etc/shadow", "/dev/tty"])
def test_a_transcript_that_is_none_is_passed_over(home: processes.Home, path: str):
    if not os.path.exists(path):  # noqa: PTH110  it may be a device
        pytest.skip(f"no {path} here")
    for payload in (
        payloads.session_start("resume"),
        payloads.prompt("go"),
        payloads.read("/a.py", "x\n"),
        payloads.stop(),
        payloads.pre_compact(),
    ):
        ran = processes.run_event({**payload, "transcript_path": path}, home.env())
        assert ran.silent, ran
    assert home.state(SESSION).index == 1


def test_a_pipe_in_place_of_a_transcript_keeps_nobody_waiting(home: processes.Home, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    call = processes.data_of(payloads.read("/a.py", "x\n", transcript_path=str(tmp_path / "pipe")))
    subprocess.run(processes.argv("post-tool-use"), input=call, capture_output=True, env=home.env(), timeout=HANG_S, check=True)


@pytest.mark.parametrize("field", ["tool_name", "tool_use_id", "cwd", "prompt_id", "pattern", "query", "file_path"])
def test_what_is_kept_of_a_name_of_megabytes_is_bounded(home: processes.Home, field: str):
    payload = payloads.call("Grep" if field == "pattern" else "Read" if field == "file_path" else "mcp__demo__x", {"pattern": "x"}, "y")
    (payload if field in payload else payload["tool_input"])[field] = "/" + "n" * 2_000_000
    assert processes.run("post-tool-use", payload, home.env()).silent
    assert sum(path.stat().st_size for path in home.files()) < 100_000
