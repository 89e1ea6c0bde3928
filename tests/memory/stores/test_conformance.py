"""Every store of ours keeps the contracts, and every contract can be broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.memory.stores import conformance, query_contracts
from popkit_retention.memory.stores.reference import InMemoryStore
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.memory.stores.faulty import FAULTY, Minimal, TellsNobody

CONTRACTS = conformance.contracts()
each_contract = pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)


@each_contract
def test_the_store_in_memory_keeps(contract: conformance.Contract) -> None:
    conformance.hold(contract, InMemoryStore)


@each_contract
def test_the_sqlite_store_keeps(contract: conformance.Contract, tmp_path: Path) -> None:
    path = str(tmp_path / "memory.sqlite")
    conformance.hold(contract, lambda: SqliteStore(path), lambda _: SqliteStore(path, busy_s=60))


@pytest.mark.parametrize(("contract", "store"), FAULTY, ids=lambda value: value.__name__)
def test_a_fault_is_caught_by(contract: conformance.Contract, store: type[InMemoryStore]) -> None:
    another = (lambda _: InMemoryStore()) if store is TellsNobody else None
    with pytest.raises(conformance.NotConforming, match=f"^contract {CONTRACTS.index(contract) + 1}: "):
        conformance.hold(contract, store, another)


def test_every_contract_can_be_broken() -> None:
    assert {contract for contract, _ in FAULTY} == set(CONTRACTS)


@each_contract
def test_a_store_that_does_nothing_does_not_keep(contract: conformance.Contract) -> None:
    if contract is query_contracts.a_sound_store_has_nothing_wrong:
        pytest.skip("it has nothing, and nothing wrong with it")
    with pytest.raises((conformance.NotConforming, AttributeError, OSError)):
        conformance.hold(contract, Minimal)


def test_the_suite_names_the_first_contract_that_is_broken() -> None:
    conformance.run_store_conformance(InMemoryStore)
    with pytest.raises(conformance.NotConforming, match=r"get: .* is not"):
        conformance.run_store_conformance(Minimal)
