"""The address of a PostgreSQL. Pure.

The configuration names a server without credentials. Credentials come from the environment, and so can the whole address
(POPKIT_DATABASE_URL) and the encryption mode (PGSSLMODE).
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from popkit_retention.core.errors import PopkitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


WHOLE_URL, USER, PASSWORD, ENCRYPTION = "POPKIT_DATABASE_URL", "PGUSER", "PGPASSWORD", "PGSSLMODE"
SCHEMES = ("postgresql", "postgres")
PORT = 5432
URL_FORM = "postgresql://host[:port]/name"
ENCRYPTIONS = ("disable", "prefer", "require", "verify-full")


class BadAddress(PopkitError, ValueError):
    """An invalid address; the message says why, without repeating it."""


class Server(NamedTuple):
    """A PostgreSQL server. `encryption`: one of ENCRYPTIONS; only verify-full authenticates the server."""

    host: str
    port: int
    name: str
    user: str
    password: str
    encryption: str

    def __repr__(self) -> str:
        return f"Server({self.words!r})"  # never with a password

    @property
    def words(self) -> str:
        """Return its name for people."""
        return f"PostgreSQL at {self.host}" + ("" if self.port == PORT else f":{self.port}")


def server_of(configured: str, environ: Mapping[str, str], login: str) -> Server | None:
    """Return the configured server; None for SQLite in our own folder. `login`: the user to connect as where none is given. BadAddress."""
    whole = environ.get(WHOLE_URL, "")
    url, setting = (whole, WHOLE_URL) if whole else (configured, "context.database")
    if not url:
        return None
    try:
        parts = urlsplit(url)
        port = parts.port or PORT
    except ValueError:
        raise BadAddress(f"{setting} is not an address. Set it to {URL_FORM}") from None
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise BadAddress(
            f"{setting} is not the address of a PostgreSQL. Set it to {URL_FORM}, or leave it empty for SQLite in PopKit's folder"
        )
    if not whole and "@" in parts.netloc:
        raise BadAddress(f"{setting} holds a user or a password. Take them out of it, and put them into {USER} and {PASSWORD}")
    name = unquote(parts.path.strip("/"))
    if not name or "/" in name or parts.query or parts.fragment:
        raise BadAddress(f"{setting} has to name a database and nothing after it. Set it to {URL_FORM}")
    encryption = environ.get(ENCRYPTION) or "prefer"
    if encryption not in ENCRYPTIONS:
        raise BadAddress(f"{ENCRYPTION} is {encryption!r:.30}. Set it to one of {', '.join(ENCRYPTIONS)}")
    user = unquote(parts.username or "") or environ.get(USER) or login
    return Server(parts.hostname, port, name, user, unquote(parts.password or "") or environ.get(PASSWORD, ""), encryption)
