"""The provider's prompt cache, as its documentation tells: what of a request it finds goes by what the client has really sent.

A breakpoint of a request keeps everything before it. A later request reads the longest beginning that one of its own breakpoints, or one of
the 20 positions before it, shares with what was kept; a run of calls, or of results, is one position. Models have caches of their own, and
what is asked of the thinking belongs to the messages. What the provider leaves out of a prompt, it also leaves out here: results, where it
is asked to clear them, and the thinking of earlier turns, where a model drops it and nobody asks to keep it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from .provider import SEALS, Messages, blocks_of
from .scripted_api import CHARS_PER_TOKEN, ScriptedApi, Step

LOOK_BACK = 20
_RUNS = ("tool_use", "tool_result")
_DROPS_THINKING = "claude-sonnet-4-5"
_CLEARS = "clear_tool_uses_20250919"


class _Beginning:
    """A request up to one of its blocks: the `digest` of it, its `tokens`, its `position`, whether a breakpoint stands there."""

    def __init__(self, digest: str, tokens: int, position: int, is_breakpoint: bool) -> None:
        self.digest, self.tokens, self.position, self.is_breakpoint = digest, tokens, position, is_breakpoint


def _edits(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {edit["type"]: edit for edit in (body.get("context_management") or {}).get("edits", ())}


def _prompt(body: dict[str, Any]) -> tuple[list[tuple[str, dict[str, Any]]], list[dict[str, Any]]]:
    """((role, block) of all that the model is shown of the messages, what was cleared of them as an answer says it)."""
    messages: Messages = body["messages"]
    asks = max(n for n, one in enumerate(messages) if one["role"] == "user" and any(b["type"] != "tool_result" for b in blocks_of(one)))
    drops = body["model"].startswith(_DROPS_THINKING) and "clear_thinking_20251015" not in _edits(body)
    shown = [
        (message["role"], block)
        for number, message in enumerate(messages)
        for block in blocks_of(message)
        if not (drops and number < asks and block["type"] in SEALS)
    ]
    clear, results = _edits(body).get(_CLEARS), [number for number, (_, block) in enumerate(shown) if block["type"] == "tool_result"]
    goes = results[: -clear["keep"]["value"]] if clear and _tokens(body) > clear["trigger"]["value"] else []
    before = _tokens(shown)
    for number in goes:
        shown[number] = (shown[number][0], {**shown[number][1], "content": "[cleared]"})
    edit = {"type": _CLEARS, "cleared_tool_uses": len(goes), "cleared_input_tokens": before - _tokens(shown)}
    return shown, [edit] if goes else []


def _tokens(value: object) -> int:
    return len(json.dumps(value)) // CHARS_PER_TOKEN


def _beginnings(body: dict[str, Any]) -> list[_Beginning]:
    asked = [body.get("thinking"), body.get("output_config")]
    parts: list[tuple[str, dict[str, Any]]] = [("tools", {"tools": body.get("tools")})]
    # The first block counts each request for the provider's bill, and is not part of the prompt.
    parts += [("system", block) for block in body["system"] if "billing-header" not in block["text"]]
    parts += [(block["type"], {"role": role, "asked": asked, **block}) for role, block in _prompt(body)[0]]
    found, digest, tokens, position, last = [], hashlib.sha256(body["model"].encode()), 0, 0, ""
    for kind, part in parts:
        text = json.dumps({name: value for name, value in part.items() if name != "cache_control"}, sort_keys=True)
        digest.update(text.encode())
        tokens += len(text) // CHARS_PER_TOKEN
        position += kind != last or kind not in _RUNS
        last = kind
        found.append(_Beginning(digest.hexdigest(), tokens, position, "cache_control" in part))
    return found


class PromptCache:
    def __init__(self) -> None:
        self._kept: set[str] = set()

    def forget(self) -> None:
        """Lose everything, as after its time, or before it for reasons of the provider's own."""
        self._kept.clear()

    def usage(self, body: dict[str, Any]) -> dict[str, Any]:
        """Take a request in and return what it used."""
        beginnings = _beginnings(body)
        ends = [one for one in beginnings if one.is_breakpoint]
        read = max((one.tokens for one in beginnings if one.digest in self._kept and _is_found(one, ends)), default=0)
        self._kept |= {one.digest for one in ends}
        created = max(0, (ends[-1].tokens if ends else 0) - read)
        return {
            "input_tokens": beginnings[-1].tokens - read - created, "cache_read_input_tokens": read, "cache_creation_input_tokens": created,
            "cache_creation": {"ephemeral_5m_input_tokens": created, "ephemeral_1h_input_tokens": 0},
        }  # fmt: skip


def _is_found(one: _Beginning, ends: list[_Beginning]) -> bool:
    return any(0 <= end.position - one.position <= LOOK_BACK for end in ends)


class CachingApi(ScriptedApi):
    """A scripted API whose usage is that of such a cache. `says`: what it says of a miss, if anything; `forgets_at`: a text in the messages
    of a request before which it forgets everything."""

    def __init__(self, scripts: dict[str, list[Step]] | None = None) -> None:
        self.cache = PromptCache()
        self.says = self.forgets_at = ""
        super().__init__(scripts)

    def answer(self, body: dict[str, Any], kind: str) -> dict[str, Any]:
        """The answer that the script has, with this usage."""
        message = super().answer(body, kind)
        if self.forgets_at and self.forgets_at in json.dumps(body["messages"]):
            self.cache.forget()
        message["usage"].update(self.cache.usage(body))
        message["context_management"] = {"applied_edits": _prompt(body)[1]}
        message["diagnostics"] = {"cache_miss_reason": {"type": self.says, "cache_missed_input_tokens": 1}} if self.says else None
        return message
