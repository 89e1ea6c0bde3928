"""Find the parts of a text that another masker removed, by its marks: `[REDACTED]`, `[REDACTED_KEY]`. Pure."""

from __future__ import annotations

_BEGIN, _END = "[REDACTED", "]"
# A mark says in so many characters what it stands for.
_MARK_CHARS = 60


def taken_out(text: str, redacted: str) -> list[str]:
    """Return the parts of a text for which a mark stands in its redacted form; those that cannot be told apart are left out."""
    between = _without_marks(redacted)
    if len(between) < 2 or not text.startswith(between[0]):
        return []
    at, found = len(between[0]), []
    for number, following in enumerate(between[1:], 2):
        end = text.find(following, at) if following else len(text) if number == len(between) else -1
        if end == -1:
            break
        found.append(text[at:end])
        at = end + len(following)
    return [part.strip("\"' ") for part in found]


def _without_marks(redacted: str) -> list[str]:
    """Return the texts between the marks."""
    first, *others = redacted.split(_BEGIN)
    between = [first]
    for other in others:
        mark, end, rest = other.partition(_END)
        if not end or len(mark) > _MARK_CHARS:
            return []
        between.append(rest)
    return between
