"""Measure the kinds of content that make up the conversation in a prompt. Pure.

The sizes of what was said are estimates, what a prompt grew by is measured. So what came between two requests shares what the second has
more than the first, in proportion to the estimates and within bounds; growth beyond these is of nothing that the recording shows, and is
OTHER. Where a prompt has shrunk and nothing says what left it, everything has shrunk in proportion. The parts add up to the prompt.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .usage import Usage

    # kind -> tokens [plain, read, written, all of them but what was lost]. What was lost is counted as read.
    Shares = dict[str, list[float]]

# Kinds beside the results of a tool, which are RESULT and the tool's name: what the user said, what the assistant wrote, thought and handed
# to tools, what a compaction left, what the host added, and what no entry of the recording accounts for.
SAID, WROTE, THOUGHT, CALLED, SUMMARY, ADDED, OTHER = "said", "wrote", "thought", "called", "summary", "added", "other"
RESULT = "result "
# A text may be measured at so many times its estimate, at least and at most.
_LEAST, _MOST = 0.4, 2.5


class Composition:
    """The conversation of one context, behind what comes before the first word, in the order of the prompt."""

    __slots__ = ("_keys", "_kinds", "_measured", "_model", "_sizes", "_totals")

    def __init__(self) -> None:
        self._kinds: list[str] = []
        self._sizes: list[float] = []  # tokens; estimates from `_measured` on
        self._keys: list[object] = []
        self._measured = 0
        self._totals: dict[str, float] = {}  # of what was measured
        self._model = ""

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, kind: str, tokens: float, key: object = None) -> None:
        """Take in the next content, of so many estimated tokens. `key` names the entry that holds it."""
        if tokens > 0:
            self._kinds.append(kind)
            self._sizes.append(tokens)
            self._keys.append(key)

    def keep(self, keys: Collection[object]) -> None:
        """Leave out everything but what entries of these keys hold: a compaction."""
        self._select([at for at, key in enumerate(self._keys) if key in keys] if keys else [])

    def drop(self, kind: str) -> None:
        """Leave out all of a kind."""
        if kind in self._kinds:
            self._select([at for at, each in enumerate(self._kinds) if each != kind])

    def cut(self, length: int) -> None:
        """Leave out everything behind the first parts: a rewind."""
        if length < len(self._kinds):
            self._select(range(length))

    def _select(self, places: Sequence[int]) -> None:
        self._kinds, self._keys = [self._kinds[at] for at in places], [self._keys[at] for at in places]
        self._sizes = [self._sizes[at] for at in places]
        self._measure(sum(at < self._measured for at in places))

    def _measure(self, count: int) -> None:
        self._measured, self._totals = count, {}
        for kind, size in zip(self._kinds[:count], self._sizes):
            self._totals[kind] = self._totals.get(kind, 0.0) + size

    def sent(self, usage: Usage, standing: int, lost: int) -> Shares:
        """Return the composition of the next request's conversation. `standing`: tokens before the first word, `lost`: tokens written
        again. For each use the sum over all kinds is the conversation's."""
        end = max(usage.tokens, standing)
        self._fit(end - standing, usage.model)
        # A prompt is read from its beginning on, what was lost begins where reading ends, and plain tokens come last.
        read, written, again = (
            min(max(at, standing), end) for at in (usage.read, usage.read + usage.created, usage.read + lost)
        )  # fmt: skip
        shares = {kind: [0.0, size, 0.0, size] for kind, size in self._totals.items()}
        for kind, size in self._behind(end - again).items():
            shares[kind][1] = max(0.0, shares[kind][1] - size)
            shares[kind][2] += size
        for kind, size in self._behind(end - max(again, written)).items():
            shares[kind][2] = max(0.0, shares[kind][2] - size)
            shares[kind][0] += size
        if again > read:
            for signed, since in ((-1, read), (1, again)):
                for kind, size in self._behind(end - since).items():
                    shares[kind][3] += signed * size
        return shares

    def _behind(self, tokens: float) -> dict[str, float]:
        """Return the kinds of the last tokens."""
        kinds: dict[str, float] = {}
        for at in range(len(self._kinds) - 1, -1, -1):
            if tokens <= 0:
                break
            kind, size = self._kinds[at], self._sizes[at]
            kinds[kind] = kinds.get(kind, 0.0) + min(size, tokens)
            tokens -= size
        return kinds

    def _fit(self, tokens: int, model: str) -> None:
        """Make the sizes add up to so many tokens."""
        if model != self._model:  # it counts otherwise, so all of it is measured again
            self._measure(0)
        self._model = model
        begin, earlier, came = self._measured, sum(self._totals.values()), sum(self._sizes[self._measured :])
        factor = min(_MOST, max(_LEAST, (tokens - earlier) / came), tokens / came) if came else 0.0
        rest = tokens - earlier - came * factor
        if rest < 0 < earlier:
            shrunk = max(0.0, (earlier + rest) / earlier)
            self._sizes[:begin] = [size * shrunk for size in self._sizes[:begin]]
            self._measure(begin)
        self._sizes[begin:] = [size * factor for size in self._sizes[begin:]]
        self.add(OTHER, rest)
        for kind, size in zip(self._kinds[begin:], self._sizes[begin:]):
            self._totals[kind] = self._totals.get(kind, 0.0) + size
        self._measured = len(self._kinds)
