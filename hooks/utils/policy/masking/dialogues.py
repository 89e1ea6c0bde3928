"""Find the secrets in a dialogue with one program. Pure.

That is what `curl` reads, what `expect` sends, a line of `.pgpass` or `.netrc`, the login of FTP.
"""

from __future__ import annotations

from .line import QUOTES, Line

_USERS = ("user", "proxy-user")
_PROMPTS = ("assword", "assphrase", "asscode")
# A prompt is at most so many words before what is sent to it.
_BACK = 12
_ENDS = ("\\r", "\\n")


def secrets_at(line: Line, number: int) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets that one word of a line shows in such a dialogue."""
    word = line.words[number]
    if word in _USERS and "curl" in line.text:
        return _of_curl(line, number)
    if word == "send" and ("expect" in line.text or "spawn" in line.text):
        return _sent(line, number)
    if word.count(":") == 4 and "pgpass" in line.text:
        return [(line.begins[number] + word.rindex(":") + 1, line.begins[number] + len(word))]
    if word == "password" and "login" in line.words[max(0, number - 2) : number] and line.same(number, number + 1):
        return [line.value(number + 1)] if "machine " in line.text else []  # of .netrc
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
        end = closing if closing != -1 else end
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
    ends = [place for end in _ENDS if (place := line.text.find(end, begin, begin + 200)) != -1]
    if not ends or line.text[begin] == "$":
        return []
    return [(begin, min(ends))]
