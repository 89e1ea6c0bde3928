"""Clear: results leave the context. The sum first, then the archive, then the transcript.

The archive has everything before the transcript loses anything; the transcript is the old or the new one at any moment. What the
tracker knows follows from the transcript, so a kill in between leaves nothing that disagrees.
"""

from __future__ import annotations

import json  # noqa: TID253  see places.py

from .. import archive
from ..host import responses
from ..host.usage import Usage, newest_usage
from ..policy import auto, economics, engine, events, outline, selection
from ..policy.estimate import estimate_tokens
from ..policy.placeholder import SHORTEST_HANDLE, placeholder, with_outline
from ..state import learnt, live
from . import places, rewrite, thinking
from .access import Opened, Refused, chain_of, check_understood, original_path, sweep, trouble_of, turnstile, until_whole
from .cooling import cool


class Plan:
    """What a clear would do: `made` (the rebuilt context), `rules`, `selection`, `sum`, whether it pays, and over how many
    requests with a warm cache that is reckoned."""

    __slots__ = ("asked", "likely_requests", "made", "now", "pays", "rules", "selection", "sum")

    def __init__(self, made, rules, asked, now):
        self.made = made
        self.rules = rules
        self.asked = asked
        self.now = now
        self.selection = self.sum = None
        self.pays = False
        self.likely_requests = 0


class Cleared:
    """What a clear did: `handles` (id of a result -> handle), `tokens` that left, placeholders subtracted, the estimated tokens of the
    `thinking` that left with them, the path at which the original is kept, and what did not work afterwards ("" for nothing)."""

    __slots__ = ("handles", "original", "thinking", "tokens", "trouble")

    def __init__(self, handles: dict, tokens: int, thinking: int, original: str, trouble: str = ""):
        self.handles = handles
        self.tokens = tokens
        self.thinking = thinking
        self.original = original
        self.trouble = trouble


def clear(
    site, transcript_path: str, now: float, asked: selection.Asked, dry_run: bool = False, at_end: bool = False, with_thinking: bool = False
) -> tuple:
    """(Plan, Cleared or None). Acts when something goes and it pays, or the user said `now`; `at_end` of a session the next request will
    find no cache; `with_thinking` goes what was thought behind the first result that leaves. Refused where nothing may be changed (with
    thinking also in mid-turn), RewriteFailed (OSError) where that failed; either way nothing was changed."""
    with turnstile(site):
        sweep(site, transcript_path)
        found = plan(site, transcript_path, now, asked, at_end)
        if dry_run or not found.selection.going or not (found.pays or asked.now):
            return found, None
        return found, _clear(site, transcript_path, found, with_thinking)


def plan(site, transcript_path: str, now: float, asked: selection.Asked, at_end: bool = False) -> Plan:
    """What a clear would do; changes nothing but the tracker's own state."""
    made = until_whole(lambda: live.reconcile(site, transcript_path, now=now), lambda made: made.index)
    state = made.state
    newest = newest_usage(transcript_path) or Usage()
    warm = newest.is_warm(now) and not at_end
    found = Plan(made, site.rules_for(state.profile), asked, now)
    weighed = found.rules.weighs and not asked.forces
    if weighed:
        _weigh(site, found, newest, warm)
    else:
        found.selection = selection.select(state, found.rules, asked)
    going = found.selection.going
    check_understood(made.index, [result.id for result in going])
    leaving = round(sum(result.tokens for result in going) * state.calibration)
    found.sum = economics.the_sum(
        newest.tokens,
        leaving,
        sum(selection.placeholder_tokens(result, state.calibration, found.rules) for result in going),
        # Measured, but never so much that the results which stay behind would not fit.
        min(_prefix(made, going), max(0, newest.tokens - leaving - _staying(state, going))),
        warm,
        newest.cache_ttl_s,
    )  # fmt: skip
    if not weighed:
        found.likely_requests = economics.LIKELY_REQUESTS[found.sum.cache_ttl_s]
        found.pays = economics.pays(found.sum, found.likely_requests)
    return found


def _weigh(site, found: Plan, newest: Usage, warm: bool) -> None:
    """Fills a plan with what is worth clearing of what the model has seen, in the prompt as it would go out now."""
    made = found.made
    prompt = newest.tokens + round(made.unsent * made.state.calibration)
    situation = auto.Situation(prompt, newest.tokens, not warm, newest.cache_ttl_s)
    seen = {id: tokens for id, tokens in made.prefixes.items() if id not in made.unseen}
    model = learnt.load(site.home, site.session_project).model
    found.selection, found.pays = selection.weigh(made.state, found.rules, found.asked, situation, seen, model)
    found.likely_requests = auto.REQUESTS_AHEAD[situation.ttl_s]


def _prefix(made, going: list) -> int:
    """Tokens of the prompt before the first of these results, as the request that called it measured them."""
    return min((made.prefixes.get(result.id, 0) for result in going), default=0)


def _staying(state, going: list) -> int:
    """Estimated tokens of the results that stay behind the first of these."""
    first = min((result.index for result in going), default=0)
    gone = {result.id for result in going}
    behind = (result for result in (*state.live.values(), *state.expired.values()) if result.index > first and result.id not in gone)
    return round(sum(result.tokens for result in behind if not result.cleared) * state.calibration)


class _Leaving:
    """A result that leaves: its place in the file, and what of it stays."""

    __slots__ = ("kept", "place", "result", "why")

    def __init__(self, place, result, why: str, kept: str):
        self.place = place
        self.result = result
        self.why = why
        self.kept = kept

    def text(self, handle: str = "a" * SHORTEST_HANDLE) -> str:
        return with_outline(placeholder(self.result.label, self.why, handle), self.kept)


def _clear(site, transcript_path: str, found: Plan, with_thinking: bool) -> Cleared:
    index, state = found.made.index, found.made.state
    leaving: list = []  # in the order of the file
    thoughts: list = []  # likewise
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
            cool(db, chain_of(site, transcript_path).task_id)

        trouble = " ".join(filter(None, (trouble, trouble_of(follow))))
    return Cleared(handles, tokens, sum(thought.tokens for thought in thoughts), original_path(site), trouble)


def _records(transcript_path: str, found: Plan, leaving: list, thoughts: list | None):
    """What is archived of each result, as its line is come to, then of the thinking that goes with them (None: it stays); `leaving` and
    `thoughts` fill with them."""
    state, index = found.made.state, found.made.index
    going = {result.id: result for result in found.selection.going}
    for place, content in places.contents(transcript_path, index, going.__contains__, index.since):
        result = going[place.id]
        quiet_age = None if found.asked.forces else state.quiet_age(result)
        one = _Leaving(place, result, selection.why(result, quiet_age), _outline(content) if found.rules.weighs else "")
        if place.end - place.start <= len(_as_json(one.text()).encode("utf-8")):
            continue  # estimated as more than it is
        leaving.append(one)
        tokens = round(result.tokens * state.calibration)
        yield archive.NewRecord(place.id, result.kind, result.label, content, places.stamp_of(result.at), result.subjects, tokens)
    if thoughts is not None and leaving:
        thoughts += thinking.thinking_behind(transcript_path, index, leaving[0].place.start).check_ended().thoughts
        yield from (thought.record() for thought in thoughts)


def _outline(content: str) -> str:
    """What stays of a large content, given as JSON text, beside the notice."""
    return outline.outline(responses.text_of_blocks(json.loads(content))[0])


def _as_json(text: str) -> str:
    """The content of a result the way the host writes it."""
    return json.dumps(text, ensure_ascii=False)


def _book(site, found: Plan, handles: dict, tokens: int) -> None:
    """Journals the clear, and lets what the tracker knows follow."""
    needs = found.selection.needs
    reasons = {id: f"worth more gone than kept: a chance of {needs[id]:.0%} that it is needed again" for id in handles if id in needs}
    entry = {"event": "clear", "at": found.now, "ids": list(handles), "tokens": tokens}
    happened = [events.ManualClear(list(handles), found.now, reasons), events.Cleared(handles)]
    live.note(site, site.paths(), [{**entry, "reasons": reasons} if reasons else entry], happened)
    for event in happened:
        engine.observe(found.made.state, event, found.rules)
