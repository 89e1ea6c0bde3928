"""What stands in the place of what a compaction leaves out, and the way back from it. Pure.

Three things leave: the text of a result, which leaves a placeholder (placeholder.py); the long fields of a call that was to change a file,
whose stub is still an input that the tool would take; and whole calls with their results, for which one line of text stands. What left has
been archived: a result as its content, a call as its input, whole calls as the messages that they stood in.
"""

from __future__ import annotations

from .messages import USER, Message, Shown, Use, message_of
from .placeholder import handle_in, is_handle, placeholder, with_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .tools import Tools

# Shorter fields stay: a stub would be hardly shorter.
LEAST_CHARS = 400
_ON_DISK, _FAILED = "its effect is on disk", "the call has failed"
_HEAD, _MIDDLE, _TAIL = "[PopKit left out ", ": popkit restore ", "]"
_LABEL_CHARS, LISTED = 90, 12


def long_fields(use: Use) -> list[str]:
    """Return the fields of a call that a stub can take the place of, for what they held was to go to disk; [] for none, and once one of
    them has left."""
    fields = [name for name in use.traits.on_disk if isinstance(use.input.get(name), str)]
    if sum(len(use.input[name]) for name in fields) < LEAST_CHARS or any(handle_in(use.input[name]) for name in fields):
        return []
    return fields


def replaced_fields(use: Use) -> list[str]:
    """Return those of the long fields that hold what the call has replaced, and no file holds any more."""
    return [field for field in long_fields(use) if field not in use.traits.written] if use.traits.written else []


def why(failed: bool) -> str:
    """Return why an input leaves; `failed`: nothing of it is on disk."""
    return _FAILED if failed else _ON_DISK


def stub(use: Use, handle: str, fields: Sequence[str] | None = None, failed: bool = False) -> dict[str, Any]:
    """Return the input of a call, which may have `failed`, with placeholders in these fields, in all long ones by default. Two fields never
    say the same: each names itself."""
    names = long_fields(use) if fields is None else fields
    return {**use.input, **{name: placeholder(f"{name} of this {use.tool}", why(failed), handle) for name in names}}


def stub_with_names(use: Use, names: Sequence[str]) -> dict[str, Any]:
    """Return the input of a stub with names behind its last placeholder."""
    field = [name for name in use.traits.on_disk if handle_in(use.input.get(name))][-1]
    return {**use.input, field: with_names(use.input[field], names)}


def handle_of_stub(use: Use) -> str:
    """Return the handle that a stub names; "" for an input that is none."""
    return next(filter(None, (handle_in(use.input.get(name)) for name in use.traits.on_disk)), "")


def folded(labels: Sequence[str], handle: str, names: Sequence[str] = ()) -> Message:
    """Return the text that stands for whole calls of these labels, with their results; `names`: what else it says of them."""
    times: dict[str, int] = {}
    for label in labels:
        label = _in_a_line(label)[:_LABEL_CHARS].replace("[", "(").replace("]", ")")
        times[label] = times.get(label, 0) + 1
    said = [label if count == 1 else f"{label} ({count} times)" for label, count in list(times.items())[:LISTED]]
    more = sum(list(times.values())[LISTED:])
    said += [f"and {more} more"] if more else []
    said += ["in them: " + " ".join(names)] if names else []
    return Message(USER, _HEAD + "; ".join(said) + _MIDDLE + handle + _TAIL)


def _in_a_line(label: str) -> str:
    if not label.isprintable():
        label = "".join([char if char.isprintable() else " " for char in label])
    return " ".join(label.split())


def handle_of_fold(text: str) -> str:
    """Return the handle that a message names which stands for whole calls; "" for any other text."""
    if not text.startswith(_HEAD) or not text.endswith(_TAIL):
        return ""
    handle = text[: -len(_TAIL)].rpartition(_MIDDLE)[2]
    return handle if is_handle(handle) else ""


def put_back(messages: Sequence[Message], content_of: Callable[[str], Any], tools: Tools) -> list[Message]:
    """Return the messages with what left them in its place again. `content_of(handle)`: what is archived (the text of a result, the input
    of a call, a list of messages as JSON), None where it is to stay out. What names a handle in the place of something else stays, as does
    a second message that quotes a line for whole calls: no call comes back twice."""
    back: list[Message] = []
    returned: set[str] = set()
    for message in messages:
        handle = handle_of_fold(message.text) if message.role == USER and not (message.uses or message.results) else ""
        content = content_of(handle) if handle and handle not in returned else None
        if isinstance(content, list):
            returned.add(handle)
            back += put_back([message_of(each, tools) for each in content], content_of, tools)
            continue
        uses = [_use_back(use, content_of) for use in message.uses]
        back.append(Message(message.role, message.text, uses, [_shown_back(shown, content_of) for shown in message.results]))
    return back


def _use_back(use: Use, content_of: Callable[[str], Any]) -> Use:
    handle = handle_of_stub(use)
    content = content_of(handle) if handle else None
    return Use(use.id, use.traits, content) if isinstance(content, dict) else use


def _shown_back(shown: Shown, content_of: Callable[[str], Any]) -> Shown:
    handle = handle_in(shown.text)
    content = content_of(handle) if handle else None
    return Shown(shown.id, content, shown.error) if isinstance(content, str) else shown
