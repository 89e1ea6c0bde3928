"""All policies that figures are published of: those that ship, the rules of other tools, and the oracles."""

from __future__ import annotations

from popkit_retention.lab import survey
from popkit_retention.lab.replay_policies import POLICIES as SHIPPED
from popkit_retention.lab.replay_policies import Factory, Known

from . import oracles, rivals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from popkit_retention.lab.policy import Policy


def _rule(make: Callable[..., Policy], *values: object) -> Factory:
    return lambda session, prices: make(*values)


_HEADROOM = "[Read content stale: {path} was modified after this read ({lines} lines). Retrieve original: hash=000000000000]"
_COZEMPIC = "[stale read - file was later edited, trimmed by cozempic]"

# name -> (factory, description).
RIVALS: Known = {
    "context-editing": (_rule(rivals.ContextEditing), "Anthropic clear_tool_uses: above 100,000 tokens, all but the last 3"),
    "context-editing-20k": (_rule(rivals.ContextEditing, 100_000, 3, 20_000), "the same, if that is at least 20,000 tokens"),
    "opencode-prune": (_rule(rivals.OpencodePrune), "opencode: beyond the newest 40,000 tokens, if over 20,000"),
    "dcp-dedupe": (_rule(rivals.Dedupe), "opencode-dcp: earlier results of the same call"),
    "masking-10": (_rule(rivals.Masking, 10), "observation masking: all but the last 10"),
    "headroom-stale-reads": (_rule(rivals.StaleReads, 512, _HEADROOM), "headroom: reads whose file was edited since"),
    "cozempic-stale-reads": (_rule(rivals.StaleReads, 501, _COZEMPIC), "cozempic: reads whose file was edited since"),
    "cozempic-ages": (_rule(rivals.CozempicAges), "cozempic: results older than 40 prompts"),
    "trimwire": (_rule(rivals.Trimwire), "trimwire: windows per kind of result, in batches"),
    "pichay": (_rule(rivals.Pichay), "Pichay: results older than 4 user turns, pinned once missed"),
    "wet": (_rule(rivals.Wet), "wet: outputs of Bash after 3 requests, shortened"),
}
ORACLES: Known = {
    "oracle-needs": (oracles.Needs, "knows every later need, not the cache"),
    "oracle": (oracles.Oracle, "knows every later need and the cache"),
}
POLICIES: Known = {**SHIPPED, **RIVALS, **ORACLES}


def row_of(path: str, names: list[str], ttls: list[float], model: str = "") -> survey.SessionScores:
    """Return the numbers of one session as `survey.row_of`, which other processes are told by name."""
    return survey.row_of(path, names, ttls, model, POLICIES)
