"""Read the actions of commands that search files, list them or show them. Pure."""

from __future__ import annotations

from .. import kinds
from ..calls import bounded
from ..parts import EXCERPT, WHOLE, describe_interval, has_variable, read_part
from . import lookups, reads
from .action import KEY_CHARS, Action, other, plain
from .command import Command, written
from .programs import KINDS
from .wrappers import InnerCommand, unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .place import Place


def _content(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    part, pattern = lookups.content_parts(inner.program, inner.words, inner.cwd, _is_fed(stages, place.deciding))
    return searched(f"{inner.program} {pattern}", part, stages, inner)


def _is_fed(stages: list, deciding: int) -> bool:
    """Return whether what is looked at comes from a pipe, a redirection or another program, so that it cannot be named."""
    command = stages[deciding]
    return deciding > 0 or command.words[0] in ("xargs", "find") or any(one[0][0] == "<" for one in command.redirects)


def searched(name: str, part: tuple, stages: list, inner: InnerCommand) -> list[Action]:
    target = written(stages[-1])
    if target:
        return [plain(kinds.ACK, [inner.program, "> " + target[-1]], inner.cwd)]
    key, roots = part
    return [Action(kinds.SEARCH, name, (bounded(key, KEY_CHARS), ["?variable"] if has_variable(key) else roots))]


def _files(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    words = inner.words
    if inner.program not in ("find", "gfind", "bfs"):
        part, title = lookups.listing_parts(inner.program, words, inner.cwd)
        return searched(f"{inner.program} {title}".rstrip(), part, stages, inner)
    if "-delete" in words:
        return [plain(kinds.ACK, words, inner.cwd)]
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok") and at + 1 < len(words):
            executed = unwrap([word for word in words[at + 1 :] if word not in ("{}", ";", "+")] or ["true"], inner.cwd)
            kind = KINDS.get(executed.program)
            if kind == "ack":
                return [plain(kinds.ACK, executed.words, executed.cwd)]
            if kind in ("content", "read"):
                return READERS[kind](executed, stages, place)
            break
    part, title = lookups.find_parts(words, inner.cwd)
    return searched(f"{inner.program} {title}".rstrip(), part, stages, inner)


def _read(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    what = reads.shown(inner.program, inner.words)
    if what is None:
        return [other(stages, inner.cwd)]
    intervals, files = what
    cwd = inner.cwd
    if not files:
        cwd = place.cwd  # whose shell opens it
        files = [target for operator, target in stages[place.deciding].redirects if operator == "<"][-1:]
    target = written(stages[-1])
    if target:
        return [plain(kinds.ACK, [inner.program, "> " + target[-1]], inner.cwd)]
    if not files and stages[place.deciding].words[0] in ("xargs", "find"):
        return [Action(kinds.READ, f"{inner.program} (found files)", ("read:?/found", list(EXCERPT)))]
    if not files:
        return [other(stages, inner.cwd)]
    if len(files) > lookups.MOST_PLACES:
        return [Action(kinds.READ, f"{inner.program} ({len(files)} files)", ("read:?/many", list(EXCERPT)))]
    behind = stages[place.deciding + 1 :]
    if (behind and makes_another_output(behind)) or (inner.outer and inner.cwd.startswith("docker:")):  # a container may have other files
        return [other(stages, inner.cwd)]
    if behind:
        intervals = [seen_through(stages[0], behind, intervals[0]) if len(files) == len(intervals) == 1 else EXCERPT]
    found = []
    for file in files:
        found += [read_action(inner.program, file, read_part(file, interval, cwd)) for interval in intervals]
        if reads.counts_on(inner.words):
            intervals = [EXCERPT]
    return found


def makes_another_output(behind: list) -> bool:
    """Return whether what shows a file is fed to something that does more than to pick, order or reshape its lines."""
    from .filters import SHAPES

    return any(stage.words and KINDS.get(stage.words[0]) not in ("read", "content") and stage.words[0] not in SHAPES for stage in behind)


def read_action(program: str, file: str, part: tuple[str, list[int]]) -> Action:
    name = f"{program} {file}"
    if part[1][0] and part[1] != WHOLE:
        name += ":" + describe_interval(part[1])
    return Action(kinds.READ, name, part)


def seen_through(command: Command, stages: list, interval: list[int]) -> list[int]:
    """Return what is left of an interval that a command shows behind `| head -20`, `| sed -n 5,9p`; an unknown one behind anything that
    picks lines by content."""
    if any(stage is one for stage in stages for outlet in command.outlets for one in outlet):
        return EXCERPT  # what else is in the bracket goes there, too
    for stage in stages:
        what = reads.shown(stage.words[0], stage.words) if stage.words else None
        if what is None or what[1] or len(what[0]) != 1 or not (what[0][0][0] and interval[0]):
            return EXCERPT
        start, end = what[0][0]
        first = interval[0] + start - 1
        last = interval[0] + end - 1 if end else interval[1]
        interval = [first, min(last, interval[1]) if interval[1] and last else last]
        if last and interval[1] < first:
            return EXCERPT
    return interval


READERS = {"content": _content, "files": _files, "read": _read}
