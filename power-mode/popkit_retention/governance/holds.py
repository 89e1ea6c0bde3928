"""Holds, which keep resources whatever a policy releases. Each change is logged first, under the lock."""

from __future__ import annotations

from popkit_retention.core.policy.masking import mask
from popkit_retention.core.retention_kit.holds import ITEM, SCOPES, Hold, find_in_force

from .data_folder import Folder
from .errors import BadRequest, DomainUnavailable, ResourceNotFound
from .log import Log
from .random_ids import random_letters
from .resource_ids import find_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .domains import Domain
    from .log import Entry


HELD, RELEASED = "held", "released"
HOLD, RELEASE = "hold", "release"  # operations of the log
_LONGEST_TEXT = 500  # characters of who, why and a target
_FIRST_LETTER = "h"  # of a hold's id
_END_OF_TIME = 253_402_300_799.0  # the year 9999


def add_hold(
    log: Log, domain: Domain, scope: str, target: str, who: str, why: str, until: float | None, by: str, now: float, project: str | None
) -> Hold:
    """Add a hold on a target; return it. BadRequest for arguments that make no hold, ResourceNotFound for an item that the domain does not
    have."""
    if scope not in SCOPES:
        raise BadRequest(f"unknown scope {scope!r:.40}. Known: {', '.join(SCOPES)}")
    _check_text("a hold needs a target", target)
    _check_text("a hold needs a person who wants it", who)
    _check_text("a hold needs a reason", why)
    if until is not None and not now < until < _END_OF_TIME:
        raise BadRequest("a hold must end in the future. Give a later date, or none to hold until it is released")
    if scope == ITEM:
        _, target = find_id([domain], target, project)
    hold = Hold(_FIRST_LETTER + random_letters(), scope, target, mask(who), mask(why), now, until)
    ids = [target] if scope == ITEM else []
    entry = log.append(HELD, domain.name, ids, hold.to_json(), by, now, todo={"do": HOLD, "hold": hold.to_json()})
    domain.add_hold(hold)
    log.done(entry.number)
    return hold


def release_hold(log: Log, domain: Domain, hold: Hold, by: str, now: float) -> Hold:
    """End a hold that is in force."""
    ids = [hold.target] if hold.scope == ITEM else []
    entry = log.append(RELEASED, domain.name, ids, {"hold": hold.id}, by, now, todo={"do": RELEASE, "id": hold.id, "at": now})
    domain.release_hold(hold.id, now)
    log.done(entry.number)
    return hold.released(now)


def finish_hold(folder: Folder, domain: Domain, log: Log, entry: Entry, now: float) -> None:
    """Complete a logged operation, unless it was done."""
    todo: Any = entry.todo
    if todo["do"] == HOLD:
        domain.add_hold(Hold(**todo["hold"]))
    else:
        domain.release_hold(todo["id"], todo["at"])
    log.done(entry.number)


def find_hold(domains: Sequence[Domain], id: str, now: float) -> tuple[Domain, Hold]:
    """Return the hold of this id that is in force at a time (seconds), with its domain; ResourceNotFound for none. A domain that cannot be
    used does not prevent finding another one's hold."""
    by_domain = [(domain, _holds(domain)) for domain in domains]
    for domain, holds in by_domain:
        hold = find_in_force(holds, id, now) if isinstance(holds, list) else None
        if hold:
            return domain, hold
    for _, holds in by_domain:
        if isinstance(holds, DomainUnavailable):
            raise holds
    raise ResourceNotFound(f"there is no hold {id!r:.40} in force. `popkit retention hold list` lists the holds")


def _holds(domain: Domain) -> list[Hold] | DomainUnavailable:
    try:
        return domain.holds()
    except DomainUnavailable as error:
        return error


def _check_text(needs: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise BadRequest(needs)
    if len(text) > _LONGEST_TEXT or not text.isprintable():
        raise BadRequest(f"{text!r:.40} is not a text of at most {_LONGEST_TEXT} printable characters")
