"""Items of the memory as resources of governance: their age, their sessions, their bytes in an archive. Pure, but for `Taught`, which reads
what sessions have taught."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from hooks.utils import text

from ...memory import learning
from ...memory.items import BY_JOB, BY_POLICY, BY_TOOL, BY_USER, FULL, NAME, NOTE, PATH, BadItem, from_json
from ...memory.transitions import GRACE_S
from ..policies import ACTION, CONTEXT, THOUGHT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...memory.items import Item
    from ...memory.stores import Store
    from . import Content

_TYPES = {PATH: CONTEXT, NAME: CONTEXT, NOTE: THOUGHT}
_LABEL = 200  # characters
# What is another after an archive has come back: it counts as wanted from then on, and is not marked.
_RENEWED = ("last_accessed", "marked_at", "marked_by")
_FULL_TEXT = "full_text"
_MARKED_BY = {
    BY_USER: "forgotten by you",
    BY_TOOL: "forgotten by an agent's tool",
    BY_JOB: "forgotten by memory's own job",
    BY_POLICY: "marked by its retention policy",
}


class Taught:
    """What sessions have taught, read once for each project that is asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._projects: dict[str, dict[str, tuple[list[str], float]]] = {}

    def of(self, item: Item) -> tuple[tuple[str, ...], float | None]:
        """Return the sessions that an item is from, and when (seconds) it was last written or asked for, None where that is unknown. A
        session that goes on after it has taught books no access, so the end of the last one that wrote it counts."""
        project = self._projects.get(item.project)
        if project is None:
            project = self._projects[item.project] = self._read(item.project)
        sessions, ended = project.get(item.id, ((), 0.0))
        times = (item.created_at, item.last_accessed, ended)
        if not all(isinstance(at, (int, float)) and 0 <= at < math.inf for at in times):
            return (item.episode, *sessions), None
        if not item.episode or item.episode in sessions:
            return tuple(sessions), max(times)
        return (item.episode, *sessions), max(times)

    def _read(self, project: str) -> dict[str, tuple[list[str], float]]:
        found: dict[str, tuple[list[str], float]] = {}
        for session, lesson in learning.taught(self._store, project).items():
            writes, ended = lesson.get("writes"), lesson.get("ended")
            at = float(ended) if isinstance(ended, (int, float)) else 0.0
            for id in writes if isinstance(writes, dict) else ():
                sessions, latest = found.get(id, ([], 0.0))
                sessions.append(session)
                found[id] = sessions, max(latest, at)
        return found


def source_type(kind: str) -> str:
    """Return the specification's type of an item of this kind."""
    return _TYPES.get(kind, ACTION)


def label(item: Item) -> str:
    """Return the beginning of an item's text, on one line."""
    return " ".join(text.clean(item.text[: 2 * _LABEL]).split())[:_LABEL] or "(its text was compressed away)"


def stage_of(item: Item, now: float) -> str:
    """Return at which stage of its own life an item is."""
    words = f"{item.tier} for {text.span(max(0.0, now - item.tier_since))}"
    words += "" if item.level == FULL else f", compressed to its {item.level}"
    words += ", pinned" if item.held else ", a key decision" if item.for_good else ""
    words += ", added by an agent and not accepted yet" if item.waits else ""
    if item.marked_at is None:
        return words
    left = item.marked_at + GRACE_S - now
    if item.marked_by == BY_POLICY:  # nothing collects by itself where auto_gc is false
        when = f"can be deleted in {text.span(left)}" if left > 0 else "deleted by the next collection"
    else:
        when = f"deleted in {text.span(left)}" if left > 0 else "deleted with the next run"
    return f"{words}, {_MARKED_BY.get(item.marked_by, 'marked')}, {when}"


def as_bytes(item: Item, full: str | None) -> bytes:
    """Return an item as a line of an export, without what is renewed when it comes back. `full`: its full text, where that is kept
    apart."""
    value = {name: field for name, field in item.to_json().items() if name not in _RENEWED}
    if full is not None:
        value[_FULL_TEXT] = full
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def about(item: Item) -> dict[str, object]:
    """Return what else was known of an item when it was archived: a person may want to know, `read_back` does not."""
    return {"project": item.project, "kind": item.kind, "last_accessed": item.last_accessed}


def read_back(content: Content, now: float) -> tuple[Item, str | None]:
    """Return the item of such bytes, wanted from `now` (seconds) on, and its full text where that is kept apart. BadItem for what is
    none."""
    try:
        value: Mapping[str, object] = json.loads(content.data.decode("utf-8", "surrogatepass"))
        fields = {**value, "last_accessed": now}
    except (ValueError, TypeError, RecursionError):
        raise BadItem(f"{content.id!r:.40}: what the archive holds is not an item") from None
    full = fields.pop(_FULL_TEXT, None)
    try:
        item = from_json(fields, math.inf)  # a clock that has leapt back spoils no archive
    except BadItem as error:
        raise BadItem(f"{content.id!r:.40}: what the archive holds cannot be kept: {error}") from None
    if item.id != content.id or not (full is None or isinstance(full, str)):
        raise BadItem(f"{content.id!r:.40}: what the archive holds is another item")
    return item, full
