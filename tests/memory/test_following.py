"""Use strengthens: what was shown and followed, opened or restored is reinforced, once a session; what nobody uses fades."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from popkit_retention.memory import extraction
from popkit_retention.memory.items import ARCHIVE, COLD, COMMAND, ERROR, HOT, KEYWORDS, NAME, NOTE, PATH, WARM, Item, Shown
from popkit_retention.memory.learning import followed_ids
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.stores.reference import InMemoryStore

from .remembering import DAY, HOUR, NOW, PROJECT, Remembering, lesson, wrote
from .test_extraction import SHOP, Session

NOTE_TEXT = "Deploy with scripts/ship.sh, never by hand."


def shown_in(*wrote: str, text: str = NOTE_TEXT) -> tuple[Shown, ...]:
    return (Shown(f"# Project memory\n- {text}", "\n".join(wrote)),)


def followed_in(item: Item, text: str, wrote: str) -> bool:
    return followed_ids([Shown(text, wrote)], [item]) == [item.id]


@pytest.mark.parametrize(
    ("kind", "text", "shown", "wrote"),
    [
        (PATH, "src/cart/total.ts", "src/cart/\n  total.ts", "I look at /shop/src/cart/total.ts:12."),
        (PATH, "src/till.test.ts", "```\nsrc/: {cart,till{,.test}}.ts\n```", "npx vitest src/till.test.ts"),
        (NAME, "parseTheCart", "- parseTheCart", "grep parseTheCart"),
        (COMMAND, "cd src && go test ./...", "```sh\n# in src\ngo test ./...\n```", "cd src && go test ./..."),
        (COMMAND, "npm run build", "- `npm run build`", "cd /shop && npm  run build"),
        (ERROR, "ERR_MODULE_NOT_FOUND: ./dist", "- ERR_MODULE_NOT_FOUND: ./dist → npm ci", "it says ERR_MODULE_NOT_FOUND again"),
        (NOTE, NOTE_TEXT, f"- {NOTE_TEXT}", "scripts/ship.sh --dry-run"),
        (NOTE, "Be brief.", '{"id": "m1", "text": "Be brief."}', "as m1 says"),
    ],
)
def test_an_item_is_followed_where_it_was_shown_and_its_name_written_after_that(kind: str, text: str, shown: str, wrote: str):
    item = Item("m1", text, kind=kind)
    assert followed_in(item, shown, wrote)
    assert not followed_in(item, "nothing of it", wrote)
    assert not followed_in(item, shown, "something else")


def test_words_that_anybody_writes_are_no_name():
    assert not followed_in(Item("m1", NOTE_TEXT), NOTE_TEXT, "I deploy it by hand, never mind.")


@pytest.fixture
def session() -> Session:
    made = Session()
    made.prompt("go on")
    return made


def given_by_hook(session: Session, text: str) -> None:
    attached = {"type": "hook_additional_context", "content": [text], "hookName": "SessionStart:startup"}
    session.add("attachment", attachment=attached)


def test_what_a_hook_gave_and_a_search_found_was_shown(session: Session, tmp_path):
    given_by_hook(session, f"# Project memory\n\n- {NOTE_TEXT}")
    given_by_hook(session, "something of another plugin's")
    session.run("popkit memory search deploy", "m1 note Deploy")
    session.use("t9", "mcp__popkit__memory_search", {"query": "deploy"})
    session.result("t9", '{"items": [{"id": "m2"}]}')
    session.run("ls", "a.ts")
    texts = [each.text for each in extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP).shown]
    assert texts == [f"# Project memory\n\n- {NOTE_TEXT}", "m1 note Deploy", '{"items": [{"id": "m2"}]}']


def test_ten_requests_are_looked_at_after_something_was_shown(session: Session, tmp_path):
    session.run("echo before", "")
    session.run("popkit memory search deploy", "m1 note Deploy")
    for number in range(12):
        session.run(f"echo request{number:02}", "")
    (shown,) = extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP).shown
    assert shown.wrote.split("\n") == [f"echo request{number:02}" for number in range(10)]


def test_a_session_reinforces_what_it_followed_once_however_often_it_is_taught(remembering: Remembering):
    remembering.keep("m1", text=NOTE_TEXT)
    remembering.keep("m2", text="Tests live in tests/unit.")
    given = lesson("s1", wrote("src/a.ts"), at=NOW + DAY, shown=shown_in("bash scripts/ship.sh"))
    for _ in range(2):
        remembering.after(DAY).learn(given)
    item, other = remembering.item("m1"), remembering.item("m2")
    assert (item.reinforcements, item.reinforced, item.access_count, item.last_accessed) == (1, [NOW + DAY], 1, NOW + DAY)
    assert (other.reinforcements, other.access_count) == (0, 0)
    remembering.memory.learn(lesson("s2", at=NOW + 2 * DAY, shown=shown_in("bash scripts/ship.sh")))
    assert remembering.item("m1").reinforcements == 2


def test_what_a_session_followed_and_writes_itself_later_counts_once(remembering: Remembering):
    remembering.memory.learn(lesson("s0", wrote("src/cart.ts")))
    (item,) = remembering.memory.list()
    shown = shown_in("look at cart.ts", text="src/cart.ts")
    remembering.after(DAY).learn(lesson("s1", at=NOW + DAY, shown=shown))
    assert remembering.item(item.id).reinforcements == 1
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts"), at=NOW + DAY, shown=shown))
    assert (remembering.item(item.id).reinforcements, remembering.item(item.id).sessions) == (1, 2)


def test_what_a_session_made_itself_it_does_not_follow(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote(NOTE_TEXT, kind=NOTE), shown=shown_in("bash scripts/ship.sh")))
    assert [item.reinforcements for item in remembering.memory.list()] == [0]


def test_to_be_shown_by_a_search_is_an_access_and_to_be_opened_a_use(remembering: Remembering):
    remembering.keep("m1", text=NOTE_TEXT, tier=WARM)
    for _ in range(4):
        remembering.after(DAY).search("deploy")
    assert (remembering.item("m1").access_count, remembering.item("m1").reinforcements) == (4, 0)
    for _ in range(4):
        remembering.after(DAY).show("m1")
    item = remembering.memory.show("m1")
    assert (item.access_count, item.reinforcements) == (9, 4)
    assert item.reinforced == [NOW + day * DAY for day in (5, 6, 7, 8)]


def test_to_be_restored_is_a_use(remembering: Remembering):
    remembering.keep("m1", text="deploy", level=KEYWORDS)
    remembering.store.keep_original("m1", NOTE_TEXT)
    (item,) = remembering.memory.restore(["m1"])
    assert (item.text, item.reinforcements) == (NOTE_TEXT, 1)


def test_in_one_session_an_item_is_reinforced_once_whatever_is_done_with_it(remembering: Remembering):
    remembering.keep("m1", text=NOTE_TEXT)
    in_session = Memory(remembering.store, PROJECT, lambda: remembering.now, session="s1")
    for _ in range(3):
        remembering.now += 9 * HOUR
        in_session.show("m1")
        in_session.reinforce(["m1"])
    remembering.memory.learn(lesson("s1", at=remembering.now, shown=shown_in("bash scripts/ship.sh")))
    in_session.show("m1")
    assert remembering.item("m1").reinforcements == 1
    assert remembering.store.values("opened:") == {}
    Memory(remembering.store, PROJECT, lambda: remembering.now, session="s2").show("m1")
    assert remembering.item("m1").reinforcements == 2


def test_what_was_asked_for_on_twenty_days_and_is_worth_it_is_kept_for_good(remembering: Remembering):
    remembering.keep("m1", text=NOTE_TEXT, tier=WARM)
    for _ in range(20):
        remembering.after(DAY).search("deploy")
    remembering.after(8 * DAY).run()
    item = remembering.item("m1")
    assert (item.access_count, item.tier) == (20, ARCHIVE)
    assert item.score >= 0.8


# --- laws ----------------------------------------------------------------------------------------------------------------------------

KINDS: dict[str, dict[str, Any]] = {
    "a path": {"kind": PATH, "profile": "code", "text": "src/some/folder/of/the/shop/cart_total.ts"},
    "a note": {"kind": NOTE, "profile": "prose", "text": NOTE_TEXT, "uniqueness": 0.4},
    "of the specification": {"kind": NOTE, "profile": "spec", "text": NOTE_TEXT, "uniqueness": 0.3, "confidence": 0.5},
}
gaps = st.lists(st.floats(0.1, 2.9), min_size=3, max_size=25)


@given(st.sampled_from(sorted(KINDS)), gaps, st.integers(0, 12))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_used_in_every_session_never_falls_from_hot(what: str, days: list[float], others: int):
    """From its second use on, which brings it there; each of `days` lies between two sessions, with runs of the job in between."""
    kept = Remembering(InMemoryStore())
    kept.keep("m1", tier=WARM, **KINDS[what])
    for number, gap in enumerate(days, 1):
        kept.now += gap * DAY
        kept.memory.learn(lesson(f"s{number}", *(wrote(f"src/{number}/file_{each}.ts") for each in range(others)), at=kept.now, shown=()))
        Memory(kept.store, PROJECT, lambda: kept.now, session=f"s{number}").show("m1")
        for _ in range(3):
            kept.memory.run(force=True)
            assert number < 2 or kept.item("m1").tier in (HOT, ARCHIVE)
            kept.now += gap * DAY / 4


@given(st.sampled_from(sorted(KINDS)), st.sampled_from((HOT, WARM, COLD)), st.integers(0, 9))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_nobody_uses_is_cold_or_gone_within_a_month(what: str, tier: str, uses: int):
    kept = Remembering(InMemoryStore())
    kept.keep("m1", tier=tier, reinforcements=uses, reinforced=[NOW] * min(uses, 4), access_count=min(uses, 4), **KINDS[what])
    for number in range(10):
        kept.keep(f"n{number}", created_at=NOW + 1)  # it is not among the newest
    for _ in range(31):
        kept.after(DAY).run()
    assert {item.tier for item in kept.store.get(["m1"])} <= {COLD}
    assert kept.store.get(["m1"]) or not uses  # what was of use once is not deleted


@pytest.mark.parametrize(("uses", "days"), [(0, 7), (1, 10), (2, 15), (3, 23), (4, 30), (9, 30)])
def test_the_more_often_it_was_of_use_the_longer_warm_keeps_it(remembering: Remembering, uses: int, days: int):
    """The specification's schedule of reinforcements, to a month."""
    remembering.keep("m1", text=NOTE_TEXT, tier=WARM, reinforcements=uses, uniqueness=0.4)
    remembering.after(days * DAY).run()
    assert remembering.item("m1").tier == WARM
    remembering.after(DAY).run()
    assert remembering.item("m1").tier == COLD
