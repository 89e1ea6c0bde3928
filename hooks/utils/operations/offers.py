"""The operations that the pane and the page offer on buttons, each with its effect, shown before it is done. Pure.

An offer's id is the words that do it, as after `/popkit:context`; only the words below are known.
"""

from __future__ import annotations

import shlex

from .. import text, units
from ..views import bill, phrases, verdicts
from . import CONTEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from ..views.shapes import Bill, Report, ResultRow

    class Offer(NamedTuple):
        """`id`: the words that do it · `label` of its button · `sum`: its effect in words · `key`: the letter that presses it."""

        id: str
        label: str
        sum: str
        key: str

else:
    from collections import namedtuple

    Offer = namedtuple("Offer", "id label sum key")

# The first words of offers.
WORDS = (*(operation.name for operation in CONTEXT.operations if operation.offered), "show", "bill")
_VERDICT = "Clear now: "
_DEFERRED = "the same saving, and Claude still finds it when it looks for a tool"
_LONGEST_NAME = 24


def of_context(report: Report) -> list[Offer]:
    """Return the offers for the whole context."""
    offers = []
    if report["verdict"]["kind"] == "clear":
        offers.append(Offer("clear", "Clear", verdicts.verdict(report).removeprefix(_VERDICT), "c"))
    if report["cleared"]["items"]:
        offers.append(Offer("undo", "Undo the last clear", "what it took comes back in place", "u"))
    return offers


def of_result(row: ResultRow, restores: bool) -> list[Offer]:
    """Return the offers for one row of a report. `restores`: whether a result can be put back in place, which needs a transcript that is
    understood."""
    name, tokens = phrases.number(row), units.long_tokens(row["tokens"])
    offers = []
    if row["state"] == "cleared":
        if restores:
            offers.append(Offer(f"restore {name} --in-place", "Put back", f"{tokens} come back in place", "b"))
    elif row["pinned_by"] == row["id"]:
        offers.append(Offer(f"unpin {name}", "Unpin", f"its {tokens} may expire again", "p"))
    elif not row["pinned_by"]:
        offers.append(Offer(f"pin {name}", "Pin", f"its {tokens} stay in the context until you unpin it", "p"))
    if row["state"] == "cleared" or row["entered"]:
        offers.append(Offer(f"show {name}", "Show all of it", "here in the pane: Claude does not see it", "s"))
    return offers


def of_bill(data: Bill, now: float) -> list[Offer]:
    """Return the offers to hide or defer tools of this project's prompts, the largest first, and to show them again."""
    out = [
        Offer(
            f"bill {word} {shlex.quote(row['name'])} --yes",
            f"{word.capitalize()} {text.cut(text.clean(row['name']), _LONGEST_NAME)}",
            sum,
            key,
        )
        for row, keys in zip(data["proposals"], ("hk", "il", "jm"))
        for word, key, sum in (("hide", keys[0], bill.hiding(row, data["pace"], now)), ("defer", keys[1], _DEFERRED))
    ]
    back = [
        Offer(
            f"bill show {shlex.quote(row['name'])}",
            f"Show {text.cut(text.clean(row['name']), _LONGEST_NAME)}",
            "it returns with the next session" if row.get("defer") else "it returns with the next turn",
            key,
        )
        for row, key in zip(data["hidden"].values(), "bcd")
    ]
    return out + back


def of_auto(question: str) -> list[Offer]:
    """Return the answers to the question whether the conversation compacts by itself once the cache is cold; none where it is not asked."""
    if not question:
        return []
    return [Offer("auto on", "Yes", question, "y"), Offer("auto off", "No", "nothing leaves before the context is full", "n")]


def of_switch(setting: str) -> list[Offer]:
    """Return the offer to change whether the conversation compacts by itself once the cache is cold. `setting`: on, off, ask."""
    if setting == "on":
        return [Offer("auto off", "Stop compacting by itself", "nothing leaves before the context is full", "w")]
    return [Offer("auto on", "Compact when the cache is cold", "what is needed least leaves when that pays", "w")]


def to_json(offers: list[Offer]) -> list[dict[str, str]]:
    """Return offers as the mod takes them."""
    return [{"id": offer.id, "label": offer.label, "sum": offer.sum, "key": offer.key} for offer in offers]
