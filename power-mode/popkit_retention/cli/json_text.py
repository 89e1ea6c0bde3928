"""Edit one member of a JSON object in its text, so that the rest of a person's file stays as it was. ValueError for a text that is not a
JSON object. Pure."""

from __future__ import annotations

import json
from collections import namedtuple

_SPACE = " \t\n\r"
_BOM = "\ufeff"


# The place of a member: its name begins at `at`, its value is from `start` to before `end`.
Member = namedtuple("Member", "name at start end")


def members_of(text: str) -> list[Member]:
    """Return the members of the JSON object in a text."""
    body = text[1:] if text.startswith(_BOM) else text
    if not isinstance(json.loads(body), dict):
        raise ValueError("it is not a JSON object")
    decoder = json.JSONDecoder()
    parsed: list = []
    at = _after_space(text, text.index("{") + 1)
    while text[at] != "}":
        name, after = decoder.raw_decode(text, at)
        start = _after_space(text, _after_space(text, after) + 1)
        _, end = decoder.raw_decode(text, start)
        if any(member.name == name for member in parsed):
            raise ValueError(f'it has "{name}" twice')
        parsed.append(Member(name, at, start, end))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return parsed


def _after_space(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at


def value_text(text: str, name: str) -> str | None:
    """Return the text of a member's value; None where there is no such member."""
    return next((text[member.start : member.end] for member in members_of(text) if member.name == name), None)


def with_value(text: str, name: str, value: str) -> str:
    """Return the text with a member set to a value (a JSON text, used as it is); a new member comes last."""
    known = members_of(text)
    for member in known:
        if member.name == name:
            return text[: member.start] + value + text[member.end :]
    entry = json.dumps(name) + ": " + value
    if known:
        end = known[-1].end
        return text[:end] + "," + separator(text) + entry + text[end:]
    start, end = text.index("{"), text.rindex("}")
    return text[: start + 1] + separator(text) + entry + newline(text) + text[end:]


def without(text: str, name: str) -> str:
    """Return the text without a member."""
    known = members_of(text)
    for number, member in enumerate(known):
        if member.name != name:
            continue
        if len(known) == 1:
            return text[: text.index("{") + 1] + text[text.rindex("}") :]
        if number == len(known) - 1:
            return text[: known[number - 1].end] + text[member.end :]
        return text[: member.at] + text[known[number + 1].at :]
    return text


def newline(text: str) -> str:
    """Return the line ending of a text; "" for an object with its members on one line."""
    if "\n" not in text and members_of(text):
        return ""
    return "\r\n" if "\r\n" in text else "\n"


def separator(text: str) -> str:
    """Return the separator before each member: a new line and its indentation."""
    known = members_of(text)
    if not known:
        return newline(text) + "  "
    before = text[: known[-1].at]
    between = before[len(before.rstrip(_SPACE)) :]
    return newline(text) + between.rpartition("\n")[2] if "\n" in between else between


def formatted(text: str, value: object) -> str:
    """Return a value as JSON in the style of a text."""
    between = separator(text)
    if "\n" not in between:
        return json.dumps(value, ensure_ascii=False)
    indent = between.rpartition("\n")[2]
    shown = json.dumps(value, ensure_ascii=False, indent=indent or None)
    return shown.replace("\n", newline(text) + indent)
