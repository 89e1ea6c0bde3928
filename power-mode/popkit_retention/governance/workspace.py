"""The workspace of governance: its folder, its log, the policies in force, the domains. Operations that a killed process has logged and
not completed are completed first."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import NamedTuple, TypeVar

from popkit_retention.core.io import home, hook_log
from popkit_retention.core.state import marked

from . import archives, collection, restores, revisions
from .data_folder import Folder
from .domains import USER
from .errors import DomainUnavailable, GovernanceTooNew
from .gc_parameters import resolve_gc_params_with_policy
from .holds import HOLD, RELEASE, finish_hold
from .log import Log
from .policies import DOMAINS, MEMORY, RAG, check_domain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .domains import Domain
    from .gc_parameters import GcParams
    from .log import Entry
    from .policies import RetentionPolicy
    from .policy_file import State
    from .shapes import ProjectKey

    Finisher = Callable[[Folder, Domain, Log, Entry, float], None]


# The function that finishes each operation of the log.
_FINISHERS: dict[str, Finisher] = {
    collection.MARK: collection.finish_mark,
    collection.UNMARK: collection.finish_unmark,
    collection.DELETE: collection.finish_delete,
    archives.ARCHIVE: archives.finish_archive,
    archives.REMOVE: archives.finish_remove,
    restores.RESTORE: restores.finish_restore,
    HOLD: finish_hold,
    RELEASE: finish_hold,
}
_Workspace = TypeVar("_Workspace", bound="Workspace")
# Loaded on a domain's first use.
_KINDS = {MEMORY: ("domains.memory", "MemoryDomain"), RAG: ("domains.rag", "RagDomain")}


def names(domain: str | None) -> tuple[str, ...]:
    """Return the domains that a caller means: the one that was named, or all."""
    return DOMAINS if domain is None else (check_domain(domain),)


class Part(NamedTuple):
    """The part of a domain that one policy rules: all of a project (None: of every project), without these projects. `is_own`: it is the
    project's own policy, among others."""

    policy: RetentionPolicy
    project: str | None
    without: frozenset[str] = frozenset()
    is_own: bool = False

    @property
    def named(self) -> ProjectKey:
        """Return the project of an answer, where there are several."""
        return {"project": self.project} if self.is_own and self.project is not None else {}


class Workspace:
    """A folder of ours. `by`: who asks (user, tool, job), for the log. `project`: the key of the only project whose data is read and
    marked; None: all. `now` returns the time (seconds). A context manager; GovernanceError where anything fails."""

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

    def __enter__(self: _Workspace) -> _Workspace:
        return self

    def __exit__(self, *_exc: object) -> None:
        for domain in self._domains.values():
            domain.close()
        if self._log is not None:
            self._log.close()
        self._domains, self._log = {}, None

    def domain(self, name: str) -> Domain:
        """Return a domain; its store is opened on first use."""
        check_domain(name)
        if name not in self._domains:
            module, kind = _KINDS[name]
            self._domains[name] = getattr(import_module("." + module, __package__), kind)(self.environ, self.now)
        return self._domains[name]

    def params(self, domain: str, options: Mapping[str, object] | None, project: str | None = None) -> GcParams:
        """Return the parameters of a call with these options under the policy of a domain, as it applies in a project (None: in ours, if
        there is one)."""
        arguments = {} if options is None else options
        return resolve_gc_params_with_policy(
            check_domain(domain), arguments, arguments, self.state().policy(domain, project or self.project)
        )

    def parts(self, domain: str) -> list[Part]:
        """Return the parts of a domain by the policy that applies: the user's first, then those of projects with one of their own."""
        state = self.state()
        if self.project is not None:
            return [Part(state.policy(domain, self.project), self.project)]
        own = state.own(domain)
        return [
            Part(state.policy(domain), None, frozenset(own)),
            *(Part(state.policy(domain, key), key, is_own=True) for key in sorted(own)),
        ]

    def state(self) -> State:
        """Return the policies in force."""
        return revisions.current(self.read(), self.folder.policies)

    def read(self) -> Log:
        """Return the log, after finishing what others left undone."""
        log = self.opened()
        if log.unfinished():
            with self.folder.lock():  # the process that began it may still be at work
                self._finish(log)
        return log

    @contextmanager
    def changing(self) -> Iterator[Log]:
        """Open the log under the lock, after finishing what others left undone."""
        with self.folder.lock():
            log = self.opened()
            self._finish(log)
            yield log

    def opened(self) -> Log:
        """Return the log, with what others left undone."""
        if self._log is None:
            self._log = Log(self.folder.log_path)
        return self._log

    def _finish(self, log: Log) -> None:
        """Finish the operations that killed processes have logged; the caller holds the lock. Those of a domain that cannot be used now
        wait for it. GovernanceTooNew for an operation that this PopKit does not know."""
        for entry in log.unfinished():
            operation = str((entry.todo or {}).get("do"))
            if operation == revisions.CONFIGURE:
                revisions.finish(self.folder, log, entry)
                continue
            finish = _FINISHERS.get(operation)
            if finish is None:
                raise GovernanceTooNew(
                    f"a later PopKit has begun something that this one cannot finish (entry {entry.number} of the log). Update PopKit"
                )
            with suppress(DomainUnavailable):  # an operation on that domain raises it
                finish(self.folder, self.domain(entry.domain), log, entry, self.now())

    @contextmanager
    def manual_deletion(self, domain: str, ids: Sequence[str], **details: object) -> Iterator[None]:
        """Log which of these ids the block deletes, regardless of all policies: before (`deleting`) and after (`deleted`), under the lock.
        `details`: how. Ids without content are left out."""
        holder, now = self.domain(domain), self.now()
        with self.changing() as log:
            present = [resource.id for resource in holder.resources(now, ids=ids)]
            if not present:
                yield
                return
            entry = log.append("deleting", domain, present, details, self.by, now, {"do": collection.DELETE, "ids": present})
            yield
            collection.finish_delete(self.folder, holder, log, entry, now)
        self.publish_marks(holder)

    def publish_marks(self, domain: Domain) -> None:
        """Write for hooks, which show them to the user in time, the marks that tools and the hourly job have made; called after any mark
        was made, taken back or deleted. The change itself is done by then, so an error here fails nothing and is logged."""

        def marks() -> Iterator[tuple[str, str, str, float]]:
            theirs = {id: mark for id, mark in domain.marked().items() if mark.by != USER}
            described = domain.describe(list(theirs)) if theirs else {}
            for id, about in sorted(described.items()):
                yield about.project, theirs[id].by, id, theirs[id].due_at

        try:
            marked.replace_marked(home.popkit_home(self.environ), domain.name, lambda: marked.marked_rows(marks()))
        except OSError as error:
            hook_log.log_failure(self.environ, "retention", error)
