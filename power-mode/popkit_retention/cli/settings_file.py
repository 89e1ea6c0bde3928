"""Change a settings file, once the user agrees to the change that was shown, only if the file has not changed meanwhile."""

from __future__ import annotations

import difflib
import json
import os
import stat
import sys

from popkit_retention.core.config.fields import FIELDS
from popkit_retention.core.io import files, home
from popkit_retention.core.io.codec import dumps
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.text import clean, whole

from . import terminal
from .answering import Refused
from .json_text import formatted, members_of, value_text, with_value, without

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


WRAPPER = "retention"


def read(path: str) -> str | None:
    """Return the text of a file, byte for byte; None for a missing or empty one. Refused where it is not UTF-8, OSError where it is not a
    regular file."""
    try:
        with files.open_regular(path) as file:
            return file.read().decode("utf-8") or None
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Refused(f"{path} is left alone, because it is not UTF-8") from None


def show_change(path: str, before: str | None, after: str, environ: Mapping[str, str], hidden: Callable[[str], str] = str) -> None:
    """Show what would change, line by line; `hidden` removes secrets from a line."""
    diff = difflib.unified_diff((before or "").splitlines(), after.splitlines(), path, path, "now", "then", lineterm="")
    terminal.write_view([whole(*(clean(hidden(line).replace("\t", "    ")) for line in diff))], sys.stdout, environ)


def is_confirmed(yes: bool) -> bool:
    """Ask whether to make the change that was shown, unless `yes`."""
    if yes or terminal.is_confirmed("Make this change?"):
        return True
    print("Nothing was changed. --yes skips the question.")
    return False


def write(path: str, before: str | None, after: str) -> None:
    """Replace the file atomically; it keeps its mode, and a new one is private. Refused if it has changed meanwhile."""
    _check_unchanged(path, before)
    files.make_private_folder(os.path.dirname(path))
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o600
    files.replace_text(path, after, mode)


def remove(path: str, before: str | None) -> None:
    """Remove the file. Refused if it is no longer what it was."""
    _check_unchanged(path, before)
    files.remove(path)


def _check_unchanged(path: str, before: str | None) -> None:
    if read(path) != before:
        raise Refused(f"{path} has changed in the meantime, so nothing was written. Try again")


class ReplacedValues:
    """A file of our folder with what our changes replaced, until they are undone: path of a settings file -> a JSON value. A file that is
    not understood holds nothing."""

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self._path = os.path.join(home.popkit_home(environ), name)

    def of(self, path: str) -> object:
        """Return what a settings file had before; None where nothing is kept for it."""
        return files.read_object(self._path).get(path)

    def keep(self, path: str, value: object) -> None:
        """Keep what a settings file has before a change. OSError where our folder cannot be written, or where the values kept for other
        files cannot be read: they would be lost."""
        files.read_bytes(self._path)
        self._write({**files.read_object(self._path), path: value})

    def forget(self, path: str) -> None:
        """Delete what is kept for a settings file: the change is undone, or there was nothing to keep."""
        kept = files.read_object(self._path)
        if kept.pop(path, None) is not None:
            self._write(kept)

    def _write(self, kept: dict[str, object]) -> None:
        if kept:
            files.make_private_folder(os.path.dirname(self._path))
            files.replace_text(self._path, dumps(kept))
        else:
            files.remove(self._path)


def change_own(changed: Mapping[str, Mapping[str, Any]], yes: bool, dry_run: bool, environ: Mapping[str, str]) -> bool:
    """Show a change of the user's own configuration, ask, and make it if the file has not changed meanwhile; return whether the file now
    has the wanted text. `changed`: as in `with_settings`."""
    path = _own_path(environ)
    before = read(path)
    try:
        after = with_settings(before or "{}\n", changed)
    except (ValueError, RecursionError):
        line = json.dumps(changed)[1:-1]
        raise Refused(f"{path} cannot be changed: it has comments, or is not valid. Put this into its object {WRAPPER}: {line}") from None
    if after == before:
        terminal.say(f"{path} already has these settings.", environ)
        return True
    show_change(path, before, after, environ, mask)
    if dry_run:
        terminal.say("Nothing was changed.", environ)
        return False
    if not is_confirmed(yes):
        return False
    write(path, before, after)
    terminal.say(f"Changed {path}.", environ)
    return True


def with_settings(text: str, changed: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a configuration with members of records changed; a value of None removes the member. ValueError for a text that is not a JSON
    object."""
    members = members_of(text)
    if any(member.name == WRAPPER for member in members) or not any(member.name in FIELDS for member in members):
        inner = json.loads(value_text(text, WRAPPER) or "{}")
        if not isinstance(inner, dict):
            raise ValueError("it holds no settings there")
        return with_value(text, WRAPPER, formatted(text, _joined(inner, changed)))
    inner = _joined({name: json.loads(value_text(text, name) or "null") for name in changed}, changed)
    for name in changed:
        text = with_value(text, name, formatted(text, inner[name])) if name in inner else without(text, name)
    return text


def _joined(inner: dict[str, object], changed: Mapping[str, Mapping[str, Any]]) -> dict[str, object]:
    joined = dict(inner)
    for name, value in changed.items():
        known = joined.get(name) or {}
        if not isinstance(known, dict):
            raise ValueError("it holds no settings there")
        joined[name] = {key: inside for key, inside in {**known, **value}.items() if inside is not None}
        if not joined[name]:
            del joined[name]
    return joined


def _own_path(environ: Mapping[str, str]) -> str:
    return os.path.realpath(os.path.join(home.popkit_home(environ), "retention-config.json"))
