"""Secrets by the words before them: options and phrases of programs, what is piped into one that asks for a password, SQL, addresses,
messages that name what they refuse. Pure; one walk over the words, each looking at a bounded number of neighbours.
"""

from __future__ import annotations

from . import chance, programs
from .named import is_variable, value_at

# Everything that ends a word, as blanks: places stay as they are.
_BLANKS = str.maketrans(dict.fromkeys("\t\r\n\f\v\"'`|;&()<>", " "))
_BREAKS = frozenset("|;&\n")
_QUOTES = frozenset("\"'`")
# How many words of a command are looked at from one that promises a secret.
_AHEAD = 24
# Words that speak of a secret when what follows, or goes before, looks like one.
_SPEAKING = frozenset(
    "token key apikey api-key api_key password passwd secret credential passphrase bearer pass pwd auth jwt pat"
    " authtoken authenticate unlock login signin setapikey add-authtoken code pin otp signature webhook cookie auth_token access_token"
    " accesstoken secretkey private-key".split()
)
_REFUSING = frozenset("invalid valid expired revoked rejected unknown incorrect wrong bad unauthorized denied leaked malformed".split())
_SQL = frozenset("user role login with encrypted set alter create by identified = to server".split())
_SHORT = ("-k", "-p", "-P", "-w", "-a", "-t", "-s", "-T", "-K", "-A")
_ORACLE = frozenset("sqlplus sqlcl sql expdp impdp exp imp sqlldr rman tnsping oracle connect conn".split())


def _options_of() -> dict:
    found: dict = {}
    for names, options in programs.OPTIONS:
        for name in names.split():
            found.setdefault(name, []).extend(options.split())
    return found


def _phrases_of() -> dict:
    found: dict = {}
    for phrase in programs.PHRASES:
        first, *rest = phrase.split()
        for name in first.split("|"):
            found.setdefault(name, []).append(tuple(rest))
    return found


_OPTIONS, _PHRASES = _options_of(), _phrases_of()
_EVERYWHERE = programs.EVERYWHERE.split()


class _Line:
    """The words of a text, each with its place, what stands between it and the word before, and whether a command begins with it."""

    def __init__(self, text: str):
        self.text = text
        self.words, self.begins, self.gaps, self.starts = [], [], [], []
        at = end = 0
        start = 0
        blank = text.replace('\\"', "  ").replace("\\'", "  ").translate(_BLANKS)
        for word in blank.split():
            at = blank.index(word, end)
            gap = text[end:at]
            if not _BREAKS.isdisjoint(gap):
                start = len(self.words)
            self.words.append(word)
            self.begins.append(at)
            self.gaps.append(gap)
            self.starts.append(start)  # number of the word that its command begins with
            end = at + len(word)

    def value(self, number: int) -> tuple:
        """(begin, end) of the value that begins with a word: with the quotes around it, or as the shell would take it."""
        at = self.begins[number]
        gap = self.gaps[number]
        if gap[-1:] in _QUOTES:
            at -= 2 if gap[-2:-1] == "\\" else 1
        return value_at(self.text, at)

    def rest(self, number: int, skip: int) -> tuple:
        """(begin, end) of a value that is glued to the beginning of a word."""
        at = self.begins[number] + skip
        return value_at(self.text, at)

    def same(self, number: int, other: int) -> bool:
        """Whether two words stand in one command."""
        return 0 <= other < len(self.words) and self.starts[number] == self.starts[other]


def spans(text: str) -> list:
    """[(begin, end)] of the secrets that the words of a text give away, in any order."""
    line = _Line(text)
    found: list = []
    options: list = []
    done = looked = 0  # up to where is masked; so many spans were looked at for that
    for number, word in enumerate(line.words):
        if line.starts[number] == number:
            options = []
            if number and "|" in line.gaps[number] and "||" not in line.gaps[number]:
                found += _piped(line, number)
        if line.begins[number] < done:
            continue
        name = word.rpartition("/")[2].lower().removesuffix(".exe") if len(word) < 80 else ""
        if name in _OPTIONS:
            options = [*options, *(option for option in _OPTIONS[name] if option not in options)]
        for phrase in _PHRASES.get(name, ()):
            found += _after_phrase(line, number, phrase)
        if word[0] in "-/+":
            found += _of_option(line, number, options)
        if ">" in line.gaps[number] and any(name in word.lower() for name in programs.SECRET_FILES):
            found += _written(line, number, line.starts[number], takes=True)
        if "<<<" in line.gaps[number] and not programs.RECEIVERS.isdisjoint(_command(line, line.starts[number])):
            found.append(line.value(number))
        found += _spoken_of(line, number) + _in_sql(line, number) + _of_login(line, number) + _in_word(line, number)
        for _, end in found[looked:]:
            done = max(done, end)
        looked = len(found)
    return found


def _command(line: _Line, number: int) -> list:
    """The first words of the command that a word belongs to, from that word on, in lower case."""
    most = min(len(line.words), number + _AHEAD)
    return [line.words[other].lower() for other in range(number, most) if line.same(number, other)]


def _piped(line: _Line, number: int) -> list:
    """What is written into the command that begins here, when that takes a secret."""
    receiver = _command(line, number)
    takes = not programs.RECEIVERS.isdisjoint(receiver) or ("sudo" in receiver and "-s" in receiver)
    return _written(line, number, line.starts[number - 1], takes)


def _written(line: _Line, number: int, begin: int, takes: bool) -> list:
    """What `echo` writes with the words from `begin` up to a word; where it is not known to be a secret, only what looks like chance."""
    if line.words[begin].lower() not in programs.WRITERS or number - begin > _AHEAD:
        return []
    return [
        line.value(other)
        for other in range(begin + 1, number)
        if line.words[other][0] not in "-%"
        and len(line.words[other]) > 2
        and (takes or (_is_bare(line.words[other]) and chance.beside(line.words[other])))
    ]


def _after_phrase(line: _Line, number: int, phrase: tuple) -> list:
    found: list = []
    plain = [
        other
        for other in range(number + 1, min(len(line.words), number + _AHEAD))
        if line.same(number, other) and (line.words[other][0] != "-" or line.gaps[other][-1:] in _QUOTES)
    ]
    for place, part in enumerate(phrase):
        if part == "=":
            return found + [_behind(line, other, "=") for other in plain[place:] if "=" in line.words[other]]
        if place >= len(plain):
            return []
        if part == "X":
            found.append(line.value(plain[place]))
        elif part == ":X":
            found.append(_behind(line, plain[place], ":"))
        elif part != "." and not _fits(line.words[plain[place]].lower(), part):
            return []
    return found


def _fits(word: str, part: str) -> bool:
    for name in part.split("|"):
        if "*" not in name:
            if word == name:
                return True
        elif name.strip("*") in word if name[0] == "*" else word.startswith(name[:-1]):
            return True
    return False


def _behind(line: _Line, number: int, mark: str) -> tuple:
    """The value behind a mark in a word: NAME=VALUE, user:password; all of the word where it holds none."""
    begin, end = line.value(number)
    at = line.text.find(mark, begin, end)
    if at < 0:
        return begin, end
    if line.text[at + 1 : at + 2] == "$" and is_variable(line.text[at + 2 : at + 3]):
        return end, end
    return (at + 1, end) if at + 1 < end else value_at(line.text, at + 1)


def _of_option(line: _Line, number: int, options: list) -> list:
    word = line.words[number]
    name, equals, glued = word.partition("=")
    if name == "-a" and line.words[line.starts[number]] in ("http", "https", "xh"):
        return _user(line, number, name, equals)
    if name in ("-u", "-U", "--user", "--proxy-user", "-user", "--creds", "--auth") or word[:2] == "-u":
        return _user(line, number, name, equals)
    following = number + 1 if line.same(number, number + 1) else 0
    if following and line.words[following][0] == "-" and line.gaps[following][-1:] not in _QUOTES:
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
            if bare == "--value" and (end - begin < 6 or line.text[begin:end].isalpha()):
                return []
            return [(begin, end)]
        if option[-1] in "*?" and word.startswith(bare) and len(word) > len(bare):
            return [line.rest(number, len(bare))]
        if option[-1] in "*?" and word == bare and number + 1 < len(line.words) and line.gaps[number + 1] in ("'", '"'):
            return [line.value(number + 1)]
    if equals and name in _SHORT and _is_bare(glued) and not glued.isalpha() and not glued.isdigit():
        return [line.rest(number, len(name) + 1)]
    word = line.words[following] if following and name in _SHORT else ""
    return [line.value(following)] if len(word) >= 10 and _is_bare(word) and chance.beside(word) else []


def _user(line: _Line, number: int, name: str, equals: str) -> list:
    """The password behind a user's name: `-u bob:secret`."""
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


def _is_bare(word: str) -> bool:
    """Neither a path nor a file, an address, a list or an expression."""
    if "." in word.partition("@")[2]:
        return False  # a user at a host
    return not any(mark in word for mark in ("/", ":", ",", "[", "{", "=", "*", "\\")) and not chance.is_file(word)


def _spoken_of(line: _Line, number: int) -> list:
    """What looks like chance beside a word that speaks of a secret: `login X`, `invalid token X`, `'X' is not a valid key`."""
    bare = line.words[number].strip(":,.[]{}=#!?")
    if "=" in bare or ":" in bare:
        return _assigned(line, number)
    if bare.lower().replace("-", "_").rpartition("_")[2] not in _SPEAKING and bare.lower() not in _SPEAKING:
        return []
    for other in range(number + 1, min(number + 6, len(line.words))):
        if not line.same(number, other):
            break
        candidate = line.words[other].strip(":,.!?[]{}*")
        if candidate and _is_bare(candidate) and chance.beside(candidate):
            return [_stripped(line, other)]
        if candidate and other == number + 1 and _is_refused(line, number) and line.gaps[other][-1:] in _QUOTES and len(candidate) >= 4:
            return [line.value(other)]
        if line.words[other][0] == "-" or not (candidate.isalpha() or not candidate):
            break
    before = range(max(0, number - 8), number) if _is_refused(line, number) else ()
    return [_stripped(line, other) for other in before if _is_bare(bare := line.words[other].strip(":,.!?[]{}")) and chance.beside(bare)]


def _is_refused(line: _Line, number: int) -> bool:
    """Whether the words around one say that something is not accepted."""
    around = line.words[max(0, number - 8) : number + 8]
    return any(word.strip(":,.!?").lower() in _REFUSING for word in around)


def _assigned(line: _Line, number: int) -> list:
    """NAME=VALUE and NAME:VALUE where the name speaks of a secret and the value looks like chance."""
    word = line.words[number]
    equals, colon = word.find("="), word.find(":")
    at = min(place for place in (equals, colon, len(word)) if place >= 0)
    name = word[:at].lower().replace("-", "_").replace(".", "_").rpartition("_")[2]
    value = word[at + 1 :].strip(",.[]{}")
    if name in _SPEAKING and chance.beside(value) and "/" not in value[:-1]:
        begin = line.begins[number] + word.index(value, at + 1)
        return [(begin, begin + len(value))]
    return []


def _stripped(line: _Line, number: int) -> tuple:
    word = line.words[number]
    begin = line.begins[number] + len(word) - len(word.lstrip(":,.!?[]{}*"))
    return begin, begin + len(word.strip(":,.!?[]{}*"))


def _in_sql(line: _Line, number: int) -> list:
    word = line.words[number]
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


def _of_login(line: _Line, number: int) -> list:
    """The second text in `auth("bob", "secret")`."""
    if number + 3 >= len(line.words) or line.words[number + 2] != "," or "(" not in line.gaps[number + 1]:
        return []
    name = line.words[number].rstrip("=").lower()
    return [line.value(number + 3)] if name.endswith(programs.LOGINS) and line.gaps[number + 3][-1:] in _QUOTES else []


def _in_word(line: _Line, number: int) -> list:
    """What a word holds in itself: user and password before a host, a run of chance."""
    word, begin = line.words[number], line.begins[number]
    if "://" in word:
        return []
    is_id = number and line.words[number - 1].rstrip(":=").lower().endswith("id")
    found = [] if is_id else [(begin + first, begin + last) for first, last in chance.runs(word)]
    head, at_sign, host = word.rpartition("@")
    if not at_sign or not host:
        return found
    for mark in ":/":
        user, _, password = head.partition(mark)
        oracle = mark == "/" and _speaks_oracle(line, number)
        if user and password and "@" not in user and (oracle or ("/" not in password and chance.beside(password))):
            return [*found, (begin + len(user) + 1, begin + len(head))]
    return found


def _speaks_oracle(line: _Line, number: int) -> bool:
    return not _ORACLE.isdisjoint(_command(line, line.starts[number])) or "userid=" in line.words[number].lower()
