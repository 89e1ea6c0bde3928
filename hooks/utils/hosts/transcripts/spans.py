"""The places of tool results' contents in a line of a transcript, as byte ranges. Pure.

A line is walked down to the blocks alone; every other value is passed over by the C scanner, which also makes sure that it is JSON.
The bytes are read as Latin-1, one character each: all marks of JSON are ASCII, so positions in the text are positions in bytes.
"""

from __future__ import annotations

import codecs
import json  # noqa: TID253  a look for contents has parsed the transcript
import re  # noqa: TID253
from json.decoder import scanstring  # type: ignore[attr-defined]  # noqa: TID253  # typeshed leaves it out

from ...errors import PopkitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    _Member = tuple[object, int, int]  # of a block: its value where that is asked for, and where it is

_PIECE = 1 << 20
_SPACE: Callable[[str, int], re.Match[str]] = re.compile(r"[ \t\n\r]*").match  # type: ignore[assignment]  # it always matches


class LineNotUnderstood(PopkitError, ValueError):
    """A line that is not to be touched."""


def content_spans(line: bytes, side_chains: bool = False) -> dict[str, tuple[int, int]]:
    """Return tool_use_id -> (start, end) of the value of `content` in each tool_result block of a user's entry, in the order of the blocks.

    A block without `content` is left out; an entry of another type has none, nor, unless asked for, has one of a side chain.
    LineNotUnderstood for a line that is not UTF-8, not exactly one JSON object, or not clear about which content belongs to which id."""
    _check_encoding(line)
    walk = _Line(line.decode("latin-1"))
    try:
        walk.walk()
    except LineNotUnderstood:
        raise
    except (ValueError, StopIteration, RecursionError) as error:
        raise LineNotUnderstood("not a JSON object" if isinstance(error, StopIteration) else str(error)) from None
    return {} if walk.is_side and not side_chains else walk.spans()


def _check_encoding(line: bytes) -> None:
    """Refuse bytes that are not UTF-8. It is decoded in pieces: as a whole, one emoji makes four bytes of every character."""
    if line.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(line), _PIECE):
            decoder.decode(line[start : start + _PIECE])
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        raise LineNotUnderstood("not UTF-8") from None


def _refuse(name: str) -> None:
    raise LineNotUnderstood(name + " is not JSON")


# Numbers stay text: nobody asks for their values, and a very long one has none.
_scan = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse).scan_once  # type: ignore[attr-defined]  # typeshed leaves it out


class _Line:
    """A walk over a line. Every method takes the position of a value and returns the position after it."""

    __slots__ = ("is_side", "kind", "spans_by_id", "text")

    def __init__(self, text: str):
        self.text = text
        self.spans_by_id: dict[str, tuple[int, int] | None] = {}
        self.kind: object = None  # the entry's type
        self.is_side: object = False

    def spans(self) -> dict[str, tuple[int, int]]:
        return {id: span for id, span in self.spans_by_id.items() if span} if self.kind == "user" else {}

    def walk(self) -> None:
        start = _SPACE(self.text, 0).end()
        if not self.text.startswith("{", start):
            raise LineNotUnderstood("not a JSON object")
        visitors = {"type": self._entry_type_at, "isSidechain": self._side_at, "message": self._message_at}
        end = _SPACE(self.text, self.object_at(start, visitors)).end()
        if end != len(self.text):
            raise LineNotUnderstood("more than one JSON object")

    def object_at(self, at: int, visitors: Mapping[str, Callable[[int], int]]) -> int:
        """Walk an object. A member with a visitor is left to it, and may be there once."""
        text = self.text
        seen: set[str] = set()
        at = _SPACE(text, at + 1).end()
        if text.startswith("}", at):
            return at + 1
        while True:
            if not text.startswith('"', at):
                raise LineNotUnderstood("a name is missing")
            name, at = scanstring(text, at + 1, True)
            at = _SPACE(text, at).end()
            if not text.startswith(":", at):
                raise LineNotUnderstood("a colon is missing")
            at = _SPACE(text, at + 1).end()
            if name in visitors:
                if name in seen:
                    raise LineNotUnderstood(name + " is there twice")
                seen.add(name)
                at = visitors[name](at)
            else:
                at = _scan(text, at)[1]
            at = _SPACE(text, at).end()
            if text.startswith("}", at):
                return at + 1
            if not text.startswith(",", at):
                raise LineNotUnderstood("a comma is missing")
            at = _SPACE(text, at + 1).end()

    def _entry_type_at(self, at: int) -> int:
        self.kind, end = _scan(self.text, at)
        return end

    def _side_at(self, at: int) -> int:
        self.is_side, end = _scan(self.text, at)
        return end

    def _message_at(self, at: int) -> int:
        if not self.text.startswith("{", at):
            return _scan(self.text, at)[1]
        return self.object_at(at, {"content": self._blocks_at})

    def _blocks_at(self, at: int) -> int:
        text = self.text
        if not text.startswith("[", at):
            return _scan(text, at)[1]
        at = _SPACE(text, at + 1).end()
        if text.startswith("]", at):
            return at + 1
        while True:
            at = self._block_at(at) if text.startswith("{", at) else _scan(text, at)[1]
            at = _SPACE(text, at).end()
            if text.startswith("]", at):
                return at + 1
            if not text.startswith(",", at):
                raise LineNotUnderstood("a comma is missing")
            at = _SPACE(text, at + 1).end()

    def _block_at(self, at: int) -> int:
        text = self.text
        members: dict[str, _Member] = {}

        def visitor(name: str) -> Callable[[int], int]:
            def visit(start: int) -> int:
                value, end = _scan(text, start)
                members[name] = (value if name == "type" else None, start, end)
                return end

            return visit

        end = self.object_at(at, {name: visitor(name) for name in ("type", "tool_use_id", "content")})
        if "type" in members and members["type"][0] == "tool_result":
            self._add(members.get("tool_use_id"), members.get("content"))
        return end

    def _add(self, named: _Member | None, content: _Member | None) -> None:
        id = json.loads(self.text[named[1] : named[2]].encode("latin-1")) if named else None
        if not isinstance(id, str):
            raise LineNotUnderstood("a tool result without an id")
        if id in self.spans_by_id:
            raise LineNotUnderstood("two results of " + id)
        self.spans_by_id[id] = content[1:] if content else None
