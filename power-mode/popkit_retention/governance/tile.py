"""The tile of the retention of stored data: policies, marks, holds, zones of the archive, sizes, the log."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from popkit_retention.core import archive, text, units
from popkit_retention.core.reclaim import access
from popkit_retention.core.retention_kit.holds import ITEM, SESSION

from ..dashboard.failures import ASKING, CHANGING, failures
from ..dashboard.shapes import COLUMNS, NotFound, NotOffered, Offer, OperationResult, Problem, StoreUnusable
from ..dashboard.tile import Tile
from ..operations import stores
from ..operations.login import login_name
from .controller import Controller
from .domains import USER
from .errors import BadRequest, GovernanceError
from .errors import ResourceNotFound as NothingThere
from .policies import DOMAINS, KEYS, MEMORY, RAG
from .tile_shapes import HoldShown, LogEntry, RetentionLog, RetentionOperationRequest, RetentionOverview, RetentionPolicyShown, Zone
from .views import collection_views, hold_views, log_views, policy_views, wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..dashboard.app_state import AppState
    from .shapes import EntryAnswer, HoldAnswer, ListedHold, PartStatus, StatusAnswer

HOLD, RELEASE, UNDO = "hold", "release", "undo"
_HOLD = Offer(id=HOLD, label="Hold", sum="all data of this session stays, whatever the policies say, until you release it")
_RELEASE_ALL = Offer(id=RELEASE, label="Release", sum="the retention policies apply to this session's data again", danger=True)
_DATA = {MEMORY: "memory", RAG: "archive"}
_UNMARK = {MEMORY: "Unmark memories", RAG: "Unmark the archive"}
_WHY = "held in the dashboard"  # where no reason is given
_NEEDS_WHY = "a hold needs a session of GET /api/sessions, and a reason"


class RetentionTile(Tile):
    """The stored data of one server. The log is verified again only when it has changed."""

    view = "retention"
    title = "Retention"
    places = {"/api/retention": ("archive.sqlite", "archive.sqlite-wal", "data")}

    def __init__(self, app_state: AppState) -> None:
        super().__init__(app_state)
        self._lock = threading.Lock()
        self._verified: tuple[object, list[str]] = (None, [])

    def router(self) -> APIRouter:
        """Return the routes of stored data and its retention."""
        router = APIRouter(tags=["retention"], prefix="/api/retention")

        @router.get("", response_model=RetentionOverview, responses=failures(*ASKING, 503), summary="Policies, marks, holds, zones, sizes")
        def overview() -> RetentionOverview:
            return self.overview()

        @router.get("/log", response_model=RetentionLog, responses=failures(*ASKING, 503), summary="What was done, newest first")
        def log(limit: Annotated[int, Query(ge=1, le=1_000)] = 50) -> RetentionLog:
            return self.log(limit)

        @router.post(
            "/operations",
            response_model=OperationResult,
            responses=failures(*CHANGING, 503),
            summary="Run an operation that was offered, or hold a session",
        )
        def operate(request: RetentionOperationRequest) -> OperationResult:
            return self.do(request.id, request.session, request.why, request.until)

        return router

    def overview(self) -> RetentionOverview:
        """Return the policies, holds, zones and sizes. A store that cannot be used is one of the `problems`."""
        with self._opened() as controller:
            status = controller.status()
            holds = controller.holds()
            problems = [*self._log_problems(controller), *(part["unavailable"] for part in status["domains"] if part["unavailable"])]
            whole = not self._verified[1]
            zones = self._zones(problems)
        return RetentionOverview(
            policies=[_policy(part, status) for part in status["domains"]],
            holds=[self._hold(hold) for hold in holds["holds"]],
            zones=zones,
            sizes=self._sizes(),
            log_whole=whole,
            operations=[_undo(part) for part in status["domains"] if part["marked"]],
            problems=[text.clean(problem) for problem in problems],
        )

    def _log_problems(self, controller: Controller) -> list[str]:
        with self._lock:
            log = controller.opened()
            mark = _mark(log.path)
            if self._verified[0] != mark:
                self._verified = (mark, log.verify())
            return self._verified[1]

    def _zones(self, problems: list[str]) -> list[Zone]:
        by_zone: dict[str, tuple[int, int, int]] = {}
        try:
            if os.path.lexists(os.path.join(self.app_state.home, "archive.sqlite")):
                with access.OpenArchive(self.app_state.home) as db:
                    by_zone = archive.zone_sizes(db)
        except access.ClearRefused as error:
            problems.append(str(error))
        zones: tuple[Literal["hot", "warm", "cold"], ...] = ("hot", "warm", "cold")
        sizes = [(name, *by_zone.get(name, (0, 0, 0))) for name in zones]
        return [Zone(name=name, records=records, stored_bytes=stored, original_bytes=original) for name, records, stored, original in sizes]

    def _sizes(self) -> dict[str, int]:
        parts = stores.sizes(self.app_state.home) if os.path.isdir(self.app_state.home) else {}
        return {part: each["bytes"] for part, each in parts.items()}

    def _hold(self, hold: HoldAnswer) -> HoldShown:
        consequence = f"the {_DATA[hold['domain']]} policy applies to {_whose(hold)} again"
        return HoldShown(
            id=hold["id"],
            domain=hold["domain"],
            scope=hold["scope"],
            target=text.clean(hold["target"]),
            who=text.clean(hold["who"]),
            why=text.clean(hold["why"]),
            since=wording.seconds_of(hold["created_at"]),
            until=wording.seconds_of(hold["until"]) if hold["until"] is not None else None,
            operations=[Offer(id=f"{RELEASE} {hold['id']}", label="Release", sum=consequence, danger=True)],
        )

    def offered_for(self, session: str) -> list[Offer]:
        """Return the operations that are offered to hold or release a session's data; none where its holds cannot be read: the rest of the
        session can be shown without them."""
        try:
            return self._offered(session)
        except StoreUnusable:
            return []

    def _offered(self, session: str) -> list[Offer]:
        if not os.path.isdir(os.path.join(self.app_state.home, "data")):
            return [_HOLD]  # there was never a hold
        with self._opened() as controller:
            mine = _holds_of(controller, session)
        return [*([_HOLD] if _lacking(mine) else []), *([_RELEASE_ALL] if mine else [])]

    def log(self, limit: int) -> RetentionLog:
        """Return the newest entries."""
        with self._opened() as controller:
            log = controller.log(limit)
            total = controller.read().count()
        return RetentionLog(entries=[_entry(entry) for entry in log["entries"]], total=total)

    def do(self, id: str, session: str = "", why: str = "", until: float | None = None) -> OperationResult:
        """Run an operation that is offered, or hold a session; NotOffered for anything else."""
        word, _, rest = id.partition(" ")
        with self._changing() as controller:
            try:
                if word == HOLD and not rest:
                    return self._add_hold(controller, session, why, until)
                if word == RELEASE and rest:
                    return _done(self._released(controller, rest))
                if word == UNDO and rest in DOMAINS:
                    undone = controller.undo(domain=rest)
                    return _done(collection_views.unmarked(undone["unmarked"]))
            except (BadRequest, NothingThere) as error:
                return OperationResult(done=False, text=text.clean(error))
        raise NotOffered("that is not offered. GET /api/retention lists what is")

    def do_of_session(self, id: str, session: str, why: str) -> OperationResult | None:
        """Hold the data of a session in every domain that has no hold on it yet, or end all its holds. NotOffered where there is
        nothing to do; StoreUnusable where its holds cannot be read."""
        if id not in (HOLD, RELEASE):
            return None
        why = why or _WHY
        with self._changing() as controller:
            mine = _holds_of(controller, session)
            lacking = _lacking(mine)
            try:
                if id == HOLD and lacking:
                    return self._add_hold(controller, session, why, None, lacking)
                if id == RELEASE and mine:
                    return _done([line for hold in mine for line in self._released(controller, hold["id"])])
            except (BadRequest, NothingThere) as error:
                return OperationResult(done=False, text=text.clean(error))
        raise NotOffered("that is not offered now: the holds of the session have changed. Load it again")

    def _add_hold(
        self, controller: Controller, session: str, why: str, until: float | None, domains: Iterable[str] = DOMAINS
    ) -> OperationResult:
        if not why.strip():
            raise Problem(_NEEDS_WHY)
        if self.app_state.catalog.find(session) is None:
            raise NotFound(f"there is no such session: {_NEEDS_WHY}")
        who, now = login_name(self.app_state.environ), self.app_state.now()
        holds = [controller.add_hold(domain, SESSION, session, who, why, until) for domain in domains]
        return _done(hold_views.held(holds, now, "popkit retention"))

    def _released(self, controller: Controller, id: str) -> list[text.Line]:
        hold = controller.release_hold(id)
        return hold_views.released(hold, self.app_state.now())

    @contextmanager
    def _changing(self) -> Iterator[Controller]:
        with self.app_state.changing, self._opened() as controller:
            try:
                yield controller
            finally:
                self.app_state.changes += 1

    @contextmanager
    def _opened(self) -> Iterator[Controller]:
        try:
            with Controller(self.app_state.environ, USER, now=self.app_state.now) as controller:
                yield controller
        except GovernanceError as error:
            raise StoreUnusable(text.clean(error)) from None


def _whose(hold: HoldAnswer) -> str:
    """Return what a hold keeps, as in "applies to …"."""
    if hold["scope"] == ITEM:
        return f"{wording.THINGS[hold['domain']]} {text.clean(hold['target'])}"
    return f"this {hold['scope']}'s data"


def _holds_of(controller: Controller, session: str) -> list[ListedHold]:
    holds = controller.holds()
    return [hold for hold in holds["holds"] if hold["scope"] == SESSION and hold["target"] == session]


def _lacking(holds: Sequence[HoldAnswer]) -> list[str]:
    """Return the domains without any of these holds."""
    return [domain for domain in DOMAINS if domain not in {hold["domain"] for hold in holds}]


def _policy(part: PartStatus, status: StatusAnswer) -> RetentionPolicyShown:
    policy, counts, domain = part["policy"], part["counts"], part["domain"]
    own, requests = (sum(part["domain"] == domain for part in status[name]) for name in ("own", "requests"))
    words = ["nothing is stored yet"]
    if counts["total"]:
        words = [
            f"stored: {wording.counted(counts['total'], domain)}",
            f"may be deleted: {wording.eligible(counts['eligible'], part['left_out'])}",
        ]
        words += [f"protected: {reason.strip()}" for reason in wording.counts_by_reason(part["reasons"], policy["older_than_days"])]
    words += (
        [f"{units.counted(own, 'project')} with a policy of {'its' if own == 1 else 'their'} own: popkit retention show"] if own else []
    )
    words += [f"{units.counted(requests, 'request')} of agents waiting for your approval: popkit retention show"] if requests else []
    return RetentionPolicyShown(
        domain=domain,  # type: ignore[arg-type]  # the name of a domain
        revision=status["revision"],
        values={key: policy[key] for key in KEYS},
        said={key: wording.value(policy[key]) for key in KEYS},
        sentences=policy_views.sentences(policy, domain),
        words=words,
        eligible=counts["eligible"] + part["left_out"],
        marked=part["marked"],
        held=part["holds"],
    )


def _undo(part: PartStatus) -> Offer:
    marked = wording.counted(part["marked"], part["domain"])
    return Offer(id=f"{UNDO} {part['domain']}", label=_UNMARK[part["domain"]], sum=f"{marked} marked for deletion will be kept")


def _entry(entry: EntryAnswer) -> LogEntry:
    words = text.clean(log_views.entry_in_words(entry))
    return LogEntry(
        number=entry["number"],
        at=wording.seconds_of(entry["at"]),
        who=wording.named_actor(entry["by"]),
        action=entry["action"],
        domain=entry["domain"],
        words=words,
    )


def _done(lines: list[text.Line]) -> OperationResult:
    return OperationResult(done=True, text="\n".join(text.laid_out(lines, COLUMNS)))


def _mark(path: str) -> object:
    try:
        stat = os.lstat(path)
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size, _mark(path + "-wal") if not path.endswith("-wal") else ()
