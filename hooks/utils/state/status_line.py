"""Keep the choices on our line under the prompt in a small file of our folder (a damaged one counts as empty): whether a person wants it
where the client lets code of ours draw there; whether a client has drawn it."""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps
from ..io.storage import LOGS, Storage
from ..io.system import join

FILE = "status-line.json"
STORAGE = (Storage(LOGS, {"": r"status-line\.json"}),)
_ON, _SITE = "on", "site"


def is_on(popkit_home: str) -> bool:
    """Return whether the person wants it there."""
    return _read(popkit_home, _ON)


def has_site(popkit_home: str) -> bool:
    """Return whether a client of this machine has asked for that line."""
    return _read(popkit_home, _SITE)


def turn(popkit_home: str, on: bool) -> None:
    """Keep whether the person wants it there. OSError where that cannot be written."""
    _write(popkit_home, _ON, on)


def note_site(popkit_home: str) -> None:
    """Keep that a client has asked for that line. OSError where that cannot be written."""
    if not has_site(popkit_home):
        _write(popkit_home, _SITE, True)


def _read(popkit_home: str, name: str) -> bool:
    return files.read_object(join(popkit_home, FILE)).get(name) is True


def _write(popkit_home: str, name: str, value: bool) -> None:
    files.make_private_folder(popkit_home)
    path = join(popkit_home, FILE)
    with files.lock_of(path):
        files.replace_text(path, dumps({**files.read_object(path), name: value}))
