"""A context over time: what each request carried, by tier and by layer. Listens to the fold that everything else is made of, so the last
point is what the panel shows; reads nothing itself.

Requests are sampled: of a long session every second one, every fourth and so on, so that the work and the points stay bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.utils.hosts.claude_code import entries
from hooks.utils.policy import kinds
from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.policy.ruleset import TIERS
from hooks.utils.state import journal as journals
from hooks.utils.state.memory import CONTENT

from .shapes import Layers, Point, Series

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hooks.utils.policy.context import Result
    from hooks.utils.policy.conversation import Conversation
    from hooks.utils.views.shapes import Report

MOST = 300


class _Sample(NamedTuple):
    """What a request carried, in tokens before the calibration; `prompt`: the user's newest words in it."""

    at: float
    request: int
    tokens: int
    tiers: dict[str, int]
    expired: int
    files: int
    prompt: int


class Sampler:
    """Takes a sample after an entry of a transcript (`state.rebuild` calls it), and keeps at most `MOST`."""

    def __init__(self, journal: list[Any]) -> None:
        self.cleared_at = journals.clear_times(journal)
        self.given = [(at, estimate_tokens(document, CONTENT)) for at, document in journals.given(journal)]
        self.compactions: list[float] = []
        self.prompt = 0
        self._samples: list[_Sample] = []
        self._seen = 0
        self._stride = 1

    def __call__(self, entry: dict[str, Any], conversation: Conversation) -> None:
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
        live = [result for result in state.live.values() if not self._is_out(result, at)]
        dead = [result for result in state.expired.values() if not self._is_out(result, at)]
        tiers = {tier: sum(result.tokens for result in live if result.tier == tier) for tier in TIERS}
        sample = _Sample(at, conversation.count, tokens, tiers, _tokens(dead), _tokens(_files((*live, *dead))), self.prompt)
        self._samples.append(sample)
        if len(self._samples) >= 2 * MOST:
            self._stride *= 2
            self._samples = [each for each in self._samples if each.request % self._stride == 0]

    def _is_out(self, result: Result, at: float) -> bool:
        """Return whether a result was cleared by then; one that was cleared at an unknown time counts as cleared always."""
        return bool(result.cleared) and self.cleared_at.get(result.id, 0.0) <= at

    def layers(self, conversation: Conversation, report: Report) -> Layers:
        """Return the layers of the present context, as a report has it."""
        carried = [row["tokens"] for row in report["results"] if row["state"] != "cleared" and row["kind"] == kinds.READ]
        prompt = round(self.prompt * conversation.state.calibration)
        return self._layers(report["context"]["tokens"] if report["context"] else 0, conversation.base, prompt, sum(carried), report["at"])

    def _layers(self, whole: int, base: int, prompt: int, shown: int, at: float) -> Layers:
        """Return the layers of `whole` tokens; `base` includes those of memory. Larger estimates are cut, the last layer first."""
        memory = next((tokens for when, tokens in reversed(self.given) if when <= at), 0)
        first = min(whole, max(0, base - memory) + prompt)
        second = min(whole - first, memory)
        third = min(whole - first - second, shown)
        return Layers(tier1=first, tier2=second, tier3=third, tier4=whole - first - second - third)

    def series(self, conversation: Conversation, report: Report) -> Series:
        """Return the samples and, last, the present context; nothing before the first request."""
        factor, base = conversation.state.calibration, conversation.base
        kept = self._samples
        while len(kept) >= MOST:
            kept = kept[1::2]
        points = [self._point(each, factor, base) for each in kept]
        if report["context"]:
            now = self._now(conversation, report, report["context"]["tokens"])
            if points and points[-1].request == now.request:
                points.pop()
            points.append(now)
        clears = sorted({at for id, at in self.cleared_at.items()})
        return Series(points=points, compactions=self.compactions, clears=clears)

    def _point(self, sample: _Sample, factor: float, base: int) -> Point:
        layers = self._layers(sample.tokens, base, round(sample.prompt * factor), round(sample.files * factor), sample.at)
        tiers = {tier: round(tokens * factor) for tier, tokens in sample.tiers.items()}
        return Point(
            at=sample.at, request=sample.request, tokens=sample.tokens, tiers=tiers, expired=round(sample.expired * factor), layers=layers
        )

    def _now(self, conversation: Conversation, report: Report, tokens: int) -> Point:
        came_since = bool(conversation.unsent)
        return Point(
            at=max((result.at for result in conversation.results()), default=0.0) if came_since else conversation.last.at,
            request=conversation.count + came_since,
            tokens=tokens,
            tiers={tier: report["tiers"][tier]["live"]["tokens"] for tier in TIERS},
            expired=report["expired"]["tokens"],
            layers=self.layers(conversation, report),
        )


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
