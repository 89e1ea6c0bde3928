"""Where one hook or command works, and a context as the hooks keep it: load, observe one event, save.

What a hook cannot add because another process holds the lock waits beside the state (pending.py).
"""

from __future__ import annotations

from ..config import effective
from ..hosts import tools_of
from ..hosts.claude_code import calls
from ..io import files, home
from ..io.system import os
from ..policy import engine
from ..policy.context import ContextState
from ..policy.ruleset import Ruleset
from ..policy.tools import EDITS, TEXT_CHARS
from . import data_rules, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..policy.lifecycle import Decision
    from ..policy.tools import Call


class Site:
    """Where one hook or command works: our folder, the project, the configuration, the session. `tools`: of the host · `in_place`: whether
    the session runs with a mod, which changes its conversation."""

    __slots__ = ("_rules", "_session", "config", "environ", "home", "in_place", "project", "session_id", "tools")

    def __init__(self, environ: Mapping[str, str], session_id: str, project: str = ""):
        self.environ = environ
        self.home = home.popkit_home(environ)
        self.tools = tools_of(session_id)
        self.project = environ.get("CLAUDE_PROJECT_DIR") or project
        if len(self.project) > TEXT_CHARS:
            self.project = ""  # no folder has such a name
        self.session_id = session_id
        self.in_place = False
        self.config = effective(home.plugin_root(), self.home, self.project)
        self._session: dict[str, Any] | None = None
        self._rules: tuple[str, ...] | None = None

    @property
    def enabled(self) -> bool:
        return self.config.get("enabled") is not False and not self.data_rules

    @property
    def data_rules(self) -> tuple[str, ...]:
        """Return the data rules under which nothing of the session may be kept; () where it may."""
        if self._rules is None:
            self._rules = data_rules.held(self.environ, self.home, self.session_id, self.config.get("data_rules"))
        return self._rules

    @property
    def session(self) -> dict[str, Any]:
        """Return the facts that all contexts of the session share."""
        if self._session is None:
            from . import session  # a tool call does not ask for them

            self._session = session.read(self.home, self.session_id) if self.session_id else {}
        return self._session

    @property
    def session_project(self) -> str:
        """Return the project in which the session began; until that is known, the current folder."""
        return self.session.get("project") or self.project

    def remember(self, **facts: object) -> None:
        """Set facts of the session (None removes one); under a data rule only for this process."""
        from . import session

        if self.data_rules:
            self._session = {name: fact for name, fact in {**self.session, **facts}.items() if fact is not None}
        else:
            self._session = session.update(self.home, self.session_id, **facts)

    def claim(self, name: str, value: object) -> bool:
        """Set a fact of the session that is not set yet; return whether this process did."""
        from . import session

        if self.data_rules:
            return False
        self._session = None
        return session.claim(self.home, self.session_id, name, value)

    def rules_for(self, profile: object) -> Ruleset:
        """Return the rules under a profile, or under the configured one for None."""
        return Ruleset.from_config(self.config, self.tools, profile if isinstance(profile, str) else None)

    def rules(self) -> Ruleset:
        """Return the rules under the profile that was chosen for the session, if one was."""
        return self.rules_for(self.session.get("profile"))

    def paths(self, agent_id: str = "") -> store.ContextFiles:
        return store.ContextFiles(self.home, self.session_id, agent_id, bool(self.data_rules))


# A hook that finds no state rebuilds it from a transcript of at most this size; a larger one waits until a person asks.
REBUILD_BYTES = 16 * 1024 * 1024
# From this size on (bytes), rows of a state that a call does not concern stay unparsed.
REST_FROM = 16_000


def site_of(payload: dict[str, Any], environ: Mapping[str, str]) -> Site | None:
    """Return the site of the session that a payload names; None when it names none, or where PopKit is switched off."""
    session_id = calls.text(payload, "session_id")
    if not session_id:
        return None
    site = Site(environ, session_id, calls.text(payload, "cwd"))
    return site if site.enabled else None


def change(site: Site, paths: store.ContextFiles, transcript_path: str, work: Callable[[store.Stored, Ruleset], object]) -> None:
    """Let `work(stored, rules)` change a context, after what is pending in it, and save it unless the answer is False. A context that is
    not stored is rebuilt first, without the lock. LockTimeout when another process holds it for too long."""
    for is_last in (False, True):
        with paths.locked():
            known = store.load(paths, REST_FROM)
            if known is not None or is_last or not is_small(transcript_path):
                stored, rules = open_context(site, paths, known)
                done = _take_in_pending(paths, stored, rules)
                if work(stored, rules) is not False or done:
                    store.save(paths, stored)
                if done:
                    from . import pending

                    pending.remove(done)
                return
        rebuild_if_small(site, paths, transcript_path)


def _take_in_pending(paths: store.ContextFiles, stored: store.Stored, rules: Ruleset) -> list[str]:
    if not files.spilled(paths.state):
        return []
    from . import pending

    return pending.take_in(paths, stored, rules, lambda call: observe_call(paths, stored, call, rules, False))


def open_context(site: Site, paths: store.ContextFiles, known: store.Stored | None) -> tuple[store.Stored, Ruleset]:
    """Return (the stored context, or a new one for None; the rules under its profile). The caller holds the lock."""
    stored = known
    if stored is None:
        stored = store.Stored(ContextState(paths.session_id, paths.agent_id))
        stored.state.profile = site.session.get("profile")
    rules = site.rules_for(stored.state.profile)
    if stored.rows is not None:
        stored.rows.open(stored.state, rules)
    else:
        engine.reindex(stored.state, rules)
    stored.rules = rules
    if paths.agent_id and site.session.get("profile") != stored.state.profile:
        from ..policy.events import ProfileChosen

        rules = stored.rules = site.rules()
        engine.observe(stored.state, ProfileChosen(site.session.get("profile"), stored.state.at), rules)
    return stored, rules


def rebuild_if_small(site: Site, paths: store.ContextFiles, transcript_path: str) -> bool:
    """Rebuild a context from its transcript; return whether it was saved: not where there is none, none that a hook has time for, or one
    that the host has not finished writing."""
    if not is_small(transcript_path):
        return False
    from . import reconciling  # seldom

    try:
        rebuilt, saved = reconciling.refreshed(site, paths, transcript_path, 0)
        reconciling.remember_size(site, paths, rebuilt)
        return saved
    except (OSError, ValueError):
        return False


def is_small(transcript_path: str) -> bool:
    """Return whether there is a transcript, of a size that a hook has time for."""
    try:
        return bool(transcript_path) and os.stat(transcript_path).st_size <= REBUILD_BYTES
    except (OSError, ValueError):
        return False


def add_call(site: Site, paths: store.ContextFiles, transcript_path: str, call: Call, commits: bool) -> None:
    """Observe a completed call in its context and save it; a call that is there already changes nothing, because a hook may be registered
    twice. What another process's lock keeps out waits beside the state."""

    def observe(stored: store.Stored, rules: Ruleset) -> bool:
        if call.id in stored.state.live:
            return False
        observe_call(paths, stored, call, rules, commits)
        return True

    try:
        change(site, paths, transcript_path, observe)
    except files.LockTimeout:
        from . import journal, pending

        pending.note(paths, call, entries=[journal.committed(call.id, call.committed, call.at)] if commits else [])


def observe_call(paths: store.ContextFiles, stored: store.Stored, call: Call, rules: Ruleset, commits: bool) -> list[Decision]:
    """Observe a completed call: first what it changed on disk, then itself; journal what the transcript will not tell."""
    if call.operation in EDITS and call.path and not call.outcome.error:
        stored.watched.drop(call.path)  # the agent itself edits it
    decisions = notice_changes(paths, stored, rules, call.at, call.id, store.LOOKED_AT)
    if commits:
        from . import journal  # seldom

        store.journal(paths, journal.committed(call.id, call.committed, call.at))
    decisions.extend(engine.observe(stored.state, call, rules))
    result = stored.state.live.get(call.id)
    if result is not None and not call.outcome.error:
        for part in result.parts:
            path = part[0][5:]
            if part[0].startswith("read:") and path not in stored.watched:
                seen = store.file_stamp(path)
                if seen is not None:
                    stored.watched.add(path, seen)
    return decisions


def notice_changes(
    paths: store.ContextFiles, stored: store.Stored, rules: Ruleset, at: float, call_id: str = "", most: int = 0
) -> list[Decision]:
    """Expire what was read of files that have changed on disk by other means than the edit tools; look at the first `most` of them (0 for
    all)."""
    changes = store.changed_files(stored.watched, most)
    if not changes:
        return []
    for path in changes:
        stored.watched.drop(path)
    from ..policy.events import FilesChanged  # seldom
    from . import journal

    store.journal(paths, journal.files_changed(changes, at, call_id))
    return engine.observe(stored.state, FilesChanged(changes, at), rules)


def end_session(site: Site, now: float, why: str) -> None:
    """Expire what lives for the session. The transcript does not tell of its end, so the journal does."""
    from ..policy.events import SessionEnded
    from . import journal, pending

    paths, entry = site.paths(), journal.ended(why, now)

    def observe(stored: store.Stored, rules: Ruleset) -> None:
        store.journal(paths, entry)
        engine.observe(stored.state, SessionEnded(now, why), rules)

    try:
        change(site, paths, "", observe)
    except files.LockTimeout:
        pending.note(paths, entries=[entry])
