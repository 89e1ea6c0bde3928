"""Find secrets by the words before them: options and phrases of programs, what is piped into one that asks for a password, SQL, addresses,
messages that name what they refuse, dialogues with one program. Pure; one walk over the words, each looking at a bounded number of
neighbours.
"""

from __future__ import annotations

from .. import secret_shapes
from . import programs, spoken
from .line import AHEAD, QUOTES, Line, is_variable, value_at

_SHORT = ("-k", "-p", "-P", "-w", "-a", "-t", "-s", "-T", "-K", "-A")
# What a text must hold for one of these to be looked for.
DIALOGUES = ("curl", "expect", "spawn", "pgpass", "ftp")
_USERS = ("user", "proxy-user")
_PROMPTS = ("assword", "assphrase", "asscode")
# A prompt stands so many words before what is sent to it.
_BACK = 12
_ENDS = ("\\r", "\\n")


def _options_of() -> dict:
    options_of: dict = {}
    for names, options in programs.OPTIONS:
        for name in names.split():
            options_of.setdefault(name, []).extend(options.split())
    return options_of


def _phrases_of() -> dict:
    phrases: dict = {}
    for phrase in programs.PHRASES:
        first, *rest = phrase.split()
        for name in first.split("|"):
            phrases.setdefault(name, []).append(tuple(rest))
    return phrases


_OPTIONS, _PHRASES = _options_of(), _phrases_of()
# What an option says of where its value comes from.
_ELSEWHERE = ("env:", "file:", "fd:", "stdin", "fd://", "file://", "prompt:")
_EVERYWHERE = programs.EVERYWHERE.split()


def spans(text: str) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets that the words of a text give away, in any order."""
    line = Line(text)
    secrets: list[tuple[int, int]] = []
    talks = _has_dialogue(text)
    options: list = []
    done = seen = 0  # up to where is masked; so many spans were looked at for that
    for number, word in enumerate(line.words):
        if line.starts[number] == number:
            options = []
            if number and "|" in line.gaps[number] and "||" not in line.gaps[number]:
                secrets += _piped(line, number)
        if line.begins[number] < done:
            continue
        name = word.rpartition("/")[2].lower().removesuffix(".exe").rstrip(":") if len(word) < 80 else ""
        if name in _OPTIONS:
            options = [*options, *(option for option in _OPTIONS[name] if option not in options)]
        for phrase in _PHRASES.get(name, ()):
            secrets += _after_phrase(line, number, phrase)
        if word[0] in "-/+":
            secrets += _of_option(line, number, options)
        if ">" in line.gaps[number] and any(name in word.lower() for name in programs.SECRET_FILES):
            secrets += _written(line, number, line.starts[number], takes=True)
        if "<<<" in line.gaps[number] and _receives(line.command(line.starts[number])):
            secrets.append(line.value(number))
        secrets += spoken.spans(line, number) + (_dialogue(line, number) if talks else [])
        for _, end in secrets[seen:]:
            done = max(done, end)
        seen = len(secrets)
    return [(begin, end) for begin, end in secrets if not _is_variable(text[begin:end])]


def _is_variable(value: str) -> bool:
    name = value.strip("'\"")
    return name[:1] == "$" and name[1:].strip("{}").replace("_", "").isalnum()


def _piped(line: Line, number: int) -> list[tuple[int, int]]:
    """Return what is written into the command that begins here, when that takes a secret."""
    begin = line.starts[number - 1]
    for _ in range(2):  # what only passes it on stands between
        if begin and "|" in line.gaps[begin] and "||" not in line.gaps[begin]:
            begin = line.starts[begin - 1]
    return _written(line, number, begin, _receives(line.command(number)))


def _receives(command: list[str]) -> bool:
    """Return whether a command takes a secret from what is piped into it."""
    return not programs.RECEIVERS.isdisjoint(command) or ("sudo" in command and "-s" in command)


def _written(line: Line, number: int, begin: int, takes: bool) -> list[tuple[int, int]]:
    """Return what `echo` writes with the words from `begin` up to a word; where it is not known to be a secret, only what looks like
    chance."""
    if line.words[begin].lower() not in programs.WRITERS or number - begin > AHEAD:
        return []
    return [
        line.value(other)
        for other in range(begin + 1, number)
        if line.words[other][0] not in "-%"
        and len(line.words[other]) > 2
        and (
            takes
            or (
                not secret_shapes.is_hex(line.words[other])
                and spoken.is_bare(line.words[other])
                and secret_shapes.looks_random(line.words[other])
            )
        )
    ]


def _after_phrase(line: Line, number: int, phrase: tuple[str, ...]) -> list[tuple[int, int]]:
    secrets: list[tuple[int, int]] = []
    plain = [
        other
        for other in range(number + 1, min(len(line.words), number + AHEAD))
        if line.same(number, other) and (line.words[other][0] != "-" or line.gaps[other][-1:] in QUOTES)
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
    if at < 0:
        return begin, end
    if line.text[at + 1 : at + 2] == "$" and is_variable(line.text[at + 2 : at + 3]):
        return end, end
    return (at + 1, end) if at + 1 < end else value_at(line.text, at + 1)


def _of_option(line: Line, number: int, options: list) -> list[tuple[int, int]]:
    word = line.words[number]
    name, equals, glued = word.partition("=")
    if name == "-a" and line.words[line.starts[number]] in ("http", "https", "xh"):
        return _user(line, number, name, equals)
    if name in ("-u", "-U", "--user", "--proxy-user", "-user", "--creds", "--auth") or (word[:2] == "-u" and name not in options):
        return _user(line, number, name, equals)
    following = number + 1 if line.same(number, number + 1) else 0
    if following and line.words[following][0] == "-" and line.gaps[following][-1:] not in QUOTES:
        following = 0
    for option in [*options, *_EVERYWHERE]:
        bare = option.rstrip("*?")
        if name == bare and option[-1] != "*":
            number, skip = (number, len(name) + 1) if equals else (following, 0)
            if not equals and not following:
                return []
            begin, end = line.rest(number, skip) if skip else line.value(number)
            if bare == "--from-literal":
                at = line.text.find("=", begin, end)
                begin = at + 1 if at >= 0 else end
            if line.text[begin:end].lstrip("\"'").startswith(_ELSEWHERE):
                return []
            if bare == "--value" and (end - begin < 6 or line.text[begin:end].isalpha()):
                return []
            return [(begin, end)]
        if option[-1] in "*?" and word.startswith(bare) and len(word) > len(bare):
            return [line.rest(number, len(bare))]
        if option[-1] in "*?" and word == bare and number + 1 < len(line.words) and line.gaps[number + 1] in ("'", '"'):
            return [line.value(number + 1)]
    if equals and name in _SHORT and spoken.is_bare(glued) and not glued.isalpha() and not glued.isdigit():
        return [line.rest(number, len(name) + 1)]
    word = line.words[following] if following and name in _SHORT else ""
    if name == "-p" and word and not (word[0].isdigit() or word.isalpha()) and spoken.is_bare(word) and _names_user(line, number):
        return [line.value(following)]
    return [line.value(following)] if len(word) >= 10 and spoken.is_bare(word) and secret_shapes.looks_random(word) else []


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


# --- dialogues with one program: what `curl` reads, what `expect` sends, lines of `.pgpass`, the login of FTP ---------------------------


def _has_dialogue(text: str) -> bool:
    """Return whether a text may hold such a dialogue."""
    return any(mark in text for mark in DIALOGUES)


def _dialogue(line: Line, number: int) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets that one word of a line shows in such a dialogue."""
    word = line.words[number]
    if word in _USERS and "curl" in line.text:
        return _of_curl(line, number)
    if word == "send" and ("expect" in line.text or "spawn" in line.text):
        return _sent(line, number)
    if word.count(":") == 4 and "pgpass" in line.text:
        return [(line.begins[number] + word.rindex(":") + 1, line.begins[number] + len(word))]
    if word == "user" and "ftp" in line.text and line.same(number, number + 2) and line.starts[number] == number:
        return [line.value(number + 2)]
    return []


def _of_curl(line: Line, number: int) -> list[tuple[int, int]]:
    """Return the password in `user = "bob:secret"`; the quotes or the equals sign may be left out."""
    value = number + 2 if line.words[number + 1 : number + 2] == ["="] else number + 1
    if not line.same(number, value):
        return []
    user, colon, password = line.words[value].partition(":")
    if not colon or not user or not password or password[0] == "$" or password.startswith("//"):
        return []
    begin, end = line.begins[value] + len(user) + 1, line.begins[value] + len(line.words[value])
    if line.gaps[value][-1:] in QUOTES:  # marks end words that the quotes hold together
        closing = line.text.find(line.gaps[value][-1], begin)
        end = closing if closing >= 0 else end
    return [(begin, end)]


def _sent(line: Line, number: int) -> list[tuple[int, int]]:
    """Return what `send "secret\\r"` sends behind a prompt that asks for it."""
    value = number + 1
    while value < len(line.words) and line.words[value].startswith("-"):
        value += 1
    before = line.words[max(0, number - _BACK) : number]
    if value >= len(line.words) or line.gaps[value][-1:] not in QUOTES or not any(name in each for each in before for name in _PROMPTS):
        return []
    begin = line.begins[value]
    ends = [place for end in _ENDS if (place := line.text.find(end, begin, begin + 200)) >= 0]
    if not ends or line.text[begin] == "$":
        return []
    return [(begin, min(ends))]
