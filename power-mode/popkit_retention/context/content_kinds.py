"""Classify a text by its most likely kind of content, on which estimates of tokens depend. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

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
    """Return the kind that most of the lines look like; dialogue where no kind fits."""
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
    """Return whether that share of the lines matches. Reading ends as soon as the answer is certain."""
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
