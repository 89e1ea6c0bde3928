"""What people read of long-term memory: items in lines, what became of them, how it stands. Items and plain values in, lines out. Pure.

What is remembered is hostile text: everything goes through `text.clean`, which `text.wrap` calls.
"""

from __future__ import annotations

from hooks.utils import text

from ..memory.items import BY_JOB, BY_POLICY, BY_TOOL, EMBEDDING, FULL, TIERS
from ..memory.transitions import GRACE_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..memory.items import Item

_ID_COLUMNS = 24  # of the longest id in a list
_KIND_COLUMNS = 8
_BY = {BY_TOOL: "by an agent, ", BY_JOB: "by the job, ", BY_POLICY: "by policy, "}  # of a mark that is not the reader's own
_NAMED = 20  # of the items that a word has changed


def by_tier(items: Sequence[Item], now: float) -> list[str]:
    """Items below the names of their tiers, each in a line with its score."""
    lines: list[str] = []
    ids = _id_columns(items)
    for tier in TIERS:
        found = [item for item in items if item.tier == tier]
        if found:
            lines += ["", tier, *[_row(item, ids, f"{item.score:.2f}", now) for item in found]]
    return lines


def in_order(items: Sequence[Item], now: float) -> list[str]:
    """Items in the order given, each in a line with its tier."""
    ids = _id_columns(items)
    tiers = max((len(item.tier) for item in items), default=0)
    return [_row(item, ids, f"{item.tier:<{tiers}}", now) for item in items]


def _id_columns(items: Sequence[Item]) -> int:
    return min(_ID_COLUMNS, max((text.width(text.clean(item.id)) for item in items), default=0))


def _row(item: Item, ids: int, told: str, now: float) -> str:
    head = f"  {text.pad(text.clean(item.id), ids)}  {told}  {text.pad(text.clean(item.kind), _KIND_COLUMNS)} "
    note = standing(item, now)
    note = f" ({note})" if note else ""
    return text.cut(head + text.cut(label(item), text.WIDTH - text.width(head) - len(note)) + note, text.WIDTH)


def label(item: Item) -> str:
    """An item's text on one line."""
    return text.clean(item.text).strip() or "(its text was compressed away)"


def standing(item: Item, now: float, names: bool = True) -> str:
    """What is out of the ordinary about an item, in a few words; "" where nothing is. `names`: it says who marked it, if not the reader."""
    if item.marked_at is not None:
        left = item.marked_at + GRACE_S - now
        return _BY.get(item.marked_by, "") * names + (f"gone in {text.span(left)}" if left > 0 else "gone with the next run")
    return ", ".join(said for said, holds in _standings(item) if holds)


def _standings(item: Item) -> Sequence[tuple[str, bool]]:
    return ("waits for your yes", item.waits), ("pinned", item.held), ("key", item.key), (item.level, item.level != FULL)


def size(item: Item) -> str:
    """How much of an item is kept, and where."""
    if item.level == EMBEDDING:
        return "an embedding only; restore brings back the text" if item.original else "an embedding only; the text is gone"
    if item.level != FULL:
        return f"its {item.level}; restore brings back the full text" if item.original else f"its {item.level}; the full text is gone"
    return "in full"


# --- what was changed ----------------------------------------------------------------------------------------------------------------

_STAYS = "{}, neither compressed nor deleted, until you {}."
_GOES = "{} deleted for good in 24 h. Until then, {{command}} undo {}."
_TOLD = "From now on MEMORY.md can tell {}."
# word -> (what happened to items, what follows from it for one of them, for several)
_DONE = {
    "add": ("Remembered", "", ""),
    "accept": ("Accepted", _TOLD.format("it"), _TOLD.format("them")),
    "pin": ("Pinned", _STAYS.format("It stays in its tier", "unpin it"), _STAYS.format("They stay in their tiers", "unpin them")),
    "unpin": ("Unpinned", "From now on its tier follows what it is worth.", "From now on their tiers follow what they are worth."),
    "promote": ("Moved up", "", ""),
    "demote": ("Moved down", "", ""),
    "restore": ("Restored in full", "", ""),
    "forget": ("Forgotten", _GOES.format("It is", "brings it back"), _GOES.format("They are", "brings them back")),
    "undo": ("Brought back", "", ""),
}


def changed(word: str, items: Sequence[Item], now: float, command: str) -> list[str]:
    """What a word has done, and to which items. `command`: how the reader calls us."""
    did, of_one, of_several = _DONE[word]
    lines = [f"{did}: {text.counted(len(items), 'item')}", *in_order(items[:_NAMED], now)]
    lines += [f"  … {len(items) - _NAMED:,} more"] if len(items) > _NAMED else []
    follows = of_one if len(items) == 1 else of_several
    return [*lines, *text.wrap(follows.format(command=command))] if follows else lines


def to_accept(items: Sequence[Item], command: str) -> list[str]:
    """How to say yes to those of these items that wait for it. `command`: how the reader calls us."""
    ids = [text.clean(item.id) for item in items if item.waits and item.marked_at is None]
    if not ids:
        return []
    several = len(ids) > 1
    said = f"{len(ids):,} of these items {'were' if several else 'was'} added by an agent. MEMORY.md leaves"
    lines = text.wrap(f"{said} {'them' if several else 'it'} out until you accept {'them' if several else 'it'}:")
    return ["", *lines, f"  {command} accept {'ID…' if several else ids[0]}"]


def joined(found: Mapping[str, Any], command: str) -> list[str]:
    """What `join` answers. `command`: how the reader calls us."""
    owner = text.clean(found["owner"])
    if found["joined"]:
        return text.wrap(f"This folder now shares the memory of {owner}. To keep them apart again: {command} join --no")
    return text.wrap(f"This folder uses nothing of the memory of {owner}. To give it a memory of its own: {command} on")
