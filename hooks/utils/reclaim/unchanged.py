"""What a Read shows of a file now, counted as the host counts it, for a Read that was answered with "file unchanged".

None for whatever the host would have refused or shown in another form: better its own answer than a wrong text. Reads one regular file,
changes nothing.
"""

from __future__ import annotations

from ..io.files import open_regular
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Larger files the host reads only with a limit.
WHOLE_BYTES = 256 * 1024
# Of a larger file with a limit all lines are counted, and a hook has no time for more.
MOST_BYTES = 16 * 1024 * 1024
# Shown as pictures, pages or cells.
_OTHER_FORMS = (".ipynb", ".pdf", ".png", ".jpg", ".jpeg", ".gif", ".webp")
_INPUT = frozenset(("file_path", "offset", "limit"))
_BYTE_ORDER_MARK = "\ufeff"


def full_read(tool_input: dict[str, Any], cwd: str) -> dict[str, Any] | None:
    """The `tool_response` of a Read with this input: {"type": "text", "file": {"filePath", "content", "numLines", "startLine",
    "totalLines"}}; None where it cannot be made for certain. A path is the one that the host reports: absolute, or below `cwd`.

    The host's counting: an end of line at the end opens one line more, so an empty file has 1; CR LF is LF; a byte order mark is not
    shown. `offset` is the first line's number, from 1; the host takes 0 for the first line too and calls it 0.
    """
    path, offset, limit = tool_input.get("file_path"), tool_input.get("offset", 1), tool_input.get("limit")
    if any(tool_input[name] for name in tool_input if name not in _INPUT):
        return None  # a page, or a part that the host chose by what was left of the window
    if not isinstance(path, str) or type(offset) is not int or offset < 0 or not (limit is None or (type(limit) is int and limit > 0)):
        return None
    text = _text_of(path if path.startswith("/") or not cwd else join(cwd, path), WHOLE_BYTES if limit is None else MOST_BYTES)
    if text is None:
        return None
    total = text.count("\n") + 1
    first = min(max(offset - 1, 0), total)
    last = total if limit is None else min(first + limit, total)
    shown = text.split("\n", last)[first:last]
    return {
        "type": "text",
        "file": {
            "filePath": path,
            "content": "\n".join(shown),
            "numLines": len(shown),
            "startLine": offset,
            "totalLines": total,
        },
    }


def _text_of(path: str, most: int) -> str | None:
    """The text of a regular file of at most so many bytes, its lines ended by LF; None for any other, and for what is no UTF-8."""
    if path.lower().endswith(_OTHER_FORMS):
        return None
    try:
        with open_regular(path) as file:
            data = file.read(most + 1)
        if len(data) > most or b"\0" in data:
            return None
        text = data.decode()
    except (OSError, ValueError):  # ValueError: no UTF-8, or a path that no file can have
        return None
    return text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n").removesuffix("\r")
