"""What a rebuild makes of a transcript and a journal: `goldens/rebuilt.txt` tells it session by session, the tests below case by case.

`--update-goldens` writes the golden anew, and the difference is for a person to read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import bookings
from popkit_retention.core.policy.list_text import folded
from popkit_retention.core.policy.models import Models
from popkit_retention.core.policy.placeholder import placeholder
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.usage import Usage
from popkit_retention.core.state import journal, rebuild
from popkit_retention.core.state.rebuild import Rebuild
from tests.lab.transcripts import BEGAN, Transcript

GOLDEN = Path(__file__).with_name("goldens") / "rebuilt.txt"
TEXT = "a line of what it holds, like no other\n" * 40
GONE = "abcd2345"
SYNTHETIC = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def handle_of(id: str) -> str:
    return "abcdefghijklm"[int(id[1:])] * 8


class Told(Transcript):
    """A session, a line each second. Prompts grow by 2,000 tokens, as much as comes between them."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = 20_000

    def add(self, kind: str, parent: str | None = "", **fields) -> str:
        self.wait(1)
        return super().add(kind, parent, **fields)

    @property
    def now(self) -> float:
        return BEGAN + self.at

    def request(self, more: int = 2_000, read: int | None = None, **fields) -> None:
        """An answer, behind a prompt that has grown by so much, of which so much came from the cache."""
        read = self.tokens if read is None else read
        self.tokens += more
        self.say(
            "so", {"input_tokens": 10, "cache_read_input_tokens": read, "cache_creation_input_tokens": self.tokens - read - 10}, **fields
        )

    def read(self, id: str, path: str, first: int = 1, text: str = TEXT, **asked) -> None:
        self.use(id, "Read", {"file_path": path, **asked})
        self.result(id, "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), first)))

    def change(self, id: str, path: str) -> None:
        self.use(id, "Edit", {"file_path": path, "old_string": "a", "new_string": "b"})
        self.result(id, f"The file {path} has been updated.")

    def run(self, id: str, command: str, output: str, error: bool = False) -> None:
        self.bash(id, command, output, error)

    def boundary(self, trigger: str = "manual", **metadata) -> None:
        metadata = {"trigger": trigger, **metadata}
        self.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=self.last, compactMetadata=metadata)

    def again(self, id: str, content: str, command: str) -> None:
        """A call with its result, as it is written down again behind a compaction."""
        self.use(id, "Bash", {"command": command}, message=f"new-{len(self.entries)}", usage=SYNTHETIC)
        self.entries[-1]["message"]["model"] = "<synthetic>"
        self.result(id, content)

    def clear(self, *ids: str) -> dict[str, Any]:
        """Placeholders take the place of these results; the journal entry of it."""
        for entry in self.entries:
            for block in entry["message"]["content"] if isinstance(entry.get("message", {}).get("content"), list) else []:
                if block.get("tool_use_id") in ids:
                    block["content"] = placeholder("it", "old", handle_of(block["tool_use_id"]))
        return dict(journal.cleared(list(ids), 900 * len(ids), {}, self.now + 0.5))


# A model that counts half as much again as is estimated, at prices of its own.
MODEL = {"read": 0.1, "write_5m": 1.25, "write_1h": 2.0, "input": 5, "output": 25, "window": 200_000, "tokens": 1.5}


def rules_for(profile: str | None) -> Ruleset:
    return Ruleset.from_config({"models": {"by_id": {"claude-opus-5": MODEL}}}, TOOLS, profile)


def rebuilt(lines: Transcript, folder: Path, *noted: object, **more: Any) -> Rebuild:
    entries = journal.entries_of(json.loads(json.dumps(noted)))
    originals = {handle_of(id): json.dumps(TEXT) for id in ("t1", "t2", "t3", "t4")}
    return rebuild.rebuild(lines.write(folder / "s.jsonl"), entries, rules_for, **{"original": originals.get, **more})


def facts(made: Rebuild) -> Iterator[tuple[str, object]]:
    """What was rebuilt, as far as it says anything."""
    state, conversation = made.state, made.conversation
    yield "state", [state.session_id, state.agent_id, state.cwd, state.index, state.epoch, state.profile, state.calibration, [*state.pins]]
    yield "live", [[one.id, one.index, one.kind, one.tokens, one.cleared, *map(list, one.parts)] for one in state.live.values()]
    yield "expired", [[one.id, one.index, one.tokens, one.cleared, one.ended[0]] for one in state.expired.values()]
    yield "places", {id: [place.prefix, place.request] for id, place in conversation.places.items()}
    yield "requests", [[sent.tokens, sent.at - BEGAN, sent.until - BEGAN, added, sent.by_itself] for sent, added in conversation.requests]
    yield "prompts", [conversation.prompts, conversation.base, conversation.unsent, conversation.inputs, conversation.prompt]
    yield "compacted", [conversation.carried, conversation.compacted_tokens, sorted(conversation.replaced)]
    yield "look-ups", [conversation.look_ups.count, conversation.look_ups.taken]
    yield "unseen", sorted(conversation.unseen)
    yield "ledger", {name: figure for name, figure in state.counts.ledger.items() if figure}
    yield "days", {f"that day {name.partition(' ')[2]}": figure for name, figure in state.counts.days.items() if figure}
    yield "in files", sorted(made.in_files)


def plain(lines: Told) -> list[object]:
    lines.prompt("go")
    lines.read("t1", "/shop/a.py")
    lines.request()
    lines.think(100, "m-thinking")
    lines.use("t2", "Bash", {"command": "make"}, text="Now I build it.")
    lines.result("t2", "built\n" * 200, {"stdout": "built\n" * 200, "stderr": "", "interrupted": False})
    lines.request(3_000)
    lines.prompt("and now that " * 20)
    lines.use("t3", "Grep", {"pattern": "x"})
    lines.result("t3", "no such thing", error=True)
    return [journal.pinned("t1", BEGAN + 2), journal.profile_chosen("spec", BEGAN + 4.0), journal.ended("other", lines.now + 9)]


def parallel_and_left(lines: Told) -> list[object]:
    """Parallel calls, one answer in two lines, and a branch that was left."""
    lines.prompt("go")
    first = lines.use("t1", "Bash", {"command": "cat a"}, message="m", usage=lines.sees(100))
    second = lines.use("t2", "Bash", {"command": "cat b"}, message="m", usage=lines.sees(100))
    lines.result("t1", TEXT, parent=first)
    here = lines.result("t2", TEXT + "b", parent=second)
    lines.request()
    lines.run("t9", "cat left", TEXT + "left")
    lines.request()
    lines.prompt("rather that", parent=here)
    lines.request()
    return [journal.files_changed({"/shop/a": "modified"}, lines.now, "t1"), journal.committed("t2", ["/shop/a"], lines.now)]


def cleared_and_fetched(lines: Told) -> list[object]:
    lines.prompt("go")
    lines.read("t1", "/shop/a.py")
    lines.read("t2", "/shop/b.py", text=TEXT + "other")
    lines.run("t3", "make", TEXT + "made")
    lines.request()
    lines.read("t4", "/shop/a.py")
    entry = lines.clear("t1", "t2", "t3", "t4")
    lines.request(-8_000, read=10_000)
    lines.read("t5", "/shop/a.py", text=TEXT * 2)
    lines.read("t6", "/shop/b.py", text=TEXT[:400])
    lines.run("t7", "make", TEXT + "made")
    lines.run("t8", f"popkit restore {GONE}", TEXT * 3)
    lines.use("t10", "Read", {"file_path": "/shop/a.py"})
    lines.result("t10", "File does not exist.", error=True)
    lines.request(6_000)
    lines.request()
    return [entry]


def taken_out_by_the_provider(lines: Told) -> list[object]:
    lines.prompt("go")
    for id in ("t1", "t2"):
        lines.read(id, f"/shop/{id}.py", text=TEXT + id)
        lines.request()
    at = lines.now + 0.5
    lines.request(-2_000, read=10_000)
    for id in ("t3", "t4"):
        lines.read(id, f"/shop/t{int(id[1]) - 2}.py", text=TEXT + id)
        lines.request()
    lines.request()
    return [
        journal.cleared_outside(["t1"], 900, "by the API", at),
        journal.cleared_outside(["t2"], 900, "by the API", at, by_user=False),
    ]


def entered_in_part(lines: Told) -> list[object]:
    """What did not enter comes again: as the same content, as lines of the same file; not where the file has changed meanwhile."""
    lines.prompt("go")
    noted: list[object] = []

    def in_part(id: str) -> None:
        noted.append(journal.entered(id, [], "abcd2345", 9_000, 1_000, 300, ["noise"], lines.now + 0.1))

    for id, path in (("t1", "/shop/a.py"), ("t2", "/shop/b.py"), ("t3", "/shop/c.py")):
        lines.read(id, path, text=TEXT + id)
        in_part(id)
    lines.use("t4", "mcp__demo__find", {"what": 1})
    lines.result("t4", TEXT)
    in_part("t4")
    lines.run("t5", "make", TEXT + "made")
    in_part("t5")
    lines.request()
    lines.change("t6", "/shop/b.py")
    lines.read("t7", "/shop/a.py", 3, TEXT[:100], offset=3, limit=3)
    lines.read("t8", "/shop/b.py", 3, TEXT[:100], offset=3, limit=3)
    lines.use("t9", "mcp__demo__find", {"what": 2})
    lines.result("t9", TEXT)
    lines.run("t10", "make", TEXT + "made")
    lines.request()
    lines.boundary(preTokens=26_000)
    lines.prompt("summary", isCompactSummary=True)
    lines.tokens = 12_000
    lines.request()
    lines.read("t11", "/shop/c.py", text=TEXT + "t3")
    lines.request()
    noted.append(journal.entered_whole("t4", lines.now))
    return noted


def an_entry_made_whole(lines: Told) -> list[object]:
    lines.prompt("go")
    lines.read("t1", "/shop/a.py")
    part = journal.entered("t1", [], "abcd2345", 9_000, 1_000, 300, ["noise"], lines.now + 0.1)
    lines.request()
    whole = journal.made_whole(journal.event_of(part), 9_000, lines.now + 0.1)
    lines.read("t2", "/shop/a.py")
    lines.request()
    lines.request()
    return [part, whole]


def compactions(summarised: bool | None, why: str = "auto", **left: int) -> Callable[[Told], list[object]]:
    """A session with a compaction: the host's own (None), or one that we have answered."""

    def told(lines: Told) -> list[object]:
        lines.prompt("go")
        lines.run("t1", "npm test", TEXT)
        lines.read("t2", "/shop/a.py")
        lines.request()
        lines.run("t3", "git log", TEXT + "c1")
        lines.request()
        cleared = journal.cleared(["t1"], 900, {}, lines.now + 0.5)
        at = lines.now + 1
        lines.boundary("auto", preTokens=24_000, **left)
        if summarised is None:
            lines.prompt("summary", isCompactSummary=True, timestamp=lines.entries[-1]["timestamp"])
        else:
            before = lines.entries[-1]["timestamp"]
            lines.prompt("go", timestamp=before)
            lines.again("t1", placeholder("Bash npm test", "old", GONE), "npm test")
            lines.again("t3", TEXT + "c1", "git log")
            for entry in lines.entries[-4:]:
                entry["timestamp"] = before
        lines.add("user", message={"role": "user", "content": "Read these again."}, isMeta=True)
        lines.prompt("go on")
        lines.tokens = 12_000
        lines.request()
        lines.read("t4", "/shop/a.py")
        lines.run("t5", "git log", TEXT + "c1")
        lines.request()
        noted = journal.compacted(why, 24_000, 9_000, [GONE], at - 0.5, 1_000, bool(summarised))
        return [cleared] if summarised is None else [noted, cleared]

    return told


def an_undo(lines: Told) -> list[object]:
    """Calls leave with a compaction, end while they are away, and come back with another one."""
    lines.prompt("go")
    lines.run("t1", "npm test", "1 passing")
    lines.read("t2", "/shop/a.py")
    lines.run("t3", "git log", "c1")
    lines.run("t4", "npm run lint", "clean")
    lines.request()
    lines.run("t0", "npm run lint", "clean still")
    lines.boundary()
    lines.prompt("go")
    lines.say(folded(["Bash npm test"], GONE).text)
    lines.again("t3", "c1", "git log")
    lines.request()
    lines.run("t5", "npm test", "2 passing")
    lines.change("t6", "/shop/a.py")
    lines.request()
    back = journal.put_back([GONE], lines.now + 0.5, 26_000)
    lines.boundary()
    lines.prompt("go")
    lines.again("t1", "1 passing", "npm test")
    lines.use("t2", "Read", {"file_path": "/shop/a.py"}, message="new-2", usage=SYNTHETIC)
    lines.result("t2", f"1\t{TEXT}")
    lines.again("t3", "c1", "git log")
    lines.again("t4", "clean", "npm run lint")
    lines.again("t5", "2 passing", "npm test")
    lines.request()
    return [back, journal.advised(30, lines.now)]


def entered_in_part_and_cleared(lines: Told) -> list[object]:
    """What was kept out of it is no longer missing once it has left altogether; what entered without a token kept nothing out."""
    lines.prompt("go")
    lines.read("t1", "/shop/a.py")
    part = journal.entered("t1", [], "abcd2345", 9_000, 1_000, 300, ["noise"], lines.now + 0.1)
    lines.read("t2", "/shop/b.py", text=TEXT + "b")
    nothing = journal.entered("t2", [], "abcd2345", 9_000, 1_000, 0, ["noise"], lines.now + 0.1)
    lines.request()
    cleared = lines.clear("t1")
    outside = journal.cleared_outside(["t2"], 700, "by the API", lines.now + 0.6, by_user=False)
    lines.request(-3_000, read=10_000)
    lines.read("t3", "/shop/a.py", text=TEXT + "again")
    lines.read("t4", "/shop/b.py", text=TEXT + "b again")
    lines.request()
    lines.request()
    return [part, nothing, cleared, outside]


def cleared_in_the_second_of_a_read(lines: Told) -> list[object]:
    lines.prompt("go")
    lines.read("t1", "/shop/a.py")
    lines.request()
    entry = {**lines.clear("t1"), "at": lines.now + 3}
    lines.request(500)
    lines.read("t2", "/shop/a.py", text=TEXT + "again")
    assert lines.now == entry["at"]
    lines.request(-500, read=10_000)
    lines.request()
    return [entry]


def memory_that_spared_look_ups(lines: Told) -> list[object]:
    lines.prompt("go")
    paths = [f"src/shop/part{number}/till{number}.py" for number in range(4)]
    given = journal.remembered("# Project memory\n\n" + "\n".join(paths), 40, lines.now + 0.1)
    for number, path in enumerate(paths):
        lines.use(f"t{number}", "Read", {"file_path": f"/shop/{path}"}, text=f"I read {path}.")
        lines.result(f"t{number}", f"1\t{TEXT}")
        lines.request()
    return [given]


def a_fork_into_another_folder(lines: Told) -> list[object]:
    """The first entry that has a folder says where the session began; commands go to others."""
    lines.prompt("go", cwd=7)
    lines.prompt("there", cwd="/first")
    lines.run("t1", "cd /second && cat a.py", TEXT)
    lines.prompt("and here", cwd="/third")
    lines.request()
    return [journal.restored("t1", lines.now), journal.files_changed({"/second/a.py": "modified"}, lines.now + 1)]


def long_outputs(lines: Told) -> list[object]:
    notice = "<persisted-output>\nOutput too large (55.3KB). Full output saved to: /tmp/x.txt\n\nPreview (first 2KB):\n" + TEXT
    lines.prompt("go")
    lines.use("t1", "Bash", {"command": "make"})
    lines.result("t1", notice, {"stdout": TEXT, "stderr": "", "persistedOutputPath": "/x.txt", "persistedOutputSize": 55_300})
    lines.request()
    return []


SESSIONS: dict[str, Callable[[Told], list[object]]] = {
    "a plain session": plain,
    "parallel calls and a branch that was left": parallel_and_left,
    "a clear, and what was fetched again": cleared_and_fetched,
    "what entered in part and was cleared": entered_in_part_and_cleared,
    "a clear in the second of a read": cleared_in_the_second_of_a_read,
    "what the provider took out": taken_out_by_the_provider,
    "what entered in part": entered_in_part,
    "an entry made whole": an_entry_made_whole,
    "a compaction of the host": compactions(None),
    "one that says how much it left": compactions(None, postTokens=4_000),
    "a compaction of ours": compactions(False),
    "one that was asked for": compactions(False, "asked"),
    "one that was summarised": compactions(True),
    "an undo": an_undo,
    "what memory has spared": memory_that_spared_look_ups,
    "another folder": a_fork_into_another_folder,
    "outputs in files": long_outputs,
}


def test_sessions_are_rebuilt_as_the_golden_tells(tmp_path: Path, golden) -> None:
    told = []
    for title, session in SESSIONS.items():
        lines = Told()
        noted = session(lines)
        went: list[object] = []
        made = rebuilt(lines, tmp_path, *noted, session_id="s", watch=lambda entry, so_far: went.append([so_far.prompt, so_far.inputs]))  # noqa: B023
        told += [f"# {title}", f"went: {went}", *(f"{name}: {json.dumps(fact)}" for name, fact in facts(made))]
    golden(GOLDEN, "".join(f"{row}\n" for row in told))


def test_who_watches_sees_the_conversation_after_every_entry(tmp_path: Path) -> None:
    lines = Told()
    plain(lines)
    seen: list[tuple[str, int]] = []
    rebuilt(lines, tmp_path, watch=lambda entry, conversation: seen.append((entry["uuid"], conversation.state.index)))
    assert [uuid for uuid, _ in seen] == [entry["uuid"] for entry in lines.entries]
    assert [index for _, index in seen] == [0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_who_watches_knows_a_result_with_a_placeholder_as_cleared(tmp_path: Path) -> None:
    lines = Told()
    lines.prompt("go")
    lines.read("t1", "/shop/a.py")
    lines.read("t2", "/shop/b.py", text=TEXT + "b")
    lines.clear("t1")
    seen: list[dict[str, str]] = []
    rebuilt(lines, tmp_path, watch=lambda entry, so_far: seen.append({result.id: result.cleared for result in so_far.results()}))
    assert seen == [{}, {}, {"t1": handle_of("t1")}, {"t1": handle_of("t1")}, {"t1": handle_of("t1"), "t2": ""}]


def test_the_first_folder_that_is_named_is_the_session_s_a_subagent_has_none(tmp_path: Path) -> None:
    lines = Told()
    for folder in (7, "/first", "/second"):
        lines.prompt("go", cwd=folder)
    for agent_id, folder in (("", "/first"), ("a1", "")):
        state = rebuilt(lines, tmp_path, session_id="s", agent_id=agent_id).state
        assert (state.session_id, state.agent_id, state.cwd) == ("s", agent_id, folder)


@pytest.mark.parametrize(("session_id", "leave"), [("s", True), ("pi_s", False), ("ses_s", False)], ids=["rebuilt", "pi", "OpenCode"])
def test_pictures_have_to_leave_only_where_a_conversation_is_built_again(session_id: str, leave: bool, tmp_path: Path) -> None:
    lines, picture = Told(), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    lines.add("user", message={"role": "user", "content": [picture, {"type": "text", "text": "look"}]})
    lines.use("t1", "Read", {"file_path": "/shop/a.png"})
    lines.result("t1", [picture])
    for odd in ({}, {"tool_use_id": ["t1"]}):
        lines.add("user", message={"role": "user", "content": [{"type": "tool_result", "content": [picture], **odd}]})
    conversation = rebuilt(lines, tmp_path, session_id=session_id).conversation
    assert (conversation.shown, conversation.pictures) == ((1, {"t1"}) if leave else (0, set()))


@pytest.mark.parametrize("counted", ["clear", "compact", "advice"])
def test_a_ledger_is_settled_where_anything_is_booked(counted: str, tmp_path: Path) -> None:
    lines = Told()
    plain(lines)
    path = lines.write(tmp_path / "s.jsonl")
    entry = {
        "clear": journal.cleared(["t1"], 900, {}, lines.now),
        "compact": journal.compacted("auto", 9, 3, [GONE], lines.now),
        "advice": journal.advised(30, lines.now),
    }[counted]
    with_it, without = (rebuild.rebuild(path, noted, rules_for).state.counts for noted in ([entry], []))
    assert with_it.settled == without.settled == Path(path).stat().st_size
    assert (bool(with_it.ledger), without.ledger) == (counted != "clear", {}), "of a clear nothing is to be seen"


# --- what the ledger takes -------------------------------------------------------------------------------------------------------------


def test_the_last_eight_days_of_a_ledger_are_kept_oldest_first_to_six_places() -> None:
    days = {f"2026-03-{day:02}": {"charged": day + 0.12345678, "saved": 0.0} for day in range(9, 0, -1)}
    kept = rebuild.newest_days({**days, "2025-03-09": {"charged": 1.0}})
    assert list(kept) == [f"2026-03-{day:02} {name}" for day in range(2, 10) for name in ("charged", "saved")]
    assert (kept["2026-03-02 charged"], kept["2026-03-09 charged"], kept["2026-03-02 saved"]) == (2.123457, 9.123457, 0.0)
    assert rebuild.newest_days({"2026-03-01": {"charged": 1.0}, "2026-02-22": {"charged": 2.0}, "2026-02-21": {"charged": 3.0}}) == {
        "2026-02-22 charged": 2.0, "2026-03-01 charged": 1.0,
    }  # fmt: skip
    assert rebuild.newest_days({}) == {}


def test_a_request_and_a_compaction_are_what_was_sent_as_the_model_counts() -> None:
    sent = Usage(20_000, 7.0, "claude-opus-5", 3_600, 15_000, 4_000)
    sent.files = 1_001
    models: Models = rules_for(None).models
    request = rebuild.moment(sent, 900, models, True, 1.5)
    assert isinstance(request, bookings.Request)
    assert (request.at, request.prompt, request.read, request.created, request.added) == (7.0, 20_000, 15_000, 4_000, 900)
    assert (request.files, request.prices.ttl_s, request.usd) == (1_502, 3_600, 5.0)
    for by_itself in (True, False):
        gap = Usage(0, 8.0)
        gap.by_itself = by_itself
        for is_ours in (True, False):
            compaction = rebuild.moment(gap, 901, models, is_ours, 1.5)
            assert isinstance(compaction, bookings.Compaction)
            assert (compaction.at, compaction.added, compaction.is_ours, compaction.is_asked) == (8.0, 1_352, is_ours, not by_itself)
    assert (rebuild.moment(gap, 901, models).added, rebuild.moment(gap, 901, models).is_ours) == (901, False)
    assert rebuild.moment(sent, 900, models).files == 1_001
