"""The operations of `popkit memory`, and the flags that they share with other commands."""

from __future__ import annotations

from hooks.utils.argument_types import FILE, FOLDER, Type, choices, several, text, whole
from hooks.utils.flag_parser import CHANGES, DESTROYS, Flag, Operation, Table

HOST = Flag("--host claude-code|codex|opencode|entire", "whose sessions, where no path is given", default="claude-code")
# Of what works on any number of sessions.
MANY_SESSIONS = (
    Flag("--list FILE", "also the paths and addresses in FILE, one on each line (-: standard input)", FILE),
    Flag("--jobs N", "processes (default: one for each processor)", whole()),
    Flag("--scheduler ADDRESS", "on the Dask cluster of this scheduler instead, such as tcp://10.0.0.5:8786"),
)


COMMAND = "popkit memory"
_TIERS = ("HOT", "WARM", "COLD", "ARCHIVE")  # memory/items.py loads what a server of tools does without
LISTED = 50
# Of one call of an agent.
MOST_FOUND, MOST_IDS = 100, 1_000
LONGEST_QUERY, LONGEST_NOTE, LONGEST_ID = 1_000, 20_000, 200

SEARCH = Operation(
    "search WORDS",
    "what answers best; what it shows counts as asked for",
    Flag("--most N", "show at most N", whole(), default=10, agent=("most", whole(1, MOST_FOUND))),
    joined=True,
    agent=("query", text(1, LONGEST_QUERY)),
)
ADD = Operation(
    "add TEXT",
    "remember this; - reads it from standard input",
    Flag("--kind K", "what it is: note (the default), path, name, command, error, or a word of your own"),
    Flag("--key", "it is a key decision: keep it for good", agent=("key", Type("switch", about="a key decision"))),
    effect=CHANGES,
    joined=True,
    agent=("text", text(1, LONGEST_NOTE)),
)
FORGET = Operation(
    "forget [ID…]",
    "delete items after 24 h; until then, undo brings them back",
    Flag("--all", "everything that is remembered about this project"),
    effect=DESTROYS,
    agent=("ids", several(text(1, LONGEST_ID), 1, MOST_IDS)),
)
TABLE = Table(
    COMMAND,
    "what past sessions have taught, for the next ones",
    Operation(
        "status",
        "what is remembered about this project: tiers, sizes, last run, alerts",
        Flag("--store", "how the whole store stands instead: items by tier and level, and which are due for demotion or ARCHIVE"),
        implied=True,
    ),
    Operation(
        "list",
        "what is remembered, most valuable first",
        Flag("--tier T", "only this tier", choices(*_TIERS)),
        Flag("--kind K", "only this kind: path, name, command, error, note; several with commas", choices()),
        Flag("--marked", "only what is forgotten, but not deleted yet"),
        Flag("--waiting", "only what an agent added and you have not accepted"),
        Flag("--all", f"everything, not only the first {LISTED}"),
    ),
    SEARCH,
    Operation("show ID", "one item with its text"),
    Operation("why ID", "an item's signals, score and tier, and what comes next and when"),
    ADD,
    Operation(
        "accept [ID…]",
        "let MEMORY.md tell what an agent added; forget says no to it",
        Flag("--all", "everything that waits for your yes"),
        effect=CHANGES,
    ),
    Operation("pin ID…", "keep items in their tier, whatever they are worth", effect=CHANGES),
    Operation("unpin ID…", "let them rise and fall again by what they are worth", effect=CHANGES),
    Operation("promote ID…", "move items one tier up", effect=CHANGES),
    Operation("demote ID…", "move items one tier down", effect=CHANGES),
    Operation("restore ID…", "bring back the full text of compressed items", effect=CHANGES),
    FORGET,
    Operation("undo [ID…]", "bring back forgotten items: these, or all that were forgotten last", effect=CHANGES),
    Operation(
        "learn [SESSION|PATH…]",
        "learn from sessions, oldest first: those you name, or this project's newest",
        Flag("--past", "learn from all past sessions of this project; with PATHs, from all that are there"),
        *MANY_SESSIONS,
        HOST,
        Flag("--if-on", "learn from one transcript if memory is on, then update MEMORY.md and do what run does (for hooks)"),
        Flag("--quiet", "print nothing and always exit 0; failures go to the hooks' log"),
        effect=CHANGES,
        type=FILE,
        more="With --past, PATH is a transcript, a folder of them, a database of OpenCode, or an address such as s3://company/sessions/."
        " Each session teaches the project that it began in; with --project, that one.",
    ),
    Operation(
        "run",
        "score, move, compress and delete what is due; hooks do this at most once an hour",
        Flag("--force", "even if it ran less than an hour ago"),
        effect=DESTROYS,
    ),
    Operation(
        "file",
        "print MEMORY.md as a new session would get it",
        Flag("--tokens N", "give it at most N tokens (default: memory.tokens in the configuration)", whole()),
        Flag("--for PROMPT", "choose what helps with this prompt, not only in general"),
        Flag("--why", "say what was left out and why, instead"),
    ),
    Operation("loss", "how much compression loses, measured on what is remembered"),
    Operation(
        "export [FILE]",
        "this project's items as JSON lines, to a file or to standard output",
        Flag("--all", "the items of all projects"),
        type=FILE,
    ),
    Operation(
        "import FILE|-",
        "import what was exported, all or nothing; - reads standard input",
        Flag("--missing", "skip items that are there already; without it, they stop the import"),
        effect=CHANGES,
        type=FILE,
    ),
    Operation("verify", "check that the store is intact"),
    Operation("on", "learn from this project's sessions, and give new ones a MEMORY.md", effect=CHANGES),
    Operation("off", "stop both; what is remembered stays", effect=CHANGES),
    Operation(
        "join",
        "let this folder, another checkout of a project, use the project's memory",
        Flag("--no", "keep it apart instead: it may have a memory of its own"),
        effect=CHANGES,
    ),
    common=(Flag("--project FOLDER", "the project that this folder belongs to", FOLDER), Flag("--json", "the answer as JSON")),
    examples={"ID": "m3fa", "WORDS": "how to run the tests", "TEXT": '"run the tests with make check"'},
    notes={
        "": "Without --project, it is the project of the current folder.",
        "ID": "ID is an item's id, or its beginning if no other id begins so, such as m3fa. list and search show ids.",
    },
)
