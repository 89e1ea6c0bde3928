"""The problems of the configuration's files, as a person reads them.

The check walks the table of `fields`, so it finds a problem exactly where the hooks' reader ignores something; it also says where a text
stops being JSON and which keys occur twice. Reads only.
"""

from __future__ import annotations

import collections
import difflib
import json
import os

from popkit_retention.core.config import gone
from popkit_retention.core.config.fields import FIELDS
from popkit_retention.core.config.layers import layer_paths, merge, read_layer, read_text, without_comments
from popkit_retention.core.config.validation import usable
from popkit_retention.core.policy.masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


LONGEST_VALUE = 60
# `value` is the JSON text of the value, "" where the problem is not one value; `hint` is one more sentence or "".
Problem = collections.namedtuple("Problem", "file key value allowed hint")


def check_layers(root: str | None, home: str | None, project: str | None) -> tuple[list[str], list[Problem]]:
    """Return (files that exist, problems) of all layers, including problems that only show when the layers are merged."""
    files, problems, layers = [], [], []
    for name, path in layer_paths(root, home, project):
        # lexists: a broken link exists, and is reported.
        if os.path.lexists(path):
            files.append(path)
            problems += check_file(path, name)
        elif name == "shipped":
            problems.append(Problem(path, "", "", "the shipped file; the built-in defaults apply", "Install PopKit again."))
        layers.append(read_layer(name, path))
    beside = os.path.join(root or "", "hooks", "retention-config.json")
    if root and os.path.lexists(beside):
        # The specification names this place, too; hooks read the other one, power-mode/config.json.
        place = layers[1].path
        problems.append(Problem(beside, "", "", "no file here; it is not read", f'Move its "retention" to {place}.'))
    refused: list[Any] = []
    merge(layers, refused)
    for layer, key, value, allowed in refused:
        problems.append(Problem(layer.path, key, shown(value), allowed, ""))
    return files, problems


def check_file(path: str, layer: str | None = None) -> list[Problem]:
    """Return the problems of one file; without a layer, the layer follows from its path."""
    text, error = read_text(path)
    if text is None:
        return [Problem(path, "", "", "a JSON file", error or "There is no such file.")]
    return check_text(text, path, layer or layer_of(path))


def layer_of(path: str) -> str:
    """Return the layer that a file belongs to, by its path; the user's for any other file."""
    folder, name = os.path.split(os.path.abspath(path))
    if os.path.basename(folder) == ".claude":
        return "project"
    return "power-mode" if os.path.basename(folder) == "power-mode" and name == "config.json" else "user"


def check_text(text: str, path: str, layer: str) -> list[Problem]:
    """Return the problems of a file's text."""
    repeated: list[Any] = []
    try:
        document = _parsed(text, repeated)
    except json.JSONDecodeError as error:
        where = f"{error.msg} at line {error.lineno}, column {error.colno}."
        return [Problem(path, "", "", "JSON; the whole file is ignored", where)]
    except _NumberTooLong as error:
        where = f"The number {error.digits[:12]}… at line {text.count(chr(10), 0, text.find(error.digits)) + 1}"
        hint = f"{where} has {len(error.digits.lstrip('-')):,} digits. Write a smaller one."
        return [Problem(path, "", "", "JSON; the whole file is ignored", hint)]
    except RecursionError:
        hint = "It holds lists or objects that are nested too deeply to be read. Remove the inner ones."
        return [Problem(path, "", "", "JSON; the whole file is ignored", hint)]
    return _repeated(document, repeated, path, layer) + check_document(document, path, layer)


def check_document(document: object, path: str, layer: str) -> list[Problem]:
    """Return the problems of a file's content."""
    problems: list[Problem] = []

    def note(at: tuple[str | int, ...], value: object, allowed: str, known: tuple[str, ...]) -> None:
        hint = gone.SETTINGS.get(gone.setting(at, value), "")
        if not hint:
            hint = _suggestion(value, known) if allowed else _unknown_key_hint(at, known)
        allowed = allowed or "one of the keys " + ", ".join(known)
        problems.append(Problem(path, dotted(at), shown(value), allowed, hint))

    usable(document, layer, note)
    return problems


def dotted(path: tuple[str | int, ...]) -> str:
    """Return a key path as one text: `retention.tool_overrides.Read.patterns["*.md"]`, `pins[0]`."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif key.replace("_", "a").replace("-", "a").isalnum():
            text += f".{key}" if text else key
        else:
            text += f"[{shown(key)}]"
    return text


class _NumberTooLong(Exception):
    """A whole number with more digits than Python reads."""

    def __init__(self, digits: str) -> None:
        super().__init__(digits)
        self.digits = digits


def _whole_number(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise _NumberTooLong(digits) from None


def _parsed(text: str, repeated: list[Any]) -> object:
    def pairs(members: list[tuple[str, Any]]) -> dict[str, object]:
        unique = dict(members)
        if len(unique) < len(members):
            counts = collections.Counter(key for key, _ in members)
            repeated.append((unique, [key for key in counts if counts[key] > 1]))
        return unique

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_int=_whole_number)
    except json.JSONDecodeError:
        return json.loads(without_comments(text), object_pairs_hook=pairs, parse_int=_whole_number)


def _repeated(document: object, repeated: list[Any], path: str, layer: str) -> list[Problem]:
    """Return the keys that occur twice in one object; in power-mode/config.json, only `retention` is ours."""
    problems: list[Problem] = []

    def walk(value: object, at: tuple[str | int, ...]) -> None:
        if isinstance(value, dict):
            for twin, keys in repeated:
                if twin is value:
                    problems.extend(
                        Problem(path, dotted((*at, key)), shown(value[key]), "each key once", "The last one counts.")
                        for key in keys
                        if layer != "power-mode" or (*at, key)[0] == "retention"
                    )
            for key, member in value.items():
                walk(member, (*at, key))
        elif isinstance(value, list):
            for index, member in enumerate(value):
                walk(member, (*at, index))

    if repeated:
        walk(document, ())
    return problems


def _unknown_key_hint(at: tuple[str | int, ...], known: tuple[str, ...]) -> str:
    """Return the hint for a key that is not in the table."""
    if len(at) > 1:
        return ("There is no such key. " + _suggestion(at[-1], known)).strip()
    if at[0] in FIELDS:
        return 'Move it inside "retention".'
    return ("There is no such key. " + _suggestion(at[0], (*known, "retention"))).strip()


def _suggestion(value: object, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(value, known, 1) if isinstance(value, str) else []
    return f'Did you mean "{close[0]}"?' if close else ""


def shown(value: object) -> str:
    """Return a value as JSON, shortened, with secrets masked and characters that a terminal would not show spelt out."""
    text = mask(json.dumps(value, ensure_ascii=False))
    if not text.isprintable():
        text = mask(json.dumps(value))
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
