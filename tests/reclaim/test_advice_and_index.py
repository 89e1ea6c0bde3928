"""A compaction by the host is advised before it, and indexed behind it, in the process of the test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.reclaim import compaction_advice
from popkit_retention.core.reclaim.compaction_advice import INDEX_TOKENS, MANUAL_TOKENS
from popkit_retention.core.state import journal, noting, store
from tests.reclaim.shops import EXPIRED, Shop, Talk, worked


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.write(worked(str(shop.project)))
    return shop


def before(shop: Shop, manual: bool = False) -> str:
    site = shop.site()
    site.remember(transcript=str(shop.transcript))
    return compaction_advice.before(site, str(shop.transcript), shop.at, manual) or ""


def after(shop: Shop) -> str:
    return compaction_advice.after(shop.site(), shop.at) or ""


def booked(shop: Shop) -> list[int]:
    return [entry["tokens"] for entry in store.read_lines(shop.site().paths().journal) if entry["event"] == "advice"]


def labels(index: str) -> list[str]:
    return re.findall(r"^- [a-z2-7]{8} (.*), ~[\d,]+ tokens$", index, re.MULTILINE)


def test_the_index_names_what_is_worth_most_first_and_each_result_can_be_restored(shop: Shop) -> None:
    before(shop)
    index = after(shop)
    lines = [line for line in index.splitlines() if line.startswith("- ")]
    assert "lib.ts" in lines[0] or "npm test" in lines[0]
    places = {name: next((at for at, line in enumerate(lines) if name in line), None) for name in ("lib.ts", "old.ts")}
    assert places["lib.ts"] is not None
    assert places["old.ts"] is None or places["lib.ts"] < places["old.ts"], "what expired comes last"
    for handle in re.findall(r"^- ([a-z2-7]{8}) ", index, re.MULTILINE):
        assert shop.archived(handle)


@pytest.mark.parametrize(("id", "name"), [("read-lib", "lib.ts"), ("new-test", "npm test")])
def test_a_pinned_result_comes_first_in_the_index(shop: Shop, id: str, name: str) -> None:
    noting.note(shop.site(), shop.site().paths(), [journal.pinned(id, shop.at)])
    before(shop)
    assert name in labels(after(shop))[0]


def test_the_index_is_given_once_and_booked_with_the_advice(shop: Shop) -> None:
    advice = before(shop)
    index = after(shop)
    assert after(shop) == ""
    assert 0 < estimate_tokens(index) <= INDEX_TOKENS
    assert booked(shop) == [estimate_tokens(advice), estimate_tokens(index)]


def test_a_manual_compaction_is_advised_shortly_and_its_echo_booked(shop: Shop) -> None:
    advice = before(shop, manual=True)
    index = after(shop)
    assert 0 < estimate_tokens(advice) <= MANUAL_TOKENS
    first, second = booked(shop)
    assert first == estimate_tokens(advice)
    assert second > estimate_tokens(advice) + estimate_tokens(index)


def test_without_an_index_the_echo_alone_is_booked(shop: Shop) -> None:
    shop.configure(compaction={"advise": True, "index": False})
    before(shop, manual=True)
    echo = shop.site().session.echo_tokens
    assert after(shop) == ""
    assert booked(shop)[1:] == [echo]


def test_without_advice_nothing_is_booked_for_it(shop: Shop) -> None:
    shop.configure(compaction={"advise": False, "index": True})
    assert before(shop) == ""
    assert booked(shop) == []
    index = after(shop)
    assert index
    assert booked(shop) == [estimate_tokens(index)]


def test_without_an_index_nothing_is_archived(shop: Shop) -> None:
    shop.configure(compaction={"advise": True, "index": False})
    assert "Outdated" in before(shop)
    assert after(shop) == ""
    assert shop.archive_report() == (0, 0)


def test_what_was_cleared_keeps_its_handle_in_the_index(shop: Shop) -> None:
    shop.clear()
    handles = {id: handle for id, handle in shop.cleared().items() if id in EXPIRED}
    assert set(handles) == EXPIRED
    before(shop)
    index = after(shop)
    assert any(handle in index for handle in handles.values())


def test_what_could_not_be_archived_is_caught_up_with_once_that_is_possible(shop: Shop) -> None:
    path = shop.home / "archive.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"no database at all\n" * 99)
    assert "Outdated" in before(shop)
    assert Path(shop.site().paths().unarchived).exists()
    path.unlink()
    index = after(shop)
    assert len(labels(index)) >= 3
    assert not Path(shop.site().paths().unarchived).exists()
    for handle in re.findall(r"^- ([a-z2-7]{8}) ", index, re.MULTILINE):
        assert shop.archived(handle)
    assert compaction_advice.catch_up(shop.site(), str(shop.transcript)) == []


RECORD, WORTH = ["T1", "read", "Read a.py", "", ["/a.py"], 900], ["T1", "", "Read a.py", 900]


@pytest.mark.parametrize(
    "note",
    [
        {"records": [RECORD]}, {"records": [RECORD], "worth": 7}, {"records": [RECORD], "worth": [7, ["T1"], [["T1"], "", "a", 900]]},
        {"records": [[*RECORD[:4], [7], 900], RECORD[:3], 7, [["T1"], *RECORD[1:]]]}, {"records": 7, "worth": [WORTH]}, [], "",
    ],
)  # fmt: skip
def test_a_damaged_note_of_what_is_still_to_be_archived_stops_no_hook(shop: Shop, note: object) -> None:
    path = Path(shop.site().paths().unarchived)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(note) if note else "{")
    assert compaction_advice.catch_up(shop.site(), str(shop.transcript)) == []


@pytest.mark.parametrize(("later", "advised"), [(0.0, True), (59.0, True), (60.0, False), (3_600.0, False), (-1.0, False)])
def test_the_code_inside_the_client_has_advised_the_next_compaction_alone(shop: Shop, later: float, advised: bool) -> None:
    assert not compaction_advice.was_advised(shop.site(), shop.at)
    shop.site().remember(advised=shop.at)
    assert compaction_advice.was_advised(shop.site(), shop.at + later) is advised
    assert not compaction_advice.was_advised(shop.site(), shop.at + later)


def test_without_a_transcript_there_is_nothing_to_say(shop: Shop) -> None:
    shop.transcript.unlink()
    assert before(shop) == after(shop) == ""
    assert booked(shop) == []


def test_the_index_has_what_is_worth_a_hundred_tokens_and_nothing_less(shop: Shop) -> None:
    talk = Talk(str(shop.project))
    talk.prompt("look")
    for more in range(12):
        talk.bash(f"run-{more}", f"./run {more}", "so " * 70 + "." * more)
    shop.write(talk)
    before(shop)
    state = shop.state()
    assert {round(result.tokens * state.calibration) for result in state.live.values()} >= {99, 100}
    assert min(int(tokens) for tokens in re.findall(r"~(\d+) tokens$", after(shop), re.MULTILINE)) == 100
