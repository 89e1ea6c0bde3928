"""The texts about changes of memory items: those that were made, those that wait for approval. Pure."""

from __future__ import annotations

from popkit_retention.core import text, units

from .item_views import in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .items import Item

_NAMED = 20  # items shown of those that a word has changed
_STAYS = "{}, neither compressed nor deleted, until you {}."
_GOES = "{} deleted for good in 24 h. Until then, {{command}} undo {}."
_TOLD = "From now on, MEMORY.md can include {}."
# word -> (what happened to items, the consequence for one of them, for several)
_DONE = {
    "add": ("Remembered", "", ""),
    "accept": ("Accepted", _TOLD.format("it"), _TOLD.format("them")),
    "pin": ("Pinned", _STAYS.format("It stays in its tier", "unpin it"), _STAYS.format("They stay in their tiers", "unpin them")),
    "unpin": ("Unpinned", "From now on, its tier follows its score.", "From now on, their tiers follow their scores."),
    "promote": ("Moved up", "", ""),
    "demote": ("Moved down", "", ""),
    "restore": ("Restored in full", "", ""),
    "forget": ("Forgotten", _GOES.format("It is", "brings it back"), _GOES.format("They are", "brings them back")),
    "undo": ("Brought back", "", ""),
}


def changed(word: str, items: Sequence[Item], now: float, command: str) -> list[text.Line]:
    """Return what a word has done, and to which items. `command`: how the reader calls us."""
    did, of_one, of_several = _DONE[word]
    shown, others = text.beginning(items, _NAMED)
    lines = [f"{did}: {units.counted(len(items), 'item')}", *in_order(shown, now)]
    lines += [f"  … {others:,} more"] if others else []
    follows = of_one if len(items) == 1 else of_several
    return [*lines, *text.wrap(follows.format(command=command))] if follows else lines


def to_accept(items: Sequence[Item], command: str) -> list[text.Line]:
    """Return how to accept those of these items that wait for it. `command`: how the reader calls us."""
    ids = [text.clean(item.id) for item in items if item.waits and item.marked_at is None]
    if not ids:
        return []
    several = len(ids) > 1
    words = f"{len(ids):,} of these items {'were' if several else 'was'} added by an agent. MEMORY.md leaves"
    lines = text.wrap(f"{words} {'them' if several else 'it'} out until you accept {'them' if several else 'it'}:")
    return ["", *lines, f"  {command} admin accept {'ID…' if several else ids[0]}"]
