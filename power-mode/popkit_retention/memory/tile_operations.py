"""The operations on memory items that the page offers."""

from __future__ import annotations

from popkit_retention.core import text
from popkit_retention.core.state.site import Site

from ..dashboard.shapes import COLUMNS, NotOffered, Offer, OperationResult
from . import item_changes
from .holds import ItemOnHold
from .items import ARCHIVE, BadItem, Item
from .memory import ItemNotFound as NoItem
from .place import write_document
from .tile_projects import opened_memory, project_of_key, project_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..dashboard.app_state import AppState


def offered(item: Item) -> list[Offer]:
    if item.marked_at is not None:
        return [Offer(id=f"undo {item.id}", label="Bring back", sum="it is kept, not deleted")]
    offered = [Offer(id=f"accept {item.id}", label="Accept", sum="MEMORY.md can include what an agent said here")] if item.waits else []
    if item.held:
        offered += [Offer(id=f"unpin {item.id}", label="Unpin", sum="its tier is chosen automatically again")]
    else:
        offered += [Offer(id=f"pin {item.id}", label="Pin", sum="it stays in its tier, neither compressed nor deleted, until you unpin it")]
    for word, label, neighbour in (("promote", "Move up", _above(item.tier)), ("demote", "Move down", _below(item.tier))):
        if neighbour and not (item.waits and neighbour == ARCHIVE):
            offered.append(Offer(id=f"{word} {item.id}", label=label, sum=f"from {item.tier} to {neighbour}"))
    consequence = "it is deleted for good in 24 h; until then you can bring it back"
    return [*offered, Offer(id=f"forget {item.id}", label="Forget", sum=consequence, danger=True)]


_ORDER = ("COLD", "WARM", "HOT", "ARCHIVE")  # each `promote` is one step to the right


def _above(tier: str) -> str:
    return _ORDER[_ORDER.index(tier) + 1] if tier != _ORDER[-1] else ""


def _below(tier: str) -> str:
    return _ORDER[_ORDER.index(tier) - 1] if tier != _ORDER[0] else ""


def do(app_state: AppState, key: str, id: str) -> OperationResult:
    """Run an operation that is offered on an item of a project; NotOffered for anything else."""
    place = project_of_key(app_state, key)
    word, _, item_id = id.partition(" ")
    with app_state.changing, opened_memory(app_state, place) as memory:
        items = [item for item in memory.store.get([item_id]) if item.project == key] if item_id else []
        if not items or id not in {operation.id for operation in offered(items[0])}:
            raise NotOffered("that is not offered now: the memory has changed, or the item has no such operation. Load it again")
        try:
            done = getattr(memory, word)([item_id])
        except (BadItem, NoItem, ItemOnHold) as error:
            return OperationResult(done=False, text=str(error))
        project = project_state(app_state, place)
        if project.is_on():
            write_document(project, memory, Site(app_state.environ, "").config)
        lines = item_changes.changed(word, done, app_state.now(), "popkit memory")
    return OperationResult(done=True, text="\n".join(text.laid_out(lines, COLUMNS)))
