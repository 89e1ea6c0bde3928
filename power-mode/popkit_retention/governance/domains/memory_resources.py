"""Items of the long-term memory as resources of governance: their kind, their label, their stage, their bytes in an archive."""

from __future__ import annotations

import json
import math

from popkit_retention.core import text, units

from ...memory.items import BY_JOB, BY_POLICY, BY_TOOL, BY_USER, FULL, NAME, NOTE, PATH, BadItem, from_json
from ..policies import ACTION, CONTEXT, THOUGHT
from . import Content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...memory.items import Item


_TYPES = {PATH: CONTEXT, NAME: CONTEXT, NOTE: THOUGHT}
_LABEL = 200  # characters
# The fields that a restore renews: the item counts as wanted from then on, and is not marked.
_RENEWED = ("last_accessed", "marked_at", "marked_by")
_FULL_TEXT = "full_text"
_MARKED_BY = {
    BY_USER: "forgotten by you",
    BY_TOOL: "forgotten by an agent's tool",
    BY_JOB: "forgotten by memory's own job",
    BY_POLICY: "marked by its retention policy",
}


def source_type(kind: str) -> str:
    """Return the specification's type of an item of this kind."""
    return _TYPES.get(kind, ACTION)


def label(item: Item) -> str:
    """Return the beginning of an item's text, on one line."""
    return " ".join(text.clean(item.text[: 2 * _LABEL]).split())[:_LABEL] or "(its text was compressed away)"


def stage_of(item: Item, now: float) -> str:
    """Return the stage of an item's own life, in words."""
    words = f"{item.tier} for {units.span(max(0.0, now - item.tier_since))}"
    words += "" if item.level == FULL else f", compressed to its {item.level}"
    words += ", pinned" if item.held else ", a key decision" if item.for_good else ""
    words += ", added by an agent and not accepted yet" if item.waits else ""
    if item.mark is None:
        return words
    left = item.mark.due_at - now
    if item.marked_by == BY_POLICY:  # nothing collects by itself where auto_gc is false
        when = f"can be deleted in {units.span(left)}" if left > 0 else "deleted by the next collection"
    else:
        when = f"deleted in {units.span(left)}" if left > 0 else "deleted with the next run"
    return f"{words}, {_MARKED_BY.get(item.marked_by, 'marked')}, {when}"


def as_bytes(item: Item, full: str | None) -> bytes:
    """Return an item as a line of an export, without the fields that a restore renews. `full`: its full text, where that is kept apart."""
    value = {name: field for name, field in item.to_json().items() if name not in _RENEWED}
    if full is not None:
        value[_FULL_TEXT] = full
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def about(item: Item) -> dict[str, object]:
    """Return what else was known of an item when it was archived: for people; `read_back` does not use it."""
    return {"project": item.project, "kind": item.kind, "last_accessed": item.last_accessed}


def read_back(content: Content, now: float) -> tuple[Item, str | None]:
    """Return the item in such bytes, as wanted from `now` (seconds) on, and its full text where that is kept apart. BadItem for bytes that
    are not an item."""
    try:
        value: Mapping[str, object] = json.loads(content.data.decode("utf-8", "surrogatepass"))
        fields = {**value, "last_accessed": now}
    except (ValueError, TypeError, RecursionError):
        raise BadItem(f"{content.id!r:.40}: its archived content is not an item") from None
    full = fields.pop(_FULL_TEXT, None)
    try:
        item = from_json(fields, math.inf)  # a clock that was set back must not make an archive unusable
    except BadItem as error:
        raise BadItem(f"{content.id!r:.40}: its archived content cannot be kept: {error}") from None
    if item.id != content.id or not (full is None or isinstance(full, str)):
        raise BadItem(f"{content.id!r:.40}: its archived content is another item")
    return item, full
