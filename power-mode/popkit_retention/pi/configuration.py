"""The settings of pi that name extensions. What they say of ours is read here, never changed."""

from __future__ import annotations

import os

from popkit_retention.core.io import home
from popkit_retention.core.io.storage import LOGS, Storage

from ..cli.host_settings import HostSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


PI = "pi"
KEY = "extensions"
SCOPES = ("user", "project")
FOLDER = "/power-mode/pi"
_PREVIOUS = "pi.previous.json"
STORAGE = (Storage(LOGS, {"": r"pi\.previous\.json"}),)


def folder() -> str:
    """Return where our extension is, which is how the settings name it."""
    return home.plugin_root() + FOLDER


def path_of(scope: str, environ: Mapping[str, str]) -> str:
    """Return the path of the settings of a scope, which need not be there."""
    if scope == "project":
        folder = os.path.join(os.getcwd(), ".pi")
    else:
        folder = environ.get("PI_CODING_AGENT_DIR") or os.path.join(home.user_folder(environ), ".pi", "agent")
    return os.path.realpath(os.path.join(folder, "settings.json"))


def is_ours(extension: object) -> bool:
    """Return whether an entry of the list is our extension, whatever its folder."""
    return isinstance(extension, str) and extension.rstrip("/").removesuffix("/index.ts").endswith(FOLDER)


def named_extension(environ: Mapping[str, str], scope: str = "user") -> str:
    """Return how the settings name our extension; "" where they do not, or cannot be read."""
    return str(SETTINGS.ours_in(lambda: path_of(scope, environ)))


SETTINGS = HostSettings(PI, KEY, _PREVIOUS, FOLDER, folder, is_ours)
