"""What of an output carries nothing: escape codes, progress that was overwritten, blank lines in a row, lines of a log that differ only in
times, hashes, counts. Pure.

Diffs, files and structured data are never touched: there a number, or an empty line, says something. So does a number that is part of a
name, that tells a place in a file, that is a value under a key or in a table, or that was measured: lines with such numbers all stay.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NamedTuple

    class Quiet(NamedTuple):
        """`text` as it enters · `lines`: how many are left out, which only the archive has."""

        text: str
        lines: int

else:
    from collections import namedtuple

    Quiet = namedtuple("Quiet", "text lines")

# Lines alike in a row, from which on the first, the last and a count stand for them.
LEAST_ALIKE = 12
_BLANKS = 2
_LONGEST = 1_000  # characters of such a line
# CSI and OSC sequences, and the two-byte ones: ECMA-48, 5.3 and 5.6. A link (OSC 8) holds an address that its text need not show.
_ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\](?!8;[^;\x07\x1b]*;[^\x07\x1b])[^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])"
# What stands beside a number that is none of a name: a space, a bracket that no word opens, a sign.
_LEFT, _RIGHT = r"(?<![^\s(\[{<#=*>])(?<!\w[(\[])", r"(?=[\s)\]}>,;:]|\.{2,}|\.?$|…)"
_TIME = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?)?|\d\d?:\d\d:\d\d(?:[.,]\d+)?"
_HASH = r"(?:sha\d+:)?(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_AMOUNT = r"\d+(?:[.,]\d+)?"
_SIZED = rf"{_AMOUNT}(?: ?[kKMGT]?i?B(?:/s)?|%)"
_COUNT = rf"{_AMOUNT}(?: ?(?:ms|s|m|h))?"
_SHARE = rf"(?:{_SIZED}|{_AMOUNT})/(?:{_SIZED}|{_AMOUNT})|{_SIZED}"
_VARIES = rf"{_LEFT}(?:(?P<time>{_TIME})|(?P<hash>{_HASH})|(?P<share>{_SHARE})|(?P<count>{_COUNT})){_RIGHT}"
# Beside its numbers such a line says something in words; a table's row, a key with a value and a line of a listing do not.
_WORD = r"[^\W\d_]{3}"
# Told by the line's form, in which a character stands for what varies.
_HASHES, _COUNTS = "\0h", "\0c"
_SAYS_MORE = (
    r"[\t|]|,.*,|;.*;|\S {2,}\S.*\S {2,}\S"  # a table
    r"|^\s*\0c[:-]"  # a match, a finding
    r"|^[\s*/\\]*(?:commit )?\0h(?:\s|$)"  # a commit
    r"|^\s*(?:[-*] )?[\"']?[\w.-]+[\"']?\s*[:=]\s*[\"']?-?\0c[\"']?,?\s*$"  # a key and its value
    r"|\b(?i:lines?|col|columns?|rows?|pos|position|offset|chars?)\b[ #:]*\0c"  # a place
)
_TROUBLE = r"(?i:error|warn|fail|fatal|panic|exception|denied|refused)"
_DATA = r"(?:[{]|\[[\s{\"\[\]]|<[\w!?/]|---\n|%YAML)"
_SEPARATORS = ("\t", ",", ";", "|")
# What tells progress in a line that was drawn over, beside its first word; a meter has no word, a spinner hardly a character.
_PROGRESS, _LETTER = r"%|\d[\w ]*/ ?\d", r"[^\W\d_]"
_SPINNER = 3


def quiet(text: str, handle: str = "") -> Quiet:
    """The text without noise. `handle`: of the archived whole, named where lines are left out."""
    import re

    plain = text
    if "\x1b" in text:
        plain = re.sub(_ESCAPES, "", text)
        if "\x1b" in plain and re.search(_ESCAPES, plain):
            plain = text  # codes within codes are no terminal's
    lines = plain.split("\n")
    if is_data(plain, lines):
        return Quiet(text, 0)
    if "\r" in plain:
        lines = list(map(_last_drawn, lines))
    return _thinned(lines, handle)


def _last_drawn(line: str) -> str:
    """What of a progress that was drawn over and over stood there in the end; any other line as it is."""
    import re

    body = line.rstrip("\r")
    *drawn, last = body.split("\r")
    word = re.search(_WORD, last)
    for piece in drawn:
        told = piece.strip()
        again = word is not None and told.startswith(last[: word.end()].strip())
        if len(told) > _SPINNER and not again and re.search(_LETTER, told) and not re.search(_PROGRESS, told):
            return line
    return last + line[len(body) :]


def is_data(text: str, lines: Sequence[str]) -> bool:
    """Whether a text is a diff, a table or markup."""
    import re

    if re.match(_DATA, text.lstrip()) or any(line.startswith(("@@ ", "diff --git ", "+++ ")) for line in lines):
        return True
    filled = [line for line in lines[:200] if line.strip()]
    for separator in _SEPARATORS:
        counts = {line.count(separator) for line in filled}
        if len(filled) >= LEAST_ALIKE and len(counts) == 1 and counts != {0}:
            return True
    return False


def _thinned(lines: Sequence[str], handle: str) -> Quiet:
    kept: list[str] = []
    left_out = 0
    end = lines[-1:] if lines[-1] == "" else []  # behind the last line's end there is none
    for run, alike in _runs(lines[: len(lines) - len(end)]):
        if not run[0].strip() and len(run) > _BLANKS:
            kept += run[:_BLANKS]
        elif alike and len(run) >= LEAST_ALIKE:
            kept += [run[0], _count(len(run) - 2, handle), run[-1]]
            left_out += len(run) - 2
        else:
            kept += run
    return Quiet("\n".join([*kept, *end]), left_out)


def _runs(lines: Sequence[str]) -> Iterator[tuple[Sequence[str], bool]]:
    """(lines, whether they are alike and none of them is missed), runs of blank ones and of those of one form, all in order."""
    forms = _forms(lines)
    at = 0
    while at < len(lines):
        end, blank = at + 1, not lines[at].strip()
        while end < len(lines) and (not lines[end].strip() if blank else forms[at] and forms[end] == forms[at]):
            end += 1
        yield lines[at:end], not blank and bool(forms[at]) and end - at >= LEAST_ALIKE and not _measured(lines[at:end])
        at = end


def _forms(lines: Sequence[str]) -> list[str]:
    """Of each line what stays the same when its times, hashes and counts vary; "" where that would say less than the line."""
    import re

    varies, word, more, trouble = (re.compile(pattern) for pattern in (_VARIES, _WORD, _SAYS_MORE, _TROUBLE))
    forms: dict[str, str] = {}
    for line in lines:
        if line not in forms:
            body = line.rstrip("\r")
            form = varies.sub(lambda found: "\0" + (found.lastgroup or "")[0], body)
            trouble_in = trouble.search(form) and (_COUNTS in form or _HASHES in form)
            says = form == body or len(body) > _LONGEST or trouble_in or not word.search(form) or more.search(form)
            forms[line] = "" if says else form
    return [forms[line] for line in lines]


def _measured(run: Sequence[str]) -> bool:
    """Whether a fraction goes up and down in lines of one form: that was measured, and is what they say."""
    import re

    rows = [[found["count"] for found in re.finditer(_VARIES, line.rstrip("\r"))] for line in run]
    for column in zip(*rows):
        told = [float(_number(value)) for value in column if value]
        if any(value and "." in value for value in column) and told not in (sorted(told), sorted(told, reverse=True)):
            return True
    return False


def _number(count: str) -> str:
    """The number of a count, without its unit."""
    return count.rstrip(" msh").replace(",", ".")


def _count(lines: int, handle: str) -> str:
    return f"[{lines} lines like these{': popkit restore ' + handle if handle else ''}]"
