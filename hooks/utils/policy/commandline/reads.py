"""Read which lines of which files a command such as `cat`, `sed -n` or `head` shows. Pure."""

from __future__ import annotations

from ..parts import EXCERPT, WHOLE, is_number
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


def counts_on(words: list[str]) -> bool:
    """Return whether the numbers of lines run on from a file to the next."""
    return words[0].endswith(("sed", "awk")) and not any(word == "--separate" or (word[:1] == "-" and word[-1] == "s") for word in words)


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
    intervals, files = [WHOLE], words[1:]
    if any(word[:1] == "-" and word != "-" for word in files):
        intervals, files = _with_options(words)
    # `less +20`: where to begin.
    return intervals, [word for word in files if word[:1] != "+"] if words[0].rpartition("/")[2] in ("less", "more") else files


def _with_options(words: list[str]) -> Excerpts:
    bat = words[0].rpartition("/")[2] in ("bat", "batcat")
    number = words[0].rpartition("/")[2] == "nl"
    pairs, others = options(words, "rlH" if bat else "bdfhilnsvw" if number else "", _BAT_VALUES)
    ranges = [_colon_range(value) for name, value in pairs if name in ("-r", "--line-range")] if bat else []
    return ranges or [WHOLE], others


def _colon_range(text: str) -> list[int]:
    start, colon, end = text.partition(":")
    if not colon:
        return _lines(start, start)
    return _lines(start or "1", end or "$")


def _lines(start: str, end: str) -> list[int]:
    """Return the interval of two line numbers as `sed` writes them: `$` is the last, `+n` counts on from the start."""
    if not is_number(start):
        return EXCERPT
    first = int(start)
    if end == "$":
        return [first, 0] if first else EXCERPT
    if end[:1] == "+" and is_number(end[1:]):
        return [first, first + int(end)]
    if not is_number(end) or not first:
        return EXCERPT
    return [first, max(first, int(end))]


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
    if others and others[0][:1] == "+" and is_number(others[0][1:]):
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
        return ([_lines("1", last)], others) if is_number(last) else None
    ranges, last = [], ""
    for command in ";".join(scripts).replace("\n", ";").split(";"):
        command = command.strip().replace(" ", "")
        if command.endswith("q"):
            last = command[:-1] if is_number(command[:-1]) else "0"
        elif command:
            ranges.append(_sed_range(command))
    is_cut = bool(last) and any(not end or end > int(last) for _, end in ranges)
    return (ranges if ranges and EXCERPT not in ranges and not is_cut else [EXCERPT]), others


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
    first, both, last = text.partition("&&")
    if both:
        begin, end = _line(first, ">"), _line(last, "<")
    elif "," in text:
        first, _, last = text.partition(",")
        begin, end = _line(first, "="), _line(last, "=")
    elif text[2:3] == ">":
        begin, end = _line(text, ">"), "$"
    elif text[2:3] == "<":
        begin, end = "1", _line(text, "<")
    else:
        begin = end = _line(text, "=")
    if not begin or not end or (end != "$" and int(end) < int(begin)):
        return None
    return [_lines(begin, end)], others


def _line(comparison: str, sign: str) -> str:
    """Return the line that `NR==5` is, at which `NR>=5` begins or `NR<=5` ends; "" for anything else."""
    if comparison[:3] != "NR" + sign:
        return ""
    number = comparison[3:].removeprefix("=")
    if not is_number(number):
        return ""
    if comparison[3:4] == "=":
        return number
    return str(int(number) + {">": 1, "<": -1}[sign]) if sign != "=" else ""


_READERS = {
    **dict.fromkeys(("cat", "bat", "batcat", "nl", "less", "more", "gcat"), _whole),
    **dict.fromkeys(("head", "ghead"), _head),
    **dict.fromkeys(("tail", "gtail"), _tail),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("awk", "gawk", "mawk"), _awk),
}
