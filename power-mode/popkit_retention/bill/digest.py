"""The digest of one transcript: the usage of its requests, by model, with its lost caches."""

from __future__ import annotations

import hashlib
import os
import time
from array import array
from functools import lru_cache
from typing import NamedTuple

from popkit_retention.core.hosts.recordings import CLAUDE_CODE, session_id_of
from popkit_retention.core.hosts.transcripts import sent
from popkit_retention.core.policy import lost_cache
from popkit_retention.core.state import shipped

from . import sums

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from popkit_retention.core.policy.lost_cache import SentRequest

    from .records import Digest, Loss


_models = lru_cache(maxsize=1)(shipped.models)
_NO_USAGE = "says nothing about the usage of its requests"
FORM = 17  # of a digest
_KEY_BYTES = 8


class Reading(NamedTuple):
    """The content of a transcript: its digest, when its first line was written (seconds), the keys of all its requests, and ids of the
    messages that count elsewhere."""

    digest: Digest
    begun: float
    requests: bytes
    copied: frozenset[str] = frozenset()


def key_of(request: SentRequest) -> int:
    """Return a key that identifies a request wherever its answer is written: a copy keeps the message's id and time, unless the host gives
    it others."""
    named = (request.key or f"{request.id} {request.usage.at}").encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(named, digest_size=_KEY_BYTES).digest(), "big", signed=True)


def read(path: str, size: int, copies: Collection[int] = ()) -> Reading:
    """Return the content of the first `size` bytes of a transcript, without the requests that have these keys; OSError where it cannot be
    read."""
    session = sent.read(path, size, (lambda request: key_of(request) in copies) if copies else None)
    every = session.requests
    losses = lost_cache.losses(every, lambda at: time.localtime(at)[:3], _models())
    of_request = {id(loss.usage): loss for loss in losses}
    requests = [request for request in every if request.id not in session.copies]
    digest = _digest(path, session, requests, of_request)
    return Reading(digest, session.began, array("q", map(key_of, every)).tobytes(), frozenset(session.copies))


def digest_of(path: str, size: int) -> Digest:
    """Return the digest of the first `size` bytes of a transcript; OSError where it cannot be read."""
    return read(path, size).digest


def _digest(path: str, session: sent.Session, requests: list[SentRequest], of_request: Mapping[int, lost_cache.Loss]) -> Digest:
    by_time, kinds_by_time = sums.by_time(requests, session.standing, of_request)
    return {
        "session": _session_of(path),
        "cwd": session.cwd,
        "host": session.host or CLAUDE_CODE,
        "began": requests[0].usage.at if requests else 0.0,
        "ended": requests[-1].usage.at if requests else 0.0,
        "standing": session.standing,
        "hooks": session.hooks,
        "calls": session.calls,
        "used": sums.of_models(session.requests, session.standing, of_request, session.copies),
        "losses": [loss_row(of_request[id(request.usage)]) for request in requests if id(request.usage) in of_request],
        "by_time": by_time, "kinds_by_time": kinds_by_time, "by_price": sums.by_price(requests),
        "added": session.added,
        "holds": session.holds,
    }  # fmt: skip


def loss_row(loss: lost_cache.Loss) -> Loss:
    """Return a loss as a digest has it."""
    return {
        "at": loss.usage.at, "cause": loss.cause, "detail": loss.detail, "tokens": loss.tokens, "written": loss.written,
        "pause_s": round(loss.pause_s, 1), "model": loss.usage.model, "prompt": loss.usage.tokens, "ttl_s": loss.usage.cache_ttl_s,
    }  # fmt: skip


def _session_of(path: str) -> str:
    folder, agent = os.path.split(os.path.dirname(path))
    session_id = session_id_of(path)
    return f"{os.path.basename(folder)}/{session_id}" if agent == "subagents" else session_id
