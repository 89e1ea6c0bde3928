"""Change a settings file on the user's word: the change is shown first, and made only while the file is what it was. The user's own
configuration is one of them; everything else in it stays as it is.
"""

from __future__ import annotations

import difflib
import json
import os
import stat
import sys

from hooks.utils.config.fields import FIELDS
from hooks.utils.io import files, home
from hooks.utils.policy.masking import mask
from hooks.utils.text import clean

from . import screen, settings_text
from .answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

WRAPPER = "retention"


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


def change(
    path: str, before: str | None, after: str, yes: bool, dry_run: bool, environ: Mapping[str, str],
    hidden: Callable[[str], str] = str, command: str = "", effect: str = "",
) -> bool:  # fmt: skip
    """Show the change, ask, make it if the file is still what it was; return whether the file now says what was asked for. `command`: what
    a dry run names to make the change; `effect`: a sentence on when the change takes effect."""
    if after == before:
        print(f"{clean(path)} asks for just that already.")
        return True
    show_change(path, before, after, environ, hidden)
    if dry_run:
        print("Nothing was changed." + (f" To make this change: {command}" if command else ""))
        return False
    if not is_confirmed(yes):
        return False
    write(path, before, after)
    print(" ".join(filter(None, (f"Changed {clean(path)}.", effect))))
    return True


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


# --- the user's own configuration --------------------------------------------------------------------------------------------------------


def own_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the user's own configuration says, as far as it is plain JSON; {} for anything else."""
    try:
        document = json.loads(read(_own_path(environ)) or "{}")
    except (ValueError, RecursionError):
        return {}
    inner = document.get(WRAPPER, document) if isinstance(document, dict) else {}
    return inner if isinstance(inner, dict) else {}


def change_own(changed: Mapping[str, Any], yes: bool, dry_run: bool, environ: Mapping[str, str]) -> bool:
    """Change settings in the user's own configuration, as `change` does; `changed`: as `with_settings` takes it."""
    path = _own_path(environ)
    before = read(path)
    try:
        after = with_settings(before or "{}\n", changed)
    except (ValueError, RecursionError):
        line = json.dumps(changed)[1:-1]
        raise Refused(f"{path} cannot be changed: it has comments, or is not valid. Put this into its object {WRAPPER}: {line}") from None
    return change(path, before, after, yes, dry_run, environ, mask)


def with_settings(text: str, changed: Mapping[str, Any]) -> str:
    """Return a configuration with settings changed: a record by the members that are given, any other as a whole, None takes it out.
    ValueError for a text that is no JSON object."""
    members = settings_text.members(text)
    if any(member.name == WRAPPER for member in members) or not any(member.name in FIELDS for member in members):
        inner = json.loads(settings_text.value_text(text, WRAPPER) or "{}")
        if not isinstance(inner, dict):
            raise ValueError("it holds no settings there")
        return settings_text.with_value(text, WRAPPER, settings_text.formatted(text, _joined(inner, changed)))
    inner = _joined({name: json.loads(settings_text.value_text(text, name) or "null") for name in changed}, changed)
    for name in changed:
        if name in inner:
            text = settings_text.with_value(text, name, settings_text.formatted(text, inner[name]))
        else:
            text = settings_text.without(text, name)
    return text


def _joined(inner: dict[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    joined = {name: value for name, value in inner.items() if name not in changed or changed[name] is not None}
    for name, value in changed.items():
        if isinstance(value, dict):
            known = joined.get(name) or {}
            if not isinstance(known, dict):
                raise ValueError("it holds no settings there")
            joined[name] = {key: inside for key, inside in {**known, **value}.items() if inside is not None}
            if not joined[name]:
                del joined[name]
        elif value is not None:
            joined[name] = value
    return joined


def _own_path(environ: Mapping[str, str]) -> str:
    return os.path.realpath(os.path.join(home.popkit_home(environ), "retention-config.json"))
