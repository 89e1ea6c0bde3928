"""The client's settings for the provider's own clearing of tool results, as text in and text out. Pure.

The client puts what CLAUDE_CODE_EXTRA_BODY holds over the body of each request, so its own edit of thinking, which it sends where nothing
is said, has to be said again beside ours.
"""

from __future__ import annotations

import json

from . import settings_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..lab.outcomes import NativeSettings as Settings

ENV, VARIABLE, MANAGEMENT = "env", "CLAUDE_CODE_EXTRA_BODY", "context_management"
_CLEAR, _THINKING = "clear_tool_uses_20250919", {"type": "clear_thinking_20251015", "keep": "all"}


class NotOurs(ValueError):
    """The settings hold something there that is left alone; the message says what."""


def edit_of(settings: Settings, spared: Sequence[str] = ()) -> dict[str, Any]:
    """The edit that the provider is asked for; results of `spared` tools stay."""
    edit: dict[str, Any] = {
        "type": _CLEAR,
        "trigger": {"type": "input_tokens", "value": settings.trigger},
        "keep": {"type": "tool_uses", "value": settings.keep},
    }
    if settings.at_least:
        edit["clear_at_least"] = {"type": "input_tokens", "value": settings.at_least}
    return {**edit, "exclude_tools": list(spared)} if spared else edit


def held(text: str) -> dict[str, Any] | None:
    """The clearing of tool results that a settings file asks for; None for none. NotOurs, ValueError for what is not understood."""
    edits = _body(_environment(text)).get(MANAGEMENT, {}).get("edits", [])
    return next((edit for edit in edits if isinstance(edit, dict) and edit.get("type") == _CLEAR), None)


def switched_on(text: str, edit: dict[str, Any]) -> str:
    """The settings with the edit, in place of one that they have. NotOurs where something else stands there."""
    environment = _environment(text)
    body = _body(environment)
    others = [one for one in body.get(MANAGEMENT, {}).get("edits", [_THINKING]) if not _is_clear(one)]
    body[MANAGEMENT] = {**body.get(MANAGEMENT, {}), "edits": [*others, edit]}
    return _with(text, {**environment, VARIABLE: json.dumps(body)})


def switched_off(text: str) -> str:
    """The settings without it, and without what only it needed."""
    environment = _environment(text)
    body = _body(environment)
    others = [one for one in body.get(MANAGEMENT, {}).get("edits", []) if not _is_clear(one)]
    if others in ([], [_THINKING]):
        body.pop(MANAGEMENT, None)
    else:
        body[MANAGEMENT]["edits"] = others
    environment = {**environment, VARIABLE: json.dumps(body)} if body else {k: v for k, v in environment.items() if k != VARIABLE}
    return _with(text, environment) if environment else settings_text.without(text, ENV)


def _is_clear(edit: object) -> bool:
    return isinstance(edit, dict) and edit.get("type") == _CLEAR


def _with(text: str, environment: dict[str, Any]) -> str:
    return settings_text.with_value(text, ENV, settings_text.formatted(text, environment))


def _environment(text: str) -> dict[str, Any]:
    value = settings_text.value_text(text, ENV)
    environment = json.loads(value) if value else {}
    if not isinstance(environment, dict):
        raise NotOurs(f'"{ENV}" is no object')
    return environment


def _body(environment: dict[str, Any]) -> dict[str, Any]:
    said = environment.get(VARIABLE, "{}")
    try:
        body = json.loads(said) if isinstance(said, str) else None
    except ValueError:
        body = None
    management = body.get(MANAGEMENT, {}) if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(management, dict) or not isinstance(management.get("edits", []), list):
        raise NotOurs(f"{VARIABLE} holds something that is not understood")
    return body
