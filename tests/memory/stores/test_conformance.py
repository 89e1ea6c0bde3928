"""Every store of ours keeps the contracts, and every contract can be broken; which store a setting means, and what is told of a Neo4j
that cannot be used, or of its driver."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention import conformance
from popkit_retention.conformance import queries
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.opening import open_store
from popkit_retention.memory.stores.servers.neo4j import Neo4jStore
from popkit_retention.memory.stores.servers.neo4j_schema import complaint_about, explained, parts_of, query_of, shelf_of
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.memory.stores.faulty import FAULTY, Minimal, TellsNobody
from tests.memory.stores.refusing import refused
from tests.paths import PYTHONPATH
from tests.patience import HANG_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.conformance.checking import Contract

CONTRACTS = conformance.contracts()
each_contract = pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)


@each_contract
def test_the_store_in_memory_keeps(contract: Contract) -> None:
    conformance.hold(contract, InMemoryStore)


@each_contract
def test_the_sqlite_store_keeps(contract: Contract, tmp_path: Path) -> None:
    path = str(tmp_path / "memory.sqlite")
    conformance.hold(contract, lambda: SqliteStore(path), lambda _: SqliteStore(path, busy_s=60))


@pytest.mark.parametrize(("contract", "store"), FAULTY, ids=lambda value: value.__name__)
def test_a_fault_is_caught_by(contract: Contract, store: type[InMemoryStore]) -> None:
    another = (lambda _: InMemoryStore()) if store is TellsNobody else None
    with pytest.raises(conformance.NotConforming, match=f"^contract {CONTRACTS.index(contract) + 1}: "):
        conformance.hold(contract, store, another)


def test_every_contract_can_be_broken() -> None:
    assert {contract for contract, _ in FAULTY} == set(CONTRACTS)


@each_contract
def test_a_store_that_does_nothing_does_not_keep(contract: Contract) -> None:
    if contract is queries.a_sound_store_has_nothing_wrong:
        pytest.skip("it has nothing, and nothing wrong with it")
    with pytest.raises((conformance.NotConforming, AttributeError, OSError)):
        conformance.hold(contract, Minimal)


def test_the_suite_names_the_first_contract_that_is_broken() -> None:
    conformance.run_store_conformance(InMemoryStore)
    with pytest.raises(conformance.NotConforming, match=r"get: .* is not"):
        conformance.run_store_conformance(Minimal)


# --- opening ------------------------------------------------------------------------------------------------------------------------------

OPEN = "from popkit_retention.memory.stores.opening import open_store; open_store('neo4j://127.0.0.1:1', {'POPKIT_HOME': "


def test_by_default_it_is_a_file_in_our_folder(tmp_path: Path) -> None:
    home = tmp_path / "popkit"
    with closing(open_store("", {"POPKIT_HOME": str(home)})) as store:
        assert isinstance(store, SqliteStore)
        assert store.path == str(home / "memory.sqlite")
    assert (home / "memory.sqlite").exists()


def test_a_path_is_a_file_there(tmp_path: Path) -> None:
    for where in (str(tmp_path / "mine.sqlite"), "~/ours.sqlite"):
        open_store(where, {"HOME": str(tmp_path)}).close()
    assert {path.name for path in tmp_path.iterdir()} == {"mine.sqlite", "ours.sqlite"}


@pytest.mark.parametrize("where", ["memory.sqlite", "./x", "mysql://host", "http://localhost:7474", "/a\0b", " neo4j://x"])
def test_anything_else_is_refused(where: str, tmp_path: Path) -> None:
    refused(lambda: open_store(where, {"HOME": str(tmp_path)}), "memory.store")
    assert list(tmp_path.iterdir()) == []


def test_where_no_home_is_known_it_says_so() -> None:
    refused(lambda: open_store("", {"POPKIT_HOME": "relative"}), "POPKIT_HOME")


def test_a_file_that_is_not_to_be_made_is_missed(tmp_path: Path) -> None:
    refused(lambda: open_store("", {"POPKIT_HOME": str(tmp_path)}, create=False), "does not exist yet", "popkit memory admin learn")


def test_a_password_in_the_address_is_refused_and_not_shown() -> None:
    message = refused(lambda: open_store("neo4j://neo4j:s3cret@host:7687", {}), "NEO4J_PASSWORD")
    assert "s3cret" not in message


def test_without_the_driver_it_says_how_to_get_it(tmp_path: Path) -> None:
    code = f"{OPEN}{str(tmp_path)!r}}})"
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-S", "-c", code], env=environ, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert "StoreUnavailable" in done.stderr
    assert "popkit setup neo4j" in done.stderr


def test_the_driver_that_was_set_up_is_found_where_python_does_not_look(tmp_path: Path) -> None:
    pytest.importorskip("neo4j")
    packages = tmp_path / "venv" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    packages.parent.mkdir(parents=True)
    packages.symlink_to(Path(sys.modules["neo4j"].__file__ or "").parents[1])
    code = f"{OPEN}{str(tmp_path)!r}}})"
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-S", "-c", code], env=environ, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert "cannot be reached" in done.stderr


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"bolt://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"bolt://127.0.0.1:{server.getsockname()[1]}"


def test_a_server_that_is_down_or_says_nothing_is_given_up_on(silent: str, closed: str) -> None:
    pytest.importorskip("neo4j")
    for url in (silent, closed, "neo4j://127.0.0.1:1"):
        refused(lambda url=url: Neo4jStore(url, {}, connect_s=0.2, try_s=0.2), url, "cannot be reached", "memory.store")  # type: ignore[misc]


def test_an_address_that_makes_no_sense_is_refused() -> None:
    pytest.importorskip("neo4j")
    for url in ("bolt://", "bolt://host:port", "bolt://[::1", "neo4j+s://127.0.0.1:1?policy=\ud800"):
        refused(lambda url=url: Neo4jStore(url, {}, connect_s=0.2, try_s=0.2))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("version", "fits"),
    [("5.26.30", True), ("2025.09.0", True), ("4.4.40", False), ("3.5", False), ("", False), ("next", False), ("².1", False)],
)
def test_a_server_of_another_version_is_reported(version: str, fits: bool) -> None:
    complaint = complaint_about("Neo4j Kernel", [version] if version else [])
    assert bool(complaint) is not fits
    if not fits:
        assert "5 or later" in complaint


@pytest.mark.parametrize(
    ("kind", "code", "advice"),
    [
        ("AuthError", "Neo.ClientError.Security.Unauthorized", "NEO4J_PASSWORD"),
        ("ClientError", "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase", "Make it writable"),
        ("ForbiddenOnReadOnlyDatabase", "", "Make it writable"),
        ("TransientError", "Neo.TransientError.Transaction.DeadlockDetected", "took too long"),
        ("ClientError", "Neo.ClientError.Transaction.TransactionTimedOut", "took too long"),
        ("ServiceUnavailable", "", "cannot be reached"),
        ("ClientError", "Neo.ClientError.Statement.SyntaxError", "it cannot do that (the first line)"),
    ],
)
def test_what_the_driver_raises_becomes_advice(kind: str, code: str, advice: str) -> None:
    assert advice in explained(kind, code, "the first line\nthe second")


def test_a_time_is_kept_to_the_last_bit() -> None:
    for seconds in (0.0, 0.5, 1_790_000_000.123456, 1_790_000_000.999_999_9, 4_102_444_799.999_999_5):
        whole, nanoseconds = parts_of(seconds)
        assert 0 <= nanoseconds < 1_000_000_000
        assert (whole * 1_000_000_000 + nanoseconds) / 1_000_000_000 == seconds


def test_terms_are_quoted_for_lucene() -> None:
    assert query_of(['a"b\\', "", " ", "x"], None) == 'terms:"a\\"b\\\\" terms:"x"'
    assert query_of(["x"], "p q") == f'+shelf:{shelf_of("p q")} +(terms:"x")'
    assert query_of([""], "p") == ""
