"""Find the secrets in addresses: passwords before a host, path segments that grant access. Pure."""

from __future__ import annotations

from .. import random_words
from .line import is_variable

# Parts of addresses that anybody who knows them may use: webhooks, bots, links that identify a person, services with the key in the path.
_OPEN = tuple(
    "hook /bot /token /key /secret /reset /invite /verify /confirm /magic /auth /v2/ /v3/ deploy integrat"
    " infura alchemy quiknode hc-ping /ping catch /feed /share /rss /ical".split()
)
# The id of a commit follows these.
_COMMIT = ("/blob/", "/tree/", "/commit/", "/commits/", "/raw/", "/compare/", "/blame/")
# All that follows is part of the secret.
_WEBHOOKS = ("hooks.slack.com/", "hooks\\.slack\\.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "webhook.office.com/")
_ENDS = frozenset(" \t\r\n\f\v\"'<>`")
_MOST_CHARS = 2_000
# A single name before a host is a token from this length on.
_TOKEN_CHARS = 16
# What stands for a password where the name is a token.
_OF_TOKEN = ("x-oauth-basic@", "x-oauth-token@")


def spans(text: str) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets in the addresses of a text, in any order."""
    secrets: list[tuple[int, int]] = []
    at = text.find("://")
    while at != -1:
        following = text.find("://", at + 3)
        begin = end = at + 3
        most = min(len(text), begin + _MOST_CHARS, following if following != -1 else len(text))
        while end < most and text[end] not in _ENDS:
            end += 1
        address = text[begin:end]
        secrets += [(begin + first, begin + last) for first, last in _before_host(address, end == len(text)) + _in_path(address)]
        at = following
    return secrets


def without_scheme(word: str) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets in a word that is the address of a webhook without its scheme."""
    return _in_path(word) if any(name in word for name in _WEBHOOKS) else []


def _before_host(address: str, is_cut: bool) -> list[tuple[int, int]]:
    """Return a password, or a token in the place of a name; what is cut off before its host is one too."""
    # What is before the path.
    authority = address.partition("/")[0]
    colon = authority.find(":")
    if colon == -1 or "@" in authority[:colon]:
        name = authority.partition("@")[0]
        return [(0, len(name))] if "@" in authority and (len(name) >= _TOKEN_CHARS or random_words.looks_random(name)) else []
    if authority[colon + 1 :].startswith(_OF_TOKEN):
        return [(0, colon)]
    password = address[colon + 1 :]
    port = authority[colon + 1 :]
    if (port.isdigit() and len(port) <= 5) or (password[:1] == "$" and is_variable(password[1:2])):
        return []
    if "@" in port:
        end = colon + 1 + port.rfind("@")
    elif "@" in password:
        end = colon + 1 + password.find("@")
    else:
        end = len(address) if is_cut and authority == address else 0
    return [(colon + 1, end)] if end > colon + 1 else []


def _in_path(address: str) -> list[tuple[int, int]]:
    """Return [(begin, end)] of segments that open what they name, and of what looks like chance anywhere behind the host."""
    lowered = address.lower()
    is_open = any(mark in lowered for mark in _OPEN)
    secrets = []
    stop = min([place for mark in "?#" if (place := address.find(mark)) != -1] or [len(address)])
    at = address.find("/", 0, stop)
    while at != -1:
        following = address.find("/", at + 1, stop)
        begin, end = at + 1, following if following != -1 else stop
        segment = address[begin:end].rstrip(".,:;|&)")
        if address[:begin].endswith(_COMMIT):
            pass
        elif any(name in lowered for name in _WEBHOOKS) and "hook" in lowered[:begin] and not segment.islower():
            secrets.append((begin, begin + len(segment)))
        elif segment[:3] == "bot" and ":" in segment:
            secrets.append((begin + 3, begin + len(segment)))
        elif is_open and random_words.looks_random(segment) and not random_words.is_file(segment):
            secrets.append((begin, begin + len(segment)))
        else:
            secrets += [(begin + first, begin + last) for first, last in random_words.random_runs(segment)]
        at = following
        if segment == "t":  # a channel of conda, with the token behind it
            is_open = True
    return secrets + [(stop + first, stop + last) for first, last in random_words.random_runs(address[stop:])]
