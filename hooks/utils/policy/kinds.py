"""The one list of the kinds of results, with the properties of each. Pure, and part of every hook.

A result's kind is one of these names; a run's may have its family behind it (`run:test`). CONTRIBUTING.md says what gives a new one to
results. Whatever a row leaves out has the careful answer: such a result enters whole; nothing is known of it that is not known of any
other.
"""

from __future__ import annotations

from . import tools

READ, SEARCH, RUN, ACK, ERROR, DECISION, TASKS, OTHER = "read", "search", "run", "ack", "error", "decision", "tasks", "other"
RESTORED = "restored"  # printed by `popkit restore`
# The words after `popkit restore` that are about the archive, not about what left the context.
OF_THE_ARCHIVE = frozenset(("list", "prune", "search", "show", "stats", "verify"))


class Kind:
    """The properties that results of a kind share; see `__init__`."""

    __slots__ = (
        "budget", "counted", "ended", "ends_in_verdict", "ends_on", "grace", "is_learnt", "is_lookup", "is_noisy", "is_verbatim", "label",
        "many", "name", "operation",
    )  # fmt: skip

    def __init__(
        self, name: str, label: str = "", many: str = "", counted: str = "", operation: str = tools.SHELL, grace: int | None = None,
        ends_on: str = "repeat", ended: str = "", budget: int | None = None, is_noisy: bool = False, is_lookup: bool = False,
        is_learnt: bool = True, ends_in_verdict: bool = False, is_verbatim: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        # Words for people: of one result, of several, and what the panel counts preserved ones as ("": as no kind of their own).
        self.label = label or name
        self.many = many or name
        self.counted = counted
        self.operation = operation  # of the tool whose tier a command has that does the same
        self.grace = grace  # calls that an expired result must be left alone before a clear takes it unasked; None: as OTHER
        self.ends_on = ends_on  # what of its like ends it: a word of views/phrases.py
        self.ended = ended  # how that reads once it has ended it; "": the newer result is named
        # Characters up to which an output enters whole under `shape: strong`, and which it gets where it is longer; None: always whole.
        # From recorded sessions: docs/measured.md.
        self.budget = budget
        self.is_noisy = is_noisy  # noise is looked for in it: it is no file and no match
        self.is_lookup = is_lookup  # somebody has looked something up
        self.is_learnt = is_learnt  # the model of need has weights for it; else it counts as OTHER there
        self.ends_in_verdict = ends_in_verdict  # how it went fits a line, which outlives it
        self.is_verbatim = is_verbatim  # a summary must keep its words


# In the order in which people and the models of need see them.
ALL = (
    Kind(READ, "file contents", "files read", operation=tools.READ, grace=20, ends_on="reread", ended="read again", is_lookup=True),
    Kind(SEARCH, "search results", "searches", operation=tools.SEARCH, grace=5, budget=2_000, is_lookup=True),
    Kind(RUN, "output of a run", "commands", grace=1, ends_on="rerun", budget=1_000, is_noisy=True, ends_in_verdict=True),
    Kind(ACK, "an acknowledgement", "acknowledgements", operation=tools.EDIT, grace=0, is_noisy=True),
    Kind(ERROR, "an error", "errors", "error", ends_on="success", ended="succeeded", budget=2_000, ends_in_verdict=True, is_verbatim=True),
    Kind(DECISION, "a decision of yours", "decisions", "decision", is_verbatim=True),
    Kind(TASKS, "a task list", "task lists", "task list", ends_on="newer", ended="newer list", is_noisy=True),
    Kind(OTHER, "a tool result", "other", grace=5, budget=2_000, is_noisy=True),
    Kind(RESTORED, operation=tools.READ, is_learnt=False),
)
_BY_NAME = {kind.name: kind for kind in ALL}


def name_of(kind: str) -> str:
    """Return the name in a result's kind, without a family."""
    return kind.partition(":")[0]


def of(kind: str) -> Kind:
    """Return the properties of a result's kind; for an unknown name, the defaults of a row."""
    known = _BY_NAME.get(kind)
    if known is None:
        name = name_of(kind)
        known = _BY_NAME.get(name) or Kind(name, is_learnt=False)
    return known


def is_run(kind: str) -> bool:
    """Return whether it is the output of a run, which says how things went at that time: no one asks for the same again."""
    return name_of(kind) == RUN


def learnt_as(kind: str) -> str:
    """Return the name under which the model of need and the lab know a result."""
    return kind if (kind := name_of(kind)) in LEARNT else OTHER


LEARNT = tuple([kind.name for kind in ALL if kind.is_learnt])
