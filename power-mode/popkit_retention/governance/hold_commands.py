"""The operations of `popkit retention` on holds."""

from __future__ import annotations

from popkit_retention.core import flag_parser

from ..cli.answering import Answer
from . import arguments as retention_arguments
from .arguments import Request
from .operations import RETENTION_COMMAND
from .views import hold_views


def add_hold(request: Request) -> Answer:
    from ..operations.login import login_name

    why = request.flags["why"]
    if not why.strip():
        raise flag_parser.UsageError(f"a hold needs a reason: {RETENTION_COMMAND} hold add … --why TEXT")
    targets = retention_arguments.hold_targets(request)
    who = request.flags.get("who") or login_name(request.environ)
    until = request.flags["until"].ahead(request.now) if "until" in request.flags else None
    holds = [request.controller.add_hold(domain, scope, target, who, why, until) for domain, scope, target in targets]
    return Answer([*hold_views.held(holds, request.now, RETENTION_COMMAND), *request.notes], {"holds": holds})


def list_holds(request: Request) -> Answer:
    listed = request.controller.holds(request.domain, "all" in request.flags)
    return Answer(hold_views.holds(listed["holds"], request.now, "all" in request.flags, RETENTION_COMMAND), listed)


def release_hold(request: Request) -> Answer:
    released = request.controller.release_hold(request.arguments[0])
    return Answer(hold_views.released(released, request.now), released)
