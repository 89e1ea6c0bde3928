"""Tell the revisions of MCP apart, as far as they ask different things of a server. Pure.

Up to 2025-11-25 a client shakes hands once (`initialize`); from 2026-07-28 on every request says for itself which revision it speaks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .rpc import INVALID_PARAMS, Fault, Id, shown

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
UNSUPPORTED_VERSION = -32022
_PREFIX = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY, SERVER_KEY = _PREFIX + "protocolVersion", _PREFIX + "clientCapabilities", _PREFIX + "serverInfo"
# For so long a client may keep the list of tools: it changes with the user's configuration alone.
_FRESH_MS = 300_000


class Dialect(NamedTuple):
    """One revision. `batches`: several messages in one line · `annotations`: hints about tools · `structured`: titles, output schemas and
    structured content · `stateless`: results say of themselves what they are."""

    version: str
    batches: bool
    annotations: bool
    structured: bool
    stateless: bool

    def dressed(self, result: dict[str, Any], server: dict[str, str], lasts: bool = False) -> dict[str, Any]:
        """Return a result as this revision wants it; `lasts`: it may be kept for a while."""
        if not self.stateless:
            return result
        kept = {"ttlMs": _FRESH_MS, "cacheScope": "private"} if lasts else {}
        return {"resultType": "complete", **result, **kept, "_meta": {SERVER_KEY: server}}


def dialect(version: str) -> Dialect:
    """Return the dialect of a known revision."""
    at = (HANDSHAKES + STATELESS).index(version)
    return Dialect(version, at == 1, at >= 1, at >= 2, version in STATELESS)


def negotiated(params: dict[str, Any], id: Id | None) -> Dialect:
    """Return what a handshake agrees on: the client's revision, else the newest that shakes hands."""
    asked = params.get("protocolVersion")
    if not isinstance(asked, str):
        raise Fault(INVALID_PARAMS, "initialize needs params.protocolVersion, for example " + HANDSHAKES[-1], id)
    return dialect(asked if asked in HANDSHAKES else HANDSHAKES[-1])


def spoken(params: dict[str, Any], id: Id | None) -> Dialect | None:
    """Return the dialect that a request names for itself; None where it names none. Fault for one that is unknown or half named."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or VERSION_KEY not in meta:
        return None
    asked = meta[VERSION_KEY]
    if not isinstance(asked, str) or not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise Fault(INVALID_PARAMS, f"params._meta needs {VERSION_KEY} (a text) and {CAPABILITIES_KEY} (an object)", id)
    if asked not in STATELESS:
        message = f"protocol version {shown(asked)} is not supported in a request. Supported: {', '.join(STATELESS)}"
        raise Fault(UNSUPPORTED_VERSION, message, id, {"supported": list(STATELESS), "requested": asked})
    return dialect(asked)
