"""What is looked up again because of PopKit, and what is not: one rule for the session and for the lab."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy import events
from tests.policy.conversing import LARGE, Conversing

NOT_THERE = "String to replace not found in file."


def count(session: Conversing) -> int:
    return session.conversation.look_ups.count


@pytest.fixture
def session() -> Conversing:
    """a.py, a search and a run have left."""
    session = Conversing()
    session.read("/p/a.py", text=LARGE)
    session.grep("x", text=LARGE)
    session.bash("npm test", LARGE + "3 passed")
    session.clear("T1", "T2", "T3")
    return session


AGAIN = {
    "a file": lambda session: session.read("/p/a.py", text=LARGE),
    "lines of it": lambda session: session.read("/p/a.py", 3, 9),
    "by a command": lambda session: session.bash("cat /p/a.py", LARGE),
    "a search": lambda session: session.grep("x", text=LARGE),
    "a run": lambda session: session.bash("npm test", LARGE + "3 passed in 2 s"),
    "a restore": lambda session: session.bash("popkit restore abcd2345", LARGE),
    "an edit that fails": lambda session: session.call("Edit", {"file_path": "/p/a.py"}, NOT_THERE, failed=True),
}


@pytest.mark.parametrize("name", AGAIN)
def test_what_left_and_is_asked_for_again_is_one_look_up_however_often(session: Conversing, name: str):
    AGAIN[name](session)
    assert count(session) == 1
    if name != "a restore":
        AGAIN[name](session)
        assert count(session) == 1, "it is in the context again"


def test_nothing_is_one_while_it_is_in_the_context():
    session = Conversing()
    for _ in range(2):
        session.read("/p/a.py", text=LARGE)
        session.bash("npm test", LARGE)
    session.call("Edit", {"file_path": "/p/a.py"}, NOT_THERE, failed=True)
    assert count(session) == 0


OTHERWISE = {
    "another file": lambda session: session.read("/p/b.py", text="b " + LARGE),
    "one that has changed": lambda session: (session.edit("/p/a.py"), session.read("/p/a.py", text=LARGE)),
    "one that has changed on disk": lambda session: (session.changed_on_disk("/p/a.py"), session.read("/p/a.py", text=LARGE)),
    "one that shows something else": lambda session: session.read("/p/a.py", text="else " + LARGE),
    "a run after an edit": lambda session: (session.edit("/p/b.py"), session.bash("npm test", LARGE)),
    "another search": lambda session: session.grep("y", text="else " + LARGE),
    "an edit that fails otherwise": lambda session: session.call("Edit", {"file_path": "/p/a.py"}, "Permission denied", failed=True),
    "what is back": lambda session: (session.observe(events.Undone(["T1"], session.at)), session.read("/p/a.py", text=LARGE)),
    "what came back by itself": lambda session: (
        session.observe(events.CameBack([session.result("T1")], session.at)),
        session.read("/p/a.py", text=LARGE),
    ),
    "what was put back": lambda session: (session.observe(events.Restored("T1", True, session.at)), session.read("/p/a.py", text=LARGE)),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_would_have_been_asked_for_anyway_is_none(session: Conversing, name: str):
    OTHERWISE[name](session)
    assert count(session) == 0


def test_what_was_outdated_as_it_left_is_not_missed():
    session = Conversing()
    session.read("/p/a.py", text=LARGE)
    session.edit("/p/a.py")
    session.clear("T1")
    session.read("/p/a.py", text=LARGE)
    assert count(session) == 0


def test_a_repeat_of_a_shortened_result_is_a_look_up_unless_it_is_shortened_too():
    session = Conversing()
    session.read("/p/a.py", text=LARGE)
    session.observe(events.Entered("T1", 10, (), "abcd2345", 5_000, ["said before"], session.at, 0))
    session.read("/p/a.py", text=LARGE)
    assert count(session) == 1
    session.observe(events.Entered("T2", 10, (), "abcd2346", 5_000, ["said before"], session.at, 0))
    assert count(session) == 0


def test_lines_beside_those_of_a_shortened_look_up_are_still_one():
    session = Conversing()
    session.read("/p/a.py", text=LARGE)
    session.clear("T1")
    session.read("/p/a.py", 3, 9, text="\n".join(LARGE.split("\n")[2:9]))
    session.observe(events.Entered("T2", 10, (), "abcd2345", 5_000, ["said before"], session.at, 0))
    session.read("/p/a.py", 12, 19, text="\n".join(LARGE.split("\n")[11:19]))
    assert count(session) == 1


def test_our_compaction_s_removals_count_as_look_ups(session: Conversing):
    """Behind one that was due, only what the host puts back counts."""
    for number in range(6):
        session.read(f"/p/{number}.py", text=f"{number} {LARGE}")
    session.compact()
    session.read("/p/3.py", text=f"3 {LARGE}")
    assert count(session) == 1
    session.conversation.was_due()
    session.read("/p/a.py", text=LARGE)
    session.grep("x", text=LARGE)
    assert count(session) == 1, "it would be gone without us"
    session.read("/p/5.py", text=f"5 {LARGE}")
    assert count(session) == 2, "one of the five files that the host would have put back"


def test_a_need_of_what_was_looked_up_in_part_is_none_until_it_leaves_again(session: Conversing):
    session.read("/p/a.py", 3, 9)
    session.conversation.needed("T1")
    session.conversation.needed("T2")
    session.conversation.needed("T2")
    assert count(session) == 2
    session.observe(events.Restored("T1", True, session.at))
    session.conversation.returned({"T1"})
    session.clear("T1")
    session.conversation.needed("T1")
    assert count(session) == 3


def test_a_need_of_what_a_due_compaction_took_is_no_look_up_until_it_has_come_back(session: Conversing):
    session.conversation.was_due()
    session.conversation.needed("T2")
    assert count(session) == 0
    session.conversation.observe(events.Restored("T2", True, 9.0))
    session.clear("T2")
    session.conversation.needed("T2")
    assert count(session) == 1
