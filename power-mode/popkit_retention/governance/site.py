"""Where governance works: its folder, its log, the policies in force, the domains. Whatever a killed process has logged and not done is
done before anything else."""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hooks.utils.edges import home

from . import configuring
from .domains import USER
from .folder import Folder
from .log import Log
from .params import resolve_gc_params_with_policy
from .policies import DOMAINS, MEMORY, RAG, check_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .domains import Domain
    from .params import GcParams
    from .policies import RetentionPolicy
    from .policy_file import State

_Site = TypeVar("_Site", bound="Site")
# Loaded when a domain is first asked.
_KINDS = {MEMORY: ("domains.memory", "MemoryDomain"), RAG: ("domains.rag", "RagDomain")}


def names(domain: str | None) -> tuple[str, ...]:
    """The domains that a caller means: the one that was named, or all."""
    return DOMAINS if domain is None else (check_domain(domain),)


class Part(NamedTuple):
    """What of a domain one policy rules: all of a project (None: of every one), without what is of these projects. `is_own`: it is the
    policy that this project has of its own, among others."""

    policy: RetentionPolicy
    project: str | None
    without: frozenset[str] = frozenset()
    is_own: bool = False

    @property
    def named(self) -> dict[str, object]:
        """Of which project alone an answer is, where others are of others."""
        return {"project": self.project} if self.is_own else {}


class Site:
    """One folder of ours. `by`: who asks (user, tool, job), as the log tells. `project`: the key of the one project whose data is read and
    marked; None: all. `now` is asked for the time (seconds). A context manager; GovernanceError where anything fails."""

    def __init__(
        self, environ: Mapping[str, str], by: str = USER, project: str | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self.environ = environ
        self.by = by
        self.project = project
        self.now = now
        self.folder = Folder(home.popkit_home(environ))
        self._domains: dict[str, Domain] = {}
        self._log: Log | None = None

    def __enter__(self: _Site) -> _Site:
        return self

    def __exit__(self, *_exc: object) -> None:
        for domain in self._domains.values():
            domain.close()
        if self._log is not None:
            self._log.close()
        self._domains, self._log = {}, None

    def domain(self, name: str) -> Domain:
        """A domain; its store is opened when it is first asked."""
        check_domain(name)
        if name not in self._domains:
            module, kind = _KINDS[name]
            self._domains[name] = getattr(import_module("." + module, __package__), kind)(self.environ, self.now)
        return self._domains[name]

    def params(self, domain: str, options: Mapping[str, object] | None, project: str | None = None) -> GcParams:
        """What a call with these options amounts to under the policy of a domain, as it holds in a project (None: in ours, if there is
        one)."""
        given = {} if options is None else options
        return resolve_gc_params_with_policy(check_domain(domain), given, given, self.state().policy(domain, project or self.project))

    def parts(self, domain: str) -> list[Part]:
        """What is to be ruled, and by which policies: what the user's rules first, then the projects that have one of their own."""
        state = self.state()
        if self.project is not None:
            return [Part(state.policy(domain, self.project), self.project)]
        own = state.own(domain)
        return [
            Part(state.policy(domain), None, frozenset(own)),
            *(Part(state.policy(domain, key), key, is_own=True) for key in sorted(own)),
        ]

    def state(self) -> State:
        """The policies in force."""
        return configuring.current(self.read(), self.folder.policies)

    def read(self) -> Log:
        """The log; what others left undone is done."""
        log = self.opened()
        if log.unfinished():
            with self.folder.lock():  # who began it may be at work still
                self._finish(log)
        return log

    @contextmanager
    def changing(self) -> Iterator[Log]:
        """The log while no other process governs; what others left undone is done."""
        with self.folder.lock():
            log = self.opened()
            self._finish(log)
            yield log

    def opened(self) -> Log:
        """The log as it stands."""
        if self._log is None:
            self._log = Log(self.folder.log_path)
        return self._log

    def _finish(self, log: Log) -> None:
        if log.unfinished():
            from .finishing import finish

            finish(self.folder, log, self.domain, self.now())
