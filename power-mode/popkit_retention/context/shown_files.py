"""The files that a conversation shows whole, in their current state: read or written, with the edits since. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from popkit_retention.core.policy.masking import MASK

from .message_records import ParsedMessage
from .sources import FileText

_NUMBERED = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
_PATH = ("file_path", "path", "notebook_path", "filename", "target_file")
_WRITTEN = ("content", "file_text", "contents")
# A call with one of these shows a part of the file only.
_NARROWING = ("offset", "limit", "pattern", "query", "view_range", "start_line", "end_line", "line_start", "line_end")
_OLD, _NEW = ("old_string", "old_str"), ("new_string", "new_str")


def shown_files(sent: Iterable[ParsedMessage]) -> dict[str, str]:
    """Return the text of each file that was read or written as a whole, as of its calls and results, by the path in the calls. `sent`: the
    messages as they are sent."""
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
    """Return a text without trailing space on its lines and at its end, which a tool may add or drop."""
    return "\n".join(map(str.rstrip, text.strip("\n").split("\n")))


def _unnumbered(text: str) -> str:
    """Return a listing without the numbers of its lines and the host's reminder behind it."""
    text = text.partition("\n\n<system-reminder>")[0].strip("\n")
    lines = text.split("\n")
    return _NUMBERED.sub("", text) if sum(_NUMBERED.match(line) is not None for line in lines) * 2 > len(lines) else text
