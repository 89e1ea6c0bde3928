"""Find what the prompt cache of a session loses while it runs, from the end of its transcripts, and say it once."""

from __future__ import annotations

import threading
import time

from ..hosts.claude_code import projects
from ..hosts.claude_code.sent import Following
from ..policy import lost_cache
from ..state import shipped
from ..views.cache import notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.economics import Models
    from ..policy.lost_cache import Loss

WORTH_TELLING_USD = 0.10


class Misses:
    """The losses of a session: of its main thread and of its subagents. `since`: seconds; what was lost before is not said."""

    def __init__(self, transcript_path: str, since: float) -> None:
        self._path = transcript_path
        self._since = since
        self._models = shipped.models()
        self._threads = {transcript_path: _Thread(transcript_path, since, self._models)}
        self._lock = threading.Lock()

    def notice(self, models: Models) -> str:
        """Return one line about the losses since the last time that cost more than WORTH_TELLING_USD each; "" for none."""
        with self._lock:
            self._look()
            return notice(
                [
                    (loss, usd, thread.path != self._path)
                    for thread in self._threads.values()
                    for loss in thread.taken()
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
            if path not in self._threads and projects.changed(path) > self._since:
                self._threads[path] = _Thread(path, self._since, self._models)
        for thread in self._threads.values():
            thread.look()


class _Thread:
    """The losses of one transcript that were not taken yet."""

    def __init__(self, path: str, since: float, models: Models) -> None:
        self.path = path
        self._models = models
        self._since = since
        self._following = Following(path)
        self._losses = lost_cache.Losses(_day_of, self._models)
        self._lost: list[Loss] = []

    def look(self) -> None:
        try:
            requests, is_other = self._following.new()
        except OSError:
            return
        if is_other:
            self._losses = lost_cache.Losses(_day_of, self._models)
        self._lost += [loss for loss in map(self._losses.of, requests) if loss is not None and loss.usage.at > self._since]
        self._since = max([self._since, *(sent.usage.at for sent in requests)])

    def taken(self) -> list[Loss]:
        lost, self._lost = self._lost, []
        return lost


def _usd(models: Models, loss: Loss) -> float | None:
    return lost_cache.usd(models, loss.usage.model, loss.usage.tokens, loss.tokens, loss.usage.cache_ttl_s)


def _day_of(at: float) -> object:
    return time.localtime(at)[:3]
