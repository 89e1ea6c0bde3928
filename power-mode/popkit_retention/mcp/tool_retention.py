"""The tools on retention policies, through the controller that the command line uses too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .asking import Asked, Mistake
from .shapes import SHOWN

if TYPE_CHECKING:
    from ..governance.controller import Controller


def retention_get(asked: Asked) -> dict[str, Any]:
    with _controller(asked) as controller:
        return controller.get(asked["domain"])


def retention_policies(asked: Asked) -> dict[str, Any]:
    with _controller(asked) as controller:
        return {**controller.policies(), "deprecated": "retention_get gives the policy of one domain"}


def retention_configure(asked: Asked) -> dict[str, Any]:
    """Makes what only keeps more; all else waits for the user's yes."""
    with _controller(asked) as controller:
        found: dict[str, Any] = controller.configure(asked["domain"], asked["config"])
    if found["success"]:
        return {**found, "status": "applied"}
    accept, decline = (f"popkit retention {word} {found['request']}" for word in ("accept", "decline"))
    said = "Nothing has changed: this would keep less, so it waits for the user's yes, for this project alone."
    return {**found, "status": "waiting", "note": f"{said} Tell the user, who decides: {accept} or {decline}"}


def retention_apply(asked: Asked) -> dict[str, Any]:
    """Of resources that the caller gives, everything is told; of what is stored, the first of each list."""
    domain, resources = asked["domain"], asked.get("resources")
    most = asked.whole("most", SHOWN if resources is None else len(resources))
    with _controller(asked) as controller:
        found: dict[str, Any] = controller.apply(domain, resources, asked.get("options"))
        own = [_shown(controller, domain, each, most, labelled=True) for each in found.pop("own", ())]
        return {**_shown(controller, domain, found, most, resources is None), **({"own": own} if own else {})}


def _shown(controller: Controller, domain: str, found: dict[str, Any], most: int, labelled: bool) -> dict[str, Any]:
    """At most so many of each list, and how many that leaves out."""
    left = {}
    for name in ("eligible", "protected"):
        listed = found[name]
        if len(listed) > most:
            left[name] = len(listed) - most
            found[name] = listed = listed[:most]
        if labelled and listed:
            labels = controller.describe(domain, [each["id"] for each in listed])
            found[name] = [{**each, **_label(labels.get(each["id"]))} for each in listed]
    return {**found, **({"not_shown": left} if left else {})}


def retention_archive(asked: Asked) -> dict[str, Any]:
    resources = asked.get("resources")
    ids = None if resources is None else [_id(each) for each in resources]
    note = asked.get("options", {}).get("note", "")
    with _controller(asked) as controller:
        return controller.archive(asked["domain"], ids, note, lambda what, done, of: asked.progress(done, of))


def _controller(asked: Asked) -> Controller:
    from hooks.utils.io.system import now

    from ..governance.controller import Controller
    from ..governance.domains import TOOL

    return Controller(asked.environ, by=TOOL, project=asked.project, now=lambda: now(asked.environ))


def _label(described: dict[str, Any] | None) -> dict[str, str]:
    return {"label": described["label"]} if described else {}


def _id(resource: object) -> str:
    id = resource.get("id") if isinstance(resource, dict) else resource
    if not isinstance(id, str) or not id:
        raise Mistake("arguments.resources must hold ids, or objects with an id that is a text")
    return id
