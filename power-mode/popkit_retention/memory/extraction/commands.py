"""Finds the commands that work, by purpose, or by the error that they fixed. Pure.

The engine's readers of command lines classify each line: looking something up, acknowledging or preparing teaches nothing. A family is
identified by its run (tool or script, folder, packages), otherwise by the program with its first word. A run that was limited to one test
or file teaches the command without the limit.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass

from popkit_retention.core.io import repository
from popkit_retention.core.policy.calls import verdict_of
from popkit_retention.core.policy.commandline import programs
from popkit_retention.core.policy.commandline import runs as programs_run
from popkit_retention.core.policy.commandline.runs import run_of
from popkit_retention.core.policy.commandline.shell import parse
from popkit_retention.core.policy.commandline.wrappers import unwrap
from popkit_retention.core.policy.masking import MASK, mask
from popkit_retention.core.policy.parts import MARKS, PACKAGE, normal_path
from popkit_retention.core.policy.tools import EDIT, SHELLS, WRITE
from popkit_retention.core.state.memory_records import BUILD, FORMAT, LINT, RUN, TEST
from popkit_retention.core.state.memory_text import folder_of

from ..items import COMMAND, ERROR, Observed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.calls import Call

FIX_CALLS = 6
LONGEST = 120  # characters of a command
_LONGEST_LINE = 4_000
_ERROR_CHARS = 140
# The host's own messages in place of a program's output: about the protocol, the user or the machine.
_HOST_SAYS = (
    "<tool_use_error>", "The user doesn't want", "Permission to use", "Command timed out", "[Request interrupted", "This command requires",
    "Claude requested permissions", "Request was aborted", "Tool execution", "Cancelled:", "Sibling tool call", "PreToolUse:",
)  # fmt: skip
_SET_BACK = "Shell cwd was reset"
# The exit codes of killed processes, and of missing commands.
_KILLED = (124, 130, 137, 143)
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
_FAILS = re.compile(r"\bFAIL|\bdoes not contain\b|[Cc]annot find\b|\bERR|\b[Ee]rror|panicked|[1-9]\d* failed|[Nn]ot found|✕|✗|✖|×")
_FINE = re.compile(r"\b(?:0|no) (?:errors?|failed|failures)", re.IGNORECASE)
# An output may be anybody's text: a line that addresses the reader instead of reporting a failure is not passed on.
_SPEAKS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.*\b(?:instruction|previous|prompt|rule)|system prompt|\byou (?:must|should)\b", re.IGNORECASE
)
_VARYING = re.compile(r":\d+(?::\d+)*|\b0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\b\d+(?:\.\d+)?\s?m?s\b|\(\d+,\d+\)", re.IGNORECASE)


_FORMATS = re.compile(r"(?<![-\w.])(?:format|fmt|prettier|gofmt|gofumpt|black|rustfmt)\b|--write\b|--fix\b|:fix\b")
_PURPOSES = {"test": TEST, "lint": LINT, "types": LINT, "build": BUILD}
# Commands that run a program of the project's own, by their first words.
_RUNS = re.compile(
    r"(?:cd \S+ && )?(?:(?:npm|pnpm|yarn|bun)(?: (?:--filter|-F|-w|--workspace)[ =]\S+)?(?: run)? (?:dev|start|serve|preview)\b"
    r"|(?:go|cargo|dotnet|swift) run\b|(?:uv run |poetry run )?(?:python3?|node|deno run|bun|tsx|npx tsx|ruby|php) (?:-m )?[\w./-]+"
    r"|(?:bash |sh )?\.{0,2}/?(?:[\w.-]+/)*[\w.-]+\.sh\b|(?:bash |sh )?\./[\w./-]+|(?:make|just|task)(?: [\w:-]+)?$"
    r"|docker compose up\b|docker-compose up\b)"
)
_INSTALLS = re.compile(r"\b(?:add|install|i|ci|update|upgrade|remove|uninstall)\b")
_SCOPE = re.compile(r"@[^/\s]+/(?=[^/\s]+\Z)")
# A temporary path, which the next session will not find.
_SCRATCH = re.compile(r"(?:^|[\s/.])(?:tmp|temp|scratch|scratchpad|debug|repro)[\w.-]*(?:/|\.\w+\b|$)")
# A shell's or script runner's messages for a missing command.
_NO_COMMAND = re.compile(
    r"command not found|[Mm]issing script|not found in PATH|No such file or directory|Cannot find module '/|No rule to make target"
    r"|[Uu]nknown (?:command|script|task)|Script not found|is not recognized|can't open file|No module named pytest"
)


@dataclass(frozen=True)
class Run:
    """One command of a line: its `text` as it is run from the top of the repository, without limits to a test or a file, its family, and
    its `purpose` (one of PURPOSES, "" if it is not worth remembering). `is_whole`: whether it was run exactly as the text says. `folder`:
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


class Commands:
    """The commands of a session in a checkout at `root`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.worked: dict[tuple[str, str], list[tuple[Run, float]]] = {}  # (purpose, family) -> its runs
        self.failed: dict[str, tuple[int, str, str]] = {}  # family -> (number of the call, its command, its message)
        self.between: list[tuple[int, str]] = []  # actions, by number of the call
        self.errors: dict[tuple[str, str], Observed] = {}
        self.missing: set[str] = set()
        self.calls = 0
        self.maybe_in = ""  # the folder, from the top, that the shell may be in although the host says another
        self.doubtful: set[str] = set()  # commands that were run meanwhile

    def observe(self, call: Call, text: str, cwd: str) -> None:
        """Observe a completed call, made in a folder."""
        self.calls += 1
        if call.operation in (EDIT, WRITE) and not call.outcome.error:
            inside = repository.within(call.path, self.root)
            if inside and "`" not in inside:
                self.between.append((self.calls, "edit " + inside))
        line = call.command
        if call.operation not in SHELLS or len(line) > _LONGEST_LINE or call.tool_input.get("run_in_background"):
            return
        runs, is_conclusive = runs_of(line, cwd or self.root, self.root)
        if self.maybe_in:
            self.doubtful.update(run.text for run in runs if not run.folder)
        self._look_where(call, text, cwd or self.root)
        if not runs:
            return
        if call.outcome.error:
            self._fail(runs[-1] if len(runs) == 1 else None, call, text)
        elif is_conclusive or not _fails(call):
            for run in runs:
                self._work(run, call.at)

    def _look_where(self, call: Call, text: str, cwd: str) -> None:
        """Observe whether the host follows the shell: it reports where a line has moved the shell, or that it has set it back. A host that
        reports neither may not have noticed, or may start a shell for each line."""
        before, after = normal_path(cwd, ""), normal_path(call.cwd or cwd, "")
        moved = before
        for command in parse(call.command):
            if command.words and not command.stage and not command.group:
                moved = _moved(command.words, unwrap(command.words, moved).program, moved)
        inside = repository.within(moved, self.root)
        if after != before or _SET_BACK in text:
            self.maybe_in = ""
        elif not call.outcome.error and inside is not None and inside != repository.within(before, self.root):
            self.maybe_in = inside

    def _fail(self, run: Run | None, call: Call, text: str) -> None:
        if run is None or text.startswith(_HOST_SAYS) or call.outcome.exit_code in _KILLED:
            return
        if call.outcome.exit_code in (126, 127) or _NO_COMMAND.search(call.outcome.tail):
            self.missing.add(run.text)
            self.worked.pop((run.purpose, run.family), None)
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
        self.missing.discard(run.text)
        if run.purpose:
            self.worked.setdefault((run.purpose, run.family), []).append((run, at))
        if not run.checks:
            self.between.append((self.calls, "run " + run.text))

    def observed(self) -> list[Observed]:
        """Return one command of each family that has a purpose, and the errors that were fixed."""
        observations = []
        moved = {folder_of(run.text)[1] for runs in self.worked.values() for run, _ in runs if run.folder}
        for (purpose, family), runs in self.worked.items():
            if all(run.text in self.doubtful & moved for run, _ in runs):
                continue  # it was run in the folder where it is known to work
            counts = Counter(run.text for run, _ in runs)
            whole = {run.text for run, _ in runs if run.is_whole}
            run, at = min(runs, key=lambda timed: (timed[0].text not in whole, -counts[timed[0].text], len(timed[0].text), timed[0].text))
            at = max(when for other, when in runs if other.text == run.text)
            details: dict[str, object] = {"family": f"{purpose} {family}", "purpose": purpose}
            observations.append(Observed(COMMAND, run.text, len(runs), at, {**details, "folder": run.folder} if run.folder else details))
        return observations + list(self.errors.values())


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
        folder = _moved(command.words, inner.program, folder)
        run = _run(command.words, command.assignments, inner.program, kind, folder, root)
        into_file = any(">" in operator and operator != "2>&" and target != "/dev/null" for operator, target in command.redirects)
        if run and not into_file:
            runs.append(run)
    piped = any(command.stage for command in commands)
    return runs, not (piped or ";" in line or "||" in line or "\n" in line.strip())


def _moved(words: list[str], program: str, folder: str) -> str:
    """Return the folder that a shell is in after running a command in a folder."""
    if programs.KINDS.get(program) != "move":
        return folder
    target = next((word for word in words[1:] if word[:1] != "-"), "~")
    # A call may be written down after it has run: its folder is then the one that it went to.
    return folder if folder.endswith("/" + target) else normal_path(target, folder)


def _run(words: list[str], assignments: list[str], program: str, kind: str | None, folder: str, root: str) -> Run | None:
    inside = repository.within(folder, root)
    if inside is None or kind or program in _USELESS or (program in programs.SHELLS and len(words) > 1 and words[1] == "-c"):
        return None
    known, whole, is_limited = _without_limits(words, assignments, folder)
    top = root.rstrip("/") + "/"
    plain = [word.replace(top, "") if top in word else word for word in whole]
    text = " ".join([*assignments, shlex.join(plain)]) if assignments else shlex.join(plain)
    if inside:
        text = f"cd {shlex.quote(inside)} && {text}"
    if len(text) > LONGEST or not text.isprintable() or any(mark in text for mark in "$`<") or any(word in _INLINE for word in words[1:3]):
        return None
    if any(word.startswith(("/", "~", "../../")) or word[1:3] == ":/" for word in plain) or MASK in mask(text):
        return None
    is_whole = len(whole) == len(words)
    formats = _FORMATS.search(text) and "check" not in text
    if known:
        identity, _, _ = known.part[0][len("run:") :].rpartition("@")
        purpose = FORMAT if formats else _PURPOSES.get(known.family, RUN)
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


def _without_limits(words: list[str], assignments: list[str], folder: str) -> tuple[programs_run.Run | None, list[str], bool]:
    """Return the run that words start, None for none; the words without those that limit it to a test or a file, where it is otherwise the
    same run; and whether it is still limited."""

    def run(some: list[str]) -> programs_run.Run | None:
        inner = unwrap(some, folder)
        return run_of(inner.program, inner.words, inner.cwd, (*inner.outer, *assignments))

    known = run(words)
    if known is None or not _limits(known):
        return known, words, False
    if known.family not in (TEST, BUILD):  # whose tools mostly need an argument
        return known, words, all("." in item.rpartition("/")[2] for item in _limits(known))
    whole = words
    for place in range(len(words) - 1, 0, -1):
        for width in (1, 2):
            fewer = whole[:place] + whole[place + width :]
            if "=" in whole[place] and whole[place][:1] != "-":
                continue  # a variable makes it another run
            less = run(fewer)
            is_same = less and less.part[0] == known.part[0] and _packages(less) == _packages(known)
            if less and is_same and len(_limits(less)) < len(_limits(known)) and place + width <= len(whole):
                known, whole = less, fewer
                break
    if words[0] == "go" and _limits(known):
        rest = [word for word in whole if word[:2] != "./"]
        return known, [*rest, "./..."], False
    while whole[-1] == "--":
        whole = whole[:-1]
    return known, whole, bool(_limits(known))


def _packages(run: programs_run.Run) -> list[str]:
    return [item for item in run.part[1] if item.startswith(PACKAGE)]


def _limits(run: programs_run.Run) -> list[str]:
    return [item for item in run.part[1] if not item.startswith((PACKAGE, *MARKS))]


def _fails(call: Call) -> bool:
    """Return whether the end of an output shows a failure, where the exit code is another command's."""
    verdict = _FINE.sub("", verdict_of(call.outcome.tail, None))
    return bool(_FAILS.search(verdict))


def failure_line(tail: str, root: str) -> str:
    """Return the line of a failure's output that says what went wrong, without anything that varies from run to run; "" for none."""
    lines = [" ".join(line.split()) for line in tail.replace(root.rstrip("/") + "/", "").splitlines()]
    lines = [line for line in lines if line[:2] != "$ " and 8 <= len(line) <= 400 and line.isprintable()]
    failures = [line for line in lines if _FAILS.search(_FINE.sub("", line)) and not _SPEAKS.search(line)]
    message = _VARYING.sub("", mask(failures[0])).strip(" .:") if failures else ""
    return message if len(message) <= _ERROR_CHARS else message[: _ERROR_CHARS - 1] + "…"
