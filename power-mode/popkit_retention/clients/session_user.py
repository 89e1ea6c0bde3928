"""The user of a request that Claude Code sends. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..context.content_blocks import plain

# `metadata.user_id` has device, account and session in one. Until version 2.1 as this text, since then as
# {"device_id": "…", "account_uuid": "…", "session_id": "…", …}.
_JOINED = re.compile(r"(user_[0-9a-f]+_account_[0-9a-f-]*)_session_[0-9a-f-]+")


def person_of(user_id: str) -> str:
    """Return the user without the session, the same for both forms of Claude Code's; any other name as it is."""
    joined = _JOINED.fullmatch(user_id)
    if joined:
        return joined[1]
    if not user_id.startswith("{"):
        return user_id
    try:
        fields = json.loads(user_id)
    except (ValueError, RecursionError):
        return user_id
    device, account = fields.get("device_id"), fields.get("account_uuid")
    return f"user_{device}_account_{account or ''}" if device and isinstance(fields.get("session_id"), str) else user_id


def made_plain(value: Any) -> Any:
    """Return the same data as plain JSON values, whatever callers give (models, tuples, iterators): the very object where it is plain
    already, so nothing is copied and an iterator is read only once. A value that has no plain form stays as it is."""
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, dict):
        fields = {name: made_plain(item) for name, item in value.items()}
        return value if all(fields[name] is item for name, item in value.items()) else fields
    if isinstance(value, list):
        items = [made_plain(item) for item in value]
        return value if all(new is old for new, old in zip(items, value)) else items
    if isinstance(value, Mapping):
        return {name: made_plain(item) for name, item in value.items()}
    if isinstance(value, (tuple, set, frozenset, Iterator)):
        return [made_plain(item) for item in value]
    return plain(value)
