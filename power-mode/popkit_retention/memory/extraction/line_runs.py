"""Reads from a command line the runs that are worth knowing, as they are started from the top of the repository. Pure.

The engine's readers of command lines classify each line: looking something up, acknowledging or preparing teaches nothing. A family is
identified by its run (tool, task or script, folder, packages), otherwise by the program with its first word. A run that was limited to one
test or file is read without the limit.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from popkit_retention.core.io import repository
from popkit_retention.core.policy.commandline import programs
from popkit_retention.core.policy.commandline import runs as programs_run
from popkit_retention.core.policy.commandline.runs import run_of
from popkit_retention.core.policy.commandline.shell import parse
from popkit_retention.core.policy.commandline.wrappers import unwrap
from popkit_retention.core.policy.masking import MASK, mask
from popkit_retention.core.policy.parts import MARKS, OTHERWISE, PACKAGE, normal_path
from popkit_retention.core.state.memory_records import FORMAT, LINT, RUN, TEST

from .tasks import PURPOSES, purpose_of, task_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.commandline.wrappers import InnerCommand

LONGEST = 120  # characters of a command
# Programs that look at the machine or the network, that stop something, or that everybody knows.
_USELESS = frozenset(
    "curl wget kill pkill killall ps lsof jq date which whereis type du df uname whoami hostname env printenv id open xdg-open wc diff cmp"
    " sort uniq cut tr xargs tee stat file md5sum sha256sum nc ping dig ssh scp base64 seq man clear history time gh glab claude sqlite3"
    " defaults pgrep netstat ss top launchctl osascript screencapture tar zip unzip basename dirname realpath readlink column comm strings"
    " xxd od hexdump rev paste fold expr bc sw_vers security softwareupdate mktemp nohup command".split()
)
# Words behind a program with which it only reports something.
_LOOKS = frozenset(
    "--version -V --help -h version help list ls status show get info query describe inspect view logs log env search".split()
)
_PROGRAM = re.compile(r"(?:\./)?[A-Za-z@][\w.@+/-]{1,60}\Z")
_INLINE = ("-c", "-e", "-p", "--eval", "--print", "-")
_FORMATS = re.compile(r"(?<![-\w.])(?:format|fmt|prettier|gofmt|gofumpt|black|isort|rustfmt)\b|--write\b|--fix\b|[:-]fix\b")
# Commands that run a program of the project's own, by their first words.
_RUNS = re.compile(
    r"(?:cd \S+ && )?(?:(?:npm|pnpm|yarn|bun)(?: (?:--filter|-F|-w|--workspace)[ =]\S+)?(?: run)? (?:dev|start|serve|preview)\b"
    r"|(?:go|cargo|dotnet|swift) run\b|(?:uv run |poetry run )?(?:python3?|node|deno run|bun|tsx|npx tsx|ruby|php) (?:-m )?[\w./-]+"
    r"|(?:bash |sh )?\.{0,2}/?(?:[\w.-]+/)*[\w.-]+\.sh\b|(?:bash |sh )?\./[\w./-]+|(?:make|just|task)(?: [\w:-]+)?$"
    r"|docker compose up\b|docker-compose up\b)"
)
_INSTALLS = re.compile(r"\b(?:add|install|i|ci|update|upgrade|remove|uninstall)\b")
# A program in the user's home, which a shell finds unquoted alone.
_HOME = re.compile(r"^'(~/[\w./-]+)'")
# Below the top: checkouts of their own, which are gone with their branch.
_WORKTREE = re.compile(r"(?:\.claude/worktrees|\.?worktrees)/[^/]+/?")
_SCOPE = re.compile(r"@[^/\s]+/(?=[^/\s]+\Z)")
# A temporary path, which the next session will not find.
_SCRATCH = re.compile(r"(?:^|[\s/.])(?:tmp|temp|scratch|scratchpad|debug|repro)[\w.-]*(?:/|\.\w+\b|$)")


@dataclass(frozen=True)
class Run:
    """A command of a line: its `text` as it is run from the top of the repository, without limits to a test or a file, its family, and its
    `purpose` (one of PURPOSES, "" if it is not worth remembering). `is_whole`: whether it was run exactly as the text says. `folder`:
    relative to the top, "" for the top itself."""

    text: str
    family: str
    purpose: str
    is_whole: bool
    folder: str

    @property
    def checks(self) -> bool:
        """Return whether the command only checks something, so that it cannot be a fix."""
        return self.purpose in (TEST, LINT)


def runs_of(line: str, cwd: str, root: str) -> tuple[list[Run], bool]:
    """Return the commands of a line that are worth knowing, and whether its exit code says that they all succeeded."""
    folder = normal_path(cwd, "")
    runs: list[Run] = []
    commands = parse(line)
    for command in commands:
        if command.stage or not command.words:
            continue
        inner = unwrap(command.words, folder)
        kind = programs.KINDS.get(inner.program)
        folder = moved(command.words, inner.program, folder)
        run = _run(command.words, command.assignments, inner, None if "/" in inner.words[0] else kind, folder, root)
        into_file = any(">" in operator and operator != "2>&" and target != "/dev/null" for operator, target in command.redirects)
        if run and not into_file:
            runs.append(run)
    piped = any(command.stage for command in commands)
    return runs, not (piped or ";" in line or "||" in line or "\n" in line.strip())


def moved(words: list[str], program: str, folder: str) -> str:
    """Return the folder that a shell is in after running a command in a folder."""
    if programs.KINDS.get(program) != "move":
        return folder
    target = next((word for word in words[1:] if word[:1] != "-"), "~")
    # A call may be written down after it has run: its folder is then the one that it went to.
    return folder if folder.endswith("/" + target) else normal_path(target, folder)


def _run(words: list[str], assignments: list[str], inner: InnerCommand, kind: str | None, folder: str, root: str) -> Run | None:
    program, inside = inner.program, repository.within(folder, root)
    start = len(words) - len(inner.words)
    task = task_of(words, start)
    if inside is None or (kind and not task) or program in _USELESS or (program in programs.SHELLS and words[1:2] == ["-c"]):
        return None
    inside = _WORKTREE.sub("", inside)
    known, whole, is_limited = _without_limits(words, assignments, folder)
    if task and known and (program in programs.TASKS or task.end == start + 1):
        task = None  # the engine reads its tasks, or the wrapped tool is one that it knows
    runs_program = task and purpose_of(task.name) == RUN and not known
    if task and not runs_program:
        whole = [*words[: task.end], *[word for word in words[task.end :] if word == "::" or word[:2] == "//"]]
    top = root.rstrip("/") + "/"
    plain = [word.replace(top, "") if top in word else word for word in whole]
    text = _HOME.sub(r"\1", shlex.join(plain))
    text = " ".join([*assignments, text]) if assignments else text
    if inside:
        text = f"cd {shlex.quote(inside)} && {text}"
    if len(text) > LONGEST or not text.isprintable() or any(mark in text for mark in "$`<"):
        return None
    is_inline = any(word in _INLINE for word in [*words[1:3], *inner.words[1:3]])
    if (is_inline and not (known or task)) or any(map(_is_private, plain[1:] if known else plain)) or MASK in mask(text):
        return None
    is_whole = len(whole) == len(words)
    formats = _FORMATS.search(text) and ("check" not in text or "--write" in text)
    if task:
        purpose = purpose_of(task.name)
        purpose = PURPOSES.get(known.family, RUN) if known and known.family == "test" and purpose == RUN else purpose
        if runs_program and (_SCRATCH.search(text) or _INSTALLS.search(text) or not _LOOKS.isdisjoint(words[task.end :])):
            return None
        return Run(text, f"{task.runner}:{task.name} {inside}".strip(), purpose, is_whole, inside)
    if known:
        identity, _, _ = known.part[0][len("run:") :].rpartition("@")
        purpose = FORMAT if formats and program not in programs.ONLY_WITH else PURPOSES.get(known.family, RUN)
        packages = [_SCOPE.sub("", package) for package in _packages(known)]  # a package is called by its name with its scope or without
        return Run(text, " ".join([identity, inside, *packages]).strip(), "" if is_limited else purpose, is_whole, inside)
    first = next((word for word in plain[1:] if word[:1] != "-"), "")
    if len(plain) < 2 and "/" not in plain[0]:
        return None
    if not _PROGRAM.match(plain[0]) or not _LOOKS.isdisjoint(plain[1:3]):
        return None
    runs = _RUNS.match(text) and not (_SCRATCH.search(text) or _INSTALLS.search(text))
    purpose = FORMAT if formats and "." not in plain[-1].strip("./") else RUN if runs else ""
    return Run(text, f"{plain[0]} {first} {inside}".strip(), purpose, is_whole, inside)


def _is_private(word: str) -> bool:
    """Return whether a word is a path that another machine or checkout may not have."""
    return (word.startswith(("/", "~", "../../")) and not word.startswith("//")) or word[1:3] == ":/"


def _without_limits(words: list[str], assignments: list[str], folder: str) -> tuple[programs_run.Run | None, list[str], bool]:
    """Return the run that words start, None for none; the words without those that limit it to a test or a file, where it is otherwise the
    same run; and whether it is still limited."""

    def run(some: list[str]) -> programs_run.Run | None:
        inner = unwrap(some, folder)
        return run_of(inner.program, inner.words, inner.cwd, (*inner.outer, *assignments))

    known, program = run(words), unwrap(words, folder).program
    if known is None or not _limits(known):
        return known, words, False
    if known.family not in ("test", "build") and program != "go":  # whose tools mostly need an argument
        return known, words, all("." in item.rpartition("/")[2] for item in _limits(known))
    whole = words
    for place in range(len(words) - 1, 0, -1):
        if OTHERWISE + words[place - 1] in known.part[1] and words[place][:1] != "-":
            continue  # the value of an option that is not known
        takes_value = whole[place][:1] == "-" and whole[place + 1 : place + 2] and whole[place + 1][:1] != "-"
        if takes_value and OTHERWISE + whole[place] in known.part[1]:
            continue
        for width in (2, 1) if takes_value else (1, 2):
            fewer = whole[:place] + whole[place + width :]
            if "=" in whole[place] and whole[place][:1] != "-":
                continue  # a variable makes it another run
            less = run(fewer)
            is_same = less and less.part[0] == known.part[0] and _packages(less) == _packages(known)
            if less and is_same and len(_limits(less)) < len(_limits(known)) and place + width <= len(whole):
                known, whole = less, fewer
                break
    if program == "go" and _limits(known):
        rest = [word for at, word in enumerate(whole) if word[:2] != "./" and word not in (".", "-o") and whole[at - 1] != "-o"]
        return known, [*rest, "./..."], False
    if program == "bazel" and whole != words:
        return known, [*whole, "//..."], False
    while whole[-1] == "--":
        whole = whole[:-1]
    values = {words[at] for at in range(1, len(words)) if OTHERWISE + words[at - 1] in known.part[1]}
    return known, whole, any(item not in values for item in _limits(known))


def _packages(run: programs_run.Run) -> list[str]:
    return [item for item in run.part[1] if item.startswith(PACKAGE)]


def _limits(run: programs_run.Run) -> list[str]:
    return [item for item in run.part[1] if not item.startswith((PACKAGE, *MARKS))]
