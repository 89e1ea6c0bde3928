"""Patches in the form of `apply_patch`. Pure."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    Item = dict[str, object]


_PATCH_BEGINS, _PATCH_ENDS = "*** Begin Patch", "*** End Patch"
_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
# A shell that is asked for nothing but a patch, as older models do: the patch is in a here-document.
_IN_SHELL = re.compile(r"^\s*(?:cd\s+(?P<folder>[^\s;&|]+)\s*&&\s*)?apply_patch\s*(?:<<|[\"'(])")


def patched_files(patch: str) -> list[str]:
    """Return the paths that a patch names, unchanged, each once, in order."""
    return list(dict.fromkeys(_PATCHED.findall(patch)))


def input_of_patch(patch: str) -> dict[str, object]:
    """Return the input of a call that applies a patch: the first file, the others, the patch itself."""
    first, *others = patched_files(patch) or [""]
    return {"file_path": first, **({"others": others} if others else {}), "patch": patch}


def patch_in_line(line: str) -> tuple[str, str] | None:
    """Return (patch, the folder that the line goes to before) of a shell's line that only applies a patch; None for any other line."""
    match = _IN_SHELL.match(line)
    begin, end = line.find(_PATCH_BEGINS), line.rfind(_PATCH_ENDS)
    if match is None or begin < 0 or end < begin:
        return None
    return line[begin : end + len(_PATCH_ENDS)], match["folder"] or ""
