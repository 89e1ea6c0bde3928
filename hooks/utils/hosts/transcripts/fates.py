"""Tell why a result does not show how its call went: the call never ran, was stopped or works on in the background, its output was cut, or
the person said something in its place. Pure.

A call of which that is so ends no earlier result: its own says nothing about the same thing.
"""

from __future__ import annotations

from ...policy.calls import BACKGROUND, CUT, NEVER_RAN, STOPPED, TOLD, text_in
from ...policy.tools import FETCH, FIND, SEARCH, SHELLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...policy.tools import Tool

# The host moves what a search found to a file where it has more characters.
LONGEST_FOUND = 20_000
_IN_FILE, _SAVED = "<persisted-output>", "exceeds maximum allowed tokens. Output has been saved to "
# How the host begins what it says in place of a result: the call was refused, or not made because another failed.
_REFUSED = (
    "The user doesn't want to", "This command requires approval", "This Bash command contains multiple operations",
    "Sibling tool call errored", "Cancelled: ", "Blocked", "Permission ", "Claude requested permissions", "PreToolUse:", "Hook PreToolUse",
    "InputValidationError", "User chose ", "[Request interrupted", "Tool use was rejected", "Command failed: cygpath",
    "[Tool result missing",
)  # fmt: skip
_SAID = "the user said:"
_INTERRUPTED = "[Request interrupted"
_STOPPED = ("Command timed out after", "Command was aborted", "Request timed out", "The operation timed out")
# What it says of a command or an agent that works on in the background.
_WORKS_ON = (
    "Command running in background with ID", "Command was manually backgrounded", "Async agent launched successfully",
    "Remote agent launched",
)  # fmt: skip
_MOVED = "was moved to the background"
# How hosts mark where they have cut an output.
_CUT = (" lines truncated] ...", " characters truncated] ...", " tokens truncated…")
# What a shell says of a line that is no command and of a pattern that stands for nothing, and a program of its options.
_OF_SHELLS = (
    "ommand not found", "no matches found: ", "illegal option -- ", "invalid option -- ", "parse error near",
    "syntax error near unexpected", "syntax error: unexpected", "unexpected EOF while looking",
)  # fmt: skip
# What a runner says when there was nothing to run, and a client when nobody answered it. They say little else.
_NOTHING_RAN = (
    "No module named ", "issing script:", "is not recognized as", "no tests ran", "No tests found",
    "0 tests collected", "unrecognized arguments", "can't cd to", "No such file or directory (os error 2)",
    # no such task, project or test
    'error Command "', "no such command: ", "could not determine executable", "could not find `Cargo.toml`", "did not match any packages",
    "go.mod file not found", "does not contain main module", "there is no POM in", "in the reactor: ", "not found in root project",
    "not found in project", "Could not locate Gemfile", "Could not open input file: ", "MSB1003", "MSB1009",
    "No test matches the given", "No projects matched", "None of the selected packages has", "ould not read package.json",
    "ERR! enoent ", "No test files found", "No tests executed", "No examples found", "sh: 1: ", "Executable doesn't exist at ",
    # no answer
    "Cannot connect to the Docker daemon", "failed to connect to the docker API", "error during connect: ",
    "Unable to connect to the server", "did you specify the right host or port", "must be logged in to the server",
    "acquiring the state lock", "Backend initialization required", "error connecting to api.", "API rate limit exceeded",
    "gh auth login", "Could not resolve host", "ssh: connect to host ", "Permission denied (publickey",
    "Host key verification failed", "psql: error: connection to server", "index.lock': File exists",
)  # fmt: skip
_MISSED = ("cd:", "source:", "bash: line ")  # it is the shell that finds no such file
_NO_TARGET, _OF_A_TARGET = "No rule to make target", "needed by"
_LITTLE = 600
_REDIRECTED = "REDIRECT DETECTED"
# The host shows only some of what a search has found.
_LIST_CUT, _PAGED = "(Results are truncated", "[Showing results with pagination"
_HEAD = 200  # characters in which a notice says so


def of_response(tool: Tool, tool_input: dict[str, object], response: object) -> str:
    """Return why a structured response does not show how its call went; "" where the text alone tells."""
    if not isinstance(response, dict):
        return ""
    if response.get("backgroundTaskId"):
        return BACKGROUND
    if response.get("interrupted") is True:
        return STOPPED
    if isinstance(response.get("persistedOutputPath"), str) or (tool.operation == FIND and response.get("truncated") is True):
        return CUT
    if tool.operation == SEARCH and response.get("appliedLimit") and not tool_input.get("head_limit"):
        return CUT
    found = response.get("content")
    return CUT if tool.operation == SEARCH and isinstance(found, str) and len(found) > LONGEST_FOUND else ""


def of_text(tool: Tool, tool_input: dict[str, object], text: str) -> str:
    """Return why the text of a successful call does not show how it went; "" where it does."""
    if is_in_file(text):
        return CUT
    if text.startswith(_WORKS_ON) or _MOVED in text[:_HEAD]:
        return BACKGROUND
    if (tool.operation == FIND and _LIST_CUT in text[-_HEAD:]) or (
        tool.operation == SEARCH and _PAGED in text[-_HEAD:] and not tool_input.get("head_limit")
    ):
        return CUT
    if tool.operation == FETCH and text.startswith(_REDIRECTED):
        return NEVER_RAN
    if tool.operation in SHELLS:
        return _of_output(text, text_in(tool_input, tool.line))
    return ""


def _of_output(text: str, line: str = "") -> str:
    if "truncated" in text and any(sign in text for sign in _CUT):
        return CUT
    return NEVER_RAN if len(text) < _LITTLE and _ran_nothing(text, line) else ""


def _ran_nothing(text: str, line: str) -> bool:
    """Return whether an output says so. Words of the command line are what it has looked for."""
    if any(words in text and words.strip() not in line for words in _NOTHING_RAN):
        return True
    if "o such file or directory" in text and any(said in text for said in _MISSED):
        return True
    lines = text.split("\n")
    if any(_is_of_shell(said.partition(words)[0]) for words in _OF_SHELLS for said in lines if words in said):
        return True
    return _NO_TARGET in text and _OF_A_TARGET not in text


def _is_of_shell(before: str) -> bool:
    """Return whether words stand behind names alone, with a number at most: `bash: line 1: x: command not found`."""
    *names, rest = before.split(": ")
    return names != [] and rest in ("", "c", "C") and all(map(_is_name, names))


def _is_name(word: str) -> bool:
    # In a file that was searched, another name stands behind the number of the line.
    return word[:5] == "line " or not (" " in word or ":" in word.rstrip("0123456789")[:-1] or word[-5:] == "Error")


def of_error(text: str, code: int | None) -> str:
    """Return why the text of a failed call does not show how it went; "" where it does. `code`: its exit code, None without one."""
    if text.startswith(_STOPPED) or (code is not None and _INTERRUPTED in text[-_HEAD:]):
        return STOPPED
    if code is None:
        return TOLD if _SAID in text else NEVER_RAN if text.startswith(_REFUSED) else ""
    return _of_output(text)


def is_in_file(text: str) -> bool:
    """Return whether the host has written an output to a file, and shows a notice and its beginning."""
    return text.startswith(_IN_FILE) or _SAVED in text[:_HEAD]
