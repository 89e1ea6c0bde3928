"""What the engine needs to know of a tool's result, from the host's structured response or from the text that the model got.

Both forms of one result give the same Outcome wherever that is possible: hooks see the structure, a subagent's transcript has the
text alone, and live state must equal replay.
"""

from __future__ import annotations

from ..edges.codec import dumps
from ..edges.system import sha256
from ..policy.calls import Outcome
from ..policy.estimate import estimate_tokens, image_tokens, wide_chars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HASH_CHARS = 32
# How much of an output's end is looked at for its verdict.
TAIL_CHARS = 4_000
# What stands in the context of an output that the host has moved to a file: a notice and the first 2 kB.
# Of the signature of a block of thinking: what it has beside the sealed text (characters), and characters of that text to a token.
_SEAL_CHARS = 235
_SEALED_CHARS_PER_TOKEN = 2.7
_PERSISTED_CHARS = 2_300
# A Read without a limit returns at most this many lines.
_READ_LINES = 2_000
_NOTHING = ("(Bash completed with no output)", "[Tool result missing due to internal error]", "No matches found", "No files found")
_UNCHANGED = ("File unchanged since last read", "Wasted call — file unchanged")
_ACKS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


def hash_content(text: str) -> str:
    """SHA-256 of a text, 64 hex digits; lone surrogates are hashed as they are."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def outcome_of(tool: str, tool_input: dict[str, Any], response: object) -> Outcome:
    """The outcome of a successful call from the host's structured response (a string counts as the text itself)."""
    if isinstance(response, str):
        return outcome_of_text(tool, tool_input, response)
    if tool == "Read" and isinstance(response, dict):
        return _read(response)
    if tool in _ACKS:
        return _ack(tool_input)
    text, images = _shown(tool, response)
    return _outcome(text, images)


def outcome_of_error(error: str) -> Outcome:
    """The outcome of a failed call from its error text."""
    error = _strip_tag(error)
    code = None
    said = error
    if error.startswith("Exit code "):
        head, _, said = error.partition("\n")
        digits = head[10:].strip()
        code = int(digits) if digits.isdigit() and len(digits) < 6 else None
    said = said.strip("\n")
    outcome = _outcome(said, 0)
    outcome.error = True
    outcome.exit_code = code
    return outcome


def outcome_of_text(tool: str, tool_input: dict[str, Any], text: str) -> Outcome:
    """The outcome of a successful call from the text that the model got."""
    if tool in _ACKS:
        return _ack(tool_input)
    if tool == "Read":
        return _read_text(tool_input, text)
    text = text.strip("\n")
    if text in _NOTHING:
        text = ""
    if tool in ("Grep", "Glob") and text.startswith("Found "):
        text = text.partition("\n")[2]
    return _outcome(text, 0)


def _outcome(text: str, images: int) -> Outcome:
    text = text.strip("\n")
    if not text:
        return Outcome(image_tokens=images)
    return Outcome(len(text), wide_chars(text), hash_content(text)[:HASH_CHARS], image_tokens=images, tail=text[-TAIL_CHARS:])


def _ack(tool_input: dict[str, Any]) -> Outcome:
    path = tool_input.get("file_path") or tool_input.get("notebook_path")
    return Outcome(chars=60 + (len(path) if isinstance(path, str) else 0))


def _read(response: dict[str, Any]) -> Outcome:
    file = response.get("file")
    kind = response.get("type")
    if kind == "file_unchanged":
        return Outcome(chars=len(_UNCHANGED[1]) + 60, unchanged=True)
    if not isinstance(file, dict):
        return _outcome(dumps_or_nothing(response), 0)
    content = file.get("content")
    if not isinstance(content, str):  # an image, a PDF, a notebook
        size = file.get("dimensions")
        size = size if isinstance(size, dict) else {}
        width, height = (size.get(name) if isinstance(size.get(name), (int, float)) else 0 for name in ("displayWidth", "displayHeight"))
        data = file.get("base64")
        outcome = Outcome(image_tokens=image_tokens(width or 0, height or 0), interval=[1, 0])
        outcome.content_hash = hash_content(data)[:HASH_CHARS] if isinstance(data, str) else ""
        return outcome
    first = _int(file.get("startLine"), 1)
    lines = content.rstrip("\n").count("\n") + 1
    total = _int(file.get("totalLines"), 0)
    whole = first <= 1 and _int(file.get("numLines"), lines) >= total
    return _read_outcome(content, first, lines, whole)


def _read_outcome(content: str, first: int, lines: int, whole: bool) -> Outcome:
    content = content.rstrip("\n")
    if not content:
        return Outcome(interval=[1, 0])
    # The model sees each line behind its number and a tab.
    chars = len(content) + lines * (len(str(first + lines)) + 1)
    outcome = Outcome(chars, wide_chars(content), hash_content(content)[:HASH_CHARS])
    outcome.interval = [1, 0] if whole else [first, first + lines - 1]
    return outcome


def _read_text(tool_input: dict[str, Any], text: str) -> Outcome:
    if text.startswith(_UNCHANGED):
        return Outcome(chars=len(_UNCHANGED[1]) + 60, unchanged=True)
    lines = text.partition("\n\n<system-reminder>")[0].split("\n")
    first = 0
    content = []
    for line in lines:
        number, mark, rest = line.partition("\t")
        if not mark:
            number, mark, rest = line.partition("→")
        number = number.strip()
        if not mark or not number.isdigit():
            break
        first = first or int(number)
        content.append(rest)
    if not content:
        return _outcome(text, 0)
    while content and not content[-1]:
        content.pop()
    narrowed = tool_input.get("offset") is not None or tool_input.get("limit") is not None
    return _read_outcome("\n".join(content), first, len(content), first == 1 and not narrowed and len(content) < _READ_LINES)


def _shown(tool: str, response: object) -> tuple:
    """(text, image tokens) that a response puts into the context."""
    if isinstance(response, list):
        return _blocks(response)
    if not isinstance(response, dict):
        return ("" if response is None else str(response)), 0
    if response.get("isImage") is True:
        return "", image_tokens(0, 0)
    if isinstance(response.get("persistedOutputPath"), str):
        return str(response.get("stdout") or "")[:_PERSISTED_CHARS], 0
    if isinstance(response.get("stdout"), str):
        err = response.get("stderr")
        return (response["stdout"].strip("\n") + ("\n" + err if isinstance(err, str) and err.strip() else "")), 0
    if isinstance(response.get("content"), str) and tool == "Grep" and response["content"]:
        return response["content"], 0
    if isinstance(response.get("content"), list):
        return _blocks(response["content"])
    names = response.get("filenames")
    if isinstance(names, list):
        return "\n".join(name for name in names if isinstance(name, str)), 0
    return dumps_or_nothing(response), 0


def _blocks(blocks: list[Any]) -> tuple[str, int]:
    texts, images = [], 0
    for block in blocks:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict):
            if isinstance(block.get("text"), str):
                texts.append(block["text"])
            elif block.get("type") == "image":
                images += image_tokens(0, 0)
            else:
                texts.append(dumps_or_nothing(block))
    return "\n".join(texts), images


def text_of_blocks(content: object) -> tuple[str, int]:
    """(text, image tokens) of a tool_result's content, a string or a list of blocks."""
    return (content, 0) if isinstance(content, str) else _blocks(content) if isinstance(content, list) else ("", 0)


def thinking_tokens(block: dict[str, Any]) -> int:
    """Estimated tokens of a block of thinking, 0 for any other. A signature (or the `data` of what is redacted) holds the whole of it,
    sealed, in base64; the text beside it may be a summary, or empty. So it is the larger of what either tells
    (`benchmarks/thinking_tokens.py`)."""
    if block.get("type") not in ("thinking", "redacted_thinking"):
        return 0
    sealed, text = block.get("signature") or block.get("data"), block.get("thinking")
    chars = max(0, len(sealed) - _SEAL_CHARS) * 3 // 4 if isinstance(sealed, str) else 0
    return max(round(chars / _SEALED_CHARS_PER_TOKEN), estimate_tokens(text) if isinstance(text, str) else 0)


def said_tokens(block: dict[str, Any]) -> int:
    """Estimated tokens of a block that the user or the assistant wrote, a text or the input of a call; 0 for any other."""
    if isinstance(block.get("text"), str):
        return estimate_tokens(block["text"])
    return estimate_tokens(dumps_or_nothing(block.get("input")), "markup") if block.get("type") == "tool_use" else 0


def dumps_or_nothing(value: object) -> str:
    try:
        return dumps(value)
    except ValueError:
        return ""


def _int(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else default


def _strip_tag(error: str) -> str:
    if error.startswith("<tool_use_error>"):
        error = error[len("<tool_use_error>") :].partition("</tool_use_error>")[0]
    return error.removeprefix("Error: ")
