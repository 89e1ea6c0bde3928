"""Layer 4: the parts of the history that leave under a strategy, and the texts in their places, notices of results and remains of
exchanges. Pure.

The parts that are least likely to be missed leave first: below 80 percent the thinking, and the long texts that the assistant wrote into
files; results that the engine judges dead, then those that are unlikely to be needed again, the more of them the tighter the budget, and
sooner in exchanges that are older than the newest that the strategy names. Then whole exchanges leave, of the older ones, until the spoken
text has no more than the strategy's share of its tokens: those first whose names were used least recently, the oldest of them first; under
the tightest strategy everything that stays, calls too, has to fit into that share. For a limit of tokens the oldest leave first. A tighter
cut begins where the looser ones end, so it never keeps more than they do.

A notice says what was there, why it left, and the names in it that nothing else shows: most of what is needed again of an old result is a
name (a path, an identifier, a version), and nearly all that only the result held fits into a few hundredths of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from hooks.utils.policy import secret_shapes
from hooks.utils.policy.outlines import NAME, PLAIN, outline_of
from hooks.utils.policy.placeholder import why

from .build_types import PruningStrategy
from .dialogue import Changes, Dialogue, Exchange
from .judging import Judged, judge
from .provider_forms import BARE, REQUEST, Parsed

# --- notices ---

_LABEL_CHARS = 80
# The most that the names of a result may have: a share of its characters, and in a short one this many.
_SHARE, _LEAST_CHARS = 0.2, 200
_NAMES = re.compile(NAME)
_is_plain = re.compile(PLAIN).match
# In spoken text, a short word is a name, too, if a sign, a number or a capital in it tells it from others; a word with an ending is a file.
_SHORT_NAMES = re.compile(r"(?<![\w./])(?:(?<!<)~?\.{0,2}/)?[.@]?[A-Za-z0-9_][A-Za-z0-9_\-./:@]{1,190}[A-Za-z0-9_]")
_is_plain_when_spoken = re.compile(r"[A-Za-z][a-z]+(?:[-/][A-Za-z]?[a-z]+)?\Z").match
_is_shaped = re.compile(r"[^_./0-9]*[_./0-9]|.*[a-z0-9][A-Z]").match


class Names:
    """The names in the texts of a conversation, and the number of places of each. `short`: whether short ones count, too."""

    __slots__ = ("dialogue", "places")

    def __init__(self, dialogue: Dialogue, changes: Changes, short: bool = False) -> None:
        self.dialogue = dialogue
        self.places: Counter[str] = Counter()
        for parsed in dialogue.sent(changes):
            for text in _texts_of(parsed):
                self.places.update(self._in(text))
                self.places.update(_short_in(text) if short else ())

    def notices(self, leaving: Sequence[Judged]) -> list[tuple[Judged, str]]:
        """Return the notices of results that leave together. A name that leaves with several stays with the newest."""
        for judged in leaving:
            self.places.subtract(self._in(judged.text))
        newest_first = sorted(leaving, key=lambda each: -each.result.index)
        names = [self.fresh(each.text, max(_LEAST_CHARS, int(len(each.text) * _SHARE))) if _shows(each) else [] for each in newest_first]
        return [(judged, _notice(judged, fresh)) for judged, fresh in zip(newest_first, _harmless(names))]

    def last_used(self, exchanges: Sequence[Exchange]) -> dict[int, int]:
        """Return, by the start of each exchange, the number of the newest exchange that uses a name that first occurred there, or else its
        own."""
        first: dict[str, int] = {}
        used = {}
        for at, exchange in enumerate(exchanges):
            used[exchange.start] = at
            for parsed in self.dialogue.parsed[exchange.start : exchange.end]:
                for name in (name for text in _texts_of(parsed) for name in self._in(text)):
                    used[first.setdefault(name, exchange.start)] = at
        return used

    def fresh(self, text: str, room: int, short: bool = False) -> list[str]:
        """Return the names in a text that occur nowhere else, in its order, and count them; where there are too many, the short ones."""
        candidates = dict.fromkeys((*self._in(text), *_short_in(text))) if short else self._in(text)
        is_plain = _is_plain_when_spoken if short else _is_plain
        names = [name for name in candidates if self.places[name] <= 0 and not is_plain(name)]
        chosen = set()
        for name in sorted(names, key=len):
            room -= len(name) + 1
            if room < 0:
                break
            chosen.add(name)
        self.places.update(chosen)
        return [name for name in names if name in chosen]

    def _in(self, text: str) -> tuple[str, ...]:
        """Return the names in a text, each once, in its order."""
        names = self.dialogue.names.get(text)
        if names is None:
            names = self.dialogue.names[text] = tuple(dict.fromkeys(_NAMES.findall(text)))
        return names


def _short_in(text: str) -> list[str]:
    return list(filter(_is_shaped, _SHORT_NAMES.findall(text)))


def _shows(judged: Judged) -> bool:
    """Return whether a notice has names; for a run, an outline says more."""
    return not judged.result.kind.startswith("run")


def _notice(judged: Judged, names: str) -> str:
    result = judged.result
    label = " ".join("".join(char if char.isprintable() else " " for char in result.label).split())
    label = label if len(label) <= _LABEL_CHARS else label[: _LABEL_CHARS - 1] + "…"
    rest = names if _shows(judged) else outline_of(result, judged.text)
    return f"[PopKit left out {label} ({why(result, judged.quiet)})]" + ("\n" + rest if rest else "")


def _harmless(texts: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of several texts as lines, without names that have the shape of a secret."""
    distinct = dict.fromkeys(name for names in texts for name in names)
    harmless = set(secret_shapes.without("\n".join(distinct)).split("\n"))
    return [" ".join(name for name in names if name in harmless) for names in texts]


def _texts_of(parsed: Parsed) -> list[str]:
    """Return all texts of a message, each result as one."""
    inputs = [json.dumps(use.input, ensure_ascii=False, default=str) for use in parsed.uses]
    return [*parsed.texts, *inputs, *(result.text for result in parsed.results)]


# --- remains of exchanges ---

LEFT = "left"
_REQUEST_CHARS, MOST_REQUESTS = 160, 30
# The most that their names may have: a share of their characters, and this many.
_LEFT_SHARE, _MOST_CHARS = 0.1, 12_000
_USUAL_SHARE = 0.05  # that the names of recorded chats have of their tokens


def remains_of(dialogue: Dialogue, changes: Changes, numbers: Collection[int], most: float = float("inf")) -> str:
    """Return the text in the place of the messages with these numbers, which are left out: the user's requests, and the names that nothing
    else shows, those of the newest messages first. Of more than `most` tokens the names go, then the oldest requests; "" where nothing
    fits."""
    requests = _requests_in(dialogue, sorted(numbers))[-MOST_REQUESTS:]
    names, fresh = Names(dialogue, changes, short=True), []
    left = [dialogue.parsed[number] for number in sorted(numbers, reverse=True)]
    texts = [(text, at < len(parsed.texts)) for parsed in left for at, text in enumerate(_texts_of(parsed))]
    room = min(_MOST_CHARS, int(sum([len(text) for text, _ in texts]) * _LEFT_SHARE))
    for text, is_spoken in texts:
        fresh.append(names.fresh(text, room, short=is_spoken))
        room -= sum(len(name) + 1 for name in fresh[-1])
    text = _remains(requests, " ".join(filter(None, _harmless(fresh))))
    if dialogue.meter.text(text) > most:
        text = _remains(requests, "")
    while requests and dialogue.meter.text(text) > most:
        requests = requests[1:]
        text = _remains(requests, "")
    return text if dialogue.meter.text(text) <= most else ""


def remains_tokens(exchange: Exchange, dialogue: Dialogue) -> tuple[float, float]:
    """Return about how many tokens will replace an exchange: of its names, and of the user's request."""
    numbers = [number for number in range(exchange.start, exchange.end) if dialogue.can_leave(number)]
    of_requests = sum([dialogue.meter.text("- " + text) for text in _requests_in(dialogue, numbers)])
    return sum([dialogue.tokens[number].all for number in numbers]) * _USUAL_SHARE, float(of_requests)


def _requests_in(dialogue: Dialogue, numbers: Iterable[int]) -> list[str]:
    """Return the beginning of each request of the user's in these messages."""
    requests = [dialogue.parsed[number] for number in numbers if dialogue.parsed[number].part == REQUEST]
    texts = [" ".join("\n".join(request.texts).split()) for request in requests]
    return [text if len(text) <= _REQUEST_CHARS else text[: _REQUEST_CHARS - 1] + "…" for text in texts if text]


def _remains(requests: Sequence[str], names: str) -> str:
    lines = ["PopKit left out what was said before." + (" The user had asked:" if requests else ""), *(f"- {text}" for text in requests)]
    return "\n".join([*lines, "Names in it: " + names] if names else lines)


# --- cuts ---

# Tokens of a result, below which a notice is more to read than it saves; and the gain that a cut of any result needs.
LEAST_TOKENS, LEAST_GAIN = 100, 40


class Depth(NamedTuple):
    """The depth of a cut that keeps this many newest `exchanges`: results leave that are less likely needed again than `need`, in older
    exchanges than `older`; with `dead_only`, only dead ones. `bare`: listings that stay lose the numbers of their lines. `spoken`: the
    share of the spoken text's tokens that stays."""

    exchanges: int
    need: float
    older: float
    dead_only: bool
    bare: bool
    spoken: float


# Strategies that keep no more exchanges than this begin with the parts that nothing depends on.
LEAN = 5
# Chosen over recorded sessions (docs/measured.md). Everything is less likely than 2.
DEPTHS = (
    Depth(10, 0.1, 0.1, True, False, 1.0),
    Depth(5, 0.08, 0.08, False, True, 0.6),
    Depth(2, 0.35, 2.0, False, True, 0.5),
    Depth(0, 2.0, 2.0, False, True, 0.4),
)


def numbers_of(dialogue: Dialogue) -> list[int]:
    """Return the messages of the history that could leave."""
    return [number for each in dialogue.history for number in range(each.start, each.end) if dialogue.can_leave(number)]


def reduced(dialogue: Dialogue, before: Changes, strategy: PruningStrategy, most: int | None, folder: str = "") -> Changes:
    """Return the changes of a cut under a strategy, to at most `most` tokens (None for no limit), on top of those before."""
    changes = before.copy()
    judged = [each for each in judge(dialogue, folder) if each.number < dialogue.current.start]
    if strategy.tier4_messages <= LEAN:
        _lighten(dialogue, changes)
    names = Names(dialogue, changes)
    for depth in DEPTHS:
        if depth.exchanges >= strategy.tier4_messages:
            _go_to(depth, dialogue, changes, judged, names)
            _leave(depth, dialogue, before, changes, names)
    if most is not None and dialogue.size(numbers_of(dialogue), changes) > most:
        _go_to(Depth(0, 2.0, 2.0, False, True, 0.0), dialogue, changes, judged, names)
    _drop(dialogue, changes, most)
    return changes


def _lighten(dialogue: Dialogue, changes: Changes) -> None:
    """Remove the parts that nothing depends on: the thinking before the current request, as one run from the front, and the long texts in
    the input of calls, which files have."""
    for number in numbers_of(dialogue):
        parsed = dialogue.parsed[number]
        if number in changes.left:
            continue
        if parsed.thoughts:
            changes.unthought.add(number)
        for use in parsed.uses:
            if dialogue.spared(number, use) >= LEAST_GAIN:
                changes.notices.setdefault(number, {})[use.id] = BARE


def _go_to(depth: Depth, dialogue: Dialogue, changes: Changes, judged: list[Judged], names: Names) -> None:
    """Replace results by notices, to a depth."""
    newest = dialogue.exchanges[-1 - depth.exchanges].start if len(dialogue.exchanges) > depth.exchanges else 0
    leaving = []
    for each in judged:
        if each.number in changes.left or changes.notices.get(each.number, {}).get(each.id):
            continue
        likely = depth.need if each.number >= newest else depth.older
        if (each.dead or not depth.dead_only) and each.need < likely and dialogue.meter.text(each.text) >= LEAST_TOKENS:
            leaving.append(each)
    for each, notice in names.notices(leaving):
        if dialogue.meter.text(each.text) - dialogue.meter.text(notice) >= LEAST_GAIN:
            changes.notices.setdefault(each.number, {})[each.id] = notice
    if depth.bare:
        for each in judged:
            if dialogue.bare(each.text) is not None and each.number not in changes.left:
                changes.notices.setdefault(each.number, {}).setdefault(each.id, "")


def _leave(depth: Depth, dialogue: Dialogue, before: Changes, changes: Changes, names: Names) -> None:
    """Leave older exchanges out, those first whose names were used least recently, until the history, or its spoken text, has no more than
    the depth's share of its tokens. One with a result that stays, stays with it; of the newest exchanges only the spoken text counts. At a
    depth without newest ones, the rest has no more tokens than that share of the spoken text."""
    if depth.spoken >= 1.0 or len(dialogue.history) <= depth.exchanges:
        return
    first = len(dialogue.history) - depth.exchanges
    newest, older, history = dialogue.history[first:], dialogue.history[:first], numbers_of(dialogue)
    if newest:
        older = [each for each in older if not _holds_results(dialogue, changes, each)]
        spoken = sum([dialogue.spoken(number) for each in newest for number in range(each.start, each.end)])
        whole = spoken + sum([dialogue.tokens[number].all for each in older for number in range(each.start, each.end)])
        over = spoken + sum([dialogue.size(range(each.start, each.end), changes) for each in older]) - depth.spoken * whole
        over = min(over, dialogue.size(history, changes) - depth.spoken * sum([dialogue.tokens[number].all for number in history]))
    else:
        over = dialogue.size(history, changes) - depth.spoken * sum(map(dialogue.spoken, history))
    remains = [remains_tokens(each, dialogue) for each in dialogue.history if each.start in changes.left - before.left]
    over += sum([sum(tokens) for tokens in remains])
    used = names.last_used(dialogue.exchanges)
    for exchange in sorted((each for each in older if each.start not in changes.left), key=lambda each: (used[each.start], each.start)):
        size, (of_names, of_requests) = dialogue.size(range(exchange.start, exchange.end), changes), remains_tokens(exchange, dialogue)
        if (over > 0 and size - of_names - of_requests >= LEAST_GAIN) or (not newest and _thinks_alone(dialogue, exchange)):
            remains.append((of_names, of_requests if len(remains) < MOST_REQUESTS else 0.0))
            over -= size - sum(remains[-1])
            _take_out(exchange, dialogue, changes)


def _holds_results(dialogue: Dialogue, changes: Changes, exchange: Exchange) -> bool:
    """Return whether an exchange has a result that stays for its content."""
    numbers = range(exchange.start, exchange.end)
    return any(
        tokens >= LEAST_TOKENS and not changes.notices.get(number, {}).get(result.id)
        for number in numbers
        for result, tokens in zip(dialogue.parsed[number].results, dialogue.tokens[number].results)
    )


def _thinks_alone(dialogue: Dialogue, exchange: Exchange) -> bool:
    """Return whether an exchange has an answer of thinking alone: where that stays, nothing else may leave (`Dialogue.is_stuck`)."""
    return any(parsed.alone for parsed in dialogue.parsed[exchange.start : exchange.end])


def _drop(dialogue: Dialogue, changes: Changes, most: float | None) -> None:
    """Leave exchanges out, the oldest first, until at most this many tokens stay."""
    if most is None:
        return
    now = dialogue.size(numbers_of(dialogue), changes)
    for exchange in dialogue.history:
        if now <= max(0, most):
            break
        now -= dialogue.size(filter(dialogue.can_leave, range(exchange.start, exchange.end)), changes)
        _take_out(exchange, dialogue, changes)


def _take_out(exchange: Exchange, dialogue: Dialogue, changes: Changes) -> None:
    """Leave an exchange out, except for messages that the form keeps."""
    numbers = {number for number in range(exchange.start, exchange.end) if dialogue.can_leave(number)}
    changes.left |= numbers
    for number in numbers:
        changes.notices.pop(number, None)
        changes.additions.pop(number, None)
