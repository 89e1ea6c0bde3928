"""The additions to a request: memories (layer 2) and files (layer 3). Pure but for their sources.

A file enters where the user's texts refer to it (whether it exists and may be read is its source's to decide), unless the conversation
shows it whole, as it is now.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from popkit_retention.core import units

from .build_types import PruningStrategy
from .dialogue import Addition, Changes, Dialogue
from .file_references import referenced
from .message_records import REQUEST
from .meter import Meter
from .shown_files import is_shown, shown_files
from .sources import FileSource, FileText, MemorySource

MEMORY = "memory"
_HEAD = "From memory of earlier sessions:"
# Tokens that all memories together may have: a session begins with them but is about something else.
_MOST_OF_MEMORIES = 4_000


def memories_for(
    source: MemorySource | None, request: str, strategy: PruningStrategy, present: Collection[Addition], room: float, meter: Meter
) -> list[Addition]:
    """Return the memories that enter with a request, the best first: without those already present, and no more in all than the strategy
    allows. `room`: the most tokens that they may have."""
    known = {addition.key for addition in present if addition.kind == MEMORY}
    items = strategy.tier2_items
    most = None if items == "all" else items - len(known)
    if source is None or (most is not None and most <= 0):
        return []
    used = sum([meter.text(addition.text) for addition in present if addition.kind == MEMORY])
    room = min(room, _MOST_OF_MEMORIES - used) - meter.text(_HEAD)
    memories: list[Addition] = []
    for memory in source.relevant(request, None if most is None else most + len(known)):
        addition = Addition(MEMORY, memory.id, memory.text.strip(), _HEAD)
        tokens = meter.text("\n- " + addition.text)
        if memory.id not in known and addition.text and tokens <= room and (most is None or len(memories) < most):
            memories.append(addition)
            known.add(memory.id)
            room -= tokens
    return memories


FILE, OUTLINE = "file", "outline"
FILES = (FILE, OUTLINE)
# Tokens of one file, above which its outline enters; tokens that all files together may have.
_MOST_OF_FILE, _MOST_OF_FILES = 8_000, 24_000
_REQUESTS = 10  # the user's newest, whose texts are searched for references


def files_for(
    source: FileSource, dialogue: Dialogue, changes: Changes, strategy: PruningStrategy, present: Collection[Addition], room: float
) -> list[Addition]:
    """Return the files that enter with a request: those that the user's texts refer to, the newest reference first, but none that the
    conversation shows as it is now, in a call's result or as it entered before. `room`: the most tokens for them."""
    if strategy.tier3_mode == "none":
        return []
    meter, shown = dialogue.meter, shown_files(dialogue.sent(changes))
    known = {addition.key for addition in present if addition.kind in FILES}
    room = min(room, _MOST_OF_FILES - sum([meter.text(addition.text) for addition in present if addition.kind in FILES]))
    requests = [parsed for parsed in dialogue.parsed if parsed.part == REQUEST][-_REQUESTS:]
    files: list[Addition] = []
    for path in referenced(["\n".join(request.texts) for request in requests]):
        file = source.read(path)
        if file is None or f"{file.path}@{file.stamp}" in known or is_shown(file, shown):
            continue
        kind, text = _entering(source, path, file, strategy, meter)
        if text and meter.text(text) <= room:
            files.append(Addition(kind, f"{file.path}@{file.stamp}", text))
            known.add(files[-1].key)
            room -= meter.text(text)
    return files


def _entering(source: FileSource, path: str, file: FileText, strategy: PruningStrategy, meter: Meter) -> tuple[str, str]:
    """Return the kind of a file's addition and its text. Parsing takes long, so only a file that enters as an outline is outlined."""
    if strategy.tier3_mode == "full" and meter.text(file.text) <= _MOST_OF_FILE:
        return FILE, whole(file)
    outlined = source.read(path, with_outline=True)
    return OUTLINE, summary(outlined) if outlined is not None and outlined.stamp == file.stamp else ""


def whole(file: FileText) -> str:
    """Return a file as a block of a prompt, below its path."""
    text = file.text.rstrip("\n")
    ticks = max((len(run) for run in re.findall(r"^ {0,3}(`{3,})", text, re.MULTILINE)), default=2) + 1
    fence = "`" * max(3, ticks)
    return f"# {file.path}\n{fence}\n{text}\n{fence}"


def summary(file: FileText) -> str:
    """Return a file's outline as a block of a prompt, below its path; the path alone where it has none."""
    lines = file.text.rstrip("\n").count("\n") + 1
    head = f"# {file.path} ({units.counted(lines, 'line')}"
    return f"{head}; signatures, with their line numbers)\n{file.outline}" if file.outline else f"{head})"
