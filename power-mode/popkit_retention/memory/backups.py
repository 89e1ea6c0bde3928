"""Backups of what is kept for good: the ARCHIVE tier of all projects as the lines of an export, once a week, the last four of them."""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING

from hooks.utils.edges import durable, files

from . import exchange
from .forgetting import DAY_S
from .items import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Collection

    from .stores import Store

KEPT = 4
EVERY_S = 7 * DAY_S
_BEFORE, _BEHIND = "archive-", ".jsonl"
_NAME = re.compile(rf"{_BEFORE}([0-9]{{1,15}}){re.escape(_BEHIND)}")


def back_up(store: Store, folder: str, now: float) -> str | None:
    """Writes a backup into a folder where the last one is a week old; the path of a new one. It is read back to prove that it can be
    imported. BadItem, OSError where it cannot be made; the last ones stay."""
    times = {name: at if at <= now else 0.0 for name, at in _times(folder).items()}  # a clock may have leapt, or a name lie
    if times and now - max(times.values()) < EVERY_S:
        return None
    text = "".join(exchange.lines_of(store, None, now, (ARCHIVE,)))
    exchange.read(exchange.lines_in(text), math.inf)  # a clock that has leapt back spoils no backup
    path = os.path.join(folder, f"{_BEFORE}{now:.0f}{_BEHIND}")
    durable.write(path, files.encoded(text))
    for name in sorted(times, key=times.__getitem__, reverse=True)[KEPT - 1 :]:
        os.unlink(os.path.join(folder, name))
    return path


def forget(folder: str, ids: Collection[str]) -> None:
    """Takes items out of all backups: what the user forgot is nowhere any more. A backup that is damaged, and tells of one of them, goes:
    it could not be imported."""
    for name in _times(folder) if ids else ():
        path = os.path.join(folder, name)
        text = files.read_text(path) or ""
        left = exchange.without(text, ids)
        if left != text:
            durable.write(path, files.encoded(left))
        elif any(id in text for id in ids):
            os.unlink(path)


def _times(folder: str) -> dict[str, float]:
    """The backups in a folder: name -> when (seconds)."""
    try:
        with os.scandir(folder) as found:
            known = [each.name for each in found if each.is_file(follow_symlinks=False)]  # anything else is not ours
    except FileNotFoundError:
        return {}
    return {name: at for name in known if (at := _made_at(name)) is not None}


def _made_at(name: str) -> float | None:
    """When a backup of this file name was made (seconds); None for another file."""
    found = _NAME.fullmatch(name)
    return float(found[1]) if found else None
