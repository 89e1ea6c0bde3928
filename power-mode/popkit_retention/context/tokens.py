"""Counts the tokens of a text: exact where a counter of the model's own is installed (extra `tokens`), else estimated.

OpenAI's vocabularies are public. Anthropic's are not, so its models are always estimated: by kind of content, at the characters per token
that recorded sessions had of each.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from hooks.utils.policy.estimate import estimate_tokens

if TYPE_CHECKING:
    from bpe_openai import Encoding

# Beginnings of a model's id, and its vocabulary; the first that fits counts.
_VOCABULARIES = (
    ("gpt-4o", "o200k_base"), ("gpt-4.1", "o200k_base"), ("gpt-4.5", "o200k_base"), ("gpt-5", "o200k_base"), ("gpt-oss", "o200k_base"),
    ("chatgpt-4o", "o200k_base"), ("o1", "o200k_base"), ("o3", "o200k_base"), ("o4", "o200k_base"), ("codex-", "o200k_base"),
    ("gpt-4", "cl100k_base"), ("gpt-3.5", "cl100k_base"), ("gpt-35", "cl100k_base"), ("text-embedding-", "cl100k_base"),
)  # fmt: skip
# The counter refuses more than 200,000 tokens at once, and no character has more than four.
_MOST_CHARS = 50_000
# No token of either vocabulary crosses the end of a word; the letters behind an apostrophe may belong to the word.
_END = re.compile(r"[A-Za-z](?=[^A-Za-z'\x80-\U0010ffff])")
_WINDOW_CHARS = 1_000
_REMEMBERED = 40_000

_encodings: dict[str, Encoding | None] = {}
# Earlier counts, since a conversation is counted again with every request. By hash, so that no text is kept alive.
_counts: dict[tuple[int, int, str], int] = {}


class Count(NamedTuple):
    """Tokens, and whether they were counted with the model's own vocabulary."""

    tokens: int
    exact: bool


def count_tokens(text: str, model: str = "") -> int:
    """Return the tokens of a text for a model."""
    return count(text, model).tokens


def count(text: str, model: str = "") -> Count:
    """Return the tokens of a text for a model, and whether that is exact."""
    if not text:
        return Count(0, exact=True)
    name = vocabulary_of(model)
    encoding = _encoding(name) if name else None
    key = (hash(text), len(text), name if encoding else "")
    tokens = _counts.get(key)
    if tokens is None:
        if len(_counts) >= _REMEMBERED:
            _counts.clear()
        tokens = _counts[key] = _measured(text, encoding)
    return Count(tokens, encoding is not None)


@functools.lru_cache(maxsize=256)
def vocabulary_of(model: str) -> str:
    """Return the name of a model's vocabulary, "" where it is not public. The id may follow a provider's name (`azure/gpt-4o`) or that of a
    fine-tuning (`ft:gpt-4o:…`)."""
    bare = model.rpartition("/")[2].removeprefix("ft:").lower()
    return next((name for beginning, name in _VOCABULARIES if bare.startswith(beginning)), "")


def _encoding(name: str) -> Encoding | None:
    """Return the counter of a vocabulary, None where none is installed; loaded once a process, which takes about a second."""
    if name not in _encodings:
        try:
            import bpe_openai

            _encodings[name] = bpe_openai.get_encoding(name)
        except ImportError:
            _encodings[name] = None
    return _encodings[name]


def _measured(text: str, encoding: Encoding | None) -> int:
    if encoding is None:
        return estimate_tokens(text, kind_of(text))
    return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> list[str]:
    """Return a text in pieces that the counter takes, cut where no token crosses, if there is such a place."""
    pieces, begin = [], 0
    while len(text) - begin > _MOST_CHARS:
        end = begin + _MOST_CHARS
        window = text[end - _WINDOW_CHARS : end + 1]
        ends = [match.end() for match in _END.finditer(window)]
        end += ends[-1] - _WINDOW_CHARS if ends else 0
        pieces.append(text[begin:end])
        begin = end
    return [*pieces, text[begin:]]


# --- kinds of content ---------------------------------------------------------------------------------------------------------------------

_SAMPLE_CHARS = 3_000
# A line number that Read puts before a line, whatever the line holds.
_NUMBERED = re.compile(r"\s*\d+(?:→|\t)")
_MATCH = re.compile(r"(?!\d)[^\s:]+[:-]\d+[:-]")
_DIFF = re.compile(r"diff --git |@@ -\d|--- |\+\+\+ |[+-](?![-+])")
_LOG = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|[-dl][rwx-]{9}|\S+/\S+$|(?:PASS|FAIL|INFO|WARN|ERROR|DEBUG|ok|not ok)\b|\S*\d\S*$"
)
_CODE_ENDS = tuple("{};(,[")
_CODE_MARKS = re.compile(r"[})\]]+[,;)]*\s*$|//|/\*|\*/?\s|#!|#include")
_CODE_WORDS = re.compile(
    r"(?:def|class|import|from|return|if|elif|else|for|while|const|let|var|function|export|public|private|func|fn|use|impl|struct|type"
    r"|package|async|await|try|except|catch|switch|case)\b.*(?:[:{;()=]|\bimport\b)"
)
_LEAST_CODE = 0.35  # and of markup
_MARKUP = re.compile(r'\s*(?:#{1,6} |[-*] |\d+\. |```|\||<[/!?a-zA-Z]|"[^"\n]*"\s*:|[{}\[\]],?\s*$)')


def kind_of(text: str) -> str:
    """Return the kind of a text's content, a key of policy/estimate.py, guessed from lines at its beginning, middle and end."""
    begin = text.lstrip()[:12]
    if begin.startswith(("diff --git", "@@ -")):
        return "diff"
    lines = _sample(text)
    if not lines:
        return "dialogue"
    if begin.startswith(("{", "[{", '["', "<?xml", "<!DOCTYPE")) and len(lines) < 3:
        return "markup"
    if _reaches(_NUMBERED.match, lines, 0.5):
        lines = [line[number.end() :] if (number := _NUMBERED.match(line)) else line for line in lines]
    return _most_likely(lines)


def _most_likely(lines: list[str]) -> str:
    """Return the kind that most of the lines look like; dialogue where they look like none."""
    if _reaches(_MATCH.match, lines, 0.6):
        return "matches"
    if any(line.startswith("@@ -") for line in lines) and _reaches(_DIFF.match, lines, 0.3):
        return "diff"
    if _reaches(_LOG.match, lines, 0.6):
        return "log"
    code, markup = (sum(map(bool, map(matches, lines))) / len(lines) for matches in (_is_code, _MARKUP.match))
    if code >= _LEAST_CODE and code >= markup:
        return "code"
    return "markup" if markup >= _LEAST_CODE else "dialogue"


def _reaches(matches: Callable[[str], object], lines: list[str], least: float) -> bool:
    """Return whether that share of the lines matches; it ends with the line after which no more can."""
    most = (1 - least) * len(lines)
    others = 0
    for line in lines:
        if not matches(line):
            others += 1
            if others > most:
                return False
    return True


def _is_code(line: str) -> bool:
    line = line.lstrip()
    begins = _CODE_WORDS if line[:1].isalpha() else _CODE_MARKS
    return line.rstrip().endswith(_CODE_ENDS) or begins.match(line) is not None


def _sample(text: str) -> list[str]:
    """Return lines of a text that are not empty, from three places of a long one, none of them longer than a pattern should read."""
    if len(text) > 3 * _SAMPLE_CHARS:
        middle = len(text) // 2
        text = "\n".join((text[:_SAMPLE_CHARS], text[middle : middle + _SAMPLE_CHARS], text[-_SAMPLE_CHARS:]))
    return [line[:200] for line in text.splitlines() if line.strip()]
