"""Track the tool results of a context: the facade of the engine (policy/engine.py) for hooks. The state is saved for each session and
subagent (state/store.py). Hooks call this module.

What a hook cannot add because another process holds the lock waits beside the state (state/pending.py).
`python hooks/utils/retention_tracker.py --test` walks through the specification's timeline and checks it.
"""

from __future__ import annotations

if __name__ == "__main__" and not __package__:
    import sys
    from os import chdir, execv, path

    chdir(path.dirname(path.dirname(path.dirname(path.abspath(__file__)))))
    execv(sys.executable, [sys.executable, "-m", "hooks.utils.retention_tracker", *sys.argv[1:]])  # noqa: S606

from .io import files
from .policy import engine
from .policy.calls import Call
from .policy.ruleset import Ruleset
from .policy.tools import EDITS
from .state import store, watched_files
from .state.opening import REST_FROM, is_small, open_context
from .state.site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .context_carrier import HookContext, ToolResultMeta
    from .policy.lifecycle import Decision
    from .specified_tracker import RetentionTracker, detect_events, process_retention

__all__ = [  # noqa: F822  some are loaded when they are asked for
    "HookContext", "RetentionTracker", "ToolResultMeta", "detect_events", "estimate_tokens", "hash_content", "process_retention",
]  # fmt: skip


def change(site: Site, paths: store.ContextFiles, transcript_path: str, work: Callable[[store.StoredState, Ruleset], object]) -> None:
    """Let `work(stored, rules)` change a context, after what is pending in it, and save it unless the answer is False. A context that is
    not stored is rebuilt first, without the lock. LockTimeout when another process holds it for too long."""
    for is_last in (False, True):
        with paths.locked():
            known = store.load(paths, REST_FROM)
            if known is not None or is_last or not is_small(transcript_path):
                stored, rules = open_context(site, paths, known)
                done = _take_in_pending(paths, stored, rules)
                if work(stored, rules) is not False or done:
                    store.save(paths, stored, rules)
                if done:
                    from .state import pending

                    pending.remove(done)
                return
        from .state import reconciling  # seldom

        reconciling.rebuild_if_small(site, paths, transcript_path)


def _take_in_pending(paths: store.ContextFiles, stored: store.StoredState, rules: Ruleset) -> list[str]:
    if not files.spilled(paths.state):
        return []
    from .state import pending

    return pending.take_in(paths, stored, rules, lambda call: observe_call(paths, stored, call, rules, False))


def add_call(site: Site, paths: store.ContextFiles, transcript_path: str, call: Call, output: str) -> None:
    """Observe a completed call in its context and save it, with the files of a commit that it made, as its `output` names that. A call that
    is there already changes nothing: a hook may be registered twice. What another process's lock keeps out waits beside the state."""
    commits = _makes_commit(call)
    if commits:
        from .io import git

        call.committed = git.committed_files(call.cwd or ".", output, call.at)

    def observe(stored: store.StoredState, rules: Ruleset) -> bool:
        if call.id in stored.state.live:
            return False
        observe_call(paths, stored, call, rules, commits)
        return True

    try:
        change(site, paths, transcript_path, observe)
    except files.LockTimeout:
        from .state import journal, pending

        pending.note(paths, call, entries=[journal.committed(call.id, call.committed, call.at)] if commits else [])


def _makes_commit(call: Call) -> bool:
    """Return whether a call made a git commit."""
    command = call.command
    if call.outcome.error or "commit" not in command or "git" not in command:
        return False
    from .policy.commandline import bash

    return any(action.commits for action in bash.actions(call.traits.as_posix(command), call.cwd))


def observe_call(paths: store.ContextFiles, stored: store.StoredState, call: Call, rules: Ruleset, commits: bool) -> list[Decision]:
    """Observe a completed call: first what it changed on disk, then itself; journal what the transcript will not tell."""
    if call.operation in EDITS and call.path and not call.outcome.error:
        stored.watched.drop(call.path)  # the agent itself edits it
    decisions = notice_changes(paths, stored, rules, call.at, call.id, store.LOOKED_AT)
    if commits:
        from .state import journal  # seldom

        store.journal(paths, journal.committed(call.id, call.committed, call.at))
    decisions.extend(engine.observe(stored.state, call, rules))
    result = stored.state.live.get(call.id)
    if result is not None and not call.outcome.error:
        for part in result.parts:
            path = part[0][5:]
            if part[0].startswith("read:") and path not in stored.watched:
                seen = watched_files.file_stamp(path)
                if seen is not None:
                    stored.watched.add(path, seen)
    return decisions


def notice_changes(
    paths: store.ContextFiles, stored: store.StoredState, rules: Ruleset, at: float, call_id: str = "", most: int = 0
) -> list[Decision]:
    """Expire what was read of files that have changed on disk by other means than the edit tools; look at the first `most` of them (0 for
    all)."""
    changes = watched_files.changed_files(stored.watched, most)
    if not changes:
        return []
    for path in changes:
        stored.watched.drop(path)
    from .policy.events import FilesChanged  # seldom
    from .state import journal

    store.journal(paths, journal.files_changed(changes, at, call_id))
    return engine.observe(stored.state, FilesChanged(changes, at), rules)


def begin_turn(paths: store.ContextFiles, stored: store.StoredState, rules: Ruleset, now: float, typed: bool = True) -> None:
    """Notice what has changed on disk, and that the session goes on where its client had ended. A `typed` prompt begins a turn."""
    from .policy import events

    notice_changes(paths, stored, rules, now)
    if stored.state.closed:
        from .state import journal  # seldom

        store.journal(paths, journal.resumed(now))
        engine.observe(stored.state, events.Resumed(now), rules)
    if typed:
        engine.observe(stored.state, events.Prompted(now), rules)


def end_client(site: Site, now: float, why: str) -> None:
    """Note that the client that ran the session has ended: what lives for the session expires once it is clear that nobody resumes it. The
    transcript tells of neither, so the journal does."""
    from .policy.events import ClientEnded
    from .state import closed, journal, pending

    paths, entry, is_closed = site.paths(), journal.ended(why, now), False

    def observe(stored: store.StoredState, rules: Any) -> None:
        nonlocal is_closed
        store.journal(paths, entry)
        engine.observe(stored.state, ClientEnded(now, why), rules)
        is_closed = stored.state.closed > 0 and bool(stored.state.live)

    try:
        change(site, paths, "", observe)
    except files.LockTimeout:
        pending.note(paths, entries=[entry])
    if is_closed:
        closed.add(site.lasting_home, site.session_id, site.session_project, now)


def end_others(site: Site, now: float) -> None:
    """End all closed sessions of the project in which a new session begins."""
    from .state import closed

    for session_id, (project, _) in closed.listed(site.lasting_home).items():
        if project == site.project and session_id != site.session_id:
            _end_closed(site, session_id, now)
            closed.remove(site.lasting_home, session_id)


def _end_closed(site: Site, session_id: str, now: float) -> None:
    from .policy.events import SessionEnded
    from .state import journal

    other = Site(site.environ, session_id, site.project)
    paths = other.paths()

    def observe(stored: store.StoredState, rules: Any) -> bool:
        if not stored.state.closed:
            return False  # it goes on
        store.journal(paths, journal.over(now))
        engine.observe(stored.state, SessionEnded(now), rules)
        return True

    try:
        if not other.is_in_memory and watched_files.file_stamp(paths.state):
            change(other, paths, "", observe)
    except (OSError, ValueError):
        return  # its time will pass


# The specification's names, of which hooks need none.
_ELSEWHERE = {
    "HookContext": "context_carrier",
    "RetentionTracker": "specified_tracker",
    "ToolResultMeta": "context_carrier",
    "detect_events": "specified_tracker",
    "estimate_tokens": "policy.estimate",
    "hash_content": "hosts.transcripts.outcomes",
    "process_retention": "specified_tracker",
}


def __getattr__(name: str) -> Any:
    """Load what only the specification names once it is asked for."""
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("." + _ELSEWHERE[name], __package__), name)


if __name__ == "__main__":
    from .timeline import print_timeline

    raise SystemExit(print_timeline())
