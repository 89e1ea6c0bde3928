"""The text on automatic compaction. Data in, lines out. Pure."""

from __future__ import annotations

from .. import text, units
from ..reclaim import auto_compaction as cold
from . import phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shapes import AutoCompaction

_COLD = {
    cold.ON: "on. Between turns, once it pays (a cold cache, a long conversation), what is needed least leaves: no model, a receipt, undo",
    cold.OFF: "off. Nothing leaves before the context is full",
    cold.ASK: "not decided yet. The pane asks the first time it would have paid",
}


def auto_lines(current: AutoCompaction, command: str) -> list[text.Line]:
    """Return the answer to `auto`."""
    shown = text.title("Compacting by itself")
    shown += text.wrap(f"It is {_COLD[current['setting']]}.")
    shown += text.wrap(bound_in_words(current))
    if current["tokens"]:
        waits = current["setting"] == cold.ON and current["stays"] >= 1
        tokens, pays = units.long_tokens(current["tokens"]), phrases.pays(current["pays_after"], current["usd"])
        shown += text.wrap(f"A clear would take out {tokens} now{pays}." if waits else f"Now {tokens} would leave{pays}.")
    other = "off" if current["setting"] == cold.ON else "on"
    return [*shown, "", *text.wrap(f"To change that: {command} auto {other}")]


def bound_in_words(current: AutoCompaction) -> str:
    """Return the bound on look-ups, their number in this session, and the consequence for now."""
    been = f"{units.counted(current['look_ups'], 'look-up')} in {units.counted(current['requests'], 'request')} because of PopKit"
    words = f"So far: {been}, which holds back near {current['auto_misses']:g} in 100."
    if current["setting"] != cold.ON or not current["tokens"] or not current["stays"]:
        return words
    if current["stays"] >= 1:
        return words + " More than that would have to be expected now, so nothing leaves by itself until more requests have come."
    return words + f" To stay below, {units.percent(current['stays'])} of the conversation stays at least."


def cold_question(current: AutoCompaction) -> str:
    """Return the question of the pane, in a line; "" without a question. The removable results are named above it."""
    if current["setting"] != cold.ASK or not current["tokens"]:
        return ""
    so_far = f"so far {current['look_ups']} in {current['requests']:,}"
    most = f"{current['auto_misses']:g} look-up{'s' * (current['auto_misses'] != 1)}"
    return f"let this happen by itself when it pays; PopKit holds back near {most} in 100 requests ({so_far})"
