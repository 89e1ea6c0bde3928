"""Which kind of content a text is, by a look at some of its lines: a key of hooks/utils/policy/estimate.py. Pure."""

from __future__ import annotations

import re

_SAMPLE_CHARS = 3_000
# A line number that Read puts before a line, which says nothing about the line.
_NUMBERED = re.compile(r"\s*\d+(?:→|\t)")
_MATCH = re.compile(r"(?!\d)[^\s:]+[:-]\d+[:-]")
_DIFF = re.compile(r"diff --git |@@ -\d|--- |\+\+\+ |[+-](?![-+])")
_LOG = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|[-dl][rwx-]{9}|\S+/\S+$|(?:PASS|FAIL|INFO|WARN|ERROR|DEBUG|ok|not ok)\b|\S*\d\S*$"
)
_CODE = re.compile(
    r".*[{};(,\[]\s*$|\s*[})\]]+[,;)]*\s*$|\s*(?://|/\*|\*/?\s|#!|#include)"
    r"|\s*(?:def|class|import|from|return|if|elif|else|for|while|const|let|var|function|export|public|private|func|fn|use|impl|struct|type"
    r"|package|async|await|try|except|catch|switch|case)\b.*(?:[:{;()=]|\bimport\b)"
)
_MARKUP = re.compile(r'\s*(?:#{1,6} |[-*] |\d+\. |```|\||<[/!?a-zA-Z]|"[^"\n]*"\s*:|[{}\[\]],?\s*$)')


def kind_of(text: str) -> str:
    """The kind of content that estimates go by, guessed from the beginning, the middle and the end of a text."""
    begin = text.lstrip()[:12]
    if begin.startswith(("diff --git", "@@ -")):
        return "diff"
    lines = _sample(text)
    if not lines:
        return "dialogue"
    if begin.startswith(("{", "[{", '["', "<?xml", "<!DOCTYPE")) and len(lines) < 3:
        return "markup"
    numbered = sum(_NUMBERED.match(line) is not None for line in lines)
    if numbered * 2 > len(lines):
        lines = [_NUMBERED.sub("", line, count=1) for line in lines]
    return _most_likely(lines)


def _most_likely(lines: list[str]) -> str:
    """The kind that most of the lines look like; what looks like none of them is dialogue."""
    share = {
        "matches": _share(_MATCH, lines),
        "diff": _share(_DIFF, lines) if any(line.startswith("@@ -") for line in lines) else 0.0,
        "markup": _share(_MARKUP, lines),
        "code": _share(_CODE, lines),
        "log": _share(_LOG, lines),
    }
    for kind, least in (("matches", 0.6), ("diff", 0.3), ("log", 0.6), ("code", 0.35), ("markup", 0.35)):
        if share[kind] >= least and (kind != "code" or share["code"] >= share["markup"]):
            return kind
    return "dialogue"


def _share(pattern: re.Pattern[str], lines: list[str]) -> float:
    return sum(pattern.match(line) is not None for line in lines) / len(lines)


def _sample(text: str) -> list[str]:
    """Lines of a text that say something, from three places of a long one, none of them longer than a pattern should look at."""
    if len(text) > 3 * _SAMPLE_CHARS:
        middle = len(text) // 2
        text = "\n".join((text[:_SAMPLE_CHARS], text[middle : middle + _SAMPLE_CHARS], text[-_SAMPLE_CHARS:]))
    return [line[:200] for line in text.splitlines() if line.strip()]
