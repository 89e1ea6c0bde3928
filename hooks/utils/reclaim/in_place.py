"""A compaction that is answered without a model: what stays is decided from the tracker's state and the host's own messages. The
conversation is what the host sends (`hosts/transcripts/as_sent.py`).

The answer is whole or there is none: whatever is not understood is left to the host.
"""

from __future__ import annotations

import json  # noqa: TID253  only the helper comes here
from contextlib import nullcontext, suppress
from itertools import takewhile

from .. import archive
from ..errors import PopkitError
from ..hosts import name_of
from ..hosts.transcripts import as_sent, usage
from ..hosts.transcripts.attachments import Attachments
from ..io.codec import as_text
from ..policy import compacting, events, lists, messages
from ..policy.context import ContextState
from ..policy.conversation import Conversation
from ..policy.list_text import handle_of_list
from ..policy.messages import Message
from ..policy.occasions import CLEARED_BY_USER
from ..policy.remaining import Removal
from ..policy.returning import put_back
from ..policy.ruleset import COMPACT_LEAST_TOKENS
from ..state import journal, noting, receipts, reconciling, removals, shipped, store
from ..state.archived import content_of, errors
from .access import ClearRefused, OpenArchive
from .keeping import Keeper
from .outlook import context_of, note_size
from .own_commands import without_commands
from .sizes import Sizes, sizes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from sqlite3 import Connection
    from typing import Any

    from ..hosts.transcripts.as_sent import SentConversation
    from ..policy.compacting import CompactionResult
    from ..policy.shapes import MessageRow
    from ..state.site import Site

# Why a conversation was compacted, in the journal.
ASKED, MANUAL, AUTO, COLD, LONG = "asked", "manual", "auto", "cold", "long"
# For which reason a live result leaves, where it is not to make room.
_LEAST_NEEDED = "it was the least likely to be needed, and "
_WHY_LIVE = {ASKED: CLEARED_BY_USER, COLD: _LEAST_NEEDED + "the prompt cache was cold", LONG: _LEAST_NEEDED + "the conversation was long"}
_NO_TARGET = 1.0
_MOST_OF_WINDOW = 0.95


class CompactionTask:
    """The task of a compaction: `why` (ASKED, MANUAL, AUTO, COLD, LONG); of ASKED: the `ids` of the results that leave, or the handles of
    what comes back (`back`); else down to which share of the conversation it goes (`target`), of COLD and LONG behind the results of these
    `ids`, and how many tokens have to leave for it to be done (`least`) · `asked`: a person waits for it."""

    __slots__ = ("asked", "back", "ids", "least", "target", "why")

    def __init__(
        self, why: str, target: float = _NO_TARGET, least: int = 0, ids: Collection[str] = (), back: Collection[str] = (),
        asked: bool = False,
    ) -> None:  # fmt: skip
        self.why = why
        self.target = target
        self.least = least
        self.ids = ids
        self.back = tuple(back)
        self.asked = asked


class Handover:
    """The host's handover of a conversation: its `rows`, the messages as they are `sent` (None where it does not say), and whether it is
    compacted `between_turns`."""

    __slots__ = ("between_turns", "rows", "sent")

    def __init__(self, rows: object, sent: object, between_turns: bool) -> None:
        self.rows = rows
        self.sent = sent
        self.between_turns = between_turns


class Answer:
    """`rows`: the messages that stay, as the host takes them · `sizes` of the context · `left`: what left · `back`: ids of the calls that
    came back, or something of them · `met`: whether the target was reached · `loaded`: names of the tools whose definitions the
    conversation had asked for, which have to stay · `note`: to call once it is done; it writes that to the journal, with whether the rest
    was `summarised`, and returns what is left to do, which the host need not wait for. Errors of the archive where it cannot be done."""

    __slots__ = ("back", "left", "loaded", "met", "note", "rows", "sizes")

    def __init__(
        self, rows: list[MessageRow], sizes: Sizes, left: list[Removal], back: list[str], met: bool, loaded: list[str],
        note: Callable[[bool], Callable[[], None]],
    ) -> None:  # fmt: skip
        self.rows = rows
        self.sizes = sizes
        self.left = left
        self.back = back
        self.met = met
        self.loaded = loaded
        self.note = note


class AnswerDeclined(PopkitError):
    """We give no answer; the message says why."""


def answer(
    site: Site, transcript_path: str, agent_id: str, handed: Handover, wanted: CompactionTask, now: float,
    attachments: Attachments | None = None,
) -> Answer:  # fmt: skip
    """Return the answer to a compaction of a conversation. Archives what leaves. Declined where something is not understood, or nothing
    would change. Nothing is noted of it before it is done. `attachments`: of this transcript, where they have been read before."""
    keeper = Keeper(site, agent_id, transcript_path)
    attachments = attachments or Attachments(transcript_path)
    try:
        attachments.look()
        sent = as_sent.read(handed.sent, handed.rows, site.tools, attachments, keeper.show, name_of(site.session_id))
        current = messages.paired(without_commands(sent.messages))
    except (messages.MessagesNotUnderstood, OSError) as error:
        raise AnswerDeclined(str(error)) from None
    keeper.take(sent)
    conversation = _conversation(site, agent_id, transcript_path, current, now)
    if not sent.lost <= {*conversation.state.live, *conversation.state.expired}:
        raise AnswerDeclined("a result that shows a picture is not known to the tracker")
    if sent.loaded and not handed.between_turns:
        raise AnswerDeclined(f"{sent.loaded[0]} is loaded, and would not be until the turn ends")
    names_all = wanted.why == ASKED or (wanted.why in (COLD, LONG) and wanted.target >= _NO_TARGET)
    only, share = (wanted.ids, _NO_TARGET) if names_all else (None, wanted.target)
    try:
        if wanted.back:
            return _with_back(site, agent_id, current, wanted.back, conversation, sent, keeper, now, handed.sent)
        ours = _our_lists(site, current)
        with OpenArchive(site.home) if _leans(conversation, current) else nullcontext() as db:
            wholes = _wholes(db, conversation)
            done = compacting.compact(
                current, conversation, shipped.need_soon_model(), share, keeper.name, only, sent.lost, wholes,
                COMPACT_LEAST_TOKENS, _WHY_LIVE.get(wanted.why, compacting.NEEDED_ROOM), ours, wanted.ids,
            )  # fmt: skip
    except ClearRefused as error:
        raise AnswerDeclined(str(error)) from None
    if not done.left or done.before - done.after < wanted.least:
        raise AnswerDeclined("too little would leave" if done.left else "nothing would leave")
    done.left += keeper.shown
    _keep(keeper, done.left, conversation.state)
    sizes = sizes_of(conversation, current, handed.sent, done.before, done.after)

    def note(summarised: bool) -> Callable[[], None]:
        _note(site, agent_id, done, conversation, wanted.why, now, sizes, summarised)
        return finish

    def finish() -> None:
        paths = site.paths(agent_id)
        calls = receipts.calls_of(done.left, conversation.state, sizes.left)
        store.append(paths, paths.receipts, receipts.noted(calls, now))
        keeper.take_in()

    return Answer(_rows(done.messages), sizes, done.left, [], done.met, sent.loaded, note)


def _conversation(site: Site, agent_id: str, transcript_path: str, current: Sequence[Message], now: float) -> Conversation:
    """Return the conversation as the hooks have followed it; where they have not, as the transcript tells."""
    paths = site.paths(agent_id)
    stored = store.read_unlocked(paths)
    if stored is None:
        reconciling.rebuild_if_small(site, paths, transcript_path)
        stored = store.read_unlocked(paths)
    state = stored.state if stored else ContextState(site.session_id, agent_id)
    state.expired = store.read_expired(paths, state)
    conversation = Conversation(state, site.rules_for)
    conversation.observe(events.ProfileChosen(state.profile, state.at))
    conversation.observe(events.Tick(now))
    lines = journal.read(paths)
    conversation.entered = journal.SortedEntries(lines, set()).entered
    newest = usage.newest_usage(transcript_path)
    if newest is not None:
        known = state.calibration
        conversation.sent(newest)
        if stored:
            state.calibration = known  # one request tells less than the session did
        conversation.base = usage.base_tokens(transcript_path)
        if newest.compacted_at:
            conversation.compact(newest.compacted_at)
            stood = removals.stood_after(lines, newest.compacted_at)
            if stood is not None:
                conversation.carry(stood - conversation.base)
    behind = takewhile(lambda message: message.role != messages.ASSISTANT, reversed(current))
    conversation.unseen = {shown.id for message in behind for shown in message.results}
    return conversation


def _leans(conversation: Conversation, current: Sequence[Message]) -> bool:
    """Return whether a result that refers to another may stay."""
    entered = conversation.entered
    return any(shown.id in entered and entered[shown.id].leans_on for message in current for shown in message.results)


def _wholes(db: Connection | None, conversation: Conversation) -> Callable[[str], str]:
    """Return a function: id of a result that entered shorter -> its whole text, as archived; "" where it is not."""

    def whole_of(id: str) -> str:
        content = _content(content_of(db, conversation.entered[id].handle)) if db else None
        return as_text(content)

    return whole_of


def _with_back(
    site: Site, agent_id: str, current: Sequence[Message], handles: Collection[str], conversation: Conversation, sent: SentConversation,
    keeper: Keeper, now: float, handed_sent: object,
) -> Answer:  # fmt: skip
    """Return the conversation with what these handles name in its place again. What shows more than text cannot be handed back: it keeps
    its placeholder, or leaves one."""
    with OpenArchive(site.home) as db:
        contents = {handle: _content(content_of(db, handle)) for handle in _with_lists(db, current, handles)}
        records = [record for record in map(archive.record, [db] * len(contents), contents) if record and contents[record.id] is not None]
    taken_from = {record.id: record.tool_use_id for record in records}
    named: set[str] = set()

    def is_of(handle: str, id: str) -> bool:
        is_its_own = taken_from.get(handle) == id
        if is_its_own:
            named.add(handle)
        return is_its_own

    back = put_back(current, contents.get, site.tools, is_of)
    records = [record for record in records if record.id in named]
    if [message.to_json() for message in back] == [message.to_json() for message in current]:
        is_gone = all(contents[handle] is None for handle in handles)
        raise AnswerDeclined(f"the {'archive has no content' if is_gone else 'conversation has no placeholder'} for it any more")
    grown = compacting.tokens_of(back, conversation) - compacting.tokens_of(current, conversation)
    done = compacting.compact(back, conversation, shipped.need_soon_model(), _NO_TARGET, keeper.name, (), sent.lost)
    left = done.left + keeper.shown
    if left:
        _keep(keeper, left, conversation.state)
    back = done.messages
    sizes = sizes_of(conversation, current, handed_sent, done.before - grown, done.after)
    window = context_of(conversation, site.session, now)
    if window and sizes.after > _MOST_OF_WINDOW * window["window"]:
        raise AnswerDeclined(f"with it the context would have {sizes.after:,} tokens, which is more than fits")
    ids = [record.tool_use_id for record in records if record.type not in (compacting.INPUT, compacting.CALLS)]
    # What a clear was noted with comes back with the undo of it: an estimate of now would be on another scale.
    noted = removals.cleared_tokens(journal.read(site.paths(agent_id)), ids)
    handles = [record.id for record in records]
    entries = [journal.undone(ids, noted or max(0, grown), now), journal.put_back(handles, now, sizes.after)]

    def note(_summarised: bool) -> Callable[[], None]:
        paths = site.paths(agent_id)
        noting.note(site, paths, entries)
        reasons = {one.id: one.why for one in left if one.kind == compacting.RESULT}
        if reasons:
            store.journal(paths, journal.cleared(list(reasons), 0, reasons, now))
        if not agent_id:
            note_size(site, sizes.after, now)
        return keeper.take_in

    listed = [row for record in records if record.type == compacting.CALLS for row in contents[record.id]]
    calls = {record.tool_use_id for record in records} - {""} | {use["tool_use_id"] for row in listed for use in row["toolUses"]}
    return Answer(_rows(back), sizes, left, sorted(calls), True, sent.loaded, note)


def _rows(current: Sequence[Message]) -> list[MessageRow]:
    """Return the messages as the host takes them: what the assistant says and the calls behind it are in one, so that the sides take
    turns."""
    joined: list[Message] = []
    for message in current:
        before = joined[-1] if joined else None
        if before is not None and before.role == message.role == messages.ASSISTANT and not before.uses:
            joined[-1] = Message(message.role, "\n".join(filter(None, (before.text, message.text))), message.uses)
        else:
            joined.append(message)
    return [message.to_json() for message in joined]


def _our_lists(site: Site, current: Sequence[Message]) -> dict[str, list[str]]:
    """Return the handles of the lists of calls that this session has archived, each with those of the lists that it holds. Where the
    archive cannot be read, no list is known, and they stay as they are."""
    handles = list(filter(None, map(handle_of_list, current)))
    ours: dict[str, list[str]] = {}
    if handles:
        with suppress(ClearRefused), OpenArchive(site.home) as db:
            for handle in handles:
                record = archive.record(db, handle)
                chain = archive.chain(db, record.task_id) if record is not None and record.type == compacting.CALLS else None
                if chain is not None and chain.session_id == site.session_id:
                    ours[handle] = lists.held_by(_content(content_of(db, handle)))
    return ours


def _with_lists(db: Connection, current: Sequence[Message], handles: Collection[str]) -> list[str]:
    """Return the handles, and those of lists of calls that have one of them, in calls or in lists that they hold."""
    held: dict[str, list[str]] = {}
    holding: set[str] = set()
    waiting = list(filter(None, map(handle_of_list, current)))
    while waiting:
        at = waiting.pop()
        if at not in held:
            content = content_of(db, at) or ""
            held[at] = lists.directly_held_by(_content(content))
            waiting += held[at]
            if any(handle in content for handle in handles):
                holding.add(at)
    for outer, inner in reversed(list(held.items())):  # what a list holds comes behind it
        if not holding.isdisjoint(inner):
            holding.add(outer)
    return list(dict.fromkeys([*handles, *holding]))


def _content(archived: str | None) -> Any:
    """Return an archived content as `put_back` takes it: the text of a result, the input of a call, or messages."""
    if archived is None:
        return None
    try:
        value = json.loads(archived)
    except ValueError:
        return None
    if isinstance(value, list) and not all(isinstance(each, dict) and "role" in each for each in value):
        return as_sent.text_of(value)
    return value


def _keep(keeper: Keeper, left: Sequence[Removal], state: ContextState) -> None:
    try:
        keeper.keep(left, state)
    except errors() as error:
        raise AnswerDeclined(f"the archive cannot be used: {error}") from None


def _note(
    site: Site, agent_id: str, done: CompactionResult, conversation: Conversation, why: str, now: float, sizes: Sizes, summarised: bool
) -> None:
    """Journal what left; the tracker's state follows from the transcript."""
    results = [one for one in done.left if one.kind == compacting.RESULT]
    reasons = {one.id: one.why for one in results}
    paths = site.paths(agent_id)
    chars = {shown.id: len(shown.text) for message in done.messages for shown in message.results}
    stayed = [id for id in done.made_whole if id in chars and id not in reasons]  # others were made whole, and then left
    whole = [journal.made_whole(conversation.entered[id], chars[id], now) for id in stayed]
    if whole:
        noting.note(site, paths, whole)
    handles = [one.handle for one in done.left]
    beside = min(conversation.base, sizes.after)
    entry = journal.compacted(why, sizes.before - beside, sizes.after - beside, handles, now, beside, summarised)
    store.journal(paths, entry)
    store.journal(paths, journal.cleared([one.id for one in results], sizes.left, reasons, now))
    if not agent_id and not summarised:
        note_size(site, sizes.after, now)


def note_for_next_start(site: Site, agent_id: str, now: float) -> None:
    """Leave a note for the session-start hook: give no index. Text from memory is carried like all text of hooks."""
    if not agent_id:
        site.remember(in_place=now)
