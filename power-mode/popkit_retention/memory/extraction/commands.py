"""Commands that worked, and errors with what fixed them. Pure.

The engine's readers of command lines say what a line does: what looks something up, acknowledges or prepares teaches nothing. What
identifies a family is the run (its tool or script, its folder, its packages), of anything else the program with its first word.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass

from hooks.utils.io import repository
from hooks.utils.policy.calls import verdict_of
from hooks.utils.policy.commandline import programs
from hooks.utils.policy.commandline.runs import run_of
from hooks.utils.policy.commandline.shell import parse
from hooks.utils.policy.commandline.wrappers import unwrap
from hooks.utils.policy.masking import MASK, mask
from hooks.utils.policy.parts import PACKAGE, normal_path
from hooks.utils.policy.tools import EDIT, SHELLS, WRITE

from ..items import COMMAND, ERROR, Observed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.policy.calls import Call

FIX_CALLS = 6
LONGEST = 120  # characters of a command
_LONGEST_LINE = 4_000
_ERROR_CHARS = 140
# What the host says in place of a program: it tells of the protocol, of the user or of the machine's mood.
_HOST_SAYS = (
    "<tool_use_error>", "The user doesn't want", "Permission to use", "Command timed out", "[Request interrupted", "This command requires",
    "Claude requested permissions", "Request was aborted", "Tool execution", "Cancelled:", "Sibling tool call", "PreToolUse:",
)  # fmt: skip
# The codes of what was killed, and of what is not there.
_KILLED = (124, 130, 137, 143)
# They look at the machine or the network, stop something, or are known to everybody.
_USELESS = frozenset(
    "curl wget kill pkill killall ps lsof jq date which whereis type du df uname whoami hostname env printenv id open xdg-open wc diff cmp"
    " sort uniq cut tr xargs tee stat file md5sum sha256sum nc ping dig ssh scp base64 seq man clear history time gh glab claude sqlite3"
    " defaults pgrep netstat ss top launchctl osascript screencapture tar zip unzip basename dirname realpath readlink column comm strings"
    " xxd od hexdump rev paste fold expr bc sw_vers security softwareupdate mktemp nohup command".split()
)
# Words behind a program by which it only tells of something.
_LOOKS = frozenset(
    "--version -V --help -h version help list ls status show get info query describe inspect view logs log env search".split()
)
_PROGRAM = re.compile(r"(?:\./)?[A-Za-z@][\w.@+/-]{1,60}\Z")
_INLINE = ("-c", "-e", "-p", "--eval", "--print", "-")
_FAILS = re.compile(r"\bFAIL|\bERR|\b[Ee]rror|panicked|[1-9]\d* failed|[Nn]ot found|✕|✗|✖|×")
_FINE = re.compile(r"\b(?:0|no) (?:errors?|failed|failures)", re.IGNORECASE)
# An output may be anybody's text: what speaks to the reader instead of telling of a failure is not passed on.
_SPEAKS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.*\b(?:instruction|previous|prompt|rule)|system prompt|\byou (?:must|should)\b", re.IGNORECASE
)
_VARYING = re.compile(r":\d+(?::\d+)*|\b0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\b\d+(?:\.\d+)?\s?m?s\b|\(\d+,\d+\)", re.IGNORECASE)


@dataclass(frozen=True)
class Run:
    """One command of a line: its `text` as it is run from the top of the repository, its family, and whether it
    only `checks` something, so that it mends nothing."""

    text: str
    family: str
    checks: bool


class Commands:
    """What a session, in a checkout at `root`, teaches about commands."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.worked: dict[str, Counter[str]] = {}  # family -> its commands
        self.last: dict[str, float] = {}
        self.failed: dict[str, tuple[int, str, str]] = {}  # family -> (number of the call, its command, its message)
        self.between: list[tuple[int, str]] = []  # what was done, by number of the call
        self.errors: dict[tuple[str, str], Observed] = {}
        self.calls = 0

    def see(self, call: Call, text: str, cwd: str) -> None:
        """Take in a completed call, made in a folder."""
        self.calls += 1
        if call.operation in (EDIT, WRITE) and not call.outcome.error:
            inside = repository.within(call.path, self.root)
            if inside and "`" not in inside:
                self.between.append((self.calls, "edit " + inside))
        line = call.command
        if call.operation not in SHELLS or len(line) > _LONGEST_LINE or call.tool_input.get("run_in_background"):
            return
        runs, is_conclusive = runs_of(line, cwd or self.root, self.root)
        if not runs:
            return
        if call.outcome.error:
            self._fail(runs[-1] if len(runs) == 1 else None, call, text)
        elif is_conclusive or not _fails(call):
            for run in runs:
                self._work(run, call.at)

    def _fail(self, run: Run | None, call: Call, text: str) -> None:
        if run is None or text.startswith(_HOST_SAYS) or call.outcome.exit_code in _KILLED:
            return
        message = failure_line(call.outcome.tail, self.root)
        if message:
            self.failed[run.family] = (self.calls, run.text, message)

    def _work(self, run: Run, at: float) -> None:
        number, command, message = self.failed.pop(run.family, (0, "", ""))
        if number and self.calls - number <= FIX_CALLS:
            done = [did for when, did in self.between if when > number]
            fix = f"run {run.text}" if run.text != command else done[-1] if done else ""
            if fix:
                details: dict[str, object] = {"fix": fix, "family": run.family, "command": command}
                self.errors[run.family, message] = Observed(ERROR, f"{command}: {message}", 1, at, details)
        self.worked.setdefault(run.family, Counter())[run.text] += 1
        self.last[run.text] = at
        if not run.checks:
            self.between.append((self.calls, "run " + run.text))

    def observed(self) -> list[Observed]:
        """Return one command of each family, the one that worked most often, and the errors that were fixed."""
        made = []
        for family, texts in self.worked.items():
            text = min(texts, key=lambda text: (-texts[text], len(text), text))
            made.append(Observed(COMMAND, text, sum(texts.values()), self.last[text], {"family": family}))
        return made + list(self.errors.values())


def runs_of(line: str, cwd: str, root: str) -> tuple[list[Run], bool]:
    """Return the commands of a line that are worth knowing, and whether its exit code says that they all went well."""
    folder = normal_path(cwd, "")
    runs: list[Run] = []
    commands = parse(line)
    for command in commands:
        if command.stage or not command.words:
            continue
        inner = unwrap(command.words, folder)
        kind = programs.KINDS.get(inner.program)
        if kind == "move":
            target = next((word for word in command.words[1:] if word[:1] != "-"), "~")
            folder = normal_path(target, folder)
        run = _run(command.words, command.assignments, inner.program, kind, folder, root)
        into_file = any(">" in operator and operator != "2>&" and target != "/dev/null" for operator, target in command.redirects)
        if run and not into_file:
            runs.append(run)
    piped = any(command.stage for command in commands)
    return runs, not (piped or ";" in line or "||" in line or "\n" in line.strip())


def _run(words: list[str], assignments: list[str], program: str, kind: str | None, folder: str, root: str) -> Run | None:
    inside = repository.within(folder, root)
    if inside is None or kind or program in _USELESS or (program in programs.SHELLS and len(words) > 1 and words[1] == "-c"):
        return None
    top = root.rstrip("/") + "/"
    plain = [word.replace(top, "") if top in word else word for word in words]
    text = " ".join([*assignments, shlex.join(plain)]) if assignments else shlex.join(plain)
    if inside:
        text = f"cd {shlex.quote(inside)} && {text}"
    if len(text) > LONGEST or not text.isprintable() or any(mark in text for mark in "$`<") or any(word in _INLINE for word in words[1:3]):
        return None
    if any(word.startswith(("/", "~", "../../")) or word[1:3] == ":/" for word in plain) or MASK in mask(text):
        return None
    inner = unwrap(words, folder)
    run = run_of(inner.program, inner.words, inner.cwd, (*inner.outer, *assignments))
    if run:
        identity, _, _ = run.part[0][len("run:") :].rpartition("@")
        packages = [item for item in run.part[1] if item.startswith(PACKAGE)]
        checks = run.family in ("test", "lint", "types") and "fix" not in text and "--write" not in text
        return Run(text, " ".join([identity, inside, *packages]).strip(), checks)
    first = next((word for word in plain[1:] if word[:1] != "-"), "")
    if len(plain) < 2 or not _PROGRAM.match(plain[0]) or not _LOOKS.isdisjoint(plain[1:3]):
        return None
    return Run(text, f"{plain[0]} {first} {inside}".strip(), False)


def _fails(call: Call) -> bool:
    """Return whether the end of an output shows a failure, where the exit code is another command's."""
    verdict = _FINE.sub("", verdict_of(call.outcome.tail, None))
    return bool(_FAILS.search(verdict))


def failure_line(tail: str, root: str) -> str:
    """Return the line of a failure's output that says what went wrong, without anything that differs from time to time; "" for none."""
    lines = [" ".join(line.split()) for line in tail.replace(root.rstrip("/") + "/", "").splitlines()]
    lines = [line for line in lines if line[:2] != "$ " and 8 <= len(line) <= 400 and line.isprintable()]
    failures = [line for line in lines if _FAILS.search(_FINE.sub("", line)) and not _SPEAKS.search(line)]
    message = _VARYING.sub("", mask(failures[0])).strip(" .:") if failures else ""
    return message if len(message) <= _ERROR_CHARS else message[: _ERROR_CHARS - 1] + "…"
