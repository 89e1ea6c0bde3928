"""The revisions of MCP, with the differences that a server has to know. Pure."""

from __future__ import annotations

from typing import NamedTuple

from .json_rpc import INVALID_PARAMS, Id, ProtocolFault, shown

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
UNSUPPORTED_VERSION = -32022
_PREFIX = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY, SERVER_KEY = _PREFIX + "protocolVersion", _PREFIX + "clientCapabilities", _PREFIX + "serverInfo"
# How long a client may cache the list of tools, which changes only with the user's configuration.
_FRESH_MS = 300_000


class Dialect(NamedTuple):
    """A revision. `batches`: several messages in one line · `annotations`: hints about tools · `structured`: titles, output schemas and
    structured content · `stateless`: results describe themselves."""

    version: str
    batches: bool
    annotations: bool
    structured: bool
    stateless: bool

    def result(self, result: dict[str, object], server: dict[str, str], lasts: bool = False) -> dict[str, object]:
        """Return a result in the form of this revision; `lasts`: the client may cache it for a while."""
        if not self.stateless:
            return result
        caching = {"ttlMs": _FRESH_MS, "cacheScope": "private"} if lasts else {}
        return {"resultType": "complete", **result, **caching, "_meta": {SERVER_KEY: server}}


def dialect(version: str) -> Dialect:
    """Return the dialect of a known revision."""
    at = (HANDSHAKES + STATELESS).index(version)
    return Dialect(version, at == 1, at >= 1, at >= 2, version in STATELESS)


def negotiated(params: dict[str, object], id: Id | None) -> Dialect:
    """Return the dialect of a handshake: the client's revision, else the newest that has handshakes."""
    version = params.get("protocolVersion")
    if not isinstance(version, str):
        raise ProtocolFault(INVALID_PARAMS, "initialize needs params.protocolVersion, for example " + HANDSHAKES[-1], id)
    return dialect(version if version in HANDSHAKES else HANDSHAKES[-1])


def spoken(params: dict[str, object], id: Id | None) -> Dialect | None:
    """Return the dialect that a request names; None where it names none. Fault for one that is unknown or incomplete."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or VERSION_KEY not in meta:
        return None
    version = meta[VERSION_KEY]
    if not isinstance(version, str) or not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise ProtocolFault(INVALID_PARAMS, f"params._meta needs {VERSION_KEY} (a text) and {CAPABILITIES_KEY} (an object)", id)
    if version not in STATELESS:
        message = f"protocol version {shown(version)} is not supported in a request. Supported: {', '.join(STATELESS)}"
        raise ProtocolFault(UNSUPPORTED_VERSION, message, id, {"supported": list(STATELESS), "requested": version})
    return dialect(version)
