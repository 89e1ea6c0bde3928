"""The protocol: JSON-RPC 2.0 in lines, with the faults of a message. Pure."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, NoReturn, Union

from popkit_retention.core.errors import PopkitError

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
LONGEST_LINE = 16 << 20  # bytes
_SHOWN = 60

Id = Union[str, int, float]


class ProtocolFault(PopkitError):
    """A message breaks the protocol. `id`: of the request, None where it is unknown."""

    def __init__(self, code: int, message: str, id: Id | None = None, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.id = id
        self.data = data

    def answer(self) -> dict[str, object]:
        """Return the error as a JSON-RPC response."""
        error: dict[str, object] = {"code": self.code, "message": str(self)}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


class Message(NamedTuple):
    """A request, or, where `is_request` is false, a notification, which is never answered."""

    method: str
    params: dict[str, object]
    id: Id | None = None
    is_request: bool = False


class Lines:
    """A stream of bytes, cut into lines. A line that is too long is skipped; `feed` returns a ProtocolFault in its place."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._begun = bytearray()
        self._skips = False

    def feed(self, data: bytes) -> list[bytes | ProtocolFault]:
        """Return the lines that end in `data`, without their line ends and without blank ones."""
        lines: list[bytes | ProtocolFault] = []
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._add(part, lines)
            if not self._skips and self._begun.strip():
                lines.append(bytes(self._begun))
            self._begun.clear()
            self._skips = False
        self._add(rest, lines)
        return lines

    def rest(self) -> bytes:
        """Return the text after the last line end, once the stream has ended."""
        return bytes(self._begun).strip()

    def _add(self, part: bytes, lines: list[bytes | ProtocolFault]) -> None:
        if self._skips:
            return
        if len(self._begun) + len(part) > self._longest:
            self._skips = True
            self._begun.clear()
            message = f"the message is longer than {self._longest:,} bytes and was skipped. Send less at once"
            lines.append(ProtocolFault(INVALID_REQUEST, message))
        else:
            self._begun += part


def read(line: bytes) -> object:
    """Return the JSON value of a line. Fault for anything that is not JSON, including NaN, Infinity, numbers too large for a float, and
    repeated keys."""
    try:
        return _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise ProtocolFault(PARSE_ERROR, "the message is not UTF-8") from None
    except RecursionError:
        raise ProtocolFault(PARSE_ERROR, "the message is nested too deeply") from None
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise ProtocolFault(PARSE_ERROR, f"the message is not JSON: {reason:.100}") from None


def message_of(value: object) -> Message | None:
    """Return the request or notification in a value; None for a response, since this server sends no requests. Fault for anything else."""
    if not isinstance(value, dict):
        raise ProtocolFault(INVALID_REQUEST, f"a message is an object, not {_kind(value)}")
    if "method" not in value and ("result" in value or "error" in value):
        return None
    id = value.get("id")
    usable = isinstance(id, (str, int, float)) and not isinstance(id, bool)
    known = id if usable else None
    if value.get("jsonrpc") != "2.0":
        raise ProtocolFault(INVALID_REQUEST, 'jsonrpc must be "2.0"', known)
    if "id" in value and not usable:
        raise ProtocolFault(INVALID_REQUEST, f"id must be a text or a number, not {_kind(id)}")
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str):
        raise ProtocolFault(INVALID_REQUEST, f"method must be a text, not {_kind(method)}", known)
    if params is None:
        params = {}
    if not isinstance(params, dict):
        if usable:
            raise ProtocolFault(INVALID_PARAMS, f"params must be an object, not {_kind(params)}", known)
        return None
    return Message(method, params, known, usable)


def result(id: Id | None, value: dict[str, object]) -> dict[str, object]:
    """Return a result as a JSON-RPC response."""
    return {"jsonrpc": "2.0", "id": id, "result": value}


def encoded(message: object) -> bytes:
    """Return a message as a line, all ASCII. Fault for a number without a JSON form."""
    try:
        return _ENCODER.encode(message).encode("ascii") + b"\n"
    except (ValueError, RecursionError):
        raise ProtocolFault(INTERNAL_ERROR, "the answer has no JSON form") from None


def shown(word: str) -> str:
    """Return a word of the client, as an error message repeats it."""
    cut = word if len(word) <= _SHOWN else word[:_SHOWN] + "…"
    return '"' + "".join(char if char.isprintable() else "?" for char in cut) + '"'


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "null")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {shown(twice)} occurs twice in one object")
    return members


def _number(digits: str) -> float:
    value = float(digits)
    if value - value != 0.0:
        raise ValueError(f"the number {digits:.20} is too large")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


_KINDS = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_constant=_constant)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
