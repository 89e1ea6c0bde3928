"""Read what a command line does: a list of actions, each with the lifetime class of what it prints and the part that this shows. Pure.

The tiers are those of the tiered-retention specification, extended from its examples: searches are short, file contents medium, test and
build output lives for the session, acknowledgements are ephemeral, and whatever is not known lives for the session. Of a line that does
several things, the result lives as long as its longest-lived part; what only prepares or decorates (`cd`, `export`, `echo ---`) has no say.
"""

from __future__ import annotations

# `lookups` and `reads` are imported where a line searches or reads: a hook loads what its one line needs.
from .. import kinds
from ..parts import (  # fmt: skip
    EXCERPT,
    KEY_CHARS,
    LESS,
    ON_SUCCESS,
    OTHERWISE,
    UNKNOWN,
    UNSURE,
    WHOLE,
    Action,
    describe_interval,
    has_variable,
    normal_path,
    plain,
    read_part,
    with_marks,
)
from ..ruleset import outlives
from ..tools import bounded
from .programs import ENVIRONMENT, GIT_KINDS, GIT_VALUES, KINDS, SHELLS, SWITCH_LOOKS, SWITCHES
from .runs import marks_from_outside, run_of
from .shell import AND, OR, Command, parse
from .wrappers import Inner, only_parses, unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parts import Move
    from ..ruleset import Ruleset

_SWITCHING = frozenset([name.partition(" ")[0] for name in SWITCHES])
# Scripts inside scripts (`bash -c "bash -c .."`) are looked into so deep.
_DEEPEST = 5
# Of those that show nothing, these may fail, so that what follows them does not run.
_ASIDE_MAY_FAIL = frozenset(("test", "[", "[[", "false", "read", "hash"))
# So may these, whose success is an acknowledgement, but some not with this letter; and a pipeline that ends in one of those that pick.
_MAY_FAIL = frozenset("git cp mv ln chmod chown tee rm mkdir touch".split())
_FORCED = {"rm": "f", "mkdir": "p"}
_PICKING = (["grep"], ["egrep"], ["rg"])
# Programs with looks that run_options.py knows; and looks that show no more than the paths that they name.
_LOOKING = frozenset("git docker kubectl npm pip terraform coverage gh systemctl".split())
_LIMITED_TO_PATHS = ("git status", "git diff")
_OTHER_TREES = frozenset(("gh", "hg", "sl", "svn", "jj", "patch"))
_LEAVES = ("exit", "return")
_GIVES_UP = frozenset((*_LEAVES, "false"))
_SAYS = frozenset(("echo", "printf"))
_OTHER_STREAMS = "23456789"
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
        stages = commands[begin:end]
        found = _pipeline(stages, place)
        if found and len(stages) > 1:
            found[-1].move = found[-1].move or _patch_behind(stages, place)
        _judge(found, stages, commands[end] if end < count else None, place)
        actions += found
        begin = end
    if not actions and not depth:
        actions.append(plain(kinds.OTHER, line.split(), place.folders[()]))
    return actions, place.folders[()]


class _Place:
    """Where a command runs: its folder (a subshell has its own, which begins as that of the shell around it), the marks of its environment,
    and what of the line has to succeed before it runs. `piped`: the outlets of those that may have failed, whose failure a pipe hides ·
    `deciding`, `is_script`: of the pipeline that was read last."""

    __slots__ = (
        "conditional", "cwd", "deciding", "depth", "environment", "folders", "group", "has_pipefail", "is_script", "left",
        "may_have_failed", "piped", "pushed", "stops_at_failure",
    )  # fmt: skip

    def __init__(self, cwd: str, depth: int):
        self.cwd = cwd
        self.depth = depth
        self.group: tuple[int, ...] = ()
        self.folders: dict[tuple[int, ...], str] = {(): cwd}
        self.left: dict[tuple[int, ...], int] = {}  # of the subshells that may have ended, whether what follows in them has run
        self.pushed: list[str] = []
        self.environment: list[str] = []
        self.may_have_failed = False
        self.piped: list[list[Command]] = []
        self.conditional: list[Action] = []  # those of this list of `&&` that run only if all before them succeed
        self.stops_at_failure = False
        self.has_pipefail = False
        self.deciding = 0
        self.is_script = False

    def leave(self, ran: int) -> None:
        """Note that a command may have ended this shell. Only the end of the whole one makes the line fail where it was a failure."""
        if ran:
            self.left[self.group] = max(self.left.get(self.group, 0), UNSURE if self.group else ran)

    def ran_behind(self) -> int:
        """Return whether a command has run as far as this depends on those that end a shell."""
        return max([self.left.get(self.group[:depth], 0) for depth in range(len(self.group) + 1)]) if self.left else 0

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


def _judge(found: list[Action], stages: list, following: Command | None, place: _Place) -> None:
    """Note of the actions of a pipeline when they have run and can be seen, and what makes what they show less, or another's."""
    first = stages[0]
    word = first.words[0] if first.words else ""
    if (not first.joined and not place.stops_at_failure) or (first.joined == OR and word not in _GIVES_UP):
        for action in place.conditional:
            action.ran = UNSURE  # the line's success is that of what follows
        place.conditional = []
        place.may_have_failed = place.may_have_failed and first.joined == OR
    outlets = [outlet for outlet in first.outlets if any(stage.words for stage in outlet)]
    behind = [stage for outlet in first.outlets for stage in outlet if stage not in stages]
    ran = 0
    behind_end = place.ran_behind()
    is_hidden = bool(found) and (_is_hidden(stages) or _is_hidden(behind))
    if is_hidden or first.is_branch or first.is_background or first.joined == OR or behind_end == UNSURE:
        ran = UNSURE
    elif place.may_have_failed and (first.joined == AND or place.stops_at_failure):
        ran = UNSURE if any(outlet is one for outlet in outlets for one in place.piped) else ON_SUCCESS
    swallowed = following is not None and _swallows(following)
    is_script_piped = place.is_script and bool(outlets or stages[place.deciding + 1 :])
    for action in found:
        action.ran = UNSURE if is_script_piped and action.ran == ON_SUCCESS else max(action.ran, ran)
        if action.ran == ON_SUCCESS:
            place.conditional.append(action)
        action.ran = max(action.ran, behind_end)
        if action.kind != kinds.ACK and (action.kind != kinds.READ or place.is_script):
            _mark(action, stages, swallowed, place)
        if behind and action.kind != kinds.ACK:
            _mark_behind(action, behind)
    if word in ENVIRONMENT:
        from . import environments

        environments.change(place, first.words)
    if len(stages) == 1:
        place.leave(_leaves(first, place.may_have_failed))
    decides = len(stages) == 1 or place.has_pipefail or stages[-1].words[:1] in _PICKING
    if _may_fail(first, found if decides else []):
        place.may_have_failed = True
        place.piped += outlets


def _swallows(following: Command) -> bool:
    """Return whether what follows in a line succeeds, and says nothing, where what stands before it has failed."""
    if following.joined == OR:
        return not _tells_failure(following.words)
    return not following.joined and following.words[:1] in ([name] for name in _LEAVES) and following.words[1:2] == ["0"]


def _leaves(command: Command, may_have_failed: bool) -> int:
    """Return whether what follows a command in its shell has run: ON_SUCCESS where the line fails if it ends there."""
    word = command.words[0] if command.words else ""
    if word == "exec":
        return UNSURE if not command.is_branch and (len(command.words) > 1 or _is_hidden([command])) else 0
    if word == "set":
        sets = "noexec" in command.words or any(word[:1] == "-" and word[1:].isalpha() and "n" in word for word in command.words[1:])
        return UNSURE if sets else 0
    if word not in _LEAVES or command.is_background:
        return 0
    code = "".join(command.words[1:2])
    if code == "0" or not (command.is_branch or command.joined) or not (code or command.joined == OR):
        return UNSURE
    return ON_SUCCESS if command.is_branch or command.joined == AND or may_have_failed else 0


def _tells_failure(words: list[str]) -> bool:
    """Return whether a command that runs if another has failed fails, too, or says a word."""
    return bool(words) and (words[0] in _GIVES_UP or (words[0] in _SAYS and len(words) > 1))


def _may_fail(first: Command, found: list[Action]) -> bool:
    """Return whether a pipeline may fail that begins so, and whose status is that of the actions found."""
    if not first.words:
        return any("$(" in assignment or "`" in assignment for assignment in first.assignments)
    program = first.words[0]
    if program in _ASIDE_MAY_FAIL:
        return True
    if program in _FORCED and any(word[:1] == "-" and _FORCED[program] in word for word in first.words[1:]):
        return False
    return program in _MAY_FAIL or any(action.kind != kinds.ACK for action in found)


def _is_hidden(stages: list) -> bool:
    """Return whether a pipeline's output goes to a file, or nowhere."""
    return any(
        ">" in operator and operator[0] not in _OTHER_STREAMS and (target == "/dev/null" or _is_file(operator, target))
        for stage in stages
        for operator, target in stage.redirects
    )


def _mark(action: Action, stages: list, swallowed: bool, place: _Place) -> None:
    """Add the marks of a pipeline to what an action shows."""
    marks = [] if action.kind == kinds.SEARCH else [*place.environment, LESS + "|| .."] if swallowed else [*place.environment]
    behind = stages[place.deciding + 1 :]
    if action.kind == kinds.READ:
        action.ran = UNSURE if behind else action.ran
        return
    if action.kind == kinds.RUN or place.is_script:
        marks += [OTHERWISE + "fed by " + " ".join(stage.words) for stage in stages[: place.deciding]]
        if any(operator[:1] == "2" and operator != "2>&" for stage in stages for operator, _ in stage.redirects):
            marks.append(LESS + "2>")
        if behind and stages[place.deciding].words[:1] and stages[place.deciding].words[0] in ("timeout", "gtimeout"):
            marks.append(LESS + "timeout")
    if behind and (action.kind in (kinds.RUN, kinds.SEARCH) or place.is_script):
        from . import filters

        marks += filters.marks(behind, action.kind == kinds.SEARCH)
    action.part = with_marks(action.part, marks)


def _mark_behind(action: Action, behind: list) -> None:
    """Add the marks of what stands behind the brackets around a pipeline."""
    from . import filters

    marks = filters.marks([stage for stage in behind if stage.words], action.kind == kinds.SEARCH)
    if any(operator[:1] == "2" and operator != "2>&" for stage in behind for operator, _ in stage.redirects):
        marks.append(LESS + "2>")
    if action.kind != kinds.READ:
        action.part = with_marks(action.part, marks)
    elif marks:
        action.part = (action.part[0], list(EXCERPT))


def _pipeline(stages: list, place: _Place) -> list[Action]:
    """Return what a pipeline does: its first stage decides, unless that only feeds the next, or `xargs` runs something."""
    command = stages[0]
    place.deciding, place.is_script = 0, False
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
    place.deciding = deciding
    reader = _READERS.get(kind or "")
    return reader(inner, stages, deciding, place) if reader else _run_or_other(inner, stages, deciding, place)


def _only_feeds(kind: str | None, inner: Inner, command: Command) -> bool:
    if kind == "feed" or kind == "aside":
        return True
    return inner.program == "cat" and len(inner.words) == 1 and not any(one[0] == "<" for one in command.redirects)


def _written(command: Command) -> list[str]:
    """Return the files that take what a command would print."""
    return [
        target
        for operator, target in command.redirects
        if ">" in operator and operator[0] not in _OTHER_STREAMS and _is_file(operator, target)
    ]


def _is_file(operator: str, target: str) -> bool:
    return target not in _NOWHERE and target[:2] != ">(" and not (operator[-1] == "&" and (target.isdigit() or target == "-"))


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
        action.ran = UNSURE if command == "commit" else action.ran  # each is a commit of its own
    else:
        action = _look(["git", *words[at:]], stages, deciding, place, cwd) or _other(stages, cwd)
        action.part = worktree.part_of(action.part, words[at:], cwd)
    action.changes = worktree.changes(words[at:], cwd)
    action.move = worktree.move(words[at:], cwd)
    return [action]


def _popkit(inner: Inner, stages: list, deciding: int, place: _Place) -> list[Action]:
    if inner.words[1:2] == ["restore"] and deciding + 1 == len(stages):
        return [plain(kinds.RESTORED, ["popkit", *inner.words[1:]], inner.cwd)]
    return [_other(stages, inner.cwd)]


def _run_or_other(inner: Inner, stages: list, deciding: int, place: _Place) -> list[Action]:
    script = inner.script
    if not script and inner.program in SHELLS and not only_parses(inner.words):
        script = next((target for operator, target in stages[deciding].redirects if operator in ("<<", "<<<")), "")
    if script and place.depth < _DEEPEST:
        actions, cwd = _actions(script, inner.cwd, place.depth + 1)
        if inner.program == "eval":
            place.go(cwd)
        place.is_script = True
        marks = marks_from_outside((*inner.outer, *stages[deciding].assignments))
        for action in actions if marks else ():
            if action.kind not in (kinds.READ, kinds.SEARCH, kinds.ACK):
                action.part = with_marks(action.part, marks)
        return actions
    run = run_of(inner.program, inner.words, inner.cwd, (*inner.outer, *stages[deciding].assignments))
    if run:
        return [Action(kinds.RUN, run.name, run.part, run.family)]
    action = _look(inner.words, stages, deciding, place, inner.cwd) or _other(stages, inner.cwd)
    action.move = _switch(inner.words) or _other_move(inner, place)
    return [action]


def _switch(words: list[str]) -> Move | None:
    """Return the move to another environment, in which all runs that follow are others."""
    if words[0] not in _SWITCHING or not SWITCH_LOOKS.isdisjoint(words[1:4]):
        return None
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in SWITCHES), "")
    return ("", name, " ".join(words)) if name and len(words) > name.count(" ") + 1 else None


def _patch_behind(stages: list, place: _Place) -> Move | None:
    """Return the move of a patch that comes out of a pipe: `git diff | git apply -R`."""
    words = stages[-1].words
    if words[:1] != ["patch"] and words[:2] != ["git", "apply"]:
        return None
    from . import worktree

    return worktree.move_of_other(words, place.cwd) if words[0] == "patch" else worktree.move(words[1:], place.cwd)


def _other_move(inner: Inner, place: _Place) -> Move | None:
    if inner.words[0] not in _OTHER_TREES:
        return None
    from . import worktree

    return worktree.move_of_other(inner.words, inner.cwd)


def _look(words: list[str], stages: list, deciding: int, place: _Place, cwd: str) -> Action | None:
    """Return the look at the state of something that a command is; None where it is none that is known."""
    if deciding or words[0] not in _LOOKING or stages[0].assignments or _is_hidden(stages):
        return None
    from .runs import look_of

    look = look_of(words, cwd)
    if look is None:
        return None
    name, targets, marks = look
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


_KINDS_BEHIND_XARGS = frozenset(("content", "files", "read", "ack"))
_READERS = {
    "content": _content, "files": _files, "read": _read, "git": _git, "popkit": _popkit, "ack": _acknowledged, "tee": _acknowledged,
    "feed": _aside, "aside": _aside,
}  # fmt: skip
