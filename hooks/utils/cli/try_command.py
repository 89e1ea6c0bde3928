"""`popkit try`: what PopKit would say of a session, without being installed. Reads only: no state is written anywhere."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time

from ..answers import clear, facts, report, text
from ..answers.panel import panel
from ..answers.text import as_json
from ..answers.timeline import timeline
from ..config import layers
from ..edges import home
from ..policy.ruleset import Ruleset
from ..state import store
from ..state.rebuild import rebuild
from . import screen, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

_CALLS = 20  # lines of the timeline
_SAMPLE = os.path.join("hooks", "utils", "data", "sample-session.jsonl")


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser("try", help="what PopKit would say of your newest session, or of a sample; writes nothing")
    parser.add_argument("transcript", nargs="?", metavar="TRANSCRIPT", help="this transcript (default: the newest of any project)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> int:
    """Shows status, timeline and what could be reclaimed of one session."""
    root = home.plugin_root()
    sample = os.path.join(root, _SAMPLE)
    path = args.transcript or sessions.newest_with_results(environ) or sample
    try:
        project = sessions.check(path)
        found = report_of(path, project, environ)
    except sessions.NoSession as error:
        print(f"popkit try: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"popkit try: {text.clean(path)}: {error.strerror or error}", file=sys.stderr)
        return 1
    if args.json:
        print(as_json(found))
        return 0
    screen.show([*_whose(found, path == sample), *_shown(found), *_install(root)], sys.stdout, environ)
    return 0


def report_of(path: str, project: str, environ: Mapping[str, str]) -> dict:
    """The report of a transcript as it stood at its last line, under the configuration that holds for its project."""
    try:
        popkit_home = home.popkit_home(environ)
    except home.NoHome:
        popkit_home = None
    config = layers.load(home.plugin_root(), popkit_home, project)
    rules = Ruleset.from_config(config)
    made = rebuild(path, _journal(popkit_home, path), lambda profile: Ruleset.from_config(config, profile), sessions.session_id_of(path))
    context = facts.context_of(path, rules, {}, made.state.at)
    if context:
        context["cache"] = None  # it was warm then; that says nothing today
    told = {"project": project, "transcript": path, "context": context, "abandoned": made.index.abandoned}
    return report.build(made.state, rules, told)


def _journal(popkit_home: str | None, path: str) -> list:
    """What hooks have noted of a session, if they saw it: git's answers, pins, clears."""
    return store.read_lines(store.ContextFiles(popkit_home, sessions.session_id_of(path)).journal) if popkit_home else []


def _whose(found: dict, is_sample: bool) -> list:
    lines = text.title("PopKit on a recorded sample session" if is_sample else "PopKit on your session")
    if not is_sample:
        lines.append(text.cut("Session   " + text.clean(found["session"]), text.WIDTH))
        lines.append("Project   " + text.cut_start(text.clean(found["project"]) or "unknown", text.WIDTH - 10))
    if found["at"]:
        lines.append("As of     " + time.strftime("%Y-%m-%d %H:%M UTC, its last call", time.gmtime(found["at"])))
    return lines


def _shown(found: dict) -> list:
    lines = [*panel(found, command=""), *timeline(found, _CALLS)]
    return [*lines, *clear.largest_lines(found)]


def _install(root: str) -> list:
    """How to have this in every session."""
    add = f"claude plugin marketplace add {shlex.quote(root)}"
    first = [add] if text.width(add) <= text.WIDTH - 2 else ["claude plugin marketplace add \\", "  " + shlex.quote(root)]
    commands = [*first, f"claude plugin install popkit@{_marketplace(root)}"]
    return ["", "Install it, and every session has this as /popkit:context:", *["  " + line for line in commands]]


def _marketplace(root: str) -> str:
    try:
        with open(os.path.join(root, ".claude-plugin", "marketplace.json"), encoding="utf-8") as file:
            name = json.load(file)["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return "popkit"
    return text.clean(name)
