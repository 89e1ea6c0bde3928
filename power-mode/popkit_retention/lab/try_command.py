"""`popkit try`: what PopKit would have done in past sessions, without an installation. It only reads: no state is written anywhere."""

from __future__ import annotations

import json
import os
import shlex
import time
from contextlib import contextmanager

from popkit_retention.core import text, units
from popkit_retention.core.config import layers
from popkit_retention.core.hosts import CLAUDE_CODE, KEEPS, recordings
from popkit_retention.core.hosts.tools import recorded_tools
from popkit_retention.core.hosts.transcripts import projects
from popkit_retention.core.io import home
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.session_facts import SessionFacts
from popkit_retention.core.reclaim import auto_compaction, outlook
from popkit_retention.core.state import journal as journals
from popkit_retention.core.state import store
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.core.views import clear, report
from popkit_retention.core.views.panel import panel
from popkit_retention.core.views.timeline import timeline_lines

from ..cli.answering import Answer, Refused
from ..cli.shell_setup import is_package
from ..cli.terminal import Bar
from ..operations import session_lookup
from ..parallel.sources import find
from . import arguments, outcomes, past_sessions, past_views
from .recorded import was_changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from popkit_retention.core.flag_parser import Words
    from popkit_retention.core.views.shapes import Report

    from .past_sessions import PastSums

MISTAKES = (session_lookup.NoSession,)
_HOUR_S = 3_600
_LEAST_SHARE = 0.0005
_DAYS = 30
_SECONDS = 20.0  # no session is begun after this time
_MADE_UP = (
    "You have no sessions yet, so a working afternoon was made up, with a meeting and a /compact in it. PopKit's README says what it saved"
    " in recorded sessions."
)
_SAMPLE = os.path.join(os.path.dirname(__file__), "sample-session.jsonl.bz2")


def run(args: Words, environ: Mapping[str, str]) -> Answer:
    """Show what PopKit would have done in all sessions of the last days, or in a named one; then status, timeline and reclaimable results
    of one session."""
    if args.argument:
        return _answer(session_lookup.named(environ, args.argument), False, args, environ)
    newest = session_lookup.newest_with_results(environ, args.host, os.getcwd())
    if newest:
        return _answer(newest, False, args, environ)
    with _made_up() as path:
        return _answer(path, True, args, environ)


@contextmanager
def _made_up() -> Iterator[str]:
    """Yield the path of the made-up session, unpacked while it is read."""
    import bz2
    import shutil
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="popkit-") as folder, bz2.open(_SAMPLE) as packed:
        path = os.path.join(folder, os.path.basename(_SAMPLE).removesuffix(".bz2"))
        with open(path, "wb") as file:
            shutil.copyfileobj(packed, file)
        yield path


def _answer(path: str, is_made_up: bool, args: Words, environ: Mapping[str, str]) -> Answer:
    try:
        project = session_lookup.check(path)
        host = recordings.host_of(path)
        lately = [] if args.argument or is_made_up else _recent_transcripts(environ, args.host)
        done = _past_sums(lately or [path], environ)
        report, outcome = _report_and_outcome(path, project, host, environ)
    except OSError as error:
        raise session_lookup.NoSession(f"{text.clean(path)}: {error.strerror or error}") from None
    ends = _other_host_lines(host) if host != CLAUDE_CODE else [] if _has_run_in(path, environ) else _install_lines(home.plugin_root())
    first = _past_lines(done if _may_clear(host) else done._replace(auto_usd=0.0), bool(lately), is_made_up)
    last = None if "all" in args.flags else args.last
    lines = [*first, *_heading(report, is_made_up), *_report_lines(report, outcome, last), *ends]
    return Answer(lines, {**report, "installed": outcome and outcome.to_json(), "past": done._asdict()})


def _recent_transcripts(environ: Mapping[str, str], host: str) -> list[str]:
    """Return the transcripts of a host, subagents' included, that were written in the last days."""
    since = time_of_day(environ) - _DAYS * past_sessions.DAY_S
    paths = [path for path in session_lookup.all_of_host(environ, host) if recordings.changed(path) >= since]
    return paths + [agent for path in paths for agent in projects.transcripts_of_agents(path)]


def _past_sums(paths: list[str], environ: Mapping[str, str], seconds: float = _SECONDS) -> PastSums:
    """Return the sums over the newest of these transcripts, as many as there is time for."""
    sources = sorted(find(paths, lambda *_: None), key=lambda source: -recordings.changed(source.address))
    with Bar(environ) as bar:
        return past_sessions.sums(sources, _home(environ) or "", seconds, bar.show)


def _past_lines(done: PastSums, is_all: bool, is_sample: bool) -> list[text.Line]:
    """Return the savings over all sessions, or in the only one."""
    if is_all:
        where = f"In {past_views.sessions_in_words(done)} of the last {_DAYS} days"
        return [*text.title("Your sessions with PopKit"), *past_views.lines(done, where)]
    if not is_sample:
        return [*text.title("This session with PopKit"), *past_views.lines(done, "In this session")]
    lines = [*text.title("A made-up afternoon with PopKit"), *past_views.lines(done, "In this afternoon"), ""]
    return lines + text.wrap(_MADE_UP)


def _report_and_outcome(path: str, project: str, host: str, environ: Mapping[str, str]) -> tuple[Report, outcomes.Outcome | None]:
    """Return the report, and the outcome of the whole session with PopKit; None where that cannot be counted."""
    with Bar(environ, "session") as bar:
        bar.show(0, 1)
        report = report_of(path, project, environ)
        try:
            config = layers.load(home.plugin_root(), _home(environ), project)
            rules = Ruleset.from_config(config, recorded_tools())
            session = arguments.session_of(path)
            return report, None if was_changed(session) else outcomes.installed(session, rules, _may_clear(host))
        except Refused:
            return report, None


def _may_clear(host: str) -> bool:
    """Return whether PopKit clears in sessions of this host: in others it does not run, or, in OpenCode, cannot edit what was sent."""
    return host in (CLAUDE_CODE, recordings.pi.NAME)


def _home(environ: Mapping[str, str]) -> str | None:
    try:
        return home.popkit_home(environ)
    except home.NoHome:
        return None


def report_of(path: str, project: str, environ: Mapping[str, str]) -> Report:
    """Return the report of a transcript as of its last line, under the configuration of its project. The cache counts as cold, as it will
    be when the session goes on."""
    popkit_home = _home(environ) or ""
    config = layers.load(home.plugin_root(), popkit_home or None, project)
    journal = _journal(popkit_home, path)
    session, tools = recordings.session_id_of(path), recorded_tools()
    rebuilt = rebuild(path, journal, lambda profile: Ruleset.from_config(config, tools, profile), session)
    if _may_clear(recordings.host_of(path)):  # as if PopKit had run where clearing is possible
        rebuilt.index.doubts = [doubt for doubt in rebuilt.index.doubts if KEEPS not in doubt]
    site = ReadOnlySite(popkit_home, project, session)
    goal = auto_compaction.goal_under(config, rebuilt.conversation, journal)
    rules, at = rebuilt.conversation.rules, rebuilt.state.at
    view = outlook.Outlook(site, path, rebuilt.state, rules, at, rebuilt, is_cold=True, goal=goal)
    if view.context:
        view.context["cache"] = None  # the cache was warm then, which says nothing about today
    return report.build(view)


class ReadOnlySite:
    """A site that writes nothing."""

    __slots__ = ("home", "session", "session_id", "session_project")

    def __init__(self, popkit_home: str, project: str, session_id: str) -> None:
        self.home = popkit_home
        self.session = SessionFacts()
        self.session_id = session_id
        self.session_project = project


def _journal(popkit_home: str, path: str) -> list[journals.Entry]:
    """Return what hooks noted about a session, if they saw it: git's answers, pins, clears."""
    return journals.read(store.ContextFiles(popkit_home, recordings.session_id_of(path))) if popkit_home else []


def _heading(report: Report, is_sample: bool) -> list[text.Line]:
    title = "PopKit on your session" + ("" if report["host"] == CLAUDE_CODE else f" of {report['host']}")
    lines = text.title("At its end" if is_sample else title)
    if not is_sample:
        lines.append(text.fitted("Session   " + text.clean(report["session"])))
        lines.append(lambda columns: ["Project   " + text.cut_start(text.clean(report["project"]) or "unknown", columns - 10)])
    if report["at"]:
        lines.append("As of     " + time.strftime("%Y-%m-%d %H:%M UTC, its last call", time.gmtime(report["at"])))
    return lines


def _report_lines(report: Report, outcome: outcomes.Outcome | None, last: int | None) -> list[text.Line]:
    lines: list[text.Line] = [*panel(report, command=""), *timeline_lines(report, last)]
    may_clear = _may_clear(report["host"])
    return [*lines, *(clear.taken_lines(report) if may_clear else ()), *_outcome_lines(outcome, report, may_clear)]


def _outcome_lines(outcome: outcomes.Outcome | None, report: Report, may_clear: bool) -> list[text.Line]:
    """Return the outcome of the whole session with PopKit installed, and where clears are possible, with each that pays."""
    if outcome is None or not outcome.total.requests:
        return []  # why not comes first of all
    lines = text.title("This session, with a clear whenever it paid" if may_clear else "This session, with PopKit from the start")
    total, share = outcome.total, outcome.cost_share
    pairs = [("Kept out", _amount(total.spared_tokens, total.shortened))]
    at = f", at {units.counted(outcome.moments, 'moment')}" if outcome.moments else ""
    pairs += [("Cleared", _amount(total.cleared_tokens, total.cleared) + at)] if may_clear else []
    pairs.append(("Net", "not known: a model without a price" if share is None else _saving(1 - share)))
    for name, words in pairs:
        lines += text.pair(name, words)
    life = "an hour" if outcome.ttl_s == _HOUR_S else "five minutes"
    restored = f"; {units.counted(total.fetched, 'content')} fetched again" if total.fetched else ""
    words = f"Counted over {units.counted(total.requests, 'request')} as `popkit lab replay` counts, with a prompt cache that lives"
    manner = f": clearing whenever that pays off{restored}" if may_clear else ""
    lines += ["", *text.wrap(f"{words} {life}{manner}. Net is after PopKit's own cost.")]
    takes_now = report["verdict"]["kind"] == "clear"
    return lines + (text.wrap(_difference_in_words(total.cleared_tokens > 0, takes_now, life)) if may_clear else [])


def _difference_in_words(has_cleared: bool, takes_now: bool, life: str) -> str:
    """Return why a clear removes something now but removed nothing while the session ran, or the other way round."""
    if has_cleared:
        then = "Cleared counts what would have left while the session ran"
        now = "is what would leave before the next request, since PopKit was not there" if takes_now else "would take nothing"
        return f"{then}. A clear now {now}."
    then = f"Cleared nothing: clearing pays once the cache is cold, and no pause of {life} in this session had enough to clear behind it"
    return f"{then}. A clear now {'takes something: the cache is cold' if takes_now else 'has too little as well'}."


def _saving(saved: float) -> str:
    if abs(saved) < _LEAST_SHARE:
        return "its prompts cost the same"
    return f"{saved:.1%} of the cost of its prompts is saved" if saved > 0 else f"its prompts cost {-saved:.1%} more"


def _amount(tokens: int, results: int) -> str:
    return f"{units.long_tokens(tokens)} in {units.counted(results, 'result')}" if tokens > 0 else "nothing"


def _other_host_lines(host: str) -> list[text.Line]:
    """Return how far the figures of another host's session can be trusted, and how to get PopKit there."""
    does = {
        recordings.pi.NAME: "In a running session it shortens results before they enter, and clears and compacts by edits that pi keeps.",
        recordings.opencode.NAME: "In OpenCode it shortens results before they enter and answers compactions; the conversation itself stays"
        " as it is.",
    }
    words = does.get(host, f"It does not run in {host}: this is what it would have done.")
    end = "docs/hosts.md says what the recording lacks."
    lines = ["", *text.wrap(f"PopKit reads what {host} has recorded, and never changes it. {words} {end}")]
    how = ["", f"Install PopKit to get this in every session of {host}:", f"  popkit setup {host.lower()}"]
    return [*lines, *how] if host in does else lines


def _has_run_in(path: str, environ: Mapping[str, str]) -> bool:
    """Return whether PopKit was installed in a session of Claude Code's, so that installing it need not be explained."""
    return os.path.exists(store.ContextFiles(_home(environ) or "", recordings.session_id_of(path)).state)


_FROM_A_CLONE = ("  claude plugin marketplace add ./popkit", "  claude plugin install popkit@popkit")


def _install_lines(root: str) -> list[text.Line]:
    """Return how to get this in every session. The package alone is not a plugin, which only a clone has."""
    if is_package():
        return [
            "",
            *text.wrap("To get this in every session, install the plugin from a clone of PopKit, in the folder that holds it:"),
            *_FROM_A_CLONE,
        ]
    add = f"  claude plugin marketplace add {shlex.quote(root)}"
    parts = ["  claude plugin marketplace add \\", "    " + shlex.quote(root)]
    return [
        "",
        "Install PopKit to get this in every session as /popkit:context:",
        lambda columns: [add] if text.width(add) <= columns else parts,
        f"  claude plugin install popkit@{_marketplace(root)}",
        *text.wrap("Keep this folder: Claude Code loads PopKit from it."),
    ]


def _marketplace(root: str) -> str:
    try:
        with open(os.path.join(root, ".claude-plugin", "marketplace.json"), encoding="utf-8") as file:
            name = json.load(file)["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return "popkit"
    return text.clean(name)
