"""`why ID`: one result, its tier and the reasons for everything that was decided about it. A report in, lines out."""

from __future__ import annotations

from . import phrases, text

_ASIDE = 10  # columns of the left column

_KINDS = {
    "read": "file contents",
    "search": "search results",
    "run": "output of a run",
    "ack": "an acknowledgement",
    "decision": "a decision of yours",
    "tasks": "a task list",
    "error": "an error",
    "other": "a tool result",
}


def why(report: dict, row: dict, command: str = "/popkit:context") -> list:
    """The lines that explain one row of a report."""
    lines = [*text.title(phrases.title(row))]
    lines += _pair("What", _what(row))
    if row["verdict"]:
        lines += _pair("Said", row["verdict"])
    for shown in row["shows"][:5]:
        lines += _pair("Shows", _shows(shown))
    if len(row["shows"]) > 5:
        lines += _pair("", f"and {len(row['shows']) - 5} more files")
    lines += _pair("Tier", f"{row['tier']} ({row['basis']})")
    lines += _pair("Called", _when(report, row))
    if row["state"] == "live":
        lines += _state(report, row, command)
    else:
        lines += _end(row, command)
    return [*lines, "", *text.wrap("Its id: " + row["id"], indent="  ")]


def _pair(name: str, said: str) -> list:
    said_lines = text.wrap(said, text.WIDTH - _ASIDE)
    return [f"{name:<{_ASIDE}}{said_lines[0]}".rstrip(), *[" " * _ASIDE + line for line in said_lines[1:]]]


def _what(row: dict) -> str:
    kind, _, family = row["kind"].partition(":")
    said = _KINDS.get(kind, kind) + (f" of {family}" if family and kind != "run" else f": {family}" if family else "")
    return f"{said}, {text.long_tokens(row['tokens'])} (estimate)"


def _shows(shown: dict) -> str:
    return shown["path"] + {"all": "", "part": " (in part)"}.get(shown["lines"], " " + shown["lines"])


def _when(report: dict, row: dict) -> str:
    age, quiet = row["age"], row["quiet_age"]
    said = f"{text.counted(age, 'call')} ago" if age else "the newest call"
    passed = report["at"] - row["at"]
    if row["at"] and passed >= 1:
        said += f" ({text.span(passed)})"
    said += f", in turn {row['turn']}"
    if quiet < age:
        said += f"; last used {text.counted(quiet, 'call')} ago" if quiet else "; used by the newest call"
    return said


def _state(report: dict, row: dict, command: str) -> list:
    lines = _pair("State", "live")
    for name, said in zip(("Ends", *[""] * 9), phrases.endings(row)):
        lines += _pair(name, said)
    if not row["pinned_by"]:
        return lines + _pair("Pinned", f"no; to hold it: {command} pin {phrases.number(row)}")
    if row["pinned_by"] == row["id"]:
        return lines + _pair("Pinned", f"yes; to let go: {command} unpin {phrases.number(row)}")
    source = f"to let go: {command} unpin {phrases.quoted(row['pinned_by'])}" if row["pinned_by"] in report["pins"] else "the configuration"
    return lines + _pair("Pinned", f"yes, by {row['pinned_by']}; {source}")


def _end(row: dict, command: str) -> list:
    ended = row["ended"]
    by = f" (T{ended['by_number']})" if ended["by_number"] is not None and ended["by_number"] != ended["at_call"] else ""
    cleared = row["state"] == "cleared"
    lines = _pair(
        "State", f"expired at T{ended['at_call']}{by}: {phrases.why_ended(row)}; {'cleared' if cleared else 'still in the context'}"
    )
    for name, reason in zip(("Because", *[""] * 20), ended["reasons"]):
        lines += _pair(name, reason)
    if cleared:
        return lines + _pair("Back", f"{command} restore {phrases.number(row)}, or popkit restore {row['handle']}")
    return lines + _pair("Pin", f"{command} pin {phrases.number(row)} makes it live again and holds it")
