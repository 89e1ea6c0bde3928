"""The manifest of an archive.

`data/archive/ID/` has `manifest.json` and `contents`. All contents are in one file, each at its offset: 20,000 small ones are two files to
sync, and no file has a name from inside an archive. Each content has its own hashes, so damage to one affects that one alone.

The manifest is one line: `{"sha256":"…",` and then all other keys, sorted, as compact ASCII JSON. The hash is that of the JSON object of
those other keys, so it is checked before anything in them is believed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass, field

from popkit_retention.core.io.codec import as_object
from popkit_retention.core.io.storage import Storage

from .errors import BadRequest, GovernanceDamaged, GovernanceTooNew, ResourceNotFound
from .policies import DOMAINS, LONGEST_ID
from .strict_json import json_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from .data_folder import Folder
    from .shapes import ArchiveSummary

VERSION = 1
MANIFEST, CONTENTS = "manifest.json", "contents"
LARGEST_MANIFEST = 64 << 20
LARGEST_CONTENT = 256 << 20
LONGEST_NOTE = 1_000
# The prefix of an unfinished archive's folder, before its id.
UNFINISHED = ".new-"
_ID = re.compile(rf"({'|'.join(DOMAINS)})-[0-9]{{8}}T[0-9]{{6}}Z-[a-z0-9]{{6}}")
STORAGE = (
    Storage(
        "archives of popkit retention",
        {"data/archive": rf"(\.new-)?{_ID.pattern}/(manifest\.json|contents)"},
        keep=("To keep the archives of popkit retention, copy this folder elsewhere:", "{}/data/archive"),
    ),
)
_HASH = re.compile(r"[0-9a-f]{64}")
_HEAD, _BEHIND_HASH = b'{"sha256":"', b'",'


@dataclass(frozen=True)
class Item:
    """A resource in an archive: `stored_size` bytes of the contents from `offset` on, zlib's where `compressed`. `size` and `sha256` are
    those of the restored content, `about` is what its domain needs to restore it."""

    id: str
    offset: int
    size: int
    stored_size: int
    compressed: bool
    sha256: str
    stored_sha256: str
    about: dict[str, object]


@dataclass(frozen=True)
class Manifest:
    """`created_at` is ISO 8601, `policy` the policy's keys at that time, `total_size_bytes` the size of the restored contents,
    `stored_size_bytes` that of the file `contents`. `sha256` is that of all other keys."""

    archive_id: str
    domain: str
    created_at: str
    by: str
    note: str
    policy: dict[str, object]
    resource_count: int
    total_size_bytes: int
    stored_size_bytes: int
    items: list[Item] = field(repr=False)
    version: int = VERSION
    sha256: str = ""

    def summary(self) -> ArchiveSummary:
        """Return its entry in a list of archives."""
        return {
            "archive_id": self.archive_id,
            "domain": self.domain,
            "created_at": self.created_at,
            "resource_count": self.resource_count,
            "total_size_bytes": self.total_size_bytes,
            "note": self.note,
        }


def data_of(manifest: Manifest) -> tuple[bytes, str]:
    """Return the bytes of the manifest's file, and its hash. BadRequest where it would be too large to be read back."""
    value = {**vars(manifest), "items": [vars(item) for item in manifest.items]}
    del value["sha256"]
    body = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(body) > LARGEST_MANIFEST - 100:
        raise BadRequest(f"an archive of {len(manifest.items):,} resources would be too large: archive fewer at once")
    sha256 = hashlib.sha256(body).hexdigest()
    return _HEAD + sha256.encode("ascii") + _BEHIND_HASH + body[1:] + b"\n", sha256


def check_id(archive_id: object) -> str:
    """Return an archive's id; BadRequest for a value that cannot be one."""
    if not isinstance(archive_id, str) or not _ID.fullmatch(archive_id):
        raise BadRequest(f"{archive_id!r:.60} is not the id of an archive (such as rag-20261122T233000Z-k3f9a2)")
    return archive_id


def domain_of(archive_id: object) -> str:
    """Return the domain that an archive's id names; BadRequest for a value that cannot be one."""
    return check_id(archive_id).partition("-")[0]


def is_id(name: str) -> bool:
    """Return whether a folder's name is that of an archive."""
    return _ID.fullmatch(name) is not None


def place(folder: Folder, archive_id: str) -> str:
    """Return the folder of an archive; ResourceNotFound where there is none, GovernanceDamaged for a link or a file in its place."""
    path = os.path.join(folder.archives, check_id(archive_id))
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ResourceNotFound(
            f"there is no archive {archive_id} in {folder.archives}. `popkit retention admin archives` lists the archives"
        ) from None
    if not stat.S_ISDIR(mode):
        raise GovernanceDamaged(f"{path} must be a folder, not a link or a file")
    return path


def open_file(path: str) -> BinaryIO:
    """Open a file of an archive; Damaged where it is missing, or is not a regular file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise GovernanceDamaged(f"{path} is missing") from None
    except OSError as error:
        raise GovernanceDamaged(f"{path} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise GovernanceDamaged(f"{path} must be a regular file")
    return open(fd, "rb")


def read(folder: Folder, archive_id: str) -> Manifest:
    """Return the manifest of an archive, as it was written; ResourceNotFound, GovernanceDamaged, GovernanceTooNew."""
    path = os.path.join(place(folder, archive_id), MANIFEST)
    with open_file(path) as file:
        data = file.read(min(os.fstat(file.fileno()).st_size, LARGEST_MANIFEST) + 1)
    try:
        return manifest_of(data, archive_id)
    except ValueError as error:
        raise GovernanceDamaged(f"{path} {error}") from None


def manifest_of(data: bytes, archive_id: str) -> Manifest:
    """Return a manifest from the bytes of its file. ValueError says what is wrong with them; TooNew for a later version."""
    if len(data) > LARGEST_MANIFEST:
        raise ValueError(f"is larger than {LARGEST_MANIFEST:,} bytes")
    hash_at, body_at = len(_HEAD), len(_HEAD) + 64 + len(_BEHIND_HASH)
    sha256 = data[hash_at : hash_at + 64].decode("ascii", "replace")
    if not data.startswith(_HEAD) or data[hash_at + 64 : body_at] != _BEHIND_HASH or not _HASH.fullmatch(sha256) or data[-1:] != b"\n":
        raise ValueError("is not a manifest")
    body = b"{" + data[body_at:-1]
    if hashlib.sha256(body).hexdigest() != sha256:
        raise ValueError("is not as it was written: its hash does not match")
    value = json_of(body, LARGEST_MANIFEST)
    version = as_object(value).get("version")
    if type(version) is int and version > VERSION:
        raise GovernanceTooNew(f"archive {archive_id} was written by a later PopKit (version {version} of the manifest). Update PopKit")
    manifest = _manifest(value, sha256)
    if manifest.archive_id != archive_id:
        raise ValueError(f"is that of {manifest.archive_id}")
    return manifest


def _manifest(value: object, sha256: str) -> Manifest:
    fields = _object(value, _MANIFEST_KEYS, "the manifest")
    items: list[Item] = []
    offset = total = 0
    ids: set[str] = set()
    for number, raw in enumerate(fields["items"]):
        item = Item(**_object(raw, _ITEM_KEYS, f"item {number}"))
        _check_item(item, number, offset)
        if item.id in ids:
            raise ValueError(f"names {item.id!r:.60} twice")
        ids.add(item.id)
        items.append(item)
        offset += item.stored_size
        total += item.size
    manifest = Manifest(**{**fields, "items": items}, sha256=sha256)
    if (manifest.resource_count, manifest.total_size_bytes, manifest.stored_size_bytes) != (len(items), total, offset):
        raise ValueError("has counts that are not those of its items")
    if manifest.version != VERSION or not is_id(manifest.archive_id) or not manifest.archive_id.startswith(manifest.domain + "-"):
        raise ValueError("has an id, a domain or a version that no archive has")
    return manifest


def _check_item(item: Item, number: int, offset: int) -> None:
    if not 0 < len(item.id) <= LONGEST_ID or not item.id.isprintable():
        raise ValueError(f"has no id for item {number}")
    if not 0 <= item.size <= LARGEST_CONTENT or not 0 <= item.stored_size <= item.size or item.offset != offset:
        raise ValueError(f"has sizes for {item.id!r:.60} that cannot be")
    if not item.compressed and item.stored_size != item.size:
        raise ValueError(f"has sizes for {item.id!r:.60} that cannot be")
    if not _HASH.fullmatch(item.sha256) or not _HASH.fullmatch(item.stored_sha256):
        raise ValueError(f"has no hash for {item.id!r:.60}")


def _object(value: object, keys: dict[str, type], subject: str) -> dict:
    """Return an object of exactly these keys; ValueError for any other, and for values of other types."""
    if not isinstance(value, dict) or value.keys() != keys.keys():
        raise ValueError(f"does not have the keys of {subject}")
    for key, kind in keys.items():
        if type(value[key]) is not kind:
            raise ValueError(f"has a {key} of {subject} that is not {kind.__name__}")
    return value


_MANIFEST_KEYS: dict[str, type] = {
    "archive_id": str, "domain": str, "created_at": str, "by": str, "note": str, "policy": dict, "resource_count": int,
    "total_size_bytes": int, "stored_size_bytes": int, "items": list, "version": int,
}  # fmt: skip
_ITEM_KEYS: dict[str, type] = {
    "id": str, "offset": int, "size": int, "stored_size": int, "compressed": bool, "sha256": str, "stored_sha256": str, "about": dict,
}  # fmt: skip
