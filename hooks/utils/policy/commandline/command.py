"""A simple command on its line, in tokens. A number between two NULs in a token is that of a held text."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What joins a pipeline to the one before it; in a bracket behind `&&` INSIDE, where nothing does.
AND, OR, INSIDE = "\x00a", "\x00o", "\x00i"
_NOWHERE = ("/dev/null", "NUL", "nul")
DISCARDING = (*_NOWHERE, "/dev/stdout", "/dev/stderr", "/dev/tty")
_OTHER_STREAMS = "23456789"
KEYWORDS = frozenset("if then else elif fi while until do done esac { } ! coproc for select case function [[".split())


class Command:
    """A simple command: `stage` counts from 0 along its pipeline, `group` names the subshells it runs in, outermost first. `joined`: AND,
    OR, INSIDE before its pipeline · `branches`: how many of those around it may not run · `is_background`: nobody waits for it · `outlets`:
    of each bracket around it, innermost first, where its output goes: the redirections behind the bracket, a command without words, and the
    stages of the pipe."""

    __slots__ = ("assignments", "branches", "group", "is_background", "joined", "outlets", "redirects", "stage", "words")

    def __init__(
        self, words: list[str], assignments: list[str], redirects: list[tuple[str, str]], stage: int, group: tuple[int, ...],
        joined: str, branches: int = 0,
    ) -> None:  # fmt: skip
        self.joined = joined
        self.branches = branches
        self.is_background = False
        self.outlets: list[list[Command]] = []
        self.words = words
        self.assignments = assignments
        self.redirects = redirects
        self.stage = stage
        self.group = group

    @property
    def is_branch(self) -> bool:
        """Return whether it may not run."""
        return self.branches > 0

    def changed(self, change: Callable[[str], str]) -> Command:
        """Return the command of a loop as it runs once, its texts changed."""
        words, assignments = list(map(change, self.words)), list(map(change, self.assignments))
        redirects = [(operator, change(target)) for operator, target in self.redirects]
        command = Command(words, assignments, redirects, self.stage, self.group, self.joined, self.branches - 1)
        command.is_background = self.is_background
        command.outlets = list(self.outlets)
        return command


def parted(token: str) -> list[str]:
    """Return what stands between the `&` of a token that are part of no redirection."""
    # No number of a held text begins with a letter.
    pieces = token.replace(">&", ">\x00a").replace("<&", "<\x00a").replace("&>", ">\x00b").split("&")
    return [piece.replace(">\x00b", "&>").replace(">\x00a", ">&").replace("<\x00a", "<&") for piece in pieces]


def read_redirect(token: str, redirects: list[tuple[str, str]], held: list[str]) -> tuple[str, str]:
    """Read a token with `<` or `>` in it: the word before them, and an operator whose target is the next token."""
    word = operator = ""
    for piece in token.replace(">", " >").replace("<", " <").split():
        if piece[0] not in "<>":
            word = "" if piece.isdigit() else piece.rstrip("&")
            operator = piece[len(word) :]
            continue
        target = piece.lstrip("<>&")
        operator += piece[: len(piece) - len(target)]
        if target:
            redirects.append((operator, value_of(target, held)))
            operator = ""
    return word, operator


def is_assignment(token: str) -> bool:
    name, equals, _ = token.partition("=")
    return equals == "=" and name.partition("[")[0].rstrip("+").isidentifier()


def value_of(token: str, held: list[str]) -> str:
    """Return the token with what its numbers hold."""
    if "\x00" not in token:
        return token
    pieces = token.split("\x00")
    for at in range(1, len(pieces), 2):
        pieces[at] = held[int(pieces[at])]
    return "".join(pieces)


def word_at(words: list[str], at: int) -> str:
    """Return the word at a place; "" behind the last."""
    return words[at] if at < len(words) else ""


def is_hidden(stages: list) -> bool:
    """Return whether a pipeline's output goes to a file, or nowhere."""
    return any(
        ">" in operator and operator[0] not in _OTHER_STREAMS and (target in _NOWHERE or _is_file(operator, target))
        for stage in stages
        for operator, target in stage.redirects
    )


def written(command: Command) -> list[str]:
    """Return the files that take a command's output."""
    return [
        target
        for operator, target in command.redirects
        if ">" in operator and operator[0] not in _OTHER_STREAMS and _is_file(operator, target)
    ]


def _is_file(operator: str, target: str) -> bool:
    return target not in DISCARDING and target[:2] != ">(" and not (operator[-1] == "&" and (target.isdigit() or target == "-"))
