"""Sums of tokens by kind of content. Pure.

Tokens before the first word have no kind. Sums are whole tokens that add up, divided in proportion to the shares of the requests.
"""

from __future__ import annotations

from itertools import accumulate

from popkit_retention.core.policy.composition import OTHER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from popkit_retention.core.policy.composition import Shares

    from .records import ModelUsage


def columns_of(used: ModelUsage) -> list[int]:
    """Return the tokens of conversations in sums of requests: [plain, read, written for five minutes, for an hour]."""
    plain, read, short, hour = used["stands"]
    lost_plain, lost_short, lost_hour = (sum(lost) for lost in zip(used["pauses"], used["lost"]))
    return [
        used["plain"] - plain - lost_plain, used["read"] - read + lost_plain + lost_short + lost_hour,
        used["write_5m"] - short - lost_short, used["write_1h"] - hour - lost_hour,
    ]  # fmt: skip


def add_shares(sums: dict[str, list[float]], shares: Shares | None, hour: bool) -> None:
    """Add the shares of a request, which writes for an hour or for five minutes, to sums by kind with these columns."""
    for kind, (plain, read, written, _) in (shares or {}).items():
        row = sums.setdefault(kind, [0.0, 0.0, 0.0, 0.0])
        row[0] += plain
        row[1] += read
        row[2 + hour] += written


def add_unlost_shares(sums: dict[str, list[float]], shares: Shares | None) -> None:
    """Add the shares of a request, without lost tokens, to sums by kind with one column."""
    for kind, (_, _, _, share) in (shares or {}).items():
        sums.setdefault(kind, [0.0])[0] += share


def shared_by_kind(sums: Mapping[str, Sequence[float]], totals: Sequence[int]) -> dict[str, list[int]]:
    """Return the total of each column divided by kind, in whole tokens that add up to it. A total without shares is OTHER."""
    by_kind = {kind: [0] * len(totals) for kind in [*sums, OTHER]}
    for column, total in enumerate(totals):
        weights = [max(0.0, row[column]) for row in sums.values()]
        for kind, tokens in zip(sums, shared_out(total, weights)):
            by_kind[kind][column] = tokens
        if not any(weights):
            by_kind[OTHER][column] = total
    return {kind: row for kind, row in by_kind.items() if any(row)}


def shared_out(total: int, weights: Sequence[float]) -> list[int]:
    """Return a total divided in proportion to weights, in whole parts that add up to it."""
    sums = list(accumulate(weights))
    ends = [round(total * sum / sums[-1]) if sums[-1] else 0 for sum in sums]
    return [end - begin for begin, end in zip([0, *ends], ends)]
