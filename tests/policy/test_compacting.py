"""A compaction without a model: what stands, what leaves, and in which order."""

from __future__ import annotations

from math import ceil

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.compacting import CALLS, INPUT, NEWEST, RESULT, compact, tokens_of
from popkit_retention.core.policy.left_names import room_for_names
from popkit_retention.core.policy.messages import ASSISTANT, USER, Message, ShownResult, Use, paired
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.placeholder import handle_in
from popkit_retention.core.policy.returning import put_back
from tests.policy.compactable import CODE, LONG, WORDS, Talk, archived, calls_in, handle_of, kinds, last_files, plain, reads, talk_of
from tests.policy.conversing import NEVER, SURE

OTHERS = NeedModel({"bias": -30.0, "kind other": 60.0})  # what tools found that are not known is needed, and nothing else


# --- what is dead ---------------------------------------------------------------------------------------------------------------------


def test_a_read_that_a_newer_one_replaced_leaves_and_the_newer_stays():
    talk = talk_of(lambda t: t.read("a.py", text=LONG), lambda t: t.read("a.py", text=LONG + "more"))
    done = talk.compact(1.0)
    assert kinds(done) == [(RESULT, "T1")]
    assert done.left[0].why.startswith("a newer run of the same thing")
    shown = calls_in(done.messages)["T1"][1]
    assert "Read a.py (a newer one follows)" in shown
    assert handle_in(shown) == done.left[0].handle
    assert calls_in(done.messages)["T2"] == calls_in(talk.messages)["T2"]
    assert done.after < done.before


@pytest.mark.parametrize("share", [0.5, 0.1, 0.0])
def test_the_newest_verdict_stays_at_every_target(share: float):
    def runs(talk: Talk) -> None:
        talk.bash("npm test", f"{LONG}\nTests: 4 failed, 8 passed")
        talk.bash("npm test", f"{LONG}\nTests: 3 failed, 9 passed")

    remaining = calls_in(talk_of(runs, quiet=40).compact(share).messages)
    assert "3 failed 9 passed" in remaining["T2"][1]


def test_where_nothing_is_dead_and_all_may_stay_all_stays():
    talk = talk_of(reads(6))
    done = talk.compact(1.0)
    assert (plain(done.messages), done.left, done.met) == (plain(talk.messages), [], True)
    assert done.before == done.after


def test_the_newest_calls_stand_even_if_they_are_dead():
    talk = talk_of(lambda t: t.read("a.py", text=LONG), lambda t: t.read("a.py", text=LONG + "more"), quiet=NEWEST - 2)
    assert talk.compact(1.0).left == []
    talk.nothing()
    assert kinds(talk.compact(1.0)) == [(RESULT, "T1")]


# --- as much as the target asks for ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.97, 0.85, 0.7, 0.55, 0.42, 0.25, 0.18])
def test_of_results_alike_the_oldest_leave_and_no_more_than_are_needed(share: float):
    talk = talk_of(reads(20), last_files)
    done, one = talk.compact(share), talk.compact(0.99)
    needed = ceil(((1 - share) * done.before + room_for_names(done.before, 1.0) - done.beside) / (one.before - one.after))
    assert done.met
    assert kinds(one) == [(RESULT, "T1")]
    assert kinds(done) == [(RESULT, f"T{n}") for n in range(1, needed + 1)]


def test_where_one_result_with_a_short_outline_makes_room_enough_no_other_leaves():
    text = "handleCheckout7 src/shop/cart.ts\n" + WORDS * 40
    talk = talk_of(lambda t: t.grep("total", text=text), lambda t: t.read("b.py", text=WORDS * 40))
    one = talk.compact(0.9)
    assert "handleCheckout7" in calls_in(one.messages)["T1"][1]
    done = talk.compact((one.after + 1) / one.before)
    assert kinds(done) == kinds(one) == [(RESULT, "T1")]


def test_a_result_that_is_likely_needed_stays_longer_than_one_that_is_not():
    talk = talk_of(lambda t: t.call("mcp__a__b", {}, LONG), reads(7), quiet=10)
    assert "T1" in {left.id for left in talk.compact(0.5, SURE).left}
    assert "T1" not in {left.id for left in talk.compact(0.5, OTHERS).left}


def test_what_left_comes_back_where_what_left_after_it_was_larger_than_needed():
    talk = talk_of(reads(3), lambda t: t.call("mcp__a__b", {}, LONG * 9), quiet=10)
    done = talk.compact(0.5, OTHERS)
    assert done.met
    assert {left.id for left in done.left} == {"T4"}


def test_a_repeatedly_read_result_outlasts_one_that_nobody_has_named_since():
    talk = talk_of(reads(6), lambda t: t.read("0.py", 3, 5), quiet=6)
    left = [one.id for one in talk.compact(0.6).left]
    assert "T2" in left


def test_the_content_of_a_written_file_leaves_the_call_before_the_call_itself():
    talk = talk_of(lambda t: t.write("/p/a.py", LONG), lambda t: t.change("/p/b.py", LONG, LONG + "x"), quiet=12)
    done = talk.compact(0.25)
    assert kinds(done) == [(INPUT, "T1"), (INPUT, "T2")]
    assert {left.why for left in done.left} == {"its effect is on disk"}
    assert [left.label for left in done.left] == ["Write /p/a.py", "Edit /p/b.py"]
    given = calls_in(done.messages)
    assert given["T1"][0]["file_path"] == "/p/a.py"
    assert "popkit restore" in given["T1"][0]["content"]
    assert given["T2"][0]["old_string"] != given["T2"][0]["new_string"]
    assert [text for _, text, _ in given.values()] == [text for _, text, _ in calls_in(talk.messages).values()], "results stand"


def test_of_an_edit_what_it_has_replaced_leaves_before_what_it_wrote():
    talk = talk_of(*[lambda t, n=n: t.change(f"/p/{n}.py", f"{n} {LONG}", f"{n} {LONG}new") for n in range(4)], quiet=12)
    done = talk.compact(0.72)
    given, whole = calls_in(done.messages), calls_in(talk.messages)
    assert kinds(done) == [(INPUT, f"T{n}") for n in (1, 2, 3)]
    for n in (1, 2, 3):
        assert "popkit restore" in given[f"T{n}"][0]["old_string"]
        assert given[f"T{n}"][0]["new_string"] == whole[f"T{n}"][0]["new_string"]


def test_both_sides_of_a_failed_edit_leave_together_because_it_replaced_nothing():
    talk = talk_of(
        lambda t: t.call("Edit", {"file_path": "/p/a.py", "old_string": LONG, "new_string": LONG + "1"}, "no", failed=True), quiet=40
    )
    remaining = [calls_in(talk.compact(share).messages)["T1"][0] for share in (0.9, 0.7, 0.5, 0.3, 0.0)]
    assert {bool(handle_in(given["old_string"])) == bool(handle_in(given["new_string"])) for given in remaining} == {True}
    assert handle_in(remaining[-1]["old_string"])


def test_of_the_newest_calls_large_ones_leave_like_all_others_but_the_last():
    large = CODE * 700
    talk = talk_of(lambda t: t.read("a.py", text=large), lambda t: t.read("b.py", text=large + "b"), reads(1), quiet=0)
    done = talk.compact(0.0)
    assert "T1" not in {id for id, (_, text, _) in calls_in(done.messages).items() if not handle_in(text)}
    assert calls_in(done.messages)["T3"] == calls_in(talk.messages)["T3"]
    alone = talk_of(reads(2), lambda t: t.read("b.py", text=large), quiet=0)
    assert calls_in(alone.compact(0.0).messages)["T3"] == calls_in(alone.messages)["T3"]


def test_an_error_that_was_asked_for_leaves():
    talk = talk_of(lambda t: t.bash_fails("mkdir src", LONG))
    assert kinds(talk.compact(1.0, only=("T1",))) == [(RESULT, "T1")]
    assert calls_in(talk.compact(0.0).messages)["T1"] == calls_in(talk.messages)["T1"]


def test_a_target_smaller_than_what_must_stay_is_reported_as_missed():
    done = talk_of(reads(3), lambda t: t.pin("*.py")).compact(0.1)
    assert not done.met
    assert "T1" in calls_in(done.messages)
    assert kinds(done) == []


def test_no_more_is_taken_than_it_takes_to_meet_the_tokens_that_may_always_stand():
    talk = talk_of(reads(8))
    whole, none, some = (compact(talk.messages, talk.conversation, NEVER, 0.0, handle_of, least=least) for least in (20_000, 0, 5_000))
    assert whole.left == []
    assert whole.met
    assert none.after < some.after <= 5_000 + some.beside < whole.after


def test_words_alone_stand_whatever_the_target_is():
    talk = Talk()
    for n in range(20):
        talk.say(USER if n % 2 else ASSISTANT, f"{n} {LONG}")
    done = talk.compact(0.0)
    assert plain(done.messages) == plain(talk.messages)
    assert not done.met


def test_of_nothing_nothing_is_left():
    done = Talk().compact(0.4)
    assert (done.messages, done.left, done.before, done.after, done.met) == ([], [], 0, 0, True)


# --- what must stand ------------------------------------------------------------------------------------------------------------------


MUST = {
    "a pinned result": lambda t: (t.read("a.py", text=LONG), t.pin("T1")),
    "an open error": lambda t: t.bash_fails("mkdir x", LONG),
    "a command that failed, and was not run again": lambda t: t.bash_fails("./deploy.sh --all", LONG),
    "a decision": lambda t: t.call("AskUserQuestion", {"questions": ["which"]}, LONG),
    "the last word on a run": lambda t: t.bash("npm test; git status; ls", LONG),
    "a short last word": lambda t: t.bash("npm test; git status; ls", "1 passing"),
}


@pytest.mark.parametrize("profile", ["auto", "spec"])
@pytest.mark.parametrize("what", MUST)
def test_it_stays_whole_at_every_target(what: str, profile: str):
    talk = Talk(profile)
    MUST[what](talk)
    reads(4)(talk)
    talk.nothing(NEWEST)
    for share in (0.5, 0.0):
        assert calls_in(talk.compact(share).messages)["T1"] == calls_in(talk.messages)["T1"]


def test_of_a_very_long_error_what_it_ended_with_stays_where_room_is_needed():
    talk = talk_of(lambda t: t.bash_fails("rg -n total src schema", CODE * 200 + "rg: schema: No such file or directory"), reads(4))
    assert talk.compact(1.0).left == []
    stays = calls_in(talk.compact(0.0).messages)["T1"][1]
    assert handle_in(stays)
    assert "rg: schema: No such file or directory" in stays


@pytest.mark.parametrize("profile", ["auto", "spec"])
def test_what_the_model_has_not_seen_yet_stays_dead_or_not(profile: str):
    talk = Talk(profile)
    talk.silent = True
    talk.at_once(*[lambda n=n: talk.read(f"{n % 5}.py", text=f"{n} {LONG}") for n in range(10)])
    talk.silent = False
    assert talk.compact(0.0).left == []
    talk.request()
    talk.nothing(NEWEST)
    assert {"T2", "T3", "T4"} <= {left.id for left in talk.compact(1.0).left}, "once it has seen them, those that are dead leave"


def test_a_pinned_result_stays_even_if_it_is_asked_for():
    talk = talk_of(reads(2))
    talk.pin("T1")
    assert kinds(talk.compact(1.0, only=("T1", "T2"))) == [(RESULT, "T2")]


# --- what was asked for ---------------------------------------------------------------------------------------------------------------


def test_requested_results_leave_whatever_their_state_and_other_dead_results_stay():
    """Live or not, old or new."""
    talk = talk_of(lambda t: t.read("a.py", text=LONG), lambda t: t.read("a.py", text=LONG + "more"), reads(1))
    done = talk.compact(0.1, only=("T3",))
    assert kinds(done) == [(RESULT, "T3")]
    assert done.messages[0].to_json() == talk.messages[0].to_json()


def test_the_result_of_a_call_that_was_asked_for_leaves_and_its_input_stays():
    given = {"notebook_path": "/p/a.ipynb", "new_source": LONG}
    talk = talk_of(lambda t: t.call("Bash", {"command": LONG}, LONG), lambda t: t.call("NotebookEdit", given, "Updated"))
    done = talk.compact(0.0, only=("T1", "T2"))
    assert kinds(done) == [(RESULT, "T1")]
    assert [each[0] for each in calls_in(done.messages).values()] == [each[0] for each in calls_in(talk.messages).values()]


@pytest.mark.parametrize("only", [(), ("T99",), ("",)])
def test_where_nothing_that_is_known_was_asked_for_nothing_leaves(only: tuple[str, ...]):
    assert talk_of(reads(3)).compact(0.0, only=only).left == []


def test_a_result_hardly_longer_than_its_placeholder_stays_even_if_it_is_asked_for():
    talk = talk_of(lambda t: t.bash("ls", "a.py\nb.py"))
    assert talk.compact(1.0, only=("T1",)).left == []


# --- what cannot be handed back -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "a picture", LONG])
@pytest.mark.parametrize("only", [None, (), ("T9",)])
def test_a_result_that_is_more_than_its_text_leaves_and_says_how_to_see_it(text: str, only):
    talk = talk_of(lambda t: t.read("pic.png", text="x"), quiet=0)
    talk.rows[-1] = Message(USER, "", (), [ShownResult("T1", text)])
    done = talk.compact(1.0, only=only, lost={"T1"})
    assert kinds(done) == [(RESULT, "T1")]
    assert handle_in(calls_in(done.messages)["T1"][1]) == done.left[0].handle
    assert done.left[0].content == text
    assert plain(put_back(done.messages, archived(done).get, TOOLS)) == plain(talk.messages)


def test_a_call_unknown_to_the_tracker_stays_until_room_is_needed_and_leaves_whole():
    talk = talk_of(lambda t: t.say(USER, "go"))
    unknown = paired(
        [Message(ASSISTANT, "", [Use("X1", TOOLS.of("Bash"), {"command": "ls"})]), Message(USER, "", (), [ShownResult("X1", LONG)])]
    )
    talk.rows = [*talk.rows[:1], *unknown, *talk.rows[1:]]
    assert calls_in(talk.compact(1.0).messages)["X1"] == calls_in(talk.messages)["X1"]
    assert kinds(talk.compact(0.5)) == [(CALLS, "")]
    assert kinds(talk.compact(1.0, only=("X1",))) == []


# --- tokens ---------------------------------------------------------------------------------------------------------------------------


def test_tokens_are_calibrated_by_what_was_measured():
    talk = talk_of(reads(4))
    plain_sum = talk.compact(0.5)
    talk.state.calibration = 1.5
    measured = talk.compact(0.5)
    assert (measured.before, measured.after) == (round(1.5 * plain_sum.before), round(1.5 * plain_sum.after))
    assert kinds(measured) == kinds(plain_sum)


def test_a_conversation_takes_what_its_words_calls_and_results_take():
    talk = talk_of(lambda t: t.say(USER, WORDS))
    before = tokens_of(talk.messages, talk.conversation)
    for add in (lambda: talk.say(USER, WORDS * 10), lambda: talk.write("/p/a.py", LONG), lambda: talk.bash("ls", LONG)):
        add()
        now = tokens_of(talk.messages, talk.conversation)
        assert now > before + 100
        before = now
    assert tokens_of([], talk.conversation) == 0
