"""Backups of what is kept for good: the ARCHIVE tier of all projects as the lines of an export, once a week, the last four of them."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from hooks.utils.edges import files

from . import exchange
from .forgetting import DAY_S
from .items import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Collection

    from .stores import Store

KEPT = 4
EVERY_S = 7 * DAY_S
_BEFORE, _BEHIND = "archive-", ".jsonl"


def back_up(store: Store, folder: str, now: float) -> str | None:
    """Writes a backup into a folder where the last one is a week old; the path of a new one. It is read back to prove that it can be
    imported. BadItem, OSError where it cannot be made; the last ones stay."""
    times = _times(folder)
    if times and 0 <= now - max(times.values()) < EVERY_S:
        return None
    text = "".join(exchange.lines_of(store, None, now, (ARCHIVE,)))
    exchange.read(exchange.lines_in(text), math.inf)  # a clock that has leapt back spoils no backup
    files.make_private_folder(folder)
    path = os.path.join(folder, f"{_BEFORE}{now:.0f}{_BEHIND}")
    files.replace_text(path, text)
    for name in sorted(times, key=times.__getitem__, reverse=True)[KEPT - 1 :]:
        os.unlink(os.path.join(folder, name))
    return path


def forget(folder: str, ids: Collection[str]) -> None:
    """Takes items out of all backups: what the user forgot is nowhere any more."""
    for name in _times(folder):
        path = os.path.join(folder, name)
        text = files.read_text(path) or ""
        left = exchange.without(text, ids)
        if left != text:
            files.replace_text(path, left)


def _times(folder: str) -> dict[str, float]:
    """The backups in a folder: name -> when (seconds)."""
    try:
        return {name: at for name in os.listdir(folder) if (at := _made_at(name)) is not None}
    except FileNotFoundError:
        return {}


def _made_at(name: str) -> float | None:
    """When a backup of this file name was made (seconds); None for another file."""
    digits = name[len(_BEFORE) : -len(_BEHIND)]
    return float(digits) if name.startswith(_BEFORE) and name.endswith(_BEHIND) and digits.isdigit() else None
