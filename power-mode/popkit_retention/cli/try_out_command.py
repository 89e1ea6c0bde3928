"""`popkit try-out`: settings that every second session gets by the toss of a coin, the progress of each trial, and the results of finished
ones."""

from __future__ import annotations

import time

from hooks.utils import text
from hooks.utils.config import layers
from hooks.utils.hosts.claude_code import projects
from hooks.utils.hosts.recordings import session_id_of
from hooks.utils.io import home
from hooks.utils.io.sqlite_file import StoreError
from hooks.utils.policy.economics import models_of
from hooks.utils.policy.ruleset import TRY
from hooks.utils.policy.trials import ARMS, MEMORY, is_tried
from hooks.utils.state import trials

from ..bill import digests, trial
from ..views import trials as views
from . import settings_file
from .answering import Answer, Bar, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed
    from hooks.utils.state.trials import Run

MISTAKES = (OSError, StoreError)


def run(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Do one operation of `popkit try-out`."""
    try:
        return {"": _status, "start": _start, "stop": _stop}[args.word](args, environ)
    except trials.Corrupt as error:
        raise Refused(f"{error.filename} is not as it was written. {trials.AGAIN}") from None


def _status(_args: Parsed, environ: Mapping[str, str]) -> Answer:
    now, popkit_home = time.time(), home.popkit_home(environ)
    config = layers.load(home.plugin_root(), popkit_home, None)
    known = trials.load(popkit_home)
    running = [run for run in map(known.current, ARMS) if run is not None and run.is_open]
    totals: trial.Totals = {}
    models = models_of(config)
    if any(run.rows for run in running):
        with Bar(environ) as bar:
            used = digests.of_user(environ, min(run.began for run in running), now, bar.show)
        totals = trial.totals(used, models, map(session_id_of, projects.every(environ)))
    for run in running:
        standing = trial.Standing(run, totals, now)
        if standing.is_complete:
            run.result = _frozen(popkit_home, run, trial.read(run, standing, totals, now, models.dated))
    shown = [_as_data(run, totals, now, config) for run in known.runs if run.result or run is known.current(run.name)]
    shown += [_as_data(trials.Run(name, 1, 0.0), {}, now, config) for name in ARMS if is_tried(config, name) and not known.current(name)]
    return Answer(views.lines_of(shown), {"needs": trial.PER_ARM, "trials": shown})


def _frozen(popkit_home: str, read: Run, result: dict[str, Any]) -> dict[str, Any]:
    """Store the result of a trial, and return it; where another process has stored one meanwhile, that one."""
    with trials.Changing(popkit_home) as known:
        run = next(run for run in known.runs if (run.name, run.number) == (read.name, read.number))
        run.result = run.result or result
        return run.result


def _as_data(run: Run, totals: trial.Totals, now: float, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trial as data; an unfinished one only has counts."""
    data: dict[str, Any] = {"name": run.name, "began": run.began or None}
    if run.result is not None:
        return {**data, "status": "finished", "result": run.result}
    if run.stopped is not None:
        return {**data, "status": "stopped", "stopped": run.stopped}
    standing = trial.Standing(run, totals, now)
    status = "running" if is_tried(config, run.name) else "paused"
    return {**data, "status": status, "arms": standing.counts(run.name), "waits": standing.waits}


# --- start and stop --------------------------------------------------------------------------------------------------------------------


def _start(args: Parsed, environ: Mapping[str, str]) -> Answer:
    name, before, popkit_home = args.argument, _own(args.argument, environ), home.popkit_home(environ)
    current = trials.load(popkit_home).current(name)
    is_on = current is not None and current.is_open
    if before in (TRY, True) and is_on:
        return Answer(text.wrap(f"{name} is on trial already. popkit try-out shows its progress."))
    if not settings_file.change_own(_changed(name, True if name == MEMORY else TRY), args.yes, args.dry_run, environ):
        return Answer([], code=0 if args.dry_run else 1)
    with trials.Changing(popkit_home) as known:
        current = known.current(name)
        if current is None or not current.is_open:
            current = known.begin(name, time.time())
        current.before = None if before in (TRY, True) else before
    return Answer(views.started(name))


def _stop(args: Parsed, environ: Mapping[str, str]) -> Answer:
    name, popkit_home = args.argument, home.popkit_home(environ)
    current = trials.load(popkit_home).current(name)
    is_tried_here, is_open = _own(name, environ) in (TRY, True), current is not None and current.is_open
    if not is_tried_here and not is_open:
        raise Refused(f"{name} is not on trial. popkit try-out shows the trials")
    back = current.before if current else None
    if is_tried_here and not settings_file.change_own(_changed(name, back), args.yes, args.dry_run, environ):
        return Answer([], code=0 if args.dry_run else 1)
    if args.dry_run:
        return Answer(text.wrap("Nothing was changed."))
    with trials.Changing(popkit_home) as known:
        current = known.current(name)
        if current is not None and current.is_open:
            current.stopped = time.time()
    return Answer(views.stopped(name, is_open))


def on_trial(environ: Mapping[str, str]) -> list[str]:
    """Return the settings that the user's own file has on trial. Refused or OSError where it cannot be read."""
    own = settings_file.own_settings(environ)
    return [name for name in ARMS if is_tried(own, name)]


def end_all(environ: Mapping[str, str]) -> None:
    """Put every setting that the user's own file has on trial back to what it was, and show the change; a file that then says nothing is
    deleted. Refused or OSError where it cannot be changed."""
    names = on_trial(environ)
    if not names:
        return
    try:
        known = trials.load(home.popkit_home(environ))
    except trials.Corrupt:
        known = trials.Trials("", [])  # what they were before is lost: then they are as PopKit ships them
    changed: dict[str, Any] = {}
    for name in names:
        current = known.current(name)
        changed.update(_changed(name, current.before if current else None))
    settings_file.change_own(changed, True, False, environ)
    settings_file.remove_empty_own(environ)


def _own(name: str, environ: Mapping[str, str]) -> Any:
    """Return the value of a setting in the user's own file; for memory, whether it is tried."""
    value = settings_file.own_settings(environ).get(name)
    if name == MEMORY:
        return value.get(TRY) if isinstance(value, dict) else None
    return value


def _changed(name: str, value: Any) -> dict[str, Any]:
    return {name: {TRY: value}} if name == MEMORY else {name: value}
