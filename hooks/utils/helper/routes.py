"""The requests that a session answers. The parameters of a method are the fields of its request, and their types say how each is read,
once, here: of another type it is as good as none."""

from __future__ import annotations

from ..hosts.guests import ReportedResult
from ..io.codec import as_list, as_object, as_text, text_list, texts, whole
from .arriving import Row, calls_of
from .compactions import CompactionRequest
from .served_session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_MOST_CELLS = 1_000
# Type of a parameter -> what reads a value as one.
_READERS: dict[str, Callable[[Any], object]] = {
    "object": lambda value: value,
    "str": as_text,
    "bool": lambda value: value is True,
    "list[str]": texts,
    "list[str] | None": text_list,
    "list[Any]": as_list,
    "dict[str, object]": as_object,
    "float | None": lambda value: value if isinstance(value, float) and 0 < value <= 1 else None,
    "Columns": lambda value: whole(value, _MOST_CELLS) or 70,
    "Rows": lambda value: whole(value, _MOST_CELLS) or 40,
    "Row": Row,
    "dict[str, ArrivingCall]": calls_of,
}
_RECORDS: dict[str, Any] = {"CompactionRequest": CompactionRequest, "ReportedResult": ReportedResult}
# Path of a request -> the method that answers it.
ROUTES: dict[str, Callable[..., Mapping[str, object]]] = {
    "/row": Session.row, "/rows": Session.begin_turn, "/compact": Session.compact, "/compacting": Session.compacting,
    "/compacted": Session.compacted, "/late": Session.late, "/view": Session.view, "/command": Session.command, "/press": Session.press,
    "/health": Session.health, "/result": Session.result, "/writing": Session.writing, "/messages": Session.messages,
    "/prompt": Session.prompt, "/mend": Session.mend, "/want": Session.want, "/breakdown": Session.breakdown, "/hidden": Session.hidden,
}  # fmt: skip
# These come from processes of ours, which do not know what the client says.
_FROM_A_SHELL = ("/want", "/health")


def answer(session: Session, path: str, request: dict[str, Any]) -> Mapping[str, object]:
    """Return the answer to a request, after what its client says of data rules is taken in."""
    if path not in _FROM_A_SHELL:
        session.note_data_rules(request.get("data_rules"))
    return ROUTES[path](session, **_fields(ROUTES[path], request))


def _fields(taker: Callable[..., object], request: dict[str, Any]) -> dict[str, object]:
    """Return what a method takes of a request, or a record."""
    return {name: _field(name, type, request) for name, type in taker.__annotations__.items() if name != "return"}


def _field(name: str, type: str, request: dict[str, object]) -> object:
    record = _RECORDS.get(type)
    return record(**_fields(record.__init__, request)) if record else _READERS[type](request.get(name))
