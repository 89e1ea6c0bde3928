"""The lists of memory items that people read. Pure. Items are hostile text: everything goes through `text.clean`."""

from __future__ import annotations

from popkit_retention.core import text, units

from .items import BY_JOB, BY_POLICY, BY_TOOL, FULL, TIERS, Item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_ID_COLUMNS = 24  # columns of the longest id in a list
_KIND_COLUMNS = 8
_LEAST_COLUMNS = 24  # columns of a text beside its id; with less room it stands below
_BY = {BY_TOOL: "by an agent, ", BY_JOB: "by the job, ", BY_POLICY: "by policy, "}  # for a mark that is not the reader's own


def by_tier(items: Sequence[Item], now: float) -> list[text.Line]:
    """Return items under the names of their tiers, each in a line with its score."""
    lines: list[text.Line] = []
    ids = _id_columns(items)
    for tier in TIERS:
        of_tier = [item for item in items if item.tier == tier]
        if of_tier:
            lines += ["", tier, *[_row(item, ids, f"{item.score:.2f}", now) for item in of_tier]]
    return lines


def in_order(items: Sequence[Item], now: float) -> list[text.Line]:
    """Return items in this order, each in a line with its tier."""
    ids = _id_columns(items)
    tiers = max((len(item.tier) for item in items), default=0)
    return [_row(item, ids, f"{item.tier:<{tiers}}", now) for item in items]


def _id_columns(items: Sequence[Item]) -> int:
    return min(_ID_COLUMNS, max((text.width(text.clean(item.id)) for item in items), default=0))


def _row(item: Item, ids: int, column: str, now: float) -> text.Line:
    head = f"  {text.pad(text.clean(item.id), ids)}  {column}  {text.pad(text.clean(item.kind), _KIND_COLUMNS)} "
    note = standing(item, now)
    note = f" ({note})" if note else ""

    def lines(columns: int) -> list[str]:
        if columns - text.width(head) >= _LEAST_COLUMNS:
            return [text.cut(head + text.cut(label(item), columns - text.width(head) - len(note)) + note, columns)]
        return [text.cut(head.rstrip() + note, columns), text.cut("    " + label(item), columns)]

    return lines


def label(item: Item) -> str:
    """Return an item's text on one line."""
    return text.clean(item.text).strip() or "(its text was compressed away)"


def standing(item: Item, now: float, names: bool = True) -> str:
    """Return in a few words what is unusual about an item, "" for nothing. `names`: say who marked it, if not the reader."""
    if item.mark:
        left = item.mark.due_at - now
        return _BY.get(item.marked_by, "") * names + (f"gone in {units.span(left)}" if left > 0 else "gone with the next run")
    return ", ".join(words for words, holds in _standings(item) if holds)


def _standings(item: Item) -> Sequence[tuple[str, bool]]:
    return ("waits for your approval", item.waits), ("pinned", item.held), ("key", item.key), (item.level, item.level != FULL)
