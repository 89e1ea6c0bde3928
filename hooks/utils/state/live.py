"""A context as the hooks keep it: load, observe one event, save; and reconcile it with the transcript before a person is answered."""

from __future__ import annotations

import time

from ..config import remembered
from ..edges import home
from ..edges.system import now as time_of_day
from ..edges.system import os
from ..host import payload as payloads
from ..policy import engine
from ..policy.calls import TEXT_CHARS, Call, FilesChanged
from ..policy.context import ContextState
from ..policy.ruleset import Ruleset
from . import disk, store

# A hook that finds no state rebuilds it from a transcript of at most this size; a larger one waits until a person asks.
REBUILD_BYTES = 16 * 1024 * 1024
# A result that a hook saw is in the transcript after this many seconds, or never (its line was lost, its session rewound).
TRANSCRIPT_LAG_S = 5.0


class Site:
    """Where things are for one hook or command: our folder, the project, the configuration, the session."""

    __slots__ = ("_session", "config", "environ", "home", "project", "session_id")

    def __init__(self, environ, session_id: str, project: str = ""):
        self.environ = environ
        self.home = home.popkit_home(environ)
        self.project = environ.get("CLAUDE_PROJECT_DIR") or project
        if len(self.project) > TEXT_CHARS:
            self.project = ""  # no folder has such a name
        self.session_id = session_id
        self.config = remembered.effective(home.plugin_root(), self.home, self.project)
        self._session = None

    @property
    def enabled(self) -> bool:
        return self.config.get("enabled") is not False

    @property
    def session(self) -> dict:
        """The facts that all contexts of the session share."""
        if self._session is None:
            from . import session  # a tool call does not ask for them

            self._session = session.read(self.home, self.session_id) if self.session_id else {}
        return self._session

    @property
    def session_project(self) -> str:
        """The project that the session was begun in; until that is known, the folder that we were called in."""
        return self.session.get("project") or self.project

    def remember(self, **facts) -> None:
        """Sets facts of the session (None removes one)."""
        from . import session

        self._session = session.update(self.home, self.session_id, **facts)

    def rules_for(self, profile: object) -> Ruleset:
        """The rules under a profile, or under the configured one for None."""
        return Ruleset.from_config(self.config, profile if isinstance(profile, str) else None)

    def rules(self) -> Ruleset:
        """The rules under the profile that was chosen for the session, if one was."""
        return self.rules_for(self.session.get("profile"))

    def paths(self, agent_id: str = "") -> store.ContextFiles:
        return store.ContextFiles(self.home, self.session_id, agent_id)


def site_of(payload: dict, environ) -> Site | None:
    """The site of the session that a payload names; None when it names none, or where PopKit is switched off."""
    session_id = payloads.text(payload, "session_id")
    if not session_id:
        return None
    site = Site(environ, session_id, payloads.text(payload, "cwd"))
    return site if site.enabled else None


def open_context(site: Site, paths: store.ContextFiles, transcript_path: str = "") -> tuple:
    """(the stored context, else one rebuilt from the transcript, else a new one; the rules under its profile). The caller holds the
    lock."""
    known = store.load(paths)
    stored = known or rebuilt_if_small(site, paths, transcript_path, None)
    if stored is None:
        stored = store.Stored(ContextState(paths.session_id, paths.agent_id))
        stored.state.profile = site.session.get("profile")
    rules = site.rules_for(stored.state.profile)
    engine.reindex(stored.state, rules)
    if paths.agent_id and site.session.get("profile") != stored.state.profile:
        from ..policy.events import ProfileChosen

        rules = site.rules()
        engine.observe(stored.state, ProfileChosen(site.session.get("profile"), stored.state.at), rules)
    return stored, rules


def rebuilt_if_small(site: Site, paths: store.ContextFiles, transcript_path: str, old: store.Stored | None) -> store.Stored | None:
    """The context rebuilt from its transcript and saved; None when there is no transcript, none that a hook has time for, or one that
    the host has not finished writing. The caller holds the lock."""
    try:
        if not transcript_path or os.stat(transcript_path).st_size > REBUILD_BYTES:
            return None
        made = rebuilt(site, paths, transcript_path)
    except (OSError, ValueError):
        return None
    if old is not None and lags_behind(made, old.state, time_of_day(site.environ)):
        return None
    stored = store.Stored(made.state, old.watched if old else None)
    store.save_rebuilt(paths, stored)
    made.state.expired = {}  # they are in the log now
    return stored


def rebuilt(site: Site, paths: store.ContextFiles, transcript_path: str):
    """The Rebuilt of a context, from its transcript, its journal and what is archived of it; changes nothing."""
    from .archived import Originals
    from .rebuild import rebuild

    originals = Originals(site.home)
    try:
        return rebuild(transcript_path, _readable_journal(site, paths), site.rules_for, paths.session_id, paths.agent_id, originals)
    finally:
        originals.close()


def note(site: Site, paths: store.ContextFiles, entries: list, happened: list) -> None:
    """Journals what the transcript will not tell, and lets the stored state follow: what a rebuild makes of the entries is what these
    events make of the state. Where nothing is stored there is nothing to follow."""
    with paths.locked():
        for entry in entries:
            store.journal(paths, entry)
        stored = store.load(paths)
        if stored is None:
            return
        stored.state.expired = store.read_expired(paths, stored.state)
        rules = site.rules_for(stored.state.profile)
        engine.reindex(stored.state, rules)
        for event in happened:
            engine.observe(stored.state, event, rules)
        store.save_rebuilt(paths, stored)


def lags_behind(made, known: ContextState, now: float) -> bool:
    """Whether hooks have just seen a compaction or results that the transcript does not hold yet (the host writes up to 190 ms late)."""
    if made.index.compactions < known.epoch and now - known.at < TRANSCRIPT_LAG_S:
        return True
    return any(now - result.at < TRANSCRIPT_LAG_S and result.id not in made.index.result_ids for result in known.live.values())


def _readable_journal(site: Site, paths: store.ContextFiles) -> list:
    try:
        return journal_of(site, paths)
    except OSError:
        return []  # where nothing of ours can be read, the transcript alone tells


def journal_of(site: Site, paths: store.ContextFiles) -> list:
    """The journal of a context; a subagent's begins with what the session's main thread says for all (its profile)."""
    entries = store.read_lines(paths.journal)
    if paths.agent_id:
        shared = store.read_lines(site.paths().journal)
        entries = [entry for entry in shared if isinstance(entry, dict) and entry.get("event") == "profile"] + entries
    return entries


def observe_call(paths: store.ContextFiles, stored: store.Stored, call: Call, rules: Ruleset, payload: dict) -> list:
    """Feeds a completed call: first what it changed on disk, then itself; journals what the transcript will not tell."""
    edited = call.tool_input.get("file_path") or call.tool_input.get("notebook_path") or ""
    own = edited if call.tool in ("Edit", "Write", "MultiEdit", "NotebookEdit") and not call.outcome.error else ""
    decisions = notice_changes(paths, stored, rules, call.at, call.id, own if isinstance(own, str) else "")
    if payloads.commits(call):
        call.committed = payloads.committed(call, payload, call.at)
        store.journal(paths, {"event": "commit", "call": call.id, "at": call.at, "files": call.committed})
    decisions.extend(engine.observe(stored.state, call, rules))
    result = stored.state.live.get(call.id)
    if result is not None and not call.outcome.error:
        for part in result.parts:
            path = part[0][5:]
            if part[0].startswith("read:") and path not in stored.watched:
                seen = disk.stamp(path)
                if seen is not None:
                    stored.watched[path] = seen
    return decisions


def notice_changes(paths, stored: store.Stored, rules: Ruleset, at: float, call_id: str = "", but: str = "") -> list:
    """Expires what was read of files that have changed on disk by other means than the edit tools."""
    changes = disk.changes(stored.watched, but)
    stored.watched.pop(but, None)
    if not changes:
        return []
    for path in changes:
        del stored.watched[path]
    entry = {"event": "changed", "at": at, "changes": changes}
    if call_id:
        entry["call"] = call_id
    store.journal(paths, entry)
    return engine.observe(stored.state, FilesChanged(changes, at), rules)


def reconcile(site: Site, transcript_path: str, agent_id: str = "", now: float = 0.0):
    """The context as transcript and journal give it, saved as its state; the answer has TTLs by the clock brought up to now. OSError
    when the transcript cannot be read. Returns a Rebuilt."""
    paths = site.paths(agent_id)
    with paths.locked():
        old = store.load(paths)
        made = rebuilt(site, paths, transcript_path)
        patience = 4
        while old is not None and patience and lags_behind(made, old.state, time_of_day(site.environ)):
            time.sleep(TRANSCRIPT_LAG_S / 50)
            made = rebuilt(site, paths, transcript_path)
            patience -= 1
        if old is None or patience:
            store.save_rebuilt(paths, store.Stored(made.state, old.watched if old else None))
    if now:  # for the answer only: what is saved stays what transcript and journal give
        from ..policy.events import Tick

        engine.observe(made.state, Tick(now), site.rules_for(made.state.profile))
    return made
