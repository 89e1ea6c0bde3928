"""What every store must do, as contracts that a store proves itself by.

    run_store_conformance(MyStore)

runs them all; whoever wants a report for each walks through CONTRACTS. What a contract says is its docstring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .contracts import changes, finding, items, keeping
from .contracts.kit import NotConforming

if TYPE_CHECKING:
    from collections.abc import Callable

    from . import Store

    # A fresh store, and what gives one more over the same contents.
    Contract = Callable[[Store, Callable[[], Store]], None]

CONTRACTS: tuple[Contract, ...] = (*items.CONTRACTS, *changes.CONTRACTS, *finding.CONTRACTS, *keeping.CONTRACTS)


def run_store_conformance(make_store: Callable[[], Store], another: Callable[[Store], Store] | None = None) -> None:
    """Holds a store against every contract; NotConforming names the first one that it breaks. `make_store` gives a fresh, empty store each
    time; `another`, where the store can, one more connection to what such a store keeps, which may be used in another thread."""
    for contract in CONTRACTS:
        hold(contract, make_store, another)


def hold(contract: Contract, make_store: Callable[[], Store], another: Callable[[Store], Store] | None = None) -> None:
    """Holds a fresh store against one contract."""
    store = make_store()
    try:
        contract(store, lambda: store if another is None else another(store))
    except NotConforming as error:
        raise NotConforming(f"contract {CONTRACTS.index(contract) + 1}: {contract.__doc__} {error}") from None
    finally:
        store.close()


__all__ = ["CONTRACTS", "NotConforming", "hold", "run_store_conformance"]
