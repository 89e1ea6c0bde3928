"""`popkit retention hold`: what is to be held, who wants it, why and until when, as words say it."""

from __future__ import annotations

import os
from contextlib import suppress

from hooks.utils import flag_parser, text
from hooks.utils.hosts.claude_code import projects
from hooks.utils.io import repository
from hooks.utils.text import quote as shown

from ..governance.domains import ITEM, PROJECT, SESSION
from ..governance.errors import DomainUnavailable
from ..operations.retention_table import COMMAND
from ..usage.database import login_name
from ..views import retention_activity as retention_deeds
from .answering import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .retention_command import Asked

_NAMED = 5  # sessions that a word can mean


def add(asked: Asked) -> Answer:
    """Hold what the words name; UsageError, and what the Controller says."""
    why = asked.flags["why"]
    if not why.strip():
        raise flag_parser.UsageError(f"a hold needs a reason: {COMMAND} hold add … --why TEXT")
    targets = _targets(asked)
    who = asked.flags.get("who") or login_name(asked.environ)
    until = asked.flags["until"].ahead(asked.now) if "until" in asked.flags else None
    found = [asked.controller.add_hold(domain, scope, target, who, why, until) for domain, scope, target in targets]
    return Answer(retention_deeds.held(found, asked.now, COMMAND), {"holds": found})


def _targets(asked: Asked) -> list[tuple[str, str, str]]:
    """(domain, scope, target) of all that is to be held: items by their ids, else a session or a project in each domain."""
    session, folder = asked.flags.get("session"), asked.flags.get("project")
    if sum((bool(asked.arguments), session is not None, folder is not None)) != 1:
        raise flag_parser.UsageError(
            f"what should be held? Give ids, or --session, or --project, one of them: {COMMAND} hold add ID --why TEXT"
        )
    if session is not None:
        (target,) = sessions_meant([session], asked)
        return [(domain, SESSION, target) for domain in asked.domains]
    if folder is None:
        found = asked.controller.by_domain(asked.arguments, asked.domain)
        return [(domain, ITEM, id) for domain, ids in found.items() for id in ids]
    key = repository.of(os.path.abspath(folder)).key
    stored = (each for domain in asked.domains for each in asked.controller.domain(domain).resources(asked.now, key))
    if not os.path.isdir(folder) and next(stored, None) is None:
        raise flag_parser.UsageError(f"--project takes a folder, and {shown(folder)} is none. Nothing that is stored is of it either")
    return [(domain, PROJECT, key) for domain in asked.domains]


def sessions_meant(words: Sequence[str], asked: Asked) -> list[str]:
    """The id of the session that each word begins: of those that have a transcript here, and of those that have left something. The word
    itself where there is none: its data may come back from an archive. UsageError for a word that could be several."""
    ids = {projects.session_id_of(path) for path in projects.every(asked.environ)}
    if not ids.issuperset(words):
        for domain in asked.domains:
            with suppress(DomainUnavailable):  # whoever needs it is told
                ids.update(id for each in asked.controller.domain(domain).resources(asked.now) for id in each.sessions)
    return [_session(word, ids) for word in words]


def _session(word: str, ids: set[str]) -> str:
    found = [word] if word in ids else sorted(id for id in ids if word and id.startswith(word))
    if len(found) > 1:
        raise flag_parser.UsageError(f"{shown(word)} could be {text.listed(found, _NAMED)}. Give more of the session's id")
    return found[0] if found else word


def list_(asked: Asked) -> Answer:
    """List the holds in force; with --all, all."""
    found: dict[str, Any] = asked.controller.holds(asked.domain, "all" in asked.flags)
    return Answer(retention_deeds.holds(found["holds"], asked.now, "all" in asked.flags, COMMAND), found)


def release(asked: Asked) -> Answer:
    """Release one hold."""
    found: dict[str, Any] = asked.controller.release_hold(asked.arguments[0])
    return Answer(retention_deeds.released(found, asked.now), found)
