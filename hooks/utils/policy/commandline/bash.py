"""Read the actions of a command line, each with its tier, its part of the output. Pure.

The tiers are those of the tiered-retention specification, extended from its examples: searches are short, file contents medium, test and
build output lives for the session, acknowledgements are ephemeral, and whatever is not known lives for the session. Of a line that does
several things, the result lives as long as its longest-lived part; what only prepares or decorates (`cd`, `export`, `echo ---`) has no say.
"""

from __future__ import annotations

# What reads the commands of files and of git, and `runs`, are imported where a line has one: a hook loads what its one line needs.
from .. import kinds
from ..parts import UNKNOWN, normal_path, with_marks
from ..ruleset import outlives
from . import ran
from .action import Action, other, plain
from .command import Command, written
from .place import Place
from .programs import KINDS, SWITCH_LOOKS, SWITCHES
from .shell import parse
from .wrappers import InnerCommand, unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ruleset import Ruleset
    from .action import Move

# Scripts inside scripts (`bash -c "bash -c .."`) are looked into so deep.
_DEEPEST = 5
# Programs with looks that run_options.py knows.
_LOOKING = frozenset("docker kubectl npm pip terraform coverage gh systemctl".split())
_OTHER_TREES = frozenset(("gh", "hg", "sl", "svn", "jj", "patch"))


def longest_lived(actions: list[Action], rules: Ruleset) -> tuple[Action, str]:
    """Return (the first of the longest-lived actions, by which the result of the line is classed; its tier)."""
    leading, longest = actions[0], rules.tier_of_command(actions[0].kind, actions[0].name)
    for action in actions[1:]:
        tier = rules.tier_of_command(action.kind, action.name)
        if outlives(tier, longest):
            leading, longest = action, tier
    return leading, longest


def actions(line: str, cwd: str) -> list[Action]:
    """Return the actions of a line, in order, when started in a folder; never empty. A line that cannot be parsed is one `other` action."""
    return _actions(line, normal_path(cwd, ""), 0)[0]


def pipelines(line: str) -> list[tuple[list[Command], list[Action]]]:
    """Return each pipeline of a line with its actions, in order; scripts in the line belong to the action that runs them."""
    done: list[tuple[list[Command], list[Action]]] = []
    _actions(line, "/", 0, done)
    return done


def _actions(
    line: str, cwd: str, depth: int, done: list[tuple[list[Command], list[Action]]] | None = None
) -> tuple[list[Action], str]:  # fmt: skip
    """Return the actions, and the folder at the end of the line. `done` takes each pipeline with its own."""
    place = Place(cwd, depth)
    commands = parse(line)
    actions: list[Action] = []
    begin = 0
    count = len(commands)
    while begin < count:
        end = begin + 1
        while end < count and commands[end].stage:
            end += 1
        place.enter(commands[begin])
        stages = commands[begin:end]
        found = _pipeline(stages, place)
        if found:
            found[-1].move = found[-1].move or _patch_behind(stages, place)
        ran.judge(found, stages, commands[end] if end < count else None, place)
        actions += found
        if done is not None:
            done.append((stages, found))
        begin = end
    if not actions and not depth:
        actions.append(plain(kinds.OTHER, line.split(), place.folders[()]))
    return actions, UNKNOWN if () in place.listed else place.folders[()]


def _pipeline(stages: list, place: Place) -> list[Action]:
    """Return what a pipeline does: its first stage decides, unless that only feeds the next, or `xargs` runs something."""
    command = stages[0]
    place.deciding, place.is_script = 0, False
    if not command.words:
        return [plain(kinds.ACK, ["> " + target], place.cwd) for target in written(command)]
    inner = unwrap(command.words, place.cwd)
    kind = KINDS.get(inner.program)
    if kind == "move" and len(stages) == 1:
        if inner.words is command.words or command.words[0] in _OF_THE_SHELL:
            place.move(inner.program, inner.words)
            place.doubt(command)
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
                from .runs import run_of

                if fed_kind in _KINDS_BEHIND_XARGS or fed.script or run_of(fed.program, fed.words, fed.cwd):
                    inner, kind, deciding = fed, fed_kind, at
                    break
    place.deciding = deciding
    reader = _reader_of(kind) if kind else None
    return reader(inner, stages, place) if reader else _run_or_other(inner, stages, place)


def _only_feeds(kind: str | None, inner: InnerCommand, command: Command) -> bool:
    if kind in _FEEDING:
        return True
    return inner.program == "cat" and len(inner.words) == 1 and not any(one[0] == "<" for one in command.redirects)


def _acknowledged(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    return [plain(kinds.ACK, inner.words, inner.cwd)]


def _aside(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    return [plain(kinds.ACK, [inner.program, "> " + target], inner.cwd) for target in written(stages[-1])[-1:]]


def _popkit(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    if inner.words[1:2] == ["restore"] and kinds.OF_THE_ARCHIVE.isdisjoint(inner.words[2:3]) and place.deciding + 1 == len(stages):
        return [plain(kinds.RESTORED, ["popkit", *inner.words[1:]], inner.cwd)]
    return [other(stages, inner.cwd)]


def _run_or_other(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    from .runs import marks_from_outside, run_of

    script = inner.script
    if script is None:
        script = next((target for operator, target in stages[place.deciding].redirects if operator in ("<<", "<<<")), "")
    if script and place.depth < _DEEPEST:
        actions, cwd = _actions(script, inner.cwd, place.depth + 1)
        if inner.program == "eval":
            place.go(cwd)
            place.doubt(stages[place.deciding])
        place.is_script = True
        marks = marks_from_outside((*inner.outer, *stages[place.deciding].assignments))
        for action in actions if marks else ():
            if action.kind not in (kinds.READ, kinds.SEARCH, kinds.ACK):
                action.part = with_marks(action.part, marks)
        return actions
    run = run_of(inner.program, inner.words, inner.cwd, (*inner.outer, *stages[place.deciding].assignments))
    if run:
        return [Action(kinds.RUN, run.name, run.part, run.family)]
    look = None
    if inner.words[0] in _LOOKING:
        from .looks import look_at

        look = look_at(inner.words, inner, stages, place.deciding, inner.cwd)
    action = look or other(stages, inner.cwd)
    action.move = _switch(inner.words) or _other_move(inner, place)
    return [action]


def _switch(words: list[str]) -> Move | None:
    """Return the move to another environment, in which all runs that follow are others."""
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in SWITCHES), "")
    is_one = name and len(words) > name.count(" ") + 1 and SWITCH_LOOKS.isdisjoint(words[1:4])
    return ("", name, " ".join(words)) if is_one else None


def _patch_behind(stages: list, place: Place) -> Move | None:
    """Return the move of a patch that comes out of a pipe: `git diff | git apply -R`."""
    words = stages[-1].words
    if words[:1] != ["patch"] and words[:2] != ["git", "apply"]:
        return None
    from . import worktree

    return worktree.move_of_other(words, place.cwd) if words[0] == "patch" else worktree.move(words[1:], place.cwd)


def _other_move(inner: InnerCommand, place: Place) -> Move | None:
    if inner.words[0] not in _OTHER_TREES:
        return None
    from . import worktree

    return worktree.move_of_other(inner.words, inner.cwd)


_OF_THE_SHELL = ("command", "builtin", "time")  # that start no other program
# In a pipeline these show nothing: `cd` moves the shell of its stage alone.
_FEEDING = frozenset(("feed", "aside", "move"))
_KINDS_BEHIND_XARGS = frozenset(("content", "files", "read", "ack"))
_OF_FILES = ("content", "files", "read")
_READERS = {"popkit": _popkit, "ack": _acknowledged, "tee": _acknowledged, "feed": _aside, "aside": _aside}


def _reader_of(kind: str) -> Callable[[InnerCommand, list, Place], list[Action]] | None:
    if kind == "git":
        from .git_commands import actions_of

        return actions_of
    if kind in _OF_FILES:
        from .file_commands import READERS

        return READERS[kind]
    return _READERS.get(kind)
