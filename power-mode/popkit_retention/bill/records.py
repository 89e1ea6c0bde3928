"""The records of a bill: the digest of a transcript, with its parts."""

from __future__ import annotations

from typing import Any, TypedDict

# (id of the model, `sums.size_below` of the prompt)
Priced = tuple[str, int]


class Loss(TypedDict):
    """`at`: seconds · `tokens` that were sent again, of them `written` to the cache for `ttl_s` seconds · `prompt`: tokens of the request's
    prompt."""

    at: float
    cause: str
    detail: str
    tokens: int
    written: int
    pause_s: float
    model: str
    prompt: int
    ttl_s: int


class ModelUsage(TypedDict):
    """Sums over the requests of one model with prompts of one size: tokens by price."""

    model: str
    prompt: int
    requests: int
    plain: int
    read: int
    write_5m: int
    write_1h: int
    output: int
    # Requests that found nothing in the cache: [written for five minutes, for an hour, not written]; all others read everything before the
    # first word.
    cold: list[int]
    # Tokens before the first word: [plain, read, written for five minutes, for an hour]. Lost ones count as read.
    stands: list[int]
    # Tokens that were sent again, [plain, written for five minutes, for an hour]: after a pause, and for any other cause.
    pauses: list[int]
    lost: list[int]
    # What the conversations were made of: kind (policy/composition.py) -> tokens by the columns of `sums.columns_of`, to which they add
    # up.
    kinds: dict[str, list[int]]
    # Tokens that would have been read and written with a cache of five minutes, and of an hour (`lifetimes.replayed`). And how many
    # requests came after a pause that only an hour bridges.
    lifetimes: list[int]
    bridged: int


class LossSum(TypedDict):
    """`times` that a cache was lost, the `tokens` that were written again, the `usd` that this cost beyond reading them; `unpriced`: how
    many of the times were with a model without a price."""

    times: int
    tokens: int
    usd: float
    unpriced: int


class Cause(LossSum):
    """The cost of a `cause` of lost caches; `details`: [(words, times)] of the most frequent ones."""

    cause: str
    details: list[tuple[str, int]]


class Misses(TypedDict):
    """The losses of caches over `sessions` with their `requests`, on `hosts`: `usd` of all requests, `unpriced` requests of models without
    a price; all losses as `lost`, and by `causes`, the most expensive first."""

    sessions: int
    requests: int
    hosts: list[str]
    usd: float
    unpriced: int
    lost: LossSum
    causes: list[Cause]


class Digest(TypedDict):
    """`session`: its id, with `/agent` for a subagent · `host`: its name · `began`, `ended`: seconds · `standing`: tokens before the
    first word, `hooks`: those of them that hooks added · `calls`: name -> [times, when last]."""

    session: str
    cwd: str
    host: str
    began: float
    ended: float
    standing: int
    hooks: int
    calls: dict[str, list[float]]
    used: list[ModelUsage]
    losses: list[Loss]
    # [[when its slot begins (seconds), tokens that are plain, read, written, output, and those of them that were before the first word
    # and not lost]] of each slot that had a request.
    by_time: list[list[int]]
    # For each of these slots, the remaining tokens without lost ones, by kind; output has no kind.
    kinds_by_time: list[dict[str, int]]
    # [[when its slot begins (seconds), the id of a model, the size of the prompts as `ModelUsage` has it, tokens that are plain, read,
    # written for five minutes, for an hour, output]].
    by_price: list[list[Any]]
    # Type of what the host attached -> [times, estimated tokens, times that the same stood in the prompt, their tokens].
    added: dict[str, list[int]]
    # Kind (policy/composition.py) -> estimated tokens of the conversation in the last request.
    holds: dict[str, int]
