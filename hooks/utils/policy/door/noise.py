"""Remove noise from an output: escape codes, overwritten progress, runs of blank lines, repeated lines. Pure.

Escape codes, progress and blank lines are lost; a line repeated in a row is not, for it stays once, and the next line says how often.
Lines that differ in anything all stay, for the one number that differs may be what was asked for. Diffs, tables and structured data are
never touched.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BLANKS = 2
# A count that saves fewer characters than this is one more thing to understand.
_LEAST_SAVED = 40
# CSI and OSC sequences, and the two-byte ones: ECMA-48, 5.3 and 5.6. A link (OSC 8) holds an address that its text need not show.
_ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\](?!8;[^;\x07\x1b]*;[^\x07\x1b])[^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])"
# Of these, what moves the cursor: between two words it is what keeps them apart.
_MOVES = r"\x1b\[[0-9;]*[A-Hdf`a]"
_TABLE = r"[\t|]|,.*,|;.*;|\S {2,}\S.*\S {2,}\S|[,{(\[]\s*$"
_DATA = r"(?:[{]|\[[\s{\"\[\]]|<[\w!?/]|---\n|%YAML)"
_SEPARATORS = ("\t", ",", ";", "|")
# Rows that have one form: from so many on they are a table.
_LEAST_ROWS = 12
_COUNT = r"\[the line above stands \d+ times? in a row\]\r?"
# A meter of times, as curl draws it, has no word; a spinner hardly a character.
_METER = r"(?:\s(?:[\d-]{1,3}:)?[\d-]{1,2}:[\d-]{2}){3}"
_SPINNER = 3
_WORD = r"[^\W\d_]{2,}"
_AMOUNT = r"\d+(?:\.\d+)?"
_SIZE = rf"{_AMOUNT} ?(?:[kKMGT]?i?(?:B|b)(?:/s|ps)?|it/s|s/it)(?!\w)"
_CLOCK = r"\??\d*:?\d\d:\d\d|\?"
# How far it is: a share, or so many of so many.
_SHARE = rf"(?P<share>{_AMOUNT}) ?%|(?P<done>{_AMOUNT}) ?(?:/|of) ?(?P<all>{_AMOUNT})(?!\w)"
_TROUBLE = r"(?i:error|warn|fail|fatal|panic|exception|denied|refused|retry|timeout|timed out|skip|missing|not )|\w=[^=>\s]"


def quiet(text: str) -> str:
    """Return the text without noise; longer than it was only where a line of its own looks like one of our counts."""
    plain = _without_codes(text)
    lines = plain.split("\n")
    if is_data(plain, lines):
        return text
    if "\r" in plain:
        lines = list(map(_last_drawn, lines))
    return "\n".join(_counted(lines))


def has_count(text: str) -> bool:
    """Return whether a line of a text looks like a count of ours."""
    import re

    return " in a row]" in text and any(map(re.compile(_COUNT).fullmatch, text.split("\n")))


def _without_codes(text: str) -> str:
    import re

    if "\x1b" not in text:
        return text
    plain = _strip(text)
    return plain if _strip(plain) == plain and not re.search(_ESCAPES, re.sub(_MOVES, "", plain)) else text  # codes in codes: no terminal's


def _strip(text: str) -> str:
    import re

    def moved(match: re.Match[str]) -> str:
        before, behind = text_of_moves[: match.start()][-1:], text_of_moves[match.end() :][:1]
        return match[0] if before.strip() and behind.strip() else ""

    text_of_moves = re.sub(_ESCAPES, lambda match: match[0] if re.fullmatch(_MOVES, match[0]) else "", text)
    return re.sub(rf"(?:{_MOVES})+", moved, text_of_moves)


def _last_drawn(line: str) -> str:
    """Return the line without the progress that was drawn over by what it went on to; whatever else was drawn over stays."""
    body = line.rstrip("\r")
    *drawn, last = body.split("\r")
    pieces = [last]
    for piece in reversed(drawn):
        if not _goes_on(piece.strip(), pieces[-1].strip()):
            pieces.append(piece)
    return "\r".join(reversed(pieces)) + line[len(body) :]


def _goes_on(line: str, then: str) -> bool:
    """Return whether a text that was drawn over says nothing but how far it was on the way to the next."""
    import re

    if line == then or not line:
        return True
    if len(line) <= _SPINNER and not any(char.isalnum() for char in line):
        return True
    if re.search(_TROUBLE, line):
        return False
    if line.endswith(("...", "…")) and then.startswith(line):
        return True
    if re.search(_METER, " " + line) and not re.search(_WORD, line):
        return bool(re.search(_METER, " " + then))
    (far, rest), (further, other) = _progress(line), _progress(then)
    return bool(far) and len(far) == len(further) and all(map(_no_less, far, further)) and rest <= other


def _no_less(one: tuple[float, str], other: tuple[float, str]) -> bool:
    return one[1] == other[1] and one[0] <= other[0]


def _progress(line: str) -> tuple[list[tuple[float, str]], set[str]]:
    """Return how far it is, [(of what is done, of how much)]; and what else it says, without sizes and clocks, whose changes go with
    that."""
    import re

    rest = re.sub(rf"{_SIZE}(?: ?/ ?{_SIZE})?", " ", line)
    far = [(float(match["share"] or match["done"]), match["all"] or "%") for match in re.finditer(_SHARE, rest)]
    rest = re.sub(_CLOCK, " ", re.sub(_SHARE, " ", rest))
    return far, set(re.findall(r"\w+(?:[./:-]\w+)*", rest))


def is_data(text: str, lines: Sequence[str]) -> bool:
    """Return whether a text is a diff, a table or markup."""
    import re

    if re.match(_DATA, text.lstrip()) or any(line.startswith(("@@ ", "diff --git ", "+++ ")) for line in lines):
        return True
    filled = [line for line in lines[:200] if line.strip()]
    for separator in _SEPARATORS:
        counts = {line.count(separator) for line in filled}
        if len(filled) >= _LEAST_ROWS and len(counts) == 1 and counts != {0}:
            return True
    return False


def _counted(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines, of those that are the same in a row one and their count; where a line looks like a count, the one before has its
    own."""
    import re

    end = lines[-1:] if lines[-1] == "" else []  # behind the last line's end there is none
    is_count, table = re.compile(_COUNT).fullmatch, re.compile(_TABLE).search
    at, most = 0, len(lines) - len(end)
    while at < most:
        run = _run(lines, at, most)
        line, count = lines[at], run - at
        if not line.strip():
            yield from lines[at : min(run, at + _BLANKS)]
        elif count > 1 and (is_count(line) or (_saves(line, count) and not table(line))):
            yield line
            yield _count(count)
            at = run
            continue
        else:
            yield from lines[at:run]
        if run < most and is_count(lines[run]):
            yield _count(1)
        at = run
    yield from end


def _run(lines: Sequence[str], at: int, most: int) -> int:
    """Return the end of the run of blank lines, or of the same line, that begins here."""
    end, blank = at + 1, not lines[at].strip()
    while end < most and (not lines[end].strip() if blank else lines[end] == lines[at]):
        end += 1
    return end


def _saves(line: str, count: int) -> bool:
    return (count - 1) * (len(line) + 1) >= len(_count(count)) + 1 + _LEAST_SAVED


def _count(times: int) -> str:
    return f"[the line above stands {times} time{'s' * (times > 1)} in a row]"
