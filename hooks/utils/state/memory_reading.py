"""Read the entries that a MEMORY.md lists. Pure."""

from __future__ import annotations

import re

from .memory_records import COMMAND
from .memory_text import ESCAPE, FENCES, IN_FOLDER, MARK, MOVE, THEN, looks_like_folder

_FOLDER = re.compile(r"( *)(?:- )?(\S.*?)/(?:: (.*))?\Z")
_LONGEST_LINE = 4_000  # characters: to look for brackets behind each comma takes longer than the line is long
_FILES = re.compile(r", (?![^(){}]*[)}])")
_IN_QUOTES = re.compile(r'"(?:[^"\\]|\\.)*"')
_DEEPEST = 2  # groups, one in the other


def paths_in(text: str) -> list[str]:
    """Return the paths that the tree in a MEMORY.md lists."""
    paths = []
    above: list[tuple[int, str]] = []
    for line in text.split("\n"):
        match = _FOLDER.match(line)
        if not match or len(line) > _LONGEST_LINE:
            continue
        depth = len(match[1])
        while above and above[-1][0] >= depth:
            above.pop()
        name = _unquoted(match[2])
        folder = "" if name == "." else (above[-1][1] + "/" if above else "") + name
        above.append((depth, folder))
        for piece in _pieces(match[3] or ""):
            quoted = _IN_QUOTES.match(piece)
            names = [_unquoted(quoted[0])] if quoted else [name.rstrip(MARK) for name in _expanded(piece.partition(" (")[0])]
            paths += [(f"{folder}/" if folder else "") + name for name in names]
    return paths


def _pieces(files: str) -> list[str]:
    """Return the files of a folder as they are written, apart."""
    blank = _IN_QUOTES.sub(lambda quoted: "_" * len(quoted[0]), files)
    between = list(_FILES.finditer(blank))
    begins, ends = [0, *(match.end() for match in between)], [*(match.start() for match in between), len(files)]
    return [files[begin:end] for begin, end in zip(begins, ends)] if files else []


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if _IN_QUOTES.fullmatch(text) else text


def _expanded(text: str, depth: int = _DEEPEST) -> list[str]:
    """Return the files of a group; of a name that is no group, the name itself."""
    start = text.find("{") if depth else -1
    open_, cuts = 0, [start]
    for at in range(start, len(text)) if start >= 0 else ():
        open_ += (text[at] == "{") - (text[at] == "}")
        if not open_ or (open_ == 1 and text[at] == ","):
            cuts.append(at)
        if not open_:
            break
    if open_ or len(cuts) < 3:
        return [text]
    parts = [text[cut + 1 : end].strip() for cut, end in zip(cuts, cuts[1:])]
    return [text[:start] + name + text[cuts[-1] + 1 :] for part in parts for name in _expanded(part, depth - 1)]


def commands_in(text: str) -> list[str]:
    """Return the commands that a MEMORY.md lists, each with the folder that it runs in."""
    commands, folder = [], ""
    _, fence, rest = text.partition(FENCES[COMMAND] + "\n")
    for line in rest.partition("\n```")[0].split("\n") if fence else ():
        if line.startswith(IN_FOLDER):
            folder = MOVE + line[len(IN_FOLDER) :] + THEN
        else:
            commands.append(folder + (line[len(ESCAPE) :] if looks_like_folder(line) else line))
    return commands
