"""Keep the effective configuration between hooks: checking four files takes a hook 1 ms, comparing their stamps none.

The cache is ours alone (0600, in our folder); it is used only while every file is the one that was read, and the reader is the same.
"""

from __future__ import annotations

from ..io import files, home
from ..io.codec import dumps, loads
from ..io.system import join, os, parent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# A cached configuration is swept a month after it was made, at most this many at a session's start.
KEPT_S = 30 * 86_400
SWEPT_AT_ONCE = 50
# Modules of the reader: where they change, the same files may mean something else.
_READER = ("fields.py", "validation.py", "layers.py", "gone.py")


def effective(root: str, popkit_home: str, project: str) -> dict[str, Any]:
    """Return the effective `retention` object of a project, from the cache where it holds (else from `layers.load`). From the cache, its
    `models` are a function that returns them: they are most of it, and few ask for them (`models_of`)."""
    paths = [
        join(root, "retention-config.json"),
        join(root, "power-mode", "config.json"),
        join(popkit_home, "retention-config.json"),
        join(project, ".claude", "retention-config.json") if project else "",
        home.managed_config(),
    ]
    stamps = [files.stamp_of(path) for path in (*paths, *(join(parent_of(__file__), name) for name in _READER))]
    cache = join(popkit_home, "cache", "config-" + home.safe_name(project) + ".jsonl")
    known = _cached(cache, [stamps, paths])
    if known is not None:
        return known
    from . import layers

    config = layers.load(root, popkit_home, project or None)
    if config.get("enabled") is not False:  # switched off means that nothing is written
        _keep(cache, [stamps, paths], config)
    return config


def _cached(cache: str, key: list[Any]) -> dict[str, Any] | None:
    """Return the cached configuration under this key; None when there is none that can be read."""
    try:
        text, _, models = (files.read_text(cache) or "").partition("\n")
        known = loads(text)
    except (OSError, ValueError):
        return None
    if not (isinstance(known, list) and len(known) == 3 and known[:2] == key and isinstance(known[2], dict)):
        return None
    if models:
        known[2]["models"] = lambda: loads(models)
    return known[2]


def _keep(cache: str, key: list[Any], config: dict[str, Any]) -> None:
    """Write the cache, its models in a line of their own, but make no home for it: a process that was still at work would undo an
    uninstall."""
    rest = {name: value for name, value in config.items() if name != "models"}
    try:
        models = "\n" + dumps(config["models"]) if "models" in config else ""
        if not files.is_there(parent_of(cache)):
            os.mkdir(parent_of(cache), 0o700)
        files.replace_text(cache, dumps([*key, rest]) + models)
    except (OSError, ValueError):
        return  # no home, or one that cannot be written: the next hook reads the files again


def sweep_cached(popkit_home: str, now: float, budget: int = SWEPT_AT_ONCE) -> int:
    """Remove at most `budget` cached configurations that were made long ago; return how many. A project that is still worked in makes its
    own again. `now` in seconds."""
    folder = join(popkit_home, "cache")
    deleted = 0
    for name in files.names(folder):
        if deleted >= budget:
            break
        try:
            if name.startswith("config-") and now - os.lstat(join(folder, name)).st_mtime > KEPT_S:
                os.unlink(join(folder, name))
                deleted += 1
        except OSError:
            continue  # another hook was faster, or it is a folder
    return deleted
