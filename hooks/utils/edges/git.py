"""Which files a commit holds, asked of git."""

from __future__ import annotations

import os

TIMEOUT_S = 2.0
# A commit that is older than this is not the one that the call has just made.
RECENT_S = 120


def commit_hashes(output: str) -> list:
    """The abbreviated hashes in what `git commit` prints: "[main 1a2b3c4] subject", one a commit."""
    hashes = []
    for line in output.splitlines():
        head, bracket, _ = line.partition("]")
        words = head[1:].split()
        if line.startswith("[") and bracket and len(words) >= 2 and _is_hash(words[-1]):
            hashes.append(words[-1])
    return hashes


def _is_hash(word: str) -> bool:
    return 4 <= len(word) <= 64 and all(char in "0123456789abcdef" for char in word)


def committed_files(folder: str, output: str, now: float) -> list | None:
    """Absolute paths of the files in the commits that a command has just made in a folder; None where git cannot say."""
    hashes = commit_hashes(output)
    top = _git(folder, "rev-parse", "--show-toplevel")
    listed = _git(folder, "show", "--no-color", "--no-renames", "--name-only", "-z", "--format=%ct", "-m", "--first-parent",
                  *(hashes or ["HEAD"]), "--") if top else None  # fmt: skip
    if not listed:
        return None
    root = top.strip("\n")
    names = []
    for field in listed.replace("\n", "\0").split("\0"):
        if not field:
            continue
        if field.isdigit() and len(field) >= 9:
            if not hashes and now - int(field) > RECENT_S:
                return None
            continue
        names.append(os.path.join(root, field))
    return sorted(set(names))


def _git(folder: str, *arguments: str) -> str | None:
    import subprocess  # only when something was committed

    environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", folder, *arguments], capture_output=True, timeout=TIMEOUT_S, env=environ, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None
