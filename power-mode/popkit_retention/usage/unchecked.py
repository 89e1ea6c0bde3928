"""The requests that went out while their limits could not be checked, counted in a file of our folder.

Each process appends the count of its silence so far, so the newest line of a silence has all of it.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from contextlib import suppress
from typing import Any, NamedTuple

from popkit_retention.core.io import files, home
from popkit_retention.core.io.system import day_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .budgets import Silence

FILE = "unchecked.jsonl"
MOST_BYTES = 64 * 1024  # of the file, above which each silence keeps one line


class UncheckedRequests(NamedTuple):
    """Requests whose limits could not be checked: from and until when (seconds since 1970), how many, and the reason, for people."""

    since: float
    until: float
    requests: int
    why: str = ""

    def as_fields(self) -> dict[str, Any]:
        """Return the fields as plain values, times as ISO 8601 in UTC."""
        since, until = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)) for at in (self.since, self.until))
        return {**self._asdict(), "since": since, "until": until}


class UncheckedLog:
    """The count of one process. `environ`: names our folder."""

    def __init__(self, environ: Mapping[str, str], clock: Callable[[], float] = time.time) -> None:
        self._environ = environ
        self._clock = clock
        self._reset()

    def _reset(self) -> None:
        """Begin anew: in a forked process the silence is counted by itself."""
        self._pid = os.getpid()
        self._name, self._requests = "", 0

    def count(self, silence: Silence | None) -> UncheckedRequests | None:
        """Count a request that goes out; return the count of its silence so far, None where its limits were checked."""
        if self._pid != os.getpid():
            self._reset()
        if silence is None:
            self._name, self._requests = "", 0
            return None
        self._name = self._name or uuid.uuid4().hex
        self._requests += 1
        unchecked = UncheckedRequests(silence.since, self._clock(), self._requests, silence.why)
        with suppress(OSError, ValueError, home.NoHome):  # a full disk fails no request
            _append(home.popkit_home(self._environ), {"silence": self._name, **unchecked._asdict()})
        return unchecked


def _append(folder: str, line: Mapping[str, Any]) -> None:
    files.make_private_folder(folder)
    path = os.path.join(folder, FILE)
    if files.size_of(path) > MOST_BYTES:
        with suppress(files.LockTimeout), files.Lock(path + ".lock"):
            files.replace_text(path, "".join(json.dumps(row) + "\n" for row in _rows(path)))
    files.append_text(path, json.dumps(line) + "\n")


def _rows(path: str) -> list[dict[str, object]]:
    """Return the newest line of each silence, the oldest silence first."""
    newest: dict[str, dict[str, object]] = {}
    for line in (files.read_text(path) or "").splitlines():
        with suppress(ValueError, TypeError, KeyError):  # cut short by a kill
            row = json.loads(line)
            newest[str(row["silence"])] = {**row, **_unchecked(row)._asdict()}
    return list(newest.values())


def _unchecked(row: Mapping[str, Any]) -> UncheckedRequests:
    return UncheckedRequests(float(row["since"]), float(row["until"]), int(row["requests"]), str(row["why"]))


def unchecked_since(folder: str, day: str) -> UncheckedRequests | None:
    """Return the requests of all silences that ended on a local day ("2026-11-01") or later, with the newest reason; None where there are
    none. OSError."""
    found = [period for period in map(_unchecked, _rows(os.path.join(folder, FILE))) if day_of(period.until) >= day]
    if not found:
        return None
    newest = max(found, key=lambda period: period.until)
    return UncheckedRequests(min(period.since for period in found), newest.until, sum(period.requests for period in found), newest.why)
