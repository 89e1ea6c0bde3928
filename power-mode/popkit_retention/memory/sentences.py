"""Text -> sentences: chat turns, notes and Markdown. Pure.

A text is first read as lines, as Markdown has them: a heading, a list item, a quoted line, a row of a table and a fenced block of code
stand for themselves; other lines run on where the text was wrapped. Blocks are then cut where a sentence ends. Code and rows of
tables are never cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# A line of so many characters was wrapped, and the next one continues it.
WRAPPED = 50

# After these a full stop never ends a sentence …
_TITLES = frozenset("mr mrs ms dr prof rev gen sen capt sgt col lt st mt ft vs e.g i.e eg ie cf viz al incl excl esp resp approx".split())
# … after these not before a number …
_BEFORE_NUMBERS = frozenset("no nos nr p pp fig figs sec vol eq ver v ca c jan feb mar apr jun jul aug sep sept oct nov dec".split())
# … and after these, and after initials, it does before a word that begins sentences.
_EITHER = frozenset("etc inc ltd co corp jr sr bros dept ave blvd rd avg tel ext".split())
_STARTERS = frozenset(
    "i i'm i've i'd i'll it it's its he he's she she's we we're we've they they're you you're your the a an this that that's these those "
    "there there's then but and so or if when while what who where why how do did does is are was were my our his her their in on at after "
    "before for with as no not yes now also both let let's please thanks".split()
)

_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_MARKED = re.compile(r"[ \t]*(?:[-*+•–][ \t]|\d{1,3}[.)][ \t]|\(\d{1,3}\)[ \t]|#{1,6}[ \t]|>|\||\[[ xX]\][ \t])")
# Lines that end with themselves, whatever comes next.
_CLOSED = re.compile(r"[ \t]*(?:#{1,6}[ \t]|>|\|)")
_RULE = re.compile(r"[ \t]*(?:[-=*_][ \t]*){3,}$")
_EMOJI = "\u2190-\u21ff\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff"
# Where a sentence may end: its marks, what closes with it, smileys. What may follow is looked at afterwards, so that no text takes long.
_SMILE = rf"(?:[{_EMOJI}]+|[:;]-?[)(DP](?!\w))"
_END = re.compile(rf"(?P<mark>[.!?…‽]+)(?P<close>[\"'”’»)\]*_]*)(?:[ \t]?{_SMILE})*|(?P<wide>[。！？]+[」』”）]*)|{_SMILE}+")
# Code and brackets are never cut; a bracket that stays open for long is none.
_WHOLE = re.compile(r"`{1,3}[^`]{1,300}`{1,3}|\([^()]{1,300}\)")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]$")
_OPENING = "\"'“‘«([*_"
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class Sentence:
    """`text`: the sentence, each run of blanks as one (code and rows as they are) · `start`, `end`: where it stands in the whole text."""

    text: str
    start: int
    end: int


def split(text: str) -> list[Sentence]:
    """The sentences of a text, in its order. No character but blanks is outside of them; a sentence split again is itself."""
    found: list[Sentence] = []
    for start, end, whole in _blocks(text):
        for first, last in [(start, end)] if whole else _cuts(text, start, end):
            while first < last and text[first].isspace():
                first += 1
            while last > first and text[last - 1].isspace():
                last -= 1
            if first < last:
                shown = text[first:last]
                found.append(Sentence(shown if whole else _BLANKS.sub(" ", shown), first, last))
    return found


def _blocks(text: str) -> list[tuple[int, int, bool]]:
    """(start, end, whether it is never cut) of what stands for itself."""
    blocks: list[tuple[int, int, bool]] = []
    fence, opened, place = "", 0, 0
    begun = -1  # where a paragraph that goes on has begun
    for line in text.splitlines(keepends=True):
        start, place = place, place + len(line)
        shown = line.strip()
        if fence:
            if shown.startswith(fence) and not shown.strip(fence[0]):
                blocks.append((opened, place, True))
                fence = ""
            continue
        fenced = _FENCE.match(line)
        if begun >= 0 and (not shown or fenced or _MARKED.match(line) or _RULE.match(shown)):
            blocks.append((begun, start, False))
            begun = -1
        if fenced:
            fence, opened = fenced[1], start
        elif shown:
            begun = start if begun < 0 else begun
            if _CLOSED.match(line) or not _runs_on(shown, text[place : place + 80]):
                blocks.append((begun, place, shown.startswith("|")))
                begun = -1
    if fence:
        blocks.append((opened, len(text), True))
    elif begun >= 0:
        blocks.append((begun, len(text), False))
    return blocks


def _runs_on(line: str, following: str) -> bool:
    """Whether a sentence may go on in the next line: this one was as long as wrapped lines are, or the next one begins small."""
    return len(line) >= WRAPPED or following.lstrip(" \t")[:1].islower()


def _cuts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The sentences of a block."""
    cuts: list[tuple[int, int]] = []
    first = start
    whole = _WHOLE.finditer(text, start, end)
    shut = next(whole, None)
    for found in _END.finditer(text, start, end):
        while shut and shut.end() <= found.start():
            shut = next(whole, None)
        if shut and shut.start() <= found.start() and found.end() < shut.end():
            continue
        if _ends(text, first, found, end):
            cuts.append((first, found.end()))
            first = found.end()
    return [*cuts, (first, end)]


def _ends(text: str, first: int, found: re.Match[str], end: int) -> bool:
    """Whether the sentence that began at `first` ends with what was found."""
    if found["wide"]:
        return True
    if found.end() >= end or not text[found.end()].isspace():
        return False
    following = text[found.end() : found.end() + 60].split()[:1]
    word = following[0].lstrip(_OPENING) if following else ""
    small = word[:1].islower()
    mark = found["mark"]
    if mark is None or mark.startswith(("..", "…")):
        return not small
    if mark != ".":
        return not (small and found["close"])
    return _full_stop_ends(text[max(first, found.start() - 30) : found.start()], first == found.start(), word, bool(found["close"]))


def _full_stop_ends(before: str, at_start: bool, following: str, closed: bool) -> bool:
    """Whether a full stop ends the sentence so far (`before`: its last characters), when this word comes next."""
    small = following[:1].islower()
    words = before.split()
    if at_start or before[-1:].isspace():
        return not small
    if len(words) == 1 and words[0].isdigit() and len(words[0]) <= 3:
        return False  # the number of a list's item
    last = words[-1].lstrip(_OPENING).lower()
    if closed:
        return not small
    if last in _TITLES or (last in _BEFORE_NUMBERS and following[:1].isdigit()):
        return False
    if last in _EITHER or (_INITIALS.match(last) and last != "i"):
        return not small and following.rstrip(",.!?;:").lower().replace("’", "'") in _STARTERS
    return not small or len(last) > 2
