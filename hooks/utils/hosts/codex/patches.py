"""The files that a patch in the form of `apply_patch` adds, updates, deletes or moves. Pure: a text in, paths out."""

from __future__ import annotations

import re

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_FILE = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
# A shell that is asked for nothing but a patch, as older models do: the patch stands in a here-document.
_IN_SHELL = re.compile(r"^\s*(?:cd\s+(?P<folder>[^\s;&|]+)\s*&&\s*)?apply_patch\s*(?:<<|[\"'(])")


def files_of(patch: str) -> list[str]:
    """Return the paths that a patch names, as they stand in it, each once, in order."""
    return list(dict.fromkeys(_FILE.findall(patch)))


def input_of(patch: str) -> dict[str, object]:
    """Return the input of a call that applies a patch: the first file, the others, the patch itself."""
    first, *others = files_of(patch) or [""]
    return {"file_path": first, **({"others": others} if others else {}), "patch": patch}


def in_line(line: str) -> tuple[str, str] | None:
    """Return (patch, the folder that the line goes to before) of a shell's line that only applies a patch; None for any other line."""
    said = _IN_SHELL.match(line)
    begin, end = line.find(_BEGIN), line.rfind(_END)
    if said is None or begin < 0 or end < begin:
        return None
    return line[begin : end + len(_END)], said["folder"] or ""
