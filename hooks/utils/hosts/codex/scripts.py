"""The calls that a script of Codex's code mode makes, as far as its text alone tells them. Pure; nothing is run.

There the model writes JavaScript, `const r = await tools.exec_command({"cmd": "ls"}); text(r.output)`, and one result comes back for all
that the script called. Only arguments that are written out are read: what a script computes is not known.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_CALL = re.compile(r"\btools\s*\.\s*([A-Za-z_]\w*)\s*\(")
_NAMED = re.compile(r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*")
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\$]|\\.|\$(?!\{))*`)|(?P<word>[A-Za-z_$][\w$]*)|(?P<number>-?\d+(?:\.\d+)?)"""
    r"""|(?P<mark>[{}\[\],:()]))""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r?\n|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_CONSTANTS = {"true": "true", "false": "false", "null": "null", "undefined": "null"}
_LONGEST = 400_000  # characters of a script that is looked into
_MOST = 64  # calls


def calls_of(script: str) -> list[tuple[str, Any]]:
    """Return (tool, argument) of each call that a script makes, in order; an empty list where it makes none or one of them is not written
    out."""
    if len(script) > _LONGEST:
        return []
    names: dict[str, str] = {}
    for named in _NAMED.finditer(script):
        value = _TOKEN.match(script, named.end())
        if value is not None and value["text"]:
            names[named[1]] = _text(value["text"])
    found: list[tuple[str, Any]] = []
    for call in _CALL.finditer(script):
        argument = _argument(script, call.end(), names)
        if argument is None or len(found) == _MOST:
            return []
        found.append((call[1], argument[0]))
    return found


def _argument(script: str, at: int, names: Mapping[str, str]) -> tuple[Any] | None:
    """Return the one argument of a call that begins there, its tokens turned into JSON; None for what is more than data."""
    made: list[str] = []
    depth = 0
    while (token := _TOKEN.match(script, at)) is not None:
        at = token.end()
        if token["mark"] == ")" and not depth:
            break
        if token["text"]:
            made.append(json.dumps(_text(token["text"])))
        elif token["word"]:
            follows = _TOKEN.match(script, at)
            is_key = follows is not None and follows["mark"] == ":"
            word = json.dumps(token["word"]) if is_key else _CONSTANTS.get(token["word"]) or _known(token["word"], names)
            if not word:
                return None
            made.append(word)
        elif token["mark"] in ("(", ")"):
            return None
        else:
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token["mark"] or "", 0)
            if token["mark"] in ("}", "]") and made[-1:] == [","]:  # which JSON has not
                made.pop()
            made.append(token["number"] or token["mark"])
    else:
        return None
    try:
        return (json.loads("".join(made) or "{}"),)
    except (ValueError, RecursionError):
        return None


def _known(word: str, names: Mapping[str, str]) -> str:
    return json.dumps(names[word]) if word in names else ""


def _text(literal: str) -> str:
    """Return what a literal of JavaScript's says."""

    def said(escape: re.Match[str]) -> str:
        code = escape[1]
        if code[0] in "ux" and len(code) > 1:
            number = int(code[1:].strip("{}"), 16)
            return chr(number) if number < 0x110000 else ""
        return "" if code.strip("\r") == "\n" else _ESCAPES.get(code, code)

    return _ESCAPE.sub(said, literal[1:-1])
