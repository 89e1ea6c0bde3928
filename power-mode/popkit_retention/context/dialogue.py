"""A provider's messages as exchanges, which are rendered with the changes that a build makes. Pure.

An *exchange* is a request of the user's with all messages that answer it: calls of tools and their results too. It leaves as a whole or
stays, so no call is without its result, and the first message is the user's whatever leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .message_digests import digests_of
from .message_records import ANSWER, BARE, REQUEST, RESULTS, SYSTEM, Edit, ParsedMessage, ToolUse
from .meter import Meter
from .provider_forms import FORMS, Form, Provider
from .shortening import bare, short


class Exchange(NamedTuple):
    """The messages numbered from `start` to `end`, which is excluded."""

    start: int
    end: int


class Addition(NamedTuple):
    """A text that a build has put before a request: its `kind` (memory, file, outline, left), the `key` that identifies it, its `text`, and
    the `head` of the list that it is an item of, "" for a block of its own."""

    kind: str
    key: str
    text: str
    head: str = ""


def texts_of(additions: Iterable[Addition]) -> list[str]:
    """Return the blocks in which these additions of one message are sent: the items of a list together, in the place of the first."""
    blocks: dict[str | int, list[str]] = {}
    for number, addition in enumerate(additions):
        if addition.head:
            blocks.setdefault(addition.head, [addition.head]).append("- " + addition.text.replace("\n", "\n  "))
        else:
            blocks[number] = [addition.text]
    return ["\n".join(lines) for lines in blocks.values()]


class Changes:
    """The difference of a request from the caller's messages, by their numbers: those `left` out, `notices` in the place of results (by the
    id of the call; BARE under that of a call whose input is shortened), those sent `without_thinking`, `additions` before the user's
    text."""

    __slots__ = ("additions", "left", "notices", "without_thinking")

    def __init__(self) -> None:
        self.left: set[int] = set()
        self.notices: dict[int, dict[str, str]] = {}
        self.without_thinking: set[int] = set()
        self.additions: dict[int, list[Addition]] = {}

    def copy(self) -> Changes:
        copied = Changes()
        copied.left, copied.without_thinking = set(self.left), set(self.without_thinking)
        copied.notices = {number: dict(notices) for number, notices in self.notices.items()}
        copied.additions = {number: list(additions) for number, additions in self.additions.items()}
        return copied

    def of(self, number: int) -> tuple[bool, Mapping[str, str], bool, Sequence[Addition]]:
        """Return the changes of one message; two that are equal leave it the same."""
        return number in self.left, self.notices.get(number, {}), number in self.without_thinking, self.additions.get(number, [])


class Tokens(NamedTuple):
    """The tokens of a message: of `all` of it, of its `thinking`, and of the text of each of its `results`."""

    all: int
    thinking: int
    results: tuple[int, ...]


class Dialogue:
    """A valid conversation: its `messages` as they were given, each as `parsed`, their `digests`, their `tokens`, and its `exchanges`, of
    which the last is the current one. Messages before the first are the system's. `names`, `short_names`: caches of the names in its
    texts, by text (notices.py)."""

    __slots__ = ("_bare", "_spared", "digests", "exchanges", "form", "messages", "meter", "names", "parsed", "short_names", "tokens")

    def __init__(self, form: Form, messages: Sequence[Any], parsed: list[ParsedMessage], digests: list[str], meter: Meter) -> None:
        self.form = form
        self.messages = messages
        self.parsed = parsed
        self.digests = digests
        self.meter = meter
        self.exchanges = _exchanges(parsed)
        self.tokens: list[Tokens] = []
        self.names: dict[str, tuple[str, ...]] = {}
        self.short_names: dict[str, tuple[str, ...]] = {}
        self._bare: dict[str, str | None] = {}
        self._spared: dict[tuple[int, str], int] = {}

    def count(self, known: Mapping[str, Tokens]) -> None:
        """Count each message once; `known` are the counts of an earlier build, by digest."""
        self.tokens = [
            known.get(digest) or self._tokens(parsed, message) for parsed, digest, message in zip(self.parsed, self.digests, self.messages)
        ]

    def _tokens(self, parsed: ParsedMessage, message: Any) -> Tokens:
        return Tokens(self.meter.message(message), parsed.thinking, tuple([self.meter.text(result.text) for result in parsed.results]))

    @property
    def current(self) -> Exchange:
        return self.exchanges[-1]

    @property
    def history(self) -> list[Exchange]:
        return self.exchanges[:-1]

    @property
    def newest(self) -> int:
        """Return the number of the newest message that is not the system's."""
        return max(number for number, parsed in enumerate(self.parsed) if parsed.part != SYSTEM)

    @property
    def asks(self) -> bool:
        """Return whether the newest message is a request of the user's; else a turn is under way."""
        return self.parsed[self.newest].part == REQUEST

    @property
    def thinks_on(self) -> bool:
        """Return whether the turn under way has thinking, and waits for the results of its tools, so that its thinking stays."""
        last = [number for number in range(self.current.start, len(self.parsed)) if self.parsed[number].part == ANSWER]
        return bool(last) and self.parsed[self.newest].part == RESULTS and any(self.parsed[number].thoughts for number in last)

    def can_leave(self, number: int) -> bool:
        """Return whether a message leaves with its exchange: the system's stay where the form keeps them."""
        return not (self.form.keeps_system and self.parsed[number].part == SYSTEM)

    def is_out(self, number: int, changes: Changes) -> bool:
        """Return whether a message is not sent: it has left, or it consisted of thinking that has left."""
        return number in changes.left or (number in changes.without_thinking and self.parsed[number].alone)

    def is_stuck(self, changes: Changes) -> bool:
        """Return whether a message of thinking alone would have to leave between neighbours that may not follow each other."""
        return self.form.alternates and any(parsed.alone and number not in changes.left for number, parsed in enumerate(self.parsed))

    def size(self, numbers: Iterable[int], changes: Changes) -> int:
        """Return the tokens of these messages as they would be sent."""
        numbers = list(numbers)
        additions = [changes.additions[number] for number in numbers if number in changes.additions and not self.is_out(number, changes)]
        return self.own_size(numbers, changes) + sum(map(self.added, additions))

    def own_size(self, numbers: Iterable[int], changes: Changes) -> int:
        """Return the tokens of these messages as they would be sent, without additions."""
        return sum([self._own_size(number, changes) for number in numbers])

    def _own_size(self, number: int, changes: Changes) -> int:
        if self.is_out(number, changes):
            return 0
        tokens, notices = self.tokens[number], changes.notices.get(number)
        total = tokens.all - (tokens.thinking if number in changes.without_thinking else 0)
        if not notices:
            return max(0, total)
        for result, counted in zip(self.parsed[number].results, tokens.results):
            if result.id in notices:
                total += self.meter.text(self.sent_text(result.text, notices[result.id])) - counted
        total -= sum([self.spared(number, use) for use in self.parsed[number].uses if use.id in notices])
        return max(0, total)

    def spoken(self, number: int) -> int:
        """Return the tokens of a message without its thinking, its results and the input of its calls."""
        tokens, uses = self.tokens[number], self.parsed[number].uses
        return max(0, tokens.all - tokens.thinking - sum(tokens.results) - sum([self.meter.json(use.input) for use in uses]))

    def added(self, additions: Iterable[Addition]) -> int:
        """Return the tokens of these additions of one message."""
        return sum(map(self.meter.text, texts_of(additions)))

    def spared(self, number: int, use: ToolUse) -> int:
        """Return the tokens that shortening the input of a call in this message saves."""
        key = number, use.id
        if key not in self._spared:
            less = short(use.input) if use.shortens else use.input
            self._spared[key] = 0 if less == use.input else self.meter.json(use.input) - self.meter.json(less)
        return self._spared[key]

    def bare(self, text: str) -> str | None:
        """Return `shortening.bare` of a text, computed once."""
        if text not in self._bare:
            self._bare[text] = bare(text)
        return self._bare[text]

    def sent_text(self, text: str, notice: str | None) -> str:
        """Return the text that is sent for a result: the notice in its place, or its own where there is none."""
        return text if notice is None else (self.bare(text) or text) if notice == BARE else notice

    def sent(self, changes: Changes) -> Iterator[ParsedMessage]:
        """Yield the messages as they are sent, without additions."""
        for number, parsed in enumerate(self.parsed):
            _, notices, _, _ = changes.of(number)
            if self.is_out(number, changes):
                continue
            if notices:
                uses = tuple(use._replace(input=short(use.input)) if use.id in notices and use.shortens else use for use in parsed.uses)
                results = tuple(result._replace(text=self.sent_text(result.text, notices.get(result.id))) for result in parsed.results)
                parsed = parsed._replace(uses=uses, results=results)
            yield parsed

    def rendered(self, changes: Changes) -> list[Any]:
        """Return the messages to send; the caller's own wherever they do not change."""
        sent = []
        for number, message in enumerate(self.messages):
            _, notices, without_thinking, additions = changes.of(number)
            without_thinking = without_thinking and self.parsed[number].thoughts > 0
            if self.is_out(number, changes):
                continue
            if notices or without_thinking or additions:
                parsed = self.parsed[number]
                texts = {result.id: self.sent_text(result.text, notices[result.id]) for result in parsed.results if result.id in notices}
                texts.update((use.id, BARE) for use in parsed.uses if use.id in notices)
                message = self.form.edit(message, Edit(texts, without_thinking, texts_of(additions)))
            sent.append(message)
        return list(self.form.split(sent))

    def sent_before(self, number: int, changes: Changes) -> int:
        """Return how many entries of the list that is sent come before a message."""
        return len(self.form.split([self.messages[before] for before in range(number) if not self.is_out(before, changes)]))


def read(messages: Sequence[Any], provider: Provider, meter: Meter, digests: list[str] | None = None) -> Dialogue | None:
    """Return the conversation of these messages; None where they are invalid, and so stay as they are. `digests`: theirs, where the caller
    has them already."""
    form = FORMS[provider]
    try:
        joined = form.join(messages)
        if digests is None or joined is not messages or len(digests) != len(messages):
            digests = digests_of(joined)
        messages = joined
        parsed = [message for message in map(form.parse, messages) if message is not None]
    except (TypeError, ValueError, RecursionError, AttributeError):
        return None
    if digests is None or len(parsed) < len(messages) or not _is_valid(parsed):
        return None
    return Dialogue(form, messages, parsed, digests, meter)


def _is_valid(parsed: list[ParsedMessage]) -> bool:
    """Return whether the first message is a request, every call comes before its result, and every result after its call."""
    messages = [message for message in parsed if message.part != SYSTEM]
    if not messages or messages[0].part != REQUEST:
        return False
    pending: list[str] = []
    for message in messages:
        if message.part == RESULTS:
            for result in message.results:
                if result.id not in pending:
                    return False
                pending.remove(result.id)
            continue
        if pending:
            return False
        pending = [use.id for use in message.uses]
        if len(set(pending)) < len(pending):
            return False
    return not pending


def _exchanges(parsed: list[ParsedMessage]) -> list[Exchange]:
    """Return the exchanges: each begins with a request that does not follow another request."""
    numbers = [number for number, message in enumerate(parsed) if message.part != SYSTEM]
    requests = [(before, at) for before, at in zip([-1, *numbers], numbers) if parsed[at].part == REQUEST]
    starts = [at for before, at in requests if before < 0 or parsed[before].part != REQUEST]
    return [Exchange(start, end) for start, end in zip(starts, [*starts[1:], len(parsed)])]
