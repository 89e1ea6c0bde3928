"""Estimate the tokens of a text, by kind of content.

Estimates are in tokens of the tokenizer that Claude models have had since Opus 4.7. How many tokens another model takes for one of these is
in the table of models, beside its prices (`Model.tokens` in economics.py): from one family to another the kinds keep their relations, so
one factor does for all of them. A context's `calibration` holds that factor, and what its own usage shows beyond it (conversation.py).
The figures are measured against the usage of recorded requests (`benchmarks/tokens.py`), and are marked as estimates where they are shown.
"""

from __future__ import annotations

CHARS_PER_TOKEN = {
    "code": 2.2,
    "dialogue": 2.7,  # what people and models write, think, and report
    "markup": 2.55,  # Markdown and JSON
    "diff": 2.35,
    "matches": 2.1,  # grep output
    "log": 2.2,  # logs and listings
    "call": 2.3,  # the texts in the input of a call
}
# Whose tokens these are, as stored estimates name it.
TOKENIZER = "claude-opus-4-7"
# What holds a call, and what holds its result, beside what they say.
CALL_TOKENS, RESULT_TOKENS = 60, 20
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
    narrow = max(0, chars - wide) if wide else chars
    return max(1, round(narrow / CHARS_PER_TOKEN.get(content, CHARS_PER_TOKEN["dialogue"]) + wide / WIDE_CHARS_PER_TOKEN))


def estimate_tokens(text: str, content: str = "dialogue") -> int:
    """Return the estimated tokens of a text of this kind of content (a key of CHARS_PER_TOKEN)."""
    return tokens_of(len(text), 0 if text.isascii() else wide_chars(text), content)


def image_tokens(width: float, height: float) -> int:
    """Return the estimated tokens of an image of this size in pixels; the cap where the size is not known."""
    if width <= 0 or height <= 0:
        return IMAGE_TOKENS
    return max(1, min(IMAGE_TOKENS, round(width * height / 750)))
