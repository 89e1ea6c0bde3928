"""A conversation that is compacted, cleared and put together again in place, told step by step: `goldens/story.txt` has the rows that are
not as they were, what left, and what is kept of it: lines of the journal, facts of the session, receipts and records.

`--update-goldens` shows what a change does to these; a person reads it.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

from popkit_retention.core import archive
from popkit_retention.core.errors import PopkitError
from popkit_retention.core.reclaim import compaction_advice, in_place, outlook, restoring, undoing
from popkit_retention.core.reclaim.in_place import AUTO, COLD, LONG, MANUAL, CompactionTask, Handover
from popkit_retention.core.state import journal, reconciling, store
from popkit_retention.core.state.noted import SessionNotes
from popkit_retention.core.state.site import Site
from tests.archive.written import add_cleared
from tests.reclaim.sending import SESSION, Added, Block, Client, Said, reminder

GOLDEN = Path(__file__).with_name("goldens") / "story.txt"
NOW = 1_795_780_000.0
LINE = "a line of many words that fill a context\n"
LONGER = "".join(f"export const step{number} = steps.of('src/step{number}.tsx', {number * 7919});\n" for number in range(120))
CUT = 160


def picture(kind: str, data: str) -> Block:
    return {"type": kind, "source": {"type": "base64", "media_type": "image/png" if kind == "image" else "application/pdf", "data": data}}


class Session:
    """A home, and a client with one conversation."""

    def __init__(self, folder: Path, **retention: object) -> None:
        self.folder = folder
        self.home = folder / "popkit"
        self.home.mkdir(parents=True)
        (self.home / "retention-config.json").write_text(json.dumps({"retention": retention}))
        self.transcript = folder / f"{SESSION}.jsonl"
        self.client = Client(self.transcript)
        self.calls = 0

    @property
    def site(self) -> Site:
        return Site({"POPKIT_HOME": str(self.home)}, SESSION, "/shop")

    @property
    def newest(self) -> float:
        """When the newest line was written (seconds)."""
        stamp = json.loads(self.transcript.read_text().splitlines()[-1])["timestamp"]
        return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()

    def prompt(self, *blocks: Block | str) -> None:
        self.client.add(Said("user", [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]))

    def call(self, tool: str, shown: object, says: str = "", error: bool = False, **given: object) -> None:
        self.calls += 1
        id = f"toolu_{self.calls}"
        text = [{"type": "text", "text": says}] if says else []
        self.client.add(Said("assistant", [*text, {"type": "tool_use", "id": id, "name": tool, "input": given}]))
        self.client.add(Said("user", [{"type": "tool_result", "tool_use_id": id, "content": shown, "is_error": error}]))

    def answer(self, text: str = "done") -> None:
        self.client.add(Said("assistant", [{"type": "text", "text": text}]))

    def tasks(self, text: str) -> None:
        self.client.add(Added("task_reminder", [reminder(text)]))

    def rest(self, count: int) -> None:
        for number in range(count):
            self.call("Bash", f"made {number}", command=f"mkdir -p out/{self.calls}")

    def worked(self) -> None:
        self.prompt(picture("image", "iVBO"), picture("document", "JVBE"), "what is this?")
        self.call("Read", LINE * 90, "I look.", file_path="/shop/list.js")
        self.call("Edit", "The file has been updated.", file_path="/shop/list.js", old_string="1", new_string="2")
        self.tasks("one task is open")
        self.call("Read", LONGER, file_path="/shop/steps.ts")
        self.call("Grep", "src/a.ts\n" * 60, pattern="describe", path="src")
        self.call("Bash", "  ok - adds\n" * 120, command="npm test")
        self.call("AskUserQuestion", 'User has answered your questions: "which?"="the second"', questions=[{"question": "which?"}])
        self.call("mcp__demo__deploy", "no such place: shop\n" * 40, error=True, to="shop")
        self.call("Read", [{"type": "text", "text": "a picture"}, picture("image", "iVBP")], file_path="/shop/logo.png")
        self.call("Write", "File created", file_path="/shop/new.ts", content=LONGER)
        self.answer()
        self.prompt("go on")
        self.tasks("no task is open")
        self.call("Bash", "  ok - adds it\n" * 120, command="npm test")
        self.rest(30)
        self.answer("All of it is done.")

    def asked(self, wanted: CompactionTask, between_turns: bool = True, summarised: bool = False, agent_id: str = "") -> Iterator[str]:
        """What is answered to a compaction, and what has become of everything once it stands."""
        site = self.site
        reconciling.rebuild_if_small(site, site.paths(), str(self.transcript))
        before = [*self.kept()]
        handed = Handover(self.client.rows(), self.client.handed(), between_turns)
        try:
            done = in_place.answer(site, str(self.transcript), agent_id, handed, wanted, NOW)
        except PopkitError as error:
            yield f"{type(error).__name__}: {error}"
            return
        stood = {*map(_row, handed.rows)}
        yield from (row for row in map(_row, done.rows) if row not in stood)
        yield f"{len(done.rows)} rows of {len(handed.rows)}"
        sizes = done.sizes
        yield f"sizes {sizes.before} {sizes.after} {sizes.left} {sizes.measured}, met {done.met}, loaded {done.loaded}, back {done.back}"
        yield from (f"left {one.kind} {one.id} “{one.label}” {one.why} {one.handle}" for one in done.left)
        yield from _new(before, [*self.kept()], "before it is done: ")
        rest = done.note(summarised)
        yield from _new(before, [*self.kept()], "")
        between = [*self.kept()]
        rest()
        if not summarised:
            in_place.note_for_next_start(site, agent_id, NOW)
            self.client.compacted(done.rows)
        yield from _new(between, [*self.kept()], "afterwards: ")

    def kept(self) -> Iterator[str]:
        """All that is on disk of the session, but for its state."""
        paths = self.site.paths()
        yield from (f"journal {json.dumps(entry, sort_keys=True)}" for entry in journal.read(paths))
        yield from (f"receipt {json.dumps(entry, sort_keys=True)}" for entry in store.read_lines(paths.receipts))
        yield from (f"session {name} {json.dumps(fact)}" for name, fact in sorted(vars(self.site.session).items()))
        path = self.home / "archive.sqlite"
        if path.is_file():
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
                rows = db.execute("SELECT id, tool_use_id, type, label, timestamp, tokens, subjects FROM thought_records ORDER BY rowid")
                yield from (f"record {' '.join(map(str, row))}" for row in rows)

    def looked(self, now: float = NOW, is_read: bool = False, transcript: str | None = None) -> Iterator[str]:
        before = [*self.kept()]
        look = outlook.read if is_read else outlook.look
        yield from _seen(look(self.site, str(self.transcript) if transcript is None else transcript, now))
        yield from _new(before, [*self.kept()], "kept: ")

    def changed(self, *entries: journal.Entry, is_known: bool = True) -> Iterator[str]:
        """An outlook over what a person changes."""
        view = outlook.look(self.site, str(self.transcript) if is_known else "", NOW)
        before = [*self.kept()]
        outlook.change(view, self.site, entries)
        yield from _seen(view)
        yield from _new(before, [*self.kept()], "kept: ")

    def advised(self, manual: bool) -> Iterator[str]:
        """What a summariser is told, and what the model is told behind it, twice."""
        before = [*self.kept()]
        yield f"advice {compaction_advice.before(self.site, str(self.transcript), NOW, manual)!r}"
        yield from _new(before, [*self.kept()], "kept: ")
        for _ in range(2):
            before = [*self.kept()]
            yield f"index {compaction_advice.after(self.site, NOW + 5)!r}"
            yield from _new(before, [*self.kept()], "kept: ")

    def unarchived(self) -> Iterator[str]:
        """The same where the archive cannot be used until the compaction is over."""
        path, note = self.home / "archive.sqlite", Path(self.site.paths().unarchived)
        path.mkdir()
        yield f"advice {compaction_advice.before(self.site, str(self.transcript), NOW, False)!r}"
        yield f"noted {note.read_text()}"
        yield f"index {compaction_advice.after(self.site, NOW)!r}"
        path.rmdir()
        self.site.remember(transcript=str(self.transcript))
        before = [*self.kept()]
        yield f"index {compaction_advice.after(self.site, NOW)!r}, noted {note.exists()}"
        yield from _new(before, [*self.kept()], "kept: ")
        for text in ('{"records": 3}', '{"records": [["toolu_1"]], "worth": []}', "[", '{"records": []}', "{}"):
            note.write_text(text)
            yield f"of {text}: {compaction_advice.catch_up(self.site, str(self.transcript))}"

    def restored(self, *words: str) -> Iterator[str]:
        """What a person is shown of these words, and what is booked of it."""
        site = self.site
        with closing(archive.open_archive(str(self.home / "archive.sqlite"))) as db:
            for word in words:
                yield f"{word}:"
                for session_id in (SESSION, ""):
                    try:
                        records = restoring.records_for(db, word, session_id, "/shop/src")
                    except PopkitError as error:
                        yield f"  {error}"
                        continue
                    for record, text in restoring.printed(db, records, str(self.home)):
                        yield f"  {record.label}: {_short(repr(text))}"
                booked = [record for handle in archive.handles_of(db, word) if (record := archive.record(db, handle))]
                before = [*self.kept()]
                said = restoring.book_printed(site, db, booked, NOW)
                yield from _new(before, [*self.kept()], f"  booked{said}: ")

    def named(self, *handles: str) -> Iterator[str]:
        """Whether a call may print these without asking anybody, here, in a fork and in another session."""
        for session_id, transcript in ((SESSION, ""), ("fork", str(self.transcript)), ("other", str(self.folder / "gone.jsonl"))):
            site = Site({"POPKIT_HOME": str(self.home)}, session_id, "/shop")
            found = [restoring.record_of(site, handle, transcript) for handle in handles]
            yield f"{session_id}: {[record and record.label for record in found]} in {restoring.homes(site)}"
        yield f"in all: {restoring.homes(Site({'POPKIT_HOME': str(self.home)}, '', '/shop'))[:1]}"

    def cleared(self) -> Iterator[str]:
        """What is known of clears, before they are pruned and behind."""
        chain = archive.Chain(SESSION, SESSION, project="/shop", transcript=str(self.transcript))
        with closing(archive.open_archive(str(self.home / "archive.sqlite"))) as db:
            for at, labels in ((NOW - 50, "ab"), (NOW, "bc"), (NOW + 50, "d")):
                records = [archive.NewRecord(f"id-{label}", "read", f"Read {label}", json.dumps(label * 400)) for label in labels]
                add_cleared(db, chain, [*records, archive.NewRecord("t", "thinking", "thinking", '"so"')], at)
            for pruned_before in (0.0, NOW + 20, NOW + 99):
                if pruned_before:
                    archive.prune(db, pruned_before, False, NOW + 86_400)
                    yield f"pruned: {restoring.pruned(db, SESSION)}{restoring.pruned(db, '')}{restoring.pruned(db, 'other')}"
                for since in (0.0, NOW, NOW + 1, NOW + 51):
                    found = _refused_or(lambda since=since: [one.label for one in restoring.cleared_since(db, self.site, since)])
                    yield f"cleared since {since}: {found}"
            yield str(_refused_or(lambda: restoring.records_for(db, "nothing.ts", SESSION, "")))


def _seen(view: outlook.Outlook) -> Iterator[str]:
    yield f"context {view.context}"
    yield f"left {view.left} expired {view.expired} taken {view.taken} verdict {view.verdict}"
    yield f"profile {view.rules.profile} noted {[*view.noted]} {view.noted_further} {view.returning} doubt {view.doubt!r}"
    yield f"ledger { {name: sum for name, sum in view.ledger.items() if sum} } agents {view.agents}"
    for name, plan in (("now", view.now), ("cold", view.cold)):
        if plan is not None:
            yield f"{name} usd {plan.usd} pays {plan.pays}"
            large = [one for one in plan.decisions if one.reason != "small"]
            yield from (f"  {one.result.id} {one.action} {one.reason} {one.tokens}" for one in large)
            yield f"  and {len(plan.decisions) - len(large)} small ones"


def _refused_or(doing: Callable[[], object]) -> object:
    try:
        return doing()
    except PopkitError as error:
        return error


def _row(row: Block) -> str:
    uses = "".join(f" {use['tool_use_id']} {json.dumps(use['input'], ensure_ascii=False)}" for use in row["toolUses"])
    results = "".join(f" {one['tool_use_id']} {one['text']!r}{' failed' * bool(one.get('isError'))}" for one in row["toolResults"])
    return f"{row['role']} {row['text']!r}{_short(uses)}{_short(results)}"


def _short(text: str) -> str:
    return text if len(text) <= 2 * CUT else f"{text[:CUT]} … {len(text)} characters … {text[-CUT:]}"


def _new(before: list[str], after: list[str], when: str) -> Iterator[str]:
    yield from (f"{when}{row}" for row in after if row not in before)
    yield from (f"{when}without {row}" for row in before if row not in after and not row.startswith("record"))


def chapters(folder: Path) -> Iterator[tuple[str, Iterator[str]]]:
    def session(name: str, **retention: object) -> Session:
        made = Session(folder / name, **retention)
        made.worked()
        return made

    for why in (MANUAL, AUTO, COLD, LONG):
        yield f"{why}, down to a half", session(why).asked(CompactionTask(why, 0.5))
    yield "automatically, as much as is dead", session("dead").asked(CompactionTask(AUTO))
    yield "with a summary", session("summary").asked(CompactionTask(AUTO, 0.4), summarised=True)
    yield "of an agent", session("agent").asked(CompactionTask(MANUAL, 0.4), agent_id="a1")
    yield "too little", session("little").asked(CompactionTask(AUTO, 0.9, least=50_000))
    yield "nothing that is known", session("none").asked(CompactionTask(in_place.ASKED, ids=["unknown"]))
    yield "cold, behind two results", session("behind").asked(CompactionTask(COLD, 0.8, ids=["toolu_4", "toolu_5"]))
    yield "cold, two results alone", session("alone").asked(CompactionTask(COLD, ids=["toolu_4", "toolu_5"]))
    yield from cleared_and_back(session("back"))
    yield from watched(session("watched"), session("theirs", compact="off"))
    yield from advised(session("advised"), session("short", compaction={"advise": False, "index": True}))
    yield "advice while the archive cannot be used", session("unarchived").unarchived()
    lists = session("lists", compact_target=0.05)
    lists.rest(40)
    lists.answer()
    for why, target in ((LONG, 0.05), (COLD, 0.02)):
        yield f"{why}, as little as may be", lists.asked(CompactionTask(why, target))
        lists.prompt(f"behind {why}")
        lists.rest(40)
        lists.answer()
    handles, _ = undoing.taken_last(lists.site, str(lists.transcript))
    yield "all of that comes back", lists.asked(CompactionTask(in_place.ASKED, back=handles))
    yield "what a list holds is looked at", lists.restored("toolu_20", *handles[:2])
    loaded = session("loaded")
    loaded.call("ToolSearch", [{"type": "tool_reference", "tool_name": "mcp__demo__deploy"}], query="deploy")
    loaded.answer()
    yield "with a tool that is loaded, within a turn", loaded.asked(CompactionTask(MANUAL, 0.5), between_turns=False)
    yield "and between turns", loaded.asked(CompactionTask(MANUAL, 0.5))
    broken = session("broken")
    broken.home.joinpath("archive.sqlite").mkdir()
    yield "where the archive cannot be used", broken.asked(CompactionTask(MANUAL, 0.5))
    yield "and comes back", broken.asked(CompactionTask(in_place.ASKED, back=["abcd2345"]))
    unknown = session("unknown")
    unknown.prompt({"type": "hologram", "data": "x"})
    yield "with a block that nobody knows", unknown.asked(CompactionTask(MANUAL, 0.5))


def watched(session: Session, agent: Session) -> Iterator[tuple[str, Iterator[str]]]:
    yield "read before anything was seen", session.looked(is_read=True)
    yield "a look while the cache is warm", session.looked(session.newest + 60)
    yield "without a transcript", session.looked(transcript="")
    yield "read without one", session.looked(is_read=True, transcript="")
    yield "a result is pinned", session.changed(journal.pinned("toolu_3", NOW))
    yield "and one more, without a transcript", session.changed(journal.pinned("toolu_5", NOW), is_known=False)
    yield "nothing is changed", session.changed()
    SessionNotes(str(session.home), SESSION).add(only=["toolu_4", "toolu_5"], back=["abcd2345"], share=0.5, further=700)
    yield "with something noted", session.looked()
    yield "where Claude Code compacts", agent.looked()


def advised(session: Session, short: Session) -> Iterator[tuple[str, Iterator[str]]]:
    yield "advice", session.advised(manual=False)
    yield "advice to somebody who compacts by hand", session.advised(manual=True)
    yield "the index alone", short.advised(manual=True)


def cleared_and_back(session: Session) -> Iterator[tuple[str, Iterator[str]]]:
    yield "a look before anything", session.looked()
    yield "two results are asked for", session.asked(CompactionTask(in_place.ASKED, ids=["toolu_1", "toolu_4"], asked=True))
    session.prompt("and then?")
    session.rest(6)
    session.answer()
    yield "a look behind it", session.looked()
    yield "room is made", session.asked(CompactionTask(AUTO, 0.2))
    session.prompt("and then again?")
    session.rest(6)
    session.answer()
    yield "more room is made", session.asked(CompactionTask(AUTO, 0.2))
    session.prompt("what did we have?")
    session.answer()
    yield "a look behind both", session.looked()
    handles, _ = undoing.taken_last(session.site, str(session.transcript))
    yield "what left last comes back", session.asked(CompactionTask(in_place.ASKED, back=handles))
    session.prompt("thanks")
    session.answer()
    yield "it is there already", session.asked(CompactionTask(in_place.ASKED, back=handles))
    again, _ = undoing.taken_last(session.site, str(session.transcript))
    yield "what left before comes back", session.asked(CompactionTask(in_place.ASKED, back=again))
    session.answer()
    yield "a look in the end", session.looked()
    yield "what was archived is printed", session.restored("toolu_1", "steps.ts", "src/**", "nothing.ts", "", again[0], again[0][:3])
    yield "a picture is saved", session.restored("logo.png", "v3z3ygrq", "34vn4ber", "6puwvh5v")
    yield "handles are asked for by the model", session.named(again[0], "zzzz2345")
    yield "a clear is looked for", session.cleared()


def test_a_conversation_is_compacted_in_place_as_the_golden_tells(tmp_path: Path, golden) -> None:
    told = []
    for title, rows in chapters(tmp_path):
        told += [f"# {title}", *(f"  {row}" for row in rows)]
    text = re.sub(re.escape(str(tmp_path)) + r"/\w+", "FOLDER", "".join(f"{row}\n" for row in told))
    golden(GOLDEN, text)
