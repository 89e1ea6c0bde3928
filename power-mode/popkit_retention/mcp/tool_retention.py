"""Run the tools on retention policies, through the controller that the command line uses too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .tool_call import ToolCall, ToolError
from .tool_schemas import SHOWN

if TYPE_CHECKING:
    from ..governance.controller import Controller


def retention_get(call: ToolCall) -> dict[str, Any]:
    with _controller(call) as controller:
        return controller.get(call["domain"])


def retention_policies(call: ToolCall) -> dict[str, Any]:
    with _controller(call) as controller:
        return {**controller.policies(), "deprecated": "retention_get gives the policy of one domain"}


def retention_configure(call: ToolCall) -> dict[str, Any]:
    """Make a change that only keeps more; all else waits for the user's yes."""
    with _controller(call) as controller:
        result: dict[str, Any] = controller.configure(call["domain"], call["config"])
    if result["success"]:
        return {**result, "status": "applied"}
    accept, decline = (f"popkit retention {word} {result['request']}" for word in ("accept", "decline"))
    reason = "Nothing has changed: this would keep less, so it waits for the user's yes, for this project alone."
    return {**result, "status": "waiting", "note": f"{reason} Tell the user, who decides: {accept} or {decline}"}


def retention_apply(call: ToolCall) -> dict[str, Any]:
    """Return the verdicts: on resources that the caller gives, all; on what is stored, the first of each list."""
    domain, resources = call["domain"], call.get("resources")
    most = call.whole("most", SHOWN if resources is None else len(resources))
    with _controller(call) as controller:
        verdict: dict[str, Any] = controller.apply(domain, resources, call.get("options"))
        own = [_shown(controller, domain, each, most, labelled=True) for each in verdict.pop("own", ())]
        return {**_shown(controller, domain, verdict, most, resources is None), **({"own": own} if own else {})}


def _shown(controller: Controller, domain: str, verdict: dict[str, Any], most: int, labelled: bool) -> dict[str, Any]:
    """Return at most `most` of each list, and how many that leaves out."""
    left = {}
    for name in ("eligible", "protected"):
        listed = verdict[name]
        if len(listed) > most:
            left[name] = len(listed) - most
            verdict[name] = listed = listed[:most]
        if labelled and listed:
            labels = controller.describe(domain, [each["id"] for each in listed])
            verdict[name] = [{**each, **_label(labels.get(each["id"]))} for each in listed]
    return {**verdict, **({"not_shown": left} if left else {})}


def retention_archive(call: ToolCall) -> dict[str, Any]:
    resources = call.get("resources")
    ids = None if resources is None else [_id(each) for each in resources]
    note = call.get("options", {}).get("note", "")
    with _controller(call) as controller:
        return controller.archive(call["domain"], ids, note, lambda what, done, of: call.progress(done, of))


def _controller(call: ToolCall) -> Controller:
    from hooks.utils.io.system import now

    from ..governance.controller import Controller
    from ..governance.domains import TOOL

    return Controller(call.environ, by=TOOL, project=call.project, now=lambda: now(call.environ))


def _label(described: dict[str, Any] | None) -> dict[str, str]:
    return {"label": described["label"]} if described else {}


def _id(resource: object) -> str:
    id = resource.get("id") if isinstance(resource, dict) else resource
    if not isinstance(id, str) or not id:
        raise ToolError("arguments.resources must hold ids, or objects with an id that is a text")
    return id
