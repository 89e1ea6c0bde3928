"""Match a path or a command line against a glob. Pure, without `re`, and in bounded time for any pattern.

`*` any run of characters, `?` one character, `[abc]` `[a-z]` `[!a]` one of (or none of) a set; none of them matches `/`.
`**` as a whole path segment matches any number of segments. Letters are compared as they are written.
"""

from __future__ import annotations

from .needles import is_wild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _Set = tuple[bool, tuple[str, ...], tuple[tuple[str, str], ...]]  # negated, single characters, (first, last) of ranges
    _Compiled = tuple[dict[str, int], int, dict[_Set, int], int, int]

# Of a longer path the end is compared, of a longer command line the beginning; a longer pattern matches nothing.
LONGEST_TEXT = 1024
LONGEST_PATTERN = 256


def matches(pattern: str, text: str) -> bool:
    """Return whether `pattern` matches a path, or a command line.

    A pattern without `/` is held against the last segment of a path; one with `/` against the whole path or, unless it
    starts with `/`, any tail of it that starts at a segment. A pattern that ends in `/` means everything below.
    `\\` separates segments as `/` does. A text with a blank that does not look like an absolute or dotted path is a
    command line: see `matches_command`.
    """
    if " " in text and text[0] not in "/~.\\" and text[1:2] != ":":
        return matches_command(pattern, text)
    if not pattern or len(pattern) > LONGEST_PATTERN:
        return False
    if "\\" in text or "\\" in pattern:
        pattern, text = pattern.replace("\\", "/"), text.replace("\\", "/")
    if "/" not in pattern:
        return _segment_matches(pattern, text[text.rfind("/") + 1 :][:LONGEST_TEXT])
    if pattern.startswith("./"):
        return matches(pattern[2:], text)
    text = text[-LONGEST_TEXT:]
    if not is_wild(pattern) and pattern[-1] != "/":
        return text == pattern or (pattern[0] != "/" and text.endswith("/" + pattern))
    return _path_matches(pattern, text)


def matches_command(pattern: str, command: str) -> bool:
    """Return whether `pattern` matches a whole command line; here `*`, `?` and sets match `/` too."""
    if not pattern or len(pattern) > LONGEST_PATTERN:
        return False
    return _segment_matches(pattern, command[:LONGEST_TEXT])


def _path_matches(pattern: str, text: str) -> bool:
    """Compare segments with segments; a `**` takes any number of them."""
    wanted = pattern.split("/")
    if wanted[-1] == "":
        wanted[-1:] = ["**", "*"]
    if wanted[0] != "":
        wanted.insert(0, "**")
    return _covers(wanted, text.split("/"), "**", _segment_matches)


def _covers(wanted: list[str], parts: Iterable[str], star: str, same: Callable[[str, str], bool]) -> bool:
    """Return whether the tokens of `wanted` cover `parts` in order, a `star` covering any number of parts.

    Bit n of `reached` says that n tokens cover what was read so far; every part moves all of them at once, so no
    pattern makes this go back, and a text costs its length.
    """
    tokens: list[str] = []
    loops = 0
    for token in wanted:
        if token == star:
            loops |= 1 << len(tokens)
        else:
            tokens.append(token)
    known: dict[str, int] = {}
    reached = 1
    for part in parts:
        fits = known.get(part)
        if fits is None:
            fits = known[part] = sum([1 << bit for bit, token in enumerate(tokens) if same(token, part)])
        reached = (reached & fits) << 1 | reached & loops
        if not reached:
            return False
    return bool(reached >> len(tokens) & 1)


def _segment_matches(pattern: str, text: str) -> bool:
    """Compare one segment; `**` within it is the same as `*`."""
    if not is_wild(pattern):
        return pattern == text
    if pattern[0] == "*" and not is_wild(pattern[1:]):
        return text.endswith(pattern[1:])
    if "?" not in pattern and "[" not in pattern:
        return _literals_in_order(pattern.split("*"), text)
    return _in_steps(pattern, text)


def _in_steps(pattern: str, text: str) -> bool:
    """Do as `_covers`, character by character, over a pattern that is taken to pieces once."""
    literals, any_one, sets, loops, count = _COMPILED.get(pattern) or _compiled(pattern)
    if len(text) < count or (not loops and len(text) > count):
        return False
    known: dict[str, int] = {}
    reached = 1
    for character in text:
        fits = known.get(character)
        if fits is None:
            fits = literals.get(character, 0) | any_one
            for token, bits in sets.items():
                if _in_set(token, character):
                    fits |= bits
            known[character] = fits
        reached = (reached & fits) << 1 | reached & loops
        if not reached:
            return False
    return bool(reached >> count & 1)


_COMPILED: dict[str, _Compiled] = {}
_MOST_COMPILED = 1_000


def _compiled(pattern: str) -> _Compiled:
    """Return (bits of each literal character, bits of `?`, bits of each set, bits where `*` may stay, number of tokens that take a
    character)."""
    literals: dict[str, int] = {}
    sets: dict[_Set, int] = {}
    any_one = loops = count = 0
    for token in _tokens(pattern):
        bit = 1 << count
        if token == "*":
            loops |= bit
            continue
        count += 1
        if token == "?":
            any_one |= bit
        elif isinstance(token, str):
            literals[token] = literals.get(token, 0) | bit
        else:
            sets[token] = sets.get(token, 0) | bit
    if len(_COMPILED) >= _MOST_COMPILED:
        _COMPILED.clear()
    _COMPILED[pattern] = compiled = literals, any_one, sets, loops, count
    return compiled


def _literals_in_order(pieces: list[str], text: str) -> bool:
    first, last = pieces[0], pieces[-1]
    if not text.startswith(first):
        return False
    at = len(first)
    for piece in pieces[1:-1]:
        place = text.find(piece, at)
        if place == -1:
            return False
        at = place + len(piece)
    return at <= len(text) - len(last) and text.endswith(last)


def _tokens(pattern: str) -> list[str | _Set]:
    """Return `*`, `?` and literal characters as strings, a set as (negated, members); an unclosed `[` is a literal."""
    tokens: list[str | _Set] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        # A `]` that comes first in a set is a member.
        end = pattern.find("]", at + (3 if pattern[at + 1 : at + 2] in ("!", "^") else 2)) if character == "[" else -1
        if end != -1:
            tokens.append(_set(pattern[at + 1 : end]))
            at = end + 1
            continue
        tokens.append(character)
        at += 1
    return tokens


def _set(body: str) -> _Set:
    negated = body[:1] in ("!", "^")
    if negated:
        body = body[1:]
    singles, ranges, at = [], [], 0
    while at < len(body):
        if at + 2 < len(body) and body[at + 1] == "-":
            ranges.append((body[at], body[at + 2]))
            at += 3
        else:
            singles.append(body[at])
            at += 1
    return negated, tuple(singles), tuple(ranges)


def _in_set(token: _Set, character: str) -> bool:
    negated, singles, ranges = token
    inside = character in singles or any(low <= character <= high for low, high in ranges)
    return inside != negated
