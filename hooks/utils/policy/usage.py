"""The usage of a request: the size of its prompt, the part read from the cache, the time for which that stays warm."""

from __future__ import annotations


class Usage:
    """A request as its usage tells: `tokens` of its prompt, of which `read` from the prompt cache and `created` in it; when its answer
    began (`at`), and when the cache was last known to be in use (`until`), in seconds; the lifetime of what it wrote to the cache; the
    model's id; `left_out`, where the answer says so: (how many of its tool uses the prompt lacked, their tokens); `window`: tokens of the
    context window, where the recording says so, 0 where not; `files`: estimated tokens of the files that the host would put back behind a
    compaction of its own; `compacted_at`: of the newest request, when a compaction came behind it, 0.0 for none. No tokens: a compaction
    came between the requests, `by_itself`, not for a person's word."""

    __slots__ = (
        "at", "by_itself", "cache_ttl_s", "compacted_at", "created", "files", "left_out", "model", "read", "tokens", "until", "window",
    )  # fmt: skip

    def __init__(self, tokens: int = 0, at: float = 0.0, model: str = "", cache_ttl_s: int = 300, read: int = 0, created: int = 0) -> None:
        self.tokens = tokens
        self.at = self.until = at
        self.model = model
        self.cache_ttl_s = cache_ttl_s
        self.read = read
        self.created = created
        self.left_out: tuple[int, int] = (0, 0)
        self.window = self.files = 0
        self.compacted_at = 0.0
        self.by_itself = False

    def is_warm(self, now: float) -> bool:
        return bool(self.tokens) and now - self.until < self.cache_ttl_s

    def seconds_left(self, now: float) -> int:
        """Return for how long the cache stays warm."""
        left = self.cache_ttl_s - (now - self.at)
        return min(self.cache_ttl_s, max(0, round(left))) if self.is_warm(now) else 0
