"""Fold the events of a conversation into the engine's state. Pure.

A driver (a transcript, the lab, code inside the host) tells it in order: events of the engine, what the user and the assistant wrote,
the requests with their usage. All get the same, also what the model has not seen yet, and how much was thought behind a place. Tokens
are estimates but for the usage of requests.
"""

from __future__ import annotations

from bisect import bisect_right

from . import engine
from .context import ContextState
from .estimate import RESULT_TOKENS, estimate_tokens
from .host_compaction import FILES, files_put_back
from .look_ups import LookUps
from .placeholder import gain
from .tools import EDIT, READ, WRITE
from .usage import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from .calls import Call
    from .context import Result
    from .events import Entered
    from .lifecycle import Decision
    from .ruleset import Ruleset

_OF_FILES = (READ, EDIT, WRITE)
# What is known of a model counts as much as so many estimated tokens of the session's own requests, of which a calibration needs so many
# pairs; how far these can lead away from it.
_KNOWN_TOKENS = 5_000
_CALIBRATION_PAIRS = 5
_CALIBRATION_RANGE = (0.6, 1.7)
# Growth of fewer estimated tokens tells too little. What grows by less or more than these multiples of the estimate has lost something, or
# has got something that nobody wrote down.
_LEAST_ADDED, _GROWTH_RANGE = 300, (0.4, 2.5)


class Place:
    """The place of a result: behind `prefix` tokens of the prompt, which the `request`-th request ended with (0 for none)."""

    __slots__ = ("prefix", "request")

    def __init__(self, prefix: int, request: int) -> None:
        self.prefix = prefix
        self.request = request


class Conversation:
    """`state` and the `rules` that hold (those of the profile that was chosen last) · `requests`: [(Usage, estimated tokens that the
    conversation grew by since the one before or, of a compaction, that it had grown by until then)] · `places`: id of a result -> Place ·
    `unsent`: estimated tokens since the last request, `unseen`: ids of the results among them · `base`: tokens of system and tools ·
    `carried`: what the newest compaction left of the conversation, as it was said to be, 0 for unknown · `replaced`: ids of the results of
    which it left a placeholder · `inputs`: estimated tokens that calls were made with · `entered`: id -> Entered, of the results that
    entered shorter than they were · `pictures`: ids of the results that show more than text, `shown`: how many pictures and documents
    the person has shown · `look_ups`: what was looked up again because of PopKit · `compactions`: how many would have come without us ·
    `compacted_tokens`: at which the host last compacted the session by itself, `threshold`: the least at which it did, both 0 for never."""

    __slots__ = (
        "_again", "_back", "_factors", "_files", "_growth", "_is_noted", "_thought", "_tokens", "base", "carried", "compacted_tokens",
        "compactions", "count", "entered", "inputs", "look_ups", "pictures", "places", "prompts", "replaced", "requests", "rules",
        "rules_for", "shown", "state", "threshold", "unseen", "unsent",
    )  # fmt: skip

    def __init__(self, state: ContextState, rules_for: Callable[[str | None], Ruleset]) -> None:
        """`rules_for(profile)` compiles the rules of a profile, None for the configured one."""
        self.state = state
        self.rules_for = rules_for
        self.rules = rules_for(None)
        self.requests: list[tuple[Usage, int]] = []
        self.count = 0  # requests, without the compactions between them
        self.prompts = 0  # how often the user spoke
        self.places: dict[str, Place] = {}
        self.entered: dict[str, Entered] = {}
        self.look_ups = LookUps()
        self.pictures: set[str] = set()
        self.shown = 0
        self.base = 0
        self.carried = 0
        self._is_noted = False  # whether that is known to be all of it
        self._again = 0  # estimated tokens of what was written down again behind the newest compaction
        self._back = 0  # and of the files that it put back
        self.replaced: set[str] = set()
        self.compacted_tokens = self.threshold = self.compactions = 0
        self.unsent = self.inputs = 0
        self.unseen: set[str] = set()
        self._thought: list[tuple[int, int]] = []  # (number of the request that it answers, tokens of thinking up to here)
        self._files: dict[str, int] = {}  # path -> most tokens of it that a result showed or a call wrote, the last touched at the end
        self._tokens = 0.0  # that the model takes for one that is estimated, as far as its family tells; 0 before the first request
        self._growth = (0, 0, 0)  # pairs of that model's requests, tokens measured, tokens estimated
        self._factors: list[tuple[float, float]] = []  # (seconds, the same as `_tokens`), of each model that answered, by time
        engine.reindex(state, self.rules)

    def observe(self, event: Any) -> list[Decision]:
        """Return the engine's decisions about an event; a call's result takes its place in the prompt."""
        if event.name == "profile_chosen":
            self.rules = self.rules_for(event.profile)
        if event.name == "entered":
            self._enter(event)
        self._leave_or_return(event)
        decisions = engine.observe(self.state, event, self.rules)
        if event.name == "call":
            self._add(event.id)
            self._touch(event)
            result = self.state.live.get(event.id)
            if result is not None:
                self.look_ups.come(result, event)
        elif event.name == "compacted":
            self.compact(event.at, bool(event.tokens))
            self.compacted_tokens = event.tokens or self.compacted_tokens
            self.threshold = min(event.tokens or self.threshold, self.threshold or event.tokens)
        elif event.name == "came_back":
            self.places.update((result.id, Place(self.base, self.count)) for result in event.results)
        return decisions

    def _leave_or_return(self, event: Any) -> None:
        """Have the look-ups follow what leaves with an event, or comes back."""
        looked_up, name = self.look_ups, event.name
        if name == "compacted":
            looked_up.leave([result for result in self.results() if result.id not in event.kept])
        elif name == "manual_clear":
            looked_up.leave([result for result in self.results() if result.id in event.ids])
        elif name == "undone":
            looked_up.come_back(event.ids)
        elif name == "restored":
            looked_up.come_back([event.id])
        elif name == "came_back":
            looked_up.come_back([result.id for result in event.results])
        elif name == "files_changed":
            looked_up.change(event.changes)

    def was_ours(self, share: float) -> None:
        """Note that the newest compaction came because of us, and took out this share of the conversation."""
        self.look_ups.taken += share

    def was_due(self) -> None:
        """Note that the newest compaction would have come without us: what had left by then would be gone, except for the files that the
        host puts back."""
        self.compactions += 1
        self.look_ups.forget(list(self._files)[-FILES:])

    def needed(self, id: str) -> None:
        """Note that an answer of a replayed session needed the content of a result that had left."""
        self.look_ups.need(id)

    def _add(self, id: str) -> None:
        result = self.state.live.get(id)
        if result is not None:
            self.unsent += RESULT_TOKENS + result.tokens
            self.unseen.add(id)
            self.places.setdefault(id, Place(self.last.tokens, self.count))

    def _touch(self, call: Call) -> None:
        """Note the file that a call has read or written."""
        result = self.state.live.get(call.id)
        if result is None or result.error or call.operation not in _OF_FILES:
            return
        written = next((call.tool_input.get(field) for field in call.traits.written), None) if call.operation == WRITE else None
        tokens = result.tokens if call.operation == READ else estimate_tokens(written) if isinstance(written, str) else 0
        self._files[call.path] = max(self._files.pop(call.path, 0), tokens)

    def _enter(self, event: Entered) -> None:
        result = self.state.live.get(event.id)
        if result is not None and event.id in self.unseen:
            self.unsent += event.tokens - result.tokens
        if result is not None and event.left_out > 0:
            self.look_ups.enter_in_part(result)
        elif result is not None:
            self.look_ups.come_back([event.id])
        self.entered[event.id] = event

    def compact(self, at: float, by_itself: bool = False) -> None:
        """Take in a compaction that the state has followed: no request has shown yet what stands behind it. `by_itself`: the host made it
        for want of room, not for a person's word."""
        compaction = Usage(at=at)
        compaction.by_itself = by_itself
        self.requests.append((compaction, self.unsent))
        self.places = {id: Place(self.base, self.count) for id in self.places if id in self.state.live or id in self.state.expired}
        self.unseen.intersection_update(self.places)
        self.unsent, self.inputs, self.shown, self._thought = 0, 0, 0, []
        self.carried, self._again, self._back, self._is_noted, self.replaced = 0, 0, 0, False, set()

    def carry(self, tokens: int, is_all: bool = True) -> None:
        """Note how many tokens of the conversation the newest compaction left, as whoever did it says; whether that `is_all`, however
        much was written down again."""
        self.carried, self._is_noted = max(0, tokens), is_all

    def carry_again(self, tokens: int, inputs: int = 0, is_row: bool = True) -> None:
        """Add estimated tokens of what the newest compaction left, as it was written down again, of which calls were made with so many
        `inputs`: it came with no request. `is_row`: of the conversation itself, beside which no files come back."""
        self._again += tokens
        self.inputs += inputs
        self._back = 0 if is_row else self._back

    def put_back_files(self) -> None:
        """Add the files that the host puts back behind a compaction of its own, where nothing says how much that left."""
        self._back = files_put_back(self._files.values())

    def add_text(self, tokens: int, thinking: int = 0, inputs: int = 0) -> None:
        """Add tokens that the user or the assistant wrote, of which calls were made with so many `inputs`, or thought."""
        self.unsent += tokens + thinking
        self.inputs += inputs
        if thinking:
            self._thought.append((self.count, thinking + (self._thought[-1][1] if self._thought else 0)))

    def stubbed(self, tokens: int) -> None:
        """Take estimated tokens that calls were made with out of what counts as such."""
        self.inputs = max(0, self.inputs - tokens)

    def sent(self, usage: Usage) -> None:
        """Add a request that went out. Its answer, and the calls in it, come behind it."""
        if not self.count:
            self.base = max(0, usage.tokens - self.unsent)
        # A request that has written nothing does not tell the lifetime.
        usage.cache_ttl_s = max(usage.cache_ttl_s, self.newest.cache_ttl_s, self.rules.models.model(usage.model).kept_s)
        usage.files = files_put_back(self._files.values())
        self.answered(usage)
        self._calibrate(usage)
        self.requests.append((usage, self.unsent))
        self.count += 1
        self.unsent, self.unseen = 0, set()

    def answered(self, usage: Usage) -> None:
        """Note how the model of a request counts, also of one on a branch that was left."""
        tokens = self.rules.models.model(usage.model).tokens
        if not self._factors or self._factors[-1][1] != tokens:
            self._factors.append((usage.at, tokens))

    def went_on(self, at: float) -> None:
        """Note that the answer to the newest request was still being written then, or that something else read the cache that it left."""
        self.last.until = max(self.last.until, at)

    def _calibrate(self, usage: Usage) -> None:
        tokens = self.rules.models.model(usage.model).tokens
        if tokens != self._tokens:  # another tokenizer: what was measured with the one before tells nothing of it
            self._tokens, self._growth, self.state.calibration = tokens, (0, 0, 0), tokens
            return
        grown, added, (low, high) = usage.tokens - self.last.tokens, self.unsent, _GROWTH_RANGE
        if not self.last.tokens or added < _LEAST_ADDED or not low <= grown / (added * tokens) <= high:
            return
        pairs, measured, estimated = self._growth = (self._growth[0] + 1, self._growth[1] + grown, self._growth[2] + added)
        if pairs < _CALIBRATION_PAIRS:
            return
        beyond = (measured / tokens + _KNOWN_TOKENS) / (estimated + _KNOWN_TOKENS)
        low, high = _CALIBRATION_RANGE
        self.state.calibration = round(tokens * min(high, max(low, beyond)), 3)

    def left(self, ids: Collection[str], before: float | None = None) -> None:
        """Take results out of the prompt: everything behind them moves up, but for what came at `before` (seconds) or later."""
        left = 0
        for result in self.results():
            place = self.places.get(result.id)
            if place is not None and left and (before is None or result.at < before):
                self.places[result.id] = Place(max(0, place.prefix - left), place.request)
            if result.id in ids:
                left += gain(result, self.state.calibration, self.rules)

    def drop_thinking(self, id: str = "") -> None:
        """Take the thinking behind a result out of the prompt; all thinking where none is named."""
        if not id:
            self._thought = []
        if id in self.places:
            del self._thought[bisect_right(self._thought, (self.places[id].request, float("inf"))) :]

    def returned(self, ids: Collection[str]) -> None:
        """Put results back in their places: everything behind them moves back."""
        back = 0
        for result in self.results():
            place = self.places.get(result.id)
            if place is not None and back:
                self.places[result.id] = Place(place.prefix + back, place.request)
            if result.id in ids:
                back += gain(result, self.state.calibration, self.rules)

    @property
    def last(self) -> Usage:
        """Return the newest request; one without tokens where there was none, or a compaction came after it."""
        return self.requests[-1][0] if self.requests else Usage()

    @property
    def newest(self) -> Usage:
        """Return the newest request, also from before a compaction: it tells the model and the lifetime of the cache."""
        return next((usage for usage, _ in reversed(self.requests) if usage.tokens), Usage())

    @property
    def largest(self) -> int:
        """Return the tokens of the largest request of the model that answered last."""
        return max((usage.tokens for usage, _ in self.requests if usage.model == self.newest.model), default=0)

    @property
    def scaled(self) -> float:
        """Return the factor by which the session's own usage has corrected the estimate for its model; 1.0 where that was not measured."""
        return round(self.state.calibration / self._tokens, 3) if self._growth[0] >= _CALIBRATION_PAIRS else 1.0

    def as_counted(self, tokens: int, at: float) -> int:
        """Return estimated tokens as the model of that time (seconds) counts them, whatever the session's usage has shown since: earlier
        statements about them stay true."""
        known = max(1, bisect_right(self._factors, (at, float("inf"))))
        return round(tokens * self._factors[known - 1][1]) if self._factors else tokens

    @property
    def stands(self) -> int:
        """Return the tokens in the context, system and tools included: those of the newest request; after a compaction that no request has
        shown yet, an estimate (`is_measured`)."""
        return self.last.tokens or self.prompt

    @property
    def is_measured(self) -> bool:
        return bool(self.last.tokens)

    @property
    def prompt(self) -> int:
        """Return the tokens of the prompt as it would go out now."""
        calibration = self.state.calibration
        carried = self.carried if self._is_noted else max(self.carried, round((self._again + self._back) * calibration))
        return (self.last.tokens or self.base + carried) + round(self.unsent * calibration)

    def results(self) -> list[Result]:
        """Return every known result, in the order of completion; a placeholder may have replaced it."""
        return sorted([*self.state.expired.values(), *self.state.live.values()], key=lambda result: result.index)

    def is_seen(self, id: str) -> bool:
        """Return whether a request has shown a result to the model."""
        return id in self.places and id not in self.unseen

    def requests_behind(self, id: str) -> int:
        """Return how many requests have ended since the one that a result follows."""
        return self.count - self.places[id].request

    @property
    def thinking(self) -> int:
        """Return the tokens of all thinking in the prompt."""
        return self._thought[-1][1] if self._thought else 0

    def thinking_behind(self, id: str) -> int:
        """Return the tokens of thinking behind a result."""
        if not self._thought:
            return 0
        at = bisect_right(self._thought, (self.places[id].request, float("inf")))
        return self._thought[-1][1] - (self._thought[at - 1][1] if at else 0)
