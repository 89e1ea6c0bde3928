"""Exchange items as JSON lines: exports, imports, weekly backups of the ARCHIVE tier.

An export is a head, then one object for each item (a compressed one with its full text), and a digest at the end. An import is checked as a
whole before any of it is kept, and its secrets are masked. The user vouches for the whole file by importing it: anybody who could write
"accepted" into it could write "user" as well, so its word on who added an item is believed. An item that waits to be accepted in the file
waits here, too.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re

from popkit_retention.core.io import durable, files
from popkit_retention.core.policy.masking import mask

from .items import ARCHIVE, FULL, BadItem, Item, check, from_json, id_of
from .stores.protocol import Batch, audited
from .tier_policies import ARCHIVE_TIER_POLICY
from .valuation import DAY_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from .filters import Condition
    from .stores.protocol import Store

FORMAT = 1
_CONTROLS = re.compile("[\x7f-\x9f]")  # JSON allows them, and a terminal obeys them
LONGEST_LINE = 8_000_000  # characters
LARGEST = 100_000_000  # characters of all lines: they are checked whole, in memory, which takes a dozen times as much


def lines_of(store: Store, project: str | None, now: float, tiers: Sequence[str] = (), where: Sequence[Condition] = ()) -> Iterator[str]:
    """Yield an export of a project's items (None: of all projects), of these tiers (none: all), that meet these conditions: a head, items,
    and a digest of everything before it."""
    yield from _sealed(_bodies(store, project, now, tiers, where))


def _sealed(bodies: Iterable[str]) -> Iterator[str]:
    """Yield lines, and after them the end with their digest."""
    digest = hashlib.sha256()
    count = 0
    for line in bodies:
        digest.update(line.encode())
        count += 1
        yield line
    yield json.dumps({"end": True, "items": count - 1, "sha256": digest.hexdigest()}) + "\n"


def _bodies(store: Store, project: str | None, now: float, tiers: Sequence[str], where: Sequence[Condition]) -> Iterator[str]:
    yield json.dumps({"popkit_memory": FORMAT, "at": now, "project": project}) + "\n"
    for item in store.scan(project, tiers=tiers, where=where):
        value = item.to_json()
        if item.original:
            value["full_text"] = store.original(item.id)
        yield _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False)) + "\n"


def read(lines: Iterable[str], now: float, most: int = LARGEST, to: str = "") -> Batch:
    """Return the items of an export of at most this many characters, and the full texts of those that are compressed. Raise BadItem, which
    names the line. `to`: a new project, of the items of one."""
    batch, left, projects = Batch(), most, set()
    digest = hashlib.sha256()
    head = end = None
    for number, line in enumerate(lines, 1):
        left -= len(line)
        if left < 0:
            raise BadItem(f"line {number:,}: the file holds more than {most:,} characters. Export the projects one by one")
        value = _object(line, number)
        if head is None:
            if value.get("popkit_memory") != FORMAT:
                raise BadItem(f"line {number}: is not the first line of an export of popkit memory (format {FORMAT})")
            head = value
        elif end is not None:
            raise BadItem(f"line {number}: there is more text after the end")
        elif "end" in value:
            end = value
            continue
        else:
            projects.add(str(value.get("project")))
            _take(value, batch, number, now, to)
        digest.update(line.encode() if line.endswith("\n") else (line + "\n").encode())
    if head is None:
        raise BadItem("the export is empty")
    if end is None or end.get("items") != len(batch.add) or end.get("sha256") != digest.hexdigest():
        raise BadItem("the end is missing, or does not match the rest: the file was cut short or changed. Export it again")
    if to and len(projects) > 1:
        raise BadItem(f"the export is of {len(projects)} projects, which one project cannot take in. Import it without --project")
    return batch


def import_lines(store: Store, lines: Iterable[str], project: str, now: float, missing: bool = False, here: bool = False) -> int:
    """Import the items of an export, all or none; return how many. `missing`: only those whose id is not in the store. Raise BadItem as
    `read` does; DuplicateId where an id is there. `project`: whose user imports them; `here`: into it."""
    batch = read(lines, now, to=project if here else "")
    if missing:
        there = {item.id for item in store.get([item.id for item in batch.add])}
        batch.add = [item for item in batch.add if item.id not in there]
        batch.originals = {id: text for id, text in batch.originals.items() if id not in there}
    batch.log.append(audited(now, "imported", project, items=len(batch.add)))
    store.write(batch)
    return len(batch.add)


def _object(line: str, number: int) -> dict[str, object]:
    if len(line) > LONGEST_LINE:
        raise BadItem(f"line {number}: longer than {LONGEST_LINE:,} characters")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise BadItem(f"line {number}: is not JSON") from None
    if not isinstance(value, dict):
        raise BadItem(f"line {number}: is not a JSON object")
    return value


def _take(value: dict[str, object], batch: Batch, number: int, now: float, to: str) -> None:
    full = value.pop("full_text", None)
    full = mask(full) if isinstance(full, str) else full
    try:
        item = from_json(value, now)
        item.text = mask(item.text)
        _check_full(item, full, now)
    except (BadItem, TypeError) as error:
        raise BadItem(f"line {number}: {error}") from None
    text = full if isinstance(full, str) else item.text
    if to and item.id == id_of(item.project, item.kind, text):
        item.id = id_of(to, item.kind, text)
    item.project = to or item.project
    if isinstance(full, str):
        batch.originals[item.id] = full
    item.original = False  # it is once the full text is kept
    batch.add.append(item)


def _check_full(item: Item, full: object, now: float) -> None:
    if isinstance(full, str):
        check(Item(**{**vars(item), "text": full, "level": FULL}), now)
    elif item.level != FULL:
        raise BadItem(f"{item.id!r:.40}: it is compressed, and its full text is missing")


def lines_in(text: str) -> list[str]:
    """Return the lines of an export. Unlike `splitlines`, do not split at separators of lines or paragraphs within a text."""
    return list(io.StringIO(text))


def without(text: str, ids: Collection[str]) -> str:
    """Return an export without these items; unchanged where it has none of them, or is not a whole export."""
    head, *lines = lines_in(text) or [""]
    try:
        rest = [line for line in lines[:-1] if _object(line, 0).get("id") not in ids]
    except BadItem:
        return text
    return text if len(rest) >= len(lines) - 1 else "".join(_sealed([head, *rest]))


KEPT = 4
EVERY_S = {"daily": DAY_S, "weekly": 7 * DAY_S}[ARCHIVE_TIER_POLICY["backup_frequency"]]
_BEFORE, _BEHIND = "archive-", ".jsonl"
_BACKUP = re.compile(rf"{_BEFORE}([0-9]{{1,15}}){re.escape(_BEHIND)}")


def back_up(store: Store, folder: str, now: float) -> str | None:
    """Write a backup into a folder where the last one is a week old; return the path of a new one. Read it back to prove that it can be
    imported. Raise BadItem and OSError where it cannot be made; the last ones stay."""
    times = {name: at if at <= now else 0.0 for name, at in _times(folder).items()}  # the clock may have been wrong, or the name
    if times and now - max(times.values()) < EVERY_S:
        return None
    text = "".join(lines_of(store, None, now, (ARCHIVE,)))
    read(lines_in(text), math.inf)  # a clock that was set back must not fail a backup
    path = os.path.join(folder, f"{_BEFORE}{now:.0f}{_BEHIND}")
    durable.write_durably(path, files.encoded(text))
    for name in sorted(times, key=times.__getitem__, reverse=True)[KEPT - 1 :]:
        os.unlink(os.path.join(folder, name))
    return path


def erase_from_backups(folder: str, ids: Collection[str]) -> None:
    """Remove items from all backups. Delete a damaged backup that mentions one of them: it could not be imported."""
    for name in _times(folder) if ids else ():
        path = os.path.join(folder, name)
        text = files.read_text(path) or ""
        left = without(text, ids)
        if left != text:
            durable.write_durably(path, files.encoded(left))
        elif any(id in text for id in ids):
            os.unlink(path)


def _times(folder: str) -> dict[str, float]:
    """Return the backups in a folder: name -> time (seconds)."""
    try:
        with os.scandir(folder) as listing:
            known = [each.name for each in listing if each.is_file(follow_symlinks=False)]  # anything else is not ours
    except FileNotFoundError:
        return {}
    return {name: at for name in known if (at := _made_at(name)) is not None}


def _made_at(name: str) -> float | None:
    """Return the time (seconds) of a backup by its file name; None for another file."""
    match = _BACKUP.fullmatch(name)
    return float(match[1]) if match else None
