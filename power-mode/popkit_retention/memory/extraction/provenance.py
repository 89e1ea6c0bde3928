"""Checks what a session taught against the checkout. Reads only."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from os.path import exists, isdir, isfile, join

from popkit_retention.core.io import files, git, repository
from popkit_retention.core.state.memory_checks import content

from ..items import COMMAND, ERROR, FOREIGN_FILES, NAME, PATH
from ..lessons import Observation
from .defined_names import PROSE, definitions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


# Which file holds the scripts or targets of a runner, and how each begins there.
_SCRIPTS = re.compile(r"(?:npm|pnpm|yarn|bun)(?: run)? (?!run\b|install\b|exec\b|dlx\b|x\b|-)([\w:.-]+)")
_MANIFESTS = {"go": "go.mod", "cargo": "Cargo.toml"}
_TARGETS = re.compile(r"make (?!-)([\w.-]+)")
_GIT_S = 1.0
_MOST_CHARS = 500_000  # of git's answer


def known(observed: Iterable[Observation], root: str) -> list[Observation]:
    """Return observations with their provenance in `details`: `commit`, and of a file its `blob`; of a command the files that it `needs`,
    as [path, required text]; of a name the file that it is `defined_in`, where only the checkout says so. Leave out a path that is no
    longer in the checkout; where the checkout itself is missing, or has none of the session's files, nothing is checked."""
    observed = list(observed)
    opened = [observation.text for observation in observed if observation.kind == PATH]
    if not isdir(root) or (len(opened) >= FOREIGN_FILES and not any(exists(join(root, path)) for path in opened)):
        return observed
    defined = defined_in(
        [observation.text for observation in observed if observation.kind == NAME and "defined_in" not in observation.details], root
    )
    commit = repository.head(root)
    blobs: dict[str, str] = {}
    lessons = []
    for observation in observed:
        details = {**observation.details, **({"commit": commit} if commit else {})}
        if observation.kind == NAME and observation.text in defined:
            details["defined_in"] = defined[observation.text]
        file = observation.text if observation.kind == PATH else str(details.get("defined_in") or "")
        if observation.kind == ERROR and str(observation.details.get("fix")).startswith("edit "):
            file = details["file"] = str(observation.details["fix"])[len("edit ") :]
        if file:
            if file not in blobs:
                data = content(join(root, file))
                blobs[file] = repository.blob_of(data) if data is not None else ""
            if blobs[file]:
                details["blob"] = blobs[file]
            elif observation.kind == PATH:
                continue
            else:
                details = {name: value for name, value in details.items() if name not in ("file", "defined_in")}
        if observation.kind == COMMAND:
            needed = needs(observation.text, str(observation.details.get("folder") or ""), root)
            if needed is None:
                continue
            details["needs"] = needed
        lessons.append(replace(observation, details=details))
    return lessons


def defined_in(names: list[str], root: str) -> dict[str, str]:
    """Return, for those names that exactly one file of a checkout defines, that file. Git is asked, so only tracked files count."""
    any_of_them = "|".join(name.replace("$", "[$]") for name in names)
    output = git.ask_git(root, "grep", "-n", "-I", "-w", "-E", "--no-color", "-e", any_of_them, timeout_s=_GIT_S) if names else None
    files_of: dict[str, set[str]] = {}
    for name, file in definitions(files.text_of(output or b"")[:_MOST_CHARS]):
        if file and not file.endswith(PROSE):
            files_of.setdefault(name, set()).add(file)
    return {name: min(some) for name, some in files_of.items() if len(some) == 1 and name in names}


def needs(command: str, folder: str, root: str) -> list[list[str]] | None:
    """Return the files of a checkout that a command needs, each with the text that it has to contain, "" for any; None where the command
    cannot run in its folder: a transcript may lag behind the folder that a shell is in."""
    needed = [[folder, ""]] if folder else []
    line = command.rpartition(" && ")[2]
    manifest = _MANIFESTS.get(line.partition(" ")[0])
    if manifest and not any(isfile(join(root, above, manifest)) for above in _above(folder)):
        return None
    if folder and not isdir(join(root, folder)):
        return None
    under = folder + "/" if folder else ""
    script, target = _SCRIPTS.match(line), _TARGETS.match(line)
    if script and f'"{script[1]}"'.encode() in (content(join(root, under + "package.json")) or b""):
        needed.append([under + "package.json", f'"{script[1]}"'])
    if target and f"\n{target[1]}:".encode() in b"\n" + (content(join(root, under + "Makefile")) or b""):
        needed.append([under + "Makefile", f"{target[1]}:"])
    for word in shlex.split(line):
        path = repository.within(join(root, folder, word), root) if "/" in word or "." in word else ""
        if path and ".." not in path and content(join(root, path)) is not None:
            needed.append([path, ""])
    return needed


def _above(folder: str) -> list[str]:
    """Return a folder and those above it, up to the top of the repository."""
    names = folder.split("/")
    return ["/".join(names[:depth]) for depth in range(len(names), -1, -1)]
