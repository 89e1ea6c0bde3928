"""Estimate the tokens of a text, by kind of content.

Characters per token of current Claude models. The figures are estimates and are marked as such wherever they are shown; a
session's own usage calibrates them (`hosts/claude_code/usage.py`).
"""

from __future__ import annotations

CHARS_PER_TOKEN = {
    "code": 3.2,
    "dialogue": 2.9,
    "markup": 2.5,  # Markdown and JSON
    "diff": 2.1,
    "matches": 1.9,  # grep output
    "log": 1.7,  # logs and listings
}
WIDE_CHARS_PER_TOKEN = 0.9  # CJK
# An image costs width x height / 750 tokens, at most about this many after the API has scaled it.
IMAGE_TOKENS = 1_600

_ASCII = bytes(range(128))
_MARKUP = frozenset(("md", "mdx", "markdown", "rst", "json", "jsonl", "json5", "jsonc", "ipynb", "yaml", "yml", "xml", "html", "svg"))
_LOGS = frozenset(("log", "txt", "csv", "tsv", "lock", "out"))
_DIFFS = frozenset(("diff", "patch"))


def content_of_path(path: str) -> str:
    """Return the kind of content that a file holds, by its extension; code for any other extension."""
    extension = path.rpartition(".")[2].lower()
    if extension in _MARKUP:
        return "markup"
    if extension in _LOGS:
        return "log"
    return "diff" if extension in _DIFFS else "code"


def wide_chars(text: str) -> int:
    """Return how many characters of a text are CJK or of similar width (from U+2E80 on)."""
    if text.isascii():
        return 0
    # What is not ASCII, found among bytes: a hundred times as fast as a look at every character.
    rest = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    return sum(map("\u2e80".__le__, rest))


def tokens_of(chars: int, wide: int, content: str) -> int:
    """Return the estimated tokens of a text of so many characters, `wide` of them CJK."""
    if chars <= 0:
        return 0
    if not wide:
        return max(1, round(chars / CHARS_PER_TOKEN.get(content, 2.9)))
    narrow = max(0, chars - wide)
    return max(1, round(narrow / CHARS_PER_TOKEN.get(content, 2.9) + wide / WIDE_CHARS_PER_TOKEN))


def estimate_tokens(text: str, content: str = "dialogue") -> int:
    """Return the estimated tokens of a text of this kind of content (a key of CHARS_PER_TOKEN)."""
    return tokens_of(len(text), 0 if text.isascii() else wide_chars(text), content)


def image_tokens(width: float, height: float) -> int:
    """Return the estimated tokens of an image of this size in pixels; the cap where the size is not known."""
    if width <= 0 or height <= 0:
        return IMAGE_TOKENS
    return max(1, min(IMAGE_TOKENS, round(width * height / 750)))
