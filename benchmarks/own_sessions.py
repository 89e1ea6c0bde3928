"""The recorded sessions below a folder: files of several repositories beside each other, or a folder for each project, as Claude Code keeps
them in ~/.claude/projects."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "power-mode")]

from popkit_retention.core.hosts.transcripts import transcript  # noqa: E402  the benchmarks run from anywhere
from popkit_retention.lab import survey  # noqa: E402

_FIRST_LINES = 50


def below(folder: Path) -> list[Path]:
    """All *.jsonl below a folder, subagents' included; ends the program where there is none."""
    found = sorted(path for path in folder.rglob("*.jsonl") if path.is_file())
    if not found:
        raise SystemExit(f"{folder}: there is no session (*.jsonl) in it or below it")
    return found


def of_claude_code(folder: Path) -> list[Path]:
    """Those that Claude Code recorded; ends the program where there is none."""
    found = [path for path in below(folder) if not transcript.index(str(path)).translated]
    if not found:
        raise SystemExit(f"{folder}: none of its sessions is Claude Code's")
    return found


def repository_of(path: Path) -> str:
    """The repository of a session, as the lab has it: all its worktrees are one. A file beside others whose lines tell no folder belongs to
    the one that its name has before the first "-"."""
    cwd = _cwd_of(path)
    folder = path.parents[2] if path.parent.name == "subagents" else path.parent
    if cwd or "__" in path.name or folder.name.startswith("-"):
        return survey.repository_of(str(path), cwd)
    return path.name.partition("-")[0]


def _cwd_of(path: Path) -> str:
    """The folder in which a session began; "" where its first lines do not tell."""
    if not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        for _, line in zip(range(_FIRST_LINES), file):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and isinstance(entry.get("cwd"), str):
                return entry["cwd"]
    return ""
