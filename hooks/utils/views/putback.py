"""`undo` and `restore`: what went back or is shown. Archived records in, data and lines out. Pure."""

from __future__ import annotations

from .. import text
from . import phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..archive.records import Record
    from ..reclaim.undoing import PutBack


def record_data(record: Record) -> dict[str, Any]:
    """A record as `--json` tells of it."""
    return {
        "handle": record.id,
        "id": record.tool_use_id,
        "label": record.label,
        "tokens": record.tokens,
        "archived_at": record.created_at,
        "zone": record.zone,
    }


def put_back_data(back: PutBack) -> dict[str, Any]:
    """What an undo, or a restore in place, did."""
    return {
        "restored": [record_data(record) for record in back.records],
        "gone": [record_data(record) for record in back.gone],
        "tokens": sum(back.tokens),
        "thinking": back.thinking,
        "thinking_left": back.left,
        "thinking_lost": back.unthought,
        "trouble": back.trouble,
    }


def begun_lines(many: int) -> list[text.Line]:
    """What is put back into the running conversation, as soon as Claude is idle."""
    return [
        "",
        *text.wrap(f"Putting {text.counted(many, 'content')} back in place, as far as the window allows. Claude goes on from there."),
    ]


def undo_lines(back: PutBack, session_id: str) -> list[text.Line]:
    """What an undo did."""
    return _lines("Undone", back, session_id, "The last clear was taken back")


def in_place_lines(back: PutBack, session_id: str, hold_calls: int) -> list[text.Line]:
    """What a restore in place did."""
    held = f", held for {text.counted(hold_calls, 'call')}" if hold_calls else ""
    return _lines("Restored", back, session_id, "Back in the transcript" + held)


def _lines(title: str, back: PutBack, session_id: str, said: str) -> list[text.Line]:
    lines = text.title(title)
    if back.records:
        many = f"{text.counted(len(back.records), 'result')}, {text.long_tokens(sum(back.tokens))}"
        lines += text.wrap(f"{said}: {many}.")
        lines += [_record_line(record) for record in back.records[:8]]
        lines += [f"  … {len(back.records) - 8} more"] if len(back.records) > 8 else []
    for record in back.gone:
        lines += text.wrap(f"Gone for good (pruned, or no longer in git): {text.clean(record.label)}", indent="  ")
    if back.thinking:
        lines += text.wrap(f"The reasoning that had left with them is back too: {text.long_tokens(back.thinking)}.")
    if back.unthought > 0:
        said = f"Reasoning that had left with them stays out, because something before it is lost: {text.long_tokens(back.unthought)}."
        lines += text.wrap(said)
    if back.left:
        said = f"Reasoning since the clear has left, because it depended on the shorter conversation: {text.long_tokens(back.left)}."
        lines += text.wrap(said)
    if back.records:
        urgent = back.thinking or back.left
        lines += ["", "Before you go on, load the session again:" if urgent else "They are back in the conversation once you run:", ""]
        lines.append(phrases.resume(session_id))
    return lines + text.wrap(back.trouble) if back.trouble else lines


def _record_line(record: Record) -> text.Line:
    head = f"  {record.id}  {text.tokens(record.tokens):>6}  "
    return text.fitted(head + text.clean(record.label))


def printed_lines(printed: list[tuple[Record, str | None]]) -> list[text.Line]:
    """The contents of records, each below its name; several are told apart. `printed` is [(record, text or None)]."""
    lines: list[text.Line] = []
    for record, content in printed:
        if len(printed) > 1:
            lines += [*([""] if lines else []), f"=== {record.id}  {text.clean(record.label)}"]
        if content is None:
            lines += text.wrap(f"Gone for good (pruned, or no longer in git): {text.clean(record.label)}")
        else:
            lines += content.split("\n")
    return lines


def printed_data(printed: list[tuple[Record, str | None]]) -> dict[str, Any]:
    return {"records": [{**record_data(record), "content": content} for record, content in printed]}
