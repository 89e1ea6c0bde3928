"""The tools of agents on retention policies, through the controller that the command line uses. A function loads what it needs when it is
called."""

from __future__ import annotations

from ..mcp.call import ToolCall, ToolError
from ..mcp.schema_words import NOTHING, anything, flag, number, obj, open_obj, or_null, several, takes, text, whole, words
from ..mcp.tool import Tool
from .errors import GovernanceError
from .operations import LONGEST_NOTE, RETENTION_APPLY, RETENTION_ARCHIVE, RETENTION_SET, RETENTION_SHOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .controller import Controller
    from .shapes import AppliedAnswer, Json, Label

MOST_RESOURCES = 100_000
SHOWN = 50  # of what is stored, in each list
_DOMAIN = words("memory", "rag")
_REASONS = several(text())
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
DOMAIN_ONLY = takes(RETENTION_SHOW, "domain")
CONFIGURE = takes(RETENTION_SET, "domain", "config", config=obj(_KEYS))
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
    RETENTION_APPLY,
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
    RETENTION_ARCHIVE,
    "domain",
    resources=several(anything(), MOST_RESOURCES, "ids, or objects with an id"),
    options=open_obj("note, and keys as of retention_apply"),  # the controller checks them
)
ARCHIVED = obj(
    {"success": flag(), "archive_id": text(), "manifest_path": text(), "resource_count": whole(), "total_size_bytes": whole()},
    ("success", "archive_id", "manifest_path", "resource_count", "total_size_bytes"),
)


def retention_get(call: ToolCall) -> Json:
    with _controller(call) as controller:
        return controller.get(call["domain"])


def retention_policies(call: ToolCall) -> Json:
    with _controller(call) as controller:
        return {**controller.policies(), "deprecated": "retention_get gives the policy of one domain"}


def retention_configure(call: ToolCall) -> Json:
    """Make a change that only keeps more; any other waits for the user's approval."""
    with _controller(call) as controller:
        result = controller.configure(call["domain"], call["config"])
    if result["success"]:
        return {**result, "status": "applied"}
    accept, decline = (f"popkit retention admin {word} {result['request']}" for word in ("accept", "decline"))
    reason = "Nothing has changed: this would keep less, so it waits for the user's approval, for this project only."
    return {**result, "status": "waiting", "note": f"{reason} Tell the user, who decides: {accept} or {decline}"}


def retention_apply(call: ToolCall) -> Json:
    """Return the verdicts on resources: all of those that the caller gives, else the first of each list of stored ones."""
    domain, resources = call["domain"], call.get("resources")
    most = call.whole("most", SHOWN if resources is None else len(resources))
    with _controller(call) as controller:
        verdict = controller.apply(domain, resources, call.get("options"))
        own = [_shown(controller, domain, part, most, labelled=True) for part in verdict.pop("own", ())]
        return {**_shown(controller, domain, verdict, most, resources is None), **({"own": own} if own else {})}


def _shown(controller: Controller, domain: str, verdict: AppliedAnswer, most: int, labelled: bool) -> Json:
    """Return at most `most` of each list, and how many are left out."""
    not_shown = {}
    for name in ("eligible", "protected"):
        listed = verdict[name]
        if len(listed) > most:
            not_shown[name] = len(listed) - most
            verdict[name] = listed = listed[:most]
        if labelled and listed:
            labels = controller.describe(domain, [resource["id"] for resource in listed])
            verdict[name] = [{**resource, **_label(labels.get(resource["id"]))} for resource in listed]
    return {**verdict, **({"not_shown": not_shown} if not_shown else {})}


def retention_archive(call: ToolCall) -> Json:
    resources = call.get("resources")
    ids = None if resources is None else [_id(resource) for resource in resources]
    options = dict(call.get("options", {}))
    note = options.pop("note", "")
    if not isinstance(note, str) or len(note) > LONGEST_NOTE:
        raise ToolError(f"arguments.options.note must be a text of at most {LONGEST_NOTE} characters")
    with _controller(call) as controller:
        return {**controller.archive(call["domain"], ids, note, lambda what, done, of: call.progress(done, of), options)}


def _controller(call: ToolCall) -> Controller:
    from popkit_retention.core.io.system import now

    from .controller import Controller
    from .domains import TOOL

    return Controller(call.environ, by=TOOL, project=call.project, now=lambda: now(call.environ))


def _label(described: Json | None) -> Label:
    return {"label": described["label"]} if described else {}


def _id(resource: object) -> str:
    id = resource.get("id") if isinstance(resource, dict) else resource
    if not isinstance(id, str) or not id:
        raise ToolError("arguments.resources must hold ids, or objects with an id that is a text")
    return id


def advice(error: Exception) -> str:
    """Return the message for an error of governance that the caller or the user can fix; "" for any other."""
    return str(error) if isinstance(error, GovernanceError) else ""


TOOLS = (
    Tool(
        "retention_get", retention_get, "Get retention policy",
        "Returns the retention policy of memory (long-term memory) or rag (the archive of cleared results).",
        DOMAIN_ONLY, POLICY,
    ),
    Tool(
        "retention_configure", retention_configure, "Set retention policy",
        "Changes the given keys of a retention policy. A change that keeps more applies at once; others wait for the user's"
            " approval. Values out of bounds are clamped: see adjusted.",
        CONFIGURE, CONFIGURED, RETENTION_SET.effect,
    ),
    Tool(
        "retention_apply", retention_apply, "Apply retention policy",
        "Says which resources may be deleted (eligible) or not (protected), and why. Deletes nothing. Without"
            " resources: those stored for the project.",
        APPLY, APPLIED, wide=True,
    ),
    Tool(
        "retention_archive", retention_archive, "Archive resources",
        "Copies stored resources into an archive with checksums. Without resources: the eligible ones. Deletes nothing.",
        ARCHIVE, ARCHIVED, RETENTION_ARCHIVE.effect, again=False, wide=True,
    ),
    Tool(
        "retention_policies", retention_policies, "Get both policies",
        "Deprecated: use retention_get. Returns both retention policies.",
        NOTHING, POLICIES,
    ),
)  # fmt: skip
