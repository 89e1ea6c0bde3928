"""What memory has spared: names that it gave and that the assistant wrote unaided, each answer worth one look-up of the session's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.bookings import Spared
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.placeholder import placeholder
from popkit_retention.core.state import journal, reconciling, stale_ledgers, store
from popkit_retention.core.state.site import Site
from popkit_retention.core.state.spared_lookups import Listener, Recall
from tests.policy.scenario import Scenario
from tests.views.written import BEGAN, PROJECT, Written

MEMORY = """# Memory of shop

- src/checkout/: basket_totals.ts, coupons.ts, payment_page.ts
- package.json

## Commands that worked
```sh
npm run check:types -- --strict
```
- `make all-the-docs FAST=1` needs graphviz"""
TOTALS, COUPONS, PAYMENT = "src/checkout/basket_totals.ts", "src/checkout/coupons.ts", "src/checkout/payment_page.ts"
CHECK = "npm run check:types -- --strict"


def recall(text: str = MEMORY, at: float = 0.0) -> Recall:
    """One in which an answer has named a file already: the first counts for nothing."""
    found = Recall([(at, text)], PROJECT)
    found.wrote([PAYMENT], at, "m0")
    return found


def spared(found: Recall) -> list[float]:
    """When look-ups were spared, of a session that made one."""
    found.looked_up(100, "a look-up")
    return [booking.at for booking in found.bookings(1.0)]


@pytest.mark.parametrize(
    "text",
    [
        TOTALS,
        f"{PROJECT}/{TOTALS}",
        f"./{TOTALS}:12",
        f"The sum is in `{TOTALS}`.",
    ],
)
def test_a_file_of_memory_that_nobody_has_named_spares_a_look_up(text: str):
    found = recall()
    found.wrote([text], 7.0, "m1")
    assert spared(found) == [7.0]


def test_the_first_answer_that_names_a_file_spares_nothing():
    found = Recall([(0.0, MEMORY)], PROJECT)
    found.wrote([TOTALS], 7.0, "m1")
    assert spared(found) == []


@pytest.mark.parametrize(
    "text",
    [
        "src/app/basket_totals_of_all.ts",  # another file
        "src/other/basket_totals.ts",  # of another folder
        "basket_totals.ts",  # in no folder: what every project has is called so too
        f"packages/mobile/{TOTALS}",
        f"{PROJECT}{TOTALS}",  # of a folder beside the project
        "out/a.ts",
        f"{CHECK} | tail",  # a CLAUDE.md says how to check
        "src/checkout/",
        "",
    ],
)
def test_what_memory_did_not_tell_spares_nothing(text: str):
    found = recall()
    found.wrote([text], 7.0, "m1")
    assert spared(found) == []


@pytest.mark.parametrize("heard", [TOTALS, "/elsewhere/basket_totals.ts:3: code", '{"file":"basket_totals.ts"}'])
def test_a_file_whose_name_a_result_or_a_prompt_has_held_is_not_unaided(heard: str):
    found = recall()
    found.note_mentions(heard)
    found.wrote([TOTALS], 7.0, "m1")
    assert spared(found) == []


def test_each_file_counts_once_and_the_files_of_one_answer_as_one():
    found = recall()
    found.wrote([TOTALS], 7.0, "m1")
    found.wrote([COUPONS], 7.5, "m1")
    found.wrote([TOTALS], 8.0, "m2")
    assert spared(found) == [7.0]


def test_what_was_written_before_memory_gave_it_was_not_known_from_there():
    found = Recall([(5.0, MEMORY)], PROJECT)
    found.wrote([TOTALS], 4.0, "m1")
    found.wrote([PAYMENT], 5.5, "m2")
    found.wrote([COUPONS], 6.0, "m3")
    assert spared(found) == [6.0]
    found = Recall([(5.0, MEMORY), (9.0, "src/checkout/: later.ts")], PROJECT)
    for at, path in ((5.5, PAYMENT), (6.0, COUPONS), (9.5, "src/checkout/later.ts")):
        found.wrote([path], at, f"at {at}")
    assert spared(found) == [6.0, 9.5]


def test_a_look_up_is_worth_what_those_of_the_session_cost_on_average():
    found = recall()
    found.wrote([TOTALS], 7.0, "m1")
    assert found.bookings(1.0) == [], "the session looked for nothing, so nobody knows what that costs"
    for tokens, answer in ((100, "m2"), (200, "m2"), (600, "m3")):
        found.looked_up(tokens, answer)
    (booked,) = found.bookings(2.0)
    assert isinstance(booked, Spared)
    assert (booked.tokens, booked.share) == (600, pytest.approx(2 / 3))


TEXTS = st.lists(st.sampled_from([TOTALS, COUPONS, CHECK, "coupons.ts", "package.json", "\ud800`", ""]), max_size=5)


@given(TEXTS, TEXTS, TEXTS)
def test_hearing_more_never_spares_more(heard: list[str], more: list[str], written: list[str]):
    def counted(mentions: list[str]) -> int:
        found = recall()
        for text in mentions:
            found.note_mentions(text)
        for number, text in enumerate(written):
            found.wrote([text], float(number), f"m{number}")
        return len(spared(found))

    assert counted(heard + more) <= counted(heard)


# --- what entries say ------------------------------------------------------------------------------------------------------------------

HANDLE = "abcd2345"
NAMES = "basket_totals.ts is there"


def says(text: object, answer: object = "m1", at: str = "2026-01-05T10:00:07Z", **more: object) -> dict[str, object]:
    """An entry of the assistant; a text, or the input of a call."""
    block = {"type": "text", "text": text} if isinstance(text, str) else {"type": "tool_use", "id": f"of {answer}", "input": text}
    return {"type": "assistant", "timestamp": at, "message": {"id": answer, "content": [block]}, **more}


def user(content: object) -> dict[str, object]:
    return {"type": "user", "message": {"content": content}}


def result(content: object) -> dict[str, object]:
    return user([{"type": "tool_result", "content": content}])


def looked_up() -> Scenario:
    scenario = Scenario()
    scenario.read("a.py", text="x\n" * 300, id="of m1")
    return scenario


def listened(*entries: dict[str, object], original: object = {HANDLE: NAMES}.get, on_branch: bool = True) -> list[Spared]:
    """What was spared of a session that has named a file unaided, heard these entries, and read one file."""
    listener = Listener([(0.0, MEMORY)], original)
    listener.listen(says(f"{PROJECT}/{PAYMENT}", "m0", cwd=PROJECT), True)
    for entry in entries:
        listener.listen(entry, on_branch)
    listener.listen(says(TOTALS), True)
    listener.looked_up(looked_up().result("of m1"))
    return listener.bookings(1.0)


@pytest.mark.parametrize(
    "entry",
    [
        user(NAMES),
        user([{"type": "text", "text": NAMES}]),
        result(NAMES),
        result([{"type": "text", "text": NAMES}]),
        result(placeholder("it", "old", HANDLE)),
        {"type": "attachment", "attachment": {"type": "file", "content": NAMES}},
        {"type": "attachment", "attachment": {"path": "/x/basket_totals.ts"}},
    ],
)
def test_a_name_in_what_the_user_or_the_host_adds_has_been_heard(entry: dict[str, object]):
    assert listened() != []
    assert listened(entry) == []


@pytest.mark.parametrize(
    "entry",
    [
        user("another.ts"),
        user(7),
        user([{"type": "text", "text": 7}, 7]),
        {"type": "user", "message": NAMES},
        {"type": "user"},
        result(placeholder("it", "old", "bbbb2345")),
        {"type": "attachment", "attachment": {"type": "hook_success", "content": NAMES}},
        {"type": "attachment", "attachment": NAMES},
        {"type": "system", "attachment": {"content": NAMES}},
        {"type": "system", "message": {"content": NAMES}},
    ],
)
def test_what_hooks_add_or_no_prompt_holds_has_not_been_heard(entry: dict[str, object]):
    (spared,) = listened(entry)
    assert (spared.at, spared.tokens, spared.share) == (1_767_607_207.0, looked_up().result("of m1").tokens, 1.0)


def test_a_placeholder_says_nothing_where_nobody_knows_its_content():
    assert listened(result(placeholder("it", "old", HANDLE)), original=None) != []


def test_an_answer_on_a_branch_that_was_left_neither_spares_nor_knows():
    assert [one.at for one in listened(says(COUPONS, "m9"), on_branch=False)] == [1_767_607_207.0]
    assert [one.at for one in listened(says(TOTALS, "m9"), on_branch=False)] == [1_767_607_207.0]
    assert len(listened(says(COUPONS, "m9", "2026-01-05T10:00:06Z"))) == 2


@pytest.mark.parametrize(
    ("written", "spares"),
    [({"file_path": COUPONS}, True), ({"edits": [{"in": [1, COUPONS]}]}, True), ({"n": 1}, False), ({COUPONS: 1}, False), (COUPONS, True)],
)
def test_the_texts_of_a_call_are_written_too(written: object, spares: bool):
    assert len(listened(says(written, "m9"))) == 1 + spares


def test_a_message_without_an_id_is_an_answer_all_the_same():
    assert len(listened(says(COUPONS, None), {"type": "assistant", "message": 7})) == 2
    assert len(listened(says(COUPONS, "m0"))) == 1, "of the answer that has counted already"


def test_where_a_session_began_its_paths_are_known_from_its_first_entry():
    def named(*folders: object) -> int:
        listener = Listener([(0.0, MEMORY)], None)
        for number, (folder, path) in enumerate(zip(folders, (PAYMENT, TOTALS, COUPONS))):
            listener.listen(says(f"{PROJECT}/{path}", f"m{number}", cwd=folder), True)
        listener.looked_up(looked_up().result("of m1"))
        return len(listener.bookings(1.0))

    assert (named(PROJECT, PROJECT, "/"), named(f"{PROJECT}/", "/", "/"), named("/", PROJECT, PROJECT), named(7, PROJECT)) == (2, 2, 0, 0)


def test_only_look_ups_that_went_well_say_what_one_costs():
    scenario = Scenario()
    scenario.read("a.py", text="x\n" * 300, id="of m1")
    scenario.grep("x", text="y\n" * 200, id="of m2")
    scenario.edit("b.py", id="of m3")
    scenario.bash("make", "z\n" * 200, id="of m4")
    scenario.read_fails("c.py")
    listener = Listener([(0.0, MEMORY)], None)
    listener.looked_up(scenario.result("of m1"))
    assert listener.bookings(1.0) == [], "before the first entry nobody listens"
    for entry in (says(PAYMENT, "m0"), says({"a": 1}, "m1"), says({"a": 1}, "m2"), says(TOTALS, "m5")):
        listener.listen(entry, True)
    for id in ("of m1", "of m2", "of m3", "of m4", "T5"):
        listener.looked_up(scenario.result(id))
    (spared,) = listener.bookings(2.0)
    assert (spared.tokens, spared.share) == (scenario.result("of m1").tokens + scenario.result("of m2").tokens, 1.0)
    listener.looked_up(scenario.result("of m2"))
    assert listener.bookings(2.0)[0].share == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("path", "spares"),
    [
        ("src/a.tests", False), ("src/ab.tests", True), ("./src/ab.tests", True), ("src/ab.tests.", True), ("src/ab.tests/", True),
        ("(src/ab.tests)", True), ("src/ab.tests\x7f", True), ("src/ab.tests,", True), ("src/ab.tests:3", True), ("x/src/ab.tests", False),
    ],
)  # fmt: skip
def test_a_path_of_twelve_characters_is_known_however_it_is_written(path: str, spares: bool):
    found = Recall([(0.0, "src/: a.tests, ab.tests, first.tests")], PROJECT)
    found.wrote(["src/first.tests"], 0.0, "m0")
    found.wrote([path], 7.0, "m1")
    assert spared(found) == ([7.0] if spares else [])


def test_names_without_an_ending_are_none_and_nothing_is_left_once_all_are_heard():
    found = Recall([(0.0, "src/checkout/: Makefile, a.ts\nb.ts")], PROJECT)
    assert not found.is_over
    found.note_mentions("./a.ts b.ts.")
    assert found.is_over
    found.wrote(["src/checkout/Makefile", "src/checkout/a.ts"], 7.0, "m1")
    assert spared(found) == []


# --- a whole session -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A session that was given memory at its start."""
    return Written(tmp_path / "p")


def ledger(written: Written, home: Path, given_at: float = BEGAN - 1.0) -> dict:
    site = written.site(home)
    store.journal(site.paths(), journal.remembered(MEMORY, estimate_tokens(MEMORY), given_at))
    return reconciling.reconcile(site, str(written.path)).state.counts.ledger


def test_a_session_that_used_its_memory(written: Written, tmp_path: Path):
    written.say("mend the sum of the basket")
    written.read(TOTALS)  # unaided, and itself what a look-up costs here
    written.bash("npm run check:types -- --strict")
    written.edit(COUPONS)
    written.ends()
    figures = ledger(written, tmp_path / "home")
    assert figures["spared"] == 1
    assert figures["memory_tokens"] == estimate_tokens(MEMORY)
    assert figures["saved_memory"] > 0
    assert figures["charged_memory"] > 0
    assert figures["net"] == pytest.approx(figures["saved_memory"] - figures["charged_memory"], abs=0.2)


def test_a_session_that_looked_for_it_all_the_same_was_only_charged(written: Written, tmp_path: Path):
    written.say("mend the sum of the basket")
    written.read(PAYMENT)  # the first that is named unaided counts for nothing
    written.call("Glob", {"pattern": "**/*total*"}, TOTALS)
    written.read(TOTALS)
    written.ends()
    figures = ledger(written, tmp_path / "home")
    assert (figures["spared"], figures["saved"]) == (0, 0)
    assert figures["net"] == -figures["charged_memory"] < 0


def test_what_memory_gave_is_settled_like_any_booking(written: Written, tmp_path: Path):
    written.say("go")
    written.read(TOTALS)
    site = written.site(tmp_path / "home")
    assert not stale_ledgers.is_due(site, str(written.path))
    store.journal(site.paths(), journal.remembered(MEMORY, 40, BEGAN))
    assert stale_ledgers.is_due(site, str(written.path))


def test_a_hidden_file_is_heard_of_by_its_name():
    text = "```\napps/api/: .env.example, .env.test\n```\nNever read apps/api/.env.production."
    for heard, spares in (("", [8.0, 9.0]), ("Copy .env.example first.", [9.0])):
        found = Recall([(0.0, text)], PROJECT)
        found.note_mentions(heard)
        for at, name in ((7.0, ".env.test"), (8.0, ".env.example"), (9.0, ".env.production")):
            found.wrote([f"apps/api/{name}"], at, name)
        assert spared(found) == spares


def test_the_bookings_of_another_session_are_settled_by_its_projects_configuration(written: Written, tmp_path: Path):
    site = written.site(tmp_path / "home")
    site.remember(project=PROJECT)
    other = Site({**site.environ, "CLAUDE_PROJECT_DIR": "/elsewhere"}, "another", "/elsewhere")
    found = stale_ledgers._site_of(other, written.session)
    assert (found.session_id, found.project) == (written.session, PROJECT)
