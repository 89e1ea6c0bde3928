"""What a sentence tells, and which sentences of many stay within a budget of tokens. Pure, and made for English.

A sentence tells the more, the rarer its words are (their squared idf) and the more it has of what people ask for later: who, when, what was
done. Questions, courtesies, maxims and what is said about the other are hardly ever asked for.

Form and constants were chosen on conversations 1 to 3 of LoCoMo (Maharana et al., 2024); `benchmarks/memory.py kept` tells what they bring
on the others.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from hooks.utils.policy.estimate import CHARS_PER_TOKEN, WIDE_CHARS_PER_TOKEN, wide_chars

from .sentences import Sentence, split
from .terms import EVERYDAY, stem, terms_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# By what a trait multiplies what a sentence tells.
DATE = 2.2
FIRST_PERSON = 1.15
PROPER_NOUN = 1.35
RELATION = 1.2  # speaks of somebody by what they are to the speaker
ACTION = 1.2
NEWS = 1.2
NUMBER = 1.15
POSSIBLE = 0.8  # what may be, not what is
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
    r"|(?:since|for|in|after|\d+|few|two|three|four|five|six|seven|eight|nine|ten) (?:a |the |\w+ )?(?:years|months|weeks|days|hours))\b",
)
FIRST = re.compile(r"\b(?:i|i'(?:m|ve|d|ll)|my|me|mine|we|we'(?:re|ve|d|ll)|our|ours|us)\b")
SECOND = re.compile(r"\b(?:you|your|yours|yourself|you'(?:re|ve|d|ll))\b")
_NAMES = re.compile(r"(?<=[\w,;:–’'\"“-] )[\"“‘(]?([A-Z][\w’'-]+)")
NUMBERS = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|couple|several|first|second|third|twice)\b")
ACTIONS = re.compile(
    r"\b(?:[a-z]{2,}ed|went|got|bought|made|began|took|met|won|lost|wrote|saw|gave|found|built|ran|told|said|came|left|kept|sold|taught|drove"
    r"|flew|grew|did|became|ate|spent|brought|caught|chose|fell|led|paid|rode|sang|sat|slept|spoke|swam|threw|woke|wore|set|put|hit|read|beat"
    r"|want|plan|planning|going|working)\b",
)
RELATIONS = re.compile(
    r"\b(?:mom|mum|mother|dad|father|parent|sister|brother|son|daughter|kid|child|children|wife|husband|partner|fianc[eé]e?|grandma|grandpa"
    r"|grandmother|grandfather|aunt|uncle|cousin|niece|nephew|friend|neighbou?r|boss|colleague|coworker|teammate|dog|cat|pup|puppy|kitten)s?\b",
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
    """How rare terms are among texts; for `information`, sentences."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = 0
        self.holding: Counter[str] = Counter()
        for text in texts:
            self.texts += 1
            self.holding.update(set(terms_of(text)))

    def idf(self, term: str) -> float:
        """What it tells that a text holds a term: ln((texts + 1) / (texts that hold it + 1/2)), and less of an everyday word."""
        return log((self.texts + 1) / (self.holding[term] + 0.5)) * (EVERYDAY_SHARE if term in EVERYDAY else 1.0)


@dataclass(frozen=True)
class Kept:
    """A sentence that stays, of the text at this `place` in the list that was given."""

    place: int
    sentence: Sentence


def information(sentence: str, corpus: Corpus, speakers: Iterable[str] = ()) -> float:
    """What a sentence tells: the sum of its terms' squared idf, times a factor for each trait that it has. `speakers`: who talks; that they
    call each other by name tells nothing."""
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
    """Words that are written large though no sentence begins with them, "I" and the speakers' names left out."""
    known = {"i", *(name.lower() for name in speakers)}
    return [name for name in _NAMES.findall(sentence) if re.split("['’]", name.lower())[0] not in known]


def keep(texts: Sequence[str], budget_tokens: float, speakers: Sequence[str] = (), corpus: Corpus | None = None) -> list[Kept]:
    """The sentences of texts that stay within a budget, in their order: those that tell most for each token, none of them twice.

    `speakers`: who says each text; a name counts once for each text of which something is kept, as in `as_text` · `corpus`: that of the
    sentences themselves where none is given. ValueError where there is not one speaker for each text."""
    if speakers and len(speakers) != len(texts):
        raise ValueError(f"{len(texts)} texts have {len(speakers)} speakers")
    found = [Kept(place, sentence) for place, text in enumerate(texts) for sentence in split(text)]
    corpus = corpus or Corpus(each.sentence.text for each in found)
    names = set(speakers)
    labels = [tokens_of(_label(speaker)) for speaker in speakers] or [0.0] * len(texts)
    sizes = [tokens_of(each.sentence.text + " ") for each in found]
    by_worth = sorted(
        range(len(found)),
        key=lambda at: (-information(found[at].sentence.text, corpus, names) / (sizes[at] + labels[found[at].place]), at),
    )
    left = float(budget_tokens)
    chosen: set[int] = set()
    begun: set[int] = set()
    said: set[tuple[str, ...]] = set()
    for at in by_worth:
        place = found[at].place
        cost = sizes[at] + (0.0 if place in begun else labels[place])
        terms = tuple(terms_of(found[at].sentence.text)) or (found[at].sentence.text,)
        if cost <= left and terms not in said:
            left -= cost
            chosen.add(at)
            begun.add(place)
            said.add(terms)
    return [each for at, each in enumerate(found) if at in chosen]


def as_text(kept: Sequence[Kept], speakers: Sequence[str] = ()) -> str:
    """What was kept, a line for each text; who says it before it."""
    lines: dict[int, list[str]] = {}
    for each in kept:
        lines.setdefault(each.place, []).append(each.sentence.text)
    return "\n".join((_label(speakers[place]) if speakers else "") + " ".join(said) for place, said in lines.items())


def tokens_of(text: str) -> float:
    """Estimated tokens, not rounded, so that those of parts are together those of the whole."""
    wide = wide_chars(text)
    return (len(text) - wide) / CHARS_PER_TOKEN["dialogue"] + wide / WIDE_CHARS_PER_TOKEN


def _label(speaker: str) -> str:
    return f"{speaker}: "
