"""Ask git which files are in commits, and which of their bytes it keeps."""

from __future__ import annotations

import os

from . import foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT_S = 2.0
PATIENT_S = 5.0  # where a person waits
# A commit that is older than this is not the one that the call has just made.
RECENT_S = 120


def commit_hashes(output: str) -> list[str]:
    """Return the abbreviated hashes in what `git commit` prints: "[main 1a2b3c4] subject", one a commit."""
    hashes = []
    for line in output.splitlines():
        head, bracket, _ = line.partition("]")
        words = head[1:].split()
        if line.startswith("[") and bracket and len(words) >= 2 and _is_hash(words[-1]):
            hashes.append(words[-1])
    return hashes


def _is_hash(word: str) -> bool:
    return 4 <= len(word) <= 64 and all(char in "0123456789abcdef" for char in word)


def committed_files(folder: str, output: str, now: float) -> list[str] | None:
    """Return the absolute paths of the files in the commits that a command has just made in a folder; None where git cannot say."""
    hashes = commit_hashes(output)
    top = _git(folder, "rev-parse", "--show-toplevel")
    listed = _git(folder, "show", "--no-color", "--no-renames", "--name-only", "-z", "--format=%ct", "-m", "--first-parent",
                  *(hashes or ["HEAD"]), "--") if top else None  # fmt: skip
    if not top or not listed:
        return None
    root = top.strip("\n")
    names = []
    for field in listed.replace("\n", "\0").split("\0"):
        if not field:
            continue
        if field.isdecimal() and len(field) >= 9:
            if not hashes and now - int(field) > RECENT_S:
                return None
            continue
        names.append(os.path.join(root, field))
    return sorted(set(names))


def _git(folder: str, *arguments: str) -> str | None:
    done = ask_git(folder, *arguments, named=_PLACES)
    return None if done is None else done.decode("utf-8", "surrogateescape")


def git_blob(path: str, name: str) -> bytes | None:
    """Return the bytes of a blob, from the repository that a path lies in; None where it is not there."""
    return ask_git(_folder_of(path), "cat-file", "blob", name, timeout_s=PATIENT_S)


def git_keeps(path: str, name: str) -> bool:
    """Return whether a commit that a branch or a tag leads to has (or its parent had) this blob at this path, so that it is never
    collected. A blob that is only staged, stashed or on no branch does not count. False where git cannot say."""
    output = ask_git(
        _folder_of(path), "log", "-m", "--branches", "--tags", "--remotes", "-1", "--format=%H", "--no-show-signature", "--no-follow",
        "--no-ext-diff", "--no-textconv", "--root", "--find-object=" + name, "--", path, timeout_s=PATIENT_S,
    )  # fmt: skip
    return bool(output and output.strip())


def _folder_of(path: str) -> str:
    """Return the nearest folder of a path that is still there."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


# What tells git where a repository is, of all that the environment may tell it.
_PLACES = ("GIT_DIR", "GIT_WORK_TREE")
# What a configuration can have git run when it only reads: a repository's own, or one that the environment names.
_RUNS_NOTHING = ("-c", "core.fsmonitor=false", "-c", "log.showSignature=false")


def ask_git(folder: str, *arguments: str, timeout_s: float = TIMEOUT_S, named: Sequence[str] = ()) -> bytes | None:
    """Return what git prints in a folder; None where it fails. It fetches nothing, never prompts, and is never a program of the project.
    The repository is the one that the folder lies in, whatever the caller's GIT_DIR says, unless that is `named`: variables that count."""
    import subprocess  # only when something was committed, or leaves the archive

    program = foreign.program("git", os.environ)
    if not program:
        return None
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_") or key in named}
    environ.update(GIT_NO_LAZY_FETCH="1", GIT_ALLOW_PROTOCOL="none", GIT_TERMINAL_PROMPT="0", GIT_NO_REPLACE_OBJECTS="1")
    environ.update(GIT_OPTIONAL_LOCKS="0", LC_ALL="C")
    command = [program, "-C", folder, *_RUNS_NOTHING, *(() if named else ("--literal-pathspecs",)), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout_s, env=environ, check=False, stdin=subprocess.DEVNULL)  # noqa: S603
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
