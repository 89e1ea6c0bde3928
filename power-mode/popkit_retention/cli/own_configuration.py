"""Settings in the user's own configuration, changed on the user's word; everything else in the file stays as it stands."""

from __future__ import annotations

import json
import os

from hooks.utils.config.fields import FIELDS
from hooks.utils.io import home
from hooks.utils.policy.masking import mask
from hooks.utils.text import clean

from . import settings_file, settings_text
from .answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WRAPPER = "retention"


def settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the file says, as far as it is plain JSON; {} for anything else."""
    try:
        document = json.loads(settings_file.read(_path(environ)) or "{}")
    except (ValueError, RecursionError):
        return {}
    inner = document.get(WRAPPER, document) if isinstance(document, dict) else {}
    return inner if isinstance(inner, dict) else {}


def change(changed: Mapping[str, Any], yes: bool, dry_run: bool, environ: Mapping[str, str]) -> bool:
    """Show the change, ask, make it if the file is still what it was; return whether the file now says what was asked for. `changed`: as
    `with_settings` takes it."""
    path = _path(environ)
    before = settings_file.read(path)
    try:
        after = with_settings(before or "{}\n", changed)
    except (ValueError, RecursionError):
        line = json.dumps(changed)[1:-1]
        raise Refused(f"{path} cannot be changed: it has comments, or is not valid. Put this into its object {WRAPPER}: {line}") from None
    if after == before:
        print(f"{clean(path)} asks for just that already.")
        return True
    settings_file.show_change(path, before, after, environ, mask)
    if dry_run:
        print("Nothing was changed.")
        return False
    if not settings_file.is_confirmed(yes):
        return False
    settings_file.write(path, before, after)
    print(f"Changed {clean(path)}.")
    return True


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
        text = settings_text.with_value(text, name, settings_text.formatted(text, inner[name])) if name in inner else (
            settings_text.without(text, name)
        )  # fmt: skip
    return text


def _joined(inner: dict[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    joined = {name: value for name, value in inner.items() if name not in changed or changed[name] is not None}
    for name, value in changed.items():
        if isinstance(value, dict):
            known = joined.get(name) or {}
            if not isinstance(known, dict):
                raise ValueError("it holds no settings there")
            joined[name] = {**known, **value}
        elif value is not None:
            joined[name] = value
    return joined


def _path(environ: Mapping[str, str]) -> str:
    return os.path.realpath(os.path.join(home.popkit_home(environ), "retention-config.json"))
