"""References to files in the user's texts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .languages import BY_EXTENSION

MOST_REFERENCES = 64
_PATH_CHARS = 400
_TEXT_CHARS = 20_000  # of a message: a longer one holds pasted text, which follows the mentions

# The host's texts within the user's.
_HOSTS = re.compile(r"<(system-reminder|command-name|local-command-stdout)>.*?</\1>", re.DOTALL)
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://\S+")
_MENTION = re.compile(r"(?<![\w@.])@(\"[^\"\n]{1,300}\"|[\w./+-]{1,300})")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)[ \t]*([^\n]{1,300})$", re.MULTILINE)
_NAMED = re.compile(r"(?:title|file|filename|path)=[\"']?([^\"'\s}]+)")
# A match begins at the beginning of a word only, so a long word is read once.
_PATH_LIKE = re.compile(r"(?<![\w./+@~:\\-])(?:~?/|\.{1,2}/)?[\w.+-][\w.+@-]{0,100}(?:/[\w.+@\[\]()-]{1,100}){0,20}(?![\w/])")
_EXTENSIONS = {
    *BY_EXTENSION, "cfg", "conf", "css", "csv", "env", "ex", "exs", "gradle", "graphql", "hcl", "hs", "html", "ini", "ipynb", "less", "nix",
    "pl", "proto", "properties", "r", "rst", "sass", "scss", "sol", "sql", "svelte", "tex", "tf", "toml", "txt", "vue", "xml", "zig",
}  # fmt: skip
_NAMES = frozenset("Makefile Dockerfile Containerfile Justfile Rakefile Gemfile Procfile Vagrantfile Jenkinsfile CMakeLists.txt".split())


def referenced(texts: Sequence[str], most: int = MOST_REFERENCES) -> list[str]:
    """Return at most this many paths that texts refer to, as they are written, the newest reference first, each once. Calls do not count:
    their results show what they have read, and a result that has left was not needed."""
    paths: dict[str, None] = {}
    for text in reversed(texts):
        for path in map(_path_in, reversed(list(in_text(text)))):
            if path and len(paths) < most:
                paths.setdefault(path)
    return list(paths)


def _path_in(path: str) -> str:
    """Return a path without the quotes, `./` or line number around it; "" for a word that is not a path."""
    path = path.strip().strip("\"'`").removeprefix("file://")
    path = re.sub(r"(?::\d+(?:[:-]\d+)?|#L?\d+(?:-L?\d+)?)$", "", path)
    while path.startswith("./"):
        path = path[2:]
    path = path.rstrip("/")
    return path if 0 < len(path) <= _PATH_CHARS and path not in (".", "..", "~") and "\n" not in path and "\0" not in path else ""


def in_text(text: str) -> Iterator[str]:
    """Yield the files that a text names, in its order: mentions (`@src/app.py`), heads of fences, paths, names with a known extension."""
    text = _HOSTS.sub(" ", text[:_TEXT_CHARS])
    text = _ADDRESS.sub(_blank, text)
    places = [(mention.start(), mention[1]) for mention in _MENTION.finditer(text) if _may_be_mentioned(mention[1])]
    text = _MENTION.sub(_blank, text)
    for fence in _FENCE.finditer(text):
        named = _NAMED.search(fence[1])
        places += [(fence.start(), named[1])] if named else []
    places += [(word.start(), word[0]) for word in _PATH_LIKE.finditer(text) if _is_file(word[0].rstrip(".,"))]
    for _, path in sorted(places):
        yield path.rstrip(".,")


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _may_be_mentioned(name: str) -> bool:
    """Return whether the word behind an @ is a file rather than a person or a package's scope."""
    return name.startswith('"') or "/" in name or _is_file(name)


def _is_file(word: str) -> bool:
    name = word.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return name in _NAMES or bool(dot and extension.lower() in _EXTENSIONS and (stem or "/" in word))
