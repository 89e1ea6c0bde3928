"""A look at a context: what it finds, what it keeps of that, and what a look without a transcript knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.core.hosts.transcripts import usage
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.plans import CLEAR
from popkit_retention.core.reclaim import outlook
from popkit_retention.core.reclaim.outlook import Outlook
from popkit_retention.core.state import journal
from tests.policy.scenario import Scenario
from tests.reclaim.shops import EXPIRED, LATELY, Shop, Talk, worked
from tests.views.written import Written


@pytest.fixture
def working(tmp_path: Path) -> Shop:
    """A session with a result of every fate."""
    shop = Shop(tmp_path)
    shop.write(worked(str(shop.project)))
    return shop


def looked(shop: Shop) -> Outlook:
    return outlook.look(shop.site(), str(shop.transcript), shop.at)


def files_of(shop: Shop) -> dict[str, bytes]:
    """What is on disk, but for what was only reckoned once."""
    files = [path for path in shop.home.rglob("*") if path.is_file() and path.parent.name != "cache"]
    return {str(path): path.read_bytes() for path in files}


def going(view: Outlook) -> set[str]:
    assert view.now is not None
    return {decision.result.id for decision in view.now.having(CLEAR)}


def facts(view: Outlook) -> tuple:
    ended = {id: result.ended[0] for id, result in view.state.expired.items()}
    return view.context, going(view), view.left, view.expired, [*view.state.live], ended, view.ledger


def test_a_look_finds_what_a_clear_takes_and_how_full_the_context_is(working: Shop) -> None:
    working.site().remember(window_tokens=77_777)
    view = looked(working)
    assert going(view) == EXPIRED
    assert view.context is not None
    assert view.context["cache"] == "cold"
    assert view.context["cache_seconds_left"] == 0
    assert view.context["window"] == 77_777
    assert view.context["ratio"] == round(view.context["tokens"] / 77_777, 4)
    assert view.expired["items"] >= len(EXPIRED | LATELY)
    assert view.doubt == ""


def test_reading_finds_the_same_and_writes_nothing(working: Shop) -> None:
    view = looked(working)
    before = files_of(working)
    again = outlook.read(working.site(), str(working.transcript), working.at)
    assert facts(again) == facts(view)
    assert files_of(working) == before


def test_before_any_look_reading_finds_the_same_and_keeps_nothing(working: Shop) -> None:
    before = files_of(working)
    first = outlook.read(working.site(), str(working.transcript), working.at)
    assert files_of(working) == before
    assert facts(first) == facts(looked(working))


def test_a_look_keeps_what_a_clear_would_take_for_the_status_line(working: Shop) -> None:
    view = looked(working)
    planned = working.site().session.planned
    assert planned["calls"] == view.state.index
    assert planned["warm"] is False
    assert planned["now"] == planned["cold"] > 0


def test_the_status_line_is_told_of_no_clear_that_would_be_refused(working: Shop) -> None:
    looked(working)
    talk = worked(str(working.project))
    talk.add("riddle")
    talk.prompt("go on")
    working.write(talk)
    assert looked(working).now is None
    assert working.site().session.planned is None


def test_of_what_is_not_understood_the_first_is_named(working: Shop) -> None:
    view = looked(working)
    assert view.rebuilt is not None
    for doubt in ("byte 9: odd", "byte 99: odder"):
        view.rebuilt.index.doubt(doubt)
    assert view.doubt == "byte 9: odd"


def test_a_look_keeps_where_the_host_compacted_by_itself_and_what_stands_since(tmp_path: Path) -> None:
    written = Written(tmp_path / "projects")
    written.say("look")
    written.read("src/a.ts")
    written.tokens = 168_000
    written.read("src/b.ts")
    written.compact("auto")
    shop = Shop(tmp_path)
    view = outlook.look(shop.site(), str(written.path), shop.at)
    assert view.context is not None
    assert shop.site().session.compacted_tokens // 1_000 == 168
    assert 0 < shop.site().session.stands["tokens"] == view.context["tokens"] < 168_000
    assert usage.stands(usage.newest_usage(str(written.path)), shop.site().session) == view.context["tokens"]


def test_where_there_is_no_transcript_a_look_knows_what_the_hooks_have_seen(working: Shop) -> None:
    view = looked(working)
    for found in (
        outlook.look(working.site(), "", working.at),
        outlook.read(working.site(), "", working.at),
        outlook.read(working.site(), str(working.folder / "gone.jsonl"), working.at),
    ):
        assert [*found.state.live] == [*view.state.live]
        assert found.expired == view.expired
        assert (found.context, found.now, found.cold, found.rebuilt) == (None, None, None, None)


def test_of_a_session_that_nobody_has_seen_nothing_is_known(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    found = outlook.read(shop.site(), "", shop.at)
    assert (found.state.index, found.expired["items"], found.left, found.context, found.agents) == (0, 0, 0, None, [])


def test_of_a_context_without_a_request_it_is_unknown_how_full_it_is(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    talk = Talk(str(shop.project))
    talk.prompt("hello")
    shop.write(talk)
    view = looked(shop)
    assert view.context is None
    assert view.now is not None
    assert view.now.decisions == []


def test_a_pin_changes_the_outlook_at_once_and_outlasts_it(working: Shop) -> None:
    view = looked(working)
    site = working.site()
    outlook.change(view, site, [])
    assert going(view) == EXPIRED
    outlook.change(view, site, [journal.pinned("found", working.at)])
    assert going(view) == going(looked(working)) == EXPIRED - {"found"}


@pytest.mark.parametrize(
    ("epoch", "gone", "taken", "left"),
    [
        (0, [], {}, 0),
        (0, ["T1"], {"T2": False}, 0),
        (1, [], {}, 0),
        (1, ["T1"], {}, 1),
        (1, ["T1", "T2", "T3"], {}, 3),
        (1, [], {"T2": False}, 1),
        (1, [], {"T2": True}, 0),
        (1, ["T1"], {"T2": False}, 2),
        (1, ["T1"], {"T1": False}, 1),
        (1, ["T1"], {"T1": True}, 0),
    ],
)
def test_results_have_left_that_are_gone_or_on_a_receipt_and_not_back(
    tmp_path: Path, epoch: int, gone: list[str], taken: dict[str, bool], left: int
) -> None:
    session = Scenario()
    for name in "abc":
        session.read(f"{name}.py")
    session.state.epoch = epoch
    for id in gone:
        del session.state.live[id]
    assert Outlook(Shop(tmp_path).site(), "", session.state, session.rules, session.at, taken=taken).left == left


def test_more_on_receipts_than_calls_is_no_less_than_nothing(tmp_path: Path) -> None:
    session = Scenario()
    state = ContextState("session")
    state.epoch = 1
    view = Outlook(Shop(tmp_path).site(), "", state, session.rules, 0.0, taken={"T1": True, "T2": True})
    assert view.left == 0
