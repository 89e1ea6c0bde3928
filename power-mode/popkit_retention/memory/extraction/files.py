"""Finds a project's files and names as a session shows them: which files it opened and which it found missing, which names it looked for
and where they are defined; and checks all that it taught against the checkout. Reads only.

A file counts once a call has shown that it exists: it was read, edited or written with success. Paths that the assistant merely wrote, and
failed calls, show nothing.

A name is what `policy/outlines.py` calls one: not a plain word. A session looked for it if the assistant searched for it, or wrote it
having read it only in the result of a look-up. Its definition is read from the contents of the project's files, by the forms in which
languages define names that other files use: locals of a function do not count, and names of libraries never come up.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import replace
from os.path import isdir, isfile, join

from hooks.utils.io import files, git, repository
from hooks.utils.policy.commandline.shell import parse
from hooks.utils.policy.masking import MASK, mask
from hooks.utils.policy.outlines import PLAIN
from hooks.utils.policy.parts import normal_path
from hooks.utils.policy.tools import EDITS, READS, SEARCH, SHELLS
from hooks.utils.state.memory_checks import content

from ..items import COMMAND, ERROR, NAME, PATH, Observed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hooks.utils.policy.calls import Call
    from hooks.utils.policy.classify import Classification

    from .records import AssistantText

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
            and not any(mark in within for mark in ("`", "//", ":", ", ", " (", MASK))
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

    def observed(self) -> list[Observed]:
        """Return the files that were opened, the most opened first, without those that are known by another name."""
        twice = {path for path, other in self.doubtful.items() if other in self.sure and path not in self.sure}
        opened = [(path, times) for path, times in self.opened.items() if path not in twice]
        most = sorted(opened, key=lambda one: (-one[1], one[0]))[:MOST_PATHS]
        return [Observed(PATH, path, times, self.last[path], {"opened": True}) for path, times in most]


# --- names ---

# The characters of a text that are searched, and of each later one once a session has written SESSION_CHARS: masking takes most time.
TEXT_CHARS, LATER_CHARS = 20_000, 2_000
SESSION_CHARS = 150_000
# The most names that are kept of a session, the most written first.
MOST_NAMES = 200
MOST_WRITTEN = 600
LEAST_NAME, LONGEST_NAME = 8, 60
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

    def observed(self) -> list[Observed]:
        """Return the names that were looked for, with the file that defines each where the session has seen it."""
        observations = []
        for name, times in _most({name: self.names[name] for name in self.sought}, MOST_NAMES):
            details: dict[str, object] = {"defined_in": self.defined[name]} if name in self.defined else {}
            observations.append(Observed(NAME, name, times, self.last[name], details))
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
    return sorted(counts.items(), key=lambda one: (-one[1], len(one[0]), one[0]))[:most]


# --- provenance ---

# Which file holds the scripts or targets of a runner, and how each begins there.
_SCRIPTS = re.compile(r"(?:npm|pnpm|yarn|bun)(?: run)? (?!run\b|install\b|exec\b|dlx\b|x\b|-)([\w:.-]+)")
_MANIFESTS = {"go": "go.mod", "cargo": "Cargo.toml"}
_TARGETS = re.compile(r"make (?!-)([\w.-]+)")
_GIT_S = 1.0
_MOST_CHARS = 500_000  # of git's answer


def known(observed: Iterable[Observed], root: str) -> list[Observed]:
    """Return observations with their provenance in `details`: `commit`, and of a file its `blob`; of a command the files that it `needs`,
    as [path, required text]; of a name the file that it is `defined_in`, where only the checkout says so. Leave out a path that is no
    longer in the checkout; where the checkout itself is missing, nothing is checked."""
    observed = list(observed)
    if not isdir(root):
        return observed
    defined = defined_in([each.text for each in observed if each.kind == NAME and "defined_in" not in each.details], root)
    commit = repository.head(root)
    blobs: dict[str, str] = {}
    lessons = []
    for each in observed:
        details = {**each.details, **({"commit": commit} if commit else {})}
        if each.kind == NAME and each.text in defined:
            details["defined_in"] = defined[each.text]
        file = each.text if each.kind == PATH else str(details.get("defined_in") or "")
        if each.kind == ERROR and str(each.details.get("fix")).startswith("edit "):
            file = details["file"] = str(each.details["fix"])[len("edit ") :]
        if file:
            if file not in blobs:
                data = content(join(root, file))
                blobs[file] = repository.blob_of(data) if data is not None else ""
            if blobs[file]:
                details["blob"] = blobs[file]
            elif each.kind == PATH:
                continue
            else:
                details = {name: value for name, value in details.items() if name not in ("file", "defined_in")}
        if each.kind == COMMAND:
            needed = needs(each.text, str(each.details.get("folder") or ""), root)
            if needed is None:
                continue
            details["needs"] = needed
        lessons.append(replace(each, details=details))
    return lessons


def defined_in(names: list[str], root: str) -> dict[str, str]:
    """Return, for those names that exactly one file of a checkout defines, that file. Git is asked, so only tracked files count."""
    any_of_them = "|".join(name.replace("$", "[$]") for name in names)
    output = git.ask_git(root, "grep", "-n", "-I", "-w", "-E", "--no-color", "-e", any_of_them, timeout_s=_GIT_S) if names else None
    files_of: dict[str, set[str]] = {}
    for name, file in definitions(files.text_of(output or b"")[:_MOST_CHARS]):
        if file and not file.endswith(PROSE):
            files_of.setdefault(name, set()).add(file)
    return {name: min(some) for name, some in files_of.items() if len(some) == 1 and name in names}


def needs(command: str, folder: str, root: str) -> list[list[str]] | None:
    """Return the files of a checkout that a command needs, each with the text that it has to contain, "" for any; None where the command
    cannot run in its folder: a transcript may lag behind the folder that a shell is in."""
    needed = [[folder, ""]] if folder else []
    line = command.rpartition(" && ")[2]
    manifest = _MANIFESTS.get(line.partition(" ")[0])
    if manifest and not any(isfile(join(root, above, manifest)) for above in _above(folder)):
        return None
    if folder and not isdir(join(root, folder)):
        return None
    under = folder + "/" if folder else ""
    script, target = _SCRIPTS.match(line), _TARGETS.match(line)
    if script and f'"{script[1]}"'.encode() in (content(join(root, under + "package.json")) or b""):
        needed.append([under + "package.json", f'"{script[1]}"'])
    if target and f"\n{target[1]}:".encode() in b"\n" + (content(join(root, under + "Makefile")) or b""):
        needed.append([under + "Makefile", f"{target[1]}:"])
    for word in shlex.split(line):
        path = repository.within(join(root, folder, word), root) if "/" in word or "." in word else ""
        if path and ".." not in path and content(join(root, path)) is not None:
            needed.append([path, ""])
    return needed


def _above(folder: str) -> list[str]:
    """Return a folder and those above it, up to the top of the repository."""
    names = folder.split("/")
    return ["/".join(names[:depth]) for depth in range(len(names), -1, -1)]
