"""A home that a test lays down again and again, and what must be true of it whatever has happened."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, closing
from pathlib import Path

from popkit_retention.governance import archives, manifests
from tests.governance.collectors import Workspace, at_work
from tests.governance.stocks import SESSIONS, STOCKS
from tests.governance.stored import DAY, NOW
from tests.kit.forks import Function
from tests.kit.kills import lay_down

KINDS = [kind for kind in STOCKS if kind != "kept"]  # what is on disk


class Case:
    """A home as it is before every kill: resources marked a day ago, as many that are to be marked, and two that are too young."""

    def __init__(self, folder: Path, kind: str, size: int) -> None:
        self.kind, self.home, self.template = kind, folder / "home", folder / "template"
        self.batch = size // 2 + 1
        days = [60.0] * size + [30.5] * size + [3.0] * 2
        stock = STOCKS[kind](self.template, lambda: NOW - DAY)
        self.ids = [stock.add(number, NOW - age * DAY, "context", SESSIONS[number % 2]) for number, age in enumerate(days)]
        stock.close()
        self.due, self.ready, self.young = set(self.ids[:size]), set(self.ids[size : 2 * size]), set(self.ids[2 * size :])
        with at_work(self.template, kind, NOW - DAY) as workspace:
            assert {verdict.id for verdict in workspace.gc(NOW - DAY).marks} == self.due
            self.before = self.data(workspace)

    def data(self, workspace: Workspace) -> dict[str, bytes]:
        return {content.id: content.data for content in workspace.domain.contents(self.ids)}

    def world(self) -> dict[str, str]:
        lay_down(self.template, self.home)
        return {"POPKIT_HOME": str(self.home)}

    def workspace(self) -> AbstractContextManager[Workspace]:
        return at_work(self.home, self.kind, NOW)

    def work(self, name: str, *given: object) -> Function:
        return Function("tests.governance.collectors:" + name, [str(self.home), self.kind, self.batch, *given])

    def check_log(self, workspace: Workspace) -> None:
        """Everything verifies, and exactly what is gone was logged as deleted, once."""
        assert workspace.log.verify() == []
        assert workspace.verify(read_data=True) == []
        assert workspace.log.unfinished() == []
        gone = Counter(id for ids in workspace.logged("deleted") for id in ids)
        assert gone == Counter(set(self.before) - set(self.data(workspace)))

    def check_folder(self) -> None:
        """No leftovers, and nothing that the store itself finds wrong."""
        with closing(STOCKS[self.kind](self.home, lambda: NOW)) as stock:
            assert stock.problems() == []
        with self.workspace() as workspace:
            assert all(manifests.is_id(name) for name in archives.names(workspace.folder))
            assert [path.name for path in self.home.rglob("*") if ".tmp-" in path.name] == []
