"""The files of OpenCode's configuration that name plugins. What they say of ours is read here, never changed."""

from __future__ import annotations

import os
from pathlib import Path

from popkit_retention.core.io import home
from popkit_retention.core.io.codec import as_text
from popkit_retention.core.io.storage import LOGS, Storage

from ..cli.host_settings import HostSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


OPENCODE = "opencode"
KEY = "plugin"
SCOPES = ("user", "project")
# Files of OpenCode's configuration that name plugins: of its server, which has the door, and of its terminal, which has the pane.
SERVER, TERMINAL = OPENCODE, "tui"
FOLDER = "/power-mode/opencode"
_PREVIOUS = "opencode.previous.json"
STORAGE = (Storage(LOGS, {"": r"opencode\.previous\.json"}),)


def folder() -> str:
    """Return where our plugin is."""
    return home.plugin_root() + FOLDER


def spec() -> str:
    """Return how OpenCode's configuration names our plugin."""
    return Path(folder()).as_uri()


def path_of(kind: str, scope: str, environ: Mapping[str, str]) -> str:
    """Return the path of a kind of file: that of the existing file, or of the one to create."""
    place = os.getcwd() if scope == "project" else _user_folder(environ)
    names = [os.path.join(place, kind + ending) for ending in (".json", ".jsonc")]
    return os.path.realpath(next(filter(os.path.exists, names), names[0]))


def _user_folder(environ: Mapping[str, str]) -> str:
    chosen = environ.get("OPENCODE_CONFIG_DIR")
    return chosen or os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home.user_folder(environ), ".config"), "opencode")


def plugin_named(plugin: object) -> str:
    """Return what an entry of the list names: a text, or a pair of it and the plugin's options."""
    named = plugin[0] if isinstance(plugin, list) and plugin else plugin
    return as_text(named)


def is_ours(plugin: object) -> bool:
    """Return whether an entry of the list is our plugin, whatever its folder."""
    return plugin_named(plugin).rstrip("/").endswith(FOLDER)


def named_plugin(environ: Mapping[str, str], scope: str = "user", kind: str = SERVER) -> str:
    """Return how a file names our plugin; "" where it does not, or cannot be read."""
    return plugin_named(SETTINGS.ours_in(lambda: path_of(kind, scope, environ)))


def is_in_opencode(environ: Mapping[str, str], scope: str) -> bool:
    """Return whether any file of a scope names our plugin."""
    return any(named_plugin(environ, scope, kind) for kind in (SERVER, TERMINAL))


# OpenCode itself puts $schema into a file that lacks it.
SETTINGS = HostSettings("OpenCode", KEY, _PREVIOUS, FOLDER, spec, is_ours, ["$schema"])
