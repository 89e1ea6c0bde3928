"""What is written for a summariser and for the model around a compaction, and what a compaction leaves out of our own: `goldens/texts.txt`.

`--update-goldens` writes it anew, and the difference is for a person to read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import own_lines
from popkit_retention.core.policy.messages import Message, ShownResult
from popkit_retention.core.reclaim import compaction_advice, own_commands, refusing
from popkit_retention.core.reclaim.compaction_advice import advice_text, index_text
from popkit_retention.core.reclaim.sizes import sizes_of
from tests.policy.conversing import Conversing

GOLDEN = Path(__file__).with_name("goldens") / "texts.txt"
DEAD = [
    ("Read src/a.ts:1-20", "edited"),
    ("Read src/a.ts", "edited"),
    ("Read b c.md", "changed_on_disk"),
    ('Grep "login" in src', "superseded"),
    ("Bash npm test", "superseded"),
    ("Glob **/*.ts", "ttl_calls"),
    ("LS src", "ttl_seconds"),
    ("WebFetch https://h.invalid", "manual"),
    ("mcp.db.get", "session_end"),
    ("Bash", "same_content"),
    ("Read x.py:see", "committed"),
    ("Read", ""),
    ("", "edited"),
    ("Read </system-reminder>", "because of it"),
    ('Bash echo "hi\\n"', "an odd reason"),
]
KEEP = [
    ("Read lib.ts", ""),
    ("Read lib.ts", ""),
    ("Bash make", "make: *** [all] Error 2\n\tat line 3"),
    ("AskUserQuestion", "which one?"),
    ("", "a text without a label"),
    ("Bash deploy", "TOKEN=hunter2Xq9Zk7Vb3 was refused"),
    ("Read long", "word " * 200),
    ("Bash tag", "<system-reminder>x</system-reminder>"),
]
ROWS = [
    ("abcd2345", "Read src/a.ts", 1_200),
    ("bcde3456", "Bash npm test", 90),
    ("no handle", "x", 1),
    ("cdef4567", "", 12_345),
    ("defg5672", 'Grep "a b"', 0),
]


def texts() -> Iterator[tuple[str, object]]:
    yield "nothing", advice_text([], [])
    yield "dead results alone", advice_text(DEAD, [])
    yield "what is kept alone", advice_text([], KEEP)
    yield "both", advice_text(DEAD, KEEP)
    for tokens in (40, 80, 120, 200, 250, 320):
        yield f"both, in {tokens} tokens", advice_text(DEAD, KEEP, tokens)
    many = [(f"Read src/part_{number}.ts", "edited") for number in range(80)] + [(f"Grep x{number}", "superseded") for number in range(9)]
    yield "many dead results", advice_text(many, [], 150)
    yield "many pinned ones", advice_text(many[:9], [(f"Read pinned_{number}.ts", "") for number in range(90)], 200)
    yield "many errors", advice_text(many[:9], [(f"Bash run {number}", f"error {number}: it failed" * 9) for number in range(30)], 250)
    yield "an index", index_text(ROWS)
    yield "no index", index_text([("no handle", "x", 1)])
    yield (
        "a long index",
        index_text([(f"abcd{number:04}".translate(str.maketrans("0189", "abcd")), f"Read part_{number}.ts", 100) for number in range(60)]),
    )
    yield "a short index", index_text(ROWS, 60)
    yield "the command of the hook", bool(compaction_advice._command_of_hook())


SAID = [
    ("user", "<command-name>/compact</command-name><command-args></command-args>"),
    ("user", "<local-command-stdout>Compacted</local-command-stdout>"),
    ("user", "<command-name>/compact</command-name><command-args>keep the tests</command-args>"),
    ("user", "<local-command-stdout>done</local-command-stdout>"),
    ("user", "<local-command-caveat>caveat"),
    ("user", "<command-name>/popkit:context</command-name><command-args>stats</command-args>"),
    ("user", "<local-command-stdout>ours</local-command-stdout>"),
    ("assistant", "<command-name>/popkit</command-name>"),
    ("user", "hello"),
    ("user", "<command-name>/popkit</command-name>"),
    ("user", "<system-reminder>/compact</system-reminder>"),
    ("user", "<system-reminder>/compact popkit</system-reminder>"),
    ("user", "<system-reminder>/compact now</system-reminder>"),
    ("user", "<system-reminder>/other</system-reminder>"),
    ("user", "/compact"),
    ("user", "<command-name>/compact</command-name><command-args> popkit </command-args>"),
    ("user", "<local-command-stdout>\x1b[2mCompacted (ctrl)</local-command-stdout>"),
    ("user", "<local-command-stdout>a long text before Compacted</local-command-stdout>"),
    ("user", "<local-command-caveat>another"),
    ("user", "bye"),
]


def conversations() -> Iterator[tuple[str, object]]:
    messages = [Message(role, text) for role, text in SAID]
    yield "without our commands", [one.text for one in own_commands.without_commands(messages)]
    with_result = Message("user", SAID[0][1], results=[ShownResult("T1", "x")])
    yield "a message with a result stays", len(own_commands.without_commands([with_result]))
    yield "from each message on", [len(own_commands.without_commands(messages[at:])) for at in range(len(messages))]


def sizes() -> Iterator[tuple[str, object]]:
    session = Conversing()
    for name in ("a.py", "b.py", "c.py"):
        session.read(name, text="a line of a file, as long as lines are\n" * 200)
    shown = [Message("user", results=[ShownResult(f"T{number}", "a line\n" * 900)]) for number in (1, 2, 3)]
    thinking = [{"content": [{"type": "thinking", "thinking": "well " * 400}, "x"]}, {"content": "x"}, 3]
    for before, after in ((8_000, 3_000), (1_000, 400), (20_000, 19_000), (8_000, 0)):
        for sent in (None, thinking):
            found = sizes_of(session.conversation, shown, sent, before, after)
            yield f"sizes of {before} to {after}", [found.before, found.after, found.left, found.measured]
    session.silent = True
    session.read("d.py", text="one more\n" * 300)
    found = sizes_of(
        session.conversation, [*shown, Message("user", results=[ShownResult("T4", "one more\n" * 300)])], thinking, 9_000, 3_000
    )
    yield "with a result that no request has had", [found.before, found.after, found.left, found.measured]
    empty = sizes_of(Conversing().conversation, shown, None, 5_000, 1_000)
    yield "of a session without a request", [empty.before, empty.after, empty.left, empty.measured]


LINE = "[PopKit left out Read a.ts: popkit restore abcd2345]"


def refusals() -> Iterator[tuple[str, object]]:
    for tool, given in (
        ("Bash", {"command": f"echo '{LINE}' > a"}),
        ("Bash", {"command": f"echo '{LINE}' >/dev/null 2>&1"}),
        ("Bash", {"command": f"tee a <<E\n{LINE}\nE"}),
        ("Bash", {"command": f"rg '{LINE}'"}),
        ("Write", {"file_path": "a", "content": LINE}),
        ("Edit", {"file_path": "a", "old_string": LINE, "new_string": "x"}),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": LINE}),
        ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": LINE}]}),
        ("Read", {"file_path": LINE}),
        ("Write", {"file_path": "a", "content": 3}),
    ):
        yield f"{tool} {json.dumps(given)[:70]}", [refusing.may_write_one(TOOLS.of(tool), given), refusing._written(TOOLS.of(tool), given)]
    [one] = own_lines.found_in(LINE)
    for count in (1, 4, 5, 6):
        yield f"{count} lines", refusing._words([(one, "Read a.ts", f"handle{number}") for number in range(count)])
    yield "a mark", refusing._words_of_mark(f"{own_lines.MARK}{LINE}")
    yield "a long one", refusing._words_of_mark(f"{own_lines.MARK}[{'x' * 300}]")


def test_texts_around_a_compaction_are_as_the_golden_says(golden) -> None:
    told = []
    for chapter in (texts, conversations, sizes, refusals):
        for title, answer in chapter():
            shown = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
            told += [f"# {title}", *(f"  {line}" for line in shown.split("\n"))]
    golden(GOLDEN, "".join(f"{line}\n" for line in told))
