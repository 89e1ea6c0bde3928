"""Limits are known and what is kept is written without a call that waits for it, whatever becomes of the database."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pg8000
import pytest

from popkit_retention.context.usage_writer import Writer
from popkit_retention.usage import budgets
from popkit_retention.usage.budgets import Budgets, Limits
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.records import DAY_S, RequestUsage, Snapshot, Tokens
from popkit_retention.usage.usage_store import AT_ONCE, DatabaseUnavailable, UsageStore
from tests.context import postgresql
from tests.paths import PYTHONPATH
from tests.patience import HANG_S, until
from tests.usage.records import NOW, book, cut_off, put, snapshot, total, used

# --- limits ------------------------------------------------------------------------------------------------------------------------------


def _runs(code: str, environ: dict[str, str]) -> None:
    """Code in a process of its own, which must end well."""
    env = {**os.environ, **environ, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert done.returncode == 0, done.stderr


def test_of_several_limits_the_one_that_is_used_up_most_counts(store: UsageStore) -> None:
    book(store, used("1"), used("2", "t"))
    standings = budgets.standings(store, Limits(100, 1_000, 1.0, 2.0), "s", "alice", NOW)
    assert [(standing.scope, standing.unit, standing.used, standing.used_percent) for standing in standings] == [
        ("session", "tokens", 15, 15.0),
        ("session", "usd", 0.25, 25.0),
        ("month", "tokens", 30, 3.0),
        ("month", "usd", 0.5, 25.0),
    ]
    assert budgets.used_percent(standings) == 25.0


def test_the_month_before_counts_no_more(store: UsageStore) -> None:
    book(store, used("1", at=NOW - 40 * DAY_S), used("2"))
    (standing,) = budgets.standings(store, Limits(month_tokens=100), "s", "alice", NOW)
    assert standing.used == 15


def test_a_build_learns_how_much_is_used_and_asks_no_more_than_once_a_second(store: UsageStore) -> None:
    asked: list[float] = []
    now = [NOW]

    def ask() -> UsageStore:
        asked.append(now[0])
        return store

    limits = Budgets(lambda: Limits(session_tokens=100), ask, lambda: now[0])
    book(store, used("1"))
    until(lambda: limits.used_percent("s", "alice") == 15.0, "the first answer")
    assert [limits.used_percent("s", "alice") for _ in range(50)] == [15.0] * 50
    assert len(asked) == 1
    book(store, used("2"))
    now[0] += 2
    until(lambda: limits.used_percent("s", "alice") == 30.0, "the thread to ask again")


def test_a_clock_that_is_set_back_lets_a_standing_hold_no_longer(store: UsageStore) -> None:
    now = [NOW]
    found = Budgets(lambda: Limits(session_tokens=100), lambda: store, lambda: now[0])
    book(store, used("1"))
    until(lambda: found.used_percent("s", "alice") == 15.0, "the first answer")
    book(store, used("2"))
    now[0] -= 3_600
    until(lambda: found.used_percent("s", "alice") == 30.0, "the thread to ask again")


def test_without_limits_nobody_is_asked() -> None:
    def ask() -> UsageStore:
        raise AssertionError

    assert Budgets(Limits, ask).used_percent("s", "alice") is None


def test_an_error_that_nobody_expects_freezes_no_limit(store: UsageStore, caplog: pytest.LogCaptureFixture) -> None:
    broken = [True]

    def limits() -> Limits:
        if broken[0]:
            raise KeyError("session_tokens")
        return Limits(session_tokens=100)

    now = [NOW]
    found = Budgets(limits, lambda: store, lambda: now[0])
    assert found.used_percent("s", "alice") is None
    until(lambda: "KeyError" in caplog.text, "the thread to say so")
    broken[0] = False
    book(store, used("1"))
    now[0] += 2
    until(lambda: found.used_percent("s", "alice") == 15.0, "the thread to ask again")


def test_a_process_that_is_forked_off_while_limits_are_asked_for_asks_for_itself(environ: dict[str, str], store: UsageStore) -> None:
    book(store, used("1"))
    code = (
        "import os, threading, time\n"
        "from popkit_retention.usage.budgets import Budgets, Limits\n"
        "from popkit_retention.usage.configured_database import open_store\n"
        "asks, goes_on, parent = threading.Event(), threading.Event(), os.getpid()\n"
        "def limits():\n"
        "    if os.getpid() == parent: asks.set(), goes_on.wait()\n"
        "    return Limits(session_tokens=100)\n"
        "found = Budgets(limits, lambda: open_store(os.environ))\n"
        "threading.Thread(target=found.used_percent, args=('s', 'alice')).start(); asks.wait()\n"
        "child = os.fork()\n"
        "if child: goes_on.set(), os._exit(os.waitpid(child, 0)[1])\n"
        "while found.used_percent('s', 'alice') != 15.0: time.sleep(0.01)\n"
        "os._exit(0)\n"
    )
    _runs(code, environ)


# --- writing behind calls ----------------------------------------------------------------------------------------------------------------


def test_what_is_put_is_written_behind_the_call(environ: dict[str, str], store: UsageStore) -> None:
    writer = Writer(lambda: open_store(environ), 30, lambda: NOW)
    assert all(writer.put(snapshot(at=NOW + n)) and writer.put(used(str(n))) for n in range(450))
    assert writer.flush(HANG_S)
    writer.close()
    assert len(store.snapshots("s", 999)) == 450
    assert (total(store).requests, writer.lost) == (450, 0)


def test_counts_that_no_column_holds_are_booked_as_the_most_that_is(environ: dict[str, str], store: UsageStore) -> None:
    writer = Writer(lambda: open_store(environ), 30, lambda: NOW)
    writer.put(used("1", tokens=Tokens(2**70, -5, 0, 0, 1)))
    writer.put(used("2"))
    assert writer.flush(HANG_S)
    writer.close()
    booked = total(store)
    assert (booked.requests, booked.input_tokens, booked.cache_read_tokens) == (2, 10**12 + 1, 2)


def refuse_to_delete(store: UsageStore, patch: pytest.MonkeyPatch) -> None:
    """Lets the database fail where snapshots are removed, and nowhere else."""
    if store.shared:
        with store.writing() as db:
            db.change("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no''; END'")
            db.change("CREATE TRIGGER refused BEFORE DELETE ON context_snapshots EXECUTE FUNCTION refuse()")
        return

    def refused(*_: object) -> int:
        raise DatabaseUnavailable("no")

    patch.setattr(UsageStore, "sweep_some", refused)


def test_if_old_rows_cannot_be_removed_all_is_written_once_and_later_rows_too(
    environ: dict[str, str], store: UsageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, snapshot("old", NOW - 99 * DAY_S))
    refuse_to_delete(store, monkeypatch)
    writer = Writer(lambda: open_store(environ), 30, lambda: NOW)
    for number in range(3):
        writer.put(snapshot(at=NOW + number))
        writer.put(used(str(number)))
        assert writer.flush(HANG_S)
    writer.close()
    assert len(store.snapshots("s", 99)) == 3
    assert (total(store).requests, writer.lost) == (3, 0)


def test_a_snapshot_that_is_written_already_keeps_nothing_from_being_written(environ: dict[str, str], store: UsageStore) -> None:
    again = snapshot()
    put(store, again)
    writer = Writer(lambda: open_store(environ), 30, lambda: NOW)
    writer.put(again)
    writer.put(used("1"))
    assert writer.flush(HANG_S)
    writer.close()
    assert store.snapshots("s", 99) == [again]
    assert (total(store).requests, writer.lost) == (1, 0)


NEVER_WRITTEN = {
    "no number": (snapshot()._replace(total_tokens=None), "left out"),  # type: ignore[arg-type]
    "no time": (snapshot()._replace(created_at=1e300), "left out"),
    "no text": (used("2", session=None), "TypeError"),  # type: ignore[arg-type]  what a caller gives, who checks no types
}


@pytest.mark.parametrize(("wrong", "logged"), NEVER_WRITTEN.values(), ids=NEVER_WRITTEN)
def test_what_the_database_will_never_take_is_left_out_and_counted(
    environ: dict[str, str], store: UsageStore, wrong: Snapshot | RequestUsage, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    writer = Writer(lambda: open_store(environ), 30, lambda: NOW)
    writer.put(wrong)
    assert writer.flush(HANG_S)
    writer.put(used("1"))
    assert writer.flush(HANG_S)
    writer.close()
    assert (total(store).requests, writer.lost) == (1, 1)
    assert logged in caplog.text


def test_a_writer_removes_what_is_old_until_nothing_of_it_is_left(environ: dict[str, str], store: UsageStore) -> None:
    put(store, *[snapshot("old", NOW - 99 * DAY_S) for _ in range(2 * AT_ONCE + 1)])
    writer = Writer(lambda: open_store(environ), 30, lambda: NOW)
    writer.put(snapshot())

    def left() -> int:
        return len(store.snapshots("old", 9_999))

    until(lambda: not left(), "the writer to remove all")
    writer.close()


def test_several_writers_at_once_lose_nothing(environ: dict[str, str], store: UsageStore) -> None:
    def write(number: int) -> int:
        writer = Writer(lambda: open_store(environ), 30, lambda: NOW)
        for n in range(100):
            writer.put(used(f"{number}-{n}"))
        assert writer.flush(HANG_S)
        writer.close()
        return writer.lost

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(8))) == 0
    assert total(store).requests == 800


def test_what_is_waiting_is_written_at_the_end_of_the_process(environ: dict[str, str], store: UsageStore) -> None:
    code = (
        "import os; from tests.usage.records import NOW, used; from popkit_retention.context.usage_writer import Writer; "
        "from popkit_retention.usage.configured_database import open_store\n"
        "Writer.close.__defaults__ = (1200.0,)\n"  # the machine may be busy
        "writer = Writer(lambda: open_store(os.environ), 30, lambda: NOW); writer.put(used('1')); writer.put(used('2'))"
    )
    env = {**os.environ, **environ, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert total(store).requests == 2


def test_a_process_that_is_forked_off_writes_with_a_connection_of_its_own(environ: dict[str, str], store: UsageStore) -> None:
    code = (
        "import os; from tests.usage.records import NOW, used; from popkit_retention.context.usage_writer import Writer\n"
        "from popkit_retention.usage.configured_database import open_store\n"
        "writer = Writer(lambda: open_store(os.environ), 30, lambda: NOW); writer.put(used('parent')); assert writer.flush(1200)\n"
        "child = os.fork()\n"
        "writer.put(used('again' if child else 'child')); assert writer.flush(1200); writer.close()\n"
        "if child: os.waitpid(child, 0)\n"
    )
    _runs(code, environ)
    assert total(store).requests == 3


def test_a_database_that_cannot_be_reached_delays_nobody_and_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> UsageStore:
        raise DatabaseUnavailable("it is down")

    writer = Writer(fail, 30)
    for n in range(10_500):
        writer.put(used(str(n)))
    writer.close(0.1)
    assert writer.lost >= 500
    assert len([record for record in caplog.records if "popkit budget" in record.getMessage()]) == 1
    assert not writer.put(used("afterwards"))


@cut_off
def test_a_server_that_comes_back_gets_what_was_waiting(server: postgresql.Server, tmp_path: Path) -> None:
    name = server.new_database()
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(name)}
    down = [True]

    def open_it() -> UsageStore:
        if down[0]:
            raise DatabaseUnavailable("it is down")
        return open_store(environ)

    writer = Writer(open_it, 30, lambda: NOW)
    writer.put(used("1"))
    assert not writer.flush(0.1)
    down[0] = False
    assert writer.flush(HANG_S)
    server.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")  # noqa: S608  our own name
    writer.put(used("2"))
    assert writer.flush(HANG_S)
    writer.close()
    assert server.ask("SELECT count(*) FROM context_usage", name)[0][0] == 2
    assert writer.lost == 0


def recreate_schema(server: postgresql.Server, name: str) -> None:
    for statement in ("DROP SCHEMA public CASCADE", "CREATE SCHEMA public"):
        server.ask(statement, name)


@cut_off
def test_limits_are_asked_of_a_database_that_was_set_up_again(server: postgresql.Server, tmp_path: Path) -> None:
    name = server.new_database()
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(name)}
    with open_store(environ) as store:
        book(store, used("1"))
    found = Budgets(lambda: Limits(session_tokens=100), lambda: open_store(environ), itertools.count(NOW).__next__)
    until(lambda: found.used_percent("s", "alice") == 15.0, "what is used")
    recreate_schema(server, name)
    until(lambda: found.used_percent("s", "alice") == 0.0, "what is used since")
    found.close()


@cut_off
def test_what_waits_for_a_database_that_is_set_up_again_finds_its_tables_made(server: postgresql.Server, tmp_path: Path) -> None:
    name = server.new_database()
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(name)}
    writer = Writer(lambda: open_store(environ), 30, lambda: NOW)
    writer.put(used("1"))
    assert writer.flush(HANG_S)
    recreate_schema(server, name)
    writer.put(used("2"))
    assert writer.flush(HANG_S)
    writer.close()
    assert server.ask("SELECT count(*) FROM context_usage", name)[0][0] == 1
    assert writer.lost == 0


@cut_off
def test_a_server_that_dies_in_the_middle_of_a_statement_gets_all_of_it_once(server: postgresql.Server, tmp_path: Path) -> None:
    name = server.new_database()
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(name)}
    server.ask(f"ALTER DATABASE {name} SET synchronous_commit = on")  # what it says is written outlives it
    open_store(environ).close()
    other = server.connect(name)
    other.autocommit = False
    other.cursor().execute("LOCK TABLE context_usage")
    writer = Writer(lambda: open_store(environ), 30, lambda: NOW)
    assert all(writer.put(snapshot(at=NOW + number)) and writer.put(used(str(number))) for number in range(450))
    server.crash(name)
    assert writer.flush(HANG_S)
    writer.close()
    with suppress(pg8000.Error):
        other.close()
    counts = "SELECT (SELECT count(*) FROM context_snapshots), (SELECT count(*) FROM context_usage)"
    assert tuple(server.ask(counts, name)[0]) == (450, 450)
    assert writer.lost == 0


def test_while_a_database_is_known_to_refuse_no_other_session_waits_for_it() -> None:
    began, goes_on = threading.Event(), threading.Event()

    def ask() -> UsageStore:
        if began.is_set():
            goes_on.wait()
        began.set()
        raise DatabaseUnavailable("it refuses")

    found = Budgets(lambda: Limits(session_tokens=100), ask)
    assert found.used_percent("first", "alice") is None
    answered = threading.Thread(target=found.used_percent, args=("second", "alice"), daemon=True)
    answered.start()
    answered.join(HANG_S)
    assert not answered.is_alive(), "though nobody answers"
    assert not goes_on.is_set()
    goes_on.set()


def test_a_session_of_the_same_name_of_somebody_else_uses_nothing_up(store: UsageStore) -> None:
    book(store, used("1"))
    found = Budgets(lambda: Limits(session_tokens=100), lambda: store)
    until(lambda: found.used_percent("s", "alice") == 15.0, "the first answer")
    until(lambda: found.used_percent("s", "bob") == 0.0, "the answer to another user")
