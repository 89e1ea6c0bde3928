"""Read the entries of a transcript from its lines. A truncated or foreign line is no entry, and fails nobody.

Transcripts are read a line at a time, so that memory follows the longest line, not the file.
"""

from __future__ import annotations

import json

from ...io import files
from ...io.system import os
from ...policy.estimate import estimate_tokens
from ...policy.messages import call_tokens
from ...policy.tools import ASK, PLAN
from ..tools import tools_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, BinaryIO

    from ..recordings import Translation

    Entry = dict[str, Any]  # a line of the host, whose shape is the host's

# Lines of these types say nothing of the conversation, and some are very long.
_SKIPPED = (b'{"type":"api-request', b'{"type":"file-history', b'{"type":"queue-operation', b'{"type":"tools-used', b'{"type":"cost-state')
# What the first line of a transcript of the host's has: whose any other file is, `recordings` knows.
_OWN, _FOREIGN = (b'"sessionId":', b'"uuid":', b'"leafUuid":'), (b'"payload":', b'"copilotVersion":')
_HEAD = 400  # bytes in which a line of another host says what it is
ALL = 1 << 62  # bytes
_EARLY = 8  # lines by which a result may come before its call
_CALL, _RESULT_OF = b'"tool_use"', b'"tool_use_id":'
# What the address of a session in another host's own storage has in it.
_IN_STORAGE = (".db/ses_", "/storage/session/")
_NOTHING = b"\0"
_KIND, _REGULAR = 0o170000, 0o100000  # in the mode of a file
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # typeshed leaves it out


def translation_of(file: BinaryIO) -> Translation | None:
    """Return what translates a recording of another host, of a file that was opened and not read; None for a transcript of this one."""
    head = file.peek(1)  # type: ignore[attr-defined]  # it is buffered
    line = head.partition(b"\n")[0]
    if not line or (any(mark in line for mark in _OWN) and not any(mark in line[:_HEAD] for mark in _FOREIGN)) or says_nothing(line):
        return None
    from .. import recordings

    return recordings.translation_of(head)


def stored(address: str) -> Iterator[bytes] | None:
    """Return the lines of a session in another host's own storage, as a transcript of this one would have them; None for the path of a
    file. OSError where it cannot be read, also while they are gone through."""
    if not any(mark in address for mark in _IN_STORAGE):
        return None
    from .. import recordings

    return recordings.stored(address)


def host_of(path: str) -> str:
    """Return the name of the host whose recording a file is, or whose storage has the session at this address. OSError when it cannot be
    read."""
    from .. import recordings

    return recordings.host_of(path)


def is_there(path: str) -> bool:
    """Return whether there is a transcript at a path, or a session at an address in another host's own storage."""
    try:
        return stored(path) is not None or os.stat(path).st_mode & _KIND == _REGULAR
    except (OSError, ValueError):
        return False


def size_of(path: str) -> int:
    """Return how many bytes of a transcript there are to read; ALL of a session in another host's own storage, of which its translation
    tells. OSError where it is not there."""
    return ALL if stored(path) is not None else os.stat(path).st_size


def lines(path: str, size: int = ALL, begin: int = 0) -> Iterator[tuple[int, bytes]]:
    """Return (where it begins, the bytes) of each line in the first `size` bytes of a transcript, from the one that begins at `begin`;
    OSError when it cannot be read. Of another host's recording they are translated, and begin where they would if the translation were a
    file; of its own storage, `size` counts the bytes of the translation, too."""
    recorded = stored(path)
    if recorded is not None:
        yield from _placed(recorded, begin, size)
        return
    with files.open_regular(path) as file:
        translation = translation_of(file)
        if translation is not None:
            yield from _placed(translated(translation, file, size), begin)
            return
        file.seek(begin)
        for line in file:
            if begin + len(line) > size:
                return
            yield begin, line
            begin += len(line)


def _placed(lines: Iterator[bytes], begin: int, size: int = ALL) -> Iterator[tuple[int, bytes]]:
    at = 0
    for line in lines:
        if at + len(line) > size:
            return
        if at >= begin:
            yield at, line
        at += len(line)


def translated(translation: Translation, file: BinaryIO, size: int) -> Iterator[bytes]:
    """Return the lines of another host's recording, of its first `size` bytes, as a transcript of this one would have them."""
    from .. import recordings

    return recordings.lines(translation, file, size)


def in_order(placed: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Return lines in the order of what they tell: a result behind its call, which the host may write down a few lines later (2.1.101)."""
    calls: set[bytes] = set()
    early: list[tuple[int, set[bytes], tuple[int, bytes]]] = []
    for count, row in enumerate(placed):
        line = row[1]
        if _CALL in line:
            calls.update(_named(line, b'"id":'))
        results = _named(line, _RESULT_OF) if _RESULT_OF in line else set()
        if results and calls.isdisjoint(results):
            early.append((count, results, row))
        else:
            yield row
        while early and (count - early[0][0] > _EARLY or not calls.isdisjoint(early[0][1])):
            yield early.pop(0)[2]
    yield from [row for _, _, row in early]


def _named(line: bytes, key: bytes) -> set[bytes]:
    """Return the texts that stand behind a key in a line."""
    return {text for rest in line.split(key)[1:] for text in rest.split(b'"', 2)[1:2]}


def read(path: str, size: int, relevant: bytes | bytearray | None = None) -> Iterator[Entry]:
    """Return the entries of the first `size` bytes of a transcript, in order, only the telling ones where an index says which these are;
    OSError when it cannot be read."""
    for number, line in in_order(enumerate(line for _, line in lines(path, size))):
        # What has been written since the index was made is read in any case.
        entry = entry_of(line) if relevant is None or relevant[number : number + 1] != _NOTHING else None
        if entry is not None:
            yield entry


def entry_of(line: bytes) -> Entry | None:
    """Return the entry of a line; None for one that is none or says nothing of the conversation."""
    if says_nothing(line):
        return None
    try:
        entry = _value(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return _tidy(entry) if isinstance(entry, dict) else None


def says_nothing(line: bytes) -> bool:
    """Return whether a line is one of the host's that are not of the conversation, or empty."""
    return line.startswith(_SKIPPED) or line == b"\n"


def is_torn(line: bytes) -> bool:
    """Return whether a line is the beginning of one. One that lacks only its newline is whole: a client was killed there."""
    if line.endswith(b"\n"):
        return False
    try:
        entry = _value(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return True
    return not (isinstance(entry, dict) and isinstance(entry.get("type"), str))


def _value(text: str) -> object:
    """Parse as json.loads does, but without looking for blanks around the value, which takes a third of its time."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = 0
    return value if end and text[end:] in ("\n", "") else json.loads(text)


def _tidy(entry: Entry) -> Entry:
    """Return the entry, with a type and every id that is no text taken out: they are looked up, and a foreign file may hold anything. What
    never entered the context, such as a call that a script made (Code Mode), keeps its place in the chain and holds nothing."""
    for name in ("type", "uuid", "parentUuid", "logicalParentUuid"):
        if not isinstance(entry.get(name, ""), str):
            entry[name] = None
    message = entry.get("message")
    if entry.get("isVirtual") is True:
        entry["message"] = message = {"content": []}
    if isinstance(message, dict):
        if not isinstance(message.get("id"), (str, type(None))):
            message["id"] = None
        for block in blocks_of(entry):
            if not isinstance(block.get("tool_use_id"), (str, type(None))):
                del block["tool_use_id"]
    return entry


def message_of(entry: Entry) -> dict[str, Any]:
    """Return the message of an entry; {} where it has none."""
    message = entry.get("message")
    return message if isinstance(message, dict) else {}


def blocks_of(entry: Entry) -> list[dict[str, Any]]:
    """Return the content blocks of an entry's message that are objects."""
    content = message_of(entry).get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def version_of(value: object) -> tuple[int, ...]:
    """Return the version of the client that an entry names, as numbers; (0,) where it names none."""
    parts = value.split(".") if isinstance(value, str) else ()
    numbers = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 9]
    return tuple(numbers[:3]) or (0,)


def is_side(entry: Entry) -> bool:
    """Return whether an entry is of a subagent."""
    return bool(entry.get("isSidechain"))


def parent_of(entry: Entry) -> str | None:
    """Return the uuid of the entry that one follows; None for the first, "" where it does not say."""
    parent: str | None = entry.get("parentUuid", "")
    return parent


def is_summary(entry: Entry) -> bool:
    """Return whether an entry is what a compaction left of the conversation before it."""
    return bool(entry.get("isCompactSummary"))


def is_compaction(entry: Entry) -> bool:
    """Return whether an entry is the boundary of a compaction."""
    return entry.get("subtype") == "compact_boundary"


def is_prompt(entry: Entry) -> bool:
    """Return whether an entry is something that the user said (and not the host on the user's behalf)."""
    if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isCompactSummary") or entry.get("isVisibleInTranscriptOnly"):
        return False
    content = message_of(entry).get("content")
    if isinstance(content, str):
        return not content.startswith(("<local-command", "<command-name>", "<bash-", "<task-notification>", "Caveat:"))
    return any(block.get("type") in ("text", "image") for block in blocks_of(entry))


def text_tokens(block: dict[str, Any]) -> int:
    """Return the estimated tokens of a block that the user or the assistant wrote, a text or the input of a call; 0 for any other."""
    if isinstance(block.get("text"), str):
        return estimate_tokens(block["text"])
    return call_tokens(block.get("input")) if block.get("type") == "tool_use" else 0


# Tools that wait for the user.
ASKING = (tools_of("").first(ASK), tools_of("").first(PLAN))


def is_answer(entry: Entry) -> bool:
    """Return whether the API produced an assistant's entry (and not the host, to tell of an error)."""
    message = entry.get("message")
    return isinstance(message, dict) and message.get("model") != "<synthetic>"
