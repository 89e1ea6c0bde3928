"""Tell which commands of a line ran, with the evidence for their ends. Pure.

A line fails as its last command does, a pipeline as its last stage: so what stands behind `&&`, `||`, an `exit` or a pipe may not have run,
or may have failed unseen.
"""

from __future__ import annotations

# `environments` and `filters` are imported where a line changes its environment or picks from an output.
from .. import kinds
from ..parts import EXCERPT, LESS, ON_SUCCESS, OTHERWISE, UNSURE, with_marks
from .command import AND, INSIDE, OR, Command, is_hidden
from .programs import ENVIRONMENT, SHELLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .action import Action
    from .place import Place

# Of those that show nothing, these may fail, so that what follows them does not run.
_ASIDE_MAY_FAIL = frozenset(("test", "[", "[[", "false", "read", "hash", "wait", *SHELLS))
# So may these, whose success is an acknowledgement, but some not with this letter; and a pipeline that ends in one of those that pick.
_MAY_FAIL = frozenset("git cp mv ln chmod chown chgrp tee rm rmdir unlink mkdir touch".split())
_FORCED = {"rm": "f", "mkdir": "p"}
_PICKING = (["grep"], ["egrep"], ["fgrep"], ["ggrep"], ["rg"])
_LEAVES = ("exit", "return")
_GIVES_UP = frozenset((*_LEAVES, "false"))
_SAYS = frozenset(("echo", "printf"))


def judge(found: list[Action], stages: list, following: Command | None, place: Place) -> None:
    """Note when the actions of a pipeline ran visibly, and what makes their output less, or another's."""
    first = stages[0]
    word = first.words[0] if first.words else ""
    if (first.joined in ("", INSIDE) and not place.stops_at_failure) or (first.joined == OR and not _gives_up(first.words)):
        for action in place.conditional:
            action.ran = UNSURE  # the line's success is that of what follows
        for action in place.telling:
            action.tells = False
        place.conditional, place.telling = [], []
        place.may_have_failed = {OR: place.may_have_failed, INSIDE: place.gate}.get(first.joined, False)
    elif first.joined == AND:
        place.gate = place.may_have_failed
    outlets = [outlet for outlet in first.outlets if any(stage.words for stage in outlet)]
    behind = [stage for outlet in first.outlets for stage in outlet if stage not in stages]
    ran = 0
    behind_end = place.ran_behind()
    is_piped = place.deciding + 1 < len(stages) or bool(outlets)
    is_unsure = first.is_branch or first.is_background or first.joined == OR or behind_end == UNSURE
    tells = not (is_unsure or (is_piped and not place.has_pipefail))
    if is_unsure or (found and (is_hidden(stages) or is_hidden(behind))):
        ran = UNSURE
    elif place.may_have_failed and (first.joined or place.stops_at_failure):
        ran = UNSURE if any(outlet is one for outlet in outlets for one in place.piped) else ON_SUCCESS
    swallowed = following is not None and _swallows(following)
    for action in found:
        action.tells = action.tells and tells
        place.telling.append(action)
        action.ran = UNSURE if place.is_script and is_piped and action.ran == ON_SUCCESS else max(action.ran, ran)
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
    if _may_fail(first, found if len(stages) == 1 or place.has_pipefail or stages[-1].words[:1] in _PICKING else []):
        place.may_have_failed = True
        place.piped += outlets


def _swallows(following: Command) -> bool:
    """Return whether what follows in a line succeeds, and says nothing, where what stands before it has failed."""
    if following.joined == OR:
        return not _tells_failure(following.words)
    return following.joined != AND and following.words[:1] in ([name] for name in _LEAVES) and following.words[1:2] == ["0"]


def _leaves(command: Command, may_have_failed: bool) -> int:
    """Return whether what follows a command in its shell has run: ON_SUCCESS where the line fails if it ends there."""
    word = command.words[0] if command.words else ""
    if word == "exec":
        return UNSURE if not command.is_branch and (len(command.words) > 1 or is_hidden([command])) else 0
    if word == "set":
        sets = "noexec" in command.words or any(word[:1] == "-" and word[1:].isalpha() and "n" in word for word in command.words[1:])
        return UNSURE if sets else 0
    if word not in _LEAVES or command.is_background:
        return 0
    code = "".join(command.words[1:2])
    if code == "0" or not (command.is_branch or command.joined) or not (code or command.joined == OR):
        return UNSURE
    return ON_SUCCESS if command.is_branch or command.joined != OR or may_have_failed else 0


def _tells_failure(words: list[str]) -> bool:
    """Return whether a command that runs if another has failed fails, too, or says a word."""
    return _gives_up(words) or (len(words) > 1 and words[0] in _SAYS)


def _gives_up(words: list[str]) -> bool:
    """Return whether a command fails, or ends its shell with the failure of the one before it."""
    return bool(words) and words[0] in _GIVES_UP and words[1:2] != ["0"]


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


def _mark(action: Action, stages: list, swallowed: bool, place: Place) -> None:
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
