"""The recorded sessions below a folder: files of several repositories beside each other, or a folder for each project, as Claude Code keeps
them in ~/.claude/projects."""

from __future__ import annotations

from pathlib import Path


def below(folder: Path) -> list[Path]:
    """All *.jsonl below a folder, subagents' included; ends the program where there is none."""
    found = sorted(path for path in folder.rglob("*.jsonl") if path.is_file())
    if not found:
        raise SystemExit(f"{folder}: there is no session (*.jsonl) in it or below it")
    return found


def repository_of(path: Path) -> str:
    """The repository of a session: its file's name up to "__", else its project's folder, as Claude Code names it ("-home-dev-shop"), else
    its file's name up to the first "-"."""
    if "__" in path.name:
        return path.name.partition("__")[0]
    folder = path.parents[2] if path.parent.name == "subagents" else path.parent
    return folder.name if folder.name.startswith("-") else path.name.partition("-")[0]
