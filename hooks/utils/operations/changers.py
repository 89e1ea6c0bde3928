"""Change a conversation, through whoever can: the code inside the client, or the next start of the session."""

from __future__ import annotations

from ..hosts import is_kept, kept_by, protocol
from ..io.codec import as_text, dumps, loads
from ..reclaim.access import ClearRefused
from ..state import asking, sockets
from ..state.noted import ONLY, SessionNotes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from ..state.site import Site

    class Changer(Protocol):
        """Changes a conversation: as soon as Claude is idle, or, with `is_later`, once the session is resumed. Refused where that cannot
        be."""

        is_later: bool

        def clear(self, ids: Sequence[str], share: float | None = None, further: int = 0) -> None:
            """Take these results out; where they leave a cold cache also what is needed least, until only this share of the conversation
            stays: so many tokens `further`."""

        def put_back(self, handles: Sequence[str]) -> None:
            """Put back what is archived under these handles."""

        def cancel(self) -> str:
            """Withdraw what was asked for last and is not done yet; return its kind (state/noted.py), "" for nothing."""


_WITHOUT = (
    "nothing was changed. In Claude Code 2.1.326 and later, code of PopKit's inside the client takes results out of the running"
    " conversation and puts them back; this session runs without it"
)
_HELPER_S = 5.0  # how long the helper may take to answer


class HelperChanger:
    """An InPlace for a shell or the page, outside the client: the mod does what its helper is asked to do. Refused where the helper does
    not answer."""

    is_later = False

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def clear(self, ids: Sequence[str], share: float | None = None, _further: int = 0) -> None:
        self._ask({"only": list(ids), "share": share})

    def put_back(self, handles: Sequence[str]) -> None:
        self._ask({"back": list(handles)})

    def cancel(self) -> str:
        cancelled = self._ask({"cancel": True}).get("cancelled")
        if cancelled is True:  # a helper of an earlier version, which cancels nothing else
            return ONLY
        return as_text(cancelled)

    def _ask(self, body: dict[str, object]) -> dict[str, object]:
        try:
            answer = loads(asking.ask(self._socket, "/want", dumps(body).encode("ascii"), _HELPER_S).decode())
        except (OSError, ValueError):
            answer = {}
        if not isinstance(answer, dict) or answer.get("heard") is not True:
            raise ClearRefused("the session is running, but PopKit in it does not answer. Type the same as /popkit there")
        return answer


class DeferredChanger:
    """An InPlace for a session that does not run with our code: what is asked for is noted, and done when it is resumed with that."""

    is_later = True

    def __init__(self, site: Site) -> None:
        self._site = site
        self._noted = SessionNotes(site.home, site.session_id)

    def clear(self, ids: Sequence[str], share: float | None = None, further: int = 0) -> None:
        self._check()
        self._noted.add(only=list(ids), share=share, further=further)

    def put_back(self, handles: Sequence[str]) -> None:
        self._check()
        self._noted.add(back=list(handles))

    def cancel(self) -> str:
        return self._noted.forget_newest()

    def _check(self) -> None:
        if self._site.data_rules:
            raise ClearRefused("nothing was changed. " + self._site.rules_in_words())
        if is_kept(self._site.session_id):
            raise ClearRefused(kept_by(protocol.of(self._site.session_id).NAME))


class RefusingChanger:
    """An InPlace for a session that runs without our code inside the client."""

    is_later = False

    def clear(self, _ids: Sequence[str], _share: float | None = None, _further: int = 0) -> None:
        raise ClearRefused(_WITHOUT)

    def put_back(self, _handles: Sequence[str]) -> None:
        raise ClearRefused(_WITHOUT)

    def cancel(self) -> str:
        return ""


WITHOUT = RefusingChanger()


def in_place_of(site: Site) -> Changer:
    """Return the InPlace of a session for a process outside of the client."""
    paths = sockets.of_session(site.lasting_home, site.session_id) if site.session_id else []
    return HelperChanger(paths[0]) if paths else DeferredChanger(site)
