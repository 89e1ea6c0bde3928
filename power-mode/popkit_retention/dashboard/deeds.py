"""What can be done with a session, and doing it: the words of /popkit:context, of which only those are taken that are offered at that
moment. What a deed comes to is said before it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.utils import flag_parser, text
from hooks.utils.context_table import CONTEXT
from hooks.utils.operations import cache, context, offers, running
from hooks.utils.operations.request import COMMAND
from hooks.utils.policy import planning, verdict
from hooks.utils.reclaim import outlook

from .problems import NotOffered
from .retention import HOLD, RELEASE
from .shapes import COLUMNS, Deed, DeedDone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hooks.utils.views.report_shapes import ResultRow
    from hooks.utils.views.shapes import KeptWarm

    from .catalog import Known
    from .desk import Desk
    from .looking import Looked

# What a clear means beside its sum, for somebody who has never made one.
CLEARED = "Cleared results are archived first. If the session is open, type /resume there to load the change. Undo brings everything back"
CLEARED_IN_PLACE = "Cleared results are archived first, and the running session goes on without them. Undo brings everything back"
_SHOW = "show"
_WHY = "held in the dashboard"  # where nobody says why


def of_session(desk: Desk, known: Known, looked: Looked, kept: KeptWarm) -> list[Deed]:
    """What can be done about a whole session. `kept`: whether its cache is kept warm (operations/cache.py)."""
    found = [*offers.of_context(looked.report), *offers.of_warmth(kept)] if known.transcript else []
    cleared = CLEARED_IN_PLACE if running.of_session(looked.site.home, known.id) else CLEARED
    return [*_shown(found, cleared), *_anyway(looked, desk.now(), cleared), *desk.retention.deeds_of(known.id)]


def _anyway(looked: Looked, now: float, cleared: str) -> list[Deed]:
    """A clear that does not pay yet, where waiting is the advice."""
    made = looked.outlook.made
    if made is None or looked.report["verdict"]["kind"] not in ("wait", "full"):
        return []
    plan = outlook.plan_of(looked.site, made.conversation, planning.Asked(now=True), now)
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


def of_result(known: Known, looked: Looked, row: ResultRow) -> list[Deed]:
    """What can be done about one row of a session's report. Its content is not a deed here: the page asks for it."""
    restores = bool(known.transcript) and not looked.report["doubt"]
    return _shown(deed for deed in offers.of_result(row, restores) if not deed.id.startswith(_SHOW))


def _shown(found: Iterable[offers.Offer], cleared: str = CLEARED) -> list[Deed]:
    return [Deed(id=each.id, label=each.label, sum=_sum(each, cleared), danger=_is_asked_twice(each.id)) for each in found]


def _is_asked_twice(id: str) -> bool:
    return CONTEXT.by_name[id.partition(" ")[0]].effect == flag_parser.DESTROYS


def _sum(deed: offers.Offer, cleared: str) -> str:
    return f"{deed.sum}. {cleared}" if deed.id == "clear" else deed.sum


def do(desk: Desk, known: Known, id: str, why: str = "") -> DeedDone:
    """Does what is offered under an id; NotOffered for anything else. What could not be done says why, and has changed nothing. `why`: of a
    hold."""
    if id in (HOLD, RELEASE):
        return desk.retention.do_of_session(id, known.id, why or _WHY)
    with desk.changing:
        with desk.looks.reading(known) as looked:
            kept = cache.kept_warm(looked.site, looked.path, desk.now())
            offered = [
                *of_session(desk, known, looked, kept),
                *(deed for row in looked.report["results"] for deed in of_result(known, looked, row)),
            ]
        if id not in {deed.id for deed in offered}:
            raise NotOffered("that is not offered now: the session has changed, or the id is not one of its deeds. Load it again")
        site = desk.looks.site(known)
        parsed = flag_parser.parse(context.split(id), CONTEXT, shell=False)
        in_place = running.of_session(site.home, known.id)
        given = context.respond(parsed, site, known.transcript, desk.now(), COMMAND, in_place)
        desk.changes += 1
    return DeedDone(done=not given.error, text=given.error or "\n".join(text.laid_out(given.lines, COLUMNS)).strip("\n"))
