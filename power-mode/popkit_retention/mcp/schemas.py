"""The JSON Schemas of each tool's input and output. Pure. A model reads the input schemas with every prompt, so descriptions say only
what names and bounds do not."""

from __future__ import annotations

from hooks.utils.operations import CONTEXT as CONTEXT_TABLE

from ..governance import operations as retention
from ..memory import operations as memory
from ..operations import archive_table
from .schema_words import anything, flag, number, obj, open_obj, or_null, several, takes, text, whole, words

MOST_RESOURCES = 100_000
PAGE_CHARS, LARGEST_PAGE = 20_000, 60_000
SHOWN = 50  # of what is stored, in each list
_DOMAIN = words("memory", "rag")
_REASONS = several(text())

NOTHING = obj({})


_KEYS = {
    "older_than_days": number(about="1 to 3650: younger ones are kept"),
    "source_types": several(text(), about="context, action, thought: kinds that may be deleted"),
    "keep_session_ids": several(text()),
    "keep_context_ids": several(anything(), about="whole numbers"),
    "limit": number(about="1 to 20000: most to delete"),
    "vacuum": flag("compact the file afterwards"),
    "auto_gc": flag("collect hourly"),
}
POLICY = obj(
    {
        "older_than_days": number(), "source_types": several(text()), "keep_session_ids": several(text()),
        "keep_context_ids": several(whole()), "limit": whole(), "vacuum": flag(), "auto_gc": flag(),
    },
    tuple(_KEYS),
)  # fmt: skip
POLICIES = obj(
    {"version": whole(), "revision": whole(), "updated_at": text(), "memory": POLICY, "rag": POLICY, "deprecated": text()},
    ("version", "updated_at", "memory", "rag"),
)
DOMAIN_ONLY = takes(retention.RETENTION_SHOW, "domain")
CONFIGURE = takes(retention.RETENTION_SET, "domain", "config", config=obj(_KEYS))
_ADJUSTED = obj({"key": text(), "given": anything(), "kept": anything(), "why": text()}, ("key", "given", "kept", "why"))
CONFIGURED = obj(
    {
        "success": flag(), "status": words("applied", "waiting"), "domain": _DOMAIN, "policy": POLICY, "updated_at": text(),
        "revision": whole(), "adjusted": several(_ADJUSTED), "request": text("of the change that waits for the user's approval"),
        "asked": open_obj("what would apply to this project then"), "note": text(),
    },
    ("success", "status", "domain", "policy", "updated_at"),
)  # fmt: skip
_OPTIONS = open_obj("keys of the policy with other values for this call")  # the controller checks them
APPLY = takes(
    retention.RETENTION_APPLY,
    "domain",
    resources=several(anything(), MOST_RESOURCES, "objects with id, created_at, source_type, session_id, context_id"),
    options=_OPTIONS,
    most=whole(0, MOST_RESOURCES, "entries shown of each list"),
)
_VERDICT = obj({"id": text(), "reasons": _REASONS, "created_at": or_null(text()), "label": text()}, ("id", "reasons"))
APPLIED = obj(
    {
        "success": flag(), "domain": _DOMAIN, "cutoff_date": text(), "policy_applied": POLICY,
        "eligible": several(_VERDICT), "protected": several(_VERDICT),
        "counts": obj({"eligible": whole(), "protected": whole(), "total": whole()}, ("eligible", "protected", "total")),
        "truncated": flag("the limit left something out"), "left_out": whole(),
        "not_shown": obj({"eligible": whole(), "protected": whole()}),
        "own": several(open_obj("the same for a project that has its own policy")),
    },
    ("success", "domain", "cutoff_date", "policy_applied", "eligible", "protected", "counts"),
)  # fmt: skip
ARCHIVE = takes(
    retention.RETENTION_ARCHIVE,
    "domain",
    resources=several(anything(), MOST_RESOURCES, "ids, or objects with an id"),
    options=obj({"note": text(longest=retention.LONGEST_NOTE)}),
)
ARCHIVED = obj(
    {"success": flag(), "archive_id": text(), "manifest_path": text(), "resource_count": whole(), "total_size_bytes": whole()},
    ("success", "archive_id", "manifest_path", "resource_count", "total_size_bytes"),
)


RECALL = takes(memory.MEMORY_SEARCH)
_WAITS = flag("an agent said it, the user has not accepted it")
_ITEM = {"id": text(), "text": text(), "kind": text(), "tier": text(), "created_at": text(), "waits": _WAITS}
RECALLED = obj(
    {"items": several(obj({**_ITEM, "project": text(), "relevance": number()}, ("id", "text", "kind"))), "memory_is_on": flag()},
    ("items",),
)
NOTE = takes(memory.MEMORY_ADD)
NOTED = obj({**_ITEM, "note": text()}, ("id", "text", "kind"))
FORGET = takes(memory.MEMORY_FORGET)
FORGOTTEN = obj({"marked": several(text()), "undo": text("what the user types to undo it"), "note": text()}, ("marked", "undo"))
_COUNTS = obj({"items": whole(), "tokens": whole()})
MEMORY = obj(
    {
        "project": text(), "memory_is_on": flag(), "items": whole(), "tokens": whole(), "tiers": open_obj(), "marked": whole(),
        "waiting": whole(about="added by agents, not accepted yet"), "sessions": whole(),
        "alerts": several(obj({"id": text(), "text": text(), "deleted_at": text()})),
    },
    ("project", "memory_is_on", "items"),
)  # fmt: skip


SEARCH = takes(archive_table.ARCHIVE_SEARCH)
_HIT = {"handle": text(), "label": text(), "archived_at": text(), "session": text(), "project": text(), "lines": several(text())}
SEARCHED = obj(
    {
        "results": several(obj(_HIT, ("handle", "label", "lines"))),
        "more": flag(),
        "not_searched": whole(about="not indexed yet: ask again"),
    },
    ("results",),
)
RESTORE = takes(
    CONTEXT_TABLE.by_name["restore"],
    offset=whole(0, about="characters"),
    limit=whole(1, LARGEST_PAGE, f"characters; {PAGE_CHARS} if left out"),
)
RESTORED = obj(
    {
        "handle": text(), "label": text(), "content": text(), "offset": whole(), "total_chars": whole(),
        "next_offset": or_null(whole(about="null at the end")),
    },
    ("handle", "label", "content", "offset", "total_chars", "next_offset"),
)  # fmt: skip
_SUMS = obj({"items": whole(), "tokens": whole()})
CONTEXT = obj(
    {
        "session": text(), "calls": whole(), "context": open_obj("how full it is; empty before the first request"),
        "tiers": open_obj("live and expired results by lifetime"), "expired": _SUMS, "cleared": _SUMS,
        "reclaimable": open_obj("what a clear removes now, and once the cache is cold"), "verdict": anything("what to do now"),
        "agents": whole(), "clear_with": text("what the user types to clear"),
    },
    ("session", "calls", "expired", "cleared"),
)  # fmt: skip
