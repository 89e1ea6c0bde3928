"""The words and flags of `popkit retention`, as one table: the parser, the help and the errors come from it. Pure."""

from __future__ import annotations

from hooks.utils.flag_parser import HELP_WORD, Flag, Table, Word

COMMAND = "popkit retention"
LISTED = 20  # entries of a list unless more is asked for
LOGGED = 20
_MOST = 10_000  # arguments: what a shell can give
_ID = "m3fa91c"
# What an entry of the log can tell of.
ACTIONS = (
    "configured", "requested", "declined", "applied", "held", "released", "marked", "unmarked", "deleting", "deleted", "archived",
    "restored", "removed", "abandoned",
)  # fmt: skip
_REQUEST = "r7m2qda"
_ARCHIVE = "rag-20261122T233000Z-k3f9a2"

_DOMAIN = Flag("--domain", "only this domain: memory or rag", "D")
_DRY_RUN = Flag("--dry-run", "only show what would happen")

WORDS = (
    Word("show", "both policies, what is stored, and what may be deleted", (_DOMAIN,)),
    Word(
        "set",
        "change policies: memory.older_than_days=90; for lists += adds and -= removes",
        (Flag("--domain", "the domain of keys that name none: memory or rag", "D"),),
        "KEY=VALUE…",
        1,
        _MOST,
        "memory.older_than_days=90",
    ),
    Word("accept", "say yes to what an agent asks for, in the project alone that it asked from", (), "REQUEST…", 1, _MOST, _REQUEST),
    Word("decline", "say no to it", (), "REQUEST…", 1, _MOST, _REQUEST),
    Word("unset", "end the policies that a project has of its own", (_DOMAIN,), "PROJECT", 1, 1, "shop-0123456789ab"),
    Word("history", "how the policies changed, newest first", (_DOMAIN,)),
    Word("rollback", "bring back the policies of a revision that history shows", (_DOMAIN,), "REVISION", 1, 1, "3"),
    Word("explain", "which rules hold for one thing, since when, and what comes next", (_DOMAIN,), "ID", 1, 1, _ID),
    Word(
        "apply",
        "what the policies let go of and what they protect, and why; deletes nothing",
        (
            _DOMAIN,
            Flag("--dry-run", "keep no note of it in the log"),
            Flag("--all", f"list everything, not only the first {LISTED}"),
        ),
    ),
    Word(
        "gc",
        "mark what may be deleted; delete for good what was marked 24 h ago",
        (
            _DOMAIN,
            _DRY_RUN,
            Flag("--yes", "do not ask"),
            Flag("--placeholders", "also what placeholders in transcripts stand for; says in which sessions"),
            Flag("--all", f"list everything, not only the first {LISTED}"),
            Flag("--auto", "collect what the policies with auto_gc let go of, at most once an hour (for hooks)"),
            Flag("--quiet", "with --auto: print nothing and always exit 0; failures go to the hooks' log"),
        ),
    ),
    Word("undo", "take back marks: of these, or of everything that is marked", (_DOMAIN,), "[ID…]", 0, _MOST, _ID),
    Word(
        "hold",
        "keep things whatever the policies say: add, list or release a hold",
        (
            Flag("--session", "add: everything of this session, what is still to come too", "ID"),
            Flag("--project", "add: everything of the project that this folder belongs to", "FOLDER"),
            Flag("--why", "add: the reason, which is needed", "TEXT"),
            Flag("--who", "add: who wants it (default: you)", "NAME"),
            Flag("--until", "add: when it ends: 30d, or a date (default: when it is released)", "WHEN"),
            _DOMAIN,
            Flag("--all", "list: those that have ended, too"),
        ),
        "[add ID…|list|release HOLD]",
        0,
        _MOST,
        f"add {_ID} --why audit",
    ),
    Word(
        "archive",
        "copy things into an archive of their own: these, or what may be deleted",
        (_DOMAIN, Flag("--note", "what it is for", "TEXT")),
        "[ID…]",
        0,
        _MOST,
        _ID,
    ),
    Word("archives", "the archives that there are, newest first"),
    Word(
        "restore",
        "bring back what an archive holds and is missing now",
        (Flag("--sound", "leave out what is damaged in the archive, and bring back the rest"),),
        "ARCHIVE_ID",
        1,
        1,
        _ARCHIVE,
    ),
    Word("remove", "delete archives for good", (Flag("--yes", "do not ask"),), "ARCHIVE_ID…", 1, _MOST, _ARCHIVE),
    Word(
        "verify",
        "check that policies, log and archives are as they were written",
        (Flag("--read-data", "also read every content of every archive"),),
    ),
    Word(
        "log",
        "what was done, when and by whom, newest first",
        (
            Flag("--most", f"show at most N (default: {LOGGED})", "N"),
            Flag("--action", f"only this action: {', '.join(ACTIONS)}", "A"),
            Flag("--id", "only what is about this thing", "ID"),
            _DOMAIN,
        ),
    ),
    HELP_WORD,
)

# Which flags go with which word after `hold`.
HOLD_FLAGS = {"add": ("session", "project", "why", "who", "until", "domain"), "list": ("all", "domain"), "release": ()}
TABLE = Table(
    "PopKit retention: what stored data may be deleted, and when",
    WORDS,
    "show",
    (Flag("--json", "the answer as JSON"),),
    "There are two domains: memory is what past sessions have taught, rag is the archive of results that left contexts. Without --domain,"
    " a word is about both.",
    {
        "ID": f"ID is a memory's id or an archived result's handle, or its beginning if no other begins so, such as {_ID}."
        " apply shows ids; so do popkit memory list and popkit archive list.",
        "REQUEST": "REQUEST is the id of what an agent asks for, PROJECT the key of a project that has a policy of its own; show has both.",
        "HOLD": "HOLD is a hold's id; hold list shows them.",
        "ARCHIVE_ID": "ARCHIVE_ID is an archive's id; archives shows them.",
    },
)
