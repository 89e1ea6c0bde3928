"""What a compaction writes in place of what leaves: placeholders, outlines, lists of calls. And what it makes of those it finds."""

from __future__ import annotations

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.compacting import CALLS, INPUT, NEWEST
from popkit_retention.core.policy.list_text import handle_of_fold
from popkit_retention.core.policy.lists import LISTED
from popkit_retention.core.policy.messages import ASSISTANT, USER
from popkit_retention.core.policy.placeholder import handle_in, placeholder
from popkit_retention.core.policy.returning import put_back
from tests.policy.compactable import LONG, WORDS, Talk, archived, assert_valid, calls_in, last_files, plain, reads, talk_of, words


def test_of_a_run_how_it_went_stands_beside_its_placeholder():
    talk = talk_of(lambda t: t.bash("npm test", f"{LONG}\nTests: 3 failed, 9 passed"), quiet=30)
    shown = calls_in(talk.compact(0.5).messages)["T1"][1]
    assert "popkit restore" in shown
    assert "3 failed 9 passed" in shown


def test_a_failed_call_keeps_its_error_and_no_stub_claims_its_effect_is_on_disk():
    talk = talk_of(lambda t: t.call("Write", {"file_path": "/p/a.py", "content": LONG}, "no such folder", failed=True), quiet=40)
    done = talk.compact(0.0)
    given, text, failed = calls_in(done.messages)["T1"]
    assert (text, failed) == ("no such folder", True)
    assert "content of this Write (the call has failed)" in given["content"]
    assert [left.why for left in done.left if left.kind == INPUT] == ["the call has failed"]
    assert plain(put_back(done.messages, archived(done).get, TOOLS)) == plain(talk.messages)


def test_an_outline_holds_no_name_that_words_or_calls_have():
    text = "handleCheckout7 some-package@1.24.0-beta.3 src/checkout/payment.ts " + WORDS * 60

    def search_then_name(talk: Talk) -> None:
        talk.grep("x", text=text)
        talk.say(USER, "look at handleCheckout7()")
        talk.call("Read", {"file_path": "src/checkout/payment.ts"}, "ok")

    shown = calls_in(talk_of(search_then_name, quiet=12).compact(0.6).messages)["T1"][1]
    assert shown.partition("\n")[2] == "some-package@1.24.0-beta.3"


# --- lists of calls ---------------------------------------------------------------------------------------------------------------------


def test_calls_removed_entirely_share_one_line_where_nothing_was_said_between_them():
    def work(talk: Talk) -> None:
        reads(3)(talk)
        talk.say(ASSISTANT, "now the rest")
        talk.grep("x", text=LONG)

    talk = talk_of(work, quiet=12)
    done = talk.compact(0.0)
    lines = [each.text for each in done.messages if handle_of_fold(each.text) in archived(done)]
    assert len(lines) == 2
    assert lines[0].startswith("[PopKit left out Read 0.py; Read 1.py; Read 2.py: popkit restore ")
    assert 'Grep "x"' in lines[1]
    folds = [left for left in done.left if left.kind == CALLS]
    assert next(left.label for left in folds) == "3 calls"
    assert [left.handle for left in folds] == [handle_of_fold(line) for line in lines]
    assert not done.met


def test_of_calls_that_were_made_at_once_none_is_listed_while_another_stands():
    talk = Talk()
    talk.at_once(*[lambda n=n: talk.read(f"{n}.py", text=f"{n} {LONG}") for n in range(3)])
    talk.pin("T2")
    talk.nothing(NEWEST)
    done = talk.compact(0.0)
    given, stands = calls_in(talk.messages), calls_in(done.messages)
    assert list(stands) == list(given)
    assert stands["T2"] == given["T2"]
    assert handle_in(stands["T1"][1])
    assert handle_in(stands["T3"][1])
    assert_valid(done.messages)


def test_a_list_names_paths_and_commands_as_they_were_written():
    path, command = "/home/someone/project/src/deeply/nested/module/shopping_cart.py", "grep -rn total_of_items src | sort -u | head -50"
    talk = talk_of(lambda t: t.call("Read", {"file_path": path}, LONG), lambda t: t.call("Bash", {"command": command}, LONG), quiet=12)
    lines = [each.text for each in talk.compact(0.0).messages if handle_of_fold(each.text)]
    assert any(f"Read {path}; Bash {command}" in line for line in lines)


def test_of_lists_that_name_a_file_the_newest_says_its_path_in_full():
    path, other = "/home/someone/project/src/shop/cart.py", "/home/someone/project/src/shop/total.py"

    def reads_between_words(talk: Talk) -> None:
        for read in (path, path, other):
            talk.call("Read", {"file_path": read}, LONG)
            talk.say(ASSISTANT, "next")
        talk.nothing(12)
        talk.call("Read", {"file_path": other}, "unchanged")

    lines = [each.text for each in talk_of(reads_between_words, quiet=0).compact(0.0).messages if handle_of_fold(each.text)]
    assert "Read …/shop/cart.py:" in lines[0]
    assert f"Read {path}:" in lines[1]
    assert "Read …/shop/total.py" in lines[2]


def test_of_many_calls_a_list_names_the_newest():
    paths = [f"/home/someone/project/src/shop{number}/cart.py" for number in range(LISTED + 2)]

    def many_reads(talk: Talk) -> None:
        for path in paths:
            talk.call("Read", {"file_path": path}, LONG)

    (line,) = [each.text for each in talk_of(many_reads, last_files).compact(0.0).messages if handle_of_fold(each.text)]
    assert f"left out Read {paths[2]}; " in line
    assert f"Read {paths[-1]}; and 2 more" in line


def test_a_list_says_the_end_of_a_path_that_stands_in_a_call_which_cannot_be_listed():
    path = "/home/someone/project/src/shop/cart.py"

    def read_again_at_once(talk: Talk) -> None:
        talk.call("Read", {"file_path": path}, LONG)
        talk.nothing(3)
        talk.at_once(lambda: talk.call("Read", {"file_path": path}, LONG), *[lambda n=n: talk.read(f"{n}.py") for n in range(NEWEST)])

    done = talk_of(read_again_at_once, quiet=0).compact(0.0)
    assert handle_in(calls_in(done.messages)["T5"][1]), "it stands beside the newest calls, which were made with it"
    (line,) = [each.text for each in done.messages if handle_of_fold(each.text)]
    assert "Read …/shop/cart.py" in line


# --- what an earlier compaction wrote ---------------------------------------------------------------------------------------------------


def test_a_placeholder_that_stands_already_is_not_archived_once_more():
    talk = talk_of(lambda t: t.read("a.py", text=LONG), lambda t: t.read("a.py", text=LONG + "more"))
    first = talk.compact(1.0)
    talk.went_on_with(first)
    talk.nothing(NEWEST)
    again = talk.compact(1.0)
    assert again.left == []
    assert calls_in(again.messages)["T1"] == calls_in(first.messages)["T1"]


def test_a_later_compaction_can_list_what_an_earlier_one_removed_and_all_comes_back():
    talk = talk_of(lambda t: t.say(USER, "go"), reads(8))
    whole = plain(talk.messages)
    first = talk.compact(0.5)
    talk.went_on_with(first)
    second = talk.compact(0.0)
    assert [left.kind for left in second.left].count(CALLS) == 1
    assert words(second.messages, archived(second)) == [(USER, "go")]
    assert plain(put_back(second.messages, archived(first, second).get, TOOLS)) == whole
    assert plain(put_back(second.messages, archived(second).get, TOOLS)) == plain(first.messages)


def test_a_text_that_looks_like_a_placeholder_of_something_else_stays_what_it_is():
    quoted = placeholder("Read other.py", "old", "qqqq2345")
    talk = talk_of(lambda t: t.bash("cat note", quoted), lambda t: t.write("/p/note", quoted), reads(3))
    done = talk.compact(0.5)
    assert plain(put_back(done.messages, archived(done).get, TOOLS)) == plain(talk.messages)
    assert quoted in [text for _, text, _ in calls_in(talk.compact(1.0, only=("T1",)).messages).values()]
