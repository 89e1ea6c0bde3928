"""`popkit setup opencode`: put PopKit's plugin into opencode.json and take it out again, only on the user's word, the change shown first.

A file with comments (opencode.jsonc) is left alone: then the line to add is printed.
"""

from __future__ import annotations

import os
from pathlib import Path

from hooks.utils.io import home
from hooks.utils.io.codec import loads

from . import settings_file, settings_text
from .answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "opencode"
KEY = "plugin"
_NAMES = ("opencode.json", "opencode.jsonc")
_OURS = "/power-mode/opencode/index.ts"


def spec() -> str:
    """Return how opencode.json names our plugin."""
    return Path(home.plugin_root() + _OURS).as_uri()


def path_of(scope: str, environ: Mapping[str, str]) -> str:
    """Return the configuration to change: the one that is there, else the one to make."""
    folder = os.getcwd() if scope == "project" else _user_folder(environ)
    there = [path for path in (os.path.join(folder, name) for name in _NAMES) if os.path.exists(path)]
    return os.path.realpath(there[0] if there else os.path.join(folder, _NAMES[0]))


def _user_folder(environ: Mapping[str, str]) -> str:
    own = environ.get("OPENCODE_CONFIG_DIR")
    return own or os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config"), "opencode")


def state(environ: Mapping[str, str]) -> str:
    """Return in words whether the user's configuration names our plugin."""
    try:
        text = settings_file.read(path_of("user", environ)) or ""
    except (OSError, Refused):
        text = ""
    return "ready" if _OURS in text else "not set up"


def set_up(undo: bool, scope: str, yes: bool, as_data: bool, environ: Mapping[str, str]) -> int:
    """Show the change, ask, make it. Return 0 when the configuration is as it was asked for afterwards."""
    if as_data:
        raise Refused(f"popkit setup {NAME} shows a change and asks, so there is no --json. Use --yes to answer beforehand")
    path = path_of(scope, environ)
    text = settings_file.read(path)
    before = text or "{}\n"
    plugins = _plugins(path, before)
    others = [plugin for plugin in plugins if not _is_ours(plugin)]
    if undo and len(others) == len(plugins):
        print(f"PopKit is not in {path}, so nothing was changed.")
        return 0
    if not undo and [plugin for plugin in plugins if _is_ours(plugin)] == [spec()]:
        print(f"PopKit is already in {path}.")
        return 0
    wanted = others if undo else [*others, spec()]
    formatted = settings_text.formatted(before, wanted)
    after = settings_text.with_value(before, KEY, formatted) if wanted else settings_text.without(before, KEY)
    settings_file.show_change(path, text, after, environ)
    if not settings_file.is_confirmed(yes):
        return 1
    settings_file.write(path, text, after)
    print(f"PopKit is out of {path}." if undo else f"PopKit is in {path}. Start OpenCode again to load it.")
    return 0


def _plugins(path: str, text: str) -> list[Any]:
    try:
        found = settings_text.value_text(text, KEY)
    except (ValueError, RecursionError):
        line = f'"{KEY}": ["{spec()}"]'
        raise Refused(f"{path} is left alone, because it is not plain JSON. Add this to it yourself: {line}") from None
    plugins = loads(found) if found else []
    if not isinstance(plugins, list):
        raise Refused(f'{path} is left alone, because its "{KEY}" is no list')
    return plugins


def _is_ours(plugin: object) -> bool:
    named = plugin[0] if isinstance(plugin, list) and plugin else plugin
    return isinstance(named, str) and named.endswith(_OURS)
