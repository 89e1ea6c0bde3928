"""Lists of calls: what they name in the room that they share, how those of earlier compactions merge, and the way back, again and again."""

from __future__ import annotations

from random import Random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import compacting, lists
from popkit_retention.core.policy.compacting import CALLS, LISTS_LEAST_TOKENS, LISTS_SHARE, NEWEST, CompactionResult
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.list_places import marks_of
from popkit_retention.core.policy.list_text import folded, handle_of_list, in_list, read
from popkit_retention.core.policy.lists import directly_held_by, held_by
from popkit_retention.core.policy.messages import ASSISTANT, USER, Message, message_of, paired, result_tokens
from popkit_retention.core.policy.placeholder import handle_in
from popkit_retention.core.policy.returning import put_back
from tests.examples import examples
from tests.policy.compactable import CODE, LONG, WORDS, Talk, archived, assert_valid, calls_in, handle_of, last_files, plain, words
from tests.policy.conversing import NEVER

TARGET = 6_000


def lists_in(messages) -> list[str]:
    return [message.text for message in messages if handle_of_list(message)]


def tokens_of_lists(messages) -> int:
    return sum(map(estimate_tokens, lists_in(messages)))


class Session:
    """A conversation that grows and is compacted again and again, the `whole` of it, and the archive."""

    def __init__(self, seed: int, spoken: float, joins: bool = False, target: int = TARGET) -> None:
        self.random = Random(seed)
        self.spoken = spoken
        self.joins = joins
        self.target = target
        self.talk = Talk()
        self.whole: list[Message] = []
        self.archive: dict[str, object] = {}
        self.known = 0

    def works(self, calls: int) -> list[Message]:
        """So many calls, and what is said between them; return the conversation then."""
        talk, chance = self.talk, self.random.random
        for number in range(calls):
            if chance() < self.spoken:
                talk.say(ASSISTANT, self.random.choice(["Let me look", "Let me look\nat this", f"Now step {number}", "\n\nso"]))
            path = f"/home/someone/src/module{self.random.randrange(40)}/file{self.random.randrange(40)}.py"
            text, kind = f"{talk.steps} {CODE * self.random.randrange(2, 30)}", chance()
            if kind < 0.45:
                talk.read(path, text=text)
            elif kind < 0.65:
                talk.bash(f"grep -rn name{number} src | head; ls", text)
            elif kind < 0.75:
                talk.change(path, f"{talk.steps} {LONG}", f"{talk.steps} {LONG} x")
            elif kind < 0.85:
                paths = [f"{path}{n}" for n in range(3)]
                talk.at_once(*[lambda each=each: talk.read(each, text=f"{talk.steps} {WORDS * 20}") for each in paths])  # type: ignore[misc]
            else:
                talk.grep(f"x{number}", text=text)
        talk.say(USER, f"and now this: {talk.steps}")
        given = talk.messages
        self.whole += given[self.known :]
        return given

    def compact(self) -> CompactionResult:
        done = compacting.compact(
            self.talk.messages, self.talk.conversation, NEVER, 0.0, handle_of, least=self.target, ours=self.talk.lists
        )  # fmt: skip
        self.archive.update(archived(done))
        if self.joins:
            done.messages = paired(joined(done.messages))
        self.talk.went_on_with(done)
        self.known = len(done.messages)
        return done


def joined(messages: list[Message]) -> list[Message]:
    """As a host has it: what the assistant says in a row, and the calls behind it, are one message."""
    rows: list[Message] = []
    for message in messages:
        if rows and rows[-1].role == message.role == ASSISTANT and not rows[-1].uses:
            rows[-1] = Message(ASSISTANT, "\n".join(filter(None, (rows[-1].text, message.text))), message.uses)
        else:
            rows.append(message)
    return rows


# --- sixty in a row -----------------------------------------------------------------------------------------------------------------------


def lists_have_at_most_their_share(session: Session, given: list[Message], done: CompactionResult) -> None:
    assert tokens_of_lists(done.messages) <= max(LISTS_SHARE * session.target, LISTS_LEAST_TOKENS)


def the_target_is_met_wherever_what_always_stays_leaves_room(session: Session, given: list[Message], done: CompactionResult) -> None:
    conversation = session.talk.conversation
    results = {result.id: result for result in conversation.results()}
    preserved = {id for id in compacting.whole_results_of(conversation) if not compacting.is_long(results[id])}
    always = compacting.always_whole(given, conversation) | preserved
    pairs = compacting.pairs_of(given, conversation, NEVER)
    stays = sum(estimate_tokens(text) for _, text in words(done.messages, session.talk.lists))
    stays += sum(pairs[id].ways[0].tokens for id in always if id in pairs)
    assert done.met or stays > (1 - LISTS_SHARE) * session.target


def no_word_is_lost(session: Session, given: list[Message], done: CompactionResult) -> None:
    said = joined([Message(*each) for each in words(done.messages, session.talk.lists)])
    assert plain(said) == plain(joined([Message(*each) for each in words(given, session.talk.lists)]))


def whatever_ever_left_is_found_from_what_remains(session: Session, given: list[Message], done: CompactionResult) -> None:
    found: set[str] = set()
    waiting: list[object] = [plain(done.messages)]
    while waiting:
        text = str(waiting.pop())
        new = {handle for handle in session.archive.keys() - found if f"popkit restore {handle}]" in text}
        found |= new
        waiting += [session.archive[handle] for handle in new]
    assert found == session.archive.keys()


def archive_and_answer_give_back_what_was_given(session: Session, given: list[Message], done: CompactionResult) -> None:
    back = put_back(done.messages, archived(done).get, TOOLS)
    assert plain(joined(back) if session.joins else back) == plain(joined(given) if session.joins else given)


LAWS = (
    lists_have_at_most_their_share,
    the_target_is_met_wherever_what_always_stays_leaves_room,
    no_word_is_lost,
    archive_and_answer_give_back_what_was_given,
)


@pytest.mark.parametrize(("spoken", "joins"), [(0.0, False), (0.4, False), (0.4, True)])
def test_after_each_of_sixty_compactions_the_laws_hold_and_live_results_keep_room(spoken: float, joins: bool):
    session = Session(7, spoken, joins)
    alive: list[int] = []
    for _ in range(60):
        before = session.works(12)
        done = session.compact()
        for law in LAWS:
            law(session, before, done)
        alive.append(sum(result_tokens(shown.text) for message in done.messages for shown in message.results))
    whatever_ever_left_is_found_from_what_remains(session, before, done)
    assert median(alive[-10:]) > 0.6 * median(alive[:10])
    back = put_back(done.messages, session.archive.get, TOOLS)
    assert plain(joined(back) if joins else back) == plain(joined(session.whole) if joins else session.whole)


@settings(max_examples=examples(15, 300))
@given(
    st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 0.9]), st.booleans(), st.sampled_from([600, 2_000, 6_000]),
    st.lists(st.integers(1, 14), min_size=2, max_size=8),
)  # fmt: skip
def test_in_whatever_steps_a_conversation_grows_the_laws_hold(seed: int, spoken: float, joins: bool, target: int, steps: list[int]):
    session = Session(seed, spoken, joins, target)
    for calls in steps:
        before = session.works(calls)
        done = session.compact()
        for law in (lists_have_at_most_their_share, no_word_is_lost, archive_and_answer_give_back_what_was_given):
            law(session, before, done)
        if not joins:
            assert_valid(done.messages)
    whatever_ever_left_is_found_from_what_remains(session, before, done)
    back = put_back(done.messages, session.archive.get, TOOLS)
    assert plain(joined(back) if joins else back) == plain(joined(session.whole) if joins else session.whole)


# --- merging ------------------------------------------------------------------------------------------------------------------------------


def two_in_a_row(between: str = "") -> tuple[Talk, list[CompactionResult]]:
    """Files read, compacted, other files read, compacted; `between`: what is said before the second ones."""
    talk, done = Talk(), []
    for name in ("a", "b"):
        if name == "b" and between:
            talk.say(ASSISTANT, between)
        for number in range(3):
            talk.read(f"{name}{number}.py", text=f"{name} {number} {LONG}")
        talk.nothing(NEWEST)
        done.append(talk.compact(0.0))
        talk.went_on_with(done[-1])
    return talk, done


def test_neighbours_become_one_list_with_the_earlier_one_and_the_calls_of_both():
    _, (first, second) = two_in_a_row()
    (earlier,), (line,) = lists_in(first.messages), lists_in(second.messages)
    assert line.startswith("[PopKit left out Read a0.py; Read a1.py; Read a2.py; ")
    assert "Read b2.py" in line
    calls, merged = [left for left in second.left if left.kind == CALLS]
    held = [str(row["text"]) for row in merged.content]  # type: ignore[index]
    assert held[0] == earlier
    assert held[1].endswith(f"Read b0.py; Read b1.py; Read b2.py: popkit restore {calls.handle}]")
    assert (calls.label, merged.label) == ("7 calls", "2 lists of calls")
    assert handle_of_list(Message(USER, line)) == merged.handle


def test_text_said_between_two_lists_keeps_them_apart_while_there_is_room_for_both():
    _, (_, second) = two_in_a_row("and now the others")
    texts = [message.text for message in second.messages if message.text]
    assert [bool(handle_of_list(Message(USER, text))) for text in texts] == [True, False, True]
    assert texts[1] == "and now the others"


def test_a_list_that_nothing_happens_to_stays_as_it_is():
    talk, (_, second) = two_in_a_row("and now the others")
    talk.nothing(NEWEST)
    third = talk.compact(0.0)
    assert lists_in(third.messages)[0] == lists_in(second.messages)[0]
    assert lists_in(third.messages)[1] != lists_in(second.messages)[1]


def test_what_quotes_a_list_stays_as_words_where_that_has_merged_too():
    talk = Talk()
    for name in ("a", "b", "c"):
        for number in range(3):
            talk.read(f"{name}{number}.py", text=f"{name} {number} {LONG}")
        talk.nothing(NEWEST)
        done = talk.compact(0.0)
        talk.went_on_with(done)
        if name == "a":
            (quote,) = lists_in(done.messages)
            talk.say(USER, quote)
    assert lists_in(done.messages)[1] == quote
    assert quote not in [left.handle for left in done.left]
    assert len(lists_in(done.messages)) == 3, "what came before it, the quote, what came behind it"


def test_a_quote_of_a_list_within_another_brings_no_call_back_twice():
    inner, calls = folded(["Bash ls"], "aaaa2345"), [{"role": "user", "text": "x"}]
    archive = {"bbbb2345": plain([inner]), "aaaa2345": calls}
    messages = [folded(["Bash ls"], "bbbb2345"), Message(ASSISTANT, "so"), Message(USER, inner.text)]
    assert [message.text for message in put_back(messages, archive.get, TOOLS)] == ["x", "so", inner.text]


def test_a_place_that_a_call_told_is_found_where_that_call_has_left_since():
    talk = Talk()
    for name in ("first", "second", "third"):
        talk.call("Bash", {"command": name}, name)
        if name == "first":
            talk.say(ASSISTANT, "so")
    talk.say(USER, "go on")
    whole = talk.messages
    first, so, second, third, last = whole[:2], whole[2], whole[3:5], whole[5:7], whole[7]
    rows = [{**folded(["Bash first"], "aaaa2345").to_json()}, {**folded(["Bash second"], "bbbb2345").to_json()}]
    rows[1]["before"] = marks_of([so, *third, last], 0, 1)
    archive = {"cccc2345": rows, "aaaa2345": plain(first), "bbbb2345": plain(second), "dddd2345": plain(third)}
    standing = [folded([], "cccc2345", unnamed=2), so, folded(["Bash third"], "dddd2345"), last]
    assert plain(put_back(standing, archive.get, TOOLS)) == plain(whole)


@pytest.mark.parametrize("known", [{}, {"cccc2345": []}])
def test_what_merely_looks_like_a_list_stays_as_words(known: dict):
    talk = Talk()
    line = folded(["Read a.py"], "abcd2345").text
    talk.say(USER, line)
    for number in range(6):
        talk.read(f"{number}.py", text=f"{number} {LONG}")
    talk.nothing(NEWEST)
    talk.lists = known
    done = talk.compact(0.0)
    assert done.messages[0].text == line
    assert handle_of_list(done.messages[1])


def test_a_list_of_an_earlier_version_merges_and_comes_back():
    """Its content holds no word of other lists."""
    talk, archive = Talk(), {}
    for number in range(3):
        talk.read(f"{number}.py", text=f"{number} {LONG}")
    whole = talk.messages
    talk.rows = [Message(USER, "[PopKit left out Read 0.py; Bash cd src; ls (2 times); in them: src/a.py: popkit restore abcd2345]")]
    archive["abcd2345"] = plain(whole)
    talk.lists = {"abcd2345": held_by(archive["abcd2345"])}
    talk.grep("x", text=LONG)
    talk.nothing(NEWEST)
    standing = talk.messages[1:]
    done = talk.compact(0.0)
    (line,) = lists_in(done.messages)
    assert "left out Read 0.py; Bash cd src; ls (2 times); Grep" in line
    assert "in them: " in line
    assert " src/a.py" in line
    assert plain(put_back(done.messages, {**archive, **archived(done)}.get, TOOLS)) == plain([*whole, *standing])


# --- the room that they share -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["part", "注文の計算" * 3])
def test_without_room_for_all_the_newest_calls_are_named_and_the_others_counted(folder: str):
    talk = Talk()
    for cycle in range(8):
        for number in range(10):
            talk.read(f"/home/someone/project/src/{folder}{cycle}/file{number}.py", text=f"{cycle} {number} {LONG}")
        talk.say(ASSISTANT, f"that was {cycle}")
    last_files(talk)
    talk.nothing(NEWEST)
    lines = lists_in(talk.compact(0.0).messages)
    assert sum(map(estimate_tokens, lines)) <= LISTS_LEAST_TOKENS
    assert f"{folder}7/file9.py" in lines[-1]
    assert len(lines) == 8, "there is room for each to name its handle"
    assert lines[0].startswith("[PopKit left out 10 calls: popkit restore ")
    named = ["Read " in line for line in lines]
    assert named == sorted(named)


def test_where_lists_that_name_nothing_would_fill_the_room_the_oldest_become_one():
    talk = Talk()
    for number in range(40):
        talk.read(f"{number}.py", text=f"{number} {LONG}")
        talk.say(ASSISTANT, f"that was {number}")
    last_files(talk)
    talk.nothing(NEWEST)
    done = talk.compact(0.0)
    lines = lists_in(done.messages)
    assert sum(map(estimate_tokens, lines)) <= LISTS_LEAST_TOKENS
    assert len(lines) < 20
    assert handle_of_list(done.messages[0])
    assert [message.text for message in done.messages[1:20]] == [f"that was {number}" for number in range(19)]
    assert plain(put_back(done.messages, archived(done).get, TOOLS)) == plain(talk.messages)


def test_a_label_that_is_said_again_takes_the_room_of_its_number_alone():
    label, handles = "Read a.py", ("aaaaaaaa", "bbbbbbbb")
    place = lists.Place(0, [(0, lists.EarlierList(folded([label], handle, [], 0), ())) for handle in handles])
    around = lists._AROUND + lists._CHARS / 2
    for chars, unnamed in ((0.1, 0), (-0.1, 1)):
        room = (around + len(f"; {label} (2 times)") + chars) / lists._CHARS
        (written,) = lists.write([place], [], room, set(), {}, None)
        assert read(written.message.text) == ([(label, 2 - unnamed)], unnamed, [])


def test_a_list_of_lists_tells_what_each_of_them_holds():
    earlier = [lists.EarlierList(folded(["Read a.py"], letter * 8, [], 0), (held * 8,)) for letter, held in ("ac", "bd")]
    (written,) = lists.write([lists.Place(0, [(0, one) for one in earlier])], [], 500, set(), {}, lambda rows: "e" * 8)
    assert sorted(held_by(written.archived[-1][2])) == [letter * 8 for letter in "abcd"]


def test_one_call_comes_back_from_within_merged_lists_without_the_others():
    session = Session(3, 0.5)
    for _ in range(6):
        session.works(10)
        done = session.compact()
    id = next(iter(calls_in(session.whole)))
    holding = [handle for handle, content in session.archive.items() if isinstance(content, list) and id in calls_in_archived(content)]
    path = set(holding)
    while more := {handle for handle, content in session.archive.items() if path & {*directly_held_by(content)}} - path:
        path |= more
    back = put_back(done.messages, {handle: session.archive[handle] for handle in path}.get, TOOLS)
    came = calls_in(back).keys() - calls_in(done.messages).keys()
    assert came == calls_in_archived(session.archive[holding[0]])
    assert 0 < len(came) < 10


def calls_in_archived(content) -> set[str]:
    return {use["tool_use_id"] for row in content for use in row["toolUses"]}


# --- what a list says ---------------------------------------------------------------------------------------------------------------------

LABELS = st.lists(
    st.sampled_from(["Read src/a.py", "Bash cd src; ls", "Edit …/shop/cart.ts", "mcp__a__b x", 'Grep "in them: x"', "Bash sleep 2 (3)"]),
    max_size=8,
)


@given(LABELS, st.lists(st.sampled_from(["src/shop/cart.ts", "cartTotalsOf", "1.24.0-beta"]), max_size=3), st.integers(0, 40))
def test_what_a_list_says_is_read_as_it_was_written(labels: list[str], names: list[str], unnamed: int):
    line = folded(labels, "abcd2345", names, unnamed)
    found, counted, of_them = read(line.text)
    again = folded([label for label, times in found for _ in range(times)], "abcd2345", of_them, counted)
    assert again.text == line.text
    if labels or unnamed:
        assert sum(times for _, times in found) + counted == len(labels) + unnamed
        assert (of_them, {label for label, _ in found}) == (names, set(map(in_list, labels)))


def test_placeholders_and_stubs_of_earlier_compactions_leave_like_any_other_call():
    session = Session(5, 0.0)
    for _ in range(20):
        session.works(12)
        done = session.compact()
    short = [shown for message in done.messages for shown in message.results if handle_in(shown.text)]
    older = [shown for shown in short if int(shown.id[1:]) < session.talk.steps - 60]
    assert sum(result_tokens(shown.text) for shown in older) < 0.1 * TARGET


def test_messages_of_a_merged_list_are_messages_for_every_version():
    """One that knows no merged lists finds lists in the place of a list."""
    _, (_, second) = two_in_a_row()
    merged = [left for left in second.left if left.kind == CALLS][-1]
    assert all(handle_of_list(message_of(row, TOOLS)) for row in merged.content)  # type: ignore[union-attr]
