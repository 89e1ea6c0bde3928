"""The operations on stored data, some of which agents have as tools: `popkit memory`, `popkit retention` and `popkit archive`; and the
flags that other commands share."""

from __future__ import annotations

from hooks.utils.argument_types import AGE, FILE, FOLDER, WHEN, Type, choice, choices, several, text, whole
from hooks.utils.flag_parser import CHANGES, DESTROYS, Flag, Operation, Table

HOST = Flag("--host claude-code|codex|opencode|entire", "whose sessions, where no path is given", default="claude-code")
# Of what works on any number of sessions.
MANY_SESSIONS = (
    Flag("--list FILE", "also the paths and addresses in FILE, one on each line (-: standard input)", FILE),
    Flag("--jobs N", "processes (default: one for each processor)", whole()),
    Flag("--scheduler ADDRESS", "on the Dask cluster of this scheduler instead, such as tcp://10.0.0.5:8786"),
)
DRY_RUN = Flag("--dry-run", "only show what would happen")
YES = Flag("--yes", "do not ask")
JSON = Flag("--json", "as JSON")

MEMORY_COMMAND = "popkit memory"
_TIERS = ("HOT", "WARM", "COLD", "ARCHIVE")  # memory/items.py loads what a server of tools does without
ITEMS_LISTED = 50
# Of one call of an agent.
MOST_FOUND, MOST_IDS = 100, 1_000
LONGEST_QUERY, LONGEST_ITEM, LONGEST_ID = 1_000, 20_000, 200

MEMORY_SEARCH = Operation(
    "search WORDS",
    "what answers best; what it shows counts as asked for",
    Flag("--most N", "show at most N", whole(), default=10, agent=("most", whole(1, MOST_FOUND))),
    joined=True,
    agent=("query", text(1, LONGEST_QUERY)),
)
MEMORY_ADD = Operation(
    "add TEXT",
    "remember this; - reads it from standard input",
    Flag("--kind K", "what it is: note (the default), path, name, command, error, or a word of your own"),
    Flag("--key", "it is a key decision: keep it for good", agent=("key", Type("switch", about="a key decision"))),
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
        Flag("--all", f"everything, not only the first {ITEMS_LISTED}"),
    ),
    MEMORY_SEARCH,
    Operation("show ID", "one item with its text"),
    Operation("why ID", "an item's signals, score and tier, and what comes next and when"),
    MEMORY_ADD,
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
    MEMORY_FORGET,
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


RETENTION_COMMAND = "popkit retention"
LISTED = 20  # entries of a list unless more is asked for
LONGEST_NOTE = 1_000  # of an agent
# The actions of entries of the log.
ACTIONS = (
    "configured", "requested", "declined", "applied", "held", "released", "marked", "unmarked", "deleting", "deleted", "archived",
    "restored", "removed", "abandoned",
)  # fmt: skip
_LARGEST_REVISION = 10**15 - 1
_DOMAIN = Flag("--domain memory|rag", "only this domain", agent=("domain", choice("memory", "rag")))
_ALL = Flag("--all", f"list everything, not only the first {LISTED}")
RETENTION_SHOW = Operation("show", "both policies, what is stored, and what may be deleted", _DOMAIN, implied=True)
RETENTION_SET = Operation(
    "set KEY=VALUE…",
    "change policies: memory.older_than_days=90; for lists += adds and -= removes",
    Flag("--domain memory|rag", "the domain of keys that name none", agent=_DOMAIN.agent),
    effect=DESTROYS,
)
RETENTION_APPLY = Operation(
    "apply",
    "what the policies let go of and what they protect, and why; deletes nothing",
    _DOMAIN,
    Flag("--dry-run", "keep no note of it in the log"),
    _ALL,
)
RETENTION_ARCHIVE = Operation(
    "archive [ID…]",
    "copy things into an archive of their own: these, or what may be deleted",
    _DOMAIN,
    Flag("--note TEXT", "what it is for"),
    effect=CHANGES,
)
RETENTION = Table(
    RETENTION_COMMAND,
    "what stored data may be deleted, and when: policies, holds, the log",
    RETENTION_SHOW,
    RETENTION_SET,
    Operation("accept REQUEST…", "say yes to what an agent asks for, in the project alone that it asked from", effect=DESTROYS),
    Operation("decline REQUEST…", "say no to it", effect=CHANGES),
    Operation("unset PROJECT", "end the policies that a project has of its own", _DOMAIN, effect=DESTROYS),
    Operation("history", "how the policies changed, newest first", _DOMAIN),
    Operation(
        "rollback REVISION",
        "bring back the policies of a revision that history shows",
        _DOMAIN,
        effect=DESTROYS,
        type=whole(0, _LARGEST_REVISION),
    ),
    Operation("explain ID", "which rules hold for one thing, since when, and what comes next", _DOMAIN),
    RETENTION_APPLY,
    Operation(
        "gc",
        "mark what may be deleted; delete for good what was marked 24 h ago",
        _DOMAIN,
        DRY_RUN,
        YES,
        Flag("--placeholders", "also what placeholders in transcripts stand for; says in which sessions"),
        _ALL,
        Flag("--auto", "collect what the policies with auto_gc let go of, at most once an hour (for hooks)"),
        Flag("--quiet", "with --auto: print nothing and always exit 0; failures go to the hooks' log"),
        effect=DESTROYS,
    ),
    Operation("undo [ID…]", "take back marks: of these, or of everything that is marked", _DOMAIN, effect=CHANGES),
    Operation(
        "hold add [ID…]",
        "keep things whatever the policies say: these, or all of a session or a project",
        Flag("--session ID", "everything of this session, what is still to come too"),
        Flag("--project FOLDER", "everything of the project that this folder belongs to", FOLDER),
        Flag("--why TEXT", "the reason", needed=True),
        Flag("--who NAME", "who wants it (default: you)"),
        Flag("--until WHEN", "when it ends: 30d, or a date (default: when it is released)", WHEN),
        _DOMAIN,
        effect=CHANGES,
    ),
    Operation("hold list", "the holds in force", _DOMAIN, Flag("--all", "those that have ended, too"), implied=True),
    Operation("hold release HOLD", "end a hold", effect=DESTROYS),
    RETENTION_ARCHIVE,
    Operation("archives", "the archives that there are, newest first"),
    Operation(
        "restore ARCHIVE_ID",
        "bring back what an archive holds and is missing now",
        Flag("--sound", "leave out what is damaged in the archive, and bring back the rest"),
        effect=CHANGES,
    ),
    Operation("remove ARCHIVE_ID…", "delete archives for good", YES, effect=DESTROYS),
    Operation(
        "verify",
        "check that policies, log and archives are as they were written",
        Flag("--read-data", "also read every content of every archive"),
    ),
    Operation(
        "log",
        "what was done, when and by whom, newest first",
        Flag("--most N", "show at most N", whole(), default=20),
        Flag("--action A", "only this action", choice(*ACTIONS)),
        Flag("--id ID", "only what is about this thing"),
        _DOMAIN,
    ),
    common=(Flag("--json", "the answer as JSON"),),
    examples={
        "ID": "m3fa91c", "KEY=VALUE": "memory.older_than_days=90", "REQUEST": "r7m2qda", "PROJECT": "shop-0123456789ab", "REVISION": "3",
        "HOLD": "hq3fmk2", "ARCHIVE_ID": "rag-20261122T233000Z-k3f9a2",
    },
    notes={
        "": "There are two domains: memory is what past sessions have taught, rag is the archive of results that left contexts. Without"
        " --domain, a word is about both.",
        "ID": "ID is a memory's id or an archived result's handle, or its beginning if no other begins so, such as m3fa91c."
        " apply shows ids; so do popkit memory list and popkit archive list.",
        "REQUEST": "REQUEST is the id of what an agent asks for, PROJECT the key of a project that has a policy of its own; show has both.",
        "HOLD": "HOLD is a hold's id; hold list shows them.",
        "ARCHIVE_ID": "ARCHIVE_ID is an archive's id; archives shows them.",
    },
)  # fmt: skip

_SESSION = Flag("--session ID", "only what left this session (its id, or how it begins) and its subagents")
ARCHIVE_SEARCH = Operation(
    "search WORDS",
    "find what was cleared in this project by the words in it",
    _SESSION,
    Flag("--everywhere", "search all projects"),
    Flag("--limit N", "show at most N", whole(), default=10, agent=("most", whole(1, MOST_FOUND))),
    joined=True,
    agent=("query", text(1, LONGEST_QUERY)),
    more="Words, names (getUserName, get_user_name), paths; case does not matter.",
)
ARCHIVE = Table(
    "popkit archive",
    "look into what was cleared: list, search, show, verify, prune",
    Operation("stats", "how much it holds"),
    Operation(
        "list [PATTERN]",
        "what it holds, newest first",
        _SESSION,
        Flag("--since WHEN", "only what was archived since: 2h, 3d, or a date and time in UTC", WHEN),
        Flag("--limit N", "list at most N", whole(), default=50),
        more="With PATTERN, only records whose path or command matches.",
    ),
    ARCHIVE_SEARCH,
    Operation(
        "show ID",
        "one record and its content, as the model saw it",
        Flag("--raw", "the content alone, byte for byte, control characters too"),
        more="ID is a handle, or how it begins.",
    ),
    Operation("verify", "check that everything is as it was written; names the first broken record of each context"),
    Operation(
        "prune",
        "delete old contents for good",
        Flag("--older-than AGE", "delete what was archived longer ago than this: 12h, 30d, 8w", AGE, needed=True),
        DRY_RUN,
        YES,
        effect=DESTROYS,
    ),
    common=(JSON,),
)
