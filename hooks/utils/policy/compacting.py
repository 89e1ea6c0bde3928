"""A compaction without a model: which messages stand, and what left, with a reason for each. Pure.

What the user and the assistant said stands word for word, always. So do pinned results, open errors, decisions, the last word on a run,
and the newest calls. What is dead leaves first. Where that is not enough for the target, what is worth least for the tokens that it takes
goes, step by step and no further than needed (ways.py). Each step keeps a call and its result together. What left is archived:
`stubs.put_back` gives the conversation as it was.
"""

from __future__ import annotations

from math import inf

from . import names, stubs
from .estimate import estimate_tokens
from .messages import Message, Shown, Use, result_tokens, texts_in
from .outline import findings, names_said
from .placeholder import handle_in, with_names
from .planning import last_words
from .room import give_back, make_room
from .ways import WHOLE, WRITTEN, Pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any, Union

    from .conversation import Conversation
    from .outline import Findings
    from .planning import Plan
    from .ways import Way

    Content = Union[str, dict[str, Any], list[dict[str, Any]]]

# Calls at the end that stand whole: the work is about them.
NEWEST = 4
# Why a result stands whatever the target is (planning.REASONS).
_STANDS = ("pinned", "preserved", "last_word", "unseen")
RESULT, INPUT, CALLS = "result", "input", "calls"
NEEDED_ROOM = "to make room: of all that stood it was the least likely to be needed"
_PICTURE = "it shows a picture or a document, which a compaction cannot carry"


class Left:
    """Something that left: its `kind` (RESULT, INPUT, CALLS), the `id` of its call ("" for several), a `label` and `why` for people, the
    `handle` under which its `content` is archived: the text of a result, the input of a call, messages as JSON."""

    __slots__ = ("content", "handle", "id", "kind", "label", "why")

    def __init__(self, kind: str, id: str, label: str, why: str, handle: str, content: Content) -> None:
        self.kind = kind
        self.id = id
        self.label = label
        self.why = why
        self.handle = handle
        self.content = content


class Compacted:
    """`messages` that stand, what `left`, tokens `before` and `after` (system and tools apart), whether the target was `met`, and ids of
    the results that were `made_whole`: what the door had put a reference in the place of left, so all of it stands in them again."""

    __slots__ = ("after", "before", "left", "made_whole", "messages", "met")

    def __init__(self, messages: list[Message], left: list[Left], before: int, after: int, met: bool, made_whole: list[str]) -> None:
        self.messages = messages
        self.left = left
        self.before = before
        self.after = after
        self.met = met
        self.made_whole = made_whole


def _unknown(_id: str) -> str:
    return ""


def compact(
    messages: Sequence[Message], conversation: Conversation, plan: Plan, share: float, handle_of: Callable[[str, Content], str],
    only: Collection[str] | None = None, lost: Collection[str] = (), find: Callable[[str, bool], Findings] = findings,
    whole_of: Callable[[str], str] = _unknown, least: int = 0, why: str = NEEDED_ROOM,
) -> Compacted:  # fmt: skip
    """What stands of `messages` (as `messages.paired` gives them) in at most this `share` of their tokens, where that can be. `plan`: made
    as for a cold cache. `handle_of(id, content)`: under which handle something is archived. `only`: ids of results that leave, and nothing
    else does; but `lost`, those that cannot be handed back as they are, leave in any case. `find`: as `outline.findings` does it.
    `whole_of(id)`: the text of a result before the door shortened it, "" where it is not known. `least`: tokens that may stand whatever
    their share is. `why`: the reason for which a live result leaves."""
    calibration = conversation.state.calibration
    pairs = _pairs(messages, plan, conversation)
    before = _tokens(messages, pairs)
    for pair in pairs.values():
        if _leaves(pair, only, lost):
            pair.leave(pair.use.id in lost)
    target = max(share * before, least / calibration)
    for_names = names.SHARE * before
    builder = _Builder(conversation, handle_of, find, why, _said(messages))
    made_whole: list[str] = []

    def built(most: float) -> tuple[list[Message], list[Left], float]:
        """Make room until at most so many tokens stand, or nothing more can leave. Outlines are made here alone, and what is listed takes
        more than its line where a neighbour stands: so it is counted each time."""
        while True:
            made_whole.extend(_make_whole(pairs, conversation, whole_of))
            standing, left = _built(messages, pairs, builder)
            after = _tokens(standing, pairs)
            if after <= most or not make_room(after - target + for_names, pairs.values()):
                return standing, left, after
            most = target - for_names

    if only is not None:
        standing, left, after = built(inf)
    else:
        # So much has to leave however short the outlines are: what goes by that needs none.
        shortest = sum([estimate_tokens(message.text) for message in messages]) + sum([pair.tokens_at(pair.at) for pair in pairs.values()])
        if shortest > target:
            make_room(shortest - target + for_names, pairs.values())
        standing, left, after = built(target)
        if give_back(target - for_names - after, pairs.values()):
            standing, left, after = built(target - for_names)
        room = for_names if after > target else min(for_names, target - after)
        builder.names = names.names_of_left(list(pairs.values()), _ids(left), names_said(_texts(standing)), room)
        standing, left = _built(messages, pairs, builder)
        after = _tokens(standing, pairs)
    return Compacted(standing, left, round(before * calibration), round(after * calibration), after <= target, made_whole)


def tokens_of(messages: Sequence[Message], conversation: Conversation) -> int:
    """Return the tokens of a conversation, system and tools apart: estimated by its texts."""
    estimated = 0
    for message in messages:
        estimated += estimate_tokens(message.text) + sum(use.tokens for use in message.uses)
        estimated += sum(result_tokens(shown.text) for shown in message.results)
    return round(estimated * conversation.state.calibration)


def _pairs(messages: Sequence[Message], plan: Plan, conversation: Conversation) -> dict[str, Pair]:
    """id of a call -> its Pair, in order."""
    decisions = {decision.result.id: decision for decision in plan.decisions}
    whole = always_whole(messages, plan, conversation)
    calls = [each for asking, answering in zip(messages, messages[1:]) for each in zip(asking.uses, answering.results)]
    newest = {_file_of(use): use.id for use, _ in calls if _file_of(use)}
    last = len(calls) - 1
    return {
        use.id: Pair(use, shown, decisions.get(use.id), last - at, newest.get(_file_of(use)) == use.id, use.id in whole)
        for at, (use, shown) in enumerate(calls)
    }


def always_whole(messages: Sequence[Message], plan: Plan, conversation: Conversation) -> set[str]:
    """Return the ids of the calls that stand whole with their results, whatever the target is."""
    newest = [use.id for message in messages for use in message.uses][-NEWEST:]
    ruled = {decision.result.id for decision in plan.decisions if decision.reason in _STANDS}
    return {*newest, *ruled} | conversation.unseen | last_words(conversation)


def _tokens(messages: Iterable[Message], pairs: dict[str, Pair]) -> int:
    """Estimated tokens of messages; of a result that stands whole what the engine has estimated."""
    total = 0
    for message in messages:
        total += estimate_tokens(message.text) if message.text else 0
        for use in message.uses:
            total += use.tokens
        for shown in message.results:
            pair = pairs[shown.id]
            total += result_tokens(shown.text, pair.estimated if shown.text is pair.shown.text else None)
    return total


def _said(messages: Iterable[Message]) -> set[str]:
    """Return the names that stand in words and calls: no outline has to hold them."""
    texts = [message.text for message in messages] + [text for message in messages for use in message.uses for text in texts_in(use.input)]
    return names_said(texts)


def _texts(messages: Sequence[Message]) -> list[str]:
    """Return all texts that messages hold."""
    return [
        text
        for message in messages
        for text in [
            message.text,
            *[text for use in message.uses for text in texts_in(use.input)],
            *[shown.text for shown in message.results],
        ]
    ]


def _ids(left: Iterable[Left]) -> set[str]:
    """Return the ids of the calls of which something left."""
    listed = [use["tool_use_id"] for one in left if one.kind == CALLS for each in one.content for use in each["toolUses"]]
    return {one.id for one in left if one.id} | set(listed)


def _file_of(use: Use) -> str:
    path = use.input.get("file_path") or use.input.get("notebook_path")
    return path if isinstance(path, str) else ""


# --- what leaves ---------------------------------------------------------------------------------------------------------------


def _leaves(pair: Pair, only: Collection[str] | None, lost: Collection[str]) -> bool:
    """Return whether a result leaves before the target is looked at: it is dead, or was asked for."""
    decision = pair.decision
    if decision is None:
        return False
    if pair.use.id in lost:
        return True
    if only is not None:
        return pair.use.id in only and not decision.result.pinned
    return decision.result.ended is not None and decision.reason not in ("small", "leaned_on") and not pair.stands


# --- references ------------------------------------------------------------------------------------------------------------------


def _make_whole(pairs: dict[str, Pair], conversation: Conversation, whole_of: Callable[[str], str]) -> list[str]:
    """Return the ids of the results that stand, whose references named what has left, and which are whole now."""
    made = []
    for id, event in conversation.entered.items():
        pair = pairs.get(id)
        if pair is None or pair.now.result != WHOLE or pair.estimated is None or not any(_has_left(each, pairs) for each in event.leans_on):
            continue
        text = whole_of(id)
        if text:
            pair.make_whole(text)
            made.append(id)
    return made


def _has_left(id: str, pairs: dict[str, Pair]) -> bool:
    """Return whether what a reference names stands no more: a result, or what a call was made with ("call ID")."""
    pair = pairs.get(id.removeprefix("call "))
    if pair is None or pair.now.listed:
        return True
    return not pair.now.input if id.startswith("call ") else pair.now.result != WHOLE or bool(handle_in(pair.shown.text))


# --- what stands ---------------------------------------------------------------------------------------------------------------


def _built(messages: Sequence[Message], pairs: dict[str, Pair], builder: _Builder) -> tuple[list[Message], list[Left]]:
    """Return the messages that stand, and what left. Calls that are only listed are listed together where nothing stands between them."""
    standing: list[Message] = []
    left: list[Left] = []
    away: list[Message] = []  # whole calls, with their results as they stand in the archive
    named = {_file_of(pair.use) for pair in pairs.values() if not pair.now.listed}  # files whose whole path stands

    def list_them() -> None:
        if away:
            ids = [use.id for message in away for use in message.uses]
            labels = [pairs[id].line_beside(named) for id in ids]
            content = [message.to_json() for message in away]
            handle = builder.handle_of("", content)
            standing.append(stubs.folded(labels, handle, [name for id in ids for name in builder.names.get(id, ())]))
            left.append(Left(CALLS, "", f"{len(labels)} calls", NEEDED_ROOM, handle, content))
            away.clear()

    for at, message in enumerate(messages):
        if message.results:
            continue  # with their calls
        if not message.uses:
            list_them()
            standing.append(message)
            continue
        answer = messages[at + 1]
        leave = all(pairs[use.id].now.listed for use in message.uses) and not (message.text or answer.text)
        made = [builder.built(pairs[use.id], leave, left) for use in message.uses]
        both = [
            Message(message.role, message.text, [use for use, _ in made]),
            Message(answer.role, answer.text, (), [shown for _, shown in made]),
        ]
        if leave:
            away += both
        else:
            list_them()
            standing += both
    list_them()
    return standing, left


class _Builder:
    """Calls with their results as they stand, each way built once."""

    __slots__ = ("_known", "conversation", "find", "handle_of", "names", "said", "why")

    def __init__(
        self, conversation: Conversation, handle_of: Callable[[str, Content], str], find: Callable[[str, bool], Findings], why: str,
        said: set[str],
    ) -> None:  # fmt: skip
        self.conversation = conversation
        self.handle_of = handle_of
        self.find = find
        self.why = why
        self.said = said
        self.names: dict[str, list[str]] = {}  # id of a call -> names that stand for what left of it
        self._known: dict[str, tuple[Way, Use, Shown, list[Left]]] = {}

    def built(self, pair: Pair, leaves: bool, left: list[Left]) -> tuple[Use, Shown]:
        """Return a call and its result as they stand; what of them left is added to `left`. `leaves`: the whole message does."""
        way = pair.now if leaves else pair.beside
        known = self._known.get(pair.use.id)
        if known is None or known[0] is not way:
            known = self._known[pair.use.id] = (way, *self._build(pair, way))
        left += known[3]
        _, use, shown, gone = known
        of_it = [] if leaves else self.names.get(use.id, [])
        if of_it and gone[0].kind == RESULT:
            shown = Shown(shown.id, with_names(shown.text, of_it), shown.error)
        elif of_it:
            use = Use(use.id, use.traits, stubs.with_names(use, of_it))
        return use, shown

    def _build(self, pair: Pair, way: Way) -> tuple[Use, Shown, list[Left]]:
        use, shown, left = pair.use, pair.shown, []
        if way.result != WHOLE and pair.decision is not None and not handle_in(shown.text):
            handle = self.handle_of(use.id, shown.text)
            text = pair.placeholder(handle, self.conversation, way.result, self.find, self.said)
            if len(text) < len(shown.text) or not shown.text or pair.lost:  # of a picture there is no text
                left.append(Left(RESULT, use.id, pair.label, _why(pair, self.why), handle, shown.text))
                shown = Shown(shown.id, text, shown.error)
        fields = stubs.replaced_fields(use) if way.input == WRITTEN else [] if way.input else stubs.long_fields(use)
        if fields:
            handle = self.handle_of(use.id, use.input)
            left.append(Left(INPUT, use.id, f"{use.tool} {_file_of(use)}".strip(), stubs.WHY, handle, use.input))
            use = Use(use.id, use.traits, stubs.stub(use, fields, handle))
        return use, shown, left


def _why(pair: Pair, alive: str) -> str:
    """Why a result left, for people; `alive`: the reason for which a live one did."""
    result = pair.decision.result if pair.decision else None
    if result is not None and result.ended:
        return result.reasons[0] if result.reasons else "expired"
    return _PICTURE if pair.lost else alive
