"""The operations of `popkit memory`, some of which agents have as tools."""

from __future__ import annotations

from popkit_retention.core.argument_types import FILE, FOLDER, Type, choices, several, text, whole
from popkit_retention.core.operation_tables import CHANGES, DESTROYS, Flag, Operation, Table

from ..operations import HOST, LONGEST_QUERY, MANY_SESSIONS, MOST_FOUND

MEMORY_COMMAND = "popkit memory"
_CHANGES, _UPKEEP = f"{__package__}.command_changes:", f"{__package__}.command_upkeep:"
_TIERS = ("HOT", "WARM", "COLD", "ARCHIVE")  # memory/items.py loads modules that a server of tools does not need
ITEMS_LISTED = 50
MOST_IDS, LONGEST_ITEM, LONGEST_ID = 1_000, 20_000, 200  # of one call of an agent

MEMORY_SEARCH = Operation(
    "search WORDS",
    "the items that match best; each one shown counts as retrieved",
    Flag("--most N", "show at most N", whole(), default=10, agent=("most", whole(1, MOST_FOUND))),
    joined=True,
    admin=True,
    agent=("query", text(1, LONGEST_QUERY)),
    does="search",
)
MEMORY_ADD = Operation(
    "add TEXT",
    "remember TEXT; - reads it from standard input",
    Flag("--kind K", "what it is: note (the default), path, name, command, error, or a word of your own"),
    Flag("--key", "mark it as a key decision, which is kept for good", agent=("key", Type("switch", about="a key decision"))),
    effect=CHANGES,
    joined=True,
    agent=("text", text(1, LONGEST_ITEM)),
    does=_CHANGES + "add",
)
MEMORY_FORGET = Operation(
    "forget [ID…]",
    "delete items after 24 h; until then, undo brings them back",
    Flag("--all", "everything that is remembered about this project"),
    effect=DESTROYS,
    agent=("ids", several(text(1, LONGEST_ID), 1, MOST_IDS)),
    does=_CHANGES + "forget",
)
MEMORY = Table(
    MEMORY_COMMAND,
    "what past sessions have taught, for future ones",
    Operation(
        "status",
        "what is remembered about this project: tiers, sizes, last run, alerts",
        Flag("--store", "show the whole store instead: items by tier and level, and those due for demotion or ARCHIVE"),
        implied=True,
        does="status",
    ),
    Operation(
        "list",
        "what is remembered, most valuable first",
        Flag("--tier T", "only this tier", choices(*_TIERS)),
        Flag("--kind K", "only this kind: path, name, command, error, note; several with commas", choices()),
        Flag("--marked", "only items that are forgotten but not deleted yet"),
        Flag("--waiting", "only items that an agent added and you have not accepted"),
        Flag("--all", f"all items, not only the first {ITEMS_LISTED}"),
        does="list_items",
    ),
    MEMORY_SEARCH,
    Operation("show ID", "one item with its text", admin=True, does="show"),
    Operation("why ID", "why an item is in its tier, what happens to it next, and when", does="why"),
    MEMORY_ADD,
    Operation(
        "accept [ID…]",
        "let MEMORY.md include items that an agent added; to reject one, forget it",
        Flag("--all", "everything that is waiting for your approval"),
        effect=CHANGES,
        admin=True,
        does=_CHANGES + "accept",
    ),
    Operation("pin ID…", "keep items in their tier, whatever their score", effect=CHANGES, admin=True, does=_CHANGES + "change"),
    Operation("unpin ID…", "let the tier of items follow their score again", effect=CHANGES, admin=True, does=_CHANGES + "change"),
    Operation("promote ID…", "move items one tier up", effect=CHANGES, admin=True, does=_CHANGES + "change"),
    Operation("demote ID…", "move items one tier down", effect=CHANGES, admin=True, does=_CHANGES + "change"),
    Operation("restore ID…", "bring back the full text of compressed items", effect=CHANGES, admin=True, does=_CHANGES + "change"),
    MEMORY_FORGET,
    Operation("undo [ID…]", "bring back forgotten items: these, or all that were forgotten last", effect=CHANGES, does=_CHANGES + "change"),
    Operation(
        "learn [SESSION|PATH…]",
        "learn from sessions, oldest first: those you name, or this project's newest",
        Flag("--past", "learn from all past sessions of this project; with PATHs, from all sessions in them"),
        *MANY_SESSIONS,
        HOST,
        Flag("--if-on", "learn from one transcript if memory is on, then update MEMORY.md and do what run does (for hooks)"),
        Flag("--quiet", "print nothing and always exit 0; failures go to the hooks' log"),
        effect=CHANGES,
        type=FILE,
        more="With --past, PATH is a transcript, a folder of them, a database of OpenCode, or an address such as s3://company/sessions/."
        " What a session teaches goes to the project that it began in, or to the one that --project names.",
        admin=True,
        does=_UPKEEP + "learn",
    ),
    Operation(
        "run",
        "score, move, compress and delete what is due; hooks do this at most once an hour",
        Flag("--force", "even if it ran less than an hour ago"),
        effect=DESTROYS,
        admin=True,
        does=_UPKEEP + "run_job",
    ),
    Operation(
        "file",
        "print MEMORY.md as a new session would get it",
        Flag("--tokens N", "limit it to N tokens (default: memory.tokens in the configuration)", whole()),
        Flag("--for PROMPT", "choose the items that help with this prompt, not only in general"),
        Flag("--why", "show what was left out and why, instead of the document"),
        admin=True,
        does="print_document",
    ),
    Operation("loss", "how much compression loses, measured on this project's items", admin=True, does="loss"),
    Operation(
        "export [FILE]",
        "this project's items as JSON lines, to a file or to standard output",
        Flag("--all", "the items of all projects"),
        type=FILE,
        admin=True,
        does=_UPKEEP + "export_items",
    ),
    Operation(
        "import FILE|-",
        "import what was exported, all or nothing; with --project, the items of one project into that one; - reads standard input",
        Flag("--missing", "skip items that are there already; without it, they stop the import"),
        effect=CHANGES,
        type=FILE,
        admin=True,
        does=_UPKEEP + "import_items",
    ),
    Operation("verify", "check that the store is intact", admin=True, does=_UPKEEP + "verify"),
    Operation("on", "learn from this project's sessions, and give new ones a MEMORY.md", effect=CHANGES, does=_UPKEEP + "turn"),
    Operation("off", "stop both; stored items stay", effect=CHANGES, does=_UPKEEP + "turn"),
    Operation(
        "join",
        "let this folder share the memory of the project that it is a checkout of",
        Flag("--no", "keep it separate instead; it can have a memory of its own"),
        effect=CHANGES,
        admin=True,
        does=_UPKEEP + "join",
    ),
    common=(Flag("--project FOLDER", "the project that this folder belongs to", FOLDER), Flag("--json", "the answer as JSON")),
    examples={"ID": "m3fa", "WORDS": "how to run the tests", "TEXT": '"run the tests with make check"'},
    notes={
        "": "Without --project, the project is that of the current folder.",
        "ID": "ID is an item's id, such as m3fa, or the beginning of one if no other id begins the same way. list and search show ids.",
    },
    module=f"{__package__}.command_queries",
)
