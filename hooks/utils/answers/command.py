"""The words after /popkit:context, answered: text for the hook, text or data for the shell. A mistake of the user's is an answer too."""

from __future__ import annotations

import os

from .. import flag_parser
from ..context_table import CONTEXT
from ..policy import planning
from ..reclaim import access, outlook, restoring, rewrite
from ..state import journal, settling
from . import changes, clear, ids, memory, phrases, putback, report, text, timeline, why
from .help import lines_of
from .panel import panel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from sqlite3 import Connection
    from typing import Any, Protocol

    from ..archive.records import Record
    from ..state.rebuild import Rebuilt
    from ..state.site import Site

    class InPlace(Protocol):
        """Changes the conversation of a running session: what is asked for is done as soon as Claude is idle."""

        def clear(self, ids: Sequence[str]) -> None:
            """Takes these results out."""

        def put_back(self, handles: Sequence[str]) -> None:
            """Puts what is archived under these handles back."""

        def cancel(self) -> bool:
            """Lets go of a clear that was asked for and is not done yet; whether there was one."""


COMMAND = "/popkit:context"


class Answer:
    """Lines to show, the same as data, and the error when the user asked for what there is not."""

    __slots__ = ("data", "error", "lines")

    def __init__(self, lines: list[str], data: object = None, error: str = ""):
        self.lines = lines
        self.data = data
        self.error = error


class Asked:
    """One question: the parsed words and where they are asked."""

    __slots__ = ("_seen", "arguments", "command", "flags", "in_place", "now", "site", "transcript_path")

    def __init__(
        self, parsed: flag_parser.Parsed, site: Site, transcript_path: str, now: float, command: str, in_place: InPlace | None = None
    ) -> None:
        self.arguments = parsed.arguments
        self.flags = parsed.flags
        self.site = site
        self.transcript_path = transcript_path
        self.now = now
        self.command = command
        self.in_place = in_place
        self._seen: outlook.Outlook | None = None

    def look(self) -> outlook.Outlook:
        """The main context, reconciled with its transcript once."""
        if self._seen is None:
            self._seen = outlook.look(self.site, self.transcript_path, self.now)
        return self._seen

    def report(self) -> dict[str, Any]:
        """The report of it as it stands."""
        return report.build(self.look())

    def change(self, entries: list[dict[str, Any]]) -> dict[str, Any]:
        """Journals what the user changes; the report after it."""
        outlook.change(self.look(), self.site, entries)
        return self.report()


def answer(words: str, site: Site, transcript_path: str, now: float, in_place: InPlace | None = None) -> str:
    """The text that answers `/popkit:context WORDS` in the session of a Site. `in_place`: who changes the running conversation; without
    it the transcript is changed."""
    try:
        parsed = flag_parser.parse(split(words), CONTEXT, shell=False)
    except flag_parser.UsageError as error:
        return "\n".join(_mistake(str(error), COMMAND).lines)
    given = respond(parsed, site, transcript_path, now, COMMAND, in_place)
    if "json" in parsed.flags and not given.error:
        return "\n" + text.as_json(given.data)
    return "\n".join(given.lines)


def split(words: str) -> list[str]:
    """The words of a line as a shell would see them; split at blanks where the quotes do not match."""
    import shlex

    try:
        return shlex.split(words)
    except ValueError:
        return words.split()


def respond(
    parsed: flag_parser.Parsed, site: Site, transcript_path: str, now: float, command: str, in_place: InPlace | None = None
) -> Answer:
    """The answer to parsed words; `command` is how the reader calls us; `in_place`: see `answer`."""
    try:
        return _ANSWERS[parsed.word](Asked(parsed, site, transcript_path, now, command, in_place))
    except (flag_parser.UsageError, ids.NotFound, changes.Unknown, access.Refused, restoring.NotFound, rewrite.RewriteFailed) as error:
        return _mistake(str(error), command)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _mistake(where + (error.strerror or str(error)), command)


def _mistake(message: str, command: str) -> Answer:
    message = text.clean(message)
    return Answer(["", *text.wrap("PopKit: " + message), "", f"{command} help lists all words and flags."], {"error": message}, message)


# --- one function a word -------------------------------------------------------------------------------------------------------


def _retention(asked: Asked) -> Answer:
    chosen = _profile_of(asked.flags)
    told: list[str] = []
    if chosen:
        target = changes.profile_target(chosen)
        asked.look()
        asked.site.remember(profile=target)
        found = asked.change([journal.profile_chosen(target, asked.now)])
        told = ["", *text.wrap(changes.profile_chosen(target, found["profile"]))]
    found = asked.report()
    if "json" not in asked.flags:
        told += memory.mark_lines(asked.site, asked.command, asked.now) + memory.alert_lines(asked.site, asked.command)
    return Answer([*told, *panel(found, "details" in asked.flags, "all" in asked.flags, asked.command)], found)


def _profile_of(flags: dict) -> str:
    names = [name for name in ("aggressive", "conservative") if name in flags]
    names += [flags["profile"]] if "profile" in flags else []
    if len(names) > 1:
        raise flag_parser.UsageError("choose one profile, not " + " and ".join(names))
    return names[0] if names else ""


def _timeline(asked: Asked) -> Answer:
    last: int | None = None if "all" in asked.flags else asked.flags["last"]
    found = asked.report()
    rows = found["results"]
    data = {"session": found["session"], "calls": found["calls"], "results": rows if last is None else rows[-last:]}
    return Answer(timeline.timeline(found, last), data)


def _why(asked: Asked) -> Answer:
    found = asked.report()
    row = ids.find(found, asked.arguments[0])
    return Answer(why.why(found, row, asked.command), row)


def _pin(asked: Asked) -> Answer:
    before = asked.report()
    targets = [changes.pin_target(before, word) for word in asked.arguments]
    after = asked.change([journal.pinned(target, asked.now) for target in targets if target not in before["pins"]])
    return Answer(changes.pinned_lines(before, after, targets, asked.command), _pins_data(after, targets))


def _unpin(asked: Asked) -> Answer:
    before = asked.report()
    targets = [changes.unpin_target(before, word) for word in asked.arguments]
    after = asked.change([journal.unpinned(target, asked.now) for target in targets])
    return Answer(changes.unpinned_lines(after, targets), _pins_data(after, targets))


def _pins_data(after: dict[str, Any], targets: list[str]) -> dict[str, Any]:
    return {"targets": targets, "pins": after["pins"], "held": [row["id"] for row in after["results"] if row["pinned_by"]]}


def _stats(asked: Asked) -> Answer:
    from .. import efficiency_tracker as tracker
    from .stats import stats_lines

    site = asked.site
    asked.look()
    behind = settling.catch_up(site, asked.transcript_path)
    contexts = tracker.context_metrics(site.home, site.session_id)
    project = site.session_project
    everywhere = tracker.all_metrics(site.home)
    found = {
        "session": tracker.session_metrics(site.home, site.session_id).to_json(),
        "project": tracker.project_metrics(site.home, project).to_json(),
        "all": everywhere.to_json(),
        "worth": tracker.worth(everywhere, asked.now),
        "prices_dated": site.rules().models.dated,
        "behind": behind,
        "contexts": {agent: metrics.to_json() for agent, metrics in contexts.items()},
    }
    return Answer(stats_lines(found, "details" in asked.flags), found)


def _clear(asked: Asked) -> Answer:
    flags = asked.flags
    tier, pattern = flags.get("tier", ""), asked.arguments[0] if asked.arguments else ""
    if bool(tier) + ("id" in flags) + bool(pattern) > 1:
        raise flag_parser.UsageError("give clear one of a path, --tier and --id")
    if not os.path.isfile(asked.transcript_path):
        raise access.Refused("this session has no transcript yet, so there is nothing to clear")

    def wanted(made: Rebuilt) -> planning.Asked:
        chosen: tuple[str, ...] = ()
        if "id" in flags:
            chosen = clear.ids_of(report.build(outlook.of(asked.site, asked.transcript_path, made, asked.now)), flags["id"])
            if not chosen:
                raise flag_parser.UsageError("--id needs a result, for example: --id T12")
        return planning.Asked(tier, chosen, pattern, "now" in flags)

    dry_run = "dry-run" in flags
    found, shown = _cleared(asked, wanted, dry_run)
    words = " ".join(
        filter(None, [f"--tier {tier}" if tier else "", f"--id {flags['id']}" if "id" in flags else "", phrases.quoted(pattern)])
    )
    return Answer(clear.clear_lines(found, shown, asked.command, words, "all" in flags), found)


def _cleared(asked: Asked, wanted: Callable[[Rebuilt], planning.Asked], dry_run: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """(what a clear did, or would do; the report after it)."""
    from ..reclaim import clearing

    is_in_place = asked.in_place is not None
    prospect, done = clearing.clear(asked.site, asked.transcript_path, asked.now, wanted, dry_run, in_place=is_in_place)
    plan = prospect.plan
    if asked.in_place is not None and not dry_run and plan.going and (plan.pays or plan.asked.now):
        asked.in_place.clear([result.id for result in plan.going])
        done = clearing.Cleared({result.id: "" for result in plan.going}, plan.sum.leaves, plan.sum.thinking, "")
    cold = plan
    if done is None and plan.sum.warm:
        once_cold = planning.Asked(plan.asked.tier, plan.asked.ids, plan.asked.pattern)
        cold = outlook.plan_of(asked.site, prospect.made.conversation, once_cold, asked.now, True, is_in_place)
    seen = outlook.of(asked.site, asked.transcript_path, prospect.made, asked.now)
    outlook.remember(seen, asked.site)
    shown = report.build(seen)
    return clear.clear_data(plan, cold, done, shown, dry_run, is_in_place), shown


def _undo(asked: Asked) -> Answer:
    from ..reclaim import undoing

    if asked.in_place is not None:
        from ..reclaim import in_place

        if asked.in_place.cancel():
            return Answer(["", *text.wrap("The clear was not done yet, and is not done now.")], {"restored": [], "in_place": True})
        handles = in_place.last_handles(asked.site)
        if handles:
            asked.in_place.put_back(handles)
            return Answer(putback.begun_lines(len(handles)), {"restored": handles, "in_place": True})

    back = undoing.undo(asked.site, asked.transcript_path, asked.now)
    asked.site.remember(planned=None)
    return Answer(putback.undo_lines(back, asked.site.session_id), putback.put_back_data(back))


def _restore(asked: Asked) -> Answer:
    from ..reclaim import undoing

    if bool(asked.arguments) == ("since" in asked.flags):
        raise flag_parser.UsageError("restore takes ID, PATH or --since TIME, for example: restore T12")
    site = asked.site
    with access.Opened(site.home) as db:
        if "since" in asked.flags:
            since = asked.flags["since"]
            records = restoring.cleared_since(db, site.session_id, since.ago(asked.now))
            if not records:
                raise ids.NotFound(f"nothing of this session was cleared since {ids.shown(since.word)}")
        else:
            shown = asked.report()
            records = [record for word in asked.arguments for record in _records(db, shown, word, site)]
        printed = [] if "in-place" in asked.flags else restoring.printed(db, records)
        trouble = restoring.book_printed(site, db, records, asked.now) if printed else ""
    if "in-place" in asked.flags and asked.in_place is not None:
        handles = [record.id for record in records]
        asked.in_place.put_back(handles)
        return Answer(putback.begun_lines(len(handles)), {"restored": handles, "in_place": True})
    if "in-place" not in asked.flags:
        said = ["", *text.wrap("PopKit: " + trouble)] if trouble else []
        lines = putback.printed_lines(printed)
        if asked.command == COMMAND:
            lines = list(map(text.visible, lines))  # the client writes them to its terminal
        return Answer(["", *lines, *said], putback.printed_data(printed))
    back = undoing.restore_in_place(site, asked.transcript_path, asked.now, records)
    site.remember(planned=None)
    hold = site.rules().restore_hold_calls
    return Answer(putback.in_place_lines(back, site.session_id, hold), putback.put_back_data(back))


def _records(db: Connection, shown: dict[str, Any], word: str, site: Site) -> list[Record]:
    """The archived records that a word means: T12 of this context, else what `restoring.meant` finds."""
    number = ids.number_of(word)
    row = ids.find(shown, word) if number is not None else {}
    handle = row.get("handle") or (row.get("entered") or {}).get("handle") if row else ""
    if row and not handle:
        raise ids.NotFound(f"{phrases.number(row)} was not cleared. It is still in the context")
    return restoring.meant(db, handle or word, site.session_id, site.session_project)


def _warm(asked: Asked) -> Answer:
    from . import warm

    act = asked.arguments[0] if asked.arguments else "show"
    if act != "off":
        warm.learn(asked.site, asked.now)
    found = warm.look(asked.site, asked.transcript_path, asked.now)
    if act == "show":
        return Answer(warm.show_lines(found, asked.command), found)
    refused = warm.refused(found, "yes" in asked.flags) if act == "on" else ""
    if refused:
        anyway = "" if found["refused"] else f" {asked.command} warm on --yes keeps it warm all the same."
        return Answer(["", *text.wrap(refused + anyway)], found, refused + anyway)
    asked.site.remember(warm=act)
    found = warm.look(asked.site, asked.transcript_path, asked.now)
    return Answer(warm.on_lines(found, asked.command) if act == "on" else warm.off_lines(found), found)


def _cold(asked: Asked) -> Answer:
    from ..reclaim import cold as deciding
    from . import cold

    act = asked.arguments[0] if asked.arguments else "show"
    if act != "show":
        deciding.choose(asked.site, act == "on")
    found = cold.look(asked.site, asked.look())
    told = cold.lines(found, asked.command)
    if act != "show" and found["setting"] != act:
        told += text.wrap(f"Your configuration says compact_when_cold: {found['setting']}, and that holds.")
    return Answer(told, found)


def _memory(asked: Asked) -> Answer:
    words = [word for word in asked.arguments if word != "--json"]
    if words in (["on"], ["off"]):
        found = memory.turn(words == ["on"], asked.site, asked.now)
        as_json = len(words) < len(asked.arguments)
        return Answer(["", text.as_json(found)] if as_json else memory.turned_lines(found, asked.command), found)
    code, output, errors = memory.ask(asked.arguments, asked.site, asked.command)
    lines = memory.shown("\n".join(filter(None, (output, errors))))
    return Answer(["", *lines], {"output": output}, (errors or output or "popkit memory failed") if code else "")


def _help(asked: Asked) -> Answer:
    name = asked.arguments[0] if asked.arguments else ""
    return Answer(lines_of(name, asked.command, CONTEXT, asked.command != COMMAND))


_ANSWERS = {
    "retention": _retention,
    "timeline": _timeline,
    "why": _why,
    "pin": _pin,
    "unpin": _unpin,
    "stats": _stats,
    "clear": _clear,
    "undo": _undo,
    "restore": _restore,
    "warm": _warm,
    "cold": _cold,
    "memory": _memory,
    "help": _help,
}
