"""One thing that a command line does, and the part by which an action that is known by its words alone is named. Pure."""

from __future__ import annotations

from .calls import bounded
from .parts import UNKNOWN, has_variable

_TIERS = {"search": "short", "read": "medium", "run": "session", "ack": "ephemeral", "other": "session"}
_NAME_CHARS = 80
KEY_CHARS = 200


class Action:
    """One thing that a line does. `family` is set for runs only; `part` is `(key, scope)` as in the table of docs/design.md."""

    __slots__ = ("commits", "family", "kind", "name", "part", "tier")

    def __init__(self, kind, name, part, family="", commits=False):
        self.kind = kind
        self.tier = _TIERS[kind]
        self.name = name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 1] + "…"
        self.part = part
        self.family = family
        self.commits = commits

    def __repr__(self) -> str:
        return f"Action({self.kind!r}, {self.name!r}, {self.part!r}, {self.family!r}, {self.commits!r})"


def plain(kind: str, words: list[str], cwd: str, extra: str = "", commits: bool = False) -> Action:
    """An action that is named by its words alone. One that depends on a variable is like no other."""
    text = " ".join(words) + extra
    name = text if len(text) <= _NAME_CHARS and "\n" not in text else " ".join(text[: 4 * _NAME_CHARS].split())
    unknown = cwd.startswith(UNKNOWN) or has_variable(text)
    return Action(kind, name, (f"do:{bounded(text, KEY_CHARS)}@{UNKNOWN if unknown else cwd}", []), "", commits)
