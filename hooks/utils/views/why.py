"""`why ID`: one result, its tier and the reasons for everything that was decided about it. A report in, lines out."""

from __future__ import annotations

from .. import text
from ..policy import kinds, worth
from . import phrases

_ASIDE = 10  # columns of the left column


def why(report: dict, row: dict, command: str = "/popkit:context") -> list[str]:
    """The lines that explain one row of a report."""
    lines = [*text.title(phrases.title(row))]
    lines += _pair("What", _what(row))
    if row["verdict"]:
        lines += _pair("Said", row["verdict"])
    for shown in row["shows"][:5]:
        lines += _pair("Shows", _shows(shown))
    if len(row["shows"]) > 5:
        lines += _pair("", f"and {len(row['shows']) - 5} more files")
    if row["entered"]:
        lines += _entered(row["entered"])
    lines += _pair("Tier", f"{row['tier']} ({row['basis']})")
    lines += _pair("Called", _when(report, row))
    if row["state"] == "live":
        lines += _state(report, row, command)
    else:
        lines += _end(row, command)
    if row["plan"]:
        lines += _weighed(report, row)
    return [*lines, "", *text.wrap("Its id: " + row["id"], indent="  ")]


# Why a result goes or stays, as a sentence.
_REASONS = {
    "worth": "it is worth more gone than kept",
    "expired": "it has expired and was not used lately",
    "asked": "you asked for it",
    "waits": "writing the prompt again costs more while the cache is warm",
    "grace": "it has expired, but was used lately",
    "leaned_on": "what stays in the context refers to it",
    "pinned": "it is pinned",
    "small": "its placeholder would be almost as large",
    "unseen": "Claude has not seen it yet",
    "last_word": "it is the newest run of something that no single line of it sums up",
    "preserved": "it is preserved",
    "in_use": f"it was used in the last {worth.LEAST_QUIET} calls",
    "likely": "it is likely to be needed again",
    "worth_keeping": "fetching it again would cost more than clearing it saves",
    "live": "it is live, and this profile clears only what has expired",
}


def _weighed(report: dict, row: dict) -> list:
    """What a clear thinks of a result: whether it goes, why, the chance that it is needed again, what its going is worth."""
    plan = row["plan"]
    cold = report["context"] is not None and report["context"]["cache"] == "warm" and plan["cold"] == "clear"
    if plan["action"] == "clear":
        said = f"a clear takes it now: {_REASONS[plan['reason']]}"
    elif cold and plan["reason"] in ("worth", "expired", "waits"):
        said = "it stays until the cache is cold: until then, writing the prompt again costs more than it saves"
    elif cold:
        said = f"it stays while the cache is warm: {_REASONS[plan['reason']]}. Once the cache is cold, a clear takes it"
    elif plan["reason"] == "pinned" and not row["pinned_by"]:
        said = "it stays: it was restored, and is held for a while"
    else:
        said = f"it stays: {_REASONS[plan['reason']]}"
    lines = _pair("Clear", said)
    if plan["need"] is not None:
        chance = f"{plan['need']:.0%}" if plan["need"] >= 0.01 else "less than 1%"
        lines += _pair("Needed", f"a chance of {chance} that it is needed again")
    if plan["value"] is not None:
        without = ", not counting the rewrite" if report["context"] and report["context"]["cache"] == "warm" else ""
        verb = "saves" if plan["value"] >= 0 else "loses"
        lines += _pair("Worth", f"clearing it {verb} {text.long_tokens(abs(plan['value']))} of input{without}")
    return lines


def _entered(entered: dict) -> list[str]:
    """What of a result never entered the context, why, and where it is."""
    if not entered["kept_out_tokens"]:
        return _pair("Entered", "shorter; " + "; ".join(entered["reasons"]))
    lines = _pair("Entered", f"shorter, {text.long_tokens(entered['kept_out_tokens'])} kept out: " + "; ".join(entered["reasons"]))
    if entered["leans_on"]:
        lines += _pair("", "it refers to " + ", ".join(f"T{number}" for number in entered["leans_on"]))
    return lines + _pair("Whole", "popkit restore " + entered["handle"])


def _pair(name: str, said: str) -> list[str]:
    said_lines = text.wrap(said, text.WIDTH - _ASIDE)
    return [f"{name:<{_ASIDE}}{said_lines[0]}".rstrip(), *[" " * _ASIDE + line for line in said_lines[1:]]]


def _offer(name: str, said: str, command: str) -> list:
    """A pair that ends in a command, which has a line of its own where it does not fit."""
    if text.width(text.clean(said + " " + command)) <= text.WIDTH - _ASIDE:
        return _pair(name, f"{said} {command}")
    return [*_pair(name, said), *phrases.command_lines(command)]


def _what(row: dict) -> str:
    family = row["kind"].partition(":")[2]
    said = kinds.of(row["kind"]).said + (f"{':' if kinds.is_run(row['kind']) else ' of'} {family}" if family else "")
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
        return lines + _offer("Pinned", "no. To keep it:", f"{command} pin {phrases.number(row)}")
    if row["pinned_by"] == row["id"]:
        return lines + _offer("Pinned", "yes. To let go:", f"{command} unpin {phrases.number(row)}")
    if row["pinned_by"] not in report["pins"]:
        return lines + _pair("Pinned", f"yes, by {row['pinned_by']} in the configuration")
    return lines + _offer("Pinned", f"yes, by {row['pinned_by']}. To let go:", f"{command} unpin {phrases.quoted(row['pinned_by'])}")


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
        return lines + _offer("Back", f"popkit restore {row['handle']} or", f"{command} restore {phrases.number(row)}")
    return lines + _offer("Pin", "to keep it after all:", f"{command} pin {phrases.number(row)}")
