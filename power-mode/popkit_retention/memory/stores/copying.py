"""One store's contents into another: backups of stores that are no file, and back again."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from hooks.utils.edges import files

from . import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from . import Store

_BATCH = 500
_ALL = 2**31  # more entries than any audit has


def copy(source: Store, target: Store) -> int:
    """Adds to a store all that another one keeps; how many items. DuplicateId where an item is there already: what came before it stays."""
    copied = 0
    items = source.scan()
    while batch := list(islice(items, _BATCH)):
        target.add(batch)
        for item in batch:
            if item.original and (text := source.original(item.id)) is not None:
                target.keep_original(item.id, text)
        copied += len(batch)
    for key, value in source.values("").items():
        target.set_value(key, value)
    target.log(source.logged(most=_ALL)[::-1])
    return copied


def back_up(store: Store, path: str) -> None:
    """A store's contents as a new SqliteStore."""
    from .sqlite import SqliteStore

    def write(partial: str) -> None:
        target = SqliteStore(partial)
        try:
            copy(store, target)
        finally:
            target.close()

    whole_or_not(path, write)


def whole_or_not(path: str, write: Callable[[str], None]) -> None:
    """Makes a new private file of what `write(path)` writes, under another name until it is done. StoreUnavailable where it cannot be."""
    partial = f"{path}.{os.getpid()}.tmp"
    try:
        if os.path.lexists(path):
            raise StoreUnavailable(f"{path} is there already. Choose another name for the backup")
        files.make_private_file(partial)
        write(partial)
        Path(partial).replace(path)
    except OSError as error:
        raise StoreUnavailable(f"the backup {path} cannot be written ({error.strerror or error}). Choose another place") from None
    finally:
        for left in (partial, partial + "-journal"):
            if os.path.lexists(left):
                Path(left).unlink()
