"""A result with its reasons (`why`). A report in, lines out."""

from __future__ import annotations

from .. import text, units
from ..hosts import COMMAND
from ..policy import kinds, worth
from . import phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shapes import PlannedResult, Report, ResultRow, ShortEntry, ShownFile


def why(report: Report, row: ResultRow, command: str = COMMAND, left: str = "") -> list[text.Line]:
    """Return the lines that explain one row of a report; `left`: when and how it left the context."""
    lines: list[text.Line] = ["", lambda columns: text.heading(phrases.title(row, columns), columns)]
    lines += text.pair("What", _what(row))
    if row["verdict"]:
        lines += text.pair("Said", row["verdict"])
    for shown in row["shows"][:5]:
        lines += text.pair("Shows", _shows(shown))
    if len(row["shows"]) > 5:
        lines += text.pair("", "and " + units.counted(len(row["shows"]) - 5, "more file"))
    if row["entered"]:
        lines += _entered(row["entered"])
    lines += text.pair("Tier", f"{row['tier']} ({row['basis']})")
    lines += text.pair("Called", _when(report, row))
    if row["state"] == "live":
        lines += _state(report, row, command)
    else:
        lines += _end(row, command, left)
    if row["plan"]:
        lines += _weighed(report, row, row["plan"])
    return [*lines, "", *text.wrap("Its id: " + row["id"], indent="  ")]


# Why a result goes or stays, as a sentence.
_REASONS = {
    "worth": "it costs more to keep than to clear",
    "expired": "it has expired and was not used lately",
    "asked": "you asked for it",
    "with_others": "it has expired, so it leaves with the others",
    "waits": "writing the prompt again costs more while the cache is warm",
    "grace": "it has expired, but was used lately",
    "leaned_on": "what stays in the context refers to it",
    "pinned": "it is pinned",
    "small": "its placeholder would be almost as large",
    "unseen": "the model has not seen it yet",
    "last_word": "it is the newest run of a command, and no single line of it sums it up",
    "preserved": "it is preserved",
    "in_use": f"it was used in the last {worth.LEAST_QUIET} calls",
    "likely": "it is likely to be needed again",
    "worth_keeping": "fetching it again would cost more than clearing it saves",
    "thinking": "clearing it saves less than the reasoning that would leave with it is worth",
    "live": "it is live, and this profile clears only what has expired",
    "not_text": "it shows a picture or a document, and a clear leaves only text",
}
# Reasons for which a result stays whatever else leaves.
_STAYS = ("pinned", "unseen", "last_word", "preserved")


def _weighed(report: Report, row: ResultRow, plan: PlannedResult) -> list[text.Line]:
    """Return a clear's decision on a result: whether it goes, why, the chance that it is needed again, the worth of clearing it."""
    cold = report["context"] is not None and report["context"]["cache"] == "warm" and plan["cold"] == "clear"
    if plan["action"] == "clear":
        words = f"a clear takes it now: {_REASONS[plan['reason']]}"
    elif cold and plan["reason"] in ("worth", "expired", "waits"):
        words = "it stays until the cache is cold: until then, writing the prompt again costs more than it saves"
    elif cold:
        words = f"it stays while the cache is warm: {_REASONS[plan['reason']]}. Once the cache is cold, a clear takes it"
    elif plan["reason"] == "pinned" and not row["pinned_by"]:
        words = "it stays: it was restored, and is held for a while"
    elif report["reclaimable"]["now"]["further"] and plan["reason"] not in _STAYS:
        words = f"it stays, unless it is among what is needed least: {_REASONS[plan['reason']]}"
    else:
        words = f"it stays: {_REASONS[plan['reason']]}"
    lines = text.pair("Clear", words)
    if plan["need"] is not None:
        lines += text.pair("Needed", f"a chance of {units.chance(plan['need'])} that it is needed again")
    if plan["value"] is not None:
        without = ", not counting the rewrite" if report["context"] and report["context"]["cache"] == "warm" else ""
        verb = "saves" if plan["value"] >= 0 else "loses"
        lines += text.pair(
            "Worth", f"clearing it {verb} {units.long_tokens(abs(plan['value']))} of input over the requests to come{without}"
        )
    return lines


def _entered(entered: ShortEntry) -> list[text.Line]:
    """Return how much of a result never entered the context, why, and where it is."""
    if not entered["kept_out_tokens"]:
        return text.pair("Entered", "shorter; " + "; ".join(entered["reasons"]))
    lines = text.pair("Entered", f"shorter, {units.long_tokens(entered['kept_out_tokens'])} kept out: " + "; ".join(entered["reasons"]))
    if entered["leans_on"]:
        lines += text.pair("", "it refers to " + ", ".join(f"T{number}" for number in entered["leans_on"]))
    return lines + text.pair("Whole", "popkit restore " + entered["handle"])


def _offer(name: str, content: str, command: str) -> list[text.Line]:
    """Return a pair that ends in a command, which has a line of its own where it does not fit."""

    def lines(columns: int) -> list[str]:
        fits = text.width(text.clean(content + " " + command)) <= columns - text.ASIDE
        return text.laid_out(
            text.pair(name, f"{content} {command}") if fits else [*text.pair(name, content), *phrases.command_lines(command)], columns
        )

    return [lines]


def _what(row: ResultRow) -> str:
    family = row["kind"].partition(":")[2]
    words = kinds.of(row["kind"]).label + (f"{':' if kinds.is_run(row['kind']) else ' of'} {family}" if family else "")
    return f"{words}, {units.long_tokens(row['tokens'])} (estimate)"


def _shows(shown: ShownFile) -> str:
    return shown["path"] + {"all": "", "part": " (in part)"}.get(shown["lines"], " " + shown["lines"])


def _when(report: Report, row: ResultRow) -> str:
    age, quiet = row["age"], row["quiet_age"]
    words = f"{units.counted(age, 'call')} ago" if age else "the newest call"
    passed = report["at"] - row["at"]
    if row["at"] and passed >= 1:
        words += f" ({units.span(passed)})"
    words += f", in turn {row['turn']}"
    if quiet < age:
        words += f"; last used {units.counted(quiet, 'call')} ago" if quiet else "; used by the newest call"
    return words


def _state(report: Report, row: ResultRow, command: str) -> list[text.Line]:
    lines = text.pair("State", "live")
    for name, words in zip(("Ends", *[""] * 9), phrases.ending_sentences(row)):
        lines += text.pair(name, words)
    if not row["pinned_by"]:
        return lines + _offer("Pinned", "no. To keep it:", f"{command} pin {phrases.number(row)}")
    if row["pinned_by"] == row["id"]:
        return lines + _offer("Pinned", "yes. To release it:", f"{command} unpin {phrases.number(row)}")
    if row["pinned_by"] not in report["pins"]:
        return lines + text.pair("Pinned", f"yes, by {row['pinned_by']} in the configuration")
    return lines + _offer("Pinned", f"yes, by {row['pinned_by']}. To release it:", f"{command} unpin {phrases.quoted(row['pinned_by'])}")


def _end(row: ResultRow, command: str, left: str) -> list[text.Line]:
    ended = row["ended"]
    by = f" (T{ended['by_number']})" if ended["by_number"] is not None and ended["by_number"] != ended["at_call"] else ""
    cleared = row["state"] == "cleared"
    lines = text.pair(
        "State", f"expired {phrases.ended_at(row)}{by}: {phrases.why_ended(row)}; {'cleared' if cleared else 'still in the context'}"
    )
    for name, reason in zip(("Because", *[""] * 20), ended["reasons"]):
        lines += text.pair(name, reason)
    if left:
        lines += text.pair("Left", left)
    if cleared:
        return lines + _offer("Back", f"popkit restore {row['handle']} or", f"{command} restore {phrases.number(row)}")
    return lines + _offer("Pin", "to keep it after all:", f"{command} pin {phrases.number(row)}")
