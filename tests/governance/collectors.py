"""A domain with its folder, log and policy, worked with at one time or another; what is archived of it; what a process does with it that
tests kill."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from popkit_retention.governance import archives, collection, restores
from popkit_retention.governance.collection import Collection, Collector
from popkit_retention.governance.data_folder import Folder
from popkit_retention.governance.domains import Domain
from popkit_retention.governance.gc_parameters import GcParams, resolve_gc_params_with_policy
from popkit_retention.governance.log import Log
from popkit_retention.governance.manifests import Manifest
from popkit_retention.governance.policies import DEFAULT_POLICY
from tests.governance.stocks import STOCKS
from tests.governance.stored import NOW

LONG = b"value = 1\n" * 100
NOISE = random.Random(1).randbytes(300)

FINISHED_BY = {
    "mark": collection.finish_mark,
    "unmark": collection.finish_unmark,
    "delete": collection.finish_delete,
    "archive": archives.finish_archive,
    "remove": archives.finish_remove,
    "restore": restores.finish_restore,
}


class Workspace:
    """What a controller does, without one."""

    def __init__(self, home: Path, domain: Domain) -> None:
        self.folder = Folder(str(home))
        self.log = Log(self.folder.log_path)
        self.domain = domain
        self.policy = DEFAULT_POLICY

    def configure(self, **keys: object) -> None:
        self.policy = replace(self.policy, **keys)

    @contextmanager
    def changing(self) -> Iterator[Log]:
        with self.folder.lock():
            for entry in self.log.unfinished():
                FINISHED_BY[entry.todo["do"]](self.folder, self.domain, self.log, entry, NOW)
            yield self.log

    def params(self) -> GcParams:
        return resolve_gc_params_with_policy(self.domain.name, {}, {}, self.policy)

    def collector(self, now: float = NOW, by: str = "user", **how: object) -> Collector:
        return Collector(self.changing, self.domain, self.params, now, by, **how)

    def plan(self, now: float = NOW, **how: object) -> Collection:
        return collection.plan(self.collector(now, **how))

    def gc_with(self, now: float = NOW, **options: object) -> Collection:
        """A collection whose caller asks for something else than the policy says."""
        params = resolve_gc_params_with_policy(self.domain.name, options, options, self.policy)
        job = replace(self.collector(now), current=lambda: params)
        return collection.carry_out(job, collection.plan(job, self.policy))

    def gc(self, now: float = NOW, **how: object) -> Collection:
        return collection.collect(self.collector(now, **how))

    def undo(self, *ids: str, now: float = NOW, project: str | None = None) -> list[str]:
        return collection.undo(self.changing, self.domain, ids, now, "user", project)

    def archive(self, *ids: str, now: float = NOW, note: str = "") -> Manifest:
        return archives.archive(self.folder, self.changing, self.domain, ids, self.policy, now, "user", note)

    def restore(self, archive_id: str, now: float = NOW, **how: object) -> restores.Restored:
        return restores.restore(self.folder, self.changing, self.domain, archive_id, now, "user", **how)

    def remove(self, archive_id: str, now: float = NOW) -> dict[str, object]:
        with self.changing() as log:
            return archives.remove(self.folder, self.domain, log, archive_id, now, "user")

    def verify(self, read_data: bool = True) -> list[restores.Problem]:
        return restores.verify(self.folder, self.log, read_data)

    def logged(self, action: str) -> list[list[str]]:
        """The ids of all entries of an action, oldest first."""
        return [entry.ids for entry in reversed(self.log.entries(action=action))]


def ids(verdicts: list) -> list[str]:
    return [verdict.id for verdict in verdicts]


def path_of(workspace: Workspace, archive_id: str, *names: str) -> Path:
    return Path(workspace.folder.archives, archive_id, *names)


def sealed(value: dict) -> bytes:
    """A manifest with the right hash, whatever it says."""
    body = json.dumps({key: each for key, each in value.items() if key != "sha256"}, sort_keys=True, separators=(",", ":"))
    return ('{"sha256":"' + hashlib.sha256(body.encode()).hexdigest() + '",' + body[1:] + "\n").encode()


# --- what a process does, over a domain of some kind in a home that a test has filled --------------------------------------------------


@contextmanager
def at_work(home: str | Path, kind: str, now: float) -> Iterator[Workspace]:
    """A workspace over the domain of this kind, at a time (seconds)."""
    stock = STOCKS[kind](Path(home), lambda: now)
    with closing(stock):
        workspace = Workspace(Path(home), stock.domain)
        with closing(workspace.log):
            yield workspace


def gc(home: str, kind: str, batch: int, now: float) -> None:
    with at_work(home, kind, now) as workspace:
        workspace.gc(now, batch=batch)


def archive(home: str, kind: str, _batch: int, ids: list[str], now: float) -> None:
    with at_work(home, kind, now) as workspace:
        workspace.archive(*ids, now=now)


def restore(home: str, kind: str, batch: int, archive_id: str, now: float) -> None:
    with at_work(home, kind, now) as workspace:
        workspace.restore(archive_id, now, most=batch)
