"""Read which lines of which files `cat`, `sed -n`, `head` and similar commands show. Pure."""

from __future__ import annotations

from ..parts import EXCERPT, WHOLE
from .lookups import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    # The intervals of lines, and the files.
    Excerpts = tuple[list[list[int]], list[str]]

# Options of `git show` that change nothing of a file.
_SHOWN_ALIKE = frozenset(("--no-color", "--textconv", "--no-textconv"))
_BAT_VALUES = frozenset(
    "--line-range --language --theme --style --paging --color --decorations --wrap --tabs --file-name --highlight-line".split()
)


def shown(program: str, words: list[str]) -> Excerpts | None:
    """Return the intervals shown of each of the files, and the files; None when the words do anything but show lines."""
    reader = _READERS.get(program)
    found = reader(words) if reader else None
    return (found[0], [file for file in found[1] if file != "-"]) if found else None


def of_revisions(words: list[str]) -> list[tuple[str, str]]:
    """Return (revision, path) of each file that `git show` or `git cat-file`, given without git's own words, shows as it is in a commit;
    none where it shows anything else, too."""
    files = []
    for word in words[2:] if words[:2] in (["cat-file", "-p"], ["cat-file", "blob"]) else words[1:] if words[0] == "show" else ():
        revision, colon, path = word.partition(":")
        if revision[:1] == "-" and not colon and word in _SHOWN_ALIKE:
            continue
        if revision[:1] == "-" or not path or path[-1] == "/" or path[:1] == "/":
            return []
        files.append((revision, path))
    return files


def _whole(words: list[str]) -> Excerpts:
    for word in words:
        if word[:1] == "-" and word != "-":
            return _with_options(words)
    return [WHOLE], words[1:]


def _with_options(words: list[str]) -> Excerpts:
    bat = words[0].rpartition("/")[2] in ("bat", "batcat")
    number = words[0].rpartition("/")[2] == "nl"
    pairs, others = options(words, "rlH" if bat else "bdfhilnsvw" if number else "", _BAT_VALUES)
    ranges = [_colon_range(value) for name, value in pairs if name in ("-r", "--line-range")] if bat else []
    return ranges or [WHOLE], [word for word in others if word[:1] != "+"]


def _colon_range(text: str) -> list[int]:
    start, colon, end = text.partition(":")
    if not colon:
        return _lines(start, start)
    return _lines(start or "1", end or "$")


def _lines(start: str, end: str) -> list[int]:
    """Return the interval of two line numbers as `sed` writes them: `$` is the last, `+n` counts on from the start."""
    if not _is_number(start):
        return EXCERPT
    first = int(start)
    if end == "$":
        return [first, 0] if first else EXCERPT
    if end[:1] == "+" and _is_number(end[1:]):
        return [first, first + int(end[1:])]
    if not _is_number(end) or not first:
        return EXCERPT
    return [first, max(first, int(end))]


def _is_number(text: str) -> bool:
    # Longer numbers are no line numbers, and int() refuses hostile ones.
    return text.isascii() and text.isdigit() and len(text) < 10


def _head(words: list[str]) -> Excerpts:
    count = "10"
    pairs, others = options(words, "nc", frozenset(("--lines", "--bytes")))
    digits = "".join([name[1:] for name, value in pairs if name[1:].isdigit()])
    if digits:
        count = digits
    for name, value in pairs:
        if name in ("-n", "--lines"):
            count = value
        elif name in ("-c", "--bytes"):
            count = ""
    return [_lines("1", count.strip().removeprefix("+")) if count != "0" else EXCERPT], others


def _tail(words: list[str]) -> Excerpts:
    pairs, others = options(words, "nc", frozenset(("--lines", "--bytes")))
    start = ""
    for name, value in pairs:
        if name in ("-n", "--lines"):
            start = value.strip()
    if others and others[0][:1] == "+" and _is_number(others[0][1:]):
        start = others.pop(0)
    return [_lines(start[1:], "$") if start[:1] == "+" else EXCERPT], others


def _sed(words: list[str]) -> Excerpts | None:
    scripts: list[str] = []
    pairs, others = options(words, "efl", frozenset(("--expression", "--file", "--line-length")))
    quiet = False
    for name, value in pairs:
        if name in ("-i", "--in-place"):
            return None
        if name in ("-n", "--quiet", "--silent"):
            quiet = True
        elif name in ("-e", "--expression"):
            scripts.append(value)
        elif name in ("-f", "--file"):
            return [EXCERPT], others
    if not scripts and others:
        scripts.append(others.pop(0))
    if not quiet:
        last = scripts[0][:-1] if len(scripts) == 1 and scripts[0][-1:] == "q" else ""
        return ([_lines("1", last)], others) if _is_number(last) else None
    ranges = []
    for command in ";".join(scripts).replace("\n", ";").split(";"):
        command = command.strip().replace(" ", "")
        if command and not command.endswith("q"):
            ranges.append(_sed_range(command))
    return (ranges if ranges and EXCERPT not in ranges else [EXCERPT]), others


def _sed_range(command: str) -> list[int]:
    address = command[:-3] if command.endswith("{p}") else command[:-1] if command.endswith("p") else ""
    start, comma, end = address.partition(",")
    return _lines(start, end if comma else start)


def _awk(words: list[str]) -> Excerpts | None:
    """Return what a program shows that prints lines by number, and no other: `NR>=1 && NR<=9`, `NR==7`, `NR==1,NR==9`."""
    pairs, others = options(words, "Fvf")
    if not others or any(name == "-f" for name, value in pairs):
        return None
    text = others.pop(0).replace(" ", "")
    text = text.removesuffix("{print}").removesuffix("{print$0}")
    if text[:2] != "NR":
        return None
    first, both, last = text.partition("&&")
    if not both:
        first, both, last = text.partition(",")
        last = last.replace("==", "<=")
    start = first[2:].lstrip("=")
    if not both:
        return ([_lines(start, start)], others) if _is_number(start) else _awk_open(first[2:], others)
    after = start[1:].lstrip("=") if start[:1] == ">" else start
    until = last[2:].lstrip("<=") if last[:3] == "NR<" else ""
    if not (_is_number(after) and _is_number(until)):
        return None
    begin = int(after) + (start[:1] == ">" and start[1:2] != "=")
    return [_lines(str(begin), str(int(until) - (last[3:4] != "=")))], others


def _awk_open(comparison: str, others: list[str]) -> Excerpts | None:
    number = comparison.lstrip("<>=")
    if not _is_number(number):
        return None
    strict = "=" not in comparison
    if comparison[:1] == ">":
        return [_lines(str(int(number) + strict), "$")], others
    return [_lines("1", str(int(number) - strict))], others


_READERS = {
    **dict.fromkeys(("cat", "bat", "batcat", "nl", "less", "more", "gcat"), _whole),
    **dict.fromkeys(("head", "ghead"), _head),
    **dict.fromkeys(("tail", "gtail"), _tail),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("awk", "gawk", "mawk"), _awk),
}
