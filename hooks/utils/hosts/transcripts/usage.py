"""Read how full the context is, how large its window, whether the prompt cache is warm: from the usage that the host writes down.

`input_tokens` and `output_tokens` in a transcript are often placeholders; the two cache figures are right. The size of a prompt is
cache_read + cache_creation + input of the newest message of the main chain.
"""

from __future__ import annotations

from sys import intern

from ...io import files
from ...io.codec import as_list, as_object, loads
from ...io.system import os
from ...policy import compaction_point
from ...policy.estimate import estimate_tokens
from ...policy.models import LONG_MARK, WINDOW_TOKENS
from ...policy.usage import Usage
from .blocks import dumps_or_nothing, text_of_blocks
from .stamps import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...policy.models import Model
    from ...policy.ruleset import Ruleset
    from ...policy.session_facts import SessionFacts
    from ...policy.shapes import WindowSource

TAIL_BYTES = 512 * 1024
# A compaction of ours writes the whole conversation down again, without a usage: so far back one is looked for.
_FARTHEST_BYTES = 16 * 1024 * 1024
# The share of its prompt that the first request may have of what was said, to tell what else it had.
_LITTLE_SAID = 0.25
_BOUNDARY = b'"compact_boundary"'
# A request larger than this many times the size at which Claude Code compacted shows that the window has grown since.
_STILL_THE_SAME = 1.2
CLEAR = "clear_tool_uses_20250919"  # the provider's edit that leaves tool results out


def prompt_tokens(usage: object) -> int:
    """Return the tokens of the prompt of a request, from a usage object; 0 when it tells nothing."""
    if not isinstance(usage, dict):
        return 0
    return sum(_count(usage.get(name)) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else 0


def usage_of(entry: object) -> Usage | None:
    """Return the usage of an entry, when it is an answer of the main chain (or of a subagent's own file)."""
    if not isinstance(entry, dict) or entry.get("type") != "assistant" or entry.get("isSidechain"):
        return None
    message = entry.get("message")
    usage = as_object(message).get("usage")
    tokens = prompt_tokens(usage)
    if not (tokens and isinstance(message, dict) and isinstance(usage, dict)) or message.get("model") == "<synthetic>":
        return None
    created = usage.get("cache_creation")
    hour = created.get("ephemeral_1h_input_tokens") if isinstance(created, dict) else 0
    model = message.get("model")
    counted = Usage(
        tokens, seconds_of(entry.get("timestamp")), intern(model) if isinstance(model, str) else "", 3_600 if hour else 300,
        _count(usage.get("cache_read_input_tokens")), _count(usage.get("cache_creation_input_tokens")),
    )  # fmt: skip
    if "context_window" in usage:
        counted.window = _count(usage["context_window"])
    if message.get("context_management"):
        counted.left_out = _left_out(message["context_management"])
    return counted


def _left_out(managed: object) -> tuple[int, int]:
    """Return (tool uses, tokens) that an answer says its prompt lacked: cut by the client before it was sent, or cleared by the
    provider."""
    if not isinstance(managed, dict):
        return 0, 0
    cut = _count(managed.get("client_cut_tool_uses"))
    if cut:
        return cut, _count(managed.get("client_estimated_cleared_input_tokens"))
    edits = managed.get("applied_edits")
    cleared = [edit for edit in edits if isinstance(edit, dict) and edit.get("type") == CLEAR] if isinstance(edits, list) else []
    uses, tokens = (sum(_count(edit.get(name)) for edit in cleared) for name in ("cleared_tool_uses", "cleared_input_tokens"))
    return uses, tokens


def newest_usage(path: str, tail_bytes: int = TAIL_BYTES) -> Usage | None:
    """Return the usage of the newest main-chain answer, read from the file's end, and when a compaction came behind it (`compacted_at`);
    None where there is no answer."""
    try:
        file = files.open_regular(path)
    except (OSError, ValueError):
        return None
    with file:
        size = os.fstat(file.fileno()).st_size
        newest = None
        while newest is None and tail_bytes:
            file.seek(max(0, size - tail_bytes))
            lines = file.read(tail_bytes).split(b"\n")
            newest = _newest_in(lines[1:] if size > tail_bytes else lines)
            tail_bytes = 4 * tail_bytes if tail_bytes < min(size, _FARTHEST_BYTES) else 0
    return newest


def _newest_in(lines: list[bytes]) -> Usage | None:
    newest = None
    hour, compacted_at = False, 0.0
    for line in reversed(lines):
        is_boundary = newest is None and not compacted_at and _BOUNDARY in line
        if not is_boundary and (b'"usage"' not in line or b'"assistant"' not in line):
            continue
        entry = _entry_of(line)
        usage = usage_of(entry)
        if usage is None:
            if is_boundary and isinstance(entry, dict) and entry.get("subtype") == "compact_boundary" and not entry.get("isSidechain"):
                compacted_at = seconds_of(entry.get("timestamp"))
            continue
        newest = newest or usage
        hour = hour or usage.cache_ttl_s == 3_600
        if hour:
            break
    if newest is not None:
        newest.compacted_at = compacted_at
        newest.cache_ttl_s = 3_600 if hour else newest.cache_ttl_s
    return newest


def _entry_of(line: bytes) -> Any:
    """Return what a line holds; None for one that is damaged."""
    try:
        return loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None


def stands(newest: Usage, session: SessionFacts) -> int | None:
    """Return the tokens of what stands in a context for those who do not read its transcript: those of its `newest` request, and behind a
    compaction what the facts of the `session` say of it; None where they do not."""
    if not newest.compacted_at:
        return newest.tokens
    noted = session.stands or {}
    tokens, at = noted.get("tokens"), noted.get("at")
    return tokens if isinstance(tokens, int) and isinstance(at, (int, float)) and at > newest.at else None


def base_tokens(path: str) -> int:
    """Return the tokens of system and tools: of the first request of a transcript, less what was said before it; 0 where its beginning does
    not tell, or that was much: it is an estimate."""
    try:
        file = files.open_regular(path)
    except (OSError, ValueError):
        return 0
    said = 0
    with file:
        for line in file.read(TAIL_BYTES).split(b"\n")[:-1]:
            if not line.startswith(b"{") or (b'"user"' not in line and b'"assistant"' not in line):
                continue
            entry = _entry_of(line)
            usage = usage_of(entry)
            if usage is not None:
                return usage.tokens - said if said < _LITTLE_SAID * usage.tokens else 0
            if isinstance(entry, dict):
                said += _said(entry)
    return 0


def _said(entry: dict[str, object]) -> int:
    """Return the estimated tokens of what an entry says, calls and brings."""
    content = as_object(entry.get("message")).get("content")
    blocks = [{"text": content}] if isinstance(content, str) else as_list(content)
    return sum([_tokens_of(block) for block in blocks if isinstance(block, dict)])


def _tokens_of(block: dict[str, Any]) -> int:
    texts = [block.get("text"), text_of_blocks(block.get("content"))[0]]
    tokens = sum([estimate_tokens(text) for text in texts if isinstance(text, str)])
    return tokens + (estimate_tokens(dumps_or_nothing(block["input"]), "markup") if "input" in block else 0)


def window_of(rules: Ruleset, session: SessionFacts, newest: Usage, largest: int = 0, compacted: int = 0) -> tuple[int, WindowSource]:
    """Return (tokens of the context window, where that is known from), in the order of belief: `configuration`, the person's word;
    `client`, what the host has reported (facts of the `session`) or written beside its `newest` request; `transcript`, the size at which it
    compacted the session by itself; `model`, what the model had at the time of that request; `assumed`, where nothing says so or a request
    shows that it was larger. It ends where the host compacts by itself (`compaction`), where that is known and the person has not said how
    large it is; a figure that is smaller than a request that was answered is wrong. `largest`, `compacted`: what a transcript shows beyond
    what the session's facts remember of it."""
    window, source = _window_of(rules, session, newest, largest, compacted)
    if source in ("configuration", "transcript"):
        return window, source
    at = compaction_point.point(window, session, newest.tokens)
    return (at, "compaction") if at < window else (window, source)


def _window_of(rules: Ruleset, session: SessionFacts, newest: Usage, largest: int, compacted: int) -> tuple[int, WindowSource]:
    reported = session.window_tokens
    least = max(newest.tokens, 1)
    seen = max(least, largest)  # of the same model
    largest = max(seen, session.largest_tokens or 0)
    if isinstance(rules.window_tokens, int) and rules.window_tokens >= least:
        return rules.window_tokens, "configuration"
    for tokens in (reported, newest.window):
        if tokens and tokens >= seen:
            return tokens, "client"
    shown = compacted or session.compacted_tokens or 0
    if shown and largest <= shown * _STILL_THE_SAME:
        return max(shown, largest), "transcript"
    model = rules.models.model(session.model or newest.model)
    window = _window_then(model, newest.at)
    if largest <= window:
        return window, "model" if model.known or LONG_MARK in model.id else "assumed"
    return max(WINDOW_TOKENS, largest), "assumed"


def _window_then(model: Model, at: float) -> int:
    """Return the tokens of the window that a model had at a time (seconds, 0 for now)."""
    return model.window_before if model.window_before and 0 < at < seconds_of(model.window_since + "T00:00:00Z") else model.window


def left_by(boundary: Mapping[str, Any]) -> int:
    """Return the tokens that a compaction left of the conversation, as the host counts them, from the boundary's entry; 0 where it does not
    say."""
    metadata = boundary.get("compactMetadata")
    return _count(metadata.get("postTokens")) if isinstance(metadata, dict) else 0


def compacted_at(boundary: Mapping[str, Any]) -> int:
    """Return the tokens at which Claude Code compacted a session by itself, from the boundary's entry; 0 where a person asked for it."""
    metadata = boundary.get("compactMetadata")
    if not isinstance(metadata, dict) or metadata.get("trigger") != "auto":
        return 0
    return _count(metadata.get("preTokens"))
