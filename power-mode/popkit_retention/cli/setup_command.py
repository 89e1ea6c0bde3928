"""`popkit setup NAME` installs the packages that some commands need into a virtual environment in our folder, with pip. Hooks never use
it. `popkit setup opencode` puts PopKit's plugin into OpenCode's configuration instead.

Exit 0 when it is installed afterwards. Running it again updates the installation.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from hooks.utils import text
from hooks.utils.io import files, home
from hooks.utils.io.codec import loads
from hooks.utils.io.storage import OK, WARNING, Check

from ..extras import EXTRAS, folder_of, place_of, works
from ..extras import run as run_python
from . import settings_file
from .answering import Answer, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed

_HOW_TO_GET_VENV = "Install Python's venv module (on Debian and Ubuntu: sudo apt install python3-venv), then try again"
_NO_NETWORK = ("Failed to establish a new connection", "NewConnectionError", "Temporary failure in name resolution", "ConnectTimeoutError",
               "ReadTimeoutError", "ProxyError", "Network is unreachable")  # fmt: skip


def run(args: Parsed, environ: Mapping[str, str]) -> int | Answer:
    """List what can be set up, or set one of them up."""
    name: str = args.argument
    if name == OPENCODE:
        if args.json:
            raise Refused(f"popkit setup {name} shows a change and asks, so it has no --json. --yes skips the question")
        return set_up_opencode(args.undo, args.scope, args.yes, environ)
    if args.undo or args.yes or args.scope != "user":
        raise Refused(f"--undo, --yes and --scope are for popkit setup {OPENCODE}")
    if not name:
        return _list(environ)
    result = _set_up(name, environ, quiet=args.json)
    message = f"{name} is ready: " + ("installed " + ", ".join(result["installed"]) if result["installed"] else "nothing was missing") + "."
    return Answer(text.wrap(message), result)


def _list(environ: Mapping[str, str]) -> Answer:
    lines = text.title("What can be set up")
    data = {}
    for name, (purpose, packages, _) in EXTRAS.items():
        python = place_of(name, environ)
        data[name] = {"for": purpose, "packages": packages, "python": python}
        lines += _row(name, bool(python), purpose)
    lines += _row(OPENCODE, bool(named_plugin(environ)), "PopKit in OpenCode: its plugin in opencode.json and tui.json")
    return Answer([*lines, "", *text.wrap("popkit setup NAME installs one of them, or brings it up to date.")], data)


def _row(name: str, is_ready: bool, purpose: str) -> list[text.Line]:
    return text.pair(f"{name:<12}{'ready' if is_ready else 'not set up'}", purpose, 24)


# --- setting up --------------------------------------------------------------------------------------------------------------------------


def _set_up(name: str, environ: Mapping[str, str], quiet: bool) -> dict:
    """Install one extra; return what was done, as data."""
    folder = folder_of(environ)
    if os.path.lexists(folder) and not os.path.lexists(folder + ".lock"):
        raise Refused(f"{folder} is not from popkit setup. Move it away, or set POPKIT_HOME to another folder")
    try:
        files.make_private_folder(os.path.dirname(folder))
        with files.Lock(folder + ".lock"):
            python = os.path.join(folder, "bin", "python")
            if run_python([python, "-c", "pass"], environ).returncode:
                _say(f"Making a virtual environment in {folder} …", quiet)
                _make(folder, environ)
            _say(f"Installing {', '.join(EXTRAS[name][1])} …", quiet)
            installed = _install(name, _pip_for(python, environ), environ)
            _make_private(folder)
    except files.LockTimeout:
        raise Refused("another popkit setup is running. Wait until it is done") from None
    except OSError as error:
        raise Refused(f"{folder} cannot be written ({error.strerror or error}). Change its owner to you, or set POPKIT_HOME") from None
    if not works(python, name, environ):
        raise Refused(f"the installation does not work with {python}. Delete {folder}, then run popkit setup {name} again")
    return {"name": name, "python": python, "folder": folder, "installed": installed}


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(text.clean(line), file=sys.stderr, flush=True)


def _make(folder: str, environ: Mapping[str, str]) -> None:
    """Create a virtual environment. Its own pip is added later, if it is needed at all."""
    made = run_python([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], environ)
    if made.returncode:
        if not os.access(os.path.dirname(folder), os.W_OK):
            raise Refused(f"{os.path.dirname(folder)} cannot be written. Change its owner to you, or set POPKIT_HOME to another folder")
        raise Refused(f"{sys.executable} cannot make a virtual environment: {_last_line(made.stdout)}. {_HOW_TO_GET_VENV}")


def _pip_for(python: str, environ: Mapping[str, str]) -> list[str]:
    """Return the command of a pip that installs for an interpreter: using an existing one saves a quarter of a minute."""
    ours = [sys.executable, "-m", "pip", "--python", python]
    its_own = [python, "-m", "pip"]
    for pip in (ours, its_own):
        if not run_python([*pip, "--version"], environ).returncode:
            return pip
    made = run_python([python, "-m", "ensurepip"], environ)
    if made.returncode:
        raise Refused(f"{sys.executable} has no pip: {_last_line(made.stdout)}. {_HOW_TO_GET_VENV}")
    return its_own


def _install(name: str, pip: list, environ: Mapping[str, str]) -> list[str]:
    """Install the packages of an extra; return the new ones. Installed packages need no network."""
    wanted = EXTRAS[name][1]
    done = run_python([*pip, "install", "--disable-pip-version-check", "--no-input", "--no-user", "--retries", "1", *wanted], environ)
    if done.returncode:
        if any(sign in done.stdout for sign in _NO_NETWORK):
            raise Refused("the package index cannot be reached. Check your network, then try again")
        raise Refused(f"pip could not install {', '.join(wanted)}: {_last_line(done.stdout)}")
    (new,) = [line.partition(" ")[2].split()[1:] for line in done.stdout.splitlines() if line.startswith("Successfully installed")] or [[]]
    return new


def _make_private(folder: str) -> None:
    """Remove the permissions of others, which scripts of the venv module come with."""
    for inner, _, names in os.walk(folder):
        for path in [inner, *(os.path.join(inner, name) for name in names)]:
            if not os.path.islink(path):
                os.chmod(path, os.stat(path).st_mode & 0o700)


def _last_line(output: str) -> str:
    """Return the last line that a program printed on standard error, else on standard output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return text.cut(text.clean((errors or lines or ["it said nothing"])[-1]), 200)


# --- OpenCode ----------------------------------------------------------------------------------------------------------------------------


# The change is shown first, and made if the user agrees. A file keeps its order and its spacing; one with comments is left alone, and the
# line to add is named instead.
OPENCODE = "opencode"
KEY = "plugin"
# Files of OpenCode's configuration that name plugins: of its server, which has the door, and of its terminal, which has the pane.
SERVER, TERMINAL = OPENCODE, "tui"
_FOLDER = "/power-mode/opencode"
# OpenCode moves these into a tui.json of its own, once, where there is none.
_MOVES = ("theme", "keybinds", "tui")


class Change(NamedTuple):
    """A change of one file: its text `before` is None where there is none."""

    path: str
    before: str | None
    after: str


def folder() -> str:
    """Return the folder of our plugin."""
    return home.plugin_root() + _FOLDER


def spec() -> str:
    """Return the name of our plugin in OpenCode's configuration."""
    return Path(folder()).as_uri()


def path_of(kind: str, scope: str, environ: Mapping[str, str]) -> str:
    """Return the file of a kind to change: the existing one, else the one to create."""
    place = os.getcwd() if scope == "project" else _user_folder(environ)
    names = [os.path.join(place, kind + ending) for ending in (".json", ".jsonc")]
    return os.path.realpath(next(filter(os.path.exists, names), names[0]))


def _user_folder(environ: Mapping[str, str]) -> str:
    own = environ.get("OPENCODE_CONFIG_DIR")
    return own or os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home.user_folder(environ), ".config"), "opencode")


def set_up_opencode(undo: bool, scope: str, yes: bool, environ: Mapping[str, str]) -> int:
    """Show the changes, ask, and make them. Return 0 when the configuration is as wanted afterwards; Refused for a file that is left alone,
    once the others are changed."""
    if not undo and not os.path.isdir(folder()):
        raise Refused(
            f"{folder()} is missing: this PopKit was installed without its plugins. Run popkit setup {OPENCODE} in a clone of PopKit"
        )
    tried = [_change_or_refusal(kind, undo, scope, environ) for kind in (SERVER, TERMINAL)]
    changes = [each for each in tried if isinstance(each, Change)]
    refused = [each for each in tried if isinstance(each, str)]
    made = [change for change in changes if change.after != (change.before or "")]
    for change in made:
        settings_file.show_change(change.path, change.before, change.after, environ)
    if made and not settings_file.is_confirmed(yes):
        return 1
    for change in made:
        settings_file.write(change.path, change.before, change.after)
    if changes:
        print(_done(undo, [change.path for change in made or changes], bool(made)))
    if refused:
        raise Refused(". ".join(refused))
    return 0


def _done(undo: bool, paths: list[str], is_made: bool) -> str:
    where = " and ".join(paths)
    if undo:
        return f"PopKit is no longer in {where}." if is_made else f"PopKit is not in {where}, so nothing was changed."
    return f"PopKit is in {where}. Start OpenCode again to load it." if is_made else f"PopKit is already in {where}."


def _change_or_refusal(kind: str, undo: bool, scope: str, environ: Mapping[str, str]) -> Change | str:
    try:
        return _change(kind, undo, scope, environ)
    except Refused as error:
        return str(error)


def _change(kind: str, undo: bool, scope: str, environ: Mapping[str, str]) -> Change:
    """Return the change that a file needs; Refused for one that is left alone."""
    path = path_of(kind, scope, environ)
    text = settings_file.read(path)
    before = text or "{}\n"
    plugins = _plugins(path, before, undo)
    others = [plugin for plugin in plugins if not is_ours(plugin)]
    wanted = others if undo else [*others, spec()]
    if [_named(plugin) for plugin in plugins if is_ours(plugin)] == [_named(plugin) for plugin in wanted if is_ours(plugin)]:
        return Change(path, text, text or "")
    if kind == TERMINAL and text is None and _moves(scope, environ):
        raise Refused(
            f"{path} does not exist yet, because OpenCode first moves your theme and keys into it. Start OpenCode, then try again"
        )
    formatted = settings_file.formatted(before, wanted)
    return Change(path, text, settings_file.with_value(before, KEY, formatted) if wanted else settings_file.without(before, KEY))


def _moves(scope: str, environ: Mapping[str, str]) -> bool:
    """Return whether OpenCode has yet to move settings into a tui.json, which it does only where there is none."""
    text = settings_file.read(path_of(SERVER, scope, environ)) or "{}"
    return any(f'"{name}"' in text for name in _MOVES)


def _plugins(path: str, text: str, undo: bool) -> list[Any]:
    """Return the plugins in a configuration; Refused for one that is not understood."""
    try:
        value = settings_file.value_text(text, KEY)
        plugins = loads(value) if value else []
    except (ValueError, RecursionError) as error:
        what = f"Remove {_FOLDER[1:]} from its {KEY} list" if undo else f'Add this to it: "{KEY}": ["{spec()}"]'
        why = "it has comments, or is broken" if _has_comments(text) else f"it is not valid JSON: {error}"
        raise Refused(f"{path} is left alone, because {why}. {what}") from None
    if not isinstance(plugins, list):
        raise Refused(f'{path} is left alone, because its "{KEY}" is not a list')
    return plugins


def _has_comments(text: str) -> bool:
    return any(sign in text for sign in ("//", "/*"))


def _named(plugin: object) -> str:
    """Return the name in an entry of the list, which is a text, or a pair of a text and the plugin's options."""
    named = plugin[0] if isinstance(plugin, list) and plugin else plugin
    return named if isinstance(named, str) else ""


def is_ours(plugin: object) -> bool:
    """Return whether an entry of the list is our plugin, in any folder."""
    return _named(plugin).rstrip("/").endswith(_FOLDER)


def named_plugin(environ: Mapping[str, str], scope: str = "user", kind: str = SERVER) -> str:
    """Return the name of our plugin in a file; "" where it has none, or cannot be read."""
    try:
        path = path_of(kind, scope, environ)
        plugins = _plugins(path, settings_file.read(path) or "{}", undo=False)
    except (OSError, Refused, home.NoHome):
        return ""
    return next((_named(plugin) for plugin in plugins if is_ours(plugin)), "")


def is_in_opencode(environ: Mapping[str, str], scope: str) -> bool:
    """Return whether any file of a scope names our plugin."""
    return any(named_plugin(environ, scope, kind) for kind in (SERVER, TERMINAL))


def opencode_checks(environ: Mapping[str, str]) -> list[Check]:
    """Return the checks of OpenCode for `popkit doctor`; none where no configuration names our plugin."""
    scope = next((scope for scope in ("user", "project") if is_in_opencode(environ, scope)), "")
    if not scope:
        return []
    named = {kind: named_plugin(environ, scope, kind) for kind in (SERVER, TERMINAL)}
    paths = {kind: path_of(kind, scope, environ) for kind in named}
    again = f"popkit setup {OPENCODE}" + (" --scope project" if scope == "project" else "")
    facts: dict[str, Any] = {"configuration": list(paths.values())}
    for kind, name in named.items():
        place = unquote(urlsplit(name).path)
        if not name:
            lacks = "none of it works" if kind == SERVER else "the pane and the line in the sidebar are missing"
            return [Check("OpenCode", WARNING, f"{paths[kind]} does not name PopKit, so {lacks}", f"Run {again}.", **facts)]
        if not os.path.isdir(place):
            return [Check("OpenCode", WARNING, f"{paths[kind]} names a plugin that no longer exists: {place}", f"Run {again}.", **facts)]
        if os.path.realpath(place) != os.path.realpath(folder()):
            what = f"{paths[kind]} names the plugin of another PopKit: {place}"
            return [Check("OpenCode", WARNING, what, f"To use this one, run {again}.", **facts)]
    return [Check("OpenCode", OK, f"the plugin is in {' and '.join(paths.values())}", **facts)]
