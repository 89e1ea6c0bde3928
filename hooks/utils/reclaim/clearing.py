"""Clear: results leave the context. The sum first, then the archive, then the transcript.

The archive has everything before the transcript loses anything; the transcript is the old or the new one at any moment. What the
tracker knows follows from the transcript, so a kill in between leaves nothing that disagrees.
"""

from __future__ import annotations

import json  # noqa: TID253  see places.py

from .. import archive
from ..edges import live
from ..edges.usage import newest_usage
from ..policy import economics, engine, events, selection
from ..policy.placeholder import SHORTEST_HANDLE, placeholder
from . import places, rewrite
from .access import Opened, Refused, chain_of, check_understood, original_path, sweep, trouble_of, turnstile, until_whole
from .cooling import cool


class Plan:
    """What a clear would do: `made` (the rebuilt context), `selection`, `sum`, and whether it pays."""

    __slots__ = ("asked", "made", "now", "pays", "selection", "sum")

    def __init__(self, made, asked, chosen, costs, pays, now):
        self.made = made
        self.asked = asked
        self.selection = chosen
        self.sum = costs
        self.pays = pays
        self.now = now


class Cleared:
    """What a clear did: `handles` (id of a result -> handle), `tokens` that left, placeholders subtracted, the path at which the
    original is kept, and what did not work afterwards ("" for nothing)."""

    __slots__ = ("handles", "original", "tokens", "trouble")

    def __init__(self, handles: dict, tokens: int, original: str, trouble: str = ""):
        self.handles = handles
        self.tokens = tokens
        self.original = original
        self.trouble = trouble


def clear(site, transcript_path: str, now: float, asked: selection.Asked, dry_run: bool = False, must_pay: bool = True) -> tuple:
    """(Plan, Cleared or None). Acts when something goes and it pays, or need not, or the user said `now`. Refused where nothing may be
    changed, RewriteFailed (OSError) where that failed; either way nothing was changed."""
    with turnstile(site):
        sweep(site, transcript_path)
        found = plan(site, transcript_path, now, asked)
        if dry_run or not found.selection.going or not (found.pays or asked.now or not must_pay):
            return found, None
        return found, _clear(site, transcript_path, found)


def plan(site, transcript_path: str, now: float, asked: selection.Asked) -> Plan:
    """What a clear would do; changes nothing but the tracker's own state."""
    made = until_whole(lambda: live.reconcile(site, transcript_path, now=now), lambda made: made.index)
    state = made.state
    chosen = selection.select(state, site.rules_for(state.profile), asked)
    check_understood(made.index, [result.id for result in chosen.going])
    newest = newest_usage(transcript_path)
    going = chosen.going
    tokens = newest.tokens if newest else 0
    leaving = round(sum(result.tokens for result in going) * state.calibration)
    costs = economics.the_sum(
        tokens,
        leaving,
        sum(map(selection.placeholder_tokens, going)),
        # Measured, but never so much that the results which stay behind would not fit.
        min(_prefix(made, going), max(0, tokens - leaving - _staying(state, going))),
        newest.is_warm(now) if newest else False,
        newest.cache_ttl_s if newest else 300,
    )  # fmt: skip
    return Plan(made, asked, chosen, costs, economics.pays(costs), now)


def _prefix(made, going: list) -> int:
    """Tokens of the prompt before the first of these results, as the request that called it measured them."""
    return min((made.prefixes.get(result.id, 0) for result in going), default=0)


def _staying(state, going: list) -> int:
    """Estimated tokens of the results that stay behind the first of these."""
    first = min((result.index for result in going), default=0)
    gone = {result.id for result in going}
    behind = (result for result in (*state.live.values(), *state.expired.values()) if result.index > first and result.id not in gone)
    return round(sum(result.tokens for result in behind if not result.cleared) * state.calibration)


def _clear(site, transcript_path: str, found: Plan) -> Cleared:
    index, state = found.made.index, found.made.state
    going = {result.id: result for result in found.selection.going}
    standing: list = []  # the places, in the order of the file
    with Opened(site.home, create=True) as db:
        added = archive.add_records(
            db, chain_of(site, transcript_path), _records(transcript_path, index, going, state, standing), clear_at=found.now
        )
        if not standing:
            archive.mark_undone(db, added.clear_id, found.now)
            raise Refused("none of these results stands in the main thread as more than a placeholder would take, so nothing was changed")
        handles = {place.id: handle for place, handle in zip(standing, added.ids)}
        edits = [place.edit(_text(going[place.id], handles[place.id])) for place in standing]
        trouble = ""
        try:
            rewrite.rewrite(transcript_path, edits, places.seen_of(index), keep=original_path(site))
        except rewrite.CarryFailed as error:
            trouble = str(error)
        except OSError:
            archive.mark_undone(db, added.clear_id, found.now)
            raise
        tokens = sum(selection.gain(going[id], state.calibration) for id in handles)

        def follow() -> None:
            _book(site, found, handles, tokens)
            cool(db, chain_of(site, transcript_path).task_id)

        trouble = " ".join(filter(None, (trouble, trouble_of(follow))))
    return Cleared(handles, tokens, original_path(site), trouble)


def _records(transcript_path: str, index, going: dict, state, standing: list):
    """What is archived of each result, as its line is come to; `standing` fills with the places."""
    for place, content in places.contents(transcript_path, index, going.__contains__, index.since):
        result = going[place.id]
        if place.end - place.start <= len(_text(result, "a" * SHORTEST_HANDLE).encode("utf-8")):
            continue  # estimated as more than it is
        standing.append(place)
        tokens = round(result.tokens * state.calibration)
        yield archive.NewRecord(place.id, result.kind, result.label, content, places.stamp_of(result.at), result.subjects, tokens)


def _text(result, handle: str) -> str:
    """The placeholder of a result as JSON text, the way the host writes it."""
    return json.dumps(placeholder(result.label, selection.why(result), handle), ensure_ascii=False)


def _book(site, found: Plan, handles: dict, tokens: int) -> None:
    """Journals the clear, and lets what the tracker knows follow."""
    entry = {"event": "clear", "at": found.now, "ids": list(handles), "tokens": tokens}
    happened = [events.ManualClear(list(handles), found.now), events.Cleared(handles)]
    live.note(site, site.paths(), [entry], happened)
    for event in happened:
        engine.observe(found.made.state, event, site.rules_for(found.made.state.profile))
