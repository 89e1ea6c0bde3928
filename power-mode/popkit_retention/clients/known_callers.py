"""The callers of answers by id, because a later call names an answer: a previous response, a background response, a batch."""

from __future__ import annotations

import threading
from collections import OrderedDict

from ..context.requests import Caller

MOST = 10_000


class KnownCallers:
    """The callers of the newest answers, at most MOST. Threads may share them."""

    def __init__(self) -> None:
        self._by_id: OrderedDict[str, Caller] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, id: object, caller: Caller) -> None:
        if isinstance(id, str) and id:
            with self._lock:
                self._by_id[id] = caller
                if len(self._by_id) > MOST:
                    self._by_id.popitem(last=False)

    def within(self, caller: Caller, id: str) -> Caller:
        """Return the caller of a call that names an answer: in the session of that answer, unless the call names a session itself. An
        answer that is not known is a session of its own."""
        if caller.session_id:
            return caller
        with self._lock:
            known = self._by_id.get(id)
        return caller._replace(session_id=known.session_id) if known else caller.within([{"role": "user", "content": id}])
