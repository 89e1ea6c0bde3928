"""The effective configuration, remembered between hooks: reading and checking four files takes a hook 1 ms, comparing their stamps none.

The cache is ours alone (0600, in our folder) and holds what the reader made of the files; it is used only while every file is the
one that was read, and while the reader is the same.
"""

from __future__ import annotations

from ..io import files, home
from ..io.codec import dumps, loads
from ..io.system import join, os, parent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A remembered configuration is swept a month after it was made, so many at a session's start.
KEPT_S = 30 * 86_400
SWEPT_AT_ONCE = 50
# What makes something else of the same files when it changes.
_READER = ("fields.py", "usable.py", "layers.py")


def effective(root: str, popkit_home: str, project: str) -> dict[str, Any]:
    """The effective `retention` object of a project (see layers.load, which it saves in most calls)."""
    paths = [
        join(root, "retention-config.json"),
        join(root, "power-mode", "config.json"),
        join(popkit_home, "retention-config.json"),
        join(project, ".claude", "retention-config.json") if project else "",
    ]
    stamps = [_stamp(path) for path in (*paths, *(join(parent_of(__file__), name) for name in _READER))]
    cache = join(popkit_home, "cache", "config-" + home.safe_name(project) + ".json")
    known = _remembered(cache, [stamps, paths])
    if known is not None:
        return known
    from . import layers

    config = layers.load(root, popkit_home, project or None)
    if config.get("enabled") is not False:  # switched off means that nothing is written
        _remember(cache, [stamps, paths, config])
    return config


def _remembered(cache: str, key: list[Any]) -> dict[str, Any] | None:
    """What is remembered under this key; None when there is nothing (readable), and the files themselves must tell."""
    try:
        with files.open_regular(cache) as file:  # a pipe in its place would keep a hook waiting
            known = loads(file.read().decode())
    except (OSError, ValueError):
        return None
    return known[2] if isinstance(known, list) and len(known) == 3 and known[:2] == key and isinstance(known[2], dict) else None


def _remember(cache: str, entry: list[Any]) -> None:
    try:
        files.make_private_folder(parent_of(cache))
        files.replace_text(cache, dumps(entry))
    except (OSError, ValueError):
        return  # a folder that cannot be written: the next hook reads the files again


def sweep(popkit_home: str, now: float, budget: int = SWEPT_AT_ONCE) -> int:
    """Removes remembered configurations that were made long ago, at most `budget` of them; how many. A project that is still worked in
    makes its own again. `now` in seconds."""
    folder = join(popkit_home, "cache")
    gone = 0
    for name in files.names(folder):
        if gone >= budget:
            break
        try:
            if name.startswith("config-") and now - os.lstat(join(folder, name)).st_mtime > KEPT_S:
                os.unlink(join(folder, name))
                gone += 1
        except OSError:
            continue  # another hook was faster, or it is a folder
    return gone


def _stamp(path: str) -> list[int] | None:
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]
