"""Which worker of a parallel run gets which tests, and in what order: each file as a whole."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# Tests that share a server, a browser or a session, which takes seconds of processor time to start: one worker gets them all.
SHARING = {
    "tests/client/test_compact_terminal.py": "a session that has worked",
    "tests/client/test_compact_answering.py": "a session that has worked",
    "tests/client/test_compact_triggers.py": "a session that has worked",
    "tests/client/test_noted.py": "a session that has worked",
    "tests/opencode/": "a server of OpenCode",
    "tests/dashboard/page/": "a browser",
    "tests/usage/": "a server of PostgreSQL",
}


class Scheduling(LoadFileScheduling):
    """Hands out files, or all that share something, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return next((what for folder, what in SHARING.items() if nodeid.startswith(folder)), super()._split_scope(nodeid))

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget a test that has ended. xdist keeps it: it would count all of them again with each test, and where a worker dies hand out
        again the files that it has finished; the worker that gets one of those has nothing to run and waits for ever."""
        nodeid = self.registered_collections[node][item_index]
        work, scope = self.assigned_work[node], self._split_scope(nodeid)
        del work[scope][nodeid]
        if not work[scope]:
            del work[scope]
        self._reschedule(node)
