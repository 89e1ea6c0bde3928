"""The names and paths that an assistant wrote in a session, as its repository names them. Pure.

A name is what `policy/outline.py` calls one: long enough not to be chance, and no plain word. A path is one of the repository's, with `/`
everywhere and without line numbers; what lies outside of it is of one machine and is left out.
"""

from __future__ import annotations

import re
from collections import Counter

from hooks.utils.io import repository
from hooks.utils.policy.masking import MASK, mask
from hooks.utils.policy.outline import PLAIN
from hooks.utils.policy.tools import EDIT, WRITE

from ..items import NAME, PATH, Observed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from . import Wrote

# So much of a text is looked at, and of each later one once a session has written SESSION_CHARS: masking takes most of the time.
TEXT_CHARS, LATER_CHARS = 20_000, 2_000
SESSION_CHARS = 150_000
# Of a session so many are kept, the most written first.
MOST_NAMES = 600
MOST_PATHS = 300
LEAST_NAME = 12
_LONGEST_NAME = 60
_LONGEST_PATH = 200

_WORD = re.compile(r"(?:[A-Za-z]:/|~?/|(?:\.{1,2}/){1,32})?[.@]?[A-Za-z0-9_][A-Za-z0-9_\-./:@]{1,190}[A-Za-z0-9_]")
_KNOWN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_\-./:@]{4,190}[A-Za-z0-9_]")
_PLAIN = re.compile(PLAIN)
_WINDOWS = re.compile(r"\b[A-Za-z]:\\[\w\-.@\\/]+")
_LINES = re.compile(r"(?::\d+(?:[-:,]\d+)*|#L\d+(?:-L?\d+)?)\Z")
_FILE = re.compile(r"[^/]*[^/.]\.[A-Za-z][A-Za-z0-9]{0,9}\Z")
# Folders at the top of a machine: what begins so is a place on it, and no route of a server.
_PLACES = tuple(f"/{name}/" for name in "Users home tmp var private usr etc opt mnt dev proc root Library".split())
# Ids of things that a session made, of no use to another: hashes, UUIDs, stamps.
_CHANCE = re.compile(r"[0-9a-fA-F-]*\d[0-9a-fA-F-]*\Z|.*[0-9a-f]{8}-[0-9a-f]{4}-.*|.*\d{6,}.*|toolu_.*")
# Words of plain language with hyphens between them: a name in code, and not in prose.
_HYPHENED = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)+\Z")
_PROSE = (".md", ".mdx", ".txt", ".rst")
# What every project writes, whatever it is about: languages, their tests, tools, the host's own signature.
_EVERYBODY = re.compile(
    r"(?:JSON|Array|Object|Math|Promise|Number|String|console|process\.env|import\.meta|os\.path|window|document|React)\.\w+\Z"
    r"|(?:self|this|module\.exports|assert|expect|fmt|errors|strings|std)[.:]+[\w:]+\Z|https?://localhost\b.*|https?://github\.com\Z"
    r"|(?:not\.)?to(?:Have|Be|Contain|Equal|Match|Throw)\w*\Z|addEventListener|currentColor|localStorage|sessionStorage|clearTimeout"
    r"|node_modules|package-lock\.json|devDependencies|(?:file|folder|user|error)Names?|errorMessage|Co-Authored-By|.*@anthropic\.com"
    r"|https://claude\.(?:com|ai)/.*|pull_request|ForEach-Object|Select-String|Select-Object|SilentlyContinue|ForegroundColor"
)
_MASKED = re.compile(r"\S*" + re.escape(MASK) + r"\S*")
_PATH_INPUTS = ("file_path", "notebook_path", "path")


class Names:
    """What was written of names and paths in a session whose checkout stands at `root`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.paths: Counter[str] = Counter()
        self.names: Counter[str] = Counter()
        self.last: dict[str, float] = {}
        self.files: dict[str, Counter[str]] = {}  # name -> the files that it was written into
        self.unaided: set[str] = set()
        self.shown: set[str] = set()  # by results
        self.chars = 0  # that were looked at
        self.mentioned: set[str] = set()  # by prompts, or written before

    def hear(self, text: str) -> None:
        """Take in a text that reached the assistant: names in it need no look-up."""
        self.mentioned |= _parts(text)

    def see(self, text: str) -> None:
        """Take in a text that a tool returned."""
        self.shown |= _parts(text)

    def write(self, wrote: Wrote) -> None:
        """Take in a text that the assistant wrote."""
        counts: Counter[tuple[str, str]] = Counter()
        into = ""
        text = wrote.text[: TEXT_CHARS if self.chars < SESSION_CHARS else LATER_CHARS]
        self.chars += len(text)
        text = _MASKED.sub(" ", mask(text))
        prose = not wrote.operation or str(wrote.given.get("file_path") or "").endswith(_PROSE)
        for kind, name in self._named(text):
            if not (prose and _HYPHENED.match(name)):
                counts[kind, name] += 1
        for name in _PATH_INPUTS:
            value = wrote.given.get(name)
            if isinstance(value, str) and (path := self._inside(value, wrote.cwd)):
                counts[PATH, path] = max(counts[PATH, path], 1)  # one with blanks in it is no word of the text
                into = path if wrote.operation in (EDIT, WRITE) else into
        for (kind, name), times in counts.items():
            if name not in self.last:
                self._first(kind, name)
            (self.paths if kind == PATH else self.names)[name] += times
            self.last[name] = wrote.at
            if into and kind == NAME:
                self.files.setdefault(name, Counter())[into] += times
        self.mentioned |= _parts(text)

    def _first(self, kind: str, name: str) -> None:
        tail = name.rpartition("/")[2] if kind == PATH else name.lstrip("./@")
        if tail not in self.mentioned and tail not in self.shown and len(tail) >= LEAST_NAME:
            self.unaided.add(name)

    def _inside(self, path: str, cwd: str) -> str:
        """Return a path of an input as the repository names it, if it is a file of it; "" otherwise."""
        path = path.replace("\\", "/") if self.root[1:2] == ":" or path[1:2] == ":" else path
        if not path.startswith(("/", "~")) and path[1:2] != ":":
            path = f"{cwd.replace(chr(92), '/')}/{path.removeprefix('./')}"
        inside = repository.within(path, self.root) or ""
        return inside if _FILE.match(inside.rpartition("/")[2]) and _is_path(inside) else ""

    def _named(self, text: str) -> Iterator[tuple[str, str]]:
        if "\\" in text and self.root[1:2] == ":":
            text = _WINDOWS.sub(lambda match: match.group().replace("\\\\", "/").replace("\\", "/"), text)
        drive = f"/{self.root[0].lower()}/" if self.root[1:2] == ":" else ""  # as Git's shell for Windows says it
        for word in _WORD.findall(text):
            if _PLAIN.match(word):
                continue
            name = _LINES.sub("", word)
            if drive and name.lower().startswith(drive):
                name = self.root[:2] + name[2:]
            if name.startswith(("/", "~")) or name[1:2] == ":":
                inside = repository.within(name, self.root)
                if inside is None and (name.startswith(_PLACES) or name[0] == "~" or name[1:2] == ":"):
                    continue
                name = name if inside is None else inside
            name = name.removeprefix("./")
            while name.startswith("../"):
                name = name[3:]
            if "/" in name and "://" not in name and _FILE.match(name.rpartition("/")[2]) and _is_path(name):
                yield PATH, name
                continue
            name = name.lstrip(".") if "/" not in name else name
            if LEAST_NAME <= len(name) <= _LONGEST_NAME and not any(known.match(name) for known in (_CHANCE, _PLAIN, _EVERYBODY)):
                yield NAME, name

    def observed(self) -> list[Observed]:
        """Return what there is to learn of them; the end of a path counts as that path."""
        self._resolve()
        made = [self._made(PATH, path, times) for path, times in _most(self.paths, MOST_PATHS)]
        return made + [self._made(NAME, name, times) for name, times in _most(self.names, MOST_NAMES)]

    def _made(self, kind: str, text: str, times: int) -> Observed:
        details: dict[str, object] = {"file": self.files[text].most_common(1)[0][0]} if text in self.files else {}
        return Observed(kind, text, times, self.last[text], details)

    def _resolve(self) -> None:
        """Count the end of a path as that path: `shares/dto.ts` as `apps/api/src/shares/dto.ts`."""
        ends: dict[str, list[str]] = {}
        for path in self.paths:
            ends.setdefault(path.rpartition("/")[2], []).append(path)
        for counts in (self.paths, self.names):
            for name in sorted(counts):
                whole = [path for path in ends.get(name.rpartition("/")[2], ()) if path.endswith("/" + name)]
                if len(whole) == 1 and (counts is self.names or whole[0] in self.paths):
                    self.paths[whole[0]] += counts.pop(name)
                    self.last[whole[0]] = max(self.last[whole[0]], self.last[name])


def _is_path(path: str) -> bool:
    return (
        0 < len(path) <= _LONGEST_PATH
        and path.isprintable()
        and not _CHANCE.match(path.rpartition("/")[2])
        and "//" not in path
        and ":" not in path
    )


def _parts(text: str) -> set[str]:
    """Return the names in a text, and the last part of each path."""
    names = {name for name in _KNOWN.findall(text) if not _PLAIN.match(name)}
    names |= {_LINES.sub("", name) for name in names if ":" in name}
    return names | {name.rpartition("/")[2] for name in names if "/" in name}


def _most(counts: Counter[str], most: int) -> Iterable[tuple[str, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], len(one[0]), one[0]))[:most]
