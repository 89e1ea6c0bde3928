"""The journal: every entry means the event that it was written for, and books what it cost; what cannot be understood means nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.bookings import Advice, Cleared, KeptOut, Refetched, Remembered, Restored, Undone
from popkit_retention.core.policy.context import OUTSIDE
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.settling import settle
from popkit_retention.core.policy.usage import Usage
from popkit_retention.core.state import journal, journal_bookings, rebuild
from tests.policy.scenario import SHIPPED
from tests.state.test_places import Measured

CLEAR = journal.cleared(["t1", "t2"], 8_000, {}, 10.0)
RULES = Ruleset.from_config(SHIPPED, TOOLS)

# What is written -> (name of the event, its fields, the booking), None where it means none.
ENTRIES = {
    "a pin": (journal.pinned("*.py", 5.0), ("pinned", {"target": "*.py", "at": 5.0}), None),
    "an unpin": (journal.unpinned("t1", 5.0), ("unpinned", {"target": "t1", "at": 5.0}), None),
    "a profile": (journal.profile_chosen("spec", 5.0), ("profile_chosen", {"profile": "spec", "at": 5.0}), None),
    "the configured profile": (journal.profile_chosen(None, 5.0), ("profile_chosen", {"profile": None, "at": 5.0}), None),
    "an end": (journal.ended("other", 5.0), ("client_ended", {"at": 5.0, "why": "other"}), None),
    "a resumption": (journal.resumed(5.0), ("resumed", {"at": 5.0}), None),
    "the end of what nobody resumes": (journal.over(5.0), ("session_ended", {"at": 5.0}), None),
    "a commit": (journal.committed("t1", ["/p/a.py"], 5.0), None, None),
    "a change on disk": (
        journal.files_changed({"/p/a.py": "modified"}, 5.0), ("files_changed", {"changes": {"/p/a.py": "modified"}, "at": 5.0}), None,
    ),
    "a change before a call": (
        journal.files_changed({"/p/a.py": "modified"}, 5.0, "t1"), ("files_changed", {"changes": {"/p/a.py": "modified"}, "at": 5.0}), None,
    ),
    "a clear": (
        journal.cleared(["t1"], 900, {"t1": "unused"}, 5.0), ("manual_clear", {"ids": ["t1"], "at": 5.0, "reasons": {"t1": "unused"}}),
        (Cleared, {"at": 5.0, "tokens": 900, "results": 1, "ids": ("t1",)}),
    ),
    "a clear by the user": (CLEAR, ("manual_clear", {"ids": ["t1", "t2"], "reasons": {}}), (Cleared, {"tokens": 8_000, "results": 2})),
    "a clear outside": (
        journal.cleared_outside(["t1", "t2"], 700, "by the API", 5.0),
        ("cleared_outside", {"ids": ["t1", "t2"], "how": "by the API", "at": 5.0}),
        (Cleared, {"at": 5.0, "tokens": 700, "results": 2}),
    ),
    "what entered shorter": (
        journal.entered("t2", ["t1"], "abcd2345", 900, 200, 70, ["90 lines that the context already shows"], 5.0),
        ("entered", {"id": "t2", "leans_on": ("t1",), "handle": "abcd2345", "left_out": 700, "tokens": 70, "at": 5.0}),
        (KeptOut, {"id": "t2", "at": 5.0, "tokens": 243}),  # 69.5 tokens in 200 characters, so 243 in the other 700
    ),
    "what entered whole after all": (journal.entered_whole("t2", 5.0), None, None),
    "an undo": (
        journal.undone(["t1"], 900, 5.0), ("undone", {"ids": ["t1"], "at": 5.0}), (Undone, {"at": 5.0, "tokens": 900, "ids": ("t1",)}),
    ),
    "a restore that was printed": (journal.restored("t1", 5.0), ("restored", {"id": "t1", "in_place": False, "at": 5.0}), None),
    "a restore in place": (
        journal.restored("t1", 5.0, 900), ("restored", {"id": "t1", "in_place": True, "at": 5.0}),
        (Restored, {"at": 5.0, "tokens": 900, "in_place": True, "ids": ("t1",)}),
    ),
    "what memory gave": (journal.remembered("# Memory", 3, 5.0), None, (Remembered, {"at": 5.0, "tokens": 3})),
    "our own text": (journal.advised(400, 5.0), None, (Advice, {"at": 5.0, "tokens": 400})),
}  # fmt: skip


def test_an_entry_says_no_more_on_disk_than_it_has_to():
    written = [
        journal.pinned("t1", 5.0), journal.unpinned("t1", 5.0), journal.profile_chosen(None, 5.0), journal.ended("other", 5.0),
        journal.resumed(5.0), journal.over(5.0), journal.committed("t1", None, 5.0), journal.files_changed({"/a": "deleted"}, 5.0),
        journal.entered_whole("t1", 5.0), journal.cleared(["t1"], 9, {}, 5.0), journal.cleared_outside(["t1"], 9, "so", 5.0),
        journal.compacted("due", 9, 5, ("h",), 5.0), journal.compacted("due", 9, 5, ("h",), 5.0, 2, True), journal.put_back(("h",), 5.0),
        journal.put_back(("h",), 5.0, 7), journal.undone(["t1"], 9, 5.0), journal.restored("t1", 5.0), journal.advised(9, 5.0),
    ]  # fmt: skip
    assert [{name: value for name, value in entry.items() if name != "at"} for entry in written] == [
        {"event": "pin", "target": "t1"}, {"event": "unpin", "target": "t1"}, {"event": "profile", "target": None},
        {"event": "end", "why": "other"}, {"event": "resumed"}, {"event": "over"}, {"event": "commit", "call": "t1", "files": None},
        {"event": "changed", "changes": {"/a": "deleted"}}, {"event": "entered", "id": "t1", "whole": True},
        {"event": "clear", "ids": ["t1"], "tokens": 9}, {"event": "outside", "ids": ["t1"], "tokens": 9, "how": "so"},
        {"event": "compact", "why": "due", "before": 9, "after": 5, "beside": 0, "handles": ["h"]},
        {"event": "compact", "why": "due", "before": 9, "after": 5, "beside": 2, "handles": ["h"], "summarised": True},
        {"event": "back", "handles": ["h"]}, {"event": "back", "handles": ["h"], "stands": 7},
        {"event": "undo", "ids": ["t1"], "tokens": 9}, {"event": "restore", "id": "t1"}, {"event": "advice", "tokens": 9},
    ]  # fmt: skip


def of(thing: object, fields: dict) -> dict:
    return {name: getattr(thing, name) for name in fields}


@pytest.mark.parametrize(("entry", "event", "booking"), ENTRIES.values(), ids=ENTRIES)
def test_an_entry_that_was_written_and_read_means_what_it_was_written_for(entry: dict, event: tuple | None, booking: tuple | None):
    [read] = journal.entries_of([json.loads(json.dumps(entry))])
    meant, booked = journal.event_of(read), journal_bookings.booking_of(read)
    if event is None:
        assert meant is None
    else:
        assert (meant.name, of(meant, event[1])) == event
    if booking is None:
        assert booked is None
    else:
        assert (type(booked), of(booked, booking[1])) == booking


def test_every_constructor_is_among_them():
    events = {entry["event"] for entry, _, _ in ENTRIES.values()}
    others = {"pin", "unpin", "profile", "end", "resumed", "over", "commit", "changed", "clear", "outside", "undo", "restore", "advice"}
    assert events == {*others, "entered", "memory"}


def test_an_entry_that_names_a_call_comes_before_it_any_other_goes_by_its_time():
    entries = [
        journal.pinned("b", 9.0),
        journal.files_changed({"/p/a": "modified"}, 8.0, "t1"), journal.files_changed({"/p/b": "gone"}, 7.0, "t9"),
        journal.committed("t2", ["/p/a"], 3.0), journal.committed("t3", None, 3.0), journal.pinned("a", 1.0), journal.advised(4, 1.0),
    ]  # fmt: skip
    sorted_entries = journal.SortedEntries(entries, {"t1", "t2"})
    assert {call: [event.name for event in before] for call, before in sorted_entries.before.items()} == {"t1": ["files_changed"]}
    assert [event.at for event in sorted_entries.timed] == [1.0, 7.0, 9.0], "a call that is not known is a time"
    assert sorted_entries.commits == {"t2": ["/p/a"], "t3": None}


def test_what_memory_gave_comes_in_order_of_time():
    entries = [journal.remembered("b", 3, 9.0), journal.advised(3, 1.0), journal.remembered("a", 3, 5.0), {"event": "memory", "at": 1.0}]
    assert journal_bookings.remembered_texts(entries) == [(5.0, "a"), (9.0, "b")]


def test_a_clear_by_the_provider_removes_results_and_moves_what_follows_them(tmp_path):
    lines = Measured()
    lines.prompt()
    for id in "abc":
        lines.call(id)
    entry = journal.cleared_outside(["a"], 900, "by the API", lines.now + 0.5)

    def rebuilt_with(*entries: dict) -> rebuild.Rebuild:
        return rebuild.rebuild(lines.write(tmp_path / "s.jsonl"), list(entries), lambda profile: RULES)

    before, after = rebuilt_with(), rebuilt_with(entry)
    assert after.state.expired["a"].cleared == OUTSIDE
    assert after.state.expired["a"].ended[4] == ["by the API"]
    assert after.conversation.places["c"].prefix < before.conversation.places["c"].prefix
    assert after.state.counts.ledger["clears"] == 1, "though no placeholder of ours stands for it"


# --- what it books ----------------------------------------------------------------------------------------------------------------


def settled(rows: list, entries: list, standing: set, again: tuple = (), printed: tuple = ()) -> dict:
    """The ledger as a rebuild settles it."""
    booked = [*journal_bookings.bookings(entries, standing), *(Refetched(at, tokens) for at, tokens in again)]
    booked += [Restored(at, tokens) for at, tokens in printed]
    return settle([rebuild.moment(usage, added, RULES.models) for usage, added in rows], booked).to_json()


def request(at: float, tokens: int, added: int = 100, read: int | None = None, model: str = "claude-opus-4-8") -> tuple:
    read = tokens - added if read is None else read
    return Usage(tokens, at, model, 300, read, tokens - read), added


WITHOUT = [request(5.0, 20_000), request(20.0, 20_100), request(30.0, 20_200)]
WITH = [request(5.0, 20_000), request(20.0, 12_100, read=4_000), request(30.0, 12_200)]
BOTH = {"t1", "t2"}


def test_pins_and_commits_book_nothing():
    assert journal_bookings.bookings([journal.pinned("x", 1.0), {"event": "commit", "at": 1.0, "tokens": 7}], {"t1"}) == []


def test_a_clear_counts_once_a_request_shows_that_it_is_gone():
    figures = settled(WITH, [CLEAR], BOTH)
    assert (figures["confirmed"], figures["reclaimed_tokens"], figures["pending_tokens"]) == (1, 8_000, 0)
    assert figures["charged_rewrite"] > 0


def test_it_is_reckoned_at_the_prices_of_the_model_that_answered():
    dear = settled(WITH, [CLEAR], BOTH)
    cheap = settled([request(5.0, 20_000), request(20.0, 12_100, read=4_000, model="unknown"), *WITH[2:]], [CLEAR], BOTH)
    model, other = RULES.models.model("claude-opus-4-8"), RULES.models.model("unknown")
    assert dear["saved"] - cheap["saved"] == pytest.approx(8_000 * (model.read - other.read), abs=0.2)


def test_a_clear_that_no_request_shows_is_pending():
    figures = settled(WITHOUT, [CLEAR], BOTH)
    assert (figures["confirmed"], figures["reclaimed_tokens"], figures["pending_tokens"]) == (0, 0, 8_000)
    assert (figures["saved"], figures["net"]) == (0, 0)


def test_a_clear_of_which_nothing_is_to_be_seen_came_to_nothing():
    assert journal_bookings.bookings([CLEAR], set()) == journal_bookings.bookings([CLEAR, journal.entered_whole("t1", 11.0)], set()) == []
    assert settled(WITHOUT, [CLEAR], {"t2"})["clears"] == 1


def test_a_clear_that_was_put_back_had_been_one():
    figures = settled(WITHOUT, [CLEAR, journal.undone(["t1", "t2"], 8_000, 12.0)], set())
    assert (figures["clears"], figures["undone"], figures["pending_tokens"]) == (1, 1, 0)
    figures = settled(WITHOUT, [CLEAR, journal.restored("t1", 12.0, 3_000)], set())
    assert (figures["restored"], figures["pending_tokens"]) == (1, 5_000)


def test_a_restore_that_was_printed_is_charged_where_its_result_is():
    printed = journal.restored("t1", 25.0)
    plain = settled(WITH, [CLEAR], BOTH)
    assert settled(WITH, [CLEAR, printed], BOTH) == plain, "the user saw it, not the model"
    charged = settled(WITH, [CLEAR, printed], BOTH, printed=((25.0, 900),))
    assert charged["charged_restores"] > 0
    assert charged["net"] < plain["net"]


def test_what_is_fetched_again_is_charged():
    plain, again = settled(WITH, [CLEAR], BOTH), settled(WITH, [CLEAR], BOTH, again=((25.0, 900),))
    assert (again["refetched"], again["charged_refetches"] > 0, again["net"] < plain["net"]) == (1, True, True)


def test_our_own_text_is_charged_without_any_clear():
    figures = settled(WITHOUT, [journal.advised(400, 10.0)], set())
    assert (figures["advice_tokens"], figures["charged_advice"] > 0, figures["net"] < 0) == (400, True, True)


def test_a_compaction_leaves_nothing_pending():
    figures = settled([request(5.0, 20_000), (Usage(at=15.0), 0), request(20.0, 6_000)], [CLEAR], BOTH)
    assert (figures["pending_tokens"], figures["reclaimed_tokens"]) == (0, 0)


def test_the_last_clear_of_a_result_is_the_one_that_counts():
    later = journal.cleared(["t2"], 100, {}, 40.0)
    by_provider = journal.cleared_outside(["t4"], 100, "by the API", 50.0)
    times = {"t1": 10.0, "t2": 40.0, "t4": 50.0}
    assert journal_bookings.clear_times(journal.entries_of([CLEAR, later, {"event": "clear", "ids": ["t3"]}, 7, by_provider])) == times


ENTERED = journal.entered("t1", [], "abcd2345", 9_000, 1_000, 300, ["noise"], 10.0)


def _kept_out(entries: list, **more) -> list:
    booked = journal_bookings.bookings(entries, set(), **more)
    return [(booking.id, booking.tokens) for booking in booked if isinstance(booking, KeptOut)]


def test_what_did_not_enter_is_booked_once_for_a_result_that_is_in_the_conversation():
    assert _kept_out([ENTERED]) == [("t1", 2_396)]  # 8,000 x 299.5 / 1,000
    assert _kept_out([{**ENTERED, "chars": 4_000}, ENTERED]) == [("t1", 2_396)]
    assert _kept_out([ENTERED], calls={"t1"}) == [("t1", 2_396)]


def test_a_shortening_stays_counted_and_saves_no_more_once_undone_or_off_its_branch():
    """Undone: the result is whole again."""
    whole = journal.made_whole(journal.event_of(ENTERED), 9_000, 15.0)
    sent = [request(5.0, 20_000), request(12.0, 21_000), request(20.0, 24_000), request(30.0, 24_500)]
    moments = [rebuild.moment(usage, added, RULES.models) for usage, added in sent]
    figures = {
        name: settle(moments, journal_bookings.bookings(entries, set(), calls)).to_json()
        for name, entries, calls in (("kept", [ENTERED], {"t1"}), ("whole", [ENTERED, whole], {"t1"}), ("left", [ENTERED], {"t2"}))
    }
    assert {name: each["kept_out_tokens"] for name, each in figures.items()} == dict.fromkeys(figures, 2_396)
    saved = {name: each.get("saved_kept_out", 0) for name, each in figures.items()}
    assert saved["kept"] > saved["whole"] > saved["left"] == 0


def test_it_is_booked_as_the_model_of_its_time_counts():
    assert _kept_out([ENTERED], as_counted=lambda tokens, at: tokens * 3 // 2 if at == 10.0 else 0) == [("t1", 3_594)]


def test_what_entered_whole_after_all_books_nothing_until_it_enters_shorter_again():
    whole = journal.entered_whole("t1", 11.0)
    assert _kept_out([ENTERED, whole]) == []
    assert _kept_out([ENTERED, whole, ENTERED]) == [("t1", 2_396)]


def test_of_a_result_that_left_nothing_behind_the_fewest_tokens_are_booked():
    assert _kept_out([{**ENTERED, "entered_chars": 0, "tokens": 0}]) == [("t1", 3_333)]  # 9,000 / 2.7
    assert _kept_out([{**ENTERED, "chars": 1_001, "tokens": 1_000}]) == [("t1", 1)]
    assert _kept_out([{**ENTERED, "entered_chars": 9_500}]) == [], "it is longer than it was"


def test_an_entry_estimated_in_another_way_counts_by_its_characters_alone():
    old = {name: value for name, value in ENTERED.items() if name != "tokenizer"}
    event = journal.event_of({**old, "tokens": 9})
    assert event.tokens == round(1_000 / 2.2)
    assert journal.event_of({**old, "entered_chars": 900}).tokens == round(900 / 2.2)
    assert _kept_out([{**old, "tokens": 9}]) == [("t1", round(8 * (event.tokens - 0.5)))]


# --- what nobody wrote ------------------------------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
KINDS = sorted({entry["event"] for entry, _, _ in ENTRIES.values()})
FIELDS = (
    "at", "ids", "id", "tokens", "in_place", "target", "changes", "reasons", "how", "why", "call", "files", "handle", "chars",
    "entered_chars", "leans_on", "prompt", "read", "created", "output", "whole",
)  # fmt: skip
HOSTILE = st.lists(
    st.one_of(
        ANYTHING,
        st.fixed_dictionaries({"event": st.sampled_from(KINDS) | ANYTHING}, optional=dict.fromkeys(FIELDS, ANYTHING)),
        st.sampled_from([entry for entry, _, _ in ENTRIES.values()]),
    ),
    max_size=8,
)


@given(HOSTILE)
def test_a_journal_may_hold_anything(lines):
    entries = journal.entries_of(lines)
    figures = settled(WITH, entries, {"t1"})
    assert all(isinstance(value, (int, float)) for value in figures.values())
    known = journal.SortedEntries(entries, {"t1"})
    assert [event.at for event in known.timed] == sorted(event.at for event in known.timed)
    assert all(isinstance(id, str) for id in journal_bookings.clear_times(entries))
    for entry in entries:
        event = journal.event_of(entry)
        assert event is None or abs(event.at) < 1e11


@pytest.mark.parametrize("tokens", [-5, True, 3.5, "8000", None])
def test_an_entry_without_a_count_reclaims_nothing(tokens):
    assert settled(WITH, journal.entries_of([{**CLEAR, "tokens": tokens}]), {"t1"})["reclaimed_tokens"] == 0


def test_a_restore_books_only_what_was_put_back_in_its_place():
    printed = {**journal.restored("t1", 5.0), "tokens": 900}
    assert journal_bookings.booking_of(printed) is None
    assert journal.event_of(printed).in_place is False


@pytest.mark.parametrize(
    ("entry", "fields"),
    [
        ({"event": "end"}, {"why": "", "at": 0.0}),
        ({"event": "outside", "ids": ["t1"]}, {"how": "", "ids": ["t1"]}),
        ({"event": "outside", "ids": ["t1"], "how": "x" * 201}, {"how": "x" * 200}),
        ({"event": "clear", "ids": []}, {"reasons": {}, "ids": []}),
        ({"event": "restore", "id": "t1", "in_place": 1}, {"in_place": False}),
        ({"event": "profile"}, {"profile": None}),
    ],
)
def test_what_an_entry_leaves_out_is_empty(entry: dict, fields: dict):
    assert of(journal.event_of(journal.entry_of(entry)), fields) == fields


@pytest.mark.parametrize("kind", ["pin", "unpin", "changed", "clear", "outside", "undo", "entered", "restore", "commit", "advice", "other"])
def test_an_entry_without_what_it_is_about_means_nothing(kind: str):
    assert journal.event_of(journal.entry_of({"event": kind, "at": 5.0})) is None


@pytest.mark.parametrize("name", ["id", "handle", "leans_on", "reasons", "tokens", "chars", "entered_chars"])
def test_a_shortening_that_lacks_a_field_is_none(name: str):
    assert journal.event_of(journal.entry_of({**ENTERED, name: None})) is None


@pytest.mark.parametrize(
    ("tokens", "entered_chars", "chars", "kept_out"),
    [
        (300, 1_000, 9_000, 2_396),
        (0, 1_000, 9_000, 0),
        (1, 1_000, 9_000, 4),
        (300, 9_000, 9_000, 0),
        (300, 9_001, 9_000, 0),
        (9, 0, 27, 10),
    ],
)
def test_what_was_kept_out_is_estimated_by_what_entered(tokens: int, entered_chars: int, chars: int, kept_out: int):
    event = journal.event_of({**ENTERED, "tokens": tokens, "entered_chars": entered_chars, "chars": chars})
    assert (event.kept_out, event.left_out, event.tokens) == (kept_out, chars - entered_chars, tokens)
    whole = journal.made_whole(event, chars, 6.0)
    assert (whole["tokens"], whole["chars"], whole["entered_chars"], whole["leans_on"]) == (tokens + kept_out, chars, chars, [])
    assert whole["reasons"] == ["whole again: what it referred to was taken out"]


def test_a_result_is_whole_where_its_entry_says_so_or_nothing_was_left_out():
    whole = [journal.entered_whole("t1", 5.0), {**ENTERED, "chars": 1_000}, {**ENTERED, "whole": True}]
    assert [journal.id_made_whole(entry) for entry in whole] == ["t1"] * 3
    others = [ENTERED, {**ENTERED, "whole": False}, {**whole[0], "event": "clear"}, {"event": "entered", "whole": True}]
    assert [journal.id_made_whole(entry) for entry in others] == [None] * 4
    for end in whole[:2]:
        assert journal.SortedEntries([ENTERED, end], set()).entered.keys() == ({"t1"} if end is whole[1] else set())
    assert journal.SortedEntries([ENTERED, {"event": "entered", "whole": True}], set()).entered.keys() == {"t1"}
    assert not journal.SortedEntries([journal.entered_whole("t1", 5.0)], set()).entered


@pytest.mark.parametrize(
    ("at", "time"), [(None, 0.0), (1e11, 0.0), (-1e11, 0.0), (99_999_999_999.0, 99_999_999_999.0), (-5.0, -5.0), (0, 0)]
)
def test_a_time_is_one_of_a_session(at: float | None, time: float):
    assert journal.bounded_time(at) == journal.time_of({"event": "x", "at": at}) == time


def test_a_clear_of_nobody_knows_what_counts_as_one_while_anything_stands():
    [cleared] = journal_bookings.bookings([{"event": "clear", "at": 1.0, "tokens": 5}], {"t1"})
    assert (cleared.results, cleared.ids, cleared.tokens) == (1, (), 5)
    gone, stands = journal.cleared(["t9"], 5, {}, 2.0), journal.cleared(["t1", "t8"], 7, {}, 3.0)
    assert [booking.tokens for booking in journal_bookings.bookings([gone, stands], {"t1"})] == [7]
    outside = [journal.cleared_outside(["t9"], 5, "", 2.0), journal.cleared_outside(["t8"], 6, "", 2.0, by_user=False)]
    assert [(booking.tokens, booking.results) for booking in journal_bookings.bookings(outside, {"t1"})] == [(5, 1), (0, 0)]
    assert (journal_bookings.ids_outside(outside), journal_bookings.ids_outside(outside, by_user=True)) == ({"t8", "t9"}, {"t9"})


@pytest.mark.parametrize(
    ("known", "booked"), [(None, [(KeptOut, 2_396)]), ({"t1"}, [(KeptOut, 2_396)]), (set(), [(KeptOut, 2_396), (Cleared, 0)])]
)
def test_what_was_kept_out_of_a_result_off_the_branch_saves_no_more(known: set | None, booked: list):
    made = journal_bookings.bookings([ENTERED], set(), known)
    assert [(type(booking), booking.tokens) for booking in made] == booked
    assert all(booking.at == 10.0 for booking in made)
    assert [(booking.results, booking.ids) for booking in made[1:]] == [(0, ("t1",))] * len(made[1:])


@pytest.mark.parametrize("at", [1e12, -1e12, float("inf"), float("nan"), "5", None])
def test_a_time_that_cannot_be_is_none(at):
    assert journal.event_of(journal.entry_of({**CLEAR, "at": at})).at == 0.0


def test_a_reason_is_no_novel():
    event = journal.event_of(journal.entry_of(journal.cleared(["t1"], 5, {"t1": "x" * 9_000, "t2": 7}, 1.0)))
    assert (list(event.reasons), len(event.reasons["t1"])) == (["t1"], 200)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (7, None),
        ([], None),
        ({"event": 7, "at": 1.0}, None),
        ({"event": "profile", "target": 7, "at": 1.0}, None),
        ({"event": "pin", "target": 7, "at": "now"}, {"event": "pin", "target": None, "at": None}),
        ({"event": "undo", "ids": ["t1", 7], "tokens": True}, {"event": "undo", "ids": ["t1"], "tokens": None}),
        ({"event": "back", "handles": "abcd2345", "stands": -1}, {"event": "back", "handles": None, "stands": None}),
        ({"event": "clear", "reasons": {"t1": "edited", "t2": 7}, "of": 1}, {"event": "clear", "reasons": {"t1": "edited"}}),
    ],
)
def test_a_field_of_another_type_than_it_is_written_in_is_read_as_null(line, read):
    assert journal.entry_of(line) == read


@pytest.mark.parametrize("entry", [entry for entry, _, _ in ENTRIES.values()])
def test_an_entry_is_read_as_it_was_written(entry):
    assert journal.entry_of(entry) == entry
