"""Split a text into terms: the words that search compares, of prose as of code. Pure."""

from __future__ import annotations

import math
import re
import unicodedata
from functools import lru_cache

# Longer ones are data (base64, minified code), which nobody searches for.
LONGEST_TERM = 80

# A name or a path is one chunk, so that the whole is a term too.
_CHUNK = re.compile(r"\w+(?:(?:[./\\-]|['’](?=[a-zA-Z]))\w+)*")
_HUMP = re.compile(r"[A-Z]{2,}s(?![A-Za-z])|[A-Z]+\d*(?![a-z\d])|[A-Z]?[a-z]+\d*|\d+[a-z]*|[A-Z]")
_JOINT = re.compile("[_-]+")
_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_CONTRACTED = re.compile(r"'(?:s|m|d|re|ve|ll)$")

_VOWEL = re.compile("[aeiouy]")
# One vowel and one consonant at the end, from which a silent e was removed.
_SHORT = re.compile("[^aeiou]+[aeiouy][^aeiouwxy]")

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being both but by can could did do does doing done each for
    from had has have having he her here hers herself him himself his how i if in into is it its itself just me more most my myself no nor
    not of off on once only or other our ours out over own same she should so some such than that the their theirs them then there these
    they this those through to too under until up us very was we were what when where which while who whom whose why will with would you
    your yours
    """.split()
)

# Forms that no rule leads back to their verb or noun, each behind it.
_IRREGULAR = {
    form: first
    for first, *forms in map(
        str.split,
        """
        become became, begin began begun, bite bit bitten, blow blew blown, break broke broken, bring brought, build built, buy bought,
        catch caught, child children, choose chose chosen, come came, dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove
        driven, eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, fly flew flown, foot feet, forget forgot
        forgotten, forgive forgave forgiven, freeze froze frozen, get got gotten, give gave given, go went gone goes, grow grew grown, hang
        hung, hear heard, hide hid hidden, hold held, keep kept, know knew known, lead led, learn learnt, leave left, lend lent, lie lay
        lain, lose lost, make made, man men, mean meant, meet met, mouse mice, pay paid, person people, ride rode ridden, ring rang rung,
        rise rose risen, run ran, say said, see saw seen, sell sold, send sent, shake shook shaken, shoot shot, show shown, sing sang sung,
        sink sank sunk, sit sat, sleep slept, speak spoke spoken, spend spent, stand stood, steal stole stolen, stick stuck, swim swam swum,
        take took taken, teach taught, tear tore torn, tell told, think thought, throw threw thrown, understand understood, use used using,
        wake woke woken, wear wore worn, wife wives, win won, woman women, write wrote written
        """.split(","),
    )
    for form in forms
}


def terms_of(text: str) -> list[str]:
    """Return the terms of a text in its order, repeated ones as often as they occur.

    Words are in lower case, without diacritics, stemmed, and without those of the stop list. A name or a path is a term itself (`/` for a
    backslash), and so are all its parts: "utils/fooBar.py" -> utils/foobar.py, util, foobar.py, foobar, foo, bar, py. A term has only
    letters, digits and `_./-`, and at most LONGEST_TERM characters. In languages that are written without spaces, every two neighbouring
    characters are a term.
    """
    return [term for chunk in _CHUNK.findall(text) for term in _of_chunk(chunk)]


@lru_cache(maxsize=1 << 16)
def _of_chunk(chunk: str) -> tuple[str, ...]:
    if len(chunk) > 4 * LONGEST_TERM:
        return ()
    if not chunk.isascii():
        decomposed = unicodedata.normalize("NFKD", chunk)
        chunk = unicodedata.normalize("NFC", "".join(char for char in decomposed if not unicodedata.combining(char)))
    terms: dict[str, None] = {}
    _take_apart(chunk.replace("\\", "/").replace("’", "'"), terms)
    return tuple(term for term in terms if len(term) <= LONGEST_TERM)


def _take_apart(word: str, terms: dict[str, None]) -> None:
    """Add the terms of a word, a name or a path, from the whole to its parts."""
    if "'" in word:
        if word.endswith(("n't", "N'T")):  # an auxiliary, as those of the stop list
            return
        for piece in _CONTRACTED.sub("", word.lower()).split("'"):
            _take_apart(piece, terms)
        return
    for separator in "/.":
        if separator in word:
            terms[word.lower()] = None
            if not word.replace(separator, "").isdigit():  # 1.25 and 3/4 are one number
                for piece in word.split(separator):
                    _take_apart(piece, terms)
            return
    pieces = [piece for piece in _JOINT.split(word) if piece]
    humps = [hump for piece in pieces for hump in (_HUMP.findall(piece) if piece.isascii() else (piece,))]
    if humps != [word]:
        terms[word.lower()] = None
    for hump in humps:
        _add_word(hump.lower(), terms)


def _add_word(word: str, terms: dict[str, None]) -> None:
    if _IDEOGRAPHS.fullmatch(word) and len(word) > 1:
        terms.update(dict.fromkeys(word[at : at + 2] for at in range(len(word) - 1)))
    elif word not in STOP_WORDS:
        terms[stem(word)] = None


def stem(word: str) -> str:
    """Return a word in lower case without its ending of number or tense (after steps 1 and 5a of Porter's algorithm, Program 14(3), 1980),
    irregular ones in their first form. The stem need not be a word."""
    irregular = _IRREGULAR.get(word)
    if irregular is not None:
        return irregular
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word
    word = _singular(word)
    if word.endswith("eed") and _VOWEL.search(word[:-3]):
        word = word[:-1]
    elif word.endswith(("ing", "ed")) and not word.endswith("eed"):
        rest = word[:-3] if word.endswith("ing") else word[:-2]
        word = _mended(rest) if _VOWEL.search(rest) else word
    return word[:-1] if word.endswith("e") and len(word) > 3 and not _SHORT.fullmatch(word[:-1]) else word


def _singular(word: str) -> str:
    if word.endswith(("ies", "ied")):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and word[-2] not in "su" else word


def _mended(rest: str) -> str:
    """Return the stem of a verb as it is written without an ending: hop for hopp, hike for hik."""
    if _SHORT.fullmatch(rest):
        return rest + "e"
    return rest[:-1] if len(rest) > 2 and rest[-1] == rest[-2] and rest[-1] not in "aeioulsz" else rest


def rarity(total: int, holding: int) -> float:
    """Return the weight of a term that `holding` of `total` items have: the idf of BM25 (Robertson and Zaragoza, 2009), never below 0."""
    return math.log(1.0 + (total - holding + 0.5) / (holding + 0.5))


# English words that everybody uses all the time, as terms: that one of them is rare in a few texts says nothing.
EVERYDAY = frozenset(
    stem(word)
    for word in """
    able actually add ago almost already always another any anyone anything anyway area around ask away back bad become begin behind
    better big bit body bring call came care case certain chance change come close could couple course day deal different easy either else
    end enough even ever every everybody everyone everything fact far few figure find fine first follow forward full gave get give given
    go gonna good got great group grow guess guy half hand happen hard have head hear help here high hold home hour house however idea
    instead issue join keep kind know large last lately later learn least leave left less let life like likely line list little live long
    look lot main make many matter may maybe mean might mind minute moment month most move much must name near need never new next nobody
    none nothing number often old one open order others part past people perhaps person piece place plan play please point possible pretty
    probably problem put question quite rather read ready real really reason recent recently rest right run said same saw say second see
    seem send set several show side simple since small some somebody someone something sometimes soon sort start state stay step still
    stop story stuff such sure take talk tell thing think third though thought through time today together tomorrow tonight too took top
    totally town toward tried try turn two understand use usual usually various wait walk wanna want watch way week weekend well went
    whatever whether whole win without wonder word work world would write wrong year yesterday yet
    """.split()
)
