"""The operations on stored data, some of which agents have as tools: `popkit memory`, `popkit retention`, and those of `popkit restore`
on the archive."""

from __future__ import annotations

from hooks.utils.argument_types import AGE, FILE, FOLDER, WHEN, Type, choice, choices, several, text, whole
from hooks.utils.operation_tables import CHANGES, DESTROYS, Flag, Operation, Table

from . import DRY_RUN, HOST, JSON, MANY_SESSIONS, YES

MEMORY_COMMAND = "popkit memory"
_TIERS = ("HOT", "WARM", "COLD", "ARCHIVE")  # memory/items.py loads modules that a server of tools does not need
ITEMS_LISTED = 50
# Of one call of an agent.
MOST_FOUND, MOST_IDS = 100, 1_000
LONGEST_QUERY, LONGEST_ITEM, LONGEST_ID = 1_000, 20_000, 200

MEMORY_SEARCH = Operation(
    "search WORDS",
    "the items that match best; each one shown counts as retrieved",
    Flag("--most N", "show at most N", whole(), default=10, agent=("most", whole(1, MOST_FOUND))),
    joined=True,
    admin=True,
    agent=("query", text(1, LONGEST_QUERY)),
)
MEMORY_ADD = Operation(
    "add TEXT",
    "remember TEXT; - reads it from standard input",
    Flag("--kind K", "what it is: note (the default), path, name, command, error, or a word of your own"),
    Flag("--key", "mark it as a key decision, which is kept for good", agent=("key", Type("switch", about="a key decision"))),
    effect=CHANGES,
    joined=True,
    agent=("text", text(1, LONGEST_ITEM)),
)
MEMORY_FORGET = Operation(
    "forget [ID…]",
    "delete items after 24 h; until then, undo brings them back",
    Flag("--all", "everything that is remembered about this project"),
    effect=DESTROYS,
    agent=("ids", several(text(1, LONGEST_ID), 1, MOST_IDS)),
)
MEMORY = Table(
    MEMORY_COMMAND,
    "what past sessions have taught, for future ones",
    Operation(
        "status",
        "what is remembered about this project: tiers, sizes, last run, alerts",
        Flag("--store", "show the whole store instead: items by tier and level, and those due for demotion or ARCHIVE"),
        implied=True,
    ),
    Operation(
        "list",
        "what is remembered, most valuable first",
        Flag("--tier T", "only this tier", choices(*_TIERS)),
        Flag("--kind K", "only this kind: path, name, command, error, note; several with commas", choices()),
        Flag("--marked", "only items that are forgotten but not deleted yet"),
        Flag("--waiting", "only items that an agent added and you have not accepted"),
        Flag("--all", f"all items, not only the first {ITEMS_LISTED}"),
    ),
    MEMORY_SEARCH,
    Operation("show ID", "one item with its text", admin=True),
    Operation("why ID", "why an item is in its tier, what happens to it next, and when"),
    MEMORY_ADD,
    Operation(
        "accept [ID…]",
        "let MEMORY.md include items that an agent added; to reject one, forget it",
        Flag("--all", "everything that is waiting for your approval"),
        effect=CHANGES,
        admin=True,
    ),
    Operation("pin ID…", "keep items in their tier, whatever their score", effect=CHANGES, admin=True),
    Operation("unpin ID…", "let the tier of items follow their score again", effect=CHANGES, admin=True),
    Operation("promote ID…", "move items one tier up", effect=CHANGES, admin=True),
    Operation("demote ID…", "move items one tier down", effect=CHANGES, admin=True),
    Operation("restore ID…", "bring back the full text of compressed items", effect=CHANGES, admin=True),
    MEMORY_FORGET,
    Operation("undo [ID…]", "bring back forgotten items: these, or all that were forgotten last", effect=CHANGES),
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
    ),
    Operation(
        "run",
        "score, move, compress and delete what is due; hooks do this at most once an hour",
        Flag("--force", "even if it ran less than an hour ago"),
        effect=DESTROYS,
        admin=True,
    ),
    Operation(
        "file",
        "print MEMORY.md as a new session would get it",
        Flag("--tokens N", "limit it to N tokens (default: memory.tokens in the configuration)", whole()),
        Flag("--for PROMPT", "choose the items that help with this prompt, not only in general"),
        Flag("--why", "show what was left out and why, instead of the document"),
        admin=True,
    ),
    Operation("loss", "how much compression loses, measured on this project's items", admin=True),
    Operation(
        "export [FILE]",
        "this project's items as JSON lines, to a file or to standard output",
        Flag("--all", "the items of all projects"),
        type=FILE,
        admin=True,
    ),
    Operation(
        "import FILE|-",
        "import what was exported, all or nothing; - reads standard input",
        Flag("--missing", "skip items that are there already; without it, they stop the import"),
        effect=CHANGES,
        type=FILE,
        admin=True,
    ),
    Operation("verify", "check that the store is intact", admin=True),
    Operation("on", "learn from this project's sessions, and give new ones a MEMORY.md", effect=CHANGES),
    Operation("off", "stop both; stored items stay", effect=CHANGES),
    Operation(
        "join",
        "let this folder share the memory of the project that it is a checkout of",
        Flag("--no", "keep it separate instead; it can have a memory of its own"),
        effect=CHANGES,
        admin=True,
    ),
    common=(Flag("--project FOLDER", "the project that this folder belongs to", FOLDER), Flag("--json", "the answer as JSON")),
    examples={"ID": "m3fa", "WORDS": "how to run the tests", "TEXT": '"run the tests with make check"'},
    notes={
        "": "Without --project, the project is that of the current folder.",
        "ID": "ID is an item's id, such as m3fa, or the beginning of one if no other id begins the same way. list and search show ids.",
    },
)


RETENTION_COMMAND = "popkit retention"
LISTED = 20  # entries of a list unless more is asked for; one more where it alone would be left out
LONGEST_NOTE = 1_000  # of an agent
# The actions that entries of the log may have.
ACTIONS = (
    "configured", "requested", "declined", "applied", "held", "released", "marked", "unmarked", "deleting", "deleted", "archived",
    "restored", "removed", "abandoned",
)  # fmt: skip
_LARGEST_REVISION = 10**15 - 1
_DOMAIN = Flag("--domain memory|rag", "only this domain", agent=("domain", choice("memory", "rag")))
_ALL = Flag("--all", "list everything, not only the beginning")
RETENTION_SHOW = Operation("show", "both policies, what is stored, and what may be deleted", _DOMAIN, implied=True)
RETENTION_SET = Operation(
    "set KEY=VALUE…",
    "change policies: memory.older_than_days=90; for lists += adds and -= removes",
    Flag("--domain memory|rag", "the domain of keys that do not name one", agent=_DOMAIN.agent),
    effect=DESTROYS,
)
RETENTION_APPLY = Operation(
    "apply",
    "what may be deleted under the policies, what they protect, and why; deletes nothing",
    _DOMAIN,
    Flag("--dry-run", "do not record it in the log"),
    _ALL,
)
RETENTION_ARCHIVE = Operation(
    "archive [ID…]",
    "copy these things, or everything that may be deleted, into an archive",
    _DOMAIN,
    Flag("--note TEXT", "what the archive is for"),
    effect=CHANGES,
    admin=True,
)
RETENTION = Table(
    RETENTION_COMMAND,
    "what stored data may be deleted, and when: policies, holds, the log",
    RETENTION_SHOW,
    RETENTION_SET,
    Operation("accept REQUEST…", "accept an agent's request, only for the project that it came from", effect=DESTROYS, admin=True),
    Operation("decline REQUEST…", "decline an agent's request", effect=CHANGES, admin=True),
    Operation("unset PROJECT", "remove a project's own policies", _DOMAIN, effect=DESTROYS, admin=True),
    Operation("history", "how the policies changed, newest first", _DOMAIN, admin=True),
    Operation(
        "rollback REVISION",
        "go back to the policies of a revision, as history lists them",
        _DOMAIN,
        effect=DESTROYS,
        type=whole(0, _LARGEST_REVISION),
        admin=True,
    ),
    Operation("explain ID", "which rules apply to one thing, since when, and what happens next", _DOMAIN),
    RETENTION_APPLY,
    Operation(
        "gc",
        "mark everything that may be deleted; delete for good what was marked at least 24 h ago",
        _DOMAIN,
        DRY_RUN,
        YES,
        Flag("--placeholders", "also collect what placeholders in transcripts refer to, and say in which sessions"),
        _ALL,
        Flag("--auto", "collect under the policies that have auto_gc, at most once an hour (for hooks)"),
        Flag("--quiet", "with --auto: print nothing and always exit 0; failures go to the hooks' log"),
        effect=DESTROYS,
    ),
    Operation("undo [ID…]", "remove the marks of these things, or all marks", _DOMAIN, effect=CHANGES),
    Operation(
        "hold add [ID…]",
        "keep things, whatever the policies say: these, or everything of a session or a project",
        Flag("--session ID", "everything of this session, including data that is still to come"),
        Flag("--project FOLDER", "everything of the project that this folder belongs to", FOLDER),
        Flag("--why TEXT", "the reason", needed=True),
        Flag("--who NAME", "who asked for it (default: you)"),
        Flag("--until WHEN", "when it ends: 30d, or a date (default: when it is released)", WHEN),
        _DOMAIN,
        effect=CHANGES,
    ),
    Operation("hold list", "the holds in force", _DOMAIN, Flag("--all", "also holds that have ended"), implied=True),
    Operation("hold release HOLD", "end a hold", effect=DESTROYS),
    RETENTION_ARCHIVE,
    Operation("archives", "all archives, newest first", admin=True),
    Operation(
        "restore ARCHIVE_ID",
        "bring back what is in an archive and no longer stored",
        Flag("--sound", "skip what is damaged in the archive, and bring back the rest"),
        effect=CHANGES,
        admin=True,
    ),
    Operation("remove ARCHIVE_ID…", "delete archives for good", YES, effect=DESTROYS, admin=True),
    Operation(
        "verify",
        "check that policies, log and archives are as they were written",
        Flag("--read-data", "also read all contents of all archives"),
        admin=True,
    ),
    Operation(
        "log",
        "what was done, when and by whom, newest first",
        Flag("--most N", "show at most N", whole(), default=20),
        Flag("--action A", "only this action", choice(*ACTIONS)),
        Flag("--id ID", "only entries about this thing"),
        _DOMAIN,
        admin=True,
    ),
    common=(Flag("--json", "the answer as JSON"),),
    examples={
        "ID": "m3fa91c", "KEY=VALUE": "memory.older_than_days=90", "REQUEST": "r7m2qda", "PROJECT": "shop-0123456789ab", "REVISION": "3",
        "HOLD": "hq3fmk2", "ARCHIVE_ID": "rag-20261122T233000Z-k3f9a2",
    },
    notes={
        "": "There are two domains: memory is what past sessions have taught, rag is the archive of results that left contexts. Without"
            " --domain, an operation covers both.",
        "ID": "ID is a memory's id or an archived result's handle, such as m3fa91c, or the beginning of one if no other begins the same"
            " way. apply shows ids, and so do popkit memory list and popkit restore list.",
        "REQUEST": "REQUEST is the id of an agent's request, PROJECT the key of a project that has its own policy; show lists both.",
        "HOLD": "HOLD is a hold's id, as hold list shows it.",
        "ARCHIVE_ID": "ARCHIVE_ID is an archive's id, as archives shows it.",
    },
)  # fmt: skip

_SESSION = Flag("--session ID", "only what left this session (its id, or the beginning of one) and its subagents")
ARCHIVE_SEARCH = Operation(
    "search WORDS",
    "find cleared results of this project by the words in them",
    _SESSION,
    Flag("--everywhere", "search all projects"),
    Flag("--limit N", "show at most N", whole(), default=10, agent=("most", whole(1, MOST_FOUND))),
    JSON,
    joined=True,
    agent=("query", text(1, LONGEST_QUERY)),
    more="Words, names (getUserName, get_user_name), paths; case does not matter.",
)
ARCHIVE = (
    Operation("stats", "how much the archive holds", JSON),
    Operation(
        "list [PATTERN]",
        "the records of the archive, newest first",
        _SESSION,
        Flag("--since WHEN", "only records archived since then: 2h, 3d, or a date and time in UTC", WHEN),
        Flag("--limit N", "list at most N", whole(), default=50),
        JSON,
        more="With PATTERN, only records whose path or command matches.",
    ),
    ARCHIVE_SEARCH,
    Operation(
        "show ID",
        "one record and its content, as the model saw it",
        Flag("--raw", "only the content, byte for byte, including control characters"),
        JSON,
        more="ID is a handle, or the beginning of one.",
    ),
    Operation("verify", "check that every record is as it was written, and name the first broken one of each context", JSON),
    Operation(
        "prune",
        "delete old contents for good",
        Flag("--older-than AGE", "delete contents archived longer ago than this: 12h, 30d, 8w", AGE, needed=True),
        DRY_RUN,
        YES,
        JSON,
        effect=DESTROYS,
    ),
)
