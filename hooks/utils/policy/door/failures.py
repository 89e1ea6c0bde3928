"""Find the lines of an output that report a failure. Pure.

What tells of a failure is taken generously: a line too many costs little, one too few misleads.
"""

from __future__ import annotations

from .. import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# What went wrong, in words of compilers, linters, runners of tests and of tasks, shells and runtimes; looked for in lower case.
_WORDS = (
    "error", "fail", "fatal", "panic", "traceback", "exception", "abort", "denied", "refused", "cannot", "can't", "couldn't", "could not",
    "unable", "undefined", "unresolved", "unexpected", "expected", "received", "mismatch", "not found", "no such", "missing", "timeout",
    "timed out", "segmentation", "killed", "core dumped", "conflict", "invalid", "assert", "unhandled", "uncaught", "caused by", "rejected",
    "not ok", "non-zero", "elifecycle", "exited (", "unreachable", "incompatible", "violat", "unsupported", "unknown", "illegal",
    "forbidden", "overflow", "leak", "regress", "broken", "flaky", "problem", "errno", "would reformat", "not formatted", "out of memory",
    "err_", "err!", "***", "✕", "✗", "✖", "×", "●", "❌", "✘", "⨯", "exit 1", "exit 2", "warning: ", "warning[", "got:", "want:", "left:",
    "right:", "goroutine ", "keyboardinterrupt", "build stopped",
)  # fmt: skip
_EXIT = r"(?i:\bexit(?:ed)?(?: with)?(?: code| status)?[ :=(]+-?[1-9])|\bE[0-9]{3,4}\b|\bSIG[A-Z]{3,}\b"
# What was expected and what came, in the forms in which runners of tests show it.
_VALUES = r"^\s*(?:E  |> |[-+] (?:Expected|Received)|\^|~+\^?|\|\s+\^)|\b[Aa]ctual\b"
# A place and a message about it: `path:3:5: …`, `path(3,5): …`, `  3:5  error …`, `--> path:3:5`, `path.ext:3: …`, `File "path", line 3`.
_PLACES = (
    r"[A-Za-z_)\]]\d?:\d+:\d+\b|\(\d+,\d+\)|^\s*\d+:\d+\s|^\s*--> |\.\w{1,8}:\d+: |\bFile \".*\", line \d|^\s*(?:rspec|phpunit) \S|\bL\d+:"
    r"|^(?:\S+ +)*\S+\.\w{1,8}:\d+$|[\w.]+::[\w.]+ *$"
)
# Frames of a stack in code that is not the user's; and a line of a program as it is shown around a failure.
_FRAME = r"^\s*at .*[(/ ]node_modules/|^\s*at (?:.*\()?node:|^\s*\d+(?: +\d+)? +[|│](?: |$)"
# A failed test by its number or in its frame, and sums of them.
_NUMBERED = r"^\s*\d+\) |^\s*_{3,} .* _{3,}\s*$|^\s*-{3,} .* -{3,}\s*$|^[FE.sx]*[FE][FE.sx]*(?: |$)"
# What went well, or of which there was none: taken off before anything is looked for.
_NONE = (
    r"(?i:\b(?:0|no) (?:errors?|failures?|failed|failing|fail|warnings?|problems?|issues?|conflicts?|regressions?)\b"
    r"|\b(?:errors?|failures?|failed|warnings?|skipped)[:=] ?0\b|\bnoerror\b)"
)
_PASSED = (
    r"^(?:[@\w./-]+[:#][\w:-]+: |\[[\w@./:-]+\] )?\s*(?:ok \d|ok\s+\S+\s+[\d.]+s|[✓✔√]|\(pass\) |PASS\b|--- PASS|test .* \.\.\. ok$)"
    r"|\bPASSED(?: +\[ *\d+%\])?$|^\S+ \.\.\. ok$|^test result: ok"
)
# Of a search, whose every line may be part of a program: forms that only an output has.
_OUTRIGHT = (
    r"(?:^|^\S+?[:-]\d+[:-]|^\d+[:-]|: |\| +|\] |^#\d+ )\s*(?:E {2,}\S|(?:error|fatal|panic|FAIL|FAILED|ERROR|FAILURE|Error"
    r"|AssertionError)\b[\[:! (\t]"
    r"|not ok\b|--- FAIL|Traceback |npm (?:ERR!|error)|g?make(?:\[\d+\])?: \*\*\*|[✕✗✖×●] |ninja: build stopped"
    r"|Exception in thread|Caused by: "
    r"|collect2: |goroutine \d+ \[|Uncaught |Killed$|FAIL$|FAILED$|FAILURES!)"
    r"|: (?:fatal )?(?:error|warning)(?: [A-Z]+\d+)?: |\b\d+:\d+ +(?:error|warning) |\bpanicked at\b|<<< (?:FAILURE|ERROR)!|\.\.\. FAILED$"
    r"|^\s*[\w.]+(?:Error|Exception|Interrupt)(?::|$)|\b[1-9]\d* (?:failed|failing|failures?|errors?|problems?)\b|\[ERROR\]"
    r"|> Task .* FAILED$"
    r"|(?i:exit(?:ed)?(?: with)?(?: code| status)) [1-9]|\bexited \(|undefined reference|ERR_PNPM|\d\) \S+::\w|: command not found$"
    r"|: No such file or directory$|: Permission denied$|Segmentation fault|core dumped|(?:Failures|Errors): [1-9]|\bELIFECYCLE\b"
    r"|CONFLICT \(|^warning(?:\[[\w:-]+\])?: \S|^\s*--> \S+:\d+:\d+$|^e: \S|^\S+\.\w{1,8}:\d+:\d+(?::| -) \S|^\s+\w+_test\.go:\d+: "
    r"|^\s*\d+\) \[\w+\]|^rspec \./|\bFAILED in [\d.]+s\b|\bFAILED\b *(?:\[ *\d+%\])?$|: exit [1-9]\d* \("
)
_CODES = r"\x1b\[[0-9;]*[A-Za-z]"
# Of a longer line only its words are examined: no finding is as long, and the other forms take steps for each pair of its characters.
_LONGEST = 400


def failures_in(lines: Sequence[str], kind: str) -> list[int]:
    """Return the places of the lines that tell of a failure, in an output of a kind; of a line that was drawn over, any that was drawn."""
    drawn = _drawn(lines)
    is_failure = _outright() if kind == kinds.SEARCH else _any("\n".join(map("\n".join, drawn)).lower())
    return [at for at, some in enumerate(drawn) if any(map(is_failure, some))]


def _drawn(lines: Sequence[str]) -> Sequence[Sequence[str]]:
    """Return the texts drawn in the place of each line, without colours."""
    text = "\n".join(lines)
    if "\x1b" not in text and "\r" not in text:
        return [(line,) for line in lines]
    import re

    plain = re.compile(_CODES).sub
    return [plain("", line).split("\r") for line in lines]


def _outright() -> Callable[[str], bool]:
    import re

    search = re.compile(_OUTRIGHT).search
    return lambda line: search(line[:_LONGEST]) is not None


def _any(text: str) -> Callable[[str], bool]:
    import re

    held = [word for word in _WORDS if word in text]
    passed, none = re.compile(f"{_PASSED}|{_FRAME}").search, re.compile(_NONE).sub
    search = re.compile(f"{_EXIT}|{_VALUES}|{_PLACES}|{_NUMBERED}").search

    def is_failure(line: str) -> bool:
        short = line[:_LONGEST]
        has_failure_word = bool(held) and has_word(line)
        if has_failure_word and len(line) > _LONGEST:
            return True
        return not passed(short) and ((has_failure_word and has_word(none("", short))) or search(short) is not None)

    def has_word(line: str) -> bool:
        line = line.lower()
        return any(word in line for word in held)

    return is_failure
