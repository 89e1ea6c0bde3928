"""The conformance suite of stores: the contracts that a store of items, or one of vectors, must keep.

    run_store_conformance(MyStore)
    run_vector_store_conformance(MyVectorStore)

run them all; for a report on each, call `hold` for each of `contracts()`, `hold_vectors` for each of `vector_contracts()`. A contract's
docstring says what it demands.
"""

from __future__ import annotations

from . import changes, keeping, queries, vectors
from .checking import NotConforming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ..memory.stores.protocol import Store
    from ..memory.vectors.protocol import VectorStore
    from .checking import Contract, VectorContract

    AnyStore = TypeVar("AnyStore", Store, VectorStore)

__all__ = [
    "NotConforming",
    "contracts",
    "hold",
    "hold_vectors",
    "run_store_conformance",
    "run_vector_store_conformance",
    "vector_contracts",
]


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
    _hold(contract, contracts().index(contract) + 1, make_store(), another)


def vector_contracts() -> tuple[VectorContract, ...]:
    """Return all contracts of stores of vectors, in the order in which they are numbered."""
    return vectors.CONTRACTS


def run_vector_store_conformance(
    make_store: Callable[[], VectorStore], another: Callable[[VectorStore], VectorStore] | None = None
) -> None:
    """Hold a store of vectors to every contract: see `run_store_conformance`."""
    for contract in vector_contracts():
        hold_vectors(contract, make_store, another)


def hold_vectors(
    contract: VectorContract, make_store: Callable[[], VectorStore], another: Callable[[VectorStore], VectorStore] | None = None
) -> None:
    """Hold a fresh store of vectors to one contract."""
    _hold(contract, vector_contracts().index(contract) + 1, make_store(), another)


def _hold(contract: Callable[..., None], number: int, store: AnyStore, another: Callable[[AnyStore], AnyStore] | None) -> None:
    try:
        contract(store, lambda: store if another is None else another(store))
    except NotConforming as error:
        raise NotConforming(f"contract {number}: {contract.__doc__} {error}") from None
    finally:
        store.close()
