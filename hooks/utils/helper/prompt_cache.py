"""Report what a running session's prompt cache loses, once per loss, read from the ends of its transcripts."""

from __future__ import annotations

import threading
import time

from ..hosts.transcripts import projects
from ..hosts.transcripts.sent import GrowingTranscript
from ..policy import lost_cache
from ..state import shipped
from ..views.lost_caches import notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.lost_cache import Loss
    from ..policy.models import Models

WORTH_TELLING_USD = 0.10
MOST_AGENTS = 24  # of which what was read is held, to read on


class Misses:
    """The losses of a session: of its main thread and of its subagents. `since`: seconds; earlier losses are not reported."""

    def __init__(self, transcript_path: str, since: float) -> None:
        self._path = transcript_path
        self._since = since
        self._models = shipped.models()
        self._threads = {transcript_path: _Thread(transcript_path, since, self._models)}
        self._silent: dict[str, tuple[float, float]] = {}  # those let go: when last written, and their newest request
        self._lock = threading.Lock()

    def notice(self, models: Models) -> str:
        """Return one line about the losses since the last time that cost more than WORTH_TELLING_USD each; "" for none."""
        with self._lock:
            self._look()
            return notice(
                [
                    (loss, usd, thread.path != self._path)
                    for thread in self._threads.values()
                    for loss in thread.new_losses()
                    for usd in [_usd(models, loss)]
                    if usd is not None and usd > WORTH_TELLING_USD
                ]
            )

    def look(self) -> None:
        """Read what has been sent since the last look; the first time that is the whole transcript."""
        with self._lock:
            self._look()

    def _look(self) -> None:
        for path in projects.transcripts_of_agents(self._path):
            # One that ended before this session was taken up has nothing to say, and a session may have hundreds.
            written, newest = self._silent.get(path, (self._since, self._since))
            if path not in self._threads and projects.changed(path) > written:
                self._silent.pop(path, None)
                self._threads[path] = _Thread(path, newest, self._models)
        for thread in self._threads.values():
            thread.look()
        self._let_go()

    def _let_go(self) -> None:
        """Hold no more subagents than MOST_AGENTS: no event says when one is done. What was silent the longest is read from its beginning
        if it goes on, and repeats nothing."""
        agents = [path for path, thread in self._threads.items() if path != self._path and not thread.has_losses]
        written = {path: projects.changed(path) for path in agents}
        for path in sorted(agents, key=written.__getitem__)[: max(0, len(self._threads) - 1 - MOST_AGENTS)]:
            self._silent[path] = (written[path], self._threads.pop(path).since)

    @property
    def held(self) -> int:
        """Return how much is held of what was read of all threads."""
        return sum(thread.held for thread in self._threads.values())


class _Thread:
    """The losses of one transcript that were not reported yet."""

    def __init__(self, path: str, since: float, models: Models) -> None:
        self.path = path
        self._models = models
        self.since = since
        self._following = GrowingTranscript(path)
        self._losses = lost_cache.Losses(_day_of, self._models)
        self._lost: list[Loss] = []

    def look(self) -> None:
        try:
            requests, is_other = self._following.new()
        except OSError:
            return
        if is_other:
            self._losses = lost_cache.Losses(_day_of, self._models)
        self._lost += [loss for loss in map(self._losses.of, requests) if loss is not None and loss.usage.at > self.since]
        self.since = max([self.since, *(sent.usage.at for sent in requests)])

    @property
    def has_losses(self) -> bool:
        return bool(self._lost)

    @property
    def held(self) -> int:
        return self._following.held

    def new_losses(self) -> list[Loss]:
        lost, self._lost = self._lost, []
        return lost


def _usd(models: Models, loss: Loss) -> float | None:
    return lost_cache.usd(models, loss.usage.model, loss.usage.tokens, loss.tokens, loss.written, loss.usage.cache_ttl_s)


def _day_of(at: float) -> object:
    return time.localtime(at)[:3]
