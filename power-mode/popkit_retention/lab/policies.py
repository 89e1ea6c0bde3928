"""All policies that a session can be replayed under, by name, and the prices at which it is; anybody's among them, which is ended where it
raises or does what no policy may.

What a policy is given is shared with the replay and with the policies that are played after it, so it must leave all of it as it is: the
past changes only by what it answers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hooks.utils.policy.economics import Prices, prices_of
from hooks.utils.state import shipped

from . import baselines, loading, measure, oracles
from .compaction_policies import Compact, Summaries
from .engine_policies import AutoPolicy, Door, Tiers, door_settings_of
from .loading import error_in_words
from .policy import FOLDED, STANDS, SUMMARISED, Block, Choice, Policy, Request, Session, View

if TYPE_CHECKING:
    from hooks.utils.policy.events import Compacted, Event


# --- anybody's policy --------------------------------------------------------------------------------------------------------------------

# What of a block and of a request a policy must leave as it is; a block that is no result has no `call`.
_FIELDS: dict[type, tuple[str, ...]] = {
    Block: tuple(name for name in Block.__slots__ if name != "call"), Request: tuple(Request.__slots__),
}  # fmt: skip


class Failed(Exception):
    """A policy raised, or answered or did what none may; the message says in which method and what."""


class Checked(Policy):
    """Somebody's policy behind the interface of all policies; Failed where it does not hold to it."""

    def __init__(self, make: type[Policy]) -> None:
        self.given: dict[Block | Request, list[Any]] = {}
        self.make = make
        self.policy: Policy
        self.policy = self._call("__init__", make)
        self.rebuilds = bool(self.policy.rebuilds)

    def _call(self, name: str, method: Any, *arguments: Any) -> Any:
        try:
            return method(*arguments)
        except Exception as error:  # noqa: BLE001  somebody's code
            raise Failed(f"{name} raised {error_in_words(error, inspect.getsourcefile(self.make) or '')}") from None

    def _note(self, given: Block | Request) -> None:
        self.given.setdefault(given, [getattr(given, name) for name in _FIELDS[type(given)]])

    def _watched(self, name: str, view: View, *arguments: Any) -> Any:
        """Return what a method that sees the context answers; Failed where it changes the context."""
        before, prices = _copy(view), view.prices.to_json()
        answer = self._call(name, getattr(self.policy, name), *arguments)
        changed = [field for field in vars(before) if field != "prices" and getattr(before, field) != getattr(view, field)]
        if view.prices is not before.prices or prices != view.prices.to_json():
            view.prices = before.prices
            for field, value in prices.items():
                setattr(view.prices, field, value)
            changed.append("prices")
        if changed:
            raise Failed(f"{name} changed the view it was given: {', '.join(changed)}")
        return answer

    def begin(self, cwd: str) -> None:
        self._call("begin", self.policy.begin, cwd)

    def add(self, block: Block) -> None:
        self._note(block)
        self._call("add", self.policy.add, block)

    def enter(self, block: Block) -> str | None:
        text = self._call("enter", self.policy.enter, block)
        if text is None or isinstance(text, str):
            return text
        raise Failed(f"enter returned {_kind(text)}, not a text or None")

    def event(self, event: Event) -> None:
        self._call("event", self.policy.event, event)

    def at_compaction(self, event: Compacted, view: View) -> str:
        effect = self._watched("at_compaction", view, event, view)
        if effect in (FOLDED, SUMMARISED, STANDS):
            return str(effect)
        raise Failed(f"at_compaction returned {_kind(effect)}, not one of {FOLDED}, {SUMMARISED}, {STANDS}")

    def compact(self, event: Event) -> None:
        self._call("compact", self.policy.compact, event)

    def cut(self, context: list[Block]) -> None:
        self._call("cut", self.policy.cut, list(context))

    def decide(self, view: View) -> list[Choice]:
        choices = self._watched("decide", view, view)
        if not isinstance(choices, list):
            raise Failed(f"decide returned {_kind(choices)}, not a list")
        there, chosen = set(view.context), set()
        for choice in choices:
            block = _block_of(choice)
            if block not in there:
                raise Failed("decide clears what the context does not hold")
            if not block.id and not block.asks:
                raise Failed("decide clears what is neither a result nor a call: a text of the user's, an answer or thinking")
            if block in chosen:
                raise Failed("decide clears a result twice at once")
            chosen.add(block)
        return choices

    def warm(self, request: Request, prompt: int) -> int:
        self._note(request)
        number = self._call("warm", self.policy.warm, request, prompt)
        if isinstance(number, int) and number >= 0:
            return number
        raise Failed(f"warm returned {number if isinstance(number, int) else _kind(number)}, not a whole number of 0 or more")

    def missed(self, block: Block) -> None:
        self._call("missed", self.policy.missed, block)

    def answered(self, request: Request) -> None:
        self._note(request)
        self._call("answered", self.policy.answered, request)

    def end(self) -> None:
        """Put right what the policy changed of what it was given; Failed where that was anything."""
        changed = set()
        for given, values in self.given.items():
            for name, value in zip(_FIELDS[type(given)], values):
                if getattr(given, name) != value:
                    setattr(given, name, value)
                    changed.add(f"{type(given).__name__}.{name}")
        if changed:
            raise Failed(f"it changed what it was given: {', '.join(sorted(changed))}")


def _copy(view: View) -> View:
    return replace(
        view, context=view.context[:], sizes=view.sizes[:], cleared=dict(view.cleared), entered=dict(view.entered), lost=set(view.lost),
        ends=view.ends[:],
    )  # fmt: skip


def _block_of(choice: object) -> Block:
    """Return the block of a choice; Failed for what is none."""
    if isinstance(choice, tuple) and len(choice) == 3:
        block, text, reasons = choice
        if (
            isinstance(block, Block)
            and isinstance(text, str)
            and isinstance(reasons, list)
            and all(isinstance(one, str) for one in reasons)
        ):
            return block
    raise Failed("decide returned something other than a list of (block, text in its place, list of reasons)")


def _kind(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


Factory = Callable[[Session, Prices], Policy]


# --- all policies by name ----------------------------------------------------------------------------------------------------------------

# Where prices decide nothing.
ANY_PRICES = Prices(0.1, 1.25, 5.0, 300, False)


models = lru_cache(maxsize=1)(shipped.models)


def prices_for(session: Session, ttl_s: float, model: str = "") -> Prices:
    """Return the prices of a model, of the one that answered most of the session's requests where none is named, with a lifetime of the
    cache (seconds). A model that is not in the table gets the most cautious ones."""
    return prices_of(models().model(model or session.model), ttl_s)


def _auto(session: Session, prices: Prices) -> Policy:
    return AutoPolicy(prices, shipped.need_model(), shipped.rules())


def _compact(cold: bool) -> Factory:
    return lambda session, prices: Compact(prices, shipped.need_model(), shipped.rules(), cold=cold)


def _door(name: str) -> Factory:
    return lambda session, prices: Door(shipped.rules(), None, door_settings_of(name))


def _tiers(profile: str, only_cold: bool) -> Factory:
    return lambda session, prices: Tiers(shipped.rules(profile), only_cold)


def _rule(make: Callable[..., Policy], *values: object) -> Factory:
    return lambda session, prices: make(*values)


_HEADROOM = "[Read content stale: {path} was modified after this read ({lines} lines). Retrieve original: hash=000000000000]"
_COZEMPIC = "[stale read - file was later edited, trimmed by cozempic]"

# name -> (factory, description).
POLICIES: dict[str, tuple[Factory, str]] = {
    "nothing": (_rule(Policy), "clears nothing"),
    "spec": (_tiers("spec", False), "what has expired by the tiers, at once"),
    "spec-cold": (_tiers("spec", True), "what has expired by the tiers, when the cache is cold"),
    "conservative": (_tiers("conservative", False), "tiers that live twice as long, at once"),
    "conservative-cold": (_tiers("conservative", True), "tiers that live twice as long, when the cache is cold"),
    "aggressive": (_tiers("aggressive", False), "tiers that live half as long, at once"),
    "aggressive-cold": (_tiers("aggressive", True), "tiers that live half as long, when the cache is cold"),
    "auto": (_auto, "what is worth more gone than kept, by its chance of being needed again and the cache"),
    "host-compaction": (_rule(Summaries), "clears nothing; recorded compactions count, with the summariser and the files put back"),
    "compact": (_compact(False), "compacts without a model where the recorded session was compacted; to be compared with host-compaction"),
    "compact-cold": (_compact(True), "the same, and by itself where a prompt finds the cache cold and it pays"),
    "door": (_door("any+safe"), "clears nothing; results enter without noise, and say what is new to the context"),
    "door-reads": (_door("reads+safe"), "clears nothing; results enter without noise, and files read again say what is new"),
    "door-strong": (_door("any+strong"), "clears nothing; the same, and of long outputs only what says something enters"),
    "context-editing": (_rule(baselines.ContextEditing), "Anthropic clear_tool_uses: above 100,000 tokens, all but the last 3"),
    "context-editing-20k": (_rule(baselines.ContextEditing, 100_000, 3, 20_000), "the same, if that is at least 20,000 tokens"),
    "opencode-prune": (_rule(baselines.OpencodePrune), "opencode: beyond the newest 40,000 tokens, if over 20,000"),
    "dcp-dedupe": (_rule(baselines.Dedupe), "opencode-dcp: earlier results of the same call"),
    "masking-10": (_rule(baselines.Masking, 10), "observation masking: all but the last 10"),
    "microcompact-60m": (_rule(baselines.Microcompact), "Claude Code: after an hour, all but the last 5"),
    "headroom-stale-reads": (_rule(baselines.StaleReads, 512, _HEADROOM), "headroom: reads whose file was edited since"),
    "cozempic-stale-reads": (_rule(baselines.StaleReads, 501, _COZEMPIC), "cozempic: reads whose file was edited since"),
    "cozempic-ages": (_rule(baselines.CozempicAges), "cozempic: results older than 40 prompts"),
    "trimwire": (_rule(baselines.Trimwire), "trimwire: windows per kind of result, in batches"),
    "pichay": (_rule(baselines.Pichay), "Pichay: results older than 4 user turns, pinned once missed"),
    "wet": (_rule(baselines.Wet), "wet: outputs of Bash after 3 requests, shortened"),
    "oracle-needs": (oracles.Needs, "knows every later need, not the cache"),
    "oracle": (oracles.Oracle, "knows every later need and the cache"),
}


def described(name: str) -> str:
    """Return what a policy does, in a line; loading.Unusable for a name that stands for none."""
    if loading.is_own(name):
        return loading.load(name).described
    if name in POLICIES:
        return POLICIES[name][1]
    raise loading.Unusable(
        f"unknown policy {name}. Known: {', '.join(POLICIES)}. One of your own is named module:Class, or path/to/file.py:Class"
    )


def policy_of(name: str, session: Session, prices: Prices) -> Policy:
    """Return the policy of a name that `described` knows, for a session. Only a policy that ships may look at the session."""
    return Checked(loading.load(name).make) if loading.is_own(name) else POLICIES[name][0](session, prices)


def score(name: str, session: Session, prices: Prices) -> measure.Score:
    """Return the score of a session under a policy of `described`; Failed where somebody's own policy failed."""
    with loading.printing_to_stderr():
        policy = policy_of(name, session, prices)
        try:
            return measure.score(session, policy, prices)
        finally:
            if isinstance(policy, Checked):
                policy.end()
