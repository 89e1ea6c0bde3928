"""Change a settings file on the user's word: the change is shown first, and made only while the file is what it was."""

from __future__ import annotations

import difflib
import os
import stat
import sys

from hooks.utils.io import files
from hooks.utils.text import clean

from . import screen
from .answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def read(path: str) -> str | None:
    """Return the text of a file, byte for byte; None when there is none or nothing in it. Refused where it is not UTF-8, OSError where it
    is no regular file."""
    try:
        with files.open_regular(path) as file:
            return file.read().decode("utf-8") or None
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Refused(f"{path} is left alone, because it is not UTF-8") from None


def show_change(path: str, before: str | None, after: str, environ: Mapping[str, str], hidden: Callable[[str], str] = str) -> None:
    """Show what would change, line by line; `hidden` takes secrets out of a line."""
    diff = difflib.unified_diff((before or "").splitlines(), after.splitlines(), path, path, "now", "then", lineterm="")
    screen.show([clean(hidden(line).replace("\t", "    ")) for line in diff], sys.stdout, environ)


def is_confirmed(yes: bool) -> bool:
    """Ask for the change that was shown, unless `yes` answers beforehand."""
    if yes or screen.is_confirmed("Make this change?"):
        return True
    print("Nothing was changed. --yes answers beforehand.")
    return False


def write(path: str, before: str | None, after: str) -> None:
    """Replace the file atomically; it keeps its mode, and a new one is private. Refused if it is no longer what it was."""
    if read(path) != before:
        raise Refused(f"{path} has changed in the meantime, so nothing was written. Try again")
    files.make_private_folder(os.path.dirname(path))
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o600
    files.replace_text(path, after, mode)
