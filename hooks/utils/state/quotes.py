"""Which results the assistant quotes: it writes a string that only one result of the context held."""

from __future__ import annotations

import re

from ..host import responses
from ..host.transcript import blocks_of
from ..policy.outline import NAME
from ..policy.placeholder import handle_in

_STRING = re.compile(NAME)
# A result of more than this holds so many strings that the rest tells nothing new.
_TEXT_CHARS = 60_000
# So many strings of results are remembered, those of the largest context window; of a longer segment the newest.
_STRINGS = 60_000


class Quotes:
    """Feed it every entry, in order. Strings are kept as their hashes: a context's take ten megabytes as text."""

    __slots__ = ("_chain", "_holder", "_known")

    def __init__(self, chain: set):
        self._chain = chain
        self._holder: dict = {}  # hash of a string -> the only result that holds it, "" for several
        self._known: set = set()  # hashes of strings that the user or the assistant wrote

    def quoted_by(self, entry: dict) -> list:
        """Ids of the results that an entry quotes."""
        kind = entry.get("type")
        if entry.get("subtype") == "compact_boundary":
            self._holder, self._known = {}, set()
        elif kind == "user":
            self._learn(entry)
        elif kind == "assistant" and entry.get("uuid") in self._chain:
            written = _strings(_written(entry))
            ids = {self._holder[string] for string in written if self._holder.get(string)}
            self._known |= written
            for string in written:
                self._holder.pop(string, None)
            return sorted(ids)
        return []

    def _learn(self, entry: dict) -> None:
        for block in blocks_of(entry):
            id = block.get("tool_use_id")
            if isinstance(id, str):
                if not handle_in(block.get("content")):
                    self._learn_result(id, responses.text_of_blocks(block.get("content"))[0][:_TEXT_CHARS])
            elif isinstance(block.get("text"), str):
                self._known |= _strings(block["text"])
        message = entry.get("message")
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            self._known |= _strings(message["content"])
        if len(self._known) > _STRINGS:
            self._known = set()

    def _learn_result(self, id: str, text: str) -> None:
        holder = self._holder
        for string in _strings(text):
            if string not in self._known:
                holder[string] = "" if holder.get(string, id) != id else id  # two hold it: neither is the only one
        while len(holder) > _STRINGS:
            del holder[next(iter(holder))]


def _strings(text: str) -> set:
    return set(map(hash, _STRING.findall(text)))


def _written(entry: dict) -> str:
    texts = []
    for block in blocks_of(entry):
        if isinstance(block.get("text"), str):
            texts.append(block["text"])
        if isinstance(block.get("input"), dict):
            texts.append(responses.dumps_or_nothing(block["input"]))
    return "\n".join(texts)
