"""`popkit statusline`: one line for the status line of Claude Code, from the JSON that it writes to stdin.

It never fails: for any input it prints one short line.
"""

from __future__ import annotations

import os
import sys

from popkit_retention.core.hosts.transcripts import usage
from popkit_retention.core.io import home, hook_log
from popkit_retention.core.io.codec import as_object, loads, number, text_in_field, whole
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.policy import compaction_point
from popkit_retention.core.policy.limits import windows
from popkit_retention.core.policy.ruleset import THRESHOLDS
from popkit_retention.core.state import limit_readings, status_line, stored_contexts
from popkit_retention.core.state.site import Site
from popkit_retention.core.views.plan_limits import limits_line
from popkit_retention.core.views.status_line import line

from . import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words
    from popkit_retention.core.policy.session_facts import SessionFacts
    from popkit_retention.core.views.shapes import StatusFacts

MISTAKES = (OSError,)
INPUT_BYTES = 1 << 20


def print_line(_args: Words, environ: Mapping[str, str]) -> int:
    """Print the line."""
    if sys.stdin is None or sys.stdin.isatty():
        print("Claude Code runs this command for its status line. To set that up: popkit statusline install")
        return 0
    data = sys.stdin.buffer.read(INPUT_BYTES).decode("utf-8", "replace")
    sys.stdout.buffer.write(line_for(data, environ).encode("utf-8") + b"\n")
    return 0


def install(args: Words, environ: Mapping[str, str]) -> int:
    """Have the line drawn, after asking."""
    from . import claude_settings  # the line itself, which is drawn twice a minute, does not need them

    if args.scope == "user" and not args.replace and status_line.has_site(home.popkit_home(environ)):
        return _draw_in_client(environ)
    return claude_settings.install_status_line(args.scope, args.yes, args.replace, environ)


def uninstall(args: Words, environ: Mapping[str, str]) -> int:
    """Restore what was there before the line, after asking."""
    from . import claude_settings

    if args.scope == "user" and status_line.is_on(home.popkit_home(environ)):
        status_line.turn(home.popkit_home(environ), False)
        terminal.say("Claude Code no longer shows PopKit's line under your own status line.", environ)
        if claude_settings.Settings(args.scope, environ).ours() is None:
            return 0
    return claude_settings.uninstall_status_line(args.scope, args.yes, environ)


def _draw_in_client(environ: Mapping[str, str]) -> int:
    """Have code of ours in the client draw the line beside the person's own status line. No settings are changed."""
    status_line.turn(home.popkit_home(environ), True)
    terminal.say(
        "Claude Code shows it under your own status line, from the next answer on. No settings were changed: it does this for PopKit from"
        " 2.1.331 on. (For earlier versions, --replace puts it into settings.json.)",
        environ,
    )
    return 0


class ClientReport:
    """The report of Claude Code to its status line, "" or 0 for a missing value: the `window` of the model, the `tokens` in use, and their
    `ratio`, None where it is not known. A window smaller than its contents is a contradiction, and counts as missing."""

    __slots__ = ("model", "project", "ratio", "session_id", "tokens", "transcript", "window")

    def __init__(self, payload: dict) -> None:
        self.session_id = text_in_field(payload, "session_id")
        self.transcript = text_in_field(payload, "transcript_path")
        self.model = text_in_field(_object(payload, "model"), "id")
        self.project = text_in_field(_object(payload, "workspace"), "project_dir") or text_in_field(payload, "cwd")
        window_data = _object(payload, "context_window")
        self.window = whole(window_data.get("context_window_size"), 10**9) or 0
        self.tokens = usage.prompt_tokens(window_data.get("current_usage"))
        self.ratio: float | None = None
        percentage = number(window_data.get("used_percentage"), 101)
        if self.window and self.tokens > self.window:
            self.window = 0
        elif self.tokens and self.window:
            self.ratio = self.tokens / self.window
        elif percentage is not None and percentage <= 100:
            self.ratio = percentage / 100


def _object(values: dict, name: str) -> dict:
    value = values.get(name)
    return as_object(value)


def line_for(data: str, environ: Mapping[str, str]) -> str:
    """Return the line for the JSON of the client."""
    try:
        payload = loads(data)
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        return "popkit"
    report = ClientReport(payload)
    facts: StatusFacts = {"ratio": report.ratio}
    thresholds = THRESHOLDS
    try:
        if os.path.isdir(home.popkit_home(environ)):  # otherwise no hook has ever run
            site = Site(environ, report.session_id, report.project)
            thresholds = site.rules().thresholds
            if site.enabled and not environ.get("POPKIT_OFF"):
                facts["ratio"] = _bounded(report.ratio, report.window, site.session)
                facts.update(_stored(site, report, time_of_day(environ)))
                if report.ratio is None and report.tokens:
                    window, _ = usage.window_of(site.rules(), site.session, usage.Usage(report.tokens, 0.0, report.model))
                    facts["ratio"] = report.tokens / window
    except Exception as error:  # noqa: BLE001  the line is drawn even where a file of ours cannot be read
        hook_log.log_failure(environ, "statusline", error)
    return line(facts, thresholds, coloured=not environ.get("NO_COLOR"))


def _bounded(ratio: float | None, window: int, session: SessionFacts) -> float | None:
    """Return a share of the window as a share of the size at which the client compacts, by the facts of the session."""
    used = round((ratio or 0.0) * window)
    return ratio if not used else used / compaction_point.point(window, session, used)


def _stored(site: Site, report: ClientReport, now: float) -> StatusFacts:
    """Return the facts from our state and the transcript; remember the window, which the client reports exactly."""
    facts: StatusFacts = {}
    window, newest = report.window, usage.newest_usage(report.transcript)
    warm = newest is not None and newest.is_warm(now)
    if site.session_id and os.path.isdir(site.paths().folder):  # otherwise no hook has seen this session
        if window and site.session.window_tokens != window:
            site.remember(window_tokens=window)
        facts = _reclaimable(site, warm)
    if newest is not None and newest.compacted_at:  # the client still says what its newest request had
        tokens = usage.stands(newest, site.session)
        ratio = tokens / window if tokens and window else None
        facts = {**facts, "ratio": _bounded(ratio, window, site.session), "is_estimated": True}
    if newest is not None:
        facts["cache_seconds_left"] = newest.seconds_left(now)
    return {**facts, "limits": limits_line(windows(limit_readings.readings(site.home), now), now)}


def _reclaimable(site: Site, warm: bool) -> StatusFacts:
    """Return what a clear would remove by its last plan, which is valid until the next call; otherwise what has expired."""
    paths = site.paths()
    try:
        known = stored_contexts.stored_state(paths)
    except ValueError:
        return {}  # corrupt: the next hook sets it aside and starts a new one
    planned = site.session.planned
    if known is None:
        return {}
    if planned and planned.get("calls") == known.index and (planned.get("warm") or not warm):
        return {"now": planned["now"] if warm else planned["cold"], "cold": planned["cold"]}
    return {"expired": stored_contexts.expired_of(paths, known)}
