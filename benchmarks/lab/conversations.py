"""Boundaries of recorded sessions: where the context was compacted, or was nearly full. The conversation as it stood, and what came then.

The conversation is folded from the file as it was at that moment, by the code that a live compaction uses.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.hosts.transcripts.blocks import text_of_blocks
from popkit_retention.core.hosts.transcripts.entries import is_answer
from popkit_retention.core.hosts.transcripts.usage import prompt_tokens
from popkit_retention.core.policy.messages import ASSISTANT, USER, Message, ShownResult, Use, paired
from popkit_retention.core.state.rebuild import Rebuild, rebuild
from popkit_retention.lab.recorded import strings_of, texts_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from popkit_retention.core.hosts.transcripts.entries import Entry
    from popkit_retention.core.hosts.transcripts.transcript import Index
    from popkit_retention.core.policy.ruleset import Ruleset

AUTO, FULL = "automatic compaction", "nearly full"
FULL_TOKENS = 150_000


class Boundary(NamedTuple):
    """A moment in a transcript: how many bytes stand before it, and its `kind` (AUTO, FULL)."""

    begin: int
    kind: str


class After(NamedTuple):
    """What came behind a moment: strings that the next requests wrote, how many requests these are, the recorded summary ("" for none), how
    many requests followed until the next compaction, by how many tokens the prompt grew in each of them (the mean), and how many the first
    of them sent beside what it found in the cache: system and tools stood there, so that is what the host left; 0 where nothing tells."""

    written: set[str]
    requests: int
    summary: str
    until_next: int
    growth: float
    sent: int


def boundaries(path: str) -> list[Boundary]:
    """The automatic compactions of the main thread, and where its prompt first passed FULL_TOKENS since the last compaction."""
    found: list[Boundary] = []
    was_full = False
    for begin, entry in _entries(path):
        if entries.is_compaction(entry):
            metadata = entry.get("compactMetadata")
            if isinstance(metadata, dict) and metadata.get("trigger") == "auto":
                found.append(Boundary(begin, AUTO))
            was_full = False
        elif not was_full and _is_request(entry) and prompt_tokens(entry["message"].get("usage")) > FULL_TOKENS:
            was_full = True
            found.append(Boundary(begin, FULL))
    return found


def steps(path: str, tokens: int) -> list[Boundary]:
    """Where the prompt of the main thread has grown by so many tokens since the last such place, and the compactions (AUTO), behind which
    it begins anew."""
    found: list[Boundary] = []
    since = 0
    for begin, entry in _entries(path):
        if entries.is_compaction(entry):
            found.append(Boundary(begin, AUTO))
            since = 0
        elif _is_request(entry):
            prompt = prompt_tokens(entry["message"].get("usage"))
            since = since or prompt
            if prompt - since >= tokens:
                found.append(Boundary(begin, FULL))
                since = prompt
    return found


def before(path: str, begin: int, rules: Ruleset) -> tuple[Rebuild, list[Message]]:
    """The conversation as it stood, folded and as messages. NotUnderstood where it could not be handed back."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        with Path(path).open("rb") as whole:
            file.write(whole.read(begin))
        file.flush()
        made = rebuild(file.name, [], lambda _: rules)
        return made, paired(_messages(file.name, made.index))


def after(path: str, begin: int, ahead: int) -> After:
    """What came behind a moment, in the next `ahead` requests."""
    written: set[str] = set()
    ids: dict[str, None] = {}
    summary = ""
    is_first = True
    usages: list[tuple[int, int]] = []  # (tokens of the prompt, those that were read from the cache) of each request
    for at, entry in _entries(path):
        if at < begin:
            continue
        if entries.is_compaction(entry) and not is_first:
            break
        is_first = False
        if entry.get("isCompactSummary") and not summary and not ids:
            summary = _text_of(entry)
        if _is_request(entry):
            usage = entry["message"].get("usage")
            if str(entry["message"].get("id")) not in ids and prompt_tokens(usage):
                usages.append((prompt_tokens(usage), usage.get("cache_read_input_tokens") or 0))
            ids.setdefault(str(entry["message"].get("id")))
            if len(ids) <= ahead:
                written |= strings_written(entry)
    growth = (usages[-1][0] - usages[0][0]) / (len(usages) - 1) if len(usages) > 1 else 0.0
    sent = usages[0][0] - usages[0][1] if usages and usages[0][1] else 0
    return After(written, min(ahead, len(ids)), summary, len(ids), growth, sent)


def _entries(path: str) -> Iterator[tuple[int, Entry]]:
    for begin, line in entries.in_order(entries.lines(path, Path(path).stat().st_size)):
        entry = entries.entry_of(line)
        if entry is not None and not entry.get("isSidechain"):
            yield begin, entry


def _is_request(entry: Entry) -> bool:
    return entry.get("type") == ASSISTANT and is_answer(entry)


def _messages(path: str, index: Index) -> Iterator[Message]:
    for begin, entry in _entries(path):
        if begin < index.since or entry.get("type") not in (ASSISTANT, USER) or not _remains(entry, index):
            continue
        message = entry["message"] if isinstance(entry.get("message"), dict) else {}
        if isinstance(message.get("content"), str):
            yield Message(entry["type"], message["content"])
        for block in entries.blocks_of(entry):
            if isinstance(block.get("text"), str):
                yield Message(entry["type"], block["text"])
            elif block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                yield Message(ASSISTANT, "", [Use(block["id"], TOOLS.of(str(block.get("name"))), block["input"])])
            elif block.get("type") == "tool_result":
                text = text_of_blocks(block.get("content"))[0]
                yield Message(USER, "", (), [ShownResult(block["tool_use_id"], text, block.get("is_error") is True)])


def _remains(entry: Entry, index: Index) -> bool:
    called = [block.get("id") or block.get("tool_use_id") for block in entries.blocks_of(entry)]
    return entry.get("uuid") in index.chain or any(id in index.calls for id in called)


def _text_of(entry: Entry) -> str:
    message = entry["message"] if isinstance(entry.get("message"), dict) else {}
    content = message.get("content")
    return content if isinstance(content, str) else "\n".join(str(block.get("text", "")) for block in entries.blocks_of(entry))


def strings_written(entry: Entry) -> set[str]:
    """The strings that an answer writes: in its words, and in the inputs of its calls."""
    found: set[str] = set()
    for block in entries.blocks_of(entry):
        for text in [block["text"]] if isinstance(block.get("text"), str) else texts_in(block.get("input")):
            found |= strings_of(text)
    return found
