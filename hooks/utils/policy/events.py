"""What can happen to a context. Drivers make these; the engine reads them. Times are seconds since the epoch."""

from __future__ import annotations


class Outcome:
    """What the engine needs to know of a tool's result; of its text only the end, while it is looked at."""

    __slots__ = ("chars", "content_hash", "error", "exit_code", "image_tokens", "interval", "tail", "unchanged", "wide")

    def __init__(
        self,
        chars: int = 0,
        wide: int = 0,
        content_hash: str = "",
        error: bool = False,
        exit_code: int | None = None,
        interval: list | None = None,
        unchanged: bool = False,
        image_tokens: int = 0,
        tail: str = "",
    ):
        self.chars = chars
        self.wide = wide  # of them CJK
        self.content_hash = content_hash  # "" when there is no content
        self.error = error
        self.exit_code = exit_code
        self.interval = interval  # lines that a Read returned: [first, last], whole file [1, 0]
        self.unchanged = unchanged  # the host answered "file unchanged" instead of a content
        self.image_tokens = image_tokens
        self.tail = tail  # the end of the text, for a verdict; never kept


class Call:
    """A tool call that completed, in the order of completion."""

    __slots__ = ("at", "committed", "cwd", "id", "outcome", "prompt_id", "tool", "tool_input")

    def __init__(self, id, tool, tool_input, outcome, at=0.0, cwd="", prompt_id=None, committed=None):
        self.id = id
        self.tool = tool
        self.tool_input = tool_input
        self.outcome = outcome
        self.at = at
        self.cwd = cwd
        self.prompt_id = prompt_id  # the host's id of the user's turn, None where it gives none
        self.committed = committed  # files in the commit that this call made: absolute paths, None where git cannot say


class Prompted:
    """The user said something: a new turn, where the host gives calls no prompt id."""

    __slots__ = ("at",)

    def __init__(self, at=0.0):
        self.at = at


class FilesChanged:
    """Files changed on disk by other means than the edit tools: path -> "modified" or "deleted"."""

    __slots__ = ("at", "changes")

    def __init__(self, changes, at=0.0):
        self.changes = changes
        self.at = at


class Quoted:
    """The assistant wrote something that only these results held."""

    __slots__ = ("ids",)

    def __init__(self, ids):
        self.ids = ids


class Compacted:
    """The host folded the conversation into a summary; `kept` are ids of results that it carried over."""

    __slots__ = ("at", "kept")

    def __init__(self, at=0.0, kept=()):
        self.at = at
        self.kept = kept


class SessionEnded:
    """The host ended the session (it may be resumed)."""

    __slots__ = ("at", "why")

    def __init__(self, at=0.0, why=""):
        self.at = at
        self.why = why


class Pinned:
    """The user holds a result (by id) or every result of a path pattern."""

    __slots__ = ("at", "target")

    def __init__(self, target, at=0.0):
        self.target = target
        self.at = at


class Unpinned:
    """The user lets go of a target that was pinned."""

    __slots__ = ("at", "target")

    def __init__(self, target, at=0.0):
        self.target = target
        self.at = at


class ManualClear:
    """The user marks results as no longer needed, whatever their tier."""

    __slots__ = ("at", "ids")

    def __init__(self, ids, at=0.0):
        self.ids = ids
        self.at = at


class Superseded:
    """A driver says that a newer run of this key exists (`RetentionTracker.mark_superseded`)."""

    __slots__ = ("at", "pattern")

    def __init__(self, pattern, at=0.0):
        self.pattern = pattern
        self.at = at


class Edited:
    """A driver says that this file was edited, apart from any call that it feeds."""

    __slots__ = ("at", "path")

    def __init__(self, path, at=0.0):
        self.path = path
        self.at = at


class Committed:
    """A driver says that something was committed: absolute paths, None where nobody can say which."""

    __slots__ = ("at", "files")

    def __init__(self, files=None, at=0.0):
        self.files = files
        self.at = at


class Advanced:
    """Calls up to this index completed, of which nothing else is known."""

    __slots__ = ("at", "index")

    def __init__(self, index, at=0.0):
        self.index = index
        self.at = at


class ProfileChosen:
    """The user chose a profile for the session; the driver compiles the rules anew."""

    __slots__ = ("at", "profile")

    def __init__(self, profile, at=0.0):
        self.profile = profile
        self.at = at


class Tick:
    """Time has passed and somebody wants to know."""

    __slots__ = ("at",)

    def __init__(self, at=0.0):
        self.at = at
