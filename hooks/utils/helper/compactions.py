"""Which compactions are answered without a model, with what, and what the person is told. What the person has asked for waits here until
the host asks what the compaction is to be.
"""

from __future__ import annotations

from .. import text
from ..hosts.claude_code.usage import newest_usage
from ..policy.outline import findings
from ..policy.ruleset import COMPACT_TARGET
from ..reclaim import in_place
from ..reclaim.in_place import ASKED, AUTO, COLD, MANUAL, Declined, Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..policy.outline import Findings
    from ..reclaim.in_place import Answer
    from ..state.site import Site

PRECOMPUTE = "precompute"
# Where more of the prompt is left than this, and the target is not reached, little room was made: a summary makes more.
_MOST_LEFT = 0.6
# Of what is left, so much goes to the summariser where we do not reach the target: the older part.
_OLDER = 0.6


class Compactions:
    """The compactions of one session. `wanted`: what the next one that we start is to do; `found`: as `outline.findings` does it."""

    def __init__(self, found: Callable[[str, bool], Findings] = findings) -> None:
        self.found = found
        self.wanted: Wanted | None = None
        self.is_begun = True  # whether the host has been told to start one for it
        self.declined = ""  # why the last one was left to the host; "" where it was not
        self._answered: Callable[[], object] | None = None  # says in the journal what was answered last, once that stands

    def clear(self, ids: Sequence[str]) -> None:
        """The next compaction that we start takes these results out."""
        self.wanted, self.is_begun = Wanted(ASKED, only=ids), False

    def put_back(self, handles: Sequence[str]) -> None:
        """The next compaction that we start puts back what is archived under these handles."""
        self.wanted, self.is_begun = Wanted(ASKED, back=handles), False

    def when_cold(self, ids: Sequence[str]) -> None:
        """The next compaction that we start takes these results out, if the cache is still cold then."""
        self.wanted, self.is_begun = Wanted(COLD, only=ids), False

    def cancel(self) -> bool:
        """Lets go of a clear that was asked for and is not done yet; whether there was one."""
        is_waiting = self.wanted is not None and self.wanted.only is not None
        if is_waiting:
            self.wanted, self.is_begun = None, True
        return is_waiting

    def begin(self) -> bool:
        """Whether the host is to start a compaction for what is wanted; it is told once."""
        is_due, self.is_begun = not self.is_begun, True
        return is_due

    def stands(self, is_ours: bool) -> None:
        """A compaction is done: with what was answered, or without it."""
        if is_ours and self._answered is not None:
            self._answered()
        self._answered = None

    def answer(self, site: Site, transcript_path: str, asked: dict[str, Any], now: float) -> dict[str, Any]:
        """What the mod does with a compaction: `rows` stand as it; or `hand_on`, they go to the summariser; with `behind`, these rows stand
        behind its summary. `skip`: it is not done at all. {}: it is the host's. `notice`: what the person is told."""
        trigger, agent_id = str(asked.get("trigger") or ""), str(asked.get("agent_id") or "")
        is_own = asked.get("own") is True
        self._answered = None
        wanted = self._wanted(site, trigger, agent_id, asked)
        if is_own:
            self.wanted = None
        if wanted is None:
            return {"skip": "nothing was asked for"} if is_own else {}
        if trigger == PRECOMPUTE:
            return {"skip": "PopKit answers the compaction when it comes"} if not self.declined else {}
        if wanted.why == COLD and _is_warm(transcript_path, now):
            return {"skip": "the prompt cache is warm again"}
        rows = asked.get("rows")
        try:
            made = in_place.answer(site, transcript_path, agent_id, rows if isinstance(rows, list) else [], wanted, now, self.found)
        except Declined as error:
            if is_own:
                return {"skip": str(error), "notice": f"Nothing was changed: {error}."}
            self.declined = str(error)
            return {}
        self.declined = ""
        self._answered = lambda: made.note(True)
        if trigger == MANUAL and wanted.why == MANUAL and str(asked.get("instructions") or "").strip():
            return {"rows": made.rows, "hand_on": True}
        if wanted.why == AUTO and not made.met and made.after > _MOST_LEFT * made.before:
            older, newer = _split(made.rows)
            return {"rows": older, "hand_on": True, "behind": newer} if older else {"rows": made.rows, "hand_on": True}

        def note() -> None:
            made.note(False)
            in_place.tell(site, agent_id, now)

        self._answered = note
        return {"rows": made.rows, "notice": notice(made)}

    def _wanted(self, site: Site, trigger: str, agent_id: str, asked: dict[str, Any]) -> Wanted | None:
        """What a compaction is to do; None where it is the host's."""
        config = site.config
        if not site.enabled:
            return None
        if asked.get("own") is True:
            return self.wanted
        is_on = config.get("compact", "on") == "on" and (not agent_id or config.get("compact_agents") is not False)
        switch = {MANUAL: "compact_manual", AUTO: "compact_auto", PRECOMPUTE: "compact_auto"}.get(trigger, "")
        if not is_on or not switch or config.get(switch) is False:
            return None
        return Wanted(MANUAL if trigger == MANUAL else AUTO, float(config.get("compact_target", COMPACT_TARGET)))


def _is_warm(transcript_path: str, now: float) -> bool:
    newest = newest_usage(transcript_path)
    return newest is not None and newest.is_warm(now)


def _split(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The older part of what is left, and the newer, which begins with something that the user said, or with a call."""
    sizes = [len(str(row)) for row in rows]
    room, at = _OLDER * sum(sizes), 0
    while at < len(rows) and room > 0:
        room -= sizes[at]
        at += 1
    while at < len(rows) and rows[at]["toolResults"]:
        at += 1
    return rows[:at], rows[at:]


def notice(made: Answer) -> str:
    """One line that says what a compaction came to."""
    sizes = f"{_size(made.before)} to {_size(made.after)} tokens"
    if made.back:
        return f"Put back in place: {text.counted(len(made.back), 'result')}, {sizes}."
    things = text.counted(len(_calls_of(made)), "result")
    return f"Compacted without a model: {sizes}. {things} taken out, and all can be restored."


def _calls_of(made: Answer) -> set[str]:
    """The ids of the calls of which something left."""
    found = {one.id for one in made.left if one.id}
    for one in made.left:
        if isinstance(one.content, list):
            found.update(use["tool_use_id"] for row in one.content for use in row["toolUses"])
    return found


def _size(tokens: int) -> str:
    return text.tokens(tokens).removeprefix("~")
