"""End a session, or leave it when its client turns to another one; it may be resumed later."""

from __future__ import annotations

from ..hosts.claude_code.calls import text
from ..io import files
from ..io.system import now as time_of_day
from ..io.system import os
from ..state import jobs, live, memory, settling, store, sweeping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

# The host gives a hook 1.5 s at the end of a session, and a clear takes up to 0.05 s a megabyte. A larger transcript is left alone.
CLEAR_BYTES = 24 * 1024 * 1024
# Ends after which the client has the transcript in its memory already: a rewrite would come too late.
_GOES_ON = ("resume",)


def handle(payload: dict[str, Any], environ: Mapping[str, str]) -> None:
    """End what lives for the session, if this is an end."""
    site = live.site_of(payload, environ)
    if site is None:
        return
    _sweep_sockets(site.home)
    now, why, transcript_path = time_of_day(environ), text(payload, "reason"), text(payload, "transcript_path")
    _trials(site, why, transcript_path, now)
    if store.read_unlocked(site.paths()) is None:
        return  # nothing was tracked
    live.end_session(site, now, why)
    if why == "clear" and memory.is_used(site.home):
        from ..state import remembering

        remembering.emptied(site)
    jobs.start(site, transcript_path, now)  # first: the host does not wait for long
    if site.rules().clear_at_exit and why not in _GOES_ON:
        _in_a_process_of_its_own(lambda: _clear(site, transcript_path, now), environ)
    elif settling.is_due(site, transcript_path):
        _in_a_process_of_its_own(lambda: settling.settle(site, transcript_path), environ)
    sweeping.sweep(site, now)


def _trials(site: live.Site, why: str, transcript_path: str, now: float) -> None:
    if site.tries:
        from ..state import store, trials

        trials.note_end(site, now, spoke=bool(store.file_stamp(transcript_path)))
    if why == "clear" and site.session.get("hinted") is not None:
        site.remember(hinted=None)  # the next context is empty


def _sweep_sockets(popkit_home: str) -> None:
    """Remove the sockets of killed helpers: another helper, which would do it, may never start."""
    try:
        os.stat(popkit_home + "/run")
    except OSError:
        return  # there are none
    from ..state import sockets

    sockets.sweep(popkit_home)


def _in_a_process_of_its_own(work: Callable[[], object], environ: Mapping[str, str]) -> None:
    """Do the work in a child and wait for it; it goes on if the host kills this process."""
    import os

    if not hasattr(os, "fork"):
        work()
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()  # signals of the host to this process do not reach it
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(nowhere, fd)  # the host waits for the end of our output
        work()
    except BaseException as error:  # noqa: BLE001  a child must not go on as the hook
        from ..io import failures

        failures.record(environ, "session-end", error)
    finally:
        os._exit(0)


def _clear(site: live.Site, transcript_path: str, now: float) -> None:
    """Take what is not needed out of the transcript, so that a later resume starts lean."""
    import os

    from ..policy.planning import Selection
    from ..reclaim import access, clearing

    files.patience.left_s = float("inf")  # the session is over
    try:
        if os.path.getsize(transcript_path) <= CLEAR_BYTES:
            clearing.clear(site, transcript_path, now, Selection(), at_end=True)
    except access.Refused:
        return  # as it was; `/popkit:context clear` says why
