"""The place where a hook or command works: our folders, the project, the configuration, the session."""

from __future__ import annotations

from ..config.cached import effective
from ..hosts import is_guest
from ..hosts.tools import recorded_tools, tools_of
from ..io import home
from ..io.codec import text_in_field
from ..policy.calls import TEXT_CHARS
from ..policy.ruleset import Ruleset
from . import data_rules, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..policy.session_facts import SessionFacts


class Site:
    """`lasting_home`: our folder, with the files that outlive sessions · `tools`: of the host, or where another has recorded the session,
    of all hosts · `only_reads`: somebody looks at a transcript, which leaves no trace."""

    def __init__(
        self, environ: Mapping[str, str], session_id: str, project: str = "", is_recorded: bool = False, only_reads: bool = False
    ) -> None:
        self.environ = environ
        self.lasting_home = home.popkit_home(environ)
        self.tools = recorded_tools() if is_recorded else tools_of(session_id)
        self.project = environ.get("CLAUDE_PROJECT_DIR") or project
        if len(self.project) > TEXT_CHARS:
            self.project = ""  # no folder has such a name
        self.session_id = session_id
        self.only_reads = only_reads
        self.config = effective(home.plugin_root(), self.lasting_home, self.project)
        self._session: SessionFacts | None = None
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
        """Return the folder of the session's files: our own, or under a data rule the session's in memory, where it has one."""
        if self._home is None:
            self._home = (self._may_be_in_memory() and self._in_memory()) or self.lasting_home
        return self._home

    def _may_be_in_memory(self) -> bool:
        return bool(self.data_rules and self.session_id and data_rules.named(self.data_rules)) and not is_guest(self.session_id)

    def _in_memory(self) -> str:
        from ..io import volatile  # seldom

        return volatile.find(self.lasting_home, self.session_id)

    @property
    def is_in_memory(self) -> bool:
        """Return whether the session's files lie in memory."""
        return self.home != self.lasting_home

    @property
    def stands_still(self) -> bool:
        """Return whether nothing may be kept of the session: it is only read, or under a data rule without a folder in memory."""
        return self.only_reads or (bool(self.data_rules) and not self.is_in_memory)

    @property
    def awaits_rules(self) -> bool:
        """Return whether the session stands still only until its client has said which data rules apply."""
        return self.config.get("enabled") is not False and self.stands_still and not data_rules.named(self.data_rules)

    def rules_in_words(self) -> str:
        """Return the statement about the data rules of the session; "" where there are none."""
        return data_rules.in_words(self.data_rules, self.is_in_memory) if self.data_rules else ""

    def begin_in_memory(self) -> None:
        """Make the session's folder in memory, where it is under a data rule that has a name. The caller is a process of its client."""
        if self.config.get("enabled") is not False and self._may_be_in_memory():
            from ..io import volatile

            volatile.make(self.lasting_home, self.session_id)
            self._home = self._session = None

    def end_in_memory(self) -> None:
        """Remove all that is kept of the session in memory. OSError where some of it stays."""
        if self.is_in_memory:
            from ..io import volatile

            volatile.remove(self.home)
            self._home = self._session = None

    @property
    def session(self) -> SessionFacts:
        """Return the facts that all contexts of the session share."""
        if self._session is None:
            from . import session  # a tool call does not ask for them

            self._session = session.read(self.home, self.session_id)
        return self._session

    @property
    def session_project(self) -> str:
        """Return the project in which the session began; until that is known, the current folder."""
        return self.session.project or self.project

    def remember(self, **facts: object) -> None:
        """Set facts of the session (None removes one); where nothing may be kept of it, only for this process."""
        from . import session

        if self.stands_still:
            self._session = self.session.but(**facts)
        else:
            self._session = session.update(self.home, self.session_id, **facts)

    def claim(self, name: str, value: object) -> bool:
        """Set a fact of the session that is not set yet; return whether this process did."""
        from . import session

        if self.stands_still:
            return False
        self._session = None
        return session.claim(self.home, self.session_id, name, value)

    def give_once(self, name: str, now: float, entry: Mapping[str, object]) -> bool:
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

    def rules_for(self, profile: str | None) -> Ruleset:
        """Return the rules under a profile, or under the configured one for None."""
        return Ruleset.from_config(self.config, self.tools, profile)

    def rules(self) -> Ruleset:
        """Return the rules under the profile that was chosen for the session, if one was."""
        return self.rules_for(self.session.profile)

    def paths(self, agent_id: str = "") -> store.ContextFiles:
        return store.ContextFiles(self.home, self.session_id, agent_id, self.stands_still)


def site_of(payload: dict[str, Any], environ: Mapping[str, str]) -> Site | None:
    """Return the site of the session that a payload names; None when it names none, or where PopKit is switched off."""
    session_id = text_in_field(payload, "session_id")
    if not session_id:
        return None
    site = Site(environ, session_id, text_in_field(payload, "cwd"))
    return site if site.enabled else None


def site_at_start(payload: dict[str, Any], environ: Mapping[str, str], is_new_client: bool) -> Site | None:
    """Return the site of a session that begins or goes on, as `site_of` does, also one that awaits the rules of its client.
    `is_new_client`: the client around us has not said yet which data rules apply to it."""
    session_id = text_in_field(payload, "session_id")
    if not session_id:
        return None
    site = Site(environ, session_id, text_in_field(payload, "cwd"))
    if is_new_client:
        data_rules.forget(site.lasting_home, session_id)
    site.begin_in_memory()
    return site if site.enabled or site.awaits_rules else None
