"""Keep what the files of OpenCode's configuration were before `popkit setup opencode` changed them, so that `--undo` gives that back."""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

from hooks.utils.io import files, home
from hooks.utils.io.codec import dumps
from hooks.utils.io.storage import LOGS, Storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_NAME = "opencode.previous.json"
STORAGE = (Storage(LOGS, {"": r"opencode\.previous\.json"}),)


class Before(NamedTuple):
    """What a file was: its `text`, None where there was no file. `is_as_left`: nobody has changed it since we did."""

    text: str | None
    is_as_left: bool


def of(path: str, text: str | None, environ: Mapping[str, str]) -> Before | None:
    """Return what a file was that now has this text; None where that is not known."""
    kept = _kept(environ).get(path)
    if not isinstance(kept, dict) or not isinstance(kept.get("before"), (str, type(None))):
        return None
    return Before(kept["before"], kept.get("after") == _hash(text))


def keep(path: str, before: Before, after: str, environ: Mapping[str, str]) -> None:
    """Keep what a file was, which is about to get the text `after`. OSError where our folder cannot be written."""
    _write({**_kept(environ), path: {"before": before.text, "after": _hash(after)}}, environ)


def forget(path: str, environ: Mapping[str, str]) -> None:
    """Forget a file: it is what it was again."""
    kept = _kept(environ)
    if kept.pop(path, None) is not None:
        _write(kept, environ)


def _hash(text: str | None) -> str:
    return hashlib.sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()


def _kept(environ: Mapping[str, str]) -> dict[str, Any]:
    return files.read_object(_place(environ))


def _write(kept: dict[str, Any], environ: Mapping[str, str]) -> None:
    place = _place(environ)
    if kept:
        files.make_private_folder(os.path.dirname(place))
        files.replace_text(place, dumps(kept))
    else:
        files.remove(place)


def _place(environ: Mapping[str, str]) -> str:
    return os.path.join(home.popkit_home(environ), _NAME)
