"""The phrases of a report about a result. Pure."""

from __future__ import annotations

from .. import text, units
from ..hosts import CLAUDE_CODE
from ..hosts.tools import tool as tool_named
from ..policy import kinds
from ..policy.occasions import CLEARED_BY_USER
from ..policy.tools import EDITS, FIND, LIST, READS, SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..policy.shapes import Removals
    from .shapes import Report, ResultRow

# Operations whose labels are paths.
_OF_PATHS = READS | EDITS | {FIND, LIST}
# Triggers that come from another call's content, as against age or the user.
CAUSED = frozenset(("superseded", "same_content", "edited", "committed"))
# What ends a live result, as a continuation of "until".
_UNTIL = {
    "edit": "edited",
    "commit": "committed",
    "rerun": "the next run",
    "repeat": "repeated",
    "reread": "read again",
    "success": "it succeeds",
    "newer": "a newer list",
    "session_end": "the session ends",
    "manual": "you clear it",
    "unpin": "unpinned",
}
# When what was asked of a session that does not run is done.
RESUMED = "when the session is resumed in Claude Code 2.1.326 or later"
# By where the size of a window comes from.
_OF_WINDOW = {
    "transcript": "the {} tokens at which it was compacted", "compaction": "the {} tokens at which Claude Code compacts",
    "assumed": "{} tokens, window assumed",
}  # fmt: skip
_AT = {
    "same_content": "same content",
    "edited": "edited",
    "committed": "committed",
    "changed_on_disk": "changed on disk",
    "ttl_calls": "expired",
    "ttl_seconds": "timed out",
}
# Beginnings of the engine's reasons that name the call which ended a result.
_CAUSES = ("a newer run of", "the action succeeded", "the same content")
_ENDED_BY_ITS_LIKE = {kind.name: kind.ended for kind in kinds.ALL if kind.ended}
_WASTE = 5  # columns that a path may lose to begin with a whole segment
_AFTER_COMMAND = (" 2>", " >", " |", " &", ";")  # the rest does not say which run it is
_RUN_NAME = 22  # columns
_LEAST_CAUSE = 6  # columns in which a cause still tells something
_TRIGGERS = {
    "superseded": "superseded",
    "same_content": "the same content came again",
    "edited": "file edited",
    "committed": "file committed",
    "changed_on_disk": "file changed on disk",
    "ttl_calls": "its number of calls was up",
    "ttl_seconds": "its time was up",
    "session_end": "the session ended",
    "manual": "cleared by you",
}
# Why results stay in the context, in a word or two after their number.
WHY_KEPT = {
    "waits": "waiting for a cold cache",
    "grace": "used lately",
    "leaned_on": "referred to",
    "pinned": "pinned",
    "small": "too small",
    "unseen": "not seen by the model yet",
    "last_word": "newest run",
    "preserved": "preserved",
    "in_use": "in use",
    "likely": "likely needed again",
    "worth_keeping": "worth keeping",
    "thinking": "worth less than the reasoning lost with them",
    "live": "live",
}


def agent_of(hosts: Sequence[str]) -> str:
    """Return the name of the agent in sessions of these hosts."""
    if not hosts or list(hosts) == [CLAUDE_CODE]:
        return "Claude"
    return hosts[0] if len(hosts) == 1 else "the model"


def number(row: ResultRow) -> str:
    """Return the name of a result: T and the number of its call."""
    return "T" + str(row["number"])


def label(row: ResultRow, columns: int) -> str:
    """Return a result's label cut to `columns`, with (fail) for an error."""
    mark = " (fail)" if row["error"] else ""
    return shortened(row["label"], columns - len(mark)) + mark


def shortened(words: str, columns: int) -> str:
    """Return a label cut to `columns`: a path keeps its end, a command line its action."""
    words = text.clean(words).strip()
    tool, _, rest = words.partition(" ")
    if text.width(words) > columns > len(tool) + 8 and tool_named(tool).operation in _OF_PATHS:
        return tool + " " + _path(rest, columns - len(tool) - 1)
    while text.width(words) > columns:
        later = _without_preparation(rest)
        if not later:
            break
        rest = later
        words = f"{tool} {text.ELLIPSIS} {rest}"
    return text.cut(words, columns)


def _path(path: str, columns: int) -> str:
    """Return the end of a path, from the start of a segment where that wastes little room."""
    end = text.cut_start(path, columns)
    at = end.find("/")
    return text.ELLIPSIS + end[at:] if 0 < at <= _WASTE else end


def run_name(label: str, family: str) -> str:
    """Return a run as a person calls it, `npm run build`; for a long command line the kind of run."""
    command = text.clean(label).partition(" ")[2]
    while later := _without_preparation(command):
        command = later
    for sign in _AFTER_COMMAND:
        command = command.partition(sign)[0]
    command = command.strip()
    return command if 0 < text.width(command) <= _RUN_NAME else family


def _without_preparation(command: str) -> str:
    """Return a command line without its preparation, `cd DIR &&` or `NAME=value`; "" when it has none."""
    if command.startswith("cd "):
        return command.partition(" && ")[2]
    name, equals, value = command.partition("=")
    if not equals or not name.replace("_", "a").isalnum():
        return ""
    if value[:1] in ("'", '"'):
        value = value[1:].partition(value[0])[2]
    return value.partition(" ")[2].lstrip("&; ")


def quoted(target: str) -> str:
    """Return a pin's target as a person would type it."""
    target = text.clean(target)
    return '"' + target + '"' if " " in target or "*" in target else target


def command_lines(command: str) -> list[text.Line]:
    """Return a command on a line of its own. In a shell it stays whole, so that it can be copied; Claude Code would break it worse."""
    return text.wrap("  " + command, indent="  ") if command.startswith("/") else [text.whole("  " + command)]


def resume(session_id: str) -> text.Line:
    """Return the command that a person types in a shell to go on with a session."""
    (line,) = text.wrap("  claude --resume " + text.clean(session_id), indent="  ")
    return line


def title(row: ResultRow, columns: int) -> str:
    """Return a result's number and label in one line of at most `columns`."""
    return (number(row) + "  " + label(row, columns - len(number(row)) - 2)).rstrip()


def ends_until(row: ResultRow) -> str:
    """Return what will end a live result, in a few words: `until T7 or 2 min`, `until edited or committed`."""
    expires = row["expires"]
    on = expires["on"]
    if "unpin" in on:
        return "pinned"
    if expires["held_until"]:
        return f"restored, held until T{expires['held_until']}"
    if row["tier"] == "preserved":
        return "kept until " + _UNTIL[on[0]]
    soon = []
    if expires["at_call"] is not None:
        soon.append("T" + str(expires["at_call"]))
    if expires["seconds_left"] is not None:
        soon.append(units.span(expires["seconds_left"]))
    if not soon:
        soon = [_UNTIL[event] for event in on if event not in ("session_end", "reread") or len(on) == 1]
    return "until " + " or ".join(soon)


def of_window(tokens: str, window: str, source: str) -> str:
    """Return `12k of 200k tokens`, with where that comes from unless it was stated."""
    return f"{tokens} of " + _OF_WINDOW.get(source, "{} tokens").format(window)


def filled(tokens: int, measured: bool, window: int, source: str) -> str:
    """Return how full a context is: `12,345 of 200,000 tokens`."""
    return of_window(f"{tokens:,}" if measured else units.estimate(tokens), f"{window:,}", source)


def ended_at(row: ResultRow) -> str:
    """Return `at T7`; `after T7` of what changed on disk before the next call was seen."""
    ended = row["ended"]
    return f"{'after' if ended['trigger'] == 'changed_on_disk' else 'at'} T{ended['at_call']}"


def how_ended(row: ResultRow, columns: int = text.WIDTH) -> str:
    """Return what ended an expired result, in a few words: `superseded at T7: npm test`, `expired at T17`. The cause is named if it
    fits."""
    ended = row["ended"]
    trigger, at = ended["trigger"], ended_at(row)
    if row["state"] == "cleared":
        return f"cleared: restore {row['handle']}"
    if trigger in ("session_end", "manual"):
        return _TRIGGERS[trigger]
    if trigger != "superseded":
        return f"{_AT.get(trigger, text.clean(trigger))} {at}"
    if row["kind"] in _ENDED_BY_ITS_LIKE:
        return f"{_ENDED_BY_ITS_LIKE[row['kind']]} {at}"
    by = caused_by(row)
    room = columns - len("superseded : " + at)
    same = text.clean(row["label"]).endswith(by) and text.width(by) > room
    if not by or room < _LEAST_CAUSE or same:
        return "superseded " + at
    return f"superseded {at}: {shortened(by, room)}"


def caused_by(row: ResultRow) -> str:
    """Return the label of the call that superseded a result, of a command line without its tool; "" where the reasons do not name it."""
    for reason in row["ended"]["reasons"]:
        head, colon, tail = text.clean(reason).partition(": ")
        if colon and head.startswith(_CAUSES):
            tool, _, line = tail.partition(" ")
            return text.clean(line if tool_named(tool).operation == SHELL else tail).strip()
    return ""


def why_ended(row: ResultRow) -> str:
    """Return the trigger of an expired result, in words."""
    trigger = row["ended"]["trigger"]
    if trigger == "manual" and row["ended"]["reasons"][:1] != [CLEARED_BY_USER]:
        return "long unused"
    return _TRIGGERS.get(trigger, text.clean(trigger))


def ending_sentences(row: ResultRow) -> list[str]:
    """Return sentences on what will end a live result, each a line of its own."""
    expires = row["expires"]
    parts = []
    if expires["at_call"] is not None and expires["calls_left"] is not None:
        parts.append(f"at call T{expires['at_call']}, {units.counted(expires['calls_left'], 'call')} from now")
    if expires["seconds_left"] is not None:
        parts.append(f"in {units.span(expires['seconds_left'])}, if that comes first")
    parts += [_SENTENCES[event] for event in expires["on"]]
    return parts + ([f"not before T{expires['held_until']}, because it was restored"] if expires["held_until"] else [])


_SENTENCES = {
    "edit": "when its file is edited or changes on disk",
    "commit": "when its file is committed",
    "rerun": "when the same thing runs again",
    "repeat": "when the same call is made again",
    "reread": "when everything it shows is read again",
    "success": "when the action that failed succeeds",
    "newer": "when a newer list arrives",
    "session_end": "when the session ends",
    "manual": "when you clear it",
    "unpin": "never, while it is pinned",
}
_CENT = 0.005  # rounded, the least that is worth a word


def no_results(report: Report) -> str:
    """Return that a context has no results, and whether it ever had."""
    return "there are no tool results in the context any more" if report["calls"] else "there are no tool results yet"


def leaving(have: Removals, many: str) -> str:
    """Return the removals of a plan in words: `many`, the results that are known to leave, and the least needed."""
    if not have["further"]:
        return many
    return f"{many} and the least needed of the rest" if have["items"] else "the least needed results and calls"


def saves(usd: float | None) -> str:
    """Return what leaving a cold cache saves, as the end of a sentence."""
    return saving(usd) or " at no cost"


def pays(after: int | None, usd: float | None) -> str:
    """Return when it pays, or its immediate saving, as the end of a sentence."""
    return f", which pays after {units.counted(after, 'request')}" if after else saves(usd)


def saving(usd: float | None) -> str:
    """Return `, saving ~$0.34`; "" for less than a cent, and where no price is known."""
    return f", saving ~${usd:,.2f}" if usd is not None and usd >= _CENT else ""
