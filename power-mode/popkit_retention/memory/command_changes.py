"""The words of `popkit memory` that change stored items."""

from __future__ import annotations

import sys

from popkit_retention.core import flag_parser
from popkit_retention.core.io.home import popkit_home

from .. import features
from ..cli.answering import Answer, Refused
from . import item_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .command import Request
    from .items import Item

_STDIN = "-"
_TEXT_BYTES = 4 << 20  # from standard input: more than the longest item


def add(request: Request) -> Answer:
    content = _read_stdin() if request.arguments == [_STDIN] else request.arguments[0]
    if not content.strip():
        raise flag_parser.UsageError("there is nothing to remember: the text is empty")
    kind = request.flags.get("kind", "").strip()
    if "," in kind:
        raise flag_parser.UsageError("an item has one kind")
    item = request.place.memory.add(content, *([kind] if kind else []))
    return _changed(request, request.place.memory.mark_key([item.id]) if "key" in request.flags else [item])


def _read_stdin() -> str:
    data = sys.stdin.buffer.read(_TEXT_BYTES + 1) if sys.stdin else b""
    if len(data) > _TEXT_BYTES:
        raise flag_parser.UsageError(f"standard input holds more than {_TEXT_BYTES >> 20} MB. Split it into smaller items")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise flag_parser.UsageError("standard input is not UTF-8 text") from None


def change(request: Request) -> Answer:
    """Pin, unpin, promote, demote, restore or undo: each is a method of the memory."""
    return _changed(request, getattr(request.place.memory, request.word)(request.arguments))


def accept(request: Request) -> Answer:
    if ("all" in request.flags) == bool(request.arguments):
        raise flag_parser.UsageError("accept needs ID…, for example: accept m3fa. To accept everything that is waiting: accept --all")
    memory = request.place.memory
    ids = request.arguments or [item.id for item in memory.waiting()]
    if not ids:
        raise Refused("nothing is waiting for your approval")
    return _changed(request, memory.accept(ids))


def forget(request: Request) -> Answer:
    if ("all" in request.flags) == bool(request.arguments):
        raise flag_parser.UsageError("forget needs ID…, for example: forget m3fa. To forget everything about this project: forget --all")
    memory = request.place.memory
    ids = request.arguments or [item.id for item in memory.list(most=None)]
    answer = _changed(request, memory.forget(ids))
    if not request.place.project.is_on():
        answer.lines += ["Memory is off, so this deletes it once 24 h have passed:", f"  {request.command} admin run"]
    for copies in features.offering("copies"):
        answer.lines += copies(popkit_home(request.environ))
    return answer


def _changed(request: Request, items: list[Item]) -> Answer:
    request.place.refresh()
    return Answer(item_changes.changed(request.word, items, request.now, request.command), {"items": [item.to_json() for item in items]})
