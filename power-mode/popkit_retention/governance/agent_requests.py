"""Requests of agents to keep less in their own project, which wait for the user's approval.

A request is an entry of the log. It stays pending until another entry accepts or declines it. The caller holds the lock, and operations
that a killed process left unfinished are complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import BadRequest, ResourceNotFound
from .policies import keeps_more, merged
from .policy_file import State
from .random_ids import random_letters
from .revisions import CONFIGURED, DECLINED, REQUESTED, Policies, current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .log import Entry, Log
    from .policies import Adjustment


MOST_REQUESTS = 20  # pending at once: an agent that keeps asking must not fill the log
_LETTER = "r"  # the first letter of a request's id


@dataclass(frozen=True)
class Request:
    """A request for values of a domain's policy in a project (its key), made at a time (seconds)."""

    id: str
    at: float
    domain: str
    project: str
    config: Mapping[str, object]


def configure_for_agent(
    policies: Policies, domain: str, project: str | None, config: Mapping[str, object]
) -> tuple[State, list[Adjustment], Request | None]:
    """Apply an agent's change at once if it keeps at least as much as the policy in force in its project: to the project's own policy where
    it has one, else to the user's. Any other change becomes a request as a whole, and the policies stay unchanged. Return (state, adjusted,
    request or None)."""
    state = current(policies.log, policies.path)
    before = state.policy(domain, project)
    after, adjusted = merged(before, config)
    if not keeps_more(before, after):
        wanted = {key: after.to_json()[key] for key in config}
        return state, adjusted, ask_for(policies.log, domain, project, wanted, policies.by, policies.now)
    if project in state.own(domain):
        return *policies.configure_project(domain, str(project), config), None
    return *policies.configure(domain, config), None


def ask_for(log: Log, domain: str, project: str | None, config: Mapping[str, object], by: str, now: float) -> Request:
    """Record a request and return it, or return the pending request for the same values. BadRequest if too many are pending."""
    if project is None:
        raise BadRequest(
            "this would keep less, which needs the user's approval for one project, and this is not a project. Nothing was changed"
        )
    before = pending_requests(log)
    for request in before:
        if (request.domain, request.project, request.config) == (domain, project, config):
            return request
    if len(before) >= MOST_REQUESTS:
        raise BadRequest(
            f"{MOST_REQUESTS} requests already wait for the user's approval, so this one was refused, and nothing was changed. The user "
            "sees them with `popkit retention show`"
        )
    id = _LETTER + random_letters()
    return _request_of(log.append(REQUESTED, domain, [id], {"project": project, "config": config}, by, now))


def pending_requests(log: Log) -> list[Request]:
    """Return the pending requests, oldest first."""
    requests = [entry for entry in reversed(log.entries(action=REQUESTED)) if entry.ids]
    return [_request_of(entry) for entry in requests if not _is_answered(log, entry.ids[0])]


def find_request(log: Log, id: str) -> Request:
    """Return the pending request of this id; ResourceNotFound for none."""
    for request in pending_requests(log):
        if request.id == id:
            return request
    raise ResourceNotFound(f"no request {id!r:.40} waits for your approval. `popkit retention show` lists those that do")


def decline_request(log: Log, request: Request, by: str, now: float) -> None:
    """Decline a request. The policies stay unchanged."""
    log.append(DECLINED, request.domain, [request.id], {"project": request.project, "config": request.config}, by, now)


def _is_answered(log: Log, id: str) -> bool:
    return any(entry.action in (CONFIGURED, DECLINED) for entry in log.entries(id=id))


def _request_of(entry: Entry) -> Request:
    details: Any = entry.details
    return Request(entry.ids[0], entry.at, entry.domain, details["project"], details["config"])
