"""Put content back into messages from which a compaction removed it. Pure.

A placeholder (placeholder.py) is in the place of the text of a result, a stub (stubs.py) of the long fields of a call, a list (lists.py) of
whole calls with their results.
"""

from __future__ import annotations

from .list_places import place_of
from .list_text import handle_of_list
from .messages import Message, ShownResult, Use, message_of
from .placeholder import handle_in
from .stubs import handle_of_stub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .tools import Tools


def put_back(
    messages: Sequence[Message],
    content_of: Callable[[str], Any],
    tools: Tools,
    is_of: Callable[[str, str], bool] = lambda handle, call: True,
) -> list[Message]:
    """Return the messages with what left them in its place again. `content_of(handle)`: what is archived (the text of a result, the input
    of a call, a list of messages as JSON), None where it is to stay out. `is_of(handle, id)`: whether that was taken from the call of this
    id, "" for whole calls. What names a handle in the place of something else stays, as does a second message that quotes a line for whole
    calls: no call comes back twice."""
    back: list[Message] = []

    def content(handle: str, id: str) -> Any:
        return content_of(handle) if handle and is_of(handle, id) else None

    for message in _opened(messages, lambda handle: content(handle, ""), tools):
        uses = [_use_back(use, content) for use in message.uses]
        back.append(Message(message.role, message.text, uses, [_shown_back(shown, content) for shown in message.results]))
    return back


def _opened(messages: Sequence[Message], content_of: Callable[[str], Any], tools: Tools) -> list[Message]:
    """Return the messages with what lists stand for in its place again, and so on for the lists among that. The last list is the first: a
    call that comes back with it may tell the place of what an earlier one stands for. A quote of a list that another one holds stays."""
    opened = list(messages)
    contents: dict[str, list[tuple[Message, list[Any]]]] = {}  # (what comes back, where it stood) by the handle of a list
    holder: dict[str, str] = {}  # of a list that another one holds, the handle of that
    waiting = [handle for handle in map(handle_of_list, opened) if handle]
    while waiting:
        handle = waiting.pop()
        content = None if handle in contents else content_of(handle)
        if isinstance(content, list):
            contents[handle] = [(message_of(each, tools), each.get("before") or []) for each in content]
            inner = [each for each in (handle_of_list(message) for message, _ in contents[handle]) if each]
            holder.update(dict.fromkeys(inner, handle))
            waiting += inner
    while True:
        first: dict[str, int] = {}
        for at, handle in enumerate(map(handle_of_list, opened)):
            if handle in contents and holder.get(handle) not in contents:
                first.setdefault(handle, at)
        if not first:
            return opened
        last = max(first, key=first.__getitem__)
        here = first[last]
        del opened[here]
        for message, before in contents.pop(last):
            place = place_of(opened, here, before)
            opened.insert(here if place is None else place, message)
            here += place is None


def _use_back(use: Use, content_of: Callable[[str, str], Any]) -> Use:
    content = content_of(handle_of_stub(use), use.id)
    return Use(use.id, use.traits, content) if isinstance(content, dict) else use


def _shown_back(shown: ShownResult, content_of: Callable[[str, str], Any]) -> ShownResult:
    content = content_of(handle_in(shown.text), shown.id)
    return ShownResult(shown.id, content, shown.error) if isinstance(content, str) else shown
