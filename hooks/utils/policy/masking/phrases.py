"""Read the secrets of a command by its phrases (programs.py). Pure."""

from __future__ import annotations

from .line import AHEAD, QUOTES, Line, is_variable, value_at
from .programs import PHRASES


def _phrases_of() -> dict:
    phrases: dict = {}
    for phrase in PHRASES:
        first, *rest = phrase.split()
        for name in first.split("|"):
            phrases.setdefault(name, []).append(tuple(rest))
    return phrases


PHRASES_OF = _phrases_of()


def after_phrase(line: Line, number: int, phrase: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets behind a word with which a phrase begins; `phrase`: the rest of it."""
    secrets: list[tuple[int, int]] = []
    plain = [
        other
        for other in range(number + 1, min(len(line.words), number + AHEAD))
        if line.same(number, other)
        and (line.words[other][0] != "-" or line.gaps[other][-1:] in QUOTES)
        and line.gaps[other].strip() != "<"  # a file that is read is no argument
    ]
    place = 0
    for number_of_part, part in enumerate(phrase):
        if part == "..":
            following = phrase[number_of_part + 1]
            while place < len(plain) and not _fits(line.words[plain[place]].lower(), following):
                place += 1
            continue
        if part == "=":
            return secrets + [_behind(line, other, "=") for other in plain[place:] if "=" in line.words[other]]
        if place >= len(plain):
            return []
        here = plain[place]
        if part[0] == "+" and (here - 1 != (plain[place - 1] if place else number) or line.words[here][0] in "/*"):
            return []
        if part in ("X", "+X"):
            secrets.append(line.value(here))
        elif part == "/X":
            secrets += [_behind(line, here, "/")] if "/" in line.words[here][:-1] or line.words[here][-1] == "/" else []
        elif part == ">X":
            secrets += [line.value(here)] if line.gaps[here][-1:] == ">" else []
        elif part == ":X":
            secrets.append(_behind(line, here, ":"))
        elif part not in (".", "+.") and not _fits(line.words[here].lower(), part):
            return []
        place += 1
    return secrets


def _fits(word: str, part: str) -> bool:
    for name in part.split("|"):
        if "*" not in name:
            if word == name:
                return True
        elif name.strip("*") in word if name[0] == "*" else word.startswith(name[:-1]):
            return True
    return False


def _behind(line: Line, number: int, mark: str) -> tuple[int, int]:
    """Return the value behind a mark in a word: NAME=VALUE, user:password; all of the word where it holds none."""
    begin, end = line.value(number)
    at = line.text.find(mark, begin, end)
    if at == -1:
        return begin, end
    if line.text[at + 1 : at + 2] == "$" and is_variable(line.text[at + 2 : at + 3]):
        return end, end
    return (at + 1, end) if at + 1 < end else value_at(line.text, at + 1)
