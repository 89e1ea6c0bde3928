"""Every store of vectors of ours keeps the contracts, and every contract can be broken; what is told where one cannot be used."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention import conformance
from popkit_retention.conformance.vectors import at
from popkit_retention.memory import SqliteStore, StoreUnavailable
from popkit_retention.vector_stores.in_memory import InMemoryVectorStore
from popkit_retention.vector_stores.pgvector import PgVectorStore
from popkit_retention.vector_stores.sqlite_vec import SqliteVecStore
from tests.context import postgresql
from tests.memory.vectors.conftest import Kind
from tests.memory.vectors.faulty import FAULTY
from tests.paths import PYTHONPATH
from tests.patience import HANG_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.conformance.checking import VectorContract

CONTRACTS = conformance.vector_contracts()


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_a_store_of_vectors_keeps(contract: VectorContract, kind: Kind) -> None:
    conformance.hold_vectors(contract, kind.make, kind.again)


def test_the_suite_runs_all_contracts() -> None:
    conformance.run_vector_store_conformance(InMemoryVectorStore)


@pytest.mark.parametrize(("contract", "store"), FAULTY, ids=lambda value: value.__name__)
def test_a_fault_of_a_store_of_vectors_is_caught(contract: VectorContract, store: type[InMemoryVectorStore]) -> None:
    fails_itself = store.__name__ in ("MissesWhatIsRemoved", "ClosesOnce")
    with pytest.raises((KeyError, RuntimeError) if fails_itself else conformance.NotConforming):
        conformance.hold_vectors(contract, store)


def test_a_broken_contract_is_named_by_its_number() -> None:
    contract, store = FAULTY[1]
    with pytest.raises(conformance.NotConforming, match=r"^contract 2: The nearest vectors come first"):
        conformance.hold_vectors(contract, store)


def test_every_contract_of_vectors_can_be_broken() -> None:
    assert {contract for contract, _ in FAULTY} == set(CONTRACTS)


def test_deleted_vectors_leave_no_bytes_in_the_file(sqlite_vec: Kind) -> None:
    with_blob = at("a", 33.3)
    store = sqlite_vec.make()
    store.put([with_blob, at("b", 50)])
    blob = store._db.execute("SELECT numbers FROM vectors WHERE id = 'a'").fetchone()[0]
    assert blob in Path(store.path).read_bytes()
    store.remove(["a"])
    assert blob not in Path(store.path).read_bytes()
    store.close()


def test_the_file_of_vectors_is_private_and_kept(sqlite_vec: Kind) -> None:
    store = sqlite_vec.make()
    store.put([at("a", 10, stamp="s")])
    store.close()
    assert Path(store.path).stat().st_mode & 0o777 == 0o600
    again = sqlite_vec.again(store)
    assert again.stamps() == {"a": "s"}
    again.close()
    with pytest.raises(StoreUnavailable, match=r"this store was closed\. Open another SqliteVecStore"):
        again.stamps()


def test_a_file_that_is_none_of_ours_is_refused(sqlite_vec: Kind, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, but a text that is long enough to be one" * 20)
    with pytest.raises(StoreUnavailable, match=r"text: SQLite says: file is not a database\. Delete it"):
        SqliteVecStore(tmp_path / "text")
    SqliteStore(tmp_path / "memory").close()
    with pytest.raises(StoreUnavailable, match=r"memory: it is another store's or program's\. Choose a path"):
        SqliteVecStore(tmp_path / "memory")
    with sqlite3.connect(tmp_path / "later") as later:
        later.execute("PRAGMA user_version = 99")
    later.close()
    with pytest.raises(StoreUnavailable, match=r"later: a later PopKit has made it"):
        SqliteVecStore(tmp_path / "later")


@pytest.mark.parametrize(
    ("missing", "says"),
    [("sqlite_vec", "pip install 'sqlite-vec>="), ("pysqlite3", "pip install pysqlite3-binary"), ("pg8000", "pip install 'pg8000>=")],
)
def test_what_is_missing_is_named_with_the_line_to_install(missing: str, says: str) -> None:
    """`sqlite3` is that of a Python without loadable extensions."""
    program = f"""
import sys, sqlite3
sys.modules[{missing!r}] = None
class Connection: pass
if {missing!r} == "pysqlite3": sqlite3.Connection = Connection
from popkit_retention.extras import ExtraMissing
from popkit_retention.memory import StoreUnavailable
from popkit_retention.vector_stores import PgVectorStore, SqliteVecStore
try:
    PgVectorStore("postgresql://a:b@127.0.0.1:1/c") if {missing!r} == "pg8000" else SqliteVecStore(":memory:")
except (StoreUnavailable, ExtraMissing) as error:
    print(error)
"""
    if missing == "sqlite_vec" and not hasattr(sqlite3.Connection, "enable_load_extension"):
        pytest.importorskip("pysqlite3")
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env={"PYTHONPATH": PYTHONPATH}, capture_output=True, text=True, check=True, timeout=HANG_S)
    assert says in done.stdout


@pytest.mark.parametrize(
    "address",
    ["", "sqlite:///x", "postgresql://host/db", "postgresql://me:s3cret@host", "postgresql://me:s3cret@host:port/db", "postgresql://[::1"],
)
def test_an_address_of_vectors_that_makes_no_sense_is_refused(address: str) -> None:
    with pytest.raises(StoreUnavailable, match="is not postgresql://user:password@host:port/database") as told:
        PgVectorStore(address)
    assert "s3cret" not in str(told.value)


def test_a_name_that_no_table_may_have_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be the name of the table"):
        PgVectorStore("postgresql://me:s3cret@host/db", 'a"; DROP')


def test_a_server_of_vectors_that_is_down_is_reported_without_the_password() -> None:
    pytest.importorskip("pg8000")
    with pytest.raises(StoreUnavailable, match=r"postgresql://127\.0\.0\.1:1/db cannot be used: ") as told:
        PgVectorStore("postgresql://me:s3cret@127.0.0.1:1/db")
    assert "s3cret" not in str(told.value)


@pytest.mark.server
def test_a_connection_that_the_server_has_dropped_is_made_again(pgvector: Kind, vector_server: postgresql.Server) -> None:
    store = pgvector.make()
    store.put([at("a", 10)])
    vector_server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'popkit'")
    assert list(store.stamps()) == ["a"]
    store.close()
    with pytest.raises(StoreUnavailable, match=r"this store was closed\. Open another PgVectorStore"):
        store.stamps()


@pytest.mark.server
def test_a_server_without_the_extension_says_what_to_install(request: pytest.FixtureRequest) -> None:
    programs = postgresql.debian.postgresql()
    if programs is None or programs == postgresql.with_vectors():
        pytest.skip("no PostgreSQL without the extension vector here")
    with postgresql.running(programs) as server:
        address = f"postgresql://{postgresql.USER}:{postgresql.PASSWORD}@127.0.0.1:{server.port}/postgres"
        with pytest.raises(StoreUnavailable, match=r"no extension vector\. Install pgvector there.*CREATE EXTENSION"):
            PgVectorStore(address)
