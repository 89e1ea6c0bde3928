"""Requests of agents for a policy that keeps less: each waits for the user's yes, for the project alone that the agent asked from.

A request is an entry of the log, and waits until another entry accepts or declines it; the caller holds the lock.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import revisions
from .errors import BadRequest, NotThere
from .policies import keeps_more, merged
from .revisions import CONFIGURED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .log import Entry, Log
    from .policies import Adjusted
    from .policy_file import State

REQUESTED, DECLINED = "requested", "declined"
MOST = 20  # that wait at once: an agent that goes on asking fills nothing
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
_ID_LETTERS = 6
_LETTER = "r"  # with which the id of a request begins


@dataclass(frozen=True)
class Request:
    """Which keys of the policy of a domain shall have which values in a project (its key), asked at a time (seconds)."""

    id: str
    at: float
    domain: str
    project: str
    config: Mapping[str, object]


def configure(
    log: Log, path: str, domain: str, project: str | None, config: Mapping[str, object], by: str, now: float
) -> tuple[State, list[Adjusted], Request | None]:
    """Apply an agent's change at once where it only keeps more than what is in force in its project, in the project's own policy where that
    has one, else in the user's. Anything else becomes a request as a whole, and nothing changes. Return (state, adjusted, request or
    None)."""
    state = revisions.current(log, path)
    before = state.policy(domain, project)
    after, adjusted = merged(before, config)
    if not keeps_more(before, after):
        return state, adjusted, ask(log, domain, project, {key: after.to_json()[key] for key in config}, by, now)
    if project in state.own(domain):
        return *revisions.configure_project(log, path, domain, str(project), config, "", by, now), None
    return *revisions.configure(log, path, domain, config, None, by, now), None


def ask(log: Log, domain: str, project: str | None, config: Mapping[str, object], by: str, now: float) -> Request:
    """Record a request; return it, or the pending one where the same was asked before. BadRequest where too many are pending."""
    if project is None:
        raise BadRequest(
            "this would keep less, which waits for the user's yes for one project, and there is none here. Nothing was changed"
        )
    before = pending(log)
    for each in before:
        if (each.domain, each.project, each.config) == (domain, project, config):
            return each
    if len(before) >= MOST:
        raise BadRequest(
            f"{MOST} requests wait for the user's yes already, so this one was not taken, and nothing was changed. The user sees them with "
            "`popkit retention show`"
        )
    id = _LETTER + "".join(secrets.choice(_LETTERS) for _ in range(_ID_LETTERS))
    return _of(log.append(REQUESTED, domain, [id], {"project": project, "config": config}, by, now))


def pending(log: Log) -> list[Request]:
    """Return the requests that nobody has answered, oldest first."""
    asked = [each for each in reversed(log.entries(action=REQUESTED)) if each.ids]
    return [_of(each) for each in asked if not _is_answered(log, each.ids[0])]


def find(log: Log, id: str) -> Request:
    """Return the request of this id that waits; NotThere for none."""
    for each in pending(log):
        if each.id == id:
            return each
    raise NotThere(f"no request {id!r:.40} waits for your yes. `popkit retention show` lists those that do")


def decline(log: Log, request: Request, by: str, now: float) -> None:
    """Decline a request: it is pending no longer, and nothing else changes."""
    log.append(DECLINED, request.domain, [request.id], {"project": request.project, "config": request.config}, by, now)


def _is_answered(log: Log, id: str) -> bool:
    return any(each.action in (CONFIGURED, DECLINED) for each in log.entries(id=id))


def _of(entry: Entry) -> Request:
    details: Any = entry.details
    return Request(entry.ids[0], entry.at, entry.domain, details["project"], details["config"])
