"""Clear: results leave the context. The sum first, then the archive, then the transcript.

The archive has everything before the transcript loses anything; the transcript is the old or the new one at any moment. What the
tracker knows follows from the transcript, so a kill in between leaves nothing that disagrees.
"""

from __future__ import annotations

import json  # noqa: TID253  see places.py

from .. import archive
from ..hosts.claude_code import calls
from ..policy import events, planning
from ..policy.estimate import estimate_tokens
from ..policy.occasions import CLEARED_BY_USER
from ..policy.placeholder import SHORTEST_HANDLE, beside, placeholder, why, with_outline
from ..state import journal, live, receipts, store
from . import places, rewrite, thinking
from .access import Opened, Refused, chain_of, check_understood, once_answered, original_path, sweep, trouble_of, turnstile, until_whole
from .cooling import cool
from .outlook import plan_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Union

    from ..policy.context import Result
    from ..policy.ruleset import Ruleset
    from ..state.rebuild import Rebuilt
    from ..state.site import Site

    Wanted = Union[planning.Asked, Callable[[Rebuilt], planning.Asked]]


class Prospect:
    """What a clear would do: `made` (the Rebuilt context), its `plan` (policy/planning.py), when."""

    __slots__ = ("made", "now", "plan")

    def __init__(self, made: Rebuilt, plan: planning.Plan, now: float) -> None:
        self.made = made
        self.plan = plan
        self.now = now


class Cleared:
    """What a clear did: `handles` (id of a result -> handle), `tokens` that left, placeholders subtracted, the estimated tokens of the
    `thinking` that left with them, the path at which the original is kept, and what did not work afterwards ("" for nothing)."""

    __slots__ = ("handles", "original", "thinking", "tokens", "trouble")

    def __init__(self, handles: dict[str, str], tokens: int, thinking: int, original: str, trouble: str = ""):
        self.handles = handles
        self.tokens = tokens
        self.thinking = thinking
        self.original = original
        self.trouble = trouble


def clear(
    site: Site, transcript_path: str, now: float, asked: Wanted, dry_run: bool = False, at_end: bool = False,
    with_thinking: bool | None = None, in_place: bool = False,
) -> tuple[Prospect, Cleared | None]:  # fmt: skip
    """(Prospect, Cleared or None). `asked`: a planning.Asked, or what gives one for the Rebuilt context. Acts when something goes and it
    pays, or the user said `now`; `at_end` of a session the next request will find no cache; `with_thinking` goes what was thought behind
    the first result that leaves (None: where the model binds it). `in_place`: only the prospect of one that a compaction does.
    Refused where nothing may be changed (with thinking also in mid-turn),
    RewriteFailed (OSError) where that failed; either way nothing was changed."""
    with turnstile(site):
        sweep(site, transcript_path)

        def change() -> tuple[Prospect, Cleared | None]:
            found = prospect(site, transcript_path, now, asked, at_end, in_place)
            if dry_run or in_place or not found.plan.going or not (found.plan.pays or found.plan.asked.now):
                return found, None
            return found, _clear(site, transcript_path, found, found.plan.prices.bound if with_thinking is None else with_thinking)

        return once_answered(change)


def prospect(site: Site, transcript_path: str, now: float, asked: Wanted, at_end: bool = False, in_place: bool = False) -> Prospect:
    """What a clear would do; changes nothing but the tracker's own state."""
    made = until_whole(lambda: live.reconcile(site, transcript_path, now=now), lambda made: made.index)
    plan = plan_of(site, made.conversation, asked(made) if callable(asked) else asked, now, at_end, in_place)
    check_understood(made.index, [result.id for result in plan.going])
    return Prospect(made, plan, now)


class _Leaving:
    """A result that leaves: its place in the file, and what of it stays."""

    __slots__ = ("kept", "place", "result", "why")

    def __init__(self, place: places.Place, result: Result, why: str, kept: str):
        self.place = place
        self.result = result
        self.why = why
        self.kept = kept

    def text(self, handle: str = "a" * SHORTEST_HANDLE) -> str:
        return with_outline(placeholder(self.result.label, self.why, handle), self.kept)


def _clear(site: Site, transcript_path: str, found: Prospect, with_thinking: bool) -> Cleared:
    index, state = found.made.index, found.made.state
    leaving: list[_Leaving] = []  # in the order of the file
    thoughts: list[thinking.Thought] = []  # likewise
    with Opened(site.home, create=True) as db:
        new = _records(transcript_path, found, leaving, thoughts if with_thinking else None)
        added = archive.add_records(db, chain_of(site, transcript_path), new, clear_at=found.now)
        if not leaving:
            archive.mark_undone(db, added.clear_id, found.now)
            raise Refused("none of these results stands in the main thread as more than a placeholder would take, so nothing was changed")
        handles = {one.result.id: handle for one, handle in zip(leaving, added.ids)}
        edits = [one.place.edit(_as_json(one.text(handles[one.result.id]))) for one in leaving]
        edits = sorted([*edits, *(thought.leaving() for thought in thoughts)], key=lambda edit: edit.start)
        accept = thinking.check_nothing_said if with_thinking else None
        trouble = ""
        try:
            rewrite.rewrite(transcript_path, edits, places.seen_of(index), original_path(site), accept)
        except rewrite.CarryFailed as error:
            trouble = str(error)
        except OSError:
            archive.mark_undone(db, added.clear_id, found.now)
            raise
        tokens = sum(max(0, round(one.result.tokens * state.calibration) - estimate_tokens(one.text())) for one in leaving)

        def follow() -> None:
            _book(site, found, handles, tokens)
            cool(db, chain_of(site, transcript_path).task_id, found.now)

        trouble = " ".join(filter(None, (trouble, trouble_of(follow))))
    return Cleared(handles, tokens, sum(thought.tokens for thought in thoughts), original_path(site), trouble)


def _records(
    transcript_path: str, found: Prospect, leaving: list[_Leaving], thoughts: list[thinking.Thought] | None
) -> Iterator[archive.NewRecord]:
    """What is archived of each result, as its line is come to, then of the thinking that goes with them (None: it stays); `leaving` and
    `thoughts` fill with them."""
    state, index, rules = found.made.state, found.made.index, found.made.conversation.rules
    going = {result.id: result for result in found.plan.going}
    for place, content in places.contents(transcript_path, index, going.__contains__, index.since):
        result = going[place.id]
        quiet_age = None if found.plan.asked.forces else state.quiet_age(result)
        one = _Leaving(place, result, why(result, quiet_age), _beside(result, content, rules))
        if len(_as_json(one.text()).encode("utf-8")) > (place.end - place.start) * planning.MOST_FORCED:
            continue  # estimated as more than it is
        leaving.append(one)
        tokens = round(result.tokens * state.calibration)
        yield archive.NewRecord(place.id, result.kind, result.label, content, places.stamp_of(result.at), result.subjects, tokens)
    if thoughts is not None and leaving:
        thoughts += thinking.thinking_behind(transcript_path, index, leaving[0].place.start).check_ended().thoughts
        yield from (thought.record() for thought in thoughts)


def _beside(result: Result, content: str, rules: Ruleset) -> str:
    """What stays of a content, given as JSON text, beside the notice."""
    return beside(result, calls.text_of_blocks(json.loads(content))[0], rules)


def _as_json(text: str) -> str:
    """The content of a result the way the host writes it."""
    return json.dumps(text, ensure_ascii=False)


def _recorded(result: Result, reasons: dict[str, str]) -> str:
    """Why a result left, as the receipt says it: what ended it, else what the clear weighed, else that it was asked for."""
    return next(iter(result.reasons if result.ended else ()), "") or reasons.get(result.id, CLEARED_BY_USER)


def _book(site: Site, found: Prospect, handles: dict[str, str], tokens: int) -> None:
    """Journals the clear, and lets what the tracker knows follow."""
    needs = {decision.result.id: decision.need for decision in found.plan.decisions if decision.need is not None}
    reasons = {id: f"worth more gone than kept: a chance of {needs[id]:.0%} that it is needed again" for id in handles if id in needs}
    calls = [
        receipts.call_of(result, handles[result.id], _recorded(result, reasons), found.made.state.calibration)
        for result in found.plan.going
        if result.id in handles
    ]
    entry, placeholders = journal.cleared(list(handles), tokens, reasons, found.now), events.Cleared(handles)
    paths = site.paths()
    live.note(site, paths, [entry], placeholders)
    for event in (journal.event_of(entry), placeholders):
        found.made.conversation.observe(event)
    store.append(paths, paths.receipts, receipts.noted(calls, found.now))
