"""What hooks and the helper leave for a service to send: how long things took, what requests used, whose transcript has more to tell.

One JSON line each, appended in one write; nothing at all unless the user has asked for traces, limits or a database. No contents, no
labels. Of paths the transcript's, which stays on this machine, and the project's folder, which the database is told: a team that shares one
sees it.
"""

from __future__ import annotations

import time

from ..edges import files
from ..edges.codec import dumps
from ..edges.system import join, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .site import Site

# In our folder: what waits, what is being sent, and what could not be sent the last time.
NAME, SENDING, LEFT = "outbox.jsonl", "outbox.sending", "outbox.left"
MOST_BYTES = 4 * 1024 * 1024  # a receiver that is never there: what comes then is not kept
SPAN, USAGE, SESSION = "span", "usage", "session"
DATABASE = "POPKIT_DATABASE_URL"
HOUR_S = 3_600  # the longer of the two lifetimes of a prompt cache
WORDS = ("budget", "send", "--quiet")
_HOOK = "outbox"  # in the log
_BOOKED = ("session_tokens", "month_tokens", "session_usd", "month_usd", "database")


def is_wanted(config: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Whether anything is to be kept: the user has asked for traces, or for what usage is needed for."""
    context = config.get("context") or {}
    return bool(context.get("traces")) or any(context.get(name) for name in _BOOKED) or bool(environ.get(DATABASE))


class Outbox:
    """Where one session, or one command (`session_id` ""), leaves what is to be sent."""

    __slots__ = ("_environ", "_path", "session_id", "wanted")

    def __init__(self, popkit_home: str, config: Mapping[str, Any], environ: Mapping[str, str], session_id: str = "") -> None:
        self.wanted = is_wanted(config, environ)
        self.session_id = session_id
        self._environ = environ
        self._path = join(popkit_home, NAME)

    def span(self, name: str, began_ns: int, **attributes: float | str) -> None:
        """Something that has just ended. `attributes`: counts and words of ours, never contents."""
        if self.wanted:
            self._leave(kind=SPAN, name=name, start=began_ns, end=max(began_ns, time.time_ns()), attributes=attributes)

    def used(self, at: float, model: str, prompt: int, read: int, written: int, output: int, lifetime_s: int) -> None:
        """A request of the code inside the host, which no transcript tells. `prompt`: all tokens that went in; `lifetime_s`: for how long
        the cache keeps what was written to it."""
        if self.wanted:
            tokens = {"input": max(0, prompt - read - written), "read": read, "written": written, "output": output}
            self._leave(kind=USAGE, at=at, model=model, lifetime_s=lifetime_s, **tokens)

    def tells_more(self, transcript_path: str, project: str) -> None:
        """The session's transcript has more to tell of what was used."""
        if self.wanted and transcript_path:
            self._leave(kind=SESSION, transcript=transcript_path, project=project)

    def _leave(self, **told: object) -> None:
        """Appends one line. Fails open: what goes wrong stands in the log."""
        try:
            files.make_private_folder(self._path.rpartition("/")[0])
            if not _is_full(self._path):
                line = {"id": os.urandom(8).hex(), "session": self.session_id, **told}
                files.append_text(self._path, dumps(line) + "\n")
        except (OSError, ValueError) as error:
            from ..edges import failures  # seldom

            failures.record(self._environ, _HOOK, error)


def of(site: Site) -> Outbox:
    """That of a site's session."""
    return Outbox(site.home, site.config, site.environ, site.session_id)


def of_command(environ: Mapping[str, str]) -> Outbox:
    """That of a command, which is about no one session."""
    from ..config import remembered
    from ..edges import home

    ours = home.popkit_home(environ)
    return Outbox(ours, remembered.effective(home.plugin_root(), ours, ""), environ)


def send(site: Site) -> None:
    """Lets a child send what waits, if anything does. Fails open."""
    try:
        if is_wanted(site.config, site.environ) and _is_there(join(site.home, NAME)):
            from ..edges import children

            children.start(WORDS, site.environ)
    except (OSError, ValueError) as error:
        from ..edges import failures  # seldom

        failures.record(site.environ, _HOOK, error)


def _is_full(path: str) -> bool:
    try:
        return os.stat(path).st_size > MOST_BYTES
    except FileNotFoundError:
        return False


def _is_there(path: str) -> bool:
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True
