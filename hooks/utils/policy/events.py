"""The events of a context beside calls, as drivers tell the engine, which reads it by `name`. Times are seconds since the epoch."""

from __future__ import annotations

from .calls import Call, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Union

    from .context import Result

    Event = Union[
        "Call", "CameBack", "Cleared", "ClearedOutside", "ClientEnded", "Compacted", "Entered", "FilesChanged", "ManualClear", "Pinned",
        "ProfileChosen", "Prompted", "Restored", "Resumed", "SessionEnded", "Tick", "Undone", "Unpinned",
    ]  # fmt: skip

__all__ = [
    "Call", "CameBack", "Cleared", "ClearedOutside", "ClientEnded", "Compacted", "Entered", "FilesChanged", "ManualClear", "Outcome",
    "Pinned", "ProfileChosen", "Prompted", "Restored", "Resumed", "SessionEnded", "Tick", "Undone", "Unpinned",
]  # fmt: skip


class FilesChanged:
    """Files changed on disk by other means than the edit tools: path -> "modified" or "deleted"."""

    __slots__ = ("at", "changes")
    name = "files_changed"

    def __init__(self, changes: dict[str, str], at: float):
        self.changes = changes
        self.at = at


class Prompted:
    """The user said something: a new turn, where the host gives calls no prompt id."""

    __slots__ = ("at",)
    name = "prompted"

    def __init__(self, at: float):
        self.at = at


class Compacted:
    """The host folded the conversation into a summary; `kept` are ids of results that it carried over. `tokens`: the size of the prompt
    at which it did so by itself, 0 where a person asked for it or nothing tells."""

    __slots__ = ("at", "kept", "tokens")
    name = "compacted"

    def __init__(self, at: float, kept: Collection[str] = (), tokens: int = 0):
        self.at = at
        self.kept = kept
        self.tokens = tokens


class Entered:
    """A result has entered the context shorter than it was: `tokens` of what entered, `leans_on` ids of the results that its references
    name, `handle` of the archived whole, `left_out` characters, `kept_out` (their tokens, an estimate), `reasons` in words for people."""

    __slots__ = ("at", "handle", "id", "kept_out", "leans_on", "left_out", "reasons", "tokens")
    name = "entered"

    def __init__(
        self, id: str, tokens: int, leans_on: Collection[str], handle: str, left_out: int, reasons: Collection[str], at: float,
        kept_out: int,
    ) -> None:  # fmt: skip
        self.id = id
        self.tokens = tokens
        self.leans_on = leans_on
        self.handle = handle
        self.left_out = left_out
        self.kept_out = kept_out
        self.reasons = reasons
        self.at = at


class CameBack:
    """Results that a compaction had taken out whole, with their calls, are in the conversation again, as they have ended since."""

    __slots__ = ("at", "results")
    name = "came_back"

    def __init__(self, results: Collection[Result], at: float):
        self.results = results
        self.at = at


class ClientEnded:
    """The client that ran the session has ended, or has turned to another session, as `why` says. The session may be resumed."""

    __slots__ = ("at", "why")
    name = "client_ended"

    def __init__(self, at: float, why: str):
        self.at = at
        self.why = why


class Resumed:
    """A client runs the session again."""

    __slots__ = ("at",)
    name = "resumed"

    def __init__(self, at: float):
        self.at = at


class SessionEnded:
    """The session is over: it is clear that nobody resumes it."""

    __slots__ = ("at",)
    name = "session_ended"

    def __init__(self, at: float):
        self.at = at


class Pinned:
    """The user holds a result (by id) or every result of a path pattern."""

    __slots__ = ("at", "target")
    name = "pinned"

    def __init__(self, target: str, at: float):
        self.target = target
        self.at = at


class Unpinned:
    """The user unpins a target."""

    __slots__ = ("at", "target")
    name = "unpinned"

    def __init__(self, target: str, at: float):
        self.target = target
        self.at = at


class ManualClear:
    """The user clears results, whatever their tier; `reasons`: id -> why, of those that the user did not name."""

    __slots__ = ("at", "ids", "reasons")
    name = "manual_clear"

    def __init__(self, ids: Collection[str], at: float, reasons: dict[str, str] | None = None):
        self.ids = ids
        self.at = at
        self.reasons = reasons or {}


class Cleared:
    """Placeholders have replaced these results in the context: id -> handle of the archived content."""

    __slots__ = ("handles",)
    name = "cleared"

    def __init__(self, handles: dict[str, str]):
        self.handles = handles


class ClearedOutside:
    """Results left the context while the transcript still holds them: the provider or the host took them out; `how` in a few words."""

    __slots__ = ("at", "how", "ids")
    name = "cleared_outside"

    def __init__(self, ids: Collection[str], at: float, how: str) -> None:
        self.ids = ids
        self.at = at
        self.how = how


class Restored:
    """The content of a cleared result was asked for: back into its place, or printed into a new result."""

    __slots__ = ("at", "id", "in_place")
    name = "restored"

    def __init__(self, id: str, in_place: bool, at: float):
        self.id = id
        self.in_place = in_place
        self.at = at


class Undone:
    """A clear of these results was undone."""

    __slots__ = ("at", "ids")
    name = "undone"

    def __init__(self, ids: Collection[str], at: float):
        self.ids = ids
        self.at = at


class ProfileChosen:
    """The user chose a profile for the session; the driver compiles the rules again."""

    __slots__ = ("at", "profile")
    name = "profile_chosen"

    def __init__(self, profile: str | None, at: float):
        self.profile = profile
        self.at = at


class Tick:
    """Time has passed."""

    __slots__ = ("at",)
    name = "tick"

    def __init__(self, at: float):
        self.at = at
