"""Which results the assistant quotes: it writes a string that only one result of the context held."""

from __future__ import annotations

import re

from . import responses
from .transcript import Transcript, blocks_of

# Identifiers, paths, hashes, addresses: long enough not to be chance.
_STRING = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_\-./:@]{10,190}[A-Za-z0-9_]")
# A result of more than this holds so many strings that the rest tells nothing new.
_TEXT_CHARS = 60_000


def quoted_ids(transcript: Transcript) -> dict:
    """uuid of an entry that quotes -> ids of the results that it quotes, over the active branch."""
    holder: dict = {}
    known: set = set()
    quoting: dict = {}
    for entry in transcript.entries:
        kind = entry.get("type")
        if entry.get("subtype") == "compact_boundary":
            holder, known = {}, set()
        elif kind == "user":
            _learn(entry, holder, known)
        elif kind == "assistant" and entry.get("uuid") in transcript.chain:
            written = set(_STRING.findall(_written(entry)))
            ids = {holder[string] for string in written if holder.get(string)}
            if ids:
                quoting[entry["uuid"]] = sorted(ids)
            known |= written
            for string in written:
                holder.pop(string, None)
    return quoting


def _learn(entry: dict, holder: dict, known: set) -> None:
    for block in blocks_of(entry):
        id = block.get("tool_use_id")
        if isinstance(id, str):
            for string in set(_STRING.findall(responses.text_of_blocks(block.get("content"))[0][:_TEXT_CHARS])):
                if string not in known:
                    holder[string] = None if holder.get(string, id) != id else id  # two hold it: neither is the only one
        elif isinstance(block.get("text"), str):
            known.update(_STRING.findall(block["text"]))
    message = entry.get("message")
    if isinstance(message, dict) and isinstance(message.get("content"), str):
        known.update(_STRING.findall(message["content"]))


def _written(entry: dict) -> str:
    texts = []
    for block in blocks_of(entry):
        if isinstance(block.get("text"), str):
            texts.append(block["text"])
        if isinstance(block.get("input"), dict):
            texts.append(responses.dumps_or_nothing(block["input"]))
    return "\n".join(texts)
