"""What requests used: booked once for each request, whoever reports it how often; sums by session, user and day.

Each row has a source: `client` (a client of ours sent the request), `transcript` (the host wrote it down), `mod` (the code inside the host
sent it to keep the prompt cache warm, which no transcript tells). A request that a proxy of ours sent for the host is told by both: the
client's word counts, for the answer was its own.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, delete, func, select, tuple_

from hooks.utils.state.days import day_of

from .snapshots import DAY_S, in_batches, insert_into, name_of
from .tables import usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.engine import Connection

    from hooks.utils.policy.models import Model

CLIENT, TRANSCRIPT, MOD = "client", "transcript", "mod"
_KEY = ("source", "request_id")
_TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens")
_MILLION = 1e6
_LEAST_ID_CHARS = 20
_AT_ONCE = 500
KEPT_DAYS = 400  # longer than a month's limit and a chart of a year look back
_MOST_TOKENS = 10**12  # that one request is booked with: a proxy may answer anything, a column holds 2**63


class Tokens(NamedTuple):
    """Tokens of a request, as the provider counts them; `input` is what was neither read from the cache nor written to it."""

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0


class Used(NamedTuple):
    """What one request used. `at`: seconds since 1970; `usd`: None where its price is not known."""

    source: str
    request_id: str
    session_id: str
    user_id: str
    model: str
    at: float
    tokens: Tokens
    usd: float | None
    project: str = ""


class Sum(NamedTuple):
    """What requests used together. `usd`: of those whose price is known; `unpriced`: requests whose price is not."""

    requests: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """All tokens: what went in, from the cache or not, and what came out."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens


def usd_of(model: Model, tokens: Tokens) -> float | None:
    """Dollars that a request cost at the prices of the table of models; None where it does not name them."""
    written = tokens.cache_write_5m * model.write_5m + tokens.cache_write_1h * model.write_1h
    prompt = tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h
    input_usd, output_usd = model.usd(prompt)
    if input_usd is None or output_usd is None:
        return None
    return ((tokens.input + tokens.cache_read * model.read + written) * input_usd + tokens.output * output_usd) / _MILLION


def request_id(answer: str) -> str:
    """What a client books an answer under: the provider's own id of it, by which a transcript knows it too; a new one where there is none,
    or one so short that it may be only a number."""
    return answer if len(answer) >= _LEAST_ID_CHARS else str(uuid.uuid4())


def book(connection: Connection, found: Iterable[Used]) -> None:
    """Books requests; of one that is booked already, the larger answer counts, for a transcript may be read while it grows."""
    rows = {(row["source"], row["request_id"]): row for row in map(_row, found)}
    told = _ids_of(rows, TRANSCRIPT)
    for id in told & (_booked(connection, told, CLIENT) | _ids_of(rows, CLIENT)):
        del rows[TRANSCRIPT, id]
    for ids in _some(_ids_of(rows, CLIENT)):
        connection.execute(delete(usage).where(usage.c.source == TRANSCRIPT, usage.c.request_id.in_(ids)))
    if rows:
        _upsert(connection, list(rows.values()))


def _ids_of(rows: Iterable[tuple[str, str]], source: str) -> set[str]:
    return {id for of, id in rows if of == source}


def _booked(connection: Connection, ids: set[str], source: str) -> set[str]:
    """Those of the ids that are booked under a source."""
    asked = [select(usage.c.request_id).where(usage.c.source == source, usage.c.request_id.in_(some)) for some in _some(ids)]
    return {id for each in asked for id in connection.execute(each).scalars()}


def _some(ids: Iterable[str]) -> Iterator[list[str]]:
    """Ids by as many as a statement takes well."""
    rest = sorted(ids)
    for at in range(0, len(rest), _AT_ONCE):
        yield rest[at : at + _AT_ONCE]


def _row(used: Used) -> dict[str, Any]:
    names = {key: name_of(getattr(used, key)) for key in ("source", "request_id", "session_id", "user_id", "model", "project")}
    tokens = [min(max(count, 0), _MOST_TOKENS) for count in used.tokens]
    return {**names, "at": used.at, "day": day_of(used.at), **dict(zip(_TOKENS, tokens)), "usd": used.usd}


def _upsert(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    new = insert_into(usage, connection)
    more = {name: new.excluded[name] for name in (*_TOKENS, "usd")}
    grown = usage.c.output_tokens < new.excluded.output_tokens
    connection.execute(in_batches(new.on_conflict_do_update(index_elements=_KEY, set_=more, where=grown), connection), rows)


def sweep(connection: Connection, now: float, most: int) -> int:
    """Removes requests that were booked for a day more than KEPT_DAYS ago, at most so many; how many. `now`: seconds."""
    key = tuple_(usage.c.source, usage.c.request_id)
    old = select(*key).where(usage.c.day < day_of(now - KEPT_DAYS * DAY_S)).order_by(usage.c.day).limit(most)
    return connection.execute(delete(usage).where(key.in_(old))).rowcount


# --- sums --------------------------------------------------------------------------------------------------------------------------------


def _sums() -> list[Any]:
    total = lambda *columns: func.coalesce(func.sum(sum(columns[1:], columns[0])), 0)  # noqa: E731
    tokens = usage.c
    return [
        func.count(),
        total(tokens.input_tokens),
        total(tokens.cache_read_tokens),
        total(tokens.cache_write_5m_tokens, tokens.cache_write_1h_tokens),
        total(tokens.output_tokens),
        func.coalesce(func.sum(tokens.usd), 0.0),
        func.count() - func.count(tokens.usd),
    ]


def _sum(row: Sequence[Any]) -> Sum:
    requests, into, read, written, out, usd, unpriced = row
    return Sum(int(requests), int(into), int(read), int(written), int(out), float(usd), int(unpriced))


def _where(user: str, since: str) -> ColumnElement[bool]:
    conditions = [usage.c.day >= since] if since else []
    conditions += [usage.c.user_id == name_of(user)] if user else []
    return and_(True, *conditions)


def of_session(connection: Connection, session_id: str, user: str = "") -> Sum:
    """What a session of a user ("" for anybody) has used so far: in a shared database others may give theirs the same name."""
    return _sum(connection.execute(select(*_sums()).where(usage.c.session_id == name_of(session_id), _where(user, ""))).one())


def of_user(connection: Connection, user: str, since: str) -> Sum:
    """What a user has used since a day ("2026-11-01")."""
    return _sum(connection.execute(select(*_sums()).where(_where(user, since))).one())


def by_day(connection: Connection, since: str, user: str = "") -> list[tuple[str, Sum]]:
    """What was used on each day since one, oldest first; by everybody, or by one user. A day is one where it was booked."""
    asked = select(usage.c.day, *_sums()).where(_where(user, since)).group_by(usage.c.day).order_by(usage.c.day)
    return [(row[0], _sum(row[1:])) for row in connection.execute(asked)]


def by_session(connection: Connection, since: str = "", user: str = "", most: int = 100) -> list[SessionUsed]:
    """Sessions with what they used since a day, the newest first, at most so many."""
    newest = func.max(usage.c.at).label("newest")
    columns = (usage.c.session_id, func.max(usage.c.user_id), func.max(usage.c.project), newest, *_sums())
    asked = select(*columns).where(_where(user, since)).group_by(usage.c.session_id).order_by(newest.desc()).limit(most)
    return [SessionUsed(row[0], row[1], row[2], row[3], _sum(row[4:])) for row in connection.execute(asked)]


class SessionUsed(NamedTuple):
    """What one session used; `at`: its newest request (seconds)."""

    session_id: str
    user_id: str
    project: str
    at: float
    used: Sum


def users(connection: Connection, since: str = "") -> list[str]:
    """Who has used anything since a day, by name."""
    return sorted(connection.execute(select(usage.c.user_id).where(_where("", since)).group_by(usage.c.user_id)).scalars())
