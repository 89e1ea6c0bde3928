"""Who calls, in what Claude Code writes into `metadata.user_id`: device, account and session in one. Pure.

user_DEVICE_account_ACCOUNT_session_SESSION                          until 2.1
{"device_id": "…", "account_uuid": "…", "session_id": "…", …}        since then
"""

from __future__ import annotations

import json
import re

_JOINED = re.compile(r"(user_[0-9a-f]+_account_[0-9a-f-]*)_session_[0-9a-f-]+")


def person_of(named: str) -> str:
    """The user without the session, in either form the same; any other name as it is."""
    joined = _JOINED.fullmatch(named)
    if joined:
        return joined[1]
    if not named.startswith("{"):
        return named
    try:
        told = json.loads(named)
    except (ValueError, RecursionError):
        return named
    device, account = told.get("device_id"), told.get("account_uuid")
    return f"user_{device}_account_{account or ''}" if device and isinstance(told.get("session_id"), str) else named
