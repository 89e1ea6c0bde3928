"""Find what the prompt cache of a session loses while it runs, from the end of its transcript, and say it once."""

from __future__ import annotations

import threading
import time

from ..hosts.claude_code.sent import Following
from ..policy import lost_cache
from ..views.lost_cache import notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.lost_cache import Loss
    from ..policy.models import Models

WORTH_TELLING_USD = 0.10


class Misses:
    """The losses of one main thread. `since`: seconds; what was lost before is not said."""

    def __init__(self, transcript_path: str, since: float) -> None:
        self._since = since
        self._following = Following(transcript_path)
        self._losses = lost_cache.Losses(_day_of)
        self._lost: list[Loss] = []
        self._lock = threading.Lock()

    def notice(self, models: Models) -> str:
        """Return one line about the losses since the last time that cost more than WORTH_TELLING_USD each; "" for none."""
        self.look()
        with self._lock:
            lost, self._lost = self._lost, []
        priced = [(loss, lost_cache.usd(models, loss.usage.model, loss.usage.tokens, loss.tokens, loss.usage.cache_ttl_s)) for loss in lost]
        return notice([(loss, usd) for loss, usd in priced if usd is not None and usd > WORTH_TELLING_USD])

    def look(self) -> None:
        """Read what has been sent since the last look; the first time that is the whole transcript."""
        with self._lock:
            try:
                requests, is_other = self._following.new()
            except OSError:
                return
            if is_other:
                self._losses = lost_cache.Losses(_day_of)
            self._lost += [loss for loss in map(self._losses.of, requests) if loss is not None and loss.usage.at > self._since]
            self._since = max([self._since, *(sent.usage.at for sent in requests)])


def _day_of(at: float) -> object:
    return time.localtime(at)[:3]
