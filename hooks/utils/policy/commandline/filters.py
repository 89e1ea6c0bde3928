"""Read how much of an output the rest of its pipeline keeps: `| tail -5`, `| grep -v ok`. Pure."""

from __future__ import annotations

from ..calls import bounded
from ..parts import AT_MOST, LESS, MORE, is_number
from .action import KEY_CHARS

# Everything passes through these, and through the second kind what a search has found, in another order.
_PASSES = frozenset("cat tee less more nl bat Out-String Out-Host".split())
_PASSES_MATCHES = frozenset(("sort", "uniq"))
# These let pass some lines as they are, unless an option says otherwise.
_PICKS = frozenset("grep egrep fgrep rg ggrep".split())
_NO_LINES = frozenset("cqlL")
_ENDS = {"head": "head", "ghead": "head", "tail": "tail", "gtail": "tail"}
# Behind these, too, part of a file is left, in some form.
SHAPES = frozenset("tee sort uniq wc cut tr tac rev fold column od xxd hexdump strings jq yq Select-Object Select-String".split())
_ENDS_IN_WINDOWS = {"-first": "head", "-last": "tail"}


def marks(stages: list, is_search: bool) -> list[str]:
    """Return the marks of what these stages leave: each but those that let everything pass is a limit, behind the limits before it. What
    does more than to leave out lines makes another output of it."""
    found = []
    behind = ""
    for stage in stages:
        words = stage.words or ["?"]
        if words[0] in _PASSES or (is_search and words[0] in _PASSES_MATCHES and not _counts(words)):
            continue
        limit = _limit(words)
        behind += " | " + (limit or " ".join(words))
        text = bounded(behind, KEY_CHARS) if len(behind) > KEY_CHARS else behind
        found.append(LESS + text)
        if not limit:
            found.append(MORE + text)
    return found


def _limit(words: list[str]) -> str:
    """Return the limit that a stage sets, if all that it does is to leave out lines; else ""."""
    program = words[0]
    if program in _ENDS:
        number = _number(words)
        return f"{_ENDS[program]}{AT_MOST}{number}" if number else ""
    if program == "Select-Object" and len(words) == 3 and words[1].lower() in _ENDS_IN_WINDOWS and is_number(words[2]):
        return f"{_ENDS_IN_WINDOWS[words[1].lower()]}{AT_MOST}{words[2]}"
    if program == "Select-String":
        return " ".join(words)
    if program in _PICKS:
        letters = "".join([word[1:] for word in words if word[:1] == "-" and word[1:2] != "-"])
        long = any(word in ("--count", "--quiet", "--files-with-matches", "--files-without-match") for word in words)
        return "" if long or not _NO_LINES.isdisjoint(letters) else " ".join(words)
    if program in ("sed", "gsed") and len(words) == 3 and words[1] == "-n" and words[2].rstrip("p").replace(",", "").isdigit():
        return " ".join(words)
    return ""


def _counts(words: list[str]) -> bool:
    return words[0] == "uniq" and len(words) > 1


def _number(words: list[str]) -> str:
    """Return the number of lines that `head` or `tail` shows; "" where that is not all that it is told."""
    if len(words) == 1:
        return "10"
    rest = "".join(words[1:])
    if rest[:1] != "-" or len(words) > 3:
        return ""
    number = rest.removeprefix("--lines").lstrip("-n=")
    return number if is_number(number) else ""
