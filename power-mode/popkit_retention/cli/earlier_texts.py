"""What a file of another program's configuration was before our first change, so that an undo gives it back byte for byte."""

from __future__ import annotations

from typing import NamedTuple

from popkit_retention.core.io.system import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .settings_file import Previous


class Before(NamedTuple):
    """The earlier state of a file: its `text`, None where there was no file. `is_as_left`: nobody has changed the file since we did."""

    text: str | None
    is_as_left: bool


def before_of(kept: Previous, path: str, text: str | None) -> Before | None:
    """Return the earlier state of a file that now has this text; None where it is unknown."""
    record: Any = kept.of(path)
    try:
        before, after = record["before"], record["after"]
        (before or "").encode()  # half a surrogate has no place in a file
    except (KeyError, TypeError, AttributeError, UnicodeEncodeError):  # not a record of ours
        return None
    return Before(before, after == _hash(text))


def keep(kept: Previous, path: str, before: Before, after: str) -> None:
    """Keep the state of a file that is about to get the text `after`. OSError where our folder cannot be written."""
    kept.keep(path, {"before": before.text, "after": _hash(after)})


def _hash(text: str | None) -> str:
    return sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()
