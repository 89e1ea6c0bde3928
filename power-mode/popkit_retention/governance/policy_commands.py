"""The operations of `popkit retention` on policies."""

from __future__ import annotations

from popkit_retention.core import text

from ..cli.answering import Answer, Refused
from . import arguments as retention_arguments
from .arguments import Request
from .errors import Conflict, GovernanceDamaged
from .operations import RETENTION_COMMAND
from .policies import RetentionPolicy, merged
from .views import policy_views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shapes import Json


def show(request: Request) -> Answer:
    status = request.controller.status(request.domain)
    requests = request.controller.requests()
    status["requests"] = [pending for pending in requests["requests"] if pending["domain"] in request.domains]
    return Answer(policy_views.shown(status, request.now, RETENTION_COMMAND), status)


def set_policies(request: Request) -> Answer:
    wanted: dict[str, list[retention_arguments.Assignment]] = {}
    for word in request.arguments:
        change = retention_arguments.read(word, request.domain or "")
        if change.key == "keep_session_ids" and isinstance(change.value, list):
            # As `hold add --session` takes it: a policy compares whole ids, so the beginning of one would keep nothing.
            change = change._replace(value=retention_arguments.session_ids(change.value, request, change.how == retention_arguments.REMOVE))
        wanted.setdefault(change.domain, []).append(change)
    before = request.controller.policies()
    configs = {domain: retention_arguments.config_of(changes, before[domain]) for domain, changes in wanted.items()}
    # All of them are refused, or none. Where a tool gets the nearest value that is allowed, a person is asked for another.
    adjusted = {domain: merged(RetentionPolicy(), config)[1] for domain, config in configs.items()}
    if any(adjusted.values()):
        raise Refused(policy_views.out_of_bounds(adjusted) + ". Nothing was set")
    expect = before["revision"] if any(map(retention_arguments.amends, wanted.values())) else None
    configured: list[Json] = []
    for domain, config in configs.items():
        try:
            configured.append(request.controller.configure(domain, config, expect))
        except Conflict:
            done = f"Only {configured[0]['domain']} was set" if configured else "Nothing was set"
            raise Refused(f"somebody else changed the policies at the same time. {done}. Check them, and try again") from None
        expect = None if expect is None else configured[-1]["revision"]
    return Answer([*policy_views.configured(before, configured, RETENTION_COMMAND), *request.notes], {"policies": configured})


def accept(request: Request) -> Answer:
    accepted = [request.controller.accept(id) for id in dict.fromkeys(request.arguments)]
    return Answer([line for answer in accepted for line in policy_views.accepted(answer, RETENTION_COMMAND)], {"accepted": accepted})


def decline(request: Request) -> Answer:
    declined = [request.controller.decline(id) for id in dict.fromkeys(request.arguments)]
    return Answer([f"Declined {answer['request']}. Nothing else changed." for answer in declined], {"declined": declined})


def unset(request: Request) -> Answer:
    removed = request.controller.unset(request.arguments[0], request.domain)
    message = f"{removed['project']} has no {' or '.join(removed['domains'])} policy of its own any more. Yours applies there again."
    return Answer(text.wrap(message), removed)


def history(request: Request) -> Answer:
    history = request.controller.history(request.domain)
    return Answer(policy_views.history(history["versions"], request.now, RETENTION_COMMAND), history)


def rollback(request: Request) -> Answer:
    (revision,) = request.arguments
    try:
        before = request.controller.policies()
    except GovernanceDamaged:
        before = None  # then it is written again
    result = request.controller.rollback(revision, request.domain)
    return Answer(policy_views.rolled_back(revision, before, result, RETENTION_COMMAND), result)
