"""The words of `popkit memory` that only show what is remembered."""

from __future__ import annotations

from popkit_retention.core import flag_parser, text
from popkit_retention.core.state.memory import MOST_TOKENS
from popkit_retention.core.text import quote as shown

from ..cli.answering import Answer
from . import item_changes, item_report, item_views, views
from .monitoring import monitor
from .operations import ITEMS_LISTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .command import Request


def status(request: Request) -> Answer:
    place = request.place
    if "store" in request.flags:
        stored = monitor(
            place.memory.store, request.now, place.project.repository.key if "project" in request.flags else None, place.memory.policies
        )
        return Answer(views.store(stored), stored.to_json())
    here = {"name": place.name, "on": place.project.is_on(), "document_tokens": place.document_tokens, "theirs": place.theirs}
    status = {**place.memory.status(), **here}
    return Answer(views.status(status, request.now, request.command), status)


def list_items(request: Request) -> Answer:
    tiers, kinds = request.flags.get("tier", ()), request.flags.get("kind", ())
    most = None if "all" in request.flags else ITEMS_LISTED + 1
    items = request.place.memory.list(tiers, kinds, "marked" in request.flags, None if "waiting" in request.flags else most)
    if "waiting" in request.flags:
        items = [item for item in items if item.waits][:most]
    more = len(items) > ITEMS_LISTED and "all" not in request.flags
    items = items[:ITEMS_LISTED] if more else items
    lines = item_views.by_tier(items, request.now) if items else text.wrap(_nothing(request))
    if more:
        lines += ["", f"There is more: --all shows more than {ITEMS_LISTED} items."]
    lines += item_changes.to_accept(items, request.command)
    return Answer(lines, {"items": [item.to_json() for item in items], "more": more})


def _nothing(request: Request) -> str:
    if "marked" in request.flags:
        return "Nothing is forgotten."
    if "waiting" in request.flags:
        return "Nothing is waiting for your approval."
    if "tier" in request.flags or "kind" in request.flags:
        return "Nothing matches."
    return f"Nothing is remembered about {request.place.name} yet. {request.command} admin learn --past learns from its past sessions."


def search(request: Request) -> Answer:
    words = request.arguments[0]
    matches = request.place.memory.search(words, request.flags["most"])
    lines = item_views.in_order([item for item, _ in matches], request.now)
    lines = lines or text.wrap(f"Nothing found for {shown(words)}.")
    lines += item_changes.to_accept([item for item, _ in matches], request.command)
    return Answer(lines, {"items": [{**item.to_json(), "relevance": relevance} for item, relevance in matches]})


def show(request: Request) -> Answer:
    item = request.place.memory.show(request.arguments[0])
    return Answer([*item_report.show(item, request.place.name, request.now, request.command), ""], item.to_json(), item.text)


def why(request: Request) -> Answer:
    reasons = request.place.memory.why(request.arguments[0])
    return Answer(item_report.why(reasons, request.now, request.command), reasons)


def print_document(request: Request) -> Answer:
    budget = request.flags.get("tokens", request.place.tokens)
    if budget > MOST_TOKENS:
        raise flag_parser.UsageError(f"--tokens takes at most {MOST_TOKENS:,}: Claude Code cuts off a longer MEMORY.md without saying so")
    document = request.place.memory.document(budget, request.flags.get("for", ""))
    lines: list[text.Line] = []
    if "why" in request.flags:
        absent = {id for id, _ in document.left_out}
        items = [item for item in request.place.memory.list(marked=None, most=None) if item.id in absent]
        lines = views.left_out(document, items, budget, request.now)
    elif not document.text:
        empty = f"MEMORY.md would be empty. {request.command} admin file --why says why."
        lines = text.wrap(empty if document.left_out else _nothing(request))
    data = {name: value for name, value in vars(document).items() if name != "entries"}
    return Answer(lines, data, "" if "why" in request.flags else document.text)


def loss(request: Request) -> Answer:
    levels = [vars(level) for level in request.place.memory.loss()]
    return Answer(views.loss(levels), {"levels": levels})
