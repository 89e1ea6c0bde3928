"""Lines as they are without the numbers that a listing puts before them, and where those count on. Pure.

A Read shows `     1→text` or `1<tab>text`, so do `cat -n`, `nl` and what the host shows of a file that was written. Only numbers that count
on from line to line are a listing's: of those between a line and another nothing is lost when the two keep theirs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Digits and spaces before the sign; a number of more is no line's.
_WIDEST = 12


def listed(whole: Sequence[str]) -> tuple[list[str], list[tuple[int, int, int | None]]]:
    """(lines without a listing's numbers, [(begin, end, number of the first)] of the stretches that they make up: each either all numbered,
    one by one, or not at all, and then None)."""
    prefixes = list(map(_prefix, whole))
    lines = list(whole)
    stretches: list[tuple[int, int, int | None]] = []
    begin = at = 0
    while at < len(whole):
        end = at + 1
        while end < len(whole) and _counts_on(prefixes[end - 1], prefixes[end]):
            end += 1
        if end - at > 1:
            if begin < at:
                stretches.append((begin, at, None))
            stretches.append((at, end, int(prefixes[at][:-1])))
            lines[at:end] = [line[len(prefix) :] for line, prefix in zip(whole[at:end], prefixes[at:end])]
            begin = end
        at = end
    if begin < len(whole):
        stretches.append((begin, len(whole), None))
    return lines, stretches


def _prefix(line: str) -> str:
    """What a listing puts before a line: spaces, a number, a sign; "" where there is none."""
    head = line[: _WIDEST + 1]
    for sign in ("→", "\t"):
        number, found, _ = head.partition(sign)
        digits = number.lstrip(" ")
        if found and digits.isdecimal() and digits.isascii() and (digits[0] != "0" or digits == "0"):
            return number + sign
    return ""


def _counts_on(before: str, after: str) -> bool:
    """Whether the number before a line follows that of the line before, written in the same way."""
    if not before or not after or before[-1] != after[-1]:
        return False
    padded = len(before) == len(after) or (before[0] != " " != after[0])
    return padded and int(after[:-1]) == int(before[:-1]) + 1
