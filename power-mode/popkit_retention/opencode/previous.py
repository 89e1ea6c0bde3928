"""What the files of OpenCode's configuration were before our first change."""

from __future__ import annotations

from popkit_retention.core.io.storage import LOGS, Storage

from ..cli import earlier_texts, settings_file
from ..cli.earlier_texts import Before

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STORAGE", "Before", "keep", "kept", "previous"]

_NAME = "opencode.previous.json"
STORAGE = (Storage(LOGS, {"": r"opencode\.previous\.json"}),)


def previous(path: str, text: str | None, environ: Mapping[str, str]) -> Before | None:
    """Return the earlier state of a file that now has this text; None where it is unknown."""
    return earlier_texts.before_of(kept(environ), path, text)


def keep(path: str, before: Before, after: str, environ: Mapping[str, str]) -> None:
    """Keep the state of a file that is about to get the text `after`. OSError where our folder cannot be written."""
    earlier_texts.keep(kept(environ), path, before, after)


def kept(environ: Mapping[str, str]) -> settings_file.Previous:
    return settings_file.Previous(_NAME, environ)
