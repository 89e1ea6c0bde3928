"""The messages of a provider as exchanges, and out again with what has changed. Pure.

An *exchange* is what the user said with all that answers it: calls of tools and their results too. It leaves as a whole or stays, so
calls and results stand together and the user has the first word whatever leaves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import dialogue_anthropic, dialogue_openai
from .models import Provider
from .said import ANSWER, BARE, REQUEST, RESULTS, SYSTEM, Edit, Form, Said, bare, digests_of, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .metering import Meter
    from .said import ToolUse

FORMS: dict[Provider, Form] = {Provider.ANTHROPIC: dialogue_anthropic.FORM, Provider.OPENAI: dialogue_openai.FORM}


class Exchange(NamedTuple):
    """The messages with the numbers from `start` up to, without, `end`."""

    start: int
    end: int


class Addition(NamedTuple):
    """What a build has put before a request: its `kind` (memory, file, left), the `key` by which it is known again, its `text`, and the
    `head` of the list that it is an item of, "" for a block of its own."""

    kind: str
    key: str
    text: str
    head: str = ""


def texts_of(additions: Iterable[Addition]) -> list[str]:
    """The blocks that these additions of one message are sent as: the items of a list together, where the first of them stands."""
    blocks: dict[str | int, list[str]] = {}
    for number, each in enumerate(additions):
        if each.head:
            blocks.setdefault(each.head, [each.head]).append("- " + each.text.replace("\n", "\n  "))
        else:
            blocks[number] = [each.text]
    return ["\n".join(lines) for lines in blocks.values()]


class Changes:
    """How what is sent differs from the caller's messages, by their numbers: those `left` out, `notices` in the place of results (by the id
    of the call; BARE under that of a call whose input is shortened), those whose thinking is out (`unthought`), `additions` before what the
    user said."""

    __slots__ = ("additions", "left", "notices", "unthought")

    def __init__(self) -> None:
        self.left: set[int] = set()
        self.notices: dict[int, dict[str, str]] = {}
        self.unthought: set[int] = set()
        self.additions: dict[int, list[Addition]] = {}

    def copy(self) -> Changes:
        made = Changes()
        made.left, made.unthought = set(self.left), set(self.unthought)
        made.notices = {number: dict(notices) for number, notices in self.notices.items()}
        made.additions = {number: list(additions) for number, additions in self.additions.items()}
        return made

    def of(self, number: int) -> tuple[bool, Mapping[str, str], bool, Sequence[Addition]]:
        """All that is said of one message; two that are equal leave it the same."""
        return number in self.left, self.notices.get(number, {}), number in self.unthought, self.additions.get(number, [])


class Tokens(NamedTuple):
    """A message's tokens: of `all` of it, of its `thinking`, and of the text of each of its `results`."""

    all: int
    thinking: int
    results: tuple[int, ...]


class Dialogue:
    """A conversation that is understood: its `messages` as they were given, each as `said`, their `digests`, their `tokens`, and its
    `exchanges`, of which the last is the current one. What stands before the first is the system's. `names`: those in its texts, by
    text, as far as somebody (naming.py) has looked for them."""

    __slots__ = ("_bare", "_spared", "digests", "exchanges", "form", "messages", "meter", "names", "said", "tokens")

    def __init__(self, form: Form, messages: Sequence[Any], said: list[Said], digests: list[str], meter: Meter) -> None:
        self.form = form
        self.messages = messages
        self.said = said
        self.digests = digests
        self.meter = meter
        self.exchanges = _exchanges(said)
        self.tokens: list[Tokens] = []
        self.names: dict[str, tuple[str, ...]] = {}
        self._bare: dict[str, str | None] = {}
        self._spared: dict[tuple[int, str], int] = {}

    def reckon(self, known: Mapping[str, Tokens]) -> None:
        """Counts each message once; `known` are the counts of an earlier build, by digest."""
        self.tokens = [
            known.get(digest) or self._tokens(said, message) for said, digest, message in zip(self.said, self.digests, self.messages)
        ]

    def _tokens(self, said: Said, message: Any) -> Tokens:
        return Tokens(self.meter.message(message), said.thinking, tuple([self.meter.text(result.text) for result in said.results]))

    @property
    def current(self) -> Exchange:
        return self.exchanges[-1]

    @property
    def history(self) -> list[Exchange]:
        return self.exchanges[:-1]

    @property
    def newest(self) -> int:
        """The number of the newest message; the system's word may stand behind it."""
        return max(number for number, said in enumerate(self.said) if said.part != SYSTEM)

    @property
    def asks(self) -> bool:
        """Whether the newest message is a request of the user's; else a turn is under way."""
        return self.said[self.newest].part == REQUEST

    @property
    def thinks_on(self) -> bool:
        """Whether the turn under way has thought, and waits for what its tools returned: that thinking stays."""
        last = [number for number in range(self.current.start, len(self.said)) if self.said[number].part == ANSWER]
        return bool(last) and self.said[self.newest].part == RESULTS and any(self.said[number].thoughts for number in last)

    def can_leave(self, number: int) -> bool:
        """Whether a message goes where its exchange goes: the system's words stay where they are part of the form."""
        return not (self.form.keeps_system and self.said[number].part == SYSTEM)

    def is_out(self, number: int, changes: Changes) -> bool:
        """Whether nothing of a message is sent: it has left, or it was thinking alone, which has."""
        return number in changes.left or (number in changes.unthought and self.said[number].alone)

    def is_stuck(self, changes: Changes) -> bool:
        """Whether a message of thinking alone would have to leave where its neighbours may not follow each other."""
        return self.form.alternates and any(said.alone and number not in changes.left for number, said in enumerate(self.said))

    def size(self, numbers: Iterable[int], changes: Changes) -> int:
        """Tokens of these messages as they would be sent."""
        return sum([self._size(number, changes) for number in numbers])

    def _size(self, number: int, changes: Changes) -> int:
        _, notices, unthought, additions = changes.of(number)
        if self.is_out(number, changes):
            return 0
        tokens = self.tokens[number]
        total = tokens.all - (tokens.thinking if unthought else 0) + self.added(additions)
        for result, counted in zip(self.said[number].results, tokens.results):
            if result.id in notices:
                total += self.meter.text(self.sent_text(result.text, notices[result.id])) - counted
        total -= sum([self.spared(number, use) for use in self.said[number].uses if use.id in notices])
        return max(0, total)

    def added(self, additions: Iterable[Addition]) -> int:
        """Tokens of these additions of one message."""
        return sum(map(self.meter.text, texts_of(additions)))

    def spared(self, number: int, use: ToolUse) -> int:
        """Tokens that a call in this message has less where its input is shortened."""
        key = number, use.id
        if key not in self._spared:
            less = short(use.input) if use.shortens else use.input
            self._spared[key] = 0 if less == use.input else self.meter.json(use.input) - self.meter.json(less)
        return self._spared[key]

    def bare(self, text: str) -> str | None:
        """As said.bare, worked out once for each text."""
        if text not in self._bare:
            self._bare[text] = bare(text)
        return self._bare[text]

    def sent_text(self, text: str, notice: str | None) -> str:
        """What is sent of a result's text, by what stands in its place; None: itself."""
        return text if notice is None else (self.bare(text) or text) if notice == BARE else notice

    def sent(self, changes: Changes) -> Iterator[Said]:
        """The messages as they are sent, additions apart."""
        for number, said in enumerate(self.said):
            _, notices, _, _ = changes.of(number)
            if self.is_out(number, changes):
                continue
            if notices:
                uses = tuple(use._replace(input=short(use.input)) if use.id in notices and use.shortens else use for use in said.uses)
                results = tuple(result._replace(text=self.sent_text(result.text, notices.get(result.id))) for result in said.results)
                said = said._replace(uses=uses, results=results)
            yield said

    def rendered(self, changes: Changes) -> list[Any]:
        """The messages to send; the caller's own wherever nothing is said of them."""
        out = []
        for number, message in enumerate(self.messages):
            _, notices, unthought, additions = changes.of(number)
            unthought = unthought and self.said[number].thoughts > 0
            if self.is_out(number, changes):
                continue
            if notices or unthought or additions:
                said = self.said[number]
                texts = {result.id: self.sent_text(result.text, notices[result.id]) for result in said.results if result.id in notices}
                texts.update((use.id, BARE) for use in said.uses if use.id in notices)
                message = self.form.edit(message, Edit(texts, unthought, texts_of(additions)))
            out.append(message)
        return out


def read(messages: Sequence[Any], provider: Provider, meter: Meter, digests: list[str] | None = None) -> Dialogue | None:
    """The conversation of these messages; None where it is not understood: then nobody changes it. `digests`: theirs, where somebody has
    them already."""
    form = FORMS[provider]
    digests = digests_of(messages) if digests is None or len(digests) != len(messages) else digests
    try:
        said = [form.parse(message) for message in messages]
    except (TypeError, ValueError, RecursionError, AttributeError):
        return None
    known = [each for each in said if each is not None]
    if digests is None or len(known) < len(said) or not _is_sound(known):
        return None
    return Dialogue(form, messages, known, digests, meter)


def _is_sound(said: list[Said]) -> bool:
    """Whether the user speaks first, and every call stands before its result and every result behind its call."""
    spoken = [each for each in said if each.part != SYSTEM]
    if not spoken or spoken[0].part != REQUEST:
        return False
    waiting: list[str] = []
    for each in spoken:
        if each.part == RESULTS:
            for result in each.results:
                if result.id not in waiting:
                    return False
                waiting.remove(result.id)
            continue
        if waiting:
            return False
        waiting = [use.id for use in each.uses]
        if len(set(waiting)) < len(waiting):
            return False
    return not waiting


def _exchanges(said: list[Said]) -> list[Exchange]:
    """What the user says begins an exchange, unless they go on speaking."""
    spoken = [number for number, each in enumerate(said) if each.part != SYSTEM]
    starts = [at for before, at in zip([-1, *spoken], spoken) if said[at].part == REQUEST and (before < 0 or said[before].part != REQUEST)]
    return [Exchange(start, end) for start, end in zip(starts, [*starts[1:], len(said)])]
