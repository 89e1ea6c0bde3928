"""The operations on a session that the page offers, each with its outcome before it is run."""

from __future__ import annotations

from popkit_retention.core import flag_parser, text, units
from popkit_retention.core.hosts import IN_CLIENT
from popkit_retention.core.operation_tables import DESTROYS
from popkit_retention.core.operations import CONTEXT, context_words, offers
from popkit_retention.core.operations.changers import in_place_of
from popkit_retention.core.policy import verdict
from popkit_retention.core.policy.plans import Selection
from popkit_retention.core.reclaim import outlook
from popkit_retention.core.state.noted import BACK, SessionNotes
from popkit_retention.core.views import phrases

from .shapes import COLUMNS, NotOffered, Offer, OperationResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from popkit_retention.core.views.shapes import ResultRow

    from .app_state import AppState
    from .catalog import Known
    from .contexts import CachedContext

# What a clear does, for a user who has never run one.
CLEARED_IN_PLACE = "Cleared results are archived first, and the running session goes on without them. Undo brings everything back"
CLEARED_LATER = f"They leave {phrases.RESUMED}. Undo cancels that until then, and brings everything back afterwards"
_SHOW = "show"


def offered_for_session(app_state: AppState, known: Known, cached: CachedContext) -> list[Offer]:
    """Return the operations that are offered on a whole session."""
    if known.recorded:
        return []  # nothing of the session is ours
    offered = offers.of_context(cached.report) if known.transcript else []
    newest = SessionNotes(cached.site.home, known.id).newest
    if newest:
        back = newest == BACK
        label = "Cancel the way back" if back else "Cancel the clear"
        waits = f"what was to come back {phrases.RESUMED} stays out" if back else f"what was to leave {phrases.RESUMED} stays"
        offered = [offers.Offer("undo", label, waits, "u"), *(each for each in offered if each.id not in ("clear", "undo"))]
    cleared = CLEARED_LATER if in_place_of(cached.site).is_later else CLEARED_IN_PLACE
    return [
        *_shown(offered, cleared),
        *_anyway(cached, app_state.now(), cleared),
        *(each for tile in app_state.tiles for each in tile.offered_for(known.id)),
    ]


def _anyway(cached: CachedContext, now: float, cleared: str) -> list[Offer]:
    """Return a clear that does not pay off yet, where the advice is to wait."""
    rebuilt = cached.outlook.rebuilt
    if rebuilt is None or cached.report["verdict"]["kind"] not in ("wait", "full"):
        return []
    plan = outlook.plan_of(rebuilt.conversation, Selection(now=True), now, goal=cached.outlook.goal)
    takes, sum = verdict.takes(plan)["tokens"], plan.sum
    if not takes:
        return []
    after = "It does not pay off" if sum.pays_after is None else f"It pays off after {units.counted(sum.pays_after, 'request')}"
    again = f"{units.long_tokens(sum.rewritten)} must be written to the cache again"
    costs = f"which costs as much as {units.long_tokens(sum.cost_now)} of input"
    return [
        Offer(
            id="clear --now",
            label="Clear anyway",
            sum=f"{units.long_tokens(takes)} leave the context now. {again}, {costs}. {after}. {cleared}",
            danger=_needs_confirmation("clear"),
        )
    ]


def offered_for_result(known: Known, cached: CachedContext, row: ResultRow) -> list[Offer]:
    """Return the operations that are offered on one row of a session's report. Showing its content is not among them: the page requests
    it."""
    if known.recorded:
        return []
    restores = bool(known.transcript) and not cached.report["doubt"]
    return _shown(offer for offer in offers.of_result(row, restores) if not offer.id.startswith(_SHOW))


def _shown(offered: Iterable[offers.Offer], cleared: str = "") -> list[Offer]:
    return [Offer(id=each.id, label=each.label, sum=_sum(each, cleared), danger=_needs_confirmation(each.id)) for each in offered]


def _needs_confirmation(id: str) -> bool:
    return CONTEXT.by_name[id.partition(" ")[0]].effect == DESTROYS


def _sum(offer: offers.Offer, cleared: str) -> str:
    return f"{offer.sum}. {cleared}" if offer.id == "clear" else offer.sum


def do(app_state: AppState, known: Known, id: str, why: str = "") -> OperationResult:
    """Run the operation that is offered under an id; NotOffered for anything else. One that fails says why, and has changed nothing. `why`:
    the reason of a hold."""
    for tile in app_state.tiles:
        if result := tile.do_of_session(id, known.id, why):
            return result
    with app_state.changing:
        with app_state.contexts.reading(known) as cached:
            offered = [
                *offered_for_session(app_state, known, cached),
                *(operation for row in cached.report["results"] for operation in offered_for_result(known, cached, row)),
            ]
        if id not in {operation.id for operation in offered}:
            raise NotOffered("that is not offered now: the session has changed, or has no such operation. Load it again")
        site = app_state.contexts.site(known)
        parsed = flag_parser.parse(context_words.split(id), CONTEXT, shell=False)
        in_place = in_place_of(site)
        # An answer names what its reader can type: in the session that runs, else in a shell.
        command = f"popkit context --session {known.id}" if in_place.is_later else IN_CLIENT
        response = context_words.respond(parsed, site, known.transcript, app_state.now(), command, in_place)
        app_state.changes += 1
    return OperationResult(done=not response.error, text=response.error or "\n".join(text.laid_out(response.lines, COLUMNS)).strip("\n"))
