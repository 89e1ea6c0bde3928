"""Build the messages that stay after a compaction, with a record of what was removed from each. Pure.

How much of each call and its result stays has been decided (ways.py). Here they become messages: a placeholder for a result, a stub for
the input of a call, a list for whole calls, and names beside each of them.
"""

from __future__ import annotations

from . import lists
from .estimate import estimate_tokens
from .messages import Message, ShownResult, Use, texts_in
from .outlines import possible_names
from .placeholder import NO_HANDLE, handle_in, with_handle, with_names
from .stubs import stub, stub_with_names, why_stubbed
from .ways import WHOLE

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Union

    from .conversation import Conversation
    from .lists import Calls, EarlierList, Place
    from .shapes import MessageRow
    from .ways import Pair, Variant

    Content = Union[str, dict[str, object], list[MessageRow]]

RESULT, INPUT, CALLS = "result", "input", "calls"
NEEDED_ROOM = "to make room: it was the least likely to be needed"
NOT_TEXT = "it shows a picture or a document, which a compaction cannot carry; popkit restore saves it as a file"


class Removal:
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


class Remainder:
    """The messages that stay, their `tokens` (estimated), what `left`, and the `ids` of the calls of which something left."""

    __slots__ = ("ids", "left", "messages", "tokens")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.tokens = 0
        self.left: list[Removal] = []
        self.ids: set[str] = set()

    def names(self) -> set[str]:
        """Return all words of the messages that can be names."""
        texts = [message.text for message in self.messages]
        for message in self.messages:
            texts += [text for use in message.uses for text in texts_in(use.input)] + [shown.text for shown in message.results]
        return possible_names(texts)


class _Exchange:
    """A message with calls and the answer to it, in these `ways`: both `messages`, their `tokens`, what `left` and the `ids`
    of the calls that it left, and whether a line of a list replaces all of it."""

    __slots__ = ("ids", "is_listed", "left", "messages", "tokens", "ways")

    def __init__(self, ways: list[Variant], is_listed: bool) -> None:
        self.ways = ways
        self.is_listed = is_listed
        self.tokens = 0
        self.messages: list[Message] = []
        self.left: list[Removal] = []
        self.ids: list[str] = []


class Builder:
    """Builds what stays of `messages`, whose calls are the Pairs `pairs` by id. `earlier`: lists among them, by their place. `handle_of(id,
    content)`: under which handle something is archived. `why`: the reason for which a live
    result leaves. `room`: tokens that all lists may take."""

    __slots__ = (
        "_counted", "_drafts", "_exchanges", "_known", "_steps", "_words", "conversation", "earlier", "handle_of", "messages",
        "pairs", "room", "why",
    )  # fmt: skip

    def __init__(
        self, messages: Sequence[Message], pairs: Mapping[str, Pair], earlier: Mapping[int, EarlierList], conversation: Conversation,
        handle_of: Callable[[str, Content], str], why: str, room: float,
    ) -> None:  # fmt: skip
        self.messages = messages
        self.pairs = pairs
        self.earlier = earlier
        self.conversation = conversation
        self.handle_of = handle_of
        self.why = why
        self.room = room
        self._words = [estimate_tokens(message.text) if message.text else 0 for message in messages]
        # (place, message, its calls): answers stay or leave with their calls.
        self._steps = [(at, each, [pairs[use.id] for use in each.uses]) for at, each in enumerate(messages) if not each.results]
        # Each way is built once, and so is each exchange in its ways.
        self._known: dict[str, tuple[Variant, Use, ShownResult, list[Removal]]] = {}
        self._drafts: dict[str, tuple[Variant, str]] = {}  # a placeholder without its handle
        self._counted: dict[str, tuple[Variant, int]] = {}  # tokens of a call in its way
        self._exchanges: dict[int, _Exchange] = {}  # by the place of the message that makes the calls

    def tokens(self) -> int:
        """Return the tokens of a draft of what stays, without building its messages."""
        tokens = at = 0  # messages that stay
        places: list[Place] = []
        staying: list[str] = []
        for place, _, pairs in self._steps:
            if place in self.earlier:
                self._add_to_list(places, at, self.earlier[place])
            elif not pairs:
                tokens += self._words[place]
                at += 1
            elif self._is_listed(place, [pair.now for pair in pairs]):
                self._add_to_list(places, at, lists.Calls([], pairs[:]))
            else:
                tokens += self._words[place] + self._words[place + 1]
                for pair in pairs:
                    tokens += self._tokens_of(pair)
                staying += [pair.file for pair in pairs]
                at += 2
        if places:
            written = lists.write(places, (), self.room, set(staying), {}, None)
            tokens += sum([estimate_tokens(each.message.text) for each in written])
        return tokens

    def _tokens_of(self, pair: Pair) -> int:
        """Return the tokens of what stays of a call and its result, where its message stays."""
        way = pair.beside
        known = self._counted.get(pair.use.id)
        if known is None or known[0] is not way:
            use, shown, _ = self._in_way(pair, way, _no_handle)
            known = self._counted[pair.use.id] = (way, use.tokens + pair.tokens_of(shown))
        return known[1]

    def build(self, names: Mapping[str, Sequence[str]] | None = None) -> Remainder:
        """Return what stays. `names`: id of a call -> names beside the text that replaces what left of it; None for a draft, whose
        lists name no handle yet and are not in `left`. Calls that are only listed are listed together where nothing is between them."""
        built = Remainder()
        places: list[Place] = []
        for at, message, pairs in self._steps:
            if at in self.earlier:
                self._add_to_list(places, len(built.messages), self.earlier[at])
            elif not pairs:
                built.messages.append(message)
                built.tokens += self._words[at]
            else:
                ways = [pair.now for pair in pairs]
                known = self._exchanges.get(at)
                if known is None or known.ways != ways or (names and not names.keys().isdisjoint([pair.use.id for pair in pairs])):
                    known = self._exchanges[at] = self._exchange(at, ways, names or {})
                built.left += known.left
                built.ids.update(known.ids)
                if known.is_listed:
                    built.ids.update([pair.use.id for pair in pairs])
                    self._add_to_list(places, len(built.messages), lists.Calls(list(known.messages), pairs[:]))
                else:
                    built.messages += known.messages
                    built.tokens += known.tokens
        self._write_lists(built, places, names)
        return built

    def _add_to_list(self, places: list[Place], at: int, part: Calls | EarlierList) -> None:
        """Add a part to the list that comes after so many of the messages that stay (`at`)."""
        if not places or places[-1].at != at:
            places.append(lists.Place(at, [(at, part)]))
            return
        parts = places[-1].parts
        last = parts[-1][1]
        if isinstance(last, lists.Calls) and isinstance(part, lists.Calls):
            last.messages += part.messages
            last.pairs += part.pairs
        else:
            parts.append((at, part))

    def _write_lists(self, built: Remainder, places: list[Place], names: Mapping[str, Sequence[str]] | None) -> None:
        """Put the lists of these places between what stays."""
        if not places:
            return
        # Files whose whole path stays.
        whole = [at for at, exchange in self._exchanges.items() if not exchange.is_listed]
        named = {self.pairs[use.id].file for at in whole for use in self.messages[at].uses}
        handle_of = None if names is None else (lambda content: self.handle_of("", content))
        stays, built.messages = built.messages, []
        done = 0
        for written in lists.write(places, stays, self.room, named, names or {}, handle_of):
            built.messages += [*stays[done : written.at], written.message]
            done = written.at
            built.tokens += estimate_tokens(written.message.text)
            built.left += [Removal(CALLS, "", label, NEEDED_ROOM, handle, content) for label, handle, content in written.archived]
        built.messages += stays[done:]

    def _is_listed(self, at: int, ways: Sequence[Variant]) -> bool:
        """Return whether a line of a list replaces the calls that a message made in these ways, and the answer."""
        return not (self.messages[at].text or self.messages[at + 1].text) and all(way.listed for way in ways)

    def _exchange(self, at: int, ways: list[Variant], names: Mapping[str, Sequence[str]]) -> _Exchange:
        """Return the calls that a message made, and the answer, in these ways."""
        message, answer = self.messages[at], self.messages[at + 1]
        is_listed = self._is_listed(at, ways)
        uses, results = [], []
        exchange = _Exchange(ways, is_listed)
        exchange.tokens = self._words[at] + self._words[at + 1]
        for each in message.uses:
            use, shown, left = self._of_call(self.pairs[each.id], is_listed, names)
            uses.append(use)
            results.append(shown)
            exchange.left += left
            if left:
                exchange.ids.append(use.id)
            exchange.tokens += use.tokens + self.pairs[each.id].tokens_of(shown)
        exchange.messages = [Message(message.role, message.text, uses), Message(answer.role, answer.text, (), results)]
        return exchange

    def _of_call(self, pair: Pair, leaves: bool, names: Mapping[str, Sequence[str]]) -> tuple[Use, ShownResult, list[Removal]]:
        """Return what stays of a call and its result, and what left of them; `leaves`: the whole message does."""
        way = pair.now if leaves else pair.beside
        known = self._known.get(pair.use.id)
        if known is None or known[0] is not way:
            known = self._known[pair.use.id] = (way, *self._in_way(pair, way, self.handle_of))
        _, use, shown, left = known
        beside = names.get(use.id)
        if left and beside and not leaves:
            if left[0].kind == RESULT:
                shown = ShownResult(shown.id, with_names(shown.text, beside), shown.error)
            else:
                use = Use(use.id, use.traits, stub_with_names(use, beside))
        return use, shown, left

    def _placeholder(self, pair: Pair, way: Variant, handle: str) -> str:
        """Return the placeholder of a result in this way. Its draft is written once."""
        if len(handle) != len(NO_HANDLE):
            return pair.placeholder(handle, self.conversation, way.result)
        known = self._drafts.get(pair.use.id)
        if known is None or known[0] is not way:
            text = pair.placeholder(NO_HANDLE, self.conversation, way.result)
            known = self._drafts[pair.use.id] = (way, text)
        return known[1] if handle is NO_HANDLE else with_handle(known[1], handle)

    def _in_way(
        self, pair: Pair, way: Variant, handle_of: Callable[[str, Content], str]
    ) -> tuple[Use, ShownResult, list[Removal]]:  # fmt: skip
        use, shown, left = pair.use, pair.shown, []
        if way.result != WHOLE and pair.result is not None and not handle_in(shown.text):
            handle = handle_of(use.id, shown.text)
            text = self._placeholder(pair, way, handle)
            if len(text) < len(shown.text) or not shown.text or pair.lost:  # of a picture there is no text
                left.append(Removal(RESULT, use.id, pair.label, _why(pair, self.why), handle, shown.text))
                shown = ShownResult(shown.id, text, shown.error)
        fields = pair.fields_left(way.input)
        if fields:
            handle = handle_of(use.id, use.input)
            left.append(Removal(INPUT, use.id, f"{use.tool} {pair.file}".strip(), why_stubbed(shown.error), handle, use.input))
            use = Use(use.id, use.traits, stub(use, handle, fields, shown.error))
        return use, shown, left


def _no_handle(_id: str, _content: Content) -> str:
    return NO_HANDLE  # a draft archives nothing: only the length counts


def _why(pair: Pair, alive: str) -> str:
    """Return why a result left, for people; `alive`: the reason for which a live one did."""
    result = pair.result
    if pair.lost:
        return NOT_TEXT
    if result is not None and result.ended:
        return result.reasons[0] if result.reasons else "expired"
    return alive
