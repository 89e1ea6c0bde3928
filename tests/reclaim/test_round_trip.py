"""Clear and undo give back the transcript as it was, byte for byte."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hooks.utils.policy.ruleset import TIERS
from hooks.utils.reclaim.access import Refused
from tests.examples import examples
from tests.reclaim import generated
from tests.reclaim.shops import EXPIRED, LATELY, LIVE, Shop, assert_only_contents_changed, contents_of, worked

PARTS = 4  # of the real sessions: more than one process may go through them
PROFILES = ("spec", "auto")  # a clear by lifetimes leaves placeholders, one by worth outlines too


def _cleared_and_undone(shop: Shop, before: bytes, **asked) -> int:
    """How many results went and came back."""
    done = _cleared(shop, **asked)
    after = shop.transcript.read_bytes()
    if done is None:
        assert after == before
        return 0
    assert shop.cleared() == done.handles
    assert_only_contents_changed(before, after, set(done.handles))
    assert len(after) < len(before)
    texts = contents_of(before)
    assert all(shop.archived(handle) == texts[id] for id, handle in done.handles.items())
    back = shop.undo()
    assert {record.tool_use_id for record in back.records} == set(done.handles)
    assert (back.lost, back.trouble) == ([], "")
    assert shop.transcript.read_bytes() == before
    return len(done.handles)


def _cleared(shop: Shop, **asked):
    """What was cleared; None where nothing was, also because every result is smaller than its placeholder."""
    try:
        return shop.clear(**asked)[1]
    except Refused as reason:
        if "no result named here" in str(reason):
            return None
        raise


# --- real sessions ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("part", range(PARTS))
def test_real_sessions_come_back_as_they_were(transcripts: Path, memory: Path, part: int, profile: str, count):
    """A sixth of the sessions, each under one of the profiles; all of them under both with --slow."""
    paths = sorted(transcripts.rglob("*.jsonl"))[part::PARTS][PROFILES.index(profile) :: count(6 * len(PROFILES), 1)]
    cleared = refused = 0
    reasons: set[str] = set()
    for path in paths:
        shop = Shop(memory / path.stem, session_id=path.stem, profile=profile)
        shutil.copy(path, shop.transcript)
        before = path.read_bytes()
        shop.at = 4_000_000_000.0
        try:
            cleared += _cleared_and_undone(shop, before, now=True)
        except Refused as reason:
            refused += 1
            reasons.add(str(reason))
        assert shop.transcript.read_bytes() == before
        shutil.rmtree(shop.folder)
    print(f"{len(paths)} sessions, {refused} refused, {cleared} results went and came back")
    assert len(paths) - refused >= len(paths) * 90 // 117
    assert cleared > 5 * len(paths)
    assert all("nothing was changed" in reason for reason in reasons)


# --- generated ones ---------------------------------------------------------------------------------------------------------------

ASKED = st.one_of(st.just({"now": True}), st.just({}), st.sampled_from([{"tier": tier} for tier in TIERS]))


@given(transcript=generated.transcripts, asked=ASKED, profile=st.sampled_from(PROFILES))
@settings(max_examples=examples(40, 3_000), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_transcript_comes_back_as_it_was(transcript: generated.Generated, asked: dict, profile: str):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:  # noqa: S108  in no need of a disk
        shop = Shop(Path(folder), profile=profile)
        before = transcript.write(shop.transcript)
        shop.at = transcript.talk.now + 4_000
        _cleared_and_undone(shop, before, **asked)
        shop.assert_state_follows()


# --- what comes in between --------------------------------------------------------------------------------------------------------


def test_an_undo_keeps_every_later_line(shop: Shop):
    talk = worked(str(shop.project))
    before = shop.write(talk)
    shop.clear()
    there = len(talk.entries)
    talk.prompt("and now?")
    talk.read("later", talk.cwd + "/later.ts", "const later = 1;\n" * 50)
    talk.say("That.")
    more = shop.goes_on(talk, there)
    shop.undo()
    assert shop.transcript.read_bytes() == before + more
    shop.assert_state_follows()


def test_two_clears_are_undone_one_after_the_other(shop: Shop):
    original = shop.write(worked(str(shop.project)))
    shop.clear()
    once = shop.transcript.read_bytes()
    shop.at += 1
    shop.clear(now=True)
    assert shop.cleared().keys() == EXPIRED | LATELY
    shop.at += 1
    assert [record.tool_use_id for record in shop.undo().records] == list(LATELY)
    assert shop.transcript.read_bytes() == once
    shop.at += 1
    shop.undo()
    assert shop.transcript.read_bytes() == original
    with pytest.raises(Refused, match="nothing to undo"):
        shop.undo()
    shop.assert_state_follows()


def test_what_was_cleared_undone_and_cleared_again_can_be_undone_again(shop: Shop):
    original = shop.write(worked(str(shop.project)))
    for _ in range(3):
        shop.clear(tier="medium")
        assert set(shop.cleared()) == {"read-old", "read-app", "read-lib"}
        shop.undo()
        assert shop.transcript.read_bytes() == original
    assert shop.archive_report() == (3, 0), "the same content is archived once"


def test_the_original_is_kept_and_belongs_to_the_user_alone(shop: Shop):
    original = shop.write(worked(str(shop.project)))
    _, done = shop.clear()
    kept = Path(done.original)
    assert kept.read_bytes() == original
    assert kept.stat().st_mode & 0o777 == 0o600
    assert (shop.home / "archive.sqlite").stat().st_mode & 0o777 == 0o600


def test_live_results_that_were_forced_out_live_again_after_an_undo(working: Shop):
    before = working.state()
    assert before.live.keys() >= LIVE
    working.clear(ids=tuple(LIVE))
    cleared = working.state()
    assert not LIVE & cleared.live.keys()
    assert all(cleared.expired[id].ended[0] == "manual" for id in LIVE)
    working.assert_state_follows()
    working.undo()
    after = working.state()
    assert after.live.keys() == before.live.keys()
    assert after.expired.keys() == before.expired.keys()
    assert after.counts.false_expirations == before.counts.false_expirations
    working.assert_state_follows()
