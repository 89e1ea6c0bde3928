"""What a person can do in the pane: each deed with what it comes to, said before it is done. Pure.

A deed's id is the words that do it, as after `/popkit:context`; of these only the ones below are known.
"""

from __future__ import annotations

import shlex

from .. import text
from ..context_table import CONTEXT
from ..views import bill, cache, phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from ..views.report_shapes import Report, ResultRow
    from ..views.shapes import KeptWarm

    class Offer(NamedTuple):
        """`id`: the words that do it · `label` of its button · `sum`: what it comes to · `key`: the letter that presses it."""

        id: str
        label: str
        sum: str
        key: str

else:
    from collections import namedtuple

    Offer = namedtuple("Offer", "id label sum key")

# What the words of a deed begin with.
WORDS = (*(operation.name for operation in CONTEXT.operations if operation.offered), "show", "native", "bill")
_SAID = "Clear now: "
_LONGEST_NAME = 24


def of_context(report: Report) -> list[Offer]:
    """What can be done about the whole context now."""
    found = []
    if report["verdict"]["kind"] == "clear":
        found.append(Offer("clear", "Clear", phrases.verdict(report).removeprefix(_SAID), "c"))
    if report["cleared"]["items"]:
        found.append(Offer("undo", "Undo the last clear", "what it took comes back in place", "u"))
    return found


def of_result(row: ResultRow, restores: bool) -> list[Offer]:
    """What can be done about one row of a report. `restores`: whether a result can be put back in place, which needs a transcript that is
    understood."""
    name, tokens = phrases.number(row), text.long_tokens(row["tokens"])
    found = []
    if row["state"] == "cleared":
        if restores:
            found.append(Offer(f"restore {name} --in-place", "Put back", f"{tokens} come back in place", "b"))
    elif row["pinned_by"] == row["id"]:
        found.append(Offer(f"unpin {name}", "Unpin", f"its {tokens} may expire again", "p"))
    elif not row["pinned_by"]:
        found.append(Offer(f"pin {name}", "Pin", f"its {tokens} stay in the context until you unpin it", "p"))
    if row["state"] == "cleared" or row["entered"]:
        found.append(Offer(f"show {name}", "Show all of it", "here in the pane: Claude does not see it", "s"))
    return found


def of_warmth(kept: KeptWarm) -> list[Offer]:
    """Whether the prompt cache is kept warm (operations/cache.py). What it would have been worth stands beside it."""
    if kept["on"]:
        return [Offer("warm off", "Stop keeping the cache warm", "nothing is sent any more", "w")]
    if kept["refused"]:
        return []
    words = "warm on --yes" if cache.has_lost(kept) else "warm on"
    return [Offer(words, "Keep the cache warm", f"one request takes {text.short_tokens(kept['one']['tokens'])} of input", "w")]


def of_bill(found: dict[str, Any], now: float) -> list[Offer]:
    """What can be hidden from the prompts of this project, the largest first, and what is back at a press. `found`: a bill."""
    hide = [
        Offer(
            f"bill hide {shlex.quote(row['name'])} --yes",
            f"Hide {text.cut(text.clean(row['name']), _LONGEST_NAME)}",
            bill.hiding(row, found["pace"], now),
            key,
        )
        for row, key in zip(found["proposals"], "hij")
    ]
    back = [
        Offer(
            f"bill show {shlex.quote(row['name'])}",
            f"Show {text.cut(text.clean(row['name']), _LONGEST_NAME)}",
            "it is back from the next turn on",
            key,
        )
        for row, key in zip(found["hidden"].values(), "bcd")
    ]
    return hide + back


def of_cold(question: str) -> list[Offer]:
    """The answers to the question whether dead results leave by themselves once the cache is cold; none where it is not asked."""
    if not question:
        return []
    return [Offer("cold on", "Yes", question, "y"), Offer("cold off", "No", "nothing leaves by itself", "n")]


def to_json(deeds: list[Offer]) -> list[dict[str, str]]:
    """Deeds as the mod takes them."""
    return [{"id": deed.id, "label": deed.label, "sum": deed.sum, "key": deed.key} for deed in deeds]
