"""A policy sees only what has happened: the future of a session never changes an earlier decision."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.lab.research import POLICIES
from popkit_retention.lab import sent_requests
from popkit_retention.lab.recorded import Session
from popkit_retention.lab.replay_command import replay
from tests.examples import examples
from tests.lab.tales import Tale, begun, tales
from tests.lab.transcripts import Transcript
from tests.policy.priced import prices

ONLINE = [name for name in POLICIES if not name.startswith("oracle")]
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
SMALL, LARGE = 300_000, 3_000_000  # bytes of a real session that is replayed many times
_given = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def decided(session: Session, name: str, ttl_s: float) -> list[dict]:
    """The decisions of a policy, as they are written."""
    written = io.StringIO()
    replay(session, POLICIES[name][0](session, prices(ttl_s)), prices(ttl_s), written)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    for one in (one for line in lines for one in line["clear"]):
        assert list(one) == ["id", "placeholder", "reasons"]
        assert all(isinstance(text, str) for text in (one["placeholder"], *one["reasons"]))
    return [line for line in lines if line["clear"] or "once" in line]


def check_prefix(lines: list[bytes], cut: int, folder: Path, names: list[str], ttl_s: float, changed: bytes | None = None) -> int:
    """What is decided in the first `cut` bytes is decided in the whole, just so; returns how many decisions that were."""
    whole, prefix = folder / "whole.jsonl", folder / "prefix.jsonl"
    content = b"".join(lines)
    whole.write_bytes(content if changed is None else changed)
    prefix.write_bytes(content[:cut])
    first, all_of_it = sent_requests.read(str(prefix)), sent_requests.read(str(whole))
    seen = 0
    for name in names:
        before = decided(first, name, ttl_s)
        assert before == [line for line in decided(all_of_it, name, ttl_s) if line["request"] <= len(first.requests)], name
        seen += len(before)
    return seen


def other(value: object) -> object:
    """A JSON value with every text that was said, read or asked for turned into another."""
    if isinstance(value, list):
        return [other(item) for item in value]
    if isinstance(value, dict):
        kept = ("type", "id", "uuid", "parentUuid", "tool_use_id", "timestamp", "name", "role", "model", "subtype", "logicalParentUuid")
        return {key: item if key in kept else other(item) for key, item in value.items()}
    return (value + " src/module_3/handler.ts")[::-1] if isinstance(value, str) else value


def long_tale(seed: int, length: int = 90, prompts: float = 0.1) -> Tale:
    """A conversation that is large enough for every rule: reads of many tokens, of which something is needed later, edits of what was
    read, pauses, rewinds, compactions."""
    chance = random.Random(seed)
    transcript = begun()
    for number in range(length):
        name = f"src/module_{chance.randrange(8)}/handler.ts"
        transcript.wait(chance.choice([1, 5, 20, 20, 60, 310, 3_700] if number % 9 == 0 else [1, 5, 20]))
        kind = chance.random()
        if kind < prompts:
            transcript._prompt(f"and now {name}")
        elif kind > 0.98 and number > 50:
            transcript._rewind(chance.randrange(10**6))
        elif kind > 0.96 and 60 < number < 80:
            transcript._fold(0)
        else:
            output = f"{'x y z' * 3}\n" * 30 + f"found_in_place_{number}"
            calls = [(chance.choice(["Bash", "Read", "Read", "Grep", "Edit"]), name, output, chance.choice([1, 10, 60]))]
            text = chance.choice(["", "", f"as found_in_place_{chance.randrange(number + 1)} has it"])
            transcript._calls(calls * chance.choice([1, 1, 2]), chance.random() < 0.5, text)
    transcript._answer("that is it")
    return transcript


def lines_of(transcript: Transcript) -> list[bytes]:
    return [json.dumps(entry).encode() + b"\n" for entry in transcript.entries]


@settings(_given, max_examples=examples(8, 12))
@given(tales(), st.data())
def test_decisions_in_a_prefix_are_those_of_the_whole(tmp_path, tale: Tale, data) -> None:
    content = lines_of(tale)
    cut = data.draw(st.integers(0, len(b"".join(content))))
    check_prefix(content, cut, tmp_path, ONLINE, data.draw(st.sampled_from([300, 3_600])))


@pytest.mark.parametrize("seed", SEEDS)
def test_decisions_in_a_prefix_of_a_long_session_are_those_of_the_whole(tmp_path, seed: int, count) -> None:
    content = lines_of(long_tale(seed))
    chance, seen = random.Random(seed), 0
    for _ in range(count(1, 25)):
        at = chance.randrange(len(content) // 3, len(content))
        seen += check_prefix(content, sum(map(len, content[:at])), tmp_path, ONLINE, chance.choice([300, 3_600]))
    assert seen


@pytest.mark.parametrize("seed", SEEDS)
def test_another_future_changes_no_decision_before_it(tmp_path, seed: int, count) -> None:
    transcript = long_tale(100 + seed)
    content = lines_of(transcript)
    chance, seen = random.Random(seed), 0
    for _ in range(count(1, 25)):
        at = chance.randrange(len(content) // 3, len(content))
        future = [json.dumps(other(entry)).encode() + b"\n" for entry in transcript.entries[at:]]
        if chance.random() < 0.3:
            chance.shuffle(future)
        kept = content[:at]
        changed = b"".join([*kept, *future])
        seen += check_prefix(content, sum(map(len, kept)), tmp_path, ONLINE, chance.choice([300, 3_600]), changed)
    assert seen


def test_every_policy_that_clears_at_all_decides_something_in_such_sessions(tmp_path) -> None:
    idle = set(ONLINE)
    for seed in range(3):
        path = tmp_path / "session.jsonl"
        path.write_bytes(b"".join(lines_of(long_tale(seed, 120, prompts=0.3))))
        session = sent_requests.read(str(path))
        idle -= {name for name in idle if decided(session, name, 300)}
    assert idle == {"nothing"}


def test_a_policy_that_knows_the_future_is_found_out(tmp_path) -> None:
    content = lines_of(long_tale(1))
    with pytest.raises(AssertionError, match="oracle-needs"):
        check_prefix(content, sum(map(len, content[: len(content) // 2])), tmp_path, ["oracle-needs"], 300)


def test_it_holds_for_real_sessions(transcripts, tmp_path, count) -> None:
    chance, seen = random.Random(1), 0
    limit = count(SMALL, LARGE)
    paths = [path for path in sorted(transcripts.rglob("*.jsonl")) if 100_000 < path.stat().st_size < limit]
    for path in chance.sample(paths, min(len(paths), count(3, 20))):
        content = path.read_bytes().splitlines(keepends=True)
        for ttl_s in (300, 3_600):
            at = chance.randrange(len(content) // 2, len(content))
            seen += check_prefix(content, sum(map(len, content[:at])), tmp_path, ONLINE, ttl_s)
    assert seen
