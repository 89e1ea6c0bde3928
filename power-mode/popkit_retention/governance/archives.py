"""The archives in the data folder. An archive is built in a temporary folder, synced, logged, and then renamed: it exists whole, or not
at all."""

from __future__ import annotations

import hashlib
import os
import stat
import time
import zlib
from dataclasses import replace

from popkit_retention.core.archive.content import stamp
from popkit_retention.core.io import durable
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.retention_kit.holds import ITEM

from . import manifests
from .errors import BadRequest, GovernanceDamaged, GovernanceError, GovernanceTooNew, ResourceNotFound, ResourceOnHold
from .manifests import CONTENTS, LARGEST_CONTENT, LONGEST_NOTE, MANIFEST, UNFINISHED, Item, Manifest
from .random_ids import random_letters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .collection import Changing
    from .data_folder import Folder
    from .domains import Content, Domain
    from .log import Entry, Log
    from .policies import RetentionPolicy
    from .shapes import ArchiveSummary

# Operations of the log.
ARCHIVE, REMOVE = "archive", "remove"
_PROGRESS_EACH = 500


def archive(
    folder: Folder, changing: Changing, domain: Domain, ids: Sequence[str], policy: RetentionPolicy, now: float, by: str, note: str = "",
    progress: Callable[[str, int, int], object] = lambda what, done, of: None,
) -> Manifest:  # fmt: skip
    """Write resources into a new archive; nothing leaves its domain. Skip unknown ids; ResourceNotFound if all are. The lock
    that `changing` takes is held all the time, so that nothing is deleted while it is being archived. `note`: a note of the user's; secrets
    in it are masked."""
    if len(note) > LONGEST_NOTE or not note.isprintable():
        raise BadRequest(f"a note is one line of at most {LONGEST_NOTE:,} characters")
    with changing() as log:
        sweep(folder, log)
        archive_id = _new_id(folder, domain.name, now)
        building = os.path.join(folder.archives, UNFINISHED + archive_id)
        try:
            durable.make_durable_folder(building)
            items = _write_contents(building, domain.contents(list(dict.fromkeys(ids))), progress, len(ids))
            manifest = _manifest(archive_id, domain.name, items, policy, now, by, mask(note))
            data, sha256 = manifests.data_of(manifest)
            durable.write_durably(os.path.join(building, MANIFEST), data)
            details = {**manifest.summary(), "sha256": sha256}
            todo = {"do": ARCHIVE, "archive_id": archive_id}
            entry = log.append("archived", domain.name, [item.id for item in items], details, by, now, todo)
        except BaseException as error:
            _remove(building)
            if isinstance(error, OSError):
                raise GovernanceError(f"the archive cannot be written: {error.strerror or error}. Nothing was changed") from None
            raise
        finish_archive(folder, domain, log, entry, now)
    return replace(manifest, sha256=sha256)


def finish_archive(folder: Folder, domain: Domain, log: Log, entry: Entry, now: float) -> None:
    """Rename a logged archive to its final name; the caller holds the lock."""
    archive_id = manifests.check_id((entry.todo or {})["archive_id"])
    building, final = os.path.join(folder.archives, UNFINISHED + archive_id), os.path.join(folder.archives, archive_id)
    if os.path.isdir(building) and not os.path.lexists(final):
        os.rename(building, final)
        durable.sync_folder(folder.archives)
    if os.path.isdir(final):
        log.done(entry.number)
    else:
        abandon(log, entry, f"{archive_id} was removed before it was finished", now)


def remove(folder: Folder, domain: Domain, log: Log, archive_id: str, now: float, by: str) -> ArchiveSummary:
    """Delete an archive for good, even a damaged one or one that only the log knows; return its summary. ResourceOnHold while a hold could
    be about its contents: they may be the last copy. ResourceNotFound for one that never existed. The caller holds the lock."""
    entry_written = next((entry for entry in log.entries(action="archived") if entry.details.get("archive_id") == archive_id), None)
    ids = list(entry_written.ids) if entry_written else []
    summary: ArchiveSummary = {"archive_id": archive_id, "domain": domain.name}
    try:
        manifest = manifests.read(folder, archive_id)
        ids, summary = [item.id for item in manifest.items], manifest.summary()
    except ResourceNotFound:
        if entry_written is None or archive_id in removed(log):
            raise
    except (GovernanceDamaged, GovernanceTooNew):
        pass  # it can be deleted, whatever it is
    for hold in domain.holds():
        if hold.in_force(now) and (hold.scope != ITEM or hold.target in ids):
            raise ResourceOnHold(
                f"{archive_id} was not deleted: it may have the last copy of data on hold {hold.id} ({hold.who}: {hold.why}). "
                f"Release the hold first: popkit retention hold release {hold.id}"
            )
    todo = {"do": REMOVE, "archive_id": archive_id}
    entry = log.append("removed", domain.name, ids, {"archive_id": archive_id}, by, now, todo)
    finish_remove(folder, domain, log, entry, now)
    return summary


def finish_remove(folder: Folder, domain: Domain, log: Log, entry: Entry, now: float) -> None:
    """Delete the remains of an archive that the log says was removed; the caller holds the lock."""
    archive_id = manifests.check_id((entry.todo or {})["archive_id"])
    going, final = os.path.join(folder.archives, UNFINISHED + archive_id), os.path.join(folder.archives, archive_id)
    if os.path.lexists(final):  # renamed first, so that half an archive never looks like one
        _remove(going)
        os.rename(final, going)
        durable.sync_folder(folder.archives)
    _remove(going)
    log.done(entry.number)


def removed(log: Log) -> set[str]:
    """Return the ids of the archives that were removed."""
    return {str(entry.details.get("archive_id")) for entry in log.entries(action="removed")}


def abandon(log: Log, entry: Entry, why: str, now: float) -> None:
    """Log that an operation can no longer be completed, so that nobody tries again."""
    details: dict[str, object] = {"of": entry.number, "problem": why}
    log.append("abandoned", entry.domain, [], details, entry.by, now)
    log.done(entry.number)


def sweep(folder: Folder, log: Log) -> int:
    """Remove what killed processes have left of archives that were never logged; return how many. The caller holds the lock.
    GovernanceError where one cannot be removed: it may have copies of resources that are to be deleted."""
    unfinished = {UNFINISHED + str((entry.todo or {}).get("archive_id")) for entry in log.unfinished()}
    leftovers = [name for name in names(folder) if name.startswith(UNFINISHED) and name not in unfinished]
    for name in leftovers:
        _remove(os.path.join(folder.archives, name))
    return len(leftovers)


def names(folder: Folder) -> list[str]:
    """Return the names in the folder of archives, sorted; GovernanceError where it cannot be read."""
    try:
        return sorted(os.listdir(folder.archives))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise GovernanceError(
            f"{folder.archives} must be a readable folder ({error.strerror or error}). Fix that, or move it away"
        ) from None


def summaries(folder: Folder) -> list[ArchiveSummary]:
    """Return all archives, newest first: the summary of each, and `problem` where its manifest cannot be read."""
    rows: list[ArchiveSummary] = []
    for name in names(folder):
        if not manifests.is_id(name):
            continue
        try:
            rows.append(manifests.read(folder, name).summary())
        except (GovernanceDamaged, GovernanceTooNew) as error:
            rows.append({"archive_id": name, "domain": name.partition("-")[0], "problem": str(error)})
    return sorted(rows, key=lambda summary: summary["archive_id"].split("-")[1:], reverse=True)


def _new_id(folder: Folder, domain: str, now: float) -> str:
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    while True:
        archive_id = f"{domain}-{at}-{random_letters()}"
        if not os.path.lexists(os.path.join(folder.archives, archive_id)):
            return manifests.check_id(archive_id)


def _manifest(archive_id: str, domain: str, items: list[Item], policy: RetentionPolicy, now: float, by: str, note: str) -> Manifest:
    if not items:
        raise ResourceNotFound("nothing to archive: none of these is stored")
    total, stored = sum(item.size for item in items), sum(item.stored_size for item in items)
    return Manifest(archive_id, domain, stamp(now), by, note, policy.to_json(), len(items), total, stored, items)


def _write_contents(building: str, contents: Iterable[Content], progress: Callable[[str, int, int], object], of: int) -> list[Item]:
    """Write contents one after the other; return the manifest's item of each."""
    items: list[Item] = []
    offset = 0
    fd = os.open(os.path.join(building, CONTENTS), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as file:
        for content in contents:
            item, stored = _item(content, offset)
            file.write(stored)
            items.append(item)
            offset += item.stored_size
            if len(items) % _PROGRESS_EACH == 0:
                progress("archived", len(items), of)
        file.flush()
        os.fsync(file.fileno())
    progress("archived", len(items), of)
    return items


def _item(content: Content, offset: int) -> tuple[Item, bytes]:
    if len(content.data) > LARGEST_CONTENT:
        raise BadRequest(f"{content.id} is larger than {LARGEST_CONTENT:,} bytes: archive the others without it")
    packed = zlib.compress(content.data)
    compressed = len(packed) < len(content.data)
    stored = packed if compressed else content.data
    sha256, stored_sha256 = hashlib.sha256(content.data).hexdigest(), hashlib.sha256(stored).hexdigest()
    return Item(content.id, offset, len(content.data), len(stored), compressed, sha256, stored_sha256, dict(content.about)), stored


def _remove(path: str) -> None:
    """Remove a folder, or a link or a file in its place; never the target of a link."""
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            import shutil

            shutil.rmtree(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise GovernanceError(
            f"{path} cannot be removed ({error.strerror or error}). Nothing was changed; remove it, and try again"
        ) from None
