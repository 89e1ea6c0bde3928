"""`popkit doctor`: check that everything is in place, and say how to fix what is not. Here are the checks of the machine: the interpreter
that hooks get, the client, the plugin in its settings, our folder, the configuration. Those of a project's sessions are in
`doctor_session`. Reads only.

Exit 1 when there is a problem; warnings leave it 0.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time

from hooks.utils import text, units
from hooks.utils.config import layers
from hooks.utils.hosts import is_kept
from hooks.utils.io import files, foreign, home, hook_log
from hooks.utils.io.codec import dumps, loads
from hooks.utils.io.findings import OK, PROBLEM, WARNING, Check
from hooks.utils.io.storage import LOGS, Storage
from hooks.utils.io.system import now as time_of_day
from hooks.utils.state import session, stored_contexts
from hooks.utils.text import listed
from hooks.utils.units import span

from .. import features
from ..operations import stores
from . import config_command, doctor_session
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
    """Make all checks."""
    checks = all_checks(environ)
    problems = sum(check.level == PROBLEM for check in checks)
    warnings = sum(check.level == WARNING for check in checks)
    summary = f"{units.counted(problems, 'problem')}, {units.counted(warnings, 'warning')}." if problems or warnings else "All is well."
    lines = [line for check in checks for line in _lines_of(check)]
    return Answer([*lines, "", summary], {"ok": not problems, "checks": [check.to_json() for check in checks]}, code=int(problems > 0))


def all_checks(environ: Mapping[str, str]) -> list[Check]:
    """Return all findings, in the order in which things can go wrong."""
    from .commands import version

    try:
        popkit_home = home.popkit_home(environ)
    except home.NoHome as error:
        return [Check("state folder", PROBLEM, str(error), "Hooks do nothing until then.")]
    project = os.path.abspath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())
    enabled = layers.load(home.plugin_root(), popkit_home, project).get("enabled") is not False
    claude, now = client(environ), time_of_day(environ)
    of_other_hosts = [check for checks in features.offering("checks") for check in checks(environ)]
    claude_code = [claude, plugin(popkit_home, project, environ, enabled, now)]
    checks = [
        interpreter(popkit_home, environ),
        *(claude_code if claude.facts or not of_other_hosts else []),  # some users have only another host
        *of_other_hosts,
        state_folder(popkit_home),
    ]
    if checks[-1].level == PROBLEM:
        return checks  # a file that cannot be read cannot be checked
    return [
        *checks,
        doctor_session.helper(popkit_home, project, environ, str(claude.facts.get("version") or ""), version()),
        hook_errors(popkit_home),
        *doctor_session.messages(popkit_home, now),
        *doctor_session.rules_on_data(popkit_home, project, environ),
        *(each.check(popkit_home, project, environ, now) for each in stores.every() if each.check),
        configuration(popkit_home, project),
        doctor_session.agreement(popkit_home, project, environ),
    ]


def _lines_of(check: Check) -> list[text.Line]:
    lines = text.pair(check.level, f"{check.name}: {check.text}", len(_INDENT))
    if check.advice and check.level != OK:
        lines += text.indented(text.wrap("→ " + check.advice, indent="  "), _INDENT)
    return lines


# --- our folder ---


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
            "Change its owner to you, or set POPKIT_HOME to another folder.",
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


def hook_errors(popkit_home: str) -> Check:
    """Return the failures of hooks since the last check, and where their log is."""
    log = hook_log.log_path(popkit_home)
    try:
        lines = [line for line in hook_log.logged_failures(popkit_home) if line.split(" ")[1:2] != [doctor_session.FAULTY]]
    except OSError as error:
        return Check("hook errors", PROBLEM, f"{log} cannot be read: {error.strerror}", "Change its owner to you.", log=log)
    stamps = [line.split(" ", 1)[0] for line in lines]
    newest, seen = _known_failures(popkit_home)
    fresh = sum(stamp > newest for stamp in stamps) + max(0, stamps.count(newest) - seen)
    facts: dict[str, Any] = {"failures": len(lines), "new_failures": fresh, "log": log}
    if stamps:
        _remember(popkit_home, max(stamps), stamps.count(max(stamps)))
    if not lines:
        return Check("hook errors", OK, "none in the log", **facts)
    if not fresh:
        return Check("hook errors", OK, f"none since last time; {units.counted(len(lines), 'failure')} in {log}", **facts)
    summary = f"{units.counted(fresh, 'failure')} since last time, the newest: {lines[-1]}"
    return Check("hook errors", WARNING, summary, f"{log} says where in the code; no session was affected. A report is welcome.", **facts)


def _known_failures(popkit_home: str) -> tuple[str, int]:
    """Return (stamp of the newest failure that was shown, how many failures have it)."""
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
    """Check every layer of the configuration."""
    read, problems = config_command.check_layers(home.plugin_root(), popkit_home, project)
    if not problems:
        return Check("configuration", OK, f"no problems in {units.counted(len(read), 'file')}", problems=0)
    summary = f"{units.counted(len(problems), 'problem')} in {text.listed(sorted({problem.file for problem in problems}), 3)}"
    ignored = sorted({problem.file for problem in problems if not problem.key})
    if ignored:
        summary += f"; ignored as a whole: {text.listed(ignored, 3)}"
    return Check("configuration", WARNING, summary, "popkit config check says what is allowed.", problems=len(problems))


STORAGE = (Storage(LOGS, {"": r"doctor\.json|interpreter"}),)  # hooks/launch.sh writes the latter


# --- the interpreter, the client and the plugin ---

OLDEST_PYTHON = (3, 9)
_NAMES = ("python3", *(f"python3.{minor}" for minor in range(14, 8, -1)), "python")
OLDEST_CLIENT = (2, 1, 100)
PLUGIN = "popkit"
HOW_TO_INSTALL = "claude plugin marketplace add, then claude plugin install popkit@popkit: see README.md"
# An interpreter takes about 10 ms to start, a shim in front of it 100.
SLOW_START_MS = 50
STARTS = 5
PATIENCE_S = 20
RECENT_S = 7 * 24 * 3_600


def interpreter(popkit_home: str, environ: Mapping[str, str]) -> Check:
    """Check which Python the launcher starts hooks with, and how long its bare start takes."""
    remembered = _remembered(popkit_home)
    on_path = next(filter(None, (foreign.program(name, environ) for name in _NAMES)), None)
    # Where no interpreter is remembered, `popkit doctor` was started as the launcher will start hooks.
    python = remembered or (on_path and sys.executable)
    if not python:
        return Check("interpreter", PROBLEM, "there is no python3 on PATH, so hooks do nothing", "Install Python 3.9 or later.")
    printed = _output([python, "-S", "-E", "-c", "import sys; print(sys.executable); print(sys.version.split()[0])"])
    real, version = [*printed.splitlines(), "", ""][:2]
    if not real or _numbers(version) < OLDEST_PYTHON:
        what = f"{python}, which hooks were started with, is {'Python ' + version if version else 'not a working Python'}"
        file = os.path.join(popkit_home, "interpreter")
        return Check("interpreter", WARNING, what, f"Delete {file}: the next hook finds another one and remembers it.")
    start_ms = start_time_ms(real)
    facts: dict[str, Any] = {"interpreter": real, "version": version, "start_ms": round(start_ms, 1), "remembered": bool(remembered)}
    state = f"hooks run with {real} ({version}): {start_ms:.0f} ms a start"
    if not remembered:
        state += "; the first hook will remember it"
    if on_path and is_script(on_path):
        facts["path_python"], facts["path_start_ms"] = on_path, round(start_time_ms(on_path), 1)
        state += f". python3 on PATH is a shim, {facts['path_start_ms']:.0f} ms a start ({on_path}); the launcher bypasses it"
    if start_ms > SLOW_START_MS:
        return Check(
            "interpreter", WARNING, state, "Each tool call waits for one such start. Is the machine busy, or the disk slow?", **facts
        )
    return Check("interpreter", OK, state, **facts)


def _remembered(popkit_home: str) -> str:
    """Return the interpreter that the launcher remembers; "" when it will search again, as for one of a virtual environment."""
    try:
        path = (files.read_text(os.path.join(popkit_home, "interpreter")) or "").split("\n")[0]
    except OSError:
        return ""
    in_venv = os.path.exists(os.path.join(os.path.dirname(path), os.pardir, "pyvenv.cfg"))
    return path if os.path.isfile(path) and os.access(path, os.X_OK) and not in_venv else ""


def is_script(path: str) -> bool:
    """Return whether a program is a script: a Python that is a script is a shim."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def start_time_ms(python: str) -> float:
    """Return the time of the quickest of some bare starts (milliseconds): the slower ones measure a busy machine."""
    seconds = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        _output([python, "-S", "-E", "-c", "pass"])
        seconds.append(time.perf_counter() - begun)
    return min(seconds) * 1000


def _output(command: list) -> str:
    """Return the output of a program; "" when it cannot be run or fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False)  # noqa: S603
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _numbers(version: str) -> tuple:
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    return tuple(int(number) for number in match.groups() if number) if match else ()


def client(environ: Mapping[str, str]) -> Check:
    """Check the version of the Claude Code on PATH."""
    oldest = ".".join(map(str, OLDEST_CLIENT))
    program = foreign.program("claude", environ)
    if not program:
        return Check("client", WARNING, "there is no claude on PATH, so its version is unknown", f"PopKit needs {oldest} or later.")
    version = _numbers(_output([program, "--version"]))
    if not version:
        return Check("client", WARNING, f"{program} --version does not print a version", f"PopKit needs {oldest} or later.")
    shown = ".".join(map(str, version))
    if version < OLDEST_CLIENT:
        advice = f"PopKit needs {oldest} or later: claude update"
        return Check("client", PROBLEM, f"Claude Code {shown} is too old", advice, version=shown)
    return Check("client", OK, f"Claude Code {shown}", version=shown)


def plugin(popkit_home: str, project: str, environ: Mapping[str, str], enabled: bool, now: float) -> Check:
    """Check that the hooks are registered and switched on, and when one last ran."""
    try:
        events = list(json.loads(files.read_text(os.path.join(home.plugin_root(), "hooks", "hooks.json")) or "")["hooks"])
    except (OSError, ValueError, KeyError, TypeError):
        return Check("hooks", PROBLEM, f"{home.plugin_root()}/hooks/hooks.json cannot be read", "Install the plugin again.")
    ran = _last_hook(popkit_home)
    last = f"the last one ran {span(now - ran)} ago" if ran else "none has run yet"
    facts: dict[str, Any] = {"events": events, "last_run_s": round(now - ran) if ran else None}
    if environ.get("POPKIT_OFF") or not enabled:
        why = "POPKIT_OFF is set" if environ.get("POPKIT_OFF") else "the configuration says enabled: false"
        return Check("hooks", WARNING, f"switched off: {why}", **facts)
    folder = home.claude_folder(environ)
    settings = [_json(os.path.join(folder, "settings.json"))]
    settings += [_json(os.path.join(project, ".claude", name)) for name in ("settings.json", "settings.local.json")]
    if any(layer.get("disableAllHooks") is True for layer in settings):
        return Check("hooks", PROBLEM, "the settings say disableAllHooks", "Remove it from settings.json.", **facts)
    return _registered(folder, settings, len(events), last, ran is not None and now - ran < RECENT_S, facts)


def _last_hook(popkit_home: str) -> float | None:
    """Return when a hook last wrote a state (seconds), None where none has run. Commands write states, too: without an interpreter that the
    launcher remembers, only a session counts whose transcript a hook has named."""
    launched = bool(_remembered(popkit_home))
    for paths, written in stored_contexts.contexts(popkit_home):
        if not is_kept(paths.session_id) and (launched or session.read(popkit_home, paths.session_id).get("transcript")):
            return written
    return None


def _source(folder: str, marketplace: str) -> str:
    """Return the folder that a marketplace is; "" where it came by git."""
    known = _json(os.path.join(folder, "plugins", "known_marketplaces.json")).get(marketplace)
    source = known.get("source") if isinstance(known, dict) else None
    path = source.get("path") if isinstance(source, dict) and source.get("source") == "directory" else None
    return path if isinstance(path, str) else ""


def _registered(folder: str, settings: list, events: int, last: str, recent: bool, facts: dict) -> Check:
    """Return the finding about our plugin in the settings, from any marketplace. `last`: when a hook last ran, in words."""
    state = f"{events} events; {last}"
    switched: dict = {}
    for layer in settings:
        enabled = layer.get("enabledPlugins")
        if isinstance(enabled, dict):
            switched.update({name: on for name, on in enabled.items() if name.partition("@")[0] == PLUGIN})
    known = _json(os.path.join(folder, "plugins", "installed_plugins.json")).get("plugins")
    installed = [name for name in known if name.partition("@")[0] == PLUGIN] if isinstance(known, dict) else []
    active = [name for name in installed if switched.get(name) is True]
    if len(active) > 1:
        return Check("hooks", WARNING, f"registered twice ({listed(active)}); {state}", "Uninstall all but one.", **facts)
    if active:
        source = _source(folder, active[0].partition("@")[2])
        if source and not os.path.isdir(source):
            advice = f"Put the folder back, or install PopKit from elsewhere: {HOW_TO_INSTALL}"
            return Check("hooks", PROBLEM, f"Claude Code does not load {active[0]}: {source}, which it came from, is gone", advice, **facts)
        state += f"; it comes from {source}: keep this folder" if source else ""
        return Check("hooks", OK, f"{active[0]} is installed and enabled: {state}", plugin=active[0], **facts)
    if installed:
        advice = f"claude plugin enable {installed[0]}"
        return Check("hooks", PROBLEM, f"{installed[0]} is installed, but not enabled here; {state}", advice, plugin=installed[0], **facts)
    if recent:
        return Check("hooks", OK, f"not installed, but loaded with --plugin-dir: {state}", **facts)
    return Check("hooks", PROBLEM, f"the plugin is not installed; {last}", HOW_TO_INSTALL, **facts)


def _json(path: str) -> dict:
    try:
        value = json.loads(files.read_text(path) or "{}")
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
