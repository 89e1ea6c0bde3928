"""Propose what a project could leave out of its prompts. Pure."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from popkit_retention.core.views.shapes import Draft, PromptRow


# Removing unused servers and tools is proposed only once a project has this many sessions.
LEAST_SESSIONS = 3
# The least tokens of a section that is proposed as a skill; the level of its heading (level 1 is the title of a file).
LEAST_DRAFT, _DRAFTED = 300, 2


def proposals(rows: Iterable[PromptRow], sessions: int) -> list[PromptRow]:
    """Return the rows of servers that are in each prompt but were never used, and of such tools of other servers, the largest first.
    `sessions`: how many sessions could have used them."""
    if sessions < LEAST_SESSIONS:
        return []
    unused: list[PromptRow] = []
    for row in rows:
        if row["kind"] == "server":
            candidates = [row] if _is_unused(row) else row["parts"]
            unused += [candidate for candidate in candidates if candidate["tokens"] and _is_unused(candidate)]
    return sorted(unused, key=lambda row: (-row["tokens"], row["name"]))


def _is_unused(row: PromptRow) -> bool:
    return row["used"] is not None and not row["used"][0]


def drafts(rows: Iterable[PromptRow], project: str) -> list[Draft]:
    """Return the sections of memory files that could be skills, the largest first. A
    file of the `project` has its path in it. Whether a section is used is unknown, so nothing is claimed about that."""
    candidates: list[Draft] = []
    for file in rows:
        path = os.path.relpath(file["name"], project) if is_inside(file["name"], project) else file["name"]
        open_section: Draft | None = None
        for part in file["parts"] if file["kind"] == "memory" else ():
            if part["level"] <= _DRAFTED:
                open_section = {"name": part["name"], "file": path, "tokens": 0} if part["level"] == _DRAFTED else None
                candidates += [open_section] if open_section else []
            if open_section:
                open_section["tokens"] += part["tokens"]
    return sorted((row for row in candidates if row["tokens"] >= LEAST_DRAFT), key=lambda row: (-row["tokens"], row["name"]))


def is_inside(folder: str, project: str) -> bool:
    """Return whether a folder is a project's or below it."""
    return folder == project or folder.startswith(project.rstrip(os.sep) + os.sep)
