"""Trials of settings, kept in one small file of our folder: the sessions that were drawn, and what a finished trial has shown.

Sessions are drawn in blocks of two, one with the tried setting and one without, in an order that a secret of this machine decides. The coin
is thrown before a session's first request, and its result stays among the facts of the session. A session that began before its trial, or
that is a fork, has the usual setting and counts in no trial.
"""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps, loads
from ..io.storage import OK, PROBLEM, Check, Storage
from ..io.system import join, now, os, sha256
from ..policy.trials import ARMS, HINTS, MEMORY, PER_ARM, USUAL, is_tried

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from .live import Site

NAME = "trials.json"
AGAIN = "Move it away to begin all trials again"
_SECRET_BYTES = 32
_MOST_BYTES = 4 * 1024 * 1024
MOST_ROWS = 400  # sessions of a trial; later ones are not drawn


class Corrupt(OSError):
    """The file of trials is not as it was written."""


class Row:
    """A session of a trial: its id, whether it is `treated`, when it `began`, when it `ended` (None: it goes on, or its client was killed),
    and whether it `spoke`: a transcript of it was there at its end. Times in seconds."""

    __slots__ = ("began", "ended", "session", "spoke", "treated")

    def __init__(self, session: str, treated: bool, began: float, ended: float | None = None, spoke: bool = False) -> None:
        self.session = session
        self.treated = treated
        self.began = began
        self.ended = ended
        self.spoke = spoke

    def to_json(self) -> list[Any]:
        return [self.session, self.treated, self.began, self.ended, self.spoke]


class Run:
    """One trial of a setting: its `name`, its `number` among those of that name (from 1), when it `began`, its `rows` in the order in which
    they were drawn, when it was `stopped` unread, `before`: what the user's own file said of the setting (None: nothing), whether its end
    was `announced`, and its `result` once it is read."""

    __slots__ = ("announced", "before", "began", "name", "number", "result", "rows", "stopped")

    def __init__(self, name: str, number: int, began: float, before: Any = None) -> None:
        self.name = name
        self.number = number
        self.began = began
        self.before = before
        self.rows: list[Row] = []
        self.stopped: float | None = None
        self.announced = False
        self.result: dict[str, Any] | None = None

    @property
    def is_open(self) -> bool:
        """Return whether sessions are drawn for it."""
        return self.result is None and self.stopped is None

    @property
    def is_due(self) -> bool:
        """Return whether enough sessions are over to tell the user."""
        over = [row.treated for row in self.rows if row.ended is not None and row.spoke]
        return self.is_open and not self.announced and over.count(True) >= PER_ARM and over.count(False) >= PER_ARM

    def of(self, session: str) -> Row | None:
        """Return the row of a session; None where it was not drawn."""
        return next((row for row in self.rows if row.session == session), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "number": self.number, "began": self.began, "before": self.before, "stopped": self.stopped,
            "told": self.announced, "result": self.result, "rows": [row.to_json() for row in self.rows],
        }  # fmt: skip


class Trials:
    """All trials of a user, and the `secret` by which their coins fall."""

    def __init__(self, secret: str, runs: list[Run]) -> None:
        self.secret = secret
        self.runs = runs

    def current(self, name: str) -> Run | None:
        """Return the newest trial of a setting."""
        return next((run for run in reversed(self.runs) if run.name == name), None)

    def begin(self, name: str, at: float) -> Run:
        """Begin a trial of a setting."""
        newest = self.current(name)
        self.runs.append(Run(name, newest.number + 1 if newest else 1, at))
        return self.runs[-1]

    def is_treated(self, run: Run, place: int) -> bool:
        """Return the result of the coin for the session at a place (from 0) of a trial."""
        block, second = divmod(place, 2)
        fell = sha256(f"{self.secret} {run.name} {run.number} {block}".encode()).digest()[0] & 1
        return bool(fell ^ second)

    def draw(self, name: str, session: str, at: float) -> bool | None:
        """Return the result of the coin for a session, the same each time; None where none is thrown, because the trial is over."""
        run = self.current(name) or self.begin(name, at)
        row = run.of(session)
        if row is None and run.is_open and len(run.rows) < MOST_ROWS:
            row = Row(session, self.is_treated(run, len(run.rows)), at)
            run.rows.append(row)
        return row.treated if row else None


# --- the file --------------------------------------------------------------------------------------------------------------------------


def load(popkit_home: str) -> Trials:
    """Read the trials; Corrupt where they cannot be read."""
    path = join(popkit_home, NAME)
    content = files.read_text(path, _MOST_BYTES)
    if content is None:
        return Trials(os.urandom(_SECRET_BYTES).hex(), [])
    try:
        value: Any = loads(content)
        return Trials(str(value["secret"]), [_run(run) for run in value["runs"]])
    except (ValueError, TypeError, KeyError, AttributeError):
        raise Corrupt(22, "not as it was written", path) from None


def _run(value: dict[str, Any]) -> Run:
    if value["name"] not in ARMS:
        raise ValueError(value["name"])
    run = Run(value["name"], int(value["number"]), float(value["began"]), value.get("before"))
    run.stopped = None if value["stopped"] is None else float(value["stopped"])
    run.announced, run.result = value["told"] is True, value["result"] and dict(value["result"])
    for session, treated, began, ended, spoke in value["rows"]:
        run.rows.append(Row(str(session), treated is True, float(began), None if ended is None else float(ended), spoke is True))
    return run


class Changing:
    """Within the `with`, the trials are locked; they are saved at its end. LockTimeout, Corrupt."""

    def __init__(self, popkit_home: str) -> None:
        self._path = join(popkit_home, NAME)
        self._home = popkit_home

    def __enter__(self) -> Trials:
        files.make_private_folder(self._home)
        self._lock = files.Lock(self._path + ".lock")
        self._lock.__enter__()
        try:
            self._trials = load(self._home)
        except BaseException:
            self._lock.__exit__(None)
            raise
        return self._trials

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                trials = self._trials
                files.replace_text(self._path, dumps({"secret": trials.secret, "runs": [run.to_json() for run in trials.runs]}))
        finally:
            self._lock.__exit__(None)


# --- what the store says of itself -----------------------------------------------------------------------------------------------------


def check(popkit_home: str, _project: str, _environ: Mapping[str, str], _now: float) -> Check:
    """Check the trials for doctor."""
    try:
        running = [run.name for run in load(popkit_home).runs if run.is_open]
    except OSError as error:
        return Check("trials", PROBLEM, f"nothing is tried: {error.filename}: {error.strerror}", AGAIN + ".", running=[])
    return Check("trials", OK, f"on trial: {', '.join(running)}" if running else "nothing is on trial", running=running)


STORAGE = (Storage("trials", {"": r"trials\.json"}, check, ("To keep what trials have shown:", "popkit try-out --json")),)


# --- a session: nothing here fails it ------------------------------------------------------------------------------------------------


FACT = "trials"  # of a session: setting -> its value, _TO_THROW or _NONE
_TO_THROW, _NONE = "", "-"
_HOOK = "trials"  # in the log


def facts_at_start(site: Site) -> dict[str, Any]:
    """Return the facts of a session whose context is empty and new: the result of the coin for hints, and the other settings on trial, for
    which it is thrown once they are of use to the session."""
    tried = [name for name in ARMS if is_tried(site.config, name)]
    if not tried or FACT in site.session:
        return {}
    return {FACT: {name: _thrown(site, name) if name == HINTS else _TO_THROW for name in tried}}


def facts_later(site: Site) -> dict[str, Any]:
    """Return the facts of a session that has sent requests: settings for which no coin was thrown are not on trial."""
    draws = site.session.get(FACT) or {}
    return {FACT: {name: value or _NONE for name, value in draws.items()}} if _TO_THROW in draws.values() else {}


def throw(site: Site, names: Iterable[str], is_new: Callable[[], bool]) -> None:
    """Throw the coin for settings that still need it. `is_new()`: whether the session has sent no request yet; one that has is not drawn.
    Fails open: a session whose result cannot be noted is not on trial."""
    draws = site.session.get(FACT) or {}
    due = [name for name in names if draws.get(name) == _TO_THROW]
    if not due:
        return
    fresh = is_new()
    try:
        site.remember(**{FACT: {**draws, **{name: _thrown(site, name) if fresh else _NONE for name in due}}})
    except (OSError, ValueError) as error:
        _record(site, error)


def value_of(site: Site, name: str) -> str:
    """Return the value of a setting on trial in a session: the result of the coin, or the usual value."""
    value = (site.session.get(FACT) or {}).get(name)
    return value if value in ARMS[name] else USUAL[name]


def _thrown(site: Site, name: str) -> str:
    try:
        with Changing(site.home) as known:
            treated = known.draw(name, site.session_id, now(site.environ))
    except (OSError, ValueError) as error:
        _record(site, error)
        return _NONE
    return _NONE if treated is None else ARMS[name][not treated]


def is_given(site: Site) -> bool:
    """Return whether a session is given its MEMORY.md; called only where there is something to give, before the first request or behind a
    compaction."""
    if not is_tried(site.config, MEMORY):
        return True
    throw(site, (MEMORY,), lambda: True)
    return value_of(site, MEMORY) == ARMS[MEMORY][0]


def note_end(site: Site, ended: float | None, spoke: bool = False) -> None:
    """Note that a session has ended, or (None) goes on. `spoke`: it has a transcript. Fails open: a session that is quiet counts, too."""
    if not any(value in ARMS[name] for name, value in (site.session.get(FACT) or {}).items() if name in ARMS):
        return
    try:
        with Changing(site.home) as known:
            for row in _rows_of(known.runs, site.session_id):
                row.ended, row.spoke = ended, row.spoke or spoke
    except (OSError, ValueError) as error:
        _record(site, error)


def _record(site: Site, error: Exception) -> None:
    from ..io import storage  # seldom

    storage.log_failure(site.environ, _HOOK, error)


def _rows_of(runs: Iterable[Run], session: str) -> list[Row]:
    return [row for run in runs if run.is_open for row in [run.of(session)] if row is not None]


def notice(site: Site) -> str:
    """Return the message for the user when enough sessions of a trial are over, once; "" for none."""
    tried = [name for name in ARMS if is_tried(site.config, name)]
    if not tried or not files.is_there(join(site.home, NAME)):
        return ""
    try:
        if not any(run.is_due for run in load(site.home).runs):
            return ""
        with Changing(site.home) as known:
            due = [run for run in known.runs if run.is_due]
            for run in due:
                run.announced = True
    except (OSError, ValueError):
        return ""  # the next session says it
    names = " and ".join(run.name for run in due)
    return f"PopKit: {PER_ARM} sessions with and {PER_ARM} without {names} are over. popkit try-out shows the result." if due else ""
