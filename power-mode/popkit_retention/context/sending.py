"""Sends what hooks have left in the outbox: usage into the database, spans to the receiver of traces.

At least once: what could not be sent is left for the next time, and each line has an id, by which it is booked and shown once. Usage never
waits for a receiver of traces, nor spans for a database. One process sends at a time. What is left is bounded, the oldest goes. Where no
receiver is configured, spans are dropped.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.utils.config import remembered
from hooks.utils.edges import files, home
from hooks.utils.edges.codec import dumps, loads
from hooks.utils.edges.system import now
from hooks.utils.policy.models import models_of
from hooks.utils.state import outbox

from .database import sweeping, usage
from .database.opening import DatabaseUnavailable, NotWritable, login_name, open_database
from .transcripts import used_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Line = dict[str, Any]

_LATEST = 253_402_214_400  # a day before the year 10,000, the first that no calendar here has
_SPANS_AT_ONCE = 500
_MOST_LEFT_BYTES = outbox.MOST_BYTES // 2  # of usage, and of spans


class _Sent(NamedTuple):
    """What became of lines of one kind: the number of things that were sent, what is left, and why."""

    number: int = 0
    left: list[Line] = []  # noqa: RUF012  nobody changes it
    why: str = ""


def send(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Sends all that waits: how many requests were `booked`, how many spans `traced`, how many lines stay (`left`), and `why`. NoHome;
    OSError where the outbox cannot be read."""
    ours = home.popkit_home(environ)
    waiting, sending, left = (os.path.join(ours, name) for name in (outbox.NAME, outbox.SENDING, outbox.LEFT))
    booked, traced, stays = _Sent(), _Sent(), 0
    if any(map(os.path.lexists, (waiting, sending, left))):
        with files.Lock(waiting + ".lock"):
            if os.path.lexists(sending):  # a sender was killed
                _leave(left, _lines(left) + _lines(sending))
                os.unlink(sending)
            with suppress(FileNotFoundError):
                os.replace(waiting, sending)
            data = files.read_bytes(sending) or b""
            lines = {line["id"]: line for line in _lines(left) + _lines_of(data)}.values()
            config = remembered.effective(home.plugin_root(), ours, "")
            booked = _book([line for line in lines if line.get("kind") in (outbox.USAGE, outbox.SESSION)], config, environ)
            traced = _trace([line for line in lines if line.get("kind") == outbox.SPAN], config["context"]["traces"])
            # A hook that opened the outbox before it was put aside may have appended to it since.
            late = _lines_of((files.read_bytes(sending) or b"")[len(data) :])
            _leave(left, booked.left + traced.left + late)
            with suppress(FileNotFoundError):
                os.unlink(sending)
            stays = len(booked.left) + len(traced.left) + len(late)
    return {"booked": booked.number, "traced": traced.number, "left": stays, "why": [why for why in (booked.why, traced.why) if why]}


def _leave(path: str, lines: list[Line]) -> None:
    """Keeps lines for the next time."""
    if lines:
        files.replace_bytes(path, "".join(dumps(line) + "\n" for line in lines).encode())
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _newest(lines: list[Line]) -> list[Line]:
    """The newest lines, as many as there is room for."""
    room, kept = _MOST_LEFT_BYTES, len(lines)
    while kept and room >= 0:
        kept -= 1
        room -= len(dumps(lines[kept])) + 1
    return lines[kept if room >= 0 else kept + 1 :]


def _lines(path: str) -> list[Line]:
    return _lines_of(files.read_bytes(path) or b"")


def _lines_of(data: bytes) -> list[Line]:
    found = []
    for line in data.splitlines():
        try:
            told = loads(files.text_of(line))
        except ValueError:
            continue  # a kill has cut it short
        if isinstance(told, dict) and _is_sound(told):
            found.append(told)
    return found


def _is_sound(line: Line) -> bool:
    """Whether a line can be booked or sent at all. One that never can would keep all behind it waiting."""
    texts = [line.get("id"), line.get("session")]
    if line.get("kind") == outbox.SESSION:
        texts += [line.get("transcript"), line.get("project")]
    if line.get("kind") == outbox.USAGE and not (type(line.get("at")) in (int, float) and 0 < line["at"] < _LATEST):
        return False
    try:
        dumps(line)
        return all(isinstance(text, str) and "\0" not in text and text.encode() for text in texts if text != "")
    except ValueError:  # a number that is none, half a character
        return False


def _trace(spans: list[Line], endpoint: str) -> _Sent:
    if not spans or not endpoint:
        return _Sent()
    from .exporting import export

    for at in range(0, len(spans), _SPANS_AT_ONCE):
        problem = export(spans[at : at + _SPANS_AT_ONCE], endpoint)
        if problem:
            return _Sent(at, _newest(spans[at:]), problem)
    return _Sent(len(spans))


def _book(lines: list[Line], config: Mapping[str, Any], environ: Mapping[str, str]) -> _Sent:
    """Books usage, and removes what is old while the database is open."""
    if not lines:
        return _Sent()
    # Each turn of a session leaves the same word of its transcript; the newest says it for all.
    lines = list({_about(line): line for line in lines}.values())
    try:
        with open_database(environ) as database:
            found = list(_used(lines, config, environ))
            with database.writing() as connection:
                usage.book(connection, found)
            with suppress(DatabaseUnavailable):  # what is old goes the next time
                sweeping.sweep(database, now(environ), config["context"]["snapshot_days"])
    except NotWritable as error:
        return _Sent(why=str(error))  # it would keep all behind it waiting for ever
    except DatabaseUnavailable as error:
        return _Sent(left=_newest(lines), why=str(error))
    return _Sent(len(found))


def _about(line: Line) -> object:
    return (line["session"], line["transcript"], line["project"]) if line["kind"] == outbox.SESSION else line["id"]


def _used(lines: list[Line], config: Mapping[str, Any], environ: Mapping[str, str]) -> Iterable[usage.Used]:
    user, models = config["context"]["user"] or login_name(environ), models_of(dict(config))
    for line in lines:
        if line["kind"] == outbox.SESSION:
            with suppress(OSError):  # one that was deleted: nobody will be able to tell any more
                yield from used_in(line["transcript"], line["session"], user, line["project"], models)
            continue
        model, written = str(line.get("model") or ""), _count(line, "written")
        hour = written if line.get("lifetime_s") == outbox.HOUR_S else 0
        tokens = usage.Tokens(_count(line, "input"), _count(line, "read"), written - hour, hour, _count(line, "output"))
        price = usage.usd_of(models.model(model), tokens)
        yield usage.Used(usage.MOD, line["id"], line["session"], user, model, float(line["at"]), tokens, price)


def _count(line: Line, name: str) -> int:
    value = line.get(name)
    return value if type(value) is int and value > 0 else 0
