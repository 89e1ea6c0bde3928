"""Detect whether this process still runs the code on disk: the plugin's folder may be updated while the process lives."""

from __future__ import annotations

import os
import sys

from ..io import home


class OwnCode:
    """The files of our modules as they were when each was first seen."""

    def __init__(self) -> None:
        self._root = home.plugin_root() + os.sep
        self._stamps: dict[str, tuple[int, int]] = {}
        self.has_changed()

    def has_changed(self) -> bool:
        """Return whether a file of the running code has changed. A missing file does not count: PopKit was removed, and nothing could take
        our place."""
        changed = False
        for module in tuple(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if not isinstance(path, str) or not path.startswith(self._root):
                continue
            try:
                found = os.stat(path)
            except OSError:
                continue
            stamp = (found.st_mtime_ns, found.st_size)
            changed |= self._stamps.setdefault(path, stamp) != stamp
        return changed
