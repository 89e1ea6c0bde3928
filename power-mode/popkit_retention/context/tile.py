"""The tile of a session's assembled contexts: its newest snapshot, with the strategy in words."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Query

from popkit_retention.core.policy.masking import mask

from ..dashboard.failures import ASKING, failures
from ..dashboard.session_shapes import LayerRule, Strategy
from ..dashboard.shapes import NotFound, StoreUnusable
from ..dashboard.tile import Tile
from ..usage.budget_share import RANGES
from ..usage.tile import UsageTile
from .build_types import STRATEGIES, ContextStatus, PruningStrategy
from .history_cuts import DEPTHS
from .newest_snapshot import NoSnapshot, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..usage.records import Snapshot

_FILES = {"full": "whole", "summary": "their outlines", "none": "none"}


def strategy_of(snapshot: Snapshot) -> Strategy | None:
    """Return the strategy of a snapshot; None for an unknown range."""
    names = [strategy.budget_range for strategy in STRATEGIES]
    if snapshot.pruning_strategy.get("budgetRange") not in names:
        return None
    number = names.index(snapshot.pruning_strategy["budgetRange"])
    now, after = STRATEGIES[number], STRATEGIES[min(number + 1, len(STRATEGIES) - 1)]
    is_last = after is now
    pairs = zip(_rules(now), _rules(after))
    return Strategy(
        range=now.budget_range,
        used_percent=round(snapshot.budget_percent, 1),
        sent=snapshot.pruning_strategy.get("tier4Messages") or 0,
        next_range="" if is_last else after.budget_range,
        next_at_percent=None if is_last else 100 - RANGES[number][0],
        rules=[LayerRule(layer=layer, now=rule, next="" if is_last or rule == then else then) for (layer, rule), (_, then) in pairs],
    )


def _rules(strategy: PruningStrategy) -> list[tuple[str, str]]:
    """Return (layer, its rule) of each layer, in words."""
    memories = "all that matter" if strategy.tier2_items == "all" else f"at most {strategy.tier2_items}"
    return [
        ("tier1", "always whole"),
        ("tier2", memories),
        ("tier3", _FILES[strategy.tier3_mode]),
        ("tier4", _history(strategy.tier4_messages)),
    ]


def _history(exchanges: int) -> str:
    share = next(depth.spoken for depth in DEPTHS if depth.exchanges == exchanges)
    if exchanges == 0:
        return f"{share:.0%} of the conversation"
    if share >= 1.0:
        return "all but dead results"
    return f"{exchanges} newest exchanges, {share:.0%} in all"


class ContextTile(Tile):
    """The contexts that were assembled here."""

    def router(self) -> APIRouter:
        """Return the route of the newest snapshot."""
        router = APIRouter()

        @router.get(
            "/api/context/status", tags=["spending"], response_model=ContextStatus, responses=failures(*ASKING, 503),
            summary="The newest snapshot of a session",
        )  # fmt: skip
        def status(sessionId: Annotated[str, Query(min_length=1, max_length=400)]) -> ContextStatus:  # noqa: N803  the specification's name
            return self.status(sessionId)

        return router

    def strategy(self, session: str) -> Strategy | None:
        """Return the strategy of the newest context that was assembled for a session; None where no context was assembled."""
        with suppress(StoreUnusable), self.app_state.tile(UsageTile).opened_store() as store:
            newest = store.snapshots(session, 1) if store is not None else []
            return strategy_of(newest[0]) if newest else None
        return None

    def status(self, id: str) -> ContextStatus:
        """Return the newest snapshot of a session's assembled context; NotFound where there is no snapshot."""
        try:
            with self.app_state.tile(UsageTile).opened_store() as store:
                if store is None:
                    raise NotFound(f"no context of session {mask(id)!r:.100} was assembled here")
                return status_of(store, id)
        except NoSnapshot as error:
            raise NotFound(str(error)) from None
