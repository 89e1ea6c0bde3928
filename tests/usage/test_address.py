"""What the configuration and the environment say about where the database is; what is used and what remains of a budget."""

from __future__ import annotations

import math

import pytest

from popkit_retention.usage.budget_share import range_of, remaining_of
from popkit_retention.usage.server_address import BadAddress, Server, server_of


def test_without_a_setting_it_is_the_file_in_our_folder() -> None:
    assert server_of("", {"PGUSER": "me", "PGPASSWORD": "secret"}, "login") is None


def test_credentials_come_from_the_environment() -> None:
    server = server_of("postgresql://db/popkit", {"PGUSER": "me", "PGPASSWORD": "secret"}, "login")
    assert server == Server("db", 5432, "popkit", "me", "secret", "prefer")
    assert server_of("postgresql://db:6000/popkit", {}, "login") == Server("db", 6000, "popkit", "login", "", "prefer")


def test_the_environment_may_hold_the_whole_address() -> None:
    environ = {"POPKIT_DATABASE_URL": "postgres://me:s%40cret@[::1]:6000/popkit", "PGPASSWORD": "other", "PGSSLMODE": "verify-full"}
    assert server_of("postgresql://db/popkit", environ, "login") == Server("::1", 6000, "popkit", "me", "s@cret", "verify-full")


@pytest.mark.parametrize(
    ("configured", "environ", "advice"),
    [
        ("postgresql://me:swordfish@db/x", {}, "PGUSER and PGPASSWORD"),
        ("postgresql://db", {}, "name a database"),
        ("postgresql://db/a/b", {}, "name a database"),
        ("postgresql://db/x?password=swordfish", {}, "nothing after it"),
        ("postgresql://db:port/x", {}, "is not an address"),
        ("mysql://db/x", {}, "PostgreSQL"),
        ("", {"POPKIT_DATABASE_URL": "swordfish"}, "POPKIT_DATABASE_URL"),
        ("postgresql://db/x", {"PGSSLMODE": "maybe"}, "disable, prefer, require, verify-full"),
    ],
)
def test_what_means_no_database_is_reported_without_repeating_it(configured: str, environ: dict[str, str], advice: str) -> None:
    with pytest.raises(BadAddress) as error:
        server_of(configured, environ, "login")
    assert advice in str(error.value)
    assert "swordfish" not in str(error.value)


def test_a_server_is_never_shown_with_its_password() -> None:
    assert "secret" not in repr(Server("db", 5432, "x", "me", "secret", "prefer"))


@pytest.mark.parametrize(
    ("used", "remaining"),
    [(None, 100), (0, 100), (35, 65), (100, 0), (140, 0), (-20, 100), (math.inf, 0), (math.nan, 0), (-math.inf, 100)],
)
def test_what_is_not_used_remains_and_never_less_than_nothing(used, remaining):
    assert remaining_of(used) == remaining


@pytest.mark.parametrize(
    ("remaining", "named"),
    [(100, ">80%"), (80, ">80%"), (79.9, "60-80%"), (60, "60-80%"), (40, "40-60%"), (39.9, "<40%"), (math.nan, "<40%")],
)
def test_the_range_is_the_specifications(remaining, named):
    assert range_of(remaining) == named
