"""At which prices a session is replayed: those of a model that is named, else of the one that answered it."""

from __future__ import annotations

from functools import lru_cache

from hooks.utils.policy.economics import Prices, prices_of

from .tiers import shipped_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.policy.models import Models

    from .sessions import Session

# Where prices decide nothing.
ANY = Prices(0.1, 1.25, 5.0, 300, False)


@lru_cache(maxsize=1)
def _models() -> Models:
    return shipped_rules().models


def is_known(model: str) -> bool:
    """Whether the table of models names a model."""
    return _models().model(model).known


def dated() -> str:
    """The month that the prices are of."""
    return _models().dated


def prices_for(session: Session, ttl_s: float, model: str = "") -> Prices:
    """The Prices of a Session with a lifetime of the cache (seconds); one whose model nobody knows gets the most cautious ones."""
    return prices_of(_models().model(model or session.model), ttl_s)
