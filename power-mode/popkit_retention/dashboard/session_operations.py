"""Operations on a session: those of /popkit:context, of which only the ones offered at that moment are accepted. The outcome of each is
shown before it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.utils import flag_parser, text
from hooks.utils.operations import CONTEXT, context, offers, switches
from hooks.utils.operations.request import COMMAND, in_place_of
from hooks.utils.policy import planning, verdict
from hooks.utils.reclaim import outlook

from .shapes import COLUMNS, Deed, DeedDone, NotOffered
from .stored_data import HOLD, RELEASE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hooks.utils.views.shapes import KeptWarm, ResultRow

    from .app_state import AppState
    from .catalog import Known
    from .context_cache import CachedContext

# What a clear does, for a user who has never made one.
CLEARED = "Cleared results are archived first. If the session is open, type /resume there to load the change. Undo brings everything back"
CLEARED_IN_PLACE = "Cleared results are archived first, and the running session goes on without them. Undo brings everything back"
_SHOW = "show"
_WHY = "held in the dashboard"  # where no reason is given


def of_session(app_state: AppState, known: Known, cached: CachedContext, warmth: KeptWarm) -> list[Deed]:
    """Return what can be done about a whole session. `warmth`: whether its cache is kept warm (operations/switches.py)."""
    if known.recorded:
        return []  # nothing of it is ours
    offered = [*offers.of_context(cached.report), *offers.of_warmth(warmth)] if known.transcript else []
    cleared = CLEARED_IN_PLACE if in_place_of(cached.site.home, known.id) else CLEARED
    return [*_shown(offered, cleared), *_anyway(cached, app_state.now(), cleared), *app_state.retention.deeds_of(known.id)]


def _anyway(cached: CachedContext, now: float, cleared: str) -> list[Deed]:
    """Return a clear that does not pay yet, where waiting is the advice."""
    made = cached.outlook.made
    if made is None or cached.report["verdict"]["kind"] not in ("wait", "full"):
        return []
    plan = outlook.plan_of(cached.site, made.conversation, planning.Asked(now=True), now)
    takes, sum = verdict.takes(plan)["tokens"], plan.sum
    if not takes:
        return []
    after = "It does not pay off" if sum.pays_after is None else f"It pays off after {text.counted(sum.pays_after, 'request')}"
    again = f"{text.long_tokens(sum.rewritten)} must be written to the cache again"
    costs = f"which costs as much as {text.long_tokens(sum.cost_now)} of input"
    return [
        Deed(
            id="clear --now",
            label="Clear anyway",
            sum=f"{text.long_tokens(takes)} leave the context now. {again}, {costs}. {after}. {cleared}",
            danger=_is_asked_twice("clear"),
        )
    ]


def of_result(known: Known, cached: CachedContext, row: ResultRow) -> list[Deed]:
    """Return what can be done about one row of a session's report. Its content is no operation: the page requests it."""
    if known.recorded:
        return []
    restores = bool(known.transcript) and not cached.report["doubt"]
    return _shown(deed for deed in offers.of_result(row, restores) if not deed.id.startswith(_SHOW))


def _shown(offered: Iterable[offers.Offer], cleared: str = CLEARED) -> list[Deed]:
    return [Deed(id=each.id, label=each.label, sum=_sum(each, cleared), danger=_is_asked_twice(each.id)) for each in offered]


def _is_asked_twice(id: str) -> bool:
    return CONTEXT.by_name[id.partition(" ")[0]].effect == flag_parser.DESTROYS


def _sum(deed: offers.Offer, cleared: str) -> str:
    return f"{deed.sum}. {cleared}" if deed.id == "clear" else deed.sum


def do(app_state: AppState, known: Known, id: str, why: str = "") -> DeedDone:
    """Do what is offered under an id; NotOffered for anything else. What could not be done says why, and has changed nothing. `why`: of a
    hold."""
    if id in (HOLD, RELEASE):
        return app_state.retention.do_of_session(id, known.id, why or _WHY)
    with app_state.changing:
        with app_state.contexts.reading(known) as cached:
            warmth = switches.kept_warm(cached.site, cached.path, app_state.now())
            offered = [
                *of_session(app_state, known, cached, warmth),
                *(deed for row in cached.report["results"] for deed in of_result(known, cached, row)),
            ]
        if id not in {deed.id for deed in offered}:
            raise NotOffered("that is not offered now: the session has changed, or the id is not one of its deeds. Load it again")
        site = app_state.contexts.site(known)
        parsed = flag_parser.parse(context.split(id), CONTEXT, shell=False)
        in_place = in_place_of(site.home, known.id)
        given = context.respond(parsed, site, known.transcript, app_state.now(), COMMAND, in_place)
        app_state.changes += 1
    return DeedDone(done=not given.error, text=given.error or "\n".join(text.laid_out(given.lines, COLUMNS)).strip("\n"))
