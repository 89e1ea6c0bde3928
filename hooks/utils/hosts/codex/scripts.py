"""Read the calls of tools in a script of code mode. Pure; no script is run."""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Item = dict[str, object]


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
    calls: list[tuple[str, Any]] = []
    for call in _CALL.finditer(script):
        argument = _argument(script, call.end(), names)
        if argument is None or len(calls) == _MOST:
            return []
        calls.append((call[1], argument[0]))
    return calls


def _argument(script: str, at: int, names: Mapping[str, str]) -> tuple[Any] | None:
    """Return the one argument of a call that begins there, its tokens turned into JSON; None for what is more than data."""
    pieces: list[str] = []
    depth = 0
    while (token := _TOKEN.match(script, at)) is not None:
        at = token.end()
        if token["mark"] == ")" and not depth:
            break
        if token["text"]:
            pieces.append(json.dumps(_text(token["text"])))
        elif token["word"]:
            follows = _TOKEN.match(script, at)
            is_key = follows is not None and follows["mark"] == ":"
            word = json.dumps(token["word"]) if is_key else _CONSTANTS.get(token["word"]) or _known(token["word"], names)
            if not word:
                return None
            pieces.append(word)
        elif token["mark"] in ("(", ")"):
            return None
        else:
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token["mark"] or "", 0)
            if token["mark"] in ("}", "]") and pieces[-1:] == [","]:  # which JSON has not
                pieces.pop()
            pieces.append(token["number"] or token["mark"])
    else:
        return None
    try:
        return (json.loads("".join(pieces) or "{}"),)
    except (ValueError, RecursionError):
        return None


def _known(word: str, names: Mapping[str, str]) -> str:
    return json.dumps(names[word]) if word in names else ""


def _text(literal: str) -> str:
    """Return what a literal of JavaScript's says."""

    def decoded(escape: re.Match[str]) -> str:
        code = escape[1]
        if code[0] in "ux" and len(code) > 1:
            number = int(code[1:].strip("{}"), 16)
            return chr(number) if number < 0x110000 else ""
        return "" if code.strip("\r") == "\n" else _ESCAPES.get(code, code)

    return _ESCAPE.sub(decoded, literal[1:-1])
