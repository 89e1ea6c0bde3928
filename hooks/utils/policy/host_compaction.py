"""The model of the host's own compaction of a conversation. Pure.

It is one request that reads the whole conversation, a summary that it writes, and behind it the files that were read or written last, whole
again.

What a compaction of ours is worth is what it costs beside that. How large the conversation is that the summariser reads is measured; that
its cache is warm, the length of the summary and what is put back are assumed where no compaction of the host's shows them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .economics import Prices

# Of 31 recorded summaries, half have between 13,500 and 18,700 characters, half of all more than 15,700.
SUMMARY_TOKENS = 4_000
# The client puts back so many files, each up to so many tokens (2.1.332).
FILES, FILE_TOKENS = 5, 5_000


class HostCompaction:
    """The host's own compactions: it compacts a conversation whose next prompt would have `threshold` tokens (0 where that is not known)
    and goes on with `base` tokens of system and tools, a `summary` of so many tokens, and the files."""

    __slots__ = ("base", "summary", "threshold")

    def __init__(self, threshold: int = 0, base: int = 0, summary: int = SUMMARY_TOKENS) -> None:
        self.threshold = threshold
        self.base = base
        self.summary = summary

    def leaves(self, files: float) -> float:
        """Return the tokens of a conversation right behind its compaction, with so many tokens of files."""
        return self.base + self.summary + files


def request_units(prices: Prices, prompt: float, read: float) -> float:
    """Return the units of the summariser's request, which finds so many tokens of its prompt in the cache."""
    return prices.read * read + prices.write * (prompt - read)


def summary_units(prices: Prices, tokens: float) -> float:
    """Return the units of a summary as it is written."""
    return prices.output * tokens


def files_put_back(files: Iterable[int]) -> int:
    """Return the tokens that are put back of files of these sizes, the newest last."""
    return sum(min(tokens, FILE_TOKENS) for tokens in list(files)[-FILES:])
