"""SQLite and PostgreSQL store snapshots and usage in the same way."""

from __future__ import annotations

import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pg8000.native
import pytest

from popkit_retention.context.newest_snapshot import NoSnapshot, get_context_status
from popkit_retention.core.io.system import day_of
from popkit_retention.usage import configured_database, postgres
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.records import CLIENT, DAY_S, TRANSCRIPT, Sum, Tokens, request_id
from popkit_retention.usage.usage_store import (
    MOST_OF_A_SESSION,
    SNAPSHOTS,
    USAGE,
    DatabaseTooNew,
    DatabaseUnavailable,
    NotWritable,
    UsageStore,
)
from tests.context import postgresql
from tests.kit.forks import Forks
from tests.patience import HANG_S, until
from tests.usage.homes import all_open
from tests.usage.records import NOW, STRATEGY, book, cut_off, put, rows, snapshot, total, used

SPECIFIED = {"idx_context_snapshots_session", "idx_context_snapshots_user", "idx_context_snapshots_created"}
MADE = SPECIFIED | {"idx_context_snapshots_newest"}


# --- tables ------------------------------------------------------------------------------------------------------------------------------


def test_both_have_the_same_columns_and_the_specifications_indexes(store: UsageStore) -> None:
    with store.reading() as db:
        for table, columns in (("context_snapshots", SNAPSHOTS), ("context_usage", USAGE)):
            if store.shared:
                found = db.ask("SELECT column_name, is_nullable FROM information_schema.columns WHERE table_name = :table", table=table)
                named = db.ask("SELECT indexname FROM pg_indexes WHERE tablename = :table", table=table)
                optional = {name for name, word in found if word == "YES"}
            else:
                found = db.ask('SELECT name, "notnull" FROM pragma_table_info(:table)', table=table)
                named = db.ask("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = :table", table=table)
                optional = {name for name, needed in found if not needed}
            assert {name for name, _ in found} == set(columns)
            assert optional == ({"usd"} if table == "context_usage" else set())
            indexes = {name for (name,) in named if name.startswith("idx_")}
            assert indexes == (MADE if table == "context_snapshots" else {f"idx_context_usage_{of}" for of in ("session", "user", "day")})


def test_a_file_that_is_damaged_is_left_alone_and_the_message_says_what_to_do(tmp_path: Path) -> None:
    damaged = tmp_path / "usage.sqlite"
    damaged.write_bytes(b"no database " * 500)
    with pytest.raises(DatabaseUnavailable, match=f"{damaged}: file is not a database. Move it away, and usage is read from"):
        open_store({"POPKIT_HOME": str(tmp_path)})
    assert damaged.read_bytes() == b"no database " * 500


def test_the_columns_of_the_specification_have_its_types(server: postgresql.Server, tmp_path: Path) -> None:
    name = server.new_database()
    open_store({"POPKIT_HOME": str(tmp_path), **server.environ(name)}).close()
    columns = "FROM information_schema.columns WHERE table_name = 'context_snapshots'"
    asked = f"SELECT column_name, data_type, is_nullable {columns} ORDER BY ordinal_position"
    types = {row[0]: (row[1], row[2]) for row in server.ask(asked, name)}
    assert {key: types[key] for key in list(types)[:8]} == {
        "id": ("uuid", "NO"),
        "session_id": ("text", "NO"),
        "user_id": ("text", "NO"),
        "tier_breakdown": ("jsonb", "NO"),
        "total_tokens": ("integer", "NO"),
        "budget_percent": ("numeric", "NO"),
        "pruning_strategy": ("jsonb", "NO"),
        "created_at": ("timestamp with time zone", "NO"),
    }
    defaults = f"SELECT column_name, column_default {columns} AND column_default IS NOT NULL"
    assert dict(server.ask(defaults, name)) == {"id": "gen_random_uuid()", "created_at": "now()"}


def test_processes_that_open_it_at_once_make_the_tables_once(forks: Forks, unopened: dict[str, str]) -> None:
    all_open(forks, unopened)


def test_tables_that_another_process_makes_while_one_looks_for_them_are_ours(
    server: postgresql.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(server.new_database())}
    looked: list[str] = []
    run = pg8000.native.Connection.run

    def makes_them(self: pg8000.native.Connection, statement: str, **values: object) -> object:
        result = run(self, statement, **values)
        if not looked and "pg_class" in statement:
            looked.append(statement)
            open_store(environ).close()
        return result

    monkeypatch.setattr(pg8000.native.Connection, "run", makes_them)
    with open_store(environ) as store:
        assert looked
        assert total(store).requests == 0


def test_the_maker_of_a_server_s_tables_is_waited_for_longer_than_other_answers(
    server: postgresql.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_try_advisory%' AND state = 'idle in transaction'"
    name = server.new_database()
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(name)}
    maker = server.connect(name)
    maker.cursor().execute(f"SELECT pg_advisory_lock({postgres.LOCK})")
    monkeypatch.setattr(postgres, "MIGRATION_S", 0.0)
    with pytest.raises(DatabaseUnavailable, match="another process has been creating the tables for 0 s"):
        open_store(environ)
    monkeypatch.setattr(postgres, "MIGRATION_S", HANG_S)
    with ThreadPoolExecutor(1) as others:
        opened = others.submit(open_store, environ)
        until(lambda: server.ask(asking, name), "it to be asked for")
        maker.close()
        with opened.result() as store:
            assert total(store).requests == 0


def test_tables_of_a_later_version_are_refused_and_left_alone(environ: dict[str, str]) -> None:
    with open_store(environ) as store, store.writing() as db:
        db.change(f"UPDATE {postgres.VERSION_TABLE} SET version_num = '0099'" if store.shared else "PRAGMA user_version = 99")  # noqa: S608  our own
    with pytest.raises(DatabaseTooNew, match="Update PopKit"):
        open_store(environ)


def test_a_table_of_that_name_that_is_not_ours_is_refused(server: postgresql.Server, tmp_path: Path) -> None:
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(server.new_database())}
    with open_store(environ) as store, store.writing() as db:
        db.change(f"DROP TABLE {postgres.VERSION_TABLE}")
    with pytest.raises(DatabaseUnavailable, match="Name another database"):
        open_store(environ)


def test_looking_at_a_database_that_nobody_has_made_makes_nothing(unopened: dict[str, str]) -> None:
    words = configured_database.check_usable(unopened)
    with pytest.raises(FileNotFoundError):
        open_store(unopened, create=False)
    assert not (Path(unopened["POPKIT_HOME"]) / "usage.sqlite").exists()
    with open_store(unopened), open_store(unopened, create=False) as store:
        assert total(store).requests == 0
        assert store.words == words


def test_a_transaction_that_fails_leaves_nothing(store: UsageStore) -> None:
    def fail() -> None:
        with store.writing() as db:
            store.record(db, [used("1")])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert total(store).requests == 0


def test_what_cannot_be_written_leaves_nothing_of_what_was_to_be_written_with_it(store: UsageStore) -> None:
    for wrong in (snapshot()._replace(total_tokens=None), snapshot()._replace(created_at=1e300)):  # type: ignore[arg-type]
        with pytest.raises(NotWritable):
            store.write([used("1")], [snapshot(), wrong])
    assert rows(store) == [0, 0]


@cut_off
def test_a_connection_that_the_server_has_dropped_is_opened_again(server: postgresql.Server, tmp_path: Path) -> None:
    name = server.new_database()
    with open_store({"POPKIT_HOME": str(tmp_path), **server.environ(name)}) as store:
        for number in range(2):
            server.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")  # noqa: S608  our own name
            book(store, used(str(number)))
        assert total(store).requests == 2


# --- snapshots ---------------------------------------------------------------------------------------------------------------------------


def test_the_newest_snapshot_comes_back_as_it_was_written(store: UsageStore) -> None:
    newer = snapshot(at=NOW + 1.25)
    put(store, newer, snapshot(), snapshot("other", NOW + 9))
    assert store.snapshots("s", 1) == [newer]
    assert [stored.created_at for stored in store.snapshots("s", 9)] == [NOW + 1.25, NOW]


def test_status_is_the_newest_snapshot_in_the_words_of_the_specification(environ: dict[str, str], store: UsageStore) -> None:
    put(store, snapshot(tokens=40, used=25.5))
    status = get_context_status("s", environ).model_dump(by_alias=True)
    assert status["sessionId"] == "s"
    assert (status["budgetPercent"], status["budgetRemainingPercent"], status["tierBreakdown"]["total"]) == (25.5, 74.5, 40)
    assert status["currentContext"]["pruningStrategy"] == STRATEGY
    assert (status["currentContext"]["totalTokens"], status["currentContext"]["fullTokens"]) == (40, 80)
    assert status["lastUpdated"] == time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(NOW))


def test_a_session_without_a_snapshot_has_no_status(environ: dict[str, str], store: UsageStore) -> None:
    with pytest.raises(NoSnapshot, match="'nobody'"):
        get_context_status("nobody", environ)
    with pytest.raises(ValueError, match="name a session"):
        get_context_status("", environ)


def test_asking_for_a_status_makes_no_database(tmp_path: Path) -> None:
    with pytest.raises(NoSnapshot):
        get_context_status("s", {"POPKIT_HOME": str(tmp_path)})
    assert not (tmp_path / "usage.sqlite").exists()


def test_old_snapshots_go_a_few_at_a_time(store: UsageStore) -> None:
    put(store, *[snapshot(at=NOW - n * DAY_S) for n in range(10)])
    assert store.sweep_some(NOW, 4, [], most=3) == 3
    assert store.sweep_some(NOW, 4, [], most=3) == 2
    assert len(store.snapshots("s", 99)) == 5


def test_of_a_long_session_the_newest_snapshots_stay(store: UsageStore) -> None:
    most = MOST_OF_A_SESSION
    put(store, *[snapshot(at=NOW + n) for n in range(most + 3)], snapshot("other"))
    assert store.sweep_some(NOW, 30, ["s", "other"], 500) == 3
    assert min(stored.created_at for stored in store.snapshots("s", most)) == NOW + 3


def test_names_from_outside_are_stored_cut_masked_and_free_of_invalid_characters(store: UsageStore) -> None:
    """Of characters that no database holds."""
    hostile = "a\0b\ud800" + "x" * 5_000
    secret = "sk-ant-api03-" + "a" * 40
    book(store, used("1", hostile, user=secret))
    assert total(store, hostile).requests == 1
    (user,) = store.users()
    assert "a" * 40 not in user


# --- usage -------------------------------------------------------------------------------------------------------------------------------


def test_a_request_is_booked_once_however_often_it_is_recorded(store: UsageStore) -> None:
    book(store, used("1"), used("1"))
    book(store, used("1"), used("2"))
    assert total(store) == Sum(2, 2, 4, 14, 10, 0.5, 0)


def test_a_request_recorded_before_its_answer_was_complete_counts_as_completed(store: UsageStore) -> None:
    book(store, used("1", tokens=Tokens(1, 0, 0, 0, 1), usd=0.1))
    book(store, used("1", tokens=Tokens(1, 0, 0, 0, 50), usd=0.2))
    book(store, used("1", tokens=Tokens(1, 0, 0, 0, 1), usd=0.1))
    assert total(store) == Sum(1, 1, 0, 0, 50, 0.2, 0)


def test_the_same_id_of_another_source_is_another_request(store: UsageStore) -> None:
    book(store, used("1", source="another"), used("1", source=TRANSCRIPT))
    assert total(store).requests == 2


def test_a_request_told_by_client_and_transcript_is_booked_once_as_the_client_says(store: UsageStore) -> None:
    ours, theirs = used("msg_1", source=CLIENT, user="dana"), used("msg_1", source=TRANSCRIPT, user="alice")
    for first, second in ((ours, theirs), (theirs, ours)):
        book(store, first)
        book(store, second)
        assert store.users() == ["dana"]
        assert total(store).requests == 1
        book(store, theirs, used("msg_2", source=TRANSCRIPT, user="dana"), used("msg_2", source=CLIENT, user="dana"))
        assert total(store).requests == 2
        with store.writing() as db:
            db.change("DELETE FROM context_usage")


def test_an_answer_is_booked_by_its_own_id_where_that_can_be_told_from_others() -> None:
    assert request_id("msg_01ABCDEFGHIJKLMNOPQRSTUV") == "msg_01ABCDEFGHIJKLMNOPQRSTUV"
    assert request_id("chatcmpl-7") != request_id("chatcmpl-7") != ""


def test_a_request_whose_price_nobody_knows_counts_its_tokens_and_says_so(store: UsageStore) -> None:
    book(store, used("1", usd=None), used("2", usd=0.5))
    assert (total(store).usd, total(store).unpriced, total(store).tokens) == (0.5, 1, 30)


def test_sums_by_day_user_and_session(store: UsageStore) -> None:
    book(store, used("1"), used("2", at=NOW - DAY_S), used("3", "t", NOW - 2 * DAY_S, user="bob"), used("4", "t", user="bob"))
    days = store.by_day(day_of(NOW - DAY_S))
    assert [(day, total.requests) for day, total in days] == [(day_of(NOW - DAY_S), 1), (day_of(NOW), 2)]
    assert [total.requests for _, total in store.by_day("", "bob")] == [1, 1]
    assert store.of_user("bob", day_of(NOW)).requests == 1
    assert store.users() == ["alice", "bob"]
    assert {row.session_id: (row.user_id, row.used.requests) for row in store.by_session()} == {
        "s": ("alice", 2),
        "t": ("bob", 2),
    }


# --- what is old -------------------------------------------------------------------------------------------------------------------------


def test_what_is_old_goes_until_nothing_of_it_is_left(store: UsageStore) -> None:
    put(store, *[snapshot(at=NOW - n * DAY_S) for n in range(10)])
    book(store, *[used(str(n), at=NOW - n * DAY_S) for n in range(396, 406)])
    assert store.sweep(NOW, 4, at_once=2)
    assert len(store.snapshots("s", 99)) == 5
    assert total(store).requests == 5


def test_usage_of_a_year_and_of_the_month_before_it_is_kept(store: UsageStore) -> None:
    book(store, used("1", at=NOW - 396 * DAY_S))
    store.sweep(NOW, 1)
    assert total(store).requests == 1


def test_who_has_something_else_to_do_stops_and_goes_on_later(store: UsageStore) -> None:
    put(store, *[snapshot(at=NOW - n * DAY_S) for n in range(10)])
    assert not store.sweep(NOW, 4, goes_on=lambda: False, at_once=2)
    assert len(store.snapshots("s", 99)) == 8


# --- a file is ours alone, a server's password nobody's ----------------------------------------------------------------------------------


def test_the_file_is_private_and_others_may_read_while_one_writes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with open_store({"POPKIT_HOME": str(home)}) as store, store.writing() as db:
        store.record(db, [used("1")])
        assert {stat.S_IMODE(path.stat().st_mode) for path in home.glob("usage.sqlite*")} == {0o600}
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert total(store).requests == 0


def test_a_link_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "usage.sqlite").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DatabaseUnavailable, match="Move it away"):
        open_store({"POPKIT_HOME": str(tmp_path)})


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "usage.sqlite").write_text("no database at all, but long enough to be looked at by SQLite" * 20)
    with pytest.raises(DatabaseUnavailable, match="Move it away"):
        open_store({"POPKIT_HOME": str(tmp_path)})


@pytest.mark.parametrize("word", ["disable", "prefer"])
def test_a_server_without_encryption_is_used_where_nobody_asks_for_any(server: postgresql.Server, tmp_path: Path, word: str) -> None:
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(server.new_database()), "PGSSLMODE": word}
    with open_store(environ) as store:
        assert total(store).requests == 0


@pytest.mark.parametrize("word", ["require", "verify-full"])
def test_a_server_without_encryption_is_refused_where_it_is_asked_for(server: postgresql.Server, tmp_path: Path, word: str) -> None:
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(server.new_database()), "PGSSLMODE": word}
    with pytest.raises(DatabaseUnavailable, match=r"refuses SSL\. Let the server speak TLS, or set PGSSLMODE to prefer"):
        open_store(environ)


ELSE = r"Check context\.database"
LET_IN = r"user \"\w+\"\. Set PGUSER and PGPASSWORD to a user of that server$"


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [("nobody listens", ELSE), ("wrong password", LET_IN), ("no password", LET_IN), ("no such user", LET_IN), ("no such database", ELSE)],
)
def test_a_server_that_cannot_be_used_is_reported_without_credentials(
    server: postgresql.Server, tmp_path: Path, wrong: str, advice: str
) -> None:
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ("popkit_nowhere" if wrong == "no such database" else "postgres")}
    if wrong == "nobody listens":
        environ["POPKIT_DATABASE_URL"] = "postgresql://someone:swordfish@127.0.0.1:1/x"
    if wrong == "wrong password":
        environ["PGPASSWORD"] = "swordfish"
    if wrong == "no password":
        del environ["PGPASSWORD"]
    if wrong == "no such user":
        environ["PGUSER"] = "nobody_at_all"
    with pytest.raises(DatabaseUnavailable, match=f"PostgreSQL at 127.*{advice}") as raised:
        open_store(environ)
    assert "swordfish" not in str(raised.value)
    assert postgresql.PASSWORD not in str(raised.value)
    assert raised.value.__cause__ is None
