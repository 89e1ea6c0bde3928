"""The name of a call in references. Pure.

A reader sees calls with their inputs, and results without numbers. So a name is made of the tool and of what the call was given, with
paths relative to the session's folder. A name that is too long is cut in the middle, never at a file's name.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..tools import Tool

# Characters of what a call was given; a file's own name stays, however long it is.
_LONGEST_NAME = 60
_CUT = "…"
_SEPARATORS = "/\\"  # of every system: a session may have been recorded on another
# Characters that enclose a reference and its words, and occur in neither.
_LOOKALIKES = str.maketrans({"[": "［", "]": "］", "«": "‹", "»": "›", "…": "..."})


def name_of(tool: Tool, tool_input: dict[str, object], cwd: str) -> str:
    """Return the name of a call: `Read of src/app.js`, `Bash of npm test`; the tool alone where its input says nothing in a line."""
    for field in tool.naming:
        value = tool_input.get(field)
        if isinstance(value, str) and value.strip():
            shown = _path(plain(value), plain(cwd)) if field in tool.files else _middle_out(plain(value))
            return f"{plain(tool.name)} of {shown}"
    return plain(tool.name)


def plain(text: str) -> str:
    """Return a text in one line, without what moves a terminal's cursor, cannot be written, or encloses a reference."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = " ".join("".join(char if char.isprintable() else " " for char in line).split())
    return line.translate(_LOOKALIKES)


def _path(path: str, cwd: str) -> str:
    """Return a path as seen from a folder, if it is below that."""
    below = path[len(cwd.rstrip(_SEPARATORS)) :] if cwd and path.startswith(cwd.rstrip(_SEPARATORS)) else ""
    path = below[1:] if below[:1] in tuple(_SEPARATORS) and below[1:] else path
    name = path[max(map(path.rfind, _SEPARATORS)) + 1 :]
    room = max(0, _LONGEST_NAME - len(name) - len(_CUT))
    folder = path[: len(path) - len(name)]
    if len(path) <= _LONGEST_NAME or len(folder) <= room:
        return path
    head = (room + 1) // 2
    return folder[:head] + _CUT + folder[len(folder) - (room - head) :] + name


def _middle_out(text: str) -> str:
    if len(text) <= _LONGEST_NAME:
        return text
    head = (_LONGEST_NAME - len(_CUT) + 1) // 2
    return text[:head] + _CUT + text[len(text) - (_LONGEST_NAME - len(_CUT) - head) :]
