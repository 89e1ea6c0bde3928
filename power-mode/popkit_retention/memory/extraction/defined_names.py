"""Finds the names that a session looked for, with where they are defined. Reads only.

A name is what `policy/outlines.py` calls one: not a plain word. A session looked for it if the assistant searched for it, or wrote it
having read it only in the result of a look-up. Its definition is read from the contents of the project's files, by the forms in which
languages define names that other files use: locals of a function do not count, and names of libraries never come up.
"""

from __future__ import annotations

import re
from collections import Counter

from popkit_retention.core.policy.masking import MASK, mask
from popkit_retention.core.policy.outlines import PLAIN
from popkit_retention.core.policy.tools import SEARCH

from ..items import NAME
from ..lessons import Observation
from .files import LATER_CHARS, LEAST_NAME, LONGEST_NAME, TEXT_CHARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .records import AssistantText


SESSION_CHARS = 150_000
# The most names that are kept of a session, the most written first.
MOST_NAMES = 200
MOST_WRITTEN = 600
# Shorter ones are guessed as often as they are known.
LEAST_UNAIDED = 12

_KNOWN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{4,80}")
_PATHS = re.compile(r"[A-Za-z0-9_.@][A-Za-z0-9_\-./@]{4,190}[A-Za-z0-9_]")
_PLAIN = re.compile(PLAIN)
PROSE = (".md", ".mdx", ".txt", ".rst", ".json", ".jsonl", ".lock", ".log")
_MASKED = re.compile(r"\S*" + re.escape(MASK) + r"\S*")
_MODIFIERS = (
    "export default declare public private protected internal static final abstract async override open pub unsafe extern virtual inline"
    " readonly sealed partial data suspend fileprivate"
)
_KEYWORDS = "def class function func fn interface type struct enum trait protocol record object mod module namespace union extension"
_DEFINES = re.compile(
    r"^(?:(?P<file>[\w./@-]{1,200}):(?:\d+:)?|[ \t]*\d+[\u2192\t:-])?"
    r"(?P<indent>[ \t]*)(?:(?:" + _MODIFIERS.replace(" ", "|") + r"|pub\([a-z]+\))[ \t]+)*"
    r"(?:(?:" + _KEYWORDS.replace(" ", "|") + r")\*?[ \t]+(?:\([^()\n]{0,80}\)[ \t]*)?(?P<named>[A-Za-z_$][\w$]*)"
    r"|(?P<top>(?:const|let|var|val)[ \t]+)(?P<value>[A-Za-z_$][\w$]*)[^\w$]"
    r"|(?P<constant>[A-Z][A-Z0-9_]{3,})[ \t]*(?::[^=\n]{0,60})?=[^=]"
    r"|(?P<method>[A-Za-z_$][\w$]*)[ \t]*\([^()\n]{0,120}\)[ \t]*(?::[^{\n]{0,80})?\{[ \t]*$)",
    re.MULTILINE,
)  # fmt: skip
_NO_METHODS = frozenset(("constructor", "describe", "function"))


class Names:
    """The names that were looked for and defined in a session."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()
        self.last: dict[str, float] = {}
        self.sought: set[str] = set()
        self.unaided: set[str] = set()  # names, and the last parts of paths
        self.defined: dict[str, str] = {}  # name -> the file that it was last seen defined in
        self.shown: set[str] = set()  # by results
        self.mentioned: set[str] = set()  # by prompts, or written before
        self.chars = 0  # that were searched

    def mention(self, text: str) -> None:
        """Record the names of a text that reached the assistant: they need no look-up."""
        self.mentioned |= _parts(text)

    def observe(self, text: str, file: str, inside: Callable[[str], str]) -> None:
        """Observe a text that a tool returned. `file`: the file of the project that it is a part of; "" for another text, each of whose
        lines may begin with its file. `inside`: returns such a file as the project names it, "" for one outside of it."""
        self.shown |= _parts(text)
        self._define(text, file, inside)

    def observe_written(self, wrote: AssistantText, into: str) -> None:
        """Observe a text that the assistant wrote. `into`: the file of the project that it was written into, "" for none."""
        text = wrote.text[: TEXT_CHARS if self.chars < SESSION_CHARS else LATER_CHARS]
        self.chars += len(text)
        parts = _parts(_MASKED.sub(" ", mask(text)))
        for name in parts - self.mentioned:
            if name not in self.shown:
                self.unaided.update([name] if len(name) >= LEAST_UNAIDED else [])
            elif _is_name(name):
                self.sought.add(name)
        if wrote.operation == SEARCH:
            self.sought.update(filter(_is_name, parts))
        for name in parts:
            if _is_name(name):
                self.names[name] += 1
                self.last[name] = wrote.at
        if into:
            self._define(text, into, lambda path: "")
        self.mentioned |= parts

    def _define(self, text: str, file: str, inside: Callable[[str], str]) -> None:
        for name, at in definitions(text[:TEXT_CHARS]):
            path = file or (inside(at) if "." in at else "")
            if path and not path.endswith(PROSE):
                self.defined[name] = path

    def observed(self) -> list[Observation]:
        """Return the names that were looked for, with the file that defines each where the session has seen it."""
        observations = []
        for name, times in _most({name: self.names[name] for name in self.sought}, MOST_NAMES):
            details: dict[str, object] = {"defined_in": self.defined[name]} if name in self.defined else {}
            observations.append(Observation(NAME, name, times, self.last[name], details))
        return observations

    def written(self) -> list[str]:
        """Return the names that were written, looked for or not, the most written first."""
        return [name for name, _ in _most(self.names, MOST_WRITTEN)]


def definitions(text: str) -> list[tuple[str, str]]:
    """Return the names that a text (a file or part of one) defines for use elsewhere, each with the file that its line begins with, "" for
    none."""
    names = []
    for match in _DEFINES.finditer(text):
        if (match["top"] or match["constant"]) and match["indent"]:
            continue  # local to a function or class
        name = match["named"] or match["value"] or match["constant"] or match["method"]
        if _is_name(name) and name not in _NO_METHODS:
            names.append((name, match["file"] or ""))
    return names


def _is_name(name: str) -> bool:
    return LEAST_NAME <= len(name) <= LONGEST_NAME and not _PLAIN.match(name) and name.isidentifier() and not name.isdigit()


def _parts(text: str) -> set[str]:
    """Return the names in a text, and the last part of each path."""
    names = {name for name in _KNOWN.findall(text) if not _PLAIN.match(name)}
    return names | {path.rpartition("/")[2] for path in _PATHS.findall(text) if "/" in path}


def _most(counts: dict[str, int], most: int) -> Iterable[tuple[str, int]]:
    return sorted(counts.items(), key=lambda count: (-count[1], len(count[0]), count[0]))[:most]
