"""All policies that a session can be replayed under, by name."""

from __future__ import annotations

from hooks.utils.state import shipped

from . import baselines, oracles
from .auto_policy import AutoPolicy
from .compact_policy import Compact, Summaries
from .door_policy import Door, settings_of
from .measure import Policy
from .tiers import Tiers, shipped_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hooks.utils.policy.economics import Prices

    from .sessions import Session


def _auto(session: Session, prices: Prices) -> Policy:
    return AutoPolicy(prices, shipped.need_model(), shipped_rules())


def _compact(cold: bool) -> Callable[[Session, Prices], Policy]:
    return lambda session, prices: Compact(prices, shipped.need_model(), shipped_rules(), cold=cold)


def _door(name: str) -> Callable[[Session, Prices], Policy]:
    return lambda session, prices: Door(shipped_rules(), None, settings_of(name))


def _tiers(profile: str, only_cold: bool) -> Callable[[Session, Prices], Policy]:
    return lambda session, prices: Tiers(shipped_rules(profile), only_cold)


def _rule(make: Callable[..., Policy], *values: object) -> Callable[[Session, Prices], Policy]:
    return lambda session, prices: make(*values)


_HEADROOM = "[Read content stale: {path} was modified after this read ({lines} lines). Retrieve original: hash=000000000000]"
_COZEMPIC = "[cozempic: Read {path} — {lines} lines, {kb:.1f} KB]"

# name -> (factory(session, Prices) -> Policy, what it does).
POLICIES = {
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
