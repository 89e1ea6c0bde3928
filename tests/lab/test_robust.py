"""Whatever is called a transcript: the lab and the replay go through it, or say why not. Never a traceback, never a file uncounted."""

from __future__ import annotations

import copy
import json
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention.cli.main import main
from popkit_retention.lab import sent_requests, survey
from popkit_retention.parallel.sources import DAMAGED, NO_CONVERSATION
from tests.lab.test_online import long_tale
from tests.lab.test_survey import session
from tests.paths import PYTHONPATH

NAMES = ["default", "auto", "spec", "spec-cold", "compact-cold", "microcompact-60m"]
STRANGE = [
    0, -1, 1.5, 1e308, 10**30, float("nan"), True, None, "", "x", "\ud800", "\0", "2026-99-99T99:99:99.999Z", [], {}, [[]], [None], [{}],
    ["x"], {"a": 1}, {"type": "text"}, {"type": "tool_result"}, {"text": 5}, [{"type": "tool_use", "id": 1}],
]  # fmt: skip
FIELDS = (
    "type uuid parentUuid message content id tool_use_id isSidechain subtype compactMetadata timestamp usage model cwd toolUseResult input"
).split()


def surveyed(folder: Path, names: list[str] = NAMES) -> dict:
    """The survey of a folder; everything in it has a place there."""
    report = survey.survey([str(folder)], names, (300, 3_600), 1)
    files = sum(name.endswith(".jsonl") for _, _, names in os.walk(folder) for name in names)
    assert report["sessions"] + sum(report["skipped"].values()) >= files
    return report


def replayed(path: Path, capsys: pytest.CaptureFixture, policy: str = "auto") -> str:
    """What `popkit lab replay` says of a file, without blanks, for it is folded; it ends by itself, and what it writes is JSON."""
    code = main(["lab", "replay", str(path), "--policy", policy], {})
    shown, errors = capsys.readouterr()
    assert code == (1 if errors.startswith("popkit lab:") else 0)
    assert all(isinstance(json.loads(line)["clear"], list) for line in shown.splitlines())
    return "".join(errors.split())


def entries(seed: int, length: int = 40) -> list[dict]:
    """A conversation with reads, edits, searches, runs, rewinds and pauses."""
    return long_tale(seed, length).entries


def written(path: Path, lines: list) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


# --- values of the wrong type ----------------------------------------------------------------------------------------------------


def altered(value: object, chance: random.Random, share: float) -> object:
    """A JSON value in which some values have become others, and some fields are there that were not."""
    if chance.random() < share:
        return chance.choice(STRANGE)
    if isinstance(value, list):
        return [altered(item, chance, share) for item in value]
    if isinstance(value, dict):
        value = {name: altered(item, chance, share) for name, item in value.items()}
        if chance.random() < share:
            value[chance.choice(FIELDS)] = chance.choice(STRANGE)
    return value


def test_values_of_the_wrong_type_end_no_replay(tmp_path, capsys, count) -> None:
    for seed in range(count(8, 500)):
        chance = random.Random(seed)
        share = chance.choice([0.001, 0.003, 0.01, 0.03, 0.1])
        path = written(tmp_path / "p" / f"{seed}.jsonl", [altered(entry, chance, share) for entry in entries(seed % 5)])
        replayed(path, capsys, chance.choice(NAMES))
    report = surveyed(tmp_path)
    assert set(report["skipped"]) <= {"no conversation", "under 5 requests"}
    assert report["sessions"] > sum(report["skipped"].values())


def test_entries_without_a_type_are_counted_too(tmp_path, capsys) -> None:
    lines = entries(1)
    path = written(tmp_path / "odd.jsonl", [*lines[:9], {**lines[9], "type": ["user"]}, *lines[10:]])
    replayed(path, capsys)
    report = surveyed(tmp_path)
    assert report["sessions"] + sum(report["skipped"].values()) == 1


@pytest.mark.parametrize(
    "depth", [100, 500, 985, 100_000, *(pytest.param(depth, marks=pytest.mark.slow) for depth in (400, 480, 900, 2_000))]
)
@pytest.mark.parametrize("where", ["input", "content", "toolUseResult", "text"])
def test_deep_values_cost_their_line_at_most(tmp_path, capsys, depth: int, where: str) -> None:
    lines: list = copy.deepcopy(entries(2))
    for entry in lines:
        for block in entry["message"]["content"] if isinstance(entry.get("message", {}).get("content"), list) else []:
            if where in block:
                block[where] = {"deep": "@"} if where == "input" else ["@"]
        if where in entry:
            entry[where] = {"deep": "@"}
    deep = '{"a":' * (depth // 2) + "[" * (depth // 2) + "]" * (depth // 2) + "}" * (depth // 2)
    path = written(tmp_path / "deep.jsonl", lines)
    whole = path.read_text().splitlines(keepends=True)
    path.write_text("".join([line.replace('"@"', deep) if at % 7 == 3 else line for at, line in enumerate(whole)]))
    assert "requests" in replayed(path, capsys)
    report = surveyed(tmp_path, ["auto"])
    assert (report["sessions"], report["skipped"]) == (1, {})


# --- files that are none ---------------------------------------------------------------------------------------------------------

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "c1", "content": "42"}]
GEMINI = {"sessionId": "a", "messageId": 0, "type": "user", "message": "hi", "timestamp": "2026-01-01T10:00:00.000Z"}
FOREIGN = {
    "openai": json.dumps({"messages": MESSAGES}) * 3,
    "openai, a line each": (json.dumps({"messages": MESSAGES}) + "\n") * 9,
    "gemini": json.dumps([GEMINI] * 9, indent=2),
    "gemini, with uuids": (json.dumps({**GEMINI, "type": "gemini", "uuid": "u"}) + "\n") * 9,
    "aider": "# aider chat started at 2026-01-01 10:00:00\n\n#### fix it\n\n> Tokens: 4.5k sent\n" * 9,
    "utf-16": json.dumps(GEMINI).encode("utf-16"),
    "noise": random.Random(1).randbytes(50_000),
    "zeros": bytes(50_000),
    "brackets": "[" * 50_000,
    "one word": "x" * 50_000,
    "blanks": "\n \n\t\n" * 50,
}


UNDERSTOOD = ("openai, a line each", "gemini, with uuids", "blanks")  # as lines, at least


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_tools_are_not_conversations(tmp_path, capsys, name: str) -> None:
    path, content = tmp_path / "x.jsonl", FOREIGN[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert surveyed(tmp_path)["skipped"] == {NO_CONVERSATION if name in UNDERSTOOD else DAMAGED: 1}
    assert "isnotaClaudeCodetranscript" in replayed(path, capsys) or not content.strip()


def test_a_file_may_be_cut_anywhere(tmp_path, capsys, count) -> None:
    whole = written(tmp_path / "whole.jsonl", entries(3)).read_bytes()
    chance = random.Random(3)
    for number in range(count(8, 200)):
        first, last = sorted((chance.randrange(len(whole)) * chance.randrange(2), chance.randrange(1, len(whole))))
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(whole[first:last])
        replayed(path, capsys, chance.choice(NAMES))
    assert not [reason for reason in surveyed(tmp_path)["skipped"] if "could not" in reason]


def test_paths_that_are_not_regular_files_are_counted_and_never_opened(tmp_path, capsys, monkeypatch) -> None:
    session(tmp_path / "folder.jsonl" / "good.jsonl", 8)
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "round.jsonl").symlink_to(tmp_path / "about.jsonl")
    (tmp_path / "about.jsonl").symlink_to(tmp_path / "round.jsonl")
    (tmp_path / "here").symlink_to(tmp_path)
    (tmp_path / "here.jsonl").symlink_to(tmp_path)
    (tmp_path / "endless.jsonl").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as heard:
        monkeypatch.chdir(tmp_path)  # its name may not be long
        heard.bind("socket.jsonl")
        report = surveyed(tmp_path)
        assert report["sessions"] == 1
        reasons = report["skipped"]
        assert reasons.pop("not a regular file") == 4
        assert list(reasons.values()) == [2], "the two that are links to each other"
        for path in tmp_path.glob("*.jsonl"):
            assert "cannotberead:" in replayed(path, capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to this user")
def test_unreadable_files_are_counted(tmp_path, capsys) -> None:
    closed = session(tmp_path / "closed" / "a.jsonl", 8)
    secret = session(tmp_path / "secret.jsonl", 8)
    secret.chmod(0)
    closed.parent.chmod(0)
    try:
        assert surveyed(tmp_path)["skipped"] == {"cannot be read: Permission denied": 2}
        assert "cannotberead:Permissiondenied" in replayed(secret, capsys)
    finally:
        closed.parent.chmod(0o700)


# --- memory ------------------------------------------------------------------------------------------------------------------------

_PEAK = """
import resource, sys
from popkit_retention.lab import survey
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
survey.row_of(sys.argv[1], ["nothing", "auto"], [300])
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="another measure of memory")
def test_a_line_of_many_megabytes_takes_twenty_times_its_size_at_most(tmp_path) -> None:
    lines = entries(4)
    result = next(block for entry in lines if isinstance(entry["message"]["content"], list) for block in entry["message"]["content"]
                  if block["type"] == "tool_result")  # fmt: skip
    result["content"] = "".join(f"line {number} of src/module_{number}/handler.ts\n" for number in range(150_000))
    path = written(tmp_path / "huge.jsonl", lines)
    words = [sys.executable, "-c", _PEAK, path]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": PYTHONPATH}, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20 * path.stat().st_size
    assert len(sent_requests.read(str(path)).requests) > 9
