"""The effective configuration, remembered between hooks: reading and checking four files takes a hook 1 ms, comparing their stamps none.

The cache is ours alone (0600, in our folder) and holds what the reader made of the files; it is used only while every file is the
one that was read, and while the reader is the same.
"""

from __future__ import annotations

from . import files, home
from .codec import dumps, loads
from .system import join, os, parent_of

# What makes something else of the same files when it changes.
_READER = ("config_fields.py", "config_reader.py")


def effective(root: str, popkit_home: str, project: str) -> dict:
    """The effective `retention` object of a project (see config_reader.load, which it saves in most calls)."""
    paths = [
        join(root, "retention-config.json"),
        join(root, "power-mode", "config.json"),
        join(popkit_home, "retention-config.json"),
        join(project, ".claude", "retention-config.json") if project else "",
    ]
    stamps = [_stamp(path) for path in (*paths, *(join(parent_of(__file__), name) for name in _READER))]
    cache = join(popkit_home, "cache", "config-" + home.safe_name(project) + ".json")
    try:
        known = loads(files.read_text(cache) or "null")
        if isinstance(known, list) and len(known) == 3 and known[0] == stamps and known[1] == paths and isinstance(known[2], dict):
            return known[2]
    except (OSError, ValueError):
        pass  # no cache, or none that can be read: the files themselves tell
    return _read(root, popkit_home, project, cache, [stamps, paths])


def _read(root: str, popkit_home: str, project: str, cache: str, key: list) -> dict:
    from . import config_reader

    config = config_reader.load(root, popkit_home, project or None)
    if config.get("enabled") is False:
        return config  # switched off means that nothing is written
    try:
        files.make_private_folder(join(popkit_home, "cache"))
        files.replace_text(cache, dumps([*key, config]))
    except (OSError, ValueError):
        pass  # a folder that cannot be written: the next hook reads the files again
    return config


def _stamp(path: str) -> list | None:
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]
