"""Read what a command line does: a list of actions, each with the lifetime class of what it prints and the part that this shows. Pure.

The tiers are those of the tiered-retention specification, extended from its examples: searches are short, file contents medium, test and
build output lives for the session, acknowledgements are ephemeral, and whatever is not known lives for the session. Of a line that does
several things, the result lives as long as its longest-lived part; what only prepares or decorates (`cd`, `export`, `echo ---`) has no say.
"""

from __future__ import annotations

# `lookups` and `reads` are imported where a line searches or reads: a hook loads what its one line needs.
from .. import kinds
from ..parts import EXCERPT, KEY_CHARS, UNKNOWN, WHOLE, Action, describe_interval, has_variable, normal_path, plain, read_part
from ..ruleset import outlives
from ..tools import bounded
from .programs import GIT_KINDS, GIT_VALUES, KINDS, SHELLS
from .runs import run_of
from .shell import Command, parse
from .wrappers import Inner, unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..ruleset import Ruleset

# Scripts inside scripts (`bash -c "bash -c .."`) are looked into so deep.
_DEEPEST = 5
# Behind a search or a read these show the same, ordered or cut; behind a search anything else makes another search of it.
_SAME_SEARCH = frozenset(("head", "sort", "cat", "less", "more", "tail", "uniq", "ghead"))
_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "NUL", "nul")


def longest_lived(actions: list[Action], rules: Ruleset) -> tuple[Action, str]:
    """Return (the first of the longest-lived actions, which is what the result of the line counts as; its tier)."""
    leading, longest = actions[0], rules.tier_of_command(actions[0].kind, actions[0].name)
    for action in actions[1:]:
        tier = rules.tier_of_command(action.kind, action.name)
        if outlives(tier, longest):
            leading, longest = action, tier
    return leading, longest


def actions(line: str, cwd: str) -> list[Action]:
    """Return what a line does, in order, when started in a folder; never empty. A line that cannot be parsed is one `other` action."""
    return _actions(line, normal_path(cwd, ""), 0)[0]


def _actions(line: str, cwd: str, depth: int) -> tuple[list[Action], str]:
    """Return the actions, and the folder at the end of the line."""
    place = _Place(cwd, depth)
    commands = parse(line)
    actions: list[Action] = []
    begin = 0
    count = len(commands)
    while begin < count:
        end = begin + 1
        while end < count and commands[end].stage:
            end += 1
        if commands[begin].group is not place.group:
            place.enter(commands[begin].group)
        actions += _pipeline(commands[begin:end], place)
        begin = end
    if not actions and not depth:
        actions.append(plain(kinds.OTHER, line.split(), place.folders[()]))
    return actions, place.folders[()]


class _Place:
    """The folder a command runs in; a subshell has its own, which begins as that of the shell around it."""

    __slots__ = ("cwd", "depth", "folders", "group", "pushed")

    def __init__(self, cwd: str, depth: int):
        self.cwd = cwd
        self.depth = depth
        self.group: tuple[int, ...] = ()
        self.folders: dict[tuple[int, ...], str] = {(): cwd}
        self.pushed: list[str] = []

    def enter(self, group: tuple) -> None:
        self.group = group
        outer = group
        while outer not in self.folders:
            outer = outer[:-1]
        self.cwd = self.folders[outer]

    def move(self, program: str, words: list[str]) -> None:
        target = next((word for word in words[1:] if word == "-" or word[:1] not in "-+"), "~")
        if program == "popd":
            self.cwd = self.pushed.pop() if self.pushed else UNKNOWN
        else:
            if program == "pushd":
                self.pushed.append(self.cwd)
            self.go(UNKNOWN if target == "-" else normal_path(target, self.cwd))

    def go(self, cwd: str) -> None:
        # No folder's path is longer, and a limit keeps hostile lines cheap.
        self.cwd = UNKNOWN if cwd.startswith(UNKNOWN) or len(cwd) > 4096 else cwd
        self.folders[self.group] = self.cwd


def _pipeline(stages: list, place: _Place) -> list[Action]:
    """Return what a pipeline does: its first stage decides, unless that only feeds the next, or `xargs` runs something."""
    command = stages[0]
    if not command.words:
        return [plain(kinds.ACK, ["> " + target], place.cwd) for target in _written(command)]
    inner = unwrap(command.words, place.cwd)
    kind = KINDS.get(inner.program)
    if kind == "move":
        place.move(inner.program, inner.words)
        return []
    deciding = 0
    if len(stages) > 1:
        while _only_feeds(kind, inner, stages[deciding]) and deciding + 1 < len(stages) and stages[deciding + 1].words:
            deciding += 1
            inner = unwrap(stages[deciding].words, place.cwd)
            kind = KINDS.get(inner.program)
        for at in range(deciding + 1, len(stages)):
            words = stages[at].words
            if words and words[0] == "xargs":
                fed = unwrap(words, place.cwd)
                fed_kind = KINDS.get(fed.program)
                if fed_kind in _KINDS_BEHIND_XARGS or fed.script or run_of(fed.program, fed.words, fed.cwd):
                    inner, kind, deciding = fed, fed_kind, at
                    break
    reader = _READERS.get(kind or "")
    return reader(inner, stages, deciding, place) if reader else _run_or_other(inner, stages, deciding, place)


def _only_feeds(kind: str | None, inner: Inner, command: Command) -> bool:
    if kind == "feed" or kind == "aside":
        return True
    return inner.program == "cat" and len(inner.words) == 1 and not any(one[0] == "<" for one in command.redirects)


def _written(command: Command) -> list[str]:
    """Return the files that take what a command would print."""
    return [target for operator, target in command.redirects if ">" in operator and operator[0] != "2" and _is_file(operator, target)]


def _is_file(operator: str, target: str) -> bool:
    return target not in _NOWHERE and not (operator[-1] == "&" and (target.isdigit() or target == "-"))


def _other(stages: list, cwd: str) -> Action:
    first, *later = stages
    extra = "".join([" | " + " ".join(stage.words) for stage in later])
    for stage in stages:
        for operator, target in stage.redirects:
            if operator != "2>&" and target not in _NOWHERE:
                extra += f" {operator}{target}"
    words = first.assignments + first.words if first.assignments else first.words
    return plain(kinds.OTHER, words, cwd, extra)


def _acknowledged(inner: Inner, stages: list, deciding: int, place: _Place) -> list[Action]:
    return [plain(kinds.ACK, inner.words, inner.cwd)]


def _aside(inner: Inner, stages: list, deciding: int, place: _Place) -> list[Action]:
    return [plain(kinds.ACK, [inner.program, "> " + target], inner.cwd) for target in _written(stages[-1])[:1]]


def _content(inner: Inner, stages: list, deciding: int, place: _Place) -> list[Action]:
    from . import lookups

    part, pattern = lookups.content_parts(inner.program, inner.words, inner.cwd, _is_fed(stages, deciding))
    return _searched(f"{inner.program} {pattern}", part, stages, deciding, inner)


def _is_fed(stages: list, deciding: int) -> bool:
    """Return whether what is looked at comes from a pipe or another program, so that it cannot be named."""
    return deciding > 0 or stages[deciding].words[0] in ("xargs", "find")


def _searched(name: str, part: tuple, stages: list, deciding: int, inner: Inner) -> list[Action]:
    target = _written(stages[-1])
    if target:
        return [plain(kinds.ACK, [inner.program, "> " + target[0]], inner.cwd)]
    key, roots = part
    for stage in stages[deciding + 1 :]:
        if stage.words and stage.words[0] not in _SAME_SEARCH:
            key += " | " + " ".join(stage.words)
    return [Action(kinds.SEARCH, name, (bounded(key, KEY_CHARS), ["?variable"] if has_variable(key) else roots))]


def _files(inner: Inner, stages: list, deciding: int, place: _Place) -> list[Action]:
    from . import lookups

    words = inner.words
    if inner.program not in ("find", "gfind", "bfs"):
        part, title = lookups.listing_parts(inner.program, words, inner.cwd)
        return _searched(f"{inner.program} {title}".rstrip(), part, stages, deciding, inner)
    if "-delete" in words:
        return [plain(kinds.ACK, words, inner.cwd)]
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok") and at + 1 < len(words):
            executed = unwrap([word for word in words[at + 1 :] if word not in ("{}", ";", "+")] or ["true"], inner.cwd)
            kind = KINDS.get(executed.program)
            if kind in ("content", "read", "ack"):
                return _READERS[kind](executed, stages, deciding, place)
            break
    part, title = lookups.find_parts(words, inner.cwd)
    return _searched(f"{inner.program} {title}", part, stages, deciding, inner)


def _read(inner: Inner, stages: list, deciding: int, place: _Place) -> list[Action]:
    from . import lookups, reads

    what = reads.shown(inner.program, inner.words)
    if what is None:
        return [_other(stages, inner.cwd)]
    intervals, files = what
    if not files:
        files = [target for operator, target in stages[deciding].redirects if operator == "<"]
    target = _written(stages[-1])
    if target:
        return [plain(kinds.ACK, [inner.program, "> " + target[0]], inner.cwd)]
    if not files and stages[deciding].words[0] in ("xargs", "find"):
        return [Action(kinds.READ, f"{inner.program} (found files)", ("read:?/found", list(EXCERPT)))]
    if not files:
        return [_other(stages, inner.cwd)]
    if len(files) > lookups.MOST_PLACES:
        return [Action(kinds.READ, f"{inner.program} ({len(files)} files)", ("read:?/many", list(EXCERPT)))]
    if deciding + 1 < len(stages):
        intervals = [_seen_through(stages[deciding + 1 :], intervals[0]) if len(files) == len(intervals) == 1 else EXCERPT]
    return [_read_action(inner, file, interval) for file in files for interval in intervals]


def _read_action(inner: Inner, file: str, interval: list[int]) -> Action:
    name = f"{inner.program} {file}"
    if interval[0] and interval != WHOLE:
        name += ":" + describe_interval(interval)
    return Action(kinds.READ, name, read_part(file, interval, inner.cwd))


def _seen_through(stages: list, interval: list[int]) -> list[int]:
    """Return what is left of an interval behind `| head -20`, `| sed -n 5,9p`; an unknown one behind anything that picks lines by
    content."""
    from . import reads

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


def _git(inner: Inner, stages: list, deciding: int, place: _Place) -> list[Action]:
    from . import worktree

    words, cwd, at = inner.words, inner.cwd, 1
    while at < len(words) and words[at][:1] == "-":
        if words[at] == "-C" and at + 1 < len(words):
            cwd = normal_path(words[at + 1], cwd)
        at += 2 if words[at] in GIT_VALUES else 1
    command = words[at] if at < len(words) else ""
    if GIT_KINDS.get(command) == "content":
        from . import lookups

        part, pattern = lookups.content_parts("git grep", words[at:], cwd, False)
        return _searched(f"git grep {pattern}", part, stages, deciding, inner)
    if command in GIT_KINDS:
        action = plain(kinds.ACK, ["git commit"] if command == "commit" else ["git", *words[at:]], cwd, "", command == "commit")
    else:
        action = _other(stages, cwd)
        action.part = worktree.part_of(action.part, words[at:], cwd)
    action.changes = worktree.changes(words[at:], cwd)
    return [action]


def _popkit(inner: Inner, stages: list, deciding: int, place: _Place) -> list[Action]:
    if inner.words[1:2] == ["restore"] and deciding + 1 == len(stages):
        return [plain(kinds.RESTORED, ["popkit", *inner.words[1:]], inner.cwd)]
    return [_other(stages, inner.cwd)]


def _run_or_other(inner: Inner, stages: list, deciding: int, place: _Place) -> list[Action]:
    script = inner.script
    if not script and inner.program in SHELLS:
        script = next((target for operator, target in stages[deciding].redirects if operator in ("<<", "<<<")), "")
    if script and place.depth < _DEEPEST:
        actions, cwd = _actions(script, inner.cwd, place.depth + 1)
        if inner.program == "eval":
            place.go(cwd)
        return actions
    run = run_of(inner.program, inner.words, inner.cwd, (*inner.outer, *stages[deciding].assignments))
    if run:
        return [Action(kinds.RUN, run.name, run.part, run.family)]
    return [_other(stages, inner.cwd)]


_KINDS_BEHIND_XARGS = frozenset(("content", "files", "read", "ack"))
_READERS = {
    "content": _content, "files": _files, "read": _read, "git": _git, "popkit": _popkit, "ack": _acknowledged, "tee": _acknowledged,
    "feed": _aside, "aside": _aside,
}  # fmt: skip
