"""What a conversation shows of files, and files as the text that enters as layer 3. Pure.

A file that the conversation shows whole, as it is now, is not sent again: one that was read or written, and what edits made of it since.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hooks.utils.policy.masking import MASK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .said import Said
    from .sources import FileText

_NUMBERED = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
_PATH = ("file_path", "path", "notebook_path", "filename", "target_file")
_WRITTEN = ("content", "file_text", "contents")
# A call with one of these shows a part of the file.
_NARROWING = ("offset", "limit", "pattern", "query", "view_range", "start_line", "end_line", "line_start", "line_end")
_OLD, _NEW = ("old_string", "old_str"), ("new_string", "new_str")


def shown_files(sent: Iterable[Said]) -> dict[str, str]:
    """path as the calls have it -> the text that its calls and results add up to, of files that were read or written as a whole. `sent`:
    the messages as they are sent."""
    known: dict[str, str] = {}
    waiting: dict[str, str] = {}  # id of a call -> path, of calls that may be reads
    for said in sent:
        for use in said.uses:
            given = use.input
            path = next((given[name] for name in _PATH if isinstance(given.get(name), str)), "")
            if path and not _change(path, given, known) and not any(given.get(name) for name in _NARROWING):
                waiting[use.id] = path
        for result in said.results:
            path = waiting.pop(result.id, "")
            if path and result.text.strip() and not result.error:
                known[path] = _plain(result.text)
    return known


def _change(path: str, given: dict, known: dict[str, str]) -> bool:
    """Takes a write or an edit in; False for a call that is neither."""
    written = next((given[name] for name in _WRITTEN if isinstance(given.get(name), str)), None)
    if written is not None:
        known[path] = written
        return True
    edits = given["edits"] if isinstance(given.get("edits"), list) else [given]
    changed = False
    for edit in edits:
        old, new = (next((edit[name] for name in names if isinstance(edit.get(name), str)), None) for names in (_OLD, _NEW))
        if old and new is not None:
            changed = True
            if path in known:
                known[path] = known[path].replace(old, new, -1 if edit.get("replace_all") is True else 1)
    return changed


def is_shown(file: FileText, shown: dict[str, str]) -> bool:
    """Whether a conversation shows a file whole and as it is now. What is masked in the file may stand there as it is."""
    texts = [text for path, text in shown.items() if path == file.path or path.endswith("/" + file.path.removeprefix("./"))]
    return any(_same(file.text, text) for text in texts)


def _same(masked: str, text: str) -> bool:
    masked, text = _rest(masked), _rest(text)
    if MASK not in masked:
        return masked == text
    first, *others = masked.split(MASK)
    at = len(first) if text.startswith(first) else -1
    for piece in others:
        found = text.find(piece, at) if at >= 0 else -1
        at = found + len(piece) if found >= 0 else -1
    return at >= 0 and text.endswith(others[-1])


def _rest(text: str) -> str:
    """A text without what a tool may add or drop: space at the end of lines, and of the whole."""
    return "\n".join(map(str.rstrip, text.strip("\n").split("\n")))


def _plain(text: str) -> str:
    """A listing without the numbers of its lines and what the host says behind it."""
    text = text.partition("\n\n<system-reminder>")[0].strip("\n")
    lines = text.split("\n")
    return _NUMBERED.sub("", text) if sum(_NUMBERED.match(line) is not None for line in lines) * 2 > len(lines) else text


def whole(file: FileText) -> str:
    """A file as a block of a prompt, below its path."""
    text = file.text.rstrip("\n")
    ticks = max((len(run) for run in re.findall(r"^ {0,3}(`{3,})", text, re.MULTILINE)), default=2) + 1
    fence = "`" * max(3, ticks)
    return f"# {file.path}\n{fence}\n{text}\n{fence}"


def summary(file: FileText) -> str:
    """A file's outline as a block of a prompt, below its path; one that has none is named."""
    lines = file.text.rstrip("\n").count("\n") + 1
    head = f"# {file.path} ({lines} lines"
    return f"{head}; signatures, with their line numbers)\n{file.outline}" if file.outline else f"{head})"
