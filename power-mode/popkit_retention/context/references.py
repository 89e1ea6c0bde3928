"""Which files texts refer to: what people mention, what fences of code are headed with. Pure.

What calls name is no reference: what they have read stands in their results, and where these have left, it left because it was not needed.

A reference is a path as it was written; whether there is such a file, and whether it may be read, is another's to say (files.py).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .languages import BY_EXTENSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST = 64
_PATH_CHARS = 400
_TEXT_CHARS = 20_000  # of a message: what is longer is pasted, and mentions stand around it

# What the host says among what the user does.
_HOSTS = re.compile(r"<(system-reminder|command-name|local-command-stdout)>.*?</\1>", re.DOTALL)
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://\S+")
_MENTION = re.compile(r"(?<![\w@.])@(\"[^\"\n]{1,300}\"|[\w./+-]{1,300})")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)[ \t]*([^\n]{1,300})$", re.MULTILINE)
_NAMED = re.compile(r"(?:title|file|filename|path)=[\"']?([^\"'\s}]+)")
# It begins at the beginning of a word only, so a long word is gone through once.
_WRITTEN = re.compile(r"(?<![\w./+@~:\\-])(?:~?/|\.{1,2}/)?[\w.+-][\w.+@-]{0,100}(?:/[\w.+@\[\]()-]{1,100}){0,20}(?![\w/])")
_EXTENSIONS = {
    *BY_EXTENSION, "cfg", "conf", "css", "csv", "env", "ex", "exs", "gradle", "graphql", "hcl", "hs", "html", "ini", "ipynb", "less", "nix",
    "pl", "proto", "properties", "r", "rst", "sass", "scss", "sol", "sql", "svelte", "tex", "tf", "toml", "txt", "vue", "xml", "zig",
}  # fmt: skip
_NAMES = frozenset("Makefile Dockerfile Containerfile Justfile Rakefile Gemfile Procfile Vagrantfile Jenkinsfile CMakeLists.txt".split())


def referenced(texts: Sequence[str], most: int = MOST) -> list[str]:
    """Paths that texts refer to, the newest reference first, each once, at most so many."""
    found: dict[str, None] = {}
    for text in reversed(texts):
        for path in reversed(list(in_text(text))):
            plain = _plain(path)
            if plain:
                found.setdefault(plain)
                if len(found) >= most:
                    return list(found)
    return list(found)


def _plain(path: str) -> str:
    """A path without what surrounds it: quotes, `./`, a line's number; "" for what is none."""
    path = path.strip().strip("\"'`").removeprefix("file://")
    path = re.sub(r"(?::\d+(?:[:-]\d+)?|#L?\d+(?:-L?\d+)?)$", "", path)
    while path.startswith("./"):
        path = path[2:]
    path = path.rstrip("/")
    return path if 0 < len(path) <= _PATH_CHARS and path not in (".", "..", "~") and "\n" not in path and "\0" not in path else ""


def in_text(text: str) -> Iterator[str]:
    """The files that a text names, in its order: mentions (`@src/app.py`), heads of fences, paths, names with a known extension."""
    text = _HOSTS.sub(" ", text[:_TEXT_CHARS])
    text = _ADDRESS.sub(_blank, text)
    places = [(found.start(), found[1]) for found in _MENTION.finditer(text) if _may_be_mentioned(found[1])]
    text = _MENTION.sub(_blank, text)
    for found in _FENCE.finditer(text):
        named = _NAMED.search(found[1])
        places += [(found.start(), named[1])] if named else []
    places += [(found.start(), found[0]) for found in _WRITTEN.finditer(text) if _is_file(found[0].rstrip(".,"))]
    for _, path in sorted(places):
        yield path.rstrip(".,")


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _may_be_mentioned(name: str) -> bool:
    """Whether what follows an @ is a file rather than a person or a package's scope."""
    return name.startswith('"') or "/" in name or _is_file(name)


def _is_file(word: str) -> bool:
    name = word.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return name in _NAMES or bool(dot and extension.lower() in _EXTENSIONS and (stem or "/" in word))
