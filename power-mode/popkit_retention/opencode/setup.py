"""`popkit setup opencode`: put PopKit's plugin into OpenCode's configuration and take it out again, only on the user's word, the change
shown first. The file keeps its order and its spacing; one with comments is left alone, and the line to add is named instead. What the
files were before is kept, so that `--undo` gives it back byte for byte.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from hooks.utils.io import home
from hooks.utils.io.codec import loads
from hooks.utils.io.findings import OK, WARNING, Check
from hooks.utils.io.storage import LOGS, Storage
from hooks.utils.io.system import sha256

from ..cli import json_text, settings_file
from ..cli.answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

OPENCODE = "opencode"
KEY = "plugin"
SCOPES = ("user", "project")
# Files of OpenCode's configuration that name plugins: of its server, which has the door, and of its terminal, which has the pane.
SERVER, TERMINAL = OPENCODE, "tui"
_FOLDER = "/power-mode/opencode"
_SCHEMA = "$schema"  # OpenCode itself puts it into a file that lacks it
# OpenCode moves these into a tui.json of its own, once, where there is none.
_MOVES = ("theme", "keybinds", "tui")


class Change(NamedTuple):
    """A change of one file: its text `before` and `after`, None where there is no file."""

    path: str
    before: str | None
    after: str | None


def folder() -> str:
    """Return where our plugin is."""
    return home.plugin_root() + _FOLDER


def spec() -> str:
    """Return how OpenCode's configuration names our plugin."""
    return Path(folder()).as_uri()


def path_of(kind: str, scope: str, environ: Mapping[str, str]) -> str:
    """Return the file of a kind to change: the one that is there, else the one to make."""
    place = os.getcwd() if scope == "project" else _user_folder(environ)
    names = [os.path.join(place, kind + ending) for ending in (".json", ".jsonc")]
    return os.path.realpath(next(filter(os.path.exists, names), names[0]))


def _user_folder(environ: Mapping[str, str]) -> str:
    own = environ.get("OPENCODE_CONFIG_DIR")
    return own or os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home.user_folder(environ), ".config"), "opencode")


def set_up_opencode(undo: bool, scope: str, yes: bool, environ: Mapping[str, str]) -> int:
    """Show the changes, ask, make them. Return 0 when the configuration is as it was asked for afterwards; Refused for a file that is left
    alone, once the others are changed."""
    if not undo and not os.path.isdir(folder()):
        raise Refused(
            f"{folder()} is missing: this PopKit was installed without its plugins. Run popkit setup {OPENCODE} in a clone of PopKit"
        )
    tried = [_change_or_refusal(kind, undo, scope, environ) for kind in (SERVER, TERMINAL)]
    changes = [each for each in tried if isinstance(each, Change)]
    refused = [each for each in tried if isinstance(each, str)]
    needed = [change for change in changes if change.after != change.before]
    for change in needed:
        settings_file.show_change(change.path, change.before, change.after or "", environ)
    if needed and not settings_file.is_confirmed(yes):
        return 1
    for change in needed:
        _make(change, undo, environ)
    if undo:
        for change in changes:
            _kept(environ).forget(change.path)
    if changes:
        print(_done(undo, [change.path for change in needed or changes], bool(needed)))
    if refused:
        raise Refused(". ".join(refused))
    return 0


def _make(change: Change, undo: bool, environ: Mapping[str, str]) -> None:
    """Make a change; the first one of ours keeps what the file was."""
    path, before, after = change
    if not undo:
        was = _was(path, before, environ)
        if was is not None:
            _keep(path, was, after or "", environ)
    if after is None:
        settings_file.remove(path, before)
    else:
        settings_file.write(path, before, after)


def _was(path: str, text: str | None, environ: Mapping[str, str]) -> Before | None:
    """Return what a file was before any change of ours; None where that is not known."""
    known = _previous(path, text, environ)
    if known is not None and known.is_as_left:
        return known
    if any(map(is_ours, _plugins(path, text or "{}", undo=False))):
        return None
    return Before(text or ("" if os.path.exists(path) else None), is_as_left=True)


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
        return Change(path, text, text)
    if undo:
        return Change(path, text, _undone(path, before, others, environ))
    if kind == TERMINAL and text is None and _moves(scope, environ):
        raise Refused(f"{path} is not made yet, because OpenCode first moves your theme and keys into it. Start OpenCode, then try again")
    return Change(path, text, _with(before, wanted))


def _undone(path: str, text: str, others: list[Any], environ: Mapping[str, str]) -> str | None:
    """Return what a file is to be without our plugin: what it was before, or where somebody has changed it since, what else is in it. None
    for no file: we made it, and nobody has put anything into it."""
    was = _previous(path, text, environ)
    if was is not None and was.is_as_left:
        return was.text
    rest = _with(text, others)
    is_bare = {member.name for member in json_text.members_of(rest)} <= {_SCHEMA}
    return None if was is not None and was.text is None and is_bare else rest


def _with(text: str, plugins: list[Any]) -> str:
    """Return the text of a configuration with these plugins, or without that member for none."""
    return json_text.with_value(text, KEY, json_text.formatted(text, plugins)) if plugins else json_text.without(text, KEY)


def _moves(scope: str, environ: Mapping[str, str]) -> bool:
    """Return whether OpenCode has yet to move settings into a tui.json, which it does only where there is none."""
    text = settings_file.read(path_of(SERVER, scope, environ)) or "{}"
    return any(f'"{name}"' in text for name in _MOVES)


def _plugins(path: str, text: str, undo: bool) -> list[Any]:
    """Return the plugins that a configuration names; Refused for one that is not understood."""
    try:
        value = json_text.value_text(text, KEY)
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
    """Return what an entry of the list names: a text, or a pair of it and the plugin's options."""
    named = plugin[0] if isinstance(plugin, list) and plugin else plugin
    return named if isinstance(named, str) else ""


def is_ours(plugin: object) -> bool:
    """Return whether an entry of the list is our plugin, in whatever folder."""
    return _named(plugin).rstrip("/").endswith(_FOLDER)


def named_plugin(environ: Mapping[str, str], scope: str = "user", kind: str = SERVER) -> str:
    """Return how a file names our plugin; "" where it does not, or cannot be read."""
    try:
        path = path_of(kind, scope, environ)
        plugins = _plugins(path, settings_file.read(path) or "{}", undo=False)
    except (OSError, Refused, home.NoHome):
        return ""
    return next((_named(plugin) for plugin in plugins if is_ours(plugin)), "")


def is_in_opencode(environ: Mapping[str, str], scope: str) -> bool:
    """Return whether any file of a scope names our plugin."""
    return any(named_plugin(environ, scope, kind) for kind in (SERVER, TERMINAL))


def remove(environ: Mapping[str, str]) -> list[str]:
    """Take our plugin out of every configuration that names it; return what could not be done."""
    failed = []
    for scope in SCOPES:
        if is_in_opencode(environ, scope):
            try:
                set_up_opencode(True, scope, True, environ)
            except (Refused, OSError) as error:
                failed.append(str(error))
    return failed


def opencode_checks(environ: Mapping[str, str]) -> list[Check]:
    """Return what `popkit doctor` says of OpenCode; nothing where no configuration names our plugin."""
    scope = next((scope for scope in SCOPES if is_in_opencode(environ, scope)), "")
    if not scope:
        return []
    named = {kind: named_plugin(environ, scope, kind) for kind in (SERVER, TERMINAL)}
    paths = {kind: path_of(kind, scope, environ) for kind in named}
    again = f"popkit setup {OPENCODE}" + (" --scope project" if scope == "project" else "")
    facts: dict[str, Any] = {"configuration": list(paths.values())}
    for kind, name in named.items():
        place = unquote(urlsplit(name).path)
        if not name:
            lacks = "nothing of it works" if kind == SERVER else "the pane and the line in the sidebar are missing"
            return [Check("OpenCode", WARNING, f"{paths[kind]} does not name PopKit, so {lacks}", f"Run {again}.", **facts)]
        if not os.path.isdir(place):
            return [Check("OpenCode", WARNING, f"{paths[kind]} names a plugin that no longer exists: {place}", f"Run {again}.", **facts)]
        if os.path.realpath(place) != os.path.realpath(folder()):
            what = f"{paths[kind]} names the plugin of another PopKit: {place}"
            return [Check("OpenCode", WARNING, what, f"To use this one, run {again}.", **facts)]
    return [Check("OpenCode", OK, f"the plugin is in {' and '.join(paths.values())}", **facts)]


# --- what the files were before ---

_NAME = "opencode.previous.json"
STORAGE = (Storage(LOGS, {"": r"opencode\.previous\.json"}),)


class Before(NamedTuple):
    """What a file was: its `text`, None where there was no file. `is_as_left`: nobody has changed it since we did."""

    text: str | None
    is_as_left: bool


def _previous(path: str, text: str | None, environ: Mapping[str, str]) -> Before | None:
    """Return what a file was that now has this text; None where that is not known."""
    record = _kept(environ).of(path)
    before = record.get("before") if isinstance(record, dict) else 0
    if not isinstance(record, dict) or not (before is None or (isinstance(before, str) and _is_text(before))):
        return None
    return Before(before, record.get("after") == _hash(text))


def _is_text(text: str) -> bool:
    """Return whether a file can hold a text: half a surrogate has no place in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _keep(path: str, before: Before, after: str, environ: Mapping[str, str]) -> None:
    """Keep what a file was, which is about to get the text `after`. OSError where our folder cannot be written."""
    _kept(environ).keep(path, {"before": before.text, "after": _hash(after)})


def _hash(text: str | None) -> str:
    return sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()


def _kept(environ: Mapping[str, str]) -> settings_file.Previous:
    return settings_file.Previous(_NAME, environ)
