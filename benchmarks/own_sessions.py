"""The recorded sessions below a folder: files of several repositories beside each other, or a folder for each project, as Claude Code keeps
them in ~/.claude/projects."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

from popkit_retention.lab import survey


def below(folder: Path) -> list[Path]:
    """All *.jsonl below a folder, subagents' included; ends the program where there is none."""
    found = sorted(path for path in folder.rglob("*.jsonl") if path.is_file())
    if not found:
        raise SystemExit(f"{folder}: there is no session (*.jsonl) in it or below it")
    return found


def repository_of(path: Path) -> str:
    """The repository of a session: its file's name up to "__", else its project's folder, as Claude Code names it ("-home-dev-shop"), else
    its file's name up to the first "-"."""
    known = survey.repository_of(str(path))
    return known if "__" in path.name or known.startswith("-") else path.name.partition("-")[0]
