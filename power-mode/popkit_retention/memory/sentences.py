"""Sentences of texts (chat turns, notes, Markdown), with a measure of how much each of them says. Pure; the measure is made for English.

A text is first read as lines, as Markdown has them: a heading, a list item, a quoted line, a row of a table and a fenced block of code are
blocks of their own; other lines are joined where the text was wrapped. Blocks are then cut where a sentence ends. Code and rows of tables
are never cut.

A sentence says more, the rarer its words are (their squared idf) and the more of what people ask for later it has: who, when, what was
done. Questions, courtesies, maxims and remarks about the other speaker are hardly ever asked for. Form and constants were chosen on
conversations 1 to 3 of LoCoMo (Maharana et al., 2024); `benchmarks/memory.py kept` measures them on the others.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import log

from .terms import EVERYDAY, stem, terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# A line of at least this many characters was wrapped, and the next one continues it.
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
# Lines that are complete, whatever follows.
_CLOSED = re.compile(r"[ \t]*(?:#{1,6}[ \t]|>|\|)")
_RULE = re.compile(r"[ \t]*(?:[-=*_][ \t]*){3,}$")
_EMOJI = "\u2190-\u21ff\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff"
# Where a sentence may end: its marks, closing quotes and brackets, smileys. What follows is checked afterwards, so that no text takes long.
_SMILE = rf"(?:[{_EMOJI}]+|[:;]-?[)(DP](?!\w))"
_END = re.compile(rf"(?P<mark>[.!?…‽]+)(?P<close>[\"'”’»)\]*_]*)(?:[ \t]?{_SMILE})*|(?P<wide>[。！？]+[」』”）]*)|{_SMILE}+")
# Code and brackets are never cut; a bracket that stays open for long does not count.
_WHOLE = re.compile(r"`{1,3}[^`]{1,300}`{1,3}|\([^()]{1,300}\)")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]$")
_OPENING = "\"'“‘«([*_"
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class Sentence:
    """`text`: the sentence, each run of blanks as one (code and rows unchanged) · `start`, `end`: its place in the whole text."""

    text: str
    start: int
    end: int


def split(text: str) -> list[Sentence]:
    """Return the sentences of a text, in its order. Only blanks are left out; splitting a sentence again returns it unchanged."""
    sentences: list[Sentence] = []
    for start, end, whole in _blocks(text):
        for first, last in [(start, end)] if whole else _cuts(text, start, end):
            while first < last and text[first].isspace():
                first += 1
            while last > first and text[last - 1].isspace():
                last -= 1
            if first < last:
                shown = text[first:last]
                sentences.append(Sentence(shown if whole else _BLANKS.sub(" ", shown), first, last))
    return sentences


def _blocks(text: str) -> list[tuple[int, int, bool]]:
    """Yield (start, end, whether it is never cut) of each block."""
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
    """Return whether a sentence may continue in the next line: this one was as long as wrapped lines are, or the next one begins in lower
    case."""
    return len(line) >= WRAPPED or following.lstrip(" \t")[:1].islower()


def _cuts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Yield the sentences of a block."""
    cuts: list[tuple[int, int]] = []
    first = start
    whole = _WHOLE.finditer(text, start, end)
    shut = next(whole, None)
    for match in _END.finditer(text, start, end):
        while shut and shut.end() <= match.start():
            shut = next(whole, None)
        if shut and shut.start() <= match.start() and match.end() < shut.end():
            continue
        if _ends(text, first, match, end):
            cuts.append((first, match.end()))
            first = match.end()
    return [*cuts, (first, end)]


def _ends(text: str, first: int, match: re.Match[str], end: int) -> bool:
    """Return whether the sentence that began at `first` ends with this match."""
    if match["wide"]:
        return True
    if match.end() >= end or not text[match.end()].isspace():
        return False
    following = text[match.end() : match.end() + 60].split()[:1]
    word = following[0].lstrip(_OPENING) if following else ""
    small = word[:1].islower()
    mark = match["mark"]
    if mark is None or mark.startswith(("..", "…")):
        return not small
    if mark != ".":
        return not (small and match["close"])
    return _full_stop_ends(text[max(first, match.start() - 30) : match.start()], first == match.start(), word, bool(match["close"]))


def _full_stop_ends(before: str, at_start: bool, following: str, closed: bool) -> bool:
    """Return whether a full stop ends the sentence so far (`before`: its last characters), when this word comes next."""
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


# The factors of traits, by which a sentence's information is multiplied.
DATE = 2.2
FIRST_PERSON = 1.15
PROPER_NOUN = 1.35
RELATION = 1.2  # speaks of somebody by what they are to the speaker
ACTION = 1.2
NEWS = 1.2
NUMBER = 1.15
POSSIBLE = 0.8  # possibilities, not facts
QUESTION = 0.5
SECOND_PERSON = 0.7  # about the other, who knows it
GERUND = 0.65  # "Doing …" begins maxims
EVERYDAY_SHARE = 0.75  # of an everyday word's idf that counts
COURTESY = 0.5  # to the power of the share of its terms that are courtesies

COURTESIES = frozenset(
    stem(word)
    for word in """
    absolutely agree amazing appreciate awesome beautiful believe best bet caring cheers congrats congratulations cool dedication
    definitely encouraging enjoy excited exciting fantastic feeling fun glad good great grateful happy hear hello hey hi hope important
    incredible inspired inspiring journey keep kind love lovely luck meaning meaningful nice ok okay passion perfect positive proud right
    see share sorry sounds special strength strong super support supportive sure thanks thankful totally true well wish wonderful wow yeah
    yep yup
    """.split()
)
# Traits are looked for in small letters.
DATES = re.compile(
    r"\b(?:(?:19|20)\d\d|january|february|april|june|july|august|september|october|november|december"
    r"|(?:in|last|next|since|until|of|\d) (?:march|may)|(?:march|may) \d+|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|yesterday|today|tomorrow|tonight|ago|weekends?"
    r"|(?:last|next|this|past) (?:few |couple of )?(?:week|month|year|night|summer|autumn|fall|winter|spring|morning|evening)s?"
    r"|(?:since|for|in|after|\d+|few|two|three|four|five|six|seven|eight|nine|ten) (?:a |the |\w+ )?(?:years|months|weeks|days|hours))\b"
)
FIRST = re.compile(r"\b(?:i|i'(?:m|ve|d|ll)|my|me|mine|we|we'(?:re|ve|d|ll)|our|ours|us)\b")
SECOND = re.compile(r"\b(?:you|your|yours|yourself|you'(?:re|ve|d|ll))\b")
_NAMES = re.compile(r"(?<=[\w,;:–’'\"“-] )[\"“‘(]?([A-Z][\w’'-]+)")
NUMBERS = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|couple|several|first|second|third|twice)\b")
ACTIONS = re.compile(
    r"\b(?:[a-z]{2,}ed|went|got|bought|made|began|took|met|won|lost|wrote|saw|gave|found|built|ran|told|said|came|left|kept|sold|taught|drove"
    r"|flew|grew|did|became|ate|spent|brought|caught|chose|fell|led|paid|rode|sang|sat|slept|spoke|swam|threw|woke|wore|set|put|hit|read|beat"
    r"|want|plan|planning|going|working)\b"
)
RELATIONS = re.compile(
    r"\b(?:mom|mum|mother|dad|father|parent|sister|brother|son|daughter|kid|child|children|wife|husband|partner|fianc[eé]e?|grandma|grandpa"
    r"|grandmother|grandfather|aunt|uncle|cousin|niece|nephew|friend|neighbou?r|boss|colleague|coworker|teammate|dog|cat|pup|puppy|kitten)s?\b"
)
_NEWS = re.compile(r"\b(?:recently|lately|just|finally|new)\b")
_POSSIBLE = re.compile(r"\b(?:can|could|should|would|will|might|gonna)\b|'ll\b")
_TRAITS = (
    (DATES, DATE),
    (FIRST, FIRST_PERSON),
    (NUMBERS, NUMBER),
    (ACTIONS, ACTION),
    (RELATIONS, RELATION),
    (_NEWS, NEWS),
    (_POSSIBLE, POSSIBLE),
    (SECOND, SECOND_PERSON),
    (re.compile(r"[?？][\"'”’»)\]*_\s]{0,9}$"), QUESTION),
    (re.compile(r"^\W*\w+ing\b"), GERUND),
)


class Corpus:
    """The rarity of terms among texts; for `information`, among sentences."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = 0
        self.holding: Counter[str] = Counter()
        for text in texts:
            self.texts += 1
            self.holding.update(set(terms_of(text)))

    def idf(self, term: str) -> float:
        """Return the weight of a term: ln((texts + 1) / (texts that have it + 1/2)), and less for an everyday word."""
        return log((self.texts + 1) / (self.holding[term] + 0.5)) * (EVERYDAY_SHARE if term in EVERYDAY else 1.0)


def information(sentence: str, corpus: Corpus, speakers: Iterable[str] = ()) -> float:
    """Return how much a sentence says: the sum of its terms' squared idf, times a factor for each trait that it has. `speakers`: who talks;
    that they call each other by name counts for nothing."""
    terms = set(terms_of(sentence))
    if not terms:
        return 0.0
    value = sum(corpus.idf(term) ** 2 for term in terms) * COURTESY ** (len(terms & COURTESIES) / len(terms))
    small = sentence.lower().replace("’", "'")
    for trait, factor in _TRAITS:
        if trait.search(small):
            value *= factor
    return value * (PROPER_NOUN if names_in(sentence, speakers) else 1.0)


def names_in(sentence: str, speakers: Iterable[str] = ()) -> list[str]:
    """Return capitalised words that do not begin a sentence, without "I" and the speakers' names."""
    known = {"i", *(name.lower() for name in speakers)}
    return [name for name in _NAMES.findall(sentence) if re.split("['’]", name.lower())[0] not in known]
