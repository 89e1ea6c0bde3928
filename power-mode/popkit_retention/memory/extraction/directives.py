"""What the user said to keep to, word for word. Pure.

Only what a person typed yields a note: a sentence of theirs that says to remember something, or what to do always or never. What they
pasted (code, quotations, long texts) is not theirs.
"""

from __future__ import annotations

import re

from hooks.utils.policy.masking import mask

LONGEST = 300  # characters of a directive; who says more pastes
_LONGEST_PROMPT = 4_000
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<([A-Za-z][\w-]*)\b[^<>]*>.*?(?:</\1>|\Z)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n+|;\s+")
_DRAWN = re.compile(r"[|\u2500-\u257f]")  # tables and sketches
_BULLET = re.compile(r"^\s*(?:[-*•]\s+|\d+[.)]\s+)")
_LEAD = (
    r"^(?:(?:please|and|also|but|so|ok(?:ay)?|btw|by the way|note|important|claude|you (?:should|must|need to)|we|just|as a rule)[,:]?\s+)*"
)
_DIRECTIVE = re.compile(
    _LEAD + r"(?:remember\s*(?:that|to|this|:|,)|(?:do not|don['’]t) (?:ever|forget)\b|(?:always|never)\s+(?!mind\b)[a-z]"
    r"|from now on\b|going forward\b|in (?:the )?future,|keep in mind\b|make sure (?:to|you) (?:always|never)\b)",
    re.IGNORECASE,
)  # fmt: skip


def directives(prompt: str) -> list[str]:
    """The directives in something that the user typed, in order, each on one line."""
    text = _TAGGED.sub("\n", _FENCED.sub("\n", prompt))
    if len(text) > _LONGEST_PROMPT:
        return []
    found = []
    for sentence in _SENTENCE.split(text):
        said = " ".join(_BULLET.sub("", sentence).split())
        if (
            said
            and len(said) <= LONGEST
            and not said.endswith("?")
            and sentence.lstrip()[:1] != ">"
            and not _DRAWN.search(said)
            and _DIRECTIVE.match(said)
        ):
            said = "".join(char for char in mask(said) if char.isprintable())
            if said not in found:
                found.append(said)
    return found
