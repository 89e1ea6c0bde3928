"""Predict the output of the commands of a line, one after the other, as far as it is known before they run. Pure; no hook loads it."""

from __future__ import annotations

from .. import kinds
from ..parts import is_number
from . import bash
from .command import OR, is_hidden
from .programs import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple

    from .action import Action
    from .command import Command

    class Step(NamedTuple):
        """The output of a command: of a `kind` · `most` lines, None where nothing bounds them · `text` that it says, None where that is not
        known, or it may not be said · `numbered`: every line of it begins with a number, as `cat -n` writes it."""

        kind: str
        most: int | None
        text: str | None = None
        numbered: bool = False

else:
    from collections import namedtuple

    Step = namedtuple("Step", "kind most text numbered", defaults=(None, False))

# Lines that a command may print beside its output: messages about errors, the head over each of several files.
MOST_EXTRA_LINES = 5
# Nobody types more commands in a line, and each is held against all.
_MOST_STEPS = 100
# Commands that print nothing, and those that print a line.
_SILENT = frozenset("export unset true false : sleep test [ [[ local readonly shopt umask exit return break continue shift".split())
_ONE_LINE = frozenset("cd pushd popd pwd date whoami hostname uname arch nproc".split())
_TELLING = _ONE_LINE - {"cd", "pushd", "popd"}
_SAY = frozenset(("echo", "printf"))
# Of what several commands print together: the kind in which most can be lost.
_CAREFUL = (kinds.READ, kinds.RUN, kinds.OTHER, kinds.SEARCH, kinds.ACK)
# These leave out lines of what they are fed, and change none.
_CUTTING = frozenset(("head", "tail", "cat"))
_PICKING = frozenset(("head", "tail", "grep"))
_ESCAPED = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "a": "", "r": "\r", "e": "\x1b"}


def steps(line: str) -> list[Step]:
    """Return what each command of a line prints, in order, without those that print nothing; as one step where the order is not known."""
    done = bash.pipelines(line)
    found = [(stages[0].is_branch, step) for stages, actions in done if (step := _step(stages, actions)) is not None]
    if len(found) > _MOST_STEPS or any(_is_out_of_order(command) for stages, _ in done for command in stages):
        return _together([step for _, step in found])
    ordered: list[Step] = []
    branch: list[Step] = []  # what stands in a loop or a branch: in any order, or not at all
    for is_branch, step in found:
        if is_branch:
            branch.append(step)
        else:
            ordered += [*_together(branch), step]
            branch = []
    return [*ordered, *_together(branch)]


def careful(some: Iterable[Step]) -> str:
    """Return the kind of what several steps print, where which of them has printed a line is not known."""
    held = {step.kind for step in some}
    return next((kind for kind in _CAREFUL if kind in held), kinds.OTHER)


def _together(some: list[Step]) -> list[Step]:
    return [Step(careful(some), None)] if some else []


def _is_out_of_order(command: Command) -> bool:
    """Return whether what a line prints is not what its commands print, one after the other."""
    if command.is_background or (command.group and command.is_branch):  # the latter in a function, which runs elsewhere
        return True
    if command.words[:1] == ["set"] and any(word[:1] == "-" and "x" in word for word in command.words[1:]):
        return True
    return any(stage.words and stage.words[0] not in _CUTTING for outlet in command.outlets for stage in outlet)


def _step(stages: list[Command], actions: list[Action]) -> Step | None:
    first = stages[0]
    word = first.words[0] if first.words else ""
    if not word or (word in _SILENT and len(stages) == 1):
        return None
    if is_hidden(stages):
        return Step(kinds.ACK, None)
    if word in _SAY and len(stages) == 1:
        text = _said(first.words)
        most = MOST_EXTRA_LINES + text.count("\n") if text is not None else None
        return Step(kinds.OTHER if text is None else kinds.ACK, most, text if first.joined != OR else None)
    if actions and all(action.kind == kinds.READ for action in actions):
        is_alone = KINDS.get(word.rpartition("/")[2]) in ("read", "git")  # and no `xargs`, `find`, `bash -c` runs it, perhaps many times
        return Step(kinds.READ, _length(actions) if is_alone else None, None, _is_numbered(stages))
    if word in _ONE_LINE and len(stages) == 1:
        return Step(kinds.OTHER if actions or word in _TELLING else kinds.ACK, 1 + MOST_EXTRA_LINES)
    shown = [Step(kinds.READ if action.kind == kinds.RESTORED else action.kind, None) for action in actions] or [Step(kinds.OTHER, None)]
    return Step(careful(shown), _picked(stages))


def _is_numbered(stages: list[Command]) -> bool:
    """Return whether a pipeline numbers all lines of files, and then but leaves some out."""
    for at, stage in enumerate(stages):
        if _numbers(stage.words):
            return all(behind.words and behind.words[0] in _PICKING for behind in stages[at + 1 :])
    return False


def _numbers(words: list[str]) -> bool:
    options = [word for word in words[1:] if word[:1] == "-"]
    if words[:1] == ["cat"]:
        return options in (["-n"], ["--number"])
    return words[:1] == ["nl"] and (options == ["-ba"] or words[1:3] == ["-b", "a"])


def _length(actions: list[Action]) -> int | None:
    """Return the lines that reads of files show at most."""
    lengths = []
    for action in actions:
        begin, end = action.part[1]
        if not begin or not end or "[" in action.part[0]:  # where it is no route, it stands for several files
            return None
        lengths.append(end - begin + 1 + MOST_EXTRA_LINES)
    return sum(lengths)


def _picked(stages: list[Command]) -> int | None:
    """Return the lines that `| head -5` leaves at most, where what the stages before it say of errors goes there, too, or nowhere."""
    *before, last = stages
    words = last.words
    if not before or words[:1] not in (["head"], ["tail"]):
        return None
    if not all(any(operator[0] in "2&" for operator, _ in stage.redirects) for stage in before):
        return None
    count = words[-1].lstrip("-n") if len(words) in (2, 3) else "10" if len(words) == 1 else ""
    return int(count) + MOST_EXTRA_LINES if is_number(count) else None


def _said(words: list[str]) -> str | None:
    """Return the text that `echo` or `printf` prints, None where it cannot be told or does not end its line."""
    if words[0] == "echo":
        escaped = words[1:2] == ["-e"]
        said = " ".join(words[2 if escaped else 1 :]) + "\n"
        if words[1:2] and words[1][:1] == "-" and words[1].strip("-").isalpha() and not escaped:
            return None
    else:
        escaped = True
        format, *values = words[1:] or [""]
        if values[:-1] or format.count("%") != len(values) or format.count("%s") != len(values) or format[:1] == "-":
            return None
        said = format.replace("%s", "".join(values).replace("\\", "\\\\"))
    if "$" in said or "`" in said:
        return None
    text = _unescaped(said) if escaped else said
    return text if text is not None and text.endswith("\n") else None


def _unescaped(text: str) -> str | None:
    first, *pieces = text.replace("\\\\", "\\\0").split("\\")
    for at, piece in enumerate(pieces):
        if piece[:1] == "\0":
            pieces[at] = "\\" + piece[1:]
        elif piece[:1] in _ESCAPED:
            pieces[at] = _ESCAPED[piece[0]] + piece[1:]
        else:
            return None
    return first + "".join(pieces)
