"""What a replay puts into a result's place is what a live clear puts there: the same words, and the handle of the same record."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from popkit_retention.cli.main import main
from popkit_retention.core import archive
from popkit_retention.core.policy.placeholder import NO_HANDLE
from popkit_retention.core.reclaim.access import ClearRefused
from popkit_retention.lab import sent_requests
from tests.lab.transcripts import Transcript, filled
from tests.reclaim import generated
from tests.reclaim.shops import EXPIRED, LATER_S, Shop, Talk, contents_of, stamp, worked
from tests.views.written import spec_session


def replayed(path: Path, policy: str, folder: Path) -> dict[str, str]:
    """tool_use id -> what `popkit lab replay` puts into its place first."""
    out = folder / f"{policy}.jsonl"
    assert main(["lab", "replay", str(path), "--policy", policy, "--out", str(out)], {}) == 0
    handles: dict[str, str] = {}
    for line in out.read_text().splitlines():
        for one in json.loads(line)["clear"]:
            handles.setdefault(one["id"], one["placeholder"])
    return handles


def named(path: Path) -> dict[str, str]:
    """tool_use id -> handle of every result of a session."""
    session = sent_requests.read(str(path))
    sent_requests.name_handles(session)
    return {step[1].id: step[1].handle for step in session.steps if step[0] == "add" and step[1].id}


def paused(shop: Shop) -> Talk:
    """A working session that goes on when the cache is cold."""
    talk = worked(str(shop.project))
    talk.idle(30)
    later = stamp(talk.now + LATER_S)
    talk.prompt("and now?", timestamp=later)
    talk.say("Nothing.", timestamp=later)
    return talk


def test_a_replayed_placeholder_is_the_live_one_to_the_letter(tmp_path) -> None:
    shop = Shop(tmp_path, profile="spec")
    shop.write(worked(str(shop.project)))
    handles = replayed(shop.transcript, "spec", tmp_path)
    shop.clear()
    contents = shop.contents()
    assert set(shop.cleared()) == EXPIRED
    assert {id: handles[id] for id in EXPIRED} == {id: contents[id] for id in EXPIRED}


def test_auto_gives_the_same_outline_included_but_for_the_time_without_use(tmp_path) -> None:
    shop = Shop(tmp_path, profile="auto")
    shop.write(paused(shop))
    handles = replayed(shop.transcript, "auto", tmp_path)
    shop.clear()
    contents = shop.contents()
    cleared = shop.cleared()
    assert handles.keys() >= cleared.keys() >= EXPIRED

    def without_why(text: str) -> str:
        return re.sub(r" \([^()]*\)(?=\. To see it: )", "", text)

    assert {id: without_why(handles[id]) for id in cleared} == {id: without_why(contents[id]) for id in cleared}
    assert "\n" in contents["found"], "an outline"
    assert {id for id in cleared if handles[id] != contents[id]} <= {"old-test", "new-test"}, "what had not expired when the replay took it"


@pytest.mark.parametrize("policy", ["auto", "spec", "spec-cold", "aggressive", "conservative-cold"])
def test_every_policy_of_ours_names_the_record_of_a_live_clear(tmp_path, policy: str) -> None:
    shop = Shop(tmp_path)
    before = shop.write(paused(shop))
    handles = replayed(shop.transcript, policy, tmp_path)
    shop.clear(ids=tuple(contents_of(before)), now=True)
    cleared = shop.cleared()
    both = handles.keys() & cleared.keys()
    assert len(both) >= 2
    for id in both:
        assert f"popkit restore {cleared[id]}]" in handles[id].splitlines()[0]


@given(transcript=generated.transcripts)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_whatever_the_lines_look_like_the_handles_are_those_of_a_live_clear(transcript: generated.Generated) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:  # noqa: S108  in no need of a disk
        shop = Shop(Path(folder))
        before = transcript.write(shop.transcript)
        shop.at = transcript.talk.now + 4_000
        known = named(shop.transcript)
        try:
            shop.clear(ids=tuple(contents_of(before)), now=True)
        except ClearRefused as reason:
            assert "no result named here" in str(reason)  # noqa: PT017  the ones that are smaller than their placeholder
        cleared = shop.cleared()
        assert {id: known[id] for id in cleared} == cleared


def test_a_subagents_results_belong_to_its_own_chain(tmp_path) -> None:
    transcript = Transcript()
    transcript.prompt("look for it", isSidechain=True)
    transcript.call("a", message="s1", isSidechain=True)
    transcript.result("a", filled(200) + 'ä "so"', isSidechain=True)
    transcript.answer(filled(10), "s2", isSidechain=True)
    path = tmp_path / "5e55" / "subagents" / "agent-a17.jsonl"
    path.parent.mkdir(parents=True)
    transcript.write(path)
    db = archive.open_archive(str(tmp_path / "archive.sqlite"), create=True)
    try:
        record = archive.NewRecord("a", "run", "Bash", json.dumps(transcript.entries[2]["message"]["content"][0]["content"]))
        (handle,) = archive.add_records(db, archive.Chain("5e55/a17", "5e55", "a17"), [record])
    finally:
        db.close()
    assert named(path) == {"a": handle}


@pytest.mark.parametrize(
    ("path", "chain"),
    [("/p/-home-x/5e55.jsonl", "5e55"), ("/p/-home-x/5e55/subagents/agent-a1.jsonl", "5e55/a1"), ("/p/-home-x/agent-a1.jsonl", "agent-a1"),
     ("/p/subagents/5e55.jsonl", "5e55"), ("/p/notes", "notes")],
)  # fmt: skip
def test_a_context_is_named_by_where_its_transcript_lies(path: str, chain: str) -> None:
    assert sent_requests.chain_of(path) == chain


def test_a_result_whose_content_is_in_doubt_keeps_its_stand_in(tmp_path) -> None:
    path = spec_session(tmp_path).path
    lines = path.read_text().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if '"tool_result"' in line)
    whole = named(path)
    lines[at] = lines[at].replace('"content": "', '"content": 1, "content": "')
    path.write_text("".join(lines))
    left = [id for id, handle in named(path).items() if handle == NO_HANDLE]
    assert len(left) == 1
    assert {id: handle for id, handle in named(path).items() if id not in left} == {id: whole[id] for id in whole if id not in left}


def test_a_survey_does_not_compute_handles(tmp_path) -> None:
    session = sent_requests.read(str(spec_session(tmp_path).path))
    assert {step[1].handle for step in session.steps if step[0] == "add"} == {NO_HANDLE}
