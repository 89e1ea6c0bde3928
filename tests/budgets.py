"""What may only be so large, and what is said once it is larger: by how much, what has grown since main, what is largest."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

SHOWN = 12


def assert_within(most: int, sizes: Mapping[str, int], may_go: str, root: Path | None = None, size: Callable[[bytes], int] = len) -> None:
    """Assert that sizes by name are at most so much together. Names of files below `root` had a size of their own on main, too."""
    total = sum(sizes.values())
    if total <= most:
        return
    lines = [f"{total:,} are {total - most:,} too many. What may go: {may_go}."]
    if root is not None:
        base = _git(root, "merge-base", "HEAD", "main").decode().strip() or "HEAD"
        lines += _ranked("Grown since main", {name: now - size(_git(root, "show", f"{base}:{name}")) for name, now in sizes.items()})
    raise AssertionError("\n".join([*lines, *_ranked("Largest", sizes)]))


def _ranked(title: str, sizes: Mapping[str, int]) -> list[str]:
    largest = sorted(((size, name) for name, size in sizes.items() if size > 0), reverse=True)[:SHOWN]
    return [f"{title}:", *(f"{size:10,} {name}" for size, name in largest)] if largest else []


def _git(root: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, check=False).stdout
