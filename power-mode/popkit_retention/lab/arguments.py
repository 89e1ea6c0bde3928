"""The arguments of the lab's commands: sessions, policies, lifetimes of the cache."""

from __future__ import annotations

import os

from popkit_retention.core.text import clean

from ..cli.answering import Refused
from ..operations import session_lookup
from ..parallel.sources import unreadable
from . import own_policies, replay_policies, sent_requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .recorded import Session


TTLS = {"5m": 300, "1h": 3_600}


def check_writable(path: str) -> None:
    """Refuse, before the long run, a file that cannot be written after it."""
    if os.path.isdir(path) or not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
        raise Refused(f"{clean(path)}: cannot be written")


def check_policies(names: Iterable[str]) -> None:
    """Refuse names of policies that do not exist, before the long run."""
    try:
        for name in names:
            replay_policies.described(name)
    except own_policies.PolicyUnusable as error:
        raise Refused(clean(str(error))) from None


def session_of(path: str) -> Session:
    """Return the session of a transcript, with the handles that a live clear would give. Refused where it cannot be read."""
    try:
        session_lookup.check(path)
        session = sent_requests.read(path)
        sent_requests.name_handles(session)
        return session
    except session_lookup.NoSession as error:
        raise Refused(str(error)) from None
    except Exception as error:  # noqa: BLE001  a file may hold anything; the lab leaves it out
        raise Refused(f"{clean(path)}: {clean(unreadable(error))}") from None
