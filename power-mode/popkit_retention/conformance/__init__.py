"""The conformance suite of stores: the contracts that a store must keep.

    run_store_conformance(MyStore)

runs them all; for a report on each, call `hold` for each of `contracts()`. A contract's docstring says what it demands.
"""

from __future__ import annotations

from . import changes, keeping, queries
from .checking import NotConforming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..memory.stores.protocol import Store
    from .checking import Contract

__all__ = ["NotConforming", "contracts", "hold", "run_store_conformance"]


def contracts() -> tuple[Contract, ...]:
    """Return all contracts, in the order in which they are numbered."""
    return (*keeping.CONTRACTS, *changes.CONTRACTS, *queries.CONTRACTS)


def run_store_conformance(make_store: Callable[[], Store], another: Callable[[Store], Store] | None = None) -> None:
    """Hold a store to every contract. Raise NotConforming, which names the first one that it breaks. `make_store` returns a fresh, empty
    store each time; `another`, where the store can, one more connection to the same contents, which may be used in another thread."""
    for contract in contracts():
        hold(contract, make_store, another)


def hold(contract: Contract, make_store: Callable[[], Store], another: Callable[[Store], Store] | None = None) -> None:
    """Hold a fresh store to one contract."""
    store = make_store()
    try:
        contract(store, lambda: store if another is None else another(store))
    except NotConforming as error:
        raise NotConforming(f"contract {contracts().index(contract) + 1}: {contract.__doc__} {error}") from None
    finally:
        store.close()
