"""Read the secrets that the options of a command take, by the tables of programs.py. Pure."""

from __future__ import annotations

from .. import random_words
from .line import QUOTES, Line, is_variable
from .programs import EVERYWHERE, OPTIONS, PAIRS

_SHORT = ("-k", "-p", "-P", "-w", "-a", "-t", "-s", "-T", "-K", "-A")


def _options_of() -> dict:
    options_of: dict = {}
    for names, options in OPTIONS:
        for name in names.split():
            options_of.setdefault(name, []).extend(options.split())
    options_of.update((pair, options.split()) for pair, options in PAIRS)
    return options_of


OPTIONS_OF = _options_of()
# What an option says of where its value comes from.
_ELSEWHERE = ("env:", "file:", "fd:", "stdin", "fd://", "file://", "prompt:")
_EVERYWHERE = EVERYWHERE.split()


def of_option(line: Line, number: int, options: list) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secret that an option takes; `options`: those that the programs of its command have."""
    word = line.words[number]
    name, equals, glued = word.partition("=")
    if name == "-a" and line.words[line.starts[number]] in ("http", "https", "xh"):
        return _user(line, number, name, equals)
    if name in ("-U", "--user", "--proxy-user", "--creds", "--auth", "--cert") or (word[:2] == "-u" and name not in options):
        return _user(line, number, name, equals)
    if name[-1] == "u" and name[1:].isalpha() and "curl" in line.command(line.starts[number]):  # `-su`: several in one, the user last
        return _user(line, number, name, equals)
    following = number + 1 if line.same(number, number + 1) else 0
    if following and line.words[following][0] == "-" and line.gaps[following][-1:] not in QUOTES:
        following = 0
    for option in [*options, *(option for option in _EVERYWHERE if option not in options)]:
        bare = option.rstrip("*?")
        if name == bare and option[-1] != "*":
            number, skip = (number, len(name) + 1) if equals else (following, 0)
            if not equals and not following:
                return []
            begin, end = line.rest(number, skip) if skip else line.value(number)
            if bare == "--from-literal":
                at = line.text.find("=", begin, end)
                begin = at + 1 if at != -1 else end
            if line.text[begin:end].lstrip("\"'").startswith(_ELSEWHERE):
                return []
            if option not in options and bare == "--value" and (end - begin < 6 or line.text[begin:end].isalpha()):
                return []
            return [(begin, end)]
        if option[-1] in "*?" and word.startswith(bare) and len(word) > len(bare):
            return [line.rest(number, len(bare))]
        if option[-1] in "*?" and word == bare and number + 1 < len(line.words) and line.gaps[number + 1] in ("'", '"'):
            return [line.value(number + 1)]
    if equals and name in _SHORT and is_bare(glued) and not glued.isalpha() and not glued.isdigit():
        return [line.rest(number, len(name) + 1)]
    word = line.words[following] if following and name in _SHORT else ""
    if name == "-p" and word and not (word[0].isdigit() or word.isalpha()) and is_bare(word) and _names_user(line, number):
        return [line.value(following)]
    return [line.value(following)] if len(word) >= 10 and is_bare(word) and random_words.looks_random(word) else []


def _names_user(line: Line, number: int) -> bool:
    """Return whether the words before an option say who the user is."""
    before = line.words[max(line.starts[number], number - 10) : number]
    return any(word in ("-u", "--user", "--username", "-U") for word in before)


def _user(line: Line, number: int, name: str, equals: str) -> list[tuple[int, int]]:
    """Return the password behind a user's name: `-u bob:secret`."""
    if equals:
        begin, end = line.rest(number, len(name) + 1)
    elif line.words[number][:2] == "-u" and len(line.words[number]) > 2 and line.words[number] != "-user":
        begin, end = line.rest(number, 2)
    elif line.same(number, number + 1):
        begin, end = line.value(number + 1)
    else:
        return []
    user, mark, password = line.text[begin:end].partition(":")
    for other in "%,":
        if not mark and (other == "%" or line.words[line.starts[number]] == "lftp"):
            user, mark, password = line.text[begin:end].partition(other)
    if (
        user[:1] == "-"
        or not password
        or not user.strip("'\"")
        or "=" in user
        or " " in user
        or password[:2] == "//"
        or (user.isdigit() and password.isdigit())
    ):
        return []
    if password[0] == "$" and is_variable(password[1:2]):
        return []
    return [(begin + len(user) + 1, end)]


def is_bare(word: str) -> bool:
    """Return whether a word is neither a path nor a file, an address, a list or an expression."""
    if "." in word.partition("@")[2]:
        return False  # a user at a host
    return not any(mark in word for mark in ("/", ":", ",", "[", "{", "=", "*", "\\")) and not random_words.is_file(word)
