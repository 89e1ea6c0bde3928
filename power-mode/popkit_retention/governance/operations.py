"""The operations of `popkit retention`, some of which agents have as tools."""

from __future__ import annotations

from popkit_retention.core.argument_types import FOLDER, WHEN, choice, whole
from popkit_retention.core.operation_tables import CHANGES, DESTROYS, Flag, Operation, Table

from ..operations import DRY_RUN, YES

RETENTION_COMMAND = "popkit retention"
LISTED = 20  # entries of a list unless more is asked for; one more where it alone would be left out
LONGEST_NOTE = 1_000  # of an agent
# The actions that entries of the log may have.
ACTIONS = (
    "configured", "requested", "declined", "applied", "held", "released", "marked", "unmarked", "deleting", "deleted", "archived",
    "restored", "removed", "abandoned",
)  # fmt: skip
# The modules of functions that `command` does not have.
_POLICIES, _HOLDS, _ARCHIVES = (f"{__package__}.{subject}_commands" for subject in ("policy", "hold", "archive"))
_LARGEST_REVISION = 10**15 - 1
_DOMAIN = Flag("--domain memory|rag", "only this domain", agent=("domain", choice("memory", "rag")))
_ALL = Flag("--all", "list everything, not only the beginning")
RETENTION_SHOW = Operation(
    "show", "both policies, what is stored, and what may be deleted", _DOMAIN, implied=True, does=f"{_POLICIES}:show"
)
RETENTION_SET = Operation(
    "set KEY=VALUE…",
    "change policies: memory.older_than_days=90; for lists += adds and -= removes",
    Flag("--domain memory|rag", "the domain of keys that do not name one", agent=_DOMAIN.agent),
    effect=DESTROYS,
    does=f"{_POLICIES}:set_policies",
)
RETENTION_APPLY = Operation(
    "apply",
    "what may be deleted under the policies, what they protect, and why; deletes nothing",
    _DOMAIN,
    Flag("--dry-run", "do not record it in the log"),
    _ALL,
    does="apply",
)
RETENTION_ARCHIVE = Operation(
    "archive [ID…]",
    "copy these things, or everything that may be deleted, into an archive",
    _DOMAIN,
    Flag("--note TEXT", "what the archive is for"),
    effect=CHANGES,
    admin=True,
    does=f"{_ARCHIVES}:archive",
)
RETENTION = Table(
    RETENTION_COMMAND,
    "what stored data may be deleted, and when: policies, holds, the log",
    RETENTION_SHOW,
    RETENTION_SET,
    Operation(
        "accept REQUEST…",
        "accept an agent's request, only for the project that it came from",
        effect=DESTROYS,
        admin=True,
        does=f"{_POLICIES}:accept",
    ),
    Operation("decline REQUEST…", "decline an agent's request", effect=CHANGES, admin=True, does=f"{_POLICIES}:decline"),
    Operation("unset PROJECT", "remove a project's own policies", _DOMAIN, effect=DESTROYS, admin=True, does=f"{_POLICIES}:unset"),
    Operation("history", "how the policies changed, newest first", _DOMAIN, admin=True, does=f"{_POLICIES}:history"),
    Operation(
        "rollback REVISION",
        "go back to the policies of a revision, as history lists them",
        _DOMAIN,
        effect=DESTROYS,
        type=whole(0, _LARGEST_REVISION),
        admin=True,
        does=f"{_POLICIES}:rollback",
    ),
    Operation("explain ID", "which rules apply to one thing, since when, and what happens next", _DOMAIN, does="explain"),
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
        does="gc",
    ),
    Operation("undo [ID…]", "remove the marks of these things, or all marks", _DOMAIN, effect=CHANGES, does="undo"),
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
        does=f"{_HOLDS}:add_hold",
    ),
    Operation(
        "hold list",
        "the holds in force",
        _DOMAIN,
        Flag("--all", "also holds that have ended"),
        implied=True,
        does=f"{_HOLDS}:list_holds",
    ),
    Operation("hold release HOLD", "end a hold", effect=DESTROYS, does=f"{_HOLDS}:release_hold"),
    RETENTION_ARCHIVE,
    Operation("archives", "all archives, newest first", admin=True, does=f"{_ARCHIVES}:archives"),
    Operation(
        "restore ARCHIVE_ID",
        "bring back what is in an archive and no longer stored",
        Flag("--sound", "skip what is damaged in the archive, and bring back the rest"),
        effect=CHANGES,
        admin=True,
        does=f"{_ARCHIVES}:restore",
    ),
    Operation("remove ARCHIVE_ID…", "delete archives for good", YES, effect=DESTROYS, admin=True, does=f"{_ARCHIVES}:remove"),
    Operation(
        "verify",
        "check that policies, log and archives are as they were written",
        Flag("--read-data", "also read all contents of all archives"),
        admin=True,
        does="verify",
    ),
    Operation(
        "log",
        "what was done, when and by whom, newest first",
        Flag("--most N", "show at most N", whole(), default=20),
        Flag("--action A", "only this action", choice(*ACTIONS)),
        Flag("--id ID", "only entries about this thing"),
        _DOMAIN,
        admin=True,
        does="log",
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
    module=f"{__package__}.command",
)  # fmt: skip
