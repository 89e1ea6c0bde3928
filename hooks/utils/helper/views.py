"""What the mod draws: the band above the prompt, the live pane, the line under the prompt. Words and actions; the mod adds no rule."""

from __future__ import annotations

import threading

from ..answers import command, report, text, verdict
from ..answers.panel import panel
from ..policy.estimate import CHARS_PER_TOKEN
from ..reclaim import outlook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..state.site import Site

_NARROWEST = 20
# What a press does: its words after /popkit:context, and its label.
ACTIONS = {"clear": "Clear", "undo": "Undo the last clear"}
_LAYOUT = threading.Lock()  # answers are laid out for one width at a time


def view(site: Site, transcript_path: str, now: float, columns: int, kept_out: int) -> dict[str, Any]:
    """`band`: what to do now, None for nothing · `pane`: the panel's lines, what did not enter, and what can be done · `cache_until`: when
    the cache goes cold (milliseconds), None when it is. `kept_out`: characters that did not enter since the helper began. There is no line
    for the prompt's foot: the client draws what stands there as a warning."""
    with _LAYOUT:
        text.lay_out_for(max(_NARROWEST, columns))
        found = report.build(outlook.look(site, transcript_path, now))
        said = found["verdict"]["kind"]
        can = ["clear"] if said == "clear" else []
        band = None if said == "nothing" else {"text": verdict.in_words(found), "actions": _actions(can)}
        undo = ["undo"] if found["cleared"]["items"] else []
        lines = panel(found, command="")
        if kept_out:
            lines += [
                "",
                f"Said once: {text.tokens(round(kept_out / CHARS_PER_TOKEN['code']))} tokens did not enter since this client began",
            ]
    context = found["context"]
    left = context["cache_seconds_left"] if context else 0
    return {
        "band": band,
        "pane": {"lines": lines[1:] if lines and not lines[0] else lines, "actions": _actions(can + undo)},
        "cache_until": round((now + left) * 1000) if left else None,
    }


def _actions(ids: list[str]) -> list[dict[str, str]]:
    return [{"id": id, "label": ACTIONS[id]} for id in ids]


def answer(words: str, site: Site, transcript_path: str, now: float, columns: int) -> str:
    """The answer to `/popkit:context WORDS`."""
    with _LAYOUT:
        text.lay_out_for(max(_NARROWEST, columns))
        return command.answer(words, site, transcript_path, now)


def press(id: str, site: Site, transcript_path: str, now: float, columns: int) -> str:
    """What a button's deed came to, in words."""
    return answer(id, site, transcript_path, now, columns) if id in ACTIONS else ""
