"""Limits in the user's own configuration, as text in and text out, and changing them on the user's word."""

from __future__ import annotations

import difflib
import json
import os
import sys

from hooks.utils.config import usable
from hooks.utils.config.fields import FIELDS
from hooks.utils.io import home
from hooks.utils.policy.masking import mask
from hooks.utils.text import clean

from . import screen, settings_text
from .past_sessions import Refused
from .statusline_install import read_settings, replace_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LIMITS = ("session_tokens", "month_tokens", "session_usd", "month_usd", "on_exceeded")
WRAPPER, CONTEXT = "retention", "context"
_NONE = ("none", "null", "")


def change(words: list[str], yes: bool, dry_run: bool, environ: Mapping[str, str]) -> int:
    """Shows the change, asks, makes it if the file is still what it was. 0 when the limits are as they were asked to be."""
    limits = limits_of(words)
    path = os.path.realpath(os.path.join(home.popkit_home(environ), "retention-config.json"))
    before = read_settings(path)
    try:
        after = with_limits(before or "{}\n", limits)
    except (ValueError, RecursionError):
        line = json.dumps({CONTEXT: limits})[1:-1]
        raise Refused(f"{path} cannot be changed: it has comments, or is not valid. Put this into its object {WRAPPER}: {line}") from None
    if after == before:
        print(f"{clean(path)} asks for just that already.")
        return 0
    diff = difflib.unified_diff((before or "").splitlines(), after.splitlines(), path, path, "now", "then", lineterm="")
    screen.show([clean(mask(line).replace("\t", "    ")) for line in diff], sys.stdout, environ)
    if dry_run:
        print("Nothing was changed.")
        return 0
    if not yes and not screen.said_yes("Make this change?"):
        print("Nothing was changed. --yes answers beforehand.")
        return 1
    if read_settings(path) != before:
        raise Refused(f"{path} has changed in the meantime, so nothing was written. Try again")
    replace_settings(path, after)
    print(f"Changed {clean(path)}.")
    return 0


def limits_of(words: list[str]) -> dict[str, Any]:
    """The limits that words name: session_tokens=2000000, month_usd=none. Refused for what is none."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, said = word.partition("=")
        if not equals or name not in LIMITS:
            raise Refused(f"{word!r:.60} is no limit. Write KEY=VALUE, with one of {', '.join(LIMITS)}")
        problems: list[str] = []
        note = lambda _at, _value, allowed, _known, told=problems: told.append(allowed)  # noqa: E731
        found[name] = usable.read(FIELDS[CONTEXT]["fields"][name], _number(said), (name,), note)
        if problems:
            raise Refused(f"{name} takes {problems[0].replace('null', 'none')}")
    return found


def _number(said: str) -> Any:
    plain = said.lower().replace(",", "").replace("_", "").lstrip("$")
    if plain in _NONE:
        return None
    try:
        return int(plain)
    except ValueError:
        pass
    try:
        return float(plain)
    except ValueError:
        return said


def with_limits(text: str, limits: dict[str, Any]) -> str:
    """The configuration with limits set; everything else stays as it stands. ValueError for a text that is no JSON object."""
    members = settings_text.members(text)
    if any(member.name == WRAPPER for member in members) or not any(member.name in FIELDS for member in members):
        inner = json.loads(settings_text.value_text(text, WRAPPER) or "{}")
        return settings_text.with_value(text, WRAPPER, settings_text.formatted(text, _with(inner, limits)))
    context = json.loads(settings_text.value_text(text, CONTEXT) or "{}")
    return settings_text.with_value(text, CONTEXT, settings_text.formatted(text, {**context, **limits}))


def _with(inner: Any, limits: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(inner, dict) or not isinstance(inner.get(CONTEXT, {}), dict):
        raise ValueError("it holds no settings there")
    return {**inner, CONTEXT: {**inner.get(CONTEXT, {}), **limits}}
