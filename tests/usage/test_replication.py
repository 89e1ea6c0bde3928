"""Records of hooks reach PostgreSQL once, or later if it does not answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention.usage import postgres, usage_store
from popkit_retention.usage.configured_database import open_local, open_store
from popkit_retention.usage.records import DAY_S, Sum
from popkit_retention.usage.replication import Replication, count_pending
from popkit_retention.usage.usage_store import DatabaseUnavailable, NotWritable
from tests.context import postgresql
from tests.paths import ROOT
from tests.patience import HANG_S
from tests.usage.homes import NOW, House, answer, append
from tests.usage.records import book, snapshot, used

NOBODY = {"POPKIT_DATABASE_URL": "postgresql://me:swordfish@127.0.0.1:1/x"}


class Team(House):
    """A home whose configuration names a server, or none."""

    def __init__(self, folder: Path, server: postgresql.Server) -> None:
        super().__init__(folder)
        self.here = self.environ
        self.name = server.new_database()
        self.environ = self.shared = {**self.here, **server.environ(self.name)}

    def on_server(self, id: str = "s1") -> Sum:
        """What the server knows of a session."""
        with open_store(self.shared) as store:
            return store.of_session(id)

    def waiting(self) -> int:
        return count_pending(open_local(self.here))


@pytest.fixture
def team(tmp_path: Path, server: postgresql.Server) -> Team:
    return Team(tmp_path, server)


def test_what_is_booked_here_is_sent_to_the_server_once(team: Team) -> None:
    path = team.begin()
    append(path, answer("m1"), answer("m2", 1))
    for _ in range(2):
        team.catch_up()
        assert team.on_server() == team.used()
        assert (team.on_server().requests, team.waiting()) == (2, 0)
    append(path, answer("m2", 50), answer("m3"))
    team.catch_up()
    assert team.on_server() == team.used()
    assert (team.on_server().requests, team.on_server().output_tokens) == (3, 5 + 50 + 5)


def test_what_is_booked_while_a_server_is_down_reaches_it_later(team: Team) -> None:
    append(team.begin(), answer("m1"))
    team.catch_up()
    append(team.begin(), answer("m2"))
    address = team.shared["POPKIT_DATABASE_URL"]
    connect = postgres.PostgresStore._connect
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres.PostgresStore, "_connect", _refused)
        with pytest.raises(DatabaseUnavailable, match="cannot be used"):
            team.catch_up()
    assert postgres.PostgresStore._connect is connect
    assert team.used().requests == 2, "here it is booked all the same"
    assert team.waiting() == 1
    assert address == team.shared["POPKIT_DATABASE_URL"]
    team.catch_up()
    assert (team.on_server().requests, team.waiting()) == (2, 0)


def _refused(_self: object) -> None:
    raise ConnectionRefusedError("nobody listens")


def test_nothing_secret_is_shown_or_remembered(team: Team) -> None:
    append(team.begin(), answer("m1"))
    team.environ = {**team.here, **NOBODY}
    with pytest.raises(DatabaseUnavailable) as raised:
        team.catch_up()
    assert "swordfish" not in str(raised.value)
    assert b"swordfish" not in (team.home / "usage.sqlite").read_bytes()


def test_a_server_that_is_named_is_told_of_this_month_and_what_comes(team: Team) -> None:
    append(team.begin(), answer("m1"), answer("m2", at=NOW - 60 * DAY_S))
    team.environ = team.here
    team.catch_up()
    team.environ = team.shared
    append(team.begin(), answer("m3"), answer("m4", at=NOW - 61 * DAY_S))
    team.catch_up()
    assert team.used().requests == 4
    assert team.on_server().requests == 2


def test_another_server_is_sent_everything_again_and_without_one_nothing_waits(team: Team, server: postgresql.Server) -> None:
    append(team.begin(), answer("m1"))
    team.catch_up()
    team.environ = team.here
    append(team.begin(), answer("m2"))
    team.catch_up()
    assert team.waiting() == 0
    team.environ = team.shared = {**team.here, **server.environ(server.new_database())}
    team.catch_up()
    assert team.on_server().requests == 2


def test_what_a_client_booked_on_the_server_counts_before_what_a_transcript_tells(team: Team) -> None:
    with open_store(team.shared) as store:
        book(store, used("m1", "s1", user="dana"))
    append(team.begin(), answer("m1"), answer("m2"))
    team.catch_up()
    with open_store(team.shared) as store:
        assert store.users() == ["alice", "dana"]
    assert team.on_server().requests == 2


def test_more_than_is_sent_at_once_all_arrives(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    append(team.begin(), *[answer(f"m{number}") for number in range(2 * usage_store.AT_ONCE + 10)])
    team.catch_up()
    assert (team.on_server().requests, team.waiting()) == (2 * usage_store.AT_ONCE + 10, 0)


def test_what_the_server_will_never_take_keeps_nothing_behind_it_waiting(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    append(team.begin(), answer("m1"))

    def refused(*_: object) -> None:
        raise NotWritable("it takes no such data")

    with monkeypatch.context() as patch:
        patch.setattr(postgres.PostgresStore, "write", refused)
        team.catch_up()
    assert team.waiting() == 0
    append(team.begin(), answer("m2"))
    team.catch_up()
    assert team.on_server().requests == 1


def test_what_is_booked_again_while_it_is_being_sent_is_sent_again(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    path = team.begin()
    append(path, answer("m1", 1))
    write = postgres.PostgresStore.write

    def grows_meanwhile(self: postgres.PostgresStore, *given: object) -> None:
        write(self, *given)  # type: ignore[arg-type]
        if team.used().output_tokens == 1:
            append(path, answer("m1", 50))
            with monkeypatch.context() as patch:
                patch.setattr(Replication, "send", lambda *_: None)
                team.catch_up()  # another process

    monkeypatch.setattr(postgres.PostgresStore, "write", grows_meanwhile)
    team.catch_up()
    assert team.on_server().output_tokens == 50


def test_what_is_old_is_removed_there_when_something_is_sent(team: Team) -> None:
    with open_store(team.shared) as store:
        store.write([used("old", at=NOW - 401 * DAY_S)], [snapshot(at=NOW - 31 * DAY_S)])
    append(team.begin(), answer("m1"))
    team.catch_up()
    with open_store(team.shared) as store:
        assert store.of_session("s").requests == 0
        assert store.snapshots("s", 9) == []


def test_an_address_that_means_nothing_is_refused(team: Team) -> None:
    append(team.begin(), answer("m1"))
    team.environ = {**team.here, "POPKIT_DATABASE_URL": "swordfish"}
    with pytest.raises(DatabaseUnavailable, match="POPKIT_DATABASE_URL"):
        team.catch_up()


def test_the_command_asks_the_server_with_the_interpreter_that_has_the_driver(team: Team) -> None:
    append(team.begin(), answer("m1"))
    with open_store(team.shared) as store:
        book(store, used("elsewhere", "s2", at=NOW + 1, user="alice"))
    command = [sys.executable, "-X", "utf8", "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "budget", "--json"]
    done = subprocess.run(command, env=team.environ, capture_output=True, text=True, check=False, timeout=HANG_S)
    store = json.loads(done.stdout)
    assert store["database"].startswith("PostgreSQL at")
    assert (store["session"], store["usage"]["month"]["requests"]) == ("s2", 2)
