"""Changes of a running conversation that somebody outside of its client asks for: a shell, the page. They go through the helper, which the
mod listens to. The transcript of a session that runs with a mod is never rewritten.
"""

from __future__ import annotations

import json  # noqa: TID253  no hook comes here

from ..io import unix_http
from ..reclaim.access import Refused
from ..state import sockets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LIMIT_S = 5.0


class Through:
    """See `operations.request.InPlace`. Refused where the helper does not answer."""

    def __init__(self, path: str) -> None:
        self._path = path

    def clear(self, ids: Sequence[str]) -> None:
        self._ask({"only": list(ids)})

    def put_back(self, handles: Sequence[str]) -> None:
        self._ask({"back": list(handles)})

    def cancel(self) -> bool:
        return self._ask({"cancel": True}).get("cancelled") is True

    def _ask(self, asked: dict[str, object]) -> dict[str, object]:
        try:
            answer = json.loads(unix_http.ask(self._path, "/want", json.dumps(asked).encode("ascii"), _LIMIT_S))
        except (OSError, ValueError):
            answer = {}
        if not isinstance(answer, dict) or answer.get("heard") is not True:
            raise Refused("the session is running, and PopKit in it does not answer now. Type the same as /popkit there")
        return answer


def of_session(popkit_home: str, session_id: str) -> Through | None:
    """Who changes the conversation of a session; None where it does not run with a mod."""
    path = next(iter(sockets.of_session(popkit_home, session_id)), "") if session_id else ""
    return Through(path) if path else None
