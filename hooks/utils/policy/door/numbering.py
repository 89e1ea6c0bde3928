"""The numbers that a listing puts before its lines. Pure.

A Read shows `     1→text` or `1<tab>text`, so do `cat -n`, `nl` and what the host shows of a file that was written. Only numbers that
count on from line to line are a listing's: of those between a line and another nothing is lost when the two keep theirs. OpenCode shows
`1: text`, behind a line that tells a file's text from any other that has colons.
"""

from __future__ import annotations

import re  # noqa: TID253  no hook loads the door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# What a listing puts before a line: spaces, a number, a sign. Of more characters than these it is no line's number.
_WIDEST = 13
_LISTED, _COLON_LISTED = re.compile("( *(?:0|[1-9][0-9]*))[→\t]"), re.compile("( *(?:0|[1-9][0-9]*)): ")
OPENS = "<content>"


def listed(whole: Sequence[str]) -> tuple[list[str], list[tuple[int, int, int | None]]]:
    """Return (lines without a listing's numbers, [(begin, end, number of the first)] of the stretches that they make up: each either all
    numbered, one by one, or not at all, and then None)."""
    prefixes = _prefixes(whole, _LISTED)
    if OPENS in whole:
        begin = whole.index(OPENS) + 1
        prefixes[begin:] = [prefix or other for prefix, other in zip(prefixes[begin:], _prefixes(whole[begin:], _COLON_LISTED))]
    lines = list(whole)
    stretches: list[tuple[int, int, int | None]] = []
    if not any(prefixes):
        return lines, [(0, len(lines), None)] if lines else []
    begin = at = 0
    while at < len(whole):
        end = at + 1
        while end < len(whole) and _counts_on(prefixes[end - 1], prefixes[end]):
            end += 1
        if end - at > 1:
            if begin < at:
                stretches.append((begin, at, None))
            stretches.append((at, end, _number(prefixes[at])))
            lines[at:end] = [line[len(prefix) :] for line, prefix in zip(whole[at:end], prefixes[at:end])]
            begin = end
        at = end
    if begin < len(whole):
        stretches.append((begin, len(whole), None))
    return lines, stretches


def _prefixes(lines: Sequence[str], listed: re.Pattern[str]) -> list[str]:
    """Return what a listing puts before each line; "" where there is nothing."""
    return [match.group() if (match := listed.match(line, 0, _WIDEST)) else "" for line in lines]


def _counts_on(before: str, after: str) -> bool:
    """Return whether the number before a line follows that of the line before, written in the same way."""
    if not before or not after or before[-1] != after[-1]:
        return False
    padded = len(before) == len(after) or (before[0] != " " != after[0])
    return padded and _number(after) == _number(before) + 1


def _number(prefix: str) -> int:
    return int(prefix.rstrip("→\t: "))
