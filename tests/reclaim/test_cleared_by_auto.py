"""After a clear under `auto`: everything comes back, a later clear stands on it, and what was decided is written down."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from popkit_retention.core.policy.economics import LOOK_BACK_REQUESTS
from tests.reclaim import earlier
from tests.reclaim.looks import LONG_UNUSED, NAMED, Sized, looked
from tests.reclaim.shops import SESSION, Shop, assert_only_contents_changed, numbered

pytestmark = pytest.mark.parametrize("profile", [""], ids=["shipped"])


# --- back -------------------------------------------------------------------------------------------------------------------------


def test_a_handle_and_an_id_print_the_whole_text(cold: Shop):
    handle = cold.clear()[1].handles["read-long"]
    for done in (cold.popkit("restore", handle), cold.context("restore", "T1"), cold.context("restore", "read-long")):
        assert (done.code, done.err) == (0, "")
        assert done.out.strip("\n") == numbered(NAMED).strip("\n")


def test_a_second_clear_right_away_takes_nothing(cold: Shop):
    cold.configure(compact="off")  # what is needed least stays
    cold.clear()
    once = cold.transcript.read_bytes()
    for asked in ({}, {"pattern": "*.ts"}):
        prospect, done = cold.clear(**asked)
        assert (prospect.plan.going, done) == ([], None)
    done = cold.context("clear")
    assert done.code == 0
    assert "Nothing to clear" in done.out
    assert cold.transcript.read_bytes() == once
    assert cold.archive_report() == (len(LONG_UNUSED), 1)


# --- clear, work, clear -----------------------------------------------------------------------------------------------------------


def prefixes(prospect: earlier.Prospect) -> dict[str, int]:
    """id -> tokens of the prompt before each result."""
    return {id: place.prefix for id, place in prospect.rebuilt.conversation.places.items()}


def _goes_on(shop: Shop, talk: Sized, there: int) -> None:
    """The client has loaded the cleared transcript and appends what follows."""
    at = shop.at + 10
    for number, entry in enumerate(talk.entries[there:]):
        entry["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at + 10 * number))
    shop.goes_on(talk, there)
    shop.at = at + 10 * len(talk.entries[there:])


def _cleared_and_gone_on(shop: Shop) -> tuple:
    """(done, calls that followed) of a session that was cleared cold and went on with the smaller prompt."""
    talk = looked(str(shop.project), tokens=60_000)
    shop.write(talk)
    done = shop.clear()[1]
    there = len(talk.entries)
    talk.tokens -= done.tokens
    talk.prompt("and now the other thing")
    talk.read("read-next", talk.cwd + "/next.ts", NAMED)
    talk.rest(60)
    talk.bash("last", "npm test", "  ok - adds and takes away\n" * 60)
    talk.answer("So.")
    _goes_on(shop, talk, there)
    return done, talk


def test_a_second_clear_after_more_work_keeps_the_placeholders_of_the_first(shop: Shop):
    first, _ = _cleared_and_gone_on(shop)
    contents, before = shop.contents(), shop.transcript.read_bytes()
    shop.at += 4_000
    prospect, second = shop.clear()
    assert "read-next" in second.handles
    assert not set(second.handles) & set(first.handles)
    assert {id: shop.contents()[id] for id in first.handles} == {id: contents[id] for id in first.handles}
    assert_only_contents_changed(before, shop.transcript.read_bytes(), set(second.handles))
    shop.assert_state_follows()
    assert shop.archive_report() == (len(first.handles) + len(second.handles), 2)
    assert prospect.plan.sum.leaves > 0


def test_the_positions_of_the_second_clear_are_those_of_the_smaller_prompt(shop: Shop):
    shop.write(looked(str(shop.project), tokens=60_000))
    measured = prefixes(shop.prospect())
    first, talk = _cleared_and_gone_on(shop)
    moved = prefixes(shop.prospect())
    assert moved["read-long"] == measured["read-long"], "nothing that left stood before it"
    for id in ("read-lib", "read-app", "edit-app"):
        assert measured[id] - moved[id] == pytest.approx(first.tokens, rel=0.15), "all that left stood before it"
    assert moved["edit-app"] < moved["read-next"] < moved["last"] < talk.tokens


def test_the_sum_of_the_second_clear_fits_into_its_prompt(shop: Shop):
    _, talk = _cleared_and_gone_on(shop)
    prospect = shop.prospect()
    prompt = talk.tokens + 503
    assert prospect.plan.sum.warm
    first = min(prospect.plan.going, key=lambda result: result.index)
    tokens = sum(result.tokens for result in prospect.plan.going) * prospect.rebuilt.state.calibration
    assert 0 < prospect.plan.sum.leaves < tokens < prompt
    conversation = prospect.rebuilt.conversation
    assert conversation.requests_behind(first.id) > LOOK_BACK_REQUESTS
    assert prospect.plan.sum.rewritten == pytest.approx(prompt - conversation.base - prospect.plan.sum.leaves, abs=600)
    assert 0 < prospect.plan.sum.share < 1


# --- why, and what is written down ------------------------------------------------------------------------------------------------


def _journal(shop: Shop) -> list[dict]:
    return [json.loads(line) for line in Path(shop.site().paths().journal).read_text().splitlines()]


def test_the_journal_holds_the_reason_of_each_and_why_gives_it(cold: Shop):
    prospect, done = cold.clear()
    (entry,) = [entry for entry in _journal(cold) if entry["event"] == "clear"]
    assert set(entry["reasons"]) == set(entry["ids"]) == set(done.handles)
    needs = {decision.result.id: decision.need for decision in prospect.plan.decisions}
    chances = {id: f"{needs[id]:.0%}" if needs[id] >= 0.01 else "less than 1%" for id in done.handles}
    assert "less than 1%" in chances.values()
    assert entry["reasons"] == {
        id: f"costs more to keep than to clear: a chance of {chance} that it is needed again" for id, chance in chances.items()
    }
    answer = cold.context("why", "read-long").out
    assert entry["reasons"]["read-long"] in " ".join(answer.split())
    assert cold.state().expired["read-long"].ended[4] == [entry["reasons"]["read-long"]]
    assert "by the user" not in answer


def test_what_the_user_named_went_by_the_user(cold: Shop):
    cold.clear(ids=("read-lib",))
    (entry,) = [entry for entry in _journal(cold) if entry["event"] == "clear"]
    assert "reasons" not in entry
    assert cold.state().expired["read-lib"].ended[4] == ["cleared by the user"]


def _everything(shop: Shop) -> dict:
    state = shop.state()
    return {id: (result.to_row(), result.ended) for id, result in state.expired.items()}


def test_transcript_and_journal_alone_give_what_is_stored(cold: Shop):
    cold.clear()
    stored, known = _everything(cold), cold.known()
    folder = cold.home / "sessions" / SESSION
    for path in [*folder.glob("*.state.json"), *folder.glob("*.expired.jsonl")]:
        path.unlink()
    assert _everything(cold) == stored
    assert cold.known() == known
    assert stored["read-long"][1][4][0].startswith("costs more to keep than to clear")


def _rewrite_journal(shop: Shop, change) -> None:
    """The journal as it would be had another version written it, or a kill kept it from being written."""
    entries = [change(entry) for entry in _journal(shop)]
    lines = [json.dumps(entry) + "\n" for entry in entries if entry is not None]
    Path(shop.site().paths().journal).write_text("".join(lines))


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: {name: value for name, value in entry.items() if name != "reasons"},
        lambda entry: None if entry["event"] == "clear" else entry,
        lambda entry: {**entry, "reasons": "worth it"},
        lambda entry: {**entry, "reasons": {"read-long": 7, "found": None, "nothing": "x"}},
    ],
    ids=["an older version wrote it", "a kill came before it", "reasons that are none", "reasons of another kind"],
)
def test_a_journal_without_reasons_is_understood(cold: Shop, change):
    cold.clear()
    _rewrite_journal(cold, change)
    cold.assert_state_follows()
    assert set(cold.cleared()) == LONG_UNUSED
    assert cold.state().expired["read-long"].ended[4] == ["cleared by the user"]
    assert cold.clear()[1] is None
    assert cold.context("why", "read-long").code == 0


def test_a_reason_however_long_is_cut(cold: Shop):
    cold.clear()
    _rewrite_journal(cold, lambda entry: {**entry, "reasons": {"read-long": "x" * 10_000}})
    assert cold.state().expired["read-long"].ended[4] == ["x" * 200]
