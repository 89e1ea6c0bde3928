"""`popkit setup opencode`: put PopKit's plugin into OpenCode's configuration and take it out again, only on the user's word, the change
shown first. The file keeps its order and its spacing; one with comments is left alone, and the line to add is named instead.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hooks.utils.io import home
from hooks.utils.io.codec import loads
from hooks.utils.io.storage import OK, WARNING, Check

from . import settings_file, settings_text
from .answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "opencode"
KEY = "plugin"
_NAMES = ("opencode.json", "opencode.jsonc")
_FOLDER = "/power-mode/opencode"
_START_AGAIN = "Start OpenCode again to load it."


def folder() -> str:
    """Return where our plugin is."""
    return home.plugin_root() + _FOLDER


def spec() -> str:
    """Return how OpenCode's configuration names our plugin."""
    return Path(folder()).as_uri()


def path_of(scope: str, environ: Mapping[str, str]) -> str:
    """Return the configuration to change: the one that is there, else the one to make."""
    place = os.getcwd() if scope == "project" else _user_folder(environ)
    there = [path for path in (os.path.join(place, name) for name in _NAMES) if os.path.exists(path)]
    return os.path.realpath(there[0] if there else os.path.join(place, _NAMES[0]))


def _user_folder(environ: Mapping[str, str]) -> str:
    own = environ.get("OPENCODE_CONFIG_DIR")
    return own or os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home.user_folder(environ), ".config"), "opencode")


def set_up(undo: bool, scope: str, yes: bool, environ: Mapping[str, str]) -> int:
    """Show the change, ask, make it. Return 0 when the configuration is as it was asked for afterwards."""
    if not undo and not os.path.isdir(folder()):
        raise Refused(f"{folder()} is missing: this PopKit was installed without its plugins. Run popkit setup {NAME} in a clone of PopKit")
    path = path_of(scope, environ)
    text = settings_file.read(path)
    before = text or "{}\n"
    plugins = _plugins(path, before, undo)
    others = [plugin for plugin in plugins if not is_ours(plugin)]
    if undo and len(others) == len(plugins):
        print(f"PopKit is not in {path}, so nothing was changed.")
        return 0
    if not undo and [_named(plugin) for plugin in plugins if is_ours(plugin)] == [spec()]:
        print(f"PopKit is already in {path}.")
        return 0
    wanted = others if undo else [*others, spec()]
    formatted = settings_text.formatted(before, wanted)
    after = settings_text.with_value(before, KEY, formatted) if wanted else settings_text.without(before, KEY)
    settings_file.show_change(path, text, after, environ)
    if not settings_file.is_confirmed(yes):
        return 1
    settings_file.write(path, text, after)
    print(f"PopKit is no longer in {path}." if undo else f"PopKit is in {path}. {_START_AGAIN}")
    return 0


def _plugins(path: str, text: str, undo: bool) -> list[Any]:
    """Return the plugins that a configuration names; Refused for one that is not understood."""
    try:
        found = settings_text.value_text(text, KEY)
        plugins = loads(found) if found else []
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


def found(environ: Mapping[str, str], scope: str = "user") -> str:
    """Return how a configuration names our plugin; "" where it does not, or cannot be read."""
    try:
        path = path_of(scope, environ)
        plugins = _plugins(path, settings_file.read(path) or "{}", undo=False)
    except (OSError, Refused, home.NoHome):
        return ""
    return next((_named(plugin) for plugin in plugins if is_ours(plugin)), "")


def checks(environ: Mapping[str, str]) -> list[Check]:
    """Return what `popkit doctor` says of OpenCode; nothing where no configuration names our plugin."""
    named = {scope: found(environ, scope) for scope in ("user", "project")}
    scope = next((scope for scope, name in named.items() if name), "")
    if not scope:
        return []
    path, place = path_of(scope, environ), unquote(urlsplit(named[scope]).path)
    facts = {"configuration": path, "plugin": place}
    again = f"popkit setup {NAME}" + (" --scope project" if scope == "project" else "")
    if not os.path.isdir(place):
        return [Check("OpenCode", WARNING, f"{path} names a plugin that is gone: {place}", f"Run {again}.", **facts)]
    if os.path.realpath(place) != os.path.realpath(folder()):
        return [
            Check("OpenCode", WARNING, f"{path} names the plugin of another PopKit: {place}", f"To use this one, run {again}.", **facts)
        ]
    return [Check("OpenCode", OK, f"the plugin is in {path}", **facts)]
