"""`popkit retention`: the retention of stored data, in a shell. Exit 1 for a mistake of the user, or when something is broken. The
Controller decides and does everything; `views` has the texts."""

from __future__ import annotations

import os
import sys

from hooks.utils import flag_parser, text
from hooks.utils.io.home import NoHome
from hooks.utils.io.system import now as time_of_day
from hooks.utils.state.jobs import COLLECTION_HOOK

from ..cli import answering, terminal
from ..cli.answering import Answer, Refused
from ..cli.terminal import Bar
from . import Conflict, GovernanceDamaged, GovernanceError, hourly_job, manifests
from . import activity_views as retention_activity
from . import arguments as retention_arguments
from . import policy_views as retention_policies
from .arguments import Request
from .controller import Controller
from .domains import USER
from .operations import RETENTION, RETENTION_COMMAND
from .policies import RetentionPolicy, merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MISTAKES = (Refused, GovernanceError, NoHome, OSError)


def run(words: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Answer one line of words; return the exit code."""
    if words[:1] == ["gc"] and "--auto" in words and "--quiet" in words:
        answering.run_unattended(COLLECTION_HOOK, lambda: _answer(flag_parser.parse(words, RETENTION), environ), environ)
        return 0
    return answering.run(RETENTION, _answer, words, environ, MISTAKES)


def _answer(parsed: flag_parser.Parsed, environ: Mapping[str, str]) -> Answer:
    with Controller(environ, USER, now=lambda: time_of_day(environ)) as controller, Bar(environ, "items") as bar:
        return RETENTION.function(parsed.operation)(Request(parsed, controller, environ, bar))


# --- policies ---


def show(request: Request) -> Answer:
    status: dict[str, Any] = request.controller.status(request.domain)
    requests: dict[str, Any] = request.controller.requests()
    status["requests"] = [each for each in requests["requests"] if each["domain"] in request.domains]
    return Answer(retention_policies.shown(status, request.now, RETENTION_COMMAND), status)


def set_policies(request: Request) -> Answer:
    wanted: dict[str, list[retention_arguments.Assignment]] = {}
    for word in request.arguments:
        change = retention_arguments.read(word, request.domain or "")
        if change.key == "keep_session_ids" and isinstance(change.value, list):
            # As `hold add --session` takes it: a policy compares whole ids, so the beginning of one would keep nothing.
            change = change._replace(value=retention_arguments.session_ids(change.value, request))
        wanted.setdefault(change.domain, []).append(change)
    before: dict[str, Any] = request.controller.policies()
    configs = {domain: retention_arguments.config_of(changes, before[domain]) for domain, changes in wanted.items()}
    # All of them are refused, or none. Where a tool gets the nearest value that is allowed, a person is asked for another.
    adjusted = {domain: merged(RetentionPolicy(), config)[1] for domain, config in configs.items()}
    if any(adjusted.values()):
        raise Refused(retention_policies.out_of_bounds(adjusted) + ". Nothing was set")
    expect = before["revision"] if any(map(retention_arguments.amends, wanted.values())) else None
    configured: list[dict[str, Any]] = []
    for domain, config in configs.items():
        try:
            configured.append(request.controller.configure(domain, config, expect))
        except Conflict:
            done = f"Only {configured[0]['domain']} was set" if configured else "Nothing was set"
            raise Refused(f"somebody else changed the policies at the same time. {done}. Check them, and try again") from None
        expect = None if expect is None else configured[-1]["revision"]
    return Answer(retention_policies.configured(before, configured, RETENTION_COMMAND), {"policies": configured})


def accept(request: Request) -> Answer:
    accepted: list[dict[str, Any]] = [request.controller.accept(id) for id in dict.fromkeys(request.arguments)]
    return Answer([line for each in accepted for line in retention_policies.accepted(each, RETENTION_COMMAND)], {"accepted": accepted})


def decline(request: Request) -> Answer:
    declined: list[dict[str, Any]] = [request.controller.decline(id) for id in dict.fromkeys(request.arguments)]
    return Answer([f"Declined {each['request']}. Nothing else changed." for each in declined], {"declined": declined})


def unset(request: Request) -> Answer:
    removed: dict[str, Any] = request.controller.unset(request.arguments[0], request.domain)
    message = f"{removed['project']} has no {' or '.join(removed['domains'])} policy of its own any more. Yours applies there again."
    return Answer(text.wrap(message), removed)


def history(request: Request) -> Answer:
    history: dict[str, Any] = request.controller.history(request.domain)
    return Answer(retention_policies.history(history["versions"], request.now, RETENTION_COMMAND), history)


def rollback(request: Request) -> Answer:
    (revision,) = request.arguments
    try:
        before = request.controller.policies()
    except GovernanceDamaged:
        before = None  # then it is written again
    result: dict[str, Any] = request.controller.rollback(revision, request.domain)
    return Answer(retention_policies.rolled_back(revision, before, result, RETENTION_COMMAND), result)


# --- the policies on things ---


def explain(request: Request) -> Answer:
    explanation: dict[str, Any] = request.controller.explain(request.arguments[0], request.domain)
    policy = request.controller.get(explanation["domain"], explanation["project"])
    return Answer(retention_activity.explained(explanation, policy, request.now, RETENTION_COMMAND), explanation)


def apply(request: Request) -> Answer:
    verdicts: list[dict[str, Any]] = [request.controller.apply(domain, dry_run="dry-run" in request.flags) for domain in request.domains]
    lines: list[text.Line] = []
    for each in [part for domain in verdicts for part in (domain, *domain.get("own", ()))]:
        labels = request.controller.describe(each["domain"], retention_policies.shown_ids(each, request.most))
        lines += retention_policies.applied(each, labels, request.now, request.most)
    if any(part["eligible"] for each in verdicts for part in (each, *each.get("own", ()))):
        lines += ["", *retention_policies.what_goes(RETENTION_COMMAND)]
    return Answer(lines, {"domains": verdicts})


def gc(request: Request) -> Answer:
    if "auto" in request.flags:
        if others := [name for name in request.flags if name not in ("auto", "quiet", "json")]:
            raise flag_parser.UsageError(f"--auto decides by itself, so it does not work with --{others[0]}")
        collected = hourly_job.collect(request.environ)
        lines = retention_activity.collected({**collected, "dry_run": False}, request.now, request.most, RETENTION_COMMAND)
        return Answer(lines or ["Nothing is due."], collected)
    if "quiet" in request.flags:
        raise flag_parser.UsageError("--quiet works only with --auto")
    doing, sure = "dry-run" not in request.flags, "yes" in request.flags
    if doing and "json" in request.flags and not sure:
        raise Refused("nothing was changed: --json needs --yes or --dry-run")
    collected = _collect(request, dry_run=not (doing and sure))
    if doing and sure:
        return Answer(retention_activity.collected(collected, request.now, request.most, RETENTION_COMMAND), collected)
    lines = retention_activity.collected(collected, request.now, request.most, RETENTION_COMMAND)
    if not doing or retention_activity.is_idle(collected):
        message = "There is nothing to collect." if doing else "This was a dry run: nothing was changed."
        return Answer([*lines, "", message], collected)
    terminal.write_view(lines, sys.stdout, request.environ)
    if not terminal.is_confirmed("Do this?"):
        raise Refused("nothing was changed. --yes skips the question")
    collected = _collect(request, dry_run=False)
    return Answer(retention_activity.done(collected, RETENTION_COMMAND), collected)


def _collect(request: Request, dry_run: bool) -> dict[str, Any]:
    placeholders = "placeholders" in request.flags
    return request.controller.gc(request.domain, dry_run=dry_run, placeholders=placeholders, progress=request.progress)


def undo(request: Request) -> Answer:
    result: dict[str, Any] = request.controller.undo(request.arguments, request.domain)
    return Answer(retention_activity.unmarked(result["unmarked"]), result)


# --- holds ---


def hold_add(request: Request) -> Answer:
    from ..operations.login import login_name

    why = request.flags["why"]
    if not why.strip():
        raise flag_parser.UsageError(f"a hold needs a reason: {RETENTION_COMMAND} hold add … --why TEXT")
    targets = retention_arguments.hold_targets(request)
    who = request.flags.get("who") or login_name(request.environ)
    until = request.flags["until"].ahead(request.now) if "until" in request.flags else None
    holds = [request.controller.add_hold(domain, scope, target, who, why, until) for domain, scope, target in targets]
    return Answer(retention_activity.held(holds, request.now, RETENTION_COMMAND), {"holds": holds})


def hold_list(request: Request) -> Answer:
    listed: dict[str, Any] = request.controller.holds(request.domain, "all" in request.flags)
    return Answer(retention_activity.holds(listed["holds"], request.now, "all" in request.flags, RETENTION_COMMAND), listed)


def hold_release(request: Request) -> Answer:
    released: dict[str, Any] = request.controller.release_hold(request.arguments[0])
    return Answer(retention_activity.released(released, request.now), released)


# --- archives ---


def archive(request: Request) -> Answer:
    archives: list[dict[str, Any]] = []
    wanted: dict[str, list[str] | None] = {**request.controller.by_domain(request.arguments, request.domain)}
    if not request.arguments:
        wanted = {domain: None for domain in wanted if _has_eligible(request, domain)}
        if not wanted:
            raise Refused(f"nothing may be deleted now. To archive something else, name it: {RETENTION_COMMAND} admin archive ID…")
    for domain, ids in wanted.items():
        archived = request.controller.archive(domain, ids, request.flags.get("note", ""), request.progress)
        archives.append({"domain": domain, **archived})
    return Answer(retention_activity.archived(archives, RETENTION_COMMAND), {"archives": archives})


def _has_eligible(request: Request, domain: str) -> bool:
    verdict: dict[str, Any] = request.controller.apply(domain, dry_run=True)
    return any(each["eligible"] for each in (verdict, *verdict.get("own", ())))


def archives(request: Request) -> Answer:
    listed: dict[str, Any] = request.controller.archives()
    return Answer(retention_activity.archives(listed["archives"], request.now, RETENTION_COMMAND), listed)


def restore(request: Request) -> Answer:
    restored: dict[str, Any] = request.controller.restore(request.arguments[0], "sound" in request.flags, request.progress)
    return Answer(retention_activity.restored(restored), restored)


def remove(request: Request) -> Answer:
    sure, ids = "yes" in request.flags, list(dict.fromkeys(request.arguments))
    if not sure and "json" in request.flags:
        raise Refused("nothing was deleted: --json needs --yes")
    if not sure:
        listed: dict[str, Any] = request.controller.archives()
        known = {each["archive_id"]: each for each in listed["archives"]}
        if unknown := [id for id in ids if manifests.check_id(id) not in known]:
            raise Refused(f"there is no archive {unknown[0]}. `popkit retention admin archives` lists the archives")
        terminal.write_view(retention_activity.to_remove([known[id] for id in ids], request.now), sys.stdout, request.environ)
        if not terminal.is_confirmed("Delete for good?"):
            raise Refused("nothing was deleted. --yes skips the question")
    removed = [request.controller.remove(id) for id in ids]
    return Answer([f"Deleted {text.clean(str(each['archive_id']))} for good." for each in removed], {"removed": removed})


# --- verification
# -----------------------------------------------------------------------------------------------------------------------------


def verify(request: Request) -> Answer:
    result: dict[str, Any] = request.controller.verify("read-data" in request.flags, request.progress)
    return Answer(retention_activity.verified(result), result, code=int(not result["ok"]))


def log(request: Request) -> Answer:
    log: dict[str, Any] = request.controller.log(
        request.flags["most"], request.domain, request.flags.get("action"), request.flags.get("id")
    )
    return Answer(retention_activity.logged(log["entries"], request.now), log)
