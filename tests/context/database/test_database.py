"""SQLite and PostgreSQL keep snapshots and usage alike."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, inspect, text

from hooks.utils.state.days import day_of
from popkit_retention.context import report
from popkit_retention.context.database import migrations, opening, snapshots, sweeping, usage
from popkit_retention.context.database.opening import Database, DatabaseTooNew, DatabaseUnavailable, open_database, words_of
from popkit_retention.context.database.tables import metadata
from popkit_retention.context.database.usage import CLIENT, MOD, TRANSCRIPT, Sum, Tokens
from popkit_retention.context.status import NoSnapshot, get_context_status
from tests.context import postgresql
from tests.context.database.made import DAY_S, NOW, STRATEGY, book, put, snapshot, total, used
from tests.paths import PYTHONPATH
from tests.patience import HANG_S, until

SPECIFIED = {"idx_context_snapshots_session", "idx_context_snapshots_user", "idx_context_snapshots_created"}


# --- tables ------------------------------------------------------------------------------------------------------------------------------


def test_migrations_lead_to_the_tables_of_today(unopened: dict[str, str]) -> None:
    with open_database(unopened) as database, database.reading() as connection:
        seen = inspect(connection)
        for table in metadata.sorted_tables:
            assert {column["name"] for column in seen.get_columns(table.name)} == {column.name for column in table.columns}
            assert {index["name"] for index in seen.get_indexes(table.name)} == {index.name for index in table.indexes}
            for column in seen.get_columns(table.name):
                assert column["nullable"] == table.columns[column["name"]].nullable, column["name"]
        assert {index["name"] for index in seen.get_indexes("context_snapshots")} >= SPECIFIED


def test_a_file_that_is_damaged_is_left_alone_and_it_is_said_what_to_do(tmp_path: Path) -> None:
    damaged = tmp_path / "context.sqlite"
    damaged.write_bytes(b"no database " * 500)
    with pytest.raises(
        DatabaseUnavailable, match=f"not a database. Check that {damaged} can be written to; if it is damaged, move it away"
    ):
        open_database({"POPKIT_HOME": str(tmp_path)})
    assert damaged.read_bytes() == b"no database " * 500


def test_the_versions_are_those_of_the_migrations() -> None:
    folder = Path(migrations.__file__).parent / "versions"
    assert [path.stem[1:5] for path in sorted(folder.glob("v*.py"))] == list(migrations.VERSIONS)


def test_the_columns_of_the_specification_have_its_types(server: postgresql.Server, tmp_path: Path) -> None:
    name = server.new_database()
    open_database({"POPKIT_HOME": str(tmp_path), **server.environ(name)}).close()
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


FOUR_OPEN_IT = """
import os, sys
import alembic.config, alembic.runtime.environment, alembic.script  # which who makes the tables would load while the others wait
from popkit_retention.context.database import opening
from popkit_retention.context.database.opening import open_database

opening.PATIENCE_S = 1200.0  # the machine may be busy
waits, begin = os.pipe()
for _ in range(4):
    if not os.fork():
        os.close(begin)
        os.read(waits, 1)
        open_database(os.environ).close()
        sys.exit()
os.close(begin)
sys.exit(max(os.wait()[1] for _ in range(4)) > 0)
"""


def test_processes_that_open_it_at_once_make_the_tables_once(unopened: dict[str, str]) -> None:
    env = {**os.environ, **unopened, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", FOUR_OPEN_IT], env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (done.returncode, done.stderr) == (0, "")


def test_tables_that_another_process_makes_while_one_looks_for_them_are_ours(unopened: dict[str, str]) -> None:
    looked: list[str] = []

    def makes_them(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not looked and ("pg_class" in statement or "table_info" in statement):
            looked.append(statement)
            open_database(unopened).close()

    event.listen(Engine, "after_cursor_execute", makes_them)
    try:
        with open_database(unopened) as database:
            assert looked
            assert total(database).requests == 0
    finally:
        event.remove(Engine, "after_cursor_execute", makes_them)


def test_whoever_makes_the_tables_of_a_server_is_waited_for_longer_than_any_other_answer(
    server: postgresql.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_try_advisory%' AND state = 'idle in transaction'"
    name = server.new_database()
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(name)}
    maker = server.connect(name)
    maker.cursor().execute(f"SELECT pg_advisory_lock({opening.LOCK})")
    monkeypatch.setattr(opening, "MIGRATION_S", 0.0)
    with pytest.raises(DatabaseUnavailable, match="another process has been making the tables for 0 s"):
        open_database(environ)
    monkeypatch.setattr(opening, "MIGRATION_S", HANG_S)
    with ThreadPoolExecutor(1) as others:
        opened = others.submit(open_database, environ)
        until(lambda: server.ask(asking, name), "it to be asked for")
        maker.close()
        with opened.result() as database:
            assert total(database).requests == 0


def test_tables_of_a_later_version_are_refused_and_left_alone(environ: dict[str, str]) -> None:
    with open_database(environ) as database, database.writing() as connection:
        connection.execute(text(f"UPDATE {migrations.VERSION_TABLE} SET version_num = '0099'"))  # noqa: S608  our own name
    with pytest.raises(DatabaseTooNew, match="Update PopKit"):
        open_database(environ)


def test_a_table_of_that_name_that_is_not_ours_is_refused(environ: dict[str, str]) -> None:
    with open_database(environ) as database, database.writing() as connection:
        connection.execute(text(f"DROP TABLE {migrations.VERSION_TABLE}"))
    with pytest.raises(DatabaseUnavailable, match="Name another database"):
        open_database(environ)


def test_looking_at_a_database_that_nobody_has_made_makes_nothing(unopened: dict[str, str]) -> None:
    assert report.look(unopened) == {"database": words_of(unopened)}
    with pytest.raises(FileNotFoundError):
        open_database(unopened, create=False)
    assert not (Path(unopened["POPKIT_HOME"]) / "context.sqlite").exists()
    with open_database(unopened), open_database(unopened, create=False) as database:
        assert total(database).requests == 0


def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    def fail() -> None:
        with database.writing() as connection:
            snapshots.put(connection, [snapshot()])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with database.reading() as connection:
        assert snapshots.newest(connection, "s") is None


# --- snapshots ---------------------------------------------------------------------------------------------------------------------------


def test_the_newest_snapshot_comes_back_as_it_was_written(database: Database) -> None:
    newer = snapshot(at=NOW + 1.25)
    put(database, newer, snapshot(), snapshot("other", NOW + 9))
    with database.reading() as connection:
        assert snapshots.newest(connection, "s") == newer
        assert [found.created_at for found in snapshots.of_session(connection, "s", 9)] == [NOW + 1.25, NOW]


def test_status_is_the_newest_snapshot_in_the_words_of_the_specification(environ: dict[str, str], database: Database) -> None:
    put(database, snapshot(tokens=40, used=25.5))
    status = get_context_status("s", environ).model_dump(by_alias=True)
    assert status["sessionId"] == "s"
    assert (status["budgetPercent"], status["budgetRemainingPercent"], status["tierBreakdown"]["total"]) == (25.5, 74.5, 40)
    assert status["currentContext"]["pruningStrategy"] == STRATEGY
    assert (status["currentContext"]["totalTokens"], status["currentContext"]["fullTokens"]) == (40, 80)
    assert status["lastUpdated"] == time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(NOW))


def test_a_session_without_a_snapshot_has_no_status(environ: dict[str, str], database: Database) -> None:
    with pytest.raises(NoSnapshot, match="'nobody'"):
        get_context_status("nobody", environ)
    with pytest.raises(ValueError, match="name a session"):
        get_context_status("", environ)


def test_asking_for_a_status_makes_no_database(tmp_path: Path) -> None:
    with pytest.raises(NoSnapshot):
        get_context_status("s", {"POPKIT_HOME": str(tmp_path)})
    assert not (tmp_path / "context.sqlite").exists()


def test_old_snapshots_go_a_few_at_a_time(database: Database) -> None:
    put(database, *[snapshot(at=NOW - n * DAY_S) for n in range(10)])
    with database.writing() as connection:
        assert snapshots.sweep(connection, NOW, 4, [], most=3) == 3
        assert snapshots.sweep(connection, NOW, 4, [], most=3) == 2
        assert len(snapshots.of_session(connection, "s", 99)) == 5


def test_of_a_long_session_the_newest_snapshots_stay(database: Database) -> None:
    most = snapshots.MOST_OF_A_SESSION
    put(database, *[snapshot(at=NOW + n) for n in range(most + 3)], snapshot("other"))
    with database.writing() as connection:
        assert snapshots.sweep(connection, NOW, 30, ["s", "other"], 500) == 3
        assert min(found.created_at for found in snapshots.of_session(connection, "s", most)) == NOW + 3


def test_names_from_outside_are_stored_cut_masked_and_without_what_no_database_holds(database: Database) -> None:
    hostile = "a\0b\ud800" + "x" * 5_000
    secret = "sk-ant-api03-" + "a" * 40
    book(database, used("1", hostile, user=secret))
    assert total(database, hostile).requests == 1
    with database.reading() as connection:
        (user,) = usage.users(connection)
    assert "a" * 40 not in user


# --- usage -------------------------------------------------------------------------------------------------------------------------------


def test_a_request_is_booked_once_however_often_it_is_told(database: Database) -> None:
    book(database, used("1"), used("1"))
    book(database, used("1"), used("2"))
    assert total(database) == Sum(2, 2, 4, 14, 10, 0.5, 0)


def test_a_request_that_was_told_before_its_answer_was_whole_counts_as_it_is_then(database: Database) -> None:
    book(database, used("1", tokens=Tokens(1, 0, 0, 0, 1), usd=0.1))
    book(database, used("1", tokens=Tokens(1, 0, 0, 0, 50), usd=0.2))
    book(database, used("1", tokens=Tokens(1, 0, 0, 0, 1), usd=0.1))
    assert total(database) == Sum(1, 1, 0, 0, 50, 0.2, 0)


def test_the_same_id_of_another_source_is_another_request(database: Database) -> None:
    book(database, used("1", source=MOD), used("1", source=TRANSCRIPT))
    assert total(database).requests == 2


def test_a_request_that_a_client_and_a_transcript_tell_of_is_booked_once_by_the_clients_word(database: Database) -> None:
    ours, theirs = used("msg_1", source=CLIENT, user="dana"), used("msg_1", source=TRANSCRIPT, user="alice")
    for first, second in ((ours, theirs), (theirs, ours)):
        book(database, first)
        book(database, second)
        with database.reading() as connection:
            assert usage.users(connection) == ["dana"]
        assert total(database).requests == 1
        book(database, theirs, used("msg_2", source=TRANSCRIPT, user="dana"), used("msg_2", source=CLIENT, user="dana"))
        assert total(database).requests == 2
        with database.writing() as connection:
            connection.execute(usage.usage.delete())


def test_an_answer_is_booked_by_its_own_id_where_that_can_be_told_from_others() -> None:
    assert usage.request_id("msg_01ABCDEFGHIJKLMNOPQRSTUV") == "msg_01ABCDEFGHIJKLMNOPQRSTUV"
    assert usage.request_id("chatcmpl-7") != usage.request_id("chatcmpl-7") != ""


def test_a_request_whose_price_nobody_knows_counts_its_tokens_and_says_so(database: Database) -> None:
    book(database, used("1", usd=None), used("2", usd=0.5))
    assert (total(database).usd, total(database).unpriced, total(database).tokens) == (0.5, 1, 30)


def test_sums_by_day_user_and_session(database: Database) -> None:
    book(database, used("1"), used("2", at=NOW - DAY_S), used("3", "t", NOW - 2 * DAY_S, user="bob"), used("4", "t", user="bob"))
    with database.reading() as connection:
        days = usage.by_day(connection, day_of(NOW - DAY_S))
        assert [(day, each.requests) for day, each in days] == [(day_of(NOW - DAY_S), 1), (day_of(NOW), 2)]
        assert [each.requests for _, each in usage.by_day(connection, "", "bob")] == [1, 1]
        assert usage.of_user(connection, "bob", day_of(NOW)).requests == 1
        assert usage.users(connection) == ["alice", "bob"]
        assert {found.session_id: (found.user_id, found.used.requests) for found in usage.by_session(connection)} == {
            "s": ("alice", 2),
            "t": ("bob", 2),
        }


# --- what is old -------------------------------------------------------------------------------------------------------------------------


def test_what_is_old_goes_until_nothing_of_it_is_left(database: Database) -> None:
    put(database, *[snapshot(at=NOW - n * DAY_S) for n in range(10)])
    book(database, *[used(str(n), at=NOW - n * DAY_S) for n in range(396, 406)])
    assert sweeping.sweep(database, NOW, 4, at_once=2)
    with database.reading() as connection:
        assert len(snapshots.of_session(connection, "s", 99)) == 5
    assert total(database).requests == 5


def test_usage_of_a_year_and_of_the_month_before_it_is_kept(database: Database) -> None:
    book(database, used("1", at=NOW - 396 * DAY_S))
    sweeping.sweep(database, NOW, 1)
    assert total(database).requests == 1


def test_who_has_something_else_to_do_stops_and_goes_on_later(database: Database) -> None:
    put(database, *[snapshot(at=NOW - n * DAY_S) for n in range(10)])
    assert not sweeping.sweep(database, NOW, 4, goes_on=lambda: False, at_once=2)
    with database.reading() as connection:
        assert len(snapshots.of_session(connection, "s", 99)) == 8


# --- a file is ours alone, a server's password nobody's ----------------------------------------------------------------------------------


def test_the_file_is_private_and_others_may_read_while_one_writes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with open_database({"POPKIT_HOME": str(home)}) as database, database.writing() as connection:
        snapshots.put(connection, [snapshot()])
        assert {stat.S_IMODE(path.stat().st_mode) for path in home.glob("context.sqlite*")} == {0o600}
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        with database.reading() as other:
            assert snapshots.newest(other, "s") is None


def test_a_link_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "context.sqlite").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DatabaseUnavailable, match="Move it away"):
        open_database({"POPKIT_HOME": str(tmp_path)})


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "context.sqlite").write_text("no database at all, but long enough to be looked at by SQLite" * 20)
    with pytest.raises(DatabaseUnavailable, match="cannot be used"):
        open_database({"POPKIT_HOME": str(tmp_path)})


@pytest.mark.parametrize("word", ["disable", "prefer"])
def test_a_server_without_encryption_is_used_where_nobody_asks_for_any(server: postgresql.Server, tmp_path: Path, word: str) -> None:
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(server.new_database()), "PGSSLMODE": word}
    with open_database(environ) as database:
        assert total(database).requests == 0


@pytest.mark.parametrize("word", ["require", "verify-full"])
def test_a_server_without_encryption_is_refused_where_it_is_asked_for(server: postgresql.Server, tmp_path: Path, word: str) -> None:
    environ = {"POPKIT_HOME": str(tmp_path), **server.environ(server.new_database()), "PGSSLMODE": word}
    with pytest.raises(DatabaseUnavailable, match=r"refuses SSL\. Let the server speak TLS, or set PGSSLMODE to prefer"):
        open_database(environ)


ELSE = r"Check context\.database"
LET_IN = r"user \"\w+\"\. Set PGUSER and PGPASSWORD to a user of that server$"


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [("nobody listens", ELSE), ("wrong password", LET_IN), ("no password", LET_IN), ("no such user", LET_IN), ("no such database", ELSE)],
)
def test_a_server_that_cannot_be_used_is_said_without_credentials(
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
    with pytest.raises(DatabaseUnavailable, match=f"PostgreSQL at 127.*{advice}") as told:
        open_database(environ)
    assert "swordfish" not in str(told.value)
    assert postgresql.PASSWORD not in str(told.value)
    assert told.value.__cause__ is None
