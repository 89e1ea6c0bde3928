"""The words after /popkit:context, answered: text for the hook, text or data for the shell. A mistake of the user's is an answer too."""

from __future__ import annotations

import os

from .. import flag_parser
from ..edges import live, store
from ..policy import engine, events
from ..policy.context import ContextState
from ..policy.tiers import TIERS
from . import changes, clear_preview, facts, ids, report, text, timeline, why
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
        state, read = current(self.site, self.transcript_path, self.now)
        rules = self.site.rules_for(state.profile)
        told = facts.gather(self.site, rules, self.transcript_path, read, self.now)
        return report.build(state, rules, told, self.now)


def answer(words: str, site, transcript_path: str, now: float) -> str:
    """The text that answers `/popkit:context WORDS` in the session of a Site."""
    try:
        parsed = flag_parser.parse(split(words))
    except flag_parser.UsageError as error:
        return "\n".join(_mistake(str(error), COMMAND).lines)
    given = respond(parsed, site, transcript_path, now, COMMAND)
    if "json" in parsed.flags and not given.error:
        return "\n" + as_json(given.data)
    return "\n".join(given.lines)


def split(words: str) -> list:
    """The words of a line as a shell would see them; split at blanks where the quotes do not match."""
    import shlex

    try:
        return shlex.split(words)
    except ValueError:
        return words.split()


def as_json(data: object) -> str:
    """JSON in ASCII, so that nothing in it moves a terminal's cursor."""
    import json

    return json.dumps(data, indent=2)


def respond(parsed, site, transcript_path: str, now: float, command: str) -> Answer:
    """The answer to parsed words; `command` is how the reader calls us."""
    try:
        return _ANSWERS[parsed.word](Asked(parsed, site, transcript_path, now, command))
    except (flag_parser.UsageError, ids.NotFound, changes.Unknown) as error:
        return _mistake(str(error), command)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _mistake(where + (error.strerror or str(error)), command)


def _mistake(message: str, command: str) -> Answer:
    message = text.clean(message)
    return Answer(["", *text.wrap("PopKit: " + message), "", command + " help shows all words and flags."], {"error": message}, message)


def current(site, transcript_path: str, now: float) -> tuple:
    """(state of the main context with everything expired, parsed transcript or None). Where nothing can be written the answer is the same;
    where there is no transcript (yet), what the hooks have seen."""
    try:
        if site.project and not site.session.get("project"):
            site.remember(project=site.project)
        made = live.reconcile(site, transcript_path, now=now)
        return made.state, made.transcript
    except (OSError, ValueError):
        return _unsaved(site, transcript_path, now)


def _unsaved(site, transcript_path: str, now: float) -> tuple:
    from ..edges.rebuild import rebuild

    paths = site.paths()
    if transcript_path and os.path.isfile(transcript_path):
        made = rebuild(transcript_path, _journal_of(site, paths), site.rules_for, site.session_id)
        engine.observe(made.state, events.Tick(now), site.rules_for(made.state.profile))
        return made.state, made.transcript
    stored = store.load(paths)
    if stored is None:
        return ContextState(site.session_id), None
    stored.state.expired = store.read_expired(paths, stored.state)
    rules = site.rules_for(stored.state.profile)
    engine.reindex(stored.state, rules)
    engine.observe(stored.state, events.Tick(now), rules)
    return stored.state, None


def _journal_of(site, paths) -> list:
    try:
        return live.journal_of(site, paths)
    except OSError:
        return []


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
    project = site.session.get("project") or site.project
    found = {
        "session": tracker.session_metrics(site.home, site.session_id).to_json(),
        "project": tracker.project_metrics(site.home, project).to_json(),
        "all": tracker.all_metrics(site.home).to_json(),
        "contexts": {agent: metrics.to_json() for agent, metrics in contexts.items()},
    }
    return Answer(stats_lines(found, "details" in asked.flags), found)


def _clear(asked: Asked) -> Answer:
    tier = asked.flags.get("tier", "")
    if tier and tier not in TIERS:
        raise flag_parser.UsageError(f"unknown tier {ids.shown(tier)}. Known: {', '.join(TIERS)}")
    found = clear_preview.preview(asked.report(), tier)
    return Answer(clear_preview.clear_lines(found, "all" in asked.flags), found)


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
    "help": _help,
}
