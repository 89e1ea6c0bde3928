"""What PopKit had: settings and words, each with a sentence on what stands in its place. A person hears it once at a session's start and
from `popkit config check`, or as the answer to the word; nothing else knows them. Plain data.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# A key of the configuration ("memory.try"), or one with a value that it had ("hints=try").
_WARM = "PopKit keeps no prompt cache warm any more and sends no requests. popkit bill says which lifetime of the cache pays."
SETTINGS: dict[str, str] = {
    "keep_warm": f"`keep_warm` does nothing: {_WARM}",
    "keep_warm_requests": f"`keep_warm_requests` does nothing: {_WARM}",
    "keep_warm_usd": f"`keep_warm_usd` does nothing: {_WARM}",
}
# A command of `popkit` ("native"), a word or a flag of one ("lab --keep-warm"); a word after /popkit:context or /popkit ("context warm").
WORDS: dict[str, str] = {
    "context warm": f"`warm` is gone: {_WARM}",
    "lab --keep-warm": f"`--keep-warm` is gone: {_WARM}",
    "native": "`native` is gone: what PopKit leaves out and compacts saves more. If you switched it on, remove context_management from"
    " CLAUDE_CODE_EXTRA_BODY in .claude/settings.local.json.",
}


def setting(at: Sequence[str | int], value: object) -> str:
    """Return the name in SETTINGS of a value at a path of a configuration file; "" for one that was never known."""
    name = ".".join([str(key) for key in at if key != "retention"])
    return next((known for known in (name, f"{name}={value}") if known in SETTINGS), "")


def word(table: str, name: str) -> str:
    """Return the sentence on a word or a flag that a table of words had; "" for one that was never known. `table`: as people call it."""
    last = table.rpartition(" ")[2].rpartition(":")[2]
    return WORDS.get(f"{last} {name}") or (WORDS.get(name, "") if last in ("popkit", "context") else "")
