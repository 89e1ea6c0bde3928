"""Sum up the savings that PopKit would have made in past sessions, in tokens or dollars, its own cost taken off.

Beside it stands what happened: the recorded session with the host's compactions and what these cost. The dollars of a session are those of
its recorded usage at its models' prices; what is saved is the lab's share of them. Reads only.
"""

from __future__ import annotations

import time
from functools import partial
from operator import add
from typing import NamedTuple

from popkit_retention.core.config import layers
from popkit_retention.core.hosts.tools import recorded_tools
from popkit_retention.core.io import home
from popkit_retention.core.policy.ruleset import Ruleset

from ..bill import digests
from ..bill.costs import usd_of
from ..parallel.attempts import SessionSkipped
from ..parallel.results import ALL_CORES, Workplace, results, results_of
from ..parallel.sources import why_nothing
from . import outcomes, sent_requests
from .recorded import was_changed
from .replay_policies import models

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ..parallel.sources import Source

DAY_S = 86_400.0
# Fewer bytes are read by one process before others would have started.
_ALONE_BYTES = 8 * 1024 * 1024
_READ_BYTES = 64 * 1024 * 1024  # for reading alone
_ASKING = 0.25  # share of the time for telling requests apart, which is about fifteen times as fast as the rest
_COPIED = "all of its requests are in other sessions"


class PastSums(NamedTuple):
    """The savings that PopKit would have made by itself in `sessions` and `subagents`. `usd`: what their `requests` cost, of which
    `unrecorded` have no usage in the transcript, and `unpriced` a model without a price. The door would have kept `kept_out_tokens` of
    `kept_out_results` out; at `compactions` of the host's, `kept_tokens` would have stayed word for word in the place of `summary_tokens`.
    `kept_out_usd`, `compactions_usd`, `auto_usd`: what the door saves, what compactions without a model save beside it, and what more of
    them save when the cache is cold; below 0 for what costs more. PopKit has changed `changed` more sessions. `left`: how many transcripts
    were not reached within so many `seconds`."""

    sessions: int = 0
    subagents: int = 0
    requests: int = 0
    usd: float = 0
    unrecorded: int = 0
    unpriced: int = 0
    kept_out_tokens: int = 0
    kept_out_results: int = 0
    kept_out_usd: float = 0
    compactions: int = 0
    kept_tokens: int = 0
    summary_tokens: int = 0
    compactions_usd: float = 0
    auto_usd: float = 0
    changed: int = 0
    left: int = 0
    seconds: float = 0

    def plus(self, other: PastSums) -> PastSums:
        """Return the sums of both."""
        return PastSums(*map(add, self, other))


def row_of(path: str, popkit_home: str, copies: Collection[int] = ()) -> PastSums:
    """Return the figures of one session under the configuration of its project, without the requests that have these keys (`key_of`);
    SessionSkipped where it has no request."""
    session = sent_requests.read(path)
    if not session.requests:
        raise SessionSkipped(why_nothing(path))
    reading = digests.read_file(path, copies)
    digest = reading.digest
    is_agent = "/" in digest["session"]
    if was_changed(session):
        return PastSums(changed=int(not is_agent))
    config = layers.load(home.plugin_root(), popkit_home or None, session.cwd)
    done = outcomes.unasked(session, Ruleset.from_config(config, recorded_tools()), config["auto_misses"], reading.copied)
    if not done.was.requests:
        raise SessionSkipped(_COPIED)
    paid = [(used["requests"], usd_of(used, models())) for used in digest["used"]]
    usd = sum(sum(dollars.values()) for _, dollars in paid if dollars)
    return PastSums(
        sessions=int(not is_agent),
        subagents=int(is_agent),
        requests=done.was.requests,
        usd=usd,
        unrecorded=max(0, done.was.requests - sum(count for count, _ in paid)),
        unpriced=sum(count for count, dollars in paid if not dollars),
        kept_out_tokens=done.door.spared_tokens,
        kept_out_results=done.door.shortened,
        kept_out_usd=usd * (done.was.cost - done.door.cost) / done.was.cost,
        compactions=done.compactions,
        kept_tokens=done.kept_tokens,
        summary_tokens=done.summary_tokens,
        compactions_usd=usd * (done.door.cost - done.all.cost) / done.was.cost,
        auto_usd=usd * (done.all.cost - done.auto.cost) / done.was.cost,
    )


def sums(
    sources: Sequence[Source], popkit_home: str, seconds: float, progress: Callable[[int, int], object], where: Workplace = ALL_CORES,
) -> PastSums:  # fmt: skip
    """Return the sums of `row_of` over the first of these sessions, as many as are read within so many seconds, each request once.
    `progress(bytes done, of all)` is called after each."""
    whole, done, reached = sum(source.size for source in sources), 0, 0
    total = PastSums()
    began = time.monotonic()
    ends = began + seconds
    progress(0, whole)
    copies = _copies(sources, began + _ASKING * seconds, where)
    work = [(partial(row_of, popkit_home=popkit_home, copies=copies.get(source.address, ())), source) for source in sources[: len(copies)]]
    for source, row, _ in results_of(work, where.worth(sources, _ALONE_BYTES)):
        if row is not None:
            total = total.plus(row)
        done, reached = done + source.size, reached + 1
        progress(done, whole)
        if time.monotonic() > ends:
            break
    return total._replace(left=len(sources) - reached, seconds=seconds)


def _copies(sources: Sequence[Source], ends: float, where: Workplace) -> dict[str, frozenset[int]]:
    """Return the requests that count in another session, for each of the first sessions, as many as are read by this time."""
    files: dict[str, tuple[float, bytes]] = {}
    for source, reading, _ in results(digests.read_file, sources, where.worth(sources, _READ_BYTES)):
        files[source.address] = (reading.begun, reading.requests) if reading is not None else (0.0, b"")
        if time.monotonic() > ends:
            break
    return digests.copies_in(files)
