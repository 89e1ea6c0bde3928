"""What the files of OpenCode's configuration were before our first change, so that `--undo` gives it back byte for byte."""

from __future__ import annotations

from typing import NamedTuple

from popkit_retention.core.io.storage import LOGS, Storage
from popkit_retention.core.io.system import sha256

from ..cli import settings_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_NAME = "opencode.previous.json"
STORAGE = (Storage(LOGS, {"": r"opencode\.previous\.json"}),)


class Before(NamedTuple):
    """The earlier state of a file: its `text`, None where there was no file. `is_as_left`: nobody has changed the file since we did."""

    text: str | None
    is_as_left: bool


def previous(path: str, text: str | None, environ: Mapping[str, str]) -> Before | None:
    """Return the earlier state of a file that now has this text; None where it is unknown."""
    record: Any = kept(environ).of(path)
    try:
        before, after = record["before"], record["after"]
        (before or "").encode()  # half a surrogate has no place in a file
    except (KeyError, TypeError, AttributeError, UnicodeEncodeError):  # not a record of ours
        return None
    return Before(before, after == _hash(text))


def keep(path: str, before: Before, after: str, environ: Mapping[str, str]) -> None:
    """Keep the state of a file that is about to get the text `after`. OSError where our folder cannot be written."""
    kept(environ).keep(path, {"before": before.text, "after": _hash(after)})


def _hash(text: str | None) -> str:
    return sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()


def kept(environ: Mapping[str, str]) -> settings_file.Previous:
    return settings_file.Previous(_NAME, environ)
