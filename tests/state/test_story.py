"""What hooks keep between themselves, told step by step: `goldens/story.txt` has the answers about a project's memory, the files that it
speaks of, calls that wait for a lock, contents in the archive, stored contexts and hidden tools.

`--update-goldens` writes it anew, and the difference is for a person to read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from popkit_retention.core import archive
from popkit_retention.core.errors import PopkitError
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.io import files
from popkit_retention.core.io.repository import Repository, blob_of
from popkit_retention.core.policy.events import Call
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state import (
    archived,
    delivery,
    hidden_tools,
    journal,
    memory,
    memory_checks,
    memory_text,
    pending,
    session,
    stale_ledgers,
    store,
    stored_contexts,
)
from popkit_retention.core.state.memory_records import COMMAND, ERROR, GONE, NAME, NOTE, PATH, RENAMED, SAME, Entry, Fact, Verdict
from popkit_retention.core.state.site import Site
from tests.policy.scenario import Scenario

GOLDEN = Path(__file__).with_name("goldens") / "story.txt"
NOW = 1_795_780_000.0
Rows = Iterator[tuple[str, object]]


def done(doing: Callable[[], object]) -> object:
    try:
        return doing()
    except (PopkitError, OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def entry_of(entry: Entry) -> list[object]:
    return [entry.kind, entry.home, entry.text, entry.changed]


def memory_of_a_project(folder: Path) -> Rows:
    home = str(folder / "popkit")
    first, second = (
        memory.Project(home, Repository("shop-1", str(folder / name), "shop", str(folder / name))) for name in ("shop", "other")
    )
    settings = Path(first.folder) / memory.SETTINGS
    yield "whether memory is used", memory.is_used(home)
    yield "before it is on", [first.settings(), first.is_on(), first.owner(), first.is_apart(), first.asks(), first.to_learn()]
    yield "a checkout is noted too early", [first.note_checkout(), settings.exists()]
    yield "it is on, and again", [first.turn_on(NOW), first.turn_on(NOW + 1), first.settings(), memory.is_used(home)]
    yield "it is off, and again", [first.turn_off(NOW + 2), first.turn_off(NOW + 3), first.is_on(), first.settings()]
    yield "it is on once more", [first.turn_on(NOW + 4), first.is_on(), first.owner()]
    yield "another checkout", [second.is_on(), second.owner(), second.is_apart(), done(second.check_joined)]
    yield "which turns it on", done(lambda: second.turn_on(NOW))
    yield "is asked about once", [second.asks(), second.asks(), first.asks(), second.settings()]
    yield "it is kept apart", [second.decide(False), second.is_apart(), second.is_on(), second.settings()]
    yield "it joins", [second.decide(True), second.is_apart(), second.is_on(), done(second.check_joined), second.settings()]
    yield "it has taught the project", [second.note_checkout(), second.note_checkout(), first.note_checkout(), second.settings()]
    for number in range(102):
        memory.Project(home, Repository("shop-1", f"/gone/{number}", "shop")).note_checkout()
    known = first.settings()[memory.CHECKOUTS]
    yield "a hundred others", [len(known), known[0], known[-1]]
    yield "one of them", memory.project_of(home, "/gone/90/src").repository
    yield "none of them", memory.project_of(home, "/gone/901/src").repository.name
    for text in ("[]", "{", '{"on": 1}', '{"on": true, "root": 3}'):
        settings.write_text(text)
        yield f"settings of {text}", [done(first.settings), done(first.is_on), done(first.owner)]
    settings.write_text("[")
    yield "damaged ones are written again", [first.turn_off(NOW), first.turn_on(NOW), first.settings()]
    yield "a document", [first.document(), first.write_document("# Memory\n\n- so\n"), first.document(), first.entries_of("# Memory")]
    yield "without it", [first.write_document(""), first.document(), first.entries_of("")]
    yield "it is removed twice", first.write_document("")
    for title, text in (
        ("200 lines", "a\n" * 199 + "a"), ("201 lines", "a\n" * 200 + "a"), ("many tokens", "word " * 2_200), ("bytes", "a" * 25_001),
    ):  # fmt: skip
        Path(first.document_path).write_text(text)
        yield f"a document of {title}", repr(done(first.document)).split(": '")[0][:100]
    for number in (2, 1, 3):
        first.note_ended(f"s{number}", f"/t/{number}.jsonl", NOW - number)
    Path(first.folder, "ended-x.json").write_text('{"transcript": 3, "at": 1}')
    Path(first.folder, "ended-y.json").write_text('{"transcript": "/t/y", "at": "1"}')
    Path(first.folder, "ended-z.json").write_text("[")
    yield "what is to be learnt", first.to_learn()
    yield "one is learnt", [first.remove_note("/t/1.jsonl"), first.to_learn(), sorted(path.name for path in Path(first.folder).iterdir())]
    yield "tokens", [memory.tokens_of(config) for config in ({}, {"memory": None}, {"memory": {}}, {"memory": {"tokens": 7}})]


def facts_of_files(folder: Path) -> Rows:
    root = folder / "checkout"
    (root / "src").mkdir(parents=True)
    old = NOW - 9_000_000
    for name, text in (("a.py", "def total(): pass\n"), ("src/b.py", "x = 1\n"), ("large.bin", "x" * (memory_checks.LARGEST_FILE + 1))):
        (root / name).write_text(text)
        os.utime(root / name, (old, old))
    blob = blob_of(b"def total(): pass\n")
    facts = [
        Fact("a.py"), Fact("a.py", "total"), Fact("a.py", "gone"), Fact("a.py", "total", "", blob), Fact("a.py", "", "", "0" * 40),
        Fact("a.py", "total", "", "0" * 40), Fact("a.py", "gone", "", blob), Fact("src"), Fact("src", "text"), Fact("none.py"),
        Fact("none.py", "", "not a commit"), Fact("large.bin", "y"), Fact("nul\0"), Fact("src/b.py", "x = 1"), Fact("a.py"),
    ]  # fmt: skip
    root_of = str(root)
    yield "facts", {str(tuple(fact)): tuple(verdict) for fact, verdict in memory_checks.check(root_of, facts).items()}
    yield "facts where there is no folder", memory_checks.check(str(folder / "gone"), facts)
    yield "contents", [memory_checks.content(str(root / name)) for name in ("src/b.py", "none.py", "src")]

    def entries() -> list[Entry]:
        return [
            Entry(PATH, "a.py", "", [Fact("a.py", "", "", "0" * 40)]), Entry(PATH, "b.py", "src", [Fact("src/b.py")]),
            Entry(NAME, "total", "a.py", [Fact("a.py", "total")]), Entry(COMMAND, "make", "build", [Fact("none.py")]), Entry(NOTE, "so"),
            Entry(ERROR, "b.py fails", "", [Fact("src/b.py"), Fact("src/b.py", "y = 2")]),
        ]  # fmt: skip

    made = entries()
    yield "entries that hold", [entry_of(entry) for entry in memory_checks.current(root_of, made)]
    late = int((NOW + 9_000_000) * 1e9)
    newest = max((root / name).stat().st_ctime_ns for name in ("a.py", "src/b.py"))
    for when, now_ns in (("later", late), ("at once", newest), ("three seconds later", newest + 3 * 10**9)):
        yield f"files with stamps {when}", sorted(memory_checks.stamps_of(root_of, made, now_ns))
        yield f"and of those that hold {when}", sorted(memory_checks.stamps_of(root_of, made[1:3], now_ns))
    stamps = memory_checks.stamps_of(root_of, made[1:3], late)
    gone = [Entry(NAME, "gone", "a.py", [Fact("a.py", "gone")]), Entry(NAME, "gone", "c.py", [Fact("c.py", "gone")])]
    for title, known in (("as they were", stamps), ("as they were not", {"a.py": [1, 2, 3]}), ("without stamps", None), ("odd", "x")):
        yield f"files {title}", [entry_of(entry) for entry in memory_checks.current(root_of, gone, known)]
    for kind in (PATH, NAME, COMMAND, ERROR, NOTE):
        for state in (SAME, RENAMED, GONE, "changed"):
            one = Entry(kind, "old.py is it", "src", [Fact("src/old.py"), Fact("other.py")])
            one.text = "src/old.py" if kind == ERROR else one.text
            verdicts = {Fact("src/old.py"): Verdict(state, "lib/new.py")}
            yield f"{kind} {state}", [memory_checks.holds_still(one, verdicts), *entry_of(one), one.wording, one.path]


def memory_that_is_given(folder: Path) -> Rows:
    home, root = folder / "given", folder / "given-shop"
    root.mkdir()
    (root / "a.py").write_text("def total(): pass\n")
    environ = {"POPKIT_HOME": str(home), "HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "claude")}

    def site() -> Site:
        return Site(environ, "session-1", str(root))

    yield "before memory is used", [delivery.deliver(site(), NOW), delivery.question(site())]
    project = memory.project_of(str(home), str(root))
    project.turn_on(NOW)
    yield "without a document", [delivery.deliver(site(), NOW), site().session.memory]
    entries = [Entry(NAME, "total", "a.py", [Fact("a.py", "total")]), Entry(NAME, "gone", "a.py", [Fact("a.py", "gone")])]
    project.write_document(memory_text.render(entries), entries)
    yield "a document", delivery.deliver(site(), NOW)
    yield "once", [delivery.deliver(site(), NOW + 1), site().session.memory, journal.read(site().paths())]
    yield "emptied", [delivery.note_emptied(site()), delivery.note_emptied(site()), site().session.memory]
    Path(project.document_path).write_text("# By hand\n")
    yield "one that was edited by hand", [delivery.deliver(site(), NOW + 2), delivery.question(site())]
    project.turn_off(NOW)
    delivery.note_emptied(site())
    yield "off", delivery.deliver(site(), NOW + 3)
    Path(project.folder, memory.SETTINGS).write_text("[")
    yield "damaged", [delivery.deliver(site(), NOW + 3), delivery.question(site()), sorted(path.name for path in home.glob("*.log"))]


def calls_that_wait(folder: Path) -> Rows:
    paths = store.ContextFiles(str(folder / "waiting"), "session-1")
    source = folder / "w.py"
    source.write_text("x\n")
    scenario = Scenario()
    calls: list[Call] = []
    scenario.observe = lambda event: calls.append(event) or {}  # what would be observed
    scenario.call("Read", {"file_path": str(source), "offset": 3, "limit": 9, "more": "left out"}, "     1\tx")
    scenario.call(
        "Bash", {"command": "npm test -- --password=hunter22 " + "x" * 9_000, "description": "d"}, "1 failed\nsecret\n", failed=True
    )
    scenario.call("Grep", {"pattern": "x" * 3_000, "path": "src", "-n": True}, "src/a.py\n")
    scenario.call("MultiEdit", {"file_path": "/p/m.py", "edits": [{"old_string": "a", "new_string": "b"}]}, "done")
    scenario.call("mcp__a__b", {"n": 1, "token": "abc"}, "done")
    for call in calls:
        pending.note(paths, call, 0.0 if call.tool == "Read" else NOW, [])
    pending.note(paths, None, NOW + 5, [journal.pinned("T1", NOW), {"event": "odd"}])
    files.spill(paths.state, "[")
    files.spill(paths.state, '{"entries": 3}')
    waiting = pending.observations(paths)
    for one in waiting:
        row = json.dumps(one.call)
        short = row if len(row) < 900 else f"{row[:300]} … {len(row)} characters … {row[-300:]}"
        yield "waits", [one.prompted, short, one.entries, sorted(one.seen)]
    yield "entries for the journal", pending.entries(waiting)
    yield "files that are left", len(files.spilled(paths.state))
    stored = store.StoredState(Scenario().state)
    settled = pending.settle(paths, stored, waiting, {"T1", "T3"}, TOOLS)
    yield "settled", [len(settled), journal.read(paths)]
    session_of = Scenario()
    again, taken = store.StoredState(session_of.state), []
    rules = Ruleset.from_config({}, TOOLS, None)
    known = session_of.read("k.py")
    read = pending.take_in(paths, again, rules, lambda call: taken.append([call.id, call.tool, call.at, call.outcome.error]))
    yield "taken in", [known, len(read), taken, again.state.turn, [*again.state.pins], journal.read(paths)]
    pending.remove(read)
    pending.remove(read[:1])
    yield "removed", files.spilled(paths.state)


def archived_contents(folder: Path) -> Rows:
    home = folder / "kept"
    home.mkdir()
    yield "without an archive", [archived.restorable(str(home), ["abcd2345"]), archived.Originals(str(home))("abcd2345")]
    chain = archive.Chain("session-1", "session-1", project="/shop")
    with closing(archive.open_archive(str(home / "archive.sqlite"))) as db:
        rows = [
            ("1", "Read a.py", ["/shop/src/a.py"]), ("2", "Read b.py", ["/shop/src/deep/b.py"]), ("3", "Bash npm test", ["npm test"]),
            ("4", "Read a.py", ["/other/a.py"]), ("5", "Bash", []),
        ]  # fmt: skip
        new = [archive.NewRecord(id, "read", label, json.dumps(f"text {id}"), subjects=names) for id, label, names in rows]
        ids = archive.add_records(db, chain, new, now=NOW)
        for pattern in ("a.py", "/shop/src/a.py", "src/**", "src/", "**/*.py", "npm *", "npm test", "*.ts", "", "**", "src\\a.py", "b.*"):
            yield f"what {pattern} matches", [record.label + record.tool_use_id for record in archived.matching(db, pattern)]
        yield "of no session", archived.matching(db, "a.py", session_id="other")
        yield "contents", [archived.content_of(db, id) for id in (ids[0], "unknown")]
        yield "folders", [archived.folders_of(db, "no such project")]
        archive.archive_record(db, ids[0], now=NOW)
        originals = archived.Originals(str(home))
        yield "originals", [originals(id) for id in (ids[0], ids[1], "unknown")]
        originals.close()
        yield "opened again", [originals(ids[2]), originals.close(), originals.close()]
        yield (
            "what can be restored",
            [ids.index(id) for id in sorted(archived.restorable(str(home), [*ids, "unknown"]) or (), key=ids.index)],
        )
    (home / "archive.sqlite").write_bytes(b"not an archive" * 99)
    yield "a damaged one", [archived.restorable(str(home), ids), archived.Originals(str(home))(ids[0])]
    yield "names", [archived.task_id("s"), archived.task_id("s", "a1")]


def stored_sessions(folder: Path) -> Rows:
    home, project = str(folder / "many"), folder / "many-shop"
    (project / "src").mkdir(parents=True)
    for number, (name, agent_id, begun_in) in enumerate(
        [("s1", "", str(project)), ("s1", "a1", str(project)), ("s2", "", str(folder)), ("s3", "", str(project / "src")), ("s4", "", "")]
    ):
        scenario = Scenario()
        for at in "ab":
            scenario.read(f"{at}.py", text="a line\n" * 50)
        scenario.edit("a.py")
        scenario.state.session_id, scenario.state.agent_id = name, agent_id
        paths = store.ContextFiles(home, name, agent_id)
        with paths.locked():
            store.save(paths, store.StoredState(scenario.state))
        os.utime(paths.state, (NOW + number, NOW + number))
        if begun_in:
            session.update(home, name, project=begun_in)
        known = stored_contexts.stored_state(paths)
        yield f"{name} {agent_id}", [known.index, stored_contexts.expired_of(paths, known)] if known else None
    yield "contexts", [[paths.session_id, paths.agent_id, at] for paths, at in stored_contexts.contexts(home)]
    yield "folders", sorted(stored_contexts.folders(home))
    for place in (project, project / "src", folder, folder / "many-shop-2"):
        of_project = stored_contexts.contexts_of_project(home, str(place))
        yield f"of {place.relative_to(folder)}", [[paths.session_id, paths.agent_id] for paths in of_project]
    paths = store.ContextFiles(home, "s4")
    for text in ("[", "3", "{}", '{"index": "x"}'):
        Path(paths.state).write_text(text)
        yield f"a state of {text}", str(done(lambda: stored_contexts.stored_state(paths)))[:60].split(" object")[0]
    yield "no state", stored_contexts.stored_state(store.ContextFiles(home, "none"))
    site = Site({"POPKIT_HOME": home}, "s1", str(project))
    transcript = folder / "t.jsonl"
    yield "due without a transcript", stale_ledgers.is_due(site, str(transcript))
    transcript.write_text("{}\n")
    yield "due with nothing booked", stale_ledgers.is_due(site, str(transcript))
    store.journal(site.paths(), journal.pinned("T1", NOW))
    yield "due with a pin", stale_ledgers.is_due(site, str(transcript))
    store.journal(site.paths(), journal.advised(3, NOW))
    yield "due with advice", stale_ledgers.is_due(site, str(transcript))
    session.update(home, "s1", transcript=str(transcript))
    yield "what remains", [stale_ledgers.catch_up(site, str(transcript)), stale_ledgers.catch_up(site), stale_ledgers.settle(site, "/none")]
    for name, value in (("memory", NOW), ("memory", NOW + 1), ("advised", NOW)):
        yield f"{name} is claimed", [session.claim(home, "s9", name, value), vars(session.read(home, "s9"))]
    yield (
        "facts",
        [
            vars(session.update(home, "s9", memory=None, echo_tokens=3)),
            vars(session.update(home, "s9", echo_tokens=3)),
            vars(session.read(home, "s9")),
        ],
    )


def tools_that_are_hidden(folder: Path) -> Rows:
    home = str(folder / "hiding")
    yield "before", [hidden_tools.hidden(home, "/shop"), hidden_tools.project_of(home, "/shop/src"), hidden_tools.project_of(home, "/")]
    hidden_tools.hide(home, "/shop", "LS", {"name": "LS", "tokens": 3})
    hidden_tools.hide(home, "/shop", "mcp__a__", {"name": "a", "tokens": 9, "defer": True})
    yield "two", [hidden_tools.hidden(home, "/shop"), hidden_tools.parted(hidden_tools.hidden(home, "/shop"))]
    yield "projects", [hidden_tools.project_of(home, place) for place in ("/shop/src/deep", "/shop", "/shops", "")]
    hidden_tools.hide(home, "/shop", "LS", None)
    yield "one", [*hidden_tools.hidden(home, "/shop")]
    hidden_tools.hide(home, "/shop", "odd", {"name": 7, "tokens": "many", "at": 1e300})
    yield "what is of another form", [hidden_tools.hidden(home, "/shop")["odd"]]
    yield "keys", [hidden_tools.server_key(*one) for one in (("a b.c", "mcp__a_b_c__x"), ("a-b", "mcp__a-b__x"), ("é", "mcp__e__x"))]
    yield "among", [hidden_tools.is_among(tool, ["LS", "mcp__a__"]) for tool in ("LS", "LSP", "mcp__a__x", "mcp__ab__x", "mcp__a__")]


def test_what_hooks_keep_goes_as_the_golden_tells(tmp_path: Path, golden) -> None:
    told = []
    for chapter in (
        memory_of_a_project, facts_of_files, memory_that_is_given, calls_that_wait, archived_contents, stored_sessions,
        tools_that_are_hidden,
    ):  # fmt: skip
        told.append(f"# {chapter.__name__.replace('_', ' ')}")
        told += [f"{title}: {answer}" for title, answer in chapter(tmp_path)]
    text = "".join(f"{row}\n" for row in told).replace("\0", "NUL").replace(str(tmp_path), "FOLDER")
    golden(GOLDEN, re.sub(r"-[0-9a-f]{6,}\b", "-KEY", text))
