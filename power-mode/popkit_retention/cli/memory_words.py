"""The operations of `popkit memory`."""

from __future__ import annotations

from hooks.utils.argument_types import FILE, FOLDER, TEXT, Type, choices, several, text, whole
from hooks.utils.flag_parser import CHANGES, DESTROYS, MANY, Argument, Flag, Operation, Table

COMMAND = "popkit memory"
_TIERS = ("HOT", "WARM", "COLD", "ARCHIVE")  # memory/items.py loads what a server of tools does without
LISTED = 50
MOST_FOUND, MOST_IDS = 100, 1_000  # of one call of an agent
LONGEST_QUERY, LONGEST_NOTE, LONGEST_ID = 1_000, 20_000, 200
_IDS = Argument("ID", "m3fa", most=MANY)  # the beginning of an id
_ID = Argument("ID", "m3fa")

SEARCH = Operation(
    "search",
    "what answers best; what it shows counts as asked for",
    (Flag("--most", "show at most N", whole(), "N", default=10, agent=("most", whole(1, MOST_FOUND))),),
    Argument("WORDS", "how to run the tests", joined=True, agent=("query", text(1, LONGEST_QUERY))),
)
ADD = Operation(
    "add",
    "remember this; - reads it from standard input",
    (
        Flag("--kind", "what it is: note (the default), path, name, command, error, or a word of your own", TEXT, "K"),
        Flag("--key", "it is a key decision: keep it for good", agent=("key", Type("switch", about="a key decision"))),
    ),
    Argument("TEXT", '"run the tests with make check"', joined=True, agent=("text", text(1, LONGEST_NOTE))),
    CHANGES,
)
FORGET = Operation(
    "forget",
    "delete items after 24 h; until then, undo brings them back",
    (Flag("--all", "everything that is remembered about this project"),),
    Argument("ID", "m3fa", least=0, most=MANY, agent=("ids", several(text(1, LONGEST_ID), 1, MOST_IDS))),
    DESTROYS,
)
STATUS = Operation("status", "what is remembered about this project: tiers, sizes, last run, alerts", implied=True)
TABLE = Table(
    COMMAND,
    "what past sessions have taught, for the next ones",
    (
        STATUS,
        Operation(
            "list",
            "what is remembered, most valuable first",
            (
                Flag("--tier", "only this tier", choices(*_TIERS), "T"),
                Flag("--kind", "only this kind: path, name, command, error, note; several with commas", choices(), "K"),
                Flag("--marked", "only what is forgotten, but not deleted yet"),
                Flag("--waiting", "only what an agent added and you have not accepted"),
                Flag("--all", f"everything, not only the first {LISTED}"),
            ),
        ),
        SEARCH,
        Operation("show", "one item with its text", takes=_ID),
        Operation("why", "an item's signals, score and tier, and what comes next and when", takes=_ID),
        ADD,
        Operation(
            "accept",
            "let MEMORY.md tell what an agent added; forget says no to it",
            (Flag("--all", "everything that waits for your yes"),),
            Argument("ID", "m3fa", least=0, most=MANY),
            CHANGES,
        ),
        Operation("pin", "keep items in their tier, whatever they are worth", takes=_IDS, effect=CHANGES),
        Operation("unpin", "let them rise and fall again by what they are worth", takes=_IDS, effect=CHANGES),
        Operation("promote", "move items one tier up", takes=_IDS, effect=CHANGES),
        Operation("demote", "move items one tier down", takes=_IDS, effect=CHANGES),
        Operation("restore", "bring back the full text of compressed items", takes=_IDS, effect=CHANGES),
        FORGET,
        Operation(
            "undo",
            "bring back forgotten items: these, or all that were forgotten last",
            takes=Argument("ID", "m3fa", least=0, most=MANY),
            effect=CHANGES,
        ),
        Operation(
            "learn",
            "learn from sessions, oldest first: those you name, or this project's newest",
            (
                Flag("--past", "learn from all past sessions of this project"),
                Flag("--if-on", "learn from one transcript if memory is on, then update MEMORY.md and do what run does (for hooks)"),
                Flag("--quiet", "print nothing and always exit 0; failures go to the hooks' log"),
            ),
            Argument("SESSION|FILE", "session.jsonl", FILE, least=0, most=MANY),
            CHANGES,
        ),
        Operation(
            "run",
            "score, move, compress and delete what is due; hooks do this at most once an hour",
            (Flag("--force", "even if it ran less than an hour ago"),),
            effect=DESTROYS,
        ),
        Operation(
            "file",
            "print MEMORY.md as a new session would get it",
            (
                Flag("--tokens", "give it at most N tokens (default: memory.tokens in the configuration)", whole(), "N"),
                Flag("--for", "choose what helps with this prompt, not only in general", TEXT, "PROMPT"),
                Flag("--why", "say what was left out and why, instead"),
            ),
        ),
        Operation("loss", "how much compression loses, measured on what is remembered"),
        Operation(
            "export",
            "this project's items as JSON lines, to a file or to standard output",
            (Flag("--all", "the items of all projects"),),
            Argument("FILE", "memory.jsonl", FILE, least=0),
        ),
        Operation(
            "import",
            "import what was exported, all or nothing; - reads standard input",
            (Flag("--missing", "skip items that are there already; without it, they stop the import"),),
            Argument("FILE|-", "memory.jsonl", FILE),
            CHANGES,
        ),
        Operation("verify", "check that the store is intact"),
        Operation("on", "learn from this project's sessions, and give new ones a MEMORY.md", effect=CHANGES),
        Operation("off", "stop both; what is remembered stays", effect=CHANGES),
        Operation(
            "join",
            "let this folder, another checkout of a project, use the project's memory",
            (Flag("--no", "keep it apart instead: it may have a memory of its own"),),
            effect=CHANGES,
        ),
    ),
    (
        Flag("--project", "the project that this folder belongs to", FOLDER, "FOLDER"),
        Flag("--json", "the answer as JSON"),
    ),
    {
        "": "Without --project, it is the project of the current folder.",
        "ID": "ID is an item's id, or its beginning if no other id begins so, such as m3fa. list and search show ids.",
    },
)
