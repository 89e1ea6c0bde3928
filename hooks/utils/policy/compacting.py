"""Compact without a model: choose the messages that stay, with a reason for each removal. Pure.

The words of the user and the assistant always stay as they are. So do pinned calls with their results, and the newest; of open errors,
decisions and the last word on a run the results, though a very long error or run may be outlined; beside the target, the newest reads of
the files that are being worked on (recent_files.py). What is dead leaves first. Where that is not enough for the target, what is worth
least for the tokens that it takes goes, step by step and no further than needed (ways.py). Each step keeps a call and its result together.
Names of what left follow it (left_names.py). What left is archived: `put_back` (returning.py) gives the conversation as it was.
"""

from __future__ import annotations

from math import inf

from . import left_names, lists, recent_files
from .estimate import estimate_tokens
from .kinds import ERROR, RUN
from .making_room import give_back, make_room
from .messages import Message, result_tokens
from .placeholder import MOST_TOKENS, handle_in, placeholder_tokens, tokens_beside
from .planning import is_small, last_words
from .remaining import CALLS, INPUT, NEEDED_ROOM, RESULT, Builder, Removal
from .ways import STUBBED, UNKNOWN_NEED, WHOLE, Pair, file_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from .context import Result
    from .conversation import Conversation
    from .messages import ShownResult, Use
    from .need_model import NeedModel
    from .remaining import Content, Remainder

__all__ = (
    "CALLS",
    "INPUT",
    "NEEDED_ROOM",
    "NEWEST",
    "RESULT",
    "CompactionResult",
    "Removal",
    "always_whole",
    "compact",
    "is_long",
    "pairs_of",
    "tokens_of",
    "whole_results_of",
)

# Of the target, what all lists of calls may take together, and how many tokens they may take of a small one.
LISTS_SHARE, LISTS_LEAST_TOKENS = 0.3, 600
# Calls at the end that stay whole, for the work is about them, while they have no more tokens than this.
NEWEST, NEWEST_TOKENS = 4, 15_000
# Errors and runs that are longer than this (a search that found much, but could not read one folder) are outlined where room is needed.
LONG_TOKENS = 2_000


class CompactionResult:
    """`messages` that stay, what `left`, tokens `before` and `after` (system and tools apart) and of the reads that stay `beside` the
    target, whether that was `met`, and ids of the results that were `made_whole`, because what their references named had left; some of
    them may have left since."""

    __slots__ = ("after", "before", "beside", "left", "made_whole", "messages", "met")

    def __init__(
        self, messages: list[Message], left: list[Removal], before: int, after: int, beside: int, met: bool, made_whole: list[str]
    ) -> None:  # fmt: skip
        self.messages = messages
        self.left = left
        self.before = before
        self.after = after
        self.beside = beside
        self.met = met
        self.made_whole = made_whole


_NO_LISTS: Mapping[str, Collection[str]] = {}


def _unknown(_id: str) -> str:
    return ""


def compact(
    messages: Sequence[Message], conversation: Conversation, soon: NeedModel, share: float, handle_of: Callable[[str, Content], str],
    only: Collection[str] | None = None, lost: Collection[str] = (),
    whole_of: Callable[[str], str] = _unknown, least: int = 0, why: str = NEEDED_ROOM, ours: Mapping[str, Collection[str]] = _NO_LISTS,
    also: Collection[str] = (),
) -> CompactionResult:  # fmt: skip
    """Return what stays of `messages` (as `messages.paired` gives them): at most this `share` of their tokens, where that can be, and the
    reads beside it (recent_files.py). `soon`: how likely a result is needed within the next requests. `handle_of(id, content)`: under which
    handle something is archived. `only`: ids of results that leave, and nothing else does; but `lost`, those that cannot be handed back as
    they are, leave in any case. `whole_of(id)`: the text of a result before the door shortened it, "" where it is not known. `least`:
    tokens that may stay whatever their share is. `why`: the reason for which a live result leaves. `ours`: handles of the lists that
    earlier compactions wrote -> those of the lists that these hold. `also`: ids of results that leave before the target is considered,
    each as soon as no result that stays refers to it."""
    calibration = conversation.state.calibration
    earlier = lists.earlier_lists(messages, ours) if only is None else {}
    listed_tokens = sum([estimate_tokens(messages[at].text) for at in earlier])
    text_tokens = sum([estimate_tokens(message.text) for message in messages])
    pairs = pairs_of(messages, conversation, soon, only is not None)
    before = text_tokens + sum([pair.use.tokens + pair.tokens_of(pair.shown) for pair in pairs.values()])
    beside: dict[str, int] = {}
    if only is None:
        staying = {pair.use.id for pair in pairs.values() if pair.keeps_all or pair.keeps_result}
        beside = recent_files.reads_beside(messages, conversation, staying.union(lost, also), before)
    for id in beside:
        pairs[id].keeps_result = True
    for pair in pairs.values():
        if _leaves(pair, only, lost):
            pair.leave(pair.use.id in lost)
    target = max(share * before, least / calibration)
    room_beside = sum(beside.values())
    room = max(LISTS_SHARE * target, LISTS_LEAST_TOKENS / calibration)
    builder = Builder(messages, pairs, earlier, conversation, handle_of, why, room)
    fitting = _Fitter(pairs, builder, conversation, whole_of, also)
    fitting.let_go()
    if only is not None:
        fitting.build(inf, inf, {})
    else:
        fitting.fit(target + room_beside, left_names.room_for_names(before, calibration), text_tokens - max(0, listed_tokens - room))
    built = fitting.built
    return CompactionResult(
        built.messages,
        built.left,
        round(before * calibration),
        round(built.tokens * calibration),
        round(room_beside * calibration),
        built.tokens <= target + room_beside,
        fitting.made_whole,
    )


class _Fitter:
    """Takes calls and their results from way to way until what stays fits: the messages as they are `built` now,
    and the ids of results that were `made_whole`."""

    __slots__ = ("also", "builder", "built", "conversation", "made_whole", "pairs", "whole_of")

    def __init__(
        self, pairs: dict[str, Pair], builder: Builder, conversation: Conversation, whole_of: Callable[[str], str], also: Collection[str]
    ) -> None:  # fmt: skip
        self.also = set(also)
        self.pairs = pairs
        self.builder = builder
        self.conversation = conversation
        self.whole_of = whole_of
        self.made_whole: list[str] = []
        self.built: Remainder

    def fit(self, target: float, for_names: float, text_tokens: float) -> None:
        """Make room until at most `target` tokens are left; where room has to be made, `for_names` of them are names. `text_tokens`: of all
        words and lists."""
        aim = target - for_names
        # So much has to leave however short the outlines are: what leaves for it needs none.
        shortest = text_tokens + sum([pair.tokens_at(pair.at) for pair in self.pairs.values()])
        if shortest > target:
            make_room(shortest - aim, self.pairs.values())
        # Nothing is built yet: most of it changes as room is given back.
        tokens = self._settle(self.builder.tokens, target, aim)
        is_whole = not any(pair.at for pair in self.pairs.values())
        if is_whole:
            for_names = min(for_names, target - tokens)
        if not is_whole and (give_back(aim - tokens, self.pairs.values()) or tokens > aim):
            self.build(aim, aim)
        else:
            self.built = self.builder.build()
        self.build(inf, inf, left_names.names_of_left(list(self.pairs.values()), self.built.ids, self.built.names(), for_names))

    def build(self, most: float, aim: float, named: dict[str, list[str]] | None = None) -> None:
        """Build what stays, as `_settle` makes room for it."""

        def build() -> int:
            self.built = self.builder.build(named)
            return self.built.tokens

        self._settle(build, most, aim)

    def _settle(self, tokens_of: Callable[[], int], most: float, aim: float) -> int:
        """Return the tokens of what stays, as `tokens_of` finds them; while they are more than `most`, make room down to `aim`, as far as
        it can be made. Outlines are made here alone, and what is listed takes more than its line where a neighbour stays: so it is counted
        each time."""
        while True:
            self.let_go()
            self.made_whole += _make_whole(self.pairs, self.conversation, self.whole_of)
            tokens = tokens_of()
            if tokens <= most or not make_room(tokens - aim, self.pairs.values()):
                return tokens
            most = aim

    def let_go(self) -> None:
        """Let those of `also` leave to which no result refers that stays; what refers is newer."""
        stays = {id: self.pairs[id] for id in self.conversation.entered if id in self.pairs and not _is_out(self.pairs[id])}
        for id in reversed([id for id in self.pairs if id in self.also]):
            pair = self.pairs[id]
            if pair.result is None or pair.result.pinned or any(id in self.conversation.entered[each].leans_on for each in stays):
                continue
            self.also.discard(id)
            if not _is_out(pair):
                pair.leave()
                pair.at = 0
            if _is_out(pair):
                stays.pop(id, None)


def _is_out(pair: Pair) -> bool:
    """Return whether a result is out: nothing of it but a placeholder stays, or a line that names its call."""
    return pair.now.result != WHOLE or bool(handle_in(pair.shown.text))


def tokens_of(messages: Sequence[Message], conversation: Conversation) -> int:
    """Return the tokens of a conversation, system and tools apart: estimated by its texts."""
    estimated = 0
    for message in messages:
        estimated += estimate_tokens(message.text) + sum(use.tokens for use in message.uses)
        estimated += sum(result_tokens(shown.text) for shown in message.results)
    return round(estimated * conversation.state.calibration)


def pairs_of(
    messages: Sequence[Message], conversation: Conversation, soon: NeedModel, outlined: bool = False
) -> dict[str, Pair]:  # fmt: skip
    """Return {id of a call: its Pair}, in order; `soon` as `compact` takes it. `outlined`: every result is, not the long ones alone."""
    state, tools = conversation.state, conversation.rules.tools
    known = {result.id: result for result in conversation.results() if not result.cleared}
    whole, whole_results = always_whole(messages, conversation), whole_results_of(conversation)
    dead = _dead(known.values(), conversation, whole | whole_results)
    calls = _calls(messages)
    newest = {file_of(use): use.id for use, _ in calls}
    pairs = {}
    for age, (use, shown) in zip(range(len(calls) - 1, -1, -1), calls):
        id, result = use.id, known.get(use.id)
        need = UNKNOWN_NEED if result is None else soon.probability(result, state, tools)
        file = file_of(use)
        is_newest, long = bool(file) and newest[file] == id, is_long(result)
        keeps_result = id in whole_results and not long
        pairs[id] = Pair(use, shown, result, need, age, is_newest, id in whole, keeps_result, id in dead, outlined or long)
    return pairs


def _calls(messages: Sequence[Message]) -> list[tuple[Use, ShownResult]]:
    """Return every call with its result, in order."""
    return [each for asking, answering in zip(messages, messages[1:]) for each in zip(asking.uses, answering.results)]


def always_whole(messages: Sequence[Message], conversation: Conversation) -> set[str]:
    """Return the ids of the calls that stay whole with their results, whatever the target is."""
    newest = _newest(messages, conversation.state.calibration)
    return {*newest, *[each.id for each in conversation.results() if each.pinned]} | conversation.unseen


def whole_results_of(conversation: Conversation) -> set[str]:
    """Return the ids of the calls whose results stay whole under any target: preserved ones, open errors, the last outcome of a run."""
    live = [each for each in conversation.results() if not each.ended]
    return {each.id for each in live if each.tier == "preserved" or each.error} | last_words(conversation)


def is_long(result: Result | None) -> bool:
    """Return whether a result is an error or a run so long that its outline has to do where room is needed."""
    return result is not None and result.tokens > LONG_TOKENS and (result.error or result.kind in (ERROR, RUN))


def _newest(messages: Sequence[Message], calibration: float) -> list[str]:
    """Return the ids of the newest calls, the last in any case."""
    newest: list[str] = []
    room = NEWEST_TOKENS / calibration
    for use, shown in reversed(_calls(messages)[-NEWEST:]):
        room -= use.tokens + result_tokens(shown.text)
        if newest and room < 0:
            break
        newest.append(use.id)
    return newest


def _leaves(pair: Pair, only: Collection[str] | None, lost: Collection[str]) -> bool:
    """Return whether a result leaves before the target is considered: it is dead, or was asked for."""
    if pair.result is None:
        return False
    if pair.use.id in lost:
        return True
    return pair.dead if only is None else pair.use.id in only and not pair.result.pinned


def _dead(results: Iterable[Result], conversation: Conversation, whole: Collection[str]) -> set[str]:
    """Return the ids of the results that have expired and may leave: not those that stay `whole`, nor what is hardly larger than its
    placeholder, nor that to which one refers that stays."""
    dead = {each.id for each in results if each.ended and each.id not in whole and not _is_small(each, conversation)}
    for each in reversed(list(results)):  # references look back: the newest first
        entered = conversation.entered.get(each.id)
        if entered is not None and each.id not in dead:
            dead.difference_update(entered.leans_on)
    return dead


def _is_small(result: Result, conversation: Conversation) -> bool:
    calibration = conversation.state.calibration
    tokens = round(result.tokens * calibration)
    if not is_small(result, tokens, tokens_beside(result, calibration, conversation.rules) + MOST_TOKENS):
        return False  # whatever its placeholder says, which takes longer to write
    return is_small(result, tokens, placeholder_tokens(result, calibration, conversation.rules))


def _make_whole(pairs: dict[str, Pair], conversation: Conversation, whole_of: Callable[[str], str]) -> list[str]:
    """Return the ids of the results that stay, whose references named what has left, and which are whole now."""
    whole = []
    for id, event in conversation.entered.items():
        pair = pairs.get(id)
        if pair is None or pair.now.result != WHOLE or pair.estimated is None or not any(_has_left(each, pairs) for each in event.leans_on):
            continue
        text = whole_of(id)
        if text:
            pair.make_whole(text)
            whole.append(id)
    return whole


def _has_left(id: str, pairs: dict[str, Pair]) -> bool:
    """Return whether what a reference names has left: a result, or what a call was made with ("call ID")."""
    pair = pairs.get(id.removeprefix("call "))
    if pair is None or pair.now.listed:
        return True
    return pair.now.input == STUBBED if id.startswith("call ") else _is_out(pair)
