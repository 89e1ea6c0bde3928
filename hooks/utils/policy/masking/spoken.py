"""Secrets by what is said around them: messages that name what they refuse, SQL, calls of functions, a password before a host. Pure."""

from __future__ import annotations

from .. import secret_shapes
from . import programs
from .line import QUOTES, Line
from .named import without_scheme

# Words that speak of a secret when what follows, or goes before, looks like one.
_SPEAKING = frozenset(
    "token key apikey api-key api_key password passwd secret credential passphrase bearer pass pwd auth jwt pat"
    " authtoken authenticate unlock login signin setapikey add-authtoken code pin otp signature webhook cookie auth_token access_token"
    " accesstoken secretkey private-key".split()
)
_PASSWORDS = frozenset(("password", "passwd", "passphrase"))
_REFUSING = frozenset("invalid valid expired revoked rejected unknown incorrect wrong bad unauthorized denied leaked malformed".split())
# What may stand before a colon in the name of a package.
_PROTOCOLS = frozenset("npm workspace jsr github file patch catalog link portal git".split())
_SQL = frozenset("user role login with encrypted set alter create by identified = to server".split())
_WITHOUT_PARENTHESES = "convertto-securestring"
_SQL_CHARS = (len("identified"), len("password"))
# How far a call is read.
_CALL_CHARS = 300
_ORACLE = frozenset("sqlplus sqlcl sql expdp impdp exp imp sqlldr rman tnsping oracle connect conn".split())


def spans(line: Line, number: int) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets that one word of a line shows."""
    return _spoken_of(line, number) + _in_sql(line, number) + _in_call(line, number) + _in_word(line, number)


def is_bare(word: str) -> bool:
    """Return whether a word is neither a path nor a file, an address, a list or an expression."""
    if "." in word.partition("@")[2]:
        return False  # a user at a host
    return not any(mark in word for mark in ("/", ":", ",", "[", "{", "=", "*", "\\")) and not secret_shapes.is_file(word)


def _spoken_of(line: Line, number: int) -> list[tuple[int, int]]:
    """Return what looks like chance beside a word that speaks of a secret: `login X`, `invalid token X`, `'X' is not a valid key`."""
    bare = line.words[number].strip(":,.[]{}=#!?")
    if "=" in bare or ":" in bare:
        return _assigned(line, number)
    if bare.lower().replace("-", "_").rpartition("_")[2] not in _SPEAKING and bare.lower() not in _SPEAKING:
        return []
    for other in range(number + 1, min(number + 6, len(line.words))):
        if not line.same(number, other):
            break
        candidate = line.words[other].strip(":,.!?[]{}*")
        if candidate and is_bare(candidate) and secret_shapes.looks_random(candidate):
            return [_stripped(line, other)]
        if candidate and other == number + 1 and _is_refused(line, number) and line.gaps[other][-1:] in QUOTES and len(candidate) >= 4:
            return [line.value(other)]
        named = bare.lower() in _PASSWORDS or (other == number + 1 and _is_refused(line, number))
        if other <= number + 2 and named and _is_password(line, candidate, other, number):
            return [_stripped(line, other)]
        if line.words[other][0] == "-" or not (candidate.isalpha() or not candidate):
            break
    before = range(max(0, number - 8), number) if _is_refused(line, number) else ()
    return [
        _stripped(line, other)
        for other in before
        if is_bare(bare := line.words[other].strip(":,.!?[]{}")) and secret_shapes.looks_random(bare)
    ]


def _is_password(line: Line, word: str, other: int, number: int) -> bool:
    """Return whether the word behind `password`, or behind `password is`, is one: letters with digits, which is not a file name."""
    if other == number + 2 and line.words[number + 1] not in ("is", "was", "=", ":"):
        return False
    if len(word) < 6 or word.isalpha() or word.isdigit() or not is_bare(word) or "(" in word:
        return False
    return any(char.isdigit() for char in word) and any(char.isalpha() for char in word)


def _is_refused(line: Line, number: int) -> bool:
    """Return whether the words around one say that something is not accepted."""
    around = line.words[max(0, number - 8) : number + 8]
    return any(word.strip(":,.!?").lower() in _REFUSING for word in around)


def _assigned(line: Line, number: int) -> list[tuple[int, int]]:
    """Return the value in NAME=VALUE and NAME:VALUE where the name speaks of a secret and the value looks like chance."""
    word = line.words[number].rstrip(",")
    equals, colon = word.find("="), word.find(":")
    at = min(place for place in (equals, colon, len(word)) if place >= 0)
    name = word[:at].lower().replace("-", "_").replace(".", "_").rpartition("_")[2]
    value = word[at + 1 :].strip(",.[]{}")
    if name in _SPEAKING and secret_shapes.looks_random(value) and "/" not in value[:-1]:
        begin = line.begins[number] + word.index(value, at + 1)
        return [(begin, begin + len(value))]
    return []


def _stripped(line: Line, number: int) -> tuple[int, int]:
    word = line.words[number]
    begin = line.begins[number] + len(word) - len(word.lstrip(":,.!?[]{}*"))
    return begin, begin + len(word.strip(":,.!?[]{}*"))


def _in_sql(line: Line, number: int) -> list[tuple[int, int]]:
    word = line.words[number]
    if len(word) not in _SQL_CHARS:
        return []
    lowered = word.lower()
    if lowered == "identified":
        for other in range(number + 1, min(number + 5, len(line.words) - 1)):
            if line.words[other].lower() in ("by", "as"):
                return [line.value(other + 1)]
    if lowered != "password" or number + 1 >= len(line.words):
        return []
    value = number + 2 if line.words[number + 1] == "=" and number + 2 < len(line.words) else number + 1
    if line.gaps[value].strip(" (\\") not in ("'", '"'):
        return []
    before = {other.lower() for other in line.words[max(0, number - 8) : number]}
    return [line.value(value)] if word == "PASSWORD" or not _SQL.isdisjoint(before) else []


def _in_call(line: Line, number: int) -> list[tuple[int, int]]:
    """Return the text that is the secret in `connect("db", "bob", "secret")`."""
    end = line.begins[number] + len(line.words[number])
    if not line.text.startswith(("(", " "), end):
        return []
    name = line.words[number].rstrip("=").lower()
    if line.text[end] == " " and name != _WITHOUT_PARENTHESES:
        return []
    for place, functions in programs.FUNCTIONS.items():
        if name.endswith(functions):
            texts = _texts(line.text, end)
            return texts[place - 1 :][:1] if place > 0 else texts[-1:]
    return []


def _texts(text: str, at: int) -> list[tuple[int, int]]:
    """Return (begin, end) of the texts in quotes up to where the parentheses end, without those in braces and those of named arguments."""
    texts: list[tuple[int, int]] = []
    most, depth = min(len(text), at + _CALL_CHARS), 0
    while at < most:
        char = text[at]
        if char in ("'", '"'):
            mark = text[at - 1 : at + 1] if text[at - 1] == "\\" else char
            end = text.find(mark, at + 1, most)
            if end < 0 or (mark == char and text[at + 1 : end].strip() in ("", ",")):
                return texts
            if depth >= 0 and text[at - 1] not in "=:":
                texts.append((at + 1, end))
            at = end + len(mark)
            continue
        if char in "{}":
            depth += 1 if char == "}" else -1
        elif char in ");|\n":
            break
        at += 1
    return texts


def _in_word(line: Line, number: int) -> list[tuple[int, int]]:
    """Return what a word holds in itself: user and password before a host, a run of chance."""
    word, begin = line.words[number], line.begins[number]
    if "://" in word or (len(word) < secret_shapes.RANDOM_CHARS and "@" not in word and "hook" not in word):
        return []
    if "hook" in word:
        return [(begin + first, begin + last) for first, last in without_scheme(word)]
    is_id = number and line.words[number - 1].rstrip(":=").lower().endswith("id")
    secrets = [] if is_id else [(begin + first, begin + last) for first, last in secret_shapes.random_runs(word)]
    head, at_sign, host = word.rpartition("@")
    if not at_sign or not host:
        return secrets
    for mark in ":/":
        user, _, password = head.partition(mark)
        oracle = mark == "/" and _speaks_oracle(line, number)
        named = (
            mark == ":"
            and host[0].isalpha()
            and host[:6] != "sha256"
            and not password.isdigit()
            and user not in _PROTOCOLS
            and "\\" not in password
        )
        if user and password and "@" not in user and (oracle or ("/" not in password and (named or secret_shapes.looks_random(password)))):
            return [*secrets, (begin + len(user) + 1, begin + len(head))]
    return secrets


def _speaks_oracle(line: Line, number: int) -> bool:
    word = line.words[number].lower()
    return "userid=" in word or ":oracle:" in word or not _ORACLE.isdisjoint(line.command(line.starts[number]))
