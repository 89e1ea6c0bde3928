"""The words after /popkit:context, answered: text for the hook, text or data for the shell. A mistake of the user's is an answer too."""

from __future__ import annotations

import os

from .. import flag_parser
from ..policy import engine, events, planning
from ..policy.context import ContextState
from ..policy.tiers import TIERS
from ..reclaim import access, restoring, rewrite
from ..state import live, store
from . import changes, clear, facts, ids, phrases, putback, report, text, timeline, times, why
from .help import of_word, overview
from .panel import panel

COMMAND = "/popkit:context"


class Answer:
    """Lines to show, the same as data, and the error when the user asked for what there is not."""

    __slots__ = ("data", "error", "lines")

    def __init__(self, lines: list, data: object = None, error: str = ""):
        self.lines = lines
        self.data = data
        self.error = error


class Asked:
    """One question: the parsed words and where they are asked."""

    __slots__ = ("arguments", "command", "flags", "now", "site", "transcript_path")

    def __init__(self, parsed, site, transcript_path: str, now: float, command: str):
        self.arguments = parsed.arguments
        self.flags = parsed.flags
        self.site = site
        self.transcript_path = transcript_path
        self.now = now
        self.command = command

    def report(self) -> dict:
        """The report of the main context, reconciled with the transcript."""
        return self.report_of(*current(self.site, self.transcript_path, self.now))

    def report_of(self, state, index) -> dict:
        """The report of a state; `index` is what its transcript holds, or None."""
        rules = self.site.rules_for(state.profile)
        told = facts.gather(self.site, rules, self.transcript_path, index, self.now)
        return report.build(state, rules, told, self.now)


def answer(words: str, site, transcript_path: str, now: float) -> str:
    """The text that answers `/popkit:context WORDS` in the session of a Site."""
    try:
        parsed = flag_parser.parse(split(words))
    except flag_parser.UsageError as error:
        return "\n".join(_mistake(str(error), COMMAND).lines)
    given = respond(parsed, site, transcript_path, now, COMMAND)
    if "json" in parsed.flags and not given.error:
        return "\n" + text.as_json(given.data)
    return "\n".join(given.lines)


def split(words: str) -> list:
    """The words of a line as a shell would see them; split at blanks where the quotes do not match."""
    import shlex

    try:
        return shlex.split(words)
    except ValueError:
        return words.split()


def respond(parsed, site, transcript_path: str, now: float, command: str) -> Answer:
    """The answer to parsed words; `command` is how the reader calls us."""
    try:
        return _ANSWERS[parsed.word](Asked(parsed, site, transcript_path, now, command))
    except (flag_parser.UsageError, ids.NotFound, changes.Unknown, access.Refused, restoring.NotFound, rewrite.RewriteFailed) as error:
        return _mistake(str(error), command)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _mistake(where + (error.strerror or str(error)), command)


def _mistake(message: str, command: str) -> Answer:
    message = text.clean(message)
    return Answer(["", *text.wrap("PopKit: " + message), "", command + " help shows all words and flags."], {"error": message}, message)


def current(site, transcript_path: str, now: float) -> tuple:
    """(state of the main context with everything expired, index of the transcript or None). Where nothing can be written the answer is the
    same; where there is no transcript (yet), what the hooks have seen."""
    try:
        if site.project and not site.session.get("project"):
            site.remember(project=site.project)
        made = live.reconcile(site, transcript_path, now=now)
        return made.state, made.index
    except (OSError, ValueError):
        return _unsaved(site, transcript_path, now)


def _unsaved(site, transcript_path: str, now: float) -> tuple:
    paths = site.paths()
    if transcript_path and os.path.isfile(transcript_path):
        made = live.rebuilt(site, paths, transcript_path)
        engine.observe(made.state, events.Tick(now), site.rules_for(made.state.profile))
        return made.state, made.index
    stored = store.load(paths)
    if stored is None:
        return ContextState(site.session_id), None
    stored.state.expired = store.read_expired(paths, stored.state)
    rules = site.rules_for(stored.state.profile)
    engine.reindex(stored.state, rules)
    engine.observe(stored.state, events.Tick(now), rules)
    return stored.state, None


# --- one function a word -------------------------------------------------------------------------------------------------------


def _retention(asked: Asked) -> Answer:
    chosen = _profile_of(asked.flags)
    told = text.wrap(changes.choose_profile(asked.site, chosen, asked.now)) if chosen else []
    found = asked.report()
    lines = panel(found, "details" in asked.flags, "all" in asked.flags, asked.command)
    return Answer([*(["", *told] if told else []), *lines], found)


def _profile_of(flags: dict) -> str:
    names = [name for name in ("aggressive", "conservative") if name in flags]
    names += [flags["profile"]] if "profile" in flags else []
    if len(names) > 1:
        raise flag_parser.UsageError("choose one profile, not " + " and ".join(names))
    return names[0] if names else ""


def _timeline(asked: Asked) -> Answer:
    last = timeline.LAST
    if "last" in asked.flags:
        last = ids.number_of(asked.flags["last"]) or 0
        if last < 1:
            raise flag_parser.UsageError(f"--last needs a number from 1, not {ids.shown(asked.flags['last'])}")
    if "all" in asked.flags:
        last = None
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
    targets = changes.pin(asked.site, before, asked.arguments, asked.now)
    after = asked.report()
    return Answer(changes.pinned_lines(before, after, targets, asked.command), _pins_data(after, targets))


def _unpin(asked: Asked) -> Answer:
    targets = changes.unpin(asked.site, asked.report(), asked.arguments, asked.now)
    after = asked.report()
    return Answer(changes.unpinned_lines(after, targets), _pins_data(after, targets))


def _pins_data(after: dict, targets: list) -> dict:
    return {"targets": targets, "pins": after["pins"], "held": [row["id"] for row in after["results"] if row["pinned_by"]]}


def _stats(asked: Asked) -> Answer:
    from .. import efficiency_tracker as tracker
    from .stats import stats_lines

    site = asked.site
    current(site, asked.transcript_path, asked.now)
    contexts = tracker.context_metrics(site.home, site.session_id)
    project = site.session_project
    found = {
        "session": tracker.session_metrics(site.home, site.session_id).to_json(),
        "project": tracker.project_metrics(site.home, project).to_json(),
        "all": tracker.all_metrics(site.home).to_json(),
        "contexts": {agent: metrics.to_json() for agent, metrics in contexts.items()},
    }
    return Answer(stats_lines(found, "details" in asked.flags), found)


def _clear(asked: Asked) -> Answer:
    from ..reclaim import clearing

    flags = asked.flags
    tier, pattern = flags.get("tier", ""), asked.arguments[0] if asked.arguments else ""
    if tier and tier not in TIERS:
        raise flag_parser.UsageError(f"unknown tier {ids.shown(tier)}. Known: {', '.join(TIERS)}")
    if bool(tier) + ("id" in flags) + bool(pattern) > 1:
        raise flag_parser.UsageError("clear takes a path, --tier or --id, not several of them")
    chosen = clear.ids_of(asked.report(), flags["id"]) if "id" in flags else ()
    if "id" in flags and not chosen:
        raise flag_parser.UsageError("--id needs a result: --id T12")
    dry_run = "dry-run" in flags
    wanted = planning.Asked(tier, chosen, pattern, "now" in flags)
    if not os.path.isfile(asked.transcript_path):
        raise access.Refused("this session has no transcript yet: there is nothing to clear")
    prospect, done = clearing.clear(asked.site, asked.transcript_path, asked.now, wanted, dry_run)
    shown = asked.report_of(prospect.made.state, prospect.made.index)
    found = clear.clear_data(prospect.plan, done, shown, dry_run, prospect.made.conversation.rules.profile)
    words = " ".join(filter(None, [f"--tier {tier}" if tier else "", f"--id {flags['id']}" if chosen else "", phrases.quoted(pattern)]))
    return Answer(clear.clear_lines(found, shown, asked.command, words, "all" in flags), found)


def _undo(asked: Asked) -> Answer:
    from ..reclaim import undoing

    back = undoing.undo(asked.site, asked.transcript_path, asked.now)
    return Answer(putback.undo_lines(back, asked.site.session_id), putback.put_back_data(back))


def _restore(asked: Asked) -> Answer:
    from ..reclaim import undoing

    if bool(asked.arguments) == ("since" in asked.flags):
        raise flag_parser.UsageError("restore takes ID, PATH or --since TIME, for example: restore T12")
    site = asked.site
    with access.Opened(site.home) as db:
        if "since" in asked.flags:
            since = times.since(asked.flags["since"], asked.now)
            records = restoring.cleared_since(db, site.session_id, since)
            if not records:
                raise ids.NotFound(f"nothing of this session was cleared since {ids.shown(asked.flags['since'])}")
        else:
            shown = asked.report()
            records = [record for word in asked.arguments for record in _records(db, shown, word, site)]
        printed = [] if "in-place" in asked.flags else restoring.printed(db, records)
        trouble = restoring.book_printed(site, db, records, asked.now) if printed else ""
    if "in-place" not in asked.flags:
        said = ["", *text.wrap("PopKit: " + trouble)] if trouble else []
        lines = putback.printed_lines(printed)
        if asked.command == COMMAND:
            lines = list(map(text.visible, lines))  # the client writes them to its terminal
        return Answer(["", *lines, *said], putback.printed_data(printed))
    back = undoing.restore_in_place(site, asked.transcript_path, asked.now, records)
    hold = site.rules().restore_hold_calls
    return Answer(putback.in_place_lines(back, site.session_id, hold), putback.put_back_data(back))


def _records(db, shown: dict, word: str, site) -> list:
    """The archived records that a word means: T12 of this context, else what `restoring.meant` finds."""
    number = ids.number_of(word)
    row = ids.find(shown, word) if number is not None else {}
    if row and not row.get("handle"):
        raise ids.NotFound(f"{phrases.number(row)} was not cleared: it stands in the context")
    return restoring.meant(db, row.get("handle") or word, site.session_id, site.session_project)


def _help(asked: Asked) -> Answer:
    cli = asked.command != COMMAND
    if asked.arguments:
        return Answer(of_word(asked.arguments[0], asked.command, cli))
    return Answer(overview(asked.command, cli))


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
    "help": _help,
}
