"""The checks of `popkit doctor` on Claude Code, with our plugin in it."""

from __future__ import annotations

import os
import shlex

from popkit_retention.core.hosts import is_guest
from popkit_retention.core.io import files, foreign, home
from popkit_retention.core.io.codec import as_object, as_text
from popkit_retention.core.io.findings import OK, PROBLEM, WARNING, Check
from popkit_retention.core.state import session, stored_contexts
from popkit_retention.core.text import listed
from popkit_retention.core.units import counted, span

from . import shell_setup
from .doctor_interpreter import numbers_of, output_of, remembered_interpreter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


OLDEST_CLIENT = (2, 1, 100)
PLUGIN = "popkit"
RECENT_S = 7 * 24 * 3_600


def client(environ: Mapping[str, str]) -> Check:
    """Check the version of the Claude Code on PATH."""
    oldest = ".".join(map(str, OLDEST_CLIENT))
    program = foreign.program("claude", environ)
    if not program:
        return Check("client", WARNING, "there is no claude on PATH, so its version is unknown", f"PopKit needs {oldest} or later.")
    version = numbers_of(output_of([program, "--version"]))
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
        events = list(files.read_object(os.path.join(home.plugin_root(), "hooks", "hooks.json"))["hooks"])
    except (KeyError, TypeError):
        return Check("hooks", PROBLEM, f"{home.plugin_root()}/hooks/hooks.json cannot be read", "Install the plugin again.")
    ran = _last_hook(popkit_home)
    last = f"the last one ran {span(now - ran)} ago" if ran else "none has run yet"
    facts: dict[str, Any] = {"events": events, "last_run_s": round(now - ran) if ran else None}
    if environ.get("POPKIT_OFF") or not enabled:
        why = "POPKIT_OFF is set" if environ.get("POPKIT_OFF") else "the configuration says enabled: false"
        return Check("hooks", WARNING, f"switched off: {why}", **facts)
    folder = home.claude_folder(environ)
    settings = [files.read_object(os.path.join(folder, "settings.json"))]
    settings += [files.read_object(os.path.join(project, ".claude", name)) for name in ("settings.json", "settings.local.json")]
    if any(layer.get("disableAllHooks") is True for layer in settings):
        return Check("hooks", PROBLEM, "the settings say disableAllHooks", "Remove it from settings.json.", **facts)
    return _registered(folder, settings, len(events), last, ran is not None and now - ran < RECENT_S, facts, environ)


def _last_hook(popkit_home: str) -> float | None:
    """Return when a hook last wrote a state (seconds); None where no hook has run. Commands write states, too, so unless the launcher
    remembers an interpreter, only sessions count whose transcript a hook has named."""
    launched = bool(remembered_interpreter(popkit_home))
    for paths, written in stored_contexts.contexts(popkit_home):
        if not is_guest(paths.session_id) and (launched or session.read(popkit_home, paths.session_id).transcript):
            return written
    return None


def _source(folder: str, marketplace: str) -> str:
    """Return the folder of a local marketplace; "" for one that came by git."""
    known = files.read_object(os.path.join(folder, "plugins", "known_marketplaces.json")).get(marketplace)
    source = as_object(known).get("source")
    path = source.get("path") if isinstance(source, dict) and source.get("source") == "directory" else None
    return as_text(path)


def _registered(folder: str, settings: list, events: int, last: str, recent: bool, facts: dict, environ: Mapping[str, str]) -> Check:
    """Return the finding about our plugin in the settings, from any marketplace. `last`: when a hook last ran, in words."""
    state = f"{counted(events, 'event')}; {last}"
    switched: dict = {}
    for layer in settings:
        enabled = layer.get("enabledPlugins")
        if isinstance(enabled, dict):
            switched.update({name: on for name, on in enabled.items() if name.partition("@")[0] == PLUGIN})
    known = files.read_object(os.path.join(folder, "plugins", "installed_plugins.json")).get("plugins")
    installed = [name for name in known if name.partition("@")[0] == PLUGIN] if isinstance(known, dict) else []
    active = [name for name in installed if switched.get(name) is True]
    if len(active) > 1:
        return Check("hooks", WARNING, f"registered twice ({listed(active)}); {state}", "Uninstall all but one.", **facts)
    if active:
        source = _source(folder, active[0].partition("@")[2])
        if source and not os.path.isdir(source):
            advice = f"Put the folder back, or install PopKit from elsewhere: {_how_to_install(environ)}"
            return Check("hooks", PROBLEM, f"Claude Code does not load {active[0]}: {source}, which it came from, is gone", advice, **facts)
        state += f"; it comes from {source}: keep this folder" if source else ""
        return Check("hooks", OK, f"{active[0]} is installed and enabled: {state}", plugin=active[0], **facts)
    if installed:
        advice = f"claude plugin enable {installed[0]}"
        return Check("hooks", PROBLEM, f"{installed[0]} is installed, but not enabled here; {state}", advice, plugin=installed[0], **facts)
    if recent:
        return Check("hooks", OK, f"not installed, but loaded with --plugin-dir: {state}", **facts)
    return Check("hooks", PROBLEM, f"the plugin is not installed; {last}", _how_to_install(environ), **facts)


def _how_to_install(environ: Mapping[str, str]) -> str:
    install, root = "claude plugin install popkit@popkit", home.plugin_root()
    if shell_setup.is_copy(root, environ):
        return install  # Claude Code knows where it came from
    of_clone = "FOLDER, which is a clone of PopKit" if shell_setup.is_package() else shlex.quote(root)
    return f"claude plugin marketplace add {of_clone}, then {install}"
