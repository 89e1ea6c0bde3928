"""The remains of exchanges that left: one text in the place of many messages. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from .dialogue import Changes, Dialogue, Exchange
from .message_records import REQUEST
from .notices import Names, harmless, texts_of

LEFT = "left"
_REQUEST_CHARS, MOST_REQUESTS = 160, 30
# The most that their names may have: a share of their characters, and this many.
_LEFT_SHARE, _MOST_CHARS = 0.1, 12_000
_USUAL_SHARE = 0.05  # share of the tokens of recorded chats that their names have


def remains_of(dialogue: Dialogue, changes: Changes, numbers: Collection[int], most: float = float("inf")) -> str:
    """Return the text in the place of the messages with these numbers, which are left out: the user's requests, and the names that nothing
    else shows, those of the newest messages first. Of more than `most` tokens the names go, then the oldest requests; "" where nothing
    fits."""
    requests = _requests_in(dialogue, sorted(numbers))[-MOST_REQUESTS:]
    names, fresh = Names(dialogue, changes, short=True), []
    left = [dialogue.parsed[number] for number in sorted(numbers, reverse=True)]
    texts = [(text, at < len(parsed.texts)) for parsed in left for at, text in enumerate(texts_of(parsed))]
    room = min(_MOST_CHARS, int(sum([len(text) for text, _ in texts]) * _LEFT_SHARE))
    for text, is_spoken in texts:
        fresh.append(names.fresh(text, room, short=is_spoken))
        room -= sum(len(name) + 1 for name in fresh[-1])
    text = _remains(requests, " ".join(filter(None, harmless(fresh))))
    if dialogue.meter.text(text) > most:
        text = _remains(requests, "")
    while requests and dialogue.meter.text(text) > most:
        requests = requests[1:]
        text = _remains(requests, "")
    return text if dialogue.meter.text(text) <= most else ""


def remains_tokens(exchange: Exchange, dialogue: Dialogue) -> tuple[float, float]:
    """Return roughly how many tokens will replace an exchange: those of its names, and those of the user's request."""
    numbers = [number for number in range(exchange.start, exchange.end) if dialogue.can_leave(number)]
    of_requests = sum([dialogue.meter.text("- " + text) for text in _requests_in(dialogue, numbers)])
    return sum([dialogue.tokens[number].all for number in numbers]) * _USUAL_SHARE, float(of_requests)


def remains_size(exchanges: Iterable[Exchange], dialogue: Dialogue) -> float:
    """Return roughly how many tokens will replace these exchanges together."""
    tokens = [remains_tokens(exchange, dialogue) for exchange in exchanges]
    return sum([of_names for of_names, _ in tokens]) + sum([of_request for _, of_request in tokens[:MOST_REQUESTS]])


def _requests_in(dialogue: Dialogue, numbers: Iterable[int]) -> list[str]:
    """Return the beginning of each request of the user's in these messages."""
    requests = [dialogue.parsed[number] for number in numbers if dialogue.parsed[number].part == REQUEST]
    texts = [" ".join("\n".join(request.texts).split()) for request in requests]
    return [text if len(text) <= _REQUEST_CHARS else text[: _REQUEST_CHARS - 1] + "…" for text in texts if text]


def _remains(requests: Sequence[str], names: str) -> str:
    lines = ["PopKit left out what was said before." + (" The user had asked:" if requests else ""), *(f"- {text}" for text in requests)]
    return "\n".join([*lines, "Names in it: " + names] if names else lines)
