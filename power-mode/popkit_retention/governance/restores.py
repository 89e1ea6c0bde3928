"""Restores from archives, whose contents are verified first."""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from popkit_retention.core import units

from . import manifests
from .archives import abandon, names, removed
from .domains import Content
from .errors import BadRequest, GovernanceDamaged, GovernanceError, GovernanceTooNew, ResourceNotFound
from .manifests import CONTENTS, Item, Manifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import BinaryIO

    from .collection import Changing
    from .data_folder import Folder
    from .domains import Domain
    from .log import Entry, Log

# The operation of the log.
RESTORE = "restore"
BATCH = 1_000
BATCH_BYTES = 8 << 20
_NAMED = 5  # damaged items that an error names


class Problem(NamedTuple):
    """Something that is not as it was written: the archive (and which part of it), and what is wrong."""

    where: str
    what: str


@dataclass(frozen=True)
class Restored:
    """The result of a restore: the ids that it restored, those that existed already and were left unchanged, and those that are damaged in
    the archive and were not restored."""

    archive_id: str
    domain: str
    restored: list[str]
    already: list[str]
    damaged: list[str]


def verify(
    folder: Folder, log: Log, read_data: bool = False, progress: Callable[[str, int, int], object] = lambda what, done, of: None
) -> list[Problem]:
    """Return the problems of the archives: check each manifest against its hash and the log, the contents against their size, and with
    `read_data` every byte of them against its hash."""
    logged = _logged(log)
    unfinished = {str((entry.todo or {}).get("archive_id")) for entry in log.unfinished()}
    stored = names(folder)
    problems: list[Problem] = []
    every = sorted({*stored, *logged} - unfinished)
    for number, name in enumerate(every, 1):
        if name.startswith("."):  # not whole yet, or the system's own
            continue
        problems += _problems(folder, name, logged, read_data)
        progress("verified", number, len(every))
    return problems


def restore(
    folder: Folder, changing: Changing, domain: Domain, archive_id: str, now: float, by: str, sound_only: bool = False,
    progress: Callable[[str, int, int], object] = lambda what, done, of: None, most: int = BATCH,
) -> Restored:  # fmt: skip
    """Restore the contents of an archive; existing resources stay unchanged. All of it is verified first: Damaged where anything is not as
    it was written, unless `sound_only` asks for the rest. The lock that `changing` takes is held for `most` contents at a time."""
    manifest = manifests.read(folder, archive_id)
    if manifest.domain != domain.name:
        raise BadRequest(f"archive {archive_id} is of the domain {manifest.domain}, not {domain.name}")
    damaged = [item.id for item, data in _read(folder, manifest) if data is None]
    if damaged and not sound_only:
        raise GovernanceDamaged(_refusal(manifest, damaged))
    restored: list[str] = []
    already: list[str] = []
    seen = 0
    sound = ((item, data) for item, data in _read(folder, manifest) if data is not None)
    for batch in _batches(sound, most):
        with changing() as log:
            present = {resource.id for resource in domain.resources(now, ids=[content.id for content in batch])}
            missing = [content for content in batch if content.id not in present]
            if missing:
                restored += _put_back(domain, log, archive_id, missing, now, by)
        already += [content.id for content in batch if content.id in present]
        seen += len(batch)
        progress("restored", seen, len(manifest.items) - len(damaged))
    return Restored(archive_id, domain.name, restored, already, damaged)


def finish_restore(folder: Folder, domain: Domain, log: Log, entry: Entry, now: float) -> None:
    """Complete a logged restoration; the caller holds the lock. Contents that the archive no longer has are abandoned, and that is
    logged."""
    todo = entry.todo or {}
    wanted = frozenset(todo["ids"])
    try:
        manifest = manifests.read(folder, todo["archive_id"])
        sound = ((item, data) for item, data in _read(folder, manifest, wanted) if data is not None)
        for batch in _batches(sound, BATCH):
            domain.put_back(batch, entry.at)
    except GovernanceError as error:  # restoring it again continues where this ended
        abandon(log, entry, str(error), now)
    else:
        log.done(entry.number)


def _put_back(domain: Domain, log: Log, archive_id: str, missing: list[Content], now: float, by: str) -> list[str]:
    ids = [content.id for content in missing]
    todo = {"do": RESTORE, "archive_id": archive_id, "ids": ids}
    entry = log.append("restored", domain.name, ids, {"archive_id": archive_id}, by, now, todo)
    try:
        back = domain.put_back(missing, now)
    except GovernanceError as error:
        abandon(log, entry, str(error), now)
        raise
    log.done(entry.number)
    return back


def _read(folder: Folder, manifest: Manifest, wanted: Iterable[str] | None = None) -> Iterator[tuple[Item, bytes | None]]:
    """Yield the items of an archive (those wanted) and their contents, None where these are not as they were written."""
    path = os.path.join(manifests.place(folder, manifest.archive_id), CONTENTS)
    try:
        file = manifests.open_file(path)
    except GovernanceDamaged:
        yield from ((item, None) for item in manifest.items)
        return
    with file:
        for item in manifest.items:
            if wanted is None or item.id in wanted:
                yield item, _content(file, item)


def _content(file: BinaryIO, item: Item) -> bytes | None:
    file.seek(item.offset)
    stored = file.read(item.stored_size)
    if hashlib.sha256(stored).hexdigest() != item.stored_sha256:
        return None
    data = stored
    if item.compressed:
        try:
            # One byte more than it may have: a longer content is not the one that was written.
            data = zlib.decompressobj().decompress(stored, item.size + 1)
        except zlib.error:
            return None
    return data if len(data) == item.size and hashlib.sha256(data).hexdigest() == item.sha256 else None


def _batches(sound: Iterable[tuple[Item, bytes | None]], most: int) -> Iterator[list[Content]]:
    """Yield contents in batches that fit into memory."""
    batch: list[Content] = []
    size = 0
    for item, data in sound:
        batch.append(Content(item.id, data or b"", item.about))
        size += item.size
        if len(batch) == most or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _refusal(manifest: Manifest, damaged: list[str]) -> str:
    named = ", ".join(islice(damaged, _NAMED)) + (", …" if len(damaged) > _NAMED else "")
    sound = len(manifest.items) - len(damaged)
    changed = "is not as it was written" if len(damaged) == 1 else "are not as they were written"
    rest = f". To bring back the rest: `popkit retention admin restore {manifest.archive_id} --sound`" if sound else ""
    return (
        f"{len(damaged)} of {units.counted(len(manifest.items), 'content')} in archive {manifest.archive_id} {changed} ({named}). "
        f"Nothing was restored{rest}"
    )


def _logged(log: Log) -> dict[str, str]:
    """Return the archives that the log says were written, and the hashes of their manifests."""
    abandoned = {entry.details.get("of") for entry in log.entries(action="abandoned")}
    deleted = removed(log)
    entries = log.entries(action="archived")
    written = [entry for entry in entries if entry.number not in abandoned and entry.details.get("archive_id") not in deleted]
    return {str(entry.details.get("archive_id")): str(entry.details.get("sha256")) for entry in written}


def _problems(folder: Folder, name: str, logged: Mapping[str, str], read_data: bool) -> Iterator[Problem]:
    if not manifests.is_id(name):
        yield Problem(name, "is not an archive: move it away")
        return
    try:
        manifest = manifests.read(folder, name)
        with manifests.open_file(os.path.join(manifests.place(folder, name), CONTENTS)) as file:
            size = os.fstat(file.fileno()).st_size
    except (GovernanceDamaged, ResourceNotFound, GovernanceTooNew) as error:
        yield Problem(name, str(error))
        return
    if name not in logged:
        yield Problem(name, "the log does not know it")
    elif logged[name] != manifest.sha256:
        yield Problem(name, "the manifest is not the one that was logged")
    if size != manifest.stored_size_bytes:
        yield Problem(name, f"its contents should be {manifest.stored_size_bytes:,} bytes, and are {size:,}")
    if read_data:
        for item, data in _read(folder, manifest):
            if data is None:
                yield Problem(f"{name}: {item.id}", "its content is not as it was written")
