"""All policies that a session can be replayed under, by name, anybody's among them, and the prices at which it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from hooks.utils.policy.economics import Prices, prices_of
from hooks.utils.state import shipped

from . import baselines, loading, measure, oracles
from .blocks import Session
from .checked import Checked
from .compaction_policies import Compact, Summaries
from .door_policy import Door, settings_of
from .engine_policies import AutoPolicy, Tiers
from .policy import Policy

Factory = Callable[[Session, Prices], Policy]

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
    return lambda session, prices: Door(shipped.rules(), None, settings_of(name))


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


def made(name: str, session: Session, prices: Prices) -> Policy:
    """Return the policy of a name that `described` knows, for a session. Only a policy that ships may look at the session."""
    return Checked(loading.load(name).make) if loading.is_own(name) else POLICIES[name][0](session, prices)


def score(name: str, session: Session, prices: Prices) -> measure.Score:
    """Return the score of a session under a policy of `described`; checked.Failed where somebody's own policy failed."""
    with loading.printing_to_stderr():
        policy = made(name, session, prices)
        try:
            return measure.score(session, policy, prices)
        finally:
            if isinstance(policy, Checked):
                policy.end()
