"""Identify looks at the state of something, `git status` or `gh run list`, so that a repeated one is recognised, by what run_options.py
knows of their options. Pure."""

from __future__ import annotations

from .. import kinds
from ..parts import AT_MOST, OTHERWISE, with_marks
from . import run_options
from .action import Action, plain
from .command import is_hidden, word_at
from .runs import Limits, marks_from_outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .wrappers import InnerCommand

# Looks that show no more than the paths that they name.
_LIMITED_TO_PATHS = ("git status", "git diff")
# The first of two words that are a command together.
_BEGIN_COMMANDS = ("compose", "pr", "run", "issue")


def _command_first(words: list[str], with_value: Sequence[str]) -> list[str]:
    """Return the words with the options between a program and its command, which may have two words, behind that."""
    command, options = words[:1], []
    at = 1
    while at < len(words) and len(command) < 3:
        if words[at][:1] != "-":
            command.append(words[at])
            at += 1
        elif len(command) == 2 and command[1] not in _BEGIN_COMMANDS:
            break
        else:
            end = at + (2 if words[at] in with_value else 1)
            options += words[at:end]
            at = end
    return [*command, *options, *words[at:]]


def look_of(words: list[str], cwd: str) -> tuple[str, list[str], list[str]] | None:
    """Return (the words that name a look, the targets, the marks) of a command that looks at the state of something, as far as
    run_options.py knows it; None for any other."""
    words = _command_first(words, run_options.BEFORE_COMMAND.get(words[0], "").split())
    name = next((name for name in (" ".join(words[:3]), " ".join(words[:2])) if " " in name and name in run_options.LOOKS), "")
    if not name:
        return None
    limits = Limits(name, cwd)
    at = name.count(" ") + 1
    targets = []
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            targets += words[at - 1 :]
            break
        if word[:1] == "-" and word[1:].isdigit():
            limits.apply("X", "", word[1:])
        elif word[:1] == "-" and word != "-":
            at += limits.option(word, word_at(words, at))
        else:
            targets.append(word)
    if name in run_options.WITHOUT_NUMBER and not any(AT_MOST in mark for mark in limits.marks):
        limits.apply("X", "", run_options.WITHOUT_NUMBER[name])
    others = [OTHERWISE + item for item in (*limits.items, *limits.variants)]
    return name, targets, limits.marks + others


def look_at(words: list[str], inner: InnerCommand, stages: list, deciding: int, cwd: str) -> Action | None:
    """Return the action of a command that looks at the state of something; None where it is no look that is known."""
    if deciding or stages[0].assignments or is_hidden(stages):
        return None
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
