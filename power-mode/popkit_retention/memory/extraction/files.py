"""Finds a project's files as a session shows them: which files it opened, which it found missing. Reads only.

A file counts once a call has shown that it exists: it was read, edited or written with success. Paths that the assistant merely wrote,
and failed calls, show nothing.
"""

from __future__ import annotations

import re
from collections import Counter

from popkit_retention.core.io import repository
from popkit_retention.core.policy.commandline.shell import parse
from popkit_retention.core.policy.masking import MASK
from popkit_retention.core.policy.parts import normal_path
from popkit_retention.core.policy.tools import EDITS, READS, SHELLS

from ..items import PATH
from ..lessons import Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.calls import Call
    from popkit_retention.core.policy.classify import Classification


# The most files that are kept of a session, the most opened first.
MOST_PATHS = 300
_LONGEST_PATH = 200
_LONGEST_LINE = 4_000  # of a shell
_READ = "read:"
_FILE = re.compile(r"[^/]*[^/.][^/]*\Z")
# Files that a tool keeps for itself, generated files, and files named for one moment or day: one in 200 of these is opened again.
_OTHERS = re.compile(r"(?:.*/)?(?:\.git|node_modules|__pycache__|\.venv|dist|target/debug|target/release)/")
_CLIENTS = re.compile(
    r"(?:.*/)?(?:[Tt]e?mp/claude|\.popkit)/|(?:.*/)?\.claude/(?!(?:agents|commands|hooks|rules|skills|CLAUDE\.md|settings\.json))"
)
_MOMENT = re.compile(
    r".*(?:[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{32}|\d{4}-\d\d-\d\d"
    r"|\d{12,}(?!.*\.(?:sql|[jt]s|py|rb|php|go|exs?|java|kt|cs)\Z))"  # a migration is code, and is kept
)
# Files that are looked at once.
_ONCE = re.compile(r".*\.(?:png|jpe?g|gif|webp|pdf|log|output|tmp)\Z", re.IGNORECASE)
_NOT_THERE = ("does not exist", "No such file", "ENOENT")


class Files:
    """The files that a session, in a checkout at `root`, opened."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.opened: Counter[str] = Counter()
        self.last: dict[str, float] = {}
        self.missing: set[str] = set()
        self.sure: set[str] = set()
        self.doubtful: dict[str, str] = {}  # a file that a shell has shown -> its path if the shell was elsewhere

    def observe(self, call: Call, text: str, cwd: str, classified: Classification, maybe_in: str = "") -> list[str]:
        """Observe a completed call, made in a folder; return the files that it has shown to exist. `maybe_in`: the folder, relative to the
        top, that the shell may have been in instead."""
        shell = call.operation in SHELLS
        if call.operation not in READS and call.operation not in EDITS and not shell:
            return []
        shown = [part[len(_READ) :] for part, _ in classified.parts if part.startswith(_READ)]
        paths = shown if shell else [call.path]
        inside = [path for path in (self.inside(path, cwd) for path in paths) if path]
        if call.outcome.error:
            if not shell and any(message in text for message in _NOT_THERE):
                self._lose(inside)
            return []
        for path in inside:
            self.opened[path] += 1
            self.last[path] = call.at
            self.missing.discard(path)
            if shell and maybe_in:
                self.doubtful[path] = f"{maybe_in}/{path}"
            else:
                self.sure.add(path)
        if shell:
            self._removed(call.command, cwd)
        return inside

    def inside(self, path: str, cwd: str) -> str:
        """Return a path as the repository names it, if its file is worth remembering; "" otherwise."""
        path = path.replace("\\", "/") if self.root[1:2] == ":" or path[1:2] == ":" else path
        if not path.startswith(("/", "~")) and path[1:2] != ":":
            path = normal_path(path, cwd.replace("\\", "/") or self.root)
        within = repository.within(path, self.root) or ""
        fits = (
            0 < len(within) <= _LONGEST_PATH
            and within.isprintable()
            and not any(mark in within for mark in ("`", "//", ":", ", ", " (", "*", "?", MASK))
        )
        if (
            not fits
            or not _FILE.match(within.rpartition("/")[2])
            or any(known.match(within) for known in (_OTHERS, _CLIENTS, _MOMENT, _ONCE))
        ):
            return ""
        return within

    def _lose(self, paths: list[str]) -> None:
        for path in paths:
            self.missing.add(path)
            self.opened.pop(path, None)

    def _removed(self, line: str, cwd: str) -> None:
        """Record the paths that a command line deleted or moved away."""
        folder = normal_path(cwd or self.root, "")
        for command in parse(line[:_LONGEST_LINE]) if "rm" in line or "mv" in line or "cd" in line else ():
            words = command.words[1:] if command.words[:1] == ["git"] else command.words
            plain = [word for word in words[1:] if word[:1] != "-"]
            if words[:1] == ["cd"]:
                folder = normal_path(plain[0] if plain else "~", folder)
            elif words[:1] in (["rm"], ["mv"]):
                for word in plain if words[0] == "rm" else plain[:-1]:
                    path = repository.within(normal_path(word, folder), self.root)
                    if path and not any(char in path for char in "*?[$"):
                        self._lose([path, *(known for known in self.opened if known.startswith(path + "/"))])

    def observed(self) -> list[Observation]:
        """Return the files that were opened, the most opened first, without those that are known by another name."""
        twice = {path for path, other in self.doubtful.items() if other in self.sure and path not in self.sure}
        opened = [(path, times) for path, times in self.opened.items() if path not in twice]
        most = sorted(opened, key=lambda count: (-count[1], count[0]))[:MOST_PATHS]
        return [Observation(PATH, path, times, self.last[path], {"opened": True}) for path, times in most]


# The characters of a text that are searched, and of each later one once a session has written SESSION_CHARS: masking takes most time.
TEXT_CHARS, LATER_CHARS = 20_000, 2_000
LEAST_NAME, LONGEST_NAME = 8, 60
