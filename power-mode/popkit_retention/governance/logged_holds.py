"""Holds, which keep resources whatever their age and policy; each change is logged first. The caller holds the lock and has completed what
others left."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from hooks.utils.policy.masking import mask

from .domains import ITEM, SCOPES, Hold
from .errors import BadRequest, DomainUnavailable, NotThere

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .data_folder import Folder
    from .domains import Domain
    from .log import Entry, Log

HELD, RELEASED = "held", "released"
HOLD, RELEASE = "hold", "release"  # operations of the log
_LONGEST = 500  # characters of who, why and a target
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
_ID_LETTERS = 6


def add(
    log: Log, domain: Domain, scope: str, target: str, who: str, why: str, until: float | None, by: str, now: float, project: str | None
) -> Hold:
    """Add a hold on a target; return it. BadRequest for what makes no hold, NotThere for an item that the domain does not have."""
    if scope not in SCOPES:
        raise BadRequest(f"unknown scope {scope!r:.40}. Known: {', '.join(SCOPES)}")
    _check_text("a hold needs to know what it keeps", target)
    _check_text("a hold needs to know who wants it", who)
    _check_text("a hold needs a reason", why)
    if until is not None and not now < until < _END_OF_TIME:
        raise BadRequest("a hold ends in the future. Give a later date, or none: then it holds until it is released")
    if scope == ITEM:
        _, target = meant([domain], target, project)
    hold = Hold(_LETTER + "".join(secrets.choice(_LETTERS) for _ in range(_ID_LETTERS)), scope, target, mask(who), mask(why), now, until)
    ids = [target] if scope == ITEM else []
    entry = log.append(HELD, domain.name, ids, hold.to_json(), by, now, todo={"do": HOLD, "hold": hold.to_json()})
    domain.add_hold(hold)
    log.done(entry.number)
    return hold


def release(log: Log, domain: Domain, hold: Hold, by: str, now: float) -> Hold:
    """End a hold that is in force."""
    ids = [hold.target] if hold.scope == ITEM else []
    entry = log.append(RELEASED, domain.name, ids, {"hold": hold.id}, by, now, todo={"do": RELEASE, "id": hold.id, "at": now})
    domain.release_hold(hold.id, now)
    log.done(entry.number)
    return hold.released(now)


def finish(folder: Folder, domain: Domain, log: Log, entry: Entry, now: float) -> None:
    """Complete a logged operation, unless it was done."""
    todo: Any = entry.todo
    if todo["do"] == HOLD:
        domain.add_hold(Hold(**todo["hold"]))
    else:
        domain.release_hold(todo["id"], todo["at"])
    log.done(entry.number)


def find(domains: Sequence[Domain], id: str, now: float) -> tuple[Domain, Hold]:
    """Return the hold of this id that is in force at a time (seconds), and whose it is; NotThere for none. A domain that cannot be used
    keeps no hold of another one from being found."""
    kept = [(domain, _holds(domain)) for domain in domains]
    for domain, holds in kept:
        for hold in holds if isinstance(holds, list) else ():
            if hold.id == id and hold.in_force(now):
                return domain, hold
    for _, holds in kept:
        if isinstance(holds, DomainUnavailable):
            raise holds
    raise NotThere(f"there is no hold {id!r:.40} in force. `popkit retention hold list` lists those that are")


def _holds(domain: Domain) -> list[Hold] | DomainUnavailable:
    try:
        return domain.holds()
    except DomainUnavailable as error:
        return error


def meant(domains: Sequence[Domain], word: str, project: str | None = None) -> tuple[Domain, str]:
    """Return the one id that a word means, and whose it is; NotThere for none, or several."""
    matches = [(domain, id) for domain in domains for id in (domain.meant(word, project) if word.isprintable() else ())]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise NotThere(f"{word!r:.60} could be {', '.join(id for _, id in matches)}. Give more of the id")
    names = " or ".join(domain.name for domain in domains)
    raise NotThere(f"there is no {word!r:.60} in {names}. `popkit memory list` and `popkit archive list` show what ids there are")


def _check_text(needs: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise BadRequest(needs)
    if len(text) > _LONGEST or not text.isprintable():
        raise BadRequest(f"{text!r:.40} is not a text of at most {_LONGEST} printable characters")


_LETTER = "h"  # with which the id of a hold begins
_END_OF_TIME = 253_402_300_799.0  # the year 9999
