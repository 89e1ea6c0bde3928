"""The replacements of settings that earlier versions had. A person reads each of them once: when a session starts,
from `popkit config check`, or as the answer to the old word. Nothing else knows them. Plain data."""

from __future__ import annotations

from ..io.storage import Storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# A key of the configuration ("memory.try"), or one with a value that it had ("hints=try").
_LAB = "`popkit lab` replays your sessions under two settings"
_NOT_TRIED = {name: f'"{name}": "try" does nothing, so the default applies. {_LAB}.' for name in ("hints", "say_once", "shape", "compact")}
_WARM = "PopKit keeps no prompt cache warm any more and sends no requests. popkit bill says which lifetime of the cache pays."
_KEEPING_WARM = ("keep_warm", "keep_warm_requests", "keep_warm_usd")
SETTINGS = {
    **{f"{name}=try": sentence for name, sentence in _NOT_TRIED.items()},
    "clear_at_exit": "`clear_at_exit` does nothing: the end of a session changes nothing. `compact_when_cold` takes out what is dead while"
    " the prompt cache is cold.",
    "memory.try": f'"try" in "memory" does nothing: every session gets MEMORY.md. {_LAB}.',
    **{name: f"`{name}` does nothing: {_WARM}" for name in _KEEPING_WARM},
}
# A command of `popkit` ("native"), a word or a flag of one ("lab --keep-warm"), what a flag took ("--host entire"); a word after
# /popkit:context or /popkit ("context warm").
WORDS = {
    "context warm": f"`warm` is gone: {_WARM}",
    "lab --keep-warm": f"`--keep-warm` is gone: {_WARM}",
    "native": "`native` is gone: what PopKit leaves out and compacts saves more. If you switched it on, remove context_management from"
    " CLAUDE_CODE_EXTRA_BODY in .claude/settings.local.json.",
    "try-out": "`try-out` is gone: `popkit lab` replays the sessions that you have under two settings.",
    "--host entire": "checkpoints of Entire are not looked up: name the transcript that the agent itself has written, or the full.jsonl of"
    " a checkpoint.",
    "lab --html": "The page with plots is made by benchmarks/lab/tables.py in PopKit's repository.",
    "uninstall --undo": "`--undo` is gone: what was cleared comes back with /popkit undo in the session, once it is resumed.",
}
# What they have left in our folder.
STORAGE = (Storage("what earlier versions kept", {"": r"(trials|breaks|need-model)\.json", "projects": r"[^/]+/need-model\.json[^/]*"}),)


def setting(at: Sequence[str | int], value: object) -> str:
    """Return the name in SETTINGS of a value at a path of a configuration file; "" for one that was never known."""
    name = ".".join([str(key) for key in at if key != "retention"])
    return next((known for known in (name, f"{name}={value}") if known in SETTINGS), "")


def word(table: str, name: str) -> str:
    """Return the sentence on a word or a flag that a table of words had; "" for one that was never known. `table`: as people call it."""
    last = table.rpartition(" ")[2].rpartition(":")[2]
    return WORDS.get(f"{last} {name}") or (WORDS.get(name, "") if last in ("popkit", "context") else "")
