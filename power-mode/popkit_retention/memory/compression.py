"""Compresses texts: the levels (full, summary, keywords, embedding), when an item goes from one to the next, as the specification has it,
which sentences stay within a budget of tokens. Pure.

No level is longer than the one before. A text that is no longer than a level's target stays unchanged and still counts as being at that
level.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from popkit_retention.core.policy.estimate import CHARS_PER_TOKEN, WIDE_CHARS_PER_TOKEN, wide_chars

from .items import EMBEDDING, FULL, KEYWORDS, SUMMARY, check_embedding
from .sentences import COURTESIES, Corpus, Sentence, information, split
from .terms import EVERYDAY, STOP_WORDS, terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# The most tokens of a text at each level.
TOKENS = {SUMMARY: 150, KEYWORDS: 20}
# A tokenizer never joins words, digits and signs. Code, logs and paths are so full of these that counting characters says too little.
_PIECE = re.compile(r"[^\W\d_]+|\d|[^\w\s]|_")
TOKENS_PER_PIECE = 1.25

_WORD = re.compile(r"[^\W_](?:[\w./:@'’+-]*\w)?")
_NAME = re.compile(r"[/_]|\w{2}\.\w{2}")  # of a file, in code
_CUT = " …"


class CompressionPolicy:
    """The conditions on which an item is compressed to the next level: old enough, and neither valuable nor asked for (the specification,
    3.2)."""

    COMPRESSION_TRIGGERS: dict[str, dict[str, float]] = {  # noqa: RUF012  the specification's name and form
        "full_to_summary": {"age_hours": 24, "composite_score_max": 0.6, "access_count_max": 3},
        "summary_to_keywords": {"age_days": 7, "composite_score_max": 0.4, "access_count_max": 1},
        "keywords_to_embedding": {"age_days": 30, "composite_score_max": 0.2, "access_count_max": 0},
    }

    def should_compress(self, current_level: str, age_hours: float, composite_score: float, access_count: int) -> tuple[bool, str]:
        """Return whether compression is due, and the level to go to (the present level where it is not)."""
        following = {FULL: SUMMARY, SUMMARY: KEYWORDS, KEYWORDS: EMBEDDING}.get(current_level)
        if following is None:
            return False, current_level
        trigger = self.COMPRESSION_TRIGGERS[f"{current_level}_to_{following}"]
        due = (
            age_hours >= trigger.get("age_hours", trigger.get("age_days", 0) * 24)
            and composite_score <= trigger["composite_score_max"]
            and access_count <= trigger["access_count_max"]
        )
        return (True, following) if due else (False, current_level)


POLICY = CompressionPolicy()


def tokens_of(text: str) -> float:
    """Estimate tokens by length, without rounding, so that the tokens of parts add up to those of the whole."""
    wide = wide_chars(text)
    return (len(text) - wide) / CHARS_PER_TOKEN["dialogue"] + wide / WIDE_CHARS_PER_TOKEN


def most_tokens(text: str) -> float:
    """Estimate an upper bound of a text's tokens, whatever it contains; the bounds of parts add up to at least that of the whole."""
    return max(tokens_of(text), TOKENS_PER_PIECE * len(_PIECE.findall(text)))


def fits(text: str, tokens: float) -> bool:
    """Return whether a text has at most this many tokens."""
    return most_tokens(text) <= tokens


def at_level(text: str, level: str, summarise: Callable[[str], str] | None = None) -> str:
    """Return the text at a level; "" as an embedding. `summarise`: the user's own summariser, called only for texts that are too long; a
    long answer is shortened like any text."""
    if level == SUMMARY:
        return summary(summarise(text) if summarise and not fits(text, TOKENS[SUMMARY]) else text)
    if level == KEYWORDS:
        return keywords(text)
    return "" if level == EMBEDDING else text


def embedding_of(text: str, embed: Callable[[Sequence[str]], Sequence[Sequence[float]]]) -> list[float]:
    """Return the vector that an embedder makes of a text. Raise BadItem for a vector that no item may have."""
    vector = list(embed([text])[0])
    check_embedding(vector)
    return vector


def summary(text: str, tokens: int = TOKENS[SUMMARY], corpus: Corpus | None = None) -> str:
    """Return the most informative sentences, in their order. Where they leave more than half of the tokens unused because the others are
    too long, cut the best of these."""
    if fits(text, tokens):
        return text
    room = tokens * tokens_of(text) / most_tokens(text)
    while not fits(short := _shortened(text, room, corpus), tokens):
        room *= 0.9  # the most informative sentences are denser than the rest
    return short


def _shortened(text: str, tokens: float, corpus: Corpus | None) -> str:
    every = [KeptSentence(0, sentence) for sentence in split(text)]
    sentences = keep([text], tokens, corpus=corpus)
    left = tokens - sum(tokens_of(kept.sentence.text + " ") for kept in sentences)
    if left > tokens / 2:
        known = corpus or Corpus(kept.sentence.text for kept in every)
        rest = [kept for kept in every if tokens_of(kept.sentence.text + " ") > left and kept not in sentences]
        # For each token: only the beginning will be left.
        best = max(rest, key=lambda kept: information(kept.sentence.text, known) / tokens_of(kept.sentence.text), default=None)
        sentences = sorted([*sentences, *([best] if best else [])], key=lambda kept: kept.sentence.start)
        return _joined(
            text, [(kept, cut(kept.sentence.text, left, tokens_of) if kept is best else kept.sentence.text) for kept in sentences]
        )
    return _joined(text, [(kept, kept.sentence.text) for kept in sentences])


def _joined(text: str, sentences: list[tuple[KeptSentence, str]]) -> str:
    """Join sentences in one line, or in lines of their own where they were in the text."""
    joined, end = "", 0
    for kept, shown in sentences:
        if joined:
            joined += "\n" if "\n" in text[end : kept.sentence.start] else " "
        joined += shown
        end = kept.sentence.end
    return joined


def cut(text: str, tokens: float, size: Callable[[str], float] = most_tokens) -> str:
    """Return the beginning of a text, at most this long by its `size`, up to the end of a word where one is near."""
    if size(text) <= tokens:
        return text
    low, high = 0, min(len(text), int(tokens * CHARS_PER_TOKEN["dialogue"]) + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle] + _CUT + " ") <= tokens else (low, middle - 1)
    blank = text.rfind(" ", low // 2, low + 1)
    begun = text[: blank if blank > 0 else low].rstrip()
    return begun + _CUT if begun else ""


def keywords(text: str, tokens: int = TOKENS[KEYWORDS], corpus: Corpus | None = None) -> str:
    """Return the words that represent a text, in the order in which they occur: frequent words, words that are rare in the corpus (if one
    is passed), names before others. Names and paths stay whole."""
    if fits(text, tokens):
        return text
    worth: dict[str, float] = {}
    shown: dict[str, str] = {}
    inside = False  # of a sentence: only there does a capital tell anything
    end = 0
    for match in _WORD.finditer(text):
        word = match[0]
        inside = bool(end) and not re.search(r"[.!?…\n]", text[end : min(match.start(), end + 40)])
        end = match.end()
        small = word.lower().replace("’", "'")
        terms = terms_of(word)
        if not terms or small in STOP_WORDS or len(small) < 2:
            continue
        if small not in shown:
            shown[small] = word
            worth[small] = 0.0
        worth[small] += _weight(word, terms, inside, corpus)
    by_worth = sorted(worth, key=lambda small: -worth[small] / (1 + most_tokens(small) / 4))
    left = float(tokens)
    chosen = set()
    for small in by_worth:
        cost = most_tokens(shown[small] + " ")
        if cost <= left:
            left -= cost
            chosen.add(small)
    return " ".join(shown[small] for small in shown if small in chosen) or cut(" ".join(shown.values()) or summary(text, tokens), tokens)


def _weight(word: str, terms: Sequence[str], inside: bool, corpus: Corpus | None) -> float:
    """Return what one mention of a word adds. Without a corpus, longer words count as rarer ones."""
    rarity = max(map(corpus.idf, terms)) if corpus else min(len(word), 10) / 5
    if EVERYDAY.issuperset(terms) or COURTESIES.issuperset(terms):
        return rarity / 4
    if _NAME.search(word):
        return rarity * 4
    return rarity * (2 if (inside and word[:1].isupper()) or (any(map(str.isdigit, word)) and any(map(str.isalpha, word))) else 1)


@dataclass(frozen=True)
class KeptSentence:
    """A sentence that stays, from the text at this `place` in the list of texts."""

    place: int
    sentence: Sentence


def keep(texts: Sequence[str], budget_tokens: float, speakers: Sequence[str] = (), corpus: Corpus | None = None) -> list[KeptSentence]:
    """Return the sentences of texts that stay within a budget, in their order: the most informative per token, none of them twice.

    `speakers`: the speaker of each text; a name counts once for each text of which something stays, as in `as_text` · `corpus`: by default
    that of the sentences themselves. Raise ValueError unless there is one speaker for each text.
    """
    if speakers and len(speakers) != len(texts):
        raise ValueError(f"{len(texts)} texts have {len(speakers)} speakers")
    every = [KeptSentence(place, sentence) for place, text in enumerate(texts) for sentence in split(text)]
    corpus = corpus or Corpus(kept.sentence.text for kept in every)
    names = set(speakers)
    labels = [tokens_of(_label(speaker)) for speaker in speakers] or [0.0] * len(texts)
    sizes = [tokens_of(kept.sentence.text + " ") for kept in every]
    by_worth = sorted(
        range(len(every)), key=lambda at: (-information(every[at].sentence.text, corpus, names) / (sizes[at] + labels[every[at].place]), at)
    )
    left = float(budget_tokens)
    chosen: set[int] = set()
    begun: set[int] = set()
    added: set[tuple[str, ...]] = set()
    for at in by_worth:
        place = every[at].place
        cost = sizes[at] + (0.0 if place in begun else labels[place])
        terms = tuple(terms_of(every[at].sentence.text)) or (every[at].sentence.text,)
        if cost <= left and terms not in added:
            left -= cost
            chosen.add(at)
            begun.add(place)
            added.add(terms)
    return [each for at, each in enumerate(every) if at in chosen]


def as_text(selected: Sequence[KeptSentence], speakers: Sequence[str] = ()) -> str:
    """Return the sentences that stay as a text: a line for each text that they come from, its speaker in front."""
    lines: dict[int, list[str]] = {}
    for kept in selected:
        lines.setdefault(kept.place, []).append(kept.sentence.text)
    return "\n".join((_label(speakers[place]) if speakers else "") + " ".join(sentences) for place, sentences in lines.items())


def _label(speaker: str) -> str:
    return f"{speaker}: "
