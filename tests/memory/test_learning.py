"""What sessions taught, merged; and use strengthens: what was shown and followed, opened or restored is reinforced, once a session; what
nobody uses fades."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.state import memory_reading
from popkit_retention.memory import document, extraction
from popkit_retention.memory.following import followed_ids
from popkit_retention.memory.items import (
    ARCHIVE,
    CODE,
    COLD,
    COMMAND,
    ERROR,
    HOT,
    KEYWORDS,
    NAME,
    NOTE,
    PATH,
    PROSE,
    SESSION,
    USER,
    WARM,
    Item,
    id_of,
)
from popkit_retention.memory.learning import learn
from popkit_retention.memory.lessons import Observation, Showing
from popkit_retention.memory.memory import Memory
from popkit_retention.memory.stores.in_memory import InMemoryStore
from tests.examples import examples

from .remembering import DAY, HOUR, NOW, PROJECT, Remembering, lesson, wrote
from .taught import SHOP, Session

CART = id_of(PROJECT, "path", "src/cart.ts")
BUILD = id_of(PROJECT, COMMAND, "npm run build")


def test_what_a_session_wrote_becomes_items(remembering: Remembering):
    learnt = remembering.memory.learn(
        lesson("s1", wrote("src/cart.ts", 3), wrote("npm run build", kind=COMMAND), wrote("Use tabs.", kind=NOTE))
    )
    assert (learnt.added, learnt.strengthened, learnt.used, learnt.number) == (3, 0, 0, 1)
    cart = remembering.item(CART)
    assert (cart.text, cart.profile, cart.source, cart.writes, cart.sessions, cart.session) == ("src/cart.ts", CODE, SESSION, 3, 1, 1)
    assert (cart.created_at, cart.last_accessed, cart.access_count, cart.reinforcements) == (NOW, NOW, 0, 0)
    note = remembering.item(id_of(PROJECT, NOTE, "Use tabs."))
    assert (note.profile, note.source, note.confidence) == (PROSE, USER, 1.0)


def test_the_newest_of_a_session_begin_hot_and_the_rest_warm(remembering: Remembering):
    many = [wrote(f"src/file_{number:02}.ts", at=NOW - number * 60) for number in range(14)]
    remembering.memory.learn(lesson("s1", *many))
    assert [item.text for item in remembering.memory.list(tiers=[WARM], most=None)] == [
        f"src/file_{number}.ts" for number in (10, 11, 12, 13)
    ]
    assert len(remembering.memory.list(tiers=[HOT])) == 10


def test_a_later_session_that_writes_it_again_strengthens_it(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts", 2)))
    learnt = remembering.after(DAY).learn(lesson("s2", wrote("src/cart.ts", 5), at=NOW + DAY))
    assert (learnt.added, learnt.strengthened, learnt.used, learnt.number) == (0, 1, 0, 2)
    cart = remembering.item(CART)
    assert (cart.writes, cart.sessions, cart.reinforcements, cart.access_count, cart.session) == (7, 2, 1, 1, 2)
    assert cart.last_accessed == NOW + DAY


def test_what_could_only_be_known_from_memory_is_counted_as_used(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("npm run build", kind=COMMAND)))
    learnt = remembering.memory.learn(
        lesson("s2", wrote("npm run build", kind=COMMAND), wrote("src/new.ts"), unaided=("npm run build", "src/new.ts"))
    )
    assert learnt.used == 1
    assert remembering.memory.status()["used"] == 1


def test_a_session_taught_twice_counts_once(remembering: Remembering):
    first = lesson("s1", wrote("src/cart.ts", 2), wrote("npm run build", kind=COMMAND))
    remembering.memory.learn(first)
    before = [remembering.item(id) for id in (CART, BUILD)]
    assert remembering.memory.learn(first).added == 0
    assert [remembering.item(id) for id in (CART, BUILD)] == before
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts", 5)))
    cart, build = (remembering.item(id) for id in (CART, BUILD))
    assert (cart.writes, cart.sessions, cart.reinforcements) == (5, 1, 0)
    assert (build.writes, build.sessions) == (0, 0)


def test_what_the_user_has_forgotten_is_not_learnt_again(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts")))
    remembering.memory.forget([CART])
    remembering.after(25 * HOUR).run()
    assert remembering.store.get([CART]) == []
    assert remembering.memory.learn(lesson("s2", wrote("src/cart.ts"))).added == 0
    assert remembering.store.get([CART]) == []


def test_what_the_user_has_taken_back_is_learnt_on(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts")))
    remembering.memory.forget([CART])
    remembering.memory.undo()
    remembering.memory.learn(lesson("s2", wrote("src/cart.ts")))
    assert remembering.item(CART).sessions == 2


def test_projects_are_kept_apart(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts")))
    other = Remembering(remembering.store, "other-project")
    other.memory.learn(lesson("s9", wrote("src/cart.ts"), project="other-project"))
    assert [item.sessions for item in (*remembering.memory.list(), *other.memory.list())] == [1, 1]
    assert other.memory.learn(lesson("s10", wrote("a.ts"), project="other-project")).number == 2


texts = st.sampled_from(["src/a.ts", "src/b.ts", "src/c.ts", "src/d.ts"])
sessions = st.lists(st.dictionaries(texts, st.integers(1, 9), max_size=4), min_size=1, max_size=5)


@given(sessions, st.randoms(use_true_random=False))
def test_counts_do_not_depend_on_the_order_or_repetition_of_taught_sessions(taught: list[dict[str, int]], random):
    lessons = [lesson(f"s{number}", *(wrote(text, writes) for text, writes in each.items())) for number, each in enumerate(taught)]
    shuffled = [*lessons, *lessons[:2]]
    random.shuffle(shuffled)
    counts = []
    for order in (lessons, shuffled):
        kept = Remembering(InMemoryStore())
        for each in order:
            kept.memory.learn(each)
        counts.append({item.text: (item.writes, item.sessions) for item in kept.memory.list(most=None)})
    assert counts[0] == counts[1]


def test_what_was_merely_written_is_an_access_of_what_is_known_and_nothing_new(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("countTheCoins", kind="name")))
    again = replace(lesson("s2", at=NOW + DAY), written=(("name", "countTheCoins"), ("name", "somethingElse")), unaided=("countTheCoins",))
    remembering.after(DAY)
    for _ in range(2):
        assert remembering.memory.learn(again).used == 1
    (item,) = remembering.memory.list()
    assert (item.sessions, item.writes, item.access_count) == (1, 1, 1)


def test_an_item_found_to_be_gone_is_not_listed_until_a_session_shows_it_again(remembering: Remembering):
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts", opened=True)))
    remembering.memory.learn(replace(lesson("s2"), missing=(("path", "src/cart.ts"), ("path", "src/never.ts"))))
    assert remembering.memory.document(500).text == ""
    remembering.memory.learn(lesson("s3", wrote("src/cart.ts", opened=True)))
    assert "cart.ts" in remembering.memory.document(500).text


# --- use strengthens ----------------------------------------------------------------------------------------------------------------------

NOTE_TEXT = "Deploy with scripts/ship.sh, never by hand."


def shown_in(*wrote: str, text: str = NOTE_TEXT) -> tuple[Showing, ...]:
    return (Showing(f"# Project memory\n- {text}", "\n".join(wrote)),)


def followed_in(item: Item, text: str, wrote: str) -> bool:
    return followed_ids([Showing(text, wrote)], [item]) == [item.id]


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


@pytest.mark.parametrize("others", [0, 20])
def test_one_session_is_enough_for_what_was_read_twice_or_edited(session: Session, tmp_path, others: int):
    for path in ("src/cart/total.ts", "src/cart/total.ts", "src/index.ts", *(f"web/page{number}.tsx" for number in range(others))):
        session.read(f"/shop/{path}", "text")
    session.edit("/shop/src/till.ts", "x")
    store = InMemoryStore()
    learn(store, extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP), NOW)
    built = document.build(store.scan(SHOP.key), 500, verdicts={})
    assert {"src/cart/total.ts", "src/till.ts"} <= set(memory_reading.paths_in(built.text))


def test_an_item_tells_its_sessions_apart_and_a_filter_finds_the_first(remembering: Remembering):
    for number, texts in ((1, ["src/cart.ts"]), (2, ["src/cart.ts", "src/till.ts"]), (3, ["src/cart.ts"])):
        remembering.memory.learn(lesson(f"s{number}", *[wrote(text) for text in texts]))
    assert remembering.memory.why(CART)["sessions"] == ["s1", "s2", "s3"]
    assert [item.text for item in remembering.memory.list(where={"episode": "s2"})] == ["src/till.ts"]
    assert [item.text for item in remembering.memory.list(where={"session_id": "s2"})] == []


def broke(fix: str, times: int = 1) -> Observation:
    return wrote("pnpm test: Error: no module", times, kind=ERROR, fix=fix, times=times)


@pytest.mark.parametrize(
    ("sessions", "listed"),
    [
        ([broke("run pnpm install")], False), ([broke("run pnpm install"), broke("run pnpm install")], True),
        ([broke("run pnpm install", 2)], True), ([broke("run pnpm install"), broke("run pnpm build")], False),
        ([broke("run pnpm install"), broke("run pnpm build"), broke("run pnpm build")], True),
    ],
)  # fmt: skip
def test_an_error_is_told_where_the_same_fix_has_ended_it_twice(sessions: list[Observation], listed: bool):
    store = InMemoryStore()
    for number, each in enumerate(sessions):
        learn(store, lesson(f"s{number}", each), NOW)
    built = document.build(store.scan(PROJECT), verdicts={})
    assert (f"→ {sessions[-1].details['fix']}" in built.text) == listed


def test_a_fix_counts_once_however_often_its_session_is_learnt():
    store = InMemoryStore()
    for _ in range(3):
        learn(store, lesson("s1", broke("run pnpm install")), NOW)
    assert document.build(store.scan(PROJECT), verdicts={}).text == ""


def test_words_that_anybody_writes_are_no_name():
    assert not followed_in(Item("m1", NOTE_TEXT), NOTE_TEXT, "I deploy it by hand, never mind.")


@pytest.fixture
def session() -> Session:
    begun = Session()
    begun.prompt("go on")
    return begun


def given_by_hook(session: Session, text: str) -> None:
    attached = {"type": "hook_additional_context", "content": [text], "hookName": "SessionStart:startup"}
    session.add("attachment", attachment=attached)


def test_what_a_hook_gave_and_a_search_found_was_shown(session: Session, tmp_path):
    given_by_hook(session, f"# Project memory\n\n- {NOTE_TEXT}")
    given_by_hook(session, "something of another plugin's")
    session.run("popkit memory admin search deploy", "m1 note Deploy")
    session.use("t9", "mcp__popkit__memory_search", {"query": "deploy"})
    session.result("t9", '{"items": [{"id": "m2"}]}')
    session.run("ls", "a.ts")
    texts = [each.text for each in extraction.lesson(session.write(tmp_path / "s.jsonl"), SHOP).shown]
    assert texts == [f"# Project memory\n\n- {NOTE_TEXT}", "m1 note Deploy", '{"items": [{"id": "m2"}]}']


def test_ten_requests_are_looked_at_after_something_was_shown(session: Session, tmp_path):
    session.run("echo before", "")
    session.run("popkit memory admin search deploy", "m1 note Deploy")
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
@settings(max_examples=examples(20, 100))
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
@settings(max_examples=examples(20, 100))
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
