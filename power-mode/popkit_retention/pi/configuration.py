"""The settings of pi that name extensions. What they say of ours is read here, never changed."""

from __future__ import annotations

import os

from popkit_retention.core.io import home
from popkit_retention.core.io.codec import loads
from popkit_retention.core.io.storage import LOGS, Storage

from ..cli import json_text, settings_file
from ..cli.answering import Refused
from ..cli.host_settings import HostSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


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


def extensions_of(path: str, text: str, undo: bool) -> list[Any]:
    """Return the extensions that settings name. Refused where they are not understood."""
    try:
        value = json_text.value_text(text, KEY)
        extensions = loads(value) if value else []
    except (ValueError, RecursionError) as error:
        remedy = f"Remove {FOLDER[1:]} from its {KEY} list" if undo else f'Add this to it: "{KEY}": ["{folder()}"]'
        raise Refused(f"{path} is left alone, because it is not valid JSON: {error}. {remedy}") from None
    if not isinstance(extensions, list):
        raise Refused(f'{path} is left alone, because its "{KEY}" is not a list')
    return extensions


def is_ours(extension: object) -> bool:
    """Return whether an entry of the list is our extension, whatever its folder."""
    return isinstance(extension, str) and extension.rstrip("/").removesuffix("/index.ts").endswith(FOLDER)


def named_extension(environ: Mapping[str, str], scope: str = "user") -> str:
    """Return how the settings name our extension; "" where they do not, or cannot be read."""
    try:
        path = path_of(scope, environ)
        extensions = extensions_of(path, settings_file.read(path) or "{}", undo=False)
    except (OSError, Refused, home.NoHome):
        return ""
    return next(filter(is_ours, extensions), "")


SETTINGS = HostSettings(PI, KEY, _PREVIOUS, extensions_of, is_ours)
