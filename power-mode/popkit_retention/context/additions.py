"""Layers 2 and 3: the memories and the files that enter with a request. Pure but for their sources.

A file enters where the user's texts refer to it (whether it exists and may be read is its source's to decide), unless the conversation
shows it whole, as it is now: one that was read or written, with the edits since.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from hooks.utils.policy.masking import MASK

from .build_types import FileSource, FileText, MemorySource, PruningStrategy
from .dialogue import Addition, Changes, Dialogue
from .provider_forms import REQUEST, Parsed
from .signatures import BY_EXTENSION
from .tokens import Meter

MEMORY = "memory"
_HEAD = "From memory of earlier sessions:"
# Tokens that all memories together may have: a session begins with them, it is not about them.
_MOST_OF_MEMORIES = 4_000


def memories_for(
    source: MemorySource | None, request: str, strategy: PruningStrategy, present: Collection[Addition], room: float, meter: Meter
) -> list[Addition]:
    """Return the memories that enter with a request, the best first: none that is already present, and together with these no more than the
    strategy allows. `room`: the most tokens for them."""
    known = {addition.key for addition in present if addition.kind == MEMORY}
    items = strategy.tier2_items
    most = None if items == "all" else items - len(known)
    if source is None or (most is not None and most <= 0):
        return []
    used = sum([meter.text(addition.text) for addition in present if addition.kind == MEMORY])
    room = min(room, _MOST_OF_MEMORIES - used) - meter.text(_HEAD)
    memories: list[Addition] = []
    for memory in source.relevant(request, None if most is None else most + len(known)):
        addition = Addition(MEMORY, memory.id, memory.text.strip(), _HEAD)
        tokens = meter.text("\n- " + addition.text)
        if memory.id not in known and addition.text and tokens <= room and (most is None or len(memories) < most):
            memories.append(addition)
            known.add(memory.id)
            room -= tokens
    return memories


# --- files ---

FILE, OUTLINE = "file", "outline"
FILES = (FILE, OUTLINE)
# Tokens of one file, above which its outline enters; tokens that all files together may have.
_MOST_OF_FILE, _MOST_OF_FILES = 8_000, 24_000
_REQUESTS = 10  # of the user, the newest, whose texts are searched for references


def files_for(
    source: FileSource, dialogue: Dialogue, changes: Changes, strategy: PruningStrategy, present: Collection[Addition], room: float
) -> list[Addition]:
    """Return the files that enter with a request: those that the user's texts refer to, the newest reference first, but none that the
    conversation shows as it is now, in a call's result or as it entered before. `room`: the most tokens for them."""
    if strategy.tier3_mode == "none":
        return []
    meter, shown = dialogue.meter, shown_files(dialogue.sent(changes))
    known = {addition.key for addition in present if addition.kind in FILES}
    room = min(room, _MOST_OF_FILES - sum([meter.text(addition.text) for addition in present if addition.kind in FILES]))
    requests = [parsed for parsed in dialogue.parsed if parsed.part == REQUEST][-_REQUESTS:]
    files: list[Addition] = []
    for path in referenced(["\n".join(request.texts) for request in requests]):
        file = source.read(path)
        if file is None or f"{file.path}@{file.stamp}" in known or is_shown(file, shown):
            continue
        kind, text = _entering(source, path, file, strategy, meter)
        if text and meter.text(text) <= room:
            files.append(Addition(kind, f"{file.path}@{file.stamp}", text))
            known.add(files[-1].key)
            room -= meter.text(text)
    return files


def _entering(source: FileSource, path: str, file: FileText, strategy: PruningStrategy, meter: Meter) -> tuple[str, str]:
    """Return the kind of a file's addition and its text. Parsing takes long, so only a file that enters as an outline is outlined."""
    if strategy.tier3_mode == "full" and meter.text(file.text) <= _MOST_OF_FILE:
        return FILE, whole(file)
    outlined = source.read(path, with_outline=True)
    return OUTLINE, summary(outlined) if outlined is not None and outlined.stamp == file.stamp else ""


def whole(file: FileText) -> str:
    """Return a file as a block of a prompt, below its path."""
    text = file.text.rstrip("\n")
    ticks = max((len(run) for run in re.findall(r"^ {0,3}(`{3,})", text, re.MULTILINE)), default=2) + 1
    fence = "`" * max(3, ticks)
    return f"# {file.path}\n{fence}\n{text}\n{fence}"


def summary(file: FileText) -> str:
    """Return a file's outline as a block of a prompt, below its path; the path alone where it has none."""
    lines = file.text.rstrip("\n").count("\n") + 1
    head = f"# {file.path} ({lines} lines"
    return f"{head}; signatures, with their line numbers)\n{file.outline}" if file.outline else f"{head})"


# --- files that a conversation shows ---

_NUMBERED = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
_PATH = ("file_path", "path", "notebook_path", "filename", "target_file")
_WRITTEN = ("content", "file_text", "contents")
# A call with one of these shows a part of the file only.
_NARROWING = ("offset", "limit", "pattern", "query", "view_range", "start_line", "end_line", "line_start", "line_end")
_OLD, _NEW = ("old_string", "old_str"), ("new_string", "new_str")


def shown_files(sent: Iterable[Parsed]) -> dict[str, str]:
    """Return path as the calls have it -> text as of the calls and their results, of files that were read or written as a whole. `sent`:
    the messages as they are sent."""
    known: dict[str, str] = {}
    reads: dict[str, str] = {}  # id of a pending call that may be a read -> path
    for parsed in sent:
        for use in parsed.uses:
            path = _text_in(use.input, _PATH) or ""
            if path and not _change(path, use.input, known) and not any(use.input.get(name) for name in _NARROWING):
                reads[use.id] = path
        for result in parsed.results:
            path = reads.pop(result.id, "")
            if path and result.text.strip() and not result.error:
                known[path] = _unnumbered(result.text)
    return known


def _text_in(tool_input: dict, names: tuple[str, ...]) -> str | None:
    return next((tool_input[name] for name in names if isinstance(tool_input.get(name), str)), None)


def _change(path: str, tool_input: dict, known: dict[str, str]) -> bool:
    """Apply a write or an edit; return False for a call that is neither."""
    written = _text_in(tool_input, _WRITTEN)
    if written is not None:
        known[path] = written
        return True
    edits = tool_input["edits"] if isinstance(tool_input.get("edits"), list) else [tool_input]
    changed = False
    for edit in edits:
        old, new = _text_in(edit, _OLD), _text_in(edit, _NEW)
        if old and new is not None:
            changed = True
            if path in known:
                known[path] = known[path].replace(old, new, -1 if edit.get("replace_all") is True else 1)
    return changed


def is_shown(file: FileText, shown: dict[str, str]) -> bool:
    """Return whether a conversation shows a file whole and as it is now. The parts that are masked in the file may be in clear there."""
    texts = [text for path, text in shown.items() if path == file.path or path.endswith("/" + file.path.removeprefix("./"))]
    return any(_same(file.text, text) for text in texts)


def _same(masked: str, text: str) -> bool:
    masked, text = _trimmed(masked), _trimmed(text)
    if MASK not in masked:
        return masked == text
    first, *others = masked.split(MASK)
    at = len(first) if text.startswith(first) else -1
    for piece in others:
        begin = text.find(piece, at) if at >= 0 else -1
        at = begin + len(piece) if begin >= 0 else -1
    return at >= 0 and text.endswith(others[-1])


def _trimmed(text: str) -> str:
    """Return a text without the space at the end of lines, and of the whole, which a tool may add or drop."""
    return "\n".join(map(str.rstrip, text.strip("\n").split("\n")))


def _unnumbered(text: str) -> str:
    """Return a listing without the numbers of its lines and the host's reminder behind it."""
    text = text.partition("\n\n<system-reminder>")[0].strip("\n")
    lines = text.split("\n")
    return _NUMBERED.sub("", text) if sum(_NUMBERED.match(line) is not None for line in lines) * 2 > len(lines) else text


# --- references to files ---

MOST_REFERENCES = 64
_PATH_CHARS = 400
_TEXT_CHARS = 20_000  # of a message: a longer one has a pasted text, with mentions before it

# Texts of the host's within the user's.
_HOSTS = re.compile(r"<(system-reminder|command-name|local-command-stdout)>.*?</\1>", re.DOTALL)
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://\S+")
_MENTION = re.compile(r"(?<![\w@.])@(\"[^\"\n]{1,300}\"|[\w./+-]{1,300})")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)[ \t]*([^\n]{1,300})$", re.MULTILINE)
_NAMED = re.compile(r"(?:title|file|filename|path)=[\"']?([^\"'\s}]+)")
# A match begins at the beginning of a word only, so a long word is read once.
_PATH_LIKE = re.compile(r"(?<![\w./+@~:\\-])(?:~?/|\.{1,2}/)?[\w.+-][\w.+@-]{0,100}(?:/[\w.+@\[\]()-]{1,100}){0,20}(?![\w/])")
_EXTENSIONS = {
    *BY_EXTENSION, "cfg", "conf", "css", "csv", "env", "ex", "exs", "gradle", "graphql", "hcl", "hs", "html", "ini", "ipynb", "less", "nix",
    "pl", "proto", "properties", "r", "rst", "sass", "scss", "sol", "sql", "svelte", "tex", "tf", "toml", "txt", "vue", "xml", "zig",
}  # fmt: skip
_NAMES = frozenset("Makefile Dockerfile Containerfile Justfile Rakefile Gemfile Procfile Vagrantfile Jenkinsfile CMakeLists.txt".split())


def referenced(texts: Sequence[str], most: int = MOST_REFERENCES) -> list[str]:
    """Return at most this many paths that texts refer to, as they are written, the newest reference first, each once. Calls do not count:
    their results show what they have read, and a result that has left was not needed."""
    paths: dict[str, None] = {}
    for text in reversed(texts):
        for path in map(_path_in, reversed(list(in_text(text)))):
            if path and len(paths) < most:
                paths.setdefault(path)
    return list(paths)


def _path_in(path: str) -> str:
    """Return a path without quotes, `./`, or a line's number around it; "" for no path."""
    path = path.strip().strip("\"'`").removeprefix("file://")
    path = re.sub(r"(?::\d+(?:[:-]\d+)?|#L?\d+(?:-L?\d+)?)$", "", path)
    while path.startswith("./"):
        path = path[2:]
    path = path.rstrip("/")
    return path if 0 < len(path) <= _PATH_CHARS and path not in (".", "..", "~") and "\n" not in path and "\0" not in path else ""


def in_text(text: str) -> Iterator[str]:
    """Yield the files that a text names, in its order: mentions (`@src/app.py`), heads of fences, paths, names with a known extension."""
    text = _HOSTS.sub(" ", text[:_TEXT_CHARS])
    text = _ADDRESS.sub(_blank, text)
    places = [(mention.start(), mention[1]) for mention in _MENTION.finditer(text) if _may_be_mentioned(mention[1])]
    text = _MENTION.sub(_blank, text)
    for fence in _FENCE.finditer(text):
        named = _NAMED.search(fence[1])
        places += [(fence.start(), named[1])] if named else []
    places += [(word.start(), word[0]) for word in _PATH_LIKE.finditer(text) if _is_file(word[0].rstrip(".,"))]
    for _, path in sorted(places):
        yield path.rstrip(".,")


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _may_be_mentioned(name: str) -> bool:
    """Return whether the word behind an @ is a file rather than a person or a package's scope."""
    return name.startswith('"') or "/" in name or _is_file(name)


def _is_file(word: str) -> bool:
    name = word.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return name in _NAMES or bool(dot and extension.lower() in _EXTENSIONS and (stem or "/" in word))
