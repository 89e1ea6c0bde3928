"""The operations of `popkit retention` on archives."""

from __future__ import annotations

import sys

from popkit_retention.core import text

from ..cli import terminal
from ..cli.answering import Answer, Refused
from . import manifests
from .arguments import Request
from .operations import RETENTION_COMMAND
from .views import archive_views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shapes import WrittenArchive


def archive(request: Request) -> Answer:
    archives: list[WrittenArchive] = []
    wanted: dict[str, list[str] | None] = {**request.controller.by_domain(request.arguments, request.domain)}
    if not request.arguments:
        wanted = {domain: None for domain in wanted if _has_eligible(request, domain)}
        if not wanted:
            raise Refused(f"nothing may be deleted now. To archive something else, name it: {RETENTION_COMMAND} admin archive ID…")
    for domain, ids in wanted.items():
        archived = request.controller.archive(domain, ids, request.flags.get("note", ""), request.progress)
        archives.append({"domain": domain, **archived})
    return Answer(archive_views.archived(archives, RETENTION_COMMAND), {"archives": archives})


def _has_eligible(request: Request, domain: str) -> bool:
    verdict = request.controller.apply(domain, dry_run=True)
    return any(part["eligible"] for part in (verdict, *verdict.get("own", ())))


def archives(request: Request) -> Answer:
    listed = request.controller.archives()
    return Answer(archive_views.archives(listed["archives"], request.now, RETENTION_COMMAND), listed)


def restore(request: Request) -> Answer:
    restored = request.controller.restore(request.arguments[0], "sound" in request.flags, request.progress)
    return Answer(archive_views.restored(restored), restored)


def remove(request: Request) -> Answer:
    sure, ids = "yes" in request.flags, list(dict.fromkeys(request.arguments))
    if not sure and "json" in request.flags:
        raise Refused("nothing was deleted: --json needs --yes")
    if not sure:
        listed = request.controller.archives()
        known = {archive["archive_id"]: archive for archive in listed["archives"]}
        if unknown := [id for id in ids if manifests.check_id(id) not in known]:
            raise Refused(f"there is no archive {unknown[0]}. `popkit retention admin archives` lists the archives")
        terminal.write_view(archive_views.to_remove([known[id] for id in ids], request.now), sys.stdout, request.environ)
        if not terminal.is_confirmed("Delete for good?"):
            raise Refused("nothing was deleted. --yes skips the question")
    removed = [request.controller.remove(id) for id in ids]
    return Answer([f"Deleted {text.clean(str(archive['archive_id']))} for good." for archive in removed], {"removed": removed})
