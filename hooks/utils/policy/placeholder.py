"""The placeholder of a cleared result: its description, the reason for the clear, the way back. Pure."""

from __future__ import annotations

from .estimate import estimate_tokens
from .outlines import BETWEEN, OUTLINE_CHARS, most_tokens, outline_of, verdict_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .context import Result
    from .ruleset import Ruleset

# The model reads a placeholder with every request: at most 40 tokens, by the 2.9 characters of a token of plain language.
LONGEST = 116
LONGEST_WHY = 24
# The estimated tokens that one has at most, were all of its label wide characters.
MOST_TOKENS = 100
HEAD, _MIDDLE, _TAIL = "[PopKit cleared ", "To see it: popkit restore ", "]"
_HANDLE = frozenset("abcdefghijklmnopqrstuvwxyz234567")
SHORTEST_HANDLE, LONGEST_HANDLE = 8, 51
NO_HANDLE = "a" * SHORTEST_HANDLE  # where only the length counts

# In a few words: why a result went.
_WHY = {
    "edited": "edited later",
    "committed": "committed later",
    "changed_on_disk": "changed on disk later",
    "superseded": "a newer one follows",
    "same_content": "the same follows",
    "ttl_calls": "old",
    "ttl_seconds": "old",
    "session_end": "an earlier session",
    "manual": "by the user",
}


def placeholder(label: str, why: str, handle: str) -> str:
    """Return the text for a result of this label. `why` in a few words; `handle` names the archived record."""
    why = why[:LONGEST_WHY]
    end = f" ({why}). {_MIDDLE}{handle}{_TAIL}"
    room = LONGEST - len(HEAD) - len(end)
    if not label.isprintable():
        label = "".join(char if char.isprintable() else " " for char in label)
    label = " ".join(label.split())
    wide = 0 if label.isascii() else sum(not char.isascii() for char in label)
    room = max(8, room - 2 * wide)  # such characters take a token or so each
    return HEAD + (label if len(label) <= room else label[: room - 1] + "…") + end


def with_handle(text: str, handle: str) -> str:
    """Return a placeholder that names NO_HANDLE, and what stands behind it, with a handle of that length."""
    notice, line_end, rest = text.partition("\n")
    return notice[: -len(NO_HANDLE + _TAIL)] + handle + _TAIL + line_end + rest


def is_handle(word: str) -> bool:
    """Return whether a word can be the handle of an archived record."""
    return SHORTEST_HANDLE <= len(word) <= LONGEST_HANDLE and _HANDLE.issuperset(word)


def with_outline(notice: str, outline: str) -> str:
    """Return a placeholder and behind it, on a line of its own, an outline; "" for none."""
    return notice + "\n" + outline if outline else notice


def with_names(text: str, names: Sequence[str]) -> str:
    """Return a placeholder with these names behind what it says."""
    return text + (BETWEEN if "\n" in text else "\n") + " ".join(names)


def beside(result: Result, text: str, rules: Ruleset) -> str:
    """Return what stays of a Result of this text beside the notice: what it said, and under `auto` an outline."""
    return outline_of(result, text) if rules.weighs else verdict_line(result)


def handle_in(content: object) -> str:
    """Return the handle that a result's whole content names if it is a placeholder, with or without an outline, else ""."""
    if not isinstance(content, str) or not content.startswith(HEAD):
        return ""
    notice, _, outline = content.partition("\n")
    if not notice.endswith(_TAIL) or len(notice) > 2 * LONGEST or not OUTLINE_CHARS.issuperset(outline) or content.endswith("\n"):
        return ""
    handle = notice[: -len(_TAIL)].rpartition(_MIDDLE)[2]
    return handle if is_handle(handle) else ""


def why(result: Result, quiet_age: int | None = None) -> str:
    """Return why a result goes, in a few words; `quiet_age` (calls) of a live one that nobody named."""
    if result.ended:
        return _WHY.get(result.ended[0], "expired")
    return _WHY["manual"] if quiet_age is None else f"unused for {quiet_age} call{'' if quiet_age == 1 else 's'}"


def placeholder_tokens(result: Result, calibration: float, rules: Ruleset) -> int:
    """Return the estimated tokens of what takes a result's place, an outline counted as long as it may be."""
    return tokens_beside(result, calibration, rules) + estimate_tokens(placeholder(result.label, why(result), NO_HANDLE))


def tokens_beside(result: Result, calibration: float, rules: Ruleset) -> int:
    """Return the estimated tokens of what stands behind a placeholder at most."""
    outline_tokens = most_tokens(round(result.tokens * calibration)) if rules.weighs else 0
    return outline_tokens + estimate_tokens(verdict_line(result))


def gain(result: Result, calibration: float, rules: Ruleset) -> int:
    """Return the tokens that leave the context with a result, less those that take its place."""
    return round(result.tokens * calibration) - placeholder_tokens(result, calibration, rules)
