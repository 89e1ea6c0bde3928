"""Sends what hooks have left in the outbox: usage into the database, spans to the receiver of traces.

At least once: what could not be sent stays and is tried again the next time, and each line has an id, by which it is booked and shown
once. One process sends at a time. What is left is bounded by the outbox. Where no receiver is configured, spans are dropped.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hooks.utils.config import remembered
from hooks.utils.edges import files, home
from hooks.utils.edges.codec import dumps, loads
from hooks.utils.policy.models import models_of
from hooks.utils.state import outbox

from .database import usage
from .database.opening import DatabaseUnavailable, login_name, open_database
from .transcripts import used_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    Line = dict[str, Any]

_LATEST = 253_402_214_400  # a day before the year 10,000, the first that no calendar here has


def send(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Sends all that waits: how many requests were `booked`, how many spans `traced`, how many lines stay (`left`), and `why`. NoHome;
    OSError where the outbox cannot be read."""
    ours = home.popkit_home(environ)
    waiting, sending = os.path.join(ours, outbox.NAME), os.path.join(ours, outbox.SENDING)
    if not os.path.lexists(waiting) and not os.path.lexists(sending):
        return {"booked": 0, "traced": 0, "left": 0, "why": []}
    with files.Lock(waiting + ".lock"):
        if not os.path.lexists(sending):
            if not os.path.lexists(waiting):  # whoever held the lock has sent it
                return {"booked": 0, "traced": 0, "left": 0, "why": []}
            os.replace(waiting, sending)
        data = files.read_bytes(sending) or b""
        config = remembered.effective(home.plugin_root(), ours, "")
        found = _send(_lines(data), config, environ)
        # A hook that opened the outbox before it was put aside may have appended to it since.
        late = (files.read_bytes(sending) or b"")[len(data) :]
        kept = "".join(dumps(line) + "\n" for line in found["left"]).encode() + late
        if kept:
            files.replace_bytes(sending, kept)
        else:
            os.unlink(sending)
    return {**found, "left": len(found["left"])}


def _lines(data: bytes) -> list[Line]:
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


def _send(lines: list[Line], config: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    spans = [line for line in lines if line.get("kind") == outbox.SPAN]
    booked = [line for line in lines if line.get("kind") in (outbox.USAGE, outbox.SESSION)]
    left, why, count = [], [], 0
    try:
        count = _book(booked, config, environ) if booked else 0
    except DatabaseUnavailable as error:
        left += booked
        why.append(str(error))
    endpoint = config["context"]["traces"]
    if spans and endpoint:
        from .exporting import export

        problem = export(spans, endpoint)
        if problem:
            left += spans
            why.append(problem)
            spans = []
    return {"booked": count, "traced": len(spans) if endpoint else 0, "left": left, "why": why}


def _book(lines: list[Line], config: Mapping[str, Any], environ: Mapping[str, str]) -> int:
    user, models = config["context"]["user"] or login_name(environ), models_of(dict(config))
    found: list[usage.Used] = []
    for session, transcript, project in {
        (line["session"], line["transcript"], line["project"]): None for line in lines if line["kind"] == outbox.SESSION
    }:
        with suppress(OSError):  # one that was deleted: nobody will be able to tell any more
            found += used_in(transcript, session, user, project, models)
    for line in lines:
        if line["kind"] == outbox.USAGE:
            model = str(line.get("model") or "")
            tokens = usage.Tokens(_count(line, "input"), _count(line, "read"), _count(line, "written"), 0, _count(line, "output"))
            price = usage.usd_of(models.model(model), tokens)
            found.append(usage.Used(usage.MOD, line["id"], line["session"], user, model, float(line["at"]), tokens, price))
    with open_database(environ) as database, database.writing() as connection:
        usage.book(connection, found)
    return len(found)


def _count(line: Line, name: str) -> int:
    value = line.get(name)
    return value if type(value) is int and value > 0 else 0
