"""Clear results from the context, and let the archive grow cold where git keeps a content. First the sum, then the archive, then the
transcript.

The archive has everything before the transcript loses anything; the transcript is the old or the new one at any moment. What the tracker
knows follows from the transcript, so a kill in between leaves nothing that disagrees.
"""

from __future__ import annotations

import json  # noqa: TID253  see places.py
import time

from .. import archive
from ..archive import chains
from ..hosts.claude_code import calls
from ..io import repository
from ..policy import events, kinds, planning
from ..policy.estimate import estimate_tokens
from ..policy.occasions import CLEARED_BY_USER
from ..policy.placeholder import NO_HANDLE, beside, placeholder, why, with_outline
from ..state import journal, receipts, reconciling, store
from ..state.archived import errors
from ..text import chance
from . import places, rewrite
from .access import Opened, Refused, chain_of, check_understood, once_answered, original_path, sweep, trouble_of, turnstile, until_whole
from .outlook import plan_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Union

    from ..policy.context import Result
    from ..policy.ruleset import Ruleset
    from ..state.live import Site
    from ..state.rebuild import Rebuilt

    Wanted = Union[planning.Selection, Callable[[Rebuilt], planning.Selection]]
    from sqlite3 import Connection
    from typing import Any

    from ..archive.records import Record

# With one clear git is asked about so many records, and for so long: a person waits. The others keep their contents until later.
ASKED, PATIENCE_S = 25, 2.0
_NONE: dict[str, Any] = {}  # noted as the source of a record that has none, so that it is not looked for with every clear


class Prospect:
    """The prospect of a clear: `rebuilt` (the context), its `plan` (policy/planning.py), when."""

    __slots__ = ("now", "plan", "rebuilt")

    def __init__(self, rebuilt: Rebuilt, plan: planning.Plan, now: float) -> None:
        self.rebuilt = rebuilt
        self.plan = plan
        self.now = now


class Cleared:
    """The outcome of a clear: `handles` (id of a result -> handle), `tokens` that left, placeholders subtracted, the estimated tokens of
    the `thinking` that left with them, the path at which the original is kept, and what did not work afterwards ("" for nothing)."""

    __slots__ = ("handles", "original", "thinking", "tokens", "trouble")

    def __init__(self, handles: dict[str, str], tokens: int, thinking: int, original: str, trouble: str = ""):
        self.handles = handles
        self.tokens = tokens
        self.thinking = thinking
        self.original = original
        self.trouble = trouble


def clear(
    site: Site, transcript_path: str, now: float, selection: Wanted, dry_run: bool = False, at_end: bool = False,
    with_thinking: bool | None = None, in_place: bool = False,
) -> tuple[Prospect, Cleared | None]:  # fmt: skip
    """Return (Prospect, Cleared or None). `selection`: a planning.Selection, or a function that returns one for the Rebuilt context. Acts
    when there is something to clear and it pays, or when the user said `now`. `at_end` of a session the next request finds no cache;
    `with_thinking` also takes the thinking behind the first result that leaves (None: where the model binds it). `in_place`: return only
    the prospect of what a compaction does. Raises Refused where nothing may be changed (with thinking also in mid-turn), RewriteFailed
    (OSError) where that failed; either way nothing was changed."""
    with turnstile(site):
        sweep(site, transcript_path)

        def change() -> tuple[Prospect, Cleared | None]:
            plan = prospect(site, transcript_path, now, selection, at_end, in_place)
            if dry_run or in_place or not plan.plan.going or not (plan.plan.pays or plan.plan.selection.now):
                return plan, None
            return plan, _clear(site, transcript_path, plan, plan.plan.prices.bound if with_thinking is None else with_thinking)

        return once_answered(change)


def prospect(site: Site, transcript_path: str, now: float, selection: Wanted, at_end: bool = False, in_place: bool = False) -> Prospect:
    """Return what a clear would do; changes nothing but the tracker's own state."""
    rebuilt = until_whole(lambda: reconciling.reconcile(site, transcript_path, now=now), lambda rebuilt: rebuilt.index)
    plan = plan_of(rebuilt.conversation, selection(rebuilt) if callable(selection) else selection, now, at_end, in_place)
    check_understood(rebuilt.index, [result.id for result in plan.going])
    return Prospect(rebuilt, plan, now)


class _Leaving:
    """A result that leaves: its place in the file, and what of it stays."""

    __slots__ = ("outline", "place", "result", "why")

    def __init__(self, place: places.Place, result: Result, why: str, outline: str):
        self.place = place
        self.result = result
        self.why = why
        self.outline = outline

    def text(self, handle: str = NO_HANDLE) -> str:
        return with_outline(placeholder(self.result.label, self.why, handle), self.outline)


def _clear(site: Site, transcript_path: str, plan: Prospect, with_thinking: bool) -> Cleared:
    index, state = plan.rebuilt.index, plan.rebuilt.state
    leaving: list[_Leaving] = []  # in the order of the file
    thoughts: list[places.Thought] = []  # likewise
    with Opened(site.home, create=True) as db:
        new = _records(transcript_path, plan, leaving, thoughts if with_thinking else None)
        added = archive.add_records(db, chain_of(site, transcript_path), new, clear_at=plan.now)
        if not leaving:
            archive.mark_undone(db, added.clear_id, plan.now)
            raise Refused("no result named here takes more room in the main thread than a placeholder, so nothing was changed")
        handles = {one.result.id: handle for one, handle in zip(leaving, added.ids)}
        edits = [one.place.edit(_as_json(one.text(handles[one.result.id]))) for one in leaving]
        edits = sorted([*edits, *(thought.leaving() for thought in thoughts)], key=lambda edit: edit.start)
        accept = places.check_no_words if with_thinking else None
        trouble = ""
        try:
            rewrite.rewrite(transcript_path, edits, places.seen_of(index), original_path(site), accept)
        except rewrite.CarryFailed as error:
            trouble = str(error)
        except OSError:
            archive.mark_undone(db, added.clear_id, plan.now)
            raise
        tokens = sum(max(0, round(one.result.tokens * state.calibration) - estimate_tokens(one.text())) for one in leaving)

        def follow() -> None:
            _book(site, plan, handles, tokens)
            cool(db, chain_of(site, transcript_path).task_id, plan.now)

        trouble = " ".join(filter(None, (trouble, trouble_of(follow))))
    return Cleared(handles, tokens, sum(thought.tokens for thought in thoughts), original_path(site), trouble)


def _records(
    transcript_path: str, plan: Prospect, leaving: list[_Leaving], thoughts: list[places.Thought] | None
) -> Iterator[archive.NewRecord]:
    """Yield what is archived of each result, as its line is reached, then of the thinking that goes with them (None: it stays); `leaving`
    and `thoughts` fill with them."""
    state, index, rules = plan.rebuilt.state, plan.rebuilt.index, plan.rebuilt.conversation.rules
    going = {result.id: result for result in plan.plan.going}
    for place, content in places.contents(transcript_path, index, going.__contains__, index.since):
        result = going[place.id]
        quiet_age = None if plan.plan.selection.forces else state.quiet_age(result)
        one = _Leaving(place, result, why(result, quiet_age), _beside(result, content, rules))
        if len(_as_json(one.text()).encode("utf-8")) > (place.end - place.start) * planning.MOST_FORCED:
            continue  # estimated as more than it is
        leaving.append(one)
        tokens = round(result.tokens * state.calibration)
        yield archive.NewRecord(place.id, result.kind, result.label, content, places.stamp_of(result.at), result.subjects, tokens)
    if thoughts is not None and leaving:
        thoughts += places.thinking_behind(transcript_path, index, leaving[0].place.start).check_ended().thoughts
        yield from (thought.record() for thought in thoughts)


def _beside(result: Result, content: str, rules: Ruleset) -> str:
    """Return what stays of a content, given as JSON text, beside the notice."""
    return beside(result, calls.text_of_blocks(json.loads(content))[0], rules)


def _as_json(text: str) -> str:
    """Return the content of a result the way the host writes it."""
    return json.dumps(text, ensure_ascii=False)


def _recorded(result: Result, reasons: dict[str, str]) -> str:
    """Return why a result left, as the receipt says it: what ended it, else what the clear weighed, else that it was asked for."""
    return next(iter(result.reasons if result.ended else ()), "") or reasons.get(result.id, CLEARED_BY_USER)


def _book(site: Site, plan: Prospect, handles: dict[str, str], tokens: int) -> None:
    """Journal the clear, and update the tracker's state."""
    needs = {decision.result.id: decision.need for decision in plan.plan.decisions if decision.need is not None}
    reasons = {
        id: f"worth more cleared than kept: a chance of {chance(needs[id])} that it is needed again" for id in handles if id in needs
    }
    calls = [
        receipts.call_of(result, handles[result.id], _recorded(result, reasons), plan.rebuilt.state.calibration)
        for result in plan.plan.going
        if result.id in handles
    ]
    entry, placeholders = journal.cleared(list(handles), tokens, reasons, plan.now), events.Cleared(handles)
    paths = site.paths()
    reconciling.note(site, paths, [entry], placeholders)
    for event in (journal.event_of(entry), placeholders):
        plan.rebuilt.conversation.observe(event)
    store.append(paths, paths.receipts, receipts.noted(calls, plan.now))


def cool(db: Connection, task_id: str, now: float | None = None) -> dict[str, int]:
    """Move the records of a chain to their zones, and return how many went where (see `archive_chain`). The last copy of a content goes
    only when git has just given the same from a commit that a branch or tag leads to, and no hold keeps it at `now` (seconds; by default
    the clock's); a chain without a transcript is not gone, for it may be on another machine, or have moved."""
    chains.place_folders(db, lambda folder: repository.of(folder).key)
    counts = archive.archive_chain(db, task_id, lambda record: False, now=now)
    until = time.monotonic() + PATIENCE_S
    for id in archive.due_cold(db, task_id, ASKED, now=now):
        if time.monotonic() > until:
            break
        if _is_kept(db, id) and archive.archive_record(db, id, now=now)["to_zone"] == "cold":
            counts["warm_to_cold"] += 1
            counts["kept_warm"] -= 1
    return counts


def _is_kept(db: Connection, id: str) -> bool:
    """Return whether git keeps the content of a record; either way what was found is noted with it."""
    try:
        stored, record = archive.retrieve_record(db, id), archive.record(db, id)
        if not stored or not record:
            return False  # it was pruned meanwhile
        source = _source(record, stored["content"])
        return archive.set_source(db, id, source) and source is not _NONE
    except errors():
        return False  # what is damaged stays as it is


def _source(record: Record, content: str) -> dict[str, Any]:
    """Return the source by which git gives the content; _NONE where there is none."""
    for path in record.subjects if record.type == kinds.READ else ():
        source = archive.source_of(content, path) if path.startswith("/") else None
        if source and archive.is_kept(source, content):
            return source
    return _NONE
