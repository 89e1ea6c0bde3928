"""Where our files are, and safe names for ids that come from outside."""

from __future__ import annotations

import os

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
NAME_CHARS = 80


class NoHome(Exception):
    """No folder of ours can be named: neither POPKIT_HOME nor CLAUDE_CONFIG_DIR nor a home folder is known."""

    def __init__(self):
        super().__init__("no folder for PopKit's state: set POPKIT_HOME (or HOME)")


def claude_folder(environ) -> str:
    """The host's configuration folder."""
    folder = environ.get("CLAUDE_CONFIG_DIR") or ""
    if folder:
        return os.path.abspath(folder)
    home = environ.get("HOME") or os.path.expanduser("~")
    if not home or home.startswith("~"):
        raise NoHome
    return os.path.join(os.path.abspath(home), ".claude")


def popkit_home(environ) -> str:
    """The folder of state, archive and logs: $POPKIT_HOME, else popkit in the host's configuration folder."""
    folder = environ.get("POPKIT_HOME") or ""
    return os.path.abspath(folder) if folder else os.path.join(claude_folder(environ), "popkit")


def plugin_root() -> str:
    """The folder that holds hooks/, commands/ and the shipped configuration."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def safe_name(name: str) -> str:
    """A file name for an id from outside: itself where it is harmless, else a digest of it. Never empty, never a path."""
    if name and len(name) <= NAME_CHARS and _SAFE.issuperset(name):
        return name
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return "x" + blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def session_folder(home: str, session_id: str) -> str:
    return os.path.join(home, "sessions", safe_name(session_id))
