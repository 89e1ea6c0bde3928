"""The checks of `popkit doctor` on our folder."""

from __future__ import annotations

import os
import shutil
import stat

from popkit_retention.core import text, units
from popkit_retention.core.io import home
from popkit_retention.core.io.findings import OK, PROBLEM, WARNING, Check

from ..operations import stores
from . import config_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


FREE_BYTES = 16 * 1024 * 1024


def state_folder(popkit_home: str) -> Check:
    """Check that our folder belongs to the user, is private and is writable."""
    facts: dict[str, Any] = {"folder": popkit_home}
    if not os.path.isdir(popkit_home):
        if os.path.lexists(popkit_home):
            return Check("state folder", PROBLEM, f"{popkit_home} is not a folder", "Move it away.", **facts)
        return Check("state folder", OK, f"{popkit_home} does not exist yet. The first hook creates it", **facts)
    if not os.access(popkit_home, os.R_OK | os.W_OK | os.X_OK):
        return Check(
            "state folder",
            PROBLEM,
            f"{popkit_home} cannot be written",
            "Make it writable, or set POPKIT_HOME.",
            **facts,
        )
    if shutil.disk_usage(popkit_home).free < FREE_BYTES:
        return Check("state folder", PROBLEM, f"the disk of {popkit_home} is full", "Free some space.", **facts)
    size, open_to_others, corrupt = _survey(popkit_home)
    parts = stores.sizes(popkit_home)
    facts.update(bytes=size, parts=parts, open_to_others=open_to_others, corrupt=corrupt)
    summary = f"{popkit_home}: {units.size(size)}" + (f" ({stores.in_words(parts)})" if size else "")
    if open_to_others:
        advice = f"cd {popkit_home} && chmod go= {open_to_others[0]}" if stores.is_shared(popkit_home) else f"chmod -R go= {popkit_home}"
        return Check("state folder", WARNING, f"{summary}; others can read {text.listed(open_to_others, 3)}", advice, **facts)
    if corrupt:
        advice = "They were rebuilt from the transcripts; the *.corrupt files can be deleted."
        return Check("state folder", WARNING, f"{summary}; {units.counted(len(corrupt), 'state')} set aside as corrupt", advice, **facts)
    return Check("state folder", OK, f"{summary}, private", **facts)


def _survey(popkit_home: str) -> tuple:
    """Return (bytes, paths that others can read, corrupt files) of our files below our folder."""
    size, open_to_others, corrupt = 0, [], []
    ours = [path for path in stores.paths(popkit_home) if stores.owner(popkit_home, path)]
    for path in sorted({popkit_home, *ours, *map(os.path.dirname, ours)}):
        try:
            status = os.lstat(path)
        except OSError:
            continue  # a hook has just replaced it
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) and not stat.S_ISLNK(status.st_mode):
            open_to_others.append(os.path.relpath(path, popkit_home))
        if not stat.S_ISDIR(status.st_mode):
            size += status.st_size
        if path.endswith(".corrupt"):
            corrupt.append(os.path.relpath(path, popkit_home))
    if stores.is_shared(popkit_home):  # its permissions are not ours to judge
        open_to_others = [name for name in open_to_others if name != os.curdir]
    return size, open_to_others, corrupt


def configuration(popkit_home: str, project: str) -> Check:
    """Check every layer of the configuration."""
    read, problems = config_problems.check_layers(home.plugin_root(), popkit_home, project)
    if not problems:
        return Check("configuration", OK, f"no problems in {units.counted(len(read), 'file')}", problems=0)
    summary = f"{units.counted(len(problems), 'problem')} in {text.listed(sorted({problem.file for problem in problems}), 3)}"
    ignored = sorted({problem.file for problem in problems if not problem.key})
    if ignored:
        summary += f"; ignored as a whole: {text.listed(ignored, 3)}"
    return Check("configuration", WARNING, summary, "popkit config check says what is allowed.", problems=len(problems))
