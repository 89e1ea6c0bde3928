"""Read contexts of sessions as the panel shows them, cached until something of the session changes. Reading writes nothing and takes no
lock of a client, so a running session is not disturbed. A large transcript takes seconds to read, so one is read at a time, and the last
few are cached."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from contextlib import contextmanager
from typing import Any, NamedTuple

from popkit_retention.core.io import files
from popkit_retention.core.policy import events
from popkit_retention.core.reclaim import outlook
from popkit_retention.core.state import reconciling
from popkit_retention.core.state.site import Site
from popkit_retention.core.views import phrases, verdicts
from popkit_retention.core.views import report as reports

from .request_samples import Sampler
from .session_shapes import Fill, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from popkit_retention.core.views.shapes import Report

    from .catalog import Known
    from .session_shapes import SessionDetail

KEPT = 8  # contexts
BRIEFS = 4_000
# A context is read again for the list after this many times the duration of its last reading.
REST = 4
# A context of up to so many bytes is read at once when the list needs it.
SMALL_BYTES = 4 << 20
# How long the sums of a context are valid by the clock, unless its cache goes cold before.
MINUTE_S = 60.0


class Brief(NamedTuple):
    """A context in the list, once it was read: its stamp, the second for which it holds (`at`), and how long the reading took (seconds)."""

    stamp: str
    at: float
    context: Fill | None
    verdict: Verdict
    calls: int
    expired_tokens: int
    now: int
    cold: int
    took_s: float
    read_at: float


class CachedContext:
    """A context that was read: its `site`, `outlook` and `sampler`, and its `report` as of the requested time."""

    def __init__(self, stamp: str, site: Site, path: str, now: float) -> None:
        self.stamp = stamp
        self.site = site
        self.path = path
        self.sampler = Sampler(_journal(site))
        self.detail: tuple[object, SessionDetail] | None = None  # cached for sessions.py
        self.outlook = outlook.read(site, path, now, self.sampler)
        self.report: Report = reports.build(self.outlook)

    def advance(self, now: float) -> None:
        """Move to a later second: results with a lifetime by the clock may have ended, the cache may be cold."""
        rebuilt = self.outlook.rebuilt
        if rebuilt is not None and int(now) > int(self.outlook.at):
            rebuilt.conversation.observe(events.Tick(now))
            self.outlook = outlook.of(self.site, self.path, rebuilt, now)
            self.report = reports.build(self.outlook)


class ContextCache:
    """The contexts of all sessions, each read on demand."""

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float], failed: Callable[[str, Exception], object]) -> None:
        """`failed` is called with a context that cannot be read, once for each stamp."""
        self._environ = environ
        self._now = now
        self._failed = failed
        self._unreadable: dict[str, str] = {}  # id -> stamp
        self._late: set[str] = set()  # sessions that the list showed before their contexts were read
        self._reader: threading.Thread | None = None
        self._lock = threading.RLock()
        self._cached: OrderedDict[str, CachedContext] = OrderedDict()
        self._briefs: OrderedDict[str, Brief] = OrderedDict()

    @contextmanager
    def reading(self, known: Known) -> Iterator[CachedContext]:
        """Yield the present context of a session, which no other thread reads meanwhile."""
        with self._lock:
            cached, now = self._cached.get(known.id), self._now()
            began = time.monotonic()
            if cached is None or cached.stamp != known.stamp:
                cached = CachedContext(known.stamp, self.site(known), known.transcript, now)
            else:
                cached.advance(now)
            self._keep(known.id, cached, time.monotonic() - began)
            yield cached

    def site(self, known: Known) -> Site:
        """Return the Site of a session."""
        return Site(self._environ, known.id, began_in(known.transcript), known.recorded)

    def _keep(self, id: str, cached: CachedContext, took_s: float) -> None:
        self._cached[id] = cached
        self._cached.move_to_end(id)
        while len(self._cached) > KEPT:
            self._cached.popitem(last=False)
        before = self._briefs.pop(id, None)
        if before is not None and before.stamp == cached.stamp:
            took_s = before.took_s
        self._briefs[id] = brief_of(cached, took_s)
        while len(self._briefs) > BRIEFS:
            self._briefs.popitem(last=False)

    def brief(self, known: Known, may_read: bool = True, is_patient: bool = False) -> Brief | None:
        """Return the sums of a context without a long reading. For a running session: the present ones where the context is small (or
        `is_patient`), else those of the last reading. For another: the present ones where it was read since it last changed, else None."""
        before = self._briefs.get(known.id)
        holds = before is not None and self.is_read(known)
        if before is not None and holds and not self._is_outdated(before, known.running):
            return before
        if known.running or holds:
            in_memory = holds and known.id in self._cached
            rested = before is None or not known.running or time.monotonic() - before.read_at >= REST * before.took_s
            is_small = is_patient or files.size_of(known.transcript) <= SMALL_BYTES
            if in_memory or (may_read and rested and is_small):
                before = self._read(known, is_patient) or before
        if before is None or before.stamp != known.stamp:
            self._late.add(known.id)
        return before if known.running or (before is not None and not self._is_outdated(before, known.running)) else None

    def have_caught_up(self, known: Mapping[str, Known]) -> bool:
        """Return whether contexts were read since the list showed their sessions without. Contexts of running sessions are read in a
        thread, one at a time, starting now. Only one thread may call this at a time."""
        reported = set(self._late)
        late = [known[id] for id in reported if id in known]
        unread = [each for each in late if not self.is_read(each)]
        self._late -= reported - {each.id for each in unread}
        pending = [each for each in unread if each.running and not self.is_unreadable(each)]
        if pending and (self._reader is None or not self._reader.is_alive()):
            self._reader = threading.Thread(
                target=self.brief, args=(pending[0],), kwargs={"is_patient": True}, daemon=True, name="popkit-reader"
            )
            self._reader.start()
        return len(unread) < len(late)

    def _read(self, known: Known, is_patient: bool) -> Brief | None:
        """Return the present sums of a context; None where it cannot be read, or another is being read and the caller not `is_patient`."""
        if self.is_unreadable(known) or not self._lock.acquire(blocking=is_patient):
            return None
        try:
            with self.reading(known):
                return self._briefs[known.id]
        except Exception as error:  # noqa: BLE001  a context that cannot be read hides no other
            self._unreadable[known.id] = known.stamp
            self._failed("dashboard-reader", error)
            return None
        finally:
            self._lock.release()

    def is_unreadable(self, known: Known) -> bool:
        """Return whether reading the present context has failed."""
        return self._unreadable.get(known.id) == known.stamp

    def _is_outdated(self, before: Brief, running: bool) -> bool:
        """Return whether the clock alone may have changed the sums."""
        now = self._now()
        cold = before.context.cache_until if before.context else None
        if cold is None and not running:
            return False
        return now - before.at >= MINUTE_S or (cold is not None and before.at < cold <= now)

    def is_read(self, known: Known) -> bool:
        """Return whether a context was read since it last changed."""
        before = self._briefs.get(known.id)
        return before is not None and before.stamp == known.stamp


def brief_of(cached: CachedContext, took_s: float) -> Brief:
    """Return the sums of a context for the list."""
    report = cached.report
    takes = report["reclaimable"]
    return Brief(
        cached.stamp, report["at"], fill_of(report), verdict_of(report), report["calls"], report["expired"]["tokens"],
        takes["now"]["tokens"], takes["cold"]["tokens"], took_s, time.monotonic(),
    )  # fmt: skip


def fill_of(report: Report) -> Fill | None:
    """Return how full a context is, as its report says; None before the first request."""
    context = report["context"]
    if not context:
        return None
    left = context["cache_seconds_left"]
    return Fill(
        tokens=context["tokens"],
        words=phrases.filled(context["tokens"], context["measured"], context["window"], context["window_source"]),
        ratio=context["ratio"],
        model=context["model"],
        cache=context["cache"] or "cold",
        cache_until=report["at"] + left if left else None,
    )


def verdict_of(report: Report) -> Verdict:
    """Return the advice of a report, in the panel's words."""
    return Verdict(kind=report["verdict"]["kind"], words=verdicts.verdict(report))


def began_in(transcript: str) -> str:
    """Return the folder in which the session of a transcript began; "" where it does not say."""
    from .transcript_heads import head_of

    return head_of(transcript).project if transcript else ""


def _journal(site: Site) -> list[Any]:
    try:
        return reconciling.journal_of(site, site.paths())
    except OSError:
        return []  # then only the transcript counts, as in the panel
