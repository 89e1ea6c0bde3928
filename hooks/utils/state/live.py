"""Where one hook or command works, and a context as the hooks keep it: load, observe one event, save.

What a hook cannot add because another process holds the lock waits beside the state (pending.py).
"""

from __future__ import annotations

from ..config import effective
from ..hosts import is_kept, tools_of
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
    """Where one hook or command works: our folders, the project, the configuration, the session. `lasting_home`: our folder, with what
    outlives sessions · `tools`: of the host."""

    __slots__ = ("_home", "_rules", "_session", "config", "environ", "lasting_home", "project", "session_id", "tools")

    def __init__(self, environ: Mapping[str, str], session_id: str, project: str = ""):
        self.environ = environ
        self.lasting_home = home.popkit_home(environ)
        self.tools = tools_of(session_id)
        self.project = environ.get("CLAUDE_PROJECT_DIR") or project
        if len(self.project) > TEXT_CHARS:
            self.project = ""  # no folder has such a name
        self.session_id = session_id
        self.config = effective(home.plugin_root(), self.lasting_home, self.project)
        self._session: dict[str, Any] | None = None
        self._rules: tuple[str, ...] | None = None
        self._home: str | None = None

    @property
    def enabled(self) -> bool:
        return self.config.get("enabled") is not False and not self.stands_still

    @property
    def data_rules(self) -> tuple[str, ...]:
        """Return the data rules under which nothing of the session may be written to a disk; () where it may."""
        if self._rules is None:
            self._rules = data_rules.held(self.environ, self.lasting_home, self.session_id, self.config.get("data_rules"))
        return self._rules

    @property
    def home(self) -> str:
        """Return the folder of what is kept of the session: our own, or under a data rule the session's in memory, where it has one."""
        if self._home is None:
            self._home = (self._may_be_in_memory() and self._in_memory()) or self.lasting_home
        return self._home

    def _may_be_in_memory(self) -> bool:
        return bool(self.data_rules and self.session_id and data_rules.named(self.data_rules)) and not is_kept(self.session_id)

    def _in_memory(self) -> str:
        from ..io import volatile  # seldom

        return volatile.find(self.lasting_home, self.session_id)

    @property
    def is_in_memory(self) -> bool:
        """Return whether what is kept of the session lies in memory."""
        return self.home != self.lasting_home

    @property
    def stands_still(self) -> bool:
        """Return whether nothing may be kept of the session: it is under a data rule, and has no folder in memory."""
        return bool(self.data_rules) and not self.is_in_memory

    @property
    def awaits_rules(self) -> bool:
        """Return whether the session stands still only until its client has said which data rules apply."""
        return self.config.get("enabled") is not False and self.stands_still and not data_rules.named(self.data_rules)

    def rules_in_words(self) -> str:
        """Return what is said of the data rules of the session; "" where there are none."""
        return data_rules.in_words(self.data_rules, self.is_in_memory) if self.data_rules else ""

    def begin_in_memory(self) -> None:
        """Make the session's folder in memory, where it is under a data rule that has a name. The caller is a process of its client."""
        if self.config.get("enabled") is not False and self._may_be_in_memory():
            from ..io import volatile

            self._home = volatile.make(self.lasting_home, self.session_id) or None
            self._session = None

    def end_in_memory(self) -> None:
        """Remove all that is kept of the session in memory. OSError where some of it stays."""
        if self.is_in_memory:
            from ..io import volatile

            volatile.remove(self.home)
            self._home = self._session = None

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
        """Set facts of the session (None removes one); where nothing may be kept of it, only for this process."""
        from . import session

        if self.stands_still:
            self._session = {name: fact for name, fact in {**self.session, **facts}.items() if fact is not None}
        else:
            self._session = session.update(self.home, self.session_id, **facts)

    def claim(self, name: str, value: object) -> bool:
        """Set a fact of the session that is not set yet; return whether this process did."""
        from . import session

        if self.stands_still:
            return False
        self._session = None
        return session.claim(self.home, self.session_id, name, value)

    def give_once(self, name: str, now: float, entry: dict[str, Any]) -> bool:
        """Claim that the context is given a text of our own, and journal that; return whether it does not have it yet. The text holds
        nothing of the session, so the client need not have said its rules."""
        from . import session

        if self.stands_still and not self.awaits_rules:
            return False
        self._session = None
        is_first = session.claim(self.home, self.session_id, name, now)
        if is_first:
            store.journal(store.ContextFiles(self.home, self.session_id), entry)
        return is_first

    def rules_for(self, profile: object) -> Ruleset:
        """Return the rules under a profile, or under the configured one for None."""
        return Ruleset.from_config(self.config, self.tools, profile if isinstance(profile, str) else None)

    def rules(self) -> Ruleset:
        """Return the rules under the profile that was chosen for the session, if one was."""
        return self.rules_for(self.session.get("profile"))

    def paths(self, agent_id: str = "") -> store.ContextFiles:
        return store.ContextFiles(self.home, self.session_id, agent_id, self.stands_still)


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


def site_at_start(payload: dict[str, Any], environ: Mapping[str, str], is_new_client: bool) -> Site | None:
    """Return the site of a session that begins or goes on, as `site_of` does, also one that awaits the rules of its client.
    `is_new_client`: the client around us has not said yet which data rules apply to it."""
    session_id = calls.text(payload, "session_id")
    if not session_id:
        return None
    site = Site(environ, session_id, calls.text(payload, "cwd"))
    if is_new_client:
        data_rules.forget(site.lasting_home, session_id)
    site.begin_in_memory()
    return site if site.enabled or site.awaits_rules else None


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
    if known is None and site.session.get("model"):
        stored.state.calibration = rules.models.model(site.session["model"]).tokens
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


def end_client(site: Site, now: float, why: str) -> None:
    """Note that the client that ran the session has ended: what lives for the session expires once it is clear that nobody resumes it. The
    transcript tells of neither, so the journal does."""
    from ..policy.events import ClientEnded
    from . import closed, journal, pending

    paths, entry, is_closed = site.paths(), journal.ended(why, now), False

    def observe(stored: store.Stored, rules: Ruleset) -> None:
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
