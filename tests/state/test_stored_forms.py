"""What the stores of a session write and read, as a golden: texts of MEMORY.md, rules on data, limits, breakdowns of prompts, receipts.

`--update-goldens` writes `goldens/stored_forms.txt` anew, and the difference is for a person to read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from popkit_retention.core.policy.compacting import Removal
from popkit_retention.core.policy.limits import FIVE_HOUR, SEVEN_DAY
from popkit_retention.core.state import data_rules, limit_readings, memory_json, memory_reading, memory_text, prompt_breakdowns, receipts
from popkit_retention.core.state.journal import entries_of
from popkit_retention.core.state.memory_records import COMMAND, ERROR, NAME, NOTE, PATH, Entry, Fact
from tests.policy.scenario import Scenario

GOLDEN = Path(__file__).with_name("goldens") / "stored_forms.txt"
FILES = """a.py
src/cart.ts
src/cart.test.ts
src/CartItem.ts
src/till.ts
src/till.test.ts
src/lib/deep/x.go
src/lib/deep/y.go
src/lib/other/z.go
src/lib/z.d.ts
src/my notes.md
src/a{b}.ts
src/a,b.ts
src/say "hi".md
src/back\\slash.md
src/star*.md
docs/README
docs/.hidden
docs/one.md
docs/two.md
tests/unit/test_a.py
tests/unit/test_b.py
tests/unit/conftest.py
web/ü.ts
web/{odd}/x.ts""".split("\n")
COMMANDS = (
    ("npm test", "test"),
    ("npm run lint", "lint"),
    ("cd web && npm test", "test"),
    ("cd web && npm run build", "build"),
    ("cd one && make", "build"),
    ("cd 'a b' && make", "build"),
    ("# in web", ""),
    ("\\# in web", "run"),
    ("python main.py", "run"),
    ("ruff format", "format"),
    ("cd web", "run"),
    ("make odd", "odd"),
)


def files() -> list[Entry]:
    entries = [Entry(PATH, path.rpartition("/")[2], path.rpartition("/")[0]) for path in FILES]
    entries[1].changed = entries[10].changed = True
    return entries


def others() -> list[Entry]:
    return [
        *(Entry(COMMAND, text, purpose) for text, purpose in COMMANDS),
        *(Entry(NAME, name, home) for name, home in (("total", "src/cart.ts"), ("price", "src/cart.ts"), ("Till", "gone.ts"), ("x", ""))),
        Entry(ERROR, "E1: do this", facts=[Fact("a.py", "x", "abc", "def")]),
        Entry(NOTE, "we write in English"),
        Entry(NOTE, "a second note"),
    ]


def memory() -> Iterator[tuple[str, object]]:
    for title, entries in (("nothing", []), ("files", files()), ("all", files() + others()), ("no files", others())):
        text = memory_text.render(entries)
        yield f"MEMORY.md of {title}", text
        yield f"paths in that of {title}", sorted(memory_reading.paths_in(text))
        yield f"commands in that of {title}", memory_reading.commands_in(text)
        assert sorted(memory_reading.paths_in(text)) == sorted(entry.path for entry in entries if entry.kind == PATH)
        assert memory_json.to_json(memory_json.from_json(memory_json.to_json(entries))) == memory_json.to_json(entries)
    yield "stored entries", memory_json.to_json(others())
    for value in (None, [1], [["path", "a", "", False, [[1]]]], [["odd", "a", "", False, []]], [["path", "a", ""]]):
        yield f"entries of {value}", attempt(lambda value=value: memory_json.from_json(value))
    yield "sizes", [memory_text.size(text) for text in ("abc", "価格", "")]
    yield "endings", [memory_text.ending_of(file) for file in ("a.py", "Makefile", "x.d.ts", ".hidden")]
    yield "variants", [memory_text.variant_of(stem, {"cart", "ca"}) for stem in ("cart.test", "cartItem", "cart", "CART", "cartoon")]
    yield "folders above", sorted(memory_text.folders_above(["a/b/c", "a/b/d", "x/y", "z"]))
    odd = 'src/: a.ts, {b,c{,.test}}.ts, "x, y.md", z.go (One, Two), w*.md\n deeper/: q.py\n  - more/\nno folder\n./: top.md'
    yield "a tree that somebody wrote", memory_reading.paths_in(odd)
    yield "groups", [memory_reading._expanded(text) for text in ("a", "{a,b}.c", "{a{,.b},c}.d", "{a}", "{a,b", "x{,y}{,z}")]


def attempt(doing) -> object:
    try:
        return doing()
    except ValueError as error:
        return f"ValueError: {error}"


def rules() -> Iterator[tuple[str, object]]:
    new, address = {"AI_AGENT": "claude-code_2-1-331_agent"}, {"ANTHROPIC_BASE_URL": "https://api.anthropic.com/v1"}
    for title, environ in (
        ("nothing", {}),
        ("a new client", new),
        ("an older one", {"AI_AGENT": "claude-code_2-1-330_agent"}),
        ("another", {"AI_AGENT": "x_9-9-9"}),
        ("one of no number", {"AI_AGENT": "claude-code_²-²-²_agent"}),
        ("one that asks nobody", {**new, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}),
        ("one that may ask", {**new, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "0"}),
        ("the provider", {**new, **address}),
        ("another address", {**new, "ANTHROPIC_BASE_URL": "https://api.anthropic.com.invalid"}),
    ):
        yield f"asked with {title}", [data_rules.is_asked(environ), data_rules.reported(None, environ)]
    for value in (
        {},
        {"hipaa": False, "zdr": False},
        {"hipaa": True, "zdr": False, "own": True},
        [],
        ["zdr", "zdr", 3, "", "x" * 61, "a\nb"],
        ["rule"] * 21,
        "hipaa",
        3,
    ):
        yield f"reported {str(value)[:60]}", data_rules.reported(value, {})
    for some in ((), ("unknown",), ("hipaa",), ("hipaa", "zdr", "own")):
        yield f"rules {some}", [data_rules.named(some), data_rules.in_words(some, True), data_rules.in_words(some, False)]


def kept_rules(home: str) -> Iterator[tuple[str, object]]:
    new = {"AI_AGENT": "claude-code_2-1-400_agent"}
    for title, configured in (("nothing", None), ("no rule", []), ("a rule", ["own"])):
        yield (
            f"held before anything is said, {title} configured",
            [data_rules.held(environ, home, session, configured) for environ in ({}, new) for session in ("s1", "")],
        )
    for said in (("unknown",), ("hipaa",), (), ("unknown", "zdr")):
        data_rules.say(home, "s1", said)
        yield (
            f"once {said} is said",
            [data_rules.is_said(home, "s1"), data_rules.held(new, home, "s1", None), data_rules.held(new, home, "s1", [])],
        )
    data_rules.forget(home, "s1")
    data_rules.say(home, "s2", ())
    yield "said of another", [data_rules.is_said(home, "s2"), data_rules.held(new, home, "s2", None)]
    data_rules.forget(home, "s2")
    yield "once forgotten", [data_rules.is_said(home, session) for session in ("s1", "s2")]


def limits(home: str) -> Iterator[tuple[str, object]]:
    def note(kind: object, percent: object, at: float, fresh: bool, resets: object = "2027-01-01T00:00:00Z") -> None:
        limit_readings.note_limits(home, [{"kind": kind, "percentUsed": percent, "resetsAt": resets}], at, fresh)

    start = 1_798_700_000.0
    for given in (
        (FIVE_HOUR, 10, start, True),
        (FIVE_HOUR, 9, start + 1, False),
        (FIVE_HOUR, 9, start + 2, True),
        (FIVE_HOUR, 9, start + 3, True),
        (FIVE_HOUR, 9, start + 303, False),
        (FIVE_HOUR, 20.5, start + 304, False),
        (SEVEN_DAY, 5, start + 305, False),
        ("odd", 5, start + 306, True),
        (FIVE_HOUR, "x", start + 307, True),
        (FIVE_HOUR, 1, start + 308, False, "2026-12-31T23:59:59Z"),
        (FIVE_HOUR, 2, start + 309, True, None),
        (FIVE_HOUR, 3, start + 310, False, "2027-01-01T06:00:00Z"),
        (FIVE_HOUR, -1, start + 311, True),
        (FIVE_HOUR, 100_001, start + 312, True),
    ):
        note(*given)
        yield (
            f"limits once {given[0]} is at {given[1]}",
            [[one.kind, one.at - start, one.percent, one.resets_at] for one in limit_readings.readings(home)],
        )
    limit_readings.note_limits(home, "nothing", start, True)
    limit_readings.note_limits(home, ["nothing"], start, True)
    path = Path(home, limit_readings.LIMITS_FILE)
    for text in ("{}", "nothing", '[[1, 2], ["five_hour", 1, 2, 3], ["five_hour", true, 2, 3]]'):
        path.write_text(text)
        yield f"readings of {text}", [[one.kind, one.at] for one in limit_readings.readings(home)]


def breakdowns(home: str) -> Iterator[tuple[str, object]]:
    used = {"categories": [{"name": "System", "tokens": 10.6, "kind": "used"}, {"name": "", "tokens": 1, "kind": "free"}, 3], "model": "m"}
    whole = {
        **used,
        "memoryFiles": [{"path": "/a", "type": "user", "tokens": 5}],
        "agents": [{"agentType": "x", "source": "s", "tokens": -1}],
        "mcpTools": [{"name": "t", "serverName": "s", "tokens": 3, "isLoaded": True}, {"name": "u", "serverName": 3, "tokens": "3"}],
        "skills": {"skillFrontmatter": [{"name": "k", "source": "p", "tokens": 2}]},
        "slashCommands": {"tokens": 7},
    }
    for value in (
        None,
        {},
        {"categories": []},
        used,
        whole,
        {**whole, "skills": 3, "slashCommands": 3, "memoryFiles": None},
        {**used, "agents": [{"agentType": "x" * 400, "source": "", "tokens": 1}] * 1_002},
    ):
        parsed = attempt(lambda value=value: prompt_breakdowns.parsed_breakdown(value))
        yield f"breakdown of {str(value)[:50]}", str(parsed)[:900]
    for at, (project, value) in enumerate((("/p", used), ("/p", None), ("/q", None), ("", used), ("/p", whole))):
        prompt_breakdowns.keep_breakdown(home, project, "s1", value, 1_000.0 + at)
        yield f"kept of {project or 'no project'}", [prompt_breakdowns.load_breakdown(home, name) for name in ("/p", "/q")]
    yield "files", sorted(path.name for path in Path(home, prompt_breakdowns.BREAKDOWNS).iterdir())
    prompt_breakdowns.keep_breakdown(home, "/p", "s1", used, 10**11)
    yield "files once a year has passed", sorted(path.name for path in Path(home, prompt_breakdowns.BREAKDOWNS).iterdir())


def removals() -> Iterator[tuple[str, object]]:
    session = Scenario()
    session.read("a.py")
    session.bash("npm test", "3 passed")
    state = session.state
    message = {
        "toolUses": [
            {"tool_use_id": "T2", "tool": "Bash", "input": {"command": "npm test"}},
            {"tool_use_id": "T9", "tool": "Read", "input": {}},
        ],
        "toolResults": [{"tool_use_id": "T2", "text": "3 passed"}],
    }
    left = [
        Removal(id="T1", kind="result", handle="abcd2345", label="Read a.py", why="old", content="the text of it"),
        Removal(id="T1", kind="input", handle="b2345bcd", label="Read a.py", why="large", content={"file_path": "a.py"}),
        Removal(id="", kind="calls", handle="c2345cde", label="2 calls", why="folded", content=[message]),
    ]
    calls = receipts.calls_of(left, state, 100)
    yield "calls that left", calls
    yield (
        "parts of an amount",
        [receipts.shared(amount, sizes) for amount, sizes in ((100, [1, 1, 1]), (7, [3, 0, 4]), (5, []), (5, [0, 0]))],
    )
    noted = [
        receipts.noted(calls, 20.0),
        receipts.noted(calls[:1], 30.0),
        {"at": "x"},
        3,
        {"at": 40.0, "calls": [{"left": [[1]]}, 3, {"left": [["a", 1, None]]}]},
    ]
    journal = [
        {"event": "compact", "at": 20.0, "why": "manual", "before": 1_000, "after": 400, "beside": 50, "summarised": True},
        {"event": "clear", "at": 20.0, "tokens": 450, "ids": ["T1"], "reasons": {"T1": "old"}},
        {"event": "clear", "at": 30.0, "tokens": 70, "ids": ["T1"]},
        {"event": "compact", "at": 40.0, "why": 3, "before": 10},
        {"event": "clear", "at": 50.0, "ids": ["T1", "T2"], "reasons": {"T1": "x" * 300}},
        {"event": "back", "at": 60.0, "handles": ["abcd2345", "b2345bcd"]},
        {"event": "undo", "at": 61.0, "ids": ["T2"]},
        {"event": "restore", "at": 62.0, "id": "T1", "in_place": True},
        {"event": "restore", "at": 63.0, "id": "T1"},
        {"event": "clear", "at": 70.0, "ids": []},
        {"event": "tick", "at": 80.0},
    ]
    for count in (1, 2, 3, 5, len(journal)):
        yield f"receipts of {count} entries", receipts.receipts(entries_of(journal[:count]), noted)


def test_what_stores_write_and_read_is_as_the_golden_says(golden, tmp_path: Path) -> None:
    told = []
    for number, chapter in enumerate((memory, rules, kept_rules, limits, breakdowns, removals)):
        home = tmp_path / str(number)
        home.mkdir()
        for title, answer in chapter(str(home)) if chapter.__code__.co_argcount else chapter():
            shown = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, sort_keys=True)
            told += [f"# {title}", *(f"  {line}" for line in shown.split("\n"))]
    golden(GOLDEN, "".join(f"{line}\n" for line in told))
