"""What an item was learnt from: the file, git's blob of it, the commit of the checkout; and the files that a command needs. Reads only."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from os.path import isdir, isfile, join
from typing import TYPE_CHECKING

from hooks.utils.io import files, processes, repository
from hooks.utils.state.memory_checks import content

from ..items import COMMAND, ERROR, NAME, PATH, Observed
from .names import PROSE, definitions

if TYPE_CHECKING:
    from collections.abc import Iterable

# Which file holds the scripts or targets of a runner, and how each begins there.
_SCRIPTS = re.compile(r"(?:npm|pnpm|yarn|bun)(?: run)? (?!run\b|install\b|exec\b|dlx\b|x\b|-)([\w:.-]+)")
_MANIFESTS = {"go": "go.mod", "cargo": "Cargo.toml"}
_TARGETS = re.compile(r"make (?!-)([\w.-]+)")
_GIT_S = 1.0
_MOST_CHARS = 500_000  # of git's answer


def known(observed: Iterable[Observed], root: str) -> list[Observed]:
    """Return what was observed with its provenance in `details`: `commit`, and of a file `blob`; of a command the files that it `needs`, as
    [path, what it holds]; of a name the file that it is `defined_in`, where only the checkout says so. A path that is no longer in the
    checkout is left out; where that is gone itself nothing can be told."""
    observed = list(observed)
    if not isdir(root):
        return observed
    defined = defined_in([each.text for each in observed if each.kind == NAME and "defined_in" not in each.details], root)
    commit = repository.head(root)
    blobs: dict[str, str] = {}
    made = []
    for each in observed:
        details = {**each.details, **({"commit": commit} if commit else {})}
        if each.kind == NAME and each.text in defined:
            details["defined_in"] = defined[each.text]
        file = each.text if each.kind == PATH else str(details.get("defined_in") or "")
        if each.kind == ERROR and str(each.details.get("fix")).startswith("edit "):
            file = details["file"] = str(each.details["fix"])[len("edit ") :]
        if file:
            if file not in blobs:
                data = content(join(root, file))
                blobs[file] = processes.git_blob_of(data) if data is not None else ""
            if blobs[file]:
                details["blob"] = blobs[file]
            elif each.kind == PATH:
                continue
            else:
                details = {name: value for name, value in details.items() if name not in ("file", "defined_in")}
        if each.kind == COMMAND:
            found = needs(each.text, str(each.details.get("folder") or ""), root)
            if found is None:
                continue
            details["needs"] = found
        made.append(replace(each, details=details))
    return made


def defined_in(names: list[str], root: str) -> dict[str, str]:
    """Return, of names that one file of a checkout defines and no other, that file: as git says, which reads tracked files alone."""
    any_of_them = "|".join(name.replace("$", "[$]") for name in names)
    said = processes.ask_git(root, "grep", "-n", "-I", "-w", "-E", "--no-color", "-e", any_of_them, timeout_s=_GIT_S) if names else None
    found: dict[str, set[str]] = {}
    for name, file in definitions(files.text_of(said or b"")[:_MOST_CHARS]):
        if file and not file.endswith(PROSE):
            found.setdefault(name, set()).add(file)
    return {name: min(some) for name, some in found.items() if len(some) == 1 and name in names}


def needs(command: str, folder: str, root: str) -> list[list[str]] | None:
    """Return the files of a checkout that a command needs, each with what it has to hold, "" for anything; None where it cannot run in its
    folder: a transcript may be behind with the folder that a shell is in."""
    found = [[folder, ""]] if folder else []
    line = command.rpartition(" && ")[2]
    manifest = _MANIFESTS.get(line.partition(" ")[0])
    if manifest and not any(isfile(join(root, above, manifest)) for above in _above(folder)):
        return None
    if folder and not isdir(join(root, folder)):
        return None
    under = folder + "/" if folder else ""
    script, target = _SCRIPTS.match(line), _TARGETS.match(line)
    if script and f'"{script[1]}"'.encode() in (content(join(root, under + "package.json")) or b""):
        found.append([under + "package.json", f'"{script[1]}"'])
    if target and f"\n{target[1]}:".encode() in b"\n" + (content(join(root, under + "Makefile")) or b""):
        found.append([under + "Makefile", f"{target[1]}:"])
    for word in shlex.split(line):
        path = repository.within(join(root, folder, word), root) if "/" in word or "." in word else ""
        if path and ".." not in path and content(join(root, path)) is not None:
            found.append([path, ""])
    return found


def _above(folder: str) -> list[str]:
    """Return a folder and those above it, to the top of the repository."""
    names = folder.split("/")
    return ["/".join(names[:depth]) for depth in range(len(names), -1, -1)]
