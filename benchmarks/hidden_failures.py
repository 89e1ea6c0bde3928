"""Whether what a door leaves out of outputs hides a failure. Knows failures by its own list of forms; shares nothing with the door.

    python benchmarks/hidden_failures.py --transcripts FOLDER [--door any+strong] [--show N]

Of each output of a shell that entered shorter, the lines are looked for that compilers, linters, type checkers, runners of tests and of
tasks, shells and runtimes print when something fails. A line is hidden when it does not stand in what entered, even where a reference leads
to it. --show prints N hidden lines, which are those of the recorded session. Exits 1 when a line is hidden.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

import own_sessions

from popkit_retention.core.policy import door, kinds
from popkit_retention.core.policy.tools import OUTPUT, SHELLS
from popkit_retention.core.state import shipped
from popkit_retention.lab import measure, replay_policies, sent_requests
from popkit_retention.lab.door_policy import Door, door_settings_of
from popkit_retention.lab.recorded import Block, Session

RUNNERS = (*SHELLS, OUTPUT)
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[()][A-Z0-9]")
# What runners of tasks, containers and logs put before a line of what they run.
_BEFORE = re.compile(
    r"^(?:\d{4}-\d\d-\d\dT[\d:.]+Z? |#\d+ \d+\.\d+ |\[[\w@./:-]+\] |[@\w./-]+[:#][\w:-]+: |[\w@./-]+ +\| |[@\w./-]+ \w+(?::\w+)?: )"
)
FORMS = {
    "compiler": [
        r"^\S.*?:\d+(?::\d+)?: (?:fatal )?(?:error|warning|undefined reference)\b", r"^(?:error|warning)(?:\[[\w:-]+\])?: \S",
        r"^\s*--> \S+:\d+:\d+", r"^\S.*\(\d+,\d+\): (?:error|warning) ", r"^\S+:\d+:\d+ - (?:error|warning) ", r"^\[ERROR\]",
        r"^e: \S", r"\bundefined reference to\b", r"^collect2: error", r"\bld returned [1-9]", r"^\S+\.go:\d+:\d+: \S",
        r"^Module not found\b", r"^SyntaxError\b", r"^\S+\.(?:c|cc|cpp|h|hpp|rs|java|kt|swift|cs|zig|hs):\d+:\d+: \S",
    ],
    "lint and types": [
        r"^\s+\d+:\d+\s+(?:error|warning)\s", r"✖ [1-9]\d* problems?", r"^\S+\.\w+:\d+:\d+:? [A-Z]+\d+\b",
        r"^\S+\.py:\d+: (?:error|warning):",
        r"^\S+\.\w{1,5}:\d+:\d+: \S", r"^Found [1-9]\d* errors?\b", r"^would reformat \S", r"^\s*\S+:\d+:\d+ - error\b",
    ],
    "tests": [
        r"^(?:FAILED|ERROR) \S", r"^E {2,}\S", r"^\S+:\d+: \w*(?:Error|Exception|Failed)\b", r"^_{3,} .+ _{3,}$",
        r"^=+ .*\b[1-9]\d* (?:failed|errors?)\b.* =+$", r"^(?:FAIL|ERROR): \S", r"^FAILED \(", r"^\s*[✕✗×✖] \S", r"^\s*● \S",
        r"^\s*FAIL\s+\S",
        r"^\s*(?:Tests|Test Suites|Test Files)\b:?\s.*\b[1-9]\d* failed\b", r"\bAssertionError\b", r"^\s+[1-9]\d* failing\b",
        r"^\s*--- FAIL\b", r"^FAIL\b", r"^\s+\w+_test\.go:\d+: ", r"^test .* \.\.\. FAILED$", r"^test result: FAILED",
        r"Tests run: .*(?:Failures|Errors): [1-9]", r"<<< (?:FAILURE|ERROR)!", r"^\s*not ok\b", r"^\s*[1-9]\d* failed$",
        r"^rspec \./", r"\d+ examples?, [1-9]\d* failures?", r"^(?:FAILURES|ERRORS)!", r"^\d+\) \S+::", r"^\s+\d+\) \[\w+\]",
        r"^\s*Expected:? \S.*", r"^\s*Received:? \S.*", r" \(FAIL\w*\)$", r"\bFAILED in [\d.]+s\b", r"^\S+ +\.\.\. (?:FAIL|ERROR)$",
        r"\bFAILED +\[ *\d+%\]$",
    ],
    "runtime": [
        r"^Traceback \(most recent", r"^\s*File \".+\", line \d+", r"^[\w.]*(?:Error|Exception|Interrupt)(?:: |$)", r"^Caused by: ",
        r"^Exception in thread", r"^Uncaught \S", r"\bpanicked at\b", r"^panic: ", r"^fatal error: ", r"\bSegmentation fault\b",
        r"^Killed$", r"\bcore dumped\b", r"^goroutine \d+ \[",
    ],
    "tasks and shells": [
        r"^npm (?:ERR!|error) \S", r"\bERR_PNPM_\w+", r"^error Command failed\b", r"\bELIFECYCLE\b",
        r"^g?make(?:\[\d+\])?: \*\*\*", r"^FAILED: \S",
        r"^ninja: build stopped", r"^error: [Rr]ecipe ", r"^ERROR: \S", r"^FAILURE: \S", r"^> Task .* FAILED$", r"\bnox > .* failed\b",
        r"\b(?:exited|exit) (?:with )?(?:code|status) [1-9]\d*", r"\bexit status [1-9]", r"returned non-zero exit status [1-9]",
        r"^exited \([1-9]\d*\)", r": command not found$", r": No such file or directory$", r": Permission denied$", r"^fatal: \S",
        r"^(?:Error|error|ERROR|FATAL|Fatal|FAILURE|FAILED)[:!] ", r"^Exit code [1-9]", r"^BUILD FAILED\b", r"^CONFLICT \(",
    ],
}  # fmt: skip
_FAILS = {name: re.compile("|".join(forms)).search for name, forms in FORMS.items()}
_PASSED = re.compile(r"^\s*(?:ok \d|✓|✔|√|--- PASS|\(pass\) )|\bPASSED\b|\.\.\. ok$").search


class Hidden(NamedTuple):
    """`shortened`: outputs that entered shorter · `failing`: of them those that tell of a failure · `hiding`: those that lack such a line ·
    `lines`: (kind, form, line) of those that are hidden."""

    shortened: Counter[str]
    failing: Counter[str]
    hiding: Counter[str]
    lines: list[tuple[str, str, str]]


def failure_in(line: str) -> str:
    """Of which kind of failure a line of an output tells; "" for none."""
    line = _BEFORE.sub("", line[:2_000], count=1)
    return "" if _PASSED(line) else next((name for name, search in _FAILS.items() if search(line)), "")


def lines_as_seen(text: str) -> list[str]:
    """The lines of a text as a terminal shows them in the end."""
    return [line.rstrip("\r").rpartition("\r")[2].rstrip() for line in _CODES.sub("", text).split("\n")]


def hidden_lines(whole: str, entered: str) -> list[tuple[str, str]]:
    """(form, line) of the failures in a whole output that do not stand in what entered."""
    shown = set(lines_as_seen(entered))
    failing = {line: form for line in lines_as_seen(whole) if (form := failure_in(line))}
    return [(form, line) for line, form in failing.items() if line not in shown]


def of_session(entered: Mapping[Block, str], kinds: Mapping[Block, str]) -> Hidden:
    """What the texts that entered in place of a session's results hide."""
    hidden = Hidden(Counter(), Counter(), Counter(), [])
    for block, text in entered.items():
        if block.call.operation in RUNNERS:
            name = kinds.get(block, "?")
            lacks = hidden_lines(block.text, text)
            hidden.shortened[name] += 1
            hidden.failing[name] += any(map(failure_in, lines_as_seen(block.text)))
            hidden.hiding[name] += bool(lacks)
            hidden.lines.extend((name, *lack) for lack in lacks)
    return hidden


class Noted(Door):
    """A door that notes the kinds of what comes through it."""

    def enter(self, block: Block) -> str | None:
        result = self.tracked.result(block)
        if result is not None:
            self.kinds[block] = kinds.name_of(result.kind)
        return super().enter(block)

    kinds: dict[Block, str]


def _into(entered: dict[Block, str]) -> Callable[[object, object, list[tuple[Block, str]]], None]:
    return lambda request, decisions, some: entered.update(some)


def of_door(read: Iterable[Session], settings: door.Settings) -> Hidden:
    """What a door hides over recorded sessions."""
    total = Hidden(Counter(), Counter(), Counter(), [])
    rules = shipped.rules()
    for session in read:
        entering = Noted(rules, None, settings)
        entering.kinds = {}
        entered: dict[Block, str] = {}
        measure.score(session, entering, replay_policies.ANY_PRICES, _into(entered))
        found = of_session(entered, entering.kinds)
        for sums, more in zip(total[:3], found[:3]):
            sums.update(more)
        total.lines.extend(found.lines)
    return total


def one_line(hidden: Hidden) -> str:
    """What a door hides, in a line."""
    return (
        f"failures hidden: {len(hidden.lines)} lines in {sum(hidden.hiding.values())} of {sum(hidden.shortened.values())} shell outputs"
        f" that enter shorter ({sum(hidden.failing.values())} of them tell of failures)"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl")
    parser.add_argument("--door", default="any+strong", help="say once and shape, joined by + (default: any+strong)")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N of the hidden lines")
    options = parser.parse_args()
    try:
        settings = door_settings_of(options.door)
    except ValueError as error:
        parser.error(str(error))
    read = (sent_requests.read(str(path), with_needs=False) for path in own_sessions.below(options.transcripts))
    hidden = of_door(read, settings)
    print(f"{options.door}: {one_line(hidden)}")
    print("kind     shortened  with failures  hiding some  lines hidden")
    lines = Counter(kind for kind, _, _ in hidden.lines)
    for kind in sorted(hidden.shortened):
        print(f"{kind:<8} {hidden.shortened[kind]:>9}  {hidden.failing[kind]:>13}  {hidden.hiding[kind]:>11}  {lines[kind]:>12}")
    for kind, form, line in hidden.lines[: options.show]:
        print(f"{kind}, {form}: {line[:200]}")
    return int(bool(hidden.lines))


if __name__ == "__main__":
    raise SystemExit(main())
