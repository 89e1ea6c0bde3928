"""Read the actions of a command line, each with its tier, its part of the output. Pure.

The tiers are those of the tiered-retention specification, extended from its examples: searches are short, file contents medium, test and
build output lives for the session, acknowledgements are ephemeral, and whatever is not known lives for the session. Of a line that does
several things, the result lives as long as its longest-lived part; what only prepares or decorates (`cd`, `export`, `echo ---`) has no say.
"""

from __future__ import annotations

# `lookups`, `reads` and `runs` are imported where a line searches, reads or may start a run: a hook loads what its one line needs.
from .. import kinds
from ..calls import bounded
from ..parts import EXCERPT, UNKNOWN, UNSURE, WHOLE, describe_interval, has_variable, normal_path, read_part, revision_part, with_marks
from ..ruleset import outlives
from . import ran
from .action import KEY_CHARS, Action, plain
from .command import Command
from .place import Place
from .programs import GIT_KINDS, GIT_READS, GIT_VALUES, KINDS, SWITCH_LOOKS, SWITCHES
from .shell import parse
from .wrappers import InnerCommand, unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..ruleset import Ruleset
    from .action import Move

# Scripts inside scripts (`bash -c "bash -c .."`) are looked into so deep.
_DEEPEST = 5
# Programs with looks that run_options.py knows; and looks that show no more than the paths that they name.
_LOOKING = frozenset("git docker kubectl npm pip terraform coverage gh systemctl".split())
_LIMITED_TO_PATHS = ("git status", "git diff")
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
        return [plain(kinds.ACK, ["> " + target], place.cwd) for target in ran.written(command)]
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
    reader = _READERS.get(kind) if kind else None
    return reader(inner, stages, place) if reader else _run_or_other(inner, stages, place)


def _only_feeds(kind: str | None, inner: InnerCommand, command: Command) -> bool:
    if kind in _FEEDING:
        return True
    return inner.program == "cat" and len(inner.words) == 1 and not any(one[0] == "<" for one in command.redirects)


def _other(stages: list, cwd: str) -> Action:
    first, *later = stages
    extra = "".join([" | " + " ".join(stage.words) for stage in later])
    for stage in stages:
        for operator, target in stage.redirects:
            if operator != "2>&" and target not in ran.DISCARDING:
                extra += f" {operator}{target}"
    words = first.assignments + first.words if first.assignments else first.words
    return plain(kinds.OTHER, words, cwd, extra)


def _acknowledged(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    return [plain(kinds.ACK, inner.words, inner.cwd)]


def _aside(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    return [plain(kinds.ACK, [inner.program, "> " + target], inner.cwd) for target in ran.written(stages[-1])[-1:]]


def _content(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    from . import lookups

    part, pattern = lookups.content_parts(inner.program, inner.words, inner.cwd, _is_fed(stages, place.deciding))
    return _searched(f"{inner.program} {pattern}", part, stages, inner)


def _is_fed(stages: list, deciding: int) -> bool:
    """Return whether what is looked at comes from a pipe, a redirection or another program, so that it cannot be named."""
    command = stages[deciding]
    return deciding > 0 or command.words[0] in ("xargs", "find") or any(one[0][0] == "<" for one in command.redirects)


def _searched(name: str, part: tuple, stages: list, inner: InnerCommand) -> list[Action]:
    target = ran.written(stages[-1])
    if target:
        return [plain(kinds.ACK, [inner.program, "> " + target[-1]], inner.cwd)]
    key, roots = part
    return [Action(kinds.SEARCH, name, (bounded(key, KEY_CHARS), ["?variable"] if has_variable(key) else roots))]


def _files(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    from . import lookups

    words = inner.words
    if inner.program not in ("find", "gfind", "bfs"):
        part, title = lookups.listing_parts(inner.program, words, inner.cwd)
        return _searched(f"{inner.program} {title}".rstrip(), part, stages, inner)
    if "-delete" in words:
        return [plain(kinds.ACK, words, inner.cwd)]
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok") and at + 1 < len(words):
            executed = unwrap([word for word in words[at + 1 :] if word not in ("{}", ";", "+")] or ["true"], inner.cwd)
            kind = KINDS.get(executed.program)
            if kind in ("content", "read", "ack"):
                return _READERS[kind](executed, stages, place)
            break
    part, title = lookups.find_parts(words, inner.cwd)
    return _searched(f"{inner.program} {title}".rstrip(), part, stages, inner)


def _read(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    from . import lookups, reads

    what = reads.shown(inner.program, inner.words)
    if what is None:
        return [_other(stages, inner.cwd)]
    intervals, files = what
    cwd = inner.cwd
    if not files:
        cwd = place.cwd  # whose shell opens it
        files = [target for operator, target in stages[place.deciding].redirects if operator == "<"][-1:]
    target = ran.written(stages[-1])
    if target:
        return [plain(kinds.ACK, [inner.program, "> " + target[-1]], inner.cwd)]
    if not files and stages[place.deciding].words[0] in ("xargs", "find"):
        return [Action(kinds.READ, f"{inner.program} (found files)", ("read:?/found", list(EXCERPT)))]
    if not files:
        return [_other(stages, inner.cwd)]
    if len(files) > lookups.MOST_PLACES:
        return [Action(kinds.READ, f"{inner.program} ({len(files)} files)", ("read:?/many", list(EXCERPT)))]
    behind = stages[place.deciding + 1 :]
    if (behind and _makes_another_output(behind)) or (inner.outer and inner.cwd.startswith("docker:")):  # a container may have other files
        return [_other(stages, inner.cwd)]
    if behind:
        intervals = [_seen_through(stages[0], behind, intervals[0]) if len(files) == len(intervals) == 1 else EXCERPT]
    found = []
    for file in files:
        found += [_read_action(inner.program, file, read_part(file, interval, cwd)) for interval in intervals]
        if reads.counts_on(inner.words):
            intervals = [EXCERPT]
    return found


def _makes_another_output(behind: list) -> bool:
    """Return whether what shows a file is fed to something that does more than to pick, order or reshape its lines."""
    from .filters import SHAPES

    return any(stage.words and KINDS.get(stage.words[0]) not in ("read", "content") and stage.words[0] not in SHAPES for stage in behind)


def _read_action(program: str, file: str, part: tuple[str, list[int]]) -> Action:
    name = f"{program} {file}"
    if part[1][0] and part[1] != WHOLE:
        name += ":" + describe_interval(part[1])
    return Action(kinds.READ, name, part)


def _of_revisions(words: list[str], stages: list, deciding: int, cwd: str) -> list[Action]:
    """Return the reads of the files of commits that `git show REF:path` and its like show; none for anything else."""
    from . import reads

    files = reads.of_revisions(words)
    if not files:
        return []
    command, target = "git " + words[0], ran.written(stages[-1])
    if target:
        return [plain(kinds.ACK, [*command.split(), "> " + target[-1]], cwd)]
    interval, behind = WHOLE, stages[deciding + 1 :]
    if behind:
        if _makes_another_output(behind):
            return []
        interval = _seen_through(stages[0], behind, WHOLE) if len(files) == 1 else EXCERPT
    return [_read_action(command, f"{revision}:{path}", revision_part(revision, path, interval, cwd)) for revision, path in files]


def _seen_through(command: Command, stages: list, interval: list[int]) -> list[int]:
    """Return what is left of an interval that a command shows behind `| head -20`, `| sed -n 5,9p`; an unknown one behind anything that
    picks lines by content."""
    from . import reads

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


def _git(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    from . import worktree

    words, cwd, at = inner.words, inner.cwd, 1
    repository = "".join([item[8:] for item in (*inner.outer, *stages[place.deciding].assignments) if item.startswith("GIT_DIR=")])
    while at < len(words) and words[at][:1] == "-":
        name, equals, value = words[at].partition("=")
        if name in GIT_VALUES and not equals:
            at += 1
            value = "".join(words[at : at + 1])
        at += 1
        if name == "-C":
            cwd = normal_path(value, cwd)
        elif name == "--git-dir":
            repository = value
    cwd = normal_path(repository, cwd).removesuffix("/.git") if repository else cwd
    command = words[at] if at < len(words) else ""
    if GIT_KINDS.get(command) == "content":
        from . import lookups

        part, pattern = lookups.content_parts("git grep", words[at:], cwd, False)
        return _searched(f"git grep {pattern}", part, stages, inner)
    if command in GIT_READS:
        found = _of_revisions(words[at:], stages, place.deciding, cwd)
        if found:
            return found
    if command in GIT_KINDS:
        action = plain(kinds.ACK, ["git commit"] if command == "commit" else ["git", *words[at:]], cwd, "", command == "commit")
        action.ran = UNSURE if command == "commit" else action.ran  # each is a commit of its own
    else:
        action = _look(["git", *words[at:]], inner, stages, place.deciding, cwd) or _other(stages, cwd)
        action.part = worktree.part_of(action.part, words[at:], cwd)
    action.changes = worktree.changes(words[at:], cwd)
    action.move = worktree.move(words[at:], cwd)
    return [action]


def _popkit(inner: InnerCommand, stages: list, place: Place) -> list[Action]:
    if inner.words[1:2] == ["restore"] and kinds.OF_THE_ARCHIVE.isdisjoint(inner.words[2:3]) and place.deciding + 1 == len(stages):
        return [plain(kinds.RESTORED, ["popkit", *inner.words[1:]], inner.cwd)]
    return [_other(stages, inner.cwd)]


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
    action = _look(inner.words, inner, stages, place.deciding, inner.cwd) or _other(stages, inner.cwd)
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


def _look(words: list[str], inner: InnerCommand, stages: list, deciding: int, cwd: str) -> Action | None:
    """Return the look at the state of something that a command is; None where it is none that is known."""
    if deciding or words[0] not in _LOOKING or stages[0].assignments or ran.is_hidden(stages):
        return None
    from .looks import look_of
    from .runs import marks_from_outside

    look = look_of(words, cwd)
    if look is None:
        return None
    name, targets, marks = look
    marks = marks + marks_from_outside(inner.outer)
    if name in _LIMITED_TO_PATHS:
        from . import worktree

        targets = worktree.without_paths(words[1:], targets)
    action = plain(kinds.OTHER, [*name.split(), *targets], cwd)
    action.name = plain(kinds.OTHER, words, cwd).name
    if stages[1:]:
        from . import filters

        marks = marks + filters.marks(stages[1:], False)
    action.part = with_marks(action.part, marks)
    return action


_OF_THE_SHELL = ("command", "builtin", "time")  # that start no other program
# In a pipeline these show nothing: `cd` moves the shell of its stage alone.
_FEEDING = frozenset(("feed", "aside", "move"))
_KINDS_BEHIND_XARGS = frozenset(("content", "files", "read", "ack"))
_READERS = {
    "content": _content, "files": _files, "read": _read, "git": _git, "popkit": _popkit, "ack": _acknowledged, "tee": _acknowledged,
    "feed": _aside, "aside": _aside,
}  # fmt: skip
