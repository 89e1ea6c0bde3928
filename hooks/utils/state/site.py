"""Where one hook or command works: the folders, the configuration, the session."""

from __future__ import annotations

from ..config import cached
from ..hosts import tools_of
from ..io import home
from ..policy.ruleset import TRY, Ruleset
from ..policy.tools import TEXT_CHARS
from . import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Site:
    """Where one hook or command works: our folder, the project, the configuration, the session. `tools`: of the host · `in_place`: whether
    the session runs with a mod, which changes its conversation."""

    __slots__ = ("_session", "config", "environ", "home", "in_place", "project", "session_id", "tools")

    def __init__(self, environ: Mapping[str, str], session_id: str, project: str = ""):
        self.environ = environ
        self.home = home.popkit_home(environ)
        self.tools = tools_of(session_id)
        self.project = environ.get("CLAUDE_PROJECT_DIR") or project
        if len(self.project) > TEXT_CHARS:
            self.project = ""  # no folder has such a name
        self.session_id = session_id
        self.in_place = False
        self.config = cached.effective(home.plugin_root(), self.home, self.project)
        self._session: dict[str, Any] | None = None

    @property
    def enabled(self) -> bool:
        return self.config.get("enabled") is not False

    @property
    def tries(self) -> bool:
        """Return whether the configuration has anything on trial."""
        return TRY in self.config.values() or (self.config.get("memory") or {}).get(TRY) is True

    def setting(self, key: str, usual: str) -> str:
        """Return the value of a setting for this session, `usual` where it is not configured; of one on trial, the result of the coin."""
        configured: str = self.config.get(key, usual)
        if configured != TRY:
            return configured
        from . import trials  # seldom

        return trials.value_of(self, key)

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
        """Set facts of the session (None removes one)."""
        from . import session

        self._session = session.update(self.home, self.session_id, **facts)

    def claim(self, name: str, value: object) -> bool:
        """Set a fact of the session that is not set yet; return whether this process did."""
        from . import session

        self._session = None
        return session.claim(self.home, self.session_id, name, value)

    def rules_for(self, profile: object) -> Ruleset:
        """Return the rules under a profile, or under the configured one for None."""
        return Ruleset.from_config(self.config, self.tools, profile if isinstance(profile, str) else None)

    def rules(self) -> Ruleset:
        """Return the rules under the profile that was chosen for the session, if one was."""
        return self.rules_for(self.session.get("profile"))

    def paths(self, agent_id: str = "") -> store.ContextFiles:
        return store.ContextFiles(self.home, self.session_id, agent_id)
