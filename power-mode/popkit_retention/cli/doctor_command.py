"""`popkit doctor`: is everything in place, and what to do where it is not.

Exit 1 when there is a problem; warnings leave it 0.
"""

from __future__ import annotations

import os
import shutil
import stat

from hooks.utils import text
from hooks.utils.config import layers
from hooks.utils.io import failures, files, home
from hooks.utils.io.codec import dumps, loads
from hooks.utils.io.storage import LOGS, OK, PROBLEM, WARNING, Check, Storage
from hooks.utils.io.system import now as time_of_day

from ..operations import holdings
from . import config_command, doctor_machine, doctor_session, opencode_setup
from .answering import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed

_INDENT = " " * 9
SEEN = "doctor.json"  # the failures that were reported last time
FREE_BYTES = 16 * 1024 * 1024


def run(_args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Make every check."""
    checks = all_checks(environ)
    problems = sum(check.level == PROBLEM for check in checks)
    warnings = sum(check.level == WARNING for check in checks)
    summary = f"{text.counted(problems, 'problem')}, {text.counted(warnings, 'warning')}." if problems or warnings else "All is well."
    lines = [line for check in checks for line in _lines_of(check)]
    return Answer([*lines, "", summary], {"ok": not problems, "checks": [check.to_json() for check in checks]}, code=int(problems > 0))


def all_checks(environ: Mapping[str, str]) -> list[Check]:
    """Return every finding, in the order in which things can go wrong."""
    from .main import version

    try:
        popkit_home = home.popkit_home(environ)
    except home.NoHome as error:
        return [Check("state folder", PROBLEM, str(error), "Hooks do nothing until then.")]
    project = os.path.abspath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())
    enabled = layers.load(home.plugin_root(), popkit_home, project).get("enabled") is not False
    client, now = doctor_machine.client(environ), time_of_day(environ)
    opencode = opencode_setup.checks(environ)
    claude_code = [client, doctor_machine.plugin(popkit_home, project, environ, enabled, now)]
    checks = [
        doctor_machine.interpreter(popkit_home, environ),
        *(claude_code if client.facts or not opencode else []),  # some users have only OpenCode
        *opencode,
        state_folder(popkit_home),
    ]
    if checks[-1].level == PROBLEM:
        return checks  # what cannot be read cannot be judged
    return [
        *checks,
        doctor_session.helper(popkit_home, project, environ, str(client.facts.get("version") or ""), version()),
        hook_errors(popkit_home),
        *doctor_session.messages(popkit_home, now),
        *doctor_session.keep_warm(popkit_home, project, environ, now),
        *(each.check(popkit_home, project, environ, now) for each in holdings.every() if each.check),
        configuration(popkit_home, project),
        doctor_session.agreement(popkit_home, project, environ),
    ]


def _lines_of(check: Check) -> list[text.Line]:
    lines = text.pair(check.level, f"{check.name}: {check.text}", len(_INDENT))
    if check.advice and check.level != OK:
        lines += text.indented(text.wrap("→ " + check.advice, indent="  "), _INDENT)
    return lines


# --- our folder ------------------------------------------------------------------------------------------------------------------------


def state_folder(popkit_home: str) -> Check:
    """Return whether our folder is ours, private and writable."""
    facts: dict[str, Any] = {"folder": popkit_home}
    if not os.path.isdir(popkit_home):
        if os.path.lexists(popkit_home):
            return Check("state folder", PROBLEM, f"{popkit_home} is not a folder", "Move it away.", **facts)
        return Check("state folder", OK, f"{popkit_home} does not exist yet. The first hook creates it", **facts)
    if not os.access(popkit_home, os.R_OK | os.W_OK | os.X_OK):
        return Check(
            "state folder", PROBLEM, f"{popkit_home} cannot be written", "Make it yours, or set POPKIT_HOME to another folder.", **facts
        )
    if shutil.disk_usage(popkit_home).free < FREE_BYTES:
        return Check("state folder", PROBLEM, f"the disk of {popkit_home} is full", "Make room.", **facts)
    size, open_to_others, corrupt = _survey(popkit_home)
    parts = holdings.sizes(popkit_home)
    facts.update(bytes=size, parts=parts, open_to_others=open_to_others, corrupt=corrupt)
    summary = f"{popkit_home}: {text.size(size)}" + (f" ({holdings.in_words(parts)})" if size else "")
    if open_to_others:
        advice = f"cd {popkit_home} && chmod go= {open_to_others[0]}" if holdings.is_shared(popkit_home) else f"chmod -R go= {popkit_home}"
        return Check("state folder", WARNING, f"{summary}; others can read {text.listed(open_to_others, 3)}", advice, **facts)
    if corrupt:
        advice = "They were rebuilt from the transcripts; the *.corrupt files can be deleted."
        return Check("state folder", WARNING, f"{summary}; {text.counted(len(corrupt), 'state')} set aside as corrupt", advice, **facts)
    return Check("state folder", OK, f"{summary}, private", **facts)


def _survey(popkit_home: str) -> tuple:
    """Return (bytes, what others can read, corrupt files) of what is ours below our folder."""
    size, open_to_others, corrupt = 0, [], []
    ours = [path for path in holdings.paths(popkit_home) if holdings.owner(popkit_home, path)]
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
    if holdings.is_shared(popkit_home):  # its rights are not ours to judge
        open_to_others = [name for name in open_to_others if name != os.curdir]
    return size, open_to_others, corrupt


def hook_errors(popkit_home: str) -> Check:
    """Return the failures of hooks since the last time this was asked, and where their log is."""
    log = failures.log_path(popkit_home)
    try:
        lines = [line for line in failures.failures(popkit_home) if line.split(" ")[1:2] != [doctor_session.FAULTY]]
    except OSError as error:
        return Check("hook errors", PROBLEM, f"{log} cannot be read: {error.strerror}", "Make it yours.", log=log)
    stamps = [line.split(" ", 1)[0] for line in lines]
    newest, seen = _known_failures(popkit_home)
    fresh = sum(stamp > newest for stamp in stamps) + max(0, stamps.count(newest) - seen)
    facts: dict[str, Any] = {"failures": len(lines), "new_failures": fresh, "log": log}
    if stamps:
        _remember(popkit_home, max(stamps), stamps.count(max(stamps)))
    if not lines:
        return Check("hook errors", OK, "none in the log", **facts)
    if not fresh:
        return Check("hook errors", OK, f"none since last time; {text.counted(len(lines), 'failure')} in {log}", **facts)
    summary = f"{text.counted(fresh, 'failure')} since last time, the newest: {lines[-1]}"
    return Check("hook errors", WARNING, summary, f"{log} has the places in the code; no session was harmed. A report is welcome.", **facts)


def _known_failures(popkit_home: str) -> tuple[str, int]:
    """Return (stamp of the newest failure that was shown, how many have it)."""
    try:
        value: Any = loads(files.read_text(os.path.join(popkit_home, SEEN)) or "{}")
        return str(value["newest_failure"]), int(value["with_that_stamp"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", 0


def _remember(popkit_home: str, newest: str, number: int) -> None:
    try:
        files.replace_text(os.path.join(popkit_home, SEEN), dumps({"newest_failure": newest, "with_that_stamp": number}))
    except OSError:
        return  # the check of the folder reports it


def configuration(popkit_home: str, project: str) -> Check:
    """Return whether every layer of the configuration is right."""
    read, problems = config_command.check_layers(home.plugin_root(), popkit_home, project)
    if not problems:
        return Check("configuration", OK, f"no problems in {text.counted(len(read), 'file')}", problems=0)
    summary = f"{text.counted(len(problems), 'problem')} in {text.listed(sorted({problem.file for problem in problems}), 3)}"
    ignored = sorted({problem.file for problem in problems if not problem.key})
    if ignored:
        summary += f"; ignored as a whole: {text.listed(ignored, 3)}"
    return Check("configuration", WARNING, summary, "popkit config check says what is allowed.", problems=len(problems))


STORAGE = (Storage(LOGS, {"": r"doctor\.json|interpreter"}),)  # hooks/launch.sh writes the latter
