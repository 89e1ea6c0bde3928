"""What a reference calls the call that shows what it stands for: in words that a reader finds in the context itself. Pure.

A reader sees calls with their inputs, and results without numbers. So a name is made of the tool and of what the call was given, a path as
seen from the folder of the session; one that is too long is cut in the middle, never at a file's name.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Characters of what a call was given; a file's own name stays, however long it is.
_LONGEST = 60
_CUT = "…"
_SEPARATORS = "/\\"  # of every system: a session may have been recorded on another
# What tells a call of a tool from its others, the most telling first; what several calls have in common tells nothing.
_TELLING = (
    "file_path",
    "filePath",
    "notebook_path",
    "command",
    "pattern",
    "url",
    "query",
    "description",
    "path",
    "skill",
    "bash_id",
    "shell_id",
    "task_id",
)
_PATHS = ("file_path", "filePath", "notebook_path", "path")
# What encloses a reference and its words stands in none of them.
_LOOKALIKES = str.maketrans({"[": "［", "]": "］", "«": "‹", "»": "›", "…": "..."})


def name_of(tool: str, tool_input: dict[str, Any], cwd: str) -> str:
    """Return the name of a call: `Read of src/app.js`, `Bash of npm test`; the tool alone where its input says nothing in a line."""
    for key in _TELLING:
        value = tool_input.get(key)
        if isinstance(value, str) and value.strip():
            shown = _path(plain(value), plain(cwd)) if key in _PATHS else _middle_out(plain(value), _LONGEST)
            return f"{plain(tool)} of {shown}"
    return plain(tool)


def plain(text: str) -> str:
    """Return a text in one line, without what moves a terminal's cursor, cannot be written, or encloses a reference."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split()).translate(_LOOKALIKES)


def _path(path: str, cwd: str) -> str:
    """Return a path as seen from a folder, if it is below that."""
    below = path[len(cwd.rstrip(_SEPARATORS)) :] if cwd and path.startswith(cwd.rstrip(_SEPARATORS)) else ""
    path = below[1:] if below[:1] in tuple(_SEPARATORS) and below[1:] else path
    name = path[max(map(path.rfind, _SEPARATORS)) + 1 :]
    room = max(0, _LONGEST - len(name) - len(_CUT))
    folder = path[: len(path) - len(name)]
    if len(path) <= _LONGEST or len(folder) <= room:
        return path
    head = (room + 1) // 2
    return folder[:head] + _CUT + folder[len(folder) - (room - head) :] + name


def _middle_out(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head = (longest - len(_CUT) + 1) // 2
    return text[:head] + _CUT + text[len(text) - (longest - len(_CUT) - head) :]
