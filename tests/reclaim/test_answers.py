"""What is answered to the compaction of a small conversation. Its golden has what stays and is not as it was, what left, the sizes, and
what the journal says once it is done; or why there is no answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.errors import PopkitError
from popkit_retention.core.policy.host_compaction import FILES
from popkit_retention.core.policy.remaining import CALLS
from popkit_retention.core.reclaim import in_place
from popkit_retention.core.reclaim.access import OpenArchive, chain_of
from popkit_retention.core.reclaim.in_place import ASKED, AUTO, CompactionTask, Handover
from popkit_retention.core.state import journal, reconciling, store
from popkit_retention.core.state.site import Site
from tests.reclaim.sending import Block, Said
from tests.reclaim.test_story import LINE, Session, picture

OF_A = LINE * 60
TWO_TEXTS = [{"type": "text", "text": LINE * 9}, {"type": "text", "text": "whole"}]
GOLDENS = Path(__file__).with_name("goldens") / "answers"
FIRST = CompactionTask(ASKED, ids=["toolu_1"])


def answered(session: Session, wanted: CompactionTask, is_followed: bool = False) -> Iterator[str]:
    """Answers once the hooks have seen all that the transcript has, and has it done."""
    if not is_followed:
        follow(session)
    site, paths = session.site, session.site.paths()
    noted = len(journal.read(paths))
    handed, now = Handover(session.client.rows(), session.client.handed(), True), session.newest + 1
    try:
        done = in_place.answer(site, str(session.transcript), "", handed, wanted, now)
    except PopkitError as error:
        yield str(error)
        return
    done.note(False)()
    with OpenArchive(str(session.home)) as db:
        left = [f"left {one.kind} {one.id}{' for good' * (archive.record(db, one.handle) is None)}" for one in done.left]
    stood = [*map(_row, handed.rows)]
    yield from (row for row in map(_row, done.rows) if row not in stood)
    yield from left
    yield from [f"back {' '.join(done.back)}"] * bool(done.back)
    yield f"sizes {done.sizes.before} {done.sizes.after} {done.sizes.left}"
    yield from map(_entry, journal.read(paths)[noted:])
    session.client.compacted(done.rows)


def follow(session: Session) -> None:
    reconciling.rebuild_if_small(session.site, session.site.paths(), str(session.transcript))


def _row(row: Block) -> str:
    uses = [f"{use['tool_use_id']} {' '.join(use['input'].values())}" for use in row["toolUses"]]
    results = [f"{one['tool_use_id']} {one['text']}" for one in row["toolResults"]]
    told = " | ".join([row["role"], *filter(None, [row["text"]]), *uses, *results])
    return re.sub(f"({LINE})+", lambda found: f"<{len(found[0]) // len(LINE)} lines>", told)


def _entry(entry: journal.Entry) -> str:
    told = ("why", "id", "ids", "leans_on", "chars", "entered_chars", "before", "after", "beside", "tokens", "stands")
    return " ".join([entry["event"], *(f"{name} {entry[name]}" for name in told if entry.get(name) not in (None, []))])


def edited(session: Session) -> Session:
    """A file that was edited after it was read."""
    session.prompt("go")
    session.call("Read", OF_A, file_path="/shop/a.js")
    session.call("Edit", "ok", file_path="/shop/a.js", old_string="1", new_string="2")
    session.rest(5)
    session.answer()
    return session


def leaning(
    session: Session, whole: object = None, id: str = "toolu_2", leans_on: Collection[str] = ("toolu_1",), of_a: str = OF_A
) -> CompactionTask:  # fmt: skip
    """A result that entered with a reference to the one before it, which is asked to leave; `whole`: what is archived of it."""
    session.prompt("go")
    session.call("Read", of_a, file_path="/shop/a.js")
    session.call("Read", "[lines 1-9 as in your Read of a.js above]", file_path="/shop/b.js")
    session.rest(1)
    session.answer()
    session.answer("And more.")
    handle, paths = "abcd2345", session.site.paths()
    if whole is not None:
        [handle] = archived(session, archive.NewRecord(id, "read", "Read b.js", json.dumps(whole)))
    Path(paths.folder).mkdir(parents=True)
    store.journal(paths, journal.entered(id, leans_on, handle, 400, 41, 12, ["why"], session.newest))
    return FIRST


def leaning_and_large(session: Session) -> CompactionTask:
    """It is whole again, and so large that it leaves, too: others were read last."""
    leaning(session, LINE * 900, of_a=LINE * 700)
    for number in range(FILES):
        session.call("Read", str(number), file_path=f"/shop/{number}.js")
    session.rest(8)
    session.answer()
    return CompactionTask(AUTO, 0.1)


def archived(session: Session, *records: archive.NewRecord, session_id: str = "") -> list[str]:
    site = Site({"POPKIT_HOME": str(session.home)}, session_id, "/shop") if session_id else session.site
    with OpenArchive(str(session.home), create=True) as db:
        return archive.add_records(db, chain_of(site, str(session.transcript)), records)


def all_said(session: Session) -> CompactionTask:
    session.prompt("go")
    return CompactionTask(AUTO)


def just_enough(session: Session) -> CompactionTask:
    edited(session)
    return CompactionTask(AUTO, least=1_083)


def one_too_little(session: Session) -> CompactionTask:
    edited(session)
    return CompactionTask(AUTO, least=1_084)


def between_answers(session: Session) -> CompactionTask:
    """Our own command goes, and what the assistant said before and behind it is one."""
    edited(session)
    session.prompt("<command-name>/popkit</command-name>")
    session.prompt("<local-command-stdout>94 results left</local-command-stdout>")
    session.answer("And more.")
    return FIRST


def only_pictures(session: Session) -> CompactionTask:
    session.prompt("go")
    session.call("Read", [picture("image", "iVBP")], file_path="/shop/logo.png")
    session.answer()
    return CompactionTask(AUTO)


def unknown_picture(session: Session) -> CompactionTask:
    """It is sent, but no line tells of it."""
    edited(session)
    written = session.transcript.read_text()
    only_pictures(session)
    session.transcript.write_text(written)
    return CompactionTask(AUTO)


def in_mid_turn(session: Session) -> CompactionTask:
    """What no request has shown yet stays."""
    session.prompt("go")
    for turn in "ab":
        ids = [f"{turn}{number}" for number in range(5)]
        uses = [{"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": f"{id}.js"}} for id in ids]
        session.client.add(Said("assistant", uses))
        for id in ids:
            session.client.add(Said("user", [{"type": "tool_result", "tool_use_id": id, "content": f"{id}\n{LINE * 180}"}]))
    return CompactionTask(AUTO, 0.1)


def unanswered(session: Session) -> CompactionTask:
    """What stands behind a compaction that no request has followed yet is what its note says."""
    edited(session)
    session.call("Read", LINE * 80, file_path="/shop/b.js")
    session.answer()
    assert "sizes 34273 33190 1083" in [*answered(session, FIRST)]
    noted = Path(session.site.paths().journal)
    noted.write_text(noted.read_text().replace('"after":2288', '"after":3000'))
    before, boundary, behind = session.transcript.read_text().rpartition('"compact_boundary"')
    session.transcript.write_text(before + boundary + behind.replace("claude-opus-5-5", "<synthetic>"))
    return CompactionTask(ASKED, ids=["toolu_8"])


def taken_out(session: Session) -> list[str]:
    """The handle of a result that has left, and one that nothing has."""
    told = [*answered(edited(session), FIRST)]
    session.prompt("what was it?")
    session.answer()
    return [_handle_in(told[0]), "zzzz2345"]


def back(session: Session) -> CompactionTask:
    return CompactionTask(ASKED, back=taken_out(session))


def back_unknown(session: Session) -> CompactionTask:
    return CompactionTask(ASKED, back=taken_out(session)[1:])


def back_beside_a_picture(session: Session) -> CompactionTask:
    """A picture that was looked at since then leaves with any compaction."""
    handles = taken_out(session)
    session.call("Read", [picture("image", "iVBP")], file_path="/shop/logo.png")
    session.answer()
    return CompactionTask(ASKED, back=handles)


def back_beyond_the_window(session: Session) -> CompactionTask:
    session.site.remember(window_tokens=33_000)
    return back(session)


def back_of_blocks(session: Session) -> CompactionTask:
    session.prompt("go")
    session.call("Read", [{"type": "text", "text": OF_A}, {"type": "text", "text": "and more"}], file_path="/shop/a.js")
    session.rest(5)
    session.answer()
    told = [*answered(session, FIRST)]
    return CompactionTask(ASKED, back=[_handle_in(told[0])])


def back_of_a_call(session: Session) -> CompactionTask:
    """What a call was made with has no size that was noted of it."""
    session.prompt("go")
    session.call("Write", "File created", file_path="/shop/a.js", content=LINE * 900)
    session.rest(8)
    session.answer()
    told = [*answered(session, CompactionTask(AUTO, 0.1))]
    return CompactionTask(ASKED, back=[_handle_in(told[0])])


def many(session: Session) -> CompactionTask:
    """So many long calls that the older ones are only listed."""
    for _ in range(9):
        session.call("mcp__demo__look", "seen", at=LINE * 150)
    return CompactionTask(AUTO, 0.01)


def listed_twice(session: Session) -> CompactionTask:
    """The list of an earlier compaction is held by the next one beside it."""
    session.prompt("go")
    for _ in range(2):
        assert "left calls " in [*answered(session, many(session))]
    return many(session)


def back_of_lists(session: Session) -> CompactionTask:
    """A call in a list that another one holds, which a third one holds, comes back with its own list."""
    session.prompt("go")
    first, _, third = ([*answered(session, many(session))] for _ in range(3))
    assert [row for row in third if row.startswith("left")] == ["left calls "] * 2
    return CompactionTask(ASKED, back=[_handle_in(first[0])])


def back_from_within_lists(session: Session) -> CompactionTask:
    """What had left before its call was listed comes back with the lists around it."""
    session.prompt("go")
    session.call("mcp__demo__look", OF_A, at="first")
    session.rest(1)
    cleared, *_ = [[*answered(session, FIRST)], *([*answered(session, many(session))] for _ in range(2))]
    return CompactionTask(ASKED, back=[_handle_in(cleared[0])])


def quoted(session: Session) -> CompactionTask:
    """Lists of which none is of this session's stay as they are."""
    records = [archive.NewRecord("", type, "1 call", "[]") for type in (CALLS, "read")]
    handles = [*archived(session, records[0], session_id="another"), *archived(session, records[1]), "abcd2345"]
    for handle in handles:
        session.prompt(f"[PopKit left out Bash ls: popkit restore {handle}]")
    return many(session)


def _handle_in(row: str) -> str:
    return row.rpartition("popkit restore ")[2][:8]


def back_of_less_than_leaves(session: Session) -> CompactionTask:
    """So many pictures have been looked at since that the conversation does not grow."""
    task = back_of_a_call(session)
    session.call("Read", [picture("image", f"iVB{number}") for number in range(12)], file_path="/shop/logos")
    session.answer()
    return task


ROWS: dict[str, Callable[[Session], CompactionTask]] = {
    "nothing but words": all_said,
    "as much as has to leave": just_enough,
    "a token less than has to leave": one_too_little,
    "a command of ours between two answers": between_answers,
    "nothing but pictures": only_pictures,
    "a picture that no line tells of": unknown_picture,
    "in mid-turn, what no request has had": in_mid_turn,
    "behind a compaction that no request has followed": unanswered,
    "what a result refers to": lambda session: leaning(session, f"{LINE * 9}whole"),
    "what a result of two texts refers to": lambda session: leaning(session, TWO_TEXTS),
    "what a result refers to that is archived as no text": lambda session: leaning(session, {"file_path": "/shop/b.js"}),
    "what a result refers to that is large itself": leaning_and_large,
    "what a result refers to where nothing is archived": leaning,
    "a reference of a result that is not there": lambda session: leaning(session, id="toolu_9"),
    "a result that refers to nothing any more": lambda session: leaning(session, leans_on=()),
    "a result comes back, and what nobody knows does not": back,
    "what nobody knows comes back": back_unknown,
    "a result comes back beside a picture": back_beside_a_picture,
    "more comes back than fits": back_beyond_the_window,
    "a result of two texts comes back": back_of_blocks,
    "what a call was made with comes back": back_of_a_call,
    "a call comes back as more pictures leave": back_of_less_than_leaves,
    "calls beside earlier lists": listed_twice,
    "a list comes back that another one holds": back_of_lists,
    "what a list within a list holds comes back": back_from_within_lists,
    "lists that are quoted": quoted,
}


@pytest.mark.parametrize("row", ROWS)
def test_a_small_conversation_is_answered_as_its_row_says(tmp_path: Path, golden: Callable, row: str) -> None:
    session = Session(tmp_path)
    golden(GOLDENS / f"{row.replace(' ', '_')}.txt", "".join(f"{line}\n" for line in answered(session, ROWS[row](session))))


@pytest.mark.parametrize(
    ("file", "before", "after", "told"),
    [
        ("main.state.json", '"calibration":1.0', '"calibration":1.3', "sizes 34165 32757 1408"),
        ("../../retention-config.json", "{}", '{"profile": "aggressive"}', "left result toolu_8"),
    ],
)
def test_what_the_hooks_have_followed_holds_under_the_rules_of_now(tmp_path: Path, file: str, before: str, after: str, told: str) -> None:
    """What they learnt of tokens, whatever the newest request says; and lifetimes that have just become shorter."""
    session = edited(Session(tmp_path))
    session.call("Grep", "src/a.ts\n" * 60, pattern="describe", path="src")
    session.rest(4)
    session.answer()
    follow(session)
    path = Path(session.site.paths().folder, file)
    path.write_text(path.read_text().replace(before, after))
    outcome = [*answered(session, CompactionTask(AUTO), is_followed=True)]
    assert told in outcome, outcome
