"""Finds the commands that work, by purpose, or by the error that they fixed. Pure.

An error is observed as often as the same fix has ended it in the session, and an edit once: whoever writes code edits the same file over
and over. That a failing test was edited is no fix.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from popkit_retention.core.io import repository
from popkit_retention.core.policy.calls import verdict_of
from popkit_retention.core.policy.commandline.shell import parse
from popkit_retention.core.policy.commandline.wrappers import unwrap
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.policy.parts import normal_path
from popkit_retention.core.policy.tools import EDIT, SHELLS, WRITE
from popkit_retention.core.state.memory_records import TEST
from popkit_retention.core.state.memory_text import folder_of

from ..items import COMMAND, ERROR, TIMES
from ..lessons import Observation
from .line_runs import moved, runs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.calls import Call

    from .line_runs import Run

FIX_CALLS = 6
_LONGEST_LINE = 4_000
_ERROR_CHARS = 140
_EDITS_TEST = re.compile(r"edit (?:.*/)?(?:(?:tests?|specs?|__tests__|e2e)/|test_)|edit .*(?:[/_.-](?:tests?|spec)|[a-z]Tests?)\.\w+\Z")
# The host's own messages in place of a program's output: about the protocol, the user or the machine.
_HOST_SAYS = (
    "<tool_use_error>", "The user doesn't want", "Permission to use", "Command timed out", "[Request interrupted", "This command requires",
    "Claude requested permissions", "Request was aborted", "Tool execution", "Cancelled:", "Sibling tool call", "PreToolUse:",
)  # fmt: skip
_SET_BACK = "Shell cwd was reset"
# The exit codes of killed processes, and of missing commands.
_KILLED = (124, 130, 137, 143)
_FAILS = re.compile(r"\bFAIL|\bdoes not contain\b|[Cc]annot find\b|\bERR|\b[Ee]rror|panicked|[1-9]\d* failed|[Nn]ot found|✕|✗|✖|×")
_FINE = re.compile(r"\b(?:0|no) (?:errors?|failed|failures)", re.IGNORECASE)
# An output may be anybody's text: a line that addresses the reader instead of reporting a failure is not passed on.
_SPEAKS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.*\b(?:instruction|previous|prompt|rule)|system prompt|\byou (?:must|should)\b", re.IGNORECASE
)
_VARYING = re.compile(r":\d+(?::\d+)*|\b0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\b\d+(?:\.\d+)?\s?m?s\b|\(\d+,\d+\)", re.IGNORECASE)
# A shell's or script runner's messages for a missing command.
_NO_COMMAND = re.compile(
    r"command not found|[Mm]issing script|not found in PATH|^(?:\S*/)?(?:ba|z|da|fi|k)?sh: .*No such file or directory"
    r"|Cannot find module '/|No rule to make target|[Uu]nknown (?:command|script|task)|no task \S+ found|Script not found|is not recognized"
    r"|can't open file|No module named pytest",
    re.MULTILINE,
)


class Commands:
    """The commands of a session in a checkout at `root`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.worked: dict[tuple[str, str], list[tuple[Run, float]]] = {}  # (purpose, family) -> its runs
        self.failed: dict[str, tuple[int, str, str]] = {}  # family -> (number of the call, its command, its message)
        self.between: list[tuple[int, str]] = []  # actions, by number of the call
        self.errors: dict[tuple[str, str], dict[str, list[Observation]]] = {}  # (family, message) -> fix -> when it ended the error
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
        folder = before
        for command in parse(call.command):
            if command.words and not command.stage and not command.group:
                folder = moved(command.words, unwrap(command.words, folder).program, folder)
        inside = repository.within(folder, self.root)
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
            if fix and not (run.purpose == TEST and _EDITS_TEST.match(fix)):
                details: dict[str, object] = {"fix": fix, "family": run.family, "command": command}
                ended = self.errors.setdefault((run.family, message), {}).setdefault(fix, [])
                ended.append(Observation(ERROR, f"{command}: {message}", 1, at, details))
        self.missing.discard(run.text)
        if run.purpose:
            self.worked.setdefault((run.purpose, run.family), []).append((run, at))
        if not run.checks:
            self.between.append((self.calls, "run " + run.text))

    def observed(self) -> list[Observation]:
        """Return one command of each family that has a purpose, and the errors that were fixed, with the fix that ended them most often."""
        observations = []
        known = {folder_of(run.text)[1] for runs in self.worked.values() for run, _ in runs if run.folder}
        for (purpose, family), runs in self.worked.items():
            if all(run.text in self.doubtful & known for run, _ in runs):
                continue  # it was run in the folder where it is known to work
            counts = Counter(run.text for run, _ in runs)
            whole = {run.text for run, _ in runs if run.is_whole}
            run, at = min(runs, key=lambda timed: (timed[0].text not in whole, -counts[timed[0].text], len(timed[0].text), timed[0].text))
            at = max(when for other, when in runs if other.text == run.text)
            details: dict[str, object] = {"family": f"{purpose} {family}", "purpose": purpose}
            observations.append(Observation(COMMAND, run.text, len(runs), at, {**details, "folder": run.folder} if run.folder else details))
        for fixes in self.errors.values():
            ended = max(fixes.values(), key=lambda some: (len(some), some[-1].at))
            times = 1 if str(ended[-1].details["fix"]).startswith("edit ") else len(ended)
            observations.append(replace(ended[-1], writes=times, details={**ended[-1].details, TIMES: times}))
        return observations


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
