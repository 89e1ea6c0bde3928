"""`cold`: whether the conversation compacts by itself once its prompt cache is cold, and what that would take now. Words and data.

The data: `setting` (on, off, ask) · `tokens` that would leave now, 0 for none, and what that is worth in dollars (`usd`, null where no
price is known) · `is_cold`: whether the cache is.
"""

from __future__ import annotations

from .. import text
from ..reclaim import cold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..reclaim.outlook import Outlook
    from ..state.site import Site

_SAYS = {
    cold.ON: "on. Between turns, once the prompt cache is cold and it pays, what is dead leaves by itself: no model, a receipt, undo",
    cold.OFF: "off. Nothing leaves the conversation by itself",
    cold.ASK: "not decided yet. The pane asks the first time it would have paid",
}


def look(site: Site, seen: Outlook) -> dict[str, Any]:
    """The data, see above."""
    conversation = seen.made.conversation if seen.made is not None else None
    found = cold.prospect(site, conversation, seen.at) if conversation is not None else None
    data: dict[str, Any] = {"setting": cold.setting(site), "is_cold": found is not None, "tokens": 0, "usd": None, "ids": []}
    if found is not None and found.ids and conversation is not None:
        tokens, usd = cold.worth_of(found, conversation)
        data.update(tokens=tokens, usd=None if usd is None else round(usd, 4), ids=found.ids)
    return data


def lines(found: dict[str, Any], command: str) -> list[str]:
    """What the word answers."""
    shown = text.title("Compacting when the cache is cold")
    shown += text.wrap(f"It is {_SAYS[found['setting']]}.")
    if found["tokens"]:
        shown += text.wrap(f"Now {sum_of(found)} would leave.")
    other = "off" if found["setting"] == cold.ON else "on"
    return [*shown, "", *text.wrap(f"To change that: {command} cold {other}")]


def sum_of(found: dict[str, Any]) -> str:
    """~12,300 tokens, worth about $0.11,"""
    worth = "" if found["usd"] is None else f", worth about ${found['usd']:.2f},"
    return text.long_tokens(found["tokens"]) + worth


def question(found: dict[str, Any]) -> str:
    """What the pane asks, in a line; "" where there is nothing to ask."""
    if found["setting"] != cold.ASK or not found["tokens"]:
        return ""
    return f"the cache is cold: {sum_of(found)} can leave before your next prompt. Let that happen by itself whenever it pays?"
