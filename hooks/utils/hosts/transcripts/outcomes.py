"""The outcome of a call, from the structure of its result or from the text that the model got.

Both forms of one result give the same Outcome wherever that is possible: hooks see the structure, a subagent's transcript has the text.
Either may be of any type.
"""

from __future__ import annotations

from ...io.codec import as_object
from ...io.system import sha256
from ...policy.calls import BACKGROUND, Outcome, number_in, text_in
from ...policy.estimate import image_tokens, wide_chars
from ...policy.parts import is_number
from ...policy.tools import DELEGATE, EDITS, FIND, READ, SEARCH, TASKS, Tool
from . import fates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HASH_CHARS = 32
# How much of an output's end is searched for its verdict.
TAIL_CHARS = 4_000
# What the host says of a subagent that it has started, and of a list of todos that it has written down.
_STARTED_CHARS, _TODOS_CHARS = 900, 160
# A Read without a limit returns at most this many lines.
_READ_LINES = 2_000
_NOTHING = ("(Bash completed with no output)", "[Tool result missing due to internal error]", "No matches found", "No files found")
_REMINDER = "<system-reminder>"
_UNCHANGED = ("File unchanged since last read", "Wasted call — file unchanged")
_AROUND = "Here's the result of running `cat -n`"
_EDITED_HEAD = 600  # characters in which it says so, behind a path


def input_of(value: object) -> dict[str, Any]:
    """Return the input of a call, which is the same whether or not it says that the call runs in the foreground: a client that writes that
    down may not tell hooks of it."""
    tool_input = as_object(value)
    if tool_input.get("run_in_background") is False:
        return {name: argument for name, argument in tool_input.items() if name != "run_in_background"}
    return tool_input


def hash_content(text: str) -> str:
    """Return the SHA-256 of a text, 64 hex digits; lone surrogates are hashed as they are."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def outcome_of(tool: Tool, tool_input: dict[str, Any], response: object) -> Outcome:
    """Return the outcome of a successful call from the host's structured response (a string counts as the text itself)."""
    if isinstance(response, str):
        return outcome_of_text(tool, tool_input, response)
    if tool.operation == READ and isinstance(response, dict):
        return _read(response)
    if tool.operation in EDITS:
        return _ack(tool, tool_input)
    if isinstance(response, dict):
        if tool.operation == DELEGATE and response.get("isAsync") is True:
            return Outcome(chars=_STARTED_CHARS, fate=BACKGROUND)
        if tool.operation == TASKS and isinstance(response.get("newTodos"), list):
            return Outcome(chars=_TODOS_CHARS)
    from . import responses  # not for what is read, which is most

    shown, images = responses.shown(tool.name, response)
    outcome = _outcome(shown, images)
    outcome.fate = fates.of_response(tool, tool_input, response) or fates.of_text(tool, tool_input, shown)
    return outcome


def outcome_of_error(error: str) -> Outcome:
    """Return the outcome of a failed call from its error text."""
    error = _strip_tag(error)
    code = None
    text = error
    if error.startswith("Exit code "):
        head, _, text = error.partition("\n")
        digits = head[10:].strip()
        code = int(digits) if digits.isdecimal() and len(digits) < 11 else None
    text = text.strip("\n")
    outcome = _outcome(text, 0)
    outcome.error = True
    outcome.exit_code = code
    outcome.fate = fates.of_error(text, code)
    return outcome


def outcome_of_text(tool: Tool, tool_input: dict[str, Any], text: str) -> Outcome:
    """Return the outcome of a successful call from the text that the model got."""
    if tool.operation in EDITS:
        return Outcome(len(text), wide_chars(text)) if shows_file(text) else _ack(tool, tool_input)
    if tool.operation == READ:
        return _read_text(tool_input, text)
    text = text.strip("\n")
    if text in _NOTHING:
        text = ""
    if tool.operation in (SEARCH, FIND) and text.startswith("Found "):
        text = text.partition("\n")[2]
    outcome = _outcome(text, 0)
    outcome.fate = fates.of_text(tool, tool_input, text)
    return outcome


def shows_file(text: str) -> bool:
    """Return whether the response of an edit shows the file around it, as older hosts do."""
    return _AROUND in text[:_EDITED_HEAD]


def is_hosts_own(text: str) -> bool:
    """Return whether the host has shortened a result itself: to a file, or to the word that nothing has changed."""
    return fates.is_in_file(text) or text.startswith(_UNCHANGED)


def _outcome(text: str, images: int) -> Outcome:
    text = text.strip("\n")
    if not text:
        return Outcome(image_tokens=images, lines=0)
    outcome = Outcome(len(text), wide_chars(text), hash_content(text)[:HASH_CHARS], image_tokens=images, tail=text[-TAIL_CHARS:])
    outcome.lines = text.count("\n") + 1
    return outcome


def _ack(tool: Tool, tool_input: dict[str, Any]) -> Outcome:
    return Outcome(chars=60 + len(text_in(tool_input, *tool.paths)))


def _read(response: dict[str, object]) -> Outcome:
    file = response.get("file")
    kind = response.get("type")
    if kind == "file_unchanged":
        return Outcome(chars=len(_UNCHANGED[1]) + 60, unchanged=True)
    if not isinstance(file, dict):
        from .blocks import dumps_or_nothing  # seldom

        return _outcome(dumps_or_nothing(response), 0)
    content = file.get("content")
    if not isinstance(content, str):  # an image, a PDF, a notebook
        size = as_object(file.get("dimensions"))
        width, height = (size.get(name) if isinstance(size.get(name), (int, float)) else 0 for name in ("displayWidth", "displayHeight"))
        data = file.get("base64")
        outcome = Outcome(image_tokens=image_tokens(width or 0, height or 0), interval=[1, 0])
        outcome.content_hash = hash_content(data)[:HASH_CHARS] if isinstance(data, str) else ""
        return outcome
    first = number_in(file.get("startLine"), 1)
    lines = content.rstrip("\n").count("\n") + 1
    total = number_in(file.get("totalLines"), 0)
    whole = first <= 1 and number_in(file.get("numLines"), lines) >= total
    return _read_outcome(content, first, lines, whole)


def _read_outcome(content: str, first: int, lines: int, whole: bool) -> Outcome:
    content = content.rstrip("\n")
    interval = [1, 0] if whole else [first, first + lines - 1]
    if not content:
        return Outcome(interval=interval)
    # The model sees each line after its number and a tab. Versions below the oldest supported one padded the numbers: up to 7 % more.
    chars = len(content) + lines * (len(str(first + lines)) + 1)
    outcome = Outcome(chars, wide_chars(content), hash_content(content)[:HASH_CHARS])
    outcome.interval = interval
    return outcome


def _read_text(tool_input: dict[str, object], text: str) -> Outcome:
    if text.startswith(_UNCHANGED):
        return Outcome(chars=len(_UNCHANGED[1]) + 60, unchanged=True)
    lines = text.partition("\n\n" + _REMINDER)[0].split("\n")
    first = 0
    content = []
    for line in lines:
        number, rest = _numbered(line)
        if not number:
            break
        first = first or int(number)
        content.append(rest)
    if not content:
        first = number_in(tool_input.get("offset"), 1)
        return _read_outcome("", first, 1, first <= 1) if text.startswith(_REMINDER) else _outcome(text, 0)
    while content and not content[-1]:
        content.pop()
    narrowed = tool_input.get("offset") is not None or tool_input.get("limit") is not None
    return _read_outcome("\n".join(content), first, len(content), first == 1 and not narrowed and len(content) < _READ_LINES)


def _numbered(line: str) -> tuple[str, str]:
    """Return (number, rest) of a line as a Read shows it; ("", "") for any other. Older versions write `     1→`, newer `1<tab>`."""
    for sign in ("→", "\t"):
        number, mark, rest = line.partition(sign)
        if mark and is_number(number.strip(" ")):
            return number.strip(" "), rest
    return "", ""


def _strip_tag(error: str) -> str:
    if error.startswith("<tool_use_error>"):
        error = error[len("<tool_use_error>") :].partition("</tool_use_error>")[0]
    return error.removeprefix("Error: ")
