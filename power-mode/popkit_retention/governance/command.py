"""`popkit retention`: the retention of stored data, in a shell. Exit 1 for a mistake of the user, or when something is broken. The
Controller decides and does everything; `views` has the texts."""

from __future__ import annotations

import sys

from popkit_retention.core import flag_parser, text
from popkit_retention.core.io.home import NoHome
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.state.jobs import COLLECTION_HOOK

from ..cli import answering, terminal
from ..cli.answering import Answer, Refused
from ..cli.terminal import Bar
from . import hourly_job
from .arguments import Request
from .controller import Controller
from .domains import USER
from .errors import GovernanceError
from .operations import RETENTION, RETENTION_COMMAND
from .views import collection_views, explanation_views, log_views, verdict_views, wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .shapes import CollectionAnswer

MISTAKES = (Refused, GovernanceError, NoHome, OSError)


def run(words: list[str], environ: Mapping[str, str]) -> int:
    """Answer one line of words; return the exit code."""
    if words[:1] == ["gc"] and "--auto" in words and "--quiet" in words:
        answering.run_unattended(COLLECTION_HOOK, lambda: _answer(flag_parser.parse(words, RETENTION), environ), environ)
        return 0
    return answering.run(RETENTION, _answer, words, environ, MISTAKES)


def _answer(parsed: flag_parser.Words, environ: Mapping[str, str]) -> Answer:
    with Controller(environ, USER, now=lambda: time_of_day(environ)) as controller, Bar(environ, "items") as bar:
        return RETENTION.function(parsed.operation)(Request(parsed, controller, environ, bar))


def explain(request: Request) -> Answer:
    explanation = request.controller.explain(request.arguments[0], request.domain)
    policy = request.controller.get(explanation["domain"], explanation["project"])
    return Answer(explanation_views.explained(explanation, policy, request.now, RETENTION_COMMAND), explanation)


def apply(request: Request) -> Answer:
    verdicts = [request.controller.apply(domain, dry_run="dry-run" in request.flags) for domain in request.domains]
    lines: list[text.Line] = []
    for part in [part for domain in verdicts for part in (domain, *domain.get("own", ()))]:
        labels = request.controller.describe(part["domain"], verdict_views.shown_ids(part, request.most))
        lines += verdict_views.applied(part, labels, request.now, request.most)
    if any(part["eligible"] for verdict in verdicts for part in (verdict, *verdict.get("own", ()))):
        lines += ["", *wording.what_goes(RETENTION_COMMAND)]
    return Answer(lines, {"domains": verdicts})


def gc(request: Request) -> Answer:
    if "auto" in request.flags:
        if others := [name for name in request.flags if name not in ("auto", "quiet", "json")]:
            raise flag_parser.UsageError(f"--auto decides by itself, so it does not work with --{others[0]}")
        due = hourly_job.collect(request.environ)
        lines = collection_views.collected({"domains": due["domains"], "dry_run": False}, request.now, request.most, RETENTION_COMMAND)
        return Answer(lines or ["Nothing is due."], due)
    if "quiet" in request.flags:
        raise flag_parser.UsageError("--quiet works only with --auto")
    doing, sure = "dry-run" not in request.flags, "yes" in request.flags
    if doing and "json" in request.flags and not sure:
        raise Refused("nothing was changed: --json needs --yes or --dry-run")
    collected = _collect(request, dry_run=not (doing and sure))
    if doing and sure:
        return Answer(collection_views.collected(collected, request.now, request.most, RETENTION_COMMAND), collected)
    lines = collection_views.collected(collected, request.now, request.most, RETENTION_COMMAND)
    if not doing or collection_views.is_idle(collected):
        message = "There is nothing to collect." if doing else "This was a dry run: nothing was changed."
        return Answer([*lines, "", message], collected)
    terminal.write_view(lines, sys.stdout, request.environ)
    if not terminal.is_confirmed("Do this?"):
        raise Refused("nothing was changed. --yes skips the question")
    collected = _collect(request, dry_run=False)
    return Answer(collection_views.done(collected, RETENTION_COMMAND), collected)


def _collect(request: Request, dry_run: bool) -> CollectionAnswer:
    placeholders = "placeholders" in request.flags
    return request.controller.gc(request.domain, dry_run=dry_run, placeholders=placeholders, progress=request.progress)


def undo(request: Request) -> Answer:
    result = request.controller.undo(request.arguments, request.domain)
    return Answer(collection_views.unmarked(result["unmarked"]), result)


def verify(request: Request) -> Answer:
    result = request.controller.verify("read-data" in request.flags, request.progress)
    return Answer(log_views.verified(result), result, code=int(not result["ok"]))


def log(request: Request) -> Answer:
    log = request.controller.log(request.flags["most"], request.domain, request.flags.get("action"), request.flags.get("id"))
    return Answer(log_views.logged(log["entries"], request.now), log)
