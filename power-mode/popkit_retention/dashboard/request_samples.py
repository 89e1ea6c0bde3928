"""Samples of a session's requests: their tokens by tier or layer. A sampler observes the fold from which everything else is made, so its
last point is what the panel shows, and it reads nothing itself. Of a long session, only every second, fourth, … request is kept: the work
and the points stay bounded."""

from __future__ import annotations

from typing import Any, NamedTuple

from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.policy import kinds
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.ruleset import TIERS
from popkit_retention.core.state import journal_bookings, removals
from popkit_retention.core.state.journal import time_of
from popkit_retention.core.state.memory_records import CONTENT

from .session_shapes import Layers, Mark, Point, Series

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from popkit_retention.core.policy.context import Result
    from popkit_retention.core.policy.conversation import Conversation
    from popkit_retention.core.state.journal import Entry
    from popkit_retention.core.views.shapes import Report

MOST = 300


class _Sample(NamedTuple):
    """The parts of a request, in tokens before the calibration; `prompt`: the user's newest words in it."""

    at: float
    request: int
    tokens: int
    tiers: dict[str, int]
    expired: int
    files: int
    prompt: int


class Sampler:
    """Samples of requests: `state.rebuild` calls it after each entry of a transcript. It keeps at most `MOST`."""

    def __init__(self, journal: Sequence[Entry]) -> None:
        self.journal = journal
        self.cleared_at = journal_bookings.clear_times(journal)
        self.memory_tokens = [(at, estimate_tokens(document, CONTENT)) for at, document in journal_bookings.remembered_texts(journal)]
        self.compactions: list[float] = []
        self.prompt = 0
        self._samples: list[_Sample] = []
        self._seen = 0
        self._stride = 1

    def __call__(self, entry: dict[str, object], conversation: Conversation) -> None:
        if entries.is_prompt(entry):
            self.prompt = _prompt_tokens(entry)
        for usage, _ in conversation.requests[self._seen :]:
            if not usage.tokens:
                self.compactions.append(usage.at)
            elif conversation.count % self._stride == 0:
                self._take(conversation, usage.at, usage.tokens)
        self._seen = len(conversation.requests)

    def _take(self, conversation: Conversation, at: float, tokens: int) -> None:
        state = conversation.state
        out = conversation.replaced
        live = [result for result in state.live.values() if result.id not in out and not self._is_out(result, at)]
        dead = [result for result in state.expired.values() if result.id not in out and not self._is_out(result, at)]
        tiers = {tier: sum(result.tokens for result in live if result.tier == tier) for tier in TIERS}
        sample = _Sample(at, conversation.count, tokens, tiers, _tokens(dead), _tokens(_files((*live, *dead))), self.prompt)
        self._samples.append(sample)
        if len(self._samples) >= 2 * MOST:
            self._stride *= 2
            self._samples = [each for each in self._samples if each.request % self._stride == 0]

    def _is_out(self, result: Result, at: float) -> bool:
        """Return whether a result was cleared by then; one that was cleared at an unknown time always counts as cleared."""
        return bool(result.cleared) and self.cleared_at.get(result.id, 0.0) <= at

    def layers(self, conversation: Conversation, report: Report) -> Layers:
        """Return the layers of the present context, as in a report."""
        carried = [row["tokens"] for row in report["results"] if row["state"] != "cleared" and row["kind"] == kinds.READ]
        prompt = round(self.prompt * conversation.state.calibration)
        return self._layers(report["context"]["tokens"] if report["context"] else 0, conversation.base, prompt, sum(carried), report["at"])

    def _layers(self, whole: int, base: int, prompt: int, shown: int, at: float) -> Layers:
        """Return the layers of `whole` tokens; `base` includes those of memory. Larger estimates are cut, the last layer first."""
        memory = next((tokens for when, tokens in reversed(self.memory_tokens) if when <= at), 0)
        first = min(whole, max(0, base - memory) + prompt)
        second = min(whole - first, memory)
        third = min(whole - first - second, shown)
        return Layers(tier1=first, tier2=second, tier3=third, tier4=whole - first - second - third)

    def series(self, conversation: Conversation, report: Report) -> Series:
        """Return the samples and, last, the present context; nothing before the first request."""
        factor, base = conversation.state.calibration, conversation.base
        samples = self._samples
        while len(samples) >= MOST:
            samples = samples[1::2]
        points = [self._point(each, factor, base) for each in samples]
        if report["context"]:
            now = self._now(conversation, report, report["context"]["tokens"])
            if points and points[-1].request == now.request:
                points.pop()
            points.append(now)
        return Series(points=points, marks=_marks(self.journal, self.compactions))

    def _point(self, sample: _Sample, factor: float, base: int) -> Point:
        layers = self._layers(sample.tokens, base, round(sample.prompt * factor), round(sample.files * factor), sample.at)
        tiers, expired = _fitting(sample.tiers, sample.expired, factor, sample.tokens - base)
        return Point(at=sample.at, request=sample.request, tokens=sample.tokens, tiers=tiers, expired=expired, layers=layers)

    def _now(self, conversation: Conversation, report: Report, tokens: int) -> Point:
        came_since = bool(conversation.unsent) or not conversation.is_measured
        newest = max((result.at for result in conversation.results()), default=0.0)
        by_tier = {tier: report["tiers"][tier]["live"]["tokens"] for tier in TIERS}
        tiers, expired = _fitting(by_tier, report["expired"]["tokens"], 1.0, tokens - conversation.base)
        return Point(
            at=max(newest, conversation.last.at) if came_since else conversation.last.at,
            request=conversation.count + came_since,
            tokens=tokens,
            tiers=tiers,
            expired=expired,
            layers=self.layers(conversation, report),
        )


def _marks(journal: Sequence[Entry], compactions: Iterable[float]) -> list[Mark]:
    """Return what changed the context: our changes as the journal names them, which hosts write down as compactions, and compactions of the
    host's own."""
    words: dict[float, str] = {}
    for entry in journal:
        done = _words_of(entry)
        if done:
            words.setdefault(time_of(entry), done)  # what left by a compaction is also noted as cleared
    host_made = [at for at in compactions if removals.compaction_at(journal, at) is None]
    return [Mark(at=at, words=done) for at, done in sorted({**dict.fromkeys(host_made, "compacted"), **words}.items())]


def _words_of(entry: Entry) -> str:
    event = entry["event"]
    if event in ("clear", "outside") or (event == "compact" and removals.is_in_place(entry)):
        return "cleared"
    if event in ("back", "undo") or (event == "restore" and entry.get("in_place") is True):
        return "put back"
    return "compacted" if event == "compact" else ""


def _fitting(tiers: dict[str, int], expired: int, factor: float, room: int) -> tuple[dict[str, int], int]:
    """Return estimates times a factor, and no more than there was room for what was said: they never show more than was sent."""
    known = factor * (sum(tiers.values()) + expired)
    factor *= min(1.0, max(0, room) / known) if known else 1.0
    return {tier: int(tokens * factor) for tier, tokens in tiers.items()}, int(expired * factor)


def _files(results: Iterable[Result]) -> list[Result]:
    return [result for result in results if result.kind == kinds.READ]


def _tokens(results: Iterable[Result]) -> int:
    return sum(result.tokens for result in results)


def _prompt_tokens(entry: dict[str, Any]) -> int:
    """Return the tokens (an estimate) of the user's words in a prompt."""
    content = entry["message"]["content"]
    if isinstance(content, str):
        return estimate_tokens(content)
    return sum(estimate_tokens(block["text"]) for block in entries.blocks_of(entry) if isinstance(block.get("text"), str))
