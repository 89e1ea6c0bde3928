"""The operations of `popkit retention`."""

from __future__ import annotations

from hooks.utils.argument_types import FOLDER, WHEN, choice, whole
from hooks.utils.flag_parser import CHANGES, DESTROYS, Flag, Operation, Table

COMMAND = "popkit retention"
LISTED = 20  # entries of a list unless more is asked for
LONGEST_NOTE = 1_000  # of an agent
# What an entry of the log can tell of.
ACTIONS = (
    "configured", "requested", "declined", "applied", "held", "released", "marked", "unmarked", "deleting", "deleted", "archived",
    "restored", "removed", "abandoned",
)  # fmt: skip
_LARGEST_REVISION = 10**15 - 1
_DOMAIN = Flag("--domain memory|rag", "only this domain", agent=("domain", choice("memory", "rag")))
_DRY_RUN = Flag("--dry-run", "only show what would happen")
_YES = Flag("--yes", "do not ask")
_ALL = Flag("--all", f"list everything, not only the first {LISTED}")
SHOW = Operation("show", "both policies, what is stored, and what may be deleted", _DOMAIN, implied=True)
SET = Operation(
    "set KEY=VALUE…",
    "change policies: memory.older_than_days=90; for lists += adds and -= removes",
    Flag("--domain memory|rag", "the domain of keys that name none", agent=_DOMAIN.agent),
    effect=DESTROYS,
)
APPLY = Operation(
    "apply",
    "what the policies let go of and what they protect, and why; deletes nothing",
    _DOMAIN,
    Flag("--dry-run", "keep no note of it in the log"),
    _ALL,
)
ARCHIVE = Operation(
    "archive [ID…]",
    "copy things into an archive of their own: these, or what may be deleted",
    _DOMAIN,
    Flag("--note TEXT", "what it is for"),
    effect=CHANGES,
)
TABLE = Table(
    COMMAND,
    "what stored data may be deleted, and when: policies, holds, the log",
    SHOW,
    SET,
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
    APPLY,
    Operation(
        "gc",
        "mark what may be deleted; delete for good what was marked 24 h ago",
        _DOMAIN,
        _DRY_RUN,
        _YES,
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
    ARCHIVE,
    Operation("archives", "the archives that there are, newest first"),
    Operation(
        "restore ARCHIVE_ID",
        "bring back what an archive holds and is missing now",
        Flag("--sound", "leave out what is damaged in the archive, and bring back the rest"),
        effect=CHANGES,
    ),
    Operation("remove ARCHIVE_ID…", "delete archives for good", _YES, effect=DESTROYS),
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
