"""Find secrets by the words before them. Pure; a single walk with a bounded look-around at each word."""

from __future__ import annotations

from .. import random_words
from . import accounts, phrases, programs, secret_options
from .addresses import without_scheme
from .line import AHEAD, QUOTES, Line, value_at
from .piped import piped, receives, substituted, written

# What a text must hold for one of these to be looked for.
DIALOGUES = ("curl", "expect", "spawn", "pgpass", "ftp", "machine ")


def spans(text: str) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets that the words of a text give away, in any order."""
    line = Line(text)
    secrets: list[tuple[int, int]] = []
    by_place: list[tuple[int, int]] = []
    talks = _has_dialogue(text)
    options: list = []
    done = seen = 0  # up to where is masked; so many spans were looked at for that
    for number, word in enumerate(line.words):
        if line.starts[number] == number:
            options = []
            if number and "|" in line.gaps[number] and "||" not in line.gaps[number]:
                secrets += piped(line, number)
        by_place += accounts.after_action(line, number)
        if line.begins[number] < done:
            continue
        name = word.rpartition("/")[2].lower().removesuffix(".exe").rstrip(":") if len(word) < 80 else ""
        for known in (name, name.partition(":")[0], line.words[number - 1] + " " + name if number else ""):
            if known in secret_options.OPTIONS_OF:
                options = [*options, *(option for option in secret_options.OPTIONS_OF[known] if option not in options)]
        for phrase in phrases.PHRASES_OF.get(name, ()):
            secrets += phrases.after_phrase(line, number, phrase)
        if word[0] in "-/+":
            secrets += secret_options.of_option(line, number, options)
        if ">" in line.gaps[number] and any(name in word.lower() for name in programs.SECRET_FILES):
            secrets += written(line, number, line.starts[number], takes=True)
        if "<<<" in line.gaps[number] and receives(line.command(line.starts[number])):
            secrets.append(line.value(number))
        if word in ("--set", "set") and "sops" in line.command(line.starts[number]):
            secrets += _of_sops(line, number)
        if "<(" in line.gaps[number]:
            secrets += substituted(line, number)
        secrets += _secrets_at(line, number) + (_in_dialogue(line, number) if talks else [])
        for _, end in secrets[seen:]:
            done = max(done, end)
        seen = len(secrets)
    return [(begin, end) for begin, end in secrets + by_place if not _is_variable(text[begin:end])]


def _is_variable(value: str) -> bool:
    """Return whether a value is a variable, or a mark that asks for it."""
    name = value.strip("'\"")
    return name == "*" or (name[:1] == "$" and name[1:].strip("{}").replace("_", "").isalnum())


def _has_dialogue(text: str) -> bool:
    """Return whether a text may hold a dialogue with one program."""
    return any(mark in text for mark in DIALOGUES)


def _in_dialogue(line: Line, number: int) -> list[tuple[int, int]]:
    from .dialogues import secrets_at  # most texts have none

    return secrets_at(line, number)


def _of_sops(line: Line, number: int) -> list[tuple[int, int]]:
    """Return the value in `--set '["db"]["password"] "secret"'`, and in the words of `sops set`: what comes behind the path."""
    last = number
    while line.same(number, last + 1) and last - number < AHEAD:
        last += 1
    end = line.begins[last] + len(line.words[last])
    places = [place for mark in ("] ", "]' ", ']" ') if (place := line.text.find(mark, line.begins[number], end)) != -1]
    if not places:
        return []
    at = line.text.index(" ", min(places)) + 1
    return [value_at(line.text, at)]


# Words that speak of a secret when what follows, or goes before, looks like one.
_SECRET_WORDS = frozenset(
    "token key apikey api-key api_key password passwd secret credential passphrase bearer pass pwd auth jwt pat"
    " authtoken authenticate unlock login signin setapikey add-authtoken code pin otp signature webhook cookie auth_token access_token"
    " accesstoken secretkey private-key".split()
)
_PASSWORDS = frozenset(("password", "passwd", "passphrase"))
_REFUSING = frozenset("invalid valid expired revoked rejected unknown incorrect wrong bad unauthorized denied leaked malformed".split())
# What may come before a colon in the name of a package.
_PROTOCOLS = frozenset("npm workspace jsr github file patch catalog link portal git".split())
_SQL = frozenset("user role login with encrypted set alter create by identified = to server".split())
_WITHOUT_PARENTHESES = "convertto-securestring"
_SQL_CHARS = (len("identified"), len("password"))
# How far a call is read.
_CALL_CHARS = 300
_ORACLE = frozenset("sqlplus sqlcl sql expdp impdp exp imp sqlldr rman tnsping oracle connect conn".split())


def _secrets_at(line: Line, number: int) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets that one word of a line shows."""
    return _random_beside(line, number) + _in_sql(line, number) + _in_call(line, number) + _in_word(line, number)


def _random_beside(line: Line, number: int) -> list[tuple[int, int]]:
    """Return what looks like chance beside a word that speaks of a secret: `login X`, `invalid token X`, `'X' is not a valid key`."""
    bare = line.words[number].strip(":,.[]{}=#!?")
    if "=" in bare or ":" in bare:
        return _assigned(line, number)
    if bare.lower().replace("-", "_").rpartition("_")[2] not in _SECRET_WORDS and bare.lower() not in _SECRET_WORDS:
        return []
    for other in range(number + 1, min(number + 6, len(line.words))):
        if not line.same(number, other):
            break
        candidate = line.words[other].strip(":,.!?[]{}*")
        if candidate and secret_options.is_bare(candidate) and random_words.looks_random(candidate):
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
        if secret_options.is_bare(bare := line.words[other].strip(":,.!?[]{}")) and random_words.looks_random(bare)
    ]


def _is_password(line: Line, word: str, other: int, number: int) -> bool:
    """Return whether the word behind `password`, or behind `password is`, is one: letters with digits, which is not a file name."""
    if other == number + 2 and line.words[number + 1] not in ("is", "was", "=", ":"):
        return False
    if len(word) < 6 or word.isalpha() or word.isdigit() or not secret_options.is_bare(word) or "(" in word:
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
    at = min(place for place in (equals, colon, len(word)) if place != -1)
    name = word[:at].lower().replace("-", "_").replace(".", "_").rpartition("_")[2]
    value = word[at + 1 :].strip(",.[]{}")
    if name in _SECRET_WORDS and random_words.looks_random(value) and "/" not in value[:-1]:
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
    value = number + 1
    if line.words[value].lower() in ("=", "for"):  # whose it is
        value = next((other + 1 for other in range(value, min(value + 6, len(line.words) - 1)) if line.words[other] == "="), value)
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
            if end == -1 or (mark == char and text[at + 1 : end].strip() in ("", ",")):
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
    if "://" in word or (len(word) < random_words.RANDOM_CHARS and "@" not in word and "hook" not in word):
        return []
    if "hook" in word:
        return [(begin + first, begin + last) for first, last in without_scheme(word)]
    is_id = number and line.words[number - 1].rstrip(":=").lower().endswith("id")
    secrets = [] if is_id else [(begin + first, begin + last) for first, last in random_words.random_runs(word)]
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
        if user and password and "@" not in user and (oracle or ("/" not in password and (named or random_words.looks_random(password)))):
            return [*secrets, (begin + len(user) + 1, begin + len(head))]
    return secrets


def _speaks_oracle(line: Line, number: int) -> bool:
    word = line.words[number].lower()
    return "userid=" in word or ":oracle:" in word or not _ORACLE.isdisjoint(line.command(line.starts[number]))
