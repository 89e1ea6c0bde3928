"""What the newest request of a rollout used, from the end of the file. Reads only."""

from __future__ import annotations

import json
import os

from ...io import files
from ..claude_code import usage
from .translation import usage_of, window_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...policy.conversation import Usage

TAIL_BYTES = 128 * 1024
_TELLING = (b'"token_usage_record"', b'"token_count"', b'"compacted"')


def newest_usage(path: str) -> Usage | None:
    """Return the newest request's usage, without its model, which stands further up; None where the end tells none, or of a compaction
    since."""
    try:
        with files.open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).split(b"\n")
    except (OSError, ValueError):
        return None
    for line in reversed(lines):
        if not any(mark in line for mark in _TELLING):
            continue
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        payload = value.get("payload") if isinstance(value, dict) else None
        if not isinstance(payload, dict):
            continue
        if value.get("type") == "compacted":
            return None
        info = payload.get("info")
        told = usage_of(payload.get("usage")) or usage_of(info.get("last_token_usage") if isinstance(info, dict) else None)
        if told is not None:
            told["context_window"] = window_in(payload) or window_in(info)
            return usage.usage_of({"type": "assistant", "timestamp": value.get("timestamp"), "message": {"usage": told}})
    return None
