"""The operations of `popkit retention`."""

from __future__ import annotations

from hooks.utils.argument_types import FOLDER, TEXT, WHEN, choice, whole
from hooks.utils.flag_parser import CHANGES, DESTROYS, MANY, Argument, Flag, Operation, Table

COMMAND = "popkit retention"
LISTED = 20  # entries of a list unless more is asked for
LONGEST_NOTE = 1_000  # of an agent
# What an entry of the log can tell of.
ACTIONS = (
    "configured", "requested", "declined", "applied", "held", "released", "marked", "unmarked", "deleting", "deleted", "archived",
    "restored", "removed", "abandoned",
)  # fmt: skip
_DOMAINS = choice("memory", "rag")
_LARGEST_REVISION = 10**15 - 1
_IDS = Argument("ID", "m3fa91c", least=0, most=MANY)
_REQUESTS = Argument("REQUEST", "r7m2qda", most=MANY)
_ARCHIVE_ID = "rag-20261122T233000Z-k3f9a2"

_DOMAIN = Flag("--domain", "only this domain", _DOMAINS, "D", agent=("domain", _DOMAINS))
_DRY_RUN = Flag("--dry-run", "only show what would happen")
_YES = Flag("--yes", "do not ask")
_ALL = Flag("--all", f"list everything, not only the first {LISTED}")

SHOW = Operation("show", "both policies, what is stored, and what may be deleted", (_DOMAIN,), implied=True)
SET = Operation(
    "set",
    "change policies: memory.older_than_days=90; for lists += adds and -= removes",
    (Flag("--domain", "the domain of keys that name none", _DOMAINS, "D", agent=("domain", _DOMAINS)),),
    Argument("KEY=VALUE", "memory.older_than_days=90", most=MANY),
    DESTROYS,
)
APPLY = Operation(
    "apply",
    "what the policies let go of and what they protect, and why; deletes nothing",
    (_DOMAIN, Flag("--dry-run", "keep no note of it in the log"), _ALL),
)
ARCHIVE = Operation(
    "archive",
    "copy things into an archive of their own: these, or what may be deleted",
    (_DOMAIN, Flag("--note", "what it is for", TEXT, "TEXT")),
    _IDS,
    CHANGES,
)
TABLE = Table(
    COMMAND,
    "what stored data may be deleted, and when: policies, holds, the log",
    (
        SHOW,
        SET,
        Operation("accept", "say yes to what an agent asks for, in the project alone that it asked from", (), _REQUESTS, DESTROYS),
        Operation("decline", "say no to it", (), _REQUESTS, CHANGES),
        Operation(
            "unset", "end the policies that a project has of its own", (_DOMAIN,), Argument("PROJECT", "shop-0123456789ab"), DESTROYS
        ),
        Operation("history", "how the policies changed, newest first", (_DOMAIN,)),
        Operation(
            "rollback",
            "bring back the policies of a revision that history shows",
            (_DOMAIN,),
            Argument("REVISION", "3", whole(0, _LARGEST_REVISION)),
            DESTROYS,
        ),
        Operation("explain", "which rules hold for one thing, since when, and what comes next", (_DOMAIN,), Argument("ID", "m3fa91c")),
        APPLY,
        Operation(
            "gc",
            "mark what may be deleted; delete for good what was marked 24 h ago",
            (
                _DOMAIN,
                _DRY_RUN,
                _YES,
                Flag("--placeholders", "also what placeholders in transcripts stand for; says in which sessions"),
                _ALL,
                Flag("--auto", "collect what the policies with auto_gc let go of, at most once an hour (for hooks)"),
                Flag("--quiet", "with --auto: print nothing and always exit 0; failures go to the hooks' log"),
            ),
            effect=DESTROYS,
        ),
        Operation("undo", "take back marks: of these, or of everything that is marked", (_DOMAIN,), _IDS, CHANGES),
        Operation(
            "hold add",
            "keep things whatever the policies say: these, or all of a session or a project",
            (
                Flag("--session", "everything of this session, what is still to come too", TEXT, "ID"),
                Flag("--project", "everything of the project that this folder belongs to", FOLDER, "FOLDER"),
                Flag("--why", "the reason", TEXT, "TEXT", needed=True),
                Flag("--who", "who wants it (default: you)", TEXT, "NAME"),
                Flag("--until", "when it ends: 30d, or a date (default: when it is released)", WHEN, "WHEN"),
                _DOMAIN,
            ),
            Argument("ID", "m3fa91c --why audit", least=0, most=MANY),
            CHANGES,
        ),
        Operation("hold list", "the holds in force", (_DOMAIN, Flag("--all", "those that have ended, too")), implied=True),
        Operation("hold release", "end a hold", (), Argument("HOLD", "hq3fmk2"), DESTROYS),
        ARCHIVE,
        Operation("archives", "the archives that there are, newest first"),
        Operation(
            "restore",
            "bring back what an archive holds and is missing now",
            (Flag("--sound", "leave out what is damaged in the archive, and bring back the rest"),),
            Argument("ARCHIVE_ID", _ARCHIVE_ID),
            CHANGES,
        ),
        Operation("remove", "delete archives for good", (_YES,), Argument("ARCHIVE_ID", _ARCHIVE_ID, most=MANY), DESTROYS),
        Operation(
            "verify",
            "check that policies, log and archives are as they were written",
            (Flag("--read-data", "also read every content of every archive"),),
        ),
        Operation(
            "log",
            "what was done, when and by whom, newest first",
            (
                Flag("--most", "show at most N", whole(), "N", default=20),
                Flag("--action", "only this action", choice(*ACTIONS), "A"),
                Flag("--id", "only what is about this thing", TEXT, "ID"),
                _DOMAIN,
            ),
        ),
    ),
    (Flag("--json", "the answer as JSON"),),
    {
        "": "There are two domains: memory is what past sessions have taught, rag is the archive of results that left contexts. Without"
        " --domain, a word is about both.",
        "ID": "ID is a memory's id or an archived result's handle, or its beginning if no other begins so, such as m3fa91c."
        " apply shows ids; so do popkit memory list and popkit archive list.",
        "REQUEST": "REQUEST is the id of what an agent asks for, PROJECT the key of a project that has a policy of its own; show has both.",
        "HOLD": "HOLD is a hold's id; hold list shows them.",
        "ARCHIVE_ID": "ARCHIVE_ID is an archive's id; archives shows them.",
    },
)
