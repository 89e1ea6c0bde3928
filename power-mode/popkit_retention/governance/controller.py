"""The one door of governance, for the command line, for agents over MCP and for the hourly job."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING

from hooks.utils.archive.content import stamp
from hooks.utils.edges import home

from . import configuring, holding, policy_file
from .domains import USER
from .errors import BadRequest, GovernanceError, NotThere
from .folder import Folder
from .log import Log
from .params import resolve_gc_params_with_policy
from .policies import DOMAINS, KEYS, MEMORY, RAG, check_domain
from .rules import apply_rules, resource_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .domains import Domain
    from .log import Entry
    from .params import GcParams
    from .rules import Verdict

    Json = dict[str, object]

APPLIED = "applied"
# Loaded when a domain is first asked.
_KINDS = {MEMORY: ("domains.memory", "MemoryDomain"), RAG: ("domains.rag", "RagDomain")}


class Controller:
    """Governance over one folder of ours. `by`: who asks (user, tool, job), as the log tells. `project`: the key of the one project whose
    data is read and marked; None: all. `now` is asked for the time (seconds). A context manager; GovernanceError where anything fails.

    Whatever a killed process has logged and not done is done before anything else."""

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

    def __enter__(self) -> Controller:
        return self

    def __exit__(self, *_exc: object) -> None:
        for domain in self._domains.values():
            domain.close()
        if self._log is not None:
            self._log.close()
        self._domains, self._log = {}, None

    # --- policies ------------------------------------------------------------------------------------------------------------------

    def configure(self, domain: str, config: Mapping[str, object], expect: int | None = None) -> Json:
        """Merges `config` into the policy of a domain. `expect`: the revision that the caller has seen."""
        check_domain(domain)
        with self._changing() as log:
            state, adjusted = configuring.configure(log, self.folder.policies, domain, config, expect, self.by, self.now())
        return {
            "success": True,
            "domain": domain,
            "policy": state.policy(domain).to_json(),
            "updated_at": state.updated_at,
            "revision": state.revision,
            "adjusted": [each._asdict() for each in adjusted],
        }

    def get(self, domain: str) -> Json:
        """The policy of a domain."""
        return self._state().policy(check_domain(domain)).to_json()

    def policies(self) -> Json:
        """Both policies, with the version of their form, their revision, and when they were changed ("" for never)."""
        return self._state().to_json()

    def history(self, domain: str | None = None) -> Json:
        """Every revision, newest first."""
        found = configuring.history(self._read(), None if domain is None else check_domain(domain))
        return {"versions": [{**each, "at": stamp(float(str(each["at"])))} for each in found]}

    def rollback(self, revision: int, domain: str | None = None) -> Json:
        """Makes an earlier revision the present one, of one domain or of both."""
        with self._changing() as log:
            domains = DOMAINS if domain is None else (check_domain(domain),)
            state, changed = configuring.rollback(log, self.folder.policies, revision, domains, self.by, self.now())
        return {"success": True, "revision": state.revision, "domains": changed, **{each: state.policy(each).to_json() for each in changed}}

    # --- asking --------------------------------------------------------------------------------------------------------------------

    def apply(
        self, domain: str, resources: Sequence[object] | None = None, options: Mapping[str, object] | None = None, dry_run: bool = False
    ) -> Json:
        """What the policy, with these options, says of resources: of those that a caller describes, else of what is stored, which the log
        tells of unless it is a `dry_run`. Nothing is deleted, nothing marked."""
        params = self._params(domain, options)
        if resources is not None and not isinstance(resources, (list, tuple)):
            raise BadRequest(f"resources must be a list, not {type(resources).__name__}")
        now, policy = self.now(), {key: value for key, value in params.to_json().items() if key in KEYS}
        if resources is None:
            found = apply_rules(params, self.domain(domain).resources(now, self.project), now)
        else:
            found = apply_rules(params, map(resource_of, resources), now)
        counts = {
            "eligible": len(found.eligible),
            "protected": len(found.protected),
            "total": len(found.eligible) + len(found.protected) + found.left_out,
        }
        if resources is None and not dry_run:
            with self._changing() as log:
                log.append(APPLIED, domain, [], {"counts": counts, "policy": policy}, self.by, now)
        return {
            "success": True,
            "domain": domain,
            "cutoff_date": stamp(max(found.cutoff, 0.0)),
            "policy_applied": policy,
            "eligible": [_told(each) for each in found.eligible],
            "protected": [_told(each) for each in found.protected],
            "counts": counts,
            "truncated": found.truncated,
            "left_out": found.left_out,
        }

    def describe(self, domain: str, ids: Sequence[str]) -> dict[str, Json]:
        """id -> what a person is told of it."""
        return {id: asdict(each) for id, each in self.domain(domain).describe(ids).items()}

    def log(self, most: int | None = 50, domain: str | None = None, action: str | None = None, id: str | None = None) -> Json:
        """The newest entries of the log, newest first; of a domain, an action, an id."""
        return {"entries": [_entry(each) for each in self._read().entries(most, domain, action, id)]}

    def verify(self) -> Json:
        """Whether policies and log are as they were written."""
        log = self._opened()
        problems: list[Json] = [{"where": "log", "what": each} for each in log.verify()]
        try:
            differs = configuring.differs(self._read(), self.folder.policies) if not problems else ""
        except GovernanceError as error:
            differs = str(error)
        if differs:
            problems.append({"where": "policies", "what": differs})
        return {"ok": not problems, "problems": problems, "log_entries": 0 if problems else log.count()}

    # --- holds ---------------------------------------------------------------------------------------------------------------------

    def add_hold(self, domain: str, scope: str, target: str, who: str, why: str, until: float | None = None) -> Json:
        """Keeps an item, or what a session or a project has, until a time (seconds) or until it is released."""
        held = self.domain(check_domain(domain))
        with self._changing() as log:
            hold = holding.add(log, held, scope, target, who, why, until, self.by, self.now(), self.project)
        return {"domain": domain, **_hold(asdict(hold))}

    def holds(self, domain: str | None = None, everything: bool = False) -> Json:
        """The holds that are in force, oldest first; with `everything` those that are over too."""
        now = self.now()
        found = []
        for name in DOMAINS if domain is None else (check_domain(domain),):
            kept = self.domain(name).holds()
            found += [{"domain": name, **_hold(asdict(each)), "in_force": each.in_force(now)} for each in kept]
        return {"holds": [each for each in found if everything or each["in_force"]]}

    def release_hold(self, id: str) -> Json:
        """Ends a hold; NotThere where none of that id is in force."""
        now = self.now()
        with self._changing() as log:
            for name in DOMAINS:
                for hold in self.domain(name).holds():
                    if hold.id == id and hold.in_force(now):
                        return {"domain": name, **_hold(asdict(holding.release(log, self.domain(name), hold, self.by, now)))}
        raise NotThere(f"there is no hold {id!r:.40} in force. `popkit retention hold list` lists those that are")

    # --- how -----------------------------------------------------------------------------------------------------------------------

    def domain(self, name: str) -> Domain:
        """A domain; its store is opened when it is first asked."""
        check_domain(name)
        if name not in self._domains:
            module, kind = _KINDS[name]
            self._domains[name] = getattr(import_module("." + module, __package__), kind)(self.environ, self.now)
        return self._domains[name]

    def _params(self, domain: str, options: Mapping[str, object] | None) -> GcParams:
        given = {} if options is None else options
        return resolve_gc_params_with_policy(check_domain(domain), given, given, self._state().policy(domain))

    def _state(self) -> policy_file.State:
        self._read()
        return policy_file.read(self.folder.policies)

    def _read(self) -> Log:
        """The log; what others left undone is done."""
        log = self._opened()
        if log.unfinished():
            with self.folder.lock():  # who began it may be at work still
                self._finish(log)
        return log

    @contextmanager
    def _changing(self) -> Iterator[Log]:
        """The log while no other process governs; what others left undone is done."""
        with self.folder.lock():
            log = self._opened()
            self._finish(log)
            yield log

    def _opened(self) -> Log:
        if self._log is None:
            self._log = Log(self.folder.log_path)
        return self._log

    def _finish(self, log: Log) -> None:
        for entry in log.unfinished():
            todo = entry.todo or {}
            deed = todo.get("do")
            if deed == configuring.CONFIGURE:
                configuring.finish(self.folder.policies, todo)
            elif deed in (holding.HOLD, holding.RELEASE):
                holding.finish(self.domain(entry.domain), todo)
            log.done(entry.number)


def _told(verdict: Verdict) -> Json:
    at = verdict.created_at
    return {"id": verdict.id, "reasons": list(verdict.reasons), "created_at": None if at is None else stamp(at)}


def _hold(hold: Json) -> Json:
    times = {name: None if hold[name] is None else stamp(float(str(hold[name]))) for name in ("created_at", "until", "released_at")}
    return {**hold, **times}


def _entry(entry: Entry) -> Json:
    return {**entry.to_json(), "at": stamp(entry.at)}
